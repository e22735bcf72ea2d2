/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_retransmit.c - acknowledgements, timeouts and going back at the requester. */
#include "rocin/transport.h"
#include "tests/kit/device/req_kit.h"

/* ---------------------------------------------------------- acknowledgements */
static void an_ack_of_the_last_packet_completes_the_message(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 2500);
	raw_ack(&r, 202, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_run_until_quiet(r.p);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 0);
	expect_stat(&r, RN_STAT_TX_SENDS, 1);
	req_free(&r);
}

static void after_a_partial_ack_the_rest_is_sent_again(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 2500);
	for (uint32_t psn = 200; psn <= 202; psn++)
		raw_expect(&r, (uint8_t)(psn - 200), psn);
	raw_ack(&r, 200, 0);
	pair_expect_no_wc(r.q->scq);
	pair_run_for(r.p, ACK_TIMEOUT);
	assert_true(raw_expect(&r, RN_RC_SEND_MIDDLE, 201)->ack_req);
	raw_expect_silence(&r);
	raw_ack(&r, 201, 0);
	raw_expect(&r, RN_RC_SEND_LAST, 202);
	raw_ack(&r, 202, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	expect_stat(&r, RN_STAT_RETRANSMITTED, 2);
	req_free(&r);
}

/* All had arrived, and only the answer was late. */
static void a_peer_that_was_slow_is_sent_one_packet_again(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 8);
	pair_run_for(r.p, ACK_TIMEOUT);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	post(&r, 208, RN_WR_SEND, 8);
	raw_expect_silence(&r);
	raw_ack(&r, 207, 8);
	expect_successes(&r, 200, 207);
	raw_expect(&r, RN_RC_SEND_ONLY, 208);
	expect_stat(&r, RN_STAT_RETRANSMITTED, 1);
	assert_int_equal(r.q->qp->peer->suspicion, 0);
	raw_ack(&r, 208, 9);
	expect_successes(&r, 208, 208);
	req_free(&r);
}

/* The question is answered: it has it, and no room. What follows goes as ever. */
static void after_an_rnr_nak_all_is_sent_again_where_it_was_asked_before(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 3);
	pair_run_for(r.p, ACK_TIMEOUT);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	raw_nak(&r, 0x20 | 20, 200, 0);
	pair_run_for(r.p, RNR_CODE_20 - 1);
	raw_expect_silence(&r);
	pair_run_for(r.p, 1);
	for (uint32_t psn = 200; psn <= 202; psn++)
		raw_expect(&r, RN_RC_SEND_ONLY, psn);
	raw_ack(&r, 202, 3);
	expect_successes(&r, 200, 202);
	req_free(&r);
}

static void nobody_is_asked_by_the_next_connection(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_qp_attr attr = r.q->qp->attr;

	(void)state;
	post_sends(&r, 2);
	pair_run_for(r.p, ACK_TIMEOUT);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RESET), 0);
	pair_modify_until(r.q, &attr, RN_QPS_RTS);
	post_sends(&r, 2);
	raw_ack(&r, 201, 2);
	expect_successes(&r, 200, 201);
	req_free(&r);
}

/* Round trips of 100 ms: four of them are longer than the ACK timeout. */
static void who_listens_asks_again_after_the_ack_timeout_at_the_latest(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 1);
	pair_run_for(r.p, RN_MSEC(100));
	raw_ack(&r, 200, 1);
	expect_successes(&r, 200, 200);
	for (uint32_t psn = 201; psn <= 203; psn++) {
		post(&r, psn, RN_WR_SEND, 8);
		raw_expect(&r, RN_RC_SEND_ONLY, psn);
	}
	pair_run_for(r.p, ACK_TIMEOUT);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_MSEC(150)); /* too long for an answer to that */
	raw_ack(&r, 201, 2);
	pair_run_for(r.p, ACK_TIMEOUT - 1);
	raw_expect_silence(&r);
	pair_run_for(r.p, 1);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	raw_expect_silence(&r);
	raw_ack(&r, 203, 4);
	expect_successes(&r, 201, 203);
	req_free(&r);
}

