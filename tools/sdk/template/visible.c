/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* visible.c - writes to the memory of a simulated GPU by RDMA, and lets a kernel count
 * how many of the new bytes it sees. It is a template: copy it, and replace its contents
 * by your own question.
 */
#include <infiniband/verbs.h>
#include <rocin/gpu.h>
#include <rocin/pcie.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BYTES = 4096,
	NEW = 0xab, /* the value that the WRITE gives each byte */
};

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "failed: %s\n", what);
	exit(2);
}

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	need(list && list[0], "no RDMA device; run me by: rocin run");
	ctx = ibv_open_device(list[0]);
	need(ctx, "ibv_open_device");
	ibv_free_device_list(list);
	return ctx;
}

/* Creates a queue pair that is connected to itself. */
static struct ibv_qp *make_loopback(struct ibv_context *ctx, struct ibv_pd *pd,
				    struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ };

	need(qp, "ibv_create_qp");
	need(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_ACCESS_FLAGS),
	     "RESET to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } },
	};
	need(!ibv_query_gid(ctx, 1, 0, &attr.ah_attr.grh.dgid), "ibv_query_gid");
	need(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "INIT to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	need(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTR to RTS");
	return qp;
}

/* Executes one request, which transfers @len bytes between @local and @remote. */
static void transfer(struct ibv_qp *qp, struct ibv_cq *cq, enum ibv_wr_opcode opcode,
		     struct ibv_mr *local, struct ibv_mr *remote, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)local->addr,
			       .length = len,
			       .lkey = local->lkey };
	struct ibv_send_wr wr = { .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { (uintptr_t)remote->addr, remote->rkey } };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int n;

	need(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	need(n == 1 && wc.status == IBV_WC_SUCCESS, "a request");
}

/* Arguments and result of the kernel. */
struct count {
	const unsigned char *bytes; /* device address */
	int seen;
};

static void count_new(void *arg)
{
	struct count *c = arg;

	for (int i = 0; i < BYTES; i++)
		c->seen += c->bytes[i] == NEW;
}

int main(void)
{
	struct ibv_context *ctx = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 2, NULL, NULL, 0);
	struct ibv_qp *qp = make_loopback(ctx, pd, cq);
	struct rn_pcie_knobs knobs = rn_pcie_live_knobs();
	struct rn_gpu *gpu = rn_gpu_open(0);
	struct rn_gpu_buffer memory;
	unsigned char *host = aligned_alloc(4096, BYTES);
	struct ibv_mr *from, *to;
	struct count count = { 0 };
	char text[256];

	need(host && rn_gpu_alloc(gpu, BYTES, 0, &memory) == 0, "rn_gpu_alloc");
	memset(host, NEW, BYTES);
	from = ibv_reg_mr(pd, host, BYTES, IBV_ACCESS_LOCAL_WRITE);
	to = ibv_reg_mr(pd, memory.bar, BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ);
	need(from && to, "ibv_reg_mr");
	transfer(qp, cq, IBV_WR_RDMA_WRITE, from, to, BYTES);
	/* The WRITE has completed, but its data may still be on its way. A READ by the
	 * same NIC pushes the data to the GPU on every kind of machine. The launch of the
	 * kernel then makes it visible inside the GPU. `rocin run --sanitize` reports
	 * what happens without the READ.
	 */
	transfer(qp, cq, IBV_WR_RDMA_READ, from, to, 1);
	count.bytes = memory.dev;
	need(rn_gpu_wait_kernel(gpu, rn_gpu_launch(gpu, count_new, &count)) == 0,
	     "the kernel");
	rn_pcie_format(&knobs, text, sizeof(text));
	printf("%d of %d bytes seen, knobs %s\n", count.seen, BYTES, text);

	ibv_destroy_qp(qp);
	ibv_dereg_mr(to);
	ibv_dereg_mr(from);
	rn_gpu_free(memory.bar);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	free(host);
	return count.seen != BYTES;
}
