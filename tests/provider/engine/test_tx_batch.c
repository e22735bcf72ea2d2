/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_tx_batch.c - which packets leave together. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "provider/engine/tx_batch.h"
#include "rocin/icrc.h"
#include "rocin/stats.h"
#include "rocin/transport.h"
#include "rocin/wire.h"

enum {
	SUPERS = 512
};

/* The core, for this test: packets to order. */
struct order {
	unsigned count;
	uint32_t len; /* without ICRC */
	unsigned flow;
	uint32_t dest_qpn;
};

static struct order orders[8];
static unsigned order_count, order_at, order_done;

static const struct rn_gid gids[RN_GID_MAX] = {
	{ { [10] = 0xff, 0xff, 127, 0, 0, 1 } },
	{ { [10] = 0xff, 0xff, 127, 0, 0, 2 } },
};
static struct rn_flow flows[3];

uint32_t rn_dev_transmit(struct rn_dev *dev, rn_ns now, unsigned what, uint8_t *buf,
			 size_t cap, struct rn_tx *tx)
{
	const struct order *o = &orders[order_at];

	(void)dev;
	(void)now;
	(void)what;
	if (order_at == order_count)
		return 0;
	assert_true(o->len <= cap);
	memset(buf, (int)order_done + 1, o->len);
	*tx = (struct rn_tx){ .flow = &flows[o->flow], .dest_qpn = o->dest_qpn };
	if (++order_done == o->count) {
		order_at++;
		order_done = 0;
	}
	return o->len;
}

bool rn_dev_has_packets(const struct rn_dev *dev, unsigned what)
{
	(void)dev;
	(void)what;
	return order_at < order_count;
}

/* The wire: remembers what it got. */
struct sent {
	uint32_t count, len, seg_len, sgid_index;
	uint16_t sport, first_id;
};

static struct sent sent[SUPERS];
static unsigned sent_count;
static int answer;	      /* what transmit says */
static unsigned answer_after; /* super-packets that still pass before */

static void check_signatures(const struct rn_super *s, bool gso)
{
	uint16_t i = 0;

	for (uint32_t at = 0; at < s->len; at += s->seg_len, i++) {
		uint32_t left = s->len - at;
		uint32_t len = (left < s->seg_len ? left : s->seg_len) - RN_ICRC_LEN;

		assert_int_equal(rn_get_le32(s->data + at + len),
				 rn_icrc(s->flow, rn_super_ip_id(&s->tx_socket, gso, i),
					 s->data + at, len));
	}
	assert_int_equal(i, s->count);
}

static struct rn_net net;

static int wire_transmit(void *ctx, const struct rn_super *s)
{
	(void)ctx;
	if (answer && answer_after-- == 0) {
		int rc = answer;

		answer = 0;
		return rc;
	}
	check_signatures(s, net.gso);
	assert_true(s->len <= RN_SUPER_BYTES);
	sent[sent_count++] = (struct sent){ .count = s->count,
					    .len = s->len,
					    .seg_len = s->seg_len,
					    .sgid_index = s->sgid_index,
					    .sport = s->flow->sport,
					    .first_id = s->tx_socket.first_id };
	return 0;
}

/* A wire with a connected socket to each process; that of 2 numbers its packets from
 * 500 on.
 */
static struct rn_tx_socket wire_tx_socket(void *ctx, const struct rn_flow *flow,
					  uint32_t sgid_index, uint32_t dest_slot)
{
	(void)ctx;
	if (dest_slot != 2 || rn_gid_is_multicast(&flow->dst))
		return (struct rn_tx_socket){ 0 };
	assert_int_equal(sgid_index, 0);
	return (struct rn_tx_socket){ .id = 7,
				      .sport = 50000,
				      .first_id = (uint16_t)(500 + sent_count) };
}

static const struct rn_net_ops tx_socket_ops = { .transmit = wire_transmit,
						 .tx_socket = wire_tx_socket };
