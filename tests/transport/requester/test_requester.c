/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_requester.c - what an RC send queue puts on the wire, and when. */
#include "tests/kit/device/req_kit.h"
#include "transport/qp/requester.h"

/* ------------------------------------------------------------------ packets */
static void send_only_is_these_bytes_on_the_wire(void **state)
{
	static const uint8_t want[] = {
		0x04,			/* RC SEND Only */
		0x70,			/* SE 0, M 1, PadCnt 3, TVer 0 */
		0xff, 0xff,		/* P_Key */
		0x00, 0x00, 0x00, 0x99, /* destination QP */
		0x80, 0x00, 0x00, 0xc8, /* A 1, PSN 200 */
		0x01, 0x08, 0x0f, 0x16, 0x1d, 0x00, 0x00, 0x00, /* 5 bytes, pad */
	};
	struct raw r = req_new(NULL);
	const struct pair_packet *pkt;

	(void)state;
	post(&r, 1, RN_WR_SEND, 5);
	assert_int_equal(r.p->record_count, 1);
	pkt = r.p->record[0];
	assert_int_equal(pkt->len, sizeof(want) + RN_ICRC_LEN);
	assert_memory_equal(pkt->data, want, sizeof(want));
	assert_int_equal(pkt->tx.dest_qpn, RAW_PEER_QPN);
	assert_int_equal(pkt->tx.src_qpn, r.q->qpn);
	assert_false(pkt->tx.response);
	req_free(&r);
}

static void an_empty_send_is_one_packet_without_payload(void **state)
{
	struct raw r = req_new(NULL);
	const struct raw_packet *k;

	(void)state;
	post(&r, 1, RN_WR_SEND, 0);
	k = raw_expect(&r, RN_RC_SEND_ONLY, 200);
	assert_true(k->ack_req);
	assert_int_equal(k->len, 0);
	assert_int_equal(k->pad, 0 + 1);
	raw_ack(&r, 200, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	req_free(&r);
}

static void messages_are_cut_at_the_path_mtu(void **state)
{
	static const uint32_t lens[] = { 0,    1,    2,	   3,	 4,    64,   1023,
					 1024, 1025, 2047, 2048, 2500, 3072, 8192 };
	struct raw r = req_new(NULL);
	uint32_t psn = 200;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(lens); i++) {
		uint32_t n = lens[i] ? (lens[i] + 1023) / 1024 : 1;

		post(&r, lens[i], RN_WR_SEND, lens[i]);
		check_message(&r, psn, lens[i], RN_RC_SEND_FIRST, RN_RC_SEND_ONLY);
		post(&r, lens[i], RN_WR_RDMA_WRITE, lens[i]);
		check_message(&r, psn + n, lens[i], RN_RC_WRITE_FIRST, RN_RC_WRITE_ONLY);
		psn += 2 * n;
	}
	req_free(&r);
}

static void write_names_its_target_on_the_first_packet(void **state)
{
	struct raw r = req_new(NULL);
	const struct raw_packet *k;

	(void)state;
	post(&r, 1, RN_WR_RDMA_WRITE, 2500);
	k = raw_expect(&r, RN_RC_WRITE_FIRST, 200);
	assert_int_equal(k->reth.va, REMOTE_VA);
	assert_int_equal(k->reth.rkey, REMOTE_RKEY);
	assert_int_equal(k->reth.dma_len, 2500);
	raw_expect(&r, RN_RC_WRITE_MIDDLE, 201);
	raw_expect(&r, RN_RC_WRITE_LAST, 202);
	raw_ack(&r, 202, 1);
	req_free(&r);
}

static void immediate_and_key_travel_on_the_last_packet(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND_WITH_IMM, 1025);
	raw_expect(&r, RN_RC_SEND_FIRST, 200);
	assert_int_equal(raw_expect(&r, RN_RC_SEND_LAST_IMM, 201)->imm, 0x01020304);
	post(&r, 2, RN_WR_RDMA_WRITE_WITH_IMM, 8);
	assert_int_equal(raw_expect(&r, RN_RC_WRITE_ONLY_IMM, 202)->imm, 0x01020304);
	post(&r, 3, RN_WR_SEND_WITH_INV, 1025);
	raw_expect(&r, RN_RC_SEND_FIRST, 203);
	assert_int_equal(raw_expect(&r, RN_RC_SEND_LAST_INV, 204)->ieth, 0x01020304);
	post(&r, 4, RN_WR_SEND_WITH_INV, 1);
	raw_expect(&r, RN_RC_SEND_ONLY_INV, 205);
	raw_ack(&r, 205, 4);
	for (uint64_t i = 1; i <= 4; i++)
		pair_expect_wc(r.q->scq, i, RN_WC_SUCCESS);
	req_free(&r);
}

