/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* response.c - builds what a responder sends: ACKs, NAKs, and the responses to READs,
 * atomics, ATOMIC WRITE and FLUSH. Executes the last three, and contains the responder's
 * part of QP state changes.
 *
 * A QP has at most one acknowledgement waiting. A newer ACK or NAK replaces it, because
 * it acknowledges the earlier requests, too. READ and atomic responses with smaller PSNs
 * have to be sent before the acknowledgement. Once they are, or if there are none, the QP
 * is on dev->acks until the acknowledgement is sent.
 *
 * If the device is configured to do so, each ACK carries the number of receive WQEs
 * that no message has taken (credits), rounded down to a value that the AETH can
 * express. Credits count from the MSN in the same AETH, so an ACK that other messages
 * have overtaken promises less than there is, never more. Receive WQEs of an SRQ cannot
 * be promised to one of the queue pairs that share it, so a QP with an SRQ advertises
 * no credits. The requester's side is take_credits() in retransmit.c and has_credit()
 * in requester.c.
 *
 * Atomics, ATOMIC WRITE and FLUSH are executed once, one at a time and in order, and are
 * answered afterwards. An ATOMIC WRITE is one aligned store, and never a relaxed-ordering
 * write. If the memory may answer reads later, an ATOMIC WRITE also waits until every
 * READ before it has been answered. A FLUSH is a read of one byte of the range that it
 * names: the read pushes earlier writes ahead of it on the way to that memory, and when
 * it completes, those writes have arrived. If memory always answers at once, writes are
 * never on their way, and no read is needed. A FLUSH does the same for both placement
 * types, because whether data survives power loss depends only on the memory.
 *
 * Source: IBTA Vol 1, 9.4.5, 9.7.5, 9.7.7.2 (credits) and A19.
 */
#include "responder.h"

#include <string.h>

#include "transport/object/memory.h"

#define SYNDROME_ACK rn_aeth_syndrome(RN_AETH_ACK, RN_AETH_NO_CREDIT)

static bool syndrome_is_ack(uint8_t syndrome)
{
	return rn_aeth_type(syndrome) == RN_AETH_ACK;
}

static bool syndrome_is_fatal(uint8_t syndrome)
{
	return rn_aeth_type(syndrome) == RN_AETH_NAK &&
	       rn_aeth_value(syndrome) != RN_NAK_PSN_SEQ;
}

/* Returns the protection domain against which the R_Key of a stored request is checked.
 */
static uint32_t resource_pd(const struct rn_qp *qp, const struct rn_resource *r)
{
	return rn_qp_rkey_pd(qp, rn_srq_find(qp, rn_get_be24(r->srqn)));
}

/* -------------------------------------------------------------- advertising credits */
static bool advertises(const struct rn_qp *qp)
{
	return qp->dev->cfg.credits && !rn_qp_uses_srq(qp);
}

static uint32_t free_receives(const struct rn_responder *rsp)
{
	return rn_wq_count(&rsp->rq) - (rsp->recv_taken ? 1 : 0);
}

/* Returns the AETH syndrome of an ACK that is sent now. It contains the credits: how
 * many receive WQEs are free.
 */
static uint8_t credit_syndrome(struct rn_qp *qp)
{
	uint8_t code = RN_AETH_NO_CREDIT;

	if (advertises(qp)) {
		code = rn_aeth_credit_code(free_receives(&qp->rsp));
		qp->rsp.told_none = code == 0;
	}
	return rn_aeth_syndrome(RN_AETH_ACK, code);
}

/* -------------------------------------------------- the pending acknowledgement */
static bool ack_is_ready(const struct rn_qp *qp)
{
	const struct rn_responder *rsp = &qp->rsp;

	if (!rsp->ack_due)
		return false;
	return rsp->res_cur == rsp->res_tail ||
	       rn_psn_before(rsp->ack_psn, rn_res_at(rsp, rsp->res_cur)->next);
}

