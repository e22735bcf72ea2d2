/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder_objects.c - calls about queue pairs, regions, completion and receive queues.
 */
#include <pthread.h>
#include <stdlib.h>

#include "recorder_internal.h"
#include "rocin/fail.h"

/* ----------------------------------------------------------- CQs that are used */
struct used_cq {
	const struct rn_cq *cq;
	uint8_t dev;
	bool overrun; /* and that has been noted */
};

static pthread_mutex_t cqs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct used_cq *cqs;
static size_t cq_count, cq_room;

static struct used_cq *find_cq_locked(const struct rn_cq *cq)
{
	for (size_t i = 0; i < cq_count; i++)
		if (cqs[i].cq == cq)
			return &cqs[i];
	return NULL;
}

static void add_cq_locked(const struct rn_cq *cq, uint8_t dev)
{
	if (cq_count == cq_room) {
		size_t room = cq_room ? 2 * cq_room : 64;
		struct used_cq *bigger = reallocarray(cqs, room, sizeof(*bigger));

		if (!bigger)
			abort(); /* a recording with a hole would only mislead */
		cqs = bigger;
		cq_room = room;
	}
	cqs[cq_count++] = (struct used_cq){ .cq = cq, .dev = dev };
}

static void use_cq(const struct rn_cq *cq, uint8_t dev)
{
	if (!cq)
		return;
	pthread_mutex_lock(&cqs_lock);
	if (!find_cq_locked(cq))
		add_cq_locked(cq, dev);
	pthread_mutex_unlock(&cqs_lock);
}

static void forget_cq(const struct rn_cq *cq)
{
	struct used_cq *found;

	pthread_mutex_lock(&cqs_lock);
	found = find_cq_locked(cq);
	if (found)
		*found = cqs[--cq_count];
	pthread_mutex_unlock(&cqs_lock);
}

void rn_rec_note_overruns(const struct rn_rec_dev *d)
{
	struct rn_rec rec = { .kind = RN_REC_OVERRUN, .dev = d->number };

	pthread_mutex_lock(&cqs_lock);
	for (size_t i = 0; i < cq_count; i++) {
		if (cqs[i].dev != d->number || cqs[i].overrun || !cqs[i].cq->overrun)
			continue;
		cqs[i].overrun = true;
		rec.id = rn_rec_id(cqs[i].cq);
		rn_recorder_put(&rec);
	}
	pthread_mutex_unlock(&cqs_lock);
}

void rn_rec_objects_after_fork(void)
{
	pthread_mutex_init(&cqs_lock, NULL);
}

/* -------------------------------------------------------- completion queues */
static void put_ring(enum rn_rec_kind kind, const struct rn_cq *cq, rn_iova ring,
		     uint32_t capacity)
{
	struct rn_rec rec = { .kind = kind,
			      .id = rn_rec_id(cq),
			      .u.cq = { .ring = ring, .capacity = capacity } };

	rn_rec_lone(&rec);
}

RN_REC_WRAP(void, rn_cq_init, struct rn_cq *cq, rn_iova ring, uint32_t capacity,
	    void *owner)
{
	__real_rn_cq_init(cq, ring, capacity, owner);
	put_ring(RN_REC_CQ_INIT, cq, ring, capacity);
}

RN_REC_WRAP(void, rn_cq_move, struct rn_cq *cq, rn_iova ring, uint32_t capacity)
{
	__real_rn_cq_move(cq, ring, capacity);
	put_ring(RN_REC_CQ_MOVE, cq, ring, capacity);
}

RN_REC_WRAP(void, rn_cq_arm, struct rn_cq *cq, enum rn_cq_arm mode)
{
	struct rn_rec rec = { .kind = RN_REC_CQ_ARM,
			      .id = rn_rec_id(cq),
			      .u.cq.arm = mode };

	__real_rn_cq_arm(cq, mode);
	rn_rec_lone(&rec);
}

