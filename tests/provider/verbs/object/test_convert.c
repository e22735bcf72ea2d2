/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_convert.c - conversion of structs of verbs to those of the core, and back. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "provider/verbs/memory/mr.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/queue/cq.h"
#include "provider/verbs/queue/post.h"
#include "provider/verbs/queue/qp.h"
#include "rocin/netdev.h"
#include "rocin/queue_pair.h"

/* A device with two addresses: GID 0 is 127.0.0.1, GID 1 is ::1. The other GIDs are
 * unused.
 */
static const struct rn_netdev device = {
	.gid_count = 2,
	.gid[0] = { .raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 } },
	.gid[1] = { .raw = { [15] = 1 } },
};

static struct ibv_ah_attr ipv4_attr(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.sl = 3,
		.grh = { .hop_limit = 7, .traffic_class = 0x68, .flow_label = 0x12345 },
	};
	const uint8_t dgid[16] = { [10] = 0xff, 0xff, 127, 0, 0, 9 };

	memcpy(&attr.grh.dgid, dgid, sizeof(dgid));
	return attr;
}

/* --------------------------------------------------------------------------- address */
static void an_address_is_converted_and_back(void **state)
{
	struct ibv_ah_attr attr = ipv4_attr(), back;
	struct rn_av av;

	(void)state;
	assert_int_equal(rnp_av_from_attr(&device, &attr, &av), 0);
	assert_memory_equal(&av.dgid, &attr.grh.dgid, 16);
	assert_int_equal(av.hop_limit, 7);
	assert_int_equal(av.tclass, 0x68);
	assert_int_equal(av.flow_label, 0x12345);
	assert_int_equal(av.sl, 3);
	assert_int_equal(av.sgid_index, 0);
	rnp_av_to_attr(&av, &back);
	assert_memory_equal(&back, &attr, sizeof(attr));
}

static void a_hop_limit_of_0_means_64(void **state)
{
	struct ibv_ah_attr attr = ipv4_attr();
	struct rn_av av;

	(void)state;
	attr.grh.hop_limit = 0;
	assert_int_equal(rnp_av_from_attr(&device, &attr, &av), 0);
	assert_int_equal(av.hop_limit, 64);
}

static void an_address_that_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *what;
		int rc;
		uint8_t is_global, port, sgid_index;
		uint8_t dgid[16];
	} bad[] = {
		{ "no GRH", -EINVAL, 0, 1, 0, { [10] = 0xff, 0xff, 127, 0, 0, 9 } },
		{ "port 0", -EINVAL, 1, 0, 0, { [10] = 0xff, 0xff, 127, 0, 0, 9 } },
		{ "port 2", -EINVAL, 1, 2, 0, { [10] = 0xff, 0xff, 127, 0, 0, 9 } },
		{ "unused GID", -EINVAL, 1, 1, 2, { [10] = 0xff, 0xff, 127, 0, 0, 9 } },
		{ "GID beyond", -EINVAL, 1, 1, 16, { [10] = 0xff, 0xff, 127, 0, 0, 9 } },
		{ "unspecified", -EINVAL, 1, 1, 1, { 0 } },
		{ "0.0.0.0", -EINVAL, 1, 1, 0, { [10] = 0xff, 0xff } },
		{ "IPv6 from IPv4", -EINVAL, 1, 1, 0, { [15] = 1 } },
		{ "IPv4 from IPv6",
		  -EINVAL,
		  1,
		  1,
		  1,
		  { [10] = 0xff, 0xff, 127, 0, 0, 9 } },
		{ "ff02::1 from IPv4", -EINVAL, 1, 1, 0, { 0xff, 2, [15] = 1 } },
		{ "ff0e::ffff:224.0.0.1 from IPv4",
		  -EINVAL,
		  1,
		  1,
		  0,
		  { 0xff, 0xe, [10] = 0xff, 0xff, 224, 0, 0, 1 } },
		{ "224.0.0.1 from IPv6",
		  -EINVAL,
		  1,
		  1,
		  1,
		  { [10] = 0xff, 0xff, 224, 0, 0, 1 } },
	};
	struct rn_av av;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(bad); i++) {
		struct ibv_ah_attr attr = ipv4_attr();
		int rc;

		attr.is_global = bad[i].is_global;
		attr.port_num = bad[i].port;
		attr.grh.sgid_index = bad[i].sgid_index;
		memcpy(&attr.grh.dgid, bad[i].dgid, 16);
		rc = rnp_av_from_attr(&device, &attr, &av);
		if (rc != bad[i].rc)
			fail_msg("%s: got %d, want %d", bad[i].what, rc, bad[i].rc);
	}
}

