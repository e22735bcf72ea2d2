/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* respond.c - READ and atomic responses going out, in the order of their PSNs; the
 * responder in each state of its QP.
 *
 * Source: IBTA Vol 1, 9.7.5.
 */
#include <string.h>

#include "credit.h"
#include "responder.h"
#include "scatter.h"

uint32_t rn_read_packets(const struct rn_qp *qp, uint32_t length)
{
	uint32_t mtu = qp->attr.path_mtu;

	return length ? (length + mtu - 1) / mtu : 1;
}

void rn_rsp_due(struct rn_qp *qp, uint8_t index)
{
	struct rn_responder *rsp = &qp->rsp;

	rn_res_at(rsp, index)->due = true;
	if ((uint8_t)(index - rsp->res_head) < (uint8_t)(rsp->res_cur - rsp->res_head))
		rsp->res_cur = index;
	rn_rsp_update_ack(qp);
	rn_dev_schedule(qp->dev, qp);
}

/* The resource at res_cur is not due any more: on to the next that is. */
static void next_resource(struct rn_qp *qp)
{
	struct rn_responder *rsp = &qp->rsp;

	rn_res_at(rsp, rsp->res_cur)->due = false;
	while (rsp->res_cur != rsp->res_tail && !rn_res_at(rsp, rsp->res_cur)->due)
		rsp->res_cur++;
	rn_rsp_update_ack(qp);
}

void rn_rsp_forget_oldest(struct rn_qp *qp)
{
	if (qp->rsp.res_cur == qp->rsp.res_head)
		next_resource(qp);
	qp->rsp.res_head++;
}

bool rn_rsp_work_due(const struct rn_qp *qp)
{
	const struct rn_responder *rsp = &qp->rsp;
	const struct rn_resource *r;

	if (rsp->res_cur == rsp->res_tail)
		return false;
	r = rn_res_at(rsp, rsp->res_cur);
	return r->kind == RN_RES_READ ? !rsp->stage.waiting : r->phase == RN_ATOMIC_DONE;
}

void rn_rsp_fail(struct rn_qp *qp, rn_ns now, uint8_t index)
{
	struct rn_responder *rsp = &qp->rsp;
	const struct rn_resource *r = rn_res_at(rsp, index);

	if (r->answered) {
		assert(index == rsp->res_cur);
		next_resource(qp);
		return;
	}
	/* It and whatever came after it has never happened; but that it was accepted is
	 * said once its first response has left (C9-148), and stands.
	 */
	rsp->res_tail = index;
	rsp->msn = (r->next.v != r->first.v ? r->msn : r->msn - 1) & RN_MSN_MASK;
	rn_event_raise(qp, RN_EVENT_QP_ACCESS_ERR);
	rn_rsp_fatal(qp, now, RN_NAK_REMOTE_ACCESS, r->next);
}

/* Read through the staging buffer: the memory may answer later than the packet has to
 * leave the builder.
 */
static enum rn_mem_result read_staged(struct rn_qp *qp, const struct rn_resource *r,
				      const struct rn_mr *mr, rn_iova iova, uint32_t len)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	struct rn_responder *rsp = &qp->rsp;
	const struct rn_mem_attr attr = {
		.qpn = qp->qpn,
		.flags = rn_mem_flags(mr),
		.msg = r->msn,
	};
	struct rn_psn psn = r->next;
	enum rn_mem_result result;

	assert(!rsp->stage.waiting); /* rn_rsp_work_due() */
	if (rsp->stage.ready && rsp->stage.psn.v == psn.v && rsp->stage.len == len) {
		rsp->stage.ready = false;
		return rsp->stage.fault ? RN_MEM_FAULT : RN_MEM_DONE;
	}
	rsp->stage.ready = false;
	result = cfg->mem->read(cfg->mem_ctx, rsp->stage.buf, iova, len, attr,
				rn_mem_tag(qp, RN_TAG_RSP_READ));
	if (result == RN_MEM_PENDING) {
		rsp->stage.waiting = true;
		rsp->stage.psn = psn;
		rsp->stage.len = len;
	}
	return result;
}

