/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_link.c - see bench_link.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_link.h"

enum {
	PORT = 1,
	GID_INDEX = 0,
	RD_ATOMIC_MAX = 16,
	ACK_TIMEOUT_CODE = 14, /* 67 ms */
	RNR_TIMER_CODE = 12,   /* 0.64 ms */
};

/* Of this process; shared by its links. */
static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
	enum ibv_mtu mtu;
	uint8_t rd_atomic;
	unsigned links;
} device;

/* What the two ends tell each other. */
struct address {
	union ibv_gid gid;
	uint64_t va;
	uint32_t rkey, qpn, psn;
};

static struct ibv_context *open_first_rocin(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (unsigned i = 0; list && list[i] && !ctx; i++)
		if (!strncmp(ibv_get_device_name(list[i]), "rocin", 5))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static int open_device(struct rn_bench_end *end)
{
	struct ibv_port_attr port;
	struct ibv_device_attr attr;

	device.links++;
	if (device.links > 1)
		return 0;
	device.ctx = open_first_rocin();
	if (!device.ctx)
		return rn_bench_fail(end, "libibverbs opens no Rocin device; "
					  "`rocin doctor` says why");
	if (ibv_query_device(device.ctx, &attr) ||
	    ibv_query_port(device.ctx, PORT, &port) ||
	    ibv_query_gid(device.ctx, PORT, GID_INDEX, &device.gid))
		return rn_bench_fail(end, "%s cannot be queried: %s",
				     ibv_get_device_name(device.ctx->device),
				     strerror(errno));
	if (port.state != IBV_PORT_ACTIVE)
		return rn_bench_fail(end, "%s is down",
				     ibv_get_device_name(device.ctx->device));
	device.mtu = port.active_mtu;
	device.rd_atomic =
		(uint8_t)(attr.max_qp_rd_atom < RD_ATOMIC_MAX ? attr.max_qp_rd_atom
							      : RD_ATOMIC_MAX);
	device.pd = ibv_alloc_pd(device.ctx);
	if (!device.pd)
		return rn_bench_fail(end, "ibv_alloc_pd: %s", strerror(errno));
	return 0;
}

static void close_device(void)
{
	if (--device.links > 0)
		return;
	if (device.pd)
		ibv_dealloc_pd(device.pd);
	if (device.ctx)
		ibv_close_device(device.ctx);
	device.pd = NULL;
	device.ctx = NULL;
}

static int create(struct rn_bench_end *end, const struct rn_bench_link_cfg *cfg,
		  struct rn_bench_link *link)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = cfg->tx_depth,
			 .max_recv_wr = cfg->rx_depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = cfg->inline_len },
	};

	link->buf = aligned_alloc(4096, (cfg->buf_len + 4095) & ~(size_t)4095);
	if (!link->buf)
		return rn_bench_fail(end, "no memory");
	memset(link->buf, 0, cfg->buf_len);
	link->mr = ibv_reg_mr(device.pd, link->buf, cfg->buf_len,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ);
	if (!link->mr)
		return rn_bench_fail(end, "ibv_reg_mr: %s", strerror(errno));
	link->cq = ibv_create_cq(device.ctx, (int)(cfg->tx_depth + cfg->rx_depth), NULL,
				 NULL, 0);
	if (!link->cq)
		return rn_bench_fail(end, "ibv_create_cq: %s", strerror(errno));
	init.send_cq = init.recv_cq = link->cq;
	link->qp = ibv_create_qp(device.pd, &init);
	link->has_inline = link->qp && cfg->inline_len;
	if (!link->qp) {
		init.cap.max_inline_data = 0;
		link->qp = ibv_create_qp(device.pd, &init);
	}
	if (!link->qp)
		return rn_bench_fail(end, "ibv_create_qp: %s", strerror(errno));
	return 0;
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = PORT,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct ibv_qp *qp, const struct address *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = device.mtu,
				    .dest_qp_num = peer->qpn,
				    .rq_psn = peer->psn,
				    .max_dest_rd_atomic = device.rd_atomic,
				    .min_rnr_timer = RNR_TIMER_CODE };

	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = PORT;
	attr.ah_attr.grh.dgid = peer->gid;
	attr.ah_attr.grh.sgid_index = GID_INDEX;
	attr.ah_attr.grh.hop_limit = 64;
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp, uint32_t psn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = psn,
				    .timeout = ACK_TIMEOUT_CODE,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = device.rd_atomic };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

int rn_bench_link_open(struct rn_bench_end *end, const struct rn_bench_link_cfg *cfg,
		       struct rn_bench_link *link)
{
	struct address mine = { 0 }, peer;
	int rc;

	*link = (struct rn_bench_link){ .counted = true };
	if (open_device(end) || create(end, cfg, link))
		return -1;
	end->path_mtu = 128u << device.mtu;
	mine.gid = device.gid;
	mine.va = (uintptr_t)link->buf;
	mine.rkey = link->mr->rkey;
	mine.qpn = link->qp->qp_num;
	mine.psn = (link->qp->qp_num * 0x9e3779u + (uint32_t)getpid()) & 0xffffff;
	if (rn_bench_exchange(end, &mine, &peer, sizeof(mine)))
		return -1;
	link->remote_va = peer.va;
	link->remote_rkey = peer.rkey;
	rc = to_init(link->qp);
	if (!rc)
		rc = to_rtr(link->qp, &peer);
	if (!rc)
		rc = to_rts(link->qp, mine.psn);
	if (rc)
		return rn_bench_fail(end, "ibv_modify_qp: %s", strerror(rc));
	return rn_bench_meet(end);
}

void rn_bench_link_close(struct rn_bench_link *link)
{
	if (link->qp)
		ibv_destroy_qp(link->qp);
	if (link->cq)
		ibv_destroy_cq(link->cq);
	if (link->mr)
		ibv_dereg_mr(link->mr);
	free(link->buf);
	if (link->counted)
		close_device();
	*link = (struct rn_bench_link){ 0 };
}