static void solicited_shows_on_the_last_packet_of_what_takes_a_receive(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_flags(&r, 1, RN_WR_SEND, 2048, RN_SEND_SOLICITED);
	assert_false(raw_expect(&r, RN_RC_SEND_FIRST, 200)->solicited);
	assert_true(raw_expect(&r, RN_RC_SEND_LAST, 201)->solicited);
	post_flags(&r, 2, RN_WR_RDMA_WRITE, 2048, RN_SEND_SOLICITED);
	assert_false(raw_expect(&r, RN_RC_WRITE_FIRST, 202)->solicited);
	assert_false(raw_expect(&r, RN_RC_WRITE_LAST, 203)->solicited);
	post_flags(&r, 3, RN_WR_RDMA_WRITE_WITH_IMM, 8, RN_SEND_SOLICITED);
	assert_true(raw_expect(&r, RN_RC_WRITE_ONLY_IMM, 204)->solicited);
	req_free(&r);
}

static void start_before_the_wrap(struct rn_qp_attr *attr)
{
	attr->sq_psn = 0xfffffe;
}

static void psns_wrap_within_a_message(void **state)
{
	struct raw r = req_new(start_before_the_wrap);

	(void)state;
	post(&r, 1, RN_WR_SEND, 3072);
	raw_expect(&r, RN_RC_SEND_FIRST, 0xfffffe);
	raw_expect(&r, RN_RC_SEND_MIDDLE, 0xffffff);
	raw_expect(&r, RN_RC_SEND_LAST, 0);
	raw_ack(&r, 0xffffff, 0);
	pair_expect_no_wc(r.q->scq);
	raw_ack(&r, 0, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	req_free(&r);
}

/* ------------------------------------------------------------------- window */
static void the_window_bounds_what_is_unacknowledged(void **state)
{
	struct raw r = raw_new(&(struct pair_cfg){ .mtu_max = 1024,
						   .window_start = 16 << 10,
						   .window_max = 16 << 10 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);
	const struct rn_qp *qp = r.q->qp;
	struct raw_packet k;
	uint32_t acked = 0;

	(void)state;
	for (uint64_t i = 0; i < 40; i++)
		post(&r, i, RN_WR_RDMA_WRITE, RAW_MR_LEN);
	while (raw_next(&r, &k)) {
		assert_true(qp->peer->in_flight <= qp->peer->window);
		if (r.p->record_taken < r.p->record_count)
			continue;
		/* The packet that closes the window asks, or nobody would answer. */
		assert_true(k.ack_req);
		raw_ack(&r, k.psn, acked++);
	}
	for (uint64_t i = 0; i < 40; i++)
		pair_expect_wc(r.q->scq, i, RN_WC_SUCCESS);
	assert_true(acked > 10);
	expect_stat(&r, RN_STAT_RETRANSMITTED, 0);
	req_free(&r);
}

static void a_partial_ack_returns_what_it_covers(void **state)
{
	struct raw r = req_new(NULL);
	const struct rn_qp *qp = r.q->qp;
	uint32_t all, per_packet;

	(void)state;
	post(&r, 1, RN_WR_SEND, 2500);
	all = qp->req.in_flight;
	raw_ack(&r, 200, 0);
	per_packet = all - qp->req.in_flight;
	raw_ack(&r, 201, 0);
	assert_int_equal(qp->req.in_flight, all - 2 * per_packet);
	assert_int_equal(per_packet - qp->req.in_flight, 1024 - (2500 - 2048));
	raw_ack(&r, 202, 1);
	assert_int_equal(qp->req.in_flight, 0);
	req_free(&r);
}

static void reset_returns_what_was_in_flight(void **state)
{
	struct raw r = req_new(NULL);
	struct pair_qp *other = pair_qp_new(r.p, 0, RN_QPT_RC);
	struct rn_qp_attr attr = pair_attr(other, 1, RAW_PEER_QPN);

	(void)state;
	pair_modify_until(other, &attr, RN_QPS_RTS);
	post(&r, 1, RN_WR_SEND, 2500);
	post(&r, 2, RN_WR_RDMA_READ, 2500);
	assert_true(other->qp->peer->in_flight > 0);
	assert_int_equal(r.q->qp->dev->read_in_flight, 2500);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RESET), 0);
	assert_int_equal(other->qp->peer->in_flight, 0);
	assert_int_equal(r.q->qp->dev->read_in_flight, 0);
	pair_expect_no_wc(r.q->scq);
	raw_free(&r);
}

