/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_heap.c - what happens first comes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sim/vnet/heap.h"
#include "rocin/random.h"

static void items_come_by_time_and_then_in_the_order_they_were_put(void **state)
{
	static struct rn_heap h;
	struct rn_random r = rn_random_of(1, 1);
	struct rn_heap_item last = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_true(rn_heap_put(&h, rn_random_below(&r, 50), 0, i));
	for (uint32_t i = 0; i < 1000; i++) {
		struct rn_heap_item item;

		assert_true(rn_heap_next(&h) >= last.at);
		item = rn_heap_take(&h);
		if (i && item.at == last.at)
			assert_true(item.arg > last.arg);
		last = item;
	}
	assert_int_equal(rn_heap_next(&h), RN_NEVER);
}

static void a_full_heap_takes_no_more(void **state)
{
	static struct rn_heap h;

	(void)state;
	for (uint32_t i = 0; i < RN_HEAP_MAX; i++)
		assert_true(rn_heap_put(&h, 1, 0, i));
	assert_false(rn_heap_put(&h, 1, 0, 0));
	assert_int_equal(rn_heap_take(&h).arg, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_by_time_and_then_in_the_order_they_were_put),
		cmocka_unit_test(a_full_heap_takes_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
