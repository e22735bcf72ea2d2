/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* retransmit.c - processes the acknowledgements and responses of a reliable requester,
 * and retransmits.
 *
 * An acknowledgement, NAK or response advances una (the oldest unacknowledged PSN) and
 * completes requests. A NAK, a gap between responses or the local ACK timer makes the
 * requester go back to una: it sends all packets from una on again.
 *
 * Losses that cause no NAK are noticed by probe.c.
 *
 * Source: IBTA Vol 1, 9.7.5 (responses; .2 of READs, .3 of atomics), 9.7.6 (timeouts),
 * 9.9.2 (requester errors).
 */
#include "requester.h"
#include "rocin/cqe.h"
#include "transport/object/memory.h"

/* How far advance_una() has advanced una, the oldest unacknowledged PSN. */
enum advance {
	REACHED,
	STOPPED_AT_GAP, /* a READ or atomic before that PSN is unanswered */
	QP_FAILED,	/* the QP is in ERR */
};

/* Indexed by NAK code. For each NAK that ends the QP: the status with which the refused
 * WQE completes, and the counter that is incremented.
 */
static const struct fatal_nak {
	bool fatal;
	uint8_t status; /* enum rn_wc_status */
	uint8_t stat;	/* enum rn_stat */
} fatal_naks[] = {
	/* clang-format off */
	[RN_NAK_INVALID_REQ]   = { true, RN_WC_REM_INV_REQ_ERR, RN_STAT_REQ_REMOTE_INVALID },
	[RN_NAK_REMOTE_ACCESS] = { true, RN_WC_REM_ACCESS_ERR,  RN_STAT_REQ_REMOTE_ACCESS },
	[RN_NAK_REMOTE_OP]     = { true, RN_WC_REM_OP_ERR,      RN_STAT_REQ_REMOTE_OP },
	/* clang-format on */
};

/* ---------------------------------------------------------------- going back to una */

/* Makes the packet at una, the oldest unacknowledged one, the next to be sent. Called
 * when the QP goes back, and when the peer has acknowledged packets beyond those that
 * were sent again so far.
 */
static void resume_at_una(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;
	const struct rn_send_wqe *wqe = rn_req_head(qp);

	req->charged = req->una;
	req->cur = req->sq.head;
	req->cur_packet = 0;
	if (!rn_req_idle(qp) && wqe->state == RN_WQE_STARTED)
		req->cur_packet = (uint32_t)rn_psn_diff(req->una, rn_psn(wqe->first_psn));
}

void rn_req_go_back(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;

	rn_req_reads_forget(qp);
	if (req->in_flight)
		rn_window_uncharge(qp, req->in_flight);
	resume_at_una(qp);
	req->resent = req->high;
	/* The first packet asks for an acknowledgement, so that progress shows early. */
	req->since_ack_req = RN_ACK_REQ_EVERY;
	req->sends_one = req->awaits_late = false;
	req->ack_deadline = RN_NEVER;
	rn_dev_schedule(qp->dev, qp);
}

/* -------------------------------------------------------------------- advancing una */

/* Updates the requester after una (the oldest unacknowledged PSN) has advanced: retries,
 * timers and the peer window. @credit: number of bytes that have been acknowledged and
 * leave the window.
 */
static void note_progress(struct rn_qp *qp, rn_ns now, uint32_t credit)
{
	struct rn_requester *req = &qp->req;

	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	req->implied_nak = false;
	if (rn_psn_before(req->heard, req->una))
		req->heard = req->una;
	req->heard_at = now;
	req->heard_apart = 0;
	req->knows_taken = false;
	req->was_answered = true;
	if (req->probe.was_silent || req->sends_one)
		rn_probe_answered(qp, now);
	if (credit)
		rn_window_credit(qp, now, credit);
	if (rn_psn_before(req->charged, req->una))
		resume_at_una(qp);
	if (rn_psn_before(req->resent, req->una))
		req->resent = req->una;

	if (req->una.v != req->charged.v) {
		req->ack_deadline = rn_req_ack_deadline(qp, now);
	} else {
		req->ack_deadline = RN_NEVER;
		if (!req->probe.is_close && !req->awaits_late)
			req->probe.deadline = RN_NEVER;
		assert(req->in_flight == 0);
		assert(req->rd_count == 0);
	}
	rn_req_check_drained(qp);
	if (req->cur != req->sq.tail)
		rn_dev_schedule(qp->dev, qp);
}

