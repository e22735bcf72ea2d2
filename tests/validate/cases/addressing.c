/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* addressing.c - cases of the category addressing. */
#include "cases.h"

static void address_by_lid(struct kit *k)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };

	assert_null(ibv_create_ah(k->pd, &attr));
}

static void address_by_gid(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);
	struct ibv_ah *ah = ibv_create_ah(k->pd, &attr);

	assert_non_null(ah);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

/* What is asked for may be refused: only that it is asked for counts. */
static void ask_for_ah(struct kit *k, struct ibv_ah_attr attr)
{
	struct ibv_ah *ah = ibv_create_ah(k->pd, &attr);

	if (ah)
		assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void address_zeros(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);

	memset(&attr.grh.dgid, 0, sizeof(attr.grh.dgid));
	ask_for_ah(k, attr);
}

static void address_without_hops(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);

	attr.grh.hop_limit = 0;
	ask_for_ah(k, attr);
}

static void address_with_sl_12(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);

	attr.sl = 12;
	ask_for_ah(k, attr);
}

static void address_with_wide_label(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);

	attr.grh.flow_label = 1U << 20;
	ask_for_ah(k, attr);
}

static void address_at_index(struct kit *k, uint8_t index)
{
	struct ibv_ah_attr attr = kit_address(k);

	attr.grh.sgid_index = index;
	ask_for_ah(k, attr);
}

static void address_at_empty_index(struct kit *k)
{
	address_at_index(k, 15);
}

static void address_at_first_index(struct kit *k)
{
	address_at_index(k, 0);
}

/* The devices of these tests have an IPv4 address. */
static void address_of_ipv6(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);

	attr.grh.dgid = (union ibv_gid){ .raw = { [0] = 0xfd, [15] = 1 } };
	ask_for_ah(k, attr);
}

static void connect_by(struct kit *k, union ibv_gid gid, enum ibv_mtu mtu)
{
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = mtu,
				    .dest_qp_num = qp->qp_num,
				    .ah_attr = kit_address(k),
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 1 };

	attr.ah_attr.grh.dgid = gid;
	kit_to_init(qp);
	(void)ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void connect_to_group(struct kit *k)
{
	connect_by(k, kit_group(1), k->port.active_mtu);
}

static void connect_to_port(struct kit *k)
{
	connect_by(k, k->gid, k->port.active_mtu);
}

/* The port has the largest MTU if the tests have no network of their own. */
static void connect_by_4096(struct kit *k)
{
	if (k->port.active_mtu == IBV_MTU_4096)
		skip();
	connect_by(k, k->gid, IBV_MTU_4096);
}

/* Sends a datagram to a QP with an AH of this PD. */
static void send_datagram(struct kit *k, struct ibv_pd *pd, union ibv_gid gid,
			  uint32_t qpn, uint32_t qkey, uint32_t len)
{
	struct ibv_ah_attr attr = kit_address(k);
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);
	struct ibv_sge sge = kit_sge(k, 0, 0, len);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED,
					.sg_list = &sge,
					.num_sge = 1 };

	attr.grh.dgid = gid;
	wr.wr.ud.ah = ibv_create_ah(pd, &attr);
	wr.wr.ud.remote_qpn = qpn ? qpn : qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	assert_non_null(wr.wr.ud.ah);
	kit_to_init(qp);
	kit_to_rts(k, qp, 0);
	if (!ibv_post_send(qp, &wr, &bad))
		(void)kit_wait(k->cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_ah(wr.wr.ud.ah), 0);
}

static void send_to_qpn_of_group(struct kit *k)
{
	send_datagram(k, k->pd, kit_group(2), 0x123, KIT_QKEY, 8);
}

static void send_to_group(struct kit *k)
{
	send_datagram(k, k->pd, kit_group(2), 0xffffff, KIT_QKEY, 8);
}

static void send_by_other_pd(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);

	assert_non_null(pd);
	send_datagram(k, pd, k->gid, 0, KIT_QKEY, 8);
}

static void send_beyond_mtu(struct kit *k)
{
	send_datagram(k, k->pd, k->gid, 0, KIT_QKEY, (128U << k->port.active_mtu) + 8);
}

static void send_mtu(struct kit *k)
{
	send_datagram(k, k->pd, k->gid, 0, KIT_QKEY, 128U << k->port.active_mtu);
}

static void send_with_other_key(struct kit *k)
{
	send_datagram(k, k->pd, k->gid, 0, KIT_QKEY ^ 1, 8);
}

static void send_with_controlled_key(struct kit *k)
{
	send_datagram(k, k->pd, k->gid, 0, KIT_QKEY | 1U << 31, 8);
}

static void send_to_wide_qpn(struct kit *k)
{
	send_datagram(k, k->pd, k->gid, 0x1000123, KIT_QKEY, 8);
}

static void send_to_self(struct kit *k)
{
	send_datagram(k, k->pd, k->gid, 0, KIT_QKEY, 8);
}

static const struct val_case cases[] = {
	{ "addressing/no-grh", address_by_lid, address_by_gid, false },
	{ "addressing/no-dgid", address_zeros, address_by_gid, false },
	{ "addressing/hop-limit-zero", address_without_hops, address_by_gid, false },
	{ "addressing/sl-wide", address_with_sl_12, address_by_gid, false },
	{ "addressing/flow-label-wide", address_with_wide_label, address_by_gid, false },
	{ "addressing/connected-multicast", connect_to_group, connect_to_port, false },
	{ "addressing/multicast-qpn", send_to_qpn_of_group, send_to_group, false },
	{ "addressing/ah-of-other-pd", send_by_other_pd, send_to_self, false },
	{ "addressing/ud-too-long", send_beyond_mtu, send_mtu, false },
	{ "addressing/qkey-controlled", send_with_controlled_key, send_to_self, false },
	{ "addressing/qpn-wide", send_to_wide_qpn, send_to_self, false },
	{ "addressing/gid-index", address_at_empty_index, address_at_first_index, false },
	{ "addressing/gid-family", address_of_ipv6, address_by_gid, false },
	{ "addressing/path-mtu-large", connect_by_4096, connect_to_port, false },
	{ "addressing/wrong-qkey", send_with_other_key, send_with_controlled_key, false },
};
const struct val_cases addressing_cases = VAL_CASES(cases);
