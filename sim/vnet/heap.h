/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap.h - what will happen: events, and one timer for each host.
 *
 * Events come by time and then in the order in which they were put. A host has one timer,
 * which is moved with each change of its device's deadline; of timers of one time the
 * host with the lowest number comes first. Putting, taking and moving cost O(log n).
 *
 * The memory is the caller's. Threads: no locks.
 */
#ifndef RN_HEAP_H
#define RN_HEAP_H

#include "rocin/types.h"

struct rn_heap_item {
	rn_ns at;
	uint64_t seq; /* set by rn_heap_put() */
	uint32_t what, arg;
};

struct rn_heap {
	uint32_t count, max;
	uint64_t seq;
	struct rn_heap_item *item;
};

/* Empty, with room for @max items at @item. */
void rn_heap_init(struct rn_heap *h, struct rn_heap_item *item, uint32_t max);

/* False: it is full. */
bool rn_heap_put(struct rn_heap *h, rn_ns at, uint32_t what, uint32_t arg);

/* When the first is due; RN_NEVER: there is none. */
static inline rn_ns rn_heap_next(const struct rn_heap *h)
{
	return h->count ? h->item[0].at : RN_NEVER;
}

/* Take the first; there must be one. */
struct rn_heap_item rn_heap_take(struct rn_heap *h);

struct rn_vnet_timer {
	rn_ns at;
	uint32_t place; /* in the order, if @at is not RN_NEVER */
	uint32_t nth;	/* host whose timer stands at this place of the order */
};

struct rn_vnet_timers {
	uint32_t count; /* that run */
	struct rn_vnet_timer *timer;
};

/* None of the @hosts timers at @timer runs. */
void rn_vnet_timers_init(struct rn_vnet_timers *t, struct rn_vnet_timer *timer,
			 uint32_t hosts);

/* Move the timer of @host; RN_NEVER: it stops. */
void rn_vnet_timers_set(struct rn_vnet_timers *t, uint32_t host, rn_ns at);

/* The host whose timer is first; one must run. */
static inline uint32_t rn_vnet_timers_first(const struct rn_vnet_timers *t)
{
	return t->timer[0].nth;
}

static inline rn_ns rn_vnet_timers_next(const struct rn_vnet_timers *t)
{
	return t->count ? t->timer[rn_vnet_timers_first(t)].at : RN_NEVER;
}

#endif /* RN_HEAP_H */
