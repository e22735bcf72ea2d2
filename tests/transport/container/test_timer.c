/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_timer.c - the timer heap, at last against a list that is searched in full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/container/timer.h"

enum {
	TIMERS = 100000
};

static struct rn_timer timers[TIMERS];
static struct rn_timer_heap heap;

static int set_up(void **state)
{
	(void)state;
	heap = (struct rn_timer_heap){ 0 };
	for (size_t i = 0; i < TIMERS; i++)
		timers[i] = (struct rn_timer){ 0 };
	return 0;
}

static void an_empty_heap_has_no_deadline(void **state)
{
	(void)state;
	assert_int_equal(rn_timer_next_deadline(&heap), RN_NEVER);
	assert_null(rn_timer_peek(&heap));
	assert_null(rn_timer_pop(&heap, RN_NEVER));
}

static void timers_fire_in_the_order_of_their_deadlines(void **state)
{
	static const rn_ns deadlines[] = { 50, 10, 40, -5, 30, 20 };
	static const size_t order[] = { 3, 1, 5, 4, 2, 0 };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(deadlines); i++)
		rn_timer_add(&heap, &timers[i], deadlines[i]);
	for (size_t i = 0; i < RN_ARRAY_SIZE(order); i++) {
		assert_int_equal(rn_timer_next_deadline(&heap), deadlines[order[i]]);
		assert_ptr_equal(rn_timer_peek(&heap), &timers[order[i]]);
		assert_ptr_equal(rn_timer_pop(&heap, 1000), &timers[order[i]]);
		assert_false(rn_timer_is_armed(&timers[order[i]]));
	}
	assert_null(rn_timer_pop(&heap, 1000));
}

static void equal_deadlines_fire_in_start_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < 1000; i++)
		rn_timer_add(&heap, &timers[i], 7);
	rn_timer_rearm(&heap, &timers[0], 7); /* goes to the end */
	for (size_t i = 1; i < 1000; i++)
		assert_ptr_equal(rn_timer_pop(&heap, 7), &timers[i]);
	assert_ptr_equal(rn_timer_pop(&heap, 7), &timers[0]);
}

static void a_timer_does_not_fire_before_its_deadline(void **state)
{
	(void)state;
	rn_timer_add(&heap, &timers[0], 100);
	assert_null(rn_timer_pop(&heap, 99));
	assert_true(rn_timer_is_armed(&timers[0]));
	assert_ptr_equal(rn_timer_pop(&heap, 100), &timers[0]);
}

static void a_stopped_timer_does_not_fire_and_may_be_stopped_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < 5; i++)
		rn_timer_add(&heap, &timers[i], (rn_ns)i);
	rn_timer_remove(&heap, &timers[0]);
	rn_timer_remove(&heap, &timers[3]);
	rn_timer_remove(&heap, &timers[3]);
	assert_false(rn_timer_is_armed(&timers[3]));
	assert_ptr_equal(rn_timer_pop(&heap, 9), &timers[1]);
	assert_ptr_equal(rn_timer_pop(&heap, 9), &timers[2]);
	assert_ptr_equal(rn_timer_pop(&heap, 9), &timers[4]);
	assert_null(rn_timer_pop(&heap, 9));
}

static void rearm_moves_starts_and_stops(void **state)
{
	(void)state;
	rn_timer_rearm(&heap, &timers[0], 10);
	rn_timer_rearm(&heap, &timers[1], 20);
	rn_timer_rearm(&heap, &timers[0], 30);
	assert_int_equal(rn_timer_next_deadline(&heap), 20);
	rn_timer_rearm(&heap, &timers[1], RN_NEVER);
	assert_false(rn_timer_is_armed(&timers[1]));
	assert_int_equal(rn_timer_next_deadline(&heap), 30);
	rn_timer_rearm(&heap, &timers[1], RN_NEVER);
	rn_timer_rearm(&heap, &timers[0], 5);
	assert_ptr_equal(rn_timer_pop(&heap, 5), &timers[0]);
}

/* However the tree grows, nothing recurses into it. */
static void a_hundred_thousand_timers_do_not_exhaust_the_stack(void **state)
{
	rn_ns last = -1;

	(void)state;
	for (size_t i = 0; i < TIMERS; i++)
		rn_timer_add(&heap, &timers[i], (rn_ns)(i * 7919 % TIMERS));
	for (size_t i = 0; i < TIMERS; i++) {
		struct rn_timer *t = rn_timer_pop(&heap, TIMERS);

		assert_non_null(t);
		assert_true(t->deadline >= last);
		last = t->deadline;
	}
	assert_null(heap.root);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* The armed timer that must fire first, the slow way. */
static struct rn_timer *slow_first(unsigned count)
{
	struct rn_timer *first = NULL;

	for (unsigned i = 0; i < count; i++) {
		struct rn_timer *t = &timers[i];

		if (!rn_timer_is_armed(t))
			continue;
		if (!first || t->deadline < first->deadline ||
		    (t->deadline == first->deadline && t->seq < first->seq))
			first = t;
	}
	return first;
}

static void any_mix_of_calls_agrees_with_a_full_search(void **state)
{
	enum {
		COUNT = 60
	};
	uint32_t seed = 20261121;

	(void)state;
	for (unsigned step = 0; step < 50000; step++) {
		struct rn_timer *t = &timers[next_random(&seed) % COUNT];
		rn_ns deadline = next_random(&seed) % 40;
		struct rn_timer *first = slow_first(COUNT);

		switch (next_random(&seed) % 4) {
		case 0:
			rn_timer_remove(&heap, t);
			break;
		case 1:
			if (first && first->deadline > deadline)
				first = NULL;
			assert_ptr_equal(rn_timer_pop(&heap, deadline), first);
			break;
		default:
			rn_timer_rearm(&heap, t, deadline);
			break;
		}
		assert_ptr_equal(rn_timer_peek(&heap), slow_first(COUNT));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_empty_heap_has_no_deadline, set_up),
		cmocka_unit_test_setup(timers_fire_in_the_order_of_their_deadlines,
				       set_up),
		cmocka_unit_test_setup(equal_deadlines_fire_in_start_order, set_up),
		cmocka_unit_test_setup(a_timer_does_not_fire_before_its_deadline, set_up),
		cmocka_unit_test_setup(
			a_stopped_timer_does_not_fire_and_may_be_stopped_again, set_up),
		cmocka_unit_test_setup(rearm_moves_starts_and_stops, set_up),
		cmocka_unit_test_setup(a_hundred_thousand_timers_do_not_exhaust_the_stack,
				       set_up),
		cmocka_unit_test_setup(any_mix_of_calls_agrees_with_a_full_search,
				       set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
