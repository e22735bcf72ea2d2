/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* psn.h - arithmetic on 24-bit packet sequence numbers. */
#ifndef RN_PSN_H
#define RN_PSN_H

#include "rocin/types.h"

#define RN_PSN_MASK 0xffffffu

static inline struct rn_psn rn_psn(uint32_t v)
{
	return (struct rn_psn){ v & RN_PSN_MASK };
}

static inline struct rn_psn rn_psn_add(struct rn_psn a, uint32_t n)
{
	return rn_psn(a.v + n);
}

/* Returns the distance from @b to @a, in [-2^23, 2^23): negative if @a is older.
 * Meaningful only if both lie within one half of the number space, which is so because a
 * requester has at most 2^23 PSNs outstanding.
 */
static inline int32_t rn_psn_diff(struct rn_psn a, struct rn_psn b)
{
	uint32_t d = (a.v - b.v) & RN_PSN_MASK;

	return d < 0x800000u ? (int32_t)d : (int32_t)d - 0x1000000;
}

static inline bool rn_psn_before(struct rn_psn a, struct rn_psn b)
{
	return rn_psn_diff(a, b) < 0;
}

#endif /* RN_PSN_H */
