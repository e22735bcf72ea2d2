/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* persona.c - what the devices of other makers report, and what their drivers refuse.
 *
 * Sources: for rxe, ibv_devinfo -v on Linux 6.1 (tests/interop boots it) and the list of
 * operations of its provider in rdma-core 44; for mlx5, ibv_devinfo -v of a ConnectX-5
 * with firmware 16.28 and rdma-core 44; for efa, the sizes of the work queue entry (two
 * buffers, or one of an RDMA READ, or 32 bytes of inline data), its provider's list of
 * operations, and what the kernel's driver checks.
 */
#include "persona.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/types.h"
#include "transport/io/host/log.h"

/* The operations for which rdma-core 44 has ibv_wr_*() functions; FLUSH is not among
 * them.
 */
#define SEND_OPS_OF_RC                                                                   \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |                \
	 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |       \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |                             \
	 IBV_QP_EX_WITH_SEND_WITH_INV)

#define CAPS_OF_MLX5_AND_RXE                                        \
	(IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |      \
	 IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_CHANGE_PHY_PORT |    \
	 IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID | \
	 IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |        \
	 IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B)

#define ACCESS_OF_ALL                                                 \
	((unsigned)IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

#define TYPE(t) (1u << IBV_QPT_##t)

struct rnp_persona {
	const char *name;
	unsigned device; /* MLX5, RXE or EFA */
	/* attributes of such a device; Rocin reports its own limits where they are lower
	 */
	struct ibv_device_attr_ex attr;
	uint32_t max_inline;
	uint32_t qp_types;	/* 1 << IBV_QPT_*, those that can be created */
	uint64_t send_ops;	/* IBV_QP_EX_WITH_* */
	unsigned access;	/* IBV_ACCESS_* of memory regions */
	uint32_t gids, max_msg; /* entries of the GID table; bytes of a message */
	uint8_t link_layer, active_width, active_speed; /* as of struct ibv_port_attr */
};

/* bits of a set of devices */
enum {
	MLX5 = 1 << 0,
	RXE = 1 << 1,
	EFA = 1 << 2,
};

/* The operations that the providers of some devices lack. The provider of mlx5 lacks only
 * completion counters, which efa has.
 */
static const struct {
	const char *op;
	unsigned lacked_by;
} lacking[] = {
	{ "advise_mr", RXE | EFA },
	{ "alloc_dm", RXE | EFA },
	{ "alloc_dmah", RXE | EFA },
	{ "alloc_mw", EFA },
	{ "alloc_null_mr", RXE | EFA },
	{ "alloc_parent_domain", RXE | EFA },
	{ "alloc_td", RXE | EFA },
	{ "attach_counters_point_flow", RXE | EFA },
	{ "attach_mcast", EFA },
	{ "bind_mw", EFA },
	{ "close_xrcd", RXE | EFA },
	{ "create_comp_cntr", MLX5 | RXE },
	{ "create_counters", RXE | EFA },
	{ "create_flow", RXE | EFA },
	{ "create_rwq_ind_table", RXE | EFA },
	{ "create_srq", EFA },
	{ "create_srq_ex", EFA },
	{ "create_wq", RXE | EFA },
	{ "dealloc_dmah", RXE | EFA },
	{ "dealloc_mw", EFA },
	{ "dealloc_td", RXE | EFA },
	{ "destroy_comp_cntr", MLX5 | RXE },
	{ "destroy_counters", RXE | EFA },
	{ "destroy_flow", RXE | EFA },
	{ "destroy_rwq_ind_table", RXE | EFA },
	{ "destroy_srq", EFA },
	{ "destroy_wq", RXE | EFA },
	{ "detach_mcast", EFA },
	{ "dm_export_dmabuf_fd", RXE | EFA },
	{ "free_dm", RXE | EFA },
	{ "get_srq_num", RXE | EFA },
	{ "import_dm", RXE | EFA },
	{ "import_mr", RXE | EFA },
	{ "import_pd", RXE | EFA },
	{ "inc_comp_cntr", MLX5 | RXE },
	{ "inc_err_comp_cntr", MLX5 | RXE },
	{ "modify_cq", RXE | EFA },
	{ "modify_qp_rate_limit", RXE | EFA },
	{ "modify_srq", EFA },
	{ "modify_wq", RXE | EFA },
	{ "open_qp", RXE | EFA },
	{ "open_xrcd", RXE | EFA },
	{ "post_srq_recv", EFA },
	{ "qp_attach_comp_cntr", MLX5 | RXE },
	{ "query_comp_cntr_caps", MLX5 | RXE },
	{ "query_ece", RXE | EFA },
	{ "query_port_speed", RXE | EFA },
	{ "query_rt_values", RXE | EFA },
	{ "query_srq", EFA },
	{ "read_comp_cntr", MLX5 | RXE },
	{ "read_counters", RXE | EFA },
	{ "read_err_comp_cntr", MLX5 | RXE },
	{ "reg_dm_mr", RXE | EFA },
	{ "reg_dmabuf_mr", RXE },
	{ "reg_mr_ex", RXE | EFA },
	{ "rereg_mr", RXE | EFA },
	{ "resize_cq", EFA },
	{ "set_comp_cntr", MLX5 | RXE },
	{ "set_ece", RXE | EFA },
	{ "set_err_comp_cntr", MLX5 | RXE },
};

enum {
	ODP_OF_UD = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV,
	ODP_OF_RC = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
		    IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
		    IBV_ODP_SUPPORT_SRQ_RECV,
	NO_LIMIT = INT32_MAX,
	GIB = 1 << 30,
	/* IBTA volume 1, PortInfo: LinkWidthActive, LinkSpeedActive */
	WIDTH_1X = 1,
	WIDTH_4X = 2,
	SPEED_SDR = 1,
	SPEED_EDR = 32,
};

static const struct rnp_persona personas[] = {
	{
		.name = "mlx5",
		.device = MLX5,
		.attr = {
			.orig_attr = {
				.fw_ver = "16.28.1002",
				.max_mr_size = UINT64_MAX,
				.page_size_cap = ~UINT64_C(0xfff),
				.vendor_id = 0x02c9,
				.vendor_part_id = 4119,
				.max_qp = 262144,
				.max_qp_wr = 32768,
				.device_cap_flags = CAPS_OF_MLX5_AND_RXE | IBV_DEVICE_XRC | IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING,
				.max_sge = 30,
				.max_sge_rd = 30,
				.max_cq = 16777216,
				.max_cqe = 4194303,
				.max_mr = 16777216,
				.max_pd = 16777216,
				.max_qp_rd_atom = 16,
				.max_res_rd_atom = 4194304,
				.max_qp_init_rd_atom = 16,
				.atomic_cap = IBV_ATOMIC_HCA,
				.max_mw = 16777216,
				.max_raw_ethy_qp = NO_LIMIT,
				.max_mcast_grp = 2097152,
				.max_mcast_qp_attach = 240,
				.max_total_mcast_qp_attach = 503316480,
				.max_ah = NO_LIMIT,
				.max_srq = 8388608,
				.max_srq_wr = 32767,
				.max_srq_sge = 31,
				.max_pkeys = 128,
				.local_ca_ack_delay = 16,
			},
			.odp_caps = {
				.general_caps = IBV_ODP_SUPPORT |
						IBV_ODP_SUPPORT_IMPLICIT,
				.per_transport_caps = { .rc_odp_caps = ODP_OF_RC,
							.ud_odp_caps =
								IBV_ODP_SUPPORT_SEND },
			},
			.xrc_odp_caps = ODP_OF_RC,
			.completion_timestamp_mask = INT64_MAX,
			.hca_core_clock = 1,
			.raw_packet_caps = IBV_RAW_PACKET_CAP_IP_CSUM,
			.packet_pacing_caps = { .qp_rate_limit_min = 1,
						.qp_rate_limit_max = UINT32_MAX,
						.supported_qpts = TYPE(RAW_PACKET) },
			.max_wq_type_rq = 8388608,
			.rss_caps = { .supported_qpts = TYPE(RAW_PACKET),
				      .max_rwq_indirection_tables = 1048576,
				      .max_rwq_indirection_table_size = 2048,
				      .rx_hash_fields_mask = UINT64_MAX,
				      .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ },
			.cq_mod_caps = { .max_cq_count = 65535,
					 .max_cq_period = 4095 },
			.max_dm_size = 131072,
			.pci_atomic_caps = { .fetch_add = 4, .compare_swap = 4 },
		},
		.max_inline = 956,
		.qp_types = TYPE(RC) | TYPE(UC) | TYPE(UD) | TYPE(RAW_PACKET) |
			    TYPE(XRC_SEND) | TYPE(XRC_RECV),
		.send_ops = SEND_OPS_OF_RC | IBV_QP_EX_WITH_TSO,
		.access = ACCESS_OF_ALL | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
			  IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING,
		.gids = 255,
		.max_msg = GIB,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_EDR,
	},
	{
		.name = "rxe",
		.device = RXE,
		.attr = {
			.orig_attr = {
				.fw_ver = "0.0.0",
				.max_mr_size = UINT64_MAX,
				.page_size_cap = 0xfffff000,
				.vendor_id = 0xffffff,
				.max_qp = 1048560,
				.max_qp_wr = 1048576,
				.device_cap_flags = CAPS_OF_MLX5_AND_RXE | IBV_DEVICE_UD_AV_PORT_ENFORCE | IBV_DEVICE_SRQ_RESIZE,
				.max_sge = 32,
				.max_sge_rd = 32,
				.max_cq = 1048576,
				.max_cqe = 32767,
				.max_mr = 524287,
				.max_pd = 1048576,
				.max_qp_rd_atom = 128,
				.max_res_rd_atom = 258048,
				.max_qp_init_rd_atom = 128,
				.atomic_cap = IBV_ATOMIC_HCA,
				.max_mw = 524287,
				.max_mcast_grp = 8192,
				.max_mcast_qp_attach = 56,
				.max_total_mcast_qp_attach = 458752,
				.max_ah = 32767,
				.max_srq = 917503,
				.max_srq_wr = 1048576,
				.max_srq_sge = 27,
				.max_pkeys = 64,
				.local_ca_ack_delay = 15,
			},
		},
		.max_inline = 512,
		.qp_types = TYPE(RC) | TYPE(UC) | TYPE(UD),
		.send_ops = SEND_OPS_OF_RC,
		.access = ACCESS_OF_ALL | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |
			  IBV_ACCESS_RELAXED_ORDERING,
		.gids = 1024,
		.max_msg = 0x800000,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.active_width = WIDTH_1X,
		.active_speed = SPEED_SDR,
	},
	{
		.name = "efa",
		.device = EFA,
		.attr = {
			.orig_attr = {
				.fw_ver = "0.0.0.0",
				.max_mr_size = UINT64_MAX,
				.page_size_cap = 0xfffff000,
				.vendor_id = 0x1d0f,
				.vendor_part_id = 0xefa0,
				.hw_ver = 0xefa0,
				.max_qp = 256,
				.max_qp_wr = 4096,
				.max_sge = 2,
				.max_sge_rd = 1,
				.max_cq = 512,
				.max_cqe = 32768,
				.max_mr = 262144,
				.max_pd = 256,
				.atomic_cap = IBV_ATOMIC_NONE,
				.max_ah = 8192,
				.max_pkeys = 1,
			},
		},
		.max_inline = 32,
		.qp_types = TYPE(UD),
		.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
		.access = (unsigned)IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_RELAXED_ORDERING,
		.gids = 1,
		.max_msg = 8928,
		.link_layer = IBV_LINK_LAYER_UNSPECIFIED,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_EDR,
	},
};

int rnp_persona_read(const struct rnp_persona **p, char *err, size_t err_len)
{
	const char *name = secure_getenv("ROCIN_AS");

	*p = NULL;
	if (!name || !*name)
		return 0;
	for (size_t i = 0; i < RN_ARRAY_SIZE(personas); i++)
		if (!strcmp(name, personas[i].name))
			*p = &personas[i];
	return *p ? 0
		  : rn_fail(err, err_len, -EINVAL,
			    "ROCIN_AS is \"%s\"; the devices that can be reported are "
			    "mlx5, rxe, efa",
			    name);
}

bool rnp_persona_lacks(const struct rnp_persona *p, const char *op)
{
	for (size_t i = 0; p && i < RN_ARRAY_SIZE(lacking); i++)
		if (lacking[i].lacked_by & p->device && !strcmp(lacking[i].op, op))
			return true;
	return false;
}

/* ------------------------------------------------------------------- attributes */
/* The members of struct ibv_device_attr that are limits, all of type int. */
static const size_t limits[] = {
#define LIMIT(member) offsetof(struct ibv_device_attr, member)
	LIMIT(max_qp),
	LIMIT(max_qp_wr),
	LIMIT(max_sge),
	LIMIT(max_sge_rd),
	LIMIT(max_cq),
	LIMIT(max_cqe),
	LIMIT(max_mr),
	LIMIT(max_pd),
	LIMIT(max_qp_rd_atom),
	LIMIT(max_res_rd_atom),
	LIMIT(max_qp_init_rd_atom),
	LIMIT(max_mw),
	LIMIT(max_raw_ethy_qp),
	LIMIT(max_mcast_grp),
	LIMIT(max_mcast_qp_attach),
	LIMIT(max_total_mcast_qp_attach),
	LIMIT(max_ah),
	LIMIT(max_srq),
	LIMIT(max_srq_wr),
	LIMIT(max_srq_sge),
#undef LIMIT
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void take_limits(const struct ibv_device_attr *from, struct ibv_device_attr *to)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(limits); i++) {
		int theirs, ours;

		memcpy(&theirs, (const char *)from + limits[i], sizeof(theirs));
		memcpy(&ours, (char *)to + limits[i], sizeof(ours));
		if (theirs < ours)
			memcpy((char *)to + limits[i], &theirs, sizeof(theirs));
	}
	to->max_mr_size = least(from->max_mr_size, to->max_mr_size);
}

