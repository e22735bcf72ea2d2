/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timer.h - timers ordered by deadline, then by the order in which they were started.
 *
 * An intrusive pairing heap: start is constant time, stop and expiry are logarithmic
 * (amortised), nothing is allocated and nothing recurses. A timer lives in its owner; the
 * owner must stop it before it is freed.
 *
 * Threads: none of these functions locks.
 * Source: Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap", Algorithmica 1986.
 */
#ifndef RN_TIMER_H
#define RN_TIMER_H

#include "container.h"

/* All zeros: not armed. */
struct rn_timer {
	rn_ns deadline; /* valid while armed */
	uint64_t seq;	/* order in which timers were started; valid while armed */
	struct rn_timer *child; /* first of the timers below this one */
	struct rn_timer *next;	/* next sibling: timer below the same parent */
	/* Previous sibling; for the first sibling its parent, for the root
	 * itself; NULL: not armed.
	 */
	struct rn_timer *prev;
};

/* All zeros: empty. */
struct rn_timer_heap {
	/* Timer with the earliest deadline; NULL if none is armed. */
	struct rn_timer *root;
	uint64_t seq; /* number of timers ever started */
};

static inline bool rn_timer_is_armed(const struct rn_timer *t)
{
	return t->prev != NULL;
}

/* Start a timer that is not armed. @deadline may have passed,
 * but must not be RN_NEVER.
 */
void rn_timer_add(struct rn_timer_heap *heap, struct rn_timer *t, rn_ns deadline);

/* Stop a timer. Harmless if it is not armed. */
void rn_timer_remove(struct rn_timer_heap *heap, struct rn_timer *t);

/* Stop and start with a new deadline and a new place in the start order; RN_NEVER only
 * stops. Works on an armed timer and on one that is not.
 */
void rn_timer_rearm(struct rn_timer_heap *heap, struct rn_timer *t, rn_ns deadline);

/* The timer that expires first, or NULL. It stays armed. */
static inline struct rn_timer *rn_timer_peek(const struct rn_timer_heap *heap)
{
	return heap->root;
}

/* When the next timer expires; RN_NEVER if none is armed. */
static inline rn_ns rn_timer_next_deadline(const struct rn_timer_heap *heap)
{
	return heap->root ? heap->root->deadline : RN_NEVER;
}

/* Take the first timer whose deadline is @now or earlier; NULL if there is none. The
 * timer is not armed any more; its owner may start it again.
 */
struct rn_timer *rn_timer_pop(struct rn_timer_heap *heap, rn_ns now);

#endif /* RN_TIMER_H */
