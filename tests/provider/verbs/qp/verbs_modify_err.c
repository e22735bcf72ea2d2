/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_modify_err.c - which requests complete when a program moves its QP to the error
 * state.
 */
#include "tests/provider/kit/verbs_kit.h"

#include <errno.h>

/* A NIC would have processed the ACK when it came, without a poll. So the request has
 * succeeded.
 */
static void err_spares_what_the_peer_has_acknowledged(void **state)
{
	struct kit *k = *state;
	struct ibv_sge from = kit_sge(k, 0, 0, 64);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp *qp[2];

	for (unsigned round = 0; round < 20; round++) {
		kit_pair(k, IBV_QPT_RC, qp);
		kit_post_recv(k, qp[1], 2, kit_sge(k, 1, 0, 64));
		kit_post_send(qp[0], &wr);
		kit_expect(k->cq, 2, IBV_WC_RECV);
		/* the ACK was sent, but this process has not read it */
		kit_to_state(qp[1], IBV_QPS_ERR);
		kit_to_state(qp[0], IBV_QPS_ERR);
		kit_expect(k->cq, 1, IBV_WC_SEND);
		kit_destroy_pair(qp);
	}
}

/* Messages that the peer has sent before are received, though there are more than one
 * poll processes.
 */
static void err_spares_what_has_come(void **state)
{
	enum {
		COUNT = 48
	};
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_UC, qp);
	for (unsigned i = 0; i < COUNT; i++)
		kit_post_recv(k, qp[1], i, kit_sge(k, 1, 0, 256));
	kit_expect_none(k->cq);
	for (unsigned i = 0; i < COUNT; i++) {
		/* Each message is longer than the one before, so that no two of them can
		 * share a super-packet.
		 */
		struct ibv_sge from = kit_sge(k, 0, 0, 64 + i);
		struct ibv_send_wr wr = { .sg_list = &from,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND };

		kit_post_send(qp[0], &wr);
	}
	kit_to_state(qp[1], IBV_QPS_ERR);
	for (unsigned i = 0; i < COUNT; i++)
		kit_expect(k->cq, i, IBV_WC_RECV);
	kit_destroy_pair(qp);
}

/* A program that cleans up after a failure needs the errno of that failure. */
static void errno_is_left_alone(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	errno = EDOM;
	kit_to_state(qp[0], IBV_QPS_ERR);
	assert_int_equal(errno, EDOM);
	kit_destroy_pair(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errno_is_left_alone),
		cmocka_unit_test(err_spares_what_has_come),
		cmocka_unit_test(err_spares_what_the_peer_has_acknowledged),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
