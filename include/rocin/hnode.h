/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hnode.h - the link of an object that the core finds by a 32-bit key. */
#ifndef RN_HNODE_H
#define RN_HNODE_H

#include "rocin/types.h"

/* Embedded in each object. The owner sets @key before the object enters a key table and
 * leaves it alone while it is there; @next is the table's.
 */
struct rn_hnode {
	struct rn_hnode *next;
	uint32_t key;
};

#endif /* RN_HNODE_H */
