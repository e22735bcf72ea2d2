/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* responder.c - request packets of a connected QP: checks, and what follows a verdict.
 *
 * Source: IBTA Vol 1, 9.7.4, 9.7.5 and 9.9.3.
 */
#include "responder.h"

#include "remark.h"

/* ------------------------------------------------------------------ loading */
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
		/* Again for each packet: the region may be gone by now. */
		use.key = rsp->write_rkey;
		use.va = rsp->write_va + rsp->received;
		use.len = rsp->write_total - rsp->received;
	}
	look_up(q, qp, &use);
}

/* op->hdr_len was compared with the packet, so no header is cut off. */
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

/* Of what a FLUSH can ask for some is reserved. */
static bool is_flush_known(const struct rn_feth *feth)
{
	const uint8_t known = RN_FLUSH_GLOBAL | RN_FLUSH_PERSISTENT;

	return feth->placement && !(feth->placement & ~known) &&
	       feth->selectivity <= RN_FLUSH_MR;
}

/* Right that both queue pair and region must grant. */
static uint32_t needed_access(const struct rn_request *q)
{
	switch (q->kind) {
	case RN_OP_KIND_WRITE:
	case RN_OP_KIND_ATOMIC_WRITE:
		return RN_ACCESS_REMOTE_WRITE;
	case RN_OP_KIND_READ:
		return RN_ACCESS_REMOTE_READ;
	case RN_OP_KIND_ATOMIC:
		return RN_ACCESS_REMOTE_ATOMIC;
	case RN_OP_KIND_FLUSH:
		return rn_flush_access(q->feth.placement);
	case RN_OP_KIND_NONE:
	case RN_OP_KIND_SEND:
	case RN_OP_KIND_READ_RESPONSE:
	case RN_OP_KIND_ACK:
	case RN_OP_KIND_ATOMIC_ACK:
	case RN_OP_KIND_CNP:
		break;
	}
	return 0;
}

void rn_request_load(struct rn_request *q, const struct rn_qp *qp,
		     const struct rn_packet *p)
{
	struct rn_key_use use = { .qpn = qp->qpn };

	q->p = p;
	q->flags = p->op->flags;
	q->kind = (enum rn_op_kind)p->op->kind;
	q->key = RN_KEY_OK;
	q->iova = 0;
	q->mr = NULL;
	q->srqn = 0;
	q->feth = (struct rn_feth){ 0 };
	if (q->flags &
	    (RN_OP_XRCETH | RN_OP_RETH | RN_OP_ATOMIC_ETH | RN_OP_IMM | RN_OP_IETH))
		parse_headers(q);
	q->srq = q->flags & RN_OP_XRCETH ? rn_srq_find(qp, q->srqn) : qp->srq;
	use.pd = rn_qp_rkey_pd(qp, q->srq);

	if (q->kind == RN_OP_KIND_WRITE) {
		look_up_write(q, qp);
	} else if (q->kind == RN_OP_KIND_READ || q->kind == RN_OP_KIND_ATOMIC_WRITE) {
		use.key = q->reth.rkey;
		use.va = q->reth.va;
		use.len = q->reth.dma_len;
		use.access = needed_access(q);
		look_up(q, qp, &use);
	} else if (q->kind == RN_OP_KIND_ATOMIC) {
		use.key = q->atomic.rkey;
		use.va = q->atomic.va;
		use.len = sizeof(uint64_t);
		use.access = needed_access(q);
		look_up(q, qp, &use);
	} else if (q->kind == RN_OP_KIND_FLUSH && is_flush_known(&q->feth)) {
		/* Of 0 bytes, too: the key says what is flushed. */
		use = rn_flush_use(&q->reth, &q->feth, use);
		q->key = rn_mr_check_remote(&qp->dev->mrs, &use, &q->iova, &q->mr);
	}
}

/* ------------------------------------------------------------------- checks */
static enum rn_verdict check_psn(const struct rn_qp *qp, const struct rn_request *q)
{
	int32_t ahead = rn_psn_diff(q->p->bth.psn, qp->rsp.exp_psn);

	if (ahead > 0)
		return RN_V_OUT_OF_SEQUENCE;
	return ahead < 0 ? RN_V_DUPLICATE : RN_V_NEXT;
}

static bool is_supported(enum rn_op_kind kind)
{
	return kind == RN_OP_KIND_SEND || kind == RN_OP_KIND_WRITE ||
	       rn_is_answered(kind);
}

/* XRC: a message is for one SRQ from its first packet to its last. */
static bool is_of_srq(const struct rn_qp *qp, const struct rn_request *q)
{
	const struct rn_responder *rsp = &qp->rsp;

	return q->srq && (rsp->message != RN_MSG_SEND || rsp->taken_from == q->srq);
}

static enum rn_verdict check_opcode(const struct rn_qp *qp, const struct rn_request *q)
{
	if (!is_supported(q->kind))
		return RN_V_UNSUPPORTED;
	if (q->kind == RN_OP_KIND_FLUSH && !is_flush_known(&q->feth))
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
	else if (q->kind == RN_OP_KIND_ATOMIC_WRITE)
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