static void a_packet_to_a_group_stays_on_its_link_unless_told_otherwise(void **state)
{
	struct ibv_ah_attr attr = ipv4_attr();
	struct rn_av av;

	(void)state;
	attr.grh.dgid.raw[12] = 239;
	attr.grh.hop_limit = 0;
	assert_int_equal(rnp_av_from_attr(&device, &attr, &av), 0);
	assert_int_equal(av.hop_limit, 1);
	attr.grh.hop_limit = 9;
	assert_int_equal(rnp_av_from_attr(&device, &attr, &av), 0);
	assert_int_equal(av.hop_limit, 9);
}

/* ----------------------------------------------------------------------- attributes */
static void a_connection_to_a_group_is_refused(void **state)
{
	struct ibv_qp_attr attr = { .ah_attr = ipv4_attr() };
	struct rn_qp_attr out;

	(void)state;
	assert_int_equal(rnp_qp_attr_from(&device, &attr, IBV_QP_AV, &out), 0);
	attr.ah_attr.grh.dgid.raw[12] = 239;
	assert_int_equal(rnp_qp_attr_from(&device, &attr, IBV_QP_AV, &out), -EINVAL);
}

static void only_attributes_in_the_mask_are_judged(void **state)
{
	struct ibv_qp_attr attr;
	struct rn_qp_attr out;

	(void)state;
	memset(&attr, 0xee, sizeof(attr));
	attr.qp_state = IBV_QPS_ERR;
	assert_int_equal(rnp_qp_attr_from(&device, &attr, IBV_QP_STATE, &out), 0);
	assert_int_equal(out.state, RN_QPS_ERR);
}

static void attributes_that_cannot_be_are_refused(void **state)
{
	struct ibv_qp_attr attr = { .path_mtu = 6,
				    .path_mig_state = (enum ibv_mig_state)3,
				    .qp_state = IBV_QPS_UNKNOWN,
				    .cur_qp_state = IBV_QPS_UNKNOWN };
	static const uint32_t masks[] = { IBV_QP_PATH_MTU, IBV_QP_PATH_MIG_STATE,
					  IBV_QP_STATE,	   IBV_QP_CUR_STATE,
					  IBV_QP_CAP,	   IBV_QP_ALT_PATH,
					  IBV_QP_AV };
	struct rn_qp_attr out;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(masks); i++)
		if (rnp_qp_attr_from(&device, &attr, masks[i], &out) != -EINVAL)
			fail_msg("mask 0x%x is accepted", masks[i]);
}

/* The alternate path is checked even if the primary path is right. */
static void both_paths_of_a_connection_are_judged(void **state)
{
	struct ibv_qp_attr attr = { .ah_attr = ipv4_attr(), .alt_ah_attr = ipv4_attr() };
	const uint32_t mask = IBV_QP_AV | IBV_QP_ALT_PATH;
	struct rn_qp_attr out;

	(void)state;
	assert_int_equal(rnp_qp_attr_from(&device, &attr, mask, &out), 0);
	attr.alt_ah_attr.grh.sgid_index = 3; /* an unused GID index */
	assert_int_equal(rnp_qp_attr_from(&device, &attr, mask, &out), -EINVAL);
	attr.ah_attr.grh.sgid_index = 3;
	assert_int_equal(rnp_qp_attr_from(&device, &attr, mask, &out), -EINVAL);
	attr.alt_ah_attr.grh.sgid_index = 0;
	assert_int_equal(rnp_qp_attr_from(&device, &attr, mask, &out), -EINVAL);
}

static void attributes_survive_the_way_to_the_core_and_back(void **state)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.cur_qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.path_mig_state = IBV_MIG_REARM,
		.qkey = 0x11111111,
		.rq_psn = 0x123456,
		.sq_psn = 0x654321,
		.dest_qp_num = 0x1234,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.ah_attr = ipv4_attr(),
		.alt_ah_attr = ipv4_attr(),
		.alt_port_num = 1,
		.alt_timeout = 15,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 5,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 7,
	};
	const uint32_t mask = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_PATH_MTU |
			      IBV_QP_PATH_MIG_STATE | IBV_QP_AV | IBV_QP_ALT_PATH;
	struct ibv_qp_attr back;
	struct rn_qp_attr core;

	(void)state;
	assert_int_equal(rnp_qp_attr_from(&device, &attr, mask, &core), 0);
	assert_int_equal(core.path_mtu, 1024);
	rnp_qp_attr_to(&core, &back);
	assert_memory_equal(&back, &attr, sizeof(attr));
}

