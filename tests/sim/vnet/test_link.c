/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_link.c - a link's rate, delay, queue and marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sim/vnet/link.h"

#define GBIT UINT64_C(1000000000)

static void packets_arrive_one_after_the_other_at_the_rate(void **state)
{
	struct rn_link link;

	(void)state;
	rn_link_init(&link, &(struct rn_link_cfg){ .rate = GBIT, .delay = 5000 }, 1);
	assert_int_equal(rn_link_send(&link, 100, 1000, false).arrives_at, 13100);
	assert_int_equal(rn_link_queued(&link, 100), 1000);
	assert_int_equal(rn_link_send(&link, 100, 1000, false).arrives_at, 21100);
	assert_int_equal(rn_link_queued(&link, 8100), 1000);
	assert_int_equal(rn_link_queued(&link, 16100), 0);
	assert_int_equal(rn_link_queued(&link, 50000), 0);
	assert_int_equal(rn_link_send(&link, 50000, 1000, false).arrives_at, 63000);
	assert_int_equal(link.queue_max, 2000);
}

static void a_full_queue_loses_what_comes(void **state)
{
	struct rn_link link;

	(void)state;
	rn_link_init(&link, &(struct rn_link_cfg){ .rate = GBIT, .queue = 2500 }, 1);
	assert_false(rn_link_send(&link, 0, 1000, false).lost);
	assert_false(rn_link_send(&link, 0, 1000, false).lost);
	assert_true(rn_link_send(&link, 0, 1000, false).lost);
	assert_false(rn_link_send(&link, 0, 500, false).lost);
	assert_false(rn_link_send(&link, 8000, 1000, false).lost);
	assert_int_equal(link.dropped, 1);
	assert_int_equal(link.queue_max, 2500);
}

static unsigned marks_at(uint32_t queued, bool capable)
{
	const struct rn_link_cfg cfg = {
		.rate = GBIT, .ecn_min = 5000, .ecn_max = 25000, .ecn_ppm = 500000
	};
	struct rn_link link;
	unsigned marked = 0;

	rn_link_init(&link, &cfg, 7);
	for (rn_ns t = 0; t < 1000; t++) {
		link.idle_at = t + (rn_ns)queued * 8;
		marked += rn_link_send(&link, t, 100, capable).marked;
	}
	return marked;
}

static void marks_rise_from_the_lower_to_the_upper_bound(void **state)
{
	(void)state;
	assert_int_equal(marks_at(4999, true), 0);
	assert_in_range(marks_at(15000, true), 200, 300);
	assert_in_range(marks_at(24999, true), 450, 550);
	assert_int_equal(marks_at(25000, true), 1000);
	assert_int_equal(marks_at(25000, false), 0);
}

static void a_link_without_a_rate_only_delays(void **state)
{
	struct rn_link link;

	(void)state;
	rn_link_init(&link, &(struct rn_link_cfg){ .delay = 700, .queue = 10 }, 1);
	assert_int_equal(rn_link_send(&link, 3, 9, true).arrives_at, 703);
	assert_int_equal(rn_link_send(&link, 3, 9, true).arrives_at, 703);
}

/* Of 1000 packets: lost, doubled, late. */
static void a_link_loses_doubles_and_delays_as_often_as_it_is_told(void **state)
{
	const struct rn_link_cfg cfg = { .delay = 50,
					 .loss_ppm = 100000,
					 .twice_ppm = 200000,
					 .late_ppm = 300000,
					 .late = 10 };
	unsigned lost = 0, twice = 0, late = 0;
	struct rn_link link;

	(void)state;
	rn_link_init(&link, &cfg, 9);
	for (rn_ns t = 0; t < 1000; t++) {
		const struct rn_link_fate fate = rn_link_send(&link, t, 100, false);

		lost += fate.lost;
		twice += fate.twice;
		late += fate.late;
		assert_in_range(fate.arrives_at - t, fate.late ? 51 : 50,
				fate.late ? 60 : 50);
		if (fate.twice)
			assert_in_range(fate.again - t, 51, 60);
	}
	assert_in_range(lost, 70, 130);
	assert_in_range(twice, 160, 240);
	assert_in_range(late, 250, 350);
	assert_int_equal(link.lost, lost);
	assert_int_equal(link.dropped, 0);
}

static void a_link_that_is_down_loses_and_forgets_its_queue(void **state)
{
	struct rn_link link;

	(void)state;
	rn_link_init(&link, &(struct rn_link_cfg){ .rate = GBIT, .delay = 5 }, 1);
	assert_false(rn_link_send(&link, 0, 1000, false).lost);
	rn_link_set_down(&link, 10, true);
	rn_link_set_down(&link, 11, true);
	assert_int_equal(link.downs, 1);
	assert_true(rn_link_send(&link, 12, 1000, false).lost);
	rn_link_set_down(&link, 20, false);
	assert_int_equal(rn_link_send(&link, 20, 1000, false).arrives_at, 8025);
	assert_int_equal(link.lost, 1);
	assert_int_equal(link.downs, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_arrive_one_after_the_other_at_the_rate),
		cmocka_unit_test(a_full_queue_loses_what_comes),
		cmocka_unit_test(marks_rise_from_the_lower_to_the_upper_bound),
		cmocka_unit_test(a_link_without_a_rate_only_delays),
		cmocka_unit_test(a_link_loses_doubles_and_delays_as_often_as_it_is_told),
		cmocka_unit_test(a_link_that_is_down_loses_and_forgets_its_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
