/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_watch_flow.c - who belongs to whom, what is sent again and why, and the counts. */
#include <stdio.h>

#include "rocin/gsi.h"
#include "rocin/mad.h"
#include "talk.h"

#define SEND(p)                                             \
	&(struct step)                                      \
	{                                                   \
		.op = RN_RC_SEND_ONLY, .psn = (p), .len = 8 \
	}
#define ACK(p, m)                                                             \
	&(struct step)                                                        \
	{                                                                     \
		.op = RN_RC_ACK, .psn = (p), .syndrome = TALK_ACK, .msn = (m) \
	}
#define NAK(p, s)                                            \
	&(struct step)                                       \
	{                                                    \
		.op = RN_RC_ACK, .psn = (p), .syndrome = (s) \
	}

static void responses_find_the_requests(void **state)
{
	struct talk t = talk_new(false);
	const struct rn_watch_verdict *r;

	(void)state;
	r = talk_step(&t, SEND(100));
	assert_true(r->is_new && !r->is_response);
	assert_int_equal(r->half, 0);
	assert_false(rn_watch_half(t.w, 0)->is_paired);
	r = talk_step(&t, ACK(100, 1));
	assert_true(r->is_response);
	assert_int_equal(r->half, 0);
	assert_int_equal(r->since, RN_USEC(10));
	assert_true(rn_watch_half(t.w, 0)->is_paired);
	assert_int_equal(rn_watch_half(t.w, 0)->qpn, TALK_QP_B);
	assert_int_equal(rn_watch_half(t.w, 0)->peer_qpn, TALK_QP_A);
	assert_int_equal(rn_watch_peer(t.w, 0), 1);
	assert_int_equal(rn_watch_peer(t.w, 1), 0);
	talk_end(&t);
}

static void a_response_goes_to_those_that_have_its_psn(void **state)
{
	struct talk t = talk_new(false);
	const struct rn_watch_verdict *r;

	(void)state;
	talk_step(&t, &(struct step){ .op = RN_RC_SEND_ONLY, .psn = 100, .qpn = 0x31 });
	talk_step(&t, &(struct step){ .op = RN_RC_SEND_ONLY, .psn = 5000, .qpn = 0x32 });
	r = talk_step(&t, &(struct step){ .op = RN_RC_ACK,
					  .psn = 5000,
					  .syndrome = TALK_ACK,
					  .qpn = 0x41 });
	assert_int_equal(rn_watch_half(t.w, r->half)->qpn, 0x32);
	r = talk_step(&t, &(struct step){ .op = RN_RC_ACK,
					  .psn = 100,
					  .syndrome = TALK_ACK,
					  .qpn = 0x42 });
	assert_int_equal(rn_watch_half(t.w, r->half)->qpn, 0x31);
	/* Nobody asked. */
	r = talk_step(&t, &(struct step){ .op = RN_RC_ACK,
					  .psn = 100,
					  .syndrome = TALK_ACK,
					  .qpn = 0x43 });
	assert_int_equal(r->half, RN_WATCH_NONE);
	assert_int_equal(r->findings, 0);
	talk_end(&t);
}

static void both_directions_are_one_connection(void **state)
{
	struct talk t = talk_new(false);
	const struct rn_watch_verdict *r;

	(void)state;
	talk_step(&t, SEND(100));
	talk_step(&t, ACK(100, 1));
	r = talk_step(
		&t, &(struct step){ .op = RN_RC_SEND_ONLY, .psn = 7, .is_from_b = true });
	assert_int_equal(r->half, 1);
	r = talk_step(&t, &(struct step){ .op = RN_RC_ACK,
					  .psn = 7,
					  .msn = 1,
					  .syndrome = TALK_ACK,
					  .is_from_a = true });
	assert_int_equal(r->half, 1);
	assert_int_equal(rn_watch_halves(t.w), 2);
	talk_end(&t);
}

