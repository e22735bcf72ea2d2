/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_persona.c - which attributes and which refusals the devices of ROCIN_AS have. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#include "provider/persona/persona.h"

static const struct rnp_persona *persona(const char *name)
{
	const struct rnp_persona *p;
	char err[200] = "";

	setenv("ROCIN_AS", name, 1);
	assert_int_equal(rnp_persona_read(&p, err, sizeof(err)), 0);
	assert_non_null(p);
	unsetenv("ROCIN_AS");
	return p;
}

/* The own device of rocin before a persona changes it. All its limits and capabilities
 * are higher than those of any persona.
 */
static struct ibv_device_attr_ex own_device(void)
{
	struct ibv_device_attr_ex a;

	memset(&a, 0xff, sizeof(a));
	a.orig_attr.atomic_cap = IBV_ATOMIC_GLOB;
	for (int *limit = &a.orig_attr.max_qp; limit <= &a.orig_attr.max_qp_wr; limit++)
		*limit = INT32_MAX;
	for (int *limit = &a.orig_attr.max_sge; limit <= &a.orig_attr.max_srq_sge;
	     limit++)
		*limit = INT32_MAX;
	return a;
}

static struct ibv_device_attr_ex reported(const char *name)
{
	struct ibv_device_attr_ex a = own_device();

	rnp_persona_device(persona(name), &a);
	return a;
}

static void without_a_name_there_is_none(void **state)
{
	const struct rnp_persona *p = persona("rxe");
	char err[200];

	(void)state;
	unsetenv("ROCIN_AS");
	assert_int_equal(rnp_persona_read(&p, err, sizeof(err)), 0);
	assert_null(p);
	setenv("ROCIN_AS", "", 1);
	assert_int_equal(rnp_persona_read(&p, err, sizeof(err)), 0);
	assert_null(p);
}

static void a_wrong_name_is_refused_by_a_sentence(void **state)
{
	static const char *const wrong[] = { "mlx", "mlx5 ", "MLX5", "rxe,efa", "none" };
	const struct rnp_persona *p = persona("rxe");
	char err[200];

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("ROCIN_AS", wrong[i], 1);
		assert_int_equal(rnp_persona_read(&p, err, sizeof(err)), -EINVAL);
		assert_null(p);
		assert_non_null(strstr(err, wrong[i]));
		assert_non_null(strstr(err, "are mlx5, rxe, efa"));
	}
	unsetenv("ROCIN_AS");
}

static void no_persona_changes_and_refuses_nothing(void **state)
{
	const struct ibv_qp_cap much = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
					 UINT32_MAX };
	const struct ibv_srq_attr srq = { UINT32_MAX, UINT32_MAX, 0 };
	const struct ibv_qp_attr attr = { .max_rd_atomic = 255,
					  .max_dest_rd_atomic = 255 };
	struct ibv_device_attr_ex a = own_device(), same = a;
	struct ibv_port_attr port = { .max_msg_sz = 7, .gid_tbl_len = 9 },
			     as_it_was = port;

	(void)state;
	rnp_persona_device(NULL, &a);
	assert_memory_equal(&a, &same, sizeof(a));
	rnp_persona_port(NULL, &port);
	assert_memory_equal(&port, &as_it_was, sizeof(port));
	assert_false(rnp_persona_lacks(NULL, "open_xrcd"));
	assert_int_equal(
		rnp_persona_check_qp(NULL, IBV_QPT_XRC_SEND, &much, true, UINT64_MAX), 0);
	assert_int_equal(rnp_persona_check_srq(NULL, IBV_SRQT_XRC, &srq), 0);
	assert_int_equal(rnp_persona_check_cq(NULL, UINT32_MAX), 0);
	assert_int_equal(rnp_persona_check_mr(NULL, UINT32_MAX), 0);
	assert_int_equal(rnp_persona_check_modify(NULL, &attr, UINT32_MAX), 0);
	assert_int_equal(rnp_persona_inline(NULL, 512), 512);
}

