/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_response.c - READ and atomic responses at the requester. */
#include "tests/kit/device/req_kit.h"

/* raw.h: byte i of a packet's payload is psn + i. */
static void expect_payload(const struct raw *r, uint32_t psn, uint32_t offset,
			   uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(r->mr->data[offset + i], (uint8_t)(psn + i));
}

/* The buffer of a READ of @len bytes from PSN 200 on, and not a byte more. */
static void expect_read(struct raw *r, uint64_t wr_id, uint32_t len)
{
	struct rn_cqe cqe = pair_expect_wc(r->q->scq, wr_id, RN_WC_SUCCESS);

	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_RDMA_READ);
	assert_int_equal(cqe.byte_len, len);
	for (uint32_t at = 0; at < len; at += 1024)
		expect_payload(r, 200 + at / 1024, at, len - at < 1024 ? len - at : 1024);
	assert_int_equal(r->mr->data[len], pattern(len));
}

static void expect_request(struct raw *r, uint32_t psn, uint32_t offset, uint32_t len)
{
	const struct raw_packet *k = raw_expect(r, RN_RC_READ_REQUEST, psn);

	assert_int_equal(k->reth.va, REMOTE_VA + offset);
	assert_int_equal(k->reth.dma_len, len);
	assert_int_equal(k->reth.rkey, REMOTE_RKEY);
}

static struct raw new_with_read(uint32_t len)
{
	struct raw r = req_new(NULL);

	post(&r, 1, RN_WR_RDMA_READ, len);
	expect_request(&r, 200, 0, len);
	return r;
}

/* ---------------------------------------------------------------------- READ */
static void responses_fill_the_buffer(void **state)
{
	struct raw r = new_with_read(3000);

	(void)state;
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 201, 1024);
	pair_expect_no_wc(r.q->scq);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 202, 952);
	expect_read(&r, 1, 3000);
	pair_run_until_quiet(r.p);
	raw_expect_silence(&r);
	req_free(&r);
}

static void a_response_acknowledges_earlier_sends(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 8);
	post(&r, 2, RN_WR_RDMA_READ, 8);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 201, 8);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	req_free(&r);
}

static void a_gap_asks_for_the_rest_once(void **state)
{
	struct raw r = new_with_read(4000);

	(void)state;
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 202, 1024);
	expect_request(&r, 201, 1024, 2976);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 203, 928);
	raw_expect_silence(&r);
	pair_expect_no_wc(r.q->scq);
	expect_stat(&r, RN_STAT_IMPLIED_NAK_SEQ_ERR, 1);
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 201, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 202, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 203, 928);
	expect_read(&r, 1, 4000);
	req_free(&r);
}

static void silence_asks_for_the_rest_after_the_timeout(void **state)
{
	struct raw r = new_with_read(3000);

	(void)state;
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	pair_run_for(r.p, ACK_TIMEOUT);
	expect_request(&r, 201, 1024, 1976);
	req_free(&r);
}

static void rxe_goes_on_with_middle_after_a_retry(void **state)
{
	struct raw r = new_with_read(3000);

	(void)state;
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	pair_run_for(r.p, ACK_TIMEOUT);
	expect_request(&r, 201, 1024, 1976);
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 201, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 202, 952);
	expect_read(&r, 1, 3000);
	req_free(&r);
}

static void answers_to_both_copies_of_a_request_may_mix(void **state)
{
	struct raw r = new_with_read(3000);

	(void)state;
	pair_run_for(r.p, ACK_TIMEOUT);
	expect_request(&r, 200, 0, 3000);
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 201, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 201, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 202, 952);
	expect_read(&r, 1, 3000);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 202, 952);
	expect_state(&r, RN_QPS_RTS);
	req_free(&r);
}

static void an_answer_that_comes_after_giving_it_up_is_used(void **state)
{
	struct raw r = new_with_read(3000);

	(void)state;
	r.p->frozen = true;
	pair_run_for(r.p, ACK_TIMEOUT); /* gone back, nothing sent again yet */
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 201, 1024);
	r.p->frozen = false;
	pair_flush(r.p);
	raw_expect_silence(&r); /* more may come */
	pair_run_for(r.p, RN_MSEC(2));
	expect_request(&r, 202, 2048, 952);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 202, 952);
	expect_read(&r, 1, 3000);
	req_free(&r);
}

