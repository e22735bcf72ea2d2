/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_send_queue.c - a send queue that fails, drains, is flushed or lacks credits. */
#include "tests/kit/device/req_kit.h"

/* -------------------------------------------------------------- local errors */
static void a_bad_lkey_fails_before_anything_leaves(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_bad_lkey(&r, 1);
	raw_expect_silence(&r);
	pair_expect_wc(r.q->scq, 1, RN_WC_LOC_PROT_ERR);
	expect_state(&r, RN_QPS_ERR);
	expect_stat(&r, RN_STAT_REQ_CQE_ERR, 1);
	req_free(&r);
}

static void a_local_error_waits_for_older_requests(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 100);
	post_bad_lkey(&r, 2);
	post(&r, 3, RN_WR_SEND, 100);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	pair_expect_no_wc(r.q->scq);
	expect_state(&r, RN_QPS_RTS);
	raw_ack(&r, 200, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_LOC_PROT_ERR);
	pair_expect_wc(r.q->scq, 3, RN_WC_WR_FLUSH_ERR);
	expect_state(&r, RN_QPS_ERR);
	raw_expect_silence(&r);
	req_free(&r);
}

static void an_older_request_is_sent_again_while_a_local_error_waits(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 100);
	post_bad_lkey(&r, 2);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	pair_run_for(r.p, ACK_TIMEOUT);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_ack(&r, 200, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_LOC_PROT_ERR);
	req_free(&r);
}

static void memory_that_goes_in_the_middle_of_a_message_fails_it(void **state)
{
	struct raw r = req_new(NULL);
	struct pair_mr *two = pair_mr_new(r.p, 0, 1024, 0);
	struct rn_sge sge[2] = { pair_sge(r.mr, 0, 1024), pair_sge(two, 0, 1024) };
	struct rn_send_wr wr = {
		.wr_id = 2, .opcode = RN_WR_SEND, .sg = sge, .num_sge = 2
	};

	(void)state;
	post(&r, 1, RN_WR_SEND, 1);
	arena_unmap(&r.p->arena[0], two->data);
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect(&r, RN_RC_SEND_FIRST, 201);
	raw_expect_silence(&r);
	raw_ack(&r, 201, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_LOC_PROT_ERR);
	expect_stat(&r, RN_STAT_MEM_FAULT, 1);
	req_free(&r);
}

static void invalidating_a_region_is_an_error_in_its_turn(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 100);
	post(&r, 2, RN_WR_LOCAL_INV, 0);
	post(&r, 3, RN_WR_SEND, 100);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	pair_expect_no_wc(r.q->scq);
	raw_ack(&r, 200, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_LOC_QP_OP_ERR);
	pair_expect_wc(r.q->scq, 3, RN_WC_WR_FLUSH_ERR);
	raw_expect_silence(&r);
	req_free(&r);
}

/* --------------------------------------------------------------------- flush */
static void err_flushes_in_order_and_nothing_leaves_any_more(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	r.p->frozen = true;
	for (uint64_t i = 1; i <= 3; i++)
		post_flags(&r, i, RN_WR_SEND, 100, 0);
	r.p->frozen = false;
	assert_int_equal(pair_modify_state(r.q, RN_QPS_ERR), 0);
	for (uint64_t i = 1; i <= 3; i++)
		pair_expect_wc(r.q->scq, i, RN_WC_WR_FLUSH_ERR);
	pair_expect_no_wc(r.q->scq);
	raw_expect_silence(&r);
	expect_stat(&r, RN_STAT_REQ_CQE_FLUSH, 3);

	post_flags(&r, 4, RN_WR_SEND, 100, 0);
	pair_expect_wc(r.q->scq, 4, RN_WC_WR_FLUSH_ERR);
	pair_run_for(r.p, 10 * ACK_TIMEOUT);
	raw_expect_silence(&r);
	req_free(&r);
}

/* ----------------------------------------------------------------------- SQD */
static int to_sqd(struct raw *r)
{
	struct rn_qp_attr attr = { .state = RN_QPS_SQD, .en_sqd_async_notify = true };
	int rc = rn_qp_modify(r->p->dev[0], r->q->qp, r->p->net->now, &attr,
			      RN_ATTR_STATE | RN_ATTR_EN_SQD_ASYNC_NOTIFY);

	pair_flush(r->p);
	return rc;
}

static void sqd_finishes_what_was_started_and_tells(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_event ev;

	(void)state;
	post(&r, 1, RN_WR_SEND, 2000);
	raw_expect(&r, RN_RC_SEND_FIRST, 200);
	raw_expect(&r, RN_RC_SEND_LAST, 201);
	assert_int_equal(to_sqd(&r), 0);
	post(&r, 2, RN_WR_SEND, 100);
	raw_expect_silence(&r);
	assert_false(pair_next_event(r.p, &ev));
	pair_run_for(r.p, ACK_TIMEOUT); /* retries go on */
	raw_expect(&r, RN_RC_SEND_FIRST, 200);
	raw_ack(&r, 201, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_async(r.q, RN_EVENT_SQ_DRAINED);
	raw_expect_silence(&r);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RTS), 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	raw_ack(&r, 202, 2);
	pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	assert_false(pair_next_event(r.p, &ev));
	req_free(&r);
}

static void an_idle_queue_is_drained_at_once(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_event ev;

	(void)state;
	assert_int_equal(to_sqd(&r), 0);
	pair_expect_async(r.q, RN_EVENT_SQ_DRAINED);
	assert_false(pair_next_event(r.p, &ev));
	req_free(&r);
}

