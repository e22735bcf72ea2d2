/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_congestion_cnp.c - marked packets are answered by notifications, which are obeyed.
 */
#include "tests/kit/device/raw.h"
#include "transport/qp/qp.h"

enum {
	LINE = 8000, /* kbps: a byte per microsecond */
	HEADERS = 12 + 4,
	READ_LEN = 8192,
};

static struct raw start(enum rn_cc_mode mode, enum rn_qp_type type)
{
	const struct pair_cfg cfg = { .mtu_max = 1024, .cc = mode, .cc_line = LINE };

	return raw_new(&cfg, type, RN_QPS_RTS, NULL);
}

static void send_with(struct raw *r, const struct raw_packet *k, uint8_t tclass)
{
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	struct rn_flow flow = raw_flow(r);
	uint32_t len = raw_encode(r, k, buf);

	flow.tclass = tclass;
	pair_inject(r->p, 0, &flow, buf, len);
}

static void send_marked(struct raw *r, const struct raw_packet *k)
{
	send_with(r, k, RN_ECN_CE);
}

static void send_cnp(struct raw *r)
{
	raw_send(r, RAW(.op = RN_CNP, .becn = true, .len = RN_CNP_RESERVED_LEN));
}

static uint64_t stat(const struct raw *r, enum rn_stat which)
{
	return pair_stat(r->p, 0, which);
}

static void post(struct raw *r, enum rn_wr_opcode op, uint32_t len)
{
	struct rn_sge sge = pair_sge(r->mr, 0, len);
	const struct rn_send_wr wr = { .opcode = op,
				       .flags = RN_SEND_SIGNALED,
				       .remote_addr = 0x1000,
				       .sg = &sge,
				       .num_sge = 1 };

	assert_int_equal(pair_post_send(r->q, &wr), 0);
}

/* ------------------------------------------------------- notification point */
static void a_marked_request_is_answered_before_it_is_acknowledged(void **state)
{
	static const uint8_t cnp[RN_BTH_LEN + RN_CNP_RESERVED_LEN] = {
		0x81, 0, 0xff, 0xff, 0x40, 0, 0, RAW_PEER_QPN,
	};
	struct raw r = start(RN_CC_ON, RN_QPT_RC);
	const struct pair_packet *sent;

	(void)state;
	send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	assert_true(raw_expect(&r, RN_CNP, 0)->becn);
	raw_expect_ack(&r, 100, 1);
	raw_expect_silence(&r);
	sent = r.p->record[0];
	assert_int_equal(sent->len, sizeof(cnp) + RN_ICRC_LEN);
	assert_memory_equal(sent->data, cnp, sizeof(cnp));
	assert_memory_equal(&sent->flow.src, &r.p->gid[0], sizeof(struct rn_gid));
	assert_memory_equal(&sent->flow.dst, &r.p->gid[1], sizeof(struct rn_gid));
	assert_int_equal(sent->flow.tclass, 0xc2);
	assert_int_equal(stat(&r, RN_STAT_NP_ECN_MARKED), 1);
	assert_int_equal(stat(&r, RN_STAT_NP_CNP_SENT), 1);
	raw_free(&r);
}

static void only_a_mark_is_answered(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	for (uint8_t tclass = 0; tclass < RN_ECN_CE; tclass++) {
		send_with(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100u + tclass), tclass);
		assert_int_equal(stat(&r, RN_STAT_NP_ECN_MARKED), 0);
	}
	/* FECN and BECN are marks of another kind of network. */
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 103, .fecn = true, .becn = true,
			 .ack_req = true));
	raw_expect_ack(&r, 103, 4);
	raw_expect_silence(&r);
	raw_free(&r);
}

static void one_notification_in_a_period(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);
	rn_ns begin = r.p->net->now;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100 + i));
		pair_run_for(r.p, RN_USEC(1));
	}
	assert_true(r.p->net->now - begin == RN_MSEC(1));
	assert_int_equal(stat(&r, RN_STAT_NP_ECN_MARKED), 1000);
	assert_int_equal(stat(&r, RN_STAT_NP_CNP_SENT), 20);
	raw_free(&r);
}