/* Puts the QP on dev->acks if its acknowledgement may be sent now. Otherwise removes it
 * from that list. Must be called whenever something changes on which ack_is_ready()
 * depends.
 */
static void update_ack(struct rn_qp *qp)
{
	if (ack_is_ready(qp))
		rn_dev_schedule_ack(qp->dev, qp);
	else
		rn_list_remove(&qp->ack_link);
}

static void set_ack(struct rn_qp *qp, uint8_t syndrome, struct rn_psn psn, uint32_t msn)
{
	struct rn_responder *rsp = &qp->rsp;

	rsp->ack_due = true;
	rsp->ack_syndrome = syndrome;
	rsp->ack_psn = psn;
	rsp->ack_msn = msn;
	update_ack(qp);
}

void rn_rsp_ack(struct rn_qp *qp, struct rn_psn psn, uint32_t msn)
{
	struct rn_responder *rsp = &qp->rsp;

	if (rsp->ack_due) {
		rn_count(qp->dev, RN_STAT_ACK_COALESCED);
		/* The acknowledgement that is due covers @psn already. That is always so
		 * for a NAK: its PSN is newer.
		 */
		if (!rn_psn_before(rsp->ack_psn, psn))
			return;
	}
	set_ack(qp, SYNDROME_ACK, psn, msn);
}

void rn_rsp_nak(struct rn_qp *qp, uint8_t syndrome)
{
	struct rn_responder *rsp = &qp->rsp;

	rsp->nak_pending = true;
	rsp->gap_psn = rsp->exp_psn;
	set_ack(qp, syndrome, rsp->exp_psn, rsp->msn);
}

void rn_rsp_fatal(struct rn_qp *qp, rn_ns now, enum rn_nak_code code, struct rn_psn psn)
{
	struct rn_responder *rsp = &qp->rsp;

	/* Set before rn_qp_error() is called, because rn_rsp_flush() must see that the
	 * QP goes to ERR with a NAK to be sent.
	 */
	rsp->ack_due = true;
	rsp->ack_syndrome = rn_aeth_syndrome(RN_AETH_NAK, (uint8_t)code);
	rsp->ack_psn = psn;
	rsp->ack_msn = rsp->msn;
	rn_qp_error(qp, now);
	update_ack(qp);
	if (rn_rsp_work_due(qp))
		rn_dev_schedule(qp->dev, qp);
}

void rn_rsp_accepted(struct rn_qp *qp, const struct rn_request *q)
{
	struct rn_responder *rsp = &qp->rsp;
	struct rn_psn psn = q->p->bth.psn;
	bool message = q->kind == RN_OP_KIND_SEND || q->kind == RN_OP_KIND_WRITE;
	struct rn_psn covered = message ? psn : rn_psn_add(psn, RN_PSN_MASK);
	uint32_t msn = message ? rsp->msn : rsp->msn - 1;

	if (qp->state == RN_QPS_ERR)
		return;
	rsp->nak_pending = false;
	rsp->exp_psn = rn_psn_add(psn, 1);
	if (q->kind == RN_OP_KIND_READ)
		rsp->exp_psn = rn_psn_add(psn, rn_read_packets(qp, q->reth.dma_len));

	if (!rsp->ack_due || syndrome_is_ack(rsp->ack_syndrome)) {
		if (message && q->p->bth.ack_req)
			rn_rsp_ack(qp, covered, msn);
	} else if (!rn_psn_before(rsp->gap_psn, rsp->exp_psn)) {
		/* The packet for which the NAK asks has arrived before the NAK was sent,
		 * but packets behind it were dropped. So the NAK now asks for the first
		 * of the dropped ones.
		 */
		rsp->nak_pending = true;
		set_ack(qp, rn_aeth_syndrome(RN_AETH_NAK, RN_NAK_PSN_SEQ), rsp->exp_psn,
			rsp->msn);
	} else {
		/* The NAK is not needed any more. An ACK for the same requests takes its
		 * place.
		 */
		set_ack(qp, SYNDROME_ACK, covered, msn & RN_PSN_MASK);
	}
}

