/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cq.c - completion queues: create, resize, arm, destroy. poll.c reads them. */
#include <stdlib.h>

#include "provider.h"

static uint32_t round_up_pow2(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static size_t ring_bytes(uint32_t capacity)
{
	return (size_t)capacity * sizeof(struct rn_cqe);
}

/* 0 or -ENOMEM. */
static int alloc_ring(struct rnp_buffer *ring, struct ibv_pd *parent, uint32_t capacity)
{
	ring->resource = RNP_RESOURCE_CQ;
	ring->len = ring_bytes(capacity);
	return rnp_buffer_alloc(ring, parent, sizeof(struct rn_cqe));
}

static void free_cq(struct rnp_cq *cq)
{
	pthread_mutex_destroy(&cq->lock);
	rnp_buffer_free(&cq->ring_mem);
	if (cq->parent)
		rnp_pd_put(cq->parent);
	free(cq);
}

static struct rnp_cq *alloc_cq(struct rnp_context *ctx, uint32_t cqe,
			       struct ibv_pd *parent)
{
	uint32_t capacity = round_up_pow2(cqe);
	struct rnp_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	if (alloc_ring(&cq->ring_mem, parent, capacity)) {
		free(cq);
		errno = ENOMEM;
		return NULL;
	}
	cq->ring = cq->ring_mem.addr;
	cq->parent = parent;
	if (parent)
		rnp_pd_get(parent);
	cq->ctx = ctx;
	pthread_mutex_init(&cq->lock, NULL);
	rn_cq_init(&cq->core, (uintptr_t)cq->ring, capacity, cq);
	cq->lap_shift = (uint32_t)__builtin_ctz(capacity);
	cq->base.cq.cqe = (int)capacity;
	return cq;
}

/* What ibv_create_cq() and ibv_create_cq_ex() have in common. NULL with errno. */
static struct rnp_cq *create(struct rnp_context *ctx, uint32_t cqe,
			     const struct ibv_comp_channel *channel, uint32_t comp_vector,
			     struct ibv_pd *parent)
{
	struct rnp_cq *cq;
	int cancel, rc;

	if (rnp_is_copy(ctx)) {
		errno = EIO;
		return NULL;
	}
	if (cqe < 1 || cqe > RN_CQE_MAX || comp_vector >= RNP_COMP_VECTORS ||
	    (channel && channel->context != &ctx->base)) {
		errno = EINVAL;
		return NULL;
	}
	cq = alloc_cq(ctx, cqe, parent);
	if (!cq)
		return NULL;
	if (channel) {
		cq->channel = rnp_channel_get(ctx, channel);
		if (!cq->channel) {
			rc = errno;
			goto err_free;
		}
	}
	cancel = rnp_enter(ctx->engine);
	rc = -rnp_hca_add(ctx->hca, RNP_HCA_CQ);
	if (!rc)
		LIST_INSERT_HEAD(&ctx->cqs, cq, link);
	rnp_leave(ctx->engine, cancel);
	if (rc)
		goto err_channel;
	return cq;

err_channel:
	if (cq->channel)
		rnp_channel_put(ctx, cq->channel);
err_free:
	free_cq(cq);
	errno = rc;
	return NULL;
}

struct ibv_cq *rnp_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct rnp_cq *cq = create(to_rnp_context(context), cqe < 1 ? 0 : (uint32_t)cqe,
				   channel, (uint32_t)comp_vector, NULL);

	return cq ? &cq->base.cq : NULL;
}

static void show_times(const struct rnp_cq *cq)
{
	struct rnp_engine *e = cq->ctx->engine;
	int cancel = rnp_enter(e);

	rnp_engine_shows_time(e);
	rnp_leave(e, cancel);
}

struct ibv_cq_ex *rnp_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t times = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	const uint64_t wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG | times;
	const uint32_t has_flags = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	const uint32_t has_pd = IBV_CQ_INIT_ATTR_MASK_PD;
	const uint32_t single = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	uint32_t flags = attr->comp_mask & has_flags ? attr->flags : 0;
	struct ibv_pd *parent = attr->comp_mask & has_pd ? attr->parent_domain : NULL;
	struct rnp_cq *cq;

	if (attr->wc_flags & ~wc_flags || attr->comp_mask & ~(has_flags | has_pd) ||
	    flags & ~single) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->comp_mask & has_pd &&
	    (!parent || parent->context != context || !rnp_pd_is_parent(parent))) {
		errno = EINVAL;
		return NULL;
	}
	cq = create(to_rnp_context(context), attr->cqe, attr->channel, attr->comp_vector,
		    parent);
	if (!cq)
		return NULL;
	if (attr->wc_flags & times)
		show_times(cq);
	cq->single_threaded = flags & single;
	rnp_cq_init_ex(cq, attr->wc_flags);
	return &cq->base.cq_ex;
}

void rnp_cq_settle(const struct rnp_cq *cq)
{
	rnp_pcie_settle_ring(rnp_engine_pcie(cq->ctx->engine), cq->core.ring,
			     ring_bytes(cq->core.capacity));
}

/* Copy the CQEs that wait into @ring, each to the place and lap that its number has
 * there. */
