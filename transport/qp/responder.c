/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* responder.c - checks and executes the request packets of a connected QP, or answers
 * them again if they are duplicates.
 *
 * A request is loaded (headers parsed, remote memory looked up), checked in the order
 * that the specification gives, and executed: first its data is written to memory, then
 * the receive WQE completes, then an acknowledgement becomes due (response.c).
 * act_on_verdict() is the only place where a verdict on a reliable QP changes anything.
 * UC uses the same functions to load, check and execute, and never answers.
 *
 * Source: IBTA Vol 1, 9.4 (operations), 9.7.4, 9.7.5 (.1: duplicates), 9.8
 * (UC), 9.9.3, C9-148 (MSN).
 */
#include "responder.h"

#include <string.h>

#include "transport/object/memory.h"

/* ---------------------------------------------------------------- loading a request */
static void look_up(struct rn_request *q, const struct rn_qp *qp,
		    const struct rn_key_use *use)
{
	if (use->len)
		q->key = rn_mr_check_remote(&qp->dev->mrs, use, &q->iova, &q->mr);
}

static void look_up_write(struct rn_request *q, const struct rn_qp *qp)
{
	const struct rn_responder *rsp = &qp->rsp;
	struct rn_key_use use = { .pd = rn_qp_rkey_pd(qp, q->srq),
				  .qpn = qp->qpn,
				  .access = RN_ACCESS_REMOTE_WRITE };

	if (q->flags & RN_OP_RETH) {
		use.key = q->reth.rkey;
		use.va = q->reth.va;
		use.len = q->reth.dma_len;
	} else if (rsp->message == RN_MSG_WRITE) {
		/* The key is looked up again for each packet, because the region may
		 * have been deregistered since the first packet of the message.
		 */
		use.key = rsp->write_rkey;
		use.va = rsp->write_va + rsp->received;
		use.len = rsp->write_total - rsp->received;
	}
	look_up(q, qp, &use);
}

/* Parses the extension headers of a request. They are all complete: receive.c has
 * compared op->hdr_len with the length of the packet.
 */
static void parse_headers(struct rn_request *q)
{
	const uint8_t *at = q->p->ext;
	const uint8_t *end = q->p->payload;
	int err = 0;

	if (q->flags & RN_OP_XRCETH) {
		err |= rn_xrceth_parse(&q->srqn, at, end);
		at += RN_XRCETH_LEN;
	}
	if (q->flags & RN_OP_FETH) {
		err |= rn_feth_parse(&q->feth, at, end);
		at += RN_FETH_LEN;
	}
	if (q->flags & RN_OP_RETH) {
		err |= rn_reth_parse(&q->reth, at, end);
		at += RN_RETH_LEN;
	}
	if (q->flags & RN_OP_ATOMIC_ETH) {
		err |= rn_atomic_eth_parse(&q->atomic, at, end);
		at += RN_ATOMIC_ETH_LEN;
	}
	if (q->flags & RN_OP_IMM)
		err |= rn_imm_parse(&q->imm, at, end);
	if (q->flags & RN_OP_IETH)
		err |= rn_ieth_parse(&q->imm, at, end);
	assert(!err);
}

/* Returns true if the FLUSH extended header (FETH) asks for a placement at all, and has
 * no reserved bit or value set.
 */
static bool is_flush_known(const struct rn_feth *feth)
{
	const uint8_t known = RN_FLUSH_GLOBAL | RN_FLUSH_PERSISTENT;

	return feth->placement && !(feth->placement & ~known) &&
	       feth->selectivity <= RN_FLUSH_MR;
}

/* Returns the access rights that the request needs. Both the queue pair and the memory
 * region must grant them.
 */
static uint32_t needed_access(const struct rn_request *q)
{
	return q->flags & RN_OP_FETH ? rn_flush_access(q->feth.placement)
				     : q->p->op->access;
}