/* Returns true if the newest request was a READ, atomic, ATOMIC WRITE or FLUSH. A plain
 * ACK must not acknowledge it, because the requester waits for its response.
 */
static bool was_answered_request(const struct rn_responder *rsp)
{
	const struct rn_resource *last;

	if (rn_res_count(rsp) == 0)
		return false;
	last = rn_res_at(rsp, (uint8_t)(rsp->res_tail - 1));
	return rn_psn_add(last->last, 1).v == rsp->exp_psn.v;
}

/* If the last ACK said that there are no credits, makes it due again, with the present
 * credits. Otherwise the requester would have to send one message without a credit, and
 * wait for its result, to find out that there are credits again.
 */
void rn_credit_posted(struct rn_qp *qp)
{
	struct rn_responder *rsp = &qp->rsp;

	if (!rsp->told_none || qp->state == RN_QPS_ERR || was_answered_request(rsp))
		return;
	rn_rsp_ack(qp, rn_psn_add(rsp->exp_psn, RN_PSN_MASK), rsp->msn);
}

/* --------------------------------------------------------- writing acknowledgements */
static uint8_t *emit_bth(const struct rn_qp *qp, const struct rn_build *b, uint8_t opcode,
			 struct rn_psn psn, uint32_t payload_len)
{
	const struct rn_bth bth = {
		.opcode = opcode | (rn_qp_is_xrc(qp) ? RN_CLASS_XRC : RN_CLASS_RC),
		.migreq = rn_apm_is_migrated(qp),
		.pad_cnt = rn_pad_cnt(payload_len),
		.pkey = RN_PKEY_DEFAULT,
		.dest_qpn = qp->attr.dest_qpn,
		.psn = psn,
	};

	b->tx->flow = &qp->flow;
	b->tx->dest_qpn = qp->attr.dest_qpn;
	b->tx->src_qpn = qp->qpn;
	b->tx->response = true;
	return rn_bth_emit(b->buf, &bth);
}

static void count_nak(struct rn_qp *qp, rn_ns now, uint8_t syndrome)
{
	static const enum rn_stat by_code[] = {
		[RN_NAK_PSN_SEQ] = RN_STAT_SEQ_NAK_TX,
		[RN_NAK_INVALID_REQ] = RN_STAT_RESP_INVALID_REQ,
		[RN_NAK_REMOTE_ACCESS] = RN_STAT_RESP_REMOTE_ACCESS,
		[RN_NAK_REMOTE_OP] = RN_STAT_RESP_OP_ERR,
	};

	if (rn_aeth_type(syndrome) == RN_AETH_RNR) {
		rn_count(qp->dev, RN_STAT_RNR_NAK_TX);
		qp->rsp.rnr.naks++;
		qp->rsp.rnr.at = now;
	} else if (rn_aeth_type(syndrome) == RN_AETH_NAK) {
		rn_count(qp->dev, by_code[rn_aeth_value(syndrome)]);
	}
}

/* If the device is configured so, tells the memory back end that data is about to be
 * acknowledged. The back end then makes sure that the data is in memory.
 */
static void settle_acked(const struct rn_qp *qp)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;

	if (cfg->before_ack)
		cfg->before_ack(cfg->mem_ctx, qp->qpn);
}