static void a_queue_pair_may_talk_to_itself(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct step send = { .op = RN_UC_SEND_ONLY, .psn = i };
		size_t len;
		struct rn_packet p;

		send.op = i % 2 ? RN_RC_ACK : RN_RC_SEND_ONLY;
		send.psn = i / 2;
		send.syndrome = TALK_ACK;
		send.msn = 1;
		send.is_from_a = true;
		send.qpn = 0x55;
		len = talk_make(&send, t.bytes);
		memcpy(t.bytes + 16, t.bytes + 12, 4);
		assert_true(rn_packet_parse(&p, t.bytes, len));
		p.icrc = RN_PACKET_ICRC_RIGHT;
		rn_watch_packet(t.w, i, &p, &t.verdict);
		assert_int_equal(t.verdict.findings, 0);
		assert_int_equal(t.verdict.half, 0);
	}
	assert_int_equal(rn_watch_peer(t.w, 0), 0);
	talk_end(&t);
}

static void causes_of_sending_again(void **state)
{
	struct talk t = talk_new(false);
	const struct rn_watch_counts *n;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(talk_step(&t, SEND(100 + i))->cause, RN_CAUSE_NONE);
	talk_step(&t, NAK(101, TALK_NAK_SEQ));
	assert_int_equal(talk_step(&t, SEND(101))->cause, RN_CAUSE_NAK);
	assert_int_equal(talk_step(&t, SEND(102))->cause, RN_CAUSE_GO_BACK);
	talk_step(&t, ACK(101, 2));
	assert_int_equal(talk_step(&t, SEND(103))->cause, RN_CAUSE_GO_BACK);
	assert_int_equal(talk_step(&t, SEND(104))->cause, RN_CAUSE_GO_BACK);
	assert_int_equal(talk_step(&t, SEND(105))->cause, RN_CAUSE_NONE);
	assert_int_equal(talk_step(&t, SEND(102))->cause, RN_CAUSE_TIMEOUT);
	assert_int_equal(t.verdict.since, RN_USEC(50));
	talk_step(&t, NAK(103, TALK_RNR));
	t.now += RN_MSEC(1);
	assert_int_equal(talk_step(&t, SEND(103))->cause, RN_CAUSE_RNR);
	n = &rn_watch_half(t.w, 0)->n;
	assert_int_equal(n->resent, 6);
	assert_int_equal(n->resent_bytes, 48);
	assert_int_equal(n->resends[RN_CAUSE_GO_BACK], 3);
	assert_int_equal(n->seq_naks, 1);
	assert_int_equal(n->rnr_naks, 1);
	assert_int_equal(n->messages, 6);
	assert_int_equal(n->requests, 12);
	assert_int_equal(n->sent_bytes, 48);
	assert_int_equal(n->done_bytes, 24);
	assert_int_equal(n->window_max, 5);
	assert_int_equal(n->violations + n->suspicions, 0);
	talk_end(&t);
}

/* Linux rxe sends a message again from its first packet on, whichever was refused. */
static void a_nak_of_the_last_is_heeded_from_the_first(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum rn_watch_cause cause;
	} naks[] = { { TALK_RNR, RN_CAUSE_RNR }, { TALK_NAK_SEQ, RN_CAUSE_NAK } };

	(void)state;
	for (unsigned k = 0; k < RN_ARRAY_SIZE(naks); k++) {
		struct talk t = talk_new(false);
		static const uint8_t op[] = { RN_RC_WRITE_FIRST, RN_RC_WRITE_MIDDLE,
					      RN_RC_WRITE_LAST_IMM };

		talk_step(&t, SEND(99));
		talk_step(&t, ACK(99, 1));
		for (uint32_t i = 0; i < 6; i++) {
			struct step s = { .op = op[i % 3],
					  .psn = 100 + i % 3,
					  .len = i % 3 == 2 ? 952 : 1024,
					  .dma_len = 3000 };

			if (i == 3) {
				talk_step(&t, NAK(102, naks[k].syndrome));
				t.now += RN_MSEC(1);
			}
			talk_step(&t, &s);
			assert_int_equal(t.verdict.findings, 0);
			assert_int_equal(t.verdict.cause, i < 3	   ? RN_CAUSE_NONE
							  : i == 3 ? naks[k].cause
								   : RN_CAUSE_GO_BACK);
		}
		talk_end(&t);
	}
}

