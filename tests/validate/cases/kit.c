/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kit.c - see cases.h. */
#include "cases.h"

struct ibv_qp *val_create_qp(struct kit *k, struct ibv_cq *cq, uint32_t send_wr,
			     uint32_t recv_wr)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { .max_send_wr = send_wr,
						  .max_recv_wr = recv_wr,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(k->pd, &attr);

	assert_non_null(qp);
	return qp;
}

struct val_pair val_pair(struct kit *k)
{
	struct val_pair p;

	for (unsigned i = 0; i < 2; i++) {
		p.qp[i] = val_create_qp(k, k->cq, KIT_WR, KIT_WR);
		kit_to_init(p.qp[i]);
	}
	val_connect_pair(k, &p);
	return p;
}

struct val_pair val_pair_of_srq(struct kit *k, struct ibv_srq *srq, uint32_t send_wr)
{
	struct ibv_qp_init_attr init = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .srq = srq,
					 .cap = { .max_send_wr = send_wr,
						  .max_send_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct val_pair p;

	for (unsigned i = 0; i < 2; i++) {
		p.qp[i] = ibv_create_qp(k->pd, &init);
		assert_non_null(p.qp[i]);
		kit_to_init(p.qp[i]);
	}
	return p;
}

void val_connect_pair(struct kit *k, const struct val_pair *p)
{
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(k, p->qp[i], p->qp[!i]->qp_num);
}

void val_destroy_pair(struct val_pair *p)
{
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(p->qp[i]), 0);
}

int val_write(struct kit *k, struct ibv_qp *qp, unsigned flags, unsigned count)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	int rc = 0;

	for (unsigned i = 0; i < count && !rc; i++) {
		struct ibv_send_wr *bad,
			wr = { .wr_id = i,
			       .opcode = IBV_WR_RDMA_WRITE,
			       .send_flags = flags,
			       .sg_list = &sge,
			       .num_sge = 1,
			       .wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 8).addr,
					    .rkey = k->mr->rkey } };

		rc = ibv_post_send(qp, &wr, &bad);
	}
	return rc;
}

void val_refused(int rc)
{
	assert_int_not_equal(rc, 0);
}

int val_send(struct kit *k, struct ibv_qp *qp, unsigned flags, uint32_t len)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, len);
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_SEND, .send_flags = flags, .sg_list = &sge, .num_sge = 1
	};

	return ibv_post_send(qp, &wr, &bad);
}

struct val_end val_end(const struct kit *k)
{
	return (struct val_end){ .rq_psn = 7,
				 .sq_psn = 7,
				 .mtu = k->port.active_mtu,
				 .rd_atomic = 4,
				 .dest_rd_atomic = 4,
				 .timeout = 14,
				 .retry_cnt = 7,
				 .rnr_retry = 7,
				 .rnr_timer = 1,
				 .access = IBV_ACCESS_REMOTE_WRITE |
					   IBV_ACCESS_REMOTE_READ |
					   IBV_ACCESS_REMOTE_ATOMIC };
}

static void to_state(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0);
}

void val_connect(struct kit *k, struct ibv_qp *qp, uint32_t dest_qpn,
		 const struct val_end *end)
{
	bool is_rc = qp->qp_type == IBV_QPT_RC;

	to_state(qp,
		 (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT,
				       .port_num = 1,
				       .qp_access_flags = end->access },
		 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	to_state(qp,
		 (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				       .path_mtu = end->mtu,
				       .dest_qp_num = dest_qpn,
				       .rq_psn = end->rq_psn,
				       .ah_attr = kit_address(k),
				       .max_dest_rd_atomic = end->dest_rd_atomic,
				       .min_rnr_timer = end->rnr_timer },
		 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			 (is_rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	to_state(qp,
		 (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				       .sq_psn = end->sq_psn,
				       .timeout = end->timeout,
				       .retry_cnt = end->retry_cnt,
				       .rnr_retry = end->rnr_retry,
				       .max_rd_atomic = end->rd_atomic },
		 IBV_QP_SQ_PSN |
			 (is_rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					  IBV_QP_MAX_QP_RD_ATOMIC
				: 0));
}

struct val_pair val_pair_of(struct kit *k, const struct val_end end[2],
			    struct ibv_cq *const cq[2])
{
	struct val_pair p;

	for (unsigned i = 0; i < 2; i++)
		p.qp[i] = val_create_qp(k, cq[i], KIT_WR, KIT_WR);
	for (unsigned i = 0; i < 2; i++)
		val_connect(k, p.qp[i], p.qp[!i]->qp_num, &end[i]);
	return p;
}

struct val_pair val_impatient_pair(struct kit *k)
{
	struct val_end end[2] = { val_end(k), val_end(k) };
	struct ibv_cq *const cqs[2] = { k->cq, k->cq };

	end[0].timeout = 10;
	end[0].retry_cnt = 1;
	return val_pair_of(k, end, cqs);
}