static const struct rn_net_ops ops = { .transmit = wire_transmit };

static struct rnp_tx_batch *batch;
static uint64_t stats[RN_STAT_COUNT];

static int setup(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(flows); i++)
		flows[i] = (struct rn_flow){ .src = gids[i & 1],
					     .dst = gids[1],
					     .sport = (uint16_t)(RN_ROCE_PORT + i) };
	net = (struct rn_net){ .ops = &ops, .gso = true };
	memset(stats, 0, sizeof(stats));
	order_count = order_at = order_done = sent_count = answer_after = 0;
	answer = 0;
	batch = calloc(1, sizeof(*batch));
	assert_non_null(batch);
	rnp_tx_batch_init(batch, NULL, gids, stats);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(batch);
	return 0;
}

static void give(unsigned count, uint32_t len, unsigned flow, uint32_t dest_qpn)
{
	orders[order_count++] = (struct order){ count, len, flow, dest_qpn };
}

static int fill(void)
{
	return rnp_tx_batch_fill(batch, &net, 0, RN_TX_ALL, 1000);
}

static void send_all(void)
{
	assert_int_equal(fill(), 0);
	assert_int_equal(rnp_tx_batch_flush(batch, &net), 0);
	assert_true(rnp_tx_batch_is_empty(batch));
}

static void equal_packets_leave_together(void **state)
{
	(void)state;
	give(10, 100, 0, 0x101);
	send_all();
	assert_int_equal(sent_count, 1);
	assert_int_equal(sent[0].count, 10);
	assert_int_equal(sent[0].seg_len, 104);
	assert_int_equal(sent[0].len, 1040);
}

static void nothing_is_sent_before_the_flush_unless_it_is_full(void **state)
{
	(void)state;
	give(63, 100, 0, 0x101);
	assert_int_equal(fill(), 0);
	assert_int_equal(sent_count, 0);
	give(1, 100, 0, 0x101);
	assert_int_equal(fill(), 0);
	assert_int_equal(sent_count, 1);
	assert_int_equal(sent[0].count, 64);
	assert_true(rnp_tx_batch_is_empty(batch));
}

static void shorter_packet_is_the_last_of_its_super_packet(void **state)
{
	(void)state;
	give(3, 100, 0, 0x101);
	give(1, 60, 0, 0x101);
	give(2, 60, 0, 0x101);
	send_all();
	assert_int_equal(sent_count, 2);
	assert_int_equal(sent[0].count, 4);
	assert_int_equal(sent[0].len, 3 * 104 + 64);
	assert_int_equal(sent[1].count, 2);
}

static void longer_packet_begins_a_new_super_packet(void **state)
{
	(void)state;
	give(1, 60, 0, 0x101);
	give(3, 100, 0, 0x101);
	send_all();
	assert_int_equal(sent_count, 2);
	assert_int_equal(sent[0].count, 1);
	assert_int_equal(sent[1].count, 3);
}

static void no_super_packet_is_longer_than_a_datagram(void **state)
{
	uint32_t bytes = 0;

	(void)state;
	give(1, 4096 + 28, 0, 0x101);
	give(254, 4096 + 12, 0, 0x101);
	give(1, 4096 + 12, 0, 0x101);
	send_all();
	for (unsigned i = 0; i < sent_count; i++)
		bytes += sent[i].len;
	assert_int_equal(bytes, 4128 + 255 * 4112);
	assert_int_equal(sent[0].count, 2); /* the first and a shorter one */
	assert_int_equal(sent[1].count, 15);
	assert_int_equal(sent_count, 1 + 17);
}

