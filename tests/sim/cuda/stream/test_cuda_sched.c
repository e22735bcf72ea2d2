/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cuda_sched.c - the order of the work of streams, in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/cuda/stream/sched.h"

enum {
	OPS = 64
};

static struct rn_cu_sched s;
static struct rn_cu_group group;
static struct rn_cu_stream legacy, a, b, free_one;
static struct rn_cu_op op[OPS];
static struct rn_cu_mark mark[4];
static rn_ns now;

static int begin(void **state)
{
	memset(op, 0, sizeof(op));
	memset(mark, 0, sizeof(mark));
	memset(&group, 0, sizeof(group));
	a = b = free_one = legacy = (struct rn_cu_stream){ 0 };
	now = 0;
	(void)state;
	rn_cu_sched_init(&s, 0);
	rn_cu_stream_add(&s, &legacy, &group, RN_CU_LEGACY);
	rn_cu_stream_add(&s, &a, &group, RN_CU_BLOCKING);
	rn_cu_stream_add(&s, &b, &group, RN_CU_BLOCKING);
	rn_cu_stream_add(&s, &free_one, &group, RN_CU_NON_BLOCKING);
	return 0;
}

static struct rn_cu_op *push(struct rn_cu_stream *stream, unsigned i,
			     enum rn_cu_unit unit)
{
	op[i].unit = unit;
	rn_cu_push(stream, &op[i]);
	return &op[i];
}

static struct rn_cu_op *copy(struct rn_cu_stream *stream, unsigned i)
{
	return push(stream, i, RN_CU_UNIT_ENGINE);
}

/* Returns the number of the operation that is chosen; -1: none. */
static int next(void)
{
	struct rn_cu_op *o = rn_cu_next(&s, RN_CU_UNIT_ENGINE, now, NULL, NULL);

	return o ? (int)(o - op) : -1;
}

static void done(int i)
{
	rn_cu_done(&s, &op[i], 0, ++now);
}

static void test_one_stream_is_in_order(void **state)
{
	(void)state;
	copy(&a, 0);
	copy(&a, 1);
	assert_int_equal(next(), 0);
	assert_int_equal(next(), -1); /* one at a time */
	done(0);
	assert_int_equal(next(), 1);
	done(1);
	assert_int_equal(next(), -1);
	assert_true(rn_cu_stream_is_idle(&a));
}

static void test_streams_run_beside_each_other(void **state)
{
	(void)state;
	copy(&b, 0);
	copy(&a, 1);
	copy(&free_one, 2);
	assert_int_equal(next(), 0); /* submitted first */
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 2);
	done(1);
	done(2);
	done(0);
}

static void test_priority(void **state)
{
	(void)state;
	free_one.priority = -1;
	copy(&a, 0);
	copy(&free_one, 1);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 0);
}

/* An operation of the legacy stream waits for blocking streams, and they for it; a
 * non-blocking stream takes no part.
 */
static void test_legacy_stream(void **state)
{
	(void)state;
	copy(&a, 0);
	copy(&legacy, 1);
	copy(&b, 2);
	copy(&free_one, 3);
	assert_int_equal(next(), 0);
	assert_int_equal(next(), 3);
	assert_int_equal(next(), -1);
	done(0);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), -1);
	done(1);
	assert_int_equal(next(), 2);
	done(2);
	done(3);
}

static void test_other_groups_are_not_held(void **state)
{
	struct rn_cu_group other = { 0 };
	struct rn_cu_stream c = { 0 };

	(void)state;
	rn_cu_stream_add(&s, &c, &other, RN_CU_BLOCKING);
	copy(&legacy, 0);
	copy(&c, 1);
	copy(&a, 2);
	assert_int_equal(next(), 0);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), -1);
	done(1);
	rn_cu_stream_remove(&c);
}