static void a_retried_chunk_ends_where_the_original_did(void **state)
{
	struct raw r = raw_new(&(struct pair_cfg){ .mtu_max = 1024, .read_chunk = 3072 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 7000);
	expect_request(&r, 200, 0, 3072);
	expect_request(&r, 203, 3072, 3072);
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	pair_run_for(r.p, ACK_TIMEOUT);
	expect_request(&r, 201, 1024, 2048);
	raw_expect_silence(&r);
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 201, 1024);
	expect_request(&r, 203, 3072, 3072);
	raw_expect_silence(&r);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 202, 1024);
	expect_request(&r, 206, 6144, 856);
	req_free(&r);
}

static void an_ack_behind_a_read_is_a_gap(void **state)
{
	struct raw r = new_with_read(3000);

	(void)state;
	post(&r, 2, RN_WR_SEND, 8);
	raw_expect(&r, RN_RC_SEND_ONLY, 203);
	raw_ack(&r, 203, 2);
	pair_expect_no_wc(r.q->scq);
	expect_request(&r, 200, 0, 3000);
	raw_expect(&r, RN_RC_SEND_ONLY, 203);
	req_free(&r);
}

static void a_plain_ack_does_not_complete_a_read(void **state)
{
	struct raw r = new_with_read(3000);

	(void)state;
	raw_ack(&r, 202, 1);
	pair_expect_no_wc(r.q->scq);
	expect_state(&r, RN_QPS_RTS);
	req_free(&r);
}

static void gaps_without_progress_use_up_the_retries(void **state)
{
	struct raw r = new_with_read(3000);

	(void)state;
	/* A gap counts once until it is filled, so the timer does the rest. */
	raw_ack(&r, 202, 1);
	raw_ack(&r, 202, 1);
	raw_ack(&r, 202, 1);
	expect_stat(&r, RN_STAT_IMPLIED_NAK_SEQ_ERR, 1);
	pair_run_until_quiet(r.p);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 3);
	pair_expect_wc(r.q->scq, 1, RN_WC_RETRY_EXC_ERR);
	req_free(&r);
}

/* --------------------------------------------------------- what is wrong in it */
static void expect_failure(struct raw *r, enum rn_wc_status status)
{
	pair_expect_wc(r->q->scq, 1, status);
	pair_expect_no_wc(r->q->scq);
	expect_state(r, RN_QPS_ERR);
	req_free(r);
}

static void a_read_response_to_a_send_is_bad(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 8);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 8);
	expect_failure(&r, RN_WC_BAD_RESP_ERR);
}

static void a_read_response_to_an_atomic_is_bad(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 8);
	expect_failure(&r, RN_WC_BAD_RESP_ERR);
}

static void an_atomic_response_to_a_read_is_bad(void **state)
{
	struct raw r = new_with_read(8);

	(void)state;
	raw_send(&r, RAW(.op = RN_RC_ATOMIC_ACK, .psn = 200, .aeth = { 0x1f, 1 }));
	expect_failure(&r, RN_WC_BAD_RESP_ERR);
}

static void a_response_that_does_not_acknowledge_is_bad(void **state)
{
	struct raw r = new_with_read(8);

	(void)state;
	raw_send(&r, RAW(.op = RN_RC_READ_RESPONSE_ONLY, .psn = 200, .len = 8,
			 .aeth = { 0x60, 1 }));
	expect_failure(&r, RN_WC_BAD_RESP_ERR);
}

