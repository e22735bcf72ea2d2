/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_retry_account.c - what a retry is charged for: one loss or one timeout, once. */
#include "rocin/transport.h"
#include "tests/kit/device/req_kit.h"

enum {
	PACKETS = 40, /* of the READ, from PSN 200 on */
	LOST = 203,   /* its response is */
	LAST = 200 + PACKETS - 1,
};

/* Timeout code 20 (T 4.3 s): the local ACK timer is out of the way. */
static void slow_timer(struct rn_qp_attr *a)
{
	a->timeout = 20;
}

struct read {
	struct raw r;
	struct pair_mr *into;
	unsigned requests; /* that have left, for the missing packet */
};

/* One READ request leaves. */
static struct read begin(void (*change)(struct rn_qp_attr *))
{
	struct read t = { .r = req_new(change) };

	t.into = pair_mr_new(t.r.p, 0, PACKETS * 1024, RN_ACCESS_LOCAL_WRITE);
	post_sge(&t.r, 1, RN_WR_RDMA_READ, pair_sge(t.into, 0, PACKETS * 1024),
		 RN_SEND_SIGNALED);
	raw_expect(&t.r, RN_RC_READ_REQUEST, 200);
	raw_expect_silence(&t.r);
	return t;
}

static void count_requests(struct read *t)
{
	struct raw_packet k;

	while (raw_next(&t->r, &k)) {
		assert_int_equal(k.op, RN_RC_READ_REQUEST);
		assert_int_equal(k.psn, LOST);
		assert_int_equal(k.reth.dma_len, (PACKETS - 3) * 1024);
		t->requests++;
	}
}

/* Responses [@psn, @last] of the request that was sent first, one each @apart. */
static void original(struct read *t, uint32_t psn, uint32_t last, rn_ns apart)
{
	for (; psn <= last; psn++) {
		uint8_t op = psn == 200	   ? RN_RC_READ_RESPONSE_FIRST
			     : psn == LAST ? RN_RC_READ_RESPONSE_LAST
					   : RN_RC_READ_RESPONSE_MIDDLE;

		if (psn != LOST)
			send_read_response(&t->r, op, psn, 1024);
		pair_run_for(t->r.p, apart);
		count_requests(t);
	}
}

/* The answer to the request for the rest. */
static void end(struct read *t)
{
	send_read_response(&t->r, RN_RC_READ_RESPONSE_FIRST, LOST, 1024);
	for (uint32_t psn = LOST + 1; psn < LAST; psn++)
		send_read_response(&t->r, RN_RC_READ_RESPONSE_MIDDLE, psn, 1024);
	send_read_response(&t->r, RN_RC_READ_RESPONSE_LAST, LAST, 1024);
	pair_expect_wc(t->r.q->scq, 1, RN_WC_SUCCESS);
	for (uint32_t i = 0; i < PACKETS * 1024; i++)
		assert_int_equal(t->into->data[i], (uint8_t)(200 + i / 1024 + i % 1024));
	assert_int_equal(t->r.q->qp->req.retry_left, 3);
	req_free(&t->r);
}

/* What the account says, by what each retry was charged for. */
static void expect_account(const struct raw *r, uint64_t timeouts, uint64_t naks,
			   uint64_t implied)
{
	struct rn_retries retries;

	rn_qp_retries(r->q->qp, &retries);
	assert_int_equal(retries.timeouts, timeouts);
	assert_int_equal(retries.naks, naks);
	assert_int_equal(retries.implied, implied);
}

/* A queue of 185 ms in front of us: what was asked for first comes first. */
static void the_rest_of_an_answer_with_a_gap_costs_one_retry(void **state)
{
	struct read t = begin(slow_timer);

	(void)state;
	original(&t, 200, LAST, RN_MSEC(5));
	expect_stat(&t.r, RN_STAT_IMPLIED_NAK_SEQ_ERR, 1);
	assert_int_equal(t.r.q->qp->req.retry_left, 2);
	assert_int_equal(t.requests, 1);
	expect_account(&t.r, 0, 0, 1);
	end(&t);
}