	if (!rn_is_answered(q->kind))
		return RN_V_NEXT;
	if (max == 0)
		return RN_V_NO_RESOURCE;
	if (rn_res_count(rsp) < max)
		return RN_V_NEXT;
	/* The oldest that has to make room must have been answered. */
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

static enum rn_verdict check_dma_len_max(const struct rn_qp *qp,
					 const struct rn_request *q)
{
	(void)qp;
	/* What a FLUSH names is no message. */
	return q->flags & RN_OP_RETH && !(q->flags & RN_OP_FETH) &&
			       q->reth.dma_len > RN_MSG_MAX
		       ? RN_V_TOO_LONG
		       : RN_V_NEXT;
}

static enum rn_verdict check_key(const struct rn_qp *qp, const struct rn_request *q)
{
	(void)qp;
	return q->key == RN_KEY_OK ? RN_V_NEXT : RN_V_BAD_KEY;
}

/* A region may start at any byte of memory, so that both addresses matter. */
static enum rn_verdict check_alignment(const struct rn_qp *qp, const struct rn_request *q)
{
	(void)qp;
	if (q->kind == RN_OP_KIND_ATOMIC && (q->atomic.va | q->iova) % 8)
		return RN_V_MISALIGNED;
	if (q->kind == RN_OP_KIND_ATOMIC_WRITE && (q->reth.va | q->iova) % 8)
		return RN_V_MISALIGNED;
	return RN_V_NEXT;
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

	if (q->kind == RN_OP_KIND_ATOMIC_WRITE)
		return q->reth.dma_len == q->p->payload_len ? RN_V_NEXT
							    : RN_V_BAD_DMA_LEN;
	if (q->kind != RN_OP_KIND_WRITE)
		return RN_V_NEXT;
	left = q->flags & RN_OP_RETH ? q->reth.dma_len : rsp->write_total - rsp->received;
	if (q->p->payload_len > left)
		return RN_V_BAD_DMA_LEN;
	return q->flags & RN_OP_LAST && q->p->payload_len != left ? RN_V_BAD_DMA_LEN
								  : RN_V_NEXT;
}

/* The order is the specification's order of precedence, so it is data. */
static enum rn_verdict (*const checks[])(const struct rn_qp *,
					 const struct rn_request *) = {
	check_opcode,	 check_sequence,   check_permission,  check_payload_len,
	check_resource,	 check_recv_queue, check_dma_len_max, check_key,
	check_alignment, check_recv_len,   check_dma_len,
};

enum rn_verdict rn_request_judge(const struct rn_qp *qp, const struct rn_request *q)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(checks); i++) {
		enum rn_verdict v = checks[i](qp, q);

		if (v != RN_V_NEXT)
			return v;
	}
	return RN_V_NEXT;
}

/* ----------------------------------------------------------------- verdicts */
/* What a request that cannot be executed brings about. IBTA Vol 1, 9.9.3: class A is
 * OPERR, class C is INV and ACC, class J tells the peer nothing.
 */
struct outcome {
	bool silent; /* no NAK */
	enum rn_nak_code nak;
	enum rn_wc_status recv;	   /* of the receive WQE in use */
	enum rn_async_event event; /* if none is in use */
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

static void refuse(struct rn_qp *qp, rn_ns now, const struct rn_request *q,
		   enum rn_verdict v)
{
	const struct outcome *o = &outcomes[v];
	bool recv_in_use =
		qp->rsp.recv_taken || (q->flags & RN_OP_RECV_WQE_TAKEN && v > RN_V_RNR);

	rn_remark_refused(qp, q, v);
	if (v == RN_V_RECV_TOO_SHORT)
		rn_count(qp->dev, RN_STAT_RESP_LOCAL_LENGTH);
	if (recv_in_use) {
		struct rn_completion c = { .status = o->recv, .opcode = RN_WC_RECV };

		rn_qp_take_recv(qp, q->srq);
		qp->rsp.recv_taken = false;
		rn_qp_complete_recv(qp, now, &c);
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
	rn_probe_suspect(qp);
	if (!rsp->nak_pending)
		rn_rsp_nak(qp, rn_aeth_syndrome(RN_AETH_NAK, RN_NAK_PSN_SEQ));
	if (rn_psn_before(rsp->gap_psn, q->p->bth.psn))
		rsp->gap_psn = q->p->bth.psn;
}

/* The only place where a verdict changes anything. */
static void act(struct rn_qp *qp, rn_ns now, const struct rn_request *q,
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
		rn_request_repeat(qp, q);
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
		refuse(qp, now, q, v);
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

	rn_request_load(&q, qp, p);
	v = check_psn(qp, &q);
	if (v == RN_V_NEXT)
		v = rn_request_judge(qp, &q);
	if (v == RN_V_NEXT)
		v = rn_request_execute(qp, now, &q);
	act(qp, now, &q, v);
}
