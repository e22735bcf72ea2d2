/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fail.c - queue pairs and completion queues that fail by order. */
#include "rocin/queue_pair.h"

#include "tests/kit/device/raw.h"
#include "transport/qp/qp.h"

static void expect_nothing(struct raw *r)
{
	struct rn_event ev;

	assert_false(pair_next_event(r->p, &ev));
	pair_expect_no_wc(r->q->scq);
	pair_expect_no_wc(r->q->rcq);
	raw_expect_silence(r);
}

static void fail_qp(struct raw *r)
{
	rn_qp_fail(r->p->dev[0], r->q->qp, r->p->net->now);
	pair_flush(r->p);
}

static void a_qp_fails_once_and_flushes_what_it_has(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	pair_post_recv_mr(r.q, 1, r.mr, 0, 100);
	pair_post_send(r.q, &(struct rn_send_wr){ .wr_id = 2, .opcode = RN_WR_SEND });
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	fail_qp(&r);
	assert_int_equal(rn_qp_state(r.q->qp), RN_QPS_ERR);
	pair_expect_async(r.q, RN_EVENT_QP_FATAL);
	pair_expect_wc(r.q->scq, 2, RN_WC_WR_FLUSH_ERR);
	pair_expect_wc(r.q->rcq, 1, RN_WC_WR_FLUSH_ERR);
	expect_nothing(&r);
	fail_qp(&r);
	expect_nothing(&r);
	raw_free(&r);
}

static void a_qp_that_was_reset_does_not_fail(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RESET), 0);
	fail_qp(&r);
	assert_int_equal(rn_qp_state(r.q->qp), RN_QPS_RESET);
	expect_nothing(&r);
	raw_free(&r);
}

static void overrun(struct raw *r, bool of_send_cq)
{
	rn_qp_overrun(r->p->dev[0], r->q->qp, r->p->net->now, of_send_cq);
	pair_flush(r->p);
}

static void a_cq_overruns_once_and_takes_its_qps_with_it(void **state)
{
	(void)state;
	for (unsigned of_send_cq = 0; of_send_cq < 2; of_send_cq++) {
		struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
		struct pair_cq *cq = of_send_cq ? r.q->scq : r.q->rcq;
		struct rn_event ev;

		overrun(&r, of_send_cq);
		assert_int_equal(rn_qp_state(r.q->qp), RN_QPS_ERR);
		assert_int_equal(pair_stat(r.p, 0, RN_STAT_CQ_OVERRUN), 1);
		assert_true(pair_next_event(r.p, &ev));
		assert_int_equal(ev.async, RN_EVENT_CQ_ERR);
		assert_ptr_equal(ev.cq, &cq->cq);
		pair_expect_async(r.q, RN_EVENT_QP_FATAL);
		expect_nothing(&r);
		overrun(&r, of_send_cq);
		assert_int_equal(pair_stat(r.p, 0, RN_STAT_CQ_OVERRUN), 1);
		expect_nothing(&r);
		raw_free(&r);
	}
}

static void a_qp_without_that_cq_is_left_alone(void **state)
{
	struct pair *p = pair_new(&(struct pair_cfg){ .devices = 1 });
	struct pair_qp *q = pair_qp_new(p, 0, RN_QPT_XRC_SEND);
	struct rn_event ev;

	(void)state;
	rn_qp_overrun(p->dev[0], q->qp, p->net->now, false);
	assert_int_equal(pair_stat(p, 0, RN_STAT_CQ_OVERRUN), 0);
	assert_false(pair_next_event(p, &ev));
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_qp_fails_once_and_flushes_what_it_has),
		cmocka_unit_test(a_qp_that_was_reset_does_not_fail),
		cmocka_unit_test(a_cq_overruns_once_and_takes_its_qps_with_it),
		cmocka_unit_test(a_qp_without_that_cq_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
