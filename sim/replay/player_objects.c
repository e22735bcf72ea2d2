/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_objects.c - calls about queue pairs, regions, completion and receive queues. */
#include <stdlib.h>

#include "player_internal.h"
#include "rocin/fail.h"

#define PERIOD_MAX ((rn_ns)1 << 60)

struct rn_player_object *rn_player_subject(struct rn_player_dev *d,
					   enum rn_player_kind kind, uint64_t id)
{
	struct rn_player_object *o = rn_player_find(d->p, kind, id);

	if (o && o->dev == d)
		return o;
	rn_player_broken(d->p, "there is no such object");
	return NULL;
}

struct rn_player_object *rn_player_usable_cq(struct rn_player_dev *d, uint64_t id)
{
	struct rn_player_object *o = rn_player_find(d->p, RN_PLAYER_CQ, id);

	if (!o || (o->dev && o->dev != d)) {
		rn_player_broken(d->p, "there is no such CQ");
		return NULL;
	}
	if (!o->dev)
		d->objects++;
	o->dev = d;
	return o;
}

bool rn_player_may_go(const struct rn_player_object *o)
{
	return o->users == 0 ||
	       rn_player_broken(o->dev->p, "an object goes that others use");
}

void rn_player_use(struct rn_player_object *o, unsigned i, struct rn_player_object *used)
{
	o->uses[i] = used;
	if (used)
		used->users++;
}

/* ------------------------------------------------------- completion queues */
static bool ring_is_sane(struct rn_player *p, const struct rn_rec_cq *c)
{
	return (c->capacity >= 1 && c->capacity <= RN_CQE_MAX &&
		(c->capacity & (c->capacity - 1)) == 0) ||
	       rn_player_broken(p, "there is no ring of such a size");
}

static bool cq_init(struct rn_player *p, const struct rn_rec *rec)
{
	struct rn_player_object *o = rn_player_find(p, RN_PLAYER_CQ, rec->id);

	if (!ring_is_sane(p, &rec->u.cq))
		return false;
	/* One that was never used may have gone without a word. */
	if (o && o->dev)
		return rn_player_broken(p, "the CQ is in use");
	if (!o)
		o = rn_player_add(p, RN_PLAYER_CQ, rec->id, NULL);
	if (!o)
		return false;
	rn_cq_init(&o->cq, rec->u.cq.ring, rec->u.cq.capacity, o);
	return true;
}

static bool cq_lone(struct rn_player *p, const struct rn_rec *rec)
{
	struct rn_player_object *o = rn_player_find(p, RN_PLAYER_CQ, rec->id);

	if (!o)
		return rn_player_broken(p, "there is no such CQ");
	if (rec->kind == RN_CALL_CQ_MOVE) {
		if (!ring_is_sane(p, &rec->u.cq))
			return false;
		rn_cq_move(&o->cq, rec->u.cq.ring, rec->u.cq.capacity);
		return true;
	}
	if ((unsigned)rec->u.cq.arm > RN_CQ_ARM_NEXT)
		return rn_player_broken(p, "a CQ is not armed like that");
	rn_cq_arm(&o->cq, rec->u.cq.arm);
	return true;
}

static bool cq_moderate(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_cq *c = &rec->u.cq;
	struct rn_player_object *o = rn_player_usable_cq(d, rec->id);

	if (!o)
		return false;
	if (c->period < 0 || c->period > PERIOD_MAX)
		return rn_player_broken(d->p, "a time is out of range");
	rn_cq_moderate(d->dev, &o->cq, c->count, c->period);
	rn_player_done(d);
	return true;
}

static bool cq_fini(struct rn_player_dev *d, const struct rn_rec *rec)
{
	struct rn_player_object *o = rn_player_usable_cq(d, rec->id);

	if (!o || !rn_player_may_go(o))
		return false;
	rn_cq_fini(d->dev, &o->cq);
	rn_player_done(d);
	rn_player_remove(d->p, o);
	return true;
}

