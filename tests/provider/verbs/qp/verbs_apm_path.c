/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_apm_path.c - a connection that migrates when its primary path fails. The device
 * has two addresses, and the program removes the route to the first.
 * tests/e2e/network/apm.sh runs it.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "tests/provider/kit/verbs_kit.h"

static void run(const char *what, const union ibv_gid *gid)
{
	char address[INET_ADDRSTRLEN], line[200];

	inet_ntop(AF_INET, gid->raw + 12, address, sizeof(address));
	/* Without LD_PRELOAD ip(8) uses the kernel's devices, not rocin's. */
	assert_true(snprintf(line, sizeof(line),
			     "env -u LD_PRELOAD ip route %s local %s dev lo table local",
			     what, address) < (int)sizeof(line));
	if (system(line) != 0) // NOLINT(cert-env33-c): of our own making
		fail_msg("%s", line);
}

static struct ibv_ah_attr second_path(const struct kit *k)
{
	struct ibv_ah_attr path = kit_address(k);

	assert_int_equal(ibv_query_gid(k->ctx, 1, 1, &path.grh.dgid), 0);
	assert_memory_not_equal(&path.grh.dgid, &k->gid, sizeof(k->gid));
	path.grh.sgid_index = 1;
	return path;
}

static void arm(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.alt_ah_attr = second_path(k),
		.alt_port_num = 1,
		.alt_timeout = 16,
		.path_mig_state = IBV_MIG_REARM,
	};

	assert_int_equal(
		ibv_modify_qp(qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), 0);
}

static void write_half(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_sge local = kit_sge(k, 0, 0, KIT_HALF);
	struct ibv_send_wr wr = {
		.wr_id = 3,
		.sg_list = &local,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = local.addr + KIT_HALF, .rkey = k->mr->rkey },
	};

	memset(k->buf, k->buf[0] + 1, KIT_HALF);
	kit_post_send(qp, &wr);
	kit_expect(k->cq, 3, IBV_WC_RDMA_WRITE);
	assert_memory_equal(k->buf, k->buf + KIT_HALF, KIT_HALF);
}

static void expect_migration(struct kit *k, struct ibv_qp *const qp[2])
{
	struct ibv_ah_attr second = second_path(k);
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct ibv_qp_attr attr;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_PATH_MIG);
		ibv_ack_async_event(&event);
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(ibv_query_qp(qp[i], &attr, IBV_QP_AV, &init), 0);
		assert_int_equal(attr.path_mig_state, IBV_MIG_MIGRATED);
		assert_int_equal(attr.ah_attr.grh.sgid_index, 1);
		assert_memory_equal(&attr.ah_attr.grh.dgid, &second.grh.dgid,
				    sizeof(second.grh.dgid));
	}
}

static void a_connection_goes_on_by_the_other_address(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < 2; i++)
		arm(k, qp[i]);
	write_half(k, qp[0]); /* arms both ends */
	run("del", &k->gid);
	write_half(k, qp[0]); /* the QP migrates when its retries are used up */
	expect_migration(k, qp);
	write_half(k, qp[1]);
	run("add", &k->gid);
	kit_destroy_pair(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_connection_goes_on_by_the_other_address,
						kit_setup, kit_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
