/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fault_net.c - what rules do between a device and the wire: each action seen. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault_kit.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/stats.h"
#include "tests/transport/io/pair_kit.h"

enum {
	PACKET = RN_BTH_LEN + 4 + RN_ICRC_LEN,
	OUR_QPN = 0x1102,
	PEER_QPN = 0x102, /* what fault_kit.h says it is connected to */
};

/* A device with faults at one end, the peer at the other. */
struct wire {
	struct rn_pair *pair;
	struct rn_fault *fault;
	struct rn_net *ours, *peers;
	struct world w;
	uint64_t stats[RN_STAT_COUNT];
	struct rn_rx rx[RN_RX_BATCH];
	int count; /* of rx */
};

static const struct rn_flow out = {
	.src = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 } },
	.dst = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 2 } },
	.sport = 49152,
};
static const struct rn_flow in = {
	.src = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 2 } },
	.dst = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 } },
	.sport = 49153,
};

static void open_wire(struct wire *wire, const char *text)
{
	*wire = (struct wire){ .pair = rn_pair_new() };
	assert_non_null(wire->pair);
	wire->fault = make(rn_pair_net(wire->pair, 0), text, wire->stats, &wire->w);
	wire->ours = rn_fault_net(wire->fault);
	wire->peers = rn_pair_net(wire->pair, 1);
}

static void close_wire(struct wire *wire)
{
	rn_fault_free(wire->fault);
	rn_pair_free(wire->pair);
}

static void build(uint8_t pkt[PACKET], const struct rn_flow *flow, uint8_t opcode,
		  uint32_t qpn, uint32_t psn, uint16_t ip_id)
{
	const struct rn_bth bth = {
		.opcode = opcode, .pkey = 0xffff, .dest_qpn = qpn, .psn = { psn }
	};

	memset(pkt, 0x5a, PACKET);
	rn_bth_emit(pkt, &bth);
	rn_icrc_seal(flow, ip_id, pkt, PACKET - RN_ICRC_LEN);
}

/* @count SENDs with PSNs from @psn on, as one super-packet. */
static int transmit(struct wire *wire, uint32_t psn, unsigned count)
{
	static uint8_t data[8 * PACKET];
	struct rn_super super = { .flow = &out,
				  .data = data,
				  .len = count * PACKET,
				  .seg_len = PACKET,
				  .count = count };

	for (unsigned i = 0; i < count; i++)
		build(data + (size_t)i * PACKET, &out, RN_RC_SEND_ONLY, PEER_QPN, psn + i,
		      (uint16_t)i);
	return wire->ours->ops->transmit(wire->ours->ctx, &super);
}

/* The peer sends one SEND to our QP. */
static void peer_sends(struct wire *wire, uint8_t opcode, uint32_t psn)
{
	uint8_t data[PACKET];
	struct rn_super super = {
		.flow = &in, .data = data, .len = PACKET, .seg_len = PACKET, .count = 1
	};

	build(data, &in, opcode, OUR_QPN, psn, 0);
	assert_int_equal(wire->peers->ops->transmit(wire->peers->ctx, &super), 0);
}

static int receive(struct wire *wire, struct rn_net *net)
{
	do /* what has nothing left of it is followed by the next */
		wire->count = net->ops->receive(net->ctx, wire->rx);
	while (wire->count == -EAGAIN);
	return wire->count;
}

static uint32_t psn_of(const struct rn_rx *rx)
{
	return rn_get_be24(rx->data + 9);
}

static bool is_signed(const struct rn_rx *rx)
{
	return rn_icrc_check(NULL, rx->flow, rx->data, rx->len, rx->gro_idx, true) ==
	       RN_ICRC_OK;
}

/* PSNs that the peer has got, as digits of one number; every packet is well signed. */
static unsigned peer_got(struct wire *wire)
{
	unsigned psns = 0;

	while (receive(wire, wire->peers) > 0) {
		for (int i = 0; i < wire->count; i++) {
			assert_true(is_signed(&wire->rx[i]));
			psns = psns * 10 + psn_of(&wire->rx[i]);
		}
	}
	return psns;
}

