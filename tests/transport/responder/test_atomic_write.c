/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_atomic_write.c - ATOMIC WRITE at both ends: E24 of tests/rules.md, IBTA A19. */
#include <errno.h>

#include "tests/kit/device/rc0.h"
#include "tests/kit/device/req_kit.h"

enum {
	NAK_INV = 0x61,
	NAK_ACC = 0x62,
	NAK_SEQ = 0x60,
};

static const uint8_t word[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

#define AWRITE(t, psn_, offset, ...)                                                     \
	RAW(.op = RN_RC_ATOMIC_WRITE, .psn = (psn_), .reth = rc0_reth((t), (offset), 8), \
	    .payload = word, .len = 8, ##__VA_ARGS__)

static void expect_answer(struct rc0 *t, uint32_t psn, uint32_t msn)
{
	const struct raw_packet *k = raw_expect(&t->r, RN_RC_READ_RESPONSE_ONLY, psn);

	assert_int_equal(k->len, 0);
	assert_int_equal(k->aeth.syndrome, 0x1f);
	assert_int_equal(k->aeth.msn, msn);
}

/* ---------------------------------------------------------------- responder */
static void atomic_write_stores_a_word_and_is_answered(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, AWRITE(&t, 100, 64));
	assert_memory_equal(t.r.mr->data + 64, word, 8);
	expect_answer(&t, 100, 1);
	raw_expect_silence(&t.r);
	raw_send(&t.r, AWRITE(&t, 101, 72));
	expect_answer(&t, 101, 2);
	rc0_free(&t);
}

static void no_remote_write(struct rn_qp_attr *attr)
{
	attr->access &= ~RN_ACCESS_REMOTE_WRITE;
}

static void no_resource(struct rn_qp_attr *attr)
{
	attr->max_dest_rd_atomic = 0;
}

static void only_whole_aligned_words_are_written(void **state)
{
	static const struct {
		const char *what;
		void (*change)(struct rn_qp_attr *);
		uint32_t offset, dma_len, payload_len, region_access, key_flip, shift;
		uint8_t syndrome;
	} cases[] = {
		{ "misaligned", NULL, 4, 8, 8, 0xf, 0, 0, NAK_INV },
		{ "misaligned memory", NULL, 0, 8, 8, 0xf, 0, 4, NAK_INV },
		{ "misaligned address", NULL, 4, 8, 8, 0xf, 0, 4, NAK_INV },
		{ "4 announced", NULL, 0, 4, 8, 0xf, 0, 0, NAK_INV },
		{ "16 announced", NULL, 0, 16, 8, 0xf, 0, 0, NAK_INV },
		{ "none announced", NULL, 0, 0, 8, 0xf, 0, 0, NAK_INV },
		{ "4 sent", NULL, 0, 8, 4, 0xf, 0, 0, NAK_INV },
		{ "16 sent", NULL, 0, 8, 16, 0xf, 0, 0, NAK_INV },
		{ "none sent", NULL, 0, 8, 0, 0xf, 0, 0, NAK_INV },
		{ "read only", NULL, 0, 8, 8, 0xc | 1, 0, 0, NAK_ACC },
		{ "wrong key", NULL, 0, 8, 8, 0xf, 1, 0, NAK_ACC },
		{ "past the end", NULL, RAW_MR_LEN, 8, 8, 0xf, 0, 0, NAK_ACC },
		{ "not allowed", no_remote_write, 0, 8, 8, 0xf, 0, 0, NAK_INV },
		{ "no resource", no_resource, 0, 8, 8, 0xf, 0, 0, NAK_INV },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct rc0 t = rc0_new(NULL, RN_QPT_RC, RN_QPS_RTS, cases[i].change);
		struct rn_reth reth = rc0_reth(&t, cases[i].offset, cases[i].dma_len);

		print_message("%s\n", cases[i].what);
		t.r.mr->mr.access = cases[i].region_access;
		t.r.mr->mr.iova_base += cases[i].shift;
		reth.rkey ^= cases[i].key_flip;
		raw_send(&t.r, RAW(.op = RN_RC_ATOMIC_WRITE, .psn = 100, .reth = reth,
				   .len = cases[i].payload_len));
		rc0_expect_fatal(&t, cases[i].syndrome, 100, 0, 1);
		for (uint32_t b = 0; b < RAW_MR_LEN; b++)
			assert_int_equal(t.r.mr->data[b], 0);
		rc0_free(&t);
	}
}

static void a_duplicate_is_answered_and_not_written_again(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	raw_send(&t.r, AWRITE(&t, 100, 64));
	expect_answer(&t, 100, 1);
	memset(t.r.mr->data, 0, 128);
	raw_send(&t.r, AWRITE(&t, 100, 64));
	expect_answer(&t, 100, 1);
	assert_int_equal(t.r.mr->data[64], 0);
	raw_send(&t.r, AWRITE(&t, 100, 72)); /* not the same request */
	raw_expect_silence(&t.r);
	raw_send(&t.r, AWRITE(&t, 101, 72));
	expect_answer(&t, 101, 2);
	rc0_free(&t);
}

static void it_takes_a_resource(void **state)
{
	struct rc0 t = rc0_rts(0);

	(void)state;
	rc0_freeze(&t);
	raw_send(&t.r, AWRITE(&t, 100, 0));
	raw_send(&t.r, AWRITE(&t, 101, 8));
	raw_send(&t.r, AWRITE(&t, 102, 16));
	rc0_thaw(&t);
	expect_answer(&t, 100, 1);
	expect_answer(&t, 101, 2);
	raw_expect_nak(&t.r, NAK_INV, 102, 2);
	rc0_free(&t);
}

static void it_waits_for_earlier_reads_where_memory_is_slow(void **state)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 1000 },
			       RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	for (uint32_t round = 0; round < 20; round++) {
		uint32_t psn = 100 + 4 * round;
		uint8_t bytes[8] = { 0 };

		bytes[0] = (uint8_t)(round + 1);
		rc0_read(&t, psn, 0, 3000);
		raw_send(&t.r,
			 RAW(.op = RN_RC_ATOMIC_WRITE, .psn = psn + 3,
			     .reth = rc0_reth(&t, 2992, 8), .payload = bytes, .len = 8));
		pair_run_wire(t.r.p);
		raw_expect(&t.r, RN_RC_READ_RESPONSE_FIRST, psn);
		raw_expect(&t.r, RN_RC_READ_RESPONSE_MIDDLE, psn + 1);
		assert_int_equal(raw_expect(&t.r, RN_RC_READ_RESPONSE_LAST, psn + 2)
					 ->payload[2992 - 2048],
				 round);
		expect_answer(&t, psn + 3, 2 * round + 2);
		assert_int_equal(t.r.mr->data[2992], round + 1);
	}
	rc0_free(&t);
}

