/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_act.c - what rules do to packets, to those who sent them, and to the device. */
#include <time.h>

#include "fault_internal.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

enum {
	ECN_CE = 3,
};

rn_ns rn_fault_now(const struct rn_fault *f)
{
	struct timespec ts;

	if (f->host)
		return f->host->now(f->host_ctx);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (rn_ns)ts.tv_sec * RN_MSEC(1000) + ts.tv_nsec;
}

static void order(struct rn_fault *f, enum rn_fault_order what, uint32_t qpn)
{
	if (f->host && f->orders < RN_FAULT_ORDERS_MAX)
		f->order[f->orders++] = (struct rn_fault_pending){ what, qpn };
}

void rn_fault_begin_cut(struct rn_fault *f, const struct rn_fault_rule *r)
{
	if (!f->is_cut)
		order(f, RN_FAULT_ORDER_LINK_DOWN, 0);
	f->is_cut = true;
	f->cut_until = r->time ? rn_fault_now(f) + r->time : RN_NEVER;
	f->cut_by = r->id;
}

void rn_fault_end_cut(struct rn_fault *f)
{
	f->is_cut = false;
	order(f, RN_FAULT_ORDER_LINK_UP, 0);
}

uint32_t rn_fault_find_qp(const struct rn_fault *f, enum rn_fault_dir dir,
			  const struct rn_flow *flow, const uint8_t *pkt, uint32_t len)
{
	uint32_t dest = rn_get_be24(pkt + 5);

	if (dir == RN_FAULT_RX)
		return dest;
	if (rn_opcode_info[pkt[0]].flags & RN_OP_DETH)
		return len >= RN_BTH_LEN + RN_DETH_LEN ? rn_get_be24(pkt + 17) : 0;
	return f->host ? f->host->sender(f->host_ctx, flow, dest) : 0;
}

/* Its sender gets an answer in its place: the peer, or our own QP. */
static void answer(struct rn_fault *f, enum rn_fault_dir dir,
		   const struct rn_fault_item *it, uint8_t syndrome)
{
	uint32_t qpn = rn_fault_find_qp(f, dir, &it->flow, it->data, it->len);
	struct rn_flow flow = it->flow;
	uint8_t nak[RN_FAULT_NAK_LEN];
	struct rn_aeth aeth = { .syndrome = syndrome };
	struct rn_fault_item *reply;
	uint32_t own = qpn;

	if (!f->host || qpn == 0)
		return;
	if (dir == RN_FAULT_RX)
		qpn = f->host->peer(f->host_ctx, qpn);
	else
		aeth.msn =
			f->host->msn(f->host_ctx, own, rn_get_be24(it->data + 9), true);
	flow.src = it->flow.dst;
	flow.dst = it->flow.src;
	rn_fault_answer(nak, it->data, &flow, qpn, &aeth);
	reply = qpn ? rn_fault_item_new(&flow, nak, sizeof(nak)) : NULL;
	if (!reply)
		return;
	/* The device has not seen yet what came with the request, before it. */
	reply->answers_for = dir == RN_FAULT_RX ? own : 0;
	reply->sgid_index = f->host->sgid(f->host_ctx, &flow.src);
	TAILQ_INSERT_TAIL(&f->lane[dir == RN_FAULT_TX ? RN_FAULT_RX : RN_FAULT_TX].ready,
			  reply, link);
}

static bool is_reliable(uint8_t opcode)
{
	return rn_opcode_class(opcode) == RN_CLASS_RC ||
	       rn_opcode_class(opcode) == RN_CLASS_XRC;
}

void rn_fault_act(struct rn_fault *f, enum rn_fault_dir dir, struct rn_fault_rule *r,
		  struct rn_fault_item *it, struct rn_fault_plan *plan)
{
	switch (r->act) {
	case RN_FAULT_DROP:
		plan->is_dropped = true;
		break;
	case RN_FAULT_DUPLICATE:
		plan->copies += r->copies;
		break;
	case RN_FAULT_DELAY:
		plan->delay += r->time;
		break;
	case RN_FAULT_REORDER:
		plan->places = r->places;
		break;
	case RN_FAULT_CORRUPT:
	case RN_FAULT_SET:
		rn_fault_edit(r, it->has_fate ? &it->fate : NULL, it->data, it->len,
			      &plan->icrc);
		break;
	case RN_FAULT_MARK:
		it->flow.tclass |= ECN_CE;
		break;
	case RN_FAULT_NAK:
		if (is_reliable(it->data[0]))
			answer(f, dir, it, r->syndrome);
		plan->is_dropped = true;
		break;
	case RN_FAULT_KILL:
		order(f, RN_FAULT_ORDER_KILL,
		      rn_fault_find_qp(f, dir, &it->flow, it->data, it->len));
		plan->is_dropped = true;
		break;
	case RN_FAULT_OVERRUN:
		order(f,
		      r->of_send_cq ? RN_FAULT_ORDER_OVERRUN_SEND
				    : RN_FAULT_ORDER_OVERRUN_RECV,
		      rn_fault_find_qp(f, dir, &it->flow, it->data, it->len));
		break;
	case RN_FAULT_CUT:
		rn_fault_begin_cut(f, r);
		plan->is_dropped = true;
		break;
	case RN_FAULT_FAIL:
	case RN_FAULT_ACTS:
		break;
	}
}
