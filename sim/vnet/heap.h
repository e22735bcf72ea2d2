/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap.h - what will happen, ordered by time and then by the order in which it was put.
 */
#ifndef RN_HEAP_H
#define RN_HEAP_H

#include "rocin/types.h"

enum {
	RN_HEAP_MAX = 16384
};

struct rn_heap_item {
	rn_ns at;
	uint64_t seq; /* set by rn_heap_put() */
	uint32_t what, arg;
};

struct rn_heap {
	uint32_t count;
	uint64_t seq;
	struct rn_heap_item item[RN_HEAP_MAX];
};

/* False: it is full. */
bool rn_heap_put(struct rn_heap *h, rn_ns at, uint32_t what, uint32_t arg);

/* When the first is due; RN_NEVER: there is none. */
static inline rn_ns rn_heap_next(const struct rn_heap *h)
{
	return h->count ? h->item[0].at : RN_NEVER;
}

/* Take the first; there must be one. */
struct rn_heap_item rn_heap_take(struct rn_heap *h);

#endif /* RN_HEAP_H */