static void super_packet_passes_whole_unless_one_of_it_is_hit(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "drop psn=5");
	assert_int_equal(transmit(&wire, 1, 4), 0);
	assert_int_equal(receive(&wire, wire.peers), 4);
	assert_int_equal(wire.rx[3].gro_idx, 3);
	assert_true(is_signed(&wire.rx[3]));
	assert_int_equal(transmit(&wire, 4, 4), 0);
	assert_int_equal(peer_got(&wire), 467);
	assert_int_equal(wire.stats[RN_STAT_FAULT_DROPPED], 1);
	close_wire(&wire);
}

/* What the peer had got when a drop was told of. */
static struct wire *told_of;
static unsigned got_before;

static void note_drop(void *ctx, const struct rn_fault_news *news)
{
	(void)ctx;
	assert_int_equal(news->what.code, RN_DIAGNOSTIC_DROPPED);
	got_before = peer_got(told_of);
}

/* Whoever captures sees the packets in the order in which they would have left. */
static void drop_is_told_behind_what_was_ahead_of_it(void **state)
{
	struct rn_fault_host teller = host;
	struct wire wire;

	(void)state;
	open_wire(&wire, "drop psn=6");
	teller.tell = note_drop;
	rn_fault_free(wire.fault);
	wire.fault = make_for(&teller, rn_pair_net(wire.pair, 0), "drop psn=6",
			      wire.stats, &wire.w);
	wire.ours = rn_fault_net(wire.fault);
	told_of = &wire;
	assert_int_equal(transmit(&wire, 4, 4), 0);
	assert_int_equal(got_before, 45);
	assert_int_equal(peer_got(&wire), 7);
	close_wire(&wire);
}

static void duplicates_follow_at_once(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "duplicate=2 psn=2");
	transmit(&wire, 1, 3);
	assert_int_equal(peer_got(&wire), 12223);
	close_wire(&wire);
}

static void delayed_packet_comes_when_it_is_due(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "delay=2ms psn=1; delay=1ms psn=2");
	assert_int_equal(rn_fault_due(wire.fault, 0), RN_NEVER);
	transmit(&wire, 1, 3);
	assert_int_equal(peer_got(&wire), 3);
	assert_int_equal(rn_fault_due(wire.fault, 0), RN_MSEC(1));
	wire.w.now = RN_MSEC(1) - 1;
	assert_int_equal(receive(&wire, wire.ours), 0);
	assert_int_equal(peer_got(&wire), 0);
	wire.w.now = RN_MSEC(3);
	assert_int_equal(receive(&wire, wire.ours), 0);
	assert_int_equal(peer_got(&wire), 21);
	assert_int_equal(rn_fault_due(wire.fault, 0), RN_NEVER);
	close_wire(&wire);
}

/* Though nobody asks for what has come in. */
static void delayed_packet_leaves_behind_the_next_one_that_is_sent(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "delay=1ms psn=1");
	transmit(&wire, 1, 1);
	assert_int_equal(peer_got(&wire), 0);
	wire.w.now = RN_MSEC(1);
	transmit(&wire, 2, 1);
	assert_int_equal(peer_got(&wire), 12);
	close_wire(&wire);
}

/* Each is let go before the next: the bound is for what is held at one time. */
static void any_number_of_packets_is_held_one_behind_another(void **state)
{
	enum {
		LEN = 64 << 10,
		COUNT = 320, /* 20 MiB, more than is ever held at a time */
	};
	static uint8_t data[LEN] = { RN_RC_SEND_ONLY };
	const struct rn_super super = {
		.flow = &out, .data = data, .len = LEN, .seg_len = LEN, .count = 1
	};
	struct wire wire;

	(void)state;
	open_wire(&wire, "delay=1ms");
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(wire.ours->ops->transmit(wire.ours->ctx, &super), 0);
		assert_int_equal(receive(&wire, wire.peers), 0);
		wire.w.now += RN_MSEC(1);
		assert_int_equal(receive(&wire, wire.ours), 0);
		assert_int_equal(receive(&wire, wire.peers), 1);
	}
	close_wire(&wire);
}