/* -------------------------------------------------------------------- work requests */
static struct rnp_pd domain, other_domain;
static struct rnp_pd_handle pd = { .pd = &domain }, parent = { .pd = &domain };
static struct rnp_pd_handle other_pd = { .pd = &other_domain };

static void an_immediate_is_a_number_in_the_core(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .imm_data = htonl(0x01020304),
				  .wr.rdma = { .remote_addr = 99, .rkey = 7 } };
	struct ibv_qp qp = { .qp_type = IBV_QPT_RC, .pd = &pd.base };
	struct rn_send_wr out;

	(void)state;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), 0);
	assert_int_equal(out.imm, 0x01020304);
	assert_int_equal(out.remote_addr, 99);
	assert_int_equal(out.rkey, 7);
}

static void a_key_to_invalidate_is_passed_as_it_is(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV,
				  .invalidate_rkey = 0x01020304 };
	struct ibv_qp qp = { .qp_type = IBV_QPT_RC, .pd = &pd.base };
	struct rn_send_wr out;

	(void)state;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), 0);
	assert_int_equal(out.imm, 0x01020304);
}

static void an_atomic_takes_its_own_part_of_the_union(void **state)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.wr.atomic = { .remote_addr = 8, .compare_add = 1, .swap = 2, .rkey = 3 },
	};
	struct ibv_qp qp = { .qp_type = IBV_QPT_RC, .pd = &pd.base };
	struct rn_send_wr out;

	(void)state;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), 0);
	assert_int_equal(out.remote_addr, 8);
	assert_int_equal(out.compare_add, 1);
	assert_int_equal(out.swap, 2);
	assert_int_equal(out.rkey, 3);
}

static void a_datagram_needs_an_address_of_its_own_domain(void **state)
{
	struct rnp_ah ah = { .base.pd = &pd.base };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .wr.ud = { .remote_qpn = 5, .remote_qkey = 6 } };
	struct ibv_qp qp = { .qp_type = IBV_QPT_UD, .pd = &pd.base };
	struct rn_send_wr out;

	(void)state;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), -EINVAL);
	wr.wr.ud.ah = &ah.base;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), 0);
	assert_ptr_equal(out.av, &ah.av);
	assert_int_equal(out.remote_qpn, 5);
	assert_int_equal(out.remote_qkey, 6);
	ah.base.pd = &parent.base;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), 0);
	ah.base.pd = &other_pd.base;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), -EINVAL);
}

/* The length of a FLUSH has 32 bits, so that a length of 4 GiB would be truncated. */
static void a_flush_of_4_gib_is_refused(void **state)
{
	struct ibv_sge sge[2] = { { .length = UINT32_MAX }, { .length = 0 } };
	struct ibv_send_wr wr = { .opcode = (enum ibv_wr_opcode)RNP_WR_FLUSH,
				  .sg_list = sge,
				  .num_sge = 2 };
	struct ibv_qp qp = { .qp_type = IBV_QPT_RC, .pd = &pd.base };
	struct rn_send_wr out;

	(void)state;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), 0);
	assert_int_equal(out.flush_length, UINT32_MAX);
	sge[1].length = 1;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), -EINVAL);
	sge[1].length = UINT32_MAX;
	assert_int_equal(rnp_send_wr_from(&wr, &qp, &out), -EINVAL);
}

static void unknown_opcodes_and_flags_are_refused(void **state)
{
	struct ibv_qp qp = { .qp_type = IBV_QPT_RC, .pd = &pd.base };
	static const struct ibv_send_wr bad[] = {
		{ .opcode = IBV_WR_BIND_MW },
		{ .opcode = IBV_WR_TSO },
		{ .opcode = IBV_WR_DRIVER1 },
		{ .opcode = (enum ibv_wr_opcode)77 },
		{ .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM },
		{ .opcode = IBV_WR_SEND, .send_flags = 1u << 31 },
		{ .opcode = IBV_WR_SEND, .num_sge = -1 },
	};
	struct rn_send_wr out;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(bad); i++)
		if (rnp_send_wr_from(&bad[i], &qp, &out) != -EINVAL)
			fail_msg("opcode %u, flags 0x%x is accepted", bad[i].opcode,
				 bad[i].send_flags);
	for (unsigned opcode = RNP_WR_FLUSH + 1; opcode < 300; opcode++) {
		struct ibv_send_wr wr = { .opcode = (enum ibv_wr_opcode)opcode };

		if (opcode != IBV_WR_ATOMIC_WRITE &&
		    rnp_send_wr_from(&wr, &qp, &out) != -EINVAL)
			fail_msg("opcode %u is accepted", opcode);
	}
}