static void a_response_in_the_wrong_place_is_bad(void **state)
{
	static const struct {
		uint32_t count; /* of good responses before it */
		uint8_t opcode;
		uint32_t len;
	} cases[] = {
		{ 0, RN_RC_READ_RESPONSE_MIDDLE, 1024 },
		{ 0, RN_RC_READ_RESPONSE_LAST, 1024 },
		{ 0, RN_RC_READ_RESPONSE_ONLY, 1024 },
		{ 1, RN_RC_READ_RESPONSE_FIRST, 1024 },
		{ 1, RN_RC_READ_RESPONSE_LAST, 1024 },
		{ 1, RN_RC_READ_RESPONSE_ONLY, 1024 },
		{ 2, RN_RC_READ_RESPONSE_FIRST, 952 },
		{ 2, RN_RC_READ_RESPONSE_MIDDLE, 952 },
		{ 2, RN_RC_READ_RESPONSE_ONLY, 952 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct raw r = new_with_read(3000);

		for (uint32_t n = 0; n < cases[i].count; n++)
			send_read_response(&r, (uint8_t)(RN_RC_READ_RESPONSE_FIRST + n),
					   200 + n, 1024);
		send_read_response(&r, cases[i].opcode, 200 + cases[i].count,
				   cases[i].len);
		expect_failure(&r, RN_WC_BAD_RESP_ERR);
	}
}

static void a_response_of_the_wrong_length_is_an_error(void **state)
{
	static const struct {
		uint32_t read;
		uint8_t opcode;
		uint32_t len;
	} cases[] = {
		{ 100, RN_RC_READ_RESPONSE_ONLY, 96 },
		{ 100, RN_RC_READ_RESPONSE_ONLY, 104 },
		{ 100, RN_RC_READ_RESPONSE_ONLY, 0 },
		{ 0, RN_RC_READ_RESPONSE_ONLY, 4 },
		{ 2048, RN_RC_READ_RESPONSE_FIRST, 1020 },
		{ 2048, RN_RC_READ_RESPONSE_FIRST, 1028 },
		{ 2048, RN_RC_READ_RESPONSE_FIRST, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct raw r = new_with_read(cases[i].read);

		send_read_response(&r, cases[i].opcode, 200, cases[i].len);
		for (uint32_t n = 0; n < RAW_MR_LEN; n++)
			assert_int_equal(r.mr->data[n], pattern(n));
		expect_failure(&r, RN_WC_LOC_LEN_ERR);
	}
}

static void post_to(struct raw *r, enum rn_wr_opcode opcode, const struct pair_mr *mr)
{
	struct rn_sge sge = pair_sge(mr, 0, 8);
	struct rn_send_wr wr = { .wr_id = 1, .opcode = opcode, .sg = &sge, .num_sge = 1 };

	assert_int_equal(pair_post_send(r->q, &wr), 0);
}

static void results_need_the_right_to_write(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_to(&r, RN_WR_RDMA_READ, pair_mr_new(r.p, 0, 64, 0));
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 8);
	expect_failure(&r, RN_WC_LOC_PROT_ERR);

	r = req_new(NULL);
	post_to(&r, RN_WR_ATOMIC_FETCH_AND_ADD, pair_mr_new(r.p, 0, 64, 0));
	raw_send(&r, RAW(.op = RN_RC_ATOMIC_ACK, .psn = 200, .aeth = { 0x1f, 1 }));
	expect_failure(&r, RN_WC_LOC_PROT_ERR);
}

/* ------------------------------------------------------------------- atomics */
static void an_atomic_result_is_stored_in_host_order(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_cqe cqe;
	uint64_t value;

	(void)state;
	post(&r, 1, RN_WR_SEND, 8);
	post(&r, 2, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	raw_send(&r, RAW(.op = RN_RC_ATOMIC_ACK, .psn = 201, .aeth = { 0x1f, 2 },
			 .atomic_ack = 0x0123456789abcdef));
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	cqe = pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_FETCH_ADD);
	assert_int_equal(cqe.byte_len, 8);
	memcpy(&value, r.mr->data, sizeof(value));
	assert_int_equal(value, 0x0123456789abcdef);
	req_free(&r);
}

static void a_second_atomic_result_is_ignored(void **state)
{
	struct raw r = req_new(NULL);
	uint64_t value;

	(void)state;
	post(&r, 1, RN_WR_ATOMIC_CMP_AND_SWP, 8);
	raw_send(&r, RAW(.op = RN_RC_ATOMIC_ACK, .psn = 200, .aeth = { 0x1f, 1 },
			 .atomic_ack = 1));
	raw_send(&r, RAW(.op = RN_RC_ATOMIC_ACK, .psn = 200, .aeth = { 0x1f, 1 },
			 .atomic_ack = 2));
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_no_wc(r.q->scq);
	memcpy(&value, r.mr->data, sizeof(value));
	assert_int_equal(value, 1);
	req_free(&r);
}

static void a_later_atomic_result_shows_that_an_earlier_one_is_missing(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	post(&r, 2, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	raw_expect(&r, RN_RC_FETCH_ADD, 200);
	raw_expect(&r, RN_RC_FETCH_ADD, 201);
	raw_send(&r, RAW(.op = RN_RC_ATOMIC_ACK, .psn = 201, .aeth = { 0x1f, 2 }));
	pair_expect_no_wc(r.q->scq);
	raw_expect(&r, RN_RC_FETCH_ADD, 200);
	raw_expect(&r, RN_RC_FETCH_ADD, 201);
	raw_send(&r, RAW(.op = RN_RC_ATOMIC_ACK, .psn = 200, .aeth = { 0x1f, 1 }));
	raw_send(&r, RAW(.op = RN_RC_ATOMIC_ACK, .psn = 201, .aeth = { 0x1f, 2 }));
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	req_free(&r);
}

static void a_second_gap_asks_again(void **state)
{
	struct raw r = new_with_read(4000);

	(void)state;
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 201, 1024);
	expect_request(&r, 200, 0, 4000);
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 202, 1024);
	expect_request(&r, 201, 1024, 2976);
	req_free(&r);
}