static void duplicates_and_gaps_are_answered_as_well(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 105));
	raw_expect(&r, RN_CNP, 0);
	raw_expect_nak(&r, 0x60, 100, 0);
	pair_run_for(r.p, RN_CNP_PERIOD);
	send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 99));
	raw_expect(&r, RN_CNP, 0);
	raw_free(&r);
}

static void a_marked_response_is_answered(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	post(&r, RN_WR_SEND, 8);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	send_marked(&r, RAW(.op = RN_RC_ACK, .psn = 200, .aeth = { 0x1f, 1 }));
	raw_expect(&r, RN_CNP, 0);
	pair_expect_wc(r.q->scq, 0, RN_WC_SUCCESS);
	raw_free(&r);
}

static void what_is_dropped_is_not_answered(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	struct rn_flow flow = raw_flow(&r);
	uint32_t len =
		raw_encode(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .len = 8), buf);

	(void)state;
	flow.tclass = RN_ECN_CE;
	buf[len - 1] ^= 1;
	pair_inject(r.p, 0, &flow, buf, len);
	send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .pkey = 0x1234));
	send_marked(&r, RAW(.op = RN_UC_SEND_ONLY, .psn = 100));
	send_marked(&r, RAW(.op = RN_CNP, .becn = true, .len = RN_CNP_RESERVED_LEN));
	raw_expect_silence(&r);
	assert_int_equal(stat(&r, RN_STAT_NP_ECN_MARKED), 0);
	raw_free(&r);
}

static void a_datagram_names_whom_to_tell(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_UD);

	(void)state;
	send_marked(&r, RAW(.op = RN_UD_SEND_ONLY, .psn = 7, .len = 8,
			    .deth = { .qkey = 0x1ee7, .src_qpn = 0x345 }));
	assert_int_equal(raw_expect(&r, RN_CNP, 0)->dest_qpn, 0x345);
	raw_expect_silence(&r);
	raw_free(&r);
}

static void a_notification_is_forgotten_with_its_queue_pair(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	r.p->frozen = true;
	send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100));
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RESET), 0);
	r.p->frozen = false;
	pair_flush(r.p);
	raw_expect_silence(&r);
	raw_free(&r);
}

/* The transmitter is blocked for longer than a period. */
static void a_notification_that_waits_is_not_queued_again(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	r.p->frozen = true;
	send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100));
	r.p->net->now += RN_CNP_PERIOD;
	send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 101));
	r.p->frozen = false;
	pair_flush(r.p);
	raw_expect(&r, RN_CNP, 0);
	raw_expect_silence(&r);
	assert_int_equal(stat(&r, RN_STAT_NP_ECN_MARKED), 2);
	assert_int_equal(stat(&r, RN_STAT_NP_CNP_SENT), 1);
	raw_free(&r);
}

static void what_leaves_is_capable_of_a_mark(void **state)
{
	struct raw r = start(RN_CC_OBSERVE, RN_QPT_RC);

	(void)state;
	post(&r, RN_WR_SEND, 8);
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	assert_int_equal(r.p->record_count, 2);
	for (unsigned i = 0; i < r.p->record_count; i++)
		assert_int_equal(r.p->record[i]->flow.tclass, RN_ECN_ECT0);
	raw_free(&r);
}

static void marked_already(struct rn_qp_attr *attr)
{
	attr->av.tclass = 0xb8 | RN_ECN_CE;
}

static void the_mark_is_not_the_programs_to_set(void **state)
{
	const struct pair_cfg cfg = { .mtu_max = 1024, .cc = RN_CC_ON, .cc_line = LINE };
	struct raw r = raw_new(&cfg, RN_QPT_RC, RN_QPS_RTS, marked_already);

	(void)state;
	post(&r, RN_WR_SEND, 8);
	assert_int_equal(r.p->record_count, 1);
	assert_int_equal(r.p->record[0]->flow.tclass, 0xb8 | RN_ECN_ECT0);
	raw_free(&r);
}

