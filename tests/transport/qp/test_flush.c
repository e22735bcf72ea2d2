/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_flush.c - FLUSH at both ends: E25 of tests/rules.md, IBTA A19. */
#include <errno.h>

#include "tests/kit/device/rc0.h"
#include "tests/kit/device/req_kit.h"

enum {
	LEN = 4096,
	NAK_SEQ = 0x60,
	NAK_INV = 0x61,
	NAK_ACC = 0x62,
	GLOBAL = RN_FLUSH_GLOBAL,
	PERSISTENT = RN_FLUSH_PERSISTENT,
	BOTH = GLOBAL | PERSISTENT,
	ACCESS_GLOBAL = RN_ACCESS_FLUSH_GLOBAL,
	ACCESS_PERSISTENT = RN_ACCESS_FLUSH_PERSISTENT,
	ACCESS_BOTH = ACCESS_GLOBAL | ACCESS_PERSISTENT,
};

struct flush {
	struct rc0 t;
	struct pair_mr *mr;
};

static struct flush flush_new(const struct pair_cfg *cfg, uint32_t access,
			      void (*change)(struct rn_qp_attr *))
{
	struct flush f = { .t = rc0_new(cfg, RN_QPT_RC, RN_QPS_RTS, change) };

	f.mr = pair_mr_new(f.t.r.p, 0, LEN,
			   RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | access);
	return f;
}

static void send_flush(struct flush *f, uint32_t psn, struct rn_feth feth,
		       uint32_t offset, uint32_t len)
{
	raw_send(&f->t.r, RAW(.op = RN_RC_FLUSH, .psn = psn, .feth = feth,
			      .reth = { .va = f->mr->mr.va + offset,
					.rkey = f->mr->mr.lkey,
					.dma_len = len }));
}

static void expect_answer(struct flush *f, uint32_t psn, uint32_t msn)
{
	const struct raw_packet *k = raw_expect(&f->t.r, RN_RC_READ_RESPONSE_ONLY, psn);

	assert_int_equal(k->len, 0);
	assert_int_equal(k->aeth.syndrome, 0x1f);
	assert_int_equal(k->aeth.msn, msn);
}

/* ---------------------------------------------------------------- responder */
static void only_global(struct rn_qp_attr *attr)
{
	attr->access &= ~RN_ACCESS_FLUSH_PERSISTENT;
}

static void no_resource(struct rn_qp_attr *attr)
{
	attr->max_dest_rd_atomic = 0;
}

static void what_may_be_flushed_is_answered(void **state)
{
	static const struct {
		const char *what;
		void (*change)(struct rn_qp_attr *);
		uint32_t access;
		struct rn_feth feth;
		uint32_t offset, len;
		uint8_t syndrome; /* 0: answered */
	} cases[] = {
		{ "global", NULL, ACCESS_GLOBAL, { GLOBAL, 0 }, 0, LEN, 0 },
		{ "persistent", NULL, ACCESS_PERSISTENT, { PERSISTENT, 0 }, 0, LEN, 0 },
		{ "both", NULL, ACCESS_BOTH, { BOTH, 0 }, 8, 8, 0 },
		{ "whole region", NULL, ACCESS_GLOBAL, { GLOBAL, 1 }, 0, 0, 0 },
		{ "whole, odd range", NULL, ACCESS_GLOBAL, { GLOBAL, 1 }, 9000, 1, 0 },
		{ "0 bytes", NULL, ACCESS_GLOBAL, { GLOBAL, 0 }, 100, 0, 0 },
		{ "0 bytes outside",
		  NULL,
		  ACCESS_GLOBAL,
		  { GLOBAL, 0 },
		  9000,
		  0,
		  NAK_ACC },
		{ "one too many", NULL, ACCESS_GLOBAL, { GLOBAL, 0 }, 1, LEN, NAK_ACC },
		{ "4 GiB - 1", NULL, ACCESS_GLOBAL, { GLOBAL, 0 }, 0, ~0u, NAK_ACC },
		{ "no right", NULL, 0, { GLOBAL, 0 }, 0, LEN, NAK_ACC },
		{ "other right",
		  NULL,
		  ACCESS_GLOBAL,
		  { PERSISTENT, 0 },
		  0,
		  LEN,
		  NAK_ACC },
		{ "one right of two", NULL, ACCESS_GLOBAL, { BOTH, 0 }, 0, LEN, NAK_ACC },
		{ "QP: other right",
		  only_global,
		  ACCESS_BOTH,
		  { BOTH, 0 },
		  0,
		  LEN,
		  NAK_INV },
		{ "no placement", NULL, ACCESS_BOTH, { 0, 0 }, 0, LEN, NAK_INV },
		{ "reserved placement",
		  NULL,
		  ACCESS_BOTH,
		  { 4 | GLOBAL, 0 },
		  0,
		  LEN,
		  NAK_INV },
		{ "reserved selectivity",
		  NULL,
		  ACCESS_BOTH,
		  { GLOBAL, 2 },
		  0,
		  LEN,
		  NAK_INV },
		{ "no resource",
		  no_resource,
		  ACCESS_BOTH,
		  { GLOBAL, 0 },
		  0,
		  LEN,
		  NAK_INV },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct flush f = flush_new(NULL, cases[i].access, cases[i].change);

		print_message("%s\n", cases[i].what);
		send_flush(&f, 100, cases[i].feth, cases[i].offset, cases[i].len);
		if (cases[i].syndrome)
			rc0_expect_fatal(&f.t, cases[i].syndrome, 100, 0, 1);
		else
			expect_answer(&f, 100, 1);
		raw_expect_silence(&f.t.r);
		rc0_free(&f.t);
	}
}