/* A SEND that says "the word is there" does not overtake it. */
static void a_send_behind_it_finds_it_written(void **state)
{
	struct rc0 t = rc0_rts(1);

	(void)state;
	rc0_freeze(&t);
	rc0_read(&t, 100, 0, 3000);
	raw_send(&t.r, AWRITE(&t, 103, 4096));
	raw_send(&t.r, RAW(.op = RN_RC_SEND_ONLY, .psn = 104, .ack_req = true));
	rc0_expect_receive(&t, 1, 0);
	assert_memory_equal(t.r.mr->data + 4096, word, 8);
	rc0_thaw(&t);
	rc0_free(&t);
}

/* It is one store, and no relaxed one, whatever the region says. */
static void the_store_is_strict(void **state)
{
	struct rc0 t = rc0_rts(0);
	const struct arena *a = &t.r.p->arena[0];
	const struct arena_call *call;

	(void)state;
	t.r.mr->mr.access |= RN_ACCESS_RELAXED_ORDERING;
	raw_send(&t.r, AWRITE(&t, 100, 64));
	call = &a->call[(a->call_count - 1) % ARENA_CALLS];
	assert_int_equal(call->kind, ARENA_WRITE);
	assert_int_equal(call->len, 8);
	assert_int_equal(call->attr.flags, RN_MEM_PUSH);
	rc0_free(&t);
}

/* ---------------------------------------------------------------- requester */
static void post_awrite(struct raw *r, uint64_t wr_id, uint32_t flags)
{
	post_flags(r, wr_id, RN_WR_ATOMIC_WRITE, 8, RN_SEND_SIGNALED | flags);
}

static void expect_request(struct raw *r, uint32_t psn)
{
	const struct raw_packet *k = raw_expect(r, RN_RC_ATOMIC_WRITE, psn);

	assert_true(k->ack_req);
	assert_int_equal(k->reth.va, REMOTE_VA);
	assert_int_equal(k->reth.rkey, REMOTE_RKEY);
	assert_int_equal(k->reth.dma_len, 8);
	assert_int_equal(k->len, 8);
	assert_memory_equal(k->payload, r->mr->data, 8);
}

