/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* key_table.h - intrusive hash table from a 32-bit key to an object.
 *
 * The objects link themselves and the array of buckets is the caller's, so the table
 * allocates nothing: it grows when the caller hands over a larger array.
 *
 * Threads: none of these functions locks. Readers and writers need the owner's lock.
 */
#ifndef RN_KEY_TABLE_H
#define RN_KEY_TABLE_H

#include "container.h"
#include "rocin/hnode.h"

struct rn_htab {
	struct rn_hnode **bucket; /* @mask + 1 heads of chains */
	uint32_t mask;
	uint32_t count; /* objects in the table */
};

/* @bucket: an array of @bucket_count pointers (a power of two), owned by the
 * caller, which must stay until it is replaced or the table is not used any more.
 * Its contents do not matter.
 */
void rn_htab_init(struct rn_htab *tab, struct rn_hnode **bucket, uint32_t bucket_count);

/* Return: 0, or -EEXIST if the table has an object of the same key. */
int rn_htab_insert(struct rn_htab *tab, struct rn_hnode *node);

/* @node must be in the table. */
void rn_htab_remove(struct rn_htab *tab, struct rn_hnode *node);

/* Fibonacci hashing (Knuth, TAOCP 6.4): 2^32 divided by the golden ratio. Keys come in
 * runs and often share their low bits (a QPN ends in its slot), which this spreads.
 */
static inline uint32_t rn_htab_bucket_of(const struct rn_htab *tab, uint32_t key)
{
	const uint32_t golden = 0x9e3779b1u;

	/* Multiply instead of mask: takes as many upper bits of the
	 * product as the table has.
	 */
	return (uint32_t)((uint64_t)(key * golden) * ((uint64_t)tab->mask + 1) >> 32);
}

/* The object with this key, or NULL. */
static inline struct rn_hnode *rn_htab_find(const struct rn_htab *tab, uint32_t key)
{
	struct rn_hnode *node = tab->bucket[rn_htab_bucket_of(tab, key)];

	while (node && node->key != key)
		node = node->next;
	return node;
}

/* Move all objects to another array (as in rn_htab_init()), larger or smaller.
 * Return: the array used until now; the caller may free it.
 */
struct rn_hnode **rn_htab_rehash(struct rn_htab *tab, struct rn_hnode **bucket,
				 uint32_t bucket_count);

/* True when there are more objects than buckets: time for a larger array. */
static inline bool rn_htab_is_crowded(const struct rn_htab *tab)
{
	return tab->count > (uint64_t)tab->mask + 1;
}

/* Visit every object once, in no meaningful order:
 *
 *   for (node = rn_htab_first(tab); node; node = rn_htab_next(tab, node))
 *
 * No object may be inserted and the table not rehashed meanwhile. An object may be
 * removed once rn_htab_next() has returned the one after it.
 */
struct rn_hnode *rn_htab_first(const struct rn_htab *tab);
struct rn_hnode *rn_htab_next(const struct rn_htab *tab, const struct rn_hnode *node);

#endif /* RN_KEY_TABLE_H */
