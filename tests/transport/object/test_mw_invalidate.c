/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mw_invalidate.c - the end of a binding of type 2, and the order of the queue in
 * which windows are bound and invalidated. IBTA Vol 1, 10.6.5, 10.6.7.2.
 */
#include "mw_kit.h"

/* --------------------------------------------------------------- invalidate */
static void an_invalidated_window_opens_nothing(void **state)
{
	(void)state;
	win_new(RN_MR_KIND_MW2);
	bind_all(1);
	assert_true(opens(MW_KEY | 1, 0, 64));
	invalidate(w.r.q, MW_KEY | 1, RN_WC_SUCCESS);
	assert_int_equal(w.region->mr.windows, 0);
	invalidate(w.r.q, MW_KEY | 1, RN_WC_SUCCESS); /* free, and stays so */
	assert_false(opens(MW_KEY | 1, 0, 64));
	win_free();
}

static void invalidation_ends_a_write_in_progress(void **state)
{
	(void)state;
	win_new(RN_MR_KIND_MW2);
	bind_all(1);
	raw_send(&w.r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 100, .len = 1024,
			   .reth = { w.region->mr.va, MW_KEY | 1, 2048 }));
	invalidate(w.r.q, MW_KEY | 1, RN_WC_SUCCESS);
	memset(w.region->data + 1024, 0x11, 1024);
	raw_send(&w.r,
		 RAW(.op = RN_RC_WRITE_LAST, .psn = 101, .len = 1024, .ack_req = true));
	raw_expect_nak(&w.r, NAK_ACCESS, 101, 0);
	assert_int_equal(w.region->data[1024], 0x11);
	win_free();
}

enum victim {
	TYPE_1,
	REGION_KEY,
	KEY_BYTE,
	OTHER_QP,
	OTHER_PD,
	NOBODY,
	VICTIMS
};

/* What must not be invalidated: returns its key. */
static uint32_t prepare(enum victim v)
{
	win_new(v == TYPE_1 ? RN_MR_KIND_MW1 : RN_MR_KIND_MW2);
	if (v == OTHER_QP) {
		struct rn_send_wr wr = bind_wr(1, 1, 0, REGION, RN_ACCESS_REMOTE_READ);

		post_ok(other_qp(), &wr);
		assert_true(w.mw.valid);
	} else {
		bind_all(1);
	}
	if (v == OTHER_PD)
		w.mw.pd++;
	if (v == REGION_KEY)
		return w.region->mr.lkey;
	if (v == KEY_BYTE)
		return MW_KEY | 2;
	return v == NOBODY ? 0xabcdef01 : MW_KEY | 1;
}

static void only_ones_own_window_of_type_2_is_invalidated(void **state)
{
	(void)state;
	for (unsigned v = 0; v < VICTIMS; v++) {
		uint32_t key = prepare((enum victim)v); /* makes w.r.q, too */

		invalidate(w.r.q, key, RN_WC_LOC_QP_OP_ERR);
		expect_state(&w.r, RN_QPS_ERR);
		assert_true(w.mw.valid);
		win_free();
	}
}

static void post_recv(uint64_t wr_id)
{
	assert_int_equal(pair_post_recv_mr(w.r.q, wr_id, w.recv, 0, REGION), 0);
}

static void a_send_invalidates_behind_its_data(void **state)
{
	struct rn_cqe cqe;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	bind_all(1);
	post_recv(7);
	raw_send(&w.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1024));
	assert_true(w.mw.valid);
	raw_send(&w.r, RAW(.op = RN_RC_SEND_LAST_INV, .psn = 101, .len = 8,
			   .ack_req = true, .ieth = MW_KEY | 1));
	assert_false(w.mw.valid);
	raw_expect_ack(&w.r, 101, 1);
	cqe = pair_expect_wc(w.r.q->rcq, 7, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_flags(&cqe), RN_WC_WITH_INV);
	assert_int_equal(cqe.imm, MW_KEY | 1);
	assert_int_equal(cqe.byte_len, 1032);
	w.psn = 102;
	assert_false(opens(MW_KEY | 1, 0, 64));
	win_free();
}

/* Class J: the peer is told nothing. */
static void a_send_that_may_not_invalidate_ends_in_silence(void **state)
{
	(void)state;
	for (unsigned v = 0; v < VICTIMS; v++) {
		uint32_t key = prepare((enum victim)v);

		post_recv(7);
		post_recv(8);
		raw_send(&w.r, RAW(.op = RN_RC_SEND_ONLY_INV, .psn = 100, .len = 8,
				   .ack_req = true, .ieth = key));
		raw_expect_silence(&w.r);
		expect_state(&w.r, RN_QPS_ERR);
		pair_expect_wc(w.r.q->rcq, 7, RN_WC_REM_INV_REQ_ERR);
		pair_expect_wc(w.r.q->rcq, 8, RN_WC_WR_FLUSH_ERR);
		assert_true(w.mw.valid);
		win_free();
	}
}

