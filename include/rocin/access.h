/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* access.h - access rights of memory regions and queue pairs. The bits have the values
 * of IBV_ACCESS_*.
 */
#ifndef RN_ACCESS_H
#define RN_ACCESS_H

#include "rocin/types.h"

#define RN_ACCESS_LOCAL_WRITE (1u << 0)
#define RN_ACCESS_REMOTE_WRITE (1u << 1)
#define RN_ACCESS_REMOTE_READ (1u << 2)
#define RN_ACCESS_REMOTE_ATOMIC (1u << 3)
#define RN_ACCESS_MW_BIND (1u << 4)
#define RN_ACCESS_ZERO_BASED (1u << 5) /* addresses in the region count from 0 */
#define RN_ACCESS_ON_DEMAND (1u << 6)
#define RN_ACCESS_HUGETLB (1u << 7)
#define RN_ACCESS_FLUSH_GLOBAL (1u << 8)
#define RN_ACCESS_FLUSH_PERSISTENT (1u << 9)
#define RN_ACCESS_RELAXED_ORDERING (1u << 20)

/* Mask of optional bits: a device ignores those of them that it does not
 * know (IBV_ACCESS_OPTIONAL_RANGE).
 */
#define RN_ACCESS_OPTIONAL_RANGE 0x3ff00000u

/* Rights of the peer. The access flags of a QP may contain only these. */
#define RN_ACCESS_REMOTE_MASK                                                       \
	(RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC | \
	 RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_FLUSH_PERSISTENT)

#endif /* RN_ACCESS_H */
