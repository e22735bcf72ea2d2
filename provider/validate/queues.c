/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* queues.c - rules about what is posted, completed, polled and waited for; see
 * rules/queues.def.
 */
#include "model.h"

static bool has_signaled(const struct rn_val_qp *qp)
{
	for (uint32_t i = 0; i < qp->send.count; i++)
		if (rn_val_queued(&qp->send, i)->is_signaled)
			return true;
	return false;
}

static void check_signaled(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_qp *qp = &e->object->qp;
	struct rn_val_text name;

	if (qp->send.count < qp->cap.max_send_wr || has_signaled(qp))
		return;
	rn_val_find(
		v, e, RN_VAL_QUEUES_NOTHING_SIGNALED, e->object,
		"%s has %u unsignaled requests, which is all that it takes (max_send_wr "
		"%u)",
		rn_val_name(e->object, &name), qp->send.count, qp->cap.max_send_wr);
}

/* The newest requests are promises already when the call has returned. */
static void check_room(struct rn_val *v, const struct rn_val_event *e,
		       const struct rn_val_object *cq)
{
	struct rn_val_text name;

	if (!rn_val_is(cq, RN_VAL_CQ) || cq->cq.promised <= cq->cq.size)
		return;
	rn_val_find2(v, e, RN_VAL_QUEUES_CQ_TOO_SMALL, e->object, cq,
		     "%u requests can complete to a CQ of %u entries, the newest of %s",
		     cq->cq.promised, cq->cq.size, rn_val_name(e->object, &name));
}

static void check_wakeup(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_cq *cq = &e->object->cq;
	struct rn_val_text name;

	if (!cq->notifies || cq->is_polled_since_armed || !cq->promised_when_armed)
		return;
	rn_val_find(
		v, e, RN_VAL_QUEUES_LOST_WAKEUP, e->object,
		"%u requests could have completed when %s was armed, and nobody polled "
		"before the event was waited for",
		cq->promised_when_armed, rn_val_name(e->object, &name));
}

void rn_val_check_queues(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;

	if (!o || o->is_gone)
		return;
	if (e->kind == RN_VAL_POST_SEND && o->kind == RN_VAL_QP) {
		if (!e->is_done)
			check_signaled(v, e);
		else
			check_room(v, e, o->qp.send_cq);
	}
	if (e->kind == RN_VAL_POST_RECV && o->kind == RN_VAL_QP && e->is_done)
		check_room(v, e, o->qp.recv_cq);
	if (e->kind == RN_VAL_CQ_EVENT && o->kind == RN_VAL_CQ)
		check_wakeup(v, e);
}
