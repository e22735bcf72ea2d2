/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_net_fault.c - faults on purpose: what the text means, and what becomes of packets.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault_kit.h"
#include "rocin/stats.h"
#include "tests/transport/io/pair_kit.h"

enum {
	PACKET = 64,
	PACKETS = 10000,
};

/* What came out at the other end: number of each packet, and whether it is whole. */
struct run {
	unsigned count;
	unsigned damaged;
	uint16_t order[3 * PACKETS];
	uint64_t stats[RN_STAT_COUNT];
};

static void take_all(struct run *r, const struct rn_net *rx)
{
	struct rn_rx got[RN_RX_BATCH];
	int n;

	while ((n = rx->ops->receive(rx->ctx, got)) != 0) {
		for (int i = 0; i < n; i++) {
			uint8_t want[PACKET];
			uint16_t number;

			assert_int_equal(got[i].len, PACKET);
			memcpy(&number, got[i].data, sizeof(number));
			memset(want, 0x5a, sizeof(want));
			memcpy(want, &number, sizeof(number));
			r->damaged += memcmp(want, got[i].data, PACKET) != 0;
			r->order[r->count++] = number;
		}
	}
}

/* PACKETS numbered packets in super-packets of 10. */
static struct run *run(const char *text)
{
	struct run *r = calloc(1, sizeof(*r));
	struct rn_pair *pair = rn_pair_new();
	struct world w = { 0 };
	struct rn_fault *fault = make(rn_pair_net(pair, 0), text, r->stats, &w);
	struct rn_flow flow = { .sport = RN_ROCE_PORT };
	uint8_t data[10 * PACKET];

	for (uint16_t first = 0; first < PACKETS; first = (uint16_t)(first + 10)) {
		struct rn_super super = { .flow = &flow,
					  .data = data,
					  .len = sizeof(data),
					  .seg_len = PACKET,
					  .count = 10 };
		const struct rn_net *tx = rn_fault_net(fault);

		memset(data, 0x5a, sizeof(data));
		for (uint16_t i = 0; i < 10; i++) {
			uint16_t number = (uint16_t)(first + i);

			memcpy(data + i * PACKET, &number, sizeof(number));
		}
		assert_int_equal(tx->ops->transmit(tx->ctx, &super), 0);
		take_all(r, rn_pair_net(pair, 1));
	}
	w.now = rn_fault_due(fault, 0); /* what was held back */
	take_all(r, rn_fault_net(fault));
	take_all(r, rn_pair_net(pair, 1));
	rn_fault_free(fault);
	rn_pair_free(pair);
	return r;
}

static void without_faults_every_packet_passes_in_order(void **state)
{
	struct run *r = run("drop=0%");

	(void)state;
	assert_int_equal(r->count, PACKETS);
	assert_int_equal(r->damaged, 0);
	for (unsigned i = 0; i < PACKETS; i++)
		assert_int_equal(r->order[i], i);
	free(r);
}

static void dropped_packets_are_counted_and_about_as_many_as_wished(void **state)
{
	struct run *r = run("drop=5%,seed=3");

	(void)state;
	assert_int_equal(r->count + r->stats[RN_STAT_FAULT_DROPPED], PACKETS);
	assert_in_range(r->stats[RN_STAT_FAULT_DROPPED], 400, 600);
	free(r);
}

static void everything_can_be_dropped(void **state)
{
	struct run *r = run("drop=100%");

	(void)state;
	assert_int_equal(r->count, 0);
	free(r);
}

static void doubled_packets_follow_each_other(void **state)
{
	struct run *r = run("dup=10%");
	unsigned twice = 0;

	(void)state;
	for (unsigned i = 1; i < r->count; i++)
		twice += r->order[i] == r->order[i - 1];
	assert_int_equal(r->count, PACKETS + twice);
	assert_in_range(twice, 800, 1200);
	free(r);
}

static void reordered_packets_come_one_place_later_and_none_is_lost(void **state)
{
	struct run *r = run("reorder=10%");
	unsigned late = 0;

	(void)state;
	assert_int_equal(r->count, PACKETS);
	for (unsigned i = 1; i < r->count; i++) {
		if (r->order[i] > r->order[i - 1])
			continue;
		late++;
		assert_int_equal(r->order[i] + 1, r->order[i - 1]);
	}
	assert_in_range(late, 700, 1200);
	free(r);
}

static void damaged_packets_have_one_wrong_bit(void **state)
{
	struct run *r = run("corrupt=10%,seed=99");

	(void)state;
	assert_int_equal(r->count, PACKETS);
	assert_in_range(r->damaged, 700, 1200);
	free(r);
}

static void same_seed_gives_the_same_faults_and_another_gives_others(void **state)
{
	struct run *a = run("drop=3%,dup=3%,reorder=3%,seed=7");
	struct run *b = run("seed=7,reorder=3%,dup=3%,drop=3%");
	struct run *c = run("drop=3%,dup=3%,reorder=3%,seed=8");

	(void)state;
	assert_int_equal(a->count, b->count);
	assert_memory_equal(a->order, b->order, sizeof(a->order));
	assert_true(memcmp(a->order, c->order, sizeof(a->order)) != 0);
	free(a);
	free(b);
	free(c);
}

static void one_kind_of_fault_does_not_move_another(void **state)
{
	struct run *a = run("drop=3%,seed=7"), *b = run("drop=3%,corrupt=50%,seed=7");

	(void)state;
	assert_int_equal(a->stats[RN_STAT_FAULT_DROPPED],
			 b->stats[RN_STAT_FAULT_DROPPED]);
	free(a);
	free(b);
}

