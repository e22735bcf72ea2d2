/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_incast.c - senders at one link come to equal shares of it. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/fabric/incast.h"

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

/* Ten seconds of WRITEs of 256 KiB, ACK timeout code 14, to a host that is let run now
 * and then: nothing is lost, so little is sent that had been sent before.
 */
static void run_slow(bool reads, bool both, rn_ns stall_max, uint64_t seed)
{
	struct rn_incast_cfg cfg;

	rn_incast_defaults(&cfg, 4);
	cfg.cc = RN_CC_OFF;
	cfg.link = (struct rn_link_cfg){ .rate = UINT64_C(1000000000),
					 .delay = RN_USEC(50) };
	cfg.apart = RN_USEC(10);
	cfg.end = RN_MSEC(10000);
	cfg.sample = RN_MSEC(100);
	cfg.stall_min = RN_MSEC(10);
	cfg.stall_max = stall_max;
	cfg.run_max = RN_MSEC(20);
	cfg.reads = reads;
	cfg.both = both;
	cfg.seed = seed;
	assert_int_equal(rn_incast_run(&cfg, &a), 0);
	print_message("%s%s, up to %lld ms: %" PRIu64 " of %" PRIu64
		      " packets again, %" PRIu64 " timeouts, %" PRIu64
		      " messages, %" PRIu64 " failed\n",
		      reads ? "READ" : "WRITE", both ? " both ways" : "",
		      (long long)(stall_max / 1000000), a.retransmitted, a.requests,
		      a.timeouts, a.completed, a.failed);
}

static void a_slow_peer_is_sent_little_again(void **state)
{
	static const rn_ns stalls[] = { RN_MSEC(20), RN_MSEC(100), RN_MSEC(250),
					RN_MSEC(500) };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(stalls); i++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			run_slow(false, seed % 2, stalls[i], seed);
			assert_int_equal(a.dropped + a.failed, 0);
			assert_true(a.completed > 0);
			assert_true(a.retransmitted * 20 <=
				    a.requests + seed % 2 * a.responses);
		}
}

/* What is asked for again is counted by what comes. */
static void what_a_slow_peer_reads_out_comes_once(void **state)
{
	static const rn_ns stalls[] = { RN_MSEC(20), RN_MSEC(100), RN_MSEC(250),
					RN_MSEC(500) };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(stalls); i++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			run_slow(true, false, stalls[i], seed);
			assert_int_equal(a.dropped + a.failed, 0);
			/* 64 packets a READ, and those that are under way in the end. */
			assert_in_range(a.responses, a.completed * 64,
					(a.completed + 16) * 64 * 105 / 100);
		}
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
		cmocka_unit_test(a_slow_peer_is_sent_little_again),
		cmocka_unit_test(what_a_slow_peer_reads_out_comes_once),
		cmocka_unit_test(equal_settings_give_equal_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