/* What lies behind the PSN of a NAK is asked for by nobody. */
static void a_nak_is_the_cause_of_no_packet_behind_it(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		talk_step(&t, SEND(100 + i));
	talk_step(&t, NAK(102, TALK_NAK_SEQ));
	assert_int_equal(talk_step(&t, SEND(103))->cause, RN_CAUSE_TIMEOUT);
	assert_int_equal(talk_step(&t, SEND(102))->cause, RN_CAUSE_NAK);
	assert_int_equal(rn_watch_half(t.w, 0)->n.resends[RN_CAUSE_NAK], 1);
	talk_end(&t);
}

static void what_comes_late_is_counted_once(void **state)
{
	struct talk t = talk_new(false);
	const struct rn_watch_counts *n;

	(void)state;
	talk_step(&t, SEND(100));
	assert_int_equal(talk_step(&t, SEND(102))->missing, 1);
	assert_int_equal(talk_step(&t, SEND(101))->cause, RN_CAUSE_LATE);
	talk_step(&t, ACK(102, 3));
	n = &rn_watch_half(t.w, 0)->n;
	assert_int_equal(n->messages, 3);
	assert_int_equal(n->sent_bytes, 24);
	assert_int_equal(n->done_bytes, 24);
	talk_end(&t);
}

static void a_packet_may_be_captured_twice(void **state)
{
	struct talk t = talk_new(false);
	struct step twin = *SEND(100);

	(void)state;
	twin.wait = RN_USEC(2);
	talk_step(&t, SEND(100));
	assert_int_equal(talk_step(&t, &twin)->cause, RN_CAUSE_DOUBLE);
	assert_int_equal(talk_step(&t, SEND(101))->cause, RN_CAUSE_NONE);
	talk_end(&t);
}

static void the_rest_of_a_read_has_its_own_cause(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	talk_step(&t, &(struct step){
			      .op = RN_RC_READ_REQUEST, .psn = 100, .dma_len = 3000 });
	talk_step(&t, &(struct step){ .op = RN_RC_READ_RESPONSE_FIRST,
				      .psn = 100,
				      .len = 1024,
				      .syndrome = TALK_ACK,
				      .msn = 1 });
	assert_int_equal(rn_watch_half(t.w, 0)->pmtu, 1024);
	talk_step(&t, &(struct step){ .op = RN_RC_READ_REQUEST,
				      .psn = 101,
				      .va = 1024,
				      .dma_len = 1976 });
	assert_int_equal(t.verdict.cause, RN_CAUSE_READ_GAP);
	assert_int_equal(t.verdict.findings, 0);
	talk_end(&t);
}

static void another_connection_of_the_same_queue_pair(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	talk_step(&t, SEND(100));
	talk_step(&t, ACK(100, 1));
	talk_step(&t, SEND(9000000));
	assert_true(t.verdict.starts_anew);
	assert_int_equal(t.verdict.findings, 0);
	talk_step(&t, ACK(9000000, 1));
	assert_int_equal(t.verdict.findings, 0);
	/* From the same PSN on, with other words. */
	talk_step(&t, &(struct step){ .op = RN_RC_SEND_ONLY_IMM, .psn = 9000000 });
	assert_true(t.verdict.starts_anew);
	assert_int_equal(t.verdict.findings, 0);
	talk_end(&t);
}

/* Whether its requests had been answered before, or only refused. */
static void a_new_connection_was_refused_nothing(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	talk_step(&t, SEND(100));
	talk_step(&t, NAK(100, TALK_NAK_ACCESS));
	talk_step(&t, SEND(1000000));
	assert_true(t.verdict.starts_anew);
	talk_step(&t, ACK(1000000, 1));
	assert_int_equal(t.verdict.half, 0);
	assert_int_equal(t.verdict.findings, 0);
	talk_end(&t);
}

static void findings_are_counted_by_their_level(void **state)
{
	struct talk t = talk_new(false);
	struct step write = { .op = RN_RC_WRITE_ONLY, .psn = 104, .solicited = true };
	const struct rn_watch_counts *n;

	(void)state;
	talk_step(&t, SEND(100));
	talk_step(&t, SEND(102)); /* a gap may be the network's */
	talk_step(&t, &write);	  /* another one, and SE that no network sets */
	n = &rn_watch_half(t.w, 0)->n;
	assert_int_equal(n->suspicions, 2);
	assert_int_equal(n->violations, 1);
	talk_end(&t);
}

