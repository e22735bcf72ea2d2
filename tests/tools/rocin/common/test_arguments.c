/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_arguments.c - numbers and seconds of command lines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tools/rocin/common/arguments.h"

static void numbers_are_digits_in_range(void **state)
{
	static const struct {
		const char *text;
		uint64_t least, most, number;
	} good[] = {
		{ "0", 0, 9, 0 },
		{ "7", 7, 7, 7 },
		{ "010", 0, 99, 10 }, /* not octal */
		{ "0x1F", 0, 99, 31 },
		{ "18446744073709551615", 1, UINT64_MAX, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(good); i++) {
		uint64_t n = 99;

		assert_true(
			rn_read_number(good[i].text, good[i].least, good[i].most, &n));
		assert_int_equal(n, good[i].number);
	}
}

static void all_else_is_no_number(void **state)
{
	static const char *const bad[] = { "",
					   " 1",
					   "1 ",
					   "-1",
					   "+1",
					   "1k",
					   "x",
					   "0x",
					   "0xg",
					   "1e3",
					   "18446744073709551616",
					   "0x1 " };
	uint64_t n = 99;

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(bad); i++)
		assert_false(rn_read_number(bad[i], 0, UINT64_MAX, &n));
	assert_false(rn_read_number("4", 5, 5, &n));
	assert_false(rn_read_number("6", 5, 5, &n));
	/* Numbers that a narrower type would make 1 of. */
	assert_false(rn_read_number("4294967297", 1, UINT32_MAX, &n));
	assert_false(rn_read_number("-18446744073709551615", 1, 9, &n));
	assert_int_equal(n, 99);
}

static void seconds_may_have_a_fraction(void **state)
{
	static const char *const bad[] = {
		"", "-1", "0.04", "11", "inf", "nan", "1s", "."
	};
	double s = 0;

	(void)state;
	assert_true(rn_read_seconds("0.05", 0.05, 10, &s) && fabs(s - 0.05) < 1e-9);
	assert_true(rn_read_seconds("10", 0.05, 10, &s) && fabs(s - 10) < 1e-9);
	assert_true(rn_read_seconds(".5", 0.05, 10, &s) && fabs(s - 0.5) < 1e-9);
	for (size_t i = 0; i < RN_ARRAY_SIZE(bad); i++)
		assert_false(rn_read_seconds(bad[i], 0.05, 10, &s));
	assert_true(fabs(s - 0.5) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_digits_in_range),
		cmocka_unit_test(all_else_is_no_number),
		cmocka_unit_test(seconds_may_have_a_fraction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
