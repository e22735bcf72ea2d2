/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.c - shared receive queues: create, modify, query, post, destroy. */
#include <stdlib.h>

#include "post.h"
#include "provider.h"
#include "rocin/srq.h"

enum {
	RING_ALIGN = 64
};

/* Returns a positive errno if such an SRQ cannot exist. */
static int check_init(const struct rnp_context *ctx, const struct ibv_srq_init_attr_ex *a)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if (a->comp_mask & ~(uint32_t)(IBV_SRQ_INIT_ATTR_RESERVED - 1) ||
	    a->srq_type == IBV_SRQT_TM)
		return EOPNOTSUPP;
	if (a->srq_type != IBV_SRQT_BASIC && a->srq_type != IBV_SRQT_XRC)
		return EINVAL;
	if (!(a->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !a->pd ||
	    a->pd->context != &ctx->base)
		return EINVAL;
	if (a->srq_type == IBV_SRQT_XRC &&
	    ((a->comp_mask & xrc) != xrc || !a->xrcd || !a->cq ||
	     a->xrcd->context != &ctx->base || a->cq->context != &ctx->base))
		return EINVAL;
	if (a->attr.max_wr < 1 || a->attr.max_wr > RN_WR_MAX ||
	    a->attr.max_sge > RN_SGE_MAX)
		return EINVAL;
	return 0;
}

static void free_srq(struct rnp_srq *srq)
{
	rnp_buffer_free(&srq->ring);
	free(srq->core);
	free(srq);
}

static struct rnp_buffer new_ring(uint32_t max_wr, uint32_t max_sge)
{
	return (struct rnp_buffer){ .len = rn_srq_ring_size(max_wr, max_sge),
				    .resource = RNP_RESOURCE_SRQ };
}

static struct rnp_srq *alloc_srq(struct rnp_context *ctx,
				 const struct ibv_srq_init_attr_ex *a)
{
	struct rnp_srq *srq = calloc(1, sizeof(*srq));

	if (!srq)
		return NULL;
	srq->ctx = ctx;
	srq->max_sge = a->attr.max_sge;
	srq->core = malloc(rn_srq_size());
	srq->ring = new_ring(a->attr.max_wr, a->attr.max_sge);
	if (!srq->core || rnp_buffer_alloc(&srq->ring, a->pd, RING_ALIGN)) {
		free_srq(srq);
		return NULL;
	}
	srq->base.context = &ctx->base;
	srq->base.srq_context = a->srq_context;
	srq->base.pd = a->pd;
	pthread_mutex_init(&srq->base.mutex, NULL);
	pthread_cond_init(&srq->base.cond, NULL);
	if (a->srq_type == IBV_SRQT_XRC) {
		srq->xrcd = to_rnp_xrcd(a->xrcd);
		srq->cq = to_rnp_cq(a->cq);
	}
	return srq;
}

/* Put the SRQ into the device. The engine lock is held. Returns 0 or a positive errno. */
static int add_srq(struct rnp_srq *srq, const struct ibv_srq_attr *attr)
{
	struct rnp_context *ctx = srq->ctx;
	struct rn_srq_init init = {
		.pd = to_rnp_pd(srq->base.pd)->number,
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.xrcd = srq->xrcd ? srq->xrcd->number : 0,
		.cq = srq->cq ? &srq->cq->core : NULL,
		.owner = srq,
	};
	int rc = -rnp_hca_add(ctx->hca, RNP_HCA_SRQ);

	if (rc)
		return rc;
	init.srqn = rnp_hca_new_srqn(ctx->hca);
	rn_srq_create(rnp_engine_dev(ctx->engine), srq->core, srq->ring.addr, &init);
	srq->base.handle = srq->number = init.srqn;
	if (srq->cq)
		srq->cq->qp_refs++;
	LIST_INSERT_HEAD(&ctx->srqs, srq, link);
	return 0;
}

/* Returns NULL with errno. */
static struct ibv_srq *new_srq(struct rnp_context *ctx,
			       const struct ibv_srq_init_attr_ex *a)
{
	struct rnp_srq *srq = NULL;
	int cancel;
	int rc = rnp_is_copy(ctx) ? EIO : check_init(ctx, a);

	if (!rc) {
		srq = alloc_srq(ctx, a);
		rc = srq ? 0 : ENOMEM;
	}
	if (!rc) {
		cancel = rnp_enter(ctx->engine);
		rc = add_srq(srq, &a->attr);
		rnp_leave(ctx->engine, cancel);
	}
	if (rc) {
		if (srq)
			free_srq(srq);
		errno = rc;
		return NULL;
	}
	rnp_pd_get(a->pd);
	if (srq->xrcd)
		atomic_fetch_add(&srq->xrcd->refs, 1);
	return &srq->base;
}

struct ibv_srq *rnp_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	const struct ibv_srq_init_attr_ex a = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.pd = pd,
	};

	return new_srq(to_rnp_context(pd->context), &a);
}