static void a_damaged_packet_tells_nothing_of_a_connection(void **state)
{
	struct talk t = talk_new(false);
	struct step send = *SEND(100);

	(void)state;
	send.has_bad_icrc = true;
	talk_step(&t, &send);
	assert_int_equal(t.verdict.findings, 1);
	assert_int_equal(t.verdict.half, RN_WATCH_NONE);
	assert_int_equal(rn_watch_halves(t.w), 0);
	talk_end(&t);
}

static void a_verdict_has_no_more_findings_than_it_has_room_for(void **state)
{
	struct talk t = talk_new(false);
	/* Nine rules: IP options, DF, queue pair 0, P_Key, SE, padding, payload, DMALen
	 * alone and against the payload.
	 */
	const struct step all = { .op = RN_RC_WRITE_ONLY,
				  .psn = 100,
				  .len = 4097,
				  .dma_len = 0x80000001,
				  .pad = 1,
				  .has_options = true,
				  .has_no_df = true,
				  .is_qp_0 = true,
				  .has_no_key = true,
				  .solicited = true };

	(void)state;
	talk_step(&t, &all);
	assert_int_equal(t.verdict.findings, RN_WATCH_FINDINGS);
	assert_int_equal(rn_watch_half(t.w, 0)->n.violations, RN_WATCH_FINDINGS);
	talk_end(&t);
}

static void round_trips_are_measured_once(void **state)
{
	struct talk t = talk_new(false);
	const struct rn_watch_half *h;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct step ack = *ACK(100 + i, i + 1);

		ack.wait = i < 90 ? RN_USEC(20) : RN_USEC(1000);
		talk_step(&t, SEND(100 + i));
		assert_int_equal(talk_step(&t, &ack)->since, ack.wait);
		/* Doubled by the network. */
		assert_true(talk_step(&t, ACK(100 + i, i + 1))->is_duplicate);
	}
	/* Sent twice: nobody knows which is answered. */
	talk_step(&t, SEND(200));
	talk_step(&t, SEND(200));
	assert_int_equal(talk_step(&t, ACK(200, 101))->since, 0);
	h = rn_watch_half(t.w, 0);
	assert_int_equal(h->n.rtts, 100);
	assert_int_equal(h->n.rtt_min, RN_USEC(20));
	assert_int_equal(h->n.rtt_max, RN_USEC(1000));
	assert_in_range(rn_watch_rtt(h, 0.5), RN_USEC(20), RN_USEC(24));
	assert_in_range(rn_watch_rtt(h, 0.99), RN_USEC(1000), RN_USEC(1190));
	talk_end(&t);
}

static void the_longest_round_trip_need_not_be_the_last(void **state)
{
	static const rn_ns wait[] = { RN_USEC(30), RN_USEC(70), RN_USEC(40) };
	struct talk t = talk_new(false);
	const struct rn_watch_half *h;

	(void)state;
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(wait); i++) {
		struct step ack = *ACK(100 + i, i + 1);

		ack.wait = wait[i];
		talk_step(&t, SEND(100 + i));
		talk_step(&t, &ack);
	}
	h = rn_watch_half(t.w, 0);
	assert_int_equal(h->n.rtt_min, RN_USEC(30));
	assert_int_equal(h->n.rtt_max, RN_USEC(70));
	assert_int_equal(rn_watch_rtt(h, 1), RN_USEC(70));
	talk_end(&t);
}

static void long_round_trips_are_measured(void **state)
{
	struct talk t = talk_new(false);
	struct step ack = *ACK(100, 1);

	(void)state;
	ack.wait = RN_MSEC(3600000);
	talk_step(&t, SEND(100));
	talk_step(&t, &ack);
	assert_int_equal(rn_watch_rtt(rn_watch_half(t.w, 0), 0.5), ack.wait);
	talk_end(&t);
}

