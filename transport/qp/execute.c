/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* execute.c - what an accepted request does, and what a request received again does.
 *
 * Data is placed first, then the receive completes, then (in ack.c) the peer is told.
 *
 * Source: IBTA Vol 1, 9.4 (operations), 9.7.5.1 (duplicates), C9-148 (MSN).
 */
#include <string.h>

#include "mw.h"
#include "responder.h"
#include "scatter.h"

static void count_message(struct rn_qp *qp)
{
	qp->rsp.msn = rn_rsp_next_msn(qp);
}

/* ------------------------------------------------------------ SEND and WRITE */
static enum rn_verdict place_send(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_responder *rsp = &qp->rsp;
	struct rn_recv_wqe *wqe;
	enum rn_wc_status status;

	if (q->flags & RN_OP_FIRST) {
		rsp->recv_taken = true;
		rsp->received = 0;
	}
	wqe = rn_wq_at(&rsp->rq, rsp->rq.head);
	if (q->p->payload_len) {
		status = rn_scatter(qp, rn_recv_sge(wqe), wqe->num_sge, rsp->received,
				    q->p->payload, q->p->payload_len);
		if (status != RN_WC_SUCCESS)
			return RN_V_RECV_PROT;
	}
	rsp->received += q->p->payload_len;
	rsp->message = RN_MSG_SEND;
	return RN_V_NEXT;
}

static enum rn_verdict place_write(struct rn_qp *qp, const struct rn_request *q)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	struct rn_responder *rsp = &qp->rsp;
	struct rn_mem_attr attr;

	if (q->flags & RN_OP_RETH) {
		rsp->write_va = q->reth.va;
		rsp->write_rkey = q->reth.rkey;
		rsp->write_total = q->reth.dma_len;
		rsp->received = 0;
	}
	if (q->p->payload_len) {
		uint32_t flags = q->flags & RN_OP_IMM ? 0 : RN_MEM_WRITE;

		attr = rn_mem_attr_of(qp->qpn, flags | rn_mem_flags(q->mr),
				      rn_rsp_next_msn(qp));
		if (cfg->mem->write(cfg->mem_ctx, q->iova, q->p->payload,
				    q->p->payload_len, attr) != RN_MEM_DONE) {
			rn_count(qp->dev, RN_STAT_MEM_FAULT);
			return RN_V_MEM_FAULT;
		}
	}
	rsp->received += q->p->payload_len;
	rsp->message = RN_MSG_WRITE;
	return RN_V_NEXT;
}

static void complete_recv(struct rn_qp *qp, rn_ns now, const struct rn_request *q)
{
	struct rn_completion c = {
		.status = RN_WC_SUCCESS,
		.opcode = q->kind == RN_OP_KIND_SEND ? RN_WC_RECV
						     : RN_WC_RECV_RDMA_WITH_IMM,
		.solicited = q->p->bth.solicited,
		.byte_len = qp->rsp.received,
	};

	if (q->flags & (RN_OP_IMM | RN_OP_IETH)) {
		c.flags = q->flags & RN_OP_IMM ? RN_WC_WITH_IMM : RN_WC_WITH_INV;
		c.imm = q->imm;
	}
	rn_qp_complete_recv(qp, now, &c);
}

static enum rn_verdict end_message(struct rn_qp *qp, rn_ns now,
				   const struct rn_request *q)
{
	struct rn_responder *rsp = &qp->rsp;

	if (q->flags & RN_OP_IETH && !rn_mw_invalidate(qp, q->imm))
		return RN_V_BAD_INVALIDATE;
	rsp->message = RN_MSG_NONE;
	rsp->recv_taken = false;
	count_message(qp);
	rn_count(qp->dev, q->kind == RN_OP_KIND_SEND ? RN_STAT_RX_SENDS
						     : RN_STAT_RX_WRITE_REQUESTS);
	if (q->flags & RN_OP_COMPLETES_RECV)
		complete_recv(qp, now, q);
	return RN_V_NEXT;
}

static enum rn_verdict execute_message(struct rn_qp *qp, rn_ns now,
				       const struct rn_request *q)
{
	enum rn_verdict v;

	if (q->flags & RN_OP_RECV_WQE_TAKEN)
		rn_qp_take_recv(qp, q->srq);
	v = q->kind == RN_OP_KIND_SEND ? place_send(qp, q) : place_write(qp, q);
	if (v == RN_V_NEXT && q->flags & RN_OP_LAST)
		v = end_message(qp, now, q);
	return v;
}

/* ---------------------------------------------------------- READ and atomics */
/* A free resource at the end of the ring; check_resource() saw to it that what has to
 * make room was answered. A duplicate of that which is being answered is forgotten: the
 * requester does not wait for it, or it would have one request too many.
 */
