/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_responder_read.c - READ responses: E10 to E17 of tests/rules.md, and slow memory.
 */
#include "rocin/transport.h"
#include "tests/kit/device/rc0.h"

enum {
	NAK_INV = 0x61,
	NAK_ACC = 0x62
};

static void a_read_is_answered_packet_by_packet(void **state)
{
	struct rc0 t = rc0_rts_filled(1);

	(void)state;
	rc0_read(&t, 100, 0, 3000);
	rc0_expect_3000(&t, 100, 1);
	rc0_expect_nothing(&t);
	rc0_send(&t, 103);
	raw_expect_ack(&t.r, 103, 2);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_READ_REQUESTS), 1);
	rc0_free(&t);
}

static void short_reads_are_answered_by_one_packet(void **state)
{
	struct rc0 t = rc0_rts_filled(0);

	(void)state;
	rc0_read(&t, 100, 0, 1024);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100, 1, 0, 1024);
	rc0_read(&t, 101, 77, 5);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 101, 2, 77, 5);
	/* Nothing is read, so nothing is checked. */
	raw_send(&t.r, RAW(.op = RN_RC_READ_REQUEST, .psn = 102,
			   .reth = { .va = 1, .rkey = 0xbad }));
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 102, 3, 0, 0);
	rc0_read(&t, 103, 8, 2048);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 103, 4, 8, 1024);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_LAST, 104, 4, 8 + 1024, 1024);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_read_beyond_its_region_is_an_access_error(void **state)
{
	struct rc0 t = rc0_rts_filled(0);

	(void)state;
	rc0_read(&t, 100, 8, RAW_MR_LEN);
	rc0_expect_fatal(&t, NAK_ACC, 100, 0, 1);
	pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_free(&t);
}

static void more_reads_than_agreed_are_invalid(void **state)
{
	struct rc0 t = rc0_rts_filled(0);

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	rc0_read(&t, 103, 0, 5);
	rc0_read(&t, 104, 0, 5);
	rc0_thaw(&t);
	/* Those before are answered: they are not to blame. */
	rc0_expect_3000(&t, 100, 1);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 103, 2, 0, 5);
	rc0_expect_fatal(&t, NAK_INV, 104, 2, 1);
	pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_free(&t);
}

static void no_depth(struct rn_qp_attr *a)
{
	a->max_dest_rd_atomic = 0;
}

static void without_depth_every_read_is_invalid(void **state)
{
	struct rc0 t = rc0_new(NULL, RN_QPT_RC, RN_QPS_RTS, no_depth);

	(void)state;
	rc0_read(&t, 100, 0, 5);
	rc0_expect_fatal(&t, NAK_INV, 100, 0, 1);
	rc0_free(&t);
}

static void a_region_that_goes_ends_a_read_in_progress(void **state)
{
	struct rc0 t = rc0_rts_filled(0);
	struct rn_tx tx;
	uint8_t buf[RN_PACKET_MAX];

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	assert_int_not_equal(rn_dev_transmit(t.r.p->dev[0], t.r.p->net->now, RN_TX_WORK,
					     buf, sizeof(buf), &tx),
			     0);
	pair_mr_remove(t.r.mr);
	rc0_thaw(&t);
	/* In place of the response that would have been next; the first has counted it.
	 */
	rc0_expect_fatal(&t, NAK_ACC, 101, 1, 1);
	pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_free(&t);
}

static void data_is_read_when_the_response_leaves(void **state)
{
	struct rc0 t = rc0_rts_filled(0);

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 64);
	rc0_fill(&t, 99);
	rc0_thaw(&t);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100, 1, 0, 64);
	rc0_free(&t);
}

static void slow_memory_delays_reads_without_disorder(void **state)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 5000 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);
	uint32_t psn = 100, msn = 0;

	(void)state;
	rc0_post(&t, 1);
	rc0_fill(&t, 3);
	for (unsigned i = 0; i < 30; i++) {
		rc0_read(&t, psn, 0, 3000);
		rc0_read(&t, psn + 3, 500, 100);
		pair_run_wire(t.r.p);
		rc0_expect_3000(&t, psn, msn + 1);
		rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, psn + 3, msn + 2, 500,
				    100);
		psn += 4;
		msn += 2;
	}
	rc0_read(&t, psn, 0, 3000);
	rc0_send(&t, psn + 3);
	pair_run_wire(t.r.p);
	rc0_expect_3000(&t, psn, msn + 1);
	raw_expect_ack(&t.r, psn + 3, msn + 2);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_duplicate_while_memory_is_slow_restarts_the_read(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct rc0 t =
			rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 5000 },
				RN_QPT_RC, RN_QPS_RTS, NULL);
		struct raw_packet k;
		bool last = false;

		t.r.p->arena[0].seed = seed;
		rc0_fill(&t, 3);
		rc0_read(&t, 100, 0, 3000);
		pair_run_for(t.r.p, seed * 250);
		rc0_read(&t, 100, 0, 3000);
		pair_run_for(t.r.p, seed * 40);
		rc0_read(&t, 101, 1024, 3000 - 1024);
		pair_run_wire(t.r.p);
		/* Whatever was repeated, each is right and the end comes at the end. */
		while (raw_next(&t.r, &k)) {
			assert_in_range(k.psn, 100, 102);
			assert_memory_equal(k.payload,
					    t.r.mr->data + (k.psn - 100) * 1024, k.len);
			last = k.psn == 102;
		}
		assert_true(last);
		rc0_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_is_answered_packet_by_packet),
		cmocka_unit_test(short_reads_are_answered_by_one_packet),
		cmocka_unit_test(a_read_beyond_its_region_is_an_access_error),
		cmocka_unit_test(more_reads_than_agreed_are_invalid),
		cmocka_unit_test(without_depth_every_read_is_invalid),
		cmocka_unit_test(a_region_that_goes_ends_a_read_in_progress),
		cmocka_unit_test(data_is_read_when_the_response_leaves),
		cmocka_unit_test(slow_memory_delays_reads_without_disorder),
		cmocka_unit_test(a_duplicate_while_memory_is_slow_restarts_the_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