/* Its code says what was wrong, and not how many receives there are. */
static void a_nak_of_what_is_acknowledged_gives_no_credits(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 1);
	raw_send(&r, RAW(.op = RN_RC_ACK, .psn = 200, .aeth = { 0x00, 1 }));
	expect_successes(&r, 200, 200);
	post(&r, 201, RN_WR_SEND, 8); /* goes to try */
	post(&r, 202, RN_WR_SEND, 8);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_expect_silence(&r);
	raw_nak(&r, 0x62, 200, 1);
	raw_expect_silence(&r);
	raw_send(&r, RAW(.op = RN_RC_ACK, .psn = 200, .aeth = { 0x02, 1 }));
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	raw_ack(&r, 202, 3);
	expect_successes(&r, 201, 202);
	req_free(&r);
}

static void one_ack_completes_all_that_it_covers_in_order(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 3);
	raw_ack(&r, 202, 3);
	expect_successes(&r, 200, 202);
	req_free(&r);
}

static void unsignaled_requests_complete_without_a_cqe(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_flags(&r, 1, RN_WR_SEND, 8, 0);
	post_flags(&r, 2, RN_WR_SEND, 8, 0);
	post(&r, 3, RN_WR_SEND, 8);
	raw_ack(&r, 202, 3);
	expect_successes(&r, 3, 3);
	req_free(&r);
}

static void an_ack_of_what_was_never_sent_is_ignored(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 1);
	raw_ack(&r, 205, 1);
	pair_expect_no_wc(r.q->scq);
	pair_run_for(r.p, ACK_TIMEOUT);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_ack(&r, 200, 1);
	raw_ack(&r, 200, 1); /* and a second one */
	expect_successes(&r, 200, 200);
	req_free(&r);
}

static void an_ack_with_a_wrong_icrc_is_ignored(void **state)
{
	struct raw r = req_new(NULL);
	uint8_t buf[64];
	uint32_t len;

	(void)state;
	post_sends(&r, 1);
	len = raw_encode(&r, RAW(.op = RN_RC_ACK, .psn = 200, .aeth = { 0x1f, 1 }), buf);
	buf[len - 1] ^= 1;
	raw_send_bytes(&r, buf, len);
	pair_expect_no_wc(r.q->scq);
	req_free(&r);
}

static void an_ack_with_payload_is_ignored(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 1);
	raw_send(&r, RAW(.op = RN_RC_ACK, .psn = 200, .len = 4, .aeth = { 0x1f, 1 }));
	pair_expect_no_wc(r.q->scq);
	expect_stat(&r, RN_STAT_RX_DROPPED, 1);
	req_free(&r);
}

static void a_reserved_syndrome_is_ignored(void **state)
{
	static const uint8_t syndromes[] = { 0x40, 0x5f, 0x64, 0x65, 0x7f, 0x80, 0xe0 };
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 1);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(syndromes); i++)
		raw_nak(&r, syndromes[i], 200, 0);
	raw_expect_silence(&r);
	pair_expect_no_wc(r.q->scq);
	expect_state(&r, RN_QPS_RTS);
	req_free(&r);
}

/* ------------------------------------------------------------------- timeouts */
static void silence_is_retried_retry_cnt_times(void **state)
{
	struct raw r = req_new(NULL);
	struct raw_packet k;
	unsigned sent = 0;
	rn_ns last = 0;

	(void)state;
	post(&r, 1, RN_WR_SEND, 8);
	post(&r, 2, RN_WR_SEND, 8);
	pair_run_until_quiet(r.p);
	while (raw_next(&r, &k)) {
		if (k.psn != 200)
			continue;
		if (sent++) {
			assert_true(k.at - last >= ACK_TIMEOUT_LEAST);
			assert_true(k.at - last <= ACK_TIMEOUT);
		}
		last = k.at;
	}
	assert_int_equal(sent, 4);
	pair_expect_wc(r.q->scq, 1, RN_WC_RETRY_EXC_ERR);
	pair_expect_wc(r.q->scq, 2, RN_WC_WR_FLUSH_ERR);
	expect_state(&r, RN_QPS_ERR);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 4);
	expect_stat(&r, RN_STAT_RETRY_EXCEEDED, 1);
	req_free(&r);
}

static void a_scale_stretches_timeouts(void **state)
{
	const struct pair_cfg cfg = { .timeout_scale = RN_TIMEOUT_SCALE_MAX };
	struct raw r = raw_new(&cfg, RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	post_sends(&r, 1);
	pair_run_for(r.p, RN_TIMEOUT_SCALE_MAX * ACK_TIMEOUT - RN_MSEC(1));
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_MSEC(2));
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	/* And what an RNR NAK asks for. */
	raw_nak(&r, 0x20 | 20, 200, 0);
	pair_run_for(r.p, RN_TIMEOUT_SCALE_MAX * RNR_CODE_20 - 1);
	raw_expect_silence(&r);
	pair_run_for(r.p, 1);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_ack(&r, 200, 1);
	expect_successes(&r, 200, 200);
	req_free(&r);
}

