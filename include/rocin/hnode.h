/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hnode.h - the link by which an object is a member of a hash table with 32-bit keys, and
 * how to get from any such link to its object.
 */
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

/* Returns the struct of type @type whose member @member is at @ptr. @ptr must not
 * be NULL.
 */
#define RN_CONTAINER_OF(ptr, type, member)                             \
	({                                                             \
		__typeof__(((type *)0)->member) *rn_member_ = (ptr);   \
		(type *)((char *)rn_member_ - offsetof(type, member)); \
	})

#endif /* RN_HNODE_H */
