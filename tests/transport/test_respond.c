/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_respond.c - READ responses, and when acknowledgements and NAKs leave: parts of
 * groups D, E and F of rocev2.md section 5.
 */
#include "rc0.h"

enum {
	NAK_SEQ = 0x60,
	NAK_INV = 0x61,
	NAK_ACC = 0x62,
	RNR_640_US = 0x2c
};

static void fill(struct rc0 *t, uint8_t salt)
{
	for (uint32_t i = 0; i < RAW_MR_LEN; i++)
		t->r.mr->data[i] = (uint8_t)(i * 7 + (i >> 8) + salt);
}

static struct rc0 rts_filled(unsigned recvs)
{
	struct rc0 t = rc0_rts(recvs);

	fill(&t, 0);
	return t;
}

static void read_at(struct rc0 *t, uint32_t psn, uint32_t offset, uint32_t len)
{
	raw_send(&t->r, RAW(.op = RN_RC_READ_REQUEST, .psn = psn, .ack_req = true,
			    .reth = rc0_reth(t, offset, len)));
}

static void send_at(struct rc0 *t, uint32_t psn)
{
	raw_send(&t->r, RAW(.op = RN_RC_SEND_ONLY, .psn = psn, .ack_req = true));
}

/* While it is frozen the device takes requests and answers nothing. */
static void freeze(struct rc0 *t)
{
	t->r.p->frozen = true;
}

static void thaw(struct rc0 *t)
{
	t->r.p->frozen = false;
	pair_flush(t->r.p);
}

#define expect_response(t, op, psn, msn, offset, len) \
	expect_response_at((t), (op), (psn), (msn), (offset), (len), __LINE__)
static void expect_response_at(struct rc0 *t, uint8_t op, uint32_t psn, uint32_t msn,
			       uint32_t offset, uint32_t len, int line)
{
	const struct raw_packet *k = raw_expect_at(&t->r, op, psn, __FILE__, line);

	_assert_int_equal(k->len, len, __FILE__, line);
	_assert_int_equal(k->dest_qpn, RAW_PEER_QPN, __FILE__, line);
	_assert_int_equal(k->pkey, 0xffff, __FILE__, line);
	_assert_int_equal((uint32_t)k->pad - 1, -len & 3, __FILE__, line);
	if (op != RN_RC_READ_RESPONSE_MIDDLE) {
		_assert_int_equal(k->aeth.syndrome, 0x1f, __FILE__, line);
		_assert_int_equal(k->aeth.msn, msn, __FILE__, line);
	}
	if (len)
		_assert_memory_equal(k->payload, t->r.mr->data + offset, len, __FILE__,
				     line);
}

static void expect_3000(struct rc0 *t, uint32_t psn, uint32_t msn)
{
	expect_response(t, RN_RC_READ_RESPONSE_FIRST, psn, msn, 0, 1024);
	expect_response(t, RN_RC_READ_RESPONSE_MIDDLE, psn + 1, msn, 1024, 1024);
	expect_response(t, RN_RC_READ_RESPONSE_LAST, psn + 2, msn, 2048, 952);
}

/* --------------------------------------------------------------------- READ */
static void a_read_is_answered_packet_by_packet(void **state)
{
	struct rc0 t = rts_filled(1);

	(void)state;
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	rc0_expect_nothing(&t);
	send_at(&t, 103);
	raw_expect_ack(&t.r, 103, 2);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_READ_REQUESTS), 1);
	rc0_free(&t);
}

static void short_reads_are_answered_by_one_packet(void **state)
{
	struct rc0 t = rts_filled(0);

	(void)state;
	read_at(&t, 100, 0, 1024);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100, 1, 0, 1024);
	read_at(&t, 101, 77, 5);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 101, 2, 77, 5);
	/* Nothing is read, so nothing is checked. */
	raw_send(&t.r, RAW(.op = RN_RC_READ_REQUEST, .psn = 102,
			   .reth = { .va = 1, .rkey = 0xbad }));
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 102, 3, 0, 0);
	read_at(&t, 103, 8, 2048);
	expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 103, 4, 8, 1024);
	expect_response(&t, RN_RC_READ_RESPONSE_LAST, 104, 4, 8 + 1024, 1024);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_read_beyond_its_region_is_an_access_error(void **state)
{
	struct rc0 t = rts_filled(0);

	(void)state;
	read_at(&t, 100, 8, RAW_MR_LEN);
	rc0_expect_fatal(&t, NAK_ACC, 100, 0, 1);
	pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_free(&t);
}