struct ibv_srq *rnp_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr_ex a = *attr;

	if (!(a.comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		a.srq_type = IBV_SRQT_BASIC;
	return new_srq(to_rnp_context(context), &a);
}

/* Limit and size together: both or, if one of them cannot be, none. Engine lock held.
 * @ring: a new one if the size changes; Out: the one that is not used. -errno.
 */
static int change_srq(struct rnp_srq *srq, const struct ibv_srq_attr *attr, int mask,
		      struct rnp_buffer *ring)
{
	struct rn_srq_attr now;
	uint32_t limit, room;
	void *old;
	int rc = 0;

	rn_srq_query(srq->core, &now);
	limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : now.limit;
	room = mask & IBV_SRQ_MAX_WR ? attr->max_wr : now.max_wr;
	if (limit > room)
		return -EINVAL;
	if (mask & IBV_SRQ_MAX_WR) {
		rn_srq_set_limit(srq->core, 0);
		rc = rn_srq_resize(srq->core, ring->addr, room, &old);
		if (rc) {
			limit = now.limit;
		} else {
			struct rnp_buffer was = srq->ring;

			assert(was.addr == old);
			srq->ring = *ring;
			*ring = was;
		}
	}
	rn_srq_set_limit(srq->core, limit);
	return rc;
}

int rnp_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct rnp_srq *srq = to_rnp_srq(base);
	struct rnp_engine *e = srq->ctx->engine;
	struct rnp_buffer ring = { 0 };
	int cancel, rc;

	if (rnp_is_copy(srq->ctx))
		return EIO;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR) {
		if (attr->max_wr < 1 || attr->max_wr > RN_WR_MAX)
			return EINVAL;
		ring = new_ring(attr->max_wr, srq->max_sge);
		if (rnp_buffer_alloc(&ring, base->pd, RING_ALIGN))
			return ENOMEM;
	}
	cancel = rnp_enter(e);
	rc = change_srq(srq, attr, mask, &ring);
	rnp_leave(e, cancel);
	rnp_buffer_free(&ring);
	return -rc;
}

int rnp_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
	struct rnp_srq *srq = to_rnp_srq(base);
	struct rn_srq_attr now;
	int cancel;

	if (rnp_is_copy(srq->ctx))
		return EIO;
	cancel = rnp_enter(srq->ctx->engine);
	rn_srq_query(srq->core, &now);
	rnp_leave(srq->ctx->engine, cancel);
	*attr = (struct ibv_srq_attr){
		.max_wr = now.max_wr,
		.max_sge = now.max_sge,
		.srq_limit = now.limit,
	};
	return 0;
}

int rnp_get_srq_num(struct ibv_srq *base, uint32_t *srq_num)
{
	*srq_num = to_rnp_srq(base)->number;
	return 0;
}

int rnp_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct rnp_srq *srq = to_rnp_srq(base);
	struct rnp_engine *e = srq->ctx->engine;
	int rc = 0, cancel;

	if (rnp_is_copy(srq->ctx)) {
		*bad_wr = wr;
		return EIO;
	}
	cancel = rnp_enter(e);
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	for (; wr; wr = wr->next) {
		const struct rn_recv_wr core_wr = rnp_recv_wr_from(wr);

		rc = rn_srq_post_recv(srq->core, &core_wr);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	rnp_leave(e, cancel);
	return -rc;
}

void rnp_srq_detach(struct rnp_srq *srq)
{
	rn_srq_destroy(srq->core);
	if (srq->cq)
		srq->cq->qp_refs--;
	rnp_hca_remove(srq->ctx->hca, RNP_HCA_SRQ);
	LIST_REMOVE(srq, link);
}

static void drain_events(struct rnp_srq *srq)
{
	struct rnp_awaited acks = { .mutex = &srq->base.mutex,
				    .cond = &srq->base.cond,
				    .acked = &srq->base.events_completed };

	if (srq->async_events)
		srq->async_events -= rnp_event_pipe_purge(&srq->ctx->async, &srq->base);
	acks.read = srq->async_events;
	rnp_await_acks(&acks);
}

int rnp_destroy_srq(struct ibv_srq *base)
{
	struct rnp_srq *srq = to_rnp_srq(base);
	struct rnp_context *ctx = srq->ctx;
	struct ibv_pd *pd = base->pd;
	bool busy;
	int cancel;

	if (rnp_is_copy(ctx)) {
		free_srq(srq);
		rnp_pd_put(pd);
		return 0;
	}
	cancel = rnp_enter(ctx->engine);
	busy = srq->qps > 0;
	if (!busy)
		rnp_srq_detach(srq);
	rnp_leave(ctx->engine, cancel);
	if (busy)
		return EBUSY;
	drain_events(srq);
	if (srq->xrcd)
		atomic_fetch_sub(&srq->xrcd->refs, 1);
	pthread_cond_destroy(&base->cond);
	pthread_mutex_destroy(&base->mutex);
	free_srq(srq);
	rnp_pd_put(pd);
	return 0;
}
