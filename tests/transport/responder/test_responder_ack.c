/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_responder_ack.c - when acknowledgements and NAKs leave, and which: E14, F12 and
 * more of tests/rules.md.
 */
#include "rocin/transport.h"
#include "tests/kit/device/rc0.h"

enum {
	NAK_SEQ = 0x60,
	NAK_INV = 0x61
};

static void an_acknowledgement_does_not_overtake_a_read(void **state)
{
	struct rc0 t = rc0_rts_filled(1);

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	rc0_send(&t, 103);
	assert_false(rn_dev_acks_due(t.r.p->dev[0]));
	rc0_thaw(&t);
	rc0_expect_3000(&t, 100, 1);
	raw_expect_ack(&t.r, 103, 2);
	rc0_expect_receive(&t, 1, 0);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void an_acknowledgement_leaves_before_the_read_that_follows(void **state)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .hold_acks = true },
			       RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	rc0_post(&t, 1);
	rc0_fill(&t, 0);
	rc0_freeze(&t);
	rc0_send(&t, 100);
	assert_true(rn_dev_acks_due(t.r.p->dev[0]));
	rc0_read(&t, 101, 0, 3000);
	rc0_thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_3000(&t, 101, 2);
	assert_false(rn_dev_acks_due(t.r.p->dev[0]));
	rc0_free(&t);
}