/* Payload of the response that leaves next, @len bytes at @va, into @dst. */
// NOLINTNEXTLINE(readability-function-size): what, from where and to where
static enum rn_mem_result read_payload(struct rn_qp *qp, const struct rn_resource *r,
				       uint64_t va, uint8_t *dst, uint32_t len,
				       struct rn_crc32_part *part)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	const struct rn_key_use use = {
		.key = r->rkey,
		.pd = rn_res_pd(qp, r),
		.qpn = qp->qpn,
		.va = va,
		.len = len,
		.access = RN_ACCESS_REMOTE_READ,
	};
	struct rn_mem_attr attr = { .qpn = qp->qpn, .msg = r->msn };
	enum rn_mem_result result;
	struct rn_mr *mr;
	rn_iova iova;

	if (len == 0)
		return RN_MEM_DONE;
	if (rn_mr_check_remote(&qp->dev->mrs, &use, &iova, &mr) != RN_KEY_OK)
		return RN_MEM_FAULT;
	if (cfg->mem->always_done) {
		attr.flags = rn_mem_flags(mr);
		result = rn_mem_read(qp->dev, dst, iova, len, attr,
				     rn_mem_tag(qp, RN_TAG_RSP_READ), part);
		assert(result != RN_MEM_PENDING);
	} else {
		result = read_staged(qp, r, mr, iova, len);
		if (result == RN_MEM_DONE)
			memcpy(dst, qp->rsp.stage.buf, len);
	}
	if (result == RN_MEM_FAULT)
		rn_count(qp->dev, RN_STAT_MEM_FAULT);
	return result;
}

static uint8_t read_response_opcode(bool first, bool last)
{
	if (first)
		return last ? RN_RC_READ_RESPONSE_ONLY : RN_RC_READ_RESPONSE_FIRST;
	return last ? RN_RC_READ_RESPONSE_LAST : RN_RC_READ_RESPONSE_MIDDLE;
}

static uint32_t build_read(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	uint8_t index = qp->rsp.res_cur;
	struct rn_resource *r = rn_res_at(&qp->rsp, index);
	uint32_t mtu = qp->attr.path_mtu;
	uint32_t offset = (uint32_t)rn_psn_diff(r->next, r->window.first) * mtu;
	uint32_t left = r->window.length - offset;
	uint32_t len = left < mtu ? left : mtu;
	uint8_t opcode = read_response_opcode(offset == 0, left <= mtu);
	const struct rn_aeth aeth = { .syndrome = rn_credit_syndrome(qp), .msn = r->msn };
	uint64_t skipped = (uint64_t)rn_psn_diff(r->window.first, r->first) * mtu;
	bool has_aeth = opcode != RN_RC_READ_RESPONSE_MIDDLE;
	uint8_t *payload = b->buf + RN_BTH_LEN + (has_aeth ? RN_AETH_LEN : 0);
	uint8_t pad = rn_pad_cnt(len);

	assert(b->cap >= RN_BTH_LEN + RN_AETH_LEN + (size_t)mtu);
	switch (read_payload(qp, r, r->va + skipped + offset, payload, len, b->part)) {
	case RN_MEM_DONE:
		break;
	case RN_MEM_PENDING:
		return 0;
	case RN_MEM_FAULT:
		rn_rsp_fail(qp, now, index);
		return qp->state == RN_QPS_ERR ? rn_rsp_build_ack_now(qp, now, b) : 0;
	}
	rn_rsp_emit_bth(qp, b, opcode, r->next, len);
	if (has_aeth) {
		rn_rsp_settle_acked(qp);
		rn_aeth_emit(b->buf + RN_BTH_LEN, &aeth);
	}
	memset(payload + len, 0, pad);

	if (left <= mtu) {
		r->answered = true;
		next_resource(qp);
	} else {
		r->next = rn_psn_add(r->next, 1);
		rn_rsp_update_ack(qp);
	}
	return (uint32_t)(payload + len + pad - b->buf);
}

static uint32_t build_atomic(struct rn_qp *qp, struct rn_build *b)
{
	struct rn_resource *r = rn_res_at(&qp->rsp, qp->rsp.res_cur);
	const struct rn_aeth aeth = { .syndrome = rn_credit_syndrome(qp), .msn = r->msn };
	uint8_t *p;

	assert(b->cap >= RN_BTH_LEN + RN_AETH_LEN + RN_ATOMIC_ACK_ETH_LEN);
	rn_rsp_settle_acked(qp);
	p = rn_rsp_emit_bth(qp, b, RN_RC_ATOMIC_ACK, r->first, 0);
	p = rn_aeth_emit(p, &aeth);
	p = rn_atomic_ack_eth_emit(p, r->atomic.value);
	r->answered = true;
	next_resource(qp);
	return (uint32_t)(p - b->buf);
}

