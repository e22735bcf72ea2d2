/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* retransmit.c - acknowledgements, NAKs and timers of an RC requester; going back.
 *
 * Source: IBTA Vol 1, 9.7.5 (responses), 9.7.6 (timeouts), 9.9.2 (requester errors).
 */
#include "requester.h"
#include "syndrome.h"

/* What a NAK that ends the QP means for the WQE that it names. */
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

/* ------------------------------------------------------------------ progress */
/* The next packet is the one at una: going back, or acknowledged further than sent again.
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

/* una has moved, after silence. What was sent again is answered at once, if it had been
 * lost; a peer that was slow answers the first copy of everything, one by one, and what
 * was sent again last of all.
 */
static void hear_answer(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;
	bool at_once = rn_probe_is_answered(qp, now);

	if (req->probe.was_silent && at_once)
		rn_probe_suspect(qp);
	req->probe.was_silent = false;
	if (!req->asks)
		return;
	if (at_once || req->una.v == req->high.v)
		rn_req_stop_asking(qp);
	else
		rn_probe_listen(qp, now);
}

void rn_req_stop_asking(struct rn_qp *qp)
{
	if (!qp->req.asks)
		return;
	qp->req.asks = qp->req.listens = false;
	rn_dev_schedule(qp->dev, qp);
}

void rn_req_progress(struct rn_qp *qp, rn_ns now, uint32_t credit)
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
	hear_answer(qp, now);
	if (credit)
		rn_dest_credit(qp, now, credit);
	if (rn_psn_before(req->charged, req->una))
		resume_at_una(qp);
	if (rn_psn_before(req->resent, req->una))
		req->resent = req->una;

	if (req->una.v != req->charged.v) {
		req->ack_deadline = rn_req_ack_deadline(qp, now);
	} else {
		req->ack_deadline = RN_NEVER;
		if (!req->probe.is_close && !req->listens)
			req->probe.deadline = RN_NEVER;
		assert(req->in_flight == 0);
		assert(req->rd_count == 0);
	}
	rn_req_check_drained(qp);
	if (req->cur != req->sq.tail)
		rn_dev_schedule(qp->dev, qp);
}

/* Bytes in the window of the packets of @wqe from una up to @stop. */
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

enum rn_advance rn_req_advance(struct rn_qp *qp, rn_ns now, struct rn_psn target)
{
	struct rn_requester *req = &qp->req;
	enum rn_advance result = RN_ADVANCE_REACHED;
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
		if (rn_wqe_info(wqe)->kind != RN_WQE_MESSAGE) {
			result = RN_ADVANCE_GAP;
			break;
		}
		credit += charged_bytes(qp, wqe, stop);
		req->una = stop;
		if (stop.v == end.v)
			rn_req_retire(qp, now, RN_WC_SUCCESS);
	}
	if (req->una.v != from.v)
		rn_req_progress(qp, now, credit);
	return rn_req_finish_local(qp, now) ? RN_ADVANCE_DEAD : result;
}

/* ---------------------------------------------------------------- going back */
void rn_req_go_back(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;

	rn_req_reads_forget(qp);
	if (req->in_flight)
		rn_dest_uncharge(qp, req->in_flight);
	resume_at_una(qp);
	req->resent = req->high;
	/* The first packet asks for an acknowledgement: progress shows early. */
	req->since_ack_req = RN_ACK_REQ_EVERY;
	req->asks = req->listens = false;
	req->ack_deadline = RN_NEVER;
	rn_dev_schedule(qp->dev, qp);
}

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

/* Go back at the price of one transport retry. False: there was none left. */
static bool retry(struct rn_qp *qp, rn_ns now, bool heard)
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
	/* Of silence alone the peer may be the reason. */
	qp->req.asks = qp->req.probe.was_silent = !heard;
	if (heard)
		rn_probe_suspect(qp);
	if (rn_dest_loss(qp, now) && heard)
		rn_probe_start(qp, now);
	return true;
}

/* A NAK for the packet at una is about what was sent before the QP last went back: since
 * then nothing has left, or nothing behind that packet, which is what a NAK comes for.
 * Going back again would change nothing but the retry counter. A peer such as rxe follows
 * an RNR NAK with a NAK for the packets behind it.
 */
static bool is_back_already(const struct rn_qp *qp)
{
	const struct rn_requester *req = &qp->req;

	return req->una.v == req->charged.v ||
	       (rn_psn_add(req->una, 1).v == req->charged.v &&
		req->charged.v != req->high.v);
}