/* -------------------------------------------------------------- queue pairs */
/* Find what the QP is to use. False: the file is broken. */
static bool find_queues(struct rn_player_dev *d, const struct rn_rec_qp_init *in,
			struct rn_player_object *uses[3])
{
	const struct rn_qp_init *init = &in->init;
	bool is_raw = init->type == RN_QPT_RAW_PACKET;
	bool is_xrc = init->type == RN_QPT_XRC_SEND || init->type == RN_QPT_XRC_RECV;
	/* Those of raw packets may have one queue alone. */
	bool needs_send = is_raw ? init->max_send_wr > 0 : init->type != RN_QPT_XRC_RECV;
	bool needs_recv = is_raw ? init->max_recv_wr > 0 : !is_xrc;

	if ((needs_send && !in->send_cq) || (needs_recv && !in->recv_cq))
		return rn_player_broken(d->p, "a QP needs its CQs");
	if (in->send_cq && !(uses[0] = rn_player_usable_cq(d, in->send_cq)))
		return false;
	if (in->recv_cq && !(uses[1] = rn_player_usable_cq(d, in->recv_cq)))
		return false;
	if (in->srq && !(uses[2] = rn_player_subject(d, RN_PLAYER_SRQ, in->srq)))
		return false;
	return !(uses[2] && uses[2]->is_xrc) ||
	       rn_player_broken(d->p, "a QP is not made with an SRQ of an XRC domain");
}

static bool qp_create(struct rn_player_dev *d, const struct rn_rec *rec)
{
	struct rn_player_object *uses[3] = { 0 }, *o;
	struct rn_qp_init init = rec->u.qp_init.init;
	size_t size;

	if (!find_queues(d, &rec->u.qp_init, uses))
		return false;
	init.send_cq = uses[0] ? &uses[0]->cq : NULL;
	init.recv_cq = uses[1] ? &uses[1]->cq : NULL;
	init.srq = uses[2] ? uses[2]->srq : NULL;
	size = rn_qp_size(d->dev, &init);
	if (size == 0 || rn_dev_has_qpn(d->dev, init.qpn))
		return rn_player_broken(d->p, "there cannot be such a QP");
	o = rn_player_add(d->p, RN_PLAYER_QP, rec->id, d);
	if (!o)
		return false;
	o->block = rn_player_alloc(d->p, size);
	if (!o->block)
		return false;
	o->bytes += size;
	for (unsigned i = 0; i < 3; i++)
		rn_player_use(o, i, uses[i]);
	o->type = init.type;
	o->qpn = init.qpn;
	init.owner = o;
	o->qp = rn_qp_create(d->dev, o->block, &init);
	rn_player_done(d);
	return true;
}

static bool qp_destroy(struct rn_player_dev *d, const struct rn_rec *rec)
{
	struct rn_player_object *o = rn_player_subject(d, RN_PLAYER_QP, rec->id);

	if (!o || !rn_player_may_go(o))
		return false;
	rn_player_mem_forget(d, o->qpn);
	rn_qp_destroy(d->dev, o->qp);
	rn_player_done(d);
	rn_player_remove(d->p, o);
	return true;
}

static bool qp_modify(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_modify *m = &rec->u.modify;
	struct rn_player_object *o = rn_player_subject(d, RN_PLAYER_QP, rec->id);

	if (!o)
		return false;
	if ((unsigned)m->attr.state >= RN_QPS_COUNT)
		return rn_player_broken(d->p, "there is no such state");
	rn_player_result(d, rn_qp_modify(d->dev, o->qp, rec->now, &m->attr, m->mask));
	return true;
}

static bool qp_fail(struct rn_player_dev *d, const struct rn_rec *rec)
{
	struct rn_player_object *o = rn_player_subject(d, RN_PLAYER_QP, rec->id);

	if (!o)
		return false;
	if (rec->kind == RN_CALL_QP_FAIL)
		rn_qp_fail(d->dev, o->qp, rec->now);
	else
		rn_qp_overrun(d->dev, o->qp, rec->now, rec->u.what);
	rn_player_done(d);
	return true;
}

