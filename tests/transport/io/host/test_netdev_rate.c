/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_netdev_rate.c - what has no rate says none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rocin/netdev.h"

static void what_has_no_rate_says_none(void **state)
{
	(void)state;
	assert_int_equal(rn_netdev_rate("lo"), 0);
	assert_int_equal(rn_netdev_rate(""), 0);
	assert_int_equal(rn_netdev_rate("no-such-iface"), 0);
	assert_int_equal(rn_netdev_rate("a-name-that-is-too-long-for-an-interface"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_rate_says_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