uint32_t rn_rsp_build_ack(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	struct rn_responder *rsp = &qp->rsp;
	struct rn_aeth aeth = { .syndrome = rsp->ack_syndrome, .msn = rsp->ack_msn };
	uint8_t *p;

	if (!ack_is_ready(qp))
		return 0;
	assert(b->cap >= RN_BTH_LEN + RN_AETH_LEN);
	rsp->ack_due = false;
	if (syndrome_is_ack(aeth.syndrome))
		aeth.syndrome = credit_syndrome(qp);
	count_nak(qp, now, aeth.syndrome);
	rn_diagnostic_nak(qp, aeth.syndrome, rsp->ack_psn);
	settle_acked(qp);
	p = emit_bth(qp, b, RN_RC_ACK, rsp->ack_psn, 0);
	p = rn_aeth_emit(p, &aeth);
	return (uint32_t)(p - b->buf);
}

/* Builds the acknowledgement that is due, in place of the response for which
 * rn_rsp_build() was called.
 */
static uint32_t build_ack_now(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	rn_list_remove(&qp->ack_link);
	return rn_rsp_build_ack(qp, now, b);
}

/* -------------------------------------------------------------- responder resources */
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
	update_ack(qp);
	rn_dev_schedule(qp->dev, qp);
}

/* Called when all responses to the request at index res_cur of the ring of READ and
 * atomic requests have been sent: moves res_cur to the next request that has responses
 * to be sent.
 */
static void next_resource(struct rn_qp *qp)
{
	struct rn_responder *rsp = &qp->rsp;

	rn_res_at(rsp, rsp->res_cur)->due = false;
	while (rsp->res_cur != rsp->res_tail && !rn_res_at(rsp, rsp->res_cur)->due)
		rsp->res_cur++;
	update_ack(qp);
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
	return r->kind == RN_OP_KIND_READ ? !rsp->stage.waiting
					  : r->phase == RN_ATOMIC_DONE;
}

/* Called when the memory of the stored request (resource) at @index cannot be accessed
 * any more. If it was being answered again because of a duplicate, that answer is just
 * given up, because duplicates are never NAKed. Otherwise a Remote Access NAK is sent in
 * place of the next response.
 */
static void fail_resource(struct rn_qp *qp, rn_ns now, uint8_t index)
{
	struct rn_responder *rsp = &qp->rsp;
	const struct rn_resource *r = rn_res_at(rsp, index);

	if (r->answered) {
		assert(index == rsp->res_cur);
		next_resource(qp);
		return;
	}
	/* This request and later ones count as not executed: they leave the ring. But if
	 * a response to this request has been sent, the requester knows its MSN
	 * (C9-148), so that MSN is not taken back.
	 */
	rsp->res_tail = index;
	rsp->msn = (r->next.v != r->first.v ? r->msn : r->msn - 1) & RN_MSN_MASK;
	rn_event_raise(qp, RN_EVENT_QP_ACCESS_ERR);
	rn_rsp_fatal(qp, now, RN_NAK_REMOTE_ACCESS, r->next);
}

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

/* ---------------------------------------- executing atomics, ATOMIC WRITE and FLUSH */
static void note_done(struct rn_responder *rsp, struct rn_resource *r)
{
	if (r->kind == RN_OP_KIND_ATOMIC)
		r->atomic.value = rsp->atomic.value;
	r->phase = RN_ATOMIC_DONE;
}

static enum rn_mem_result count_fault(const struct rn_qp *qp, enum rn_mem_result result)
{
	if (result == RN_MEM_FAULT)
		rn_count(qp->dev, RN_STAT_MEM_FAULT);
	return result;
}

/* Looks up the memory of an 8-byte operation. Called when the operation is executed,
 * because the region may have been deregistered while the operation waited. Return:
 * false if the memory may not be accessed any more.
 */
static bool find_word(const struct rn_qp *qp, const struct rn_resource *r,
		      uint32_t access, rn_iova *iova, struct rn_mr **mr)
{
	const struct rn_key_use use = {
		.key = r->rkey,
		.pd = resource_pd(qp, r),
		.qpn = qp->qpn,
		.va = r->va,
		.len = sizeof(uint64_t),
		.access = access,
	};

	return rn_mr_check_remote(&qp->dev->mrs, &use, iova, mr) == RN_KEY_OK &&
	       *iova % sizeof(uint64_t) == 0;
}

