/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_apm.c - automatic path migration, as a program observes it. The device has one
 * address, so that both paths are the same.
 */
#include "tests/provider/kit/verbs_kit.h"

static struct ibv_qp_attr attr_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_PATH_MIG_STATE, &init), 0);
	return attr;
}

static int rearm(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.alt_ah_attr = kit_address(k),
		.alt_port_num = 1,
		.alt_timeout = 17,
		.path_mig_state = IBV_MIG_REARM,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
}

static int set_state(struct ibv_qp *qp, enum ibv_mig_state state)
{
	struct ibv_qp_attr attr = { .path_mig_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_PATH_MIG_STATE);
}

static void write_word(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_sge local = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &local,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = local.addr + KIT_HALF, .rkey = k->mr->rkey },
	};

	kit_post_send(qp, &wr);
	kit_expect(k->cq, 1, IBV_WC_RDMA_WRITE);
}

static void expect_event(struct kit *k, struct ibv_qp *a, struct ibv_qp *b)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_PATH_MIG);
	assert_true(event.element.qp == a || event.element.qp == b);
	ibv_ack_async_event(&event);
}

static void both_ends_migrate_when_one_is_told_to(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(rearm(k, qp[0]), 0);
	assert_int_equal(rearm(k, qp[1]), 0);
	assert_int_equal(attr_of(qp[0]).path_mig_state, IBV_MIG_REARM);
	write_word(k, qp[0]); /* the request arms qp[1], and its ACK arms qp[0] */
	attr = attr_of(qp[0]);
	assert_int_equal(attr.path_mig_state, IBV_MIG_ARMED);
	assert_int_equal(attr.alt_port_num, 1);
	assert_int_equal(attr.alt_timeout, 17);
	assert_int_equal(attr.alt_ah_attr.is_global, 1);
	assert_memory_equal(&attr.alt_ah_attr.grh.dgid, &k->gid, sizeof(k->gid));
	assert_int_equal(attr_of(qp[1]).path_mig_state, IBV_MIG_ARMED);

	assert_int_equal(set_state(qp[0], IBV_MIG_MIGRATED), 0);
	write_word(k, qp[0]);
	expect_event(k, qp[0], qp[1]);
	expect_event(k, qp[0], qp[1]);
	for (unsigned i = 0; i < 2; i++) {
		attr = attr_of(qp[i]);
		assert_int_equal(attr.path_mig_state, IBV_MIG_MIGRATED);
		assert_int_equal(attr.timeout, 17);
		assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	}
	kit_destroy_pair(qp);
}

static void states_that_cannot_be_asked_for_are_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_attr bad = { .alt_ah_attr = kit_address(k), .alt_port_num = 1 };
	struct ibv_device_attr dev;
	struct ibv_qp *qp[2];

	assert_int_equal(ibv_query_device(k->ctx, &dev), 0);
	assert_true(dev.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG);
	kit_pair(k, IBV_QPT_RC, qp);
	/* fails: no alternate path is loaded */
	assert_int_equal(set_state(qp[0], IBV_MIG_REARM), EINVAL);
	assert_int_equal(set_state(qp[0], IBV_MIG_ARMED), EINVAL);
	assert_int_equal(set_state(qp[0], (enum ibv_mig_state)3), EINVAL);
	assert_int_equal(set_state(qp[0], IBV_MIG_MIGRATED), 0);
	bad.alt_port_num = 2;
	assert_int_equal(ibv_modify_qp(qp[0], &bad, IBV_QP_ALT_PATH), EINVAL);
	bad.alt_port_num = 1;
	bad.alt_timeout = 32;
	assert_int_equal(ibv_modify_qp(qp[0], &bad, IBV_QP_ALT_PATH), EINVAL);
	bad.alt_timeout = 14;
	bad.alt_pkey_index = 1;
	assert_int_equal(ibv_modify_qp(qp[0], &bad, IBV_QP_ALT_PATH), EINVAL);
	bad.alt_pkey_index = 0;
	bad.alt_ah_attr.is_global = 0;
	assert_int_equal(ibv_modify_qp(qp[0], &bad, IBV_QP_ALT_PATH), EINVAL);
	assert_int_equal(attr_of(qp[0]).alt_port_num, 0);
	kit_destroy_pair(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_ends_migrate_when_one_is_told_to,
						kit_setup, kit_teardown),
		cmocka_unit_test_setup_teardown(
			states_that_cannot_be_asked_for_are_refused, kit_setup,
			kit_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