static void slices_of_time_hold_all_bytes(void **state)
{
	struct talk t = talk_new(false);
	const struct rn_watch_half *h;
	uint64_t bytes = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		talk_step(&t, SEND(100 + i));
		talk_step(&t, ACK(100 + i, i + 1));
		t.now += RN_USEC(i);
	}
	h = rn_watch_half(t.w, 0);
	assert_non_null(h->bucket);
	for (unsigned i = 0; i < RN_WATCH_BUCKETS; i++)
		bytes += h->bucket[i].bytes;
	assert_int_equal(bytes, 16000);
	assert_int_equal(h->n.done_bytes, 16000);
	assert_true(h->bucket_width * RN_WATCH_BUCKETS >= h->n.last - h->n.first);
	assert_true(h->bucket_width * RN_WATCH_BUCKETS / 4 < h->n.last - h->n.first);
	talk_end(&t);
}

/* A slice shows the fewest credits of its time; no limit is no number of them. */
static void no_limit_of_credits_hides_none_of_its_slice(void **state)
{
	static const uint8_t codes[] = { 3, 2, TALK_ACK, 3 };
	struct talk t = talk_new(false);
	const struct rn_watch_half *h;

	(void)state;
	talk_step(&t, SEND(100));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(codes); i++) {
		struct step ack = *ACK(100, 1);

		ack.syndrome = codes[i];
		ack.wait = 1;
		talk_step(&t, &ack);
		h = rn_watch_half(t.w, 0);
		assert_int_equal(h->n.credits,
				 codes[i] == TALK_ACK ? RN_CREDITS_UNLIMITED : codes[i]);
		assert_int_equal(h->bucket[0].credits, i == 0 ? 3 + 1 : 2 + 1);
	}
	talk_end(&t);
}

static void psns_wrap(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t psn = (0xffff80 + i) & 0xffffff;

		talk_step(&t, SEND(psn));
		assert_int_equal(t.verdict.findings, 0);
		talk_step(&t, ACK(psn, i + 1));
		assert_int_equal(t.verdict.findings, 0);
	}
	assert_int_equal(rn_watch_half(t.w, 0)->n.messages, 300);
	talk_end(&t);
}

/* More than a half of the PSNs, in READs that nobody answers. */
static void old_records_are_forgotten(void **state)
{
	struct talk t = talk_new(false);
	uint32_t psn = 0;

	(void)state;
	talk_step(&t, &(struct step){ .op = RN_RC_SEND_FIRST, .psn = psn++, .len = 256 });
	talk_step(&t, &(struct step){ .op = RN_RC_SEND_LAST, .psn = psn++, .len = 4 });
	for (unsigned i = 0; i < 100; i++) {
		talk_step(&t, &(struct step){ .op = RN_RC_READ_REQUEST,
					      .psn = psn,
					      .dma_len = 256 << 18 });
		assert_int_equal(t.verdict.findings, 0);
		psn = (psn + (1 << 18)) & 0xffffff;
	}
	talk_end(&t);
}

static void as_many_as_are_remembered_and_more(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	for (uint32_t i = 0; i < 70000; i++)
		talk_step(&t, SEND(i));
	/* One that is forgotten, and one that is not. */
	assert_int_equal(talk_step(&t, SEND(10))->findings, 0);
	assert_int_not_equal(talk_step(&t, SEND(60000))->cause, RN_CAUSE_NONE);
	assert_true(t.verdict.since > 0);
	talk_end(&t);
}

/* @count READs of 2^18 PSNs each, of which only the ACK of the last PSN was captured.
 * Return: the PSN behind them.
 */
static uint32_t long_reads(struct talk *t, uint32_t count)
{
	uint32_t psn = 0;

	talk_step(t, &(struct step){ .op = RN_RC_SEND_FIRST, .psn = psn++, .len = 256 });
	talk_step(t, &(struct step){ .op = RN_RC_SEND_LAST, .psn = psn++, .len = 4 });
	for (uint32_t i = 0; i < count; i++) {
		char whose[RN_WATCH_DETAIL];

		talk_step(t, &(struct step){ .op = RN_RC_READ_REQUEST,
					     .psn = psn,
					     .dma_len = 256 << 18 });
		snprintf(whose, sizeof(whose), "RC_READ_REQUEST of PSN %u", psn);
		psn = (psn + (1 << 18)) & 0xffffff;
		talk_step(t, ACK((psn - 1) & 0xffffff, i + 2));
		assert_int_equal(t->verdict.findings, 1);
		assert_int_equal(t->verdict.finding[0].rule, RN_RULE_ACK_OVER);
		assert_string_equal(t->verdict.finding[0].detail, whose);
	}
	return psn;
}

