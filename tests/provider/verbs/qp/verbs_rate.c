/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_rate.c - packet pacing: setting limits, refused limits, and the rate of sent
 * packets.
 */
#include <time.h>

#include "tests/provider/kit/verbs_kit.h"

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000;
}

static uint32_t rate_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	return attr.rate_limit;
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
	kit_expect(k->cq, 3, IBV_WC_RDMA_WRITE);
}

static void a_limit_holds_and_can_be_lifted(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 2000 };
	struct ibv_qp *qp[2];
	uint64_t begin;

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(rate_of(qp[0]), 0);
	assert_int_equal(ibv_modify_qp_rate_limit(qp[0], &attr), 0);
	assert_int_equal(rate_of(qp[0]), 2000);
	begin = now_us();
	write_half(k, qp[0]);
	/* At 2 Mbit/s 32 KiB take 131 ms. The program need not wait for the last packet,
	 * of 4 KiB at most, and for the credit of one millisecond.
	 */
	assert_true(now_us() - begin >= 110000);
	attr.rate_limit = 0;
	assert_int_equal(ibv_modify_qp_rate_limit(qp[0], &attr), 0);
	assert_int_equal(rate_of(qp[0]), 0);
	write_half(k, qp[0]);
	kit_destroy_pair(qp);
}

static void limits_beyond_the_caps_are_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_rate_limit_attr good = { .rate_limit = 0 }, attr;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC), *pair[2];
	struct ibv_device_attr_ex dev;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &dev), 0);
	assert_true(dev.packet_pacing_caps.supported_qpts & 1u << IBV_QPT_RC);
	good.rate_limit = dev.packet_pacing_caps.qp_rate_limit_max;
	/* fails because the QP is in RESET */
	assert_int_equal(ibv_modify_qp_rate_limit(qp, &good), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	kit_pair(k, IBV_QPT_RC, pair);
	good.typical_pkt_sz = 1000;
	good.max_burst_sz = 1 << 16;
	assert_int_equal(ibv_modify_qp_rate_limit(pair[0], &good), 0);
	attr = good;
	attr.rate_limit++;
	assert_int_equal(ibv_modify_qp_rate_limit(pair[0], &attr), EINVAL);
	attr.rate_limit = dev.packet_pacing_caps.qp_rate_limit_min - 1;
	assert_int_equal(ibv_modify_qp_rate_limit(pair[0], &attr), EINVAL);
	attr.rate_limit = 0; /* a burst without a rate */
	assert_int_equal(ibv_modify_qp_rate_limit(pair[0], &attr), EINVAL);
	attr = good;
	attr.comp_mask = 1;
	assert_int_equal(ibv_modify_qp_rate_limit(pair[0], &attr), EOPNOTSUPP);
	assert_int_equal(rate_of(pair[0]), good.rate_limit);
	kit_destroy_pair(pair);
}

/* Returns how long sending KIT_HALF bytes takes, in microseconds. */
static uint64_t time_of_half(struct kit *k, struct ibv_qp *qp)
{
	uint64_t begin = now_us();

	write_half(k, qp);
	return now_us() - begin;
}

static void a_limit_is_an_attribute_in_rts(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_attr attr = { .rate_limit = 2000 };
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(ibv_modify_qp(qp[0], &attr, IBV_QP_RATE_LIMIT), 0);
	assert_int_equal(rate_of(qp[0]), 2000);
	assert_true(time_of_half(k, qp[0]) >= 110000);
	/* A new limit replaces the earlier one with its burst, whichever call has set it.
	 */
	assert_int_equal(ibv_modify_qp_rate_limit(
				 qp[0],
				 &(struct ibv_qp_rate_limit_attr){
					 .rate_limit = 1000, .max_burst_sz = KIT_HALF }),
			 0);
	attr.rate_limit = 4000;
	assert_int_equal(ibv_modify_qp(qp[0], &attr, IBV_QP_RATE_LIMIT), 0);
	assert_true(time_of_half(k, qp[0]) >= 55000);
	attr.rate_limit = 0;
	assert_int_equal(ibv_modify_qp(qp[0], &attr, IBV_QP_RATE_LIMIT), 0);
	assert_int_equal(rate_of(qp[0]), 0);
	write_half(k, qp[0]);
	kit_destroy_pair(qp);
}

