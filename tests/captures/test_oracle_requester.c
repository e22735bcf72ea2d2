/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_oracle_requester.c - what another implementation asked for, and the answers it
 * got: our requester, given the same work, must ask the same and take the answers.
 */
#include "oracle_kit.h"

#define CAS RN_WR_ATOMIC_CMP_AND_SWP
#define FAA RN_WR_ATOMIC_FETCH_AND_ADD
#define OLD UINT64_C(0x1122334455667788)

/* What the program posted, one after the other. @at: in the responder's buffer. */
static const struct work {
	unsigned capture; /* index */
	enum rn_wr_opcode kind;
	uint32_t len, at;
	uint64_t compare_add, swap;
} works[] = {
	{ 0, RN_WR_SEND, 0, 0, 0, 0 },
	{ 0, RN_WR_SEND, 1, 0, 0, 0 },
	{ 0, RN_WR_SEND, 2, 0, 0, 0 },
	{ 0, RN_WR_SEND, 3, 0, 0, 0 },
	{ 0, RN_WR_SEND, 4, 0, 0, 0 },
	{ 0, RN_WR_SEND, 64, 0, 0, 0 },
	{ 0, RN_WR_SEND, 1000, 0, 0, 0 },
	{ 1, RN_WR_SEND, 1024, 0, 0, 0 },
	{ 1, RN_WR_SEND, 1025, 0, 0, 0 },
	{ 1, RN_WR_SEND, 2048, 0, 0, 0 },
	{ 1, RN_WR_SEND, 5001, 0, 0, 0 },
	{ 3, RN_WR_RDMA_READ, 0, 128, 0, 0 },
	{ 3, RN_WR_RDMA_READ, 1, 128, 0, 0 },
	{ 3, RN_WR_RDMA_READ, 64, 128, 0, 0 },
	{ 3, RN_WR_RDMA_READ, 1024, 128, 0, 0 },
	{ 3, RN_WR_RDMA_READ, 2048, 128, 0, 0 },
	{ 3, RN_WR_RDMA_READ, 5001, 128, 0, 0 },
	{ 4, CAS, 8, 64, 0x64, OLD },
	{ 4, CAS, 8, 64, 0x64, 7 },
	{ 4, FAA, 8, 64, 0x10, 0 },
	{ 4, FAA, 8, 72, 1, 0 },
	{ 5, RN_WR_SEND, 3000, 0, 0, 0 },
	{ 5, RN_WR_RDMA_READ, 3000, 0, 0, 0 },
	{ 5, RN_WR_RDMA_WRITE, 64, 0, 0, 0 },
	{ 9, RN_WR_SEND, 1024, 0, 0, 0 },
	{ 9, RN_WR_SEND, 1025, 0, 0, 0 },
	{ 9, RN_WR_SEND, 2048, 0, 0, 0 },
	{ 9, RN_WR_SEND, 5001, 0, 0, 0 },
};

/* Where READs put their data, behind what is sent. */
#define LANDING (LEN / 2)

static void post(const struct capture *c, const struct work *w, rn_ns now)
{
	bool brings = w->kind == RN_WR_RDMA_READ || w->kind == CAS || w->kind == FAA;
	struct rn_sge sge = { .addr = c->va + (brings ? LANDING : 0),
			      .len = w->len,
			      .lkey = c->key };
	const struct rn_send_wr wr = {
		.opcode = w->kind,
		.flags = RN_SEND_SIGNALED,
		.remote_addr = c->va + w->at,
		.rkey = c->key,
		.compare_add = w->compare_add,
		.swap = w->swap,
		.sg = &sge,
		.num_sge = w->len ? 1 : 0,
	};

	assert_int_equal(rn_qp_post_send(dev, qp, now, &wr), 0);
	drain(now);
}

/* The captured answers up to the one that completes the request. */
static unsigned take_answers(unsigned next, uint32_t completed, rn_ns now)
{
	while (cq.producer == completed) {
		assert_true(next < answers);
		arrive(now, &answer[next++]);
	}
	assert_int_equal((uint8_t)ring[completed].ctl, RN_WC_SUCCESS);
	return next;
}

/* What the answers of a READ brought lies where it should. */
static void check_landed(unsigned first, unsigned end, uint32_t len)
{
	uint32_t at = LANDING;
	struct rn_scn_line l;
	const uint8_t *payload;

	for (unsigned i = first; i < end; i++) {
		assert_int_equal(rn_scene_decode(&answer[i], &l, &payload), 0);
		assert_memory_equal(memory + at, payload, l.value[RN_F_LEN]);
		at += (uint32_t)l.value[RN_F_LEN];
	}
	assert_int_equal(at - LANDING, len);
	assert_int_equal(memory[at], (uint8_t)(7 * at + 1));
}

static void the_requester_asks_as_another_one_did(void **state)
{
	(void)state;
	for (unsigned k = 0; k < RN_ARRAY_SIZE(captures); k++) {
		const struct capture *c = &captures[k];
		uint32_t posted = 0;
		unsigned next = 0, end;

		load(c);
		make_device(&request[0].flow.src);
		make_region(c);
		for (unsigned i = 0; i < LEN; i++)
			memory[i] = (uint8_t)(7 * i + 1);
		make_qp(c, &request[0].flow.dst);
		for (size_t i = 0; i < RN_ARRAY_SIZE(works); i++) {
			if (works[i].capture != k)
				continue;
			post(c, &works[i], 1000 * (rn_ns)(i + 1));
			end = take_answers(next, posted++, 1000 * (rn_ns)(i + 1));
			if (works[i].kind == RN_WR_RDMA_READ)
				check_landed(next, end, works[i].len);
			next = end;
		}
		for (unsigned i = 0; i < our_count; i++)
			compare(&request[i], &ours[i]);
		assert_true(!posted || (our_count == requests && next == answers));
		destroy();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_requester_asks_as_another_one_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
