/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ack.c - acknowledgements and NAKs going out.
 *
 * An acknowledgement is one per QP: a newer one replaces it, a NAK includes it. It waits
 * for the READ and atomic responses before it (respond.c), and is on dev->acks exactly
 * while it waits for nothing but the driver.
 *
 * Source: IBTA Vol 1, 9.7.5.
 */
#include "credit.h"
#include "remark.h"
#include "responder.h"

#define SYNDROME_ACK rn_aeth_syndrome(RN_AETH_ACK, RN_AETH_NO_CREDIT)

/* ----------------------------------------------------------- what is to be told */
bool rn_rsp_ack_ready(const struct rn_qp *qp)
{
	const struct rn_responder *rsp = &qp->rsp;

	if (!rsp->ack_due)
		return false;
	return rsp->res_cur == rsp->res_tail ||
	       rn_psn_before(rsp->ack_psn, rn_res_at(rsp, rsp->res_cur)->next);
}

void rn_rsp_update_ack(struct rn_qp *qp)
{
	if (rn_rsp_ack_ready(qp))
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
	rn_rsp_update_ack(qp);
}

void rn_rsp_ack(struct rn_qp *qp, struct rn_psn psn, uint32_t msn)
{
	struct rn_responder *rsp = &qp->rsp;

	if (rsp->ack_due) {
		rn_count(qp->dev, RN_STAT_ACK_COALESCED);
		/* The PSN of a NAK is newer than anything to be acknowledged. */
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

	/* First, so that rn_rsp_flush() sees why the QP goes to ERR. */
	rsp->ack_due = true;
	rsp->ack_syndrome = rn_aeth_syndrome(RN_AETH_NAK, (uint8_t)code);
	rsp->ack_psn = psn;
	rsp->ack_msn = rsp->msn;
	rn_qp_error(qp, now);
	rn_rsp_update_ack(qp);
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

	if (!rsp->ack_due || rn_syndrome_is_ack(rsp->ack_syndrome)) {
		if (message && q->p->bth.ack_req)
			rn_rsp_ack(qp, covered, msn);
	} else if (!rn_psn_before(rsp->gap_psn, rsp->exp_psn)) {
		/* The packet asked for came before the NAK had left, and what was
		 * dropped behind it is wanted still.
		 */
		rsp->nak_pending = true;
		set_ack(qp, rn_aeth_syndrome(RN_AETH_NAK, RN_NAK_PSN_SEQ), rsp->exp_psn,
			rsp->msn);
	} else {
		/* The NAK is pointless; what it acknowledged stays acknowledged. */
		set_ack(qp, SYNDROME_ACK, covered, msn & RN_PSN_MASK);
	}
}

/* ------------------------------------------------------------------ packets */
uint8_t *rn_rsp_emit_bth(const struct rn_qp *qp, const struct rn_build *b, uint8_t opcode,
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

static void count_nak(struct rn_dev *dev, uint8_t syndrome)
{
	static const enum rn_stat by_code[] = {
		[RN_NAK_PSN_SEQ] = RN_STAT_SEQ_NAK_TX,
		[RN_NAK_INVALID_REQ] = RN_STAT_RESP_INVALID_REQ,
		[RN_NAK_REMOTE_ACCESS] = RN_STAT_RESP_REMOTE_ACCESS,
		[RN_NAK_REMOTE_OP] = RN_STAT_RESP_OP_ERR,
	};

	if (rn_aeth_type(syndrome) == RN_AETH_RNR)
		rn_count(dev, RN_STAT_RNR_NAK_TX);
	else if (rn_aeth_type(syndrome) == RN_AETH_NAK)
		rn_count(dev, by_code[rn_aeth_value(syndrome)]);
}

void rn_rsp_settle_acked(const struct rn_qp *qp)
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

	(void)now;
	if (!rn_rsp_ack_ready(qp))
		return 0;
	assert(b->cap >= RN_BTH_LEN + RN_AETH_LEN);
	rsp->ack_due = false;
	if (rn_syndrome_is_ack(aeth.syndrome))
		aeth.syndrome = rn_credit_syndrome(qp);
	count_nak(qp->dev, aeth.syndrome);
	rn_remark_nak(qp, aeth.syndrome, rsp->ack_psn);
	rn_rsp_settle_acked(qp);
	p = rn_rsp_emit_bth(qp, b, RN_RC_ACK, rsp->ack_psn, 0);
	p = rn_aeth_emit(p, &aeth);
	return (uint32_t)(p - b->buf);
}

uint32_t rn_rsp_build_ack_now(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	rn_list_remove(&qp->ack_link);
	return rn_rsp_build_ack(qp, now, b);
}