static void full_socket_underneath_loses_nothing(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct world w = { 0 };
	uint64_t stats[RN_STAT_COUNT] = { 0 };
	struct rn_fault *fault = make(rn_pair_net(pair, 0), "dup=100%", stats, &w);
	const struct rn_net *tx = rn_fault_net(fault), *rx = rn_pair_net(pair, 1);
	struct rn_flow flow = { .sport = RN_ROCE_PORT };
	uint8_t data[RN_SUPER_SEGMENTS * PACKET] = { 0 };
	struct rn_super super = { .flow = &flow,
				  .data = data,
				  .len = sizeof(data),
				  .seg_len = PACKET,
				  .count = RN_SUPER_SEGMENTS };
	struct rn_rx got[RN_RX_BATCH];
	int received = 0, n;

	(void)state;
	/* 128 packets into a wire for 32: taken, and the next is not until they
	 * have left. */
	assert_int_equal(tx->ops->transmit(tx->ctx, &super), 0);
	assert_int_equal(tx->ops->transmit(tx->ctx, &super), -EAGAIN);
	for (unsigned i = 0; i < 20; i++) {
		while ((n = rx->ops->receive(rx->ctx, got)) > 0)
			received += n;
		tx->ops->receive(tx->ctx, got);
	}
	assert_int_equal(received, 2 * RN_SUPER_SEGMENTS);
	rn_fault_free(fault);
	rn_pair_free(pair);
}

static void text_is_read_to_the_last_digit(void **state)
{
	struct rn_fault_spec spec;

	(void)state;
	assert_int_equal(rn_fault_parse("drop=1%,dup=0.5%,reorder=12.25%,corrupt=0.0001%,"
					"seed=18446744073709",
					&spec, NULL, 0),
			 0);
	assert_int_equal(spec.drop, 10000);
	assert_int_equal(spec.dup, 5000);
	assert_int_equal(spec.reorder, 122500);
	assert_int_equal(spec.corrupt, 1);
	assert_true(spec.seed == 18446744073709u);
}

static void text_that_is_wrong_is_refused_with_a_sentence(void **state)
{
	static const char *const wrong[] = {
		"",
		"drop",
		"drop=",
		"drop=%",
		"drop=1",
		"drop=.5%",
		"drop=1.%",
		"drop=101%",
		"drop=-1%",
		"drop=1%,",
		"lose=1%",
		"drop=1%%",
		"drop=1%,drop=2%",
		"seed=",
		"seed=x",
		"drop=0.00001%",
		"Drop=1%",
		" drop=1%",
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		struct rn_fault_spec spec = { .drop = 77 };
		char err[200] = "";

		assert_int_equal(rn_fault_parse(wrong[i], &spec, err, sizeof(err)),
				 -EINVAL);
		assert_int_equal(spec.drop, 77);
		assert_true(strlen(err) > 20);
	}
}

static struct rn_tx_socket below;

static struct rn_tx_socket socket_below(void *ctx, const struct rn_flow *flow,
					uint32_t sgid_index, uint32_t dest_slot)
{
	(void)ctx;
	(void)flow;
	(void)sgid_index;
	(void)dest_slot;
	return below;
}

/* Of the sockets of the device below it takes that of the own host, whose port is on the
 * wire, and none that numbers its packets.
 */
static void only_the_socket_of_the_own_host_is_passed_on(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_net *inner = rn_pair_net(pair, 0);
	struct rn_net_ops ops = *inner->ops;
	struct world w = { 0 };
	uint64_t stats[RN_STAT_COUNT] = { 0 };
	struct rn_flow flow = { .sport = RN_ROCE_PORT };
	struct rn_fault *fault;

	(void)state;
	ops.tx_socket = socket_below;
	inner->ops = &ops;
	fault = make(inner, "drop=1%", stats, &w);
	below = (struct rn_tx_socket){ .id = RN_TX_OWN_HOST, .sport = 1234 };
	assert_int_equal(rn_net_tx_socket(rn_fault_net(fault), &flow, 0, 0).sport, 1234);
	below = (struct rn_tx_socket){ .id = 1, .sport = 1234, .first_id = 7 };
	assert_int_equal(rn_net_tx_socket(rn_fault_net(fault), &flow, 0, 0).id, 0);
	assert_int_equal(rn_net_tx_socket(rn_fault_net(fault), &flow, 0, 0).sport, 0);
	rn_fault_free(fault);
	rn_pair_free(pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_faults_every_packet_passes_in_order),
		cmocka_unit_test(dropped_packets_are_counted_and_about_as_many_as_wished),
		cmocka_unit_test(everything_can_be_dropped),
		cmocka_unit_test(doubled_packets_follow_each_other),
		cmocka_unit_test(reordered_packets_come_one_place_later_and_none_is_lost),
		cmocka_unit_test(damaged_packets_have_one_wrong_bit),
		cmocka_unit_test(
			same_seed_gives_the_same_faults_and_another_gives_others),
		cmocka_unit_test(one_kind_of_fault_does_not_move_another),
		cmocka_unit_test(full_socket_underneath_loses_nothing),
		cmocka_unit_test(only_the_socket_of_the_own_host_is_passed_on),
		cmocka_unit_test(text_is_read_to_the_last_digit),
		cmocka_unit_test(text_that_is_wrong_is_refused_with_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