static void load_request(struct rn_request *q, const struct rn_qp *qp,
			 const struct rn_packet *p)
{
	struct rn_key_use use = { .qpn = qp->qpn };

	*q = (struct rn_request){ .p = p,
				  .flags = p->op->flags,
				  .kind = (enum rn_op_kind)p->op->kind,
				  .key = RN_KEY_OK };
	if (q->flags &
	    (RN_OP_XRCETH | RN_OP_RETH | RN_OP_ATOMIC_ETH | RN_OP_IMM | RN_OP_IETH))
		parse_headers(q);
	q->srq = q->flags & RN_OP_XRCETH ? rn_srq_find(qp, q->srqn) : qp->srq;
	use.pd = rn_qp_rkey_pd(qp, q->srq);

	if (q->kind == RN_OP_KIND_WRITE) {
		look_up_write(q, qp);
	} else if (q->flags & RN_OP_FETH) {
		if (!is_flush_known(&q->feth))
			return;
		/* The key is checked even for a FLUSH of 0 bytes, because the key names
		 * the region that is to be flushed.
		 */
		use = rn_flush_use(&q->reth, &q->feth, use);
		q->key = rn_mr_check_remote(&qp->dev->mrs, &use, &q->iova, &q->mr);
	} else if (q->flags & RN_OP_RETH) {
		use.key = q->reth.rkey;
		use.va = q->reth.va;
		use.len = q->reth.dma_len;
		use.access = needed_access(q);
		look_up(q, qp, &use);
	} else if (q->flags & RN_OP_ATOMIC_ETH) {
		use.key = q->atomic.rkey;
		use.va = q->atomic.va;
		use.len = sizeof(uint64_t);
		use.access = needed_access(q);
		look_up(q, qp, &use);
	}
}

/* -------------------------------------------------------------- checks of a request */
static enum rn_verdict check_psn(const struct rn_qp *qp, const struct rn_request *q)
{
	int32_t ahead = rn_psn_diff(q->p->bth.psn, qp->rsp.exp_psn);

	if (ahead > 0)
		return RN_V_OUT_OF_SEQUENCE;
	return ahead < 0 ? RN_V_DUPLICATE : RN_V_NEXT;
}

/* For XRC: returns true if the SRQ that the request names exists and, if the request
 * continues a SEND message, is the same as in the message's earlier packets.
 */
static bool is_of_srq(const struct rn_qp *qp, const struct rn_request *q)
{
	const struct rn_responder *rsp = &qp->rsp;

	return q->srq && (rsp->message != RN_MSG_SEND || rsp->taken_from == q->srq);
}

static enum rn_verdict check_opcode(const struct rn_qp *qp, const struct rn_request *q)
{
	if (!(q->flags & RN_OP_REQUEST))
		return RN_V_UNSUPPORTED;
	if (q->flags & RN_OP_FETH && !is_flush_known(&q->feth))
		return RN_V_UNSUPPORTED;
	if (q->flags & RN_OP_XRCETH && !is_of_srq(qp, q))
		return RN_V_BAD_SRQ;
	return RN_V_NEXT;
}

static enum rn_verdict check_sequence(const struct rn_qp *qp, const struct rn_request *q)
{
	bool starts = q->flags & RN_OP_FIRST;

	switch (qp->rsp.message) {
	case RN_MSG_NONE:
		return starts ? RN_V_NEXT : RN_V_BAD_SEQUENCE;
	case RN_MSG_SEND:
		return !starts && q->kind == RN_OP_KIND_SEND ? RN_V_NEXT
							     : RN_V_BAD_SEQUENCE;
	case RN_MSG_WRITE:
		return !starts && q->kind == RN_OP_KIND_WRITE ? RN_V_NEXT
							      : RN_V_BAD_SEQUENCE;
	}
	return RN_V_BAD_SEQUENCE;
}

static enum rn_verdict check_permission(const struct rn_qp *qp,
					const struct rn_request *q)
{
	uint32_t needed = needed_access(q);

	return (qp->attr.access & needed) == needed ? RN_V_NEXT : RN_V_NOT_PERMITTED;
}

