/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.c - shared receive queues, also of XRC. */
#include "walk.h"

void make_srq(struct walker *w)
{
	struct object *pd = pin(w, PD, NULL), *xrcd = NULL, *cq = NULL, *o = NULL;
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 1 + below(w, 2 * QUEUE_WR),
			  .max_sge = 1 + below(w, SGES) },
		.srq_type = IBV_SRQT_BASIC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
	};

	if (pd && chance(w, 40) && (xrcd = pin(w, XRCD, pd->ctx)))
		cq = pin(w, CQ, pd->ctx);
	if (pd)
		o = begin(SRQ, pd->ctx);
	if (o) {
		o->is_xrc = cq != NULL;
		if (cq) {
			attr.srq_type = IBV_SRQT_XRC;
			attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
			attr.xrcd = xrcd->xrcd;
			attr.cq = cq->cq;
			cq->may_overflow = true;
		}
		attr.pd = pd->pd;
		attr.srq_context = o;
		o->domain = pd->domain;
		o->posted[1] = 0;
		o->srq = ibv_create_srq_ex(o->ctx, &attr);
		MUST(o->srq);
		o->max_sge[1] = attr.attr.max_sge;
		if (o->is_xrc) {
			uint32_t srqn;

			MUST(!ibv_get_srq_num(o->srq, &srqn));
			o->srqn = srqn;
		}
		made(o, (struct object *[PARENTS]){ pd, cq, cq ? xrcd : NULL });
	}
	unpin(cq);
	unpin(xrcd);
	unpin(pd);
}

void kill_srq(struct walker *w)
{
	struct object *o = take(w, SRQ);

	if (!o)
		return;
	o->srqn = 0;
	destroy(o);
}

void change_srq(struct walker *w)
{
	struct object *o = pin(w, SRQ, NULL);
	struct ibv_srq_attr attr = { .max_wr = 1 + below(w, 3 * QUEUE_WR),
				     .srq_limit = below(w, QUEUE_WR) };
	int mask = chance(w, 50) ? IBV_SRQ_LIMIT : IBV_SRQ_MAX_WR;

	if (!o)
		return;
	/* A limit above the size, fewer than are posted; no resizing at all. */
	MAY("ibv_modify_srq", ibv_modify_srq(o->srq, &attr, mask), 0, EINVAL, ENOMEM,
	    EOPNOTSUPP);
	MUST(!ibv_query_srq(o->srq, &attr));
	unpin(o);
}

static int post_to_srq(struct object *o, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return ibv_post_srq_recv(o->srq, wr, bad);
}

void post_srq_recv(struct walker *w)
{
	struct object *o = pin(w, SRQ, NULL);

	if (!o)
		return;
	post_recvs(w, o, 6, post_to_srq);
	unpin(o);
}