/* A call about one object of a device, with what @rec says of it. NULL: not recorded. */
static struct rn_rec_dev *begin(const struct rn_dev *dev, const void *object,
				struct rn_rec *rec)
{
	struct rn_rec_dev *d = rn_rec_find(dev);

	rec->id = rn_rec_id(object);
	if (d)
		rn_rec_begin(d, rec);
	return d;
}

RN_REC_WRAP(void, rn_cq_moderate, struct rn_dev *dev, struct rn_cq *cq, uint32_t count,
	    rn_ns period)
{
	struct rn_rec rec = { .kind = RN_REC_CQ_MODERATE,
			      .u.cq = { .count = count, .period = period } };
	struct rn_rec_dev *d = begin(dev, cq, &rec);

	__real_rn_cq_moderate(dev, cq, count, period);
	if (d)
		rn_rec_done(d);
}

RN_REC_WRAP(void, rn_cq_fini, struct rn_dev *dev, struct rn_cq *cq)
{
	struct rn_rec rec = { .kind = RN_REC_CQ_FINI };
	struct rn_rec_dev *d = begin(dev, cq, &rec);

	__real_rn_cq_fini(dev, cq);
	forget_cq(cq);
	if (d)
		rn_rec_done(d);
}

/* -------------------------------------------------------------- queue pairs */
RN_REC_WRAP(struct rn_qp *, rn_qp_create, struct rn_dev *dev, void *mem,
	    const struct rn_qp_init *init)
{
	struct rn_rec rec = { .kind = RN_REC_QP_CREATE };
	struct rn_rec_dev *d;
	struct rn_qp *qp;

	rec.u.qp_init = (struct rn_rec_qp_init){ .init = *init,
						 .send_cq = rn_rec_id(init->send_cq),
						 .recv_cq = rn_rec_id(init->recv_cq),
						 .srq = rn_rec_id(init->srq) };
	d = begin(dev, mem, &rec); /* a QP lies at the start of its block */
	if (d) {
		use_cq(init->send_cq, d->number);
		use_cq(init->recv_cq, d->number);
	}
	qp = __real_rn_qp_create(dev, mem, init);
	if (d)
		rn_rec_done(d);
	return qp;
}

RN_REC_WRAP(void, rn_qp_destroy, struct rn_dev *dev, struct rn_qp *qp)
{
	struct rn_rec rec = { .kind = RN_REC_QP_DESTROY };
	struct rn_rec_dev *d = begin(dev, qp, &rec);

	if (d)
		rn_rec_mem_forget(d, rn_qp_qpn(qp));
	__real_rn_qp_destroy(dev, qp);
	if (d)
		rn_rec_done(d);
}

RN_REC_WRAP(int, rn_qp_modify, struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
	    const struct rn_qp_attr *attr, uint32_t mask)
{
	struct rn_rec rec = { .kind = RN_REC_QP_MODIFY,
			      .now = now,
			      .u.modify = { .mask = mask, .attr = *attr } };
	struct rn_rec_dev *d = begin(dev, qp, &rec);
	int rc = __real_rn_qp_modify(dev, qp, now, attr, mask);

	if (d)
		rn_rec_result(d, rc);
	return rc;
}

RN_REC_WRAP(void, rn_qp_pace, struct rn_qp *qp, rn_ns now, uint32_t kbps, uint32_t burst)
{
	struct rn_rec rec = { .kind = RN_REC_QP_PACE,
			      .id = rn_rec_id(qp),
			      .now = now,
			      .u.pace = { .kbps = kbps, .burst = burst } };

	__real_rn_qp_pace(qp, now, kbps, burst);
	rn_rec_lone(&rec);
}

RN_REC_WRAP(void, rn_qp_fail, struct rn_dev *dev, struct rn_qp *qp, rn_ns now)
{
	struct rn_rec rec = { .kind = RN_REC_QP_FAIL, .now = now };
	struct rn_rec_dev *d = begin(dev, qp, &rec);

	__real_rn_qp_fail(dev, qp, now);
	if (d)
		rn_rec_done(d);
}