/* -------------------------------------------------------- READs and atomics */
static void read_request_asks_for_the_whole_message(void **state)
{
	struct raw r = req_new(NULL);
	const struct raw_packet *k;

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 3000);
	k = raw_expect(&r, RN_RC_READ_REQUEST, 200);
	assert_true(k->ack_req);
	assert_int_equal(k->len, 0);
	assert_int_equal(k->reth.va, REMOTE_VA);
	assert_int_equal(k->reth.rkey, REMOTE_RKEY);
	assert_int_equal(k->reth.dma_len, 3000);
	post(&r, 2, RN_WR_SEND, 1);
	raw_expect(&r, RN_RC_SEND_ONLY, 203);
	req_free(&r);
}

static void an_empty_read_takes_one_psn(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 0);
	assert_int_equal(raw_expect(&r, RN_RC_READ_REQUEST, 200)->reth.dma_len, 0);
	post(&r, 2, RN_WR_SEND, 1);
	raw_expect(&r, RN_RC_SEND_ONLY, 201);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 0);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	req_free(&r);
}

static void a_long_read_leaves_in_chunks_with_consecutive_psns(void **state)
{
	/* 2100 is not a multiple of the path MTU: rounded down to 2048. */
	struct raw r = raw_new(&(struct pair_cfg){ .mtu_max = 1024, .read_chunk = 2100 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);
	const struct raw_packet *k;

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 5000);
	k = raw_expect(&r, RN_RC_READ_REQUEST, 200);
	assert_int_equal(k->reth.dma_len, 2048);
	k = raw_expect(&r, RN_RC_READ_REQUEST, 202);
	assert_int_equal(k->reth.va, REMOTE_VA + 2048);
	assert_int_equal(k->reth.dma_len, 2048);
	raw_expect_silence(&r); /* max_rd_atomic 2 */
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 1024);
	raw_expect_silence(&r);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 201, 1024);
	k = raw_expect(&r, RN_RC_READ_REQUEST, 204);
	assert_int_equal(k->reth.va, REMOTE_VA + 4096);
	assert_int_equal(k->reth.dma_len, 904);
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 202, 1024);
	send_read_response(&r, RN_RC_READ_RESPONSE_LAST, 203, 1024);
	pair_expect_no_wc(r.q->scq);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 204, 904);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	req_free(&r);
}

/* Two QPs with room for two chunks; the first has asked for both. */
static struct raw fill_read_window(struct raw *r)
{
	struct raw s = *r;
	struct rn_qp_attr attr;

	s.q = pair_qp_new(r->p, 0, RN_QPT_RC);
	attr = pair_attr(s.q, 1, RAW_PEER_QPN + 1);
	attr.sq_psn = 5000;
	pair_modify_until(s.q, &attr, RN_QPS_RTS);
	post(r, 1, RN_WR_RDMA_READ, 2048);
	raw_expect(r, RN_RC_READ_REQUEST, 200);
	raw_expect(r, RN_RC_READ_REQUEST, 201);
	post(&s, 2, RN_WR_RDMA_READ, 2048);
	raw_expect_silence(&s);
	return s;
}

static const struct pair_cfg two_chunks = { .mtu_max = 1024,
					    .read_chunk = 1024,
					    .read_window = 2048 };

static void two_qps_share_the_read_window(void **state)
{
	struct raw r = raw_new(&two_chunks, RN_QPT_RC, RN_QPS_RTS, NULL);
	struct raw s = fill_read_window(&r);

	(void)state;
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 1024);
	raw_expect(&s, RN_RC_READ_REQUEST, 5000);
	raw_expect_silence(&s);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 201, 1024);
	raw_expect(&s, RN_RC_READ_REQUEST, 5001);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	assert_int_equal(pair_modify_state(s.q, RN_QPS_ERR), 0);
	pair_expect_wc(s.q->scq, 2, RN_WC_WR_FLUSH_ERR);
	req_free(&r);
}

