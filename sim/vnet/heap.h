/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap.h - the calendar of a simulation: a heap of events, and a heap with one timer for
 * each host.
 *
 * Events are delivered by time and, at equal times, in the order in which they were put.
 * In the second heap each host has one timer, which the caller sets whenever the deadline
 * of the host's device changes. If several timers have the same time, that of the host
 * with the lowest number expires first. Putting, taking and moving cost O(log n).
 *
 * The caller owns the memory. Threads: no locks.
 */
#ifndef RN_HEAP_H
#define RN_HEAP_H

#include "rocin/types.h"

struct rn_heap_item {
	rn_ns at;
	/* number of the item in the order of calls of rn_heap_put(), which sets it */
	uint64_t seq;
	uint32_t what, arg;
};

struct rn_heap {
	uint32_t count, max;
	uint64_t seq;
	struct rn_heap_item *item;
};

/* Makes @h an empty heap with room for @max events at @item. */
void rn_heap_init(struct rn_heap *h, struct rn_heap_item *item, uint32_t max);

/* Adds an event for the time @at. Returns false if the heap is full. */
bool rn_heap_put(struct rn_heap *h, rn_ns at, uint32_t what, uint32_t arg);

/* Returns the time of the first event, or RN_NEVER if there is no event. */
static inline rn_ns rn_heap_next(const struct rn_heap *h)
{
	return h->count ? h->item[0].at : RN_NEVER;
}

/* Removes and returns the first event; the heap must not be empty. */
struct rn_heap_item rn_heap_take(struct rn_heap *h);

struct rn_vnet_timer {
	rn_ns at;
	/* Element i of the array: position in the heap of the timer of host i. Valid if
	 * the @at of this element is not RN_NEVER.
	 */
	uint32_t place;
	/* Element i of the array: number of the host whose timer is at position i of the
	 * heap.
	 */
	uint32_t nth;
};

struct rn_vnet_timers {
	uint32_t count; /* number of timers that run */
	struct rn_vnet_timer *timer;
};

/* Initialises the @hosts timers at @timer; none of them runs. */
void rn_vnet_timers_init(struct rn_vnet_timers *t, struct rn_vnet_timer *timer,
			 uint32_t hosts);

/* Sets the timer of @host to the time @at; RN_NEVER stops the timer. */
void rn_vnet_timers_set(struct rn_vnet_timers *t, uint32_t host, rn_ns at);

/* Returns the host whose timer expires first; at least one timer must run. */
static inline uint32_t rn_vnet_timers_first(const struct rn_vnet_timers *t)
{
	return t->timer[0].nth;
}

static inline rn_ns rn_vnet_timers_next(const struct rn_vnet_timers *t)
{
	return t->count ? t->timer[rn_vnet_timers_first(t)].at : RN_NEVER;
}

#endif /* RN_HEAP_H */
