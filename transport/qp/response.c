/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* response.c - READ and atomic responses arriving at an RC requester; an empty READ
 * response answers ATOMIC WRITE and FLUSH.
 *
 * Source: IBTA Vol 1, 9.7.5.2 (READ responses) and 9.7.5.3 (atomics).
 */
#include "requester.h"
#include "scatter.h"

/* The WQE that a response with PSN @psn answers: what precedes it is complete and una is
 * @psn. NULL: the response is out of turn, and has been dealt with.
 */
static struct rn_send_wqe *find_answered(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	switch (rn_req_advance(qp, now, psn)) {
	case RN_ADVANCE_REACHED:
		return rn_req_head(qp);
	case RN_ADVANCE_GAP:
		rn_req_implied_nak(qp, now, psn);
		return NULL;
	case RN_ADVANCE_DEAD:
		return NULL;
	}
	return NULL;
}

/* An AETH in a READ or atomic response must acknowledge. */
static bool aeth_acknowledges(struct rn_qp *qp, const struct rn_packet *p)
{
	struct rn_aeth aeth;

	if (!(p->op->flags & RN_OP_AETH))
		return true;
	if (rn_aeth_parse(&aeth, p->ext, p->ext + RN_AETH_LEN) ||
	    rn_aeth_type(aeth.syndrome) != RN_AETH_ACK)
		return false;
	rn_req_take_credits(qp, &aeth);
	return true;
}

/* True if una is the last PSN of the READ request that it belongs to. Right after going
 * back none is on the wire, and an answer to the old one may still come.
 */
static bool ends_request(const struct rn_qp *qp, const struct rn_send_wqe *wqe)
{
	const struct rn_requester *req = &qp->req;

	if (req->rd_count > 0)
		return req->una.v == rn_rd_at(req, 0)->last_psn;
	return rn_req_read_packets(qp, wqe, wqe->progress) == 1;
}

/* @return RN_WC_SUCCESS, or what the READ completes with. */
static enum rn_wc_status judge_read_response(const struct rn_qp *qp,
					     const struct rn_send_wqe *wqe,
					     const struct rn_packet *p)
{
	const struct rn_requester *req = &qp->req;
	bool first = (p->op->flags & RN_OP_FIRST) != 0;
	bool last = (p->op->flags & RN_OP_LAST) != 0;

	if (rn_wqe_info(wqe)->kind == RN_WQE_ATOMIC_WRITE ||
	    rn_wqe_info(wqe)->kind == RN_WQE_FLUSH) {
		if (!first || !last)
			return RN_WC_BAD_RESP_ERR;
		return p->payload_len ? RN_WC_LOC_LEN_ERR : RN_WC_SUCCESS;
	}
	if (rn_wqe_info(wqe)->kind != RN_WQE_READ)
		return RN_WC_BAD_RESP_ERR;
	if (last != ends_request(qp, wqe))
		return RN_WC_BAD_RESP_ERR;
	/* What was asked for twice may be answered by a mixture of both answers, and rxe
	 * answers a READ that goes on in the middle with MIDDLE or LAST.
	 */
	if (!rn_psn_before(req->una, req->resent) && first == req->rd_begun)
		return RN_WC_BAD_RESP_ERR;
	if (p->payload_len != rn_req_packet_len(qp, wqe, wqe->progress))
		return RN_WC_LOC_LEN_ERR;
	return RN_WC_SUCCESS;
}

/* The packet at una is answered. */
static void complete_packet(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe)
{
	struct rn_requester *req = &qp->req;
	uint32_t credit = 0;

	if (req->rd_count > 0) {
		bool ends = req->una.v == rn_rd_at(req, 0)->last_psn;

		req->rd_begun = true;
		if (ends) {
			rn_req_read_answered(qp);
			credit = RN_PACKET_COST;
		}
	}
	req->una = rn_psn_add(req->una, 1);
	if (++wqe->progress == wqe->packet_count)
		rn_req_retire(qp, now, RN_WC_SUCCESS);
	rn_req_progress(qp, now, credit);
	rn_req_finish_local(qp, now);
}

void rn_req_read_response(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	struct rn_send_wqe *wqe = find_answered(qp, now, p->bth.psn);
	enum rn_wc_status status;

	if (!wqe)
		return;
	status = judge_read_response(qp, wqe, p);
	if (status == RN_WC_SUCCESS && !aeth_acknowledges(qp, p))
		status = RN_WC_BAD_RESP_ERR;
	if (status == RN_WC_SUCCESS && p->payload_len > 0)
		status = rn_scatter_response(qp, wqe,
					     wqe->progress << rn_req_mtu_shift(qp),
					     p->payload, p->payload_len);
	if (status == RN_WC_SUCCESS)
		complete_packet(qp, now, wqe);
	else
		rn_req_fail_head(qp, now, status);
}

void rn_req_atomic_response(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	struct rn_send_wqe *wqe = find_answered(qp, now, p->bth.psn);
	enum rn_wc_status status = RN_WC_BAD_RESP_ERR;
	uint64_t orig;

	if (!wqe)
		return;
	if (rn_wqe_info(wqe)->kind == RN_WQE_ATOMIC && aeth_acknowledges(qp, p) &&
	    rn_atomic_ack_eth_parse(&orig, p->ext + RN_AETH_LEN,
				    p->ext + RN_AETH_LEN + RN_ATOMIC_ACK_ETH_LEN) == 0)
		status = rn_scatter_response(qp, wqe, 0, &orig, sizeof(orig));
	if (status == RN_WC_SUCCESS)
		complete_packet(qp, now, wqe);
	else
		rn_req_fail_head(qp, now, status);
}
