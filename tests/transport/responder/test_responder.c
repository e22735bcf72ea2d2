/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_responder.c - which requests are executed: groups A and B of tests/rules.md.
 */
#include <stdlib.h>

#include "tests/kit/device/rc0.h"

enum {
	NAK_SEQ = 0x60,
	NAK_INV = 0x61
};

/* A valid request is still taken after what came before. */
static void expect_alive(struct rc0 *t)
{
	raw_send(&t->r,
		 RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 7));
	rc0_expect_receive(t, 1, 7);
	raw_expect_ack(&t->r, 100, 1);
	rc0_expect_nothing(t);
}

static void expect_ignored(const struct raw_packet *pkt)
{
	struct rc0 t = rc0_rts(2);

	raw_send(&t.r, pkt);
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_state(&t), RN_QPS_RTS);
	expect_alive(&t);
	rc0_free(&t);
}

/* ------------------------------------------------------------------ group A */
static void a_packet_with_a_flipped_bit_is_ignored(void **state)
{
	struct rc0 t = rc0_rts(1);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	uint32_t len = raw_encode(
		&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 7),
		buf);

	(void)state;
	buf[len - 1] ^= 0x80;
	raw_send_bytes(&t.r, buf, len);
	rc0_expect_nothing(&t);
	assert_int_equal(
		rc0_stat(&t, RN_STAT_RX_ICRC) + rc0_stat(&t, RN_STAT_RX_ICRC_SOLVED), 1);
	expect_alive(&t);
	rc0_free(&t);
}

static void fields_that_routers_change_do_not_matter(void **state)
{
	struct rc0 t = rc0_rts(1);
	struct rn_flow flow = raw_flow(&t.r);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	uint32_t len = raw_encode(
		&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 7),
		buf);

	(void)state;
	flow.tclass = 3;
	flow.hop_limit--;
	buf[4] = 0xff; /* FECN, BECN, reserved */
	pair_inject(t.r.p, 0, &flow, buf, len);
	raw_expect_ack(&t.r, 100, 1);
	rc0_free(&t);
}

static void reserved_bits_beside_ack_req_are_ignored(void **state)
{
	struct rc0 t = rc0_rts(1);
	struct rn_flow flow = raw_flow(&t.r);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	uint32_t len = raw_encode(
		&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 7),
		buf);

	(void)state;
	buf[8] = 0xff;
	rn_icrc_seal(&flow, 0, buf, len - RN_ICRC_LEN);
	raw_send_bytes(&t.r, buf, len);
	raw_expect_ack(&t.r, 100, 1);
	rc0_free(&t);
}

static void the_udp_source_port_does_not_matter(void **state)
{
	struct rc0 t = rc0_rts(1);
	struct rn_flow flow = raw_flow(&t.r);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	uint32_t len = raw_encode(
		&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 7),
		buf);

	(void)state;
	flow.sport = 0;
	rn_icrc_seal(&flow, 0, buf, len - RN_ICRC_LEN);
	pair_inject(t.r.p, 0, &flow, buf, len);
	raw_expect_ack(&t.r, 100, 1);
	rc0_free(&t);
}

static void another_source_address_is_ignored(void **state)
{
	struct rc0 t = rc0_rts(1);
	struct rn_flow flow = raw_flow(&t.r);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	uint32_t len = raw_encode(
		&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 7),
		buf);

	(void)state;
	flow.src.raw[15]++;
	rn_icrc_seal(&flow, 0, buf, len - RN_ICRC_LEN);
	pair_inject(t.r.p, 0, &flow, buf, len);
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_BAD_SOURCE), 1);
	expect_alive(&t);
	rc0_free(&t);
}

static void packets_that_are_not_for_the_qp_are_ignored(void **state)
{
	(void)state;
	/* Transport version 1; unknown QP; UC, manufacturer's opcode; wrong P_Key. */
	expect_ignored(RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .tver = 1, .len = 7));
	expect_ignored(RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .dest_qpn = 0x777));
	expect_ignored(RAW(.op = RN_UC_SEND_ONLY, .psn = 100, .len = 7));
	expect_ignored(RAW(.op = 0xe0, .psn = 100, .ack_req = true));
	expect_ignored(RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .pkey = 0x1234));
}

static void a_limited_member_may_talk_to_a_full_member(void **state)
{
	struct rc0 t = rc0_rts(1);

	(void)state;
	raw_send(&t.r,
		 RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .pkey = 0x7fff));
	raw_expect_ack(&t.r, 100, 1);
	rc0_free(&t);
}

static void reserved_opcodes_are_invalid_requests(void **state)
{
	(void)state;
	for (uint8_t op = 0x18; op <= 0x1b; op++)
		rc0_expect_refused(RAW(.op = op, .psn = 100, .ack_req = true), NAK_INV,
				   RN_EVENT_QP_REQ_ERR);
	rc0_expect_refused(RAW(.op = 0x15, .psn = 100), NAK_INV, RN_EVENT_QP_REQ_ERR);
}