static void destination_processes_and_flows_are_kept_apart(void **state)
{
	(void)state;
	give(2, 100, 0, 0x101);
	give(2, 100, 0, 0x201); /* the same process */
	give(2, 100, 0, 0x102); /* another */
	give(2, 100, 1, 0x102); /* another flow */
	give(2, 100, 2, 0x102); /* another source port */
	send_all();
	assert_int_equal(sent_count, 4);
	assert_int_equal(sent[0].count, 4);
	assert_int_equal(sent[1].count, 2);
	assert_int_equal(sent[2].sgid_index, 1);
	assert_int_equal(sent[3].sgid_index, 0);
}

static void without_gso_every_packet_is_signed_for_itself(void **state)
{
	(void)state;
	net.gso = false;
	give(10, 100, 0, 0x101);
	send_all(); /* check_signatures() */
	assert_int_equal(sent[0].count, 10);
}

static void packets_to_a_group_leave_one_by_one(void **state)
{
	(void)state;
	net.ops = &tx_socket_ops;
	flows[1].dst = (struct rn_gid){ .raw = { [10] = 0xff, [11] = 0xff, [12] = 239 } };
	give(3, 1000, 0, 5);
	give(3, 1000, 1, RN_QPN_MULTICAST);
	give(2, 1000, 0, 5);
	send_all();
	assert_int_equal(sent_count, 5);
	for (unsigned i = 1; i <= 3; i++)
		assert_int_equal(sent[i].count, 1);
	assert_int_equal(sent[4].count, 2);
}

static void full_socket_loses_and_doubles_nothing(void **state)
{
	(void)state;
	for (unsigned after = 0; after < 6; after++) {
		uint32_t packets = 0;

		order_count = order_at = order_done = sent_count = 0;
		give(100, 1000, 0, 0x101);
		give(3, 100, 0, 0x101);
		give(100, 1000, 0, 0x102);
		answer = -EAGAIN;
		answer_after = after;
		for (unsigned i = 0;
		     i < 10 && (fill() || rnp_tx_batch_flush(batch, &net)); i++)
			;
		assert_true(rnp_tx_batch_is_empty(batch));
		for (unsigned i = 0; i < sent_count; i++)
			packets += sent[i].count;
		assert_int_equal(packets, 203);
	}
}

/* It is sent as it was: what is built meanwhile does not fit into it. */
static void full_super_packet_that_waits_takes_nothing_up(void **state)
{
	(void)state;
	give(15, 4096 + 12, 0, 0x101);
	give(3, 4096, 0, 0x101);
	answer = -EAGAIN;
	assert_int_equal(fill(), -EAGAIN);
	send_all();
	assert_int_equal(sent_count, 2);
	assert_int_equal(sent[0].count, 15);
	assert_int_equal(sent[1].count, 3);
}

static void packets_that_the_socket_refuses_are_counted(void **state)
{
	(void)state;
	give(10, 100, 0, 0x101);
	answer = -EPERM;
	send_all();
	assert_int_equal(sent_count, 0);
	assert_int_equal(stats[RN_STAT_TX_DROPPED], 10);
}

static void packets_too_long_for_their_way_are_counted_apart(void **state)
{
	(void)state;
	give(10, 100, 0, 0x101);
	answer = -EMSGSIZE;
	send_all();
	assert_int_equal(sent_count, 0);
	assert_int_equal(stats[RN_STAT_TX_TOO_LONG], 10);
	assert_int_equal(stats[RN_STAT_TX_DROPPED], 0);
}

static void packets_of_an_address_that_is_gone_are_counted(void **state)
{
	(void)state;
	flows[0].src.raw[15] = 99;
	give(3, 100, 0, 0x101);
	give(1, 100, 1, 0x101);
	send_all();
	assert_int_equal(sent_count, 1);
	assert_int_equal(stats[RN_STAT_TX_DROPPED], 3);
}

static void bounded_call_goes_on_where_it_stopped(void **state)
{
	(void)state;
	give(64 * 5, 100, 0, 0x101);
	assert_int_equal(rnp_tx_batch_fill(batch, &net, 0, RN_TX_ALL, 2), 1);
	assert_int_equal(sent_count, 2);
	send_all();
	assert_int_equal(sent_count, 5);
}

