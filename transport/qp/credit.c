/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* credit.c - end-to-end flow control: how many receives a responder says that it has.
 *
 * Where the device is set to it, each ACK carries the number of receives that no message
 * has taken, rounded down to what its code can say. It counts from the MSN beside it; an
 * ACK whose MSN has been overtaken promises less than there is, never more. Of receives
 * that several queue pairs share nobody can promise any: no credits then, as elsewhere.
 *
 * Source: IBTA Vol 1, 9.7.7.2.
 */
#include "credit.h"

#include "responder.h"

static bool advertises(const struct rn_qp *qp)
{
	return qp->dev->cfg.credits && !rn_qp_uses_srq(qp);
}

static uint32_t free_receives(const struct rn_responder *rsp)
{
	return rn_wq_count(&rsp->rq) - (rsp->recv_taken ? 1 : 0);
}

uint8_t rn_credit_syndrome(struct rn_qp *qp)
{
	uint8_t code = RN_AETH_NO_CREDIT;

	if (advertises(qp)) {
		code = rn_aeth_credit_code(free_receives(&qp->rsp));
		qp->rsp.told_none = code == 0;
	}
	return rn_aeth_syndrome(RN_AETH_ACK, code);
}

/* What came last is a READ or the like, which a plain ACK does not cover. */
static bool was_answered_request(const struct rn_responder *rsp)
{
	const struct rn_resource *last;

	if (rn_res_count(rsp) == 0)
		return false;
	last = rn_res_at(rsp, (uint8_t)(rsp->res_tail - 1));
	return rn_psn_add(last->last, 1).v == rsp->exp_psn.v;
}

/* A requester that was told of none sends one message to try and waits for its fate. The
 * last ACK once more, with what there is now, saves it that.
 */
void rn_credit_posted(struct rn_qp *qp)
{
	struct rn_responder *rsp = &qp->rsp;

	if (!rsp->told_none || qp->state == RN_QPS_ERR || was_answered_request(rsp))
		return;
	rn_rsp_ack(qp, rn_psn_add(rsp->exp_psn, RN_PSN_MASK), rsp->msn);
}