static void reordered_packet_lets_as_many_ahead_as_the_rule_says(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "reorder=3 psn=1");
	transmit(&wire, 1, 2);
	assert_int_equal(peer_got(&wire), 2);
	transmit(&wire, 3, 3);
	assert_int_equal(peer_got(&wire), 3415);
	transmit(&wire, 1, 1);
	wire.w.now = rn_fault_due(wire.fault, 0); /* nobody goes ahead */
	receive(&wire, wire.ours);
	assert_int_equal(peer_got(&wire), 1);
	close_wire(&wire);
}

static void packets_received_meet_rules_too(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "drop rx psn=2; duplicate rx psn=3; delay=1ms rx psn=4; set "
			 "bth.psn=9 rx psn=5");
	for (uint32_t psn = 1; psn <= 5; psn++)
		peer_sends(&wire, RN_RC_SEND_ONLY, psn);
	assert_int_equal(receive(&wire, wire.ours), 1);
	assert_int_equal(psn_of(&wire.rx[0]), 1);
	assert_int_equal(receive(&wire, wire.ours), 2); /* 2 is gone */
	assert_int_equal(psn_of(&wire.rx[1]), 3);
	assert_int_equal(receive(&wire, wire.ours), 1);
	assert_int_equal(psn_of(&wire.rx[0]), 9);
	assert_true(is_signed(&wire.rx[0]));
	assert_int_equal(receive(&wire, wire.ours), 0);
	wire.w.now = RN_MSEC(1);
	assert_int_equal(receive(&wire, wire.ours), 1);
	assert_int_equal(psn_of(&wire.rx[0]), 4);
	close_wire(&wire);
}

static void corrupted_packet_has_a_wrong_icrc_unless_it_is_repaired(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire,
		  "corrupt at=12 xor=1 psn=1; corrupt at=12 xor=1 icrc=good psn=2");
	transmit(&wire, 1, 2);
	assert_int_equal(receive(&wire, wire.peers), 1);
	assert_int_equal(wire.rx[0].data[12], 0x5b);
	assert_false(is_signed(&wire.rx[0]));
	assert_int_equal(receive(&wire, wire.peers), 1);
	assert_int_equal(wire.rx[0].data[12], 0x5b);
	assert_true(is_signed(&wire.rx[0]));
	close_wire(&wire);
}

static void marked_packet_has_met_congestion(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "mark tx rx");
	transmit(&wire, 1, 1);
	assert_int_equal(receive(&wire, wire.peers), 1);
	assert_int_equal(wire.rx[0].flow->tclass, 3);
	peer_sends(&wire, RN_RC_ACK, 1);
	assert_int_equal(receive(&wire, wire.ours), 1);
	assert_int_equal(wire.rx[0].flow->tclass, 3);
	close_wire(&wire);
}

/* Our QP hears of its request what the peer never said. */
static void request_sent_is_answered_in_the_place_of_the_peer(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "nak=access qpn=0x1102");
	transmit(&wire, 7, 1);
	assert_int_equal(peer_got(&wire), 0);
	assert_int_equal(rn_fault_due(wire.fault, 5), 5);
	assert_int_equal(receive(&wire, wire.ours), 1);
	assert_int_equal(wire.rx[0].data[0], RN_RC_ACK);
	assert_int_equal(rn_get_be24(wire.rx[0].data + 5), OUR_QPN);
	assert_int_equal(psn_of(&wire.rx[0]), 7);
	assert_int_equal(wire.rx[0].data[RN_BTH_LEN], 0x62);
	assert_int_equal(rn_get_be24(wire.rx[0].data + RN_BTH_LEN + 1), 0x100 + 7);
	assert_true(is_signed(&wire.rx[0]));
	assert_memory_equal(&wire.rx[0].flow->src, &out.dst, 16);
	close_wire(&wire);
}

