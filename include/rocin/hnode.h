/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hnode.h - the link by which an object is a member of a hash table with 32-bit keys. */
#ifndef RN_HNODE_H
#define RN_HNODE_H

#include "rocin/types.h"

/* Embedded in each object. The owner of the object sets @key before it adds the object to
 * a table, and does not change it while the object is there. @next belongs to the table.
 */
struct rn_hnode {
	struct rn_hnode *next;
	uint32_t key;
};

#endif /* RN_HNODE_H */
