/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_receive.c - the checks on packets that arrive. */
#include "rocin/transport.h"
#include "tests/kit/device/raw.h"
#include "transport/qp/qp.h"

#include <errno.h>

/* tests/rules.md group A: each packet is dropped and counted, and a good one then works.
 */
static void flip_icrc(uint8_t *b, uint32_t *len, struct rn_flow *f)
{
	(void)f;
	b[*len - 1] ^= 1;
}

static void other_source(uint8_t *b, uint32_t *len, struct rn_flow *f)
{
	f->src.raw[15] ^= 8;
	rn_icrc_seal(f, 0, b, *len - RN_ICRC_LEN);
}

static void other_destination(uint8_t *b, uint32_t *len, struct rn_flow *f)
{
	f->dst.raw[14] ^= 8;
	rn_icrc_seal(f, 0, b, *len - RN_ICRC_LEN);
}

static void cut_short(uint8_t *b, uint32_t *len, struct rn_flow *f)
{
	*len = RN_BTH_LEN + RN_ICRC_LEN;
	rn_icrc_seal(f, 0, b, RN_BTH_LEN);
}

static void cut_to_nothing(uint8_t *b, uint32_t *len, struct rn_flow *f)
{
	(void)b;
	(void)f;
	*len = RN_BTH_LEN + RN_ICRC_LEN - 1;
}

static void bad_packets_are_counted_and_dropped(void **state)
{
	static const struct {
		const char *what;
		struct raw_packet k;
		void (*spoil)(uint8_t *b, uint32_t *len, struct rn_flow *f);
		enum rn_stat stat;
	} rows[] = {
		{ "A1 ICRC",
		  { .op = RN_RC_SEND_ONLY, .psn = 100 },
		  flip_icrc,
		  RN_STAT_RX_ICRC },
		{ "A6 TVer",
		  { .op = RN_RC_SEND_ONLY, .psn = 100, .tver = 1 },
		  NULL,
		  RN_STAT_RX_BAD_TVER },
		{ "A7 QPN",
		  { .op = RN_RC_SEND_ONLY, .psn = 100, .dest_qpn = 0x5555 },
		  NULL,
		  RN_STAT_RX_UNKNOWN_QP },
		{ "A9 UC",
		  { .op = RN_UC_SEND_ONLY, .psn = 100 },
		  NULL,
		  RN_STAT_RX_BAD_OPCODE },
		{ "UD",
		  { .op = RN_UD_SEND_ONLY, .psn = 100 },
		  NULL,
		  RN_STAT_RX_BAD_OPCODE },
		{ "A11 class", { .op = 0xe0, .psn = 100 }, NULL, RN_STAT_RX_BAD_OPCODE },
		{ "RD", { .op = 0x44, .psn = 100 }, NULL, RN_STAT_RX_BAD_OPCODE },
		{ "CNP", { .op = RN_CNP, .len = 16 }, NULL, RN_STAT_RP_CNP_IGNORED },
		{ "A12 P_Key",
		  { .op = RN_RC_SEND_ONLY, .psn = 100, .pkey = 0x1234 },
		  NULL,
		  RN_STAT_RX_BAD_PKEY },
		{ "A14 source",
		  { .op = RN_RC_SEND_ONLY, .psn = 100 },
		  other_source,
		  RN_STAT_RX_BAD_SOURCE },
		{ "destination",
		  { .op = RN_RC_SEND_ONLY, .psn = 100 },
		  other_destination,
		  RN_STAT_RX_BAD_SOURCE },
		{ "A17 no RETH",
		  { .op = RN_RC_WRITE_ONLY, .psn = 100 },
		  cut_short,
		  RN_STAT_RX_SHORT },
		{ "no BTH",
		  { .op = RN_RC_SEND_ONLY, .psn = 100 },
		  cut_to_nothing,
		  RN_STAT_RX_SHORT },
		{ "pad",
		  { .op = RN_RC_SEND_ONLY, .psn = 100, .pad = 4 },
		  cut_short,
		  RN_STAT_RX_SHORT },
	};
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct rn_flow flow = raw_flow(&r);
		uint64_t before = pair_stat(r.p, 0, rows[i].stat);
		uint8_t buf[256];
		uint32_t len = raw_encode(&r, &rows[i].k, buf);

		print_message("%s\n", rows[i].what);
		if (rows[i].spoil)
			rows[i].spoil(buf, &len, &flow);
		pair_inject(r.p, 0, &flow, buf, len);
		assert_int_equal(pair_stat(r.p, 0, rows[i].stat), before + 1);
		raw_expect_silence(&r);
	}
	pair_post_recv_mr(r.q, 1, r.mr, 0, 100);
	raw_send(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
	raw_expect_ack(&r, 100, 1);
	raw_free(&r);
}

static void limited_member_key_and_masked_fields_are_accepted(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	for (uint64_t i = 0; i < 2; i++)
		pair_post_recv_mr(r.q, i, r.mr, 0, 100);
	raw_send(&r,
		 RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .pkey = 0x7fff));
	raw_expect_ack(&r, 100, 1);
	raw_send(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101, .ack_req = true, .fecn = true,
			 .becn = true));
	raw_expect_ack(&r, 101, 2);
	raw_free(&r);
}

/* A wire that is memory: its packets have no ICRC, or one whose identification is known.
 */