static void request_received_is_answered_in_the_place_of_the_device(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "nak=rnr:20 rx; norecv op=UC_SEND_ONLY");
	peer_sends(&wire, RN_RC_SEND_ONLY, 8);
	assert_int_equal(receive(&wire, wire.ours), 0);
	receive(&wire, wire.ours);
	assert_int_equal(receive(&wire, wire.peers), 1);
	assert_int_equal(rn_get_be24(wire.rx[0].data + 5), PEER_QPN);
	assert_int_equal(wire.rx[0].data[RN_BTH_LEN], 0x34);
	assert_int_equal(rn_get_be24(wire.rx[0].data + RN_BTH_LEN + 1), 0x200 + 8);
	assert_true(is_signed(&wire.rx[0]));
	peer_sends(&wire, RN_RC_ACK, 8); /* no request */
	assert_int_equal(receive(&wire, wire.ours), 1);
	peer_sends(&wire, RN_UC_SEND_ONLY, 9);
	assert_int_equal(receive(&wire, wire.ours), 0);
	assert_int_equal(wire.stats[RN_STAT_FAULT_DROPPED], 2);
	close_wire(&wire);
}

static void device_is_told_what_happens_to_it(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "kill psn=1; overrun=send psn=2; overrun=recv rx");
	transmit(&wire, 1, 2);
	assert_int_equal(peer_got(&wire), 2);
	assert_int_equal(wire.w.orders, 0); /* not in the middle of its sending */
	peer_sends(&wire, RN_RC_SEND_ONLY, 3);
	assert_int_equal(receive(&wire, wire.ours), 1);
	receive(&wire, wire.ours);
	assert_int_equal(wire.w.orders, 3);
	assert_int_equal(wire.w.order[0], RN_FAULT_ORDER_KILL);
	assert_int_equal(wire.w.qpn[0], OUR_QPN);
	assert_int_equal(wire.w.order[1], RN_FAULT_ORDER_OVERRUN_SEND);
	assert_int_equal(wire.w.order[2], RN_FAULT_ORDER_OVERRUN_RECV);
	assert_int_equal(wire.w.qpn[2], OUR_QPN);
	close_wire(&wire);
}

static void cut_link_carries_nothing_until_its_time_is_over(void **state)
{
	struct wire wire;

	(void)state;
	open_wire(&wire, "cut=5ms nth=2");
	transmit(&wire, 1, 1);
	assert_int_equal(peer_got(&wire), 1);
	transmit(&wire, 2, 2);
	peer_sends(&wire, RN_RC_ACK, 1);
	assert_int_equal(receive(&wire, wire.ours), 0);
	assert_int_equal(peer_got(&wire), 0);
	assert_int_equal(wire.w.orders, 1);
	assert_int_equal(wire.w.order[0], RN_FAULT_ORDER_LINK_DOWN);
	assert_int_equal(rn_fault_due(wire.fault, 0), RN_MSEC(5));
	wire.w.now = RN_MSEC(5);
	receive(&wire, wire.ours);
	assert_int_equal(wire.w.order[1], RN_FAULT_ORDER_LINK_UP);
	transmit(&wire, 4, 1);
	assert_int_equal(peer_got(&wire), 4);
	close_wire(&wire);
}

static void cut_without_conditions_lasts_as_long_as_its_rule(void **state)
{
	static const struct rn_fault_rules none;
	struct wire wire;

	(void)state;
	open_wire(&wire, "cut");
	receive(&wire, wire.ours);
	assert_int_equal(wire.w.order[0], RN_FAULT_ORDER_LINK_DOWN);
	transmit(&wire, 1, 1);
	assert_int_equal(peer_got(&wire), 0);
	rn_fault_set_rules(wire.fault, &none);
	assert_false(rn_fault_is_idle(wire.fault));
	receive(&wire, wire.ours);
	assert_int_equal(wire.w.order[1], RN_FAULT_ORDER_LINK_UP);
	assert_true(rn_fault_is_idle(wire.fault));
	close_wire(&wire);
}

