/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* key_table.h - intrusive hash table from a 32-bit key to an object.
 *
 * The links are members of the objects, and the array of buckets belongs to the caller,
 * so the table allocates nothing: it grows when the caller provides a larger array.
 *
 * Threads: none of these functions locks. Readers and writers need the owner's lock.
 */
#ifndef RN_KEY_TABLE_H
#define RN_KEY_TABLE_H

#include "rocin/hnode.h"

struct rn_htab {
	struct rn_hnode **bucket; /* array of @mask + 1 chains */
	uint32_t mask;
	uint32_t count; /* number of objects in the table */
};

/* Makes an empty table. @bucket: an array of @bucket_count pointers (a power of two),
 * with any contents. The caller owns the array, and must keep it until it is replaced or
 * the table is not used any more.
 */
void rn_htab_init(struct rn_htab *tab, struct rn_hnode **bucket, uint32_t bucket_count);

/* Adds an object to the table. Return: 0, or -EEXIST if the table has an object with the
 * same key.
 */
int rn_htab_insert(struct rn_htab *tab, struct rn_hnode *node);

/* Removes @node, which must be in the table. */
void rn_htab_remove(struct rn_htab *tab, struct rn_hnode *node);

/* Returns the bucket of a key, by Fibonacci hashing (Knuth, TAOCP 6.4): the key is
 * multiplied by 2^32 divided by the golden ratio. That spreads keys that are consecutive,
 * or have equal low bits as the QPNs of one process have.
 */
static inline uint32_t rn_htab_bucket_of(const struct rn_htab *tab, uint32_t key)
{
	const uint32_t golden = 0x9e3779b1u;

	/* Multiplying by the size takes as many of the upper bits of the hash as the
	 * table needs.
	 */
	return (uint32_t)((uint64_t)(key * golden) * ((uint64_t)tab->mask + 1) >> 32);
}

/* Returns the object with this key; NULL if there is none. */
static inline struct rn_hnode *rn_htab_find(const struct rn_htab *tab, uint32_t key)
{
	struct rn_hnode *node = tab->bucket[rn_htab_bucket_of(tab, key)];

	while (node && node->key != key)
		node = node->next;
	return node;
}

/* Moves all objects to another array, smaller or larger. The new array must meet the
 * requirements of rn_htab_init(). Return: the old array, which the caller may free.
 */
struct rn_hnode **rn_htab_rehash(struct rn_htab *tab, struct rn_hnode **bucket,
				 uint32_t bucket_count);

/* Returns true if the table has more objects than buckets, so that a larger array
 * is worthwhile.
 */
static inline bool rn_htab_is_crowded(const struct rn_htab *tab)
{
	return tab->count > (uint64_t)tab->mask + 1;
}

/* Iterates over all objects, in no particular order:
 *
 *   for (node = rn_htab_first(tab); node; node = rn_htab_next(tab, node))
 *
 * During the iteration no object may be inserted, and the table must not be rehashed. An
 * object may be removed once rn_htab_next() has returned its successor.
 */
struct rn_hnode *rn_htab_first(const struct rn_htab *tab);
struct rn_hnode *rn_htab_next(const struct rn_htab *tab, const struct rn_hnode *node);

#endif /* RN_KEY_TABLE_H */
