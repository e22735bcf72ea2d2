/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_kit.h - two connected queue pairs of one process, for programs that move GPU
 * memory by verbs.
 */
#ifndef GPU_PROGRAMS_RDMA_KIT_H
#define GPU_PROGRAMS_RDMA_KIT_H

#include <infiniband/verbs.h>

#include "kit.h"

struct rdma_pair {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
};

enum {
	RDMA_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

static inline void rdma_fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline void rdma_connect(const struct rdma_pair *p, struct ibv_qp *qp,
				const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = RDMA_ACCESS };
	union ibv_gid gid;

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_ACCESS_FLAGS) ||
	    ibv_query_gid(p->verbs, 1, 0, &gid))
		rdma_fail("to INIT");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = peer->qp_num,
				     .max_dest_rd_atomic = 1,
				     .min_rnr_timer = 12,
				     .ah_attr = {
					     .is_global = 1,
					     .port_num = 1,
					     .grh = { .dgid = gid, .hop_limit = 64 } } };
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER))
		rdma_fail("to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC))
		rdma_fail("to RTS");
}

static inline void rdma_open(struct rdma_pair *p)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = 16,
						  .max_recv_wr = 16,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };

	if (!devices || !devices[0] || !(p->verbs = ibv_open_device(devices[0])))
		rdma_fail("no device");
	ibv_free_device_list(devices);
	p->pd = ibv_alloc_pd(p->verbs);
	p->cq = ibv_create_cq(p->verbs, 64, NULL, NULL, 0);
	if (!p->pd || !p->cq)
		rdma_fail("ibv_create_cq");
	init.send_cq = init.recv_cq = p->cq;
	for (unsigned i = 0; i < 2; i++)
		if (!(p->qp[i] = ibv_create_qp(p->pd, &init)))
			rdma_fail("ibv_create_qp");
	rdma_connect(p, p->qp[0], p->qp[1]);
	rdma_connect(p, p->qp[1], p->qp[0]);
}

static inline struct ibv_mr *rdma_register(const struct rdma_pair *p, CUdeviceptr ptr,
					   size_t len)
{
	return ibv_reg_mr(p->pd, (void *)(uintptr_t)ptr, len, RDMA_ACCESS);
}

/* Waits for one completion. */
static inline enum ibv_wc_status rdma_wait(const struct rdma_pair *p)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(p->cq, 1, &wc)) == 0)
		;
	if (n < 0)
		rdma_fail("ibv_poll_cq");
	return wc.status;
}

/* Posts a request of QP 0 with one SGE, and waits for its completion. */
static inline enum ibv_wc_status
rdma_do(const struct rdma_pair *p, enum ibv_wr_opcode opcode, const struct ibv_mr *local,
	uint64_t local_at, const struct ibv_mr *remote, uint64_t remote_at, uint32_t len)
{
	struct ibv_sge sge = { local_at, len, local->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode }, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote_at;
		wr.wr.atomic.rkey = remote->rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = remote_at;
		wr.wr.rdma.rkey = remote->rkey;
	}
	if (ibv_post_send(p->qp[0], &wr, &bad))
		rdma_fail("ibv_post_send");
	return rdma_wait(p);
}

#endif /* GPU_PROGRAMS_RDMA_KIT_H */