static enum rn_mem_result run_atomic(struct rn_qp *qp, const struct rn_resource *r)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	struct rn_mem_atomic_req req = {
		.op = (enum rn_mem_atomic)r->atomic_op,
		.operand = r->atomic.value,
		.compare = r->atomic.compare,
	};
	struct rn_mem_attr attr = { .qpn = qp->qpn, .msg = r->msn };
	struct rn_mr *mr;

	if (!find_word(qp, r, RN_ACCESS_REMOTE_ATOMIC, &req.dst, &mr))
		return RN_MEM_FAULT;
	attr.flags = rn_mem_flags(mr);
	return count_fault(qp, cfg->mem->atomic(cfg->mem_ctx, &req, &qp->rsp.atomic.value,
						attr, rn_mem_tag(qp, RN_TAG_RSP_ATOMIC)));
}

static enum rn_mem_result run_atomic_write(struct rn_qp *qp, const struct rn_resource *r)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	const struct rn_mem_attr attr = {
		.qpn = qp->qpn,
		.flags = RN_MEM_PUSH,
		.msg = r->msn,
	};
	struct rn_mr *mr;
	rn_iova iova;

	if (!find_word(qp, r, RN_ACCESS_REMOTE_WRITE, &iova, &mr))
		return RN_MEM_FAULT;
	return count_fault(qp, cfg->mem->write(cfg->mem_ctx, iova, &r->atomic.value,
					       sizeof(uint64_t), attr));
}

static enum rn_mem_result run_flush(struct rn_qp *qp, const struct rn_resource *r)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	const struct rn_mem_attr attr = {
		.qpn = qp->qpn,
		.flags = RN_MEM_PUSH,
		.msg = r->msn,
	};
	const struct rn_reth reth = {
		.va = r->va,
		.rkey = r->rkey,
		.dma_len = r->length,
	};
	const struct rn_key_use use = rn_flush_use(
		&reth, &r->flush,
		(struct rn_key_use){ .pd = resource_pd(qp, r), .qpn = qp->qpn });
	struct rn_mr *mr;
	rn_iova iova;

	if (rn_mr_check_remote(&qp->dev->mrs, &use, &iova, &mr) != RN_KEY_OK)
		return RN_MEM_FAULT;
	if (cfg->mem->always_done || (use.whole ? mr->length : use.len) == 0)
		return RN_MEM_DONE;
	return count_fault(qp,
			   cfg->mem->read(cfg->mem_ctx, &qp->rsp.atomic.value, iova, 1,
					  attr, rn_mem_tag(qp, RN_TAG_RSP_ATOMIC)));
}

static enum rn_mem_result run_operation(struct rn_qp *qp, const struct rn_resource *r)
{
	switch ((int)r->kind) {
	case RN_OP_KIND_ATOMIC:
		return run_atomic(qp, r);
	case RN_OP_KIND_ATOMIC_WRITE:
		return run_atomic_write(qp, r);
	case RN_OP_KIND_FLUSH:
		return run_flush(qp, r);
	case RN_OP_KIND_READ:
		break;
	}
	assert(false);
	return RN_MEM_FAULT;
}

/* Returns true if the resource at @index is an ATOMIC WRITE that must wait for an earlier
 * READ. It never waits if memory always answers at once, because waiting would let a
 * later SEND overtake it. A READ then reads memory when its response is built, perhaps
 * after the ATOMIC WRITE. If the READ is to return the old bytes, the requester must use
 * a fence, as with any other write.
 */
static bool must_wait(const struct rn_qp *qp, uint8_t index)
{
	const struct rn_responder *rsp = &qp->rsp;

	if (qp->dev->cfg.mem->always_done ||
	    rn_res_at(rsp, index)->kind != RN_OP_KIND_ATOMIC_WRITE)
		return false;
	for (uint8_t i = rsp->res_head; i != index; i++) {
		const struct rn_resource *r = rn_res_at(rsp, i);

		if (r->kind == RN_OP_KIND_READ && !r->answered)
			return true;
	}
	return false;
}

