/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mem_attr.c - what the device tells memory about each access, and when it asks
 * memory before it acknowledges.
 */
#include "tests/kit/device/rc_pair.h"

static const uint32_t cqe_len = sizeof(struct rn_cqe);

static void run(struct rc *r, enum rn_wr_opcode op, uint32_t len)
{
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(r, op, &sge, len);

	assert_int_equal(pair_post_send(r->a, &wr), 0);
	pair_run_until_quiet(r->p);
	pair_expect_wc(r->a->scq, WR_ID, RN_WC_SUCCESS);
}

/* The calls of @dev that are not looked at yet, one after the other. */
struct calls {
	struct arena *arena;
	unsigned next;
};

static void expect(struct calls *c, enum arena_op_kind kind, const struct pair_qp *q,
		   uint32_t len, uint32_t flags, uint32_t msg)
{
	const struct arena_call *call = &c->arena->call[c->next % ARENA_CALLS];

	assert_true(c->next++ < c->arena->call_count);
	assert_int_equal(call->kind, kind);
	assert_int_equal(call->attr.qpn, q->qpn);
	assert_int_equal(call->len, len);
	assert_int_equal(call->attr.flags, flags);
	assert_int_equal(call->attr.msg, msg);
}

static void expect_no_more(const struct calls *c)
{
	assert_int_equal(c->next, c->arena->call_count);
}

static void each_access_names_its_message(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ .mtu_max = 1024, .read_chunk = 1024 });
	struct calls a = { &r.p->arena[0], 0 }, b = { &r.p->arena[1], 0 };

	(void)state;
	assert_int_equal(pair_post_recv_mr(r.b, 1, r.mb, 0, BUF), 0);
	run(&r, RN_WR_RDMA_WRITE, 1500);
	run(&r, RN_WR_RDMA_READ, 1500); /* leaves as two requests: two MSNs, one WR */
	run(&r, RN_WR_SEND, 10);
	run(&r, RN_WR_ATOMIC_FETCH_AND_ADD, 8);

	expect(&a, ARENA_READ, r.a, 1024, 0, 0);
	expect(&a, ARENA_READ, r.a, 476, 0, 0);
	expect(&a, ARENA_WRITE, r.a, cqe_len, RN_MEM_CQE, 0);
	expect(&a, ARENA_WRITE, r.a, 1024, RN_MEM_RESPONSE, 1);
	expect(&a, ARENA_WRITE, r.a, 476, RN_MEM_RESPONSE, 1);
	expect(&a, ARENA_WRITE, r.a, cqe_len, RN_MEM_CQE, 1);
	expect(&a, ARENA_READ, r.a, 10, 0, 2);
	expect(&a, ARENA_WRITE, r.a, cqe_len, RN_MEM_CQE, 2);
	expect(&a, ARENA_WRITE, r.a, 8, RN_MEM_RESPONSE, 3);
	expect(&a, ARENA_WRITE, r.a, cqe_len, RN_MEM_CQE, 3);
	expect_no_more(&a);

	expect(&b, ARENA_WRITE, r.b, 1024, RN_MEM_WRITE, 1);
	expect(&b, ARENA_WRITE, r.b, 476, RN_MEM_WRITE, 1);
	expect(&b, ARENA_READ, r.b, 1024, 0, 2);
	expect(&b, ARENA_READ, r.b, 476, 0, 3);
	expect(&b, ARENA_WRITE, r.b, 10, 0, 4);
	expect(&b, ARENA_WRITE, r.b, cqe_len, RN_MEM_CQE, 4);
	expect(&b, ARENA_ATOMIC, r.b, 8, 0, 5);
	expect_no_more(&b);
	pair_expect_wc(r.b->rcq, 1, RN_WC_SUCCESS);
	pair_free(r.p);
}

static void reads_that_are_late_name_their_message_too(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 1000 });
	struct calls a = { &r.p->arena[0], 0 }, b = { &r.p->arena[1], 0 };

	(void)state;
	run(&r, RN_WR_RDMA_WRITE, 100);
	run(&r, RN_WR_RDMA_READ, 100);
	run(&r, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	expect(&a, ARENA_READ, r.a, 100, 0, 0);
	expect(&b, ARENA_WRITE, r.b, 100, RN_MEM_WRITE, 1);
	expect(&b, ARENA_READ, r.b, 100, 0, 2);
	expect(&b, ARENA_ATOMIC, r.b, 8, 0, 3);
	expect_no_more(&b);
	pair_free(r.p);
}

