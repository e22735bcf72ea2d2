/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_key_table.c - the hash table on the caller's memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/container/key_table.h"

enum {
	NODES = 4096
};

static struct rn_hnode nodes[NODES];
static struct rn_hnode *small[16], *large[NODES], *one[1];

static void insert_all(struct rn_htab *tab, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		nodes[i] = (struct rn_hnode){ .key = i << 8 | 3 };
		assert_int_equal(rn_htab_insert(tab, &nodes[i]), 0);
	}
	assert_int_equal(tab->count, count);
}

static void find_returns_what_was_inserted_and_nothing_else(void **state)
{
	struct rn_htab tab;

	(void)state;
	rn_htab_init(&tab, small, RN_ARRAY_SIZE(small));
	assert_null(rn_htab_find(&tab, 0));
	insert_all(&tab, 100);
	for (unsigned i = 0; i < 100; i++) {
		assert_ptr_equal(rn_htab_find(&tab, i << 8 | 3), &nodes[i]);
		assert_null(rn_htab_find(&tab, i << 8 | 4));
	}
	assert_null(rn_htab_find(&tab, UINT32_MAX));
}

static void a_second_object_of_the_same_key_is_refused(void **state)
{
	struct rn_hnode a = { .key = 0xffffffff }, b = { .key = 0xffffffff };
	struct rn_htab tab;

	(void)state;
	rn_htab_init(&tab, small, RN_ARRAY_SIZE(small));
	assert_int_equal(rn_htab_insert(&tab, &a), 0);
	assert_int_equal(rn_htab_insert(&tab, &b), -EEXIST);
	assert_int_equal(tab.count, 1);
	assert_ptr_equal(rn_htab_find(&tab, 0xffffffff), &a);
}

static void a_removed_object_is_not_found_and_its_neighbours_are(void **state)
{
	struct rn_htab tab;

	(void)state;
	rn_htab_init(&tab, small, RN_ARRAY_SIZE(small));
	insert_all(&tab, 64);
	for (unsigned i = 0; i < 64; i += 2)
		rn_htab_remove(&tab, &nodes[i]);
	assert_int_equal(tab.count, 32);
	for (unsigned i = 0; i < 64; i++)
		assert_ptr_equal(rn_htab_find(&tab, i << 8 | 3),
				 i % 2 == 0 ? NULL : &nodes[i]);
	assert_int_equal(rn_htab_insert(&tab, &nodes[0]), 0);
	assert_ptr_equal(rn_htab_find(&tab, 3), &nodes[0]);
}

static void a_table_of_one_bucket_is_a_list(void **state)
{
	struct rn_htab tab;

	(void)state;
	rn_htab_init(&tab, one, 1);
	insert_all(&tab, 10);
	for (unsigned i = 0; i < 10; i++)
		assert_ptr_equal(rn_htab_find(&tab, i << 8 | 3), &nodes[i]);
}

static void rehash_keeps_every_object_and_returns_the_old_array(void **state)
{
	struct rn_htab tab;

	(void)state;
	rn_htab_init(&tab, small, RN_ARRAY_SIZE(small));
	insert_all(&tab, 16);
	assert_false(rn_htab_is_crowded(&tab));
	nodes[16] = (struct rn_hnode){ .key = 16 << 8 | 3 };
	assert_int_equal(rn_htab_insert(&tab, &nodes[16]), 0);
	assert_true(rn_htab_is_crowded(&tab));

	assert_ptr_equal(rn_htab_rehash(&tab, large, RN_ARRAY_SIZE(large)), small);
	assert_int_equal(tab.count, 17);
	assert_false(rn_htab_is_crowded(&tab));
	for (unsigned i = 0; i < 17; i++)
		assert_ptr_equal(rn_htab_find(&tab, i << 8 | 3), &nodes[i]);

	assert_ptr_equal(rn_htab_rehash(&tab, one, 1), large);
	for (unsigned i = 0; i < 17; i++)
		assert_ptr_equal(rn_htab_find(&tab, i << 8 | 3), &nodes[i]);
}

static void a_walk_visits_every_object_once(void **state)
{
	static uint8_t seen[NODES];
	unsigned count = 0;
	struct rn_htab tab;

	(void)state;
	rn_htab_init(&tab, large, RN_ARRAY_SIZE(large));
	assert_null(rn_htab_first(&tab));
	insert_all(&tab, NODES);
	for (struct rn_hnode *n = rn_htab_first(&tab); n; n = rn_htab_next(&tab, n)) {
		assert_int_equal(seen[n->key >> 8]++, 0);
		count++;
	}
	assert_int_equal(count, NODES);
}

static void objects_may_be_removed_during_a_walk(void **state)
{
	struct rn_hnode *next;
	struct rn_htab tab;

	(void)state;
	rn_htab_init(&tab, small, RN_ARRAY_SIZE(small));
	insert_all(&tab, 200);
	for (struct rn_hnode *n = rn_htab_first(&tab); n; n = next) {
		next = rn_htab_next(&tab, n);
		rn_htab_remove(&tab, n);
	}
	assert_int_equal(tab.count, 0);
	assert_null(rn_htab_first(&tab));
}

static unsigned longest_chain(const struct rn_htab *tab)
{
	unsigned longest = 0;

	for (uint32_t b = 0; b <= tab->mask; b++) {
		unsigned len = 0;

		for (const struct rn_hnode *n = tab->bucket[b]; n; n = n->next)
			len++;
		longest = len > longest ? len : longest;
	}
	return longest;
}

/* QPNs of one process share their low 8 bits; that must not make one long chain. */
static void keys_that_share_their_low_bits_are_spread(void **state)
{
	struct rn_htab tab;

	(void)state;
	rn_htab_init(&tab, large, RN_ARRAY_SIZE(large));
	insert_all(&tab, NODES);
	assert_in_range(longest_chain(&tab), 1, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_returns_what_was_inserted_and_nothing_else),
		cmocka_unit_test(a_second_object_of_the_same_key_is_refused),
		cmocka_unit_test(a_removed_object_is_not_found_and_its_neighbours_are),
		cmocka_unit_test(a_table_of_one_bucket_is_a_list),
		cmocka_unit_test(rehash_keeps_every_object_and_returns_the_old_array),
		cmocka_unit_test(a_walk_visits_every_object_once),
		cmocka_unit_test(objects_may_be_removed_during_a_walk),
		cmocka_unit_test(keys_that_share_their_low_bits_are_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
