/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_incast.c - senders at one link come to equal shares of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "incast.h"

static struct rn_incast_result a, b;

static void run(uint32_t senders, enum rn_cc_mode cc, struct rn_incast_result *r)
{
	struct rn_incast_cfg cfg;

	rn_incast_defaults(&cfg, senders);
	cfg.cc = cc;
	assert_int_equal(rn_incast_run(&cfg, r), 0);
	assert_int_equal(r->failed, 0);
}

/* Whoever came first has no more than whoever came last. */
static void senders_come_to_equal_shares(void **state)
{
	static const uint32_t counts[] = { 2, 3, 4, 8, 16 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(counts); i++) {
		run(counts[i], RN_CC_ON, &a);
		print_message("%u senders: fairness %u, used %u, queue %u\n", counts[i],
			      a.fairness, a.used, a.queue_last);
		/* Sixteen have been there together for a quarter of the time only. */
		assert_in_range(a.fairness, counts[i] > 8 ? 900000 : 970000, 1000000);
		assert_in_range(a.used, 850000, 1010000);
		assert_int_equal(a.dropped, 0);
		assert_int_equal(a.retransmitted, 0);
		assert_true(a.cnps > 0 && a.marked >= a.cnps);
	}
}

static void a_sender_alone_is_not_slowed(void **state)
{
	(void)state;
	run(1, RN_CC_ON, &a);
	assert_int_equal(a.cnps, 0);
	assert_in_range(a.used, 990000, 1010000);
}

static void the_queue_stays_far_from_its_end(void **state)
{
	(void)state;
	run(4, RN_CC_ON, &a);
	assert_true(a.queue_last < a.cfg.link.queue / 4);
	run(4, RN_CC_OFF, &b);
	assert_true(b.queue_last > b.cfg.link.queue / 4 * 3);
	assert_true(b.dropped > 0 && b.retransmitted > 0);
	assert_true(a.fairness > b.fairness);
}

/* Marks come, are answered and counted, but nobody obeys. */
static void who_only_observes_is_as_fast_as_without(void **state)
{
	(void)state;
	run(2, RN_CC_OBSERVE, &a);
	assert_true(a.cnps > 0);
	assert_in_range(a.used, 990000, 1010000);
	assert_true(a.queue_last > a.cfg.link.ecn_max);
}

static void equal_settings_give_equal_runs(void **state)
{
	(void)state;
	run(4, RN_CC_ON, &a);
	run(4, RN_CC_ON, &b);
	assert_memory_equal(&a, &b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(senders_come_to_equal_shares),
		cmocka_unit_test(a_sender_alone_is_not_slowed),
		cmocka_unit_test(the_queue_stays_far_from_its_end),
		cmocka_unit_test(who_only_observes_is_as_fast_as_without),
		cmocka_unit_test(equal_settings_give_equal_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
