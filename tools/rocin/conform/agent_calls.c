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

struct ibv_ah_attr rn_agent_path(const struct rn_agent *a, const union ibv_gid *to)
{
	return (struct ibv_ah_attr){
		.grh = { .dgid = *to,
			 .sgid_index = (uint8_t)a->gid_index[rn_agent_family(a)],
			 .hop_limit = 64 },
		.is_global = 1,
		.port_num = 1,
	};
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
		.ah_attr = rn_agent_path(a, &a->tester),
		.port_num = 1,
		.max_rd_atomic = (uint8_t)n[RN_CONFORM_RD],
		.max_dest_rd_atomic = (uint8_t)n[RN_CONFORM_DEST_RD],
		.min_rnr_timer = (uint8_t)n[RN_CONFORM_RNR_TIMER],
		.timeout = (uint8_t)n[RN_CONFORM_TIMEOUT],
		.retry_cnt = (uint8_t)n[RN_CONFORM_RETRY],
		.rnr_retry = (uint8_t)n[RN_CONFORM_RNR_RETRY],
		.en_sqd_async_notify = n[RN_CONFORM_DRAIN] != 0,
		.alt_ah_attr =
			rn_agent_path(a, n[RN_CONFORM_ALT] ? &a->other : &a->tester),
		.alt_port_num = 1,
		.alt_timeout = (uint8_t)n[RN_CONFORM_ALT_TIMEOUT],
		.cur_qp_state = (enum ibv_qp_state)n[RN_CONFORM_CUR],
		.path_mig_state = (enum ibv_mig_state)n[RN_CONFORM_MIG],
	};

	if (l->count != RN_CONFORM_ATTRS || n[0] >= a->qps)
		return EPROTO;
	l->count = 0;
	return ibv_modify_qp(a->qp[n[0]].qp, &attr, (int)n[1]);
}

/* ------------------------------------------------------------------- receives */
int rn_agent_recv(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_sge sge = { l->n[2], (uint32_t)l->n[3], (uint32_t)l->n[4] };
	struct ibv_recv_wr wr = { .wr_id = l->n[1],
				  .sg_list = &sge,
				  .num_sge = sge.length ? 1 : 0 },
			   *bad;

	if (l->count != 5 || l->n[0] >= a->qps)
		return EPROTO;
	l->count = 0;
	return ibv_post_recv(a->qp[l->n[0]].qp, &wr, &bad);
}

int rn_agent_srq_recv(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_sge sge = { l->n[2], (uint32_t)l->n[3], (uint32_t)l->n[4] };
	struct ibv_recv_wr wr = { .wr_id = l->n[1],
				  .sg_list = &sge,
				  .num_sge = sge.length ? 1 : 0 },
			   *bad;

	if (l->count != 5 || l->n[0] >= a->srqs)
		return EPROTO;
	l->count = 0;
	return ibv_post_srq_recv(a->srq[l->n[0]].srq, &wr, &bad);
}

int rn_agent_limit(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_srq_attr attr = { .srq_limit = (uint32_t)l->n[1] };

	if (l->count != 2 || l->n[0] >= a->srqs)
		return EPROTO;
	l->count = 0;
	return ibv_modify_srq(a->srq[l->n[0]].srq, &attr, IBV_SRQ_LIMIT);
}

int rn_agent_group(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_qp *q = &a->qp[l->n[0] % RN_SCN_QPS];
	bool join = l->n[1] == 1;
	int rc;

	if (l->count != 2 || l->n[0] >= a->qps)
		return EPROTO;
	l->count = 0;
	rc = join ? ibv_attach_mcast(q->qp, &a->group, 0)
		  : ibv_detach_mcast(q->qp, &a->group, 0);
	if (!rc)
		q->joined = join;
	return rc;
}

/* ----------------------------------------------------------------- what came */
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

static uint64_t srq_number(const struct rn_agent *a, const struct ibv_srq *srq)
{
	for (unsigned i = 0; i < a->srqs; i++)
		if (a->srq[i].srq == srq)
			return a->srq[i].number;
	return 0;
}

/* What an event is about, as the tester knows it; false: of the port, or the device. */
static bool concerns(const struct rn_agent *a, const struct ibv_async_event *ev,
		     uint64_t *number)
{
	switch ((int)ev->event_type) {
	case IBV_EVENT_CQ_ERR:
		*number = 0;
		return true;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		*number = srq_number(a, ev->element.srq);
		return true;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		*number = ev->element.qp->qp_num;
		return true;
	default:
		return false;
	}
}

static bool take_event(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_async_event ev;
	uint64_t number;
	bool found;

	if (ibv_get_async_event(a->ctx, &ev))
		return false;
	found = concerns(a, &ev, &number);
	if (found) {
		l->count = 3;
		l->n[0] = RN_CONFORM_EVENT;
		l->n[1] = number;
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
