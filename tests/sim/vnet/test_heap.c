/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_heap.c - what happens first comes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rocin/random.h"
#include "sim/vnet/heap.h"

enum {
	ITEMS = 1000,
	HOSTS = 37,
};

static struct rn_heap_item items[ITEMS];

static void items_come_by_time_and_then_in_the_order_they_were_put(void **state)
{
	struct rn_random r = rn_random_of(1, 1);
	struct rn_heap_item last = { 0 };
	struct rn_heap h;

	(void)state;
	rn_heap_init(&h, items, ITEMS);
	for (uint32_t i = 0; i < ITEMS; i++)
		assert_true(rn_heap_put(&h, rn_random_below(&r, 50), 0, i));
	for (uint32_t i = 0; i < ITEMS; i++) {
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
	struct rn_heap h;

	(void)state;
	rn_heap_init(&h, items, ITEMS);
	for (uint32_t i = 0; i < ITEMS; i++)
		assert_true(rn_heap_put(&h, 1, 0, i));
	assert_false(rn_heap_put(&h, 1, 0, 0));
	assert_int_equal(rn_heap_take(&h).arg, 0);
}

/* The host whose time is first, of those with the same the lowest; HOSTS: none. */
static uint32_t first_of(const rn_ns *at)
{
	uint32_t first = HOSTS;

	for (uint32_t i = 0; i < HOSTS; i++)
		if (at[i] != RN_NEVER && (first == HOSTS || at[i] < at[first]))
			first = i;
	return first;
}

/* As in a list that is gone through each time. */
static void timers_stay_in_order_however_they_are_moved(void **state)
{
	struct rn_random r = rn_random_of(1, 2);
	struct rn_vnet_timer timer[HOSTS];
	struct rn_vnet_timers t;
	rn_ns at[HOSTS];

	(void)state;
	rn_vnet_timers_init(&t, timer, HOSTS);
	for (uint32_t i = 0; i < HOSTS; i++)
		at[i] = RN_NEVER;
	for (uint32_t n = 0; n < 20000; n++) {
		uint32_t host = rn_random_below(&r, HOSTS);

		at[host] = rn_random_below(&r, 3) ? rn_random_below(&r, 60) : RN_NEVER;
		rn_vnet_timers_set(&t, host, at[host]);
		host = first_of(at);
		if (host == HOSTS) {
			assert_int_equal(rn_vnet_timers_next(&t), RN_NEVER);
			continue;
		}
		assert_int_equal(rn_vnet_timers_next(&t), at[host]);
		assert_int_equal(rn_vnet_timers_first(&t), host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_by_time_and_then_in_the_order_they_were_put),
		cmocka_unit_test(a_full_heap_takes_no_more),
		cmocka_unit_test(timers_stay_in_order_however_they_are_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