static void dead_peer_does_not_hold_the_read_window_against_others(void **state)
{
	struct raw r = raw_new(&two_chunks, RN_QPT_RC, RN_QPS_RTS, NULL);
	struct raw s = fill_read_window(&r);

	(void)state;
	pair_run_for(r.p, RN_USEC(990));
	raw_expect_silence(&s);
	pair_run_for(r.p, RN_USEC(10));
	raw_expect(&s, RN_RC_READ_REQUEST, 5000);
	pair_run_for(r.p, RN_MSEC(5));
	raw_expect_silence(&s); /* it has one under way now */
	assert_int_equal(pair_modify_state(r.q, RN_QPS_ERR), 0);
	raw_expect(&s, RN_RC_READ_REQUEST, 5001);
	assert_int_equal(pair_modify_state(s.q, RN_QPS_ERR), 0);
	req_free(&r);
}

static void atomics_carry_their_operands(void **state)
{
	struct raw r = req_new(NULL);
	const struct raw_packet *k;

	(void)state;
	post(&r, 1, RN_WR_ATOMIC_CMP_AND_SWP, 8);
	k = raw_expect(&r, RN_RC_CMP_SWAP, 200);
	assert_true(k->ack_req);
	assert_int_equal(k->atomic.va, REMOTE_VA);
	assert_int_equal(k->atomic.rkey, REMOTE_RKEY);
	assert_int_equal(k->atomic.compare, 0x1111222233334444);
	assert_int_equal(k->atomic.swap_add, 0x5555666677778888);
	post(&r, 2, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	k = raw_expect(&r, RN_RC_FETCH_ADD, 201);
	assert_int_equal(k->atomic.swap_add, 0x1111222233334444);
	assert_int_equal(k->atomic.compare, 0);
	req_free(&r);
}

static void no_more_than_max_rd_atomic_are_outstanding(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 100);
	post(&r, 2, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	post(&r, 3, RN_WR_RDMA_READ, 100);
	post(&r, 4, RN_WR_SEND, 4); /* strict order: waits behind the READ */
	raw_expect(&r, RN_RC_READ_REQUEST, 200);
	raw_expect(&r, RN_RC_FETCH_ADD, 201);
	raw_expect_silence(&r);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 100);
	raw_expect(&r, RN_RC_READ_REQUEST, 202);
	raw_expect(&r, RN_RC_SEND_ONLY, 203);
	req_free(&r);
}

static void a_fence_waits_for_earlier_reads(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 100);
	post_flags(&r, 2, RN_WR_RDMA_WRITE, 100, RN_SEND_FENCE);
	raw_expect(&r, RN_RC_READ_REQUEST, 200);
	raw_expect_silence(&r);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 100);
	raw_expect(&r, RN_RC_WRITE_ONLY, 201);
	/* It does not wait for other requests. */
	post_flags(&r, 3, RN_WR_SEND, 100, RN_SEND_FENCE);
	raw_expect(&r, RN_RC_SEND_ONLY, 202);
	req_free(&r);
}

static void without_a_fence_a_write_follows_a_read_at_once(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_RDMA_READ, 100);
	post(&r, 2, RN_WR_RDMA_WRITE, 100);
	raw_expect(&r, RN_RC_READ_REQUEST, 200);
	raw_expect(&r, RN_RC_WRITE_ONLY, 201);
	req_free(&r);
}

static void every_64th_packet_of_a_message_asks_for_an_ack(void **state)
{
	struct raw r = raw_new(&(struct pair_cfg){ .mtu_max = 256 }, RN_QPT_RC,
			       RN_QPS_RTS, NULL);
	struct rn_sge sge[4];
	struct rn_send_wr wr = { .opcode = RN_WR_RDMA_WRITE, .sg = sge, .num_sge = 4 };
	struct raw_packet k;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		sge[i] = pair_sge(r.mr, 0, RAW_MR_LEN);
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	for (unsigned i = 1; raw_next(&r, &k); i++)
		assert_int_equal(k.ack_req, i % 64 == 0);
	assert_int_equal(k.psn, 200 + 127);
	raw_ack(&r, 200 + 127, 1);
	req_free(&r);
}

