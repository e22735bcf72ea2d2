/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cq.c - completion entries, arming, overflow, events. */
#include "rocin/transport.h"
#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

struct fixture {
	struct pair *p;
	struct pair_cq *cq;
	struct pair_qp *q;
};

static struct fixture fixture_new(uint32_t capacity)
{
	struct fixture f = { .p = pair_new(&(struct pair_cfg){ .devices = 1 }) };

	f.cq = pair_cq_new(f.p, 0, capacity);
	f.q = pair_qp_new_with(f.p, 0,
			       &(struct rn_qp_init){ .type = RN_QPT_UD,
						     .send_cq = &f.cq->cq,
						     .recv_cq = &f.cq->cq });
	return f;
}

static void push(struct fixture *f, uint64_t wr_id, enum rn_wc_status status,
		 bool solicited)
{
	struct rn_completion c = { .wr_id = wr_id,
				   .status = status,
				   .opcode = RN_WC_RECV,
				   .solicited = solicited };

	rn_cq_push(f->p->dev[0], &f->cq->cq, f->q->qp, f->p->net->now, &c);
}

static unsigned count_completion_events(struct fixture *f)
{
	struct rn_event ev;
	unsigned n = 0;

	while (pair_next_event(f->p, &ev)) {
		assert_true(ev.completion);
		assert_ptr_equal(ev.cq, &f->cq->cq);
		n++;
	}
	return n;
}

