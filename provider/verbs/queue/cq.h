/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cq.h - completion queues. */
#ifndef RNP_CQ_H
#define RNP_CQ_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "provider/engine/lock/use_lock.h"
#include "provider/engine/pcie.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"
#include "rocin/cqe.h"
#include "rocin/stats.h"

/* Offset of the wall clock from the monotonic clock. Both run at one rate, so the offset
 * is constant until the wall clock is set. It is measured by reading the wall clock
 * between two readings of the monotonic one, which gives a range. The range that was
 * found first is kept as long as later readings are consistent with it: so the same
 * instant gives the same time of day each time, and the order of instants is kept.
 *
 * All-zero: nothing has been measured yet. One thread at a time.
 */
struct rnp_wall_clock {
	uint64_t low, width; /* ns; the offset is in [low, low + width] */
	bool is_known;
};

struct rnp_cq {
	union rnp_abi_cq base;
	struct rnp_handle handle;
	struct rnp_context *ctx;
	struct rnp_channel *channel; /* NULL: the CQ has no completion channel */
	LIST_ENTRY(rnp_cq) link;
	struct rn_cq core;

	/* guards: reading of the ring, core.consumer, current */
	struct rnp_use_lock lock;
	struct rn_cqe *ring; /* CQEs, at ring_mem.addr */
	struct rnp_buffer ring_mem;
	/* the ring of a destroyed CQ that another thread was reading */
	struct rnp_buffer late_ring;
	/* parent domain whose allocator allocates the ring, or NULL */
	struct ibv_pd *parent;
	/* log2 of the capacity; index >> lap_shift is the number of the lap */
	uint32_t lap_shift;
	/* the CQE whose fields the program reads between ibv_start_poll() and
	 * ibv_end_poll()
	 */
	struct rn_cqe current;
	/* @wall_ns is the time of day when @current was completed. It is computed when
	 * the program first asks for it, and @has_wall_ns is true from then on. Guarded
	 * like @current.
	 */
	struct rnp_wall_clock wall;
	uint64_t wall_ns;
	bool has_wall_ns;

	/* The next three members are hints. Threads that poll or arm the CQ write them
	 * with relaxed order.
	 */
	/* number of polls that found CQEs, modulo 16 */
	atomic_uint since_drain;
	/* ibv_req_notify_cq() was called, and no poll was empty since; also set when the
	 * CQ is destroyed, so that polls look at its handle
	 */
	atomic_bool linger;
	atomic_bool was_empty; /* the last poll found nothing */

	/* The next members are guarded by the engine lock. */
	/* Number of uses by QPs and SRQs whose completions come here. A QP whose two
	 * queues both use this CQ counts twice.
	 */
	unsigned qp_refs;
	uint32_t number;
	struct rn_stats_object *record;
	bool counted_armed; /* the engine counts this CQ as armed */
	bool event_pending; /* an event could not be written, as the channel was full */
	/* number of completion events written, less those that were purged */
	uint32_t comp_events;
	uint32_t async_events;
};

static inline struct rnp_cq *to_rnp_cq(struct ibv_cq *cq)
{
	return (struct rnp_cq *)cq;
}

/* Waits until CQEs that are still under way in the simulated PCIe hierarchy have reached
 * the ring. On hardware, too, they arrive before an interrupt that follows them. The
 * engine lock is held.
 */
static inline void rnp_cq_settle_ring(const struct rnp_cq *cq)
{
	rnp_pcie_settle_ring(rnp_engine_pcie(cq->ctx->engine), cq->core.ring,
			     (size_t)cq->core.capacity * sizeof(struct rn_cqe));
}

struct ibv_cq *rnp_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq_ex *rnp_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr);
int rnp_resize_cq(struct ibv_cq *base, int cqe);
int rnp_modify_cq(struct ibv_cq *base, struct ibv_modify_cq_attr *attr);
int rnp_destroy_cq(struct ibv_cq *base);
void rnp_cq_detach(struct rnp_cq *cq);
/* Adds @by to the number of QPs and SRQs that use this CQ for their completions. The
 * engine lock is held.
 */
void rnp_cq_count_users(struct rnp_cq *cq, int by);
int rnp_req_notify_cq(struct ibv_cq *base, int solicited_only);
int rnp_poll_cq(struct ibv_cq *base, int num_entries, struct ibv_wc *wc);
/* Marks the unread CQEs of the QP @qpn, which was reset or destroyed, so that polls skip
 * them. The engine lock is held.
 */
void rnp_cq_skip_qp(struct rnp_cq *cq, uint32_t qpn);

/* Gives an extended CQ its functions for reading the fields that @wc_flags names. */
void rnp_cq_init_ex(struct rnp_cq *cq, uint64_t wc_flags);

void rnp_wc_from_cqe(struct ibv_wc *wc, const struct rn_cqe *cqe);

/**
 * rnp_wall_clock_at() - Convert an instant to time of day
 * @mono_ns:	The instant, of CLOCK_MONOTONIC
 *
 * Return: CLOCK_REALTIME in ns. The error is at most half the time that the quickest of
 *	   some readings of both clocks took. If the wall clock was set since the instant,
 *	   the result is by the new setting.
 */
uint64_t rnp_wall_clock_at(struct rnp_wall_clock *c, uint64_t mono_ns);

#endif /* RNP_CQ_H */
