/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_nak.c - RNR NAKs and fatal NAKs at the requester. */
#include "tests/kit/device/req_kit.h"

/* ------------------------------------------------------------------ RNR NAKs */
static void an_rnr_nak_holds_the_queue_for_its_time(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 1);
	raw_nak(&r, 0x20 | 20, 200, 0);
	post(&r, 201, RN_WR_SEND, 8);
	pair_run_for(r.p, RNR_CODE_20 - 1);
	raw_expect_silence(&r);
	pair_run_for(r.p, 1);
	assert_true(raw_expect(&r, RN_RC_SEND_ONLY, 200)->ack_req);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_ack(&r, 201, 2);
	expect_successes(&r, 200, 201);
	expect_stat(&r, RN_STAT_RNR_NAK_RX, 1);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 0);
	req_free(&r);
}

static void rnr_naks_are_counted_against_rnr_retry(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 1);
	for (unsigned i = 0; i < 3; i++) {
		raw_nak(&r, 0x20 | 20, 200, 0);
		pair_run_for(r.p, RNR_CODE_20);
		raw_expect(&r, RN_RC_SEND_ONLY, 200);
	}
	raw_nak(&r, 0x20 | 20, 200, 0);
	pair_expect_wc(r.q->scq, 200, RN_WC_RNR_RETRY_EXC_ERR);
	expect_state(&r, RN_QPS_ERR);
	expect_stat(&r, RN_STAT_RNR_RETRY_EXCEEDED, 1);
	req_free(&r);
}

static uint8_t rnr_retry;

static void set_rnr_retry(struct rn_qp_attr *attr)
{
	attr->rnr_retry = rnr_retry;
}

/* 7 alone means for ever. */
static void every_rnr_retry_below_7_ends(void **state)
{
	(void)state;
	for (rnr_retry = 0; rnr_retry < 7; rnr_retry++) {
		struct raw r = req_new(set_rnr_retry);

		post_sends(&r, 1);
		for (unsigned i = 0; i < rnr_retry; i++) {
			raw_nak(&r, 0x20 | 1, 200, 0);
			pair_run_for(r.p, RN_USEC(10));
			raw_expect(&r, RN_RC_SEND_ONLY, 200);
		}
		pair_expect_no_wc(r.q->scq);
		raw_nak(&r, 0x20 | 1, 200, 0);
		pair_expect_wc(r.q->scq, 200, RN_WC_RNR_RETRY_EXC_ERR);
		expect_state(&r, RN_QPS_ERR);
		req_free(&r);
	}
}

static void rnr_for_ever_one_retry(struct rn_qp_attr *attr)
{
	attr->rnr_retry = 7;
	attr->retry_cnt = 1;
}

static void rnr_retry_7_never_ends_and_costs_no_transport_retry(void **state)
{
	struct raw r = req_new(rnr_for_ever_one_retry);

	(void)state;
	post_sends(&r, 1);
	for (unsigned i = 0; i < 100; i++) {
		raw_nak(&r, 0x20 | 1, 200, 0);
		pair_run_for(r.p, RN_USEC(10));
		raw_expect(&r, RN_RC_SEND_ONLY, 200);
	}
	raw_ack(&r, 200, 1);
	expect_successes(&r, 200, 200);
	req_free(&r);
}

static void six_rnr_retries(struct rn_qp_attr *attr)
{
	attr->rnr_retry = 6;
}

/* The largest count that is one. */
static void rnr_retry_6_ends(void **state)
{
	struct raw r = req_new(six_rnr_retries);

	(void)state;
	post_sends(&r, 1);
	for (unsigned i = 0; i < 6; i++) {
		raw_nak(&r, 0x20 | 1, 200, 0);
		pair_run_for(r.p, RN_USEC(10));
		raw_expect(&r, RN_RC_SEND_ONLY, 200);
	}
	raw_nak(&r, 0x20 | 1, 200, 0);
	pair_expect_wc(r.q->scq, 200, RN_WC_RNR_RETRY_EXC_ERR);
	req_free(&r);
}

static void no_rnr_retry(struct rn_qp_attr *attr)
{
	attr->rnr_retry = 0;
}

static void rnr_retry_0_fails_at_once(void **state)
{
	struct raw r = req_new(no_rnr_retry);

	(void)state;
	post_sends(&r, 1);
	raw_nak(&r, 0x20 | 20, 200, 0);
	pair_expect_wc(r.q->scq, 200, RN_WC_RNR_RETRY_EXC_ERR);
	req_free(&r);
}

static void an_rnr_nak_acknowledges_what_precedes_it(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 3);
	raw_nak(&r, 0x20 | 1, 202, 2);
	expect_successes(&r, 200, 201);
	pair_run_for(r.p, RN_USEC(10));
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	req_free(&r);
}

