/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_connect.c - memory, completion queues and connected queue pairs of a test. */
#include <errno.h>
#include <string.h>

#include "live.h"

enum {
	PORT = 1,
	/* 0.5 s, and so 4 s for all tries: nothing is lost here, but on a busy machine
	 * the peer may not run for the 0.5 s that 14 gave it.
	 */
	ACK_TIMEOUT_CODE = 17,
	ACK_TIMEOUT_CODE_LOSSY = 11, /* 8 ms */
	RNR_TIMER_CODE = 12,	     /* 0.64 ms */
	INLINE_WANTED = 64,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

/* ---- memory ---- */

bool rn_live_is_relaxed(const struct rn_live *l, unsigned loc)
{
	return l->test->location[loc].relaxed ||
	       (l->request->setup.relaxed >> loc & 1) != 0;
}

uint8_t *rn_live_address(const struct rn_live *l, unsigned loc)
{
	const struct rn_live_place *p = &l->map.place[loc];

	return l->memory[p->memory] + p->offset;
}

uint64_t rn_live_name(const struct rn_live *l, unsigned loc)
{
	const struct rn_live_place *p = &l->map.place[loc];

	return l->shared->address[p->memory] + p->offset;
}

struct ibv_mr *rn_live_mr(const struct rn_live *l, unsigned nic, unsigned loc)
{
	return l->mr[nic][l->map.place[loc].memory][rn_live_is_relaxed(l, loc)];
}

static int take_gpu_memory(struct rn_live *l, unsigned memory)
{
	unsigned number = l->map.memory[memory].gpu;
	struct rn_gpu_buffer *buf = &l->gpu_memory[number];
	struct rn_gpu *gpu = l->lib.rn_gpu_open((int)number);

	if (!gpu)
		return rn_live_fail(l, "GPU %u: %s", number, l->lib.rn_gpu_last_error());
	if (!buf->bar && l->lib.rn_gpu_alloc(gpu, RN_LIVE_ARENA, 0, buf))
		return rn_live_fail(l, "memory of GPU %u: %s", number,
				    l->lib.rn_gpu_last_error());
	l->memory[memory] = buf->bar;
	l->device_memory[memory] = buf->dev;
	return 0;
}

static int take_memory(struct rn_live *l)
{
	for (unsigned i = 0; i < l->map.memories; i++) {
		const struct rn_live_memory *m = &l->map.memory[i];

		l->memory[i] = l->device_memory[i] = NULL;
		if (!rn_live_plays(l, m->node))
			continue;
		if (m->agent == RN_AGENT_CPU)
			l->memory[i] = l->device_memory[i] = l->shared->host[m->node];
		else if (rn_agent_is_gpu(m->agent) && take_gpu_memory(l, i))
			return -1;
		l->shared->address[i] = (uintptr_t)l->memory[i];
	}
	return 0;
}

static int register_memory(struct rn_live *l, unsigned nic, unsigned memory)
{
	unsigned agent = l->map.memory[memory].agent;
	struct ibv_pd *pd = l->device[nic].pd;
	unsigned access = ACCESS | l->device[nic].flush_access;
	void *at = l->memory[memory];

	/* No other NIC of the node has a way to name it. */
	if (rn_agent_is_nic(agent))
		return agent == l->map.nic[nic].agent ? rn_live_take_dm(l, nic, memory)
						      : 0;
	for (unsigned relaxed = 0; relaxed < 2; relaxed++) {
		struct ibv_mr *mr =
			relaxed ? ibv_reg_mr(pd, at, RN_LIVE_ARENA,
					     access | IBV_ACCESS_RELAXED_ORDERING)
				: ibv_reg_mr(pd, at, RN_LIVE_ARENA, access);

		if (!mr)
			return rn_live_fail(l, "ibv_reg_mr: %s", strerror(errno));
		l->mr[nic][memory][relaxed] = mr;
		l->shared->rkey[nic][memory][relaxed] = mr->rkey;
	}
	return 0;
}

/* Every NIC of this worker, every memory of its node. */
static int register_all(struct rn_live *l)
{
	const struct rn_live_map *map = &l->map;

	for (unsigned i = 0; i < map->nics; i++) {
		if (!rn_live_plays(l, map->nic[i].node))
			continue;
		if (!rn_live_device(l, i))
			return -1;
		for (unsigned j = 0; j < map->memories; j++)
			if (map->memory[j].node == map->nic[i].node &&
			    register_memory(l, i, j))
				return -1;
	}
	return 0;
}

/* ---- queues ---- */

static int create_cqs(struct rn_live *l)
{
	const struct rn_litmus_test *t = l->test;

	for (unsigned i = 0; i < t->cqs; i++) {
		unsigned nic = rn_live_find_nic(&l->map, t->cq[i].node, t->cq[i].nic);

		if (!rn_live_plays(l, t->cq[i].node))
			continue;
		l->cq[i] =
			ibv_create_cq(l->device[nic].ctx,
				      2 * RN_LIVE_DEPTH * RN_LITMUS_QPS, NULL, NULL, 0);
		if (!l->cq[i])
			return rn_live_fail(l, "ibv_create_cq: %s", strerror(errno));
	}
	return 0;
}

static unsigned nic_of(const struct rn_live *l, unsigned qp, unsigned side)
{
	const struct rn_litmus_qp *q = &l->test->qp[qp];

	return side ? rn_live_find_nic(&l->map, q->peer, q->peer_nic)
		    : rn_live_find_nic(&l->map, q->node, q->nic);
}

/* The end that only sends needs a queue for receives too, and the other way round. */
static int create_end(struct rn_live *l, unsigned qp, unsigned side)
{
	const struct rn_litmus_qp *q = &l->test->qp[qp];
	struct rn_live_device *d = &l->device[nic_of(l, qp, side)];
	struct ibv_cq *cq = l->cq[side ? q->recv_cq : q->send_cq];
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = q->uc ? IBV_QPT_UC : IBV_QPT_RC,
		.cap = { .max_send_wr = RN_LIVE_DEPTH,
			 .max_recv_wr = RN_LIVE_DEPTH,
			 .max_send_sge = RN_LITMUS_ELEMENTS,
			 .max_recv_sge = RN_LITMUS_ELEMENTS,
			 .max_inline_data = INLINE_WANTED },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = PORT,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC |
						       d->flush_access };
	struct ibv_qp *created = ibv_create_qp(d->pd, &init);

