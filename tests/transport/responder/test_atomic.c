/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_atomic.c - atomics at the responder: E18 to E22 of tests/rules.md, and
 * slow memory.
 */
#include "tests/kit/device/rc0.h"

enum {
	NAK_INV = 0x61,
	NAK_ACC = 0x62
};

/* ------------------------------------------------------------------ atomics */
static void compare_and_swap_stores_only_on_a_match(void **state)
{
	struct rc0 t = rc0_rts(0);
	const struct raw_packet *k;

	(void)state;
	rc0_store(&t, 16, 0x1122334455667788);
	raw_send(&t.r, RAW(.op = RN_RC_CMP_SWAP, .psn = 100,
			   .atomic = rc0_atomic(&t, 16, 42, 0x1122334455667788)));
	k = raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100);
	assert_true(k->atomic_ack == 0x1122334455667788);
	assert_int_equal(k->aeth.syndrome, 0x1f);
	assert_int_equal(k->aeth.msn, 1);
	assert_int_equal(rc0_load(&t, 16), 42);

	raw_send(&t.r, RAW(.op = RN_RC_CMP_SWAP, .psn = 101,
			   .atomic = rc0_atomic(&t, 16, 43, 41)));
	k = raw_expect(&t.r, RN_RC_ATOMIC_ACK, 101);
	assert_int_equal(k->atomic_ack, 42);
	assert_int_equal(k->aeth.msn, 2);
	assert_int_equal(rc0_load(&t, 16), 42);
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_ATOMIC_REQUESTS), 2);
	rc0_free(&t);
}

static void fetch_and_add_wraps(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	rc0_store(&t, 8, UINT64_MAX);
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
			   .atomic = rc0_atomic(&t, 8, 3, 99)));
	assert_true(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100)->atomic_ack == UINT64_MAX);
	assert_int_equal(rc0_load(&t, 8), 2);
	rc0_free(&t);
}

static void a_misaligned_atomic_is_invalid(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	rc0_expect_harmless(
		&t,
		RAW(.op = RN_RC_FETCH_ADD, .psn = 100, .atomic = rc0_atomic(&t, 4, 1, 0)),
		NAK_INV);
	rc0_free(&t);

	/* Aligned as the peer names it, but not in memory. */
	t = rc0_rts(0);
	t.r.mr->mr.va += 4;
	t.r.mr->mr.length -= 8;
	t.r.mr->mr.iova_base += 1;
	rc0_expect_harmless(
		&t,
		RAW(.op = RN_RC_FETCH_ADD, .psn = 100, .atomic = rc0_atomic(&t, 4, 1, 0)),
		NAK_INV);
	rc0_free(&t);
}

static void atomics_wait_for_their_turn_where_memory_is_slow(void **state)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 1000 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	for (uint32_t round = 0; round < 20; round++) {
		uint32_t psn = 100 + round * 3;

		raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = psn,
				   .atomic = rc0_atomic(&t, 0, 1, 0)));
		raw_send(&t.r, RAW(.op = RN_RC_CMP_SWAP, .psn = psn + 1,
				   .atomic = rc0_atomic(&t, 0, round + 1, round + 1)));
		/* Is executed, but not acknowledged before the atomics were answered. */
		raw_send(&t.r,
			 RAW(.op = RN_RC_WRITE_ONLY, .psn = psn + 2, .ack_req = true,
			     .reth = rc0_reth(&t, 64, 4), .len = 4));
		assert_int_equal(t.r.mr->data[64], (uint8_t)(psn + 2));
		pair_run_wire(t.r.p);
		assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, psn)->atomic_ack,
				 round);
		assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, psn + 1)->atomic_ack,
				 round + 1);
		raw_expect_ack(&t.r, psn + 2, 3 * round + 3);
		raw_expect_silence(&t.r);
	}
	rc0_free(&t);
}

static void an_atomic_that_faults_late_takes_back_what_followed(void **state)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 1000 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);
	struct pair_mr *mr = pair_mr_new(t.r.p, 0, 64, RC0_ALL_RIGHTS);

	(void)state;
	rc0_store(&t, 0, 5);
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
			   .atomic = rc0_atomic(&t, 0, 1, 0)));
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 101,
			   .atomic = { mr->mr.va, mr->mr.lkey, 1, 0 }));
	arena_unmap(&t.r.p->arena[0], mr->data);
	pair_run_wire(t.r.p);
	assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100)->atomic_ack, 5);
	rc0_expect_fatal(&t, NAK_ACC, 101, 1, 1);
	pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_free(&t);
}

/* The region was changed while the second atomic waited for the first: its word is now
 * where no word is.
 */
static void alignment_counts_when_the_turn_comes(void **state)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 1000 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);
	struct pair_mr *mr = pair_mr_new(t.r.p, 0, 64, RC0_ALL_RIGHTS);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
			   .atomic = rc0_atomic(&t, 0, 1, 0)));
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 101,
			   .atomic = { mr->mr.va, mr->mr.lkey, 1, 0 }));
	mr->mr.iova_base += 4;
	pair_run_wire(t.r.p);
	raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100);
	rc0_expect_fatal(&t, NAK_ACC, 101, 1, 1);
	rc0_expect_zeros(mr->data, 64);
	rc0_free(&t);
}

static void a_late_answer_finds_a_qp_that_was_reset(void **state)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 1000 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);
	struct rn_qp_attr attr;

	(void)state;
	rn_qp_query(t.r.q->qp, &attr);
	attr.rq_psn = 100;
	attr.port_num = 1;
	/* Seeds differ in which of these answer at once: all must be survived. */
	for (unsigned i = 0; i < 50; i++) {
		rc0_store(&t, 0, 7);
		raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
				   .atomic = rc0_atomic(&t, 64, 1, 0)));
		raw_send(&t.r, RAW(.op = RN_RC_READ_REQUEST, .psn = 101,
				   .reth = rc0_reth(&t, 128, 8)));
		assert_int_equal(pair_modify_state(t.r.q, RN_QPS_RESET), 0);
		pair_modify_until(t.r.q, &attr, RN_QPS_RTS);
		t.r.p->record_taken = t.r.p->record_count;
		raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
				   .atomic = rc0_atomic(&t, 0, 1, 0)));
		raw_send(&t.r, RAW(.op = RN_RC_READ_REQUEST, .psn = 101,
				   .reth = rc0_reth(&t, 0, 8)));
		pair_run_wire(t.r.p);
		assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100)->atomic_ack, 7);
		assert_int_equal(
			raw_expect(&t.r, RN_RC_READ_RESPONSE_ONLY, 101)->payload[0], 8);
		raw_expect_silence(&t.r);
		assert_int_equal(pair_modify_state(t.r.q, RN_QPS_RESET), 0);
		pair_modify_until(t.r.q, &attr, RN_QPS_RTS);
	}
	rc0_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compare_and_swap_stores_only_on_a_match),
		cmocka_unit_test(fetch_and_add_wraps),
		cmocka_unit_test(a_misaligned_atomic_is_invalid),
		cmocka_unit_test(atomics_wait_for_their_turn_where_memory_is_slow),
		cmocka_unit_test(an_atomic_that_faults_late_takes_back_what_followed),
		cmocka_unit_test(alignment_counts_when_the_turn_comes),
		cmocka_unit_test(a_late_answer_finds_a_qp_that_was_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