static enum rn_verdict check_payload_len(const struct rn_qp *qp,
					 const struct rn_request *q)
{
	uint32_t len = q->p->payload_len;
	uint32_t mtu = qp->attr.path_mtu;
	bool fits;

	if (!(q->flags & RN_OP_PAYLOAD))
		fits = len == 0;
	else if (q->flags & RN_OP_WORD)
		fits = len == sizeof(uint64_t);
	else if (!(q->flags & RN_OP_LAST))
		fits = len == mtu;
	else if (!(q->flags & RN_OP_FIRST))
		fits = len >= 1 && len <= mtu;
	else
		fits = len <= mtu;
	return fits ? RN_V_NEXT : RN_V_BAD_PAYLOAD_LEN;
}

static enum rn_verdict check_resource(const struct rn_qp *qp, const struct rn_request *q)
{
	const struct rn_responder *rsp = &qp->rsp;
	uint8_t max = qp->attr.max_dest_rd_atomic;

	if (!(q->flags & RN_OP_ANSWERED))
		return RN_V_NEXT;
	if (max == 0)
		return RN_V_NO_RESOURCE;
	if (rn_res_count(rsp) < max)
		return RN_V_NEXT;
	/* The ring of READ and atomic requests is full, so this one would overwrite the
	 * oldest. It may do so only if the oldest has been answered.
	 */
	return rn_res_at(rsp, (uint8_t)(rsp->res_tail - max))->answered
		       ? RN_V_NEXT
		       : RN_V_NO_RESOURCE;
}

static enum rn_verdict check_recv_queue(const struct rn_qp *qp,
					const struct rn_request *q)
{
	bool takes = q->flags & RN_OP_RECV_WQE_TAKEN;

	return takes && !rn_qp_next_recv(qp, q->srq) ? RN_V_RNR : RN_V_NEXT;
}

static enum rn_verdict check_dma_len_max(const struct rn_request *q)
{
	/* The DMA length of a FLUSH is not the length of a message, and may be more than
	 * RN_MSG_MAX.
	 */
	return q->flags & RN_OP_RETH && !(q->flags & RN_OP_FETH) &&
			       q->reth.dma_len > RN_MSG_MAX
		       ? RN_V_TOO_LONG
		       : RN_V_NEXT;
}

static enum rn_verdict check_key(const struct rn_request *q)
{
	return q->key == RN_KEY_OK ? RN_V_NEXT : RN_V_BAD_KEY;
}

/* Checks that both addresses of an atomic are aligned to 8 bytes: its virtual address,
 * and the address in memory into which that is translated. One may be aligned and the
 * other not, because a region may start at any byte of memory.
 */
static enum rn_verdict check_alignment(const struct rn_request *q)
{
	uint64_t va;

	if (!(q->flags & RN_OP_WORD))
		return RN_V_NEXT;
	va = q->flags & RN_OP_ATOMIC_ETH ? q->atomic.va : q->reth.va;
	return (va | q->iova) % sizeof(uint64_t) ? RN_V_MISALIGNED : RN_V_NEXT;
}

static enum rn_verdict check_recv_len(const struct rn_qp *qp, const struct rn_request *q)
{
	const struct rn_responder *rsp = &qp->rsp;
	const struct rn_recv_wqe *wqe;
	uint32_t before = rsp->recv_taken ? rsp->received : 0;

	if (q->kind != RN_OP_KIND_SEND)
		return RN_V_NEXT;
	wqe = rn_qp_next_recv(qp, q->srq);
	assert(wqe && before <= wqe->length);
	return q->p->payload_len > wqe->length - before ? RN_V_RECV_TOO_SHORT : RN_V_NEXT;
}

static enum rn_verdict check_dma_len(const struct rn_qp *qp, const struct rn_request *q)
{
	const struct rn_responder *rsp = &qp->rsp;
	uint32_t left;

	if (!(q->flags & RN_OP_PAYLOAD) || q->kind == RN_OP_KIND_SEND)
		return RN_V_NEXT;
	left = q->flags & RN_OP_RETH ? q->reth.dma_len : rsp->write_total - rsp->received;
	if (q->p->payload_len > left)
		return RN_V_BAD_DMA_LEN;
	return q->flags & RN_OP_LAST && q->p->payload_len != left ? RN_V_BAD_DMA_LEN
								  : RN_V_NEXT;
}

