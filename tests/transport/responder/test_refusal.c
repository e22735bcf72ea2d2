/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_refusal.c - lengths that do not fit, receives that are missing: groups C and D
 * of tests/rules.md.
 */
#include "tests/kit/device/rc0.h"

enum {
	NAK_INV = 0x61,
	RNR_640_US = 0x2c
};

/* ------------------------------------------------------------------ group C */
static void payload_lengths_that_do_not_fit_the_opcode_are_invalid(void **state)
{
	(void)state;
	rc0_expect_refused(RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1023), NAK_INV,
			   RN_EVENT_QP_ACCESS_ERR);
	rc0_expect_refused(RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1028), NAK_INV,
			   RN_EVENT_QP_ACCESS_ERR);
	rc0_expect_refused(RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .len = 1028), NAK_INV,
			   RN_EVENT_QP_ACCESS_ERR);
}

static void a_last_packet_carries_something(void **state)
{
	struct rc0 t = rc0_rts(2);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_LAST, .psn = 101));
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_REM_INV_REQ_ERR);
	rc0_expect_fatal(&t, NAK_INV, 101, 0, 2);
	rc0_free(&t);
}

static void pad_bytes_are_not_data(void **state)
{
	struct rc0 t = rc0_rts(4);

	(void)state;
	for (uint32_t len = 0; len < 4; len++) {
		raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100 + len,
				   .ack_req = true, .len = 5 + len));
		rc0_expect_receive(&t, len + 1, 5 + len);
		rc0_expect_pattern(rc0_recv_data(&t, len + 1), 100 + len, 5 + len);
		assert_int_equal(rc0_recv_data(&t, len + 1)[5 + len], 0);
		raw_expect_ack(&t.r, 100 + len, len + 1);
	}
	rc0_free(&t);
}

static void a_message_longer_than_the_receive_is_invalid(void **state)
{
	struct rc0 t = rc0_rts(2);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		raw_send(&t.r, RAW(.op = i ? RN_RC_SEND_MIDDLE : RN_RC_SEND_FIRST,
				   .psn = 100 + i, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_LAST, .psn = 104, .len = 5000 - 4096));
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_LOC_LEN_ERR);
	rc0_expect_fatal(&t, NAK_INV, 104, 0, 2);
	assert_int_equal(rc0_stat(&t, RN_STAT_RESP_LOCAL_LENGTH), 1);
	assert_int_equal(rc0_stat(&t, RN_STAT_RESP_INVALID_REQ), 1);
	/* The neighbouring receive was not touched. */
	assert_int_equal(rc0_recv_data(&t, 2)[0], 0);
	rc0_free(&t);
}

static void a_write_must_add_up_to_its_length(void **state)
{
	static const struct {
		uint32_t dma_len, payload;
	} bad[] = { { 100, 96 }, { 96, 100 }, { 0, 4 }, { 4, 0 } };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(bad); i++) {
		struct rc0 t = rc0_rts(0);

		raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100,
				   .reth = rc0_reth(&t, 0, bad[i].dma_len),
				   .len = bad[i].payload));
		rc0_expect_fatal(&t, NAK_INV, 100, 0, 1);
		pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
		for (uint32_t k = 0; k < RAW_MR_LEN; k++)
			assert_int_equal(t.r.mr->data[k], 0);
		rc0_free(&t);
	}
}

static void write_in_three(struct rc0 *t, uint32_t dma_len, uint32_t last_len)
{
	raw_send(&t->r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 100,
			    .reth = rc0_reth(t, 8, dma_len), .len = 1024));
	raw_send(&t->r, RAW(.op = RN_RC_WRITE_MIDDLE, .psn = 101, .len = 1024));
	raw_send(&t->r, RAW(.op = RN_RC_WRITE_LAST, .psn = 102, .ack_req = true,
			    .len = last_len));
}

static void a_write_of_three_packets_is_placed_exactly(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	write_in_three(&t, 3000, 952);
	raw_expect_ack(&t.r, 102, 1);
	rc0_expect_nothing(&t);
	rc0_expect_pattern(t.r.mr->data + 8, 100, 1024);
	rc0_expect_pattern(t.r.mr->data + 8 + 1024, 101, 1024);
	rc0_expect_pattern(t.r.mr->data + 8 + 2048, 102, 952);
	assert_int_equal(t.r.mr->data[8 + 3000], 0);
	assert_int_equal(t.r.mr->data[7], 0);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_WRITE_REQUESTS), 1);
	rc0_free(&t);
}

static void a_write_that_ends_early_or_late_is_invalid(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	write_in_three(&t, 3001, 952);
	rc0_expect_fatal(&t, NAK_INV, 102, 0, 1);
	rc0_free(&t);
	t = rc0_rts(0);
	write_in_three(&t, 2999, 952);
	rc0_expect_fatal(&t, NAK_INV, 102, 0, 1);
	rc0_free(&t);

	/* 1024 bytes announced, of which First leaves nothing for Last. */
	t = rc0_rts(0);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 100,
			   .reth = rc0_reth(&t, 0, 1024), .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_LAST, .psn = 101));
	rc0_expect_fatal(&t, NAK_INV, 101, 0, 1);
	rc0_free(&t);

	/* Last comes while more than a packet is missing. */
	t = rc0_rts(0);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 100,
			   .reth = rc0_reth(&t, 0, 3000), .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_LAST, .psn = 101, .len = 1024));
	rc0_expect_fatal(&t, NAK_INV, 101, 0, 1);
	rc0_free(&t);
}

static void a_write_longer_than_announced_is_invalid_even_beyond_the_region(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 100,
			   .reth = rc0_reth(&t, RAW_MR_LEN - 1500, 1500), .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_LAST, .psn = 101, .len = 1024));
	rc0_expect_fatal(&t, NAK_INV, 101, 0, 1);
	rc0_free(&t);
}