static void the_requester_waits_for_its_answer(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_cqe cqe;

	(void)state;
	post_awrite(&r, 1, 0);
	expect_request(&r, 200);
	raw_expect_silence(&r);
	raw_ack(&r, 200,
		1); /* no acknowledgement does: it was lost, and is asked again */
	pair_expect_no_wc(r.q->scq);
	expect_request(&r, 200);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 0);
	cqe = pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_ATOMIC_WRITE);
	req_free(&r);
}

static void it_is_sent_again_alike(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 8);
	post_awrite(&r, 2, 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	expect_request(&r, 201);
	pair_run_for(r.p, 3 * ACK_TIMEOUT / 2);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	raw_expect_silence(&r);
	raw_nak(&r, NAK_SEQ, 201, 1);
	expect_request(&r, 201);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 201, 0);
	expect_successes(&r, 1, 2);
	req_free(&r);
}

static void a_false_answer_fails_it(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t len;
		enum rn_wc_status status;
	} cases[] = {
		{ RN_RC_READ_RESPONSE_ONLY, 4, RN_WC_LOC_LEN_ERR },
		{ RN_RC_READ_RESPONSE_FIRST, 1024, RN_WC_BAD_RESP_ERR },
		{ RN_RC_READ_RESPONSE_LAST, 8, RN_WC_BAD_RESP_ERR },
		{ RN_RC_ATOMIC_ACK, 0, RN_WC_BAD_RESP_ERR },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct raw r = req_new(NULL);

		post_awrite(&r, 1, 0);
		expect_request(&r, 200);
		send_read_response(&r, cases[i].op, 200, cases[i].len);
		pair_expect_wc(r.q->scq, 1, cases[i].status);
		expect_state(&r, RN_QPS_ERR);
		req_free(&r);
	}
}

static void it_counts_against_the_reads_outstanding_and_holds_a_fence(void **state)
{
	struct raw r = req_new(NULL);

	(void)state;
	post_awrite(&r, 1, 0);
	post_awrite(&r, 2, 0);
	post_awrite(&r, 3, 0);
	post_flags(&r, 4, RN_WR_SEND, 8, RN_SEND_SIGNALED | RN_SEND_FENCE);
	expect_request(&r, 200);
	expect_request(&r, 201);
	raw_expect_silence(&r);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 0);
	expect_request(&r, 202);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 201, 0);
	raw_expect_silence(&r);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 202, 0);
	raw_expect(&r, RN_RC_SEND_ONLY, 203);
	raw_ack(&r, 203, 4);
	expect_successes(&r, 1, 4);
	req_free(&r);
}

static void its_word_may_be_inline_and_must_be_there(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_sge sge = { .addr = (uintptr_t)word, .len = 8 };
	struct rn_send_wr wr = { .wr_id = 1,
				 .opcode = RN_WR_ATOMIC_WRITE,
				 .flags = RN_SEND_INLINE | RN_SEND_SIGNALED,
				 .sg = &sge,
				 .num_sge = 1 };

	(void)state;
	/* The QP has no room for inline data; a word always fits. */
	r.q->qp->max_inline = 0;
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	assert_memory_equal(raw_expect(&r, RN_RC_ATOMIC_WRITE, 200)->payload, word, 8);
	send_read_response(&r, RN_RC_READ_RESPONSE_ONLY, 200, 0);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);

	sge.len = 4;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	wr.flags = 0;
	sge = pair_sge(r.mr, 0, 16);
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	sge = pair_sge(r.mr, 0, 8);
	sge.lkey ^= 1;
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	pair_expect_wc(r.q->scq, 1, RN_WC_LOC_PROT_ERR);
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(atomic_write_stores_a_word_and_is_answered),
		cmocka_unit_test(only_whole_aligned_words_are_written),
		cmocka_unit_test(a_duplicate_is_answered_and_not_written_again),
		cmocka_unit_test(it_takes_a_resource),
		cmocka_unit_test(it_waits_for_earlier_reads_where_memory_is_slow),
		cmocka_unit_test(a_send_behind_it_finds_it_written),
		cmocka_unit_test(the_store_is_strict),
		cmocka_unit_test(the_requester_waits_for_its_answer),
		cmocka_unit_test(it_is_sent_again_alike),
		cmocka_unit_test(a_false_answer_fails_it),
		cmocka_unit_test(
			it_counts_against_the_reads_outstanding_and_holds_a_fence),
		cmocka_unit_test(its_word_may_be_inline_and_must_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