/* A response behind a gap. One newer than any before shows that the peer is at work, and
 * that what was asked for again waits behind it: the timer starts anew. There are only so
 * many packets for which that can be so.
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

void rn_req_implied_nak(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	hear_behind_gap(qp, now, psn);
	/* What answers a packet that has not left again yet says nothing of the answers
	 * to those that have.
	 */
	if (qp->req.implied_nak || !rn_psn_before(psn, qp->req.charged)) {
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
		return;
	}
	rn_count(qp->dev, RN_STAT_IMPLIED_NAK_SEQ_ERR);
	qp->req.back_why = RN_STAT_IMPLIED_NAK_SEQ_ERR;
	qp->req.implied_nak = retry(qp, now, true);
}

/* ------------------------------------------------------------- AETH by type */
void rn_req_take_credits(struct rn_qp *qp, const struct rn_aeth *aeth)
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
	if (rn_req_advance(qp, now, rn_psn_add(psn, 1)) == RN_ADVANCE_GAP)
		rn_req_implied_nak(qp, now, psn);
}

/* NAKs other than an acknowledgement of what precedes them: true if that is complete and
 * the QP lives on.
 */
static bool advance_to_nak(struct rn_qp *qp, rn_ns now, struct rn_psn psn)
{
	enum rn_advance advance = rn_req_advance(qp, now, psn);

	if (advance == RN_ADVANCE_GAP)
		rn_req_implied_nak(qp, now, psn);
	return advance == RN_ADVANCE_REACHED;
}

static void receive_rnr(struct rn_qp *qp, rn_ns now, struct rn_psn psn, uint8_t code)
{
	struct rn_requester *req = &qp->req;
	bool for_ever = qp->attr.rnr_retry == 7;

	if (req->rnr_waiting) {
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
		return;
	}
	rn_count(qp->dev, RN_STAT_RNR_NAK_RX);
	if (!advance_to_nak(qp, now, psn))
		return;
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
		/* It has what precedes, and says what is missing: no need to ask. */
		rn_req_stop_asking(qp);
		return;
	}
	qp->req.back_why = RN_STAT_PACKET_SEQ_ERR;
	retry(qp, now, true);
}

/* True if @psn is of the READ or atomic at the head, which has not been answered. */
static bool is_of_head(const struct rn_qp *qp, struct rn_psn psn)
{
	const struct rn_send_wqe *wqe = rn_req_head(qp);

	return rn_psn_before(psn, rn_psn(wqe->first_psn + wqe->packet_count));
}

static void receive_fatal_nak(struct rn_qp *qp, rn_ns now, struct rn_psn psn,
			      const struct fatal_nak *nak)
{
	enum rn_advance advance = rn_req_advance(qp, now, psn);

	if (advance == RN_ADVANCE_DEAD)
		return;
	/* A READ that was refused after responses that were lost: it fails either way. */
	if (advance == RN_ADVANCE_GAP && !is_of_head(qp, psn)) {
		rn_req_implied_nak(qp, now, psn);
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
		rn_req_take_credits(qp, &aeth);
		receive_ack(qp, now, psn);
		return;
	case RN_AETH_RNR:
		receive_rnr(qp, now, psn, rn_aeth_value(aeth.syndrome));
		return;
	case RN_AETH_NAK:
		receive_nak(qp, now, psn, rn_aeth_value(aeth.syndrome));
		return;
	case RN_AETH_RESERVED:
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
		return;
	}
}

/* An acknowledgement of what had been acknowledged last tells of new receives, or answers
 * what was sent again: then no more answers to the first copies are to come.
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
	rn_req_take_credits(qp, &aeth);
	if (qp->req.listens)
		rn_req_stop_asking(qp);
}

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
	switch ((enum rn_op_kind)p->op->kind) {
	case RN_OP_KIND_ACK:
		receive_acknowledge(qp, now, p);
		return;
	case RN_OP_KIND_READ_RESPONSE:
		rn_req_read_response(qp, now, p);
		return;
	case RN_OP_KIND_ATOMIC_ACK:
		rn_req_atomic_response(qp, now, p);
		return;
	case RN_OP_KIND_NONE:
	case RN_OP_KIND_SEND:
	case RN_OP_KIND_WRITE:
	case RN_OP_KIND_READ:
	case RN_OP_KIND_ATOMIC:
	case RN_OP_KIND_ATOMIC_WRITE:
	case RN_OP_KIND_FLUSH:
	case RN_OP_KIND_CNP:
		assert(false); /* requests go to the responder */
	}
}

/* One timeout may be a lost packet. */
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
	if (req->ack_deadline <= now && rn_dest_holds(qp, now)) {
		req->ack_deadline = rn_req_ack_deadline(qp, now);
	} else if (req->ack_deadline <= now) {
		rn_count(qp->dev, RN_STAT_LOCAL_ACK_TIMEOUT);
		req->back_why = RN_STAT_LOCAL_ACK_TIMEOUT;
		note_silence(qp);
		retry(qp, now, false);
	}
	rn_probe_expire(qp, now);
	rn_pace_expire(qp, now);
}
