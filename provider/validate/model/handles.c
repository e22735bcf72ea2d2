/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* handles.c - which QPs may take receives of which SRQ, and the handles on an XRC target
 * QP, of which there may be several.
 *
 * An SRQ is in use while one of its QPs is neither in RESET nor in ERR. Every target QP
 * of an XRC domain may use all SRQs of that domain.
 */
#include "model.h"

/* ------------------------------------------------------------- who takes receives */
/* May a QP take receives of an SRQ now? */
static bool is_active(const struct rn_val_object *qp)
{
	return qp->qp.state != IBV_QPS_ERR && qp->qp.state != IBV_QPS_RESET;
}

/* Marks the SRQs of an XRC domain as idle or in use: all target QPs of the domain share
 * them.
 */
static void set_domain_idle(struct rn_val *v, struct rn_val_object *xrcd, bool is_idle)
{
	for (struct rn_val_tie *t = xrcd->newest_user; t; t = t->older)
		if (t->user->kind == RN_VAL_SRQ)
			rn_val_set_idle(v, &t->user->srq.recv, is_idle, t->user->handle);
}

/* Notes that a QP may take receives from now on, or no longer. */
static void set_active(struct rn_val *v, struct rn_val_object *qp, bool was, bool is)
{
	struct rn_val_object *srq = qp->qp.srq, *xrcd = rn_val_parent_of(qp, RN_VAL_XRCD);

	if (was == is)
		return;
	if (rn_val_is(srq, RN_VAL_SRQ)) {
		srq->srq.active += is ? 1U : -1U;
		rn_val_set_idle(v, &srq->srq.recv, !srq->srq.active, srq->handle);
	}
	if (!xrcd)
		return;
	xrcd->xrcd.active += is ? 1U : -1U;
	if (xrcd->xrcd.active <= 1)
		set_domain_idle(v, xrcd, !xrcd->xrcd.active);
}

/* Adds an SRQ of XRC to the list of its CQ, by which it is found: completions do not name
 * their SRQ.
 */
void rn_val_begin_srq(struct rn_val_object *srq)
{
	struct rn_val_object *xrcd = rn_val_parent_of(srq, RN_VAL_XRCD),
			     *cq = rn_val_parent_of(srq, RN_VAL_CQ);

	if (!xrcd || !cq)
		return;
	srq->srq.recv.is_idle = !xrcd->xrcd.active;
	srq->srq.next_of_cq = cq->cq.xrc_srqs;
	cq->cq.xrc_srqs = srq;
}

void rn_val_end_srq(struct rn_val_object *srq)
{
	struct rn_val_object *cq = rn_val_parent_of(srq, RN_VAL_CQ),
			     **at = cq ? &cq->cq.xrc_srqs : NULL;

	while (at && *at && *at != srq)
		at = &(*at)->srq.next_of_cq;
	if (at && *at)
		*at = srq->srq.next_of_cq;
}

/* ---------------------------------------------------------------------- handles */
static bool is_same_qp(const struct rn_val_object *a, const struct rn_val_object *b)
{
	return a->kind == b->kind && a->number == b->number &&
	       rn_val_is_of_same_device(a, b);
}

/* Returns the next living handle on the same QP after @at; the first if @at is NULL.
 * NULL: there are no more.
 */
static struct rn_val_object *other_handle(const struct rn_val *v,
					  const struct rn_val_object *o,
					  const struct rn_val_object *at)
{
	struct rn_val_object *qp =
		at ? at->next_number : rn_val_qp_of_number(v, o->number);

	while (qp && (qp == o || !is_same_qp(qp, o)))
		qp = qp->next_number;
	return qp;
}

/* Copies the attributes that were set through one handle on a QP to another handle. */
static void copy_qp(struct rn_val *v, struct rn_val_object *to,
		    const struct rn_val_object *from)
{
	bool was = is_active(to);

	to->qp.state = from->qp.state;
	to->qp.attr = from->qp.attr;
	to->qp.mask = from->qp.mask;
	to->qp.is_to_self = from->qp.is_to_self;
	set_active(v, to, was, is_active(to));
}

void rn_val_share(struct rn_val *v, const struct rn_val_object *o)
{
	struct rn_val_object *other = NULL;

	while (o->qp.type == IBV_QPT_XRC_RECV && (other = other_handle(v, o, other)))
		copy_qp(v, other, o);
}

/* Gives a new handle the attributes of a QP that has another handle already. */
void rn_val_begin_qp(struct rn_val *v, struct rn_val_object *o)
{
	const struct rn_val_object *other = other_handle(v, o, NULL);

	set_active(v, o, false, is_active(o));
	if (other && o->qp.type == IBV_QPT_XRC_RECV)
		copy_qp(v, o, other);
}

void rn_val_end_qp(struct rn_val *v, struct rn_val_object *o)
{
	set_active(v, o, is_active(o), false);
}

void rn_val_set_qp_state(struct rn_val *v, struct rn_val_object *o,
			 enum ibv_qp_state state)
{
	bool was = is_active(o);

	o->qp.state = state;
	set_active(v, o, was, is_active(o));
}
