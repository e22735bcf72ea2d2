/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_early.c - requests that wait for their listener. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/rocind/cm/cm_early.h"

static struct rnd_cm_early early;

static bool hold(rn_ns now, uint32_t src_qpn)
{
	const uint8_t mad[RN_MAD_LEN] = { (uint8_t)src_qpn };
	const struct rn_flow flow = { .sport = (uint16_t)src_qpn };
	const struct rn_cm_rx rx = { .flow = &flow, .src_qpn = src_qpn, .mad = mad };

	return rnd_cm_early_hold(&early, now, &rx);
}

static void oldest_is_due_first(void **state)
{
	struct rnd_cm_early_req req;
	struct rn_cm_rx rx;

	(void)state;
	assert_int_equal(rnd_cm_early_due(&early), RN_NEVER);
	assert_true(hold(1, 10));
	assert_true(hold(2, 20));
	assert_true(hold(3, 30));
	assert_int_equal(rnd_cm_early_due(&early), 1 + RND_CM_EARLY_FOR);
	rnd_cm_early_take(&early, 1, &req);
	rx = rnd_cm_early_rx(&req);
	assert_int_equal(rx.src_qpn, 20);
	assert_int_equal(rx.flow->sport, 20);
	assert_int_equal(rx.mad[0], 20);
	rnd_cm_early_take(&early, 0, &req);
	assert_int_equal(rnd_cm_early_due(&early), 3 + RND_CM_EARLY_FOR);
	rnd_cm_early_take(&early, 0, &req);
	assert_int_equal(req.src_qpn, 30);
	assert_int_equal(rnd_cm_early_due(&early), RN_NEVER);
}

static void there_is_an_end_to_waiting_room(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RND_CM_EARLY_MAX; i++)
		assert_true(hold(i, i));
	assert_false(hold(RND_CM_EARLY_MAX, 1));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_is_due_first),
		cmocka_unit_test(there_is_an_end_to_waiting_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
