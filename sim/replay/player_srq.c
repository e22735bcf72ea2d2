/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_srq.c - calls about shared receive queues. */
#include <stdlib.h>

#include "player_internal.h"

static bool srq_is_sane(struct rn_player_dev *d, const struct rn_rec_srq *s)
{
	const struct rn_srq_init *i = &s->init;

	return (i->srqn >= 1 && i->srqn <= RN_SRQN_MAX && !i->xrcd == !s->cq &&
		rn_srq_ring_size(i->max_wr, i->max_sge) > 0 &&
		!rn_dev_has_srqn(d->dev, i->srqn)) ||
	       rn_player_broken(d->p, "there cannot be such an SRQ");
}

bool rn_player_srq_create(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_srq *s = &rec->u.srq;
	struct rn_srq_init init = s->init;
	size_t ring = rn_srq_ring_size(init.max_wr, init.max_sge);
	struct rn_player_object *cq = NULL, *o;

	if (!srq_is_sane(d, s) || (s->cq && !(cq = rn_player_usable_cq(d, s->cq))))
		return false;
	o = rn_player_add(d->p, RN_PLAYER_SRQ, rec->id, d);
	if (!o)
		return false;
	o->srq = rn_player_alloc(d->p, rn_srq_size());
	o->block = o->srq ? rn_player_alloc(d->p, ring) : NULL;
	if (!o->block)
		return false;
	o->bytes += rn_srq_size() + ring;
	rn_player_use(o, 0, cq);
	o->is_xrc = init.xrcd;
	init.cq = cq ? &cq->cq : NULL;
	init.owner = o;
	rn_srq_create(d->dev, o->srq, o->block, &init);
	rn_player_done(d);
	return true;
}

static int srq_resize(struct rn_player *p, struct rn_player_object *o, uint32_t max_wr)
{
	struct rn_srq_attr attr;
	void *ring, *old;
	size_t size;
	int rc;

	rn_srq_query(o->srq, &attr);
	size = rn_srq_ring_size(max_wr, attr.max_sge);
	if (size == 0) {
		rn_player_broken(p, "no SRQ is so long");
		return 0;
	}
	ring = rn_player_alloc(p, size);
	if (!ring)
		return 0;
	rc = rn_srq_resize(o->srq, ring, max_wr, &old);
	if (rc) {
		rn_player_free(p, ring, size);
		return rc;
	}
	/* What it had counts on: freed with the object. */
	free(old);
	o->block = ring;
	o->bytes += size;
	return 0;
}

bool rn_player_srq_lone(struct rn_player *p, const struct rn_rec *rec)
{
	struct rn_player_object *o = rn_player_find(p, RN_PLAYER_SRQ, rec->id);
	const struct rn_rec_post *post = &rec->u.post;
	struct rn_sge sg[RN_PLAYER_SGES];
	struct rn_rec is = *rec;

	if (!o)
		return rn_player_broken(p, "there is no such SRQ");
	if (rec->kind == RN_CALL_SRQ_DESTROY) {
		if (!rn_player_may_go(o))
			return false;
		rn_srq_destroy(o->srq);
		rn_player_remove(p, o);
		return true;
	}
	if (rec->kind == RN_CALL_SRQ_RESIZE) {
		is.result = srq_resize(p, o, rec->u.srq.number);
	} else if (rec->kind == RN_CALL_SRQ_SET_LIMIT) {
		is.result = rn_srq_set_limit(o->srq, rec->u.srq.number);
	} else {
		const struct rn_recv_wr wr = { .wr_id = post->wr.wr_id,
					       .sg = sg,
					       .num_sge = rn_player_num_sge(post) };

		if (!rn_player_make_sg(p, post, sg))
			return false;
		is.result = rn_srq_post_recv(o->srq, &wr);
	}
	rn_player_compare(p, rec, &is);
	return true;
}