/* Performs all checks except that of the PSN, in the order of the specification. Return:
 * RN_V_NEXT if the request may be executed; otherwise the verdict of the first check that
 * fails.
 */
static enum rn_verdict judge_request(const struct rn_qp *qp, const struct rn_request *q)
{
	enum rn_verdict v = check_opcode(qp, q);

	v = v == RN_V_NEXT ? check_sequence(qp, q) : v;
	v = v == RN_V_NEXT ? check_permission(qp, q) : v;
	v = v == RN_V_NEXT ? check_payload_len(qp, q) : v;
	v = v == RN_V_NEXT ? check_resource(qp, q) : v;
	v = v == RN_V_NEXT ? check_recv_queue(qp, q) : v;
	v = v == RN_V_NEXT ? check_dma_len_max(q) : v;
	v = v == RN_V_NEXT ? check_key(q) : v;
	v = v == RN_V_NEXT ? check_alignment(q) : v;
	v = v == RN_V_NEXT ? check_recv_len(qp, q) : v;
	return v == RN_V_NEXT ? check_dma_len(qp, q) : v;
}

/* --------------------------------------------------- executing SEND and WRITE */
static void count_message(struct rn_qp *qp)
{
	qp->rsp.msn = rn_rsp_next_msn(qp);
}

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

		assert(q->mr); /* the R_Key was checked */
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
	if (q->kind == RN_OP_KIND_WRITE)
		rn_qp_tally(qp, RN_TALLY_REMOTE_WRITE, RN_WC_SUCCESS, rsp->received);
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

/* ---------------------------- executing READ, atomics, ATOMIC WRITE and FLUSH */
/* Adds an entry for request @q to the ring of READ and atomic requests; if the ring is
 * full, the oldest entry is dropped. check_resource() has checked that the oldest was
 * answered. If a duplicate of the oldest request is being answered, that answer is given
 * up: the requester no longer waits for it, since otherwise its new request would be more
 * than it may have outstanding.
 */
static struct rn_resource *new_resource(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_responder *rsp = &qp->rsp;
	struct rn_resource *r;

	assert((q->kind & RN_RESOURCE_KIND_MASK) == q->kind);
	while (rn_res_count(rsp) >= qp->attr.max_dest_rd_atomic)
		rn_rsp_forget_oldest(qp);
	r = rn_res_at(rsp, rsp->res_tail);
	*r = (struct rn_resource){
		.kind = q->kind & RN_RESOURCE_KIND_MASK,
		.first = q->p->bth.psn,
		.last = q->p->bth.psn,
		.next = q->p->bth.psn,
	};
	rn_put_be24(r->srqn, q->srqn);
	count_message(qp);
	r->msn = rsp->msn & RN_MSN_MASK;
	rsp->res_tail++;
	return r;
}

static void execute_read(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_resource *r = new_resource(qp, q);

	r->va = q->reth.va;
	r->rkey = q->reth.rkey;
	r->length = q->reth.dma_len;
	r->last = rn_psn_add(r->first, rn_read_packets(qp, r->length) - 1);
	r->window.first = r->first;
	r->window.length = r->length;
	rn_count(qp->dev, RN_STAT_RX_READ_REQUESTS);
	rn_rsp_due(qp, (uint8_t)(qp->rsp.res_tail - 1));
}

/* Called for an ATOMIC WRITE, FLUSH or atomic that was stored as the newest request
 * (resource). Starts the operation; if earlier operations are still being executed, it
 * waits for them. It is answered when it has been executed.
 */
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

	r->atomic_op = rn_op_atomic(q->flags);
	r->va = q->atomic.va;
	r->rkey = q->atomic.rkey;
	r->atomic.value = q->atomic.swap_add;
	r->atomic.compare = q->atomic.compare;
	rn_count(qp->dev, RN_STAT_RX_ATOMIC_REQUESTS);
	return await_turn(qp, now, r);
}

