/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send_queue.c - turns work requests into WQEs, and WQEs into completions.
 *
 * Contains the send queue of a QP from posting to completion, in each state of the QP,
 * and posting to the receive queue, which uses the same checks.
 */
#include <errno.h>
#include <string.h>

#include "requester.h"
#include "responder.h"
#include "rocin/srq.h"

enum {
	WORD_LEN = 8
};

/* If the most significant bit of a work request's Q_Key is set, the Q_Key of the QP is
 * sent instead (IBTA Vol 1, 10.2.5).
 */
#define QKEY_OWN (1u << 31)

/* ------------------------------------------------------------ posting work requests */
/* Returns true if the data of @wr, @len bytes, fits into a WQE. Inline data is stored in
 * place of the SGEs, so the number of SGEs does not matter then.
 */
static bool data_fits(const struct rn_qp *qp, const struct rn_send_wr *wr, uint64_t len)
{
	uint32_t op = rn_opcode_info[rn_wr_info[wr->opcode].only].flags;

	/* The 8 bytes of an ATOMIC WRITE always fit, because they are stored in place of
	 * an atomic's operands.
	 */
	if (wr->flags & RN_SEND_INLINE)
		return len <= qp->max_inline || op & RN_OP_WORD;
	return wr->num_sge <= qp->req.sq.max_sge;
}

static bool is_flush_sane(const struct rn_send_wr *wr)
{
	const uint8_t known = RN_FLUSH_GLOBAL | RN_FLUSH_PERSISTENT;

	return wr->flush_placement && !(wr->flush_placement & ~known) &&
	       wr->flush_selectivity <= RN_FLUSH_MR;
}

static int check_send(const struct rn_qp *qp, const struct rn_send_wr *wr, uint64_t len)
{
	const struct rn_wr_info *info;
	uint32_t op;

	if (qp->state < RN_QPS_RTS)
		return -EINVAL;
	if ((unsigned)wr->opcode >= RN_ARRAY_SIZE(rn_wr_info))
		return -EINVAL;
	info = &rn_wr_info[wr->opcode];
	op = rn_opcode_info[info->only].flags;
	if (!(info->types & 1 << qp->type) || len > RN_MSG_MAX)
		return -EINVAL;
	if ((wr->flags & RN_SEND_INLINE) && !info->may_inline)
		return -EINVAL;
	if ((wr->flags & RN_SEND_IP_CSUM) && qp->type != RN_QPT_RAW_PACKET)
		return -EINVAL;
	if ((op & RN_OP_ANSWERED) && qp->attr.max_rd_atomic == 0)
		return -EINVAL;
	if ((op & RN_OP_WORD) && len != WORD_LEN)
		return -EINVAL;
	if ((op & RN_OP_FETH) && !is_flush_sane(wr))
		return -EINVAL;
	if (qp->type == RN_QPT_UD && (!wr->av || wr->remote_qpn > RN_QPN_MASK))
		return -EINVAL;
	if (qp->type == RN_QPT_XRC_SEND && wr->remote_srqn > RN_SRQN_MAX)
		return -EINVAL;
	return 0;
}

/* Checks a work request, as rn_qp_check_send() does. @len: out: number of bytes of the
 * request's data.
 */
static int check_request(const struct rn_qp *qp, const struct rn_send_wr *wr,
			 uint64_t *len)
{
	int rc;

	if (wr->num_sge > RN_SGE_MAX)
		return -EINVAL;
	*len = rn_sge_sum(wr->sg, wr->num_sge);
	rc = check_send(qp, wr, *len);
	if (rc)
		return rc;
	return data_fits(qp, wr, *len) ? 0 : -EINVAL;
}

int rn_qp_check_send(const struct rn_qp *qp, const struct rn_send_wr *wr)
{
	uint64_t len;

	return check_request(qp, wr, &len);
}

static void copy_inline(uint8_t *to, const struct rn_send_wr *wr)
{
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		if (wr->sg[i].len == 0)
			continue;
		/* For inline data, and only for it, the address in an SGE is a pointer of
		 * this process.
		 */
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		memcpy(to, (const void *)(uintptr_t)wr->sg[i].addr, wr->sg[i].len);
		to += wr->sg[i].len;
	}
}

static void fill_parts(const struct rn_qp *qp, struct rn_send_wqe *wqe,
		       const struct rn_send_wr *wr)
{
	uint32_t op = rn_opcode_info[rn_wr_info[wr->opcode].only].flags;

	if (qp->type == RN_QPT_XRC_SEND)
		rn_put_be24(wqe->srqn, wr->remote_srqn);
	if (qp->type == RN_QPT_UD) {
		*rn_wqe_ud(wqe) =
			(struct rn_wqe_ud){ .av = *wr->av, .dest_qpn = wr->remote_qpn };
		wqe->rkey = wr->remote_qkey & QKEY_OWN ? qp->attr.qkey : wr->remote_qkey;
	} else if (op & RN_OP_ATOMIC_ETH) {
		*rn_wqe_atomic(wqe) =
			(struct rn_wqe_atomic){ .compare_add = wr->compare_add,
						.swap = wr->swap };
	} else if (wr->opcode == RN_WR_BIND_MW) {
		*rn_wqe_bind(wqe) = (struct rn_wqe_bind){ .length = wr->bind_length,
							  .region = wr->bind_region,
							  .access = wr->bind_access };
		return;
	} else if (op & RN_OP_FETH) {
		wqe->length = wr->flush_length;
		wqe->imm = wr->flush_placement | (uint32_t)wr->flush_selectivity << 8;
		return;
	}
	if (wr->flags & RN_SEND_INLINE)
		copy_inline(rn_wqe_sge(qp, wqe), wr);
	else if (wr->num_sge)
		memcpy(rn_wqe_sge(qp, wqe), wr->sg, wr->num_sge * sizeof(*wr->sg));
}

