/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_path_mtu.c - what a program observes when the path MTU shrinks. Changes the
 * interface and the routes of its network namespace; tests/e2e/network/path-mtu.sh runs
 * it.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "tests/provider/kit/verbs_kit.h"

static void run(const char *command)
{
	char line[400];

	/* Without LD_PRELOAD ip(8) uses the kernel's devices, not rocin's. */
	assert_true(snprintf(line, sizeof(line), "env -u LD_PRELOAD %s", command) <
		    (int)sizeof(line));
	if (system(line) != 0) // NOLINT(cert-env33-c): of our own making
		fail_msg("%s", line);
}

static bool is_ipv4(const struct kit *k)
{
	return k->gid.raw[10] == 0xff && k->gid.raw[11] == 0xff;
}

static void change_route(const struct kit *k, const char *what, const char *tail)
{
	char address[INET6_ADDRSTRLEN], command[200];
	bool ipv4 = is_ipv4(k);

	inet_ntop(ipv4 ? AF_INET : AF_INET6, k->gid.raw + (ipv4 ? 12 : 0), address,
		  sizeof(address));
	assert_true(snprintf(command, sizeof(command),
			     "ip -%c route %s local %s dev lo table local %s",
			     ipv4 ? '4' : '6', what, address,
			     tail) < (int)sizeof(command));
	run(command);
}

/* Narrows the route to this host's own address, so that packets of the greatest path MTU
 * no longer fit.
 */
static void narrow_route(const struct kit *k)
{
	change_route(k, "del", "");
	change_route(k, "add", is_ipv4(k) ? "mtu 1000" : "mtu 1400");
}

static void widen_route(const struct kit *k)
{
	change_route(k, "del", "");
	change_route(k, "add", "");
}

static enum ibv_mtu wider(const struct kit *k)
{
	return is_ipv4(k) ? IBV_MTU_1024 : IBV_MTU_2048;
}

static enum ibv_mtu active_mtu(const struct kit *k)
{
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(k->ctx, 1, &port), 0);
	return port.active_mtu;
}

static int to_rtr(struct kit *k, struct ibv_qp *qp, enum ibv_mtu mtu)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = qp->qp_num,
		.ah_attr = kit_address(k),
		.min_rnr_timer = 12,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/* Moves @qp, which is connected to itself, to RTS. It has only a few retries. */
static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 2 };

	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
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

	kit_post_send(qp, &wr);
}

static void the_port_carries_what_the_interface_does(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp;

	if (!is_ipv4(k)) /* IPv6 needs an MTU of at least 1280 bytes */
		skip();
	qp = kit_create_qp(k, IBV_QPT_RC);
	kit_to_init(qp);
	assert_int_equal(active_mtu(k), IBV_MTU_4096);
	run("ip link set lo mtu 1200");
	assert_int_equal(active_mtu(k), IBV_MTU_1024);
	assert_int_equal(to_rtr(k, qp, IBV_MTU_4096), EINVAL);
	assert_int_equal(to_rtr(k, qp, IBV_MTU_2048), EINVAL);
	assert_int_equal(to_rtr(k, qp, IBV_MTU_1024), 0);
	run("ip link set lo mtu 65536");
	assert_int_equal(active_mtu(k), IBV_MTU_4096);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void the_route_to_the_peer_may_carry_less(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);

	kit_to_init(qp);
	narrow_route(k);
	/* unchanged: routes to other peers may be wider */
	assert_int_equal(active_mtu(k), IBV_MTU_4096);
	assert_int_equal(to_rtr(k, qp, wider(k)), EINVAL);
	assert_int_equal(to_rtr(k, qp, wider(k) - 1), 0);
	to_rts(qp);
	write_half(k, qp);
	kit_expect(k->cq, 3, IBV_WC_RDMA_WRITE);
	widen_route(k);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* The log line and the counter of this failure are checked by the script. */
static void a_path_that_narrows_breaks_its_queue_pairs(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);

	kit_to_init(qp);
	assert_int_equal(to_rtr(k, qp, wider(k)), 0);
	to_rts(qp);
	write_half(k, qp);
	kit_expect(k->cq, 3, IBV_WC_RDMA_WRITE);
	narrow_route(k);
	write_half(k, qp);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_RETRY_EXC_ERR);
	run("rocin stat");
	widen_route(k);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_port_carries_what_the_interface_does),
		TEST(the_route_to_the_peer_may_carry_less),
		TEST(a_path_that_narrows_breaks_its_queue_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