static void requests_without_payload_may_not_carry_any(void **state)
{
	struct rc0 t = rc0_rts(0);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	struct rn_flow flow = raw_flow(&t.r);
	uint32_t len = raw_encode(
		&t.r,
		RAW(.op = RN_RC_READ_REQUEST, .psn = 100, .reth = rc0_reth(&t, 0, 8)),
		buf);

	(void)state;
	memset(buf + len - RN_ICRC_LEN, 0xaa, 4);
	rn_icrc_seal(&flow, 0, buf, len);
	raw_send_bytes(&t.r, buf, len + RN_ICRC_LEN);
	rc0_expect_fatal(&t, NAK_INV, 100, 0, 1);
	rc0_free(&t);
}

static void a_message_has_at_most_two_gigabytes(void **state)
{
	(void)state;
	rc0_expect_refused(RAW(.op = RN_RC_WRITE_FIRST, .psn = 100,
			       .reth = { .dma_len = 0x80000001 }, .len = 1024),
			   NAK_INV, RN_EVENT_QP_ACCESS_ERR);
	rc0_expect_refused(RAW(.op = RN_RC_READ_REQUEST, .psn = 100,
			       .reth = { .dma_len = 0xffffffff }),
			   NAK_INV, RN_EVENT_QP_ACCESS_ERR);
}

/* A valid request is still taken after what came before. */
static void expect_alive(struct rc0 *t)
{
	raw_send(&t->r,
		 RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 7));
	rc0_expect_receive(t, 1, 7);
	raw_expect_ack(&t->r, 100, 1);
	rc0_expect_nothing(t);
}

/* ------------------------------------------------------------------ group D */
static void a_send_without_a_receive_is_put_off(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 9));
	raw_expect_nak(&t.r, RNR_640_US, 100, 0);
	/* The next one does not make a gap of it. */
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101, .ack_req = true));
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_state(&t), RN_QPS_RTS);
	/* Asked again in vain, it answers again. */
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 9));
	raw_expect_nak(&t.r, RNR_640_US, 100, 0);
	assert_int_equal(rc0_stat(&t, RN_STAT_RNR_NAK_TX), 2);

	rc0_post(&t, 1);
	expect_alive(&t);
	rc0_free(&t);
}

static void a_plain_write_needs_no_receive(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true,
			   .reth = rc0_reth(&t, 0, 5), .len = 5));
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_write_with_immediate_takes_a_receive_at_its_end(void **state)
{
	struct rc0 t = rc0_rts(0);
	struct rn_cqe cqe;

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY_IMM, .psn = 100, .ack_req = true,
			   .imm = 0xdeadbeef, .reth = rc0_reth(&t, 0, 5), .len = 5));
	raw_expect_nak(&t.r, RNR_640_US, 100, 0);
	/* Not even receives that could hold the data are touched. */
	rc0_post_len(&t, 2);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY_IMM, .psn = 100, .ack_req = true,
			   .imm = 0xdeadbeef, .reth = rc0_reth(&t, 0, 5), .len = 5));
	cqe = pair_expect_wc(t.r.q->rcq, 1, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(pair_cqe_flags(&cqe), RN_WC_WITH_IMM);
	assert_int_equal(cqe.byte_len, 5);
	assert_int_equal(cqe.imm, 0xdeadbeef);
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_pattern(t.r.mr->data, 100, 5);
	assert_int_equal(rc0_recv_data(&t, 1)[0], 0);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_long_write_with_immediate_resumes_at_its_last_packet(void **state)
{
	struct rc0 t = rc0_rts(0);
	struct rn_cqe cqe;

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 100,
			   .reth = rc0_reth(&t, 0, 3000), .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_MIDDLE, .psn = 101, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_LAST_IMM, .psn = 102, .len = 952));
	raw_expect_nak(&t.r, RNR_640_US, 102, 0);
	rc0_post(&t, 1);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_LAST_IMM, .psn = 102, .ack_req = true,
			   .imm = 1, .len = 952));
	cqe = pair_expect_wc(t.r.q->rcq, 1, RN_WC_SUCCESS);
	assert_int_equal(cqe.byte_len, 3000);
	raw_expect_ack(&t.r, 102, 1);
	rc0_expect_pattern(t.r.mr->data + 2048, 102, 952);
	rc0_free(&t);
}

static void a_send_first_is_put_off_without_ack_req_too(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_expect_nak(&t.r, RNR_640_US, 100, 0);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payload_lengths_that_do_not_fit_the_opcode_are_invalid),
		cmocka_unit_test(a_last_packet_carries_something),
		cmocka_unit_test(pad_bytes_are_not_data),
		cmocka_unit_test(a_message_longer_than_the_receive_is_invalid),
		cmocka_unit_test(a_write_must_add_up_to_its_length),
		cmocka_unit_test(a_write_of_three_packets_is_placed_exactly),
		cmocka_unit_test(a_write_that_ends_early_or_late_is_invalid),
		cmocka_unit_test(
			a_write_longer_than_announced_is_invalid_even_beyond_the_region),
		cmocka_unit_test(requests_without_payload_may_not_carry_any),
		cmocka_unit_test(a_message_has_at_most_two_gigabytes),
		cmocka_unit_test(a_send_without_a_receive_is_put_off),
		cmocka_unit_test(a_plain_write_needs_no_receive),
		cmocka_unit_test(a_write_with_immediate_takes_a_receive_at_its_end),
		cmocka_unit_test(a_long_write_with_immediate_resumes_at_its_last_packet),
		cmocka_unit_test(a_send_first_is_put_off_without_ack_req_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