static int post_send(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		     const struct rn_send_wr *wr)
{
	struct rn_wq *sq = &qp->req.sq;
	struct rn_send_wqe *wqe;
	uint64_t len;
	int rc = check_request(qp, wr, &len);

	if (rc)
		return rc;
	if (rn_wq_count(sq) >= sq->max_wr)
		return -ENOMEM;

	wqe = rn_wq_at(sq, sq->tail);
	*wqe = (struct rn_send_wqe){
		.wr_id = wr->wr_id,
		.remote_addr = wr->remote_addr,
		.rkey = wr->rkey,
		.length = (uint32_t)len,
		.imm = wr->imm,
		.opcode = (uint8_t)wr->opcode,
		.flags = (uint8_t)wr->flags,
		.num_sge = (uint8_t)wr->num_sge,
		.state = RN_WQE_POSTED,
	};
	fill_parts(qp, wqe, wr);
	sq->tail++;
	if (qp->state == RN_QPS_RTS)
		rn_dev_schedule(dev, qp);
	else if (qp->state != RN_QPS_SQD)
		rn_req_flush(qp, now);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
	return 0;
}

int rn_qp_post_send(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_send_wr *wr)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_POST_SEND, .object = qp, .now = now,
		     .u.send = wr);

	return RN_SHOW_RESULT(post_send(dev, qp, now, wr));
}

static int post_recv(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		     const struct rn_recv_wr *wr)
{
	struct rn_wq *rq = &qp->rsp.rq;

	if (qp->state == RN_QPS_RESET || wr->num_sge > rq->max_sge || !qp->recv_cq ||
	    qp->srq)
		return -EINVAL;
	if (rn_wq_count(rq) >= rq->max_wr)
		return -ENOMEM;
	rn_recv_wqe_fill(rn_wq_at(rq, rq->tail), wr);
	rq->tail++;
	if (qp->state == RN_QPS_ERR)
		rn_rsp_flush(qp, now);
	rn_credit_posted(qp);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
	return 0;
}

int rn_qp_post_recv(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_recv_wr *wr)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_POST_RECV, .object = qp, .now = now,
		     .u.recv = wr);

	return RN_SHOW_RESULT(post_recv(dev, qp, now, wr));
}

/* ------------------------------------------------------- changes of the QP's state */
/* Called when no packet is in flight any more: resets the state that concerns packets in
 * flight.
 */
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
	req->sends_one = req->awaits_late = false;
	req->since_ack_req = 0;
	req->stage.psn = RN_STAGE_NOBODY;
}

/* Resets the requester. If the memory back end is still reading into the bounce buffer,
 * rn_req_mem_done() will discard the data.
 */
void rn_req_reset(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;

	req->sq.head = req->sq.tail = 0;
	req->drained_event = req->was_answered = false;
	rn_pace_reset(qp);
	memset(&req->rnr, 0, sizeof(req->rnr));
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
	req->was_answered = false;
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

void rn_req_sqd(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;
	uint32_t limit = req->cur;

	(void)now;
	/* While the QP sends packets again, WQEs after cur may have been started, too.
	 * These must complete before the queue is drained.
	 */
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

bool rn_req_idle(const struct rn_qp *qp)
{
	return rn_wq_count(&qp->req.sq) == 0;
}

/* ------------------------------------------------------------------ completing WQEs */
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

static void tally_request(const struct rn_qp *qp, enum rn_wc_opcode opcode,
			  enum rn_wc_status status, uint32_t bytes)
{
	if (opcode == RN_WC_SEND)
		rn_qp_tally(qp, RN_TALLY_SEND, status, bytes);
	else if (opcode == RN_WC_RDMA_READ)
		rn_qp_tally(qp, RN_TALLY_READ, status, bytes);
	else if (opcode == RN_WC_RDMA_WRITE)
		rn_qp_tally(qp, RN_TALLY_WRITE, status, bytes);
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
	if (qp->tallies)
		tally_request(qp, opcode, status, wqe->length);
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

	/* While packets are sent again, cur may still be at this WQE, which leaves
	 * the queue.
	 */
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

/* --------------------------------------------- the ring of READ and atomic requests */
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

/* ------------------------------------------------ queries about the send queue */
uint32_t rn_qp_sq_room(const struct rn_qp *qp)
{
	return qp->req.sq.max_wr - rn_wq_count(&qp->req.sq);
}

uint32_t rn_qp_sq_next(const struct rn_qp *qp)
{
	return qp->req.sq.tail;
}

uint32_t rn_qp_sq_wqe(const struct rn_qp *qp, uint32_t number, const void **at)
{
	const struct rn_wq *sq = &qp->req.sq;
	struct rn_send_wqe *wqe = rn_wq_at(sq, number);
	size_t len = (size_t)((uint8_t *)rn_wqe_sge(qp, wqe) - (uint8_t *)wqe);

	if (wqe->opcode == RN_WR_BIND_MW)
		len += sizeof(struct rn_wqe_bind);
	else if (wqe->flags & RN_SEND_INLINE)
		len += wqe->length;
	else
		len += wqe->num_sge * sizeof(struct rn_sge);
	*at = wqe;
	return len < sq->stride ? (uint32_t)len : sq->stride;
}

uint32_t rn_qp_rq_next(const struct rn_qp *qp)
{
	return qp->rsp.rq.tail;
}

uint32_t rn_qp_rq_wqe(const struct rn_qp *qp, uint32_t number, const void **at)
{
	const struct rn_recv_wqe *wqe = rn_wq_at(&qp->rsp.rq, number);

	*at = wqe;
	return rn_recv_wqe_len(wqe);
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
