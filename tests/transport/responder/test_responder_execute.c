/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_responder_execute.c - what accepted requests do to memory and receives: parts of
 * groups E and G of tests/rules.md.
 */
#include "rocin/cqe.h"
#include "tests/kit/device/rc0.h"

enum {
	NAK_INV = 0x61,
	NAK_ACC = 0x62,
	NAK_OPERR = 0x63
};

/* -------------------------------------------------------------- RDMA WRITE */
static void a_write_changes_memory_and_nothing_else(void **state)
{
	struct rc0 t = rc0_rts(1);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true,
			   .reth = rc0_reth(&t, 100, 33), .len = 33));
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_nothing(&t);
	rc0_expect_pattern(t.r.mr->data + 100, 100, 33);
	rc0_expect_zeros(t.r.mr->data, 100);
	rc0_expect_zeros(t.r.mr->data + 133, RAW_MR_LEN - 133);
	rc0_free(&t);
}

static void keys_and_bounds_are_checked_before_a_byte_is_written(void **state)
{
	/* What is wrong with the RETH of a good 8 byte write. */
	static const struct {
		uint32_t key_xor;
		int64_t va_add;
		uint32_t dma_len;
	} bad[] = {
		{ 1, 0, 8 },		  /* key byte */
		{ 1u << 20, 0, 8 },	  /* no such index */
		{ 0, RAW_MR_LEN - 7, 8 }, /* one byte past the end */
		{ 0, -1, 8 },		  /* one before the start */
		{ 0, 0, RAW_MR_LEN + 1 }, /* First of a longer one: all of it counts */
		{ 0, 8, RAW_MR_LEN },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(bad); i++) {
		struct rc0 t = rc0_rts(1);
		bool first = bad[i].dma_len > 8;
		struct rn_reth reth = rc0_reth(&t, 0, bad[i].dma_len);

		reth.rkey ^= bad[i].key_xor;
		reth.va += (uint64_t)bad[i].va_add;
		rc0_expect_harmless(
			&t,
			RAW(.op = first ? RN_RC_WRITE_FIRST : RN_RC_WRITE_ONLY,
			    .psn = 100, .reth = reth, .len = first ? 1024 : 8),
			NAK_ACC);
		rc0_free(&t);
	}
}

static void a_range_that_wraps_is_out_of_bounds(void **state)
{
	struct rc0 t = rc0_rts(1);
	struct rn_reth reth = rc0_reth(&t, 0, 8);

	(void)state;
	reth.va = UINT64_MAX - 3;
	rc0_expect_harmless(
		&t, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .reth = reth, .len = 8),
		NAK_ACC);
	rc0_free(&t);
}

static void a_key_of_another_protection_domain_is_refused(void **state)
{
	struct rc0 t = rc0_rts(1);

	(void)state;
	t.r.mr->mr.pd++;
	rc0_expect_harmless(&t,
			    RAW(.op = RN_RC_WRITE_ONLY, .psn = 100,
				.reth = rc0_reth(&t, 0, 8), .len = 8),
			    NAK_ACC);
	rc0_free(&t);
}

static void each_operation_needs_its_right_on_the_region(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t right, len;
	} ops[] = {
		{ RN_RC_WRITE_ONLY, RN_ACCESS_REMOTE_WRITE, 8 },
		{ RN_RC_READ_REQUEST, RN_ACCESS_REMOTE_READ, 0 },
		{ RN_RC_FETCH_ADD, RN_ACCESS_REMOTE_ATOMIC, 0 },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(ops); i++) {
		struct rc0 t = rc0_rts(1);
		struct pair_mr *mr =
			pair_mr_new(t.r.p, 0, 64, RC0_ALL_RIGHTS & ~ops[i].right);

		rc0_expect_harmless(&t,
				    RAW(.op = ops[i].op, .psn = 100,
					.reth = { mr->mr.va, mr->mr.lkey, 8 },
					.atomic = { mr->mr.va, mr->mr.lkey, 1, 0 },
					.len = ops[i].len),
				    NAK_ACC);
		rc0_expect_zeros(mr->data, 64);
		rc0_free(&t);
	}
}

static void no_remote_rights(struct rn_qp_attr *a)
{
	a->access = 0;
}

static void each_operation_needs_its_right_on_the_qp(void **state)
{
	static const uint8_t ops[] = { RN_RC_WRITE_ONLY, RN_RC_READ_REQUEST,
				       RN_RC_CMP_SWAP, RN_RC_FETCH_ADD };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(ops); i++) {
		struct rc0 t = rc0_new(NULL, RN_QPT_RC, RN_QPS_RTS, no_remote_rights);

		rc0_expect_harmless(
			&t,
			RAW(.op = ops[i], .psn = 100, .reth = rc0_reth(&t, 0, 0),
			    .atomic = { t.r.mr->mr.va, t.r.mr->mr.lkey, 1, 0 }),
			NAK_INV);
		rc0_free(&t);
	}
}

