/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send_queue.c - a send queue: reset, drain, completion, flush; READs under way. */
#include "window.h"
#include "requester.h"

/* clang-format off */
const struct rn_wr_info rn_wr_info[RN_WR_COUNT] = {
#define MESSAGE(wr, what, end, wc, takes)                                        \
	[wr] = { RN_WQE_MESSAGE, RN_RC_##what##_FIRST, RN_RC_##what##_MIDDLE,    \
		 RN_RC_##what##_LAST##end, RN_RC_##what##_ONLY##end, wc, takes }
#define SINGLE(wr, kind, op, wc) [wr] = { kind, op, op, op, op, wc, false }
	MESSAGE(RN_WR_RDMA_WRITE,          WRITE,     , RN_WC_RDMA_WRITE, false),
	MESSAGE(RN_WR_RDMA_WRITE_WITH_IMM, WRITE, _IMM, RN_WC_RDMA_WRITE, true),
	MESSAGE(RN_WR_SEND,                SEND,      , RN_WC_SEND,       true),
	MESSAGE(RN_WR_SEND_WITH_IMM,       SEND,  _IMM, RN_WC_SEND,       true),
	MESSAGE(RN_WR_SEND_WITH_INV,       SEND,  _INV, RN_WC_SEND,       true),
	SINGLE(RN_WR_RDMA_READ, RN_WQE_READ, RN_RC_READ_REQUEST, RN_WC_RDMA_READ),
	SINGLE(RN_WR_ATOMIC_CMP_AND_SWP, RN_WQE_ATOMIC, RN_RC_CMP_SWAP, RN_WC_COMP_SWAP),
	SINGLE(RN_WR_ATOMIC_FETCH_AND_ADD, RN_WQE_ATOMIC, RN_RC_FETCH_ADD, RN_WC_FETCH_ADD),
	SINGLE(RN_WR_ATOMIC_WRITE, RN_WQE_ATOMIC_WRITE, RN_RC_ATOMIC_WRITE, RN_WC_ATOMIC_WRITE),
	SINGLE(RN_WR_FLUSH, RN_WQE_FLUSH, RN_RC_FLUSH, RN_WC_FLUSH),
	SINGLE(RN_WR_LOCAL_INV, RN_WQE_LOCAL, 0, RN_WC_LOCAL_INV),
	SINGLE(RN_WR_BIND_MW, RN_WQE_LOCAL, 0, RN_WC_BIND_MW),
#undef MESSAGE
#undef SINGLE
};
/* clang-format on */

/* Nothing is on the wire any more. */
static void quiesce(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;

	rn_read_window_withdraw(qp);
	rn_req_reads_forget(qp);
	req->cur = req->sq.tail;
	req->cur_packet = 0;
	req->una = req->high = req->charged = req->resent = req->next_psn;
	req->heard = req->una;
	req->heard_apart = 0;
	req->knows_taken = false;
	req->ack_deadline = req->rnr_deadline = RN_NEVER;
	req->read_deadline = req->probe.deadline = req->pace.deadline = RN_NEVER;
	req->read_pass = false;
	req->rnr_waiting = req->implied_nak = req->draining = false;
	req->asks = req->listens = false;
	req->since_ack_req = 0;
	req->stage.psn = RN_STAGE_NOBODY;
}

/* Reads into the staging buffer that have not ended go on; mem_done drops what they
 * bring.
 */
void rn_req_reset(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;

	req->sq.head = req->sq.tail = 0;
	req->drained_event = false;
	rn_pace_reset(qp);
	req->next_psn = rn_psn(0);
	quiesce(qp);
}

void rn_req_rts(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;

	(void)now;
	assert(rn_wq_count(&req->sq) == 0);
	req->next_psn = rn_psn(qp->attr.sq_psn);
	quiesce(qp);
	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	req->charged_retries = (struct rn_retries){ 0 };
	req->ssn = req->lsn = 0;
	req->credit_limited = req->credit_off = false;
}

void rn_req_sqd(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;
	uint32_t limit = req->cur;

	(void)now;
	/* After going back, WQEs behind cur have been started as well. */
	for (; limit != req->sq.tail; limit++) {
		const struct rn_send_wqe *wqe = rn_wq_at(&req->sq, limit);

		if (wqe->state == RN_WQE_POSTED)
			break;
	}
	req->sqd_limit = limit;
	req->draining = true;
	req->drained_event = false;
	rn_req_check_drained(qp);
}

void rn_req_check_drained(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;

	if (!req->draining || req->sq.head != req->sqd_limit)
		return;
	req->draining = false;
	if (!qp->attr.en_sqd_async_notify || req->drained_event)
		return;
	req->drained_event = true;
	rn_event_raise(qp, RN_EVENT_SQ_DRAINED);
}

bool rn_req_idle(const struct rn_qp *qp)
{
	return rn_wq_count(&qp->req.sq) == 0;
}

/* -------------------------------------------------------------- completion */
static void count_completion(struct rn_qp *qp, enum rn_wc_opcode opcode,
			     enum rn_wc_status status)
{
	if (status == RN_WC_WR_FLUSH_ERR)
		rn_count(qp->dev, RN_STAT_REQ_CQE_FLUSH);
	else if (status != RN_WC_SUCCESS)
		rn_count(qp->dev, RN_STAT_REQ_CQE_ERR);
	else if (opcode == RN_WC_SEND)
		rn_count(qp->dev, RN_STAT_TX_SENDS);
}

void rn_req_retire(struct rn_qp *qp, rn_ns now, enum rn_wc_status status)
{
	struct rn_wq *sq = &qp->req.sq;
	const struct rn_send_wqe *wqe = rn_req_head(qp);
	enum rn_wc_opcode opcode = (enum rn_wc_opcode)rn_wqe_info(wqe)->wc_opcode;
	bool signaled = qp->sq_sig_all || (wqe->flags & RN_SEND_SIGNALED) ||
			status != RN_WC_SUCCESS;

	assert(rn_wq_count(sq) > 0);
	sq->head++;
	count_completion(qp, opcode, status);
	if (signaled) {
		struct rn_completion c = {
			.wr_id = wqe->wr_id,
			.status = status,
			.opcode = opcode,
			.byte_len = wqe->length,
		};

		rn_cq_push(qp->dev, qp->send_cq, qp, now, &c);
	}
}

void rn_req_fail_head(struct rn_qp *qp, rn_ns now, enum rn_wc_status status)
{
	assert(status != RN_WC_SUCCESS);
	rn_req_retire(qp, now, status);
	if (rn_qp_is_reliable(qp))
		rn_qp_error(qp, now);
	else
		rn_qp_sq_error(qp, now);
}

void rn_req_retire_ended(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;

	/* Behind it after going back. */
	if (req->cur == req->sq.head)
		req->cur++;
	rn_req_retire(qp, now, RN_WC_SUCCESS);
}

bool rn_req_finish_local(struct rn_qp *qp, rn_ns now)
{
	while (!rn_req_idle(qp)) {
		const struct rn_send_wqe *wqe = rn_req_head(qp);

		if (wqe->state != RN_WQE_DONE)
			break;
		if (wqe->status != RN_WC_SUCCESS) {
			rn_req_fail_head(qp, now, (enum rn_wc_status)wqe->status);
			return true;
		}
		rn_req_retire_ended(qp, now);
	}
	rn_req_check_drained(qp);
	return false;
}

void rn_req_flush(struct rn_qp *qp, rn_ns now)
{
	while (!rn_req_idle(qp))
		rn_req_retire(qp, now, RN_WC_WR_FLUSH_ERR);
	quiesce(qp);
}

/* ------------------------------------------------------- READs and atomics */
uint32_t rn_req_read_packets(const struct rn_qp *qp, const struct rn_send_wqe *wqe,
			     uint32_t packet)
{
	uint32_t chunk = qp->dev->cfg.read_chunk >> rn_req_mtu_shift(qp);
	uint32_t rest = wqe->packet_count - packet;

	if (chunk == 0)
		chunk = 1;
	if (chunk > RN_READ_PACKETS_MAX)
		chunk = RN_READ_PACKETS_MAX;
	if (wqe->packet_count <= chunk)
		return rest;
	chunk -= packet % chunk;
	return chunk < rest ? chunk : rest;
}

void rn_req_read_sent(struct rn_qp *qp, struct rn_psn last, uint32_t bytes)
{
	struct rn_requester *req = &qp->req;

	assert(req->rd_count < req->rd_room);
	*rn_rd_at(req, req->rd_count) =
		(struct rn_rd_sent){ .last_psn = last.v, .bytes = bytes };
	req->rd_count++;
	rn_read_window_charge(qp, bytes);
}

void rn_req_read_answered(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;
	uint32_t bytes;

	assert(req->rd_count > 0);
	bytes = rn_rd_at(req, 0)->bytes;
	req->rd_head++;
	req->rd_count--;
	req->rd_begun = false;
	rn_read_window_credit(qp->dev, bytes);
}

void rn_req_reads_forget(struct rn_qp *qp)
{
	while (qp->req.rd_count > 0)
		rn_req_read_answered(qp);
	qp->req.rd_begun = false;
}

size_t rn_qp_reads_size(uint32_t count)
{
	return rn_power_of_two(count) * sizeof(struct rn_rd_sent);
}

uint32_t rn_qp_reads(const struct rn_qp *qp)
{
	return qp->req.rd_room;
}

void *rn_qp_lend_reads(struct rn_qp *qp, void *mem, uint32_t count)
{
	struct rn_requester *req = &qp->req, old = *req;

	assert(count <= RN_RD_ATOMIC_MAX && count > old.rd_room);
	req->rd = mem;
	req->rd_room = (uint8_t)rn_power_of_two(count);
	for (uint32_t i = 0; i < old.rd_count; i++)
		*rn_rd_at(req, i) = *rn_rd_at(&old, i);
	return old.rd;
}

uint32_t rn_qp_peer_msn(const struct rn_qp *qp, struct rn_psn psn)
{
	const struct rn_requester *req = &qp->req;
	uint32_t msn = req->ssn;

	for (uint32_t i = req->sq.head; i != req->sq.tail; i++) {
		const struct rn_send_wqe *wqe = rn_wq_at(&req->sq, i);
		uint32_t last = wqe->first_psn + wqe->packet_count - 1;

		if (wqe->state == RN_WQE_POSTED)
			break;
		if (wqe->state == RN_WQE_STARTED && !rn_psn_before(rn_psn(last), psn))
			msn--;
	}
	return msn & RN_MSN_MASK;
}