static void a_duplicate_is_answered_again(void **state)
{
	struct flush f = flush_new(NULL, ACCESS_GLOBAL, NULL);
	const struct rn_feth feth = { GLOBAL, RN_FLUSH_RANGE };

	(void)state;
	send_flush(&f, 100, feth, 0, 8);
	expect_answer(&f, 100, 1);
	send_flush(&f, 101, feth, 0, 8);
	expect_answer(&f, 101, 2);
	send_flush(&f, 100, feth, 0, 8);
	expect_answer(&f, 100, 1);
	rc0_free(&f.t);
}

static const struct arena_call *last_call(const struct flush *f)
{
	const struct arena *a = &f->t.r.p->arena[0];

	return &a->call[(a->call_count - 1) % ARENA_CALLS];
}

/* The read comes behind the writes, on the way to the same memory. */
static void memory_is_read_before_the_answer_where_it_is_slow(void **state)
{
	const struct pair_cfg cfg = { .mtu_max = 1024, .mem_delay = 1000 };
	struct flush f =
		flush_new(&cfg, ACCESS_GLOBAL | RN_ACCESS_RELAXED_ORDERING, NULL);
	uint64_t reads = f.t.r.p->arena[0].reads;

	(void)state;
	raw_send(&f.t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .len = 8,
			     .reth = { f.mr->mr.va, f.mr->mr.lkey, 8 }));
	send_flush(&f, 101, (struct rn_feth){ GLOBAL, RN_FLUSH_RANGE }, 0, 8);
	raw_expect_silence(&f.t.r);
	assert_int_equal(f.t.r.p->arena[0].reads, reads + 1);
	assert_int_equal(last_call(&f)->kind, ARENA_READ);
	assert_int_equal(last_call(&f)->addr, f.mr->mr.iova_base);
	assert_int_equal(last_call(&f)->attr.flags, RN_MEM_PUSH);
	pair_run_wire(f.t.r.p);
	expect_answer(&f, 101, 2);

	send_flush(&f, 102, (struct rn_feth){ GLOBAL, RN_FLUSH_MR }, 999, 0);
	assert_int_equal(f.t.r.p->arena[0].reads, reads + 2);
	pair_run_wire(f.t.r.p);
	expect_answer(&f, 102, 3);

	/* A duplicate has been flushed; 0 bytes have nothing to be. */
	send_flush(&f, 102, (struct rn_feth){ GLOBAL, RN_FLUSH_MR }, 999, 0);
	expect_answer(&f, 102, 3);
	send_flush(&f, 103, (struct rn_feth){ GLOBAL, RN_FLUSH_RANGE }, 0, 0);
	expect_answer(&f, 103, 4);
	assert_int_equal(f.t.r.p->arena[0].reads, reads + 2);
	rc0_free(&f.t);
}

