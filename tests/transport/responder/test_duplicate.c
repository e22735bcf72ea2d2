/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_duplicate.c - requests received again: group F of tests/rules.md. */
#include "rocin/transport.h"
#include "tests/kit/device/rc0.h"

enum {
	NAK_INV = 0x61
};

/* --------------------------------------------------------------- duplicates */
static void a_duplicate_send_is_acknowledged_but_not_delivered(void **state)
{
	struct rc0 t = rc0_rts(4);

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		raw_send(&t.r,
			 RAW(.op = RN_RC_SEND_ONLY, .psn = 100 + i, .ack_req = true));
		rc0_expect_receive(&t, i + 1, 0);
		raw_expect_ack(&t.r, 100 + i, i + 1);
	}
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
	raw_expect_ack(&t.r, 102, 3);
	/* Nobody asked. */
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101));
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_DUPLICATE_REQUEST), 2);
	rc0_free(&t);
}

static void a_duplicate_write_does_not_undo_what_came_after(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true,
			   .reth = rc0_reth(&t, 0, 8), .len = 8));
	raw_expect_ack(&t.r, 100, 1);
	rc0_store(&t, 0, 1234);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true,
			   .reth = rc0_reth(&t, 0, 8), .len = 8));
	raw_expect_ack(&t.r, 100, 1);
	assert_int_equal(rc0_load(&t, 0), 1234);
	rc0_free(&t);
}

static void a_duplicate_atomic_gets_the_saved_answer(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	rc0_store(&t, 0, 10);
	raw_send(&t.r, RAW(.op = RN_RC_CMP_SWAP, .psn = 100,
			   .atomic = rc0_atomic(&t, 0, 11, 10)));
	assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100)->atomic_ack, 10);
	rc0_store(&t, 0, 10);
	raw_send(&t.r, RAW(.op = RN_RC_CMP_SWAP, .psn = 100,
			   .atomic = rc0_atomic(&t, 0, 11, 10)));
	assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100)->atomic_ack, 10);
	assert_int_equal(rc0_load(&t, 0), 10);
	/* Another operation or address at that PSN is no duplicate of it. */
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
			   .atomic = rc0_atomic(&t, 0, 11, 10)));
	raw_send(&t.r, RAW(.op = RN_RC_CMP_SWAP, .psn = 100,
			   .atomic = rc0_atomic(&t, 8, 11, 10)));
	raw_send(&t.r,
		 RAW(.op = RN_RC_READ_REQUEST, .psn = 100, .reth = rc0_reth(&t, 0, 8)));
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void only_as_many_atomics_as_agreed_are_remembered(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100 + i,
				   .atomic = rc0_atomic(&t, 0, 1, 0)));
		assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100 + i)->atomic_ack,
				 i);
	}
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
			   .atomic = rc0_atomic(&t, 0, 1, 0)));
	raw_expect_silence(&t.r);
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 101,
			   .atomic = rc0_atomic(&t, 0, 1, 0)));
	assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 101)->atomic_ack, 1);
	assert_int_equal(rc0_load(&t, 0), 3);
	rc0_free(&t);
}

static void duplicates_are_ignored_in_err(void **state)
{
	struct rc0 t = rc0_rts(2);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
	rc0_expect_receive(&t, 1, 0);
	raw_expect_ack(&t.r, 100, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_MIDDLE, .psn = 101, .len = 1024));
	rc0_expect_fatal(&t, NAK_INV, 101, 1, 2);
	pair_expect_async(t.r.q, RN_EVENT_QP_REQ_ERR);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_MIDDLE, .psn = 101, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

/* --------------------------------------------------------- duplicate READs */
static void a_duplicate_read_is_executed_again(void **state)
{
	struct rc0 t = rc0_rts_filled(1);

	(void)state;
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	rc0_fill(&t, 50);
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	/* From a packet on, and a part of it: opcodes fit the new length. */
	rc0_read(&t, 101, 1024, 1976);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 101, 1, 1024, 1024);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_LAST, 102, 1, 2048, 952);
	rc0_read(&t, 102, 2048, 952);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 102, 1, 2048, 952);
	rc0_read(&t, 101, 1024, 1024);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 101, 1, 1024, 1024);
	rc0_expect_nothing(&t);
	rc0_send(&t, 103);
	raw_expect_ack(&t.r, 103, 2);
	rc0_free(&t);
}

static void a_duplicate_read_that_asks_for_more_is_ignored(void **state)
{
	struct rc0 t = rc0_rts_filled(1);
	struct rn_reth reth = rc0_reth(&t, 0, 3000);

	(void)state;
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	rc0_read(&t, 100, 0, 3001);
	rc0_read(&t, 101, 1024, 1977);
	rc0_read(&t, 101, 1023, 1976);
	rc0_read(&t, 101, 0, 1976);
	rc0_read(&t, 101, 1024, 0);
	reth.rkey ^= 1;
	raw_send(&t.r, RAW(.op = RN_RC_READ_REQUEST, .psn = 100, .reth = reth));
	reth = rc0_reth(&t, 0, 3000);
	reth.va--;
	raw_send(&t.r, RAW(.op = RN_RC_READ_REQUEST, .psn = 100, .reth = reth));
	rc0_read(&t, 99, 0, 3000);
	rc0_expect_nothing(&t);
	rc0_send(&t, 103);
	raw_expect_ack(&t.r, 103, 2);
	rc0_free(&t);
}

static void a_duplicate_read_of_a_region_that_is_gone_is_ignored(void **state)
{
	struct rc0 t = rc0_rts_filled(1);

	(void)state;
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	pair_mr_remove(t.r.mr);
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_nothing(&t);
	rc0_send(&t, 103);
	raw_expect_ack(&t.r, 103, 2);
	rc0_free(&t);
}