/* What was received before was received: its sender must not take it for lost. */
static void what_is_owed_is_acknowledged_from_err(void **state)
{
	struct rc0 t = rc0_rts(2);

	(void)state;
	rc0_freeze(&t);
	rc0_send(&t, 100);
	assert_true(rn_dev_acks_due(t.r.p->dev[0]));
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_ERR), 0);
	assert_true(rn_dev_acks_due(t.r.p->dev[0]));
	rc0_thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_receive(&t, 1, 0);
	pair_expect_wc(t.r.q->rcq, 2, RN_WC_WR_FLUSH_ERR);
	/* And nothing that comes later. */
	rc0_send(&t, 101);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_plain_acknowledgement_never_covers_a_read_that_was_lost(void **state)
{
	struct rc0 t = rc0_rts_filled(2);

	(void)state;
	rc0_send(&t, 100);
	rc0_read(&t, 101, 0, 3000);
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_3000(&t, 101, 2);
	rc0_send(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	/* The same with another SEND behind the READ. */
	rc0_send(&t, 104);
	raw_expect_ack(&t.r, 104, 3);
	rc0_send(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	rc0_send(&t, 104);
	raw_expect_ack(&t.r, 104, 3);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void acknowledgements_that_wait_become_one(void **state)
{
	struct rc0 t = rc0_rts_filled(4);

	(void)state;
	rc0_freeze(&t);
	for (uint32_t i = 0; i < 4; i++)
		rc0_send(&t, 100 + i);
	/* An older duplicate adds nothing. */
	rc0_send(&t, 101);
	rc0_thaw(&t);
	raw_expect_ack(&t.r, 103, 4);
	raw_expect_silence(&t.r);
	assert_int_equal(rc0_stat(&t, RN_STAT_ACK_COALESCED), 4);
	rc0_free(&t);
}

static void a_duplicate_does_not_replace_a_newer_acknowledgement(void **state)
{
	struct rc0 t = rc0_rts_filled(4);

	(void)state;
	rc0_send(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	rc0_freeze(&t);
	rc0_read(&t, 101, 0, 3000);
	rc0_send(&t, 104);
	rc0_send(&t, 100);
	rc0_thaw(&t);
	rc0_expect_3000(&t, 101, 2);
	raw_expect_ack(&t.r, 104, 3);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_nak_takes_the_place_of_an_acknowledgement(void **state)
{
	struct rc0 t = rc0_rts_filled(4);

	(void)state;
	rc0_freeze(&t);
	rc0_send(&t, 100);
	rc0_send(&t, 105);
	/* Nor is it replaced by the answer to a duplicate. */
	rc0_send(&t, 100);
	rc0_thaw(&t);
	raw_expect_nak(&t.r, NAK_SEQ, 101, 1);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_nak_waits_for_the_reads_before_it(void **state)
{
	struct rc0 t = rc0_rts_filled(4);

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	rc0_send(&t, 105);
	rc0_thaw(&t);
	rc0_expect_3000(&t, 100, 1);
	raw_expect_nak(&t.r, NAK_SEQ, 103, 1);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_nak_that_has_not_left_moves_on_if_the_gap_is_filled(void **state)
{
	struct rc0 t = rc0_rts_filled(4);

	(void)state;
	rc0_freeze(&t);
	rc0_send(&t, 101);
	rc0_send(&t, 103);
	rc0_send(&t, 100);
	rc0_thaw(&t);
	/* 101 and 103 were dropped. */
	raw_expect_nak(&t.r, NAK_SEQ, 101, 1);
	rc0_send(&t, 102);
	raw_expect_silence(&t.r);

	/* If nothing was dropped behind it, it is an acknowledgement. */
	rc0_freeze(&t);
	rc0_send(&t, 101);
	rc0_send(&t, 103);
	rc0_send(&t, 102);
	rc0_send(&t, 103);
	rc0_thaw(&t);
	raw_expect_ack(&t.r, 103, 4);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void an_rnr_nak_that_has_not_left_is_taken_back(void **state)
{
	struct rc0 t = rc0_rts_filled(0);

	(void)state;
	rc0_freeze(&t);
	rc0_send(&t, 100);
	rc0_post(&t, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100));
	rc0_thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	raw_expect_silence(&t.r);
	assert_int_equal(rc0_stat(&t, RN_STAT_RNR_NAK_TX), 0);
	rc0_free(&t);
}

static void an_old_gap_is_no_reason_to_keep_a_nak(void **state)
{
	struct rc0 t = rc0_rts_filled(1);

	(void)state;
	rc0_send(&t, 110);
	raw_expect_nak(&t.r, NAK_SEQ, 100, 0);
	rc0_send(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	rc0_freeze(&t);
	rc0_send(&t, 101); /* RNR */
	rc0_post(&t, 1);
	rc0_send(&t, 101);
	rc0_thaw(&t);
	raw_expect_ack(&t.r, 101, 2);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_nak_of_an_unsent_kind_covers_a_read_that_came_instead(void **state)
{
	struct rc0 t = rc0_rts_filled(0);

	(void)state;
	rc0_freeze(&t);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	rc0_send(&t, 101);
	/* The peer thinks better of it; strange, but not our business. */
	rc0_read(&t, 101, 0, 5);
	rc0_thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 101, 2, 0, 5);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_fatal_nak_follows_the_responses_before_it(void **state)
{
	struct rc0 t = rc0_rts_filled(2);

	(void)state;
	rc0_freeze(&t);
	rc0_send(&t, 100);
	rc0_read(&t, 101, 0, 3000);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_MIDDLE, .psn = 104, .len = 1024));
	assert_int_equal(rc0_state(&t), RN_QPS_ERR);
	assert_false(rn_dev_acks_due(t.r.p->dev[0]));
	rc0_thaw(&t);
	rc0_expect_receive(&t, 1, 0);
	rc0_expect_3000(&t, 101, 2);
	rc0_expect_fatal(&t, NAK_INV, 104, 2, 2);
	rc0_free(&t);
}

static void going_to_err_drops_reads_but_not_an_acknowledgement_due(void **state)
{
	struct rc0 t = rc0_rts_filled(2);

	(void)state;
	rc0_freeze(&t);
	rc0_send(&t, 100);
	rc0_read(&t, 101, 0, 3000);
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_ERR), 0);
	rc0_thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	raw_expect_silence(&t.r);
	rc0_free(&t);

	/* One that waits for a READ must not leave without it. */
	t = rc0_rts_filled(2);
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	rc0_send(&t, 103);
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_ERR), 0);
	rc0_thaw(&t);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void reset_forgets_everything(void **state)
{
	struct rc0 t = rc0_rts_filled(2);
	struct rn_qp_attr attr;

	(void)state;
	rn_qp_query(t.r.q->qp, &attr);
	attr.rq_psn = 500;
	rc0_freeze(&t);
	rc0_send(&t, 100);
	rc0_read(&t, 101, 0, 3000);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 104,
			   .reth = rc0_reth(&t, 0, 3000), .len = 1024));
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_RESET), 0);
	pair_modify_until(t.r.q, &attr, RN_QPS_RTS);
	rc0_thaw(&t);
	raw_expect_silence(&t.r);
	/* A fresh MSN, and no old resource. */
	rc0_read(&t, 101, 0, 3000);
	raw_expect_silence(&t.r);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 500, .ack_req = true));
	raw_expect_ack(&t.r, 500, 1);
	rc0_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_acknowledgement_does_not_overtake_a_read),
		cmocka_unit_test(an_acknowledgement_leaves_before_the_read_that_follows),
		cmocka_unit_test(what_is_owed_is_acknowledged_from_err),
		cmocka_unit_test(
			a_plain_acknowledgement_never_covers_a_read_that_was_lost),
		cmocka_unit_test(acknowledgements_that_wait_become_one),
		cmocka_unit_test(a_duplicate_does_not_replace_a_newer_acknowledgement),
		cmocka_unit_test(a_nak_takes_the_place_of_an_acknowledgement),
		cmocka_unit_test(a_nak_waits_for_the_reads_before_it),
		cmocka_unit_test(a_nak_that_has_not_left_moves_on_if_the_gap_is_filled),
		cmocka_unit_test(an_rnr_nak_that_has_not_left_is_taken_back),
		cmocka_unit_test(an_old_gap_is_no_reason_to_keep_a_nak),
		cmocka_unit_test(a_nak_of_an_unsent_kind_covers_a_read_that_came_instead),
		cmocka_unit_test(a_fatal_nak_follows_the_responses_before_it),
		cmocka_unit_test(going_to_err_drops_reads_but_not_an_acknowledgement_due),
		cmocka_unit_test(reset_forgets_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
