/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device_check.h - whether each work request of a device world completes once, in the
 * order of its queue, on its own queue pair, and at last at all.
 */
#ifndef RN_DEVICE_CHECK_H
#define RN_DEVICE_CHECK_H

#include "device_world.h"
#include "rocin/cqe.h"

static inline void note_post(struct world *w, unsigned qp, enum note_queue queue,
			     bool signaled)
{
	require(w->wr_id < NOTES);
	w->note[w->wr_id] = (struct note){ .state = NOTE_POSTED,
					   .queue = (uint8_t)queue,
					   .qp = (uint8_t)qp,
					   .signaled = signaled };
}

/* The requests before it in its queue have ended, which for some nobody was to be told.
 */
static inline void check_order(struct world *w, uint64_t wr_id)
{
	const struct note *done = &w->note[wr_id];

	for (uint64_t i = wr_id; i-- > 1;) {
		struct note *n = &w->note[i];

		if (n->qp != done->qp || n->queue != done->queue)
			continue;
		if (n->state != NOTE_POSTED)
			continue;
		require(n->queue == QUEUE_SEND && !n->signaled);
		n->state = NOTE_DONE;
	}
}

static inline void check_cqe(struct world *w, const struct rn_cqe *cqe)
{
	struct note *n;

	require(cqe->wr_id > 0 && cqe->wr_id <= w->wr_id);
	n = &w->note[cqe->wr_id];
	require(n->state == NOTE_POSTED);
	n->state = NOTE_DONE;
	if (n->queue == QUEUE_SHARED)
		return;
	require(cqe->qpn == (uint32_t)QPN0 + n->qp);
	require(n->queue == QUEUE_RECV || n->signaled ||
		(cqe->ctl & 0xff) != RN_WC_SUCCESS);
	check_order(w, cqe->wr_id);
}

/* All that is in the CQ. One that overflowed has lost some. */
static inline void take_cqes(struct world *w)
{
	uint32_t at = atomic_load(&w->cq.consumer);

	for (; at != w->cq.producer; at++)
		if (!w->cq.overrun)
			check_cqe(w, &w->cqe[at & (w->cq.capacity - 1)]);
	atomic_store(&w->cq.consumer, at);
}

/* What is in the queues of a QP that goes to RESET never completes. */
static inline void forget_posts(struct world *w, unsigned qp)
{
	for (uint64_t i = 1; i <= w->wr_id; i++)
		if (w->note[i].qp == qp && w->note[i].queue != QUEUE_SHARED)
			w->note[i].state = NOTE_GONE;
}

/* In ERR, and with memory idle, nothing is left of the queues of a QP. */
static inline void check_flushed(const struct world *w, unsigned qp)
{
	for (uint64_t i = 1; i <= w->wr_id && !w->cq.overrun; i++) {
		const struct note *n = &w->note[i];

		if (n->state == NOTE_POSTED && n->qp == qp && n->queue != QUEUE_SHARED)
			require(n->queue == QUEUE_SEND && !n->signaled);
	}
}

static inline void check_memory(const struct world *w)
{
	require(arena_guards_intact(&w->arena));
	for (unsigned i = 0; i < REGION_LEN; i++) {
		require(w->bytes[CLOSED][i] == UNTOUCHED);
		require(w->bytes[FOREIGN][i] == UNTOUCHED);
	}
}

#endif /* RN_DEVICE_CHECK_H */
