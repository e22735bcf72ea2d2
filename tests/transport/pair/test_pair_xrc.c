/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_pair_xrc.c - XRC end to end. */
#include "rocin/srq.h"
#include "tests/kit/device/pair.h"

enum {
	DOMAIN = 5,
	BUF = 6 * 1024,
	ALL = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
	      RN_ACCESS_REMOTE_ATOMIC | RN_ACCESS_FLUSH_GLOBAL,
};

struct xrc {
	struct pair *p;
	struct pair_qp *a, *b;
	struct pair_srq *s[2];
	struct pair_mr *ma, *mb[2];
	uint32_t skip;	   /* bytes before what WRITEs and READs reach */
	unsigned requests; /* seen on the wire, each with the number of an SRQ */
};

static struct pair_fate look(void *ctx, const struct pair_packet *pkt)
{
	struct xrc *x = ctx;
	const struct rn_opcode_info *op = &rn_opcode_info[pkt->data[0]];

	assert_int_equal(rn_opcode_class(pkt->data[0]), RN_CLASS_XRC);
	assert_int_equal((op->flags & RN_OP_REQUEST) != 0, pkt->from == 0);
	if (op->flags & RN_OP_REQUEST) {
		uint32_t srqn = rn_get_be32(pkt->data + RN_BTH_LEN);

		assert_true(srqn == x->s[0]->srqn || srqn == x->s[1]->srqn);
		x->requests++;
	}
	return (struct pair_fate){ .copies = 1 };
}

static void allow_flush(struct rn_qp_attr *attr)
{
	attr->access |= RN_ACCESS_FLUSH_GLOBAL;
}

static struct xrc xrc_new(const struct pair_cfg *cfg)
{
	const struct rn_qp_init tgt = { .type = RN_QPT_XRC_RECV, .xrcd = DOMAIN };
	struct xrc x = { .p = pair_new(cfg) };

	x.a = pair_qp_new(x.p, 0, RN_QPT_XRC_SEND);
	x.b = pair_qp_new_with(x.p, 1, &tgt);
	x.ma = pair_mr_new(x.p, 0, BUF, ALL);
	for (uint32_t i = 0; i < 2; i++) {
		const struct rn_srq_init init = { .pd = 3 + i,
						  .max_wr = 64,
						  .xrcd = DOMAIN };

		x.s[i] = pair_srq_new_with(x.p, 1, &init);
		x.mb[i] = pair_mr_new_in(x.p, 1, 3 + i, BUF, ALL);
	}
	pair_connect_with(x.a, x.b, allow_flush);
	return x;
}

static void fill(struct pair_mr *m, unsigned salt)
{
	for (uint32_t i = 0; i < m->len; i++)
		m->data[i] = (uint8_t)(i * 7 + (i >> 8) + salt);
}

static int post_op(struct xrc *x, enum rn_wr_opcode op, uint32_t len, unsigned to)
{
	struct rn_sge sge = pair_sge(x->ma, 0, len);
	const struct rn_send_wr wr = {
		.wr_id = len,
		.opcode = op,
		.flags = RN_SEND_SIGNALED,
		.imm = len,
		.remote_addr = x->mb[to]->mr.va +
			       (op == RN_WR_ATOMIC_FETCH_AND_ADD ? 0 : x->skip),
		.rkey = x->mb[to]->mr.lkey,
		.compare_add = 3,
		.flush_length = len,
		.flush_placement = RN_FLUSH_GLOBAL,
		.flush_selectivity = RN_FLUSH_RANGE,
		.remote_srqn = x->s[to]->srqn,
		.sg = &sge,
		.num_sge = op == RN_WR_FLUSH ? 0 : 1,
	};

	return pair_post_send(x->a, &wr);
}

static bool takes(enum rn_wr_opcode op)
{
	return op == RN_WR_SEND || op == RN_WR_SEND_WITH_IMM ||
	       op == RN_WR_RDMA_WRITE_WITH_IMM;
}

static void one_op(struct xrc *x, enum rn_wr_opcode op, uint32_t len, unsigned to)
{
	bool reads = op == RN_WR_RDMA_READ;
	struct rn_cqe e;

	fill(x->ma, len);
	fill(x->mb[to], len + 1);
	if (takes(op))
		assert_int_equal(pair_post_srq_mr(x->s[to], len, x->mb[to], 0, BUF), 0);
	assert_int_equal(post_op(x, op, len, to), 0);
	pair_run_until_quiet(x->p);
	pair_expect_wc(x->a->scq, len, RN_WC_SUCCESS);
	if (takes(op)) {
		e = pair_expect_wc(x->s[to]->cq, len, RN_WC_SUCCESS);
		assert_int_equal(e.byte_len, len);
		assert_int_equal(e.qpn, x->b->qpn);
	}
	pair_expect_no_wc(x->s[!to]->cq);
	if (op == RN_WR_ATOMIC_FETCH_AND_ADD || op == RN_WR_FLUSH)
		return;
	assert_memory_equal(x->ma->data, x->mb[to]->data, len);
	assert_int_equal(x->ma->data[0], (uint8_t)(reads && len ? len + 1 : len));
}

