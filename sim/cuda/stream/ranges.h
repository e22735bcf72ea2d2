/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ranges.h - which memory a pointer of CUDA lies in: a sorted table of address ranges.
 *
 * The ranges belong to the caller; only the table of pointers to them is allocated.
 * Threads: none of these functions locks.
 */
#ifndef RN_CU_RANGES_H
#define RN_CU_RANGES_H

#include <stddef.h>

#include "rocin/types.h"

struct rn_cu_range {
	uintptr_t base;
	size_t len; /* at least 1 */
};

struct rn_cu_ranges {
	struct rn_cu_range **range; /* sorted by base; they do not overlap */
	size_t count, room;
};

/* Puts a range into the table. Return: 0; -EEXIST: it overlaps another one, or wraps;
 * -EINVAL: it is empty; -ENOMEM.
 */
int rn_cu_ranges_add(struct rn_cu_ranges *all, struct rn_cu_range *range);

/* Takes a range out of the table, where it must be. */
void rn_cu_ranges_remove(struct rn_cu_ranges *all, const struct rn_cu_range *range);

/* Returns the range in which @addr lies, or NULL. */
struct rn_cu_range *rn_cu_ranges_find(const struct rn_cu_ranges *all, uintptr_t addr);

/* Returns the range that has all of [@addr, @addr + @len), or NULL. */
struct rn_cu_range *rn_cu_ranges_hold(const struct rn_cu_ranges *all, uintptr_t addr,
				      size_t len);

#endif /* RN_CU_RANGES_H */