static void a_write_of_nothing_is_not_checked(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	raw_expect_ack(&t.r, 100, 1);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_region_that_goes_ends_a_write_in_progress(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 100,
			   .reth = rc0_reth(&t, 0, 3000), .len = 1024));
	pair_mr_remove(t.r.mr);
	raw_send(&t.r, RAW(.op = RN_RC_WRITE_MIDDLE, .psn = 101, .len = 1024));
	rc0_expect_fatal(&t, NAK_ACC, 101, 0, 1);
	pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_expect_pattern(t.r.mr->data, 100, 1024);
	rc0_expect_zeros(t.r.mr->data + 1024, 1024);
	rc0_free(&t);
}

static void remote_memory_that_is_gone_is_an_access_error(void **state)
{
	static const uint8_t ops[] = { RN_RC_WRITE_ONLY, RN_RC_READ_REQUEST,
				       RN_RC_FETCH_ADD };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(ops); i++) {
		struct rc0 t = rc0_rts(1);

		arena_unmap(&t.r.p->arena[0], t.r.mr->data);
		rc0_expect_harmless(
			&t,
			RAW(.op = ops[i], .psn = 100, .reth = rc0_reth(&t, 0, 8),
			    .atomic = { t.r.mr->mr.va, t.r.mr->mr.lkey, 1, 0 },
			    .len = ops[i] == RN_RC_WRITE_ONLY ? 8 : 0),
			NAK_ACC);
		assert_int_equal(rc0_stat(&t, RN_STAT_MEM_FAULT), 1);
		rc0_free(&t);
	}
}

static void a_bad_key_at_the_end_of_a_write_costs_the_receive(void **state)
{
	struct rc0 t = rc0_rts(2);
	struct rn_reth reth = rc0_reth(&t, 0, 8);

	(void)state;
	reth.rkey ^= 1;
	raw_send(&t.r,
		 RAW(.op = RN_RC_WRITE_ONLY_IMM, .psn = 100, .reth = reth, .len = 8));
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_LOC_ACCESS_ERR);
	rc0_expect_fatal(&t, NAK_ACC, 100, 0, 2);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

/* ------------------------------------------------- what receives complete with */
static void unmap_target(struct rc0 *t)
{
	arena_unmap(&t->r.p->arena[0], t->r.mr->data);
}

static void unmap_receive(struct rc0 *t)
{
	arena_unmap(&t->r.p->arena[0], t->recv->data);
}

static void remove_receive(struct rc0 *t)
{
	pair_mr_remove(t->recv);
}

/* The packet at fault, and all that is different from one that passes. */
struct refused_receive {
	const char *what;
	bool goes_on;		      /* a packet of 1024 bytes came before it */
	uint8_t op;		      /* of the packet at fault */
	uint32_t len, recv_len;	      /* payload, receive; bytes */
	uint32_t key_xor, va_add;     /* of the R_Key and the address */
	int32_t dma_add;	      /* to what DMALen should be */
	void (*spoil)(struct rc0 *t); /* before the packet at fault */
	enum rn_wc_status status;
	uint8_t vendor_err, nak;
};

