/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_xrc.c - XRC against a raw peer. */
#include "rocin/srq.h"
#include "tests/kit/device/rc0.h"
#include "transport/qp/qp.h"

enum {
	DOMAIN = 5,
	BUF = 6 * 1024,
	ALL = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
	      RN_ACCESS_REMOTE_ATOMIC,
};

/* A target, two SRQs of its domain in protection domains 1 and 2. */
struct tgt {
	struct raw r;
	struct pair_srq *s1, *s2;
	struct pair_mr *m1, *m2;
};

static struct pair_qp *target(struct pair *p, uint32_t xrcd)
{
	const struct rn_qp_init init = { .type = RN_QPT_XRC_RECV, .xrcd = xrcd };
	struct pair_qp *q = pair_qp_new_with(p, 0, &init);
	struct rn_qp_attr attr = pair_attr(q, 1, RAW_PEER_QPN);

	attr.rq_psn = RAW_PSN_RX;
	pair_modify_until(q, &attr, RN_QPS_RTR);
	return q;
}

static struct tgt make(void)
{
	const struct rn_srq_init second = { .pd = 2, .max_wr = 8, .xrcd = DOMAIN };
	struct tgt t = { 0 };

	t.r.p = pair_new(&(struct pair_cfg){ .devices = 1, .mtu_max = 1024 });
	t.s1 = pair_srq_new(t.r.p, 0, 8, DOMAIN);
	t.s2 = pair_srq_new_with(t.r.p, 0, &second);
	t.r.mr = t.m1 = pair_mr_new_in(t.r.p, 0, 1, BUF, ALL);
	t.m2 = pair_mr_new_in(t.r.p, 0, 2, BUF, ALL);
	t.r.q = target(t.r.p, DOMAIN);
	for (uint32_t i = 0; i < BUF; i++)
		t.m1->data[i] = t.m2->data[i] = (uint8_t)(i * 5 + (i >> 8));
	return t;
}

/* The event that the first packet raised is taken, and there is no other. */
static void done(struct tgt *t)
{
	struct rn_event ev;

	while (pair_next_event(t->r.p, &ev))
		assert_int_equal(ev.async, RN_EVENT_COMM_EST);
	raw_expect_silence(&t->r);
	pair_free(t->r.p);
}

static void expect_dead(struct tgt *t, enum rn_async_event cause)
{
	uint32_t seen = 0;
	struct rn_event ev;

	assert_int_equal(rn_qp_state(t->r.q->qp), RN_QPS_ERR);
	while (pair_next_event(t->r.p, &ev)) {
		assert_ptr_equal(ev.qp, t->r.q->qp);
		seen |= 1u << ev.async;
	}
	assert_int_equal(seen, 1u << RN_EVENT_COMM_EST | 1u << RN_EVENT_LAST_WQE_REACHED |
				       (cause ? 1u << cause : 0));
}

static void expect_recv(struct tgt *t, struct pair_srq *s, uint64_t wr_id, uint32_t len)
{
	struct rn_cqe e = pair_expect_wc(s->cq, wr_id, RN_WC_SUCCESS);

	assert_int_equal(e.byte_len, len);
	assert_int_equal(e.qpn, t->r.q->qpn);
}

static struct rn_reth reth_of(const struct pair_mr *m, uint32_t len)
{
	return (struct rn_reth){ .va = m->mr.va, .rkey = m->mr.lkey, .dma_len = len };
}

static void each_message_names_its_srq(void **state)
{
	struct tgt t = make();

	(void)state;
	assert_int_equal(pair_post_srq_mr(t.s1, 1, t.m1, 0, BUF), 0);
	assert_int_equal(pair_post_srq_mr(t.s2, 2, t.m2, 0, BUF), 0);
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 100, .srqn = t.s2->srqn,
			   .ack_req = true, .len = 5));
	raw_expect_ack(&t.r, 100, 1);
	expect_recv(&t, t.s2, 2, 5);
	rc0_expect_pattern(t.m2->data, 100, 5);
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_FIRST, .psn = 101, .srqn = t.s1->srqn,
			   .len = 1024));
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_LAST_IMM, .psn = 102, .srqn = t.s1->srqn,
			   .imm = 3, .ack_req = true, .len = 6));
	raw_expect_ack(&t.r, 102, 2);
	expect_recv(&t, t.s1, 1, 1030);
	pair_expect_no_wc(t.s2->cq);
	done(&t);
}