static bool qp_pace(struct rn_player *p, const struct rn_rec *rec)
{
	const struct rn_rec_pace *pace = &rec->u.pace;
	struct rn_player_object *o = rn_player_find(p, RN_PLAYER_QP, rec->id);

	if (!o)
		return rn_player_broken(p, "there is no such QP");
	if (rec->now < o->dev->now)
		return rn_player_broken(p, "time goes backwards");
	o->dev->now = rec->now;
	rn_qp_pace(o->qp, rec->now, pace->kbps, pace->burst);
	return true;
}

/* ------------------------------------------------------------ work requests */
bool rn_player_make_sg(struct rn_player *p, const struct rn_rec_post *post,
		       struct rn_sge sg[RN_PLAYER_SGES])
{
	bool is_inline = post->wr.flags & RN_SEND_INLINE;
	uint64_t total = 0;

	if (post->wr.num_sge <= RN_SGE_MAX && post->count != post->wr.num_sge)
		return rn_player_broken(p, "a work request lacks parts of its list");
	for (uint32_t i = 0; i < RN_PLAYER_SGES; i++) {
		sg[i] = i < post->count ? post->sg[i].sge : (struct rn_sge){ 0 };
		total += sg[i].len;
	}
	for (uint32_t i = 0; is_inline && i < post->count; i++) {
		if (total <= RN_INLINE_MAX && post->sg[i].len != sg[i].len)
			return rn_player_broken(p, "a work request lacks its data");
		sg[i].addr = (uintptr_t)post->sg[i].data;
	}
	return true;
}

uint32_t rn_player_num_sge(const struct rn_rec_post *post)
{
	return post->wr.num_sge < RN_PLAYER_SGES ? post->wr.num_sge : RN_PLAYER_SGES;
}

static bool post_send(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_post *post = &rec->u.post;
	struct rn_player_object *o = rn_player_subject(d, RN_PLAYER_QP, rec->id);
	struct rn_send_wr wr = post->wr;
	struct rn_sge sg[RN_PLAYER_SGES];

	if (!o || !rn_player_make_sg(d->p, post, sg))
		return false;
	wr.sg = sg;
	wr.num_sge = rn_player_num_sge(post);
	wr.av = post->has_av ? &post->av : NULL;
	rn_player_result(d, rn_qp_post_send(d->dev, o->qp, rec->now, &wr));
	return true;
}

static bool post_recv(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_post *post = &rec->u.post;
	struct rn_player_object *o = rn_player_subject(d, RN_PLAYER_QP, rec->id);
	struct rn_sge sg[RN_PLAYER_SGES];
	const struct rn_recv_wr wr = { .wr_id = post->wr.wr_id,
				       .sg = sg,
				       .num_sge = rn_player_num_sge(post) };

	if (!o || !rn_player_make_sg(d->p, post, sg))
		return false;
	rn_player_result(d, rn_qp_post_recv(d->dev, o->qp, rec->now, &wr));
	return true;
}

static bool receive_frame(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_rx_frame *f = &rec->u.rx_frame;
	struct rn_player_object *o = rn_player_subject(d, RN_PLAYER_QP, rec->id);
	const struct rn_rx_frame frame = { .data = f->data,
					   .len = f->len,
					   .checksums_ok = f->checksums_ok,
					   .tag = f->tag };

	if (!o)
		return false;
	if (o->type != RN_QPT_RAW_PACKET || f->len == 0 || f->len > RN_FRAME_MAX)
		return rn_player_broken(d->p, "a QP gets no such frame");
	d->p->r->packets_in++;
	rn_player_result(d, rn_qp_receive_frame(d->dev, o->qp, rec->now, &frame));
	return true;
}