static void take_identity(const struct ibv_device_attr *from, struct ibv_device_attr *to)
{
	memcpy(to->fw_ver, from->fw_ver, sizeof(to->fw_ver));
	to->page_size_cap = from->page_size_cap;
	to->vendor_id = from->vendor_id;
	to->vendor_part_id = from->vendor_part_id;
	to->hw_ver = from->hw_ver;
	to->device_cap_flags = from->device_cap_flags;
	to->atomic_cap = from->atomic_cap;
	to->max_pkeys = from->max_pkeys;
	to->local_ca_ack_delay = from->local_ca_ack_delay;
}

/* Removes from @to, which has the capabilities of Rocin, those that the imitated device
 * lacks. @from: the capabilities of that device.
 */
static void take_common(const struct ibv_device_attr_ex *from,
			struct ibv_device_attr_ex *to)
{
	to->odp_caps.general_caps &= from->odp_caps.general_caps;
	to->odp_caps.per_transport_caps.rc_odp_caps &=
		from->odp_caps.per_transport_caps.rc_odp_caps;
	to->odp_caps.per_transport_caps.uc_odp_caps &=
		from->odp_caps.per_transport_caps.uc_odp_caps;
	to->odp_caps.per_transport_caps.ud_odp_caps &=
		from->odp_caps.per_transport_caps.ud_odp_caps;
	to->xrc_odp_caps &= from->xrc_odp_caps;
	to->raw_packet_caps &= from->raw_packet_caps;
	to->pci_atomic_caps.fetch_add &= from->pci_atomic_caps.fetch_add;
	to->pci_atomic_caps.compare_swap &= from->pci_atomic_caps.compare_swap;
	to->max_wq_type_rq = (uint32_t)least(to->max_wq_type_rq, from->max_wq_type_rq);
	to->max_dm_size = least(to->max_dm_size, from->max_dm_size);
	to->cq_mod_caps.max_cq_count = (uint16_t)least(to->cq_mod_caps.max_cq_count,
						       from->cq_mod_caps.max_cq_count);
	to->cq_mod_caps.max_cq_period = (uint16_t)least(to->cq_mod_caps.max_cq_period,
							from->cq_mod_caps.max_cq_period);
	to->packet_pacing_caps.supported_qpts &= from->packet_pacing_caps.supported_qpts;
	if (!to->packet_pacing_caps.supported_qpts)
		memset(&to->packet_pacing_caps, 0, sizeof(to->packet_pacing_caps));
	if (!from->rss_caps.supported_qpts)
		memset(&to->rss_caps, 0, sizeof(to->rss_caps));
	/* Rocin's timestamps keep their unit. If the imitated device has no clock, Rocin
	 * reports none.
	 */
	if (!from->hca_core_clock)
		to->hca_core_clock = 0;
	to->completion_timestamp_mask &= from->completion_timestamp_mask;
}