static void a_refusal_counts_the_messages_before_its_own(void **state)
{
	struct raw r = req_new(NULL);
	struct raw_packet k;

	(void)state;
	assert_int_equal(rn_qp_peer_msn(r.q->qp, rn_psn(200)), 0);
	post(&r, 1, RN_WR_SEND, 8);		 /* 200 */
	post(&r, 2, RN_WR_RDMA_WRITE, 3 * 1024); /* 201 .. 203 */
	post(&r, 3, RN_WR_RDMA_READ, 2 * 1024);	 /* 204, 205 */
	post(&r, 4, RN_WR_SEND, 8);		 /* 206 */
	while (raw_next(&r, &k))
		;
	assert_int_equal(k.psn, 206);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rn_qp_peer_msn(r.q->qp, rn_psn(201)), 1);
		assert_int_equal(rn_qp_peer_msn(r.q->qp, rn_psn(203)), 1);
		assert_int_equal(rn_qp_peer_msn(r.q->qp, rn_psn(205)), 2);
		assert_int_equal(rn_qp_peer_msn(r.q->qp, rn_psn(206)), 3);
		raw_ack(&r, 200, 1); /* what has ended counts */
	}
	raw_free(&r);
}

static void four_reads(struct rn_qp_attr *a)
{
	a->max_rd_atomic = 4;
}

/* A READ of as many packets as may be outstanding, in four requests: behind it nothing
 * could be told from what is long past.
 */
static void no_more_psns_are_outstanding_than_can_be_told_apart(void **state)
{
	const uint32_t len = RN_OUTSTANDING_MAX * 256u;
	const struct pair_cfg cfg = { .mtu_max = 256,
				      .read_window = len,
				      .read_chunk = len };
	struct raw r = raw_new(&cfg, RN_QPT_RC, RN_QPS_RTS, four_reads);
	struct rn_sge sge = pair_sge(r.mr, 0, 8);

	(void)state;
	r.mr->mr.length = sge.len = len;
	post_sge(&r, 1, RN_WR_RDMA_READ, sge, RN_SEND_SIGNALED);
	for (uint32_t i = 0; i < 4; i++) {
		const struct raw_packet *k = raw_expect(
			&r, RN_RC_READ_REQUEST, 200 + i * (RN_OUTSTANDING_MAX / 4));

		assert_int_equal(k->reth.dma_len, len / 4);
	}
	sge.len = 8;
	post_sge(&r, 2, RN_WR_SEND, sge, RN_SEND_SIGNALED);
	raw_expect_silence(&r);
	send_read_response(&r, RN_RC_READ_RESPONSE_FIRST, 200, 256);
	raw_expect(&r, RN_RC_SEND_ONLY, 200 + RN_OUTSTANDING_MAX);
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_only_is_these_bytes_on_the_wire),
		cmocka_unit_test(an_empty_send_is_one_packet_without_payload),
		cmocka_unit_test(messages_are_cut_at_the_path_mtu),
		cmocka_unit_test(write_names_its_target_on_the_first_packet),
		cmocka_unit_test(immediate_and_key_travel_on_the_last_packet),
		cmocka_unit_test(
			solicited_shows_on_the_last_packet_of_what_takes_a_receive),
		cmocka_unit_test(psns_wrap_within_a_message),
		cmocka_unit_test(the_window_bounds_what_is_unacknowledged),
		cmocka_unit_test(a_partial_ack_returns_what_it_covers),
		cmocka_unit_test(reset_returns_what_was_in_flight),
		cmocka_unit_test(read_request_asks_for_the_whole_message),
		cmocka_unit_test(an_empty_read_takes_one_psn),
		cmocka_unit_test(a_long_read_leaves_in_chunks_with_consecutive_psns),
		cmocka_unit_test(two_qps_share_the_read_window),
		cmocka_unit_test(dead_peer_does_not_hold_the_read_window_against_others),
		cmocka_unit_test(atomics_carry_their_operands),
		cmocka_unit_test(no_more_than_max_rd_atomic_are_outstanding),
		cmocka_unit_test(a_fence_waits_for_earlier_reads),
		cmocka_unit_test(without_a_fence_a_write_follows_a_read_at_once),
		cmocka_unit_test(every_64th_packet_of_a_message_asks_for_an_ack),
		cmocka_unit_test(a_refusal_counts_the_messages_before_its_own),
		cmocka_unit_test(no_more_psns_are_outstanding_than_can_be_told_apart),
	};

	return cmocka_run_group_tests_name("requester", tests, NULL, NULL);
}