static void every_truncation_is_survived(void **state)
{
	struct rc0 t = rc0_rts(1);
	struct rn_flow flow = raw_flow(&t.r);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];

	(void)state;
	raw_encode(&t.r, RAW(.op = RN_RC_WRITE_ONLY_IMM, .psn = 100, .ack_req = true),
		   buf);
	/* BTH 12, RETH 16, ImmDt 4; from there on the packet would be whole. */
	for (uint32_t len = 0; len < 32; len++) {
		uint8_t *exact = calloc(1, len + RN_ICRC_LEN);

		memcpy(exact, buf, len);
		if (len >= RN_BTH_LEN)
			rn_icrc_seal(&flow, 0, exact, len);
		raw_send_bytes(&t.r, exact, len + RN_ICRC_LEN);
		raw_send_bytes(&t.r, exact, len);
		free(exact);
	}
	rc0_expect_nothing(&t);
	expect_alive(&t);
	rc0_free(&t);
}

static void requests_are_ignored_before_rtr_and_in_err(void **state)
{
	struct rc0 t = rc0_new(NULL, RN_QPT_RC, RN_QPS_INIT, NULL);

	(void)state;
	rc0_post(&t, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
	rc0_expect_nothing(&t);
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_ERR), 0);
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_WR_FLUSH_ERR);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void the_first_request_in_rtr_establishes_the_connection_once(void **state)
{
	struct rc0 t = rc0_new(NULL, RN_QPT_RC, RN_QPS_RTR, NULL);

	(void)state;
	rc0_post(&t, 2);
	for (uint32_t i = 0; i < 2; i++) {
		raw_send(&t.r,
			 RAW(.op = RN_RC_SEND_ONLY, .psn = 100 + i, .ack_req = true));
		rc0_expect_receive(&t, i + 1, 0);
		raw_expect_ack(&t.r, 100 + i, i + 1);
	}
	pair_expect_async(t.r.q, RN_EVENT_COMM_EST);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

/* ------------------------------------------------------------------ group B */
static void a_send_completes_and_is_acknowledged(void **state)
{
	struct rc0 t = rc0_rts(2);

	(void)state;
	raw_send(&t.r,
		 RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 1000));
	rc0_expect_receive(&t, 1, 1000);
	rc0_expect_pattern(rc0_recv_data(&t, 1), 100, 1000);
	raw_expect_ack(&t.r, 100, 1);
	/* Without AckReq it completes as well. */
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101, .len = 5));
	rc0_expect_receive(&t, 2, 5);
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_SENDS), 2);
	rc0_free(&t);
}

static void a_send_of_three_packets_completes_once(void **state)
{
	struct rc0 t = rc0_rts(1);

	(void)state;
	/* AckReq may be set anywhere; the MSN counts whole messages. */
	raw_send(&t.r,
		 RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .ack_req = true, .len = 1024));
	raw_expect_ack(&t.r, 100, 0);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_MIDDLE, .psn = 101, .len = 1024));
	rc0_expect_nothing(&t);
	raw_send(&t.r,
		 RAW(.op = RN_RC_SEND_LAST, .psn = 102, .ack_req = true, .len = 77));
	rc0_expect_receive(&t, 1, 2048 + 77);
	raw_expect_ack(&t.r, 102, 1);
	rc0_expect_pattern(rc0_recv_data(&t, 1), 100, 1024);
	rc0_expect_pattern(rc0_recv_data(&t, 1) + 1024, 101, 1024);
	rc0_expect_pattern(rc0_recv_data(&t, 1) + 2048, 102, 77);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_gap_is_naked_once(void **state)
{
	struct rc0 t = rc0_rts(3);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 102, .ack_req = true));
	raw_expect_nak(&t.r, NAK_SEQ, 100, 0);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 103, .ack_req = true));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 104, .ack_req = true));
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_OUT_OF_SEQUENCE), 3);
	assert_int_equal(rc0_stat(&t, RN_STAT_SEQ_NAK_TX), 1);

	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
	rc0_expect_receive(&t, 1, 0);
	raw_expect_ack(&t.r, 100, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 102, .ack_req = true));
	raw_expect_nak(&t.r, NAK_SEQ, 101, 1);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_duplicate_is_acknowledged_while_a_nak_is_pending(void **state)
{
	struct rc0 t = rc0_rts(3);

	(void)state;
	for (uint32_t psn = 100; psn < 103; psn++) {
		raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = psn, .ack_req = true));
		raw_expect_ack(&t.r, psn, psn - 99);
	}
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 105, .ack_req = true));
	raw_expect_nak(&t.r, NAK_SEQ, 103, 3);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101, .ack_req = true));
	raw_expect_ack(&t.r, 102, 3);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void rq_psn_ffffff(struct rn_qp_attr *a)
{
	a->rq_psn = 0xffffff;
}

static void psns_wrap(void **state)
{
	struct rc0 t = rc0_new(NULL, RN_QPT_RC, RN_QPS_RTS, rq_psn_ffffff);

	(void)state;
	rc0_post(&t, 2);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 0xffffff, .ack_req = true));
	raw_expect_ack(&t.r, 0xffffff, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 0, .ack_req = true));
	raw_expect_ack(&t.r, 0, 2);
	rc0_free(&t);
}

