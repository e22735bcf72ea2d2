/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap.c - what will happen, ordered by time and then by the order in which it was put.
 */
#include "heap.h"

static bool before(const struct rn_heap_item *a, const struct rn_heap_item *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

bool rn_heap_put(struct rn_heap *h, rn_ns at, uint32_t what, uint32_t arg)
{
	const struct rn_heap_item item = { at, h->seq++, what, arg };
	uint32_t i = h->count;

	if (h->count == RN_HEAP_MAX)
		return false;
	h->count++;
	for (; i && before(&item, &h->item[(i - 1) / 2]); i = (i - 1) / 2)
		h->item[i] = h->item[(i - 1) / 2];
	h->item[i] = item;
	return true;
}

struct rn_heap_item rn_heap_take(struct rn_heap *h)
{
	const struct rn_heap_item first = h->item[0];
	struct rn_heap_item last;
	uint32_t i = 0;

	assert(h->count);
	last = h->item[--h->count];
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= h->count)
			break;
		if (child + 1 < h->count && before(&h->item[child + 1], &h->item[child]))
			child++;
		if (!before(&h->item[child], &last))
			break;
		h->item[i] = h->item[child];
		i = child;
	}
	h->item[i] = last;
	return first;
}