static void packets_are_signed_for_the_socket_that_they_leave_by(void **state)
{
	(void)state;
	net.ops = &tx_socket_ops;
	give(10, 100, 0, 0x101);
	give(64 + 10, 100, 0, 0x102);
	give(2, 100, 0, 0x101);
	answer = -EAGAIN; /* of the second: that one is tried again */
	answer_after = 1;
	assert_int_equal(fill(), -EAGAIN);
	send_all();
	assert_int_equal(sent_count, 4);
	for (unsigned i = 0; i < sent_count; i++) {
		bool by_connected = i == 1 || i == 2;

		assert_int_equal(sent[i].sport, by_connected ? 50000 : RN_ROCE_PORT);
		assert_int_equal(sent[i].first_id, by_connected ? 500 + i : 0);
	}
	assert_int_equal(sent[1].count, 64); /* the label is that of the flow */
	assert_int_equal(sent[2].count, 10);
}

/* A wire that is memory: to the process 1 of the first flow, with room for some. */
static uint8_t place[RN_PACKET_MAX + RN_ICRC_LEN];
static unsigned place_room, placed, published;

static uint8_t *wire_reserve(void *ctx, const struct rn_flow *flow, uint32_t dest_slot)
{
	(void)ctx;
	return dest_slot == 1 && flow->sport == flows[0].sport && place_room > 0 ? place
										 : NULL;
}

static void wire_commit(void *ctx, const struct rn_flow *flow, uint32_t len)
{
	(void)ctx;
	assert_int_equal(flow->sport, flows[0].sport);
	assert_int_equal(rn_get_le32(place + len - RN_ICRC_LEN),
			 net.no_icrc ? 0 : rn_icrc(flow, 0, place, len - RN_ICRC_LEN));
	memset(place, 0xee, sizeof(place)); /* what the next finds there */
	place_room--;
	placed++;
}

static void wire_publish(void *ctx)
{
	(void)ctx;
	published = placed;
}

static const struct rn_net_ops place_ops = {
	.transmit = wire_transmit,
	.reserve = wire_reserve,
	.commit = wire_commit,
	.publish = wire_publish,
};

static void use_place(unsigned room)
{
	net.ops = &place_ops;
	place_room = room;
	placed = published = 0;
	/* Two super-packets to the same process: the next may go there too. */
	give(65, 100, 0, 0x101);
	send_all();
	assert_int_equal(sent_count, 2);
}

static void packets_of_a_run_are_built_on_the_wire(void **state)
{
	(void)state;
	use_place(100);
	give(20, 1000, 0, 0x201);
	give(5, 60, 0, 0x101);
	assert_int_equal(fill(), 0);
	assert_int_equal(placed, 25);
	assert_int_equal(published, 0);
	assert_false(rnp_tx_batch_is_empty(batch));
	assert_int_equal(rnp_tx_batch_flush(batch, &net), 0);
	assert_int_equal(published, 25);
	assert_int_equal(sent_count, 2);
}

/* Nobody looks at it, but a capture shows it. */
static void packets_on_a_wire_without_icrcs_have_zeros_there(void **state)
{
	(void)state;
	use_place(100);
	net.no_icrc = true;
	give(5, 1000, 0, 0x201);
	send_all();
	assert_int_equal(placed, 5);
	assert_int_equal(published, 5);
}

static void what_ends_a_run_leaves_behind_it(void **state)
{
	(void)state;
	use_place(100);
	give(3, 1000, 0, 0x101);
	give(2, 500, 1, 0x102);
	give(2, 600, 0, 0x101);
	send_all();
	assert_int_equal(placed, 3);
	assert_int_equal(published, 3);
	assert_int_equal(sent_count, 4);
	assert_int_equal(sent[2].count, 2);
	assert_int_equal(sent[2].seg_len, 504);
	assert_int_equal(sent[2].sgid_index, 1);
	assert_int_equal(sent[3].count, 2);
}