static void a_message_that_the_window_cut_is_finished_in_sqd(void **state)
{
	struct raw r = raw_new(&(struct pair_cfg){ .mtu_max = 1024,
						   .window_start = 2048,
						   .window_min = 2048,
						   .window_max = 2048 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 2048);
	post(&r, 2, RN_WR_SEND, 1);
	raw_expect(&r, RN_RC_SEND_FIRST, 200);
	raw_expect_silence(&r);
	assert_int_equal(to_sqd(&r), 0);
	raw_ack(&r, 200, 0);
	raw_expect(&r, RN_RC_SEND_LAST, 201);
	raw_ack(&r, 201, 1);
	raw_expect_silence(&r);
	pair_expect_async(r.q, RN_EVENT_SQ_DRAINED);
	raw_free(&r);
}

/* ------------------------------------------------------------------- credits */
static void credits_limit_sends_once_the_peer_advertises_them(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	/* A ghost: acknowledges what was acknowledged. Credit code 0: none. */
	raw_nak(&r, 0x00, 199, 0);
	for (uint64_t i = 1; i <= 3; i++)
		post(&r, i, RN_WR_SEND, 4);
	raw_expect(&r, RN_RC_SEND_ONLY, 200); /* the limited WQE */
	raw_expect_silence(&r);
	raw_nak(&r, 0x03, 200, 1); /* 3 credits */
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	raw_ack(&r, 202, 3);
	for (uint64_t i = 1; i <= 3; i++)
		pair_expect_wc(r.q->scq, i, RN_WC_SUCCESS);
	req_free(&r);
}

static void writes_need_no_credit_and_carry_the_limit_along(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	raw_nak(&r, 0x00, 199, 0);
	post(&r, 1, RN_WR_RDMA_WRITE, 4);
	post(&r, 2, RN_WR_RDMA_WRITE, 4);
	post(&r, 3, RN_WR_SEND, 4);
	post(&r, 4, RN_WR_SEND, 4);
	raw_expect(&r, RN_RC_WRITE_ONLY, 200);
	raw_expect(&r, RN_RC_WRITE_ONLY, 201);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	raw_expect_silence(&r);
	raw_ack(&r, 202, 3); /* no flow control after all */
	raw_expect(&r, RN_RC_SEND_ONLY, 203);
	req_free(&r);
}

static void expect_sends(struct raw *r, unsigned posted, unsigned leaving)
{
	for (uint64_t i = 1; i <= posted; i++)
		post(r, i, RN_WR_SEND, 4);
	for (unsigned i = 0; i < leaving; i++)
		raw_expect(r, RN_RC_SEND_ONLY, 200 + i);
	raw_expect_silence(r);
}

/* Overtaken on its way, it says what was so before. */
static void an_older_acknowledgement_takes_no_credits_back(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	raw_nak(&r, 0x02, 199, 0);
	raw_nak(&r, 0x00, 199, 0);
	expect_sends(&r, 4, 3);
	raw_free(&r);
}

/* Its new peer has not said anything yet. */
static void a_queue_pair_used_again_has_forgotten_its_credits(void **state)
{
	struct raw r = req_new(NULL);
	const struct rn_qp_attr attr = r.q->qp->attr;

	(void)state;
	raw_nak(&r, 0x00, 199, 0);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RESET), 0);
	pair_modify_until(r.q, &attr, RN_QPS_RTS);
	expect_sends(&r, 4, 4);
	raw_free(&r);
}

static void a_local_error_stays_one_when_its_cause_goes(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 100);
	rn_dev_remove_mr(r.p->dev[0], &r.mr->mr);
	post(&r, 2, RN_WR_SEND, 100);
	rn_dev_add_mr(r.p->dev[0], &r.mr->mr);
	post(&r, 3, RN_WR_SEND, 100);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	raw_ack(&r, 200, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_LOC_PROT_ERR);
	req_free(&r);
}

static void without_notification_draining_is_silent(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_event ev;

	(void)state;
	post(&r, 1, RN_WR_SEND, 100);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_SQD), 0);
	raw_ack(&r, 200, 1);
	assert_false(r.q->qp->req.draining);
	assert_false(pair_next_event(r.p, &ev));
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_lkey_fails_before_anything_leaves),
		cmocka_unit_test(a_local_error_waits_for_older_requests),
		cmocka_unit_test(
			an_older_request_is_sent_again_while_a_local_error_waits),
		cmocka_unit_test(memory_that_goes_in_the_middle_of_a_message_fails_it),
		cmocka_unit_test(invalidating_a_region_is_an_error_in_its_turn),
		cmocka_unit_test(err_flushes_in_order_and_nothing_leaves_any_more),
		cmocka_unit_test(sqd_finishes_what_was_started_and_tells),
		cmocka_unit_test(an_idle_queue_is_drained_at_once),
		cmocka_unit_test(a_message_that_the_window_cut_is_finished_in_sqd),
		cmocka_unit_test(credits_limit_sends_once_the_peer_advertises_them),
		cmocka_unit_test(writes_need_no_credit_and_carry_the_limit_along),
		cmocka_unit_test(an_older_acknowledgement_takes_no_credits_back),
		cmocka_unit_test(a_queue_pair_used_again_has_forgotten_its_credits),
		cmocka_unit_test(a_local_error_stays_one_when_its_cause_goes),
		cmocka_unit_test(without_notification_draining_is_silent),
	};

	return cmocka_run_group_tests_name("send_queue", tests, NULL, NULL);
}