static void an_empty_srq_holds_up_its_own_messages_only(void **state)
{
	struct tgt t = make();

	(void)state;
	assert_int_equal(pair_post_srq_mr(t.s1, 1, t.m1, 0, BUF), 0);
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 100, .srqn = t.s2->srqn));
	raw_expect_nak(&t.r, 0x20 | 12, 100, 0);
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 100, .srqn = t.s1->srqn,
			   .ack_req = true));
	raw_expect_ack(&t.r, 100, 1);
	expect_recv(&t, t.s1, 1, 0);
	done(&t);
}

static void refused(uint32_t srqn)
{
	struct tgt t = make();

	raw_send(&t.r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 100, .srqn = srqn));
	raw_expect_nak(&t.r, 0x61, 100, 0);
	expect_dead(&t, RN_EVENT_QP_REQ_ERR);
	done(&t);
}

static void an_unknown_srq_is_an_invalid_request(void **state)
{
	(void)state;
	refused(0);
	refused(0x1234);
	refused(RN_SRQN_MAX);
}

static void srqs_of_other_domains_and_basic_ones_are_not_reached(void **state)
{
	struct tgt t = make();
	struct pair_srq *other = pair_srq_new(t.r.p, 0, 4, DOMAIN + 1);
	struct pair_srq *basic = pair_srq_new(t.r.p, 0, 4, 0);
	struct pair_qp *second = target(t.r.p, DOMAIN);

	(void)state;
	assert_int_equal(pair_post_srq_mr(other, 1, t.m1, 0, BUF), 0);
	assert_int_equal(pair_post_srq_mr(basic, 2, t.m1, 0, BUF), 0);
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 100, .srqn = other->srqn));
	raw_expect_nak(&t.r, 0x61, 100, 0);
	expect_dead(&t, RN_EVENT_QP_REQ_ERR);
	t.r.q = second;
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 100, .srqn = basic->srqn));
	raw_expect_nak(&t.r, 0x61, 100, 0);
	expect_dead(&t, RN_EVENT_QP_REQ_ERR);
	pair_expect_no_wc(other->cq);
	done(&t);
}

static void a_message_keeps_to_its_srq(void **state)
{
	struct tgt t = make();

	(void)state;
	assert_int_equal(pair_post_srq_mr(t.s1, 1, t.m1, 0, BUF), 0);
	assert_int_equal(pair_post_srq_mr(t.s2, 2, t.m2, 0, BUF), 0);
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_FIRST, .psn = 100, .srqn = t.s1->srqn,
			   .len = 1024));
	raw_send(&t.r,
		 RAW(.op = RN_XRC_SEND_LAST, .psn = 101, .srqn = t.s2->srqn, .len = 1));
	raw_expect_nak(&t.r, 0x61, 101, 0);
	pair_expect_wc(t.s1->cq, 1, RN_WC_REM_INV_REQ_ERR);
	pair_expect_no_wc(t.s2->cq);
	expect_dead(&t, 0);
	done(&t);
}

static void an_srq_may_go_in_the_middle_of_a_message(void **state)
{
	struct tgt t = make();
	uint32_t srqn = t.s1->srqn;

	(void)state;
	assert_int_equal(pair_post_srq_mr(t.s1, 1, t.m1, 0, BUF), 0);
	raw_send(&t.r,
		 RAW(.op = RN_XRC_SEND_FIRST, .psn = 100, .srqn = srqn, .len = 1024));
	pair_srq_destroy(t.s1);
	/* Another of the same number is not the one. */
	t.s1 = pair_srq_new_with(
		t.r.p, 0,
		&(struct rn_srq_init){ .srqn = srqn, .max_wr = 4, .xrcd = DOMAIN });
	assert_int_equal(pair_post_srq_mr(t.s1, 2, t.m1, 0, BUF), 0);
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_LAST, .psn = 101, .srqn = srqn, .len = 1));
	raw_expect_nak(&t.r, 0x61, 101, 0);
	pair_expect_no_wc(t.s1->cq);
	expect_dead(&t, RN_EVENT_QP_REQ_ERR);
	done(&t);
}