static void an_atomic_write_behind_a_flush_waits_for_it(void **state)
{
	const struct pair_cfg cfg = { .mtu_max = 1024, .mem_delay = 1000 };
	struct flush f = flush_new(&cfg, ACCESS_GLOBAL, NULL);

	(void)state;
	send_flush(&f, 100, (struct rn_feth){ GLOBAL, RN_FLUSH_RANGE }, 0, 8);
	raw_send(&f.t.r, RAW(.op = RN_RC_ATOMIC_WRITE, .psn = 101, .len = 8,
			     .reth = { f.mr->mr.va, f.mr->mr.lkey, 8 }));
	assert_int_equal(f.mr->data[1], 0);
	pair_run_wire(f.t.r.p);
	assert_int_equal(f.mr->data[1], 102);
	expect_answer(&f, 100, 1);
	expect_answer(&f, 101, 2);
	rc0_free(&f.t);
}

static void a_region_that_goes_meanwhile_is_an_access_error(void **state)
{
	const struct pair_cfg cfg = { .mtu_max = 1024, .mem_delay = 1000 };
	struct flush f = flush_new(&cfg, ACCESS_GLOBAL, NULL);

	(void)state;
	arena_unmap(&f.t.r.p->arena[0], f.mr->data);
	send_flush(&f, 100, (struct rn_feth){ GLOBAL, RN_FLUSH_RANGE }, 0, 8);
	pair_run_wire(f.t.r.p);
	raw_expect_nak(&f.t.r, NAK_ACC, 100, 0);
	pair_expect_async(f.t.r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_free(&f.t);
}

/* ---------------------------------------------------------------- requester */
static struct rn_send_wr flush_wr(uint64_t wr_id, uint8_t placement, uint8_t selectivity)
{
	return (struct rn_send_wr){ .wr_id = wr_id,
				    .opcode = RN_WR_FLUSH,
				    .flags = RN_SEND_SIGNALED,
				    .remote_addr = REMOTE_VA,
				    .rkey = REMOTE_RKEY,
				    .flush_length = 5000,
				    .flush_placement = placement,
				    .flush_selectivity = selectivity };
}

static void expect_request(struct raw *r, uint32_t psn, uint8_t placement,
			   uint8_t selectivity)
{
	const struct raw_packet *k = raw_expect(r, RN_RC_FLUSH, psn);

	assert_true(k->ack_req);
	assert_int_equal(k->len, 0);
	assert_int_equal(k->feth.placement, placement);
	assert_int_equal(k->feth.selectivity, selectivity);
	assert_int_equal(k->reth.va, REMOTE_VA);
	assert_int_equal(k->reth.rkey, REMOTE_RKEY);
	assert_int_equal(k->reth.dma_len, 5000);
}

/* 5000 bytes are named; nothing of them travels, and the request is one packet. */
static void a_flush_takes_one_psn_and_waits_for_its_answer(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_send_wr wr = flush_wr(2, BOTH, RN_FLUSH_MR);
	struct rn_cqe cqe;

	(void)state;
	post(&r, 1, RN_WR_RDMA_WRITE, 8);
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	post(&r, 3, RN_WR_RDMA_WRITE, 8);
	raw_expect(&r, RN_RC_WRITE_ONLY, 200);
	expect_request(&r, 201, BOTH, RN_FLUSH_MR);
	raw_expect(&r, RN_RC_WRITE_ONLY, 202); /* need not wait */
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 201, 0);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	cqe = pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_FLUSH);
	pair_expect_no_wc(r.q->scq);
	raw_ack(&r, 202, 3);
	pair_expect_wc(r.q->scq, 3, RN_WC_SUCCESS);
	req_free(&r);
}