RN_REC_WRAP(void, rn_qp_overrun, struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
	    bool of_send_cq)
{
	struct rn_rec rec = { .kind = RN_REC_QP_OVERRUN,
			      .now = now,
			      .u.what = of_send_cq };
	struct rn_rec_dev *d = begin(dev, qp, &rec);

	__real_rn_qp_overrun(dev, qp, now, of_send_cq);
	if (d)
		rn_rec_done(d);
}

/* ------------------------------------------------------------ work requests */
static void fill_sg(struct rn_rec_post *p, const struct rn_sge *sg, uint32_t num_sge)
{
	uint64_t inline_len = 0;

	p->count = num_sge < RN_SGE_MAX ? num_sge : RN_SGE_MAX;
	for (uint32_t i = 0; i < p->count; i++) {
		p->sg[i] = (struct rn_rec_sge){ .sge = sg[i] };
		inline_len += sg[i].len;
	}
	/* The core looks at no more than that, and neither do we. */
	if (!(p->wr.flags & RN_SEND_INLINE) || inline_len > RN_INLINE_MAX)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		p->sg[i].data = (const uint8_t *)(uintptr_t)sg[i].addr;
		p->sg[i].len = sg[i].len;
	}
}

RN_REC_WRAP(int, rn_qp_post_send, struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
	    const struct rn_send_wr *wr)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec;
	int rc;

	if (!d)
		return __real_rn_qp_post_send(dev, qp, now, wr);
	rec.kind = RN_REC_POST_SEND;
	rec.now = now;
	rec.id = rn_rec_id(qp);
	rec.u.post.wr = *wr;
	rec.u.post.has_av = wr->av;
	if (wr->av)
		rec.u.post.av = *wr->av;
	fill_sg(&rec.u.post, wr->sg, wr->num_sge);
	rn_rec_begin(d, &rec);
	rc = __real_rn_qp_post_send(dev, qp, now, wr);
	rn_rec_result(d, rc);
	return rc;
}

static void fill_recv(struct rn_rec *rec, enum rn_rec_kind kind, const void *queue,
		      const struct rn_recv_wr *wr)
{
	rec->kind = kind;
	rec->id = rn_rec_id(queue);
	rec->u.post.wr.flags = 0;
	rec->u.post.wr.wr_id = wr->wr_id;
	rec->u.post.wr.num_sge = wr->num_sge;
	fill_sg(&rec->u.post, wr->sg, wr->num_sge);
}

RN_REC_WRAP(int, rn_qp_post_recv, struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
	    const struct rn_recv_wr *wr)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec;
	int rc;

	if (!d)
		return __real_rn_qp_post_recv(dev, qp, now, wr);
	fill_recv(&rec, RN_REC_POST_RECV, qp, wr);
	rec.now = now;
	rn_rec_begin(d, &rec);
	rc = __real_rn_qp_post_recv(dev, qp, now, wr);
	rn_rec_result(d, rc);
	return rc;
}

RN_REC_WRAP(bool, rn_qp_receive_frame, struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
	    const struct rn_rx_frame *f)
{
	struct rn_rec rec = { .kind = RN_REC_RECEIVE_FRAME,
			      .now = now,
			      .u.rx_frame = { .data = f->data,
					      .len = f->len,
					      .tag = f->tag,
					      .checksums_ok = f->checksums_ok } };
	struct rn_rec_dev *d = begin(dev, qp, &rec);
	bool rc = __real_rn_qp_receive_frame(dev, qp, now, f);

	if (d)
		rn_rec_result(d, rc);
	return rc;
}