static void a_duplicate_does_not_invalidate_again(void **state)
{
	(void)state;
	win_new(RN_MR_KIND_MW2);
	bind_all(1);
	post_recv(7);
	for (int i = 0; i < 2; i++) {
		raw_send(&w.r, RAW(.op = RN_RC_SEND_ONLY_INV, .psn = 100, .len = 8,
				   .ack_req = true, .ieth = MW_KEY | 1));
		raw_expect_ack(&w.r, 100, 1);
		if (i == 0)
			bind_all(1);
	}
	assert_true(w.mw.valid);
	win_free();
}

/* -------------------------------------------------------------------- order */
static void a_bind_does_not_wait_but_completes_in_its_turn(void **state)
{
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	post(&w.r, 1, RN_WR_SEND, 8);
	wr = bind_wr(2, 1, 0, REGION, PEER_RIGHTS);
	post_ok(w.r.q, &wr);
	post(&w.r, 3, RN_WR_SEND, 8);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 200);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 201);
	assert_true(opens(MW_KEY | 1, 0, 64));
	pair_expect_no_wc(w.r.q->scq);
	raw_ack(&w.r, 200, 1);
	pair_expect_wc(w.r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(w.r.q->scq, 2, RN_WC_SUCCESS);
	pair_expect_no_wc(w.r.q->scq);
	raw_ack(&w.r, 201, 2);
	pair_expect_wc(w.r.q->scq, 3, RN_WC_SUCCESS);
	win_free();
}

/* What comes from the peer is about all that was sent before, binds or not. */
static void one_acknowledgement_passes_over_binds(void **state)
{
	static const enum rn_wr_opcode last[] = { RN_WR_SEND, RN_WR_RDMA_READ };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(last); i++) {
		struct rn_send_wr wr;

		win_new(RN_MR_KIND_MW1);
		for (uint8_t k = 0; k < 3; k++) {
			post(&w.r, 2 * k + 1u, k < 2 ? RN_WR_SEND : last[i], 8);
			wr = bind_wr(2 * k + 2u, k, 0, REGION, PEER_RIGHTS);
			post_ok(w.r.q, &wr);
		}
		raw_expect(&w.r, RN_RC_SEND_ONLY, 200);
		raw_expect(&w.r, RN_RC_SEND_ONLY, 201);
		if (last[i] == RN_WR_SEND) {
			raw_expect(&w.r, RN_RC_SEND_ONLY, 202);
			raw_ack(&w.r, 202, 3);
		} else {
			raw_expect(&w.r, RN_RC_READ_REQUEST, 202);
			send_read_response(&w.r, RN_RC_READ_RESPONSE_ONLY, 202, 8);
		}
		for (unsigned id = 1; id <= 6; id++)
			pair_expect_wc(w.r.q->scq, id, RN_WC_SUCCESS);
		raw_expect_silence(&w.r);
		win_free();
	}
}

static void a_nak_is_for_what_it_names_behind_a_bind(void **state)
{
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	post(&w.r, 1, RN_WR_SEND, 8);
	wr = bind_wr(2, 1, 0, REGION, PEER_RIGHTS);
	post_ok(w.r.q, &wr);
	post(&w.r, 3, RN_WR_SEND, 8);
	post(&w.r, 4, RN_WR_RDMA_WRITE, 8);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 200);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 201);
	raw_expect(&w.r, RN_RC_WRITE_ONLY, 202);
	raw_nak(&w.r, NAK_ACCESS, 202, 2);
	for (unsigned id = 1; id <= 3; id++)
		pair_expect_wc(w.r.q->scq, id, RN_WC_SUCCESS);
	pair_expect_wc(w.r.q->scq, 4, RN_WC_REM_ACCESS_ERR);
	win_free();
}

static void going_back_does_not_bind_again(void **state)
{
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	post(&w.r, 1, RN_WR_SEND, 8);
	wr = bind_wr(2, 1, 0, REGION, PEER_RIGHTS);
	post_ok(w.r.q, &wr);
	post(&w.r, 3, RN_WR_SEND, 8);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 200);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 201);
	raw_nak(&w.r, NAK_SEQ, 200, 0);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 200);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 201);
	/* What is acknowledged completes, the bind behind it as well. */
	raw_nak(&w.r, NAK_SEQ, 201, 1);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 201);
	pair_expect_wc(w.r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(w.r.q->scq, 2, RN_WC_SUCCESS);
	raw_ack(&w.r, 201, 2);
	pair_expect_wc(w.r.q->scq, 3, RN_WC_SUCCESS);
	raw_expect_silence(&w.r);
	win_free();
}

