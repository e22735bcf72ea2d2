/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cq.c - completion queues: their creation, resizing and destruction. */
#include "cq.h"

#include <errno.h>
#include <stdlib.h>

#include "provider/persona/persona.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/event.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"

static uint32_t round_up_pow2(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static size_t ring_bytes(uint32_t capacity)
{
	return (size_t)capacity * sizeof(struct rn_cqe);
}

/* Allocates a ring. Returns as rnp_buffer_alloc() does. */
static int alloc_ring(struct rnp_engine *e, struct rnp_buffer *ring,
		      struct ibv_pd *parent, uint32_t capacity)
{
	*ring = (struct rnp_buffer){ .resource = RNP_RESOURCE_CQ,
				     .len = ring_bytes(capacity),
				     .engine = e };
	return rnp_buffer_alloc(ring, parent, sizeof(struct rn_cqe));
}

/* Frees a CQ that the program cannot name: it was destroyed, or never added. */
static void free_cq(struct rnp_cq *cq)
{
	rnp_buffer_free(&cq->ring_mem);
	cq->ring_mem = (struct rnp_buffer){ 0 };
	if (cq->parent)
		rnp_pd_put(cq->parent);
	rnp_object_free(RNP_KIND_CQ, cq);
}

/* Makes a destroyed CQ empty for later polls by other threads, which read the ring under
 * the lock of the CQ. If another thread holds that lock, or this thread itself between
 * ibv_start_poll() and ibv_end_poll(), the function does not wait for it. The CQ then
 * keeps its ring until the memory of the CQ is reused. A ring from the program's own
 * allocator is not kept, because the allocator may cease to exist before.
 */
static void retire_ring(struct rnp_cq *cq)
{
	static struct rn_cqe none;

	rnp_buffer_unpin(&cq->ring_mem);
	if (rnp_use_lock_try(&cq->lock)) {
		cq->core.capacity = 1;
		__atomic_store_n(&cq->core.producer, 0, __ATOMIC_RELAXED);
		atomic_store_explicit(&cq->core.consumer, 0, memory_order_relaxed);
		cq->lap_shift = 0;
		cq->ring = &none;
		rnp_use_lock_give(&cq->lock);
	} else if (!cq->ring_mem.from) {
		cq->late_ring = cq->ring_mem;
		cq->ring_mem = (struct rnp_buffer){ 0 };
	}
}

/* Frees the ring that a destroyed CQ may have kept, see retire_ring(). */
static void scrub_cq(void *object)
{
	struct rnp_cq *cq = object;

	rnp_buffer_free(&cq->late_ring);
}

/* Allocates a CQ, with its ring from the allocator of the parent domain @parent, in which
 * the caller has counted the CQ already; @parent may be NULL. Returns NULL on failure.
 */
static struct rnp_cq *alloc_cq(struct rnp_context *ctx, uint32_t cqe,
			       struct ibv_pd *parent)
{
	uint32_t capacity = round_up_pow2(cqe);
	struct rnp_cq *cq = rnp_object_new(RNP_KIND_CQ, scrub_cq);
	int rc;

	if (!cq)
		return NULL;
	cq->parent = parent;
	rc = alloc_ring(ctx->engine, &cq->ring_mem, parent, capacity);
	if (rc) {
		rnp_object_free(RNP_KIND_CQ, cq);
		errno = -rc;
		return NULL;
	}
	cq->ring = cq->ring_mem.addr;
	cq->ctx = ctx;
	rn_cq_init(&cq->core, (uintptr_t)cq->ring, capacity, cq);
	cq->lap_shift = (uint32_t)__builtin_ctz(capacity);
	cq->base.cq.context = &ctx->base;
	cq->base.cq.cqe = (int)capacity;
	return cq;
}

/* Adds the CQ to its context. The engine lock is held. Returns 0 or -errno. */
static int add_cq(struct rnp_context *ctx, struct rnp_cq *cq)
{
	struct rn_stats_object o = { .kind = RN_STATS_CQ, .ctxn = (uint32_t)ctx->file };
	int rc = rnp_hca_add(ctx->hca, RNP_HCA_CQ);

	if (rc)
		return rc;
	o.number = cq->number = cq->base.cq.handle = rnp_hca_new_cq(ctx->hca);
	o.cqe = (uint32_t)cq->base.cq.cqe;
	cq->record = rnp_engine_record(ctx->engine, &o);
	LIST_INSERT_HEAD(&ctx->cqs, cq, link);
	rnp_handle_add(ctx, RNP_KIND_CQ, cq);
	return 0;
}

/* Checks the parameters of a new CQ. Returns 0 or a positive errno. */
static int check_cq(const struct rnp_context *ctx, uint32_t cqe,
		    const struct ibv_comp_channel *channel, uint32_t comp_vector)
{
	if (rnp_is_fork_child(ctx))
		return EIO;
	if (cqe < 1 || cqe > RN_CQE_MAX || comp_vector >= RNP_COMP_VECTORS ||
	    (channel && channel->context != &ctx->base))
		return EINVAL;
	return rnp_persona_check_cq(rnp_engine_persona(ctx->engine), cqe);
}

/* Creates a CQ: the common part of ibv_create_cq() and ibv_create_cq_ex(). @parent: the
 * parent domain, in which the caller has counted the CQ already, or NULL. Returns NULL
 * with errno on failure.
 */
static struct rnp_cq *new_cq(struct rnp_context *ctx, uint32_t cqe,
			     const struct ibv_comp_channel *channel,
			     struct ibv_pd *parent)
{
	struct rnp_cq *cq = alloc_cq(ctx, cqe, parent);
	int cancel, rc;

	if (!cq) {
		if (parent)
			rnp_pd_put(parent);
		return NULL;
	}
	if (channel) {
		cq->channel = rnp_channel_get(ctx, channel);
		if (!cq->channel) {
			rc = errno;
			goto err_free;
		}
	}
	cancel = rnp_lock_engine(ctx->engine);
	rc = -add_cq(ctx, cq);
	rnp_unlock_engine(ctx->engine, cancel);
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
	struct rnp_context *ctx = to_rnp_context(context);
	int rc = check_cq(ctx, cqe < 1 ? 0 : (uint32_t)cqe, channel,
			  (uint32_t)comp_vector);
	struct rnp_cq *cq = rc ? NULL : new_cq(ctx, (uint32_t)cqe, channel, NULL);

	if (rc)
		errno = rc;
	return cq ? &cq->base.cq : NULL;
}

static void show_times(const struct rnp_cq *cq)
{
	struct rnp_engine *e = cq->ctx->engine;
	int cancel = rnp_lock_engine(e);

	rnp_engine_keep_exact_time(e);
	rnp_unlock_engine(e, cancel);
}

/* Counts one more object in the parent domain @parent. Returns 0, or EINVAL if @parent is
 * not a parent domain.
 */
static int hold_parent(struct rnp_context *ctx, struct ibv_pd *parent)
{
	int cancel = rnp_lock_engine(ctx->engine);
	bool found = parent && rnp_pd_find(ctx, parent) && rnp_pd_is_parent(parent);

	if (found)
		rnp_pd_get(parent);
	rnp_unlock_engine(ctx->engine, cancel);
	return found ? 0 : EINVAL;
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
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_cq *cq;
	int rc;

	if (attr->wc_flags & ~wc_flags || attr->comp_mask & ~(has_flags | has_pd) ||
	    flags & ~single) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	rc = check_cq(ctx, attr->cqe, attr->channel, attr->comp_vector);
	if (!rc && attr->comp_mask & has_pd)
		rc = hold_parent(ctx, parent);
	if (rc) {
		errno = rc;
		return NULL;
	}
	cq = new_cq(ctx, attr->cqe, attr->channel, parent);
	if (!cq)
		return NULL;
	if (attr->wc_flags & times)
		show_times(cq);
	cq->lock.is_single = flags & single || (parent && rnp_pd_has_td(parent));
	rnp_cq_init_ex(cq, attr->wc_flags);
	return &cq->base.cq_ex;
}

/* Copies the unread CQEs into the new ring @ring of @capacity entries. The number of a
 * CQE determines its index and its lap (how often the ring has gone round) there.
 */
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

/* Finds the CQ that the program has passed, and counts one more user of it, so that it
 * cannot be destroyed. Returns NULL if there is no such CQ.
 */
static struct rnp_cq *hold_cq(struct rnp_context *ctx, const struct ibv_cq *base)
{
	int cancel = rnp_lock_engine(ctx->engine);
	struct rnp_cq *cq = rnp_handle_find(ctx, RNP_KIND_CQ, base);

	if (cq)
		cq->qp_refs++;
	rnp_unlock_engine(ctx->engine, cancel);
	return cq;
}

/* Gives the CQ another ring of @capacity entries, unless it has more than @cqe unread
 * CQEs. The lock of the CQ and the engine lock are held.
 * @ring: the new ring; out: the old one. Returns 0, or EINVAL if there are too many CQEs.
 */
static int exchange_ring(struct rnp_cq *cq, struct rnp_buffer *ring, uint32_t capacity,
			 uint32_t cqe)
{
	struct rnp_engine *e = cq->ctx->engine;
	struct rnp_buffer old = cq->ring_mem;
	uint32_t waiting;

	/* Complete the reads and atomics that only wait for memory, until all CQEs that
	 * are under way have reached the old ring.
	 */
	while (rnp_engine_settle(e, 0))
		rnp_engine_kick(e);
	waiting = cq->core.producer -
		  atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);
	if (waiting > cqe)
		return EINVAL;
	move_cqes(cq, ring->addr, capacity);
	cq->ring_mem = *ring;
	cq->ring = ring->addr;
	/* rn_cq_move() stores the address of the ring atomically, because
	 * note_empty_poll() in poll.c loads it without a lock.
	 */
	rn_cq_move(&cq->core, (uintptr_t)ring->addr, capacity);
	cq->lap_shift = (uint32_t)__builtin_ctz(capacity);
	cq->base.cq.cqe = (int)capacity;
	if (cq->record)
		cq->record->cqe = capacity;
	*ring = old;
	return 0;
}