static void no_retry(struct rn_qp_attr *attr)
{
	attr->retry_cnt = 0;
}

static void retry_cnt_0_sends_once(void **state)
{
	struct raw r = req_new(no_retry);

	(void)state;
	post_sends(&r, 1);
	pair_run_until_quiet(r.p);
	raw_expect_silence(&r);
	pair_expect_wc(r.q->scq, 200, RN_WC_RETRY_EXC_ERR);
	req_free(&r);
}

static void no_timeout(struct rn_qp_attr *attr)
{
	attr->timeout = 0;
}

static void timeout_0_waits_for_ever(void **state)
{
	struct raw r = req_new(no_timeout);

	(void)state;
	post_sends(&r, 1);
	pair_run_for(r.p, 5 * RN_MSEC(1000));
	raw_expect_silence(&r);
	assert_int_equal(rn_dev_deadline(r.p->dev[0]), RN_NEVER);
	raw_ack(&r, 200, 1);
	expect_successes(&r, 200, 200);
	req_free(&r);
}

static void progress_restarts_timer_and_retries(void **state)
{
	struct raw r = req_new(NULL);
	rn_ns last;

	(void)state;
	post(&r, 1, RN_WR_SEND, 8 * 1024);
	for (uint32_t psn = 200; psn < 207; psn++) {
		pair_run_for(r.p, ACK_TIMEOUT - 1);
		raw_ack(&r, psn, 0);
	}
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 0);
	for (unsigned i = 0; i < 3; i++)
		pair_run_for(r.p, ACK_TIMEOUT);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 3);
	raw_ack(&r, 207, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	r.p->record_taken = r.p->record_count;

	/* Three retries were used up; the next message has three again. */
	post(&r, 2, RN_WR_SEND, 8);
	last = r.p->net->now;
	raw_expect(&r, RN_RC_SEND_ONLY, 208);
	for (unsigned i = 0; i < 3; i++)
		pair_run_for(r.p, ACK_TIMEOUT);
	assert_true(r.p->net->now - last >= 3 * ACK_TIMEOUT);
	expect_state(&r, RN_QPS_RTS);
	pair_run_for(r.p, ACK_TIMEOUT);
	expect_state(&r, RN_QPS_ERR);
	req_free(&r);
}

static void a_lost_atomic_is_sent_again_unchanged(void **state)
{
	struct raw r = req_new(NULL);
	const struct pair_packet *a, *b;

	(void)state;
	post(&r, 1, RN_WR_ATOMIC_CMP_AND_SWP, 8);
	pair_run_for(r.p, ACK_TIMEOUT);
	assert_int_equal(r.p->record_count, 2);
	a = r.p->record[0];
	b = r.p->record[1];
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->data, b->data, a->len);
	req_free(&r);
}

/* -------------------------------------------------------------- sequence NAKs */
static void a_sequence_nak_goes_back_to_the_missing_packet(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 5);
	raw_nak(&r, 0x60, 202, 2);
	expect_successes(&r, 200, 201);
	for (uint32_t psn = 202; psn <= 204; psn++)
		raw_expect(&r, RN_RC_SEND_ONLY, psn);
	raw_expect_silence(&r);
	raw_ack(&r, 204, 5);
	expect_successes(&r, 202, 204);
	expect_stat(&r, RN_STAT_PACKET_SEQ_ERR, 1);
	expect_stat(&r, RN_STAT_RETRANSMITTED, 3);
	assert_int_equal(r.q->stats.retransmitted, 3);
	req_free(&r);
}