/* ------------------------------------------------------------------- attributes */
static void identity_and_flags_are_those_of_the_device(void **state)
{
	struct ibv_device_attr_ex a = reported("mlx5");

	(void)state;
	assert_int_equal(a.orig_attr.vendor_id, 0x02c9);
	assert_int_equal(a.orig_attr.vendor_part_id, 4119);
	assert_string_equal(a.orig_attr.fw_ver, "16.28.1002");
	assert_int_equal(a.orig_attr.device_cap_flags, 0x25321c36);
	assert_int_equal(a.device_cap_flags_ex, 0x25321c36);
	assert_int_equal(a.orig_attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(a.orig_attr.local_ca_ack_delay, 16);
	a = reported("rxe");
	assert_int_equal(a.orig_attr.vendor_id, 0xffffff);
	assert_int_equal(a.orig_attr.device_cap_flags, 0x01223c76);
	assert_int_equal(a.device_cap_flags_ex, 0x01223c76);
	assert_string_equal(a.orig_attr.fw_ver, "0.0.0");
	a = reported("efa");
	assert_int_equal(a.orig_attr.vendor_id, 0x1d0f);
	assert_int_equal(a.orig_attr.hw_ver, 0xefa0);
	assert_int_equal(a.device_cap_flags_ex, 0);
	assert_int_equal(a.orig_attr.atomic_cap, IBV_ATOMIC_NONE);
}

static void capabilities_are_those_that_both_have(void **state)
{
	const uint32_t rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
			    IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
			    IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
	struct ibv_device_attr_ex a = reported("mlx5"), own = own_device();

	(void)state;
	assert_int_equal(a.odp_caps.per_transport_caps.rc_odp_caps, rc);
	assert_int_equal(a.odp_caps.per_transport_caps.uc_odp_caps, 0);
	assert_int_equal(a.odp_caps.per_transport_caps.ud_odp_caps, IBV_ODP_SUPPORT_SEND);
	assert_int_equal(a.xrc_odp_caps, rc);
	assert_int_equal(a.packet_pacing_caps.supported_qpts, 1u << IBV_QPT_RAW_PACKET);
	/* not imitated: the clock is rocin's */
	assert_true(a.hca_core_clock == own.hca_core_clock);
	assert_true(a.completion_timestamp_mask == INT64_MAX);
	assert_int_equal(a.max_dm_size, 131072);
	assert_int_equal(a.cq_mod_caps.max_cq_period, 4095);
	assert_int_equal(a.pci_atomic_caps.fetch_add, 4);
	assert_int_equal(a.rss_caps.supported_qpts & 1u << IBV_QPT_RAW_PACKET,
			 1u << IBV_QPT_RAW_PACKET);
	own.odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_SEND;
	own.max_dm_size = 4096;
	rnp_persona_device(persona("mlx5"), &own);
	assert_int_equal(own.odp_caps.per_transport_caps.rc_odp_caps,
			 IBV_ODP_SUPPORT_SEND);
	assert_int_equal(own.max_dm_size, 4096);
	a = reported("rxe");
	assert_int_equal(a.odp_caps.general_caps, 0);
	assert_int_equal(a.completion_timestamp_mask, 0);
	assert_int_equal(a.hca_core_clock, 0);
	assert_int_equal(a.max_dm_size, 0);
	assert_int_equal(a.raw_packet_caps, 0);
	assert_int_equal(a.max_wq_type_rq, 0);
	assert_int_equal(a.rss_caps.rx_hash_fields_mask, 0);
	assert_int_equal(a.packet_pacing_caps.qp_rate_limit_max, 0);
}

static void no_limit_is_larger_than_ours(void **state)
{
	struct ibv_device_attr_ex a = reported("rxe"), own = own_device();

	(void)state;
	assert_int_equal(a.orig_attr.max_qp, 1048560);
	assert_int_equal(a.orig_attr.max_cqe, 32767);
	assert_int_equal(a.orig_attr.max_srq_sge, 27);
	assert_int_equal(a.orig_attr.max_mcast_qp_attach, 56);
	own.orig_attr.max_qp = 10;
	own.orig_attr.max_srq_sge = 4;
	own.orig_attr.max_mr_size = 4096;
	rnp_persona_device(persona("rxe"), &own);
	assert_int_equal(own.orig_attr.max_qp, 10);
	assert_int_equal(own.orig_attr.max_srq_sge, 4);
	assert_int_equal(own.orig_attr.max_mr_size, 4096);
	assert_int_equal(own.orig_attr.max_qp_rd_atom, 128);
	a = reported("mlx5");
	assert_int_equal(a.orig_attr.max_qp_rd_atom, 16);
	assert_int_equal(a.orig_attr.max_qp_init_rd_atom, 16);
	assert_int_equal(a.orig_attr.max_sge_rd, 30);
	a = reported("efa");
	assert_int_equal(a.orig_attr.max_srq, 0);
	assert_int_equal(a.orig_attr.max_mw, 0);
	assert_int_equal(a.orig_attr.max_mcast_grp, 0);
}

static void a_port_is_as_fast_and_long_as_the_devices(void **state)
{
	const struct ibv_port_attr own = { .max_msg_sz = 1u << 31,
					   .gid_tbl_len = 300,
					   .link_layer = IBV_LINK_LAYER_ETHERNET };
	struct ibv_port_attr port = own;

	(void)state;
	rnp_persona_port(persona("mlx5"), &port);
	assert_int_equal(port.max_msg_sz, 1 << 30);
	assert_int_equal(port.gid_tbl_len, 255);
	assert_int_equal(port.active_width, 2);
	assert_int_equal(port.active_speed, 32);
	port = own;
	rnp_persona_port(persona("rxe"), &port);
	assert_int_equal(port.max_msg_sz, 0x800000);
	assert_int_equal(port.gid_tbl_len, 300);
	assert_int_equal(port.active_width, 1);
	assert_int_equal(port.active_speed, 1);
	port = own;
	rnp_persona_port(persona("efa"), &port);
	assert_int_equal(port.gid_tbl_len, 1);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_UNSPECIFIED);
}