/* ------------------------------------------------------ regions and windows */
static bool add_mr(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_mr *from = &rec->u.mr;
	struct rn_player_object *o;

	if ((unsigned)from->kind > RN_MR_KIND_NULL ||
	    rn_dev_has_mr_index(d->dev, from->lkey >> RN_KEY_INDEX_SHIFT))
		return rn_player_broken(d->p, "there cannot be such a region");
	o = rn_player_add(d->p, RN_PLAYER_MR, rec->id, d);
	if (!o)
		return false;
	o->mr = (struct rn_mr){ .node.key = from->lkey >> RN_KEY_INDEX_SHIFT,
				.lkey = from->lkey,
				.pd = from->pd,
				.va = from->va,
				.length = from->length,
				.iova_base = from->iova_base,
				.access = from->access,
				.kind = from->kind,
				.valid = from->valid };
	rn_dev_add_mr(d->dev, &o->mr);
	rn_player_done(d);
	return true;
}

static bool remove_mr(struct rn_player_dev *d, const struct rn_rec *rec)
{
	struct rn_player_object *o = rn_player_subject(d, RN_PLAYER_MR, rec->id);

	if (!o)
		return false;
	rn_dev_remove_mr(d->dev, &o->mr);
	rn_player_done(d);
	rn_player_remove(d->p, o);
	return true;
}

/* ---------------------------------------------------------------- multicast */
static bool mcast_attach(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_mcast *m = &rec->u.mcast;
	struct rn_player_object *qp = rn_player_subject(d, RN_PLAYER_QP, m->qp), *o;

	if (!qp)
		return false;
	if (qp->type != RN_QPT_UD || !rn_gid_is_multicast(&m->mgid) ||
	    rn_mcast_find(d->dev, qp->qp, &m->mgid))
		return rn_player_broken(d->p, "the QP cannot join that group");
	o = rn_player_add(d->p, RN_PLAYER_MCAST, rec->id, d);
	if (!o)
		return false;
	rn_player_use(o, 0, qp);
	rn_mcast_attach(d->dev, &o->mcast, qp->qp, &m->mgid);
	rn_player_done(d);
	return true;
}

static bool mcast_detach(struct rn_player_dev *d, const struct rn_rec *rec)
{
	struct rn_player_object *o = rn_player_subject(d, RN_PLAYER_MCAST, rec->id);

	if (!o)
		return false;
	rn_mcast_detach(d->dev, &o->mcast);
	rn_player_done(d);
	rn_player_remove(d->p, o);
	return true;
}

/* ------------------------------------------------------------------- entry */
bool rn_player_object_call(struct rn_player *p, struct rn_player_dev *d,
			   const struct rn_rec *rec)
{
	switch ((int)rec->kind) {
	case RN_CALL_CQ_MODERATE:
		return cq_moderate(d, rec);
	case RN_CALL_CQ_FINI:
		return cq_fini(d, rec);
	case RN_CALL_QP_CREATE:
		return qp_create(d, rec);
	case RN_CALL_QP_MODIFY:
		return qp_modify(d, rec);
	case RN_CALL_QP_DESTROY:
		return qp_destroy(d, rec);
	case RN_CALL_QP_FAIL:
	case RN_CALL_QP_OVERRUN:
		return qp_fail(d, rec);
	case RN_CALL_POST_SEND:
		return post_send(d, rec);
	case RN_CALL_POST_RECV:
		return post_recv(d, rec);
	case RN_CALL_RECEIVE_FRAME:
		return receive_frame(d, rec);
	case RN_CALL_ADD_MR:
		return add_mr(d, rec);
	case RN_CALL_REMOVE_MR:
		return remove_mr(d, rec);
	case RN_CALL_SRQ_CREATE:
		return rn_player_srq_create(d, rec);
	case RN_CALL_MCAST_ATTACH:
		return mcast_attach(d, rec);
	case RN_CALL_MCAST_DETACH:
		return mcast_detach(d, rec);
	default:
		return rn_player_broken(p, "there is no such call");
	}
}

bool rn_player_lone_call(struct rn_player *p, const struct rn_rec *rec)
{
	switch ((int)rec->kind) {
	case RN_CALL_CQ_INIT:
		return cq_init(p, rec);
	case RN_CALL_CQ_MOVE:
	case RN_CALL_CQ_ARM:
		return cq_lone(p, rec);
	case RN_CALL_QP_PACE:
		return qp_pace(p, rec);
	default:
		return rn_player_srq_lone(p, rec);
	}
}
