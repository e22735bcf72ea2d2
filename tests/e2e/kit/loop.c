/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* loop.c - see loop.h */
#include <errno.h>
#include <string.h>

#include "loop.h"

struct ibv_context *loop_open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	EXPECT(list);
	for (unsigned i = 0; list[i] && !ctx; i++)
		if (!strncmp(ibv_get_device_name(list[i]), "rocin", 5))
			ctx = ibv_open_device(list[i]);
	EXPECT(ctx);
	ibv_free_device_list(list);
	return ctx;
}

struct ibv_qp *loop_create_qp(struct loop *l)
{
	struct ibv_qp_init_attr init = {
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 32 },
	};

	return ibv_create_qp(l->pd, &init);
}

void loop_connect(struct loop *l, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	EXPECT(!ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = dest_qpn,
				     .rq_psn = 7,
				     .max_dest_rd_atomic = 4,
				     .min_rnr_timer = 12 };
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = l->gid;
	attr.ah_attr.grh.hop_limit = 64;
	EXPECT(!ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = 7,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 4 };
	EXPECT(!ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC));
}

void loop_open(struct loop *l)
{
	*l = (struct loop){ .ctx = loop_open_device() };
	l->pd = ibv_alloc_pd(l->ctx);
	l->cq = ibv_create_cq(l->ctx, 64, NULL, NULL, 0);
	EXPECT(l->pd && l->cq);
	EXPECT(!ibv_query_gid(l->ctx, 1, 0, &l->gid));
	for (unsigned i = 0; i < 2; i++) {
		l->qp[i] = loop_create_qp(l);
		EXPECT(l->qp[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		loop_connect(l, l->qp[i], l->qp[!i]->qp_num);
}

void loop_close(struct loop *l)
{
	for (unsigned i = 0; i < 2; i++)
		EXPECT(!ibv_destroy_qp(l->qp[i]));
	EXPECT(!ibv_destroy_cq(l->cq));
	EXPECT(!ibv_dealloc_pd(l->pd));
	EXPECT(!ibv_close_device(l->ctx));
}

void loop_post_recv(struct loop *l, void *buf, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = len, .lkey = lkey };
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad;

	EXPECT(!ibv_post_recv(l->qp[1], &wr, &bad));
}

enum ibv_wc_status loop_run(struct loop *l, const struct loop_request *r,
			    struct ibv_wc *recv_wc)
{
	struct ibv_sge sge = { .addr = (uintptr_t)r->local,
			       .length = r->len,
			       .lkey = r->lkey };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = r->opcode,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	bool sent = false, received = recv_wc == NULL;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)r->remote;
	wr.wr.rdma.rkey = r->rkey;
	if (r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)r->remote;
		wr.wr.atomic.rkey = r->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	EXPECT(!ibv_post_send(l->qp[0], &wr, &bad));
	while (!sent || !received) {
		int n = ibv_poll_cq(l->cq, 1, &wc);

		EXPECT(n >= 0);
		if (n == 1 && wc.wr_id == 1) {
			sent = true;
			status = wc.status;
		} else if (n == 1) {
			received = true;
			if (recv_wc)
				*recv_wc = wc;
		}
	}
	return status;
}