static void test_wait_for_a_mark(void **state)
{
	(void)state;
	copy(&a, 0);
	push(&a, 1, RN_CU_UNIT_NONE)->carries = &mark[0];
	push(&b, 2, RN_CU_UNIT_NONE)->waits_for = &mark[0];
	copy(&b, 3);
	assert_int_equal(next(), 0);
	assert_int_equal(next(), -1);
	assert_false(mark[0].is_reached);
	now = 41;
	done(0);
	assert_int_equal(next(), 3);
	assert_true(mark[0].is_reached);
	assert_int_equal(mark[0].when, 42);
	done(3);
	/* All four are on the list of those that have ended. */
	for (unsigned i = 0; i < 4; i++)
		assert_non_null(rn_list_pop_front(&s.ended));
	assert_true(rn_list_is_empty(&s.ended));
}

/* A chain of waits through three streams passes within one call. */
static void test_marks_pass_at_once(void **state)
{
	(void)state;
	push(&b, 0, RN_CU_UNIT_NONE)->waits_for = &mark[0];
	push(&b, 1, RN_CU_UNIT_NONE)->carries = &mark[1];
	push(&a, 2, RN_CU_UNIT_NONE)->waits_for = &mark[1];
	copy(&a, 3);
	push(&free_one, 4, RN_CU_UNIT_NONE)->carries = &mark[0];
	assert_int_equal(next(), 3);
}

static void test_error_of_a_mark(void **state)
{
	(void)state;
	copy(&a, 0)->carries = &mark[0];
	assert_int_equal(next(), 0);
	rn_cu_done(&s, &op[0], -14, 9);
	assert_int_equal(mark[0].error, -14);
	assert_true(mark[0].is_reached);
}

static bool is_met(const struct rn_cu_op *o, void *arg)
{
	(void)o;
	return *(bool *)arg;
}

static void test_condition(void **state)
{
	bool has_come = false;

	(void)state;
	copy(&a, 0)->is_conditional = true;
	copy(&b, 1);
	assert_true(rn_cu_is_polling(&s));
	assert_ptr_equal(rn_cu_next(&s, RN_CU_UNIT_ENGINE, 0, is_met, &has_come), &op[1]);
	assert_null(rn_cu_next(&s, RN_CU_UNIT_ENGINE, 0, is_met, &has_come));
	has_come = true;
	assert_ptr_equal(rn_cu_next(&s, RN_CU_UNIT_ENGINE, 0, is_met, &has_come), &op[0]);
	assert_false(rn_cu_is_polling(&s));
}

static void test_units(void **state)
{
	(void)state;
	push(&a, 0, RN_CU_UNIT_HOST);
	copy(&b, 1);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), -1);
	assert_ptr_equal(rn_cu_next(&s, RN_CU_UNIT_HOST, 0, NULL, NULL), &op[0]);
}

/* With a seed the order between streams varies, is the same each time, and never breaks
 * the order within one.
 */
static void play(uint64_t seed, int *order)
{
	begin(NULL);
	s.random = seed;
	for (unsigned i = 0; i < OPS; i++)
		copy(i % 3 == 0 ? &a : i % 3 == 1 ? &b : &free_one, i);
	for (unsigned i = 0; i < OPS; i++) {
		order[i] = next();
		assert_true(order[i] >= 0);
		done(order[i]);
	}
}

static void test_seeds(void **state)
{
	unsigned different = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		int first[OPS], again[OPS], last[3] = { -1, -1, -1 };

		play(seed, first);
		play(seed, again);
		assert_memory_equal(first, again, sizeof(first));
		for (int i = 0; i < OPS; i++) {
			assert_true(first[i] > last[first[i] % 3]);
			last[first[i] % 3] = first[i];
			different += first[i] != i;
		}
	}
	assert_true(different > 50 * OPS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_stream_is_in_order, begin),
		cmocka_unit_test_setup(test_streams_run_beside_each_other, begin),
		cmocka_unit_test_setup(test_priority, begin),
		cmocka_unit_test_setup(test_legacy_stream, begin),
		cmocka_unit_test_setup(test_other_groups_are_not_held, begin),
		cmocka_unit_test_setup(test_wait_for_a_mark, begin),
		cmocka_unit_test_setup(test_marks_pass_at_once, begin),
		cmocka_unit_test_setup(test_error_of_a_mark, begin),
		cmocka_unit_test_setup(test_condition, begin),
		cmocka_unit_test_setup(test_units, begin),
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