/* Returns how many bytes of @wqe count in the peer window: those of its packets from
 * una, the oldest unacknowledged PSN, up to, but not including, @stop.
 */
static uint32_t charged_bytes(const struct rn_qp *qp, const struct rn_send_wqe *wqe,
			      struct rn_psn stop)
{
	const struct rn_requester *req = &qp->req;
	struct rn_psn end = rn_psn_before(req->charged, stop) ? req->charged : stop;
	int32_t count = rn_psn_diff(end, req->una);
	uint32_t last = wqe->packet_count - 1;
	uint32_t bytes;

	if (count <= 0)
		return 0;
	bytes = (uint32_t)count * (qp->attr.path_mtu + RN_PACKET_COST);
	if (end.v == rn_psn(wqe->first_psn + wqe->packet_count).v)
		bytes -= qp->attr.path_mtu - rn_req_packet_len(qp, wqe, last);
	return bytes;
}

/* Called when an acknowledgement covers all SEND and WRITE packets before @target:
 * advances una, the oldest unacknowledged PSN, to @target, and completes the WQEs on the
 * way. Stops at a READ or atomic that has not been answered. Returns how far it got.
 */
static enum advance advance_una(struct rn_qp *qp, rn_ns now, struct rn_psn target)
{
	struct rn_requester *req = &qp->req;
	enum advance result = REACHED;
	struct rn_psn from = req->una;
	uint32_t credit = 0;

	while (rn_psn_before(req->una, target)) {
		const struct rn_send_wqe *wqe = rn_req_head(qp);
		struct rn_psn end = rn_psn(wqe->first_psn + wqe->packet_count);
		struct rn_psn stop = rn_psn_before(target, end) ? target : end;

		if (wqe->state == RN_WQE_DONE) {
			if (wqe->status != RN_WC_SUCCESS)
				break;
			rn_req_retire_ended(qp, now);
			continue;
		}
		assert(wqe->state == RN_WQE_STARTED);
		if (rn_wqe_info(wqe)->answer != RN_ANSWER_ACK) {
			result = STOPPED_AT_GAP;
			break;
		}
		credit += charged_bytes(qp, wqe, stop);
		req->una = stop;
		if (stop.v == end.v)
			rn_req_retire(qp, now, RN_WC_SUCCESS);
	}
	if (req->una.v != from.v)
		note_progress(qp, now, credit);
	return rn_req_finish_local(qp, now) ? QP_FAILED : result;
}

/* ------------------------------------------------ going back at the cost of a retry */

void rn_qp_retries(const struct rn_qp *qp, struct rn_retries *retries)
{
	*retries = qp->req.charged_retries;
}

static void count_charge(struct rn_requester *req)
{
	struct rn_retries *r = &req->charged_retries;

	r->timeouts += req->back_why == RN_STAT_LOCAL_ACK_TIMEOUT;
	r->naks += req->back_why == RN_STAT_PACKET_SEQ_ERR;
	r->implied += req->back_why == RN_STAT_IMPLIED_NAK_SEQ_ERR;
}

/* Sends all packets from una (the oldest unacknowledged PSN) on again, and spends one
 * transport retry. @heard: the peer has reported the loss; false: it was silent. Return:
 * true; false if no retry was left, and the QP is in ERR now.
 */
static bool go_back_for_retry(struct rn_qp *qp, rn_ns now, bool heard)
{
	count_charge(&qp->req);
	if (qp->req.retry_left == 0) {
		if (rn_apm_escape(qp))
			return true;
		rn_count(qp->dev, RN_STAT_RETRY_EXCEEDED);
		qp->why = heard ? RN_SYN_SEQUENCE : RN_SYN_SILENCE;
		rn_req_fail_head(qp, now, RN_WC_RETRY_EXC_ERR);
		return false;
	}
	qp->req.retry_left--;
	rn_req_go_back(qp);
	/* If nothing came from the peer, the peer may only be slow, and no packet lost.
	 */
	qp->req.sends_one = qp->req.probe.was_silent = !heard;
	if (heard)
		rn_window_suspect(qp);
	if (rn_window_loss(qp, now) && heard)
		rn_probe_peer(qp, now);
	return true;
}