static enum rn_verdict execute_atomic_write(struct rn_qp *qp, rn_ns now,
					    const struct rn_request *q)
{
	struct rn_resource *r = new_resource(qp, q);

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

	r->va = q->reth.va;
	r->rkey = q->reth.rkey;
	r->length = q->reth.dma_len;
	r->flush = q->feth;
	return await_turn(qp, now, r);
}

/* Executes a request that has passed all checks: writes its data to memory or stores it
 * as a responder resource, completes the receive WQE, and counts the message (MSN). The
 * caller sends the acknowledgement. Return: RN_V_NEXT, or one of the verdicts from
 * RN_V_RECV_PROT on.
 */
static enum rn_verdict execute_request(struct rn_qp *qp, rn_ns now,
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
	assert(false); /* the checks have refused all other kinds */
	return RN_V_UNSUPPORTED;
}

/* ------------------------------------------------------------- answering duplicates */
/* Finds the newest stored request (resource) that has a response with the PSN @psn.
 * Return: true, with its index in *@index; false if there is none.
 */
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

/* Returns true if the duplicate @q asks for the data of the stored READ @r, or for a
 * part of that data which begins at the packet with the PSN of @q.
 */
static bool is_part_of_read(const struct rn_qp *qp, const struct rn_resource *r,
			    const struct rn_request *q)
{
	uint32_t offset =
		(uint32_t)rn_psn_diff(q->p->bth.psn, r->first) * qp->attr.path_mtu;

	if (r->kind != RN_OP_KIND_READ || q->p->payload_len || q->reth.rkey != r->rkey ||
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

		/* The duplicate is ignored if the response with this PSN is still to be
		 * sent for the first time, or if the READ has not been answered
		 * completely and the duplicate does not ask for all the rest of it.
		 */
		if (!rn_psn_before(psn, r->next) || q->reth.dma_len != r->length - offset)
			return;
	}
	r->window.first = psn;
	r->window.length = q->reth.dma_len;
	r->next = psn;
	rn_rsp_due(qp, i);
}

/* Sends the response to an atomic again: now, or when the operation has been executed. */
static void repeat_atomic(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_resource *r;
	uint8_t i;

	if (!find_resource(&qp->rsp, q->p->bth.psn, &i))
		return;
	r = rn_res_at(&qp->rsp, i);
	if (r->kind != RN_OP_KIND_ATOMIC || r->va != q->atomic.va ||
	    r->rkey != q->atomic.rkey || r->atomic_op != rn_op_atomic(q->flags))
		return;
	rn_rsp_due(qp, i);
}

/* Sends the response to an ATOMIC WRITE or a FLUSH again. */
static void repeat_placement(struct rn_qp *qp, const struct rn_request *q)
{
	const struct rn_resource *r;
	uint8_t i;

	if (!find_resource(&qp->rsp, q->p->bth.psn, &i))
		return;
	r = rn_res_at(&qp->rsp, i);
	if (r->kind == q->kind && r->va == q->reth.va && r->rkey == q->reth.rkey)
		rn_rsp_due(qp, i);
}

/* Acknowledges a duplicate request with @psn. The ACK acknowledges as much as it may,
 * but no READ or atomic for whose response the requester may still wait.
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

/* Answers a request that was executed before, without executing it again. */
static void repeat_request(struct rn_qp *qp, const struct rn_request *q)
{
	if (q->kind == RN_OP_KIND_READ)
		repeat_read(qp, q);
	else if (q->kind == RN_OP_KIND_ATOMIC)
		repeat_atomic(qp, q);
	else if (q->flags & RN_OP_ANSWERED)
		repeat_placement(qp, q);
	else if (q->flags & RN_OP_REQUEST && q->p->bth.ack_req)
		repeat_ack(qp, q->p->bth.psn);
}

/* ------------------------------------------------------------ acting on the verdict */
/* How the responder reacts to a request that it refuses (IBTA Vol 1, 9.9.3): class A
 * gets a NAK Remote Operational Error, class C a NAK Invalid Request or Remote Access
 * Error, class J no NAK.
 */
struct outcome {
	bool silent; /* no NAK is sent */
	enum rn_nak_code nak;
	/* Status with which the receive WQE in use completes. */
	enum rn_wc_status recv;
	enum rn_async_event event; /* event that is raised if no receive WQE is in use */
};