static void full_wire_gets_the_rest_in_super_packets(void **state)
{
	(void)state;
	use_place(10);
	give(30, 1000, 0, 0x101);
	send_all();
	assert_int_equal(placed, 10);
	assert_int_equal(published, 10);
	assert_int_equal(sent_count, 3);
	assert_int_equal(sent[2].count, 20);
}

static void bounded_call_lets_go_what_it_built_on_the_wire(void **state)
{
	(void)state;
	use_place(1000);
	give(100, 1000, 0, 0x101);
	assert_int_equal(rnp_tx_batch_fill(batch, &net, 0, RN_TX_ALL, 1), 1);
	assert_int_equal(placed, 64);
	assert_int_equal(published, 64);
	send_all();
	assert_int_equal(placed, 100);
	assert_int_equal(published, 100);
}

static void packets_on_the_wire_of_an_address_that_is_gone_are_counted(void **state)
{
	static const struct rn_gid none[RN_GID_MAX];

	(void)state;
	use_place(1000);
	batch->gid = none;
	give(3, 1000, 0, 0x101);
	send_all();
	assert_int_equal(placed, 0);
	assert_int_equal(stats[RN_STAT_TX_DROPPED], 3);
}

/* What a post that is no cancellation point does: all on the wire, and visible. */
static void packets_of_a_run_can_be_placed_alone(void **state)
{
	(void)state;
	use_place(100);
	assert_true(rnp_tx_batch_may_place(batch, &net));
	give(3, 1000, 0, 0x101);
	assert_int_equal(rnp_tx_batch_place(batch, &net, 0, RN_TX_WORK, 1), 0);
	assert_int_equal(placed, 3);
	assert_int_equal(published, 3);
	assert_true(rnp_tx_batch_is_empty(batch));
}

static void what_cannot_be_placed_is_left_to_the_next_fill(void **state)
{
	(void)state;
	use_place(2);
	give(3, 1000, 0, 0x101);
	give(1, 500, 1, 0x102);
	assert_int_equal(rnp_tx_batch_place(batch, &net, 0, RN_TX_WORK, 1), -EAGAIN);
	assert_int_equal(placed, 2);
	send_all();
	assert_int_equal(published, 2);
	assert_int_equal(sent_count, 4);
	assert_int_equal(sent[2].count, 1);
	assert_int_equal(sent[3].seg_len, 504);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(equal_packets_leave_together),
		test(nothing_is_sent_before_the_flush_unless_it_is_full),
		test(shorter_packet_is_the_last_of_its_super_packet),
		test(longer_packet_begins_a_new_super_packet),
		test(no_super_packet_is_longer_than_a_datagram),
		test(destination_processes_and_flows_are_kept_apart),
		test(without_gso_every_packet_is_signed_for_itself),
		test(packets_to_a_group_leave_one_by_one),
		test(full_socket_loses_and_doubles_nothing),
		test(full_super_packet_that_waits_takes_nothing_up),
		test(packets_that_the_socket_refuses_are_counted),
		test(packets_too_long_for_their_way_are_counted_apart),
		test(packets_of_an_address_that_is_gone_are_counted),
		test(bounded_call_goes_on_where_it_stopped),
		test(packets_are_signed_for_the_socket_that_they_leave_by),
		test(packets_of_a_run_are_built_on_the_wire),
		test(packets_on_a_wire_without_icrcs_have_zeros_there),
		test(what_ends_a_run_leaves_behind_it),
		test(full_wire_gets_the_rest_in_super_packets),
		test(bounded_call_lets_go_what_it_built_on_the_wire),
		test(packets_on_the_wire_of_an_address_that_is_gone_are_counted),
		test(packets_of_a_run_can_be_placed_alone),
		test(what_cannot_be_placed_is_left_to_the_next_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