/* Called when a NAK for the packet at una, the oldest unacknowledged PSN, has come.
 * Returns true if the QP has gone back to una (to send all packets from there on again)
 * already because of the loss that the NAK reports: since then it has sent nothing, or
 * only the packet at una, and only a packet behind that one could cause a new NAK. Going
 * back once more would spend a retry for nothing. Such a NAK comes from rxe, for
 * example: after an RNR NAK it sends a NAK for the packets behind the refused one.
 */
static bool is_back_already(const struct rn_qp *qp)
{
	const struct rn_requester *req = &qp->req;

	return req->una.v == req->charged.v ||
	       (rn_psn_add(req->una, 1).v == req->charged.v &&
		req->charged.v != req->high.v);
}

/* Called when the response for @psn has arrived although an earlier one is missing. If
 * no newer response has arrived before, the peer is alive, and the packets that were
 * sent again probably wait in its queue. So the local ACK timer starts anew. It does so
 * at most once for each packet in flight.
 */
static void hear_behind_gap(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	struct rn_requester *req = &qp->req;

	if (!rn_psn_before(req->heard, psn))
		return;
	req->heard = psn;
	if (req->heard_apart < now - req->heard_at)
		req->heard_apart = now - req->heard_at;
	req->heard_at = now;
	if (req->ack_deadline != RN_NEVER)
		req->ack_deadline = rn_req_ack_deadline(qp, now);
}

/* Treats a missing response as if the peer had sent a NAK, because a later response has
 * arrived. @psn: the PSN of the request packet that the later response answers.
 */
static void imply_nak(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	hear_behind_gap(qp, now, psn);
	/* If @psn is not before charged, the response answers the first copy of a packet
	 * that has not been sent again yet. It does not tell whether the packets that
	 * were sent again are lost.
	 */
	if (qp->req.implied_nak || !rn_psn_before(psn, qp->req.charged)) {
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
		return;
	}
	rn_count(qp->dev, RN_STAT_IMPLIED_NAK_SEQ_ERR);
	qp->req.back_why = RN_STAT_IMPLIED_NAK_SEQ_ERR;
	qp->req.implied_nak = go_back_for_retry(qp, now, true);
}

/* --------------------------------------------------------- processing ACKs and NAKs */

static void take_credits(struct rn_qp *qp, const struct rn_aeth *aeth)
{
	struct rn_requester *req = &qp->req;
	uint8_t code = rn_aeth_value(aeth->syndrome);
	struct rn_psn lsn;

	if (code == RN_AETH_NO_CREDIT) {
		req->credit_off = true;
		req->credit_limited = false;
		return;
	}
	if (req->credit_off)
		return;
	lsn = rn_psn(aeth->msn + rn_aeth_credits(code));
	if (!req->credit_limited || rn_psn_before(rn_psn(req->lsn), lsn))
		req->lsn = lsn.v;
	req->credit_limited = true;
	if (req->cur != req->sq.tail)
		rn_dev_schedule(qp->dev, qp);
}

static void receive_ack(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	if (advance_una(qp, now, rn_psn_add(psn, 1)) == STOPPED_AT_GAP)
		imply_nak(qp, now, psn);
}

/* Completes all packets before @psn, which a NAK of @psn acknowledges, too. Return: true
 * if @psn is now the oldest unacknowledged PSN and the QP is not in ERR.
 */
static bool advance_to_nak(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	enum advance advance = advance_una(qp, now, psn);

	if (advance == STOPPED_AT_GAP)
		imply_nak(qp, now, psn);
	return advance == REACHED;
}

/* Called when an RNR NAK has arrived. The request at the head of the send queue must
 * wait for the time that the NAK says, and so must those behind it.
 */
static void note_rnr(struct rn_qp *qp, rn_ns now, const struct rn_aeth *aeth)
{
	struct rn_requester *req = &qp->req;

	req->was_answered = true;
	req->rnr.naks++;
	req->rnr.at = now;
	req->rnr.msn = aeth->msn;
	req->rnr.timer = rn_aeth_value(aeth->syndrome);
	req->rnr.waiting = rn_wq_count(&req->sq);
	req->rnr.wr_id = req->rnr.waiting ? rn_req_head(qp)->wr_id : 0;
}