/* All PSNs three times over, in steps that are larger than those between two packets. */
static void long_reads_are_told_apart(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	long_reads(&t, 3 * 64);
	talk_end(&t);
}

/* Of nearly a half of all PSNs: seen from its last those before it are too old to be
 * remembered, which is known when the first response tells the PMTU.
 */
static void the_end_of_the_longest_read_is_found(void **state)
{
	const uint32_t psns = (1 << 23) - 2;
	struct talk t = talk_new(false);
	uint32_t psn;

	(void)state;
	for (psn = 0; psn < 10; psn++) {
		talk_step(&t, SEND(psn));
		talk_step(&t, ACK(psn, psn + 1));
	}
	talk_step(&t, &(struct step){ .op = RN_RC_READ_REQUEST,
				      .psn = psn,
				      .dma_len = 256 * psns });
	talk_step(&t, &(struct step){ .op = RN_RC_READ_RESPONSE_FIRST,
				      .psn = psn,
				      .len = 256,
				      .syndrome = TALK_ACK,
				      .msn = 11 });
	assert_int_equal(t.verdict.findings, 0);
	talk_step(&t, &(struct step){ .op = RN_RC_READ_RESPONSE_LAST,
				      .psn = psn + psns - 1,
				      .len = 256,
				      .syndrome = TALK_ACK,
				      .msn = 11 });
	assert_int_equal(t.verdict.findings, 1);
	assert_int_equal(t.verdict.finding[0].rule, RN_RULE_READ_GAP);
	talk_end(&t);
}

/* 64 requests are as many as there is room for at first. By then the oldest are
 * forgotten, so what is remembered lies anywhere in the ring.
 */
static void what_is_remembered_outlives_the_growth_of_its_room(void **state)
{
	const uint32_t reads = 50, sends = 200;
	struct talk t = talk_new(false);
	uint32_t psn = long_reads(&t, reads);

	(void)state;
	for (uint32_t i = 0; i < sends; i++)
		talk_step(&t, SEND(psn + i));
	for (uint32_t i = 0; i < sends; i++) {
		talk_step(&t, ACK(psn + i, 1 + reads + i + 1));
		assert_int_equal(t.verdict.findings, 0);
		assert_int_equal(t.verdict.since, sends * RN_USEC(10));
	}
	talk_end(&t);
}

/* ---- The connection manager ---- */

static void talk_mad(struct talk *t, const struct rn_cm_msg *m, bool is_from_b)
{
	struct rn_mad_hdr hdr = { .base_version = RN_MAD_BASE_VERSION,
				  .mgmt_class = RN_MAD_CLASS_CM,
				  .class_version = RN_MAD_CM_VERSION,
				  .method = RN_MAD_SEND,
				  .attr_id = (uint16_t)m->attr };
	uint8_t mad[RN_MAD_LEN];

	rn_mad_hdr_emit(mad, &hdr);
	rn_cm_msg_emit(mad + RN_MAD_HDR_LEN, m);
	talk_step(t, &(struct step){ .op = RN_UD_SEND_ONLY,
				     .qpn = RN_QPN_GSI,
				     .qkey = RN_GSI_QKEY,
				     .src_qpn = 1,
				     .len = RN_MAD_LEN,
				     .payload = mad,
				     .is_from_b = is_from_b });
	assert_int_equal(t->verdict.findings, 0);
}

static void call(struct talk *t)
{
	const struct rn_cm_msg req = { .attr = RN_CM_REQ,
				       .req = { .local_id = 5,
						.qpn = TALK_QP_A,
						.start_psn = 500,
						.init_depth = 2,
						.resp_res = 4,
						.mtu = 3 } };

	talk_mad(t, &req, false);
}

