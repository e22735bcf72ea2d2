/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* extended.c - requests that are built by ibv_wr_start() and what follows are judged as
 * those of ibv_post_send(): cases of rules that have another case in the file of their
 * category.
 */
#include "cases.h"

enum {
	MANY = 40, /* requests of a list: more than the layer has room for without
		      malloc() */
};

static struct ibv_qp *create_qp(struct kit *k, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { .max_send_wr = KIT_WR,
			 .max_recv_wr = KIT_WR,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = KIT_INLINE },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_RC)
		attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE;
	qp = ibv_create_qp_ex(k->ctx, &attr);
	assert_non_null(qp);
	return qp;
}

/* ------------------------------------------------------------------ inline data */
/* Posts one list of WRITEs with inline data: the first is of @len bytes, and 32 of them
 * would lie in the buffer; the others are of 8.
 */
static void write_list(struct kit *k, uint32_t len)
{
	struct val_end end = val_end(k);
	struct ibv_qp *qp = create_qp(k, IBV_QPT_RC),
		      *peer = val_create_qp(k, k->cq, 1, 1);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	uint64_t at = (uintptr_t)k->buf + KIT_BUF_LEN - 32;

	val_connect(k, qp, peer->qp_num, &end);
	val_connect(k, peer, qp->qp_num, &end);
	ibv_wr_start(ex);
	for (unsigned i = 0; i < MANY; i++) {
		ex->wr_id = i;
		ex->wr_flags = i == 0 || i + 1 == MANY ? IBV_SEND_SIGNALED : 0;
		ibv_wr_rdma_write(ex, k->mr->rkey, at);
		ibv_wr_set_inline_data(ex, k->buf, i ? 8 : len);
	}
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(kit_wait(k->cq).status,
			 len <= 32 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
	if (len <= 32)
		assert_int_equal(kit_wait(k->cq).wr_id, MANY - 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(peer), 0);
}

static void write_beyond_mr(struct kit *k)
{
	write_list(k, 64);
}

static void write_within_mr(struct kit *k)
{
	write_list(k, 32);
}

/* -------------------------------------------------------------------- datagrams */
struct datagram {
	struct ibv_pd *pd; /* of the address handle */
	union ibv_gid gid;
	uint32_t qpn; /* 0: that of the sender */
	uint32_t qkey;
	bool destroys_ah; /* before the completion is polled */
	bool is_gone;	  /* the address handle is destroyed before the post */
};

static void send_datagram(struct kit *k, struct datagram d)
{
	struct ibv_ah_attr attr = kit_address(k);
	struct ibv_qp *qp = create_qp(k, IBV_QPT_UD);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_ah *ah;

	attr.grh.dgid = d.gid;
	ah = ibv_create_ah(d.pd, &attr);
	assert_non_null(ah);
	kit_to_init(qp);
	kit_to_rts(k, qp, 0);
	if (d.is_gone)
		assert_int_equal(ibv_destroy_ah(ah), 0);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, d.qpn ? d.qpn : qp->qp_num, d.qkey);
	ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
	if (!ibv_wr_complete(ex) && !d.destroys_ah)
		(void)kit_wait(k->cq);
	if (!d.is_gone)
		assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void send_to_qpn_of_group(struct kit *k)
{
	send_datagram(k, (struct datagram){ .pd = k->pd,
					    .gid = kit_group(3),
					    .qpn = 0x123,
					    .qkey = KIT_QKEY });
}

static void send_with_controlled_key(struct kit *k)
{
	send_datagram(k, (struct datagram){ .pd = k->pd,
					    .gid = k->gid,
					    .qkey = KIT_QKEY | 1U << 31 });
}

static void send_by_other_pd(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);

	assert_non_null(pd);
	send_datagram(k, (struct datagram){ .pd = pd, .gid = k->gid, .qkey = KIT_QKEY });
}

static void destroy_ah_early(struct kit *k)
{
	send_datagram(k, (struct datagram){ .pd = k->pd,
					    .gid = k->gid,
					    .qkey = KIT_QKEY,
					    .destroys_ah = true });
}

static void send_by_gone_ah(struct kit *k)
{
	send_datagram(k, (struct datagram){ .pd = k->pd,
					    .gid = k->gid,
					    .qkey = KIT_QKEY,
					    .is_gone = true });
}

static void send_to_self(struct kit *k)
{
	send_datagram(k,
		      (struct datagram){ .pd = k->pd, .gid = k->gid, .qkey = KIT_QKEY });
}

static const struct val_case cases[] = {
	{ "memory/remote-outside-mr", write_beyond_mr, write_within_mr, false },
	{ "addressing/multicast-qpn", send_to_qpn_of_group, send_to_self, false },
	{ "addressing/qkey-controlled", send_with_controlled_key, send_to_self, false },
	{ "addressing/ah-of-other-pd", send_by_other_pd, send_to_self, false },
	{ "life/ah-in-use", destroy_ah_early, send_to_self, false },
	{ "life/use-after-destroy", send_by_gone_ah, send_to_self, false },
};
const struct val_cases extended_cases = VAL_CASES(cases);
