/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_calls.c - calls on queue pairs, and what they complete with. */
#include <arpa/inet.h>
#include <errno.h>

#include "agent.h"

static enum ibv_mtu mtu_of(uint64_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && bytes > UINT64_C(128) << mtu)
		mtu = (enum ibv_mtu)(mtu + 1);
	return mtu;
}

int rn_agent_modify(struct rn_agent *a, struct rn_conform_line *l)
{
	const uint64_t *n = l->n;
	struct ibv_qp_attr attr = {
		.qp_state = (enum ibv_qp_state)n[RN_CONFORM_STATE],
		.path_mtu = mtu_of(n[RN_CONFORM_MTU]),
		.qkey = (uint32_t)n[RN_CONFORM_QKEY],
		.rq_psn = (uint32_t)n[RN_CONFORM_RQ_PSN],
		.sq_psn = (uint32_t)n[RN_CONFORM_SQ_PSN],
		.dest_qp_num = (uint32_t)n[RN_CONFORM_DEST],
		.qp_access_flags = (unsigned)n[RN_CONFORM_ACCESS],
		.ah_attr = { .grh = { .dgid = a->tester,
				      .sgid_index = a->gid_index,
				      .hop_limit = 64 },
			     .is_global = 1,
			     .port_num = 1 },
		.port_num = 1,
		.max_rd_atomic = (uint8_t)n[RN_CONFORM_RD],
		.max_dest_rd_atomic = (uint8_t)n[RN_CONFORM_DEST_RD],
		.min_rnr_timer = (uint8_t)n[RN_CONFORM_RNR_TIMER],
		.timeout = (uint8_t)n[RN_CONFORM_TIMEOUT],
		.retry_cnt = (uint8_t)n[RN_CONFORM_RETRY],
		.rnr_retry = (uint8_t)n[RN_CONFORM_RNR_RETRY],
		.en_sqd_async_notify = n[RN_CONFORM_DRAIN] != 0,
	};

	if (l->count != RN_CONFORM_ATTRS || n[0] >= a->qps)
		return EPROTO;
	return ibv_modify_qp(a->qp[n[0]], &attr, (int)n[1]);
}

int rn_agent_post(struct rn_agent *a, struct rn_conform_line *l)
{
	const uint64_t *n = l->n;
	struct ibv_sge sge = { .addr = n[RN_CONFORM_ADDRESS],
			       .length = (uint32_t)n[RN_CONFORM_LENGTH],
			       .lkey = (uint32_t)n[RN_CONFORM_LKEY] };
	struct ibv_send_wr wr = { .wr_id = n[RN_CONFORM_ID],
				  .sg_list = &sge,
				  .num_sge = sge.length ? 1 : 0,
				  .opcode = (enum ibv_wr_opcode)n[RN_CONFORM_OPCODE],
				  .send_flags = (unsigned)n[RN_CONFORM_FLAGS] },
			   *bad;

	/* Inline bytes are read by the library: this process must not be led astray. */
	if (l->count != RN_CONFORM_WRS || n[0] >= a->qps ||
	    wr.send_flags & IBV_SEND_INLINE)
		return EPROTO;
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = n[RN_CONFORM_REMOTE];
		wr.wr.atomic.rkey = (uint32_t)n[RN_CONFORM_RKEY];
		wr.wr.atomic.compare_add = n[RN_CONFORM_COMPARE_ADD];
		wr.wr.atomic.swap = n[RN_CONFORM_SWAP];
	} else {
		wr.wr.rdma.remote_addr = n[RN_CONFORM_REMOTE];
		wr.wr.rdma.rkey = (uint32_t)n[RN_CONFORM_RKEY];
	}
	if (wr.opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = (uint32_t)n[RN_CONFORM_IMM];
	else
		wr.imm_data = htonl((uint32_t)n[RN_CONFORM_IMM]);
	return ibv_post_send(a->qp[n[0]], &wr, &bad);
}

int rn_agent_recv(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_sge sge = { .addr = l->n[2],
			       .length = (uint32_t)l->n[3],
			       .lkey = (uint32_t)l->n[4] };
	struct ibv_recv_wr wr = { .wr_id = l->n[1],
				  .sg_list = &sge,
				  .num_sge = sge.length ? 1 : 0 },
			   *bad;

	if (l->count != 5 || l->n[0] >= a->qps)
		return EPROTO;
	return ibv_post_recv(a->qp[l->n[0]], &wr, &bad);
}

static bool poll_cq(struct rn_agent *a, unsigned queue, struct rn_conform_line *l)
{
	struct ibv_wc wc;

	if (!a->cq[queue] || ibv_poll_cq(a->cq[queue], 1, &wc) != 1)
		return false;
	l->count = 10;
	l->n[0] = RN_CONFORM_WC;
	l->n[1] = queue;
	l->n[2] = wc.wr_id;
	l->n[3] = wc.qp_num;
	l->n[4] = wc.byte_len;
	l->n[5] =
		wc.wc_flags & IBV_WC_WITH_INV ? wc.invalidated_rkey : ntohl(wc.imm_data);
	l->n[6] = wc.src_qp;
	l->n[7] = wc.status;
	l->n[8] = wc.opcode;
	l->n[9] = wc.wc_flags;
	return true;
}

static bool take_comp(struct rn_agent *a, unsigned queue, struct rn_conform_line *l)
{
	struct ibv_cq *cq;
	void *context;

	if (!a->channel[queue] || ibv_get_cq_event(a->channel[queue], &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	l->count = 2;
	l->n[0] = RN_CONFORM_COMP;
	l->n[1] = queue;
	return true;
}

/* Events of queue pairs; those of the port are of no interest. */
static bool take_event(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_async_event ev;
	bool found;

	if (ibv_get_async_event(a->ctx, &ev))
		return false;
	found = (ev.event_type >= IBV_EVENT_QP_FATAL &&
		 ev.event_type <= IBV_EVENT_SQ_DRAINED) ||
		ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
	if (found) {
		l->count = 3;
		l->n[0] = RN_CONFORM_EVENT;
		l->n[1] = ev.element.qp->qp_num;
		l->n[2] = ev.event_type;
	}
	ibv_ack_async_event(&ev);
	return found;
}

int rn_agent_poll(struct rn_agent *a, struct rn_conform_line *l)
{
	l->count = 1;
	l->n[0] = RN_CONFORM_NOTHING;
	if (!poll_cq(a, 0, l) && !poll_cq(a, 1, l) && !take_comp(a, 0, l) &&
	    !take_comp(a, 1, l))
		take_event(a, l);
	return 0;
}