/* The acknowledgement of what was sent first comes when it is about to be sent again. */
static void an_old_acknowledgement_passes_over_a_bind(void **state)
{
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	post(&w.r, 1, RN_WR_SEND, 8);
	wr = bind_wr(2, 1, 0, REGION, PEER_RIGHTS);
	post_ok(w.r.q, &wr);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 200);
	w.r.p->frozen = true;
	pair_run_for(w.r.p, 3 * ACK_TIMEOUT / 2);
	raw_ack(&w.r, 200, 1);
	w.r.p->frozen = false;
	post(&w.r, 3, RN_WR_SEND, 8);
	pair_expect_wc(w.r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(w.r.q->scq, 2, RN_WC_SUCCESS);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 201);
	raw_ack(&w.r, 201, 2);
	pair_expect_wc(w.r.q->scq, 3, RN_WC_SUCCESS);
	win_free();
}

static void a_fenced_bind_waits_for_reads_and_an_invalidation_for_all(void **state)
{
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	post(&w.r, 1, RN_WR_RDMA_READ, 8);
	wr = bind_wr(2, 1, 0, REGION, PEER_RIGHTS);
	wr.flags |= RN_SEND_FENCE;
	post_ok(w.r.q, &wr);
	raw_expect(&w.r, RN_RC_READ_REQUEST, 200);
	assert_false(w.mw.valid);
	send_read_response(&w.r, RN_RC_READ_RESPONSE_ONLY, 200, 8);
	assert_true(w.mw.valid);
	pair_expect_wc(w.r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(w.r.q->scq, 2, RN_WC_SUCCESS);

	post(&w.r, 3, RN_WR_SEND, 8);
	wr = (struct rn_send_wr){ .wr_id = 4,
				  .opcode = RN_WR_LOCAL_INV,
				  .flags = RN_SEND_SIGNALED,
				  .imm = MW_KEY | 1 };
	post_ok(w.r.q, &wr);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 201);
	assert_true(w.mw.valid);
	raw_ack(&w.r, 201, 2);
	assert_false(w.mw.valid);
	pair_expect_wc(w.r.q->scq, 3, RN_WC_SUCCESS);
	pair_expect_wc(w.r.q->scq, 4, RN_WC_SUCCESS);
	win_free();
}

static void a_failed_bind_waits_for_its_turn_to_say_so(void **state)
{
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	post(&w.r, 1, RN_WR_SEND, 8);
	wr = bind_wr(2, 1, 0, REGION + 1, PEER_RIGHTS);
	post_ok(w.r.q, &wr);
	post(&w.r, 3, RN_WR_SEND, 8);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&w.r);
	pair_expect_no_wc(w.r.q->scq);
	raw_ack(&w.r, 200, 1);
	pair_expect_wc(w.r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(w.r.q->scq, 2, RN_WC_MW_BIND_ERR);
	pair_expect_wc(w.r.q->scq, 3, RN_WC_WR_FLUSH_ERR);
	win_free();
}

static void a_bind_is_part_of_what_is_drained(void **state)
{
	struct rn_qp_attr attr = { .state = RN_QPS_SQD, .en_sqd_async_notify = true };
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	post(&w.r, 1, RN_WR_SEND, 8);
	wr = bind_wr(2, 1, 0, REGION, PEER_RIGHTS);
	post_ok(w.r.q, &wr);
	raw_expect(&w.r, RN_RC_SEND_ONLY, 200);
	assert_int_equal(rn_qp_modify(w.r.p->dev[0], w.r.q->qp, w.r.p->net->now, &attr,
				      RN_ATTR_STATE | RN_ATTR_EN_SQD_ASYNC_NOTIFY),
			 0);
	raw_ack(&w.r, 200, 1);
	pair_expect_async(w.r.q, RN_EVENT_SQ_DRAINED);
	pair_expect_wc(w.r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(w.r.q->scq, 2, RN_WC_SUCCESS);
	win_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invalidated_window_opens_nothing),
		cmocka_unit_test(invalidation_ends_a_write_in_progress),
		cmocka_unit_test(only_ones_own_window_of_type_2_is_invalidated),
		cmocka_unit_test(a_send_invalidates_behind_its_data),
		cmocka_unit_test(a_send_that_may_not_invalidate_ends_in_silence),
		cmocka_unit_test(a_duplicate_does_not_invalidate_again),
		cmocka_unit_test(a_bind_does_not_wait_but_completes_in_its_turn),
		cmocka_unit_test(one_acknowledgement_passes_over_binds),
		cmocka_unit_test(a_nak_is_for_what_it_names_behind_a_bind),
		cmocka_unit_test(going_back_does_not_bind_again),
		cmocka_unit_test(an_old_acknowledgement_passes_over_a_bind),
		cmocka_unit_test(
			a_fenced_bind_waits_for_reads_and_an_invalidation_for_all),
		cmocka_unit_test(a_failed_bind_waits_for_its_turn_to_say_so),
		cmocka_unit_test(a_bind_is_part_of_what_is_drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