static void every_op_and_size(const struct pair_cfg *cfg, bool see)
{
	static const enum rn_wr_opcode ops[] = { RN_WR_SEND, RN_WR_SEND_WITH_IMM,
						 RN_WR_RDMA_WRITE,
						 RN_WR_RDMA_WRITE_WITH_IMM,
						 RN_WR_RDMA_READ };
	static const uint32_t sizes[] = { 0, 1, 7, 1023, 1024, 1025, 3000, 5120 };
	struct xrc x = xrc_new(cfg);

	if (see)
		pair_set_hook(x.p, look, &x);
	for (unsigned o = 0; o < RN_ARRAY_SIZE(ops); o++)
		for (unsigned s = 0; s < RN_ARRAY_SIZE(sizes); s++)
			one_op(&x, ops[o], sizes[s], s % 2);
	for (unsigned to = 0; to < 2; to++) {
		one_op(&x, RN_WR_ATOMIC_FETCH_AND_ADD, 8, to);
		one_op(&x, RN_WR_ATOMIC_WRITE, 8, to);
		one_op(&x, RN_WR_FLUSH, 100, to);
	}
	assert_true(!see || x.requests > 60);
	pair_free(x.p);
}

static void data_arrives_by_every_operation(void **state)
{
	(void)state;
	every_op_and_size(&(struct pair_cfg){ .mtu_max = 1024 }, true);
}

static void data_arrives_with_slow_memory(void **state)
{
	(void)state;
	every_op_and_size(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = RN_USEC(20) },
			  true);
}

/* Random operations on a bad wire complete once and in order. */
static void a_bad_wire_changes_nothing(void **state)
{
	static const enum rn_wr_opcode ops[] = { RN_WR_SEND, RN_WR_RDMA_WRITE_WITH_IMM,
						 RN_WR_RDMA_READ, RN_WR_FLUSH,
						 RN_WR_ATOMIC_FETCH_AND_ADD };
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct xrc x = xrc_new(&(struct pair_cfg){ .mtu_max = 256 });
		uint64_t rnd = seed, adds = 0, sum;
		unsigned expected[2] = { 0 };

		x.skip = 8;
		memset(x.mb[0]->data, 0, BUF);
		pair_set_faults(x.p, &(struct pair_faults){ .seed = seed,
							    .loss = 500,
							    .duplicate = 300,
							    .reorder = 300,
							    .corrupt = 100 });
		for (unsigned i = 0; i < 40; i++) {
			enum rn_wr_opcode op =
				ops[test_random(&rnd) % RN_ARRAY_SIZE(ops)];
			unsigned to = test_random(&rnd) % 2;
			uint32_t len = (uint32_t)(test_random(&rnd) % 2000);

			if (op == RN_WR_ATOMIC_FETCH_AND_ADD) {
				to = 0;
				len = 8;
				adds++;
			}
			expected[to] += takes(op);
			if (takes(op) && i % 3) /* the others have to wait */
				assert_int_equal(pair_post_srq_mr(x.s[to], 0, x.mb[to], 8,
								  BUF - 8),
						 0);
			assert_int_equal(post_op(&x, op, len, to), 0);
		}
		pair_run_for(x.p, RN_MSEC(5));
		for (unsigned to = 0; to < 2; to++)
			for (unsigned i = 0; i < 20; i++)
				assert_int_equal(pair_post_srq_mr(x.s[to], 0, x.mb[to], 8,
								  BUF - 8),
						 0);
		pair_run_until_quiet(x.p);
		for (unsigned i = 0; i < 40; i++) {
			struct rn_cqe e;

			assert_true(pair_poll(x.a->scq, &e));
			assert_int_equal(pair_cqe_status(&e), RN_WC_SUCCESS);
		}
		for (unsigned to = 0; to < 2; to++) {
			while (expected[to]--)
				pair_expect_wc(x.s[to]->cq, 0, RN_WC_SUCCESS);
			pair_expect_no_wc(x.s[to]->cq);
		}
		memcpy(&sum, x.mb[0]->data, sizeof(sum));
		assert_int_equal(sum, 3 * adds);
		pair_free(x.p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_arrives_by_every_operation),
		cmocka_unit_test(data_arrives_with_slow_memory),
		cmocka_unit_test(a_bad_wire_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
