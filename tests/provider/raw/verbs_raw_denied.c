/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_raw_denied.c - a program without CAP_NET_RAW gets no raw packet QPs, and
 * everything else works.
 */
#include "tests/provider/kit/verbs_kit.h"

static void raw_packet_queue_pairs_need_privilege(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .qp_type = IBV_QPT_RAW_PACKET };

	for (unsigned i = 0; i < 3; i++) {
		errno = 0;
		assert_null(ibv_create_qp(k->pd, &attr));
		assert_int_equal(errno, EPERM);
	}
}

static void others_do_not(void **state)
{
	struct kit *k = *state;
	struct ibv_sge sge = kit_sge(k, 0, 0, 100);
	struct ibv_send_wr wr = { .wr_id = 2,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_qp *qp[2];

	raw_packet_queue_pairs_need_privilege(state);
	kit_pair(k, IBV_QPT_UC, qp);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 100));
	kit_post_send(qp[0], &wr);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	kit_destroy_pair(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(raw_packet_queue_pairs_need_privilege,
						kit_setup, kit_teardown),
		cmocka_unit_test_setup_teardown(others_do_not, kit_setup, kit_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