#define INV RN_NAK_INVALID_REQ
#define ACC RN_NAK_REMOTE_ACCESS
#define OPERR RN_NAK_REMOTE_OP
#define REM_INV_REQ RN_WC_REM_INV_REQ_ERR
#define LOC_ACCESS RN_WC_LOC_ACCESS_ERR
#define REQ_ERR RN_EVENT_QP_REQ_ERR
#define ACCESS_ERR RN_EVENT_QP_ACCESS_ERR
/* clang-format off */
static const struct outcome outcomes[RN_V_COUNT] = {
	/*                        silent  NAK    receive WQE           event */
	[RN_V_UNSUPPORTED]     = { false, INV,   REM_INV_REQ,          REQ_ERR },
	[RN_V_BAD_SRQ]         = { false, INV,   REM_INV_REQ,          REQ_ERR },
	[RN_V_BAD_SEQUENCE]    = { false, INV,   REM_INV_REQ,          REQ_ERR },
	[RN_V_NOT_PERMITTED]   = { false, INV,   REM_INV_REQ,          ACCESS_ERR },
	[RN_V_BAD_PAYLOAD_LEN] = { false, INV,   REM_INV_REQ,          ACCESS_ERR },
	[RN_V_NO_RESOURCE]     = { false, INV,   REM_INV_REQ,          ACCESS_ERR },
	[RN_V_TOO_LONG]        = { false, INV,   REM_INV_REQ,          ACCESS_ERR },
	[RN_V_BAD_KEY]         = { false, ACC,   LOC_ACCESS,           ACCESS_ERR },
	[RN_V_MISALIGNED]      = { false, INV,   REM_INV_REQ,          ACCESS_ERR },
	[RN_V_RECV_TOO_SHORT]  = { false, INV,   RN_WC_LOC_LEN_ERR,    REQ_ERR },
	[RN_V_BAD_DMA_LEN]     = { false, INV,   REM_INV_REQ,          ACCESS_ERR },
	[RN_V_RECV_PROT]       = { false, OPERR, RN_WC_LOC_PROT_ERR,   REQ_ERR },
	[RN_V_MEM_FAULT]       = { false, ACC,   LOC_ACCESS,           ACCESS_ERR },
	[RN_V_BAD_INVALIDATE]  = { true,  INV,   REM_INV_REQ,          REQ_ERR },
};
/* clang-format on */
#undef INV
#undef ACC
#undef OPERR
#undef REM_INV_REQ
#undef LOC_ACCESS
#undef REQ_ERR
#undef ACCESS_ERR

static void refuse_request(struct rn_qp *qp, rn_ns now, const struct rn_request *q,
			   enum rn_verdict v)
{
	const struct outcome *o = &outcomes[v];
	bool recv_in_use =
		qp->rsp.recv_taken || (q->flags & RN_OP_RECV_WQE_TAKEN && v > RN_V_RNR);

	rn_diagnostic_refused(qp, q, v);
	if (v == RN_V_RECV_TOO_SHORT)
		rn_count(qp->dev, RN_STAT_RESP_LOCAL_LENGTH);
	if (recv_in_use) {
		rn_qp_take_recv(qp, q->srq);
		qp->rsp.recv_taken = false;
		rn_qp_fail_recv(qp, now, o->recv);
	} else {
		rn_event_raise(qp, o->event);
	}
	if (o->silent)
		rn_qp_error(qp, now);
	else
		rn_rsp_fatal(qp, now, o->nak, q->p->bth.psn);
}

static void out_of_sequence(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_responder *rsp = &qp->rsp;

	rn_count(qp->dev, RN_STAT_OUT_OF_SEQUENCE);
	rn_window_suspect(qp);
	if (!rsp->nak_pending)
		rn_rsp_nak(qp, rn_aeth_syndrome(RN_AETH_NAK, RN_NAK_PSN_SEQ));
	if (rn_psn_before(rsp->gap_psn, q->p->bth.psn))
		rsp->gap_psn = q->p->bth.psn;
}