static void without_it_nothing_is_marked_answered_or_obeyed(void **state)
{
	struct raw r = start(RN_CC_OFF, RN_QPT_RC);

	(void)state;
	send_cnp(&r);
	send_marked(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	raw_expect_ack(&r, 100, 1);
	raw_expect_silence(&r);
	assert_int_equal(r.p->record[0]->flow.tclass, 0);
	assert_int_equal(stat(&r, RN_STAT_RP_CNP_IGNORED), 1);
	assert_int_equal(stat(&r, RN_STAT_NP_ECN_MARKED), 0);
	assert_int_equal(stat(&r, RN_STAT_RP_CNP_HANDLED), 0);
	raw_free(&r);
}

/* ----------------------------------------------------------- reaction point */
static void a_notification_cuts_the_rate(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);
	rn_ns first;

	(void)state;
	send_cnp(&r);
	raw_expect_silence(&r);
	assert_int_equal(stat(&r, RN_STAT_RP_CNP_HANDLED), 1);
	assert_int_equal(r.q->stats.cc_rate, LINE / 2);
	assert_int_equal(r.q->stats.cc_phase, RN_DCQCN_RECOVERY);
	post(&r, RN_WR_SEND, 2048);
	first = raw_expect(&r, RN_RC_SEND_FIRST, 200)->at;
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_MSEC(3));
	/* Two milliseconds at half the line, but the rate rises while the packet waits,
	 * and the limit ends.
	 */
	assert_in_range(raw_expect(&r, RN_RC_SEND_LAST, 201)->at - first, RN_USEC(500),
			RN_USEC(1024 + HEADERS));
	raw_free(&r);
}

static void the_lower_of_two_rates_counts(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	rn_qp_pace(r.q->qp, r.p->net->now, 1000, 1);
	send_cnp(&r);
	assert_int_equal(r.q->qp->req.pace.kbps, 1000);
	rn_qp_pace(r.q->qp, r.p->net->now, 5000, 1);
	assert_int_equal(r.q->qp->req.pace.kbps, LINE / 2);
	assert_int_equal(rn_qp_rate(r.q->qp), 5000);
	rn_qp_pace(r.q->qp, r.p->net->now, 0, 0);
	assert_int_equal(r.q->qp->req.pace.kbps, LINE / 2);
	raw_free(&r);
}

/* Asking for a rate, or for none, is no way out. */
static void a_program_cannot_buy_itself_out(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	send_cnp(&r);
	post(&r, RN_WR_SEND, 3000);
	raw_expect(&r, RN_RC_SEND_FIRST, 200);
	rn_qp_pace(r.q->qp, r.p->net->now, 0, 0);
	pair_flush(r.p);
	rn_qp_pace(r.q->qp, r.p->net->now, LINE, 1 << 20);
	pair_flush(r.p);
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_MSEC(5));
	raw_expect(&r, RN_RC_SEND_MIDDLE, 201);
	raw_expect(&r, RN_RC_SEND_LAST, 202);
	raw_free(&r);
}

/* Whoever sends the bytes is slowed: here the responder. */
static void responses_to_a_read_are_paced(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	send_cnp(&r);
	raw_send(&r, RAW(.op = RN_RC_READ_REQUEST, .psn = 100,
			 .reth = { r.mr->mr.va, r.mr->mr.lkey, READ_LEN }));
	raw_expect(&r, RN_RC_READ_RESPONSE_FIRST, 100);
	raw_expect_silence(&r);
	pair_run_for(r.p, RN_USEC(READ_LEN / 2));
	raw_expect(&r, RN_RC_READ_RESPONSE_MIDDLE, 101);
	pair_run_for(r.p, RN_USEC(READ_LEN));
	for (uint32_t psn = 102; psn < 107; psn++)
		raw_expect(&r, RN_RC_READ_RESPONSE_MIDDLE, psn);
	raw_expect(&r, RN_RC_READ_RESPONSE_LAST, 107);
	raw_free(&r);
}

/* READ responses that wait for their time are not lost to an error behind them. */
static void an_error_lets_the_responses_go(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	send_cnp(&r);
	raw_send(&r, RAW(.op = RN_RC_READ_REQUEST, .psn = 100,
			 .reth = { r.mr->mr.va, r.mr->mr.lkey, 2048 }));
	raw_expect(&r, RN_RC_READ_RESPONSE_FIRST, 100);
	raw_expect_silence(&r);
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 102, .len = 8,
			 .reth = { 0x10, 0x1, 8 }));
	raw_expect(&r, RN_RC_READ_RESPONSE_LAST, 101);
	raw_expect_nak(&r, 0x62, 102, 1);
	raw_free(&r);
}