/* clang-format off */
static const struct refused_receive refused[] = {
	{ "a key that opens nothing", false, RN_RC_WRITE_ONLY_IMM, 8, 64, 1, 0, 0, NULL,
	  RN_WC_LOC_ACCESS_ERR, RN_SYN_PEER_ACCESS, NAK_ACC },
	{ "an index without a key", false, RN_RC_WRITE_ONLY_IMM, 8, 64, 1u << 20, 0, 0, NULL,
	  RN_WC_LOC_ACCESS_ERR, RN_SYN_PEER_ACCESS, NAK_ACC },
	{ "past the end of the region", false, RN_RC_WRITE_ONLY_IMM, 8, 64, 0, RAW_MR_LEN - 7,
	  0, NULL, RN_WC_LOC_ACCESS_ERR, RN_SYN_PEER_ACCESS, NAK_ACC },
	{ "memory that is gone", false, RN_RC_WRITE_ONLY_IMM, 8, 64, 0, 0, 0, unmap_target,
	  RN_WC_LOC_ACCESS_ERR, RN_SYN_PEER_ACCESS, NAK_ACC },
	{ "memory that went within a message", true, RN_RC_WRITE_LAST_IMM, 8, 64,
	  0, 0, 0, unmap_target, RN_WC_LOC_ACCESS_ERR, RN_SYN_PEER_ACCESS, NAK_ACC },
	{ "less than was announced", false, RN_RC_WRITE_ONLY_IMM, 8, 64, 0, 0, 1, NULL,
	  RN_WC_REM_INV_REQ_ERR, RN_SYN_PEER_INVALID, NAK_INV },
	{ "more than was announced", false, RN_RC_WRITE_ONLY_IMM, 8, 64, 0, 0, -1, NULL,
	  RN_WC_REM_INV_REQ_ERR, RN_SYN_PEER_INVALID, NAK_INV },
	{ "more than the receive takes", false, RN_RC_SEND_ONLY, 65, 64, 0, 0, 0, NULL,
	  RN_WC_LOC_LEN_ERR, RN_SYN_TOO_LONG, NAK_INV },
	{ "more than is left of the receive", true, RN_RC_SEND_LAST, 65, 1024 + 64,
	  0, 0, 0, NULL, RN_WC_LOC_LEN_ERR, RN_SYN_TOO_LONG, NAK_INV },
	{ "another message within a message", true, RN_RC_SEND_ONLY, 8, 4096, 0, 0,
	  0, NULL, RN_WC_REM_INV_REQ_ERR, RN_SYN_PEER_INVALID, NAK_INV },
	{ "a middle that is too short", true, RN_RC_SEND_MIDDLE, 1020, 4096, 0, 0,
	  0, NULL, RN_WC_REM_INV_REQ_ERR, RN_SYN_PEER_INVALID, NAK_INV },
	{ "a receive that opens nothing", false, RN_RC_SEND_ONLY, 8, 64, 0, 0, 0, remove_receive,
	  RN_WC_LOC_PROT_ERR, RN_SYN_LKEY_UNKNOWN, NAK_OPERR },
	{ "a receive whose memory is gone", false, RN_RC_SEND_ONLY, 8, 64, 0, 0, 0, unmap_receive,
	  RN_WC_LOC_PROT_ERR, RN_SYN_LOCAL_MEMORY, NAK_OPERR },
	{ "... with immediate", false, RN_RC_SEND_ONLY_IMM, 8, 64, 0, 0, 0, unmap_receive,
	  RN_WC_LOC_PROT_ERR, RN_SYN_LOCAL_MEMORY, NAK_OPERR },
};
/* clang-format on */

static void refuse_one(const struct refused_receive *row)
{
	struct rc0 t = rc0_rts(0);
	uint32_t psn = 100, before = row->goes_on ? 1024 : 0;
	bool send = rn_opcode_info[row->op].kind == RN_OP_KIND_SEND;
	struct rn_reth reth =
		rc0_reth(&t, row->va_add, row->len + before + (uint32_t)row->dma_add);
	struct rn_cqe cqe;

	reth.rkey ^= row->key_xor;
	rc0_post_len(&t, row->recv_len);
	rc0_post(&t, 1);
	if (row->goes_on)
		raw_send(&t.r, RAW(.op = send ? RN_RC_SEND_FIRST : RN_RC_WRITE_FIRST,
				   .psn = psn++, .reth = reth, .len = before));
	if (row->spoil)
		row->spoil(&t);
	raw_send(&t.r, RAW(.op = row->op, .psn = psn, .reth = reth, .len = row->len));
	cqe = pair_expect_wc(t.r.q->rcq, 1, row->status);
	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_RECV);
	assert_int_equal(cqe.vendor_err, row->vendor_err);
	rc0_expect_fatal(&t, row->nak, psn, 0, 2);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

/* IBTA Vol 1, 11.6.2: statuses that name the remote end are of the send queue; what a
 * peer's R_Key was refused for is a local access error to the receive. An invalid request
 * has no status of its own there, and completes as rxe does it.
 */
static void each_refusal_has_its_status_at_the_receive(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(refused); i++) {
		print_message("%s\n", refused[i].what);
		refuse_one(&refused[i]);
	}
}

/* ------------------------------------------------------------- receive queue */
static void a_receive_that_opens_nothing_is_our_own_fault(void **state)
{
	for (int gone = 0; gone < 2; gone++) {
		struct rc0 t = rc0_rts(2);

		(void)state;
		if (gone)
			arena_unmap(&t.r.p->arena[0], t.recv->data);
		else
			pair_mr_remove(t.recv);
		raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .len = 8));
		pair_expect_wc(t.r.q->rcq, 1, RN_WC_LOC_PROT_ERR);
		rc0_expect_fatal(&t, NAK_OPERR, 100, 0, 2);
		rc0_expect_nothing(&t);
		assert_int_equal(rc0_stat(&t, RN_STAT_RESP_OP_ERR), 1);
		rc0_free(&t);
	}
}