static void act_on_verdict(struct rn_qp *qp, rn_ns now, const struct rn_request *q,
			   enum rn_verdict v)
{
	switch (v) {
	case RN_V_NEXT:
		rn_rsp_accepted(qp, q);
		return;
	case RN_V_OUT_OF_SEQUENCE:
		out_of_sequence(qp, q);
		return;
	case RN_V_DUPLICATE:
		rn_count(qp->dev, RN_STAT_DUPLICATE_REQUEST);
		repeat_request(qp, q);
		return;
	case RN_V_RNR:
		rn_rsp_nak(qp, rn_aeth_syndrome(RN_AETH_RNR, qp->attr.min_rnr_timer));
		return;
	case RN_V_UNSUPPORTED:
	case RN_V_BAD_SRQ:
	case RN_V_BAD_SEQUENCE:
	case RN_V_NOT_PERMITTED:
	case RN_V_BAD_PAYLOAD_LEN:
	case RN_V_NO_RESOURCE:
	case RN_V_TOO_LONG:
	case RN_V_BAD_KEY:
	case RN_V_MISALIGNED:
	case RN_V_RECV_TOO_SHORT:
	case RN_V_BAD_DMA_LEN:
	case RN_V_RECV_PROT:
	case RN_V_MEM_FAULT:
	case RN_V_BAD_INVALIDATE:
		refuse_request(qp, now, q, v);
		return;
	case RN_V_COUNT:
		break;
	}
	assert(false);
}

void rn_rsp_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	struct rn_request q;
	enum rn_verdict v;

	load_request(&q, qp, p);
	v = check_psn(qp, &q);
	if (v == RN_V_NEXT)
		v = judge_request(qp, &q);
	if (v == RN_V_NEXT)
		v = execute_request(qp, now, &q);
	act_on_verdict(qp, now, &q, v);
}

/* ------------------------------------------------------------------- requests of UC */
/* Forgets the message of which only some packets have arrived. The next message will use
 * its receive WQE.
 */
static void abandon_message(struct rn_responder *rsp)
{
	rsp->message = RN_MSG_NONE;
	rsp->recv_taken = false;
}

static bool continues_message(const struct rn_responder *rsp, const struct rn_request *q)
{
	if (q->p->bth.psn.v != rsp->exp_psn.v || q->flags & RN_OP_FIRST)
		return false;
	return rsp->message == RN_MSG_SEND
		       ? q->kind == RN_OP_KIND_SEND
		       : rsp->message == RN_MSG_WRITE && q->kind == RN_OP_KIND_WRITE;
}

static void drop_message(struct rn_qp *qp, rn_ns now, enum rn_verdict v)
{
	abandon_message(&qp->rsp);
	if (v == RN_V_RECV_TOO_SHORT && qp->srq)
		rn_qp_recv_too_short(qp, now);
	rn_count(qp->dev, v == RN_V_RNR || v == RN_V_RECV_TOO_SHORT ? RN_STAT_RX_NO_RECV
								    : RN_STAT_RX_DROPPED);
}

static void fail_message(struct rn_qp *qp, rn_ns now)
{
	abandon_message(&qp->rsp);
	rn_qp_fail_recv(qp, now, RN_WC_LOC_PROT_ERR);
	rn_qp_error(qp, now);
}

void rn_uc_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	struct rn_responder *rsp = &qp->rsp;
	struct rn_request q;
	enum rn_verdict v;

	load_request(&q, qp, p);
	/* A packet that does not continue the message in progress ends that message. If
	 * it does not begin a message either, check_sequence() refuses it, and all
	 * further packets until one begins a message.
	 */
	if (!continues_message(rsp, &q))
		abandon_message(rsp);
	rsp->exp_psn = rn_psn_add(p->bth.psn, 1);

	v = judge_request(qp, &q);
	if (v == RN_V_NEXT)
		v = execute_request(qp, now, &q);
	if (v == RN_V_RECV_PROT)
		fail_message(qp, now);
	else if (v != RN_V_NEXT)
		drop_message(qp, now, v);
}