static void the_account_names_what_each_retry_was_for(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_sends(&r, 2);
	expect_account(&r, 0, 0, 0);
	raw_nak(&r, 0x60, 200, 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	expect_account(&r, 0, 1, 0);
	raw_ack(&r, 200, 1);
	while (pair_stat(r.p, 0, RN_STAT_LOCAL_ACK_TIMEOUT) == 0)
		pair_run_for(r.p, RN_MSEC(1));
	expect_account(&r, 1, 1, 0);
	raw_ack(&r, 201, 2);
	expect_successes(&r, 200, 201);
	raw_free(&r);
}

static void a_new_connection_has_an_account_of_its_own(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_qp_attr attr = r.q->qp->attr;

	(void)state;
	post_sends(&r, 1);
	raw_nak(&r, 0x60, 200, 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	expect_account(&r, 0, 1, 0);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RESET), 0);
	pair_modify_until(r.q, &attr, RN_QPS_RTS);
	expect_account(&r, 0, 0, 0);
	raw_free(&r);
}

/* Each pause lets the probes of a close watch go, which ask again for nothing. */
static void probes_in_the_gap_cost_none(void **state)
{
	struct read t = begin(slow_timer);

	(void)state;
	original(&t, 200, 210, 0);
	assert_int_equal(t.requests, 1);
	for (uint32_t psn = 211; psn < LAST; psn += 7) {
		pair_run_for(t.r.p, RN_MSEC(20));
		count_requests(&t);
		original(&t, psn, psn, 0);
	}
	expect_stat(&t.r, RN_STAT_IMPLIED_NAK_SEQ_ERR, 1);
	expect_stat(&t.r, RN_STAT_LOCAL_ACK_TIMEOUT, 0);
	assert_int_equal(t.r.q->qp->req.retry_left, 2);
	end(&t);
}

/* The gap, and the timer: each is charged once, whatever else comes of the first answer.
 */
static void a_timeout_in_the_gap_does_not_open_it_again(void **state)
{
	struct read t = begin(NULL);

	(void)state;
	original(&t, 200, 210, 0);
	while (pair_stat(t.r.p, 0, RN_STAT_LOCAL_ACK_TIMEOUT) == 0)
		pair_run_for(t.r.p, RN_MSEC(1));
	original(&t, 211, LAST, RN_USEC(1));
	expect_stat(&t.r, RN_STAT_LOCAL_ACK_TIMEOUT, 1);
	expect_stat(&t.r, RN_STAT_IMPLIED_NAK_SEQ_ERR, 1);
	assert_int_equal(t.r.q->qp->req.retry_left, 1);
	end(&t);
}

/* As long as newer responses come, the request for the rest waits behind them. */
static void newer_responses_keep_the_timer_from_running_out(void **state)
{
	struct read t = begin(NULL);

	(void)state;
	original(&t, 200, LAST, ACK_TIMEOUT / 3);
	expect_stat(&t.r, RN_STAT_LOCAL_ACK_TIMEOUT, 0);
	assert_int_equal(t.r.q->qp->req.retry_left, 2);
	assert_int_equal(t.requests, 1);
	end(&t);
}

/* A peer that says the same for ever is not waited for for ever. */
static void what_was_heard_before_is_no_news(void **state)
{
	struct read t = begin(NULL);

	(void)state;
	original(&t, 200, 210, 0);
	for (unsigned i = 0; i < 2000 && rn_qp_state(t.r.q->qp) == RN_QPS_RTS; i++) {
		send_read_response(&t.r, RN_RC_READ_RESPONSE_MIDDLE, 208, 1024);
		send_read_response(&t.r, RN_RC_READ_RESPONSE_MIDDLE, 209, 1024);
		pair_run_for(t.r.p, RN_MSEC(1));
		count_requests(&t);
	}
	pair_expect_wc(t.r.q->scq, 1, RN_WC_RETRY_EXC_ERR);
	expect_stat(&t.r, RN_STAT_IMPLIED_NAK_SEQ_ERR, 1);
	expect_stat(&t.r, RN_STAT_LOCAL_ACK_TIMEOUT, 3);
	assert_true(t.requests >= 3);
	raw_free(&t.r);
}