	if (!created) {
		init.cap.max_inline_data = 0;
		created = ibv_create_qp(d->pd, &init);
	}
	if (!created)
		return rn_live_fail(l, "ibv_create_qp: %s", strerror(errno));
	l->qp[qp].side[side] = created;
	d->max_inline = init.cap.max_inline_data;
	l->shared->end[qp][side] = (struct rn_live_end){
		.gid = d->gid,
		.lid = d->lid,
		.qpn = created->qp_num,
		.psn = (created->qp_num * 0x9e3779u) & 0xffffff,
		.mtu = d->mtu,
	};
	if (q->uc)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	errno = ibv_modify_qp(created, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS);
	return errno ? rn_live_fail(l, "ibv_modify_qp to INIT: %s", strerror(errno)) : 0;
}

static int to_rtr(struct rn_live *l, unsigned qp, unsigned side)
{
	const struct rn_live_device *d = &l->device[nic_of(l, qp, side)];
	const struct rn_live_end *peer = &l->shared->end[qp][!side];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = d->mtu < peer->mtu ? d->mtu : peer->mtu,
				    .dest_qp_num = peer->qpn,
				    .rq_psn = peer->psn,
				    .max_dest_rd_atomic = d->rd_atomic,
				    .min_rnr_timer = RNR_TIMER_CODE };
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		   IBV_QP_RQ_PSN;

	attr.ah_attr.port_num = PORT;
	attr.ah_attr.dlid = peer->lid;
	attr.ah_attr.is_global = d->is_ethernet;
	attr.ah_attr.grh.dgid = peer->gid;
	attr.ah_attr.grh.sgid_index = d->gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	if (!l->test->qp[qp].uc)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(l->qp[qp].side[side], &attr, mask);
}

static int to_rts(struct rn_live *l, unsigned qp, unsigned side)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = l->shared->end[qp][side].psn,
				    .timeout = l->request->is_lossy
						       ? ACK_TIMEOUT_CODE_LOSSY
						       : ACK_TIMEOUT_CODE,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic =
					    l->device[nic_of(l, qp, side)].rd_atomic };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (!l->test->qp[qp].uc)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(l->qp[qp].side[side], &attr, mask);
}

static unsigned node_of(const struct rn_live *l, unsigned qp, unsigned side)
{
	return side ? l->test->qp[qp].peer : l->test->qp[qp].node;
}

static int create_ends(struct rn_live *l)
{
	for (unsigned i = 0; i < l->test->qps; i++)
		for (unsigned side = 0; side < 2; side++)
			if (rn_live_plays(l, node_of(l, i, side)) &&
			    create_end(l, i, side))
				return -1;
	return 0;
}

static int connect_ends(struct rn_live *l)
{
	for (unsigned i = 0; i < l->test->qps; i++)
		for (unsigned side = 0; side < 2; side++) {
			if (!l->qp[i].side[side])
				continue;
			errno = to_rtr(l, i, side);
			if (!errno)
				errno = to_rts(l, i, side);
			if (errno)
				return rn_live_fail(l, "ibv_modify_qp: %s",
						    strerror(errno));
		}
	return 0;
}

/* Receives that each run uses up, and the one of the SEND that ends it. */
static void count_receives(struct rn_live *l)
{
	const struct rn_litmus_test *t = l->test;

	for (unsigned i = 0; i < t->qps; i++)
		l->qp[i].recvs = 1;
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++) {
			const struct rn_litmus_instr *in = &t->thread[i].instr[j];

			if (in->op == RN_LITMUS_SEND || in->op == RN_LITMUS_IMM)
				l->qp[in->qp].recvs++;
		}
}

int rn_live_connect(struct rn_live *l)
{
	count_receives(l);
	if (take_memory(l) || register_all(l) || create_cqs(l) || create_ends(l))
		return -1;
	pthread_barrier_wait(&l->shared->workers);
	if (connect_ends(l) || rn_live_drive_open(l))
		return -1;
	pthread_barrier_wait(&l->shared->workers);
	return 0;
}

void rn_live_disconnect(struct rn_live *l)
{
	rn_live_drive_close(l);
	for (unsigned i = 0; i < RN_LITMUS_QPS; i++)
		for (unsigned side = 0; side < 2; side++)
			if (l->qp[i].side[side])
				ibv_destroy_qp(l->qp[i].side[side]);
	for (unsigned i = 0; i < RN_LITMUS_CQS; i++)
		if (l->cq[i])
			ibv_destroy_cq(l->cq[i]);
	for (unsigned i = 0; i < RN_LIVE_NICS; i++)
		for (unsigned j = 0; j < RN_LIVE_MEMORIES; j++)
			for (unsigned k = 0; k < 2; k++)
				if (l->mr[i][j][k])
					ibv_dereg_mr(l->mr[i][j][k]);
	rn_live_free_dm(l);
	memset(l->qp, 0, sizeof(l->qp));
	memset(l->cq, 0, sizeof(l->cq));
	memset(l->mr, 0, sizeof(l->mr));
}
