/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_clock.c - the factor by which timeouts for a peer are stretched. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/io/host/clock.h"

static void timeouts_are_stretched_by_a_number_in_digits(void **state)
{
	static const struct {
		const char *text; /* NULL: not set */
		uint32_t scale;
		int rc;
	} rows[] = {
		{ NULL, 1, 0 },
		{ "", 1, 0 },
		{ "1", 1, 0 },
		{ "7", 7, 0 },
		{ "1000", 1000, 0 },
		{ "1001", 1, -EINVAL },
		{ "0", 1, -EINVAL },
		{ "-3", 1, -EINVAL },
		{ "+3", 1, -EINVAL },
		{ " 3", 1, -EINVAL },
		{ "3 s", 1, -EINVAL },
		{ "three", 1, -EINVAL },
		{ "4294967299", 1, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		uint32_t scale = 99;
		char err[128] = "";

		if (rows[i].text)
			setenv("ROCIN_TIMEOUT_SCALE", rows[i].text, 1);
		else
			unsetenv("ROCIN_TIMEOUT_SCALE");
		assert_int_equal(rn_timeout_scale_read(&scale, err, sizeof(err)),
				 rows[i].rc);
		assert_int_equal(scale, rows[i].scale);
		assert_int_equal(rn_timeout_scale(), rows[i].scale);
		assert_int_equal(strstr(err, "ROCIN_TIMEOUT_SCALE") != NULL,
				 rows[i].rc != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeouts_are_stretched_by_a_number_in_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
