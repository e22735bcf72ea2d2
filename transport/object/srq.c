/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.c - shared receive queues. */
#include "srq.h"

#include <errno.h>
#include <string.h>

#include "rocin/srq.h"

static uint32_t stride_for(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct rn_recv_wqe) + max_sge * sizeof(struct rn_sge));
}

size_t rn_srq_size(void)
{
	return sizeof(struct rn_srq);
}

size_t rn_srq_ring_size(uint32_t max_wr, uint32_t max_sge)
{
	if (max_wr > RN_WR_MAX || max_sge > RN_SGE_MAX)
		return 0;
	return (size_t)rn_power_of_two(max_wr) * stride_for(max_sge);
}

static void set_ring(struct rn_wq *rq, void *ring, uint32_t max_wr, uint32_t max_sge)
{
	*rq = (struct rn_wq){ .slot = ring,
			      .stride = stride_for(max_sge),
			      .capacity = rn_power_of_two(max_wr),
			      .max_sge = max_sge,
			      .max_wr = max_wr };
}

struct rn_srq *rn_srq_create(struct rn_dev *dev, void *mem, void *ring,
			     const struct rn_srq_init *init)
{
	struct rn_srq *srq = mem;
	int rc;
	RN_SHOW_CALL(dev, .kind = RN_CALL_SRQ_CREATE, .object = mem, .u.srq = init);

	assert(init->srqn >= 1 && init->srqn <= RN_SRQN_MAX);
	assert(rn_srq_ring_size(init->max_wr, init->max_sge) > 0);
	assert(!init->xrcd == !init->cq);
	*srq = (struct rn_srq){
		.node.key = init->srqn,
		.dev = dev,
		.pd = init->pd,
		.xrcd = init->xrcd,
		.cq = init->cq,
		.owner = init->owner,
	};
	set_ring(&srq->rq, ring, init->max_wr, init->max_sge);
	rn_list_init(&srq->event_link);
	rc = rn_htab_insert(&dev->srqs, &srq->node);
	assert(rc == 0);
	return srq;
}

/* Drops the receive WQEs that XRC_RECV QPs have taken from the SRQ, because it is being
 * destroyed: such a WQE could complete only through this SRQ.
 */
static void take_back(const struct rn_srq *srq)
{
	const struct rn_htab *qps = &srq->dev->qps;

	for (struct rn_hnode *n = rn_htab_first(qps); n; n = rn_htab_next(qps, n)) {
		struct rn_responder *rsp = &RN_CONTAINER_OF(n, struct rn_qp, node)->rsp;

		if (rsp->taken_from != srq)
			continue;
		rsp->rq.head = rsp->rq.tail;
		rsp->recv_taken = false;
		rsp->taken_from = NULL;
	}
}

void rn_srq_destroy(struct rn_srq *srq)
{
	RN_SHOW_CALL(srq->dev, .kind = RN_CALL_SRQ_DESTROY, .object = srq);

	assert(srq->qps == 0);
	take_back(srq);
	rn_list_remove(&srq->event_link);
	rn_htab_remove(&srq->dev->srqs, &srq->node);
}

struct rn_srq *rn_srq_find(const struct rn_qp *qp, uint32_t srqn)
{
	struct rn_hnode *node = rn_htab_find(&qp->dev->srqs, srqn);
	struct rn_srq *srq;

	if (!node)
		return NULL;
	srq = RN_CONTAINER_OF(node, struct rn_srq, node);
	return srq->xrcd && srq->xrcd == qp->xrcd ? srq : NULL;
}