void rn_qp_rnr(const struct rn_qp *qp, struct rn_rnr *rnr)
{
	*rnr = (struct rn_rnr){ .received = qp->req.rnr.naks,
				.sent = qp->rsp.rnr.naks,
				.received_at = qp->req.rnr.at,
				.sent_at = qp->rsp.rnr.at,
				.msn = qp->req.rnr.msn,
				.timer = qp->req.rnr.timer,
				.waiting = qp->req.rnr.waiting,
				.wr_id = qp->req.rnr.wr_id };
}

bool rn_qp_was_answered(const struct rn_qp *qp)
{
	return qp->req.was_answered;
}

static void receive_rnr(struct rn_qp *qp, rn_ns now, struct rn_psn psn,
			const struct rn_aeth *aeth)
{
	struct rn_requester *req = &qp->req;
	bool for_ever = qp->attr.rnr_retry == 7;
	uint8_t code = rn_aeth_value(aeth->syndrome);

	if (req->rnr_waiting) {
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
		return;
	}
	rn_count(qp->dev, RN_STAT_RNR_NAK_RX);
	if (!advance_to_nak(qp, now, psn))
		return;
	note_rnr(qp, now, aeth);
	req->back_why = RN_STAT_RNR_NAK_RX;
	if (!for_ever && req->rnr_left == 0) {
		rn_count(qp->dev, RN_STAT_RNR_RETRY_EXCEEDED);
		rn_req_fail_head(qp, now, RN_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (!for_ever)
		req->rnr_left--;
	rn_req_go_back(qp);
	req->rnr_waiting = true;
	req->rnr_deadline = now + rn_rnr_timer_ns(code) * qp->dev->cfg.timeout_scale;
	rn_dev_arm_timer(qp->dev, qp);
}

static void receive_seq_nak(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	rn_count(qp->dev, RN_STAT_PACKET_SEQ_ERR);
	if (!advance_to_nak(qp, now, psn))
		return;
	if (is_back_already(qp)) {
		/* The NAK shows that the peer is not slow: it has not received this
		 * packet. So the packets behind it are sent again, too.
		 */
		rn_req_resume_sending(qp);
		return;
	}
	qp->req.back_why = RN_STAT_PACKET_SEQ_ERR;
	go_back_for_retry(qp, now, true);
}

/* Returns true if @psn belongs to the WQE at sq.head. That WQE is a READ or atomic that
 * has not been answered.
 */
static bool is_of_head(const struct rn_qp *qp, struct rn_psn psn)
{
	const struct rn_send_wqe *wqe = rn_req_head(qp);

	return rn_psn_before(psn, rn_psn(wqe->first_psn + wqe->packet_count));
}

static void receive_fatal_nak(struct rn_qp *qp, rn_ns now, struct rn_psn psn,
			      const struct fatal_nak *nak)
{
	enum advance advance = advance_una(qp, now, psn);

	if (advance == QP_FAILED)
		return;
	/* If earlier responses to the same READ are missing, the NAK fails the READ
	 * nevertheless.
	 */
	if (advance == STOPPED_AT_GAP && !is_of_head(qp, psn)) {
		imply_nak(qp, now, psn);
		return;
	}
	rn_count(qp->dev, (enum rn_stat)nak->stat);
	rn_req_fail_head(qp, now, (enum rn_wc_status)nak->status);
}

static void receive_nak(struct rn_qp *qp, rn_ns now, struct rn_psn psn, uint8_t code)
{
	if (code == RN_NAK_PSN_SEQ)
		receive_seq_nak(qp, now, psn);
	else if (code < RN_ARRAY_SIZE(fatal_naks) && fatal_naks[code].fatal)
		receive_fatal_nak(qp, now, psn, &fatal_naks[code]);
	else
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
}

static void receive_acknowledge(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	struct rn_psn psn = p->bth.psn;
	struct rn_aeth aeth;

	if (rn_aeth_parse(&aeth, p->ext, p->ext + RN_AETH_LEN))
		return;
	switch (rn_aeth_type(aeth.syndrome)) {
	case RN_AETH_ACK:
		take_credits(qp, &aeth);
		receive_ack(qp, now, psn);
		return;
	case RN_AETH_RNR:
		receive_rnr(qp, now, psn, &aeth);
		return;
	case RN_AETH_NAK:
		receive_nak(qp, now, psn, rn_aeth_value(aeth.syndrome));
		return;
	case RN_AETH_RESERVED:
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
		return;
	}
}

/* Processes an acknowledgement or response whose PSN is not among those outstanding. An
 * ACK of the newest PSN that was acknowledged is of use in two ways: it may advertise
 * new receives (credits), and it may answer a packet that was sent again, which shows
 * that no acknowledgements of first copies will follow.
 */
static void receive_ghost(struct rn_qp *qp, const struct rn_packet *p)
{
	struct rn_aeth aeth;

	rn_count(qp->dev, RN_STAT_RX_DROPPED);
	if (p->op->kind != RN_OP_KIND_ACK || rn_psn_add(p->bth.psn, 1).v != qp->req.una.v)
		return;
	if (rn_aeth_parse(&aeth, p->ext, p->ext + RN_AETH_LEN))
		return;
	if (rn_aeth_type(aeth.syndrome) != RN_AETH_ACK)
		return;
	take_credits(qp, &aeth);
	if (qp->req.awaits_late)
		rn_req_resume_sending(qp);
}

/* -------------------------------------------------- READ and atomic responses */

/* Finds the WQE that a response with @psn answers. Completes all WQEs before it, so that
 * una, the oldest unacknowledged PSN, is @psn. Return: the WQE; NULL if the response
 * came out of order, and has been dealt with.
 */
static struct rn_send_wqe *find_answered(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	switch (advance_una(qp, now, psn)) {
	case REACHED:
		return rn_req_head(qp);
	case STOPPED_AT_GAP:
		imply_nak(qp, now, psn);
		return NULL;
	case QP_FAILED:
		return NULL;
	}
	return NULL;
}

/* Checks the AETH of a READ or atomic response, if it has one. Returns false if the AETH
 * is not that of an ACK. Otherwise takes over its credits and returns true.
 */
static bool aeth_acknowledges(struct rn_qp *qp, const struct rn_packet *p)
{
	struct rn_aeth aeth;

	if (!(p->op->flags & RN_OP_AETH))
		return true;
	if (rn_aeth_parse(&aeth, p->ext, p->ext + RN_AETH_LEN) ||
	    rn_aeth_type(aeth.syndrome) != RN_AETH_ACK)
		return false;
	take_credits(qp, &aeth);
	return true;
}

/* Returns true if una, the oldest unacknowledged PSN, is the last PSN of a READ request.
 * Right after the QP went back, the ring of sent requests is empty, but a response to the
 * first copy of the request may still arrive. The end of the request is then computed
 * from the WQE.
 */
static bool ends_request(const struct rn_qp *qp, const struct rn_send_wqe *wqe)
{
	const struct rn_requester *req = &qp->req;

	if (req->rd_count > 0)
		return req->una.v == rn_rd_at(req, 0)->last_psn;
	return rn_req_read_packets(qp, wqe, wqe->progress) == 1;
}

/* Checks a response to a READ, ATOMIC WRITE or FLUSH. Return: RN_WC_SUCCESS if it is
 * valid; otherwise the error with which the WQE completes.
 */
static enum rn_wc_status judge_read_response(const struct rn_qp *qp,
					     const struct rn_send_wqe *wqe,
					     const struct rn_packet *p)
{
	const struct rn_requester *req = &qp->req;
	bool first = (p->op->flags & RN_OP_FIRST) != 0;
	bool last = (p->op->flags & RN_OP_LAST) != 0;

	if (rn_wqe_info(wqe)->answer == RN_ANSWER_EMPTY) {
		if (!first || !last)
			return RN_WC_BAD_RESP_ERR;
		return p->payload_len ? RN_WC_LOC_LEN_ERR : RN_WC_SUCCESS;
	}
	if (rn_wqe_info(wqe)->answer != RN_ANSWER_DATA)
		return RN_WC_BAD_RESP_ERR;
	if (last != ends_request(qp, wqe))
		return RN_WC_BAD_RESP_ERR;
	/* The first response to a request must have the opcode First or Only, and no
	 * other response may have it. This is not checked for requests that were sent
	 * twice, because responses to both copies may arrive mixed, and rxe answers a
	 * READ request that continues in the middle with Middle or Last opcodes.
	 */
	if (!rn_psn_before(req->una, req->resent) && first == req->rd_begun)
		return RN_WC_BAD_RESP_ERR;
	if (p->payload_len != rn_req_packet_len(qp, wqe, wqe->progress))
		return RN_WC_LOC_LEN_ERR;
	return RN_WC_SUCCESS;
}

/* Called when the packet at una, the oldest unacknowledged one, has been answered by a
 * READ or atomic response. Advances una by one.
 */
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
	note_progress(qp, now, credit);
	rn_req_finish_local(qp, now);
}

static void receive_read_response(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
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

static void receive_atomic_response(struct rn_qp *qp, rn_ns now,
				    const struct rn_packet *p)
{
	struct rn_send_wqe *wqe = find_answered(qp, now, p->bth.psn);
	enum rn_wc_status status = RN_WC_BAD_RESP_ERR;
	uint64_t orig;

	if (!wqe)
		return;
	if (rn_wqe_info(wqe)->answer == RN_ANSWER_ATOMIC && aeth_acknowledges(qp, p) &&
	    rn_atomic_ack_eth_parse(&orig, p->ext + RN_AETH_LEN,
				    p->ext + RN_AETH_LEN + RN_ATOMIC_ACK_ETH_LEN) == 0)
		status = rn_scatter_response(qp, wqe, 0, &orig, sizeof(orig));
	if (status == RN_WC_SUCCESS)
		complete_packet(qp, now, wqe);
	else
		rn_req_fail_head(qp, now, status);
}

/* --------------------------------------------------------- packets and timers */

void rn_req_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	const struct rn_requester *req = &qp->req;
	struct rn_psn psn = p->bth.psn;

	if (!(p->op->flags & RN_OP_PAYLOAD) && p->payload_len > 0) {
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
		return;
	}
	if (rn_psn_before(psn, req->una) || !rn_psn_before(psn, req->high)) {
		receive_ghost(qp, p);
		return;
	}
	switch ((int)p->op->kind) {
	case RN_OP_KIND_ACK:
		receive_acknowledge(qp, now, p);
		return;
	case RN_OP_KIND_READ_RESPONSE:
		receive_read_response(qp, now, p);
		return;
	case RN_OP_KIND_ATOMIC_ACK:
		receive_atomic_response(qp, now, p);
		return;
	default:
		assert(false); /* receive.c passes requests to the responder */
	}
}

/* Called at a timeout: makes rn_dev_silent() report that the peer does not answer. Does
 * nothing at the first timeout in a row, which a single lost packet may have caused.
 */
static void note_silence(struct rn_qp *qp)
{
	if (qp->req.retry_left > 0 && qp->req.retry_left == qp->attr.retry_cnt)
		return;
	qp->dev->silent = qp->flow;
	qp->dev->has_silent = true;
}

void rn_req_expire(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;

	if (req->rnr_waiting && req->rnr_deadline <= now) {
		req->rnr_waiting = false;
		req->rnr_deadline = RN_NEVER;
		rn_dev_schedule(qp->dev, qp);
	}
	if (req->read_deadline <= now) {
		req->read_deadline = RN_NEVER;
		req->read_pass = true;
		rn_dev_schedule(qp->dev, qp);
	}
	if (req->ack_deadline <= now && rn_window_holds(qp, now)) {
		req->ack_deadline = rn_req_ack_deadline(qp, now);
	} else if (req->ack_deadline <= now) {
		rn_count(qp->dev, RN_STAT_LOCAL_ACK_TIMEOUT);
		req->back_why = RN_STAT_LOCAL_ACK_TIMEOUT;
		note_silence(qp);
		go_back_for_retry(qp, now, false);
	}
	rn_probe_expire(qp, now);
	rn_pace_expire(qp, now);
}