static void remote_keys_are_of_the_srqs_domain(void **state)
{
	struct tgt t = make();

	(void)state;
	raw_send(&t.r, RAW(.op = RN_XRC_WRITE_ONLY, .psn = 100, .srqn = t.s2->srqn,
			   .reth = reth_of(t.m2, 8), .ack_req = true, .len = 8));
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_pattern(t.m2->data, 100, 8);
	raw_send(&t.r, RAW(.op = RN_XRC_WRITE_ONLY, .psn = 101, .srqn = t.s2->srqn,
			   .reth = reth_of(t.m1, 8), .len = 8));
	raw_expect_nak(&t.r, 0x62, 101, 1);
	assert_int_equal(t.m1->data[1], 5);
	expect_dead(&t, RN_EVENT_QP_ACCESS_ERR);
	done(&t);
}

static void expect_read(struct tgt *t, uint32_t psn, uint32_t msn)
{
	const struct raw_packet *k;

	k = raw_expect(&t->r, RN_XRC_READ_RESPONSE_FIRST, psn);
	assert_int_equal(k->aeth.msn, msn);
	assert_memory_equal(k->payload, t->m2->data, 1024);
	k = raw_expect(&t->r, RN_XRC_READ_RESPONSE_LAST, psn + 1);
	assert_int_equal(k->len, 76);
	assert_memory_equal(k->payload, t->m2->data + 1024, 76);
}

static void reads_are_answered_and_answered_again(void **state)
{
	struct tgt t = make();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		raw_send(&t.r, RAW(.op = RN_XRC_READ_REQUEST, .psn = 100,
				   .srqn = t.s2->srqn, .reth = reth_of(t.m2, 1100)));
		expect_read(&t, 100, 1);
	}
	/* A new one, whose SRQ goes before the answer leaves. */
	t.r.p->frozen = true;
	raw_send(&t.r, RAW(.op = RN_XRC_READ_REQUEST, .psn = 102, .srqn = t.s2->srqn,
			   .reth = reth_of(t.m2, 1100)));
	pair_srq_destroy(t.s2);
	t.r.p->frozen = false;
	pair_flush(t.r.p);
	raw_expect_nak(&t.r, 0x62, 102, 1);
	expect_dead(&t, RN_EVENT_QP_ACCESS_ERR);
	done(&t);
}

static void an_atomic_is_executed_once(void **state)
{
	struct tgt t = make();
	struct rn_atomic_eth add = { .va = t.m1->mr.va,
				     .rkey = t.m1->mr.lkey,
				     .swap_add = 4 };
	uint64_t seven = 7, now;

	(void)state;
	memcpy(t.m1->data, &seven, sizeof(seven));
	for (unsigned i = 0; i < 2; i++) {
		raw_send(&t.r, RAW(.op = RN_XRC_FETCH_ADD, .psn = 100, .srqn = t.s1->srqn,
				   .atomic = add));
		assert_int_equal(raw_expect(&t.r, RN_XRC_ATOMIC_ACK, 100)->atomic_ack, 7);
	}
	add = (struct rn_atomic_eth){
		.va = add.va, .rkey = add.rkey, .swap_add = 30, .compare = 11
	};
	raw_send(&t.r, RAW(.op = RN_XRC_CMP_SWAP, .psn = 101, .srqn = t.s1->srqn,
			   .atomic = add));
	assert_int_equal(raw_expect(&t.r, RN_XRC_ATOMIC_ACK, 101)->atomic_ack, 11);
	memcpy(&now, t.m1->data, sizeof(now));
	assert_int_equal(now, 30);
	done(&t);
}

