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
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(k, p.qp[i], p.qp[!i]->qp_num);
	return p;
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