/* B takes @depth READs and atomics at a time. */
static void answer_call(struct talk *t, uint8_t depth)
{
	const struct rn_cm_msg rep = { .attr = RN_CM_REP,
				       .rep = { .local_id = 6,
						.remote_id = 5,
						.qpn = TALK_QP_B,
						.start_psn = 100,
						.init_depth = 1,
						.resp_res = depth } };

	talk_mad(t, &rep, true);
}

static void connect_them(struct talk *t)
{
	call(t);
	answer_call(t, 8);
}

static void the_connection_manager_tells_who_and_from_where(void **state)
{
	struct talk t = talk_new(false);
	const struct rn_watch_half *h;

	(void)state;
	connect_them(&t);
	talk_step(&t, SEND(100));
	assert_int_equal(t.verdict.findings, 0);
	h = rn_watch_half(t.w, t.verdict.half);
	assert_true(h->is_paired);
	assert_int_equal(h->peer_qpn, TALK_QP_A);
	assert_int_equal(h->pmtu, 1024);
	/* MSNs begin at 0. */
	talk_step(&t, ACK(100, 2));
	assert_int_equal(t.verdict.findings, 1);
	assert_int_equal(t.verdict.finding[0].rule, RN_RULE_MSN);
	/* The other way the first packet is not seen. */
	talk_step(&t,
		  &(struct step){ .op = RN_RC_SEND_ONLY, .psn = 501, .is_from_b = true });
	assert_int_equal(t.verdict.findings, 1);
	assert_int_equal(t.verdict.finding[0].rule, RN_RULE_GAP);
	talk_end(&t);
}

static void no_more_reads_than_the_connection_was_made_for(void **state)
{
	struct talk t = talk_new(false);
	struct step read = { .op = RN_RC_READ_REQUEST, .psn = 100, .dma_len = 8 };

	(void)state;
	connect_them(&t);
	for (; read.psn < 103; read.psn++)
		talk_step(&t, &read);
	assert_int_equal(t.verdict.findings, 1);
	assert_int_equal(t.verdict.finding[0].rule, RN_RULE_DEPTH);
	talk_step(&t, &(struct step){ .op = RN_RC_READ_RESPONSE_ONLY,
				      .psn = 100,
				      .len = 8,
				      .syndrome = TALK_ACK,
				      .msn = 1 });
	talk_step(&t, &(struct step){ .op = RN_RC_READ_RESPONSE_ONLY,
				      .psn = 101,
				      .len = 8,
				      .syndrome = TALK_ACK,
				      .msn = 2 });
	talk_step(&t, &read);
	assert_int_equal(t.verdict.findings, 0);
	talk_end(&t);
}

static void who_answers_a_call_may_allow_fewer_reads_than_were_asked_for(void **state)
{
	struct talk t = talk_new(false);
	struct step read = { .op = RN_RC_READ_REQUEST, .psn = 100, .dma_len = 8 };

	(void)state;
	call(&t);
	answer_call(&t, 1);
	talk_step(&t, &read);
	assert_int_equal(t.verdict.findings, 0);
	read.psn++;
	talk_step(&t, &read);
	assert_int_equal(t.verdict.findings, 1);
	assert_int_equal(t.verdict.finding[0].rule, RN_RULE_DEPTH);
	talk_end(&t);
}

static void a_read_is_under_way_until_its_last_response(void **state)
{
	struct step read = { .op = RN_RC_READ_REQUEST, .psn = 100, .dma_len = 2048 };
	struct step first = { .op = RN_RC_READ_RESPONSE_FIRST,
			      .psn = 100,
			      .len = 1024,
			      .syndrome = TALK_ACK,
			      .msn = 1 };

	(void)state;
	for (unsigned answers = 1; answers <= 2; answers++) {
		struct talk t = talk_new(false);

		call(&t);
		answer_call(&t, 1);
		talk_step(&t, &read);
		talk_step(&t, &first);
		if (answers == 2)
			talk_step(&t, &(struct step){ .op = RN_RC_READ_RESPONSE_LAST,
						      .psn = 101,
						      .len = 1024,
						      .syndrome = TALK_ACK,
						      .msn = 1 });
		assert_int_equal(t.verdict.findings, 0);
		talk_step(&t, &(struct step){ .op = RN_RC_READ_REQUEST,
					      .psn = 102,
					      .dma_len = 8 });
		assert_int_equal(t.verdict.findings, answers == 1);
		if (answers == 1)
			assert_int_equal(t.verdict.finding[0].rule, RN_RULE_DEPTH);
		talk_end(&t);
	}
}