void rnp_persona_device(const struct rnp_persona *p, struct ibv_device_attr_ex *attr)
{
	if (!p)
		return;
	take_limits(&p->attr.orig_attr, &attr->orig_attr);
	take_identity(&p->attr.orig_attr, &attr->orig_attr);
	take_common(&p->attr, attr);
	/* The flags above the low 32 bits (FLUSH, ATOMIC WRITE) are cleared, because none
	 * of the devices that Rocin imitates has them.
	 */
	attr->device_cap_flags_ex = attr->orig_attr.device_cap_flags;
}

void rnp_persona_port(const struct rnp_persona *p, struct ibv_port_attr *attr)
{
	if (!p)
		return;
	attr->gid_tbl_len = (int)least((uint64_t)attr->gid_tbl_len, p->gids);
	attr->max_msg_sz = (uint32_t)least(attr->max_msg_sz, p->max_msg);
	attr->link_layer = p->link_layer;
	attr->active_width = p->active_width;
	attr->active_speed = p->active_speed;
}

/* ---------------------------------------------------------------------- refusals */
static bool exceeds(const struct rnp_persona *p, const struct ibv_qp_cap *cap)
{
	const struct ibv_device_attr *most = &p->attr.orig_attr;

	return cap->max_send_wr > (uint32_t)most->max_qp_wr ||
	       cap->max_recv_wr > (uint32_t)most->max_qp_wr ||
	       cap->max_send_sge > (uint32_t)most->max_sge ||
	       cap->max_recv_sge > (uint32_t)most->max_sge ||
	       cap->max_inline_data > p->max_inline;
}