static void more_reads_than_agreed_are_invalid(void **state)
{
	struct rc0 t = rts_filled(0);

	(void)state;
	freeze(&t);
	read_at(&t, 100, 0, 3000);
	read_at(&t, 103, 0, 5);
	read_at(&t, 104, 0, 5);
	thaw(&t);
	/* Those before are answered: they are not to blame. */
	expect_3000(&t, 100, 1);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 103, 2, 0, 5);
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
	read_at(&t, 100, 0, 5);
	rc0_expect_fatal(&t, NAK_INV, 100, 0, 1);
	rc0_free(&t);
}

static void a_region_that_goes_ends_a_read_in_progress(void **state)
{
	struct rc0 t = rts_filled(0);
	struct rn_tx tx;
	uint8_t buf[RN_PACKET_MAX];

	(void)state;
	freeze(&t);
	read_at(&t, 100, 0, 3000);
	assert_int_not_equal(rn_dev_transmit(t.r.p->dev[0], t.r.p->now, RN_TX_WORK, buf,
					     sizeof(buf), &tx),
			     0);
	pair_mr_remove(t.r.mr);
	thaw(&t);
	/* In place of the response that would have been next. */
	rc0_expect_fatal(&t, NAK_ACC, 101, 0, 1);
	pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_free(&t);
}

static void data_is_read_when_the_response_leaves(void **state)
{
	struct rc0 t = rts_filled(0);

	(void)state;
	freeze(&t);
	read_at(&t, 100, 0, 64);
	fill(&t, 99);
	thaw(&t);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100, 1, 0, 64);
	rc0_free(&t);
}

static void slow_memory_delays_reads_without_disorder(void **state)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 5000 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);
	uint32_t psn = 100, msn = 0;

	(void)state;
	rc0_post(&t, 1);
	fill(&t, 3);
	for (unsigned i = 0; i < 30; i++) {
		read_at(&t, psn, 0, 3000);
		read_at(&t, psn + 3, 500, 100);
		pair_run_wire(t.r.p);
		expect_3000(&t, psn, msn + 1);
		expect_response(&t, RN_RC_READ_RESPONSE_ONLY, psn + 3, msn + 2, 500, 100);
		psn += 4;
		msn += 2;
	}
	read_at(&t, psn, 0, 3000);
	send_at(&t, psn + 3);
	pair_run_wire(t.r.p);
	expect_3000(&t, psn, msn + 1);
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
		fill(&t, 3);
		read_at(&t, 100, 0, 3000);
		pair_run_for(t.r.p, seed * 250);
		read_at(&t, 100, 0, 3000);
		pair_run_for(t.r.p, seed * 40);
		read_at(&t, 101, 1024, 3000 - 1024);
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

/* --------------------------------------------------------- duplicate READs */
static void a_duplicate_read_is_executed_again(void **state)
{
	struct rc0 t = rts_filled(1);

	(void)state;
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	fill(&t, 50);
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	/* From a packet on, and a part of it: opcodes fit the new length. */
	read_at(&t, 101, 1024, 1976);
	expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 101, 1, 1024, 1024);
	expect_response(&t, RN_RC_READ_RESPONSE_LAST, 102, 1, 2048, 952);
	read_at(&t, 102, 2048, 952);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 102, 1, 2048, 952);
	read_at(&t, 101, 1024, 1024);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 101, 1, 1024, 1024);
	rc0_expect_nothing(&t);
	send_at(&t, 103);
	raw_expect_ack(&t.r, 103, 2);
	rc0_free(&t);
}

static void a_duplicate_read_that_asks_for_more_is_ignored(void **state)
{
	struct rc0 t = rts_filled(1);
	struct rn_reth reth = rc0_reth(&t, 0, 3000);

	(void)state;
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	read_at(&t, 100, 0, 3001);
	read_at(&t, 101, 1024, 1977);
	read_at(&t, 101, 1023, 1976);
	read_at(&t, 101, 0, 1976);
	read_at(&t, 101, 1024, 0);
	reth.rkey ^= 1;
	raw_send(&t.r, RAW(.op = RN_RC_READ_REQUEST, .psn = 100, .reth = reth));
	reth = rc0_reth(&t, 0, 3000);
	reth.va--;
	raw_send(&t.r, RAW(.op = RN_RC_READ_REQUEST, .psn = 100, .reth = reth));
	read_at(&t, 99, 0, 3000);
	rc0_expect_nothing(&t);
	send_at(&t, 103);
	raw_expect_ack(&t.r, 103, 2);
	rc0_free(&t);
}

