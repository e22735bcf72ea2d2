/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_pair_errors.c - reliable connections end to end: what goes wrong, and draining. */
#include "tests/kit/device/rc_pair.h"

/* Pairs of what the two sides see. */
static void errors_of_the_peer_reach_both_sides(void **state)
{
	static const struct {
		const char *what;
		enum rn_wr_opcode op;
		uint32_t recv_len; /* 0: none is posted */
		uint32_t spoil_rkey, spoil_lkey;
		enum rn_wc_status requester, responder; /* SUCCESS: no recv CQE */
		int async;				/* at the responder; -1: none */
	} rows[] = {
		{ "receive too short", RN_WR_SEND, 99, 0, 0, RN_WC_REM_INV_REQ_ERR,
		  RN_WC_LOC_LEN_ERR, -1 },
		{ "receive without a key", RN_WR_SEND, 100, 0, 1, RN_WC_REM_OP_ERR,
		  RN_WC_LOC_PROT_ERR, -1 },
		{ "wrong key, WRITE", RN_WR_RDMA_WRITE, 0, 1, 0, RN_WC_REM_ACCESS_ERR,
		  RN_WC_SUCCESS, RN_EVENT_QP_ACCESS_ERR },
		{ "wrong key, READ", RN_WR_RDMA_READ, 0, 1, 0, RN_WC_REM_ACCESS_ERR,
		  RN_WC_SUCCESS, RN_EVENT_QP_ACCESS_ERR },
		{ "no receive", RN_WR_SEND, 0, 0, 0, RN_WC_RNR_RETRY_EXC_ERR,
		  RN_WC_SUCCESS, -1 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct rc r = rc_new(&(struct pair_cfg){ 0 });
		struct rn_sge sge, recv = pair_sge(r.mb, 0, rows[i].recv_len);
		struct rn_send_wr wr = wr_to(&r, rows[i].op, &sge, 100);

		print_message("%s\n", rows[i].what);
		r.a->qp->attr.rnr_retry = 2;
		wr.rkey ^= rows[i].spoil_rkey;
		recv.lkey ^= rows[i].spoil_lkey;
		if (rows[i].recv_len)
			assert_int_equal(
				pair_post_recv(r.b, &(struct rn_recv_wr){ .wr_id = 5,
									  .sg = &recv,
									  .num_sge = 1 }),
				0);
		assert_int_equal(pair_post_send(r.a, &wr), 0);
		wr.wr_id++;
		pair_post_send(r.a, &wr);
		pair_run_until_quiet(r.p);
		pair_expect_wc(r.a->scq, WR_ID, rows[i].requester);
		pair_expect_wc(r.a->scq, WR_ID + 1, RN_WC_WR_FLUSH_ERR);
		assert_int_equal(rn_qp_state(r.a->qp), RN_QPS_ERR);
		if (rows[i].responder != RN_WC_SUCCESS)
			pair_expect_wc(r.b->rcq, 5, rows[i].responder);
		if (rows[i].async >= 0)
			pair_expect_async(r.b, (enum rn_async_event)rows[i].async);
		assert_quiet(&r);
		pair_free(r.p);
	}
}

static void local_gather_error_fails_only_after_what_came_before(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ 0 });
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, 20000);

	(void)state;
	wr.wr_id = 1;
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	wr.wr_id = 2;
	sge.lkey ^= 1;
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	wr.wr_id = 3;
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.a->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.a->scq, 2, RN_WC_LOC_PROT_ERR);
	pair_expect_wc(r.a->scq, 3, RN_WC_WR_FLUSH_ERR);
	assert_quiet(&r);
	pair_free(r.p);
}

