/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* remote.c - the other end of a connection, if another process owns it. The model gets a
 * QP and an MR like those of that process, so that rules can use them as any other
 * object.
 *
 * Other processes are asked for them when a QP sends for the first time, when its peer
 * seems not to grant a right that a request needs, when the peer has refused access, and
 * when it had no receive. Changes in between are not seen.
 */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

static bool is_connected_type(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC;
}

static void fill_qp(struct rn_val_object *o, const struct rn_val_end *end)
{
	*o = (struct rn_val_object){ .kind = RN_VAL_QP,
				     .number = end->number,
				     .process = end->process,
				     .device = end->device,
				     .pdn = end->pd };
	o->qp.type = end->qp.type;
	o->qp.state = end->qp.state;
	o->qp.mask = end->qp.mask;
	o->qp.attr = end->qp.attr;
	o->qp.told_receives = end->qp.receives;
	o->qp.has_remote_srq = end->qp.has_srq;
}

/* Asks other processes for the QP that @o is connected to. */
static void ask_for_qp(struct rn_val *v, struct rn_val_object *o)
{
	struct rn_val_end end = { 0 };

	if (!v->ends->find_qp(&o->qp.attr.ah_attr.grh.dgid, o->qp.attr.dest_qp_num,
			      &end)) {
		free(o->qp.remote);
		o->qp.remote = NULL;
		return;
	}
	if (!o->qp.remote)
		o->qp.remote = malloc(sizeof(*o->qp.remote));
	if (o->qp.remote)
		fill_qp(o->qp.remote, &end);
}

/* Asking other processes takes long. So if the same event happens often, they are asked
 * again only when the number of these events has doubled.
 */
static bool is_often(uint32_t then, uint32_t now)
{
	return !then || now >= 2 * then;
}

/* Does a post need a right that the other end did not grant when it was asked last? */
static bool lacks_right(const struct rn_val_object *o, const struct rn_val_event *e)
{
	unsigned given =
		o->qp.remote ? (unsigned)o->qp.remote->qp.attr.qp_access_flags : ~0U;

	for (uint32_t i = 0; i < e->post.count; i++)
		if (rn_val_access_of(e->post.request[i].opcode) & ~given)
			return true;
	return false;
}

/* Returns the QP whose peer the event @e makes it necessary to ask other processes for;
 * NULL: none.
 */
static struct rn_val_object *asker(const struct rn_val_event *e)
{
	struct rn_val_object *o = e->object;

	if (e->kind == RN_VAL_COMPLETION &&
	    (e->completion.wc->status == IBV_WC_REM_ACCESS_ERR ||
	     e->completion.wc->status == IBV_WC_RNR_RETRY_EXC_ERR ||
	     e->completion.wc->status == IBV_WC_RETRY_EXC_ERR))
		return e->completion.qp;
	if (e->kind == RN_VAL_RNR && rn_val_is(o, RN_VAL_QP) &&
	    e->rnr.received > o->qp.tally.rnr_received)
		return is_often(o->qp.tally.rnr_received, e->rnr.received) ? o : NULL;
	if (e->kind != RN_VAL_POST_SEND || e->is_done || !rn_val_is(o, RN_VAL_QP) ||
	    o->is_gone || o->qp.state != IBV_QPS_RTS ||
	    (o->qp.has_asked && !lacks_right(o, e)))
		return NULL;
	return o;
}

void rn_val_ask_for_peer(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_object *o = v->ends ? asker(e) : NULL;

	if (!o || !is_connected_type(o->qp.type) || !(o->qp.mask & IBV_QP_DEST_QPN))
		return;
	o->qp.has_asked = true;
	if (!rn_val_own_target_of(v, o))
		ask_for_qp(v, o);
}

const struct rn_val_object *rn_val_mr_at(struct rn_val *v,
					 const struct rn_val_object *peer, uint32_t rkey,
					 bool *is_window)
{
	static struct rn_val_object mr;
	struct rn_val_end end = { 0 };

	*is_window = true;
	if (!v->ends)
		return NULL;
	if (!v->ends->find_mr(peer->process, peer->device, rkey, &end)) {
		/* If the process does not publish its objects, nothing is known about
		 * them, so the rkey may be that of a window.
		 */
		*is_window = end.process != peer->process || end.has_windows;
		return NULL;
	}
	mr = (struct rn_val_object){
		.kind = RN_VAL_MR,
		.number = end.number,
		.process = end.process,
		.device = end.device,
		.pdn = end.pd,
		.mr = { .iova = end.mr.iova,
			.addr = end.mr.iova,
			.len = end.mr.len,
			.access = end.mr.access,
			.rkey = end.number,
			.has_memory = end.mr.has_memory },
	};
	return &mr;
}