static void wire_says_what_to_think_of_an_icrc(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	struct rn_flow flow = raw_flow(&r);
	uint8_t buf[256];
	struct rn_rx rx = { .flow = &flow, .data = buf };
	struct rn_dev *dev = r.p->dev[0];

	(void)state;
	for (uint64_t i = 0; i < 2; i++)
		pair_post_recv_mr(r.q, i, r.mr, 0, 100);
	rx.len = raw_encode(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true),
			    buf);
	rn_icrc_seal(&flow, 0x1234, buf, rx.len - RN_ICRC_LEN);
	rx.icrc = RN_RX_ICRC_EXACT;
	rn_dev_receive(dev, r.p->net->now, &rx, 1);
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_RX_ICRC), 1);
	rx.icrc = RN_RX_ICRC_SOLVE;
	rn_dev_receive(dev, r.p->net->now, &rx, 1);
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_RX_ICRC_SOLVED), 1);
	pair_flush(r.p);
	raw_expect_ack(&r, 100, 1);

	rx.len = raw_encode(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101, .ack_req = true),
			    buf);
	memset(buf + rx.len - RN_ICRC_LEN, 0, RN_ICRC_LEN);
	rn_dev_receive(dev, r.p->net->now, &rx, 1);
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_RX_ICRC), 2);
	rx.icrc = RN_RX_ICRC_NONE;
	rn_dev_receive(dev, r.p->net->now, &rx, 1);
	pair_flush(r.p);
	raw_expect_ack(&r, 101, 2);
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_RX_ICRC), 2);
	raw_free(&r);
}

/* What each state receives. */
/* Each socket counts for itself, from anywhere: that is found out once for each. */
static void senders_are_told_apart_by_their_ports(void **state)
{
	enum {
		SENDERS = 48,
		ROUNDS = 20
	};
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	struct rn_flow flow = raw_flow(&r);
	uint8_t buf[256];
	uint32_t len = raw_encode(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100), buf);

	(void)state;
	for (unsigned i = 0; i < ROUNDS * SENDERS; i++) {
		struct rn_rx rx = { .flow = &flow, .data = buf, .len = len };
		unsigned sender = i % SENDERS;

		flow.sport = (uint16_t)(0xf000 + 77 * sender);
		rn_icrc_seal(&flow, (uint16_t)(5000 * (sender + 1) + i / SENDERS), buf,
			     len - RN_ICRC_LEN);
		rn_dev_receive(r.p->dev[0], r.p->net->now, &rx, 1);
	}
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_RX_ICRC), 0);
	assert_in_range(pair_stat(r.p, 0, RN_STAT_RX_ICRC_SOLVED), SENDERS - 1,
			SENDERS + 8);
	raw_free(&r);
}

static void packets_are_judged_by_state(void **state)
{
	static const struct {
		enum rn_qp_state at;
		bool requests, responses;
	} rows[] = {
		{ RN_QPS_RESET, false, false }, { RN_QPS_INIT, false, false },
		{ RN_QPS_RTR, true, false },	{ RN_QPS_RTS, true, true },
		{ RN_QPS_SQD, true, true },	{ RN_QPS_ERR, false, false },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RESET, NULL);
		struct rn_qp_attr attr = pair_attr(r.q, 1, RAW_PEER_QPN);
		unsigned bad = 2;

		if (rows[i].at != RN_QPS_RESET)
			pair_modify_until(r.q, &attr, rows[i].at);
		if (rows[i].at > RN_QPS_RTS)
			assert_int_equal(pair_modify_state(r.q, rows[i].at), 0);
		raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = attr.rq_psn));
		raw_send(&r,
			 RAW(.op = RN_RC_ACK, .psn = 5, .aeth = { .syndrome = 0x1f }));
		bad -= rows[i].requests + rows[i].responses;
		assert_int_equal(pair_stat(r.p, 0, RN_STAT_RX_BAD_STATE), bad);
		raw_free(&r);
	}
}

/* tests/rules.md A19. */
static void first_request_in_rtr_raises_comm_est_once(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTR, NULL);
	struct rn_event ev;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		pair_post_recv_mr(r.q, i, r.mr, 0, 100);
		raw_send(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100 + i, .ack_req = true));
		raw_expect_ack(&r, 100 + i, i + 1);
		pair_expect_wc(r.q->rcq, i, RN_WC_SUCCESS);
	}
	pair_expect_async(r.q, RN_EVENT_COMM_EST);
	assert_false(pair_next_event(r.p, &ev));
	raw_free(&r);
}

static void link_local_source_on_another_interface_is_refused(void **state)
{
	struct raw r = raw_new(&(struct pair_cfg){ .ipv6 = true, .mtu_max = 1024 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);
	struct rn_flow flow = raw_flow(&r);
	uint8_t buf[256];
	uint32_t len = raw_encode(
		&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true), buf);

	(void)state;
	flow.ifindex = 8;
	pair_inject(r.p, 0, &flow, buf, len);
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_RX_BAD_SOURCE), 1);
	flow.ifindex = 7;
	pair_inject(r.p, 0, &flow, buf, len);
	raw_expect_ack(&r, 100, 1);
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_packets_are_counted_and_dropped),
		cmocka_unit_test(limited_member_key_and_masked_fields_are_accepted),
		cmocka_unit_test(wire_says_what_to_think_of_an_icrc),
		cmocka_unit_test(senders_are_told_apart_by_their_ports),
		cmocka_unit_test(packets_are_judged_by_state),
		cmocka_unit_test(first_request_in_rtr_raises_comm_est_once),
		cmocka_unit_test(link_local_source_on_another_interface_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