static void memory_that_is_gone_is_an_error_and_not_a_crash(void **state)
{
	static const struct {
		enum rn_wr_opcode op;
		bool far;
		enum rn_wc_status status;
	} rows[] = {
		{ RN_WR_RDMA_WRITE, false, RN_WC_LOC_PROT_ERR },
		{ RN_WR_RDMA_WRITE, true, RN_WC_REM_ACCESS_ERR },
		{ RN_WR_RDMA_READ, false, RN_WC_LOC_PROT_ERR },
		{ RN_WR_RDMA_READ, true, RN_WC_REM_ACCESS_ERR },
		{ RN_WR_ATOMIC_FETCH_AND_ADD, false, RN_WC_LOC_PROT_ERR },
		{ RN_WR_ATOMIC_FETCH_AND_ADD, true, RN_WC_REM_ACCESS_ERR },
	};

	(void)state;
	for (unsigned k = 0; k < 2 * RN_ARRAY_SIZE(rows); k++) {
		unsigned i = k / 2;
		struct rc r = rc_new(&(struct pair_cfg){ .mem_delay = (k & 1) * 3000 });
		bool atomic = rows[i].op == RN_WR_ATOMIC_FETCH_AND_ADD;
		struct rn_sge sge;
		struct rn_send_wr wr = wr_to(&r, rows[i].op, &sge, atomic ? 8 : 9000);

		arena_unmap(&r.p->arena[rows[i].far], (rows[i].far ? r.mb : r.ma)->data);
		assert_int_equal(pair_post_send(r.a, &wr), 0);
		pair_run_until_quiet(r.p);
		pair_expect_wc(r.a->scq, WR_ID, rows[i].status);
		assert_int_not_equal(pair_stat(r.p, rows[i].far, RN_STAT_MEM_FAULT), 0);
		assert_quiet(&r);
		pair_free(r.p);
	}
}

/* tests/rules.md K8. */
static void sqd_finishes_what_was_started_and_keeps_the_rest(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ 0 });
	struct rn_qp_attr attr = { .state = RN_QPS_SQD, .en_sqd_async_notify = true };
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, 5000);
	struct rn_event ev;

	(void)state;
	pair_post_send(r.a, &wr);
	assert_int_equal(rn_qp_modify(r.p->dev[0], r.a->qp, r.p->net->now, &attr,
				      RN_ATTR_STATE | RN_ATTR_EN_SQD_ASYNC_NOTIFY),
			 0);
	wr.wr_id = WR_ID + 1;
	pair_post_send(r.a, &wr);
	rn_qp_query(r.a->qp, &attr);
	assert_true(attr.sq_draining);
	assert_int_equal(pair_modify_state(r.a, RN_QPS_RTS), -22);
	pair_run_until_quiet(r.p);
	pair_expect_async(r.a, RN_EVENT_SQ_DRAINED);
	assert_false(pair_next_event(r.p, &ev));
	pair_expect_wc(r.a->scq, WR_ID, RN_WC_SUCCESS);
	pair_expect_no_wc(r.a->scq);
	rn_qp_query(r.a->qp, &attr);
	assert_false(attr.sq_draining);
	assert_int_equal(pair_modify_state(r.a, RN_QPS_RTS), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.a->scq, WR_ID + 1, RN_WC_SUCCESS);
	pair_free(r.p);
}

static void sqd_of_an_idle_queue_is_drained_at_once(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ 0 });
	struct rn_qp_attr attr = { .state = RN_QPS_SQD, .en_sqd_async_notify = true };

	(void)state;
	assert_int_equal(rn_qp_modify(r.p->dev[0], r.a->qp, r.p->net->now, &attr,
				      RN_ATTR_STATE | RN_ATTR_EN_SQD_ASYNC_NOTIFY),
			 0);
	pair_expect_async(r.a, RN_EVENT_SQ_DRAINED);
	rn_qp_query(r.a->qp, &attr);
	assert_false(attr.sq_draining);
	assert_int_equal(attr.state, RN_QPS_SQD);
	pair_free(r.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_of_the_peer_reach_both_sides),
		cmocka_unit_test(local_gather_error_fails_only_after_what_came_before),
		cmocka_unit_test(memory_that_is_gone_is_an_error_and_not_a_crash),
		cmocka_unit_test(sqd_finishes_what_was_started_and_keeps_the_rest),
		cmocka_unit_test(sqd_of_an_idle_queue_is_drained_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