static void a_target_takes_requests_of_xrc_only(void **state)
{
	struct tgt t = make();

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100));
	raw_send(&t.r, RAW(.op = RN_XRC_ACK, .psn = 100, .aeth = { .syndrome = 0x1f }));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 100));
	assert_int_equal(pair_stat(t.r.p, 0, RN_STAT_RX_BAD_OPCODE), 3);
	raw_expect_silence(&t.r);
	/* An operation that nobody defined is answered. */
	raw_send(&t.r, RAW(.op = RN_CLASS_XRC | 0x1f, .psn = 100));
	raw_expect_nak(&t.r, 0x61, 100, 0);
	expect_dead(&t, RN_EVENT_QP_REQ_ERR);
	done(&t);
}

static void an_initiator_takes_responses_only(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_XRC_SEND, RN_QPS_RTS, NULL);

	(void)state;
	raw_send(&r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 100, .srqn = 1, .ack_req = true));
	raw_send(&r, RAW(.op = RN_RC_ACK, .psn = 200, .aeth = { .syndrome = 0x1f }));
	raw_send(&r, RAW(.op = RN_CLASS_XRC | 0x1f, .psn = 100));
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_RX_BAD_OPCODE), 3);
	raw_expect_silence(&r);
	raw_free(&r);
}

static void a_full_cq_of_an_srq_ends_the_qp(void **state)
{
	struct tgt t = make();
	struct pair_cq *small = pair_cq_new(t.r.p, 0, 1);
	const struct rn_srq_init init = { .max_wr = 8, .xrcd = DOMAIN, .cq = &small->cq };
	struct pair_srq *s = pair_srq_new_with(t.r.p, 0, &init);
	struct rn_event ev;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pair_post_srq_mr(s, i, t.m1, 0, BUF), 0);
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 100, .srqn = s->srqn));
	raw_send(&t.r, RAW(.op = RN_XRC_SEND_ONLY, .psn = 101, .srqn = s->srqn));
	assert_int_equal(rn_qp_state(t.r.q->qp), RN_QPS_ERR);
	pair_expect_async(t.r.q, RN_EVENT_COMM_EST);
	assert_true(pair_next_event(t.r.p, &ev));
	assert_int_equal(ev.async, RN_EVENT_CQ_ERR);
	pair_expect_async(t.r.q, RN_EVENT_QP_FATAL);
	pair_expect_async(t.r.q, RN_EVENT_LAST_WQE_REACHED);
	done(&t);
}

static void neither_half_has_a_receive_queue(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_XRC_SEND, RN_QPS_RTS, NULL);
	struct pair_qp *q = target(r.p, DOMAIN);
	const struct rn_recv_wr recv = { .wr_id = 1 };
	struct rn_send_wr send = { .opcode = RN_WR_SEND };

	(void)state;
	assert_int_not_equal(pair_post_recv(r.q, &recv), 0);
	assert_int_not_equal(pair_post_recv(q, &recv), 0);
	assert_int_not_equal(pair_post_send(q, &send), 0);
	send.remote_srqn = RN_SRQN_MAX + 1;
	assert_int_not_equal(pair_post_send(r.q, &send), 0);
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_names_its_srq),
		cmocka_unit_test(an_empty_srq_holds_up_its_own_messages_only),
		cmocka_unit_test(an_unknown_srq_is_an_invalid_request),
		cmocka_unit_test(srqs_of_other_domains_and_basic_ones_are_not_reached),
		cmocka_unit_test(a_message_keeps_to_its_srq),
		cmocka_unit_test(an_srq_may_go_in_the_middle_of_a_message),
		cmocka_unit_test(remote_keys_are_of_the_srqs_domain),
		cmocka_unit_test(reads_are_answered_and_answered_again),
		cmocka_unit_test(an_atomic_is_executed_once),
		cmocka_unit_test(a_target_takes_requests_of_xrc_only),
		cmocka_unit_test(an_initiator_takes_responses_only),
		cmocka_unit_test(a_full_cq_of_an_srq_ends_the_qp),
		cmocka_unit_test(neither_half_has_a_receive_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