static struct rn_resource *new_resource(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_responder *rsp = &qp->rsp;
	struct rn_resource *r;

	while (rn_res_count(rsp) >= qp->attr.max_dest_rd_atomic)
		rn_rsp_forget_oldest(qp);
	r = rn_res_at(rsp, rsp->res_tail);
	*r = (struct rn_resource){
		.first = q->p->bth.psn,
		.last = q->p->bth.psn,
		.next = q->p->bth.psn,
	};
	rn_put_be24(r->srqn, q->srqn);
	count_message(qp);
	r->msn = rsp->msn;
	rsp->res_tail++;
	return r;
}

static void execute_read(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_resource *r = new_resource(qp, q);

	r->kind = RN_RES_READ;
	r->va = q->reth.va;
	r->rkey = q->reth.rkey;
	r->length = q->reth.dma_len;
	r->last = rn_psn_add(r->first, rn_read_packets(qp, r->length) - 1);
	r->window.first = r->first;
	r->window.length = r->length;
	rn_count(qp->dev, RN_STAT_RX_READ_REQUESTS);
	rn_rsp_due(qp, (uint8_t)(qp->rsp.res_tail - 1));
}

static void read_mem_done(struct rn_responder *rsp, enum rn_mem_result result)
{
	if (!rsp->stage.waiting)
		return;
	rsp->stage.waiting = false;
	rsp->stage.ready = true;
	rsp->stage.fault = result != RN_MEM_DONE;
}

void rn_rsp_mem_done(struct rn_qp *qp, rn_ns now, uint64_t tag, enum rn_mem_result result)
{
	if (tag == rn_mem_tag(qp, RN_TAG_RSP_ATOMIC))
		rn_operation_mem_done(qp, now, result);
	else
		read_mem_done(&qp->rsp, result);
	if (rn_rsp_work_due(qp))
		rn_dev_schedule(qp->dev, qp);
}

/* The newest resource, an operation on memory, is to be carried out and answered. */
static enum rn_verdict await_turn(struct rn_qp *qp, rn_ns now, struct rn_resource *r)
{
	r->phase = RN_ATOMIC_WAITING;
	rn_rsp_due(qp, (uint8_t)(qp->rsp.res_tail - 1));
	rn_operation_start(qp, now);
	return RN_V_NEXT;
}

static enum rn_verdict execute_atomic(struct rn_qp *qp, rn_ns now,
				      const struct rn_request *q)
{
	struct rn_resource *r = new_resource(qp, q);
	bool swap = rn_opcode_operation(q->p->bth.opcode) == RN_RC_CMP_SWAP;

	r->kind = RN_RES_ATOMIC;
	r->atomic_op = swap ? RN_MEM_CMP_SWAP : RN_MEM_FETCH_ADD;
	r->va = q->atomic.va;
	r->rkey = q->atomic.rkey;
	r->atomic.value = q->atomic.swap_add;
	r->atomic.compare = swap ? q->atomic.compare : 0;
	rn_count(qp->dev, RN_STAT_RX_ATOMIC_REQUESTS);
	return await_turn(qp, now, r);
}

static enum rn_verdict execute_atomic_write(struct rn_qp *qp, rn_ns now,
					    const struct rn_request *q)
{
	struct rn_resource *r = new_resource(qp, q);

	r->kind = RN_RES_ATOMIC_WRITE;
	r->va = q->reth.va;
	r->rkey = q->reth.rkey;
	assert(q->p->payload_len == sizeof(r->atomic.value));
	memcpy(&r->atomic.value, q->p->payload, sizeof(r->atomic.value));
	rn_count(qp->dev, RN_STAT_RX_ATOMIC_REQUESTS);
	return await_turn(qp, now, r);
}

static enum rn_verdict execute_flush(struct rn_qp *qp, rn_ns now,
				     const struct rn_request *q)
{
	struct rn_resource *r = new_resource(qp, q);

	r->kind = RN_RES_FLUSH;
	r->va = q->reth.va;
	r->rkey = q->reth.rkey;
	r->length = q->reth.dma_len;
	r->flush = q->feth;
	return await_turn(qp, now, r);
}

enum rn_verdict rn_request_execute(struct rn_qp *qp, rn_ns now,
				   const struct rn_request *q)
{
	switch (q->kind) {
	case RN_OP_KIND_SEND:
	case RN_OP_KIND_WRITE:
		return execute_message(qp, now, q);
	case RN_OP_KIND_READ:
		execute_read(qp, q);
		return RN_V_NEXT;
	case RN_OP_KIND_ATOMIC:
		return execute_atomic(qp, now, q);
	case RN_OP_KIND_ATOMIC_WRITE:
		return execute_atomic_write(qp, now, q);
	case RN_OP_KIND_FLUSH:
		return execute_flush(qp, now, q);
	case RN_OP_KIND_NONE:
	case RN_OP_KIND_READ_RESPONSE:
	case RN_OP_KIND_ACK:
	case RN_OP_KIND_ATOMIC_ACK:
	case RN_OP_KIND_CNP:
		break;
	}
	assert(false); /* the checks let no other kind pass */
	return RN_V_UNSUPPORTED;
}

