/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* key_table.c - hash table with chaining, in memory that the caller provides. */
#include "key_table.h"

#include <errno.h>

/* Returns the link (a pointer in the chain) that points to the node with this key; if
 * there is no such node, the link at the end of the chain, which is NULL.
 */
static struct rn_hnode **find_link(const struct rn_htab *tab, uint32_t key)
{
	struct rn_hnode **link = &tab->bucket[rn_htab_bucket_of(tab, key)];

	while (*link && (*link)->key != key)
		link = &(*link)->next;
	return link;
}

void rn_htab_init(struct rn_htab *tab, struct rn_hnode **bucket, uint32_t bucket_count)
{
	assert(bucket_count > 0);
	assert((bucket_count & (bucket_count - 1)) == 0);

	*tab = (struct rn_htab){ .bucket = bucket, .mask = bucket_count - 1 };
	for (uint32_t i = 0; i < bucket_count; i++)
		bucket[i] = NULL;
}

int rn_htab_insert(struct rn_htab *tab, struct rn_hnode *node)
{
	struct rn_hnode **link = find_link(tab, node->key);

	if (*link)
		return -EEXIST;
	node->next = NULL;
	*link = node;
	tab->count++;
	return 0;
}

void rn_htab_remove(struct rn_htab *tab, struct rn_hnode *node)
{
	struct rn_hnode **link = find_link(tab, node->key);

	assert(*link == node);
	*link = node->next;
	node->next = NULL;
	tab->count--;
}

struct rn_hnode **rn_htab_rehash(struct rn_htab *tab, struct rn_hnode **bucket,
				 uint32_t bucket_count)
{
	struct rn_htab old = *tab;

	assert(bucket != old.bucket);
	rn_htab_init(tab, bucket, bucket_count);
	for (uint32_t i = 0; i <= old.mask; i++) {
		struct rn_hnode *next;

		for (struct rn_hnode *node = old.bucket[i]; node; node = next) {
			uint32_t b = rn_htab_bucket_of(tab, node->key);

			next = node->next;
			node->next = bucket[b];
			bucket[b] = node;
		}
	}
	tab->count = old.count;
	return old.bucket;
}

/* Returns the first node of the first non-empty chain from bucket @b on. */
static struct rn_hnode *first_from(const struct rn_htab *tab, uint32_t b)
{
	for (; b <= tab->mask; b++)
		if (tab->bucket[b])
			return tab->bucket[b];
	return NULL;
}

struct rn_hnode *rn_htab_first(const struct rn_htab *tab)
{
	return first_from(tab, 0);
}

struct rn_hnode *rn_htab_next(const struct rn_htab *tab, const struct rn_hnode *node)
{
	return node->next ? node->next
			  : first_from(tab, rn_htab_bucket_of(tab, node->key) + 1);
}