/* rxe answers the packets behind the one that it had no receive for with a NAK. */
static void naks_while_an_rnr_timer_runs_change_nothing(void **state)
{
	struct raw r = req_new(NULL);
	uint8_t left;

	(void)state;
	post_sends(&r, 3);
	raw_nak(&r, 0x20 | 20, 200, 0);
	left = r.q->qp->req.retry_left;
	raw_nak(&r, 0x60, 200, 0);
	raw_nak(&r, 0x20 | 1, 200, 0);
	assert_int_equal(r.q->qp->req.retry_left, left);
	pair_run_for(r.p, RNR_CODE_20 - 1);
	raw_expect_silence(&r);
	pair_run_for(r.p, 1);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	expect_stat(&r, RN_STAT_RNR_NAK_RX, 1);
	req_free(&r);
}

static void acks_still_count_while_an_rnr_timer_runs(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 2);
	raw_nak(&r, 0x20 | 20, 200, 0);
	raw_ack(&r, 200, 1);
	expect_successes(&r, 200, 200);
	raw_expect_silence(&r);
	pair_run_for(r.p, RNR_CODE_20);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_expect_silence(&r);
	req_free(&r);
}

/* ---------------------------------------------------------------- fatal NAKs */
static void a_fatal_nak_fails_the_request_that_it_names(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum rn_wc_status status;
		enum rn_stat stat;
	} naks[] = {
		{ 0x61, RN_WC_REM_INV_REQ_ERR, RN_STAT_REQ_REMOTE_INVALID },
		{ 0x62, RN_WC_REM_ACCESS_ERR, RN_STAT_REQ_REMOTE_ACCESS },
		{ 0x63, RN_WC_REM_OP_ERR, RN_STAT_REQ_REMOTE_OP },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(naks); i++) {
		struct raw r = req_new(NULL);

		post_sends(&r, 3);
		raw_nak(&r, naks[i].syndrome, 201, 1);
		pair_expect_wc(r.q->scq, 200, RN_WC_SUCCESS);
		pair_expect_wc(r.q->scq, 201, naks[i].status);
		pair_expect_wc(r.q->scq, 202, RN_WC_WR_FLUSH_ERR);
		expect_state(&r, RN_QPS_ERR);
		expect_stat(&r, naks[i].stat, 1);
		raw_expect_silence(&r);
		req_free(&r);
	}
}

static void a_fatal_nak_in_a_message_fails_it_though_unsignaled(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_flags(&r, 1, RN_WR_RDMA_WRITE, 4000, 0);
	raw_nak(&r, 0x62, 202, 0);
	pair_expect_wc(r.q->scq, 1, RN_WC_REM_ACCESS_ERR);
	req_free(&r);
}

static void a_fatal_nak_of_a_read_fails_it(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 8);
	post(&r, 2, RN_WR_RDMA_READ, 3000);
	raw_nak(&r, 0x62, 202, 1); /* the second response packet */
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_REM_ACCESS_ERR);
	req_free(&r);
}

static void a_fatal_nak_behind_an_unanswered_read_retries_the_read(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 100);
	post(&r, 2, RN_WR_SEND, 8);
	raw_expect(&r, RN_RC_READ_REQUEST, 200);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_nak(&r, 0x63, 201, 1);
	pair_expect_no_wc(r.q->scq);
	raw_expect(&r, RN_RC_READ_REQUEST, 200);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 100);
	raw_nak(&r, 0x63, 201, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_REM_OP_ERR);
	req_free(&r);
}

static void progress_brings_the_rnr_retries_back(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 3);
	for (uint32_t i = 0; i < 9; i++) {
		raw_nak(&r, 0x20 | 1, 200 + i / 3, i / 3);
		pair_run_for(r.p, RN_USEC(10));
	}
	expect_state(&r, RN_QPS_RTS);
	raw_nak(&r, 0x20 | 1, 202, 2);
	expect_state(&r, RN_QPS_ERR);
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_rnr_nak_holds_the_queue_for_its_time),
		cmocka_unit_test(rnr_naks_are_counted_against_rnr_retry),
		cmocka_unit_test(every_rnr_retry_below_7_ends),
		cmocka_unit_test(rnr_retry_7_never_ends_and_costs_no_transport_retry),
		cmocka_unit_test(rnr_retry_6_ends),
		cmocka_unit_test(rnr_retry_0_fails_at_once),
		cmocka_unit_test(an_rnr_nak_acknowledges_what_precedes_it),
		cmocka_unit_test(naks_while_an_rnr_timer_runs_change_nothing),
		cmocka_unit_test(acks_still_count_while_an_rnr_timer_runs),
		cmocka_unit_test(a_fatal_nak_fails_the_request_that_it_names),
		cmocka_unit_test(a_fatal_nak_in_a_message_fails_it_though_unsignaled),
		cmocka_unit_test(a_fatal_nak_of_a_read_fails_it),
		cmocka_unit_test(a_fatal_nak_behind_an_unanswered_read_retries_the_read),
		cmocka_unit_test(progress_brings_the_rnr_retries_back),
	};

	return cmocka_run_group_tests_name("nak", tests, NULL, NULL);
}