static void a_sequence_nak_resumes_in_the_middle_of_a_message(void **state)
{
	struct raw r = req_new(NULL);
	const struct raw_packet *k;

	(void)state;
	post(&r, 1, RN_WR_RDMA_WRITE, 4000);
	for (uint32_t psn = 200; psn <= 203; psn++)
		raw_expect(&r, (uint8_t)(psn == 200 ? 6 : psn == 203 ? 8 : 7), psn);
	raw_nak(&r, 0x60, 202, 0);
	k = raw_expect(&r, RN_RC_WRITE_MIDDLE, 202);
	assert_memory_equal(k->payload, r.mr->data + 2048, 1024);
	k = raw_expect(&r, RN_RC_WRITE_LAST, 203);
	assert_int_equal(k->len, 4000 - 3072);
	raw_ack(&r, 203, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	req_free(&r);
}

static void an_ack_beyond_what_was_sent_again_skips_the_rest(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 5);
	r.p->frozen = true;
	raw_nak(&r, 0x60, 201, 1);
	raw_ack(&r, 203, 4); /* the copies that were thought lost */
	r.p->frozen = false;
	pair_flush(r.p);
	raw_expect(&r, RN_RC_SEND_ONLY, 204);
	raw_expect_silence(&r);
	raw_ack(&r, 204, 5);
	expect_successes(&r, 200, 204);
	req_free(&r);
}

static void sequence_naks_without_progress_use_up_the_retries(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 2);
	for (unsigned i = 0; i < 3; i++) {
		raw_nak(&r, 0x60, 200, 0);
		raw_expect(&r, RN_RC_SEND_ONLY, 200);
		raw_expect(&r, RN_RC_SEND_ONLY, 201);
	}
	raw_nak(&r, 0x60, 200, 0);
	pair_expect_wc(r.q->scq, 200, RN_WC_RETRY_EXC_ERR);
	pair_expect_wc(r.q->scq, 201, RN_WC_WR_FLUSH_ERR);
	req_free(&r);
}

static void progress_alone_pays_for_no_retry_when_there_is_none(void **state)
{
	struct raw r = req_new(no_retry);

	(void)state;
	post_sends(&r, 3);
	/* The NAK for 201 acknowledges 200, but going back is a retry still. */
	raw_nak(&r, 0x60, 201, 1);
	pair_expect_wc(r.q->scq, 200, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 201, RN_WC_RETRY_EXC_ERR);
	pair_expect_wc(r.q->scq, 202, RN_WC_WR_FLUSH_ERR);
	req_free(&r);
}

static void one_retry(struct rn_qp_attr *attr)
{
	attr->retry_cnt = 1;
}

static void each_step_of_progress_brings_the_retries_back(void **state)
{
	struct raw r = req_new(one_retry);

	(void)state;
	post_sends(&r, 5);
	for (uint32_t psn = 201; psn <= 204; psn++)
		raw_nak(&r, 0x60, psn, psn - 200);
	expect_successes(&r, 200, 203);
	expect_state(&r, RN_QPS_RTS);
	req_free(&r);
}

static void what_is_sent_again_asks_for_an_ack_at_once(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 3000);
	assert_false(raw_expect(&r, RN_RC_SEND_FIRST, 200)->ack_req);
	raw_expect(&r, RN_RC_SEND_MIDDLE, 201);
	raw_expect(&r, RN_RC_SEND_LAST, 202);
	raw_nak(&r, 0x60, 200, 0);
	assert_true(raw_expect(&r, RN_RC_SEND_FIRST, 200)->ack_req);
	assert_false(raw_expect(&r, RN_RC_SEND_MIDDLE, 201)->ack_req);
	req_free(&r);
}

/* The first @count packets of what is sent again leave, and no more. */
static void leave(struct raw *r, unsigned count)
{
	uint8_t buf[RN_PACKET_MAX];
	struct rn_tx tx;

	while (count--)
		assert_true(rn_dev_transmit(r->p->dev[0], r->p->net->now, RN_TX_WORK, buf,
					    sizeof(buf), &tx));
}

/* The timeout of the oldest packet, which alone is sent again. */
static void time_out(struct raw *r)
{
	struct rn_dev *dev = r->p->dev[0];

	r->p->frozen = true;
	r->p->net->now = rn_dev_deadline(dev);
	rn_dev_expire(dev, r->p->net->now);
	leave(r, 1);
}

static void thaw(struct raw *r)
{
	r->p->frozen = false;
	pair_flush(r->p);
}

/* A response got lost. After the timeout the READ alone has left again when the answer to
 * the first copy of the SEND arrives, which does not say that the READ was in vain.
 */
