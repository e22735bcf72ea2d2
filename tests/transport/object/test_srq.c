/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_srq.c - receives that several QPs share: D10, K1 and K2 of tests/rules.md. */
#include "tests/kit/device/rc0.h"
#include "transport/qp/qp.h"

#include <errno.h>
#include <stdlib.h>

#include "rocin/srq.h"
#include "rocin/transport.h"

enum {
	LEN = 2048, /* of each receive */
	ROOM = 64,  /* receives in the region */
};

/* A raw peer, one QP, an SRQ of 8. */
struct srq0 {
	struct raw r;
	struct pair_srq *s;
	struct pair_mr *buf;
	uint64_t posted;
};

static struct pair_qp *connected(struct pair *p, enum rn_qp_type type, struct pair_srq *s)
{
	const struct rn_qp_init init = { .type = type, .srq = s->srq };
	struct pair_qp *q = pair_qp_new_with(p, 0, &init);
	struct rn_qp_attr attr = pair_attr(q, 1, RAW_PEER_QPN);

	attr.rq_psn = RAW_PSN_RX;
	attr.sq_psn = RAW_PSN_TX;
	pair_modify_until(q, &attr, RN_QPS_RTS);
	return q;
}

static struct srq0 make(enum rn_qp_type type, uint32_t pd)
{
	const struct rn_srq_init init = { .pd = pd, .max_wr = 8 };
	struct srq0 t = { 0 };

	t.r.p = pair_new(&(struct pair_cfg){ .devices = 1, .mtu_max = 1024 });
	t.s = pair_srq_new_with(t.r.p, 0, &init);
	t.buf = pair_mr_new_in(t.r.p, 0, pd, ROOM * LEN, RN_ACCESS_LOCAL_WRITE);
	t.r.mr = pair_mr_new(t.r.p, 0, RAW_MR_LEN,
			     RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE);
	t.r.q = connected(t.r.p, type, t.s);
	return t;
}

static void done(struct srq0 *t)
{
	struct rn_event ev;

	assert_false(pair_next_event(t->r.p, &ev));
	raw_expect_silence(&t->r);
	pair_free(t->r.p);
}

static void post_len(struct srq0 *t, uint32_t len)
{
	uint32_t at = (uint32_t)(t->posted++ % ROOM) * LEN;

	assert_int_equal(pair_post_srq_mr(t->s, t->posted, t->buf, at, len), 0);
}

static void post(struct srq0 *t, unsigned count)
{
	while (count--)
		post_len(t, LEN);
}

static const uint8_t *data(const struct srq0 *t, uint64_t wr_id)
{
	return t->buf->data + (wr_id - 1) % ROOM * LEN;
}

static uint32_t waiting(const struct pair_srq *s)
{
	struct rn_srq_attr a;

	rn_srq_query(s->srq, &a);
	return a.posted;
}

static void expect_recv(struct srq0 *t, struct pair_qp *q, uint64_t wr_id, uint32_t len)
{
	struct rn_cqe e = pair_expect_wc(q->rcq, wr_id, RN_WC_SUCCESS);

	assert_int_equal(e.byte_len, len);
	assert_int_equal(e.qpn, q->qpn);
	(void)t;
}

/* --------------------------------------------------------------------- taking */
static void sends_take_shared_receives_in_order(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);

	(void)state;
	post(&t, 3);
	for (uint32_t i = 0; i < 3; i++) {
		raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100 + i, .ack_req = true,
				   .len = 10 + i));
		raw_expect_ack(&t.r, 100 + i, i + 1); /* and 0x1f: no credits */
		expect_recv(&t, t.r.q, i + 1, 10 + i);
		rc0_expect_pattern(data(&t, i + 1), 100 + i, 10 + i);
	}
	assert_int_equal(waiting(t.s), 0);
	done(&t);
}

static void an_empty_srq_is_not_ready(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 4));
	raw_expect_nak(&t.r, 0x20 | 12, 100, 0);
	post(&t, 1);
	raw_expect_silence(&t.r); /* the peer's timer decides when it tries again */
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 4));
	raw_expect_ack(&t.r, 100, 1);
	expect_recv(&t, t.r.q, 1, 4);
	done(&t);
}