static void cqe_carries_what_was_pushed(void **state)
{
	struct fixture f = fixture_new(4);
	struct rn_completion c = {
		.wr_id = 0x123456789abcdef0,
		.status = RN_WC_SUCCESS,
		.opcode = RN_WC_RECV_RDMA_WITH_IMM,
		.flags = RN_WC_WITH_IMM | RN_WC_GRH,
		.byte_len = 77,
		.imm = 0xdeadbeef,
		.src_qpn = 0xabcdef,
		.sgid_index = 3,
		.sl = 5,
	};
	struct rn_cqe e;

	(void)state;
	rn_cq_push(f.p->dev[0], &f.cq->cq, f.q->qp, f.p->net->now, &c);
	assert_true(pair_poll(f.cq, &e));
	assert_int_equal(e.wr_id, c.wr_id);
	assert_int_equal(e.timestamp_ns, f.p->net->now);
	assert_int_equal(e.byte_len, 77);
	assert_int_equal(e.imm, 0xdeadbeef);
	assert_int_equal(e.qpn, f.q->qpn);
	assert_int_equal(e.src_qpn, 0xabcdef);
	assert_int_equal(e.sgid_index, 3);
	assert_int_equal(e.sl, 5);
	assert_int_equal(pair_cqe_opcode(&e), RN_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(pair_cqe_flags(&e), RN_WC_WITH_IMM | RN_WC_GRH);
	assert_int_equal(pair_cqe_status(&e), RN_WC_SUCCESS);
	pair_free(f.p);
}

static void ring_is_reused_lap_after_lap(void **state)
{
	struct fixture f = fixture_new(4);

	(void)state;
	for (uint64_t i = 0; i < 23; i++) {
		push(&f, i, RN_WC_SUCCESS, false);
		if (i >= 3)
			pair_expect_wc(f.cq, i - 3, RN_WC_SUCCESS);
	}
	for (uint64_t i = 20; i < 23; i++)
		pair_expect_wc(f.cq, i, RN_WC_SUCCESS);
	pair_expect_no_wc(f.cq);
	pair_free(f.p);
}

static void ring_of_one_entry_works(void **state)
{
	struct fixture f = fixture_new(1);

	(void)state;
	for (uint64_t i = 0; i < 5; i++) {
		pair_expect_no_wc(f.cq);
		push(&f, i, RN_WC_SUCCESS, false);
		pair_expect_wc(f.cq, i, RN_WC_SUCCESS);
	}
	pair_free(f.p);
}

static void unarmed_cq_raises_no_event(void **state)
{
	struct fixture f = fixture_new(4);

	(void)state;
	push(&f, 1, RN_WC_SUCCESS, true);
	assert_int_equal(count_completion_events(&f), 0);
	pair_free(f.p);
}

static void cqe_present_before_arming_raises_no_event(void **state)
{
	struct fixture f = fixture_new(4);

	(void)state;
	push(&f, 1, RN_WC_SUCCESS, false);
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	assert_int_equal(count_completion_events(&f), 0);
	push(&f, 2, RN_WC_SUCCESS, false);
	assert_int_equal(count_completion_events(&f), 1);
	pair_free(f.p);
}

static void one_arming_raises_one_event(void **state)
{
	struct fixture f = fixture_new(4);

	(void)state;
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	push(&f, 1, RN_WC_SUCCESS, false);
	push(&f, 2, RN_WC_SUCCESS, true);
	assert_int_equal(count_completion_events(&f), 1);
	pair_free(f.p);
}

/* tests/rules.md K4, K5. */
static void solicited_arming_fires_for_what(void **state)
{
	static const struct {
		enum rn_cq_arm first, second;
		enum rn_wc_status status;
		bool solicited;
		unsigned events;
	} rows[] = {
		{ RN_CQ_ARM_SOLICITED, RN_CQ_ARM_SOLICITED, RN_WC_SUCCESS, false, 0 },
		{ RN_CQ_ARM_SOLICITED, RN_CQ_ARM_SOLICITED, RN_WC_SUCCESS, true, 1 },
		{ RN_CQ_ARM_SOLICITED, RN_CQ_ARM_SOLICITED, RN_WC_WR_FLUSH_ERR, false,
		  1 },
		{ RN_CQ_ARM_SOLICITED, RN_CQ_ARM_NEXT, RN_WC_SUCCESS, false, 1 },
		{ RN_CQ_ARM_NEXT, RN_CQ_ARM_SOLICITED, RN_WC_SUCCESS, false, 1 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct fixture f = fixture_new(4);

		rn_cq_arm(&f.cq->cq, rows[i].first);
		rn_cq_arm(&f.cq->cq, rows[i].second);
		push(&f, 1, rows[i].status, rows[i].solicited);
		assert_int_equal(count_completion_events(&f), rows[i].events);
		pair_free(f.p);
	}
}

static void unsolicited_cqe_leaves_solicited_arming_in_force(void **state)
{
	struct fixture f = fixture_new(4);

	(void)state;
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_SOLICITED);
	push(&f, 1, RN_WC_SUCCESS, false);
	assert_int_equal(count_completion_events(&f), 0);
	push(&f, 2, RN_WC_SUCCESS, true);
	assert_int_equal(count_completion_events(&f), 1);
	pair_free(f.p);
}

/* tests/rules.md K3: the CQE that does not fit is lost, those before it are not touched.
 */
static void overflow_loses_the_cqe_and_fails_every_qp_of_the_cq(void **state)
{
	struct pair *p = pair_new(&(struct pair_cfg){ .devices = 1 });
	struct pair_cq *cq = pair_cq_new(p, 0, 2);
	struct pair_cq *other_cq = pair_cq_new(p, 0, 8);
	struct rn_qp_init init = { .type = RN_QPT_UC, .send_cq = &cq->cq };
	struct pair_qp *a = pair_qp_new_with(p, 0, &init),
		       *b = pair_qp_new_with(p, 0, &init);
	struct pair_qp *c = pair_qp_new_with(
		p, 0,
		&(struct rn_qp_init){ .type = RN_QPT_UC, .send_cq = &other_cq->cq });
	struct rn_qp_attr attr = pair_attr(a, 1, 0x99);
	struct rn_event ev;

	(void)state;
	pair_modify_until(a, &attr, RN_QPS_RTS);
	pair_modify_until(b, &attr, RN_QPS_INIT);
	pair_modify_until(c, &attr, RN_QPS_RTS);
	assert_int_equal(pair_post_recv(b, &(struct rn_recv_wr){ .wr_id = 50 }), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(
			pair_post_send(a,
				       &(struct rn_send_wr){ .wr_id = i,
							     .opcode = RN_WR_SEND,
							     .flags = RN_SEND_SIGNALED }),
			0);
	assert_true(pair_next_event(p, &ev));
	assert_false(ev.completion);
	assert_int_equal(ev.async, RN_EVENT_CQ_ERR);
	assert_ptr_equal(ev.cq, &cq->cq);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(pair_next_event(p, &ev));
		assert_int_equal(ev.async, RN_EVENT_QP_FATAL);
		assert_true(ev.qp == a->qp || ev.qp == b->qp);
	}
	assert_false(pair_next_event(p, &ev));
	assert_int_equal(rn_qp_state(a->qp), RN_QPS_ERR);
	assert_int_equal(rn_qp_state(b->qp), RN_QPS_ERR);
	assert_int_equal(rn_qp_state(c->qp), RN_QPS_RTS);
	pair_expect_wc(cq, 0, RN_WC_SUCCESS);
	pair_expect_wc(cq, 1, RN_WC_SUCCESS);
	pair_expect_no_wc(cq);
	pair_expect_wc(b->rcq, 50, RN_WC_WR_FLUSH_ERR);
	assert_int_equal(pair_stat(p, 0, RN_STAT_CQ_OVERRUN), 1);
	pair_free(p);
}

static void qp_that_meets_an_overrun_cq_later_fails_too(void **state)
{
	struct pair *p = pair_new(&(struct pair_cfg){ .devices = 1 });
	struct pair_cq *cq = pair_cq_new(p, 0, 1);
	struct pair_qp *a = pair_qp_new_with(
		p, 0, &(struct rn_qp_init){ .type = RN_QPT_UC, .send_cq = &cq->cq });
	struct rn_qp_attr attr = pair_attr(a, 1, 0x99);
	struct rn_send_wr wr = { .opcode = RN_WR_SEND, .flags = RN_SEND_SIGNALED };

	(void)state;
	cq->cq.overrun = true;
	pair_modify_until(a, &attr, RN_QPS_RTS);
	assert_int_equal(pair_post_send(a, &wr), 0);
	pair_expect_async(a, RN_EVENT_QP_FATAL);
	assert_int_equal(rn_qp_state(a->qp), RN_QPS_ERR);
	pair_free(p);
}

static void events_of_a_destroyed_cq_never_appear(void **state)
{
	struct pair *p = pair_new(&(struct pair_cfg){ .devices = 1 });
	struct pair_qp *q = pair_qp_new(p, 0, RN_QPT_UD);
	struct pair_cq *cq[3];
	struct rn_event ev;

	(void)state;
	/* Take out the first, the middle and the last of three that wait. */
	for (unsigned gone = 0; gone < 3; gone++) {
		for (unsigned i = 0; i < 3; i++) {
			struct rn_completion c = { .wr_id = i, .opcode = RN_WC_RECV };

			cq[i] = pair_cq_new(p, 0, 2);
			rn_cq_arm(&cq[i]->cq, RN_CQ_ARM_NEXT);
			rn_cq_push(p->dev[0], &cq[i]->cq, q->qp, p->net->now, &c);
		}
		rn_cq_fini(p->dev[0], &cq[gone]->cq);
		for (unsigned i = 0; i < 3; i++) {
			if (i == gone)
				continue;
			assert_true(rn_dev_event(p->dev[0], &ev));
			assert_ptr_equal(ev.cq, &cq[i]->cq);
		}
		assert_false(rn_dev_event(p->dev[0], &ev));
	}
	pair_free(p);
}

static void a_cq_that_overflows_tells_first_what_it_holds(void **state)
{
	struct fixture f = fixture_new(1);
	struct rn_event ev;

	(void)state;
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	push(&f, 1, RN_WC_SUCCESS, false);
	push(&f, 2, RN_WC_SUCCESS, false);
	assert_true(rn_dev_event(f.p->dev[0], &ev));
	assert_true(ev.completion);
	assert_ptr_equal(ev.cq, &f.cq->cq);
	assert_true(rn_dev_event(f.p->dev[0], &ev));
	assert_false(ev.completion);
	assert_int_equal(ev.async, RN_EVENT_CQ_ERR);
	assert_ptr_equal(ev.cq, &f.cq->cq);
	pair_free(f.p);
}

static void events_of_one_qp_come_once_each(void **state)
{
	struct pair *p = pair_new(&(struct pair_cfg){ .devices = 1 });
	struct pair_qp *a = pair_qp_new(p, 0, RN_QPT_RC),
		       *b = pair_qp_new(p, 0, RN_QPT_RC);
	struct rn_event ev;

	(void)state;
	rn_event_raise(a->qp, RN_EVENT_SQ_DRAINED);
	rn_event_raise(b->qp, RN_EVENT_QP_FATAL);
	rn_event_raise(a->qp, RN_EVENT_COMM_EST);
	rn_event_raise(a->qp, RN_EVENT_COMM_EST);
	pair_expect_async(a, RN_EVENT_COMM_EST);
	pair_expect_async(a, RN_EVENT_SQ_DRAINED);
	pair_expect_async(b, RN_EVENT_QP_FATAL);
	assert_false(pair_next_event(p, &ev));

	rn_event_raise(a->qp, RN_EVENT_QP_FATAL);
	pair_qp_destroy(a);
	assert_false(pair_next_event(p, &ev));
	pair_free(p);
}

static void events_of_one_qp_come_in_the_order_of_its_life(void **state)
{
	static const enum rn_async_event order[] = { RN_EVENT_COMM_EST,
						     RN_EVENT_SQ_DRAINED,
						     RN_EVENT_QP_ACCESS_ERR,
						     RN_EVENT_LAST_WQE_REACHED };
	struct pair *p = pair_new(&(struct pair_cfg){ .devices = 1 });
	struct pair_qp *q = pair_qp_new(p, 0, RN_QPT_RC);

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(order); i++)
		rn_event_raise(q->qp, order[i]);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(order); i++)
		pair_expect_async(q, order[i]);
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cqe_carries_what_was_pushed),
		cmocka_unit_test(ring_is_reused_lap_after_lap),
		cmocka_unit_test(ring_of_one_entry_works),
		cmocka_unit_test(unarmed_cq_raises_no_event),
		cmocka_unit_test(cqe_present_before_arming_raises_no_event),
		cmocka_unit_test(one_arming_raises_one_event),
		cmocka_unit_test(solicited_arming_fires_for_what),
		cmocka_unit_test(unsolicited_cqe_leaves_solicited_arming_in_force),
		cmocka_unit_test(overflow_loses_the_cqe_and_fails_every_qp_of_the_cq),
		cmocka_unit_test(qp_that_meets_an_overrun_cq_later_fails_too),
		cmocka_unit_test(events_of_a_destroyed_cq_never_appear),
		cmocka_unit_test(a_cq_that_overflows_tells_first_what_it_holds),
		cmocka_unit_test(events_of_one_qp_come_once_each),
		cmocka_unit_test(events_of_one_qp_come_in_the_order_of_its_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