void rn_operation_start(struct rn_qp *qp, rn_ns now)
{
	struct rn_responder *rsp = &qp->rsp;

	for (uint8_t i = rsp->res_cur; i != rsp->res_tail && !rsp->atomic.running; i++) {
		struct rn_resource *r = rn_res_at(rsp, i);

		if (r->kind == RN_OP_KIND_READ || r->phase != RN_ATOMIC_WAITING)
			continue;
		if (must_wait(qp, i))
			return;
		switch (run_operation(qp, r)) {
		case RN_MEM_DONE:
			note_done(rsp, r);
			break;
		case RN_MEM_PENDING:
			r->phase = RN_ATOMIC_RUNNING;
			rsp->atomic.running = true;
			rsp->atomic.index = i;
			break;
		case RN_MEM_FAULT:
			fail_resource(qp, now, i);
			return;
		}
	}
}

/* Called when the memory back end has executed an operation. If the QP was reset or
 * failed meanwhile, the entry of the ring is free or holds another request now; its
 * phase shows that.
 */
static void operation_mem_done(struct rn_qp *qp, rn_ns now, enum rn_mem_result result)
{
	struct rn_responder *rsp = &qp->rsp;
	uint8_t i = rsp->atomic.index;
	struct rn_resource *r = rn_res_at(rsp, i);

	rsp->atomic.running = false;
	if ((uint8_t)(i - rsp->res_head) < rn_res_count(rsp) &&
	    r->kind != RN_OP_KIND_READ && r->phase == RN_ATOMIC_RUNNING) {
		if (result == RN_MEM_DONE) {
			note_done(rsp, r);
		} else {
			rn_count(qp->dev, RN_STAT_MEM_FAULT);
			fail_resource(qp, now, i);
		}
	}
	rn_operation_start(qp, now);
}

/* --------------------------------------------------------------- building responses */
/* Reads the payload of a response into the bounce buffer. The buffer is needed if the
 * memory may answer only after the function that builds the packet has returned.
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

	assert(!rsp->stage.waiting); /* rn_rsp_work_due() has checked this */
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

/* Reads the payload of the next response, @len bytes at @va, into @dst. */
// NOLINTNEXTLINE(readability-function-size): each parameter is needed
static enum rn_mem_result read_payload(struct rn_qp *qp, const struct rn_resource *r,
				       uint64_t va, uint8_t *dst, uint32_t len,
				       struct rn_crc32_part *part)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	const struct rn_key_use use = {
		.key = r->rkey,
		.pd = resource_pd(qp, r),
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
	const struct rn_aeth aeth = { .syndrome = credit_syndrome(qp), .msn = r->msn };
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
		fail_resource(qp, now, index);
		return qp->state == RN_QPS_ERR ? build_ack_now(qp, now, b) : 0;
	}
	emit_bth(qp, b, opcode, r->next, len);
	if (has_aeth) {
		settle_acked(qp);
		rn_aeth_emit(b->buf + RN_BTH_LEN, &aeth);
	}
	memset(payload + len, 0, pad);

	if (left <= mtu) {
		/* All data of the READ was read, and the peer gets it unless a packet
		 * is lost.
		 */
		if (!r->answered)
			rn_qp_tally(qp, RN_TALLY_REMOTE_READ, RN_WC_SUCCESS, r->length);
		r->answered = true;
		next_resource(qp);
	} else {
		r->next = rn_psn_add(r->next, 1);
		update_ack(qp);
	}
	return (uint32_t)(payload + len + pad - b->buf);
}