static void two_qps_interleave_on_one_srq(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct pair_qp *other = connected(t.r.p, RN_QPT_RC, t.s);

	(void)state;
	post(&t, 3);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .dest_qpn = other->qpn,
			   .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_LAST, .psn = 101, .dest_qpn = other->qpn,
			   .len = 5));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 102, .dest_qpn = other->qpn,
			   .len = 6));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_LAST, .psn = 101, .len = 7));
	expect_recv(&t, other, 2, 1029);
	expect_recv(&t, other, 3, 6);
	expect_recv(&t, t.r.q, 1, 1031);
	rc0_expect_pattern(data(&t, 1), 100, 1024);
	rc0_expect_pattern(data(&t, 1) + 1024, 101, 7);
	rc0_expect_pattern(data(&t, 2) + 1024, 101, 5);
	done(&t);
}

static void a_write_takes_its_receive_at_its_end(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct rn_reth reth = { .va = t.r.mr->mr.va,
				.rkey = t.r.mr->mr.lkey,
				.dma_len = 1030 };
	struct rn_cqe e;

	(void)state;
	post(&t, 1);
	raw_send(&t.r,
		 RAW(.op = RN_RC_WRITE_FIRST, .psn = 100, .reth = reth, .len = 1024));
	assert_int_equal(waiting(t.s), 1);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_LAST_IMM, .psn = 101, .imm = 9, .len = 6));
	assert_int_equal(waiting(t.s), 0);
	e = pair_expect_wc(t.r.q->rcq, 1, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_opcode(&e), RN_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(e.imm, 9);
	/* Without a receive the last packet is refused, not the message. */
	raw_send(&t.r,
		 RAW(.op = RN_RC_WRITE_FIRST, .psn = 102, .reth = reth, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_LAST_IMM, .psn = 103, .imm = 9, .len = 6));
	raw_expect_nak(&t.r, 0x20 | 12, 103, 1);
	done(&t);
}

static void a_duplicate_takes_nothing(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);

	(void)state;
	post(&t, 2);
	for (unsigned i = 0; i < 3; i++) {
		raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
		raw_expect_ack(&t.r, 100, 1);
	}
	expect_recv(&t, t.r.q, 1, 0);
	pair_expect_no_wc(t.r.q->rcq);
	assert_int_equal(waiting(t.s), 1);
	done(&t);
}

/* ---------------------------------------------------------------------- limit */
static void the_limit_is_told_once(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct rn_srq_attr a;
	struct rn_event ev;

	(void)state;
	post(&t, 4);
	assert_int_equal(rn_srq_set_limit(t.s->srq, 3), 0);
	rn_srq_query(t.s->srq, &a);
	assert_int_equal(a.limit, 3);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100));
	assert_false(pair_next_event(t.r.p, &ev)); /* 3 are left */
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101));
	pair_expect_limit(t.s);
	rn_srq_query(t.s->srq, &a);
	assert_int_equal(a.limit, 0);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 102));
	done(&t);
}

static void a_limit_over_what_waits_fires_at_the_next_take(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct rn_event ev;

	(void)state;
	post(&t, 2);
	assert_int_equal(rn_srq_set_limit(t.s->srq, 5), 0);
	pair_flush(t.r.p);
	assert_false(pair_next_event(t.r.p, &ev));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100));
	pair_expect_limit(t.s);
	assert_int_equal(rn_srq_set_limit(t.s->srq, 9), -EINVAL);
	assert_int_equal(rn_srq_set_limit(t.s->srq, 8), 0);
	assert_int_equal(rn_srq_set_limit(t.s->srq, 0), 0);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101));
	done(&t);
}

static void an_event_of_a_destroyed_srq_never_comes(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct rn_dev *dev = t.r.p->dev[0];
	struct rn_event ev;
	uint8_t buf[256];
	struct rn_flow flow = raw_flow(&t.r);
	struct rn_rx rx = { .flow = &flow, .data = buf };

	(void)state;
	post(&t, 1);
	assert_int_equal(rn_srq_set_limit(t.s->srq, 1), 0);
	rx.len = raw_encode(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100), buf);
	rn_dev_receive(dev, t.r.p->net->now, &rx, 1);
	pair_qp_destroy(t.r.q);
	pair_srq_destroy(t.s);
	assert_false(rn_dev_event(dev, &ev));
	done(&t);
}

