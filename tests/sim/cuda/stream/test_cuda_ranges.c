/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cuda_ranges.c - which range an address lies in. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sim/cuda/stream/ranges.h"

static struct rn_cu_ranges all;

static void test_find(void **state)
{
	struct rn_cu_range low = { 100, 10 }, high = { 120, 5 }, between = { 110, 10 };

	(void)state;
	assert_null(rn_cu_ranges_find(&all, 100));
	assert_int_equal(rn_cu_ranges_add(&all, &high), 0);
	assert_int_equal(rn_cu_ranges_add(&all, &low), 0);
	assert_null(rn_cu_ranges_find(&all, 99));
	assert_ptr_equal(rn_cu_ranges_find(&all, 100), &low);
	assert_ptr_equal(rn_cu_ranges_find(&all, 109), &low);
	assert_null(rn_cu_ranges_find(&all, 110));
	assert_ptr_equal(rn_cu_ranges_find(&all, 124), &high);
	assert_null(rn_cu_ranges_find(&all, 125));
	assert_ptr_equal(rn_cu_ranges_hold(&all, 104, 6), &low);
	assert_null(rn_cu_ranges_hold(&all, 104, 7));
	assert_null(rn_cu_ranges_hold(&all, 104, SIZE_MAX));
	assert_int_equal(rn_cu_ranges_add(&all, &between), 0);
	assert_ptr_equal(rn_cu_ranges_find(&all, 119), &between);
	rn_cu_ranges_remove(&all, &low);
	assert_null(rn_cu_ranges_find(&all, 105));
	rn_cu_ranges_remove(&all, &between);
	rn_cu_ranges_remove(&all, &high);
	assert_null(all.range);
}

static void test_refused(void **state)
{
	struct rn_cu_range r = { 100, 10 }, last = { UINTPTR_MAX - 3, 4 };
	struct rn_cu_range bad[] = { { 95, 6 },	 { 109, 1 }, { 100, 10 },
				     { 90, 50 }, { 102, 2 }, { UINTPTR_MAX - 3, 5 } };
	struct rn_cu_range empty = { 5, 0 };

	(void)state;
	assert_int_equal(rn_cu_ranges_add(&all, &r), 0);
	for (size_t i = 0; i < RN_ARRAY_SIZE(bad); i++)
		assert_int_equal(rn_cu_ranges_add(&all, &bad[i]), -EEXIST);
	assert_int_equal(rn_cu_ranges_add(&all, &empty), -EINVAL);
	assert_int_equal(rn_cu_ranges_add(&all, &last), 0);
	assert_ptr_equal(rn_cu_ranges_find(&all, UINTPTR_MAX), &last);
	rn_cu_ranges_remove(&all, &r);
	rn_cu_ranges_remove(&all, &last);
}

/* More than the table has room for at first, in both directions. */
static void test_many(void **state)
{
	static struct rn_cu_range r[500];

	(void)state;
	for (size_t i = 0; i < 500; i++) {
		size_t k = i % 2 ? 499 - i / 2 : i / 2;

		r[k] = (struct rn_cu_range){ 1000 + 16 * k, 8 };
		assert_int_equal(rn_cu_ranges_add(&all, &r[k]), 0);
	}
	for (size_t i = 0; i < 500; i++) {
		assert_ptr_equal(rn_cu_ranges_find(&all, 1007 + 16 * i), &r[i]);
		assert_null(rn_cu_ranges_find(&all, 1008 + 16 * i));
	}
	for (size_t i = 0; i < 500; i++)
		rn_cu_ranges_remove(&all, &r[i]);
	assert_int_equal(all.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
