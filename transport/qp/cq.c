/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cq.c - completion entries, arming, overflow. */
#include "qp.h"

#include "syndrome.h"

void rn_cq_init(struct rn_cq *cq, rn_iova ring, uint32_t capacity, void *owner)
{
	assert(capacity >= 1 && capacity <= RN_CQE_MAX);
	assert((capacity & (capacity - 1)) == 0);
	*cq = (struct rn_cq){ .ring = ring, .capacity = capacity, .owner = owner };
}

void rn_cq_move(struct rn_cq *cq, rn_iova ring, uint32_t capacity)
{
	assert(capacity >= 1 && capacity <= RN_CQE_MAX);
	assert((capacity & (capacity - 1)) == 0);
	__atomic_store_n(&cq->ring, ring, __ATOMIC_RELAXED);
	cq->capacity = capacity;
}

void rn_cq_fini(struct rn_dev *dev, struct rn_cq *cq)
{
	rn_cq_forget_held(dev, cq);
	rn_event_forget_cq(dev, cq);
}

void rn_cq_arm(struct rn_cq *cq, enum rn_cq_arm mode)
{
	if (cq->armed != RN_CQ_ARM_NEXT)
		cq->armed = mode;
}

static void lose_cqe(struct rn_dev *dev, struct rn_cq *cq, struct rn_qp *qp)
{
	if (qp->type == RN_QPT_XRC_RECV)
		qp->rsp.cq_lost = true; /* the CQ is not its own */
	rn_count(dev, RN_STAT_CQ_OVERRUN);
	/* A QP that is in ERR already has nothing more to lose. */
	if (!cq->overrun || qp->state != RN_QPS_ERR)
		dev->cq_failed = true;
	if (cq->overrun)
		return;
	cq->overrun = true;
	rn_event_raise_cq(dev, cq, true);
}

/* Those of the send queue count in send_queue.c. */
static void count_error(struct rn_dev *dev, const struct rn_completion *c)
{
	if (!(c->opcode & RN_WC_RECV))
		return;
	rn_count(dev, c->status == RN_WC_WR_FLUSH_ERR ? RN_STAT_RESP_CQE_FLUSH
						      : RN_STAT_RESP_CQE_ERR);
}

static bool is_armed_for(const struct rn_cq *cq, const struct rn_completion *c)
{
	if (cq->armed == RN_CQ_UNARMED)
		return false;
	return cq->armed == RN_CQ_ARM_NEXT || c->solicited || c->status != RN_WC_SUCCESS;
}

/* Which message a CQE is about, see rn_mem_attr.msg. It is the one counted last, unless
 * the message was not received to its end.
 */
static uint32_t message_of(const struct rn_qp *qp, const struct rn_completion *c)
{
	if (!(c->opcode & RN_WC_RECV))
		return qp->req.sq.head - 1;
	return c->status == RN_WC_SUCCESS ? qp->rsp.msn : rn_rsp_next_msn(qp);
}

static bool write_cqe(struct rn_dev *dev, struct rn_cq *cq, const struct rn_cqe *cqe,
		      uint32_t msg)
{
	uint32_t slot = cq->producer & (cq->capacity - 1);
	struct rn_mem_attr attr = rn_mem_attr_of(cqe->qpn, RN_MEM_CQE, msg);
	rn_iova dst = cq->ring + (uint64_t)slot * sizeof(*cqe);

	return dev->cfg.mem->write(dev->cfg.mem_ctx, dst, cqe, sizeof(*cqe), attr) ==
	       RN_MEM_DONE;
}

static bool is_of(uint8_t syndrome, enum rn_wc_status status)
{
	if (status == RN_WC_LOC_PROT_ERR)
		return syndrome > RN_SYN_LKEY && syndrome <= RN_SYN_LOCAL_MEMORY;
	return status == RN_WC_RETRY_EXC_ERR &&
	       (syndrome == RN_SYN_SILENCE || syndrome == RN_SYN_SEQUENCE);
}

/* The requester learns by a status what the peer said, the responder what it said. */
static uint8_t syndrome_of(const struct rn_qp *qp, const struct rn_completion *c)
{
	static const uint8_t by_status[] = {
		[RN_WC_LOC_LEN_ERR] = RN_SYN_TOO_LONG,
		[RN_WC_LOC_QP_OP_ERR] = RN_SYN_REQUEST,
		[RN_WC_WR_FLUSH_ERR] = RN_SYN_FLUSHED,
		[RN_WC_MW_BIND_ERR] = RN_SYN_BIND,
		[RN_WC_BAD_RESP_ERR] = RN_SYN_RESPONSE,
		[RN_WC_LOC_ACCESS_ERR] = RN_SYN_PEER_ACCESS,
		[RN_WC_REM_INV_REQ_ERR] = RN_SYN_NAK_INVALID,
		[RN_WC_REM_ACCESS_ERR] = RN_SYN_NAK_ACCESS,
		[RN_WC_REM_OP_ERR] = RN_SYN_NAK_OPERATION,
		[RN_WC_RNR_RETRY_EXC_ERR] = RN_SYN_NOT_READY,
	};
	uint8_t syndrome = RN_SYN_NONE;

	if (c->status == RN_WC_SUCCESS)
		return RN_SYN_NONE;
	if (is_of(qp->why, c->status))
		return qp->why;
	if ((c->opcode & RN_WC_RECV) && c->status == RN_WC_REM_INV_REQ_ERR)
		return RN_SYN_PEER_INVALID;
	if ((unsigned)c->status < RN_ARRAY_SIZE(by_status))
		syndrome = by_status[c->status];
	return syndrome ? syndrome : RN_SYN_OTHER;
}

void rn_cq_push(struct rn_dev *dev, struct rn_cq *cq, struct rn_qp *qp, rn_ns now,
		const struct rn_completion *c)
{
	uint32_t taken = atomic_load_explicit(&cq->consumer, memory_order_acquire);
	uint32_t lap = (cq->producer >> __builtin_ctz(cq->capacity)) + 1;
	struct rn_cqe cqe = {
		.wr_id = c->wr_id,
		.timestamp_ns = (uint64_t)now,
		.byte_len = c->byte_len,
		.imm = c->imm,
		.qpn = qp->qpn,
		.src_qpn = c->src_qpn,
		.vendor_err = syndrome_of(qp, c),
		.sgid_index = c->sgid_index,
		.sl = c->sl,
		.ctl = rn_cqe_ctl(lap, c->flags, (uint8_t)c->opcode, (uint8_t)c->status),
	};

	if (c->status != RN_WC_SUCCESS)
		count_error(dev, c);
	if (cq->overrun || cq->producer - taken >= cq->capacity ||
	    !write_cqe(dev, cq, &cqe, message_of(qp, c))) {
		lose_cqe(dev, cq, qp);
		return;
	}
	__atomic_store_n(&cq->producer, cq->producer + 1, __ATOMIC_RELAXED);
	if (is_armed_for(cq, c))
		rn_cq_fire(dev, cq, now);
}