static void a_duplicate_read_does_not_disturb_a_send_in_progress(void **state)
{
	struct rc0 t = rc0_rts_filled(1);

	(void)state;
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 103, .len = 1024));
	rc0_read(&t, 101, 1024, 1976);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 101, 1, 1024, 1024);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_LAST, 102, 1, 2048, 952);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_LAST, .psn = 104, .ack_req = true, .len = 4));
	rc0_expect_receive(&t, 1, 1028);
	raw_expect_ack(&t.r, 104, 2);
	rc0_free(&t);
}

static void a_duplicate_of_a_read_not_yet_answered_changes_nothing(void **state)
{
	struct rc0 t = rc0_rts_filled(0);

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	rc0_read(&t, 100, 0, 3000);
	rc0_read(&t, 102, 2048, 952);
	rc0_thaw(&t);
	rc0_expect_3000(&t, 100, 1);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_duplicate_in_the_middle_of_a_read_goes_back(void **state)
{
	struct rc0 t = rc0_rts_filled(0);
	struct rn_tx tx;
	uint8_t buf[RN_PACKET_MAX];

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	for (unsigned i = 0; i < 2; i++)
		assert_int_not_equal(rn_dev_transmit(t.r.p->dev[0], t.r.p->net->now,
						     RN_TX_WORK, buf, sizeof(buf), &tx),
				     0);
	/* Only a part: it would leave 102 unanswered for ever. */
	rc0_read(&t, 100, 0, 1024);
	rc0_read(&t, 101, 1024, 1976);
	rc0_thaw(&t);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 101, 1, 1024, 1024);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_LAST, 102, 1, 2048, 952);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void responses_to_a_repeated_and_a_later_read_keep_their_order(void **state)
{
	struct rc0 t = rc0_rts_filled(1);

	(void)state;
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	rc0_freeze(&t);
	rc0_read(&t, 103, 8, 5);
	rc0_send(&t, 104);
	rc0_read(&t, 101, 1024, 1976);
	rc0_thaw(&t);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 101, 1, 1024, 1024);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_LAST, 102, 1, 2048, 952);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 103, 2, 8, 5);
	raw_expect_ack(&t.r, 104, 3);
	rc0_free(&t);
}

static void depth_one(struct rn_qp_attr *a)
{
	a->max_dest_rd_atomic = 1;
}

static void a_new_read_takes_the_place_of_one_that_is_being_repeated(void **state)
{
	struct rc0 t = rc0_new(NULL, RN_QPT_RC, RN_QPS_RTS, depth_one);

	(void)state;
	rc0_fill(&t, 0);
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	rc0_freeze(&t);
	/* A late duplicate; the answer has arrived meanwhile, so the next one comes. */
	rc0_read(&t, 100, 0, 3000);
	rc0_read(&t, 103, 9, 5);
	rc0_thaw(&t);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 103, 2, 9, 5);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_read_that_makes_room_does_not_bring_back_its_neighbour(void **state)
{
	struct rc0 t = rc0_rts_filled(0);

	(void)state;
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	rc0_read(&t, 103, 8, 2000);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 103, 2, 8, 1024);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_LAST, 104, 2, 8 + 1024, 976);
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	rc0_read(&t, 105, 9, 5);
	rc0_thaw(&t);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 105, 3, 9, 5);
	/* Unless that is being repeated itself. */
	rc0_freeze(&t);
	rc0_read(&t, 103, 8, 2000);
	rc0_read(&t, 105, 9, 5);
	rc0_read(&t, 106, 10, 5);
	rc0_thaw(&t);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 105, 3, 9, 5);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 106, 4, 10, 5);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void pad_bytes_are_zero_whatever_was_in_the_buffer(void **state)
{
	struct rc0 t = rc0_rts_filled(0);
	uint8_t buf[RN_PACKET_MAX];
	struct rn_tx tx;

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 5);
	memset(buf, 0xff, sizeof(buf));
	/* BTH 12, AETH 4, 5 bytes, 3 of pad. */
	assert_int_equal(rn_dev_transmit(t.r.p->dev[0], t.r.p->net->now, RN_TX_WORK, buf,
					 sizeof(buf), &tx),
			 24);
	assert_int_equal(rn_get_be24(buf + 21), 0);
	rc0_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_duplicate_send_is_acknowledged_but_not_delivered),
		cmocka_unit_test(a_duplicate_write_does_not_undo_what_came_after),
		cmocka_unit_test(a_duplicate_atomic_gets_the_saved_answer),
		cmocka_unit_test(only_as_many_atomics_as_agreed_are_remembered),
		cmocka_unit_test(duplicates_are_ignored_in_err),
		cmocka_unit_test(a_duplicate_read_is_executed_again),
		cmocka_unit_test(a_duplicate_read_that_asks_for_more_is_ignored),
		cmocka_unit_test(a_duplicate_read_of_a_region_that_is_gone_is_ignored),
		cmocka_unit_test(a_duplicate_read_does_not_disturb_a_send_in_progress),
		cmocka_unit_test(a_duplicate_of_a_read_not_yet_answered_changes_nothing),
		cmocka_unit_test(a_duplicate_in_the_middle_of_a_read_goes_back),
		cmocka_unit_test(
			responses_to_a_repeated_and_a_later_read_keep_their_order),
		cmocka_unit_test(
			a_new_read_takes_the_place_of_one_that_is_being_repeated),
		cmocka_unit_test(
			a_read_that_makes_room_does_not_bring_back_its_neighbour),
		cmocka_unit_test(pad_bytes_are_zero_whatever_was_in_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