/* ---------------------------------------------------------------------- ERROR */
static void in_err_only_what_was_taken_is_flushed(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);

	(void)state;
	post(&t, 3);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1024));
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_ERR), 0);
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_WR_FLUSH_ERR);
	pair_expect_no_wc(t.r.q->rcq);
	pair_expect_async(t.r.q, RN_EVENT_LAST_WQE_REACHED);
	assert_int_equal(waiting(t.s), 2);
	done(&t);
}

static void reset_tells_nothing_and_keeps_the_rest(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);

	(void)state;
	post(&t, 3);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1024));
	assert_int_equal(pair_modify_state(t.r.q, RN_QPS_RESET), 0);
	pair_expect_no_wc(t.r.q->rcq);
	assert_int_equal(waiting(t.s), 2);
	done(&t);
}

static void a_destroyed_qp_leaves_the_srq_to_the_others(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct pair_qp *other = connected(t.r.p, RN_QPT_RC, t.s);

	(void)state;
	post(&t, 3);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1024));
	pair_qp_destroy(t.r.q);
	t.r.q = other;
	assert_int_equal(waiting(t.s), 2);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .len = 1));
	expect_recv(&t, other, 2, 1);
	done(&t);
}

static void a_short_receive_ends_the_qp_and_not_the_srq(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct pair_qp *other = connected(t.r.p, RN_QPT_RC, t.s);

	(void)state;
	post_len(&t, 8);
	post(&t, 1);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .len = 9));
	raw_expect_nak(&t.r, 0x61, 100, 0);
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_LOC_LEN_ERR);
	pair_expect_async(t.r.q, RN_EVENT_LAST_WQE_REACHED);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .dest_qpn = other->qpn,
			   .len = 9));
	expect_recv(&t, other, 2, 9);
	done(&t);
}

static void keys_of_receives_are_of_the_srqs_domain(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 2); /* the QP is in domain 1 */
	struct pair_mr *wrong = pair_mr_new(t.r.p, 0, LEN, RN_ACCESS_LOCAL_WRITE);

	(void)state;
	post(&t, 1);
	assert_int_equal(pair_post_srq_mr(t.s, 2, wrong, 0, LEN), 0);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .len = 3));
	expect_recv(&t, t.r.q, 1, 3);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101, .len = 3));
	raw_expect_nak(&t.r, 0x63, 101, 1);
	pair_expect_wc(t.r.q->rcq, 2, RN_WC_LOC_PROT_ERR);
	pair_expect_async(t.r.q, RN_EVENT_LAST_WQE_REACHED);
	done(&t);
}

/* ------------------------------------------------------------------- UC and UD */
static void a_lost_uc_message_leaves_its_receive_to_the_next(void **state)
{
	struct srq0 t = make(RN_QPT_UC, 1);

	(void)state;
	post(&t, 2);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST, .psn = 102, .len = 8));
	pair_expect_no_wc(t.r.q->rcq);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 103, .len = 7));
	expect_recv(&t, t.r.q, 1, 7);
	assert_int_equal(waiting(t.s), 1);
	done(&t);
}

static void a_short_receive_completes_and_the_uc_qp_lives_on(void **state)
{
	struct srq0 t = make(RN_QPT_UC, 1);

	(void)state;
	post_len(&t, 8);
	post_len(&t, 1030);
	post(&t, 1);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 100, .len = 9));
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_LOC_LEN_ERR);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 101, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST, .psn = 102, .len = 7));
	pair_expect_wc(t.r.q->rcq, 2, RN_WC_LOC_LEN_ERR);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 103, .len = 9));
	expect_recv(&t, t.r.q, 3, 9);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 104, .len = 9)); /* none left */
	done(&t);
}

static void datagrams_take_shared_receives(void **state)
{
	struct srq0 t = make(RN_QPT_UD, 1);
	struct rn_deth deth = { .qkey = 0x1ee7 };

	(void)state;
	post_len(&t, 48);
	post_len(&t, 48);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .psn = 1, .deth = deth, .len = 9));
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_LOC_LEN_ERR);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .psn = 2, .deth = deth, .len = 8));
	expect_recv(&t, t.r.q, 2, 48);
	rc0_expect_pattern(data(&t, 2) + 40, 2, 8);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .psn = 3, .deth = deth, .len = 8));
	pair_expect_no_wc(t.r.q->rcq);
	assert_int_equal(rn_qp_state(t.r.q->qp), RN_QPS_RTS);
	done(&t);
}