static void a_lost_answer_makes_it_ask_again(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_send_wr wr = flush_wr(2, GLOBAL, RN_FLUSH_RANGE);

	(void)state;
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	expect_request(&r, 200, GLOBAL, RN_FLUSH_RANGE);
	pair_run_for(r.p, 3 * ACK_TIMEOUT / 2);
	expect_request(&r, 200, GLOBAL, RN_FLUSH_RANGE);
	raw_nak(&r, NAK_SEQ, 200, 0);
	expect_request(&r, 200, GLOBAL, RN_FLUSH_RANGE);
	raw_nak(&r, NAK_ACC, 200, 0);
	pair_expect_wc(r.q->scq, 2, RN_WC_REM_ACCESS_ERR);
	req_free(&r);
}

static void what_is_no_flush_is_not_posted(void **state)
{
	struct raw r = req_new(NULL);
	static const struct rn_feth bad[] = { { 0, 0 }, { 4, 0 }, { GLOBAL, 2 } };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(bad); i++) {
		struct rn_send_wr wr = flush_wr(1, bad[i].placement, bad[i].selectivity);

		assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	}
	raw_expect_silence(&r);
	req_free(&r);
}

/* ---------------------------------------------------------------- both ends */
/* WRITE, FLUSH, ATOMIC WRITE of the round, over a wire that loses and duplicates. */
static void rounds_survive_a_bad_wire(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct pair *p = pair_new(&(struct pair_cfg){
			.mtu_max = 1024, .mem_delay = seed & 1 ? 2000 : 0 });
		struct pair_qp *a = pair_qp_new(p, 0, RN_QPT_RC);
		struct pair_qp *b = pair_qp_new(p, 1, RN_QPT_RC);
		struct pair_mr *ma = pair_mr_new(p, 0, LEN, RN_ACCESS_LOCAL_WRITE);
		struct pair_mr *mb = pair_mr_new(
			p, 1, LEN,
			RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | ACCESS_GLOBAL);

		pair_connect(a, b);
		pair_set_faults(p, &(struct pair_faults){ .seed = seed,
							  .loss = 1500,
							  .duplicate = 1000,
							  .reorder = 1000 });
		for (uint64_t round = 1; round <= 15; round++) {
			struct rn_sge sge = pair_sge(ma, 0, 2000);
			struct rn_send_wr wr = { .wr_id = 3 * round,
						 .opcode = RN_WR_RDMA_WRITE,
						 .flags = RN_SEND_SIGNALED,
						 .remote_addr = mb->mr.va,
						 .rkey = mb->mr.lkey,
						 .sg = &sge,
						 .num_sge = 1 };

			assert_int_equal(pair_post_send(a, &wr), 0);
			wr.wr_id++;
			wr.opcode = RN_WR_FLUSH;
			wr.flush_length = 2000;
			wr.flush_placement = GLOBAL;
			assert_int_equal(pair_post_send(a, &wr), 0);
			wr.wr_id++;
			wr.opcode = RN_WR_ATOMIC_WRITE;
			wr.flags |= RN_SEND_INLINE;
			wr.remote_addr += 4088;
			sge = (struct rn_sge){ .addr = (uintptr_t)&round, .len = 8 };
			assert_int_equal(pair_post_send(a, &wr), 0);
		}
		pair_run_until_quiet(p);
		for (uint64_t i = 3; i < 48; i++)
			pair_expect_wc(a->scq, i, RN_WC_SUCCESS);
		assert_int_equal(mb->data[4088], 15);
		pair_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_flushed_is_answered),
		cmocka_unit_test(a_duplicate_is_answered_again),
		cmocka_unit_test(memory_is_read_before_the_answer_where_it_is_slow),
		cmocka_unit_test(an_atomic_write_behind_a_flush_waits_for_it),
		cmocka_unit_test(a_region_that_goes_meanwhile_is_an_access_error),
		cmocka_unit_test(a_flush_takes_one_psn_and_waits_for_its_answer),
		cmocka_unit_test(a_lost_answer_makes_it_ask_again),
		cmocka_unit_test(what_is_no_flush_is_not_posted),
		cmocka_unit_test(rounds_survive_a_bad_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