static void half_of_the_number_space_is_new_and_half_is_old(void **state)
{
	struct rc0 t = rc0_rts(1);

	(void)state;
	raw_send(&t.r,
		 RAW(.op = RN_RC_SEND_ONLY, .psn = 100 + 0x7fffff, .ack_req = true));
	raw_expect_nak(&t.r, NAK_SEQ, 100, 0);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = (100 - 0x800000) & 0xffffff,
			   .ack_req = true));
	raw_expect_ack(&t.r, 99, 0);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void the_message_in_progress_says_which_opcodes_may_come(void **state)
{
	static const struct {
		uint8_t first, next;
	} bad[] = {
		{ RN_RC_SEND_FIRST, RN_RC_SEND_ONLY },
		{ RN_RC_SEND_FIRST, RN_RC_SEND_FIRST },
		{ RN_RC_SEND_FIRST, RN_RC_WRITE_MIDDLE },
		{ RN_RC_SEND_FIRST, RN_RC_WRITE_LAST_IMM },
		{ RN_RC_SEND_FIRST, RN_RC_READ_REQUEST },
		{ RN_RC_SEND_FIRST, RN_RC_CMP_SWAP },
		{ RN_RC_WRITE_FIRST, RN_RC_WRITE_FIRST },
		{ RN_RC_WRITE_FIRST, RN_RC_SEND_LAST },
		{ RN_RC_WRITE_FIRST, RN_RC_FETCH_ADD },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(bad); i++) {
		struct rc0 t = rc0_rts(2);
		bool in_use = bad[i].first == RN_RC_SEND_FIRST;
		bool payload = rn_opcode_info[bad[i].next].flags & RN_OP_PAYLOAD;

		raw_send(&t.r, RAW(.op = bad[i].first, .psn = 100,
				   .reth = rc0_reth(&t, 0, 3000), .len = 1024));
		raw_send(&t.r,
			 RAW(.op = bad[i].next, .psn = 101, .reth = rc0_reth(&t, 0, 3000),
			     .len = payload ? 1024 : 0));
		if (in_use)
			pair_expect_wc(t.r.q->rcq, 1, RN_WC_REM_INV_REQ_ERR);
		else
			pair_expect_async(t.r.q, RN_EVENT_QP_REQ_ERR);
		rc0_expect_fatal(&t, NAK_INV, 101, 0, in_use ? 2 : 1);
		rc0_expect_nothing(&t);
		rc0_free(&t);
	}
}

static void middle_and_last_need_a_message(void **state)
{
	static const uint8_t ops[] = {
		RN_RC_SEND_MIDDLE,    RN_RC_SEND_LAST,	  RN_RC_SEND_LAST_IMM,
		RN_RC_SEND_LAST_INV,  RN_RC_WRITE_MIDDLE, RN_RC_WRITE_LAST,
		RN_RC_WRITE_LAST_IMM,
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(ops); i++)
		rc0_expect_refused(RAW(.op = ops[i], .psn = 100, .len = 1024), NAK_INV,
				   RN_EVENT_QP_REQ_ERR);
}

static void the_msn_counts_messages_of_every_kind(void **state)
{
	struct rc0 t = rc0_rts(1);

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100 + i,
				   .reth = rc0_reth(&t, 0, 4), .len = 4));
	raw_expect_silence(&t.r);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 103, .ack_req = true));
	raw_expect_ack(&t.r, 103, 4);
	rc0_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_with_a_flipped_bit_is_ignored),
		cmocka_unit_test(fields_that_routers_change_do_not_matter),
		cmocka_unit_test(reserved_bits_beside_ack_req_are_ignored),
		cmocka_unit_test(the_udp_source_port_does_not_matter),
		cmocka_unit_test(another_source_address_is_ignored),
		cmocka_unit_test(packets_that_are_not_for_the_qp_are_ignored),
		cmocka_unit_test(a_limited_member_may_talk_to_a_full_member),
		cmocka_unit_test(reserved_opcodes_are_invalid_requests),
		cmocka_unit_test(every_truncation_is_survived),
		cmocka_unit_test(requests_are_ignored_before_rtr_and_in_err),
		cmocka_unit_test(
			the_first_request_in_rtr_establishes_the_connection_once),
		cmocka_unit_test(a_send_completes_and_is_acknowledged),
		cmocka_unit_test(a_send_of_three_packets_completes_once),
		cmocka_unit_test(a_gap_is_naked_once),
		cmocka_unit_test(a_duplicate_is_acknowledged_while_a_nak_is_pending),
		cmocka_unit_test(psns_wrap),
		cmocka_unit_test(half_of_the_number_space_is_new_and_half_is_old),
		cmocka_unit_test(the_message_in_progress_says_which_opcodes_may_come),
		cmocka_unit_test(middle_and_last_need_a_message),
		cmocka_unit_test(the_msn_counts_messages_of_every_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