/* ---------------------------------------------------------------------- refusals */
static int qp(const char *name, enum ibv_qp_type type, struct ibv_qp_cap cap)
{
	return rnp_persona_check_qp(persona(name), type, &cap, false, 0);
}

static void types_of_queue_pairs_that_it_lacks_are_refused(void **state)
{
	const struct ibv_qp_cap one = { 1, 1, 1, 1, 0 };

	(void)state;
	assert_int_equal(qp("rxe", IBV_QPT_RC, one), 0);
	assert_int_equal(qp("rxe", IBV_QPT_UC, one), 0);
	assert_int_equal(qp("rxe", IBV_QPT_UD, one), 0);
	assert_int_equal(qp("rxe", IBV_QPT_XRC_SEND, one), EOPNOTSUPP);
	assert_int_equal(qp("rxe", IBV_QPT_RAW_PACKET, one), EOPNOTSUPP);
	assert_int_equal(qp("efa", IBV_QPT_UD, one), 0);
	assert_int_equal(qp("efa", IBV_QPT_RC, one), EOPNOTSUPP);
	assert_int_equal(qp("mlx5", IBV_QPT_XRC_RECV, one), 0);
	assert_int_equal(rnp_persona_check_qp(persona("efa"), IBV_QPT_UD, &one, true, 0),
			 EOPNOTSUPP);
	assert_int_equal(rnp_persona_check_qp(persona("rxe"), IBV_QPT_UD, &one, true, 0),
			 0);
}

static void operations_of_ibv_wr_that_it_lacks_are_refused(void **state)
{
	const struct ibv_qp_cap one = { 1, 1, 1, 1, 0 };
	/* flags that only newer versions of verbs.h define */
	const uint64_t flush = 1 << 11, atomic_write = 1 << 12;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct rnp_persona *p = persona(i ? "rxe" : "mlx5");

		assert_int_equal(rnp_persona_check_qp(p, IBV_QPT_RC, &one, false,
						      IBV_QP_EX_WITH_RDMA_WRITE |
							      IBV_QP_EX_WITH_BIND_MW),
				 0);
		assert_int_equal(rnp_persona_check_qp(p, IBV_QPT_RC, &one, false, flush),
				 EOPNOTSUPP);
		assert_int_equal(
			rnp_persona_check_qp(p, IBV_QPT_RC, &one, false, atomic_write),
			EOPNOTSUPP);
	}
	assert_int_equal(rnp_persona_check_qp(persona("efa"), IBV_QPT_UD, &one, false,
					      IBV_QP_EX_WITH_RDMA_READ),
			 EOPNOTSUPP);
}

static void capacities_beyond_a_limit_are_refused(void **state)
{
	static const struct {
		struct ibv_qp_cap most, more;
	} cases[] = {
		{ { 4096, 0, 0, 0, 0 }, { 4097, 0, 0, 0, 0 } },
		{ { 0, 4096, 0, 0, 0 }, { 0, 4097, 0, 0, 0 } },
		{ { 0, 0, 2, 0, 0 }, { 0, 0, 3, 0, 0 } },
		{ { 0, 0, 0, 2, 0 }, { 0, 0, 0, 3, 0 } },
		{ { 0, 0, 0, 0, 32 }, { 0, 0, 0, 0, 33 } },
	};
	const struct ibv_srq_attr most = { 1048576, 27, 0 }, more = { 1048577, 27, 0 },
				  wider = { 1, 28, 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(qp("efa", IBV_QPT_UD, cases[i].most), 0);
		assert_int_equal(qp("efa", IBV_QPT_UD, cases[i].more), EINVAL);
	}
	assert_int_equal(rnp_persona_check_srq(persona("rxe"), IBV_SRQT_BASIC, &most), 0);
	assert_int_equal(rnp_persona_check_srq(persona("rxe"), IBV_SRQT_BASIC, &more),
			 EINVAL);
	assert_int_equal(rnp_persona_check_srq(persona("rxe"), IBV_SRQT_BASIC, &wider),
			 EINVAL);
	assert_int_equal(rnp_persona_check_srq(persona("rxe"), IBV_SRQT_XRC, &most),
			 EOPNOTSUPP);
	assert_int_equal(rnp_persona_check_cq(persona("rxe"), 32767), 0);
	assert_int_equal(rnp_persona_check_cq(persona("rxe"), 32768), EINVAL);
	assert_int_equal(rnp_persona_inline(persona("efa"), 64), 32);
	assert_int_equal(rnp_persona_inline(persona("efa"), 16), 16);
}