static uint32_t build_atomic(struct rn_qp *qp, struct rn_build *b)
{
	struct rn_resource *r = rn_res_at(&qp->rsp, qp->rsp.res_cur);
	const struct rn_aeth aeth = { .syndrome = credit_syndrome(qp), .msn = r->msn };
	uint8_t *p;

	assert(b->cap >= RN_BTH_LEN + RN_AETH_LEN + RN_ATOMIC_ACK_ETH_LEN);
	settle_acked(qp);
	p = emit_bth(qp, b, RN_RC_ATOMIC_ACK, r->first, 0);
	p = rn_aeth_emit(p, &aeth);
	p = rn_atomic_ack_eth_emit(p, r->atomic.value);
	r->answered = true;
	next_resource(qp);
	return (uint32_t)(p - b->buf);
}

/* Builds the response to an ATOMIC WRITE or FLUSH that has been executed. */
static uint32_t build_placed(struct rn_qp *qp, struct rn_build *b)
{
	struct rn_resource *r = rn_res_at(&qp->rsp, qp->rsp.res_cur);
	const struct rn_aeth aeth = { .syndrome = credit_syndrome(qp), .msn = r->msn };
	uint8_t *p;

	assert(b->cap >= RN_BTH_LEN + RN_AETH_LEN);
	settle_acked(qp);
	p = emit_bth(qp, b, RN_RC_READ_RESPONSE_ONLY, r->first, 0);
	p = rn_aeth_emit(p, &aeth);
	r->answered = true;
	next_resource(qp);
	return (uint32_t)(p - b->buf);
}

static uint32_t build_response(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	uint32_t len;

	switch ((int)rn_res_at(&qp->rsp, qp->rsp.res_cur)->kind) {
	case RN_OP_KIND_READ:
		len = build_read(qp, now, b);
		/* An ATOMIC WRITE may have waited until this READ was answered. */
		if (!qp->dev->cfg.mem->always_done)
			rn_operation_start(qp, now);
		return len;
	case RN_OP_KIND_ATOMIC:
		return build_atomic(qp, b);
	default:
		return build_placed(qp, b);
	}
}

uint32_t rn_rsp_build(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	/* A second round is needed only if the response in the first one was to a
	 * duplicate READ that had to be dropped.
	 */
	while (rn_rsp_work_due(qp)) {
		uint32_t len;

		/* The ACK leaves before the response. Some requesters do not take a
		 * response as an acknowledgement of the SENDs and WRITEs before it, and
		 * ignore an ACK with a smaller PSN that comes after it.
		 */
		if (ack_is_ready(qp))
			return build_ack_now(qp, now, b);
		len = build_response(qp, now, b);
		if (len)
			return len;
	}
	return 0;
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
		operation_mem_done(qp, now, result);
	else
		read_mem_done(&qp->rsp, result);
	if (rn_rsp_work_due(qp))
		rn_dev_schedule(qp->dev, qp);
}

/* ------------------------------------------------------- changes of the QP's state */
void rn_rsp_reset(struct rn_qp *qp)
{
	const struct rn_responder old = qp->rsp;
	struct rn_responder *rsp = &qp->rsp;

	*rsp = (struct rn_responder){ .rq = old.rq,
				      .res = old.res,
				      .res_room = old.res_room };
	rsp->rq.head = 0;
	rsp->rq.tail = 0;
	/* @atomic and @stage survive a reset, because the memory back end still writes
	 * to them when it answers pending atomics and reads.
	 */
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

	if (!rsp->ack_due || !syndrome_is_fatal(rsp->ack_syndrome)) {
		/* An ACK that may leave now is still sent. All other acknowledgements
		 * are dropped.
		 */
		rsp->ack_due = ack_is_ready(qp) && syndrome_is_ack(rsp->ack_syndrome);
		rsp->res_head = rsp->res_tail;
		rsp->res_cur = rsp->res_tail;
		update_ack(qp);
	}
	while (rn_wq_count(&rsp->rq))
		rn_qp_fail_recv(qp, now, RN_WC_WR_FLUSH_ERR);
}