static void what_waits_goes_when_the_rules_change(void **state)
{
	static const struct rn_fault_rules none;
	struct wire wire;

	(void)state;
	open_wire(&wire, "delay=1s");
	transmit(&wire, 1, 3);
	receive(&wire, wire.ours);
	assert_int_equal(wire.w.hits, 3);
	rn_fault_set_rules(wire.fault, &none);
	receive(&wire, wire.ours);
	assert_int_equal(peer_got(&wire), 123);
	assert_true(rn_fault_is_idle(wire.fault));
	close_wire(&wire);
}

static void what_the_socket_has_begun_passes_as_it_is(void **state)
{
	struct wire wire;
	struct rn_fault_rules rules;

	(void)state;
	open_wire(&wire, "drop");
	rn_fault_free(wire.fault);
	wire.fault =
		rn_fault_new(rn_pair_net(wire.pair, 0), true, wire.stats, &host, &wire.w);
	wire.ours = rn_fault_net(wire.fault);
	assert_int_equal(rn_fault_read("drop; nak=rnr rx", &rules, NULL, 0), 0);
	rn_fault_set_rules(wire.fault, &rules);
	peer_sends(&wire, RN_RC_SEND_ONLY, 9);
	assert_int_equal(receive(&wire, wire.ours), 0);
	assert_int_equal(receive(&wire, wire.ours), 0);
	assert_int_equal(peer_got(&wire), 0); /* the answer waits, too */
	transmit(&wire, 1, 2);
	transmit(&wire, 3, 2);
	assert_int_equal(peer_got(&wire), 129);
	close_wire(&wire);
}

/* What stands behind its end is not its sender. */
static void a_datagram_cut_short_has_no_sender(void **state)
{
	uint8_t pkt[RN_BTH_LEN + RN_DETH_LEN] = { RN_UD_SEND_ONLY };
	struct rn_super super = { .flow = &out, .data = pkt, .count = 1 };
	struct wire wire;

	(void)state;
	open_wire(&wire, "drop qpn=0x1102");
	rn_put_be24(pkt + 5, PEER_QPN);
	rn_put_be24(pkt + 17, OUR_QPN);
	for (super.len = RN_BTH_LEN + RN_ICRC_LEN; super.len <= sizeof(pkt);
	     super.len++) {
		super.seg_len = super.len;
		assert_int_equal(wire.ours->ops->transmit(wire.ours->ctx, &super), 0);
		assert_int_equal(receive(&wire, wire.peers), super.len < sizeof(pkt));
	}
	close_wire(&wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(super_packet_passes_whole_unless_one_of_it_is_hit),
		cmocka_unit_test(drop_is_told_behind_what_was_ahead_of_it),
		cmocka_unit_test(duplicates_follow_at_once),
		cmocka_unit_test(delayed_packet_comes_when_it_is_due),
		cmocka_unit_test(reordered_packet_lets_as_many_ahead_as_the_rule_says),
		cmocka_unit_test(packets_received_meet_rules_too),
		cmocka_unit_test(corrupted_packet_has_a_wrong_icrc_unless_it_is_repaired),
		cmocka_unit_test(marked_packet_has_met_congestion),
		cmocka_unit_test(request_sent_is_answered_in_the_place_of_the_peer),
		cmocka_unit_test(request_received_is_answered_in_the_place_of_the_device),
		cmocka_unit_test(device_is_told_what_happens_to_it),
		cmocka_unit_test(cut_link_carries_nothing_until_its_time_is_over),
		cmocka_unit_test(cut_without_conditions_lasts_as_long_as_its_rule),
		cmocka_unit_test(what_waits_goes_when_the_rules_change),
		cmocka_unit_test(what_the_socket_has_begun_passes_as_it_is),
		cmocka_unit_test(delayed_packet_leaves_behind_the_next_one_that_is_sent),
		cmocka_unit_test(any_number_of_packets_is_held_one_behind_another),
		cmocka_unit_test(a_datagram_cut_short_has_no_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