static int srq_post_recv(struct rn_srq *srq, const struct rn_recv_wr *wr)
{
	struct rn_wq *rq = &srq->rq;

	if (wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (rn_wq_count(rq) >= rq->max_wr)
		return -ENOMEM;
	rn_recv_wqe_fill(rn_wq_at(rq, rq->tail), wr);
	rq->tail++;
	return 0;
}

uint32_t rn_srq_next(const struct rn_srq *srq)
{
	return srq->rq.tail;
}

uint32_t rn_srq_wqe(const struct rn_srq *srq, uint32_t number, const void **at)
{
	const struct rn_recv_wqe *wqe = rn_wq_at(&srq->rq, number);

	*at = wqe;
	return rn_recv_wqe_len(wqe);
}

int rn_srq_post_recv(struct rn_srq *srq, const struct rn_recv_wr *wr)
{
	RN_SHOW_CALL(srq->dev, .kind = RN_CALL_SRQ_POST_RECV, .object = srq,
		     .u.recv = wr);

	return RN_SHOW_RESULT(srq_post_recv(srq, wr));
}

static int srq_set_limit(struct rn_srq *srq, uint32_t limit)
{
	if (limit > srq->rq.max_wr)
		return -EINVAL;
	srq->limit = limit;
	return 0;
}

int rn_srq_set_limit(struct rn_srq *srq, uint32_t limit)
{
	RN_SHOW_CALL(srq->dev, .kind = RN_CALL_SRQ_SET_LIMIT, .object = srq,
		     .u.number = limit);

	return RN_SHOW_RESULT(srq_set_limit(srq, limit));
}

static int srq_resize(struct rn_srq *srq, void *ring, uint32_t max_wr, void **old)
{
	const struct rn_wq from = srq->rq;
	struct rn_wq *rq = &srq->rq;

	assert(rn_srq_ring_size(max_wr, from.max_sge) > 0);
	if (rn_wq_count(&from) > max_wr || srq->limit > max_wr)
		return -EINVAL;
	set_ring(rq, ring, max_wr, from.max_sge);
	for (uint32_t i = from.head; i != from.tail; i++) {
		const struct rn_recv_wqe *wqe = rn_wq_at(&from, i);

		memcpy(rn_wq_at(rq, rq->tail++), wqe, rn_recv_wqe_len(wqe));
	}
	*old = from.slot;
	return 0;
}

int rn_srq_resize(struct rn_srq *srq, void *ring, uint32_t max_wr, void **old)
{
	RN_SHOW_CALL(srq->dev, .kind = RN_CALL_SRQ_RESIZE, .object = srq,
		     .u.number = max_wr);

	return RN_SHOW_RESULT(srq_resize(srq, ring, max_wr, old));
}

void rn_srq_query(const struct rn_srq *srq, struct rn_srq_attr *attr)
{
	*attr = (struct rn_srq_attr){
		.max_wr = srq->rq.max_wr,
		.max_sge = srq->rq.max_sge,
		.limit = srq->limit,
		.posted = rn_wq_count(&srq->rq),
	};
}

void *rn_srq_owner(const struct rn_srq *srq)
{
	return srq->owner;
}

/* ------------------------------------------------------ taking receive WQEs */
struct rn_recv_wqe *rn_srq_head(const struct rn_srq *srq)
{
	return rn_wq_count(&srq->rq) > 0 ? rn_wq_at(&srq->rq, srq->rq.head) : NULL;
}

struct rn_recv_wqe *rn_srq_take(struct rn_srq *srq, struct rn_qp *qp)
{
	const struct rn_recv_wqe *wqe = rn_srq_head(srq);
	struct rn_wq *rq = &qp->rsp.rq;

	assert(wqe && wqe->num_sge <= rq->max_sge && rn_wq_count(rq) == 0);
	memcpy(rn_wq_at(rq, rq->tail), wqe, rn_recv_wqe_len(wqe));
	rq->tail++;
	srq->rq.head++;
	qp->rsp.taken_from = srq;
	if (rn_wq_count(&srq->rq) < srq->limit) {
		srq->limit = 0;
		rn_event_raise_srq(srq);
	}
	return rn_wq_at(rq, rq->head);
}

void rn_recv_wqe_fill(struct rn_recv_wqe *wqe, const struct rn_recv_wr *wr)
{
	uint64_t len = rn_sge_sum(wr->sg, wr->num_sge);

	*wqe = (struct rn_recv_wqe){
		.wr_id = wr->wr_id,
		/* A sum beyond UINT32_MAX need not be exact, because no message is longer
		 * than 2^31 bytes.
		 */
		.length = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX,
		.num_sge = wr->num_sge,
	};
	if (wr->num_sge)
		memcpy(rn_recv_sge(wqe), wr->sg, wr->num_sge * sizeof(*wr->sg));
}