/* It comes again when the RTU was lost, while the connection is in use. */
static void a_call_is_answered_once(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	connect_them(&t);
	talk_step(&t, SEND(100));
	talk_step(&t, ACK(100, 1));
	answer_call(&t, 8);
	talk_step(&t, SEND(101));
	assert_true(t.verdict.is_new);
	assert_int_equal(t.verdict.missing, 0);
	talk_step(&t, ACK(101, 2));
	assert_int_equal(t.verdict.since, RN_USEC(10));
	assert_int_equal(t.verdict.findings, 0);
	talk_end(&t);
}

static void marks_and_notifications_are_counted(void **state)
{
	struct talk t = talk_new(false);
	struct rn_packet p;
	size_t len;

	(void)state;
	talk_step(&t, SEND(100));
	talk_step(&t, ACK(100, 1));
	len = talk_make(SEND(101), t.bytes);
	t.bytes[1] |= RN_ECN_CE;
	assert_true(rn_packet_parse(&p, t.bytes, len));
	rn_watch_packet(t.w, t.now, &p, &t.verdict);
	talk_step(&t, &(struct step){ .op = RN_CNP, .becn = true, .is_from_b = true });
	assert_int_equal(t.verdict.half, 0);
	assert_int_equal(rn_watch_half(t.w, 0)->n.marked, 1);
	assert_int_equal(rn_watch_half(t.w, 0)->n.cnps, 1);
	talk_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responses_find_the_requests),
		cmocka_unit_test(a_response_goes_to_those_that_have_its_psn),
		cmocka_unit_test(both_directions_are_one_connection),
		cmocka_unit_test(a_queue_pair_may_talk_to_itself),
		cmocka_unit_test(causes_of_sending_again),
		cmocka_unit_test(a_nak_of_the_last_is_heeded_from_the_first),
		cmocka_unit_test(a_nak_is_the_cause_of_no_packet_behind_it),
		cmocka_unit_test(what_comes_late_is_counted_once),
		cmocka_unit_test(a_packet_may_be_captured_twice),
		cmocka_unit_test(the_rest_of_a_read_has_its_own_cause),
		cmocka_unit_test(another_connection_of_the_same_queue_pair),
		cmocka_unit_test(a_new_connection_was_refused_nothing),
		cmocka_unit_test(findings_are_counted_by_their_level),
		cmocka_unit_test(a_damaged_packet_tells_nothing_of_a_connection),
		cmocka_unit_test(a_verdict_has_no_more_findings_than_it_has_room_for),
		cmocka_unit_test(round_trips_are_measured_once),
		cmocka_unit_test(the_longest_round_trip_need_not_be_the_last),
		cmocka_unit_test(long_round_trips_are_measured),
		cmocka_unit_test(slices_of_time_hold_all_bytes),
		cmocka_unit_test(no_limit_of_credits_hides_none_of_its_slice),
		cmocka_unit_test(psns_wrap),
		cmocka_unit_test(old_records_are_forgotten),
		cmocka_unit_test(as_many_as_are_remembered_and_more),
		cmocka_unit_test(long_reads_are_told_apart),
		cmocka_unit_test(the_end_of_the_longest_read_is_found),
		cmocka_unit_test(what_is_remembered_outlives_the_growth_of_its_room),
		cmocka_unit_test(the_connection_manager_tells_who_and_from_where),
		cmocka_unit_test(no_more_reads_than_the_connection_was_made_for),
		cmocka_unit_test(
			who_answers_a_call_may_allow_fewer_reads_than_were_asked_for),
		cmocka_unit_test(a_read_is_under_way_until_its_last_response),
		cmocka_unit_test(a_call_is_answered_once),
		cmocka_unit_test(marks_and_notifications_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
