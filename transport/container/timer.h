/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timer.h - timers ordered by deadline, then by the order in which they were started.
 *
 * An intrusive leftist tree: the work of each call is logarithmic in the number of armed
 * timers. (In a heap whose bound is amortised, one call may have to do work that many
 * earlier calls have left.) Nothing is allocated and nothing recurses. A timer is a
 * member of an object, and must be stopped before that object is freed.
 *
 * Threads: none of these functions locks.
 * Source: Knuth, "The Art of Computer Programming", volume 3, 5.2.3 (leftist trees,
 * invented by C. A. Crane).
 */
#ifndef RN_TIMER_H
#define RN_TIMER_H

#include "rocin/hnode.h"

/* A timer. All zeros: it is not armed. In the tree, all timers below a timer expire after
 * it.
 */
struct rn_timer {
	rn_ns deadline; /* valid while armed */
	/* counts the starts of timers in the heap; valid while armed */
	uint64_t seq : 58;
	/* Number of timers on the path from this timer down its right children to the
	 * end, this timer included. No other path down is shorter, so a tree of rank r
	 * has at least 2^r - 1 timers.
	 */
	uint64_t rank : 6;
	/* the two children; the rank of @left is not less than that of @right */
	struct rn_timer *left, *right;
	/* the parent in this tree; for the root, the root itself; NULL: not armed */
	struct rn_timer *parent;
};

/* A heap of timers; all zeros: empty. */
struct rn_timer_heap {
	/* Timer with the earliest deadline; NULL if none is armed. */
	struct rn_timer *root;
	uint64_t seq : 58; /* number of times that a timer was started */
};

static inline bool rn_timer_is_armed(const struct rn_timer *t)
{
	return t->parent != NULL;
}

/* Starts a timer that is not armed. @deadline may have passed, but must not be RN_NEVER.
 */
void rn_timer_add(struct rn_timer_heap *heap, struct rn_timer *t, rn_ns deadline);

/* Stops a timer. Harmless if it is not armed. */
void rn_timer_remove(struct rn_timer_heap *heap, struct rn_timer *t);

/* Stops a timer, armed or not, and starts it again with a new deadline. Among timers with
 * the same deadline it comes last. If @deadline is RN_NEVER, only stops it.
 */
void rn_timer_rearm(struct rn_timer_heap *heap, struct rn_timer *t, rn_ns deadline);

/* Returns the timer that expires first, which stays armed; NULL if none is armed. */
static inline struct rn_timer *rn_timer_peek(const struct rn_timer_heap *heap)
{
	return heap->root;
}

/* Returns the deadline of the timer that expires first; RN_NEVER if none is armed. */
static inline rn_ns rn_timer_next_deadline(const struct rn_timer_heap *heap)
{
	return heap->root ? heap->root->deadline : RN_NEVER;
}

/* Removes and returns the first timer whose deadline is @now or earlier; NULL if there is
 * none. The returned timer is not armed any more; its owner may start it again.
 */
struct rn_timer *rn_timer_pop(struct rn_timer_heap *heap, rn_ns now);

#endif /* RN_TIMER_H */
