/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_oracle.c - another implementation's requests, byte for byte, and what it answered:
 * our responder must answer the same in all that the specification fixes.
 */
#include "oracle_kit.h"

static void post_receives(const struct capture *c)
{
	struct rn_sge sge = { .addr = c->va, .len = LEN, .lkey = c->key };

	for (unsigned i = 0; i < PEER_RECVS; i++)
		assert_int_equal(
			rn_qp_post_recv(dev, qp, 1,
					&(struct rn_recv_wr){ .sg = &sge, .num_sge = 1 }),
			0);
}

static void the_responder_answers_as_another_one_did(void **state)
{
	(void)state;
	for (size_t k = 0; k < RN_ARRAY_SIZE(captures); k++) {
		const struct capture *c = &captures[k];

		print_message("%s\n", c->name);
		load(c);
		make_device(&request[0].flow.dst);
		make_region(c);
		make_qp(c, &request[0].flow.src);
		post_receives(c);
		for (unsigned i = 0; i < requests; i++)
			arrive(1000 * (rn_ns)(i + 1), &request[i]);
		assert_int_equal(our_count, answers);
		for (unsigned i = 0; i < answers; i++)
			compare(&answer[i], &ours[i]);
		destroy();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_responder_answers_as_another_one_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