static void a_gap_that_shows_after_going_back_costs_nothing(void **state)
{
	struct raw r = new_with_read(3000);
	uint8_t left;

	(void)state;
	r.p->frozen = true;
	pair_run_for(r.p, ACK_TIMEOUT);
	left = r.q->qp->req.retry_left;
	send_read_response(&r, RN_RC_READ_RESPONSE_MIDDLE, 201, 1024);
	assert_int_equal(r.q->qp->req.retry_left, left);
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responses_fill_the_buffer),
		cmocka_unit_test(a_response_acknowledges_earlier_sends),
		cmocka_unit_test(a_gap_asks_for_the_rest_once),
		cmocka_unit_test(silence_asks_for_the_rest_after_the_timeout),
		cmocka_unit_test(rxe_goes_on_with_middle_after_a_retry),
		cmocka_unit_test(answers_to_both_copies_of_a_request_may_mix),
		cmocka_unit_test(an_answer_that_comes_after_giving_it_up_is_used),
		cmocka_unit_test(a_retried_chunk_ends_where_the_original_did),
		cmocka_unit_test(an_ack_behind_a_read_is_a_gap),
		cmocka_unit_test(a_plain_ack_does_not_complete_a_read),
		cmocka_unit_test(gaps_without_progress_use_up_the_retries),
		cmocka_unit_test(a_read_response_to_a_send_is_bad),
		cmocka_unit_test(a_read_response_to_an_atomic_is_bad),
		cmocka_unit_test(an_atomic_response_to_a_read_is_bad),
		cmocka_unit_test(a_response_that_does_not_acknowledge_is_bad),
		cmocka_unit_test(a_response_in_the_wrong_place_is_bad),
		cmocka_unit_test(a_response_of_the_wrong_length_is_an_error),
		cmocka_unit_test(results_need_the_right_to_write),
		cmocka_unit_test(an_atomic_result_is_stored_in_host_order),
		cmocka_unit_test(a_second_atomic_result_is_ignored),
		cmocka_unit_test(
			a_later_atomic_result_shows_that_an_earlier_one_is_missing),
		cmocka_unit_test(a_second_gap_asks_again),
		cmocka_unit_test(a_gap_that_shows_after_going_back_costs_nothing),
	};

	return cmocka_run_group_tests_name("response", tests, NULL, NULL);
}
