/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ranges.c - a sorted table of address ranges. */
#include "ranges.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the index of the first range that ends behind @addr. */
static size_t index_of(const struct rn_cu_ranges *all, uintptr_t addr)
{
	size_t lo = 0, hi = all->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct rn_cu_range *r = all->range[mid];

		if (addr >= r->base && addr - r->base >= r->len)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int make_room(struct rn_cu_ranges *all)
{
	size_t room = all->room ? 2 * all->room : 64;
	struct rn_cu_range **more;

	if (all->count < all->room)
		return 0;
	more = realloc(all->range, room * sizeof(struct rn_cu_range *));
	if (!more)
		return -ENOMEM;
	all->range = more;
	all->room = room;
	return 0;
}

int rn_cu_ranges_add(struct rn_cu_ranges *all, struct rn_cu_range *range)
{
	size_t at = index_of(all, range->base);
	uintptr_t last;
	int err;

	if (!range->len)
		return -EINVAL;
	if (__builtin_add_overflow(range->base, range->len - 1, &last))
		return -EEXIST;
	if (at < all->count && all->range[at]->base <= last)
		return -EEXIST;
	err = make_room(all);
	if (err)
		return err;
	memmove(all->range + at + 1, all->range + at,
		(all->count - at) * sizeof(struct rn_cu_range *));
	all->range[at] = range;
	all->count++;
	return 0;
}

void rn_cu_ranges_remove(struct rn_cu_ranges *all, const struct rn_cu_range *range)
{
	size_t at = index_of(all, range->base);

	assert(at < all->count && all->range[at] == range);
	all->count--;
	memmove(all->range + at, all->range + at + 1,
		(all->count - at) * sizeof(struct rn_cu_range *));
	if (all->count)
		return;
	free(all->range);
	all->range = NULL;
	all->room = 0;
}

struct rn_cu_range *rn_cu_ranges_find(const struct rn_cu_ranges *all, uintptr_t addr)
{
	size_t at = index_of(all, addr);

	return at < all->count && all->range[at]->base <= addr ? all->range[at] : NULL;
}

struct rn_cu_range *rn_cu_ranges_hold(const struct rn_cu_ranges *all, uintptr_t addr,
				      size_t len)
{
	struct rn_cu_range *r = rn_cu_ranges_find(all, addr);

	return r && len <= r->len - (addr - r->base) ? r : NULL;
}