static void observing_makes_nobody_wait(void **state)
{
	struct raw r = start(RN_CC_OBSERVE, RN_QPT_RC);

	(void)state;
	send_cnp(&r);
	assert_int_equal(r.q->stats.cc_rate, LINE / 2);
	post(&r, RN_WR_SEND, 3000);
	raw_expect(&r, RN_RC_SEND_FIRST, 200);
	raw_expect(&r, RN_RC_SEND_MIDDLE, 201);
	raw_expect(&r, RN_RC_SEND_LAST, 202);
	raw_free(&r);
}

static void the_limit_ends_and_reset_ends_it(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);

	(void)state;
	send_cnp(&r);
	pair_run_for(r.p, RN_MSEC(1000));
	post(&r, RN_WR_SEND, 3000);
	raw_expect(&r, RN_RC_SEND_FIRST, 200);
	raw_expect(&r, RN_RC_SEND_MIDDLE, 201);
	raw_expect(&r, RN_RC_SEND_LAST, 202);
	assert_int_equal(r.q->stats.cc_rate, 0);
	assert_false(r.q->qp->req.pace.on);
	send_cnp(&r);
	assert_true(r.q->qp->req.pace.on);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RESET), 0);
	assert_false(r.q->qp->req.pace.on);
	assert_int_equal(r.q->stats.cc_rate, 0);
	raw_free(&r);
}

static void others_cannot_slow_a_connection(void **state)
{
	struct raw r = start(RN_CC_ON, RN_QPT_RC);
	struct rn_flow flow = raw_flow(&r);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	const struct raw_packet cnp = { .op = RN_CNP, .len = RN_CNP_RESERVED_LEN };
	const struct raw_packet stray = { .op = RN_CNP,
					  .len = RN_CNP_RESERVED_LEN,
					  .dest_qpn = 0x5555 };
	uint32_t len = raw_encode(&r, &cnp, buf);

	(void)state;
	flow.src.raw[15] ^= 0x40;
	rn_icrc_seal(&flow, 0, buf, len - RN_ICRC_LEN);
	pair_inject(r.p, 0, &flow, buf, len);
	assert_int_equal(stat(&r, RN_STAT_RX_BAD_SOURCE), 1);
	raw_send(&r, &stray);
	assert_int_equal(stat(&r, RN_STAT_RX_UNKNOWN_QP), 1);
	raw_send(&r, RAW(.op = RN_CNP, .len = RN_CNP_RESERVED_LEN - 1));
	assert_int_equal(stat(&r, RN_STAT_RX_SHORT), 1);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_ERR), 0);
	send_cnp(&r);
	assert_int_equal(stat(&r, RN_STAT_RX_BAD_STATE), 1);
	raw_expect_silence(&r);
	assert_int_equal(stat(&r, RN_STAT_RP_CNP_HANDLED), 0);
	assert_false(r.q->qp->req.pace.on);
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_marked_request_is_answered_before_it_is_acknowledged),
		cmocka_unit_test(only_a_mark_is_answered),
		cmocka_unit_test(one_notification_in_a_period),
		cmocka_unit_test(duplicates_and_gaps_are_answered_as_well),
		cmocka_unit_test(a_marked_response_is_answered),
		cmocka_unit_test(what_is_dropped_is_not_answered),
		cmocka_unit_test(a_datagram_names_whom_to_tell),
		cmocka_unit_test(a_notification_is_forgotten_with_its_queue_pair),
		cmocka_unit_test(a_notification_that_waits_is_not_queued_again),
		cmocka_unit_test(what_leaves_is_capable_of_a_mark),
		cmocka_unit_test(the_mark_is_not_the_programs_to_set),
		cmocka_unit_test(without_it_nothing_is_marked_answered_or_obeyed),
		cmocka_unit_test(a_notification_cuts_the_rate),
		cmocka_unit_test(the_lower_of_two_rates_counts),
		cmocka_unit_test(a_program_cannot_buy_itself_out),
		cmocka_unit_test(responses_to_a_read_are_paced),
		cmocka_unit_test(an_error_lets_the_responses_go),
		cmocka_unit_test(observing_makes_nobody_wait),
		cmocka_unit_test(the_limit_ends_and_reset_ends_it),
		cmocka_unit_test(others_cannot_slow_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
