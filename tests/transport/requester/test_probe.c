/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_probe.c - packets lost where nobody will say so. */
#include "rocin/transport.h"
#include "tests/kit/device/raw.h"
#include "transport/qp/qp.h"

/* Timeout code 20: the local ACK timer is out of the way. */
static void slow_timer(struct rn_qp_attr *a)
{
	a->timeout = 20;
}

static struct raw two_sends(void)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, slow_timer);

	for (uint64_t i = 0; i < 2; i++)
		pair_post_send(r.q, &(struct rn_send_wr){ .wr_id = i,
							  .opcode = RN_WR_SEND,
							  .flags = RN_SEND_SIGNALED });
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	return r;
}

/* Both arrive, and nothing more is said. */
static void end_acknowledged(struct raw *r)
{
	raw_ack(r, 201, 2);
	pair_expect_wc(r->q->scq, 0, RN_WC_SUCCESS);
	pair_expect_wc(r->q->scq, 1, RN_WC_SUCCESS);
	pair_run_until_quiet(r->p);
	raw_expect_silence(r);
	raw_free(r);
}

static unsigned count_packets(struct raw *r)
{
	struct raw_packet k;
	unsigned n = 0;

	while (raw_next(r, &k))
		n++;
	return n;
}

/* While the local ACK timer of 4 T, 17.2 s, runs. */
static void silence_alone_is_probed_seldom(void **state)
{
	static const unsigned ms[] = { 100, 200, 400, 800, 1600 };
	struct raw r = two_sends();

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(ms); i++) {
		pair_run_for(r.p, RN_MSEC(ms[i]) - 1);
		raw_expect_silence(&r);
		pair_run_for(r.p, 1);
		raw_expect(&r, RN_RC_SEND_ONLY, 200);
		raw_expect_silence(&r);
	}
	assert_int_equal(r.q->qp->req.retry_left, 3);
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_LOCAL_ACK_TIMEOUT), 0);
	end_acknowledged(&r);
}

static void post(struct raw *r, uint32_t psn)
{
	pair_post_send(r->q, &(struct rn_send_wr){ .wr_id = psn,
						   .opcode = RN_WR_SEND,
						   .flags = RN_SEND_SIGNALED });
	raw_expect(r, RN_RC_SEND_ONLY, psn);
}

static void complete(struct raw *r, uint32_t psn)
{
	raw_ack(r, psn, psn - 199);
	pair_expect_wc(r->q->scq, psn, RN_WC_SUCCESS);
}

/* Long after it, so that nothing of the watch is left. */
static void lost_nak_is_missed_soon_where_something_was_lost_before(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, slow_timer);

	(void)state;
	post(&r, 200);
	raw_nak(&r, 0x60, 200, 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	complete(&r, 200);
	pair_run_for(r.p, RN_MSEC(5000));
	raw_expect_silence(&r);

	post(&r, 201); /* lost */
	post(&r, 202); /* what it is answered with, too */
	pair_run_for(r.p, RN_USEC(1999));
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_USEC(1));
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	complete(&r, 201);
	complete(&r, 202);
	pair_run_until_quiet(r.p);
	raw_expect_silence(&r);
	raw_free(&r);
}

/* Our responder has seen a gap: the way loses. */
static void so_it_is_where_the_peer_s_packets_are_lost(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, slow_timer);

	(void)state;
	raw_send(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101, .ack_req = true));
	raw_expect_nak(&r, 0x60, 100, 0);
	post(&r, 200);
	pair_run_for(r.p, RN_MSEC(2));
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	complete(&r, 200);
	raw_free(&r);
}

static void silence_after_a_nak_is_probed(void **state)
{
	struct raw r = two_sends();

	(void)state;
	raw_nak(&r, 0x60, 201, 1);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	pair_run_for(r.p, RN_USEC(1999));
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_USEC(1));
	assert_true(raw_expect(&r, RN_RC_SEND_ONLY, 201)->ack_req);
	raw_expect_silence(&r);
	end_acknowledged(&r);
}

static void probing_ends_and_costs_no_retry(void **state)
{
	struct raw r = two_sends();
	unsigned probes;

	(void)state;
	raw_nak(&r, 0x60, 200, 0);
	assert_int_equal(count_packets(&r), 2);
	pair_run_for(r.p, RN_MSEC(1000));
	probes = count_packets(&r) / 2;
	assert_in_range(probes, 5, 20);
	assert_int_equal(r.q->qp->req.retry_left, 2); /* of 3: the NAK cost one */
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_LOCAL_ACK_TIMEOUT), 0);
	pair_run_for(r.p, RN_MSEC(16000));
	raw_expect_silence(&r);

	/* The local ACK timer has run from the NAK on, as if nothing had happened. */
	pair_run_for(r.p, RN_MSEC(300));
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_LOCAL_ACK_TIMEOUT), 1);
	raw_free(&r);
}