/* --------------------------------------------------------------- duplicates */
/* The newest request whose responses include @psn; false if it is not kept any more. */
static bool find_resource(const struct rn_responder *rsp, struct rn_psn psn,
			  uint8_t *index)
{
	for (uint8_t i = rsp->res_tail; i != rsp->res_head;) {
		const struct rn_resource *r = rn_res_at(rsp, --i);

		if (rn_psn_diff(psn, r->first) < 0 || rn_psn_diff(r->last, psn) < 0)
			continue;
		*index = i;
		return true;
	}
	return false;
}

/* Is @q the READ @r, or the rest of it from some packet on, or a part of that? */
static bool is_part_of_read(const struct rn_qp *qp, const struct rn_resource *r,
			    const struct rn_request *q)
{
	uint32_t offset =
		(uint32_t)rn_psn_diff(q->p->bth.psn, r->first) * qp->attr.path_mtu;

	if (r->kind != RN_RES_READ || q->p->payload_len || q->reth.rkey != r->rkey ||
	    q->reth.va != r->va + offset || q->reth.dma_len > r->length - offset)
		return false;
	return q->reth.dma_len || !r->length;
}

static void repeat_read(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_psn psn = q->p->bth.psn;
	struct rn_resource *r;
	uint8_t i;

	if (!find_resource(&qp->rsp, psn, &i))
		return;
	r = rn_res_at(&qp->rsp, i);
	if (!is_part_of_read(qp, r, q))
		return;
	if (!r->answered) {
		uint32_t offset =
			(uint32_t)rn_psn_diff(psn, r->first) * qp->attr.path_mtu;

		/* That response is still to come; and nothing may be left out of a READ
		 * that was never answered to its end.
		 */
		if (!rn_psn_before(psn, r->next) || q->reth.dma_len != r->length - offset)
			return;
	}
	r->window.first = psn;
	r->window.length = q->reth.dma_len;
	r->next = psn;
	rn_rsp_due(qp, i);
}

static void repeat_atomic(struct rn_qp *qp, const struct rn_request *q)
{
	bool swap = rn_opcode_operation(q->p->bth.opcode) == RN_RC_CMP_SWAP;
	struct rn_resource *r;
	uint8_t i;

	if (!find_resource(&qp->rsp, q->p->bth.psn, &i))
		return;
	r = rn_res_at(&qp->rsp, i);
	if (r->kind != RN_RES_ATOMIC || r->va != q->atomic.va ||
	    r->rkey != q->atomic.rkey || (r->atomic_op == RN_MEM_CMP_SWAP) != swap)
		return;
	rn_rsp_due(qp, i); /* at once, or still */
}

/* ATOMIC WRITE, FLUSH. */
static void repeat_placement(struct rn_qp *qp, const struct rn_request *q)
{
	uint8_t kind = q->kind == RN_OP_KIND_FLUSH ? RN_RES_FLUSH : RN_RES_ATOMIC_WRITE;
	const struct rn_resource *r;
	uint8_t i;

	if (!find_resource(&qp->rsp, q->p->bth.psn, &i))
		return;
	r = rn_res_at(&qp->rsp, i);
	if (r->kind == kind && r->va == q->reth.va && r->rkey == q->reth.rkey)
		rn_rsp_due(qp, i);
}

/* The newest PSN that may be acknowledged to a requester that asks again for @psn: a
 * plain acknowledgement does not cover a READ or atomic that it may still wait for.
 */
static void repeat_ack(struct rn_qp *qp, struct rn_psn psn)
{
	struct rn_responder *rsp = &qp->rsp;

	for (uint8_t i = rsp->res_head; i != rsp->res_tail; i++) {
		const struct rn_resource *r = rn_res_at(rsp, i);

		if (rn_psn_before(psn, r->first) &&
		    rn_psn_before(r->first, rsp->exp_psn)) {
			rn_rsp_ack(qp, rn_psn_add(r->first, RN_PSN_MASK),
				   (r->msn - 1) & RN_MSN_MASK);
			return;
		}
	}
	rn_rsp_ack(qp, rn_psn_add(rsp->exp_psn, RN_PSN_MASK), rsp->msn);
}

void rn_request_repeat(struct rn_qp *qp, const struct rn_request *q)
{
	if (q->kind == RN_OP_KIND_READ)
		repeat_read(qp, q);
	else if (q->kind == RN_OP_KIND_ATOMIC)
		repeat_atomic(qp, q);
	else if (q->kind == RN_OP_KIND_ATOMIC_WRITE || q->kind == RN_OP_KIND_FLUSH)
		repeat_placement(qp, q);
	else if ((q->kind == RN_OP_KIND_SEND || q->kind == RN_OP_KIND_WRITE) &&
		 q->p->bth.ack_req)
		repeat_ack(qp, q->p->bth.psn);
}