/* -------------------------------------------------------------------- completions */
static void a_completion_says_what_the_entry_says(void **state)
{
	const struct rn_cqe cqe = {
		.wr_id = 1,
		.byte_len = 2,
		.imm = 0x01020304,
		.qpn = 4,
		.src_qpn = 5,
		.vendor_err = 6,
		.sl = 7,
		.ctl = rn_cqe_ctl(9, RN_WC_GRH | RN_WC_WITH_IMM | RN_WC_SKIP, RN_WC_RECV,
				  RN_WC_LOC_LEN_ERR),
	};
	struct ibv_wc wc;

	(void)state;
	rnp_wc_from_cqe(&wc, &cqe);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.byte_len, 2);
	assert_int_equal(wc.imm_data, htonl(0x01020304));
	assert_int_equal(wc.qp_num, 4);
	assert_int_equal(wc.src_qp, 5);
	assert_int_equal(wc.vendor_err, 6);
	assert_int_equal(wc.sl, 7);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
}

static void an_invalidated_key_is_reported_as_it_is(void **state)
{
	const struct rn_cqe cqe = { .imm = 0x01020304,
				    .ctl = rn_cqe_ctl(1, RN_WC_WITH_INV, RN_WC_RECV, 0) };
	struct ibv_wc wc;

	(void)state;
	rnp_wc_from_cqe(&wc, &cqe);
	assert_int_equal(wc.invalidated_rkey, 0x01020304);
}

/* ------------------------------------------------------------------ access of regions */
static void access_flags_of_regions_follow_the_rules(void **state)
{
	static const struct {
		uint32_t access;
		int rc;
	} cases[] = {
		{ 0, 0 },
		{ IBV_ACCESS_LOCAL_WRITE, 0 },
		{ IBV_ACCESS_REMOTE_READ, 0 },
		{ IBV_ACCESS_REMOTE_WRITE, -EINVAL },
		{ IBV_ACCESS_REMOTE_ATOMIC, -EINVAL },
		{ IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE, 0 },
		{ IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE, 0 },
		{ IBV_ACCESS_RELAXED_ORDERING, 0 },
		{ IBV_ACCESS_OPTIONAL_RANGE, 0 },
		{ IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_ZERO_BASED, 0 },
		/* IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT */
		{ 1u << 8 | 1u << 9, 0 },
		{ 1u << 10, -EINVAL },
		{ 1u << 31, -EINVAL },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++)
		if (rnp_access_check(cases[i].access) != cases[i].rc)
			fail_msg("access 0x%x: got %d, want %d", cases[i].access,
				 rnp_access_check(cases[i].access), cases[i].rc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_converted_and_back),
		cmocka_unit_test(a_hop_limit_of_0_means_64),
		cmocka_unit_test(an_address_that_cannot_be_is_refused),
		cmocka_unit_test(
			a_packet_to_a_group_stays_on_its_link_unless_told_otherwise),
		cmocka_unit_test(a_connection_to_a_group_is_refused),
		cmocka_unit_test(only_attributes_in_the_mask_are_judged),
		cmocka_unit_test(attributes_that_cannot_be_are_refused),
		cmocka_unit_test(both_paths_of_a_connection_are_judged),
		cmocka_unit_test(attributes_survive_the_way_to_the_core_and_back),
		cmocka_unit_test(an_immediate_is_a_number_in_the_core),
		cmocka_unit_test(a_key_to_invalidate_is_passed_as_it_is),
		cmocka_unit_test(an_atomic_takes_its_own_part_of_the_union),
		cmocka_unit_test(a_datagram_needs_an_address_of_its_own_domain),
		cmocka_unit_test(a_flush_of_4_gib_is_refused),
		cmocka_unit_test(unknown_opcodes_and_flags_are_refused),
		cmocka_unit_test(a_completion_says_what_the_entry_says),
		cmocka_unit_test(an_invalidated_key_is_reported_as_it_is),
		cmocka_unit_test(access_flags_of_regions_follow_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