/* Filled, and then something else is lost: that is another loss. */
/* The peer acknowledges the PSN of the READ that is at hand, which only responses do: it
 * shows a loss, and is no answer behind one that says how far apart those come.
 */
static void an_ack_of_the_read_at_hand_is_no_answer_behind_it(void **state)
{
	struct raw r = req_new(slow_timer);
	struct pair_mr *into = pair_mr_new(r.p, 0, 1024, RN_ACCESS_LOCAL_WRITE);

	(void)state;
	post_sends(&r, 1);
	post_sge(&r, 201, RN_WR_RDMA_READ, pair_sge(into, 0, 1024), RN_SEND_SIGNALED);
	raw_expect(&r, RN_RC_READ_REQUEST, 201);
	raw_ack(&r, 200, 1);
	pair_run_for(r.p, RN_MSEC(50));
	raw_ack(&r, 201, 2);
	raw_expect(&r, RN_RC_READ_REQUEST, 201);
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_MSEC(2));
	raw_expect(&r, RN_RC_READ_REQUEST, 201);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 201, 1024);
	expect_successes(&r, 200, 201);
	req_free(&r);
}

static void a_loss_in_the_second_answer_is_charged(void **state)
{
	struct read t = begin(slow_timer);

	(void)state;
	original(&t, 200, LAST, 0);
	assert_int_equal(t.requests, 1);
	send_read_response(&t.r, RN_RC_READ_RESPONSE_FIRST, LOST, 1024);
	assert_int_equal(t.r.q->qp->req.retry_left, 3);
	send_read_response(&t.r, RN_RC_READ_RESPONSE_MIDDLE, LOST + 2, 1024);
	raw_expect(&t.r, RN_RC_READ_REQUEST, LOST + 1);
	expect_stat(&t.r, RN_STAT_IMPLIED_NAK_SEQ_ERR, 2);
	assert_int_equal(t.r.q->qp->req.retry_left, 2);
	raw_free(&t.r);
}

/* ------------------------------------------ a peer of which more is known than silence
 */
/* Timers run out for so long; at each the peer has read @taken bytes of what lies before
 * it, or @step more than the last time.
 */
static void hold(struct raw *r, rn_ns span, uint64_t *taken, uint64_t step)
{
	const struct rn_qp *qp = r->q->qp;
	struct rn_dev *dev = r->p->dev[0];
	rn_ns end = r->p->net->now + span;

	while (rn_dev_deadline(dev) <= end && rn_qp_state(qp) == RN_QPS_RTS) {
		r->p->net->now = rn_dev_deadline(dev);
		rn_dev_peer_holds(dev, r->p->net->now, &qp->attr.av.dgid,
				  (uint8_t)qp->attr.dest_qpn, *taken);
		*taken += step;
		rn_dev_expire(dev, r->p->net->now);
		pair_flush(r->p);
	}
}

static void who_holds_what_was_sent_is_waited_for(void **state)
{
	struct raw r = req_new(NULL);
	uint64_t taken = 5;

	(void)state;
	post_sends(&r, 3);
	hold(&r, 100 * ACK_TIMEOUT, &taken, 0);
	raw_expect_silence(&r);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 0);
	assert_int_equal(r.q->qp->req.retry_left, 3);
	raw_ack(&r, 202, 3);
	expect_successes(&r, 200, 202);
	req_free(&r);
}

static void no_retries(struct rn_qp_attr *a)
{
	a->retry_cnt = 0;
}

/* What the first timeout would end is not charged either. */
static void who_holds_is_waited_for_by_who_has_no_retry(void **state)
{
	struct raw r = req_new(no_retries);
	uint64_t taken = 5;

	(void)state;
	post_sends(&r, 1);
	hold(&r, 100 * ACK_TIMEOUT, &taken, 0);
	raw_expect_silence(&r);
	raw_ack(&r, 200, 1);
	expect_successes(&r, 200, 200);
	req_free(&r);
}