static void move_cqes(const struct rnp_cq *cq, struct rn_cqe *ring, uint32_t capacity)
{
	uint32_t first = atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);

	for (uint32_t i = first; i != cq->core.producer; i++) {
		struct rn_cqe cqe = cq->ring[i & (cq->core.capacity - 1)];
		uint64_t lap = i / capacity + 1;

		cqe.ctl = lap << 32 | (uint32_t)cqe.ctl;
		ring[i & (capacity - 1)] = cqe;
	}
}

int rnp_resize_cq(struct ibv_cq *base, int cqe)
{
	struct rnp_cq *cq = to_rnp_cq(base);
	struct rnp_engine *e = cq->ctx->engine;
	struct rnp_buffer ring, old;
	uint32_t capacity, waiting;
	int cancel;

	if (rnp_is_copy(cq->ctx))
		return EIO;
	if (cqe < 1 || cqe > RN_CQE_MAX)
		return EINVAL;
	capacity = round_up_pow2((uint32_t)cqe);
	if (alloc_ring(&ring, cq->parent, capacity))
		return ENOMEM;

	pthread_mutex_lock(&cq->lock);
	cancel = rnp_enter(e);
	/* What only waits for its data counts as complete, and CQEs on their way come
	 * into the old ring.
	 */
	while (rnp_engine_settle(e, 0))
		rnp_engine_kick(e);
	waiting = cq->core.producer -
		  atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);
	if (waiting > (uint32_t)cqe) {
		rnp_leave(e, cancel);
		pthread_mutex_unlock(&cq->lock);
		rnp_buffer_free(&ring);
		return EINVAL;
	}
	move_cqes(cq, ring.addr, capacity);
	old = cq->ring_mem;
	cq->ring_mem = ring;
	cq->ring = ring.addr;
	/* Partner: note_empty() in poll.c, which has no lock. */
	rn_cq_move(&cq->core, (uintptr_t)ring.addr, capacity);
	cq->lap_shift = (uint32_t)__builtin_ctz(capacity);
	cq->base.cq.cqe = (int)capacity;
	rnp_leave(e, cancel);
	pthread_mutex_unlock(&cq->lock);
	rnp_buffer_free(&old);
	return 0;
}

int rnp_modify_cq(struct ibv_cq *base, struct ibv_modify_cq_attr *attr)
{
	struct rnp_cq *cq = to_rnp_cq(base);
	struct rnp_engine *e = cq->ctx->engine;
	int cancel;

	if (rnp_is_copy(cq->ctx))
		return EIO;
	if (attr->attr_mask == 0)
		return EINVAL;
	if (attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return EOPNOTSUPP;
	cancel = rnp_enter(e);
	rn_cq_moderate(rnp_engine_dev(e), &cq->core, attr->moderate.cq_count,
		       RN_USEC(attr->moderate.cq_period));
	rnp_engine_kick(e);
	rnp_leave(e, cancel);
	return 0;
}

int rnp_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	struct rnp_cq *cq = to_rnp_cq(base);
	struct rnp_engine *e = cq->ctx->engine;
	int cancel;

	if (rnp_is_copy(cq->ctx))
		return EIO;
	cancel = rnp_enter(e);
	rnp_engine_drain(e);
	/* No event comes for them: the poll that follows must find them. */
	rnp_cq_settle(cq);
	rn_cq_arm(&cq->core, solicited_only ? RN_CQ_ARM_SOLICITED : RN_CQ_ARM_NEXT);
	rnp_cq_write_owed(cq);
	if (!cq->counted_armed) {
		cq->counted_armed = true;
		rnp_engine_cq_armed(e);
	}
	rnp_leave(e, cancel);
	atomic_store_explicit(&cq->linger, true, memory_order_relaxed);
	return 0;
}

void rnp_cq_detach(struct rnp_cq *cq)
{
	struct rnp_context *ctx = cq->ctx;

	if (cq->counted_armed)
		rnp_engine_cq_unarmed(ctx->engine);
	cq->counted_armed = false;
	rnp_cq_forget_owed(cq);
	rnp_cq_settle(cq);
	rn_cq_fini(rnp_engine_dev(ctx->engine), &cq->core);
	rnp_hca_remove(ctx->hca, RNP_HCA_CQ);
	LIST_REMOVE(cq, link);
}

int rnp_destroy_cq(struct ibv_cq *base)
{
	struct rnp_cq *cq = to_rnp_cq(base);
	struct rnp_context *ctx = cq->ctx;
	bool busy;
	int cancel;

	if (rnp_is_copy(ctx)) {
		rnp_buffer_free(&cq->ring_mem);
		if (cq->parent)
			rnp_pd_put(cq->parent);
		free(cq);
		return 0;
	}
	cancel = rnp_enter(ctx->engine);
	busy = cq->qp_refs > 0;
	if (!busy)
		rnp_cq_detach(cq);
	rnp_leave(ctx->engine, cancel);
	if (busy)
		return EBUSY;
	rnp_cq_settle_events(cq);
	if (cq->channel)
		rnp_channel_put(ctx, cq->channel);
	free_cq(cq);
	return 0;
}