static void a_duplicate_read_of_a_region_that_is_gone_is_ignored(void **state)
{
	struct rc0 t = rts_filled(1);

	(void)state;
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	pair_mr_remove(t.r.mr);
	read_at(&t, 100, 0, 3000);
	rc0_expect_nothing(&t);
	send_at(&t, 103);
	raw_expect_ack(&t.r, 103, 2);
	rc0_free(&t);
}

static void a_duplicate_read_does_not_disturb_a_send_in_progress(void **state)
{
	struct rc0 t = rts_filled(1);

	(void)state;
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 103, .len = 1024));
	read_at(&t, 101, 1024, 1976);
	expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 101, 1, 1024, 1024);
	expect_response(&t, RN_RC_READ_RESPONSE_LAST, 102, 1, 2048, 952);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_LAST, .psn = 104, .ack_req = true, .len = 4));
	rc0_expect_receive(&t, 1, 1028);
	raw_expect_ack(&t.r, 104, 2);
	rc0_free(&t);
}

static void a_duplicate_of_a_read_not_yet_answered_changes_nothing(void **state)
{
	struct rc0 t = rts_filled(0);

	(void)state;
	freeze(&t);
	read_at(&t, 100, 0, 3000);
	read_at(&t, 100, 0, 3000);
	read_at(&t, 102, 2048, 952);
	thaw(&t);
	expect_3000(&t, 100, 1);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_duplicate_in_the_middle_of_a_read_goes_back(void **state)
{
	struct rc0 t = rts_filled(0);
	struct rn_tx tx;
	uint8_t buf[RN_PACKET_MAX];

	(void)state;
	freeze(&t);
	read_at(&t, 100, 0, 3000);
	for (unsigned i = 0; i < 2; i++)
		assert_int_not_equal(rn_dev_transmit(t.r.p->dev[0], t.r.p->now,
						     RN_TX_WORK, buf, sizeof(buf), &tx),
				     0);
	/* Only a part: it would leave 102 unanswered for ever. */
	read_at(&t, 100, 0, 1024);
	read_at(&t, 101, 1024, 1976);
	thaw(&t);
	expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 101, 1, 1024, 1024);
	expect_response(&t, RN_RC_READ_RESPONSE_LAST, 102, 1, 2048, 952);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void responses_to_a_repeated_and_a_later_read_keep_their_order(void **state)
{
	struct rc0 t = rts_filled(1);

	(void)state;
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	freeze(&t);
	read_at(&t, 103, 8, 5);
	send_at(&t, 104);
	read_at(&t, 101, 1024, 1976);
	thaw(&t);
	expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 101, 1, 1024, 1024);
	expect_response(&t, RN_RC_READ_RESPONSE_LAST, 102, 1, 2048, 952);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 103, 2, 8, 5);
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
	fill(&t, 0);
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	freeze(&t);
	/* A late duplicate; the answer has arrived meanwhile, so the next one comes. */
	read_at(&t, 100, 0, 3000);
	read_at(&t, 103, 9, 5);
	thaw(&t);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 103, 2, 9, 5);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_read_that_makes_room_does_not_bring_back_its_neighbour(void **state)
{
	struct rc0 t = rts_filled(0);

	(void)state;
	read_at(&t, 100, 0, 3000);
	expect_3000(&t, 100, 1);
	read_at(&t, 103, 8, 2000);
	expect_response(&t, RN_RC_READ_RESPONSE_FIRST, 103, 2, 8, 1024);
	expect_response(&t, RN_RC_READ_RESPONSE_LAST, 104, 2, 8 + 1024, 976);
	freeze(&t);
	read_at(&t, 100, 0, 3000);
	read_at(&t, 105, 9, 5);
	thaw(&t);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 105, 3, 9, 5);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void pad_bytes_are_zero_whatever_was_in_the_buffer(void **state)
{
	struct rc0 t = rts_filled(0);
	uint8_t buf[RN_PACKET_MAX];
	struct rn_tx tx;

	(void)state;
	freeze(&t);
	read_at(&t, 100, 0, 5);
	memset(buf, 0xff, sizeof(buf));
	/* BTH 12, AETH 4, 5 bytes, 3 of pad. */
	assert_int_equal(rn_dev_transmit(t.r.p->dev[0], t.r.p->now, RN_TX_WORK, buf,
					 sizeof(buf), &tx),
			 24);
	assert_int_equal(rn_get_be24(buf + 21), 0);
	rc0_free(&t);
}