static void rights_that_it_does_not_grant_are_refused(void **state)
{
	const unsigned rw = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	(void)state;
	assert_int_equal(rnp_persona_check_mr(persona("rxe"), rw), 0);
	assert_int_equal(rnp_persona_check_mr(persona("rxe"), rw | IBV_ACCESS_ON_DEMAND),
			 EOPNOTSUPP);
	assert_int_equal(rnp_persona_check_mr(persona("mlx5"), rw | IBV_ACCESS_ON_DEMAND),
			 0);
	assert_int_equal(rnp_persona_check_mr(persona("efa"), rw), EOPNOTSUPP);
	assert_int_equal(rnp_persona_check_mr(persona("efa"), IBV_ACCESS_LOCAL_WRITE), 0);
}

static void outstanding_reads_and_rates_beyond_it_are_refused(void **state)
{
	struct ibv_qp_attr attr = { .max_rd_atomic = 16, .max_dest_rd_atomic = 16 };
	const unsigned both = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;

	(void)state;
	assert_int_equal(rnp_persona_check_modify(persona("mlx5"), &attr, both), 0);
	attr.max_rd_atomic = 17;
	assert_int_equal(rnp_persona_check_modify(persona("mlx5"), &attr, both), EINVAL);
	assert_int_equal(rnp_persona_check_modify(persona("mlx5"), &attr,
						  IBV_QP_MAX_DEST_RD_ATOMIC),
			 0);
	attr = (struct ibv_qp_attr){ .max_rd_atomic = 16, .max_dest_rd_atomic = 17 };
	assert_int_equal(rnp_persona_check_modify(persona("mlx5"), &attr, both), EINVAL);
	assert_int_equal(rnp_persona_check_modify(persona("rxe"), &attr, both), 0);
	assert_int_equal(
		rnp_persona_check_modify(persona("rxe"), &attr, IBV_QP_RATE_LIMIT),
		EINVAL);
	assert_int_equal(
		rnp_persona_check_modify(persona("mlx5"), &attr, IBV_QP_RATE_LIMIT), 0);
}

static void operations_that_its_provider_lacks_are_named(void **state)
{
	(void)state;
	assert_true(rnp_persona_lacks(persona("rxe"), "open_xrcd"));
	assert_true(rnp_persona_lacks(persona("rxe"), "rereg_mr"));
	assert_false(rnp_persona_lacks(persona("rxe"), "alloc_mw"));
	assert_false(rnp_persona_lacks(persona("rxe"), "create_srq"));
	assert_true(rnp_persona_lacks(persona("efa"), "create_srq"));
	assert_true(rnp_persona_lacks(persona("efa"), "attach_mcast"));
	assert_false(rnp_persona_lacks(persona("efa"), "reg_dmabuf_mr"));
	assert_false(rnp_persona_lacks(persona("mlx5"), "open_xrcd"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_name_there_is_none),
		cmocka_unit_test(a_wrong_name_is_refused_by_a_sentence),
		cmocka_unit_test(no_persona_changes_and_refuses_nothing),
		cmocka_unit_test(identity_and_flags_are_those_of_the_device),
		cmocka_unit_test(capabilities_are_those_that_both_have),
		cmocka_unit_test(no_limit_is_larger_than_ours),
		cmocka_unit_test(a_port_is_as_fast_and_long_as_the_devices),
		cmocka_unit_test(types_of_queue_pairs_that_it_lacks_are_refused),
		cmocka_unit_test(operations_of_ibv_wr_that_it_lacks_are_refused),
		cmocka_unit_test(capacities_beyond_a_limit_are_refused),
		cmocka_unit_test(rights_that_it_does_not_grant_are_refused),
		cmocka_unit_test(outstanding_reads_and_rates_beyond_it_are_refused),
		cmocka_unit_test(operations_that_its_provider_lacks_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