int rnp_persona_check_qp(const struct rnp_persona *p, enum ibv_qp_type type,
			 const struct ibv_qp_cap *cap, bool has_srq, uint64_t send_ops)
{
	if (!p)
		return 0;
	if (!(p->qp_types & 1u << type) || (has_srq && !p->attr.orig_attr.max_srq) ||
	    send_ops & ~p->send_ops)
		return EOPNOTSUPP;
	return exceeds(p, cap) ? EINVAL : 0;
}

int rnp_persona_check_srq(const struct rnp_persona *p, enum ibv_srq_type type,
			  const struct ibv_srq_attr *attr)
{
	if (!p)
		return 0;
	if (type != IBV_SRQT_BASIC && !(p->qp_types & TYPE(XRC_RECV)))
		return EOPNOTSUPP;
	return attr->max_wr > (uint32_t)p->attr.orig_attr.max_srq_wr ||
			       attr->max_sge > (uint32_t)p->attr.orig_attr.max_srq_sge
		       ? EINVAL
		       : 0;
}

int rnp_persona_check_cq(const struct rnp_persona *p, uint32_t cqe)
{
	return p && cqe > (uint32_t)p->attr.orig_attr.max_cqe ? EINVAL : 0;
}

int rnp_persona_check_mr(const struct rnp_persona *p, unsigned access)
{
	return p && access & ~p->access ? EOPNOTSUPP : 0;
}

int rnp_persona_check_modify(const struct rnp_persona *p, const struct ibv_qp_attr *attr,
			     unsigned mask)
{
	if (!p)
		return 0;
	if (mask & IBV_QP_RATE_LIMIT && rnp_persona_lacks(p, "modify_qp_rate_limit"))
		return EINVAL;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC &&
	     attr->max_rd_atomic > p->attr.orig_attr.max_qp_init_rd_atom) ||
	    (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > p->attr.orig_attr.max_qp_rd_atom))
		return EINVAL;
	return 0;
}

uint32_t rnp_persona_inline(const struct rnp_persona *p, uint32_t own)
{
	return p && p->max_inline < own ? p->max_inline : own;
}
