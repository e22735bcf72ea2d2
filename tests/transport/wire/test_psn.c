/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_psn.c - 24-bit sequence numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rocin/wire.h"

static void psn_keeps_only_24_bits(void **state)
{
	(void)state;
	assert_int_equal(rn_psn(0x1234567).v, 0x234567);
}

static void psn_add_wraps_at_24_bits(void **state)
{
	(void)state;
	assert_int_equal(rn_psn_add(rn_psn(0xffffff), 1).v, 0);
	assert_int_equal(rn_psn_add(rn_psn(0xfffffe), 5).v, 3);
	assert_int_equal(rn_psn_add(rn_psn(0), RN_PSN_MASK).v, 0xffffff);
}

static void psn_before_holds_across_the_wrap(void **state)
{
	(void)state;
	assert_true(rn_psn_before(rn_psn(0xfffffe), rn_psn(1)));
	assert_false(rn_psn_before(rn_psn(1), rn_psn(0xfffffe)));
	assert_false(rn_psn_before(rn_psn(7), rn_psn(7)));
}

static void psn_diff_covers_half_the_number_space_each_way(void **state)
{
	(void)state;
	assert_int_equal(rn_psn_diff(rn_psn(5), rn_psn(5)), 0);
	assert_int_equal(rn_psn_diff(rn_psn(2), rn_psn(0xfffffe)), 4);
	assert_int_equal(rn_psn_diff(rn_psn(0xfffffe), rn_psn(2)), -4);
	assert_int_equal(rn_psn_diff(rn_psn(0x7fffff), rn_psn(0)), 0x7fffff);
	assert_int_equal(rn_psn_diff(rn_psn(0x800000), rn_psn(0)), -0x800000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn_keeps_only_24_bits),
		cmocka_unit_test(psn_add_wraps_at_24_bits),
		cmocka_unit_test(psn_before_holds_across_the_wrap),
		cmocka_unit_test(psn_diff_covers_half_the_number_space_each_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