int rnp_resize_cq(struct ibv_cq *base, int cqe)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_engine *e = ctx->engine;
	struct rnp_buffer ring = { 0 };
	uint32_t capacity;
	struct rnp_cq *cq;
	int cancel, rc;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (cqe < 1 || cqe > RN_CQE_MAX)
		return EINVAL;
	rc = rnp_persona_check_cq(rnp_engine_persona(e), (uint32_t)cqe);
	if (rc)
		return rc;
	cq = hold_cq(ctx, base);
	if (!cq)
		return EINVAL;
	capacity = round_up_pow2((uint32_t)cqe);
	rc = -alloc_ring(e, &ring, cq->parent, capacity);
	rnp_use_lock_take(&cq->lock);
	cancel = rnp_lock_engine(e);
	if (!rc)
		rc = exchange_ring(cq, &ring, capacity, (uint32_t)cqe);
	cq->qp_refs--;
	rnp_unlock_engine(e, cancel);
	rnp_use_lock_give(&cq->lock);
	rnp_buffer_free(&ring);
	return rc;
}

int rnp_modify_cq(struct ibv_cq *base, struct ibv_modify_cq_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_engine *e = ctx->engine;
	struct rnp_cq *cq;
	int cancel;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (attr->attr_mask == 0)
		return EINVAL;
	if (attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return EOPNOTSUPP;
	cancel = rnp_lock_engine(e);
	cq = rnp_handle_find(ctx, RNP_KIND_CQ, base);
	if (cq) {
		rn_cq_moderate(rnp_engine_dev(e), &cq->core, attr->moderate.cq_count,
			       RN_USEC(attr->moderate.cq_period));
		rnp_engine_kick(e);
	}
	rnp_unlock_engine(e, cancel);
	return cq ? 0 : EINVAL;
}

void rnp_cq_detach(struct rnp_cq *cq)
{
	struct rnp_context *ctx = cq->ctx;

	if (cq->counted_armed)
		rnp_engine_cq_unarmed(ctx->engine);
	cq->counted_armed = false;
	rnp_cq_drop_pending_event(cq);
	rnp_cq_settle_ring(cq);
	rn_cq_fini(rnp_engine_dev(ctx->engine), &cq->core);
	rnp_engine_forget(ctx->engine, cq->record);
	rnp_hca_remove(ctx->hca, RNP_HCA_CQ);
	LIST_REMOVE(cq, link);
}

void rnp_cq_count_users(struct rnp_cq *cq, int by)
{
	cq->qp_refs += (unsigned)by;
	rnp_record_users(cq->record, by);
}

/* Purges the CQ's unread events, and waits until the program has acknowledged those that
 * it has read. The CQ has been removed from the device, so no new events come.
 */
static void drain_events(struct rnp_cq *cq)
{
	struct ibv_cq *base = &cq->base.cq;
	struct rnp_awaited comp = { .mutex = &base->mutex,
				    .cond = &base->cond,
				    .acked = &base->comp_events_completed };
	struct rnp_awaited async = { .mutex = &base->mutex,
				     .cond = &base->cond,
				     .acked = &base->async_events_completed };

	if (cq->comp_events)
		cq->comp_events -= rnp_event_pipe_purge(&cq->channel->pipe, base);
	if (cq->async_events)
		cq->async_events -= rnp_event_pipe_purge(&cq->ctx->async, base);
	comp.read = cq->comp_events;
	async.read = cq->async_events;
	rnp_await_acks(&comp);
	rnp_await_acks(&async);
}

/* Removes the CQ from the device, and from the table by which the program names it. If
 * the engine lock is not held, because @lock is RNP_NO_LOCK, does only the latter.
 * Returns 0 or a positive errno.
 */
static int end_cq(struct rnp_context *ctx, struct rnp_cq *cq, int lock)
{
	if (!cq)
		return ENOENT;
	if (lock != RNP_NO_LOCK) {
		if (cq->qp_refs > 0)
			return EBUSY;
		rnp_cq_detach(cq);
	}
	rnp_handle_remove(ctx, RNP_KIND_CQ, cq);
	atomic_store_explicit(&cq->linger, true, memory_order_relaxed);
	return 0;
}

int rnp_destroy_cq(struct ibv_cq *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_cq *cq = rnp_handle_find(ctx, RNP_KIND_CQ, base);
	int err = end_cq(ctx, cq, lock);
	struct rnp_channel *channel;

	rnp_unlock_destroyed(ctx, lock);
	if (err)
		return err;
	if (lock != RNP_NO_LOCK) {
		drain_events(cq);
		channel = cq->channel;
		cq->channel = NULL;
		if (channel)
			rnp_channel_put(ctx, channel);
	}
	retire_ring(cq);
	free_cq(cq);
	return 0;
}