/* It has answered in between, and so has read: where it stands now is seen anew. */
static void who_answered_and_stands_again_is_waited_for_again(void **state)
{
	struct raw r = req_new(NULL);
	uint64_t taken = 5;

	(void)state;
	post_sends(&r, 2);
	hold(&r, 2 * ACK_TIMEOUT, &taken, 0);
	raw_ack(&r, 200, 1);
	taken = 9;
	hold(&r, 10 * ACK_TIMEOUT, &taken, 0);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 0);
	raw_ack(&r, 201, 2);
	expect_successes(&r, 200, 201);
	req_free(&r);
}

/* Nor is it probed, though the timer is far. */
static void who_holds_is_not_probed(void **state)
{
	struct raw r = req_new(slow_timer);
	uint64_t taken = 5;

	(void)state;
	post_sends(&r, 3);
	hold(&r, RN_MSEC(60000), &taken, 0);
	raw_expect_silence(&r);
	raw_ack(&r, 202, 3);
	expect_successes(&r, 200, 202);
	req_free(&r);
}

/* It has died: nobody says any more that it holds anything. */
static void who_held_and_has_gone_is_given_up(void **state)
{
	struct raw r = req_new(NULL);
	uint64_t taken = 5;

	(void)state;
	post_sends(&r, 1);
	hold(&r, 10 * ACK_TIMEOUT, &taken, 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.q->scq, 200, RN_WC_RETRY_EXC_ERR);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 4);
	raw_free(&r);
}

/* The process lives and reads, and the queue pair is gone. */
static void who_reads_on_and_does_not_answer_is_given_up(void **state)
{
	struct raw r = req_new(NULL);
	uint64_t taken = 5;

	(void)state;
	post_sends(&r, 1);
	hold(&r, 12 * ACK_TIMEOUT, &taken, 64);
	pair_expect_wc(r.q->scq, 200, RN_WC_RETRY_EXC_ERR);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 4);
	raw_free(&r);
}

/* Another process of the same address, or another moment. */
static void only_the_peer_counts_and_only_now(void **state)
{
	struct raw r = req_new(NULL);
	const struct rn_qp_attr *attr = &r.q->qp->attr;
	struct rn_dev *dev = r.p->dev[0];

	(void)state;
	post_sends(&r, 1);
	r.p->net->now = rn_dev_deadline(dev);
	rn_dev_peer_holds(dev, r.p->net->now, &attr->av.dgid,
			  (uint8_t)(attr->dest_qpn + 1), 5);
	rn_dev_peer_holds(dev, r.p->net->now, &r.p->gid[0], (uint8_t)attr->dest_qpn, 5);
	rn_dev_peer_holds(dev, r.p->net->now - 1, &attr->av.dgid, (uint8_t)attr->dest_qpn,
			  5);
	rn_dev_expire(dev, r.p->net->now);
	pair_flush(r.p);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	expect_stat(&r, RN_STAT_LOCAL_ACK_TIMEOUT, 1);
	raw_ack(&r, 200, 1);
	expect_successes(&r, 200, 200);
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rest_of_an_answer_with_a_gap_costs_one_retry),
		cmocka_unit_test(the_account_names_what_each_retry_was_for),
		cmocka_unit_test(a_new_connection_has_an_account_of_its_own),
		cmocka_unit_test(probes_in_the_gap_cost_none),
		cmocka_unit_test(a_timeout_in_the_gap_does_not_open_it_again),
		cmocka_unit_test(newer_responses_keep_the_timer_from_running_out),
		cmocka_unit_test(what_was_heard_before_is_no_news),
		cmocka_unit_test(an_ack_of_the_read_at_hand_is_no_answer_behind_it),
		cmocka_unit_test(a_loss_in_the_second_answer_is_charged),
		cmocka_unit_test(who_holds_what_was_sent_is_waited_for),
		cmocka_unit_test(who_holds_is_waited_for_by_who_has_no_retry),
		cmocka_unit_test(who_answered_and_stands_again_is_waited_for_again),
		cmocka_unit_test(who_holds_is_not_probed),
		cmocka_unit_test(who_held_and_has_gone_is_given_up),
		cmocka_unit_test(who_reads_on_and_does_not_answer_is_given_up),
		cmocka_unit_test(only_the_peer_counts_and_only_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