/* --------------------------------------------------------- acknowledgements */
static void an_acknowledgement_does_not_overtake_a_read(void **state)
{
	struct rc0 t = rts_filled(1);

	(void)state;
	freeze(&t);
	read_at(&t, 100, 0, 3000);
	send_at(&t, 103);
	assert_false(rn_dev_acks_due(t.r.p->dev[0]));
	thaw(&t);
	expect_3000(&t, 100, 1);
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
	fill(&t, 0);
	freeze(&t);
	send_at(&t, 100);
	assert_true(rn_dev_acks_due(t.r.p->dev[0]));
	read_at(&t, 101, 0, 3000);
	thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	expect_3000(&t, 101, 2);
	assert_false(rn_dev_acks_due(t.r.p->dev[0]));
	rc0_free(&t);
}

static void a_plain_acknowledgement_never_covers_a_read_that_was_lost(void **state)
{
	struct rc0 t = rts_filled(2);

	(void)state;
	send_at(&t, 100);
	read_at(&t, 101, 0, 3000);
	raw_expect_ack(&t.r, 100, 1);
	expect_3000(&t, 101, 2);
	send_at(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	/* The same with another SEND behind the READ. */
	send_at(&t, 104);
	raw_expect_ack(&t.r, 104, 3);
	send_at(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	send_at(&t, 104);
	raw_expect_ack(&t.r, 104, 3);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void acknowledgements_that_wait_become_one(void **state)
{
	struct rc0 t = rts_filled(4);

	(void)state;
	freeze(&t);
	for (uint32_t i = 0; i < 4; i++)
		send_at(&t, 100 + i);
	/* An older duplicate adds nothing. */
	send_at(&t, 101);
	thaw(&t);
	raw_expect_ack(&t.r, 103, 4);
	raw_expect_silence(&t.r);
	assert_int_equal(rc0_stat(&t, RN_STAT_ACK_COALESCED), 4);
	rc0_free(&t);
}

static void a_duplicate_does_not_replace_a_newer_acknowledgement(void **state)
{
	struct rc0 t = rts_filled(4);

	(void)state;
	send_at(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	freeze(&t);
	read_at(&t, 101, 0, 3000);
	send_at(&t, 104);
	send_at(&t, 100);
	thaw(&t);
	expect_3000(&t, 101, 2);
	raw_expect_ack(&t.r, 104, 3);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_nak_takes_the_place_of_an_acknowledgement(void **state)
{
	struct rc0 t = rts_filled(4);

	(void)state;
	freeze(&t);
	send_at(&t, 100);
	send_at(&t, 105);
	/* Nor is it replaced by the answer to a duplicate. */
	send_at(&t, 100);
	thaw(&t);
	raw_expect_nak(&t.r, NAK_SEQ, 101, 1);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_nak_waits_for_the_reads_before_it(void **state)
{
	struct rc0 t = rts_filled(4);

	(void)state;
	freeze(&t);
	read_at(&t, 100, 0, 3000);
	send_at(&t, 105);
	thaw(&t);
	expect_3000(&t, 100, 1);
	raw_expect_nak(&t.r, NAK_SEQ, 103, 1);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_nak_that_has_not_left_moves_on_if_the_gap_is_filled(void **state)
{
	struct rc0 t = rts_filled(4);

	(void)state;
	freeze(&t);
	send_at(&t, 101);
	send_at(&t, 103);
	send_at(&t, 100);
	thaw(&t);
	/* 101 and 103 were dropped. */
	raw_expect_nak(&t.r, NAK_SEQ, 101, 1);
	send_at(&t, 102);
	raw_expect_silence(&t.r);

	/* If nothing was dropped behind it, it is an acknowledgement. */
	freeze(&t);
	send_at(&t, 101);
	send_at(&t, 103);
	send_at(&t, 102);
	send_at(&t, 103);
	thaw(&t);
	raw_expect_ack(&t.r, 103, 4);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void an_rnr_nak_that_has_not_left_is_taken_back(void **state)
{
	struct rc0 t = rts_filled(0);

	(void)state;
	freeze(&t);
	send_at(&t, 100);
	rc0_post(&t, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100));
	thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	raw_expect_silence(&t.r);
	assert_int_equal(rc0_stat(&t, RN_STAT_RNR_NAK_TX), 0);
	rc0_free(&t);
}

static void a_nak_of_an_unsent_kind_covers_a_read_that_came_instead(void **state)
{
	struct rc0 t = rts_filled(0);

	(void)state;
	freeze(&t);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	send_at(&t, 101);
	/* The peer thinks better of it; strange, but not our business. */
	read_at(&t, 101, 0, 5);
	thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 101, 2, 0, 5);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void a_fatal_nak_follows_the_responses_before_it(void **state)
{
	struct rc0 t = rts_filled(2);

	(void)state;
	freeze(&t);
	send_at(&t, 100);
	read_at(&t, 101, 0, 3000);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_MIDDLE, .psn = 104, .len = 1024));
	assert_int_equal(rc0_state(&t), RN_QPS_ERR);
	assert_false(rn_dev_acks_due(t.r.p->dev[0]));
	thaw(&t);
	rc0_expect_receive(&t, 1, 0);
	expect_3000(&t, 101, 2);
	rc0_expect_fatal(&t, NAK_INV, 104, 2, 2);
	rc0_free(&t);
}

static void going_to_err_drops_reads_but_not_an_acknowledgement_due(void **state)
{
	struct rc0 t = rts_filled(2);

	(void)state;
	freeze(&t);
	send_at(&t, 100);
	read_at(&t, 101, 0, 3000);
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_ERR), 0);
	thaw(&t);
	raw_expect_ack(&t.r, 100, 1);
	raw_expect_silence(&t.r);
	rc0_free(&t);

	/* One that waits for a READ must not leave without it. */
	t = rts_filled(2);
	freeze(&t);
	read_at(&t, 100, 0, 3000);
	send_at(&t, 103);
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_ERR), 0);
	thaw(&t);
	raw_expect_silence(&t.r);
	rc0_free(&t);
}

static void reset_forgets_everything(void **state)
{
	struct rc0 t = rts_filled(2);
	struct rn_qp_attr attr;

	(void)state;
	rn_qp_query(t.r.q->qp, &attr);
	attr.rq_psn = 500;
	freeze(&t);
	send_at(&t, 100);
	read_at(&t, 101, 0, 3000);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 104,
			   .reth = rc0_reth(&t, 0, 3000), .len = 1024));
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_RESET), 0);
	pair_modify_until(t.r.q, &attr, RN_QPS_RTS);
	thaw(&t);
	raw_expect_silence(&t.r);
	/* A fresh MSN, and no old resource. */
	read_at(&t, 101, 0, 3000);
	raw_expect_silence(&t.r);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 500, .ack_req = true));
	raw_expect_ack(&t.r, 500, 1);
	rc0_free(&t);
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
		cmocka_unit_test(an_acknowledgement_does_not_overtake_a_read),
		cmocka_unit_test(an_acknowledgement_leaves_before_the_read_that_follows),
		cmocka_unit_test(
			a_plain_acknowledgement_never_covers_a_read_that_was_lost),
		cmocka_unit_test(acknowledgements_that_wait_become_one),
		cmocka_unit_test(a_duplicate_does_not_replace_a_newer_acknowledgement),
		cmocka_unit_test(a_nak_takes_the_place_of_an_acknowledgement),
		cmocka_unit_test(a_nak_waits_for_the_reads_before_it),
		cmocka_unit_test(a_nak_that_has_not_left_moves_on_if_the_gap_is_filled),
		cmocka_unit_test(an_rnr_nak_that_has_not_left_is_taken_back),
		cmocka_unit_test(a_nak_of_an_unsent_kind_covers_a_read_that_came_instead),
		cmocka_unit_test(a_fatal_nak_follows_the_responses_before_it),
		cmocka_unit_test(going_to_err_drops_reads_but_not_an_acknowledgement_due),
		cmocka_unit_test(reset_forgets_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