static void an_answer_from_before_going_back_implies_nothing(void **state)
{
	struct raw r = req_new(one_retry);

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 8);
	post(&r, 2, RN_WR_SEND, 8);
	raw_expect(&r, RN_RC_READ_REQUEST, 200);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	time_out(&r);
	raw_ack(&r, 201, 2);
	assert_int_equal(rn_qp_state(r.q->qp), RN_QPS_RTS);
	expect_stat(&r, RN_STAT_IMPLIED_NAK_SEQ_ERR, 0);
	raw_send(&r, RAW(.op = RN_RC_READ_RESPONSE_ONLY, .psn = 200, .len = 8,
			 .aeth = { 0x1f, 1 }));
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	thaw(&r);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_ack(&r, 201, 2);
	pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	req_free(&r);
}

/* The same with a NAK for the packet that was lost: it came for the ones behind it. */
static void a_sequence_nak_from_before_going_back_costs_no_retry(void **state)
{
	struct raw r = req_new(one_retry);

	(void)state;
	post_sends(&r, 3);
	time_out(&r);
	raw_nak(&r, 0x60, 200, 0);
	assert_int_equal(rn_qp_state(r.q->qp), RN_QPS_RTS);
	thaw(&r);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	raw_ack(&r, 202, 3);
	expect_successes(&r, 200, 202);
	req_free(&r);
}

static void what_a_nak_says_of_packets_sent_again_costs_a_retry(void **state)
{
	struct raw r = req_new(one_retry);

	(void)state;
	post_sends(&r, 3);
	r.p->frozen = true;
	raw_nak(&r, 0x60, 200, 0);
	leave(&r, 2);
	raw_nak(&r, 0x60, 200, 0);
	pair_expect_wc(r.q->scq, 200, RN_WC_RETRY_EXC_ERR);
	req_free(&r);
}

static void nak_and_timeout_are_losses_to_the_window(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 1);
	assert_int_equal(r.q->qp->peer->cuts, 0);
	raw_nak(&r, 0x60, 200, 0);
	assert_int_equal(r.q->qp->peer->cuts, 1);
	pair_run_for(r.p, ACK_TIMEOUT);
	assert_true(r.q->qp->peer->cuts > 1);
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ack_of_the_last_packet_completes_the_message),
		cmocka_unit_test(after_a_partial_ack_the_rest_is_sent_again),
		cmocka_unit_test(a_peer_that_was_slow_is_sent_one_packet_again),
		cmocka_unit_test(
			after_an_rnr_nak_all_is_sent_again_where_it_was_asked_before),
		cmocka_unit_test(nobody_is_asked_by_the_next_connection),
		cmocka_unit_test(
			who_listens_asks_again_after_the_ack_timeout_at_the_latest),
		cmocka_unit_test(a_nak_of_what_is_acknowledged_gives_no_credits),
		cmocka_unit_test(one_ack_completes_all_that_it_covers_in_order),
		cmocka_unit_test(unsignaled_requests_complete_without_a_cqe),
		cmocka_unit_test(an_ack_of_what_was_never_sent_is_ignored),
		cmocka_unit_test(an_ack_with_a_wrong_icrc_is_ignored),
		cmocka_unit_test(an_ack_with_payload_is_ignored),
		cmocka_unit_test(a_reserved_syndrome_is_ignored),
		cmocka_unit_test(silence_is_retried_retry_cnt_times),
		cmocka_unit_test(retry_cnt_0_sends_once),
		cmocka_unit_test(a_scale_stretches_timeouts),
		cmocka_unit_test(timeout_0_waits_for_ever),
		cmocka_unit_test(progress_restarts_timer_and_retries),
		cmocka_unit_test(a_lost_atomic_is_sent_again_unchanged),
		cmocka_unit_test(a_sequence_nak_goes_back_to_the_missing_packet),
		cmocka_unit_test(a_sequence_nak_resumes_in_the_middle_of_a_message),
		cmocka_unit_test(an_ack_beyond_what_was_sent_again_skips_the_rest),
		cmocka_unit_test(sequence_naks_without_progress_use_up_the_retries),
		cmocka_unit_test(progress_alone_pays_for_no_retry_when_there_is_none),
		cmocka_unit_test(each_step_of_progress_brings_the_retries_back),
		cmocka_unit_test(what_is_sent_again_asks_for_an_ack_at_once),
		cmocka_unit_test(an_answer_from_before_going_back_implies_nothing),
		cmocka_unit_test(a_sequence_nak_from_before_going_back_costs_no_retry),
		cmocka_unit_test(what_a_nak_says_of_packets_sent_again_costs_a_retry),
		cmocka_unit_test(nak_and_timeout_are_losses_to_the_window),
	};

	return cmocka_run_group_tests_name("retransmit", tests, NULL, NULL);
}