/* ---------------------------------------------------------- posting, resizing */
static void posting_is_judged(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct rn_sge sg[PAIR_SGE_DEFAULT + 1] = { 0 };
	struct rn_recv_wr wr = { .sg = sg, .num_sge = PAIR_SGE_DEFAULT + 1 };

	(void)state;
	assert_int_equal(rn_srq_post_recv(t.s->srq, &wr), -EINVAL);
	post(&t, 8);
	wr.num_sge = 1;
	assert_int_equal(rn_srq_post_recv(t.s->srq, &wr), -ENOMEM);
	assert_int_equal(pair_post_recv(t.r.q, &wr), -EINVAL);
	assert_int_equal(rn_srq_ring_size(RN_WR_MAX + 1, 1), 0);
	assert_int_equal(rn_srq_ring_size(1, RN_SGE_MAX + 1), 0);
	done(&t);
}

static void resize(struct srq0 *t, uint32_t max_wr, int expected)
{
	void *ring = malloc(rn_srq_ring_size(max_wr, PAIR_SGE_DEFAULT)), *old = ring;

	assert_non_null(ring);
	assert_int_equal(rn_srq_resize(t->s->srq, ring, max_wr, &old), expected);
	if (!expected) {
		assert_ptr_equal(old, t->s->ring);
		t->s->ring = ring;
	}
	free(old);
}

static void resizing_keeps_what_waits(void **state)
{
	struct srq0 t = make(RN_QPT_RC, 1);
	struct rn_srq_attr a;

	(void)state;
	post(&t, 8);
	for (uint32_t i = 0; i < 5; i++) {
		raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100 + i, .len = 1));
		expect_recv(&t, t.r.q, i + 1, 1);
	}
	post(&t, 2); /* wraps */
	resize(&t, 4, -EINVAL);
	assert_int_equal(rn_srq_set_limit(t.s->srq, 6), 0);
	resize(&t, 5, -EINVAL);
	assert_int_equal(rn_srq_set_limit(t.s->srq, 0), 0);
	resize(&t, 5, 0);
	rn_srq_query(t.s->srq, &a);
	assert_int_equal(a.max_wr, 5);
	assert_int_equal(a.posted, 5);
	assert_int_equal(pair_post_srq_mr(t.s, 99, t.buf, 0, LEN), -ENOMEM);
	resize(&t, 100, 0);
	post(&t, 95);
	for (uint32_t i = 5; i < 105; i++) {
		raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100 + i, .len = 2));
		expect_recv(&t, t.r.q, i + 1, 2);
	}
	done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_take_shared_receives_in_order),
		cmocka_unit_test(an_empty_srq_is_not_ready),
		cmocka_unit_test(two_qps_interleave_on_one_srq),
		cmocka_unit_test(a_write_takes_its_receive_at_its_end),
		cmocka_unit_test(a_duplicate_takes_nothing),
		cmocka_unit_test(the_limit_is_told_once),
		cmocka_unit_test(a_limit_over_what_waits_fires_at_the_next_take),
		cmocka_unit_test(an_event_of_a_destroyed_srq_never_comes),
		cmocka_unit_test(in_err_only_what_was_taken_is_flushed),
		cmocka_unit_test(reset_tells_nothing_and_keeps_the_rest),
		cmocka_unit_test(a_destroyed_qp_leaves_the_srq_to_the_others),
		cmocka_unit_test(a_short_receive_ends_the_qp_and_not_the_srq),
		cmocka_unit_test(keys_of_receives_are_of_the_srqs_domain),
		cmocka_unit_test(a_lost_uc_message_leaves_its_receive_to_the_next),
		cmocka_unit_test(a_short_receive_completes_and_the_uc_qp_lives_on),
		cmocka_unit_test(datagrams_take_shared_receives),
		cmocka_unit_test(posting_is_judged),
		cmocka_unit_test(resizing_keeps_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