static void a_host_that_stood_still_catches_up_with_a_rate_and_a_probe(void **state)
{
	struct raw r = two_sends();
	const struct rn_send_wr wr = { .opcode = RN_WR_SEND };
	struct rn_dev *dev = r.p->dev[0];

	(void)state;
	raw_nak(&r, 0x60, 201, 1);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	rn_qp_pace(r.q->qp, r.p->net->now, 100, 1);
	pair_post_send(r.q, &wr);
	pair_post_send(r.q, &wr);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	raw_expect_silence(&r); /* 203 waits for its time */
	r.p->net->now += RN_MSEC(10);
	rn_dev_expire(dev, r.p->net->now);
	assert_true(rn_dev_deadline(dev) > r.p->net->now);
	pair_run_for(r.p, RN_USEC(1));
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_free(&r);
}

static struct raw probed_once(void)
{
	struct raw r = two_sends();

	pair_run_for(r.p, RN_MSEC(100));
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	return r;
}

/* What follows goes as if nothing had happened. */
static void who_was_only_slow_is_not_suspected(void **state)
{
	struct raw r = probed_once();

	(void)state;
	raw_ack(&r, 201, 2);
	assert_int_equal(r.q->qp->peer->suspicion, 0);
	end_acknowledged(&r);
}

static void nor_is_who_answers_long_after_being_asked(void **state)
{
	struct raw r = probed_once();

	(void)state;
	pair_run_for(r.p, RN_MSEC(50));
	raw_ack(&r, 200, 1);
	assert_int_equal(r.q->qp->peer->suspicion, 0);
	/* The next answer may be on its way. */
	pair_run_for(r.p, RN_MSEC(1));
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_MSEC(400));
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	end_acknowledged(&r);
}

/* One by one, and then what was sent again is answered: the rest had been lost. */
static void nothing_is_sent_again_while_late_answers_come(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, slow_timer);

	(void)state;
	for (uint32_t psn = 200; psn < 208; psn++)
		post(&r, psn);
	pair_run_for(r.p, RN_MSEC(100));
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_MSEC(50));
	for (uint32_t psn = 200; psn < 206; psn++) {
		complete(&r, psn);
		pair_run_for(r.p, RN_MSEC(1));
		raw_expect_silence(&r);
	}
	raw_ack(&r, 205, 6);
	raw_expect(&r, RN_RC_SEND_ONLY, 206);
	raw_expect(&r, RN_RC_SEND_ONLY, 207);
	complete(&r, 206);
	complete(&r, 207);
	pair_run_until_quiet(r.p);
	raw_expect_silence(&r);
	raw_free(&r);
}

/* What had been lost is there now, and what had been behind it is not. */
static void an_answer_at_once_for_what_was_sent_again_tells_of_a_loss(void **state)
{
	struct raw r = probed_once();

	(void)state;
	pair_run_for(r.p, RN_USEC(100));
	raw_ack(&r, 200, 1);
	assert_true(r.q->qp->peer->suspicion > 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	end_acknowledged(&r);
}

/* At once is what takes no longer than the shortest round trip, of 60 ms here. */
static void how_soon_at_once_is_hangs_on_the_way(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, slow_timer);

	(void)state;
	post(&r, 200);
	pair_run_for(r.p, RN_MSEC(60));
	complete(&r, 200);
	post(&r, 201); /* lost */
	post(&r, 202);
	pair_run_for(r.p, RN_MSEC(16 * 60));
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_MSEC(60));
	raw_ack(&r, 201, 2);
	assert_true(r.q->qp->peer->suspicion > 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	raw_ack(&r, 202, 3);
	pair_expect_wc(r.q->scq, 201, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 202, RN_WC_SUCCESS);
	raw_free(&r);
}

static void other_qps_to_the_same_process_are_watched_too(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, slow_timer), s = r;
	struct rn_send_wr wr = { .opcode = RN_WR_SEND };
	struct rn_qp_attr attr;

	(void)state;
	s.q = pair_qp_new(r.p, 0, RN_QPT_RC);
	attr = pair_attr(s.q, 1, RAW_PEER_QPN + 0x100);
	attr.sq_psn = 700;
	slow_timer(&attr);
	pair_modify_until(s.q, &attr, RN_QPS_RTS);
	pair_post_send(r.q, &wr);
	pair_post_send(s.q, &wr);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect(&r, RN_RC_SEND_ONLY, 700);
	raw_nak(&r, 0x60, 200, 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_ack(&r, 200, 1);
	pair_run_for(r.p, RN_MSEC(2));
	raw_expect(&r, RN_RC_SEND_ONLY, 700);
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_alone_is_probed_seldom),
		cmocka_unit_test(lost_nak_is_missed_soon_where_something_was_lost_before),
		cmocka_unit_test(so_it_is_where_the_peer_s_packets_are_lost),
		cmocka_unit_test(silence_after_a_nak_is_probed),
		cmocka_unit_test(probing_ends_and_costs_no_retry),
		cmocka_unit_test(
			a_host_that_stood_still_catches_up_with_a_rate_and_a_probe),
		cmocka_unit_test(who_was_only_slow_is_not_suspected),
		cmocka_unit_test(nor_is_who_answers_long_after_being_asked),
		cmocka_unit_test(nothing_is_sent_again_while_late_answers_come),
		cmocka_unit_test(
			an_answer_at_once_for_what_was_sent_again_tells_of_a_loss),
		cmocka_unit_test(how_soon_at_once_is_hangs_on_the_way),
		cmocka_unit_test(other_qps_to_the_same_process_are_watched_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