static void a_receive_of_several_pieces_is_filled_in_order(void **state)
{
	struct rc0 t = rc0_rts(0);
	const struct rn_sge sg[] = {
		pair_sge(t.recv, 0, 1000),
		pair_sge(t.recv, 2000, 0),
		pair_sge(t.recv, 3000, 500),
	};

	(void)state;
	assert_int_equal(pair_post_recv(t.r.q, &(struct rn_recv_wr){ .wr_id = 1,
								     .sg = sg,
								     .num_sge = 3 }),
			 0);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_LAST, .psn = 101, .len = 476));
	rc0_expect_receive(&t, 1, 1500);
	rc0_expect_pattern(t.recv->data, 100, 1000);
	rc0_expect_pattern(t.recv->data + 3000, 100 + 1000, 24);
	rc0_expect_pattern(t.recv->data + 3024, 101, 476);
	rc0_expect_zeros(t.recv->data + 1000, 2000);
	rc0_expect_zeros(t.recv->data + 3500, 500);
	rc0_free(&t);
}

static void immediate_and_solicited_reach_the_completion(void **state)
{
	struct rc0 t = rc0_rts(2);
	struct rn_event ev;
	struct rn_cqe cqe;

	(void)state;
	rn_cq_arm(&t.r.q->rcq->cq, RN_CQ_ARM_SOLICITED);
	raw_send(&t.r,
		 RAW(.op = RN_RC_SEND_ONLY_IMM, .psn = 100, .imm = 0x01020304, .len = 3));
	cqe = rc0_expect_receive(&t, 1, 3);
	assert_int_equal(pair_cqe_flags(&cqe), RN_WC_WITH_IMM);
	assert_int_equal(cqe.imm, 0x01020304);
	rc0_expect_nothing(&t);

	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 101, .solicited = true));
	cqe = rc0_expect_receive(&t, 2, 0);
	assert_int_equal(pair_cqe_flags(&cqe), 0);
	assert_true(pair_next_event(t.r.p, &ev));
	assert_true(ev.completion);
	assert_ptr_equal(ev.cq, &t.r.q->rcq->cq);
	rc0_free(&t);
}

/* --------------------------------------------------------------- invalidate */
static void invalidating_anything_but_a_window_fails_in_silence(void **state)
{
	for (int own_key = 0; own_key < 2; own_key++) {
		struct rc0 t = rc0_rts(2);
		uint32_t key = own_key ? t.r.mr->mr.lkey : 0x12345678;

		(void)state;
		raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY_INV, .psn = 100, .ack_req = true,
				   .ieth = key, .len = 4));
		pair_expect_wc(t.r.q->rcq, 1, RN_WC_REM_INV_REQ_ERR);
		pair_expect_wc(t.r.q->rcq, 2, RN_WC_WR_FLUSH_ERR);
		assert_int_equal(rc0_state(&t), RN_QPS_ERR);
		rc0_expect_nothing(&t);
		assert_true(t.r.mr->mr.valid);
		rc0_free(&t);
	}
}

static void invalidation_happens_at_the_last_packet(void **state)
{
	struct rc0 t = rc0_rts(1);

	(void)state;
	raw_send(&t.r,
		 RAW(.op = RN_RC_SEND_FIRST, .psn = 100, .ack_req = true, .len = 1024));
	raw_expect_ack(&t.r, 100, 0);
	rc0_expect_nothing(&t);
	raw_send(&t.r, RAW(.op = RN_RC_SEND_LAST_INV, .psn = 101, .ack_req = true,
			   .ieth = 1, .len = 4));
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_REM_INV_REQ_ERR);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_changes_memory_and_nothing_else),
		cmocka_unit_test(keys_and_bounds_are_checked_before_a_byte_is_written),
		cmocka_unit_test(a_range_that_wraps_is_out_of_bounds),
		cmocka_unit_test(a_key_of_another_protection_domain_is_refused),
		cmocka_unit_test(each_operation_needs_its_right_on_the_region),
		cmocka_unit_test(each_operation_needs_its_right_on_the_qp),
		cmocka_unit_test(a_write_of_nothing_is_not_checked),
		cmocka_unit_test(a_region_that_goes_ends_a_write_in_progress),
		cmocka_unit_test(remote_memory_that_is_gone_is_an_access_error),
		cmocka_unit_test(a_bad_key_at_the_end_of_a_write_costs_the_receive),
		cmocka_unit_test(each_refusal_has_its_status_at_the_receive),
		cmocka_unit_test(a_receive_that_opens_nothing_is_our_own_fault),
		cmocka_unit_test(a_receive_of_several_pieces_is_filled_in_order),
		cmocka_unit_test(immediate_and_solicited_reach_the_completion),
		cmocka_unit_test(invalidating_anything_but_a_window_fails_in_silence),
		cmocka_unit_test(invalidation_happens_at_the_last_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
