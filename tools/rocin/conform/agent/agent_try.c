/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_try.c - tests operations that are in the capability flags of a device, because
 * the kernel or the driver may refuse them nevertheless. For instance, Linux permits no
 * alternate paths on RoCE devices.
 */
#include <fcntl.h>

#include "agent.h"
#include "rocin/work_request.h"

/* The objects that the functions of this file need to try an operation. */
struct trial {
	struct rn_agent *a;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

enum {
	/* Number of WQEs of the SRQ that is created as a test. It is far from a power of
	 * two, so that the test notices if the device rounds the size up.
	 */
	ODD_WQES = 5,
	QPN = 2, /* QPN of a peer to which no packet is sent */
};

static struct ibv_qp *make_qp(const struct trial *t, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = t->cq,
		.recv_cq = t->cq,
		.qp_type = type,
		.cap = { 1, 1, 1, 1, 0 },
	};

	return ibv_create_qp(t->pd, &init);
}

/* Tries to create an SRQ. @exact: the SRQ must get exactly the requested size. */
static bool try_srq(const struct trial *t, bool exact)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = ODD_WQES, .max_sge = 1 } };
	struct ibv_srq_attr beyond = { .srq_limit = ODD_WQES + 1 };
	struct ibv_srq *srq = ibv_create_srq(t->pd, &init);
	bool rounded;

	if (!srq)
		return false;
	/* Some devices report the requested size although the SRQ is larger: an SRQ limit
	 * beyond the requested size is then accepted.
	 */
	rounded = init.attr.max_wr != ODD_WQES ||
		  (exact && !ibv_modify_srq(srq, &beyond, IBV_SRQ_LIMIT));
	ibv_destroy_srq(srq);
	return !exact || !rounded;
}

static bool try_mw(const struct trial *t, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(t->pd, type);

	return mw && ibv_dealloc_mw(mw) == 0;
}

static bool try_xrc(const struct trial *t)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(t->a->ctx, &init);

	return xrcd && ibv_close_xrcd(xrcd) == 0;
}

static bool try_group(const struct trial *t)
{
	/* 239.255.255.1, or ff1e::1 if the device has no IPv4 address */
	const union ibv_gid v4 = { .raw = { [10] = 0xff, 0xff, 239, 255, 255, 1 } };
	const union ibv_gid v6 = { .raw = { [0] = 0xff, 0x1e, [15] = 1 } };
	const union ibv_gid group = t->a->gid_index[0] < 0 ? v6 : v4;
	struct ibv_qp *qp = make_qp(t, IBV_QPT_UD);
	bool joined = qp && ibv_attach_mcast(qp, &group, 0) == 0;

	if (joined)
		ibv_detach_mcast(qp, &group, 0);
	if (qp)
		ibv_destroy_qp(qp);
	return joined;
}

static struct ibv_ah_attr path_to_itself(const struct rn_agent *a)
{
	const unsigned family = a->gid_index[0] < 0;

	return (struct ibv_ah_attr){
		.grh = { .dgid = a->gid[family],
			 .sgid_index = (uint8_t)a->gid_index[family],
			 .hop_limit = 64 },
		.is_global = 1,
		.port_num = 1,
	};
}

/* Tries to bring a queue pair to RTR with an alternate path. */
static bool try_alternate_path(const struct trial *t)
{
	struct ibv_qp *qp = make_qp(t, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = QPN,
				    .ah_attr = path_to_itself(t->a),
				    .alt_ah_attr = path_to_itself(t->a),
				    .alt_port_num = 1 };
	const int init =
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
			IBV_QP_ALT_PATH;
	bool good = qp && !ibv_modify_qp(qp, &attr, init);

	attr.qp_state = IBV_QPS_RTR;
	good = good && !ibv_modify_qp(qp, &attr, rtr);
	if (qp)
		ibv_destroy_qp(qp);
	return good;
}

/* Tries to create a queue pair for the functions ibv_wr_*() in @calls (send_ops_flags).
 */
static bool try_calls(const struct trial *t, uint64_t calls)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = t->cq,
		.recv_cq = t->cq,
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = t->pd,
		.send_ops_flags = calls,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(t->a->ctx, &init);

	return qp && ibv_destroy_qp(qp) == 0;
}

/* Returns those of the abilities @claimed that the device does not have. */
static uint32_t refused(const struct trial *t, uint32_t claimed)
{
	uint32_t no = 0;

	if (claimed & RN_CONFORM_CAN_SRQ && !try_srq(t, false))
		no |= RN_CONFORM_CAN_SRQ;
	if (claimed & RN_CONFORM_CAN_XRC && !try_xrc(t))
		no |= RN_CONFORM_CAN_XRC;
	if (claimed & RN_CONFORM_CAN_MW1 && !try_mw(t, IBV_MW_TYPE_1))
		no |= RN_CONFORM_CAN_MW1;
	if (claimed & RN_CONFORM_CAN_MW2 && !try_mw(t, IBV_MW_TYPE_2))
		no |= RN_CONFORM_CAN_MW2;
	if (claimed & RN_CONFORM_CAN_GROUP && !try_group(t))
		no |= RN_CONFORM_CAN_GROUP;
	if (claimed & RN_CONFORM_CAN_MIGRATE && !try_alternate_path(t))
		no |= RN_CONFORM_CAN_MIGRATE;
	for (unsigned opcode = 0; opcode < RN_WR_COUNT; opcode++) {
		const struct rn_conform_operation *op = rn_conform_operation(opcode);

		if (op && op->call && claimed & op->ability && !try_calls(t, op->call))
			no |= op->ability;
	}
	return no;
}

uint32_t rn_agent_try(struct rn_agent *a, uint32_t claimed)
{
	struct trial t = { .a = a, .pd = ibv_alloc_pd(a->ctx) };
	uint32_t can = claimed;

	t.cq = ibv_create_cq(a->ctx, 1, NULL, NULL, 0);
	if (t.pd && t.cq) {
		can &= ~refused(&t, claimed);
		if (can & RN_CONFORM_CAN_SRQ && try_srq(&t, true))
			can |= RN_CONFORM_CAN_EXACT_SRQ;
	}
	if (t.cq)
		ibv_destroy_cq(t.cq);
	if (t.pd)
		ibv_dealloc_pd(t.pd);
	return can;
}