/* As in perftest, ibv_modify_qp() sets the rate together with the other attributes of
 * RTS.
 */
static void a_limit_comes_with_the_way_to_rts(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct kit *k = *state;

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct ibv_qp *qp = kit_create_qp(k, types[i]);
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
					    .rate_limit = 3000,
					    .timeout = 14,
					    .retry_cnt = 7,
					    .rnr_retry = 7 };
		int mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RATE_LIMIT;

		if (types[i] == IBV_QPT_RC)
			mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MAX_QP_RD_ATOMIC;
		kit_to_init(qp);
		kit_to_rtr(k, qp, qp->qp_num);
		assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
		assert_int_equal(rate_of(qp), 3000);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
}

/* The rate of the address vector, which perftest sets with --rate_limit_type=HW after it
 * has checked that a QP keeps it. perftest refuses this on Ethernet links, so this test
 * performs the calls.
 */
static void a_path_has_a_rate(void **state)
{
	enum {
		TIMES = 100
	};
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_4096,
				    .dest_qp_num = qp->qp_num,
				    .ah_attr = kit_address(k),
				    .timeout = 14,
				    .retry_cnt = 7 };
	struct ibv_qp_init_attr init;
	uint64_t begin;

	attr.ah_attr.static_rate = IBV_RATE_2_5_GBPS;
	kit_to_init(qp);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC |
					       IBV_QP_MIN_RNR_TIMER),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_AV, &init), 0);
	assert_int_equal(attr.ah_attr.static_rate, IBV_RATE_2_5_GBPS);
	assert_int_equal(attr.rate_limit, 0);
	/* 100 times 32 KiB take 10.5 ms at 2.5 Gbit/s. One millisecond is credit. */
	begin = now_us();
	for (unsigned i = 0; i < TIMES; i++)
		write_half(k, qp);
	assert_true(now_us() - begin >= 9000);
	/* A lower limit of the program applies while it is set. */
	attr.rate_limit = 2000;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_RATE_LIMIT), 0);
	assert_true(time_of_half(k, qp) >= 110000);
	attr.rate_limit = 0;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_RATE_LIMIT), 0);
	begin = now_us();
	for (unsigned i = 0; i < TIMES; i++)
		write_half(k, qp);
	assert_true(now_us() - begin >= 9000);
	kit_to_state(qp, IBV_QPS_RESET);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_AV, &init), 0);
	assert_int_equal(attr.ah_attr.static_rate, IBV_RATE_MAX);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* The call must not change the other attributes, either. */
static void a_limit_out_of_range_or_place_is_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr_ex dev;
	struct ibv_qp_attr attr = { .min_rnr_timer = 7, .qp_state = IBV_QPS_SQD }, now;
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &dev), 0);
	attr.rate_limit = dev.packet_pacing_caps.qp_rate_limit_max + 1;
	assert_int_equal(
		ibv_modify_qp(qp[0], &attr, IBV_QP_RATE_LIMIT | IBV_QP_MIN_RNR_TIMER),
		EINVAL);
	attr.rate_limit = dev.packet_pacing_caps.qp_rate_limit_min - 1;
	assert_int_equal(
		ibv_modify_qp(qp[0], &attr, IBV_QP_RATE_LIMIT | IBV_QP_MIN_RNR_TIMER),
		EINVAL);
	attr.rate_limit = 2000;
	assert_int_equal(ibv_modify_qp(qp[0], &attr, IBV_QP_RATE_LIMIT | IBV_QP_STATE),
			 EINVAL);
	assert_int_equal(ibv_query_qp(qp[0], &now, ~0, &init), 0);
	assert_int_equal(now.rate_limit, 0);
	assert_int_equal(now.qp_state, IBV_QPS_RTS);
	assert_int_not_equal(now.min_rnr_timer, 7);
	kit_destroy_pair(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_holds_and_can_be_lifted),
		cmocka_unit_test(limits_beyond_the_caps_are_refused),
		cmocka_unit_test(a_limit_is_an_attribute_in_rts),
		cmocka_unit_test(a_limit_comes_with_the_way_to_rts),
		cmocka_unit_test(a_path_has_a_rate),
		cmocka_unit_test(a_limit_out_of_range_or_place_is_refused),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