/* Of ATOMIC WRITE and FLUSH: it is done. */
static uint32_t build_placed(struct rn_qp *qp, struct rn_build *b)
{
	struct rn_resource *r = rn_res_at(&qp->rsp, qp->rsp.res_cur);
	const struct rn_aeth aeth = { .syndrome = rn_credit_syndrome(qp), .msn = r->msn };
	uint8_t *p;

	assert(b->cap >= RN_BTH_LEN + RN_AETH_LEN);
	rn_rsp_settle_acked(qp);
	p = rn_rsp_emit_bth(qp, b, RN_RC_READ_RESPONSE_ONLY, r->first, 0);
	p = rn_aeth_emit(p, &aeth);
	r->answered = true;
	next_resource(qp);
	return (uint32_t)(p - b->buf);
}

static uint32_t build_response(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	uint32_t len;

	switch ((enum rn_resource_kind)rn_res_at(&qp->rsp, qp->rsp.res_cur)->kind) {
	case RN_RES_READ:
		len = build_read(qp, now, b);
		/* An ATOMIC WRITE may have waited for it. */
		if (!qp->dev->cfg.mem->always_done)
			rn_operation_start(qp, now);
		return len;
	case RN_RES_ATOMIC:
		return build_atomic(qp, b);
	case RN_RES_ATOMIC_WRITE:
	case RN_RES_FLUSH:
		return build_placed(qp, b);
	}
	return 0;
}

uint32_t rn_rsp_build(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	/* More than one turn only if the duplicate of a READ had to be forgotten. */
	while (rn_rsp_work_due(qp)) {
		uint32_t len;

		/* Some requesters do not take a response for an acknowledgement of the
		 * SENDs and WRITEs before it; after it, they would find it stale.
		 */
		if (rn_rsp_ack_ready(qp))
			return rn_rsp_build_ack_now(qp, now, b);
		len = build_response(qp, now, b);
		if (len)
			return len;
	}
	return 0;
}

/* ------------------------------------------------ where resources are kept */
size_t rn_qp_resources_size(uint32_t count)
{
	return rn_power_of_two(count) * sizeof(struct rn_resource);
}

uint32_t rn_qp_resources(const struct rn_qp *qp)
{
	return qp->rsp.res_room;
}

void *rn_qp_lend_resources(struct rn_qp *qp, void *mem, uint32_t count)
{
	struct rn_responder *rsp = &qp->rsp, old = *rsp;

	assert(count <= RN_RD_ATOMIC_MAX && count > old.res_room);
	rsp->res = mem;
	rsp->res_room = (uint8_t)rn_power_of_two(count);
	for (uint8_t i = rsp->res_head; i != rsp->res_tail; i++)
		*rn_res_at(rsp, i) = *rn_res_at(&old, i);
	return old.res;
}

/* ------------------------------------------------------------------- states */
void rn_rsp_reset(struct rn_qp *qp)
{
	const struct rn_responder old = qp->rsp;
	struct rn_responder *rsp = &qp->rsp;

	*rsp = (struct rn_responder){ .rq = old.rq,
				      .res = old.res,
				      .res_room = old.res_room };
	rsp->rq.head = 0;
	rsp->rq.tail = 0;
	/* What the memory still owes will arrive, and must find these. */
	rsp->atomic = old.atomic;
	rsp->stage = old.stage;
	rsp->stage.len = RN_STAGE_STALE;
	rn_list_remove(&qp->ack_link);
}

void rn_rsp_rtr(struct rn_qp *qp)
{
	qp->rsp.exp_psn = rn_psn(qp->attr.rq_psn);
}

void rn_rsp_flush(struct rn_qp *qp, rn_ns now)
{
	struct rn_responder *rsp = &qp->rsp;

	if (!rsp->ack_due || !rn_syndrome_is_fatal(rsp->ack_syndrome)) {
		/* An acknowledgement that waits for nothing is as good as sent. */
		rsp->ack_due =
			rn_rsp_ack_ready(qp) && rn_syndrome_is_ack(rsp->ack_syndrome);
		rsp->res_head = rsp->res_tail;
		rsp->res_cur = rsp->res_tail;
		rn_rsp_update_ack(qp);
	}
	while (rn_wq_count(&rsp->rq)) {
		struct rn_completion c = {
			.status = RN_WC_WR_FLUSH_ERR,
			.opcode = RN_WC_RECV,
		};

		rn_qp_complete_recv(qp, now, &c);
	}
}