/* ------------------------------------------------------ regions and windows */
RN_REC_WRAP(void, rn_dev_add_mr, struct rn_dev *dev, struct rn_mr *mr)
{
	struct rn_rec rec = { .kind = RN_REC_ADD_MR, .u.mr = *mr };
	struct rn_rec_dev *d = begin(dev, mr, &rec);

	__real_rn_dev_add_mr(dev, mr);
	if (d)
		rn_rec_done(d);
}

RN_REC_WRAP(void, rn_dev_remove_mr, struct rn_dev *dev, struct rn_mr *mr)
{
	struct rn_rec rec = { .kind = RN_REC_REMOVE_MR };
	struct rn_rec_dev *d = begin(dev, mr, &rec);

	__real_rn_dev_remove_mr(dev, mr);
	if (d)
		rn_rec_done(d);
}

/* ------------------------------------------------------ shared receive queues */
RN_REC_WRAP(struct rn_srq *, rn_srq_create, struct rn_dev *dev, void *mem, void *ring,
	    const struct rn_srq_init *init)
{
	struct rn_rec rec = { .kind = RN_REC_SRQ_CREATE,
			      .u.srq = { .init = *init, .cq = rn_rec_id(init->cq) } };
	struct rn_rec_dev *d = begin(dev, mem, &rec);
	struct rn_srq *srq;

	if (d)
		use_cq(init->cq, d->number);
	srq = __real_rn_srq_create(dev, mem, ring, init);
	if (d)
		rn_rec_done(d);
	return srq;
}

RN_REC_WRAP(void, rn_srq_destroy, struct rn_srq *srq)
{
	struct rn_rec rec = { .kind = RN_REC_SRQ_DESTROY, .id = rn_rec_id(srq) };

	__real_rn_srq_destroy(srq);
	rn_rec_lone(&rec);
}

RN_REC_WRAP(int, rn_srq_post_recv, struct rn_srq *srq, const struct rn_recv_wr *wr)
{
	int rc = __real_rn_srq_post_recv(srq, wr);
	struct rn_rec rec;

	fill_recv(&rec, RN_REC_SRQ_POST_RECV, srq, wr);
	rec.result = rc;
	rn_rec_lone(&rec);
	return rc;
}

static int put_number(enum rn_rec_kind kind, const struct rn_srq *srq, uint32_t number,
		      int result)
{
	struct rn_rec rec = { .kind = kind,
			      .id = rn_rec_id(srq),
			      .result = result,
			      .u.srq.number = number };

	rn_rec_lone(&rec);
	return result;
}

RN_REC_WRAP(int, rn_srq_set_limit, struct rn_srq *srq, uint32_t limit)
{
	return put_number(RN_REC_SRQ_SET_LIMIT, srq, limit,
			  __real_rn_srq_set_limit(srq, limit));
}

RN_REC_WRAP(int, rn_srq_resize, struct rn_srq *srq, void *ring, uint32_t max_wr,
	    void **old)
{
	return put_number(RN_REC_SRQ_RESIZE, srq, max_wr,
			  __real_rn_srq_resize(srq, ring, max_wr, old));
}

/* ---------------------------------------------------------------- multicast */
RN_REC_WRAP(void, rn_mcast_attach, struct rn_dev *dev, struct rn_mcast *m,
	    struct rn_qp *qp, const struct rn_gid *mgid)
{
	struct rn_rec rec = { .kind = RN_REC_MCAST_ATTACH,
			      .u.mcast = { .qp = rn_rec_id(qp), .mgid = *mgid } };
	struct rn_rec_dev *d = begin(dev, m, &rec);

	__real_rn_mcast_attach(dev, m, qp, mgid);
	if (d)
		rn_rec_done(d);
}

RN_REC_WRAP(void, rn_mcast_detach, struct rn_dev *dev, struct rn_mcast *m)
{
	struct rn_rec rec = { .kind = RN_REC_MCAST_DETACH };
	struct rn_rec_dev *d = begin(dev, m, &rec);

	__real_rn_mcast_detach(dev, m);
	if (d)
		rn_rec_done(d);
}