static void relaxed_regions_are_relaxed_and_their_completions_are_not(void **state)
{
	const uint32_t relaxed = ALL | RN_ACCESS_RELAXED_ORDERING;
	struct rc r = rc_new(&(struct pair_cfg){ 0 });
	struct calls a = { &r.p->arena[0], 0 }, b = { &r.p->arena[1], 0 };

	(void)state;
	r.ma = pair_mr_new(r.p, 0, BUF, relaxed);
	r.mb = pair_mr_new(r.p, 1, BUF, relaxed);
	assert_int_equal(pair_post_recv_mr(r.b, 1, r.mb, 0, BUF), 0);
	run(&r, RN_WR_RDMA_WRITE_WITH_IMM, 10);
	run(&r, RN_WR_RDMA_READ, 10);

	expect(&a, ARENA_READ, r.a, 10, RN_MEM_RELAXED, 0);
	expect(&a, ARENA_WRITE, r.a, cqe_len, RN_MEM_CQE, 0);
	expect(&a, ARENA_WRITE, r.a, 10, RN_MEM_RELAXED | RN_MEM_RESPONSE, 1);
	expect(&a, ARENA_WRITE, r.a, cqe_len, RN_MEM_CQE, 1);
	expect(&b, ARENA_WRITE, r.b, 10, RN_MEM_RELAXED, 1);
	expect(&b, ARENA_WRITE, r.b, cqe_len, RN_MEM_CQE, 1);
	expect(&b, ARENA_READ, r.b, 10, RN_MEM_RELAXED, 2);
	pair_expect_wc(r.b->rcq, 1, RN_WC_SUCCESS);
	pair_free(r.p);
}

static void datagrams_are_counted_as_messages(void **state)
{
	struct pair *p = pair_new(&(struct pair_cfg){ 0 });
	struct pair_qp *a = pair_qp_new(p, 0, RN_QPT_UD),
		       *b = pair_qp_new(p, 1, RN_QPT_UD);
	struct pair_mr *from = pair_mr_new(p, 0, 100, ALL),
		       *to = pair_mr_new(p, 1, 400, ALL);
	struct calls c = { &p->arena[1], 0 };
	struct rn_qp_attr attr;

	(void)state;
	pair_connect(a, b);
	attr = pair_attr(a, 1, b->qpn);
	for (unsigned i = 0; i < 2; i++) {
		struct rn_sge sge = pair_sge(from, 0, 8);
		struct rn_send_wr wr = { .opcode = RN_WR_SEND,
					 .flags = RN_SEND_SIGNALED,
					 .av = &attr.av,
					 .remote_qpn = b->qpn,
					 .remote_qkey = attr.qkey,
					 .sg = &sge,
					 .num_sge = 1 };

		assert_int_equal(pair_post_recv_mr(b, i, to, 100 * i, 100), 0);
		assert_int_equal(pair_post_send(a, &wr), 0);
		pair_run_until_quiet(p);
		expect(&c, ARENA_WRITE, b, RN_GRH_LEN, 0, i + 1);
		expect(&c, ARENA_WRITE, b, 8, 0, i + 1);
		expect(&c, ARENA_WRITE, b, cqe_len, RN_MEM_CQE, i + 1);
	}
	expect_no_more(&c);
	pair_free(p);
}

static void a_receive_that_fails_names_the_message_that_it_failed_in(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ 0 });
	struct calls b = { &r.p->arena[1], 0 };
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_SEND, &sge, 10);

	(void)state;
	assert_int_equal(pair_post_recv_mr(r.b, 1, r.mb, 0, BUF), 0);
	arena_unmap(&r.p->arena[1], r.mb->data);
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.b->rcq, 1, RN_WC_LOC_PROT_ERR);
	expect(&b, ARENA_WRITE, r.b, 10, 0, 1);
	expect(&b, ARENA_WRITE, r.b, cqe_len, RN_MEM_CQE, 1);
	pair_free(r.p);
}

/* ----------------------------------------------------------- acknowledgements */
static struct {
	unsigned calls, writes_seen;
	uint32_t qpn;
} asked;

static void note_ack(void *ctx, uint32_t qpn)
{
	const struct arena *arena = ctx;

	asked.calls++;
	asked.writes_seen = (unsigned)arena->writes;
	asked.qpn = qpn;
}

static void memory_is_asked_before_each_acknowledgement(void **state)
{
	struct rc r =
		rc_new(&(struct pair_cfg){ .mtu_max = 1024, .before_ack = note_ack });

	(void)state;
	memset(&asked, 0, sizeof(asked));
	run(&r, RN_WR_RDMA_WRITE, 3000);
	assert_int_equal(asked.calls, 1); /* not for each packet */
	assert_int_equal(asked.writes_seen, 3);
	assert_int_equal(asked.qpn, r.b->qpn);
	run(&r, RN_WR_RDMA_READ, 3000); /* first and last response acknowledge */
	assert_int_equal(asked.calls, 3);
	run(&r, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	assert_int_equal(asked.calls, 4);
	pair_free(r.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_access_names_its_message),
		cmocka_unit_test(reads_that_are_late_name_their_message_too),
		cmocka_unit_test(
			relaxed_regions_are_relaxed_and_their_completions_are_not),
		cmocka_unit_test(datagrams_are_counted_as_messages),
		cmocka_unit_test(
			a_receive_that_fails_names_the_message_that_it_failed_in),
		cmocka_unit_test(memory_is_asked_before_each_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
