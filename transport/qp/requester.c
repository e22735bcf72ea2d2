/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requester.c - builds request packets from the send queue: RC, UC and UD.
 *
 * rn_req_build() finds the WQE whose packet leaves next, checks that the peer window or
 * the READ window has room, fetches the payload and writes the headers. SEND and WRITE
 * are cut into packets. READ, atomics, ATOMIC WRITE and FLUSH requests wait for a
 * response of their own (no acknowledgement of a later request completes them) and count
 * against max_rd_atomic.
 *
 * Source: IBTA Vol 1, 9.7.3 (RC requests), 9.8 (UC), 9.8.3 (UD), 10.8.3 (ordering), 9.4.4
 * (READ), 9.4.5 (atomics), A19 (ATOMIC WRITE, FLUSH).
 */
#include "requester.h"

#include <string.h>

#include "responder.h"
#include "transport/object/memory.h"

/* One packet of a SEND or WRITE request. */
struct segment {
	struct rn_psn psn;
	/* Offset of the payload in the message, and its length, in bytes. */
	uint32_t offset, len;
	uint8_t opcode;
	bool last;
};

/* Rate in kbit/s. At a lower rate, sending RN_ACK_REQ_EVERY packets may take longer than
 * the local ACK timeout, so every packet asks for an acknowledgement.
 */
enum {
	SLOW = 1000000
};

/* ------------------------------------------------ conditions for starting a WQE */
/* Returns true if the peer's credits allow the WQE to start. Only a WQE that takes a
 * receive WQE of the peer needs a credit. Without any credit left, one such WQE may still
 * be sent, to find out whether the peer has a receive WQE now (IBTA Vol 1, 9.7.7.2.5: the
 * limited WQE).
 */
static bool has_credit(const struct rn_requester *req, const struct rn_send_wqe *wqe)
{
	if (!req->credit_limited || !rn_wqe_info(wqe)->takes_recv)
		return true;
	return rn_psn_diff(rn_psn(req->ssn), rn_psn(req->lsn)) <= 0;
}

static bool may_start(const struct rn_qp *qp, const struct rn_send_wqe *wqe)
{
	const struct rn_requester *req = &qp->req;

	if ((wqe->flags & RN_SEND_FENCE) && req->rd_count > 0)
		return false;
	return has_credit(req, wqe);
}

/* Returns the WQE whose packet is to be sent next; NULL if no packet may leave now. */
static struct rn_send_wqe *next_wqe(const struct rn_qp *qp)
{
	const struct rn_requester *req = &qp->req;
	uint32_t limit = qp->state == RN_QPS_SQD ? req->sqd_limit : req->sq.tail;
	struct rn_send_wqe *wqe;

	if (req->rnr_waiting || req->awaits_late || req->cur == limit)
		return NULL;
	if (rn_psn_diff(req->charged, req->una) >= RN_OUTSTANDING_MAX)
		return NULL;
	if (req->sends_one && req->charged.v != req->una.v)
		return NULL;
	wqe = rn_wq_at(&req->sq, req->cur);
	/* The WQE has already failed, before any packet of it was sent. Its error CQE is
	 * added when all older WQEs have completed.
	 */
	if (wqe->state == RN_WQE_DONE)
		return NULL;
	if (wqe->state == RN_WQE_POSTED && !may_start(qp, wqe))
		return NULL;
	return wqe;
}

/* ------------------------------------------------- progress in the send queue */
/* Returns the PSN of the packet that is sent next; @wqe is the WQE at req->cur. */
static struct rn_psn psn_to_send(const struct rn_requester *req,
				 const struct rn_send_wqe *wqe)
{
	if (wqe->state == RN_WQE_POSTED)
		return req->next_psn;
	return rn_psn(wqe->first_psn + req->cur_packet);
}

/* Returns the number of PSNs that a message of @length bytes needs. */
static uint32_t count_packets(const struct rn_qp *qp, uint32_t length)
{
	return length ? ((length - 1) >> rn_req_mtu_shift(qp)) + 1 : 1;
}

/* Assigns PSNs to the packets of the WQE, unless it has them already. */
static void start_wqe(struct rn_requester *req, struct rn_send_wqe *wqe)
{
	if (wqe->state != RN_WQE_POSTED)
		return;
	wqe->state = RN_WQE_STARTED;
	wqe->first_psn = req->next_psn.v;
	wqe->progress = 0;
	req->next_psn = rn_psn_add(req->next_psn, wqe->packet_count);
}

/* Counts a message that is sent for the first time. If a READ is cut into several
 * requests, each of them counts.
 */
static void count_message(struct rn_requester *req, const struct rn_send_wqe *wqe)
{
	req->ssn = rn_psn(req->ssn + 1).v;
	/* The peer counts this request in its MSN, although the request takes no receive
	 * WQE. Credits are a number of messages beyond that MSN, so they now reach one
	 * message further.
	 */
	if (req->credit_limited && !rn_wqe_info(wqe)->takes_recv)
		req->lsn = rn_psn(req->lsn + 1).v;
}

/* Called when @count packets of @wqe were built: advances req->cur and cur_packet past
 * them. Return: true if these were the last packets of @wqe.
 */
static bool move_on(struct rn_requester *req, const struct rn_send_wqe *wqe,
		    uint32_t count)
{
	req->cur_packet += count;
	if (req->cur_packet < wqe->packet_count)
		return false;
	req->cur++;
	req->cur_packet = 0;
	return true;
}

/* Marks the WQE at req->cur as failed with @status, because it cannot be sent. Its error
 * CQE is added when all older WQEs are complete.
 */
static void fail_locally(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			 enum rn_wc_status status)
{
	wqe->state = RN_WQE_DONE;
	wqe->status = (uint8_t)status;
	if (qp->req.cur == qp->req.sq.head)
		rn_req_fail_head(qp, now, status);
}

/* ------------------------------------------------------------- fetching the payload */
/* Reads the payload of packet @psn through the bounce buffer, for memory that may answer
 * a read later. The caller builds the packet when the payload has arrived. If
 * retransmission has begun meanwhile, another packet is the next one, and the payload in
 * the buffer is not used.
 */
static enum rn_mem_result fetch_staged(struct rn_qp *qp, struct rn_send_wqe *wqe,
				       struct rn_psn psn, uint32_t offset, uint32_t len)
{
	__typeof__(qp->req.stage) *stage = &qp->req.stage;

	if (stage->waiting)
		return RN_MEM_PENDING;
	if (!stage->ready || stage->psn.v != psn.v) {
		enum rn_mem_result result;

		stage->psn = psn;
		result = rn_gather(qp, rn_wqe_sge(qp, wqe), wqe->num_sge, offset,
				   stage->buf, len, rn_mem_tag(qp, RN_TAG_REQ),
				   &stage->outstanding, NULL);
		/* This SGE may have failed while reads of earlier SGEs are still
		 * pending: the buffer must not be used before they have ended.
		 */
		stage->fault = result == RN_MEM_FAULT;
		stage->waiting = stage->outstanding > 0;
	}
	stage->ready = false;
	if (stage->waiting)
		return RN_MEM_PENDING;
	return stage->fault ? RN_MEM_FAULT : RN_MEM_DONE;
}

void rn_req_mem_done(struct rn_qp *qp, rn_ns now, enum rn_mem_result result)
{
	__typeof__(qp->req.stage) *stage = &qp->req.stage;

	(void)now;
	assert(stage->outstanding > 0);
	if (result == RN_MEM_FAULT)
		stage->fault = true;
	if (--stage->outstanding > 0)
		return;
	stage->waiting = false;
	stage->ready = true;
	rn_dev_schedule(qp->dev, qp);
}

// NOLINTNEXTLINE(readability-function-size): each parameter is needed
enum rn_mem_result rn_req_fetch(struct rn_qp *qp, struct rn_send_wqe *wqe,
				struct rn_psn psn, uint32_t offset, uint32_t len,
				uint8_t *dst, struct rn_crc32_part *part)
{
	enum rn_mem_result result;
	uint32_t outstanding = 0;

	if (len == 0)
		return RN_MEM_DONE;
	if (wqe->flags & RN_SEND_INLINE) {
		memcpy(dst, (const uint8_t *)rn_wqe_sge(qp, wqe) + offset, len);
		return RN_MEM_DONE;
	}
	if (!qp->req.stage.buf) {
		result = rn_gather(qp, rn_wqe_sge(qp, wqe), wqe->num_sge, offset, dst,
				   len, rn_mem_tag(qp, RN_TAG_REQ), &outstanding, part);
		assert(outstanding == 0);
		return result;
	}
	result = fetch_staged(qp, wqe, psn, offset, len);
	if (result == RN_MEM_DONE)
		memcpy(dst, qp->req.stage.buf, len);
	return result;
}

/* ------------------------------------------------------------------ writing headers */
static uint8_t opcode_class(enum rn_qp_type type)
{
	if (type == RN_QPT_UC)
		return RN_CLASS_UC;
	if (type == RN_QPT_UD)
		return RN_CLASS_UD;
	return type == RN_QPT_RC ? RN_CLASS_RC : RN_CLASS_XRC;
}

static uint8_t *emit_bth(const struct rn_qp *qp, const struct rn_build *b,
			 const struct segment *s, bool ack_req, bool solicited)
{
	struct rn_bth bth = {
		.opcode = s->opcode,
		.solicited = solicited,
		.migreq = rn_apm_is_migrated(qp),
		.ack_req = ack_req,
		.pad_cnt = rn_pad_cnt(s->len),
		.pkey = RN_PKEY_DEFAULT,
		.dest_qpn = b->tx->dest_qpn,
		.psn = s->psn,
	};

	return rn_bth_emit(b->buf, &bth);
}

/* Writes the XRCETH, if the QP is an XRC one: in XRC, every request names the SRQ from
 * which the peer takes a receive WQE. Return: the address behind it.
 */
static uint8_t *emit_xrceth(const struct rn_qp *qp, const struct rn_send_wqe *wqe,
			    uint8_t *p)
{
	if (qp->type != RN_QPT_XRC_SEND)
		return p;
	return rn_xrceth_emit(p, rn_get_be24(wqe->srqn));
}

static uint8_t *emit_extensions(const struct rn_send_wqe *wqe, uint32_t flags, uint8_t *p)
{
	if (flags & RN_OP_RETH) {
		struct rn_reth reth = {
			.va = wqe->remote_addr,
			.rkey = wqe->rkey,
			.dma_len = wqe->length,
		};

		p = rn_reth_emit(p, &reth);
	}
	if (flags & RN_OP_IMM)
		p = rn_imm_emit(p, wqe->imm);
	if (flags & RN_OP_IETH)
		p = rn_ieth_emit(p, wqe->imm);
	return p;
}

static bool is_solicited(const struct rn_send_wqe *wqe, const struct segment *s)
{
	return s->last && (wqe->flags & RN_SEND_SOLICITED) &&
	       rn_wqe_info(wqe)->takes_recv;
}

/* Writes the pad bytes behind the payload of @len bytes, which begins at @p. Return:
 * length of the whole packet in bytes.
 */
static uint32_t end_packet(const struct rn_build *b, uint8_t *p, uint32_t len)
{
	uint8_t pad = rn_pad_cnt(len);

	for (uint8_t i = 0; i < pad; i++)
		p[len + i] = 0;
	return (uint32_t)(p + len + pad - b->buf);
}

/* ------------------------------------------------------ requesting acknowledgements */
/* Returns true if the next packet has to ask for an acknowledgement although it is not
 * the last of its message. This is done often enough that, even if the last packets in
 * flight do not fit into the peer's buffer, an acknowledgement of earlier ones comes back
 * and lets more packets leave. When those arrive, the peer reports the loss by a NAK,
 * which is faster than a timeout.
 */
static bool is_ack_overdue(const struct rn_qp *qp)
{
	uint64_t since = (uint64_t)qp->req.since_ack_req << rn_req_mtu_shift(qp);

	if (qp->req.pace.kbps &&
	    /* at this rate a long time passes before the next packet */
	    qp->req.pace.kbps < SLOW)
		return true;
	return qp->req.since_ack_req >= RN_ACK_REQ_EVERY || since >= qp->peer->window / 4;
}

static bool wants_ack(struct rn_qp *qp, const struct segment *s)
{
	struct rn_requester *req = &qp->req;

	if (!rn_qp_is_reliable(qp))
		return false;
	req->since_ack_req++;
	if (!s->last && !is_ack_overdue(qp) &&
	    !rn_window_closes(qp, s->len + RN_PACKET_COST))
		return false;
	req->since_ack_req = 0;
	return true;
}

/* Updates PSNs and timers after a request that takes the PSNs from @psn to just before
 * @end was built.
 */
static void note_sent(struct rn_qp *qp, rn_ns now, struct rn_psn psn, struct rn_psn end)
{
	struct rn_requester *req = &qp->req;

	if (rn_psn_before(psn, req->high)) {
		rn_count(qp->dev, RN_STAT_RETRANSMITTED);
		rn_diagnostic_resent(qp, psn);
		if (qp->stats)
			__atomic_store_n(&qp->stats->retransmitted,
					 qp->stats->retransmitted + 1, __ATOMIC_RELAXED);
	}
	if (rn_psn_before(req->high, end))
		req->high = end;
	req->charged = end;
	if (req->ack_deadline != RN_NEVER)
		return;
	if (!req->implied_nak)
		req->heard_at = now;
	req->ack_deadline = rn_req_ack_deadline(qp, now);
	if (req->ack_deadline != RN_NEVER)
		rn_dev_arm_timer(qp->dev, qp);
}

/* -------------------------------------------------- building SEND and WRITE packets */
static struct segment next_segment(const struct rn_qp *qp, struct rn_send_wqe *wqe)
{
	const struct rn_requester *req = &qp->req;
	const struct rn_wr_info *info = rn_wqe_info(wqe);
	uint32_t packet = req->cur_packet;
	struct segment s = { .psn = psn_to_send(req, wqe) };

	if (wqe->state == RN_WQE_POSTED)
		wqe->packet_count = count_packets(qp, wqe->length);
	s.offset = packet << rn_req_mtu_shift(qp);
	s.len = rn_req_packet_len(qp, wqe, packet);
	s.last = packet + 1 == wqe->packet_count;
	if (packet == 0)
		s.opcode = s.last ? info->only : info->first;
	else
		s.opcode = s.last ? info->last : info->middle;
	s.opcode |= opcode_class(qp->type);
	return s;
}

/* Called when a packet of @wqe was built. On UC and UD QPs, completes the WQE after its
 * last packet.
 */
static void segment_sent(struct rn_qp *qp, rn_ns now, const struct rn_send_wqe *wqe,
			 const struct segment *s)
{
	if (rn_qp_is_reliable(qp)) {
		rn_window_charge(qp, now, s->len + RN_PACKET_COST);
		note_sent(qp, now, s->psn, rn_psn_add(s->psn, 1));
		move_on(&qp->req, wqe, 1);
	} else if (move_on(&qp->req, wqe, 1)) {
		rn_req_retire(qp, now, RN_WC_SUCCESS);
		rn_req_check_drained(qp);
	}
}

static uint32_t build_segment(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			      struct rn_build *b)
{
	struct segment s = next_segment(qp, wqe);
	const struct rn_opcode_info *op = &rn_opcode_info[s.opcode];
	uint8_t *payload = b->buf + op->hdr_len;
	uint8_t *p;

	if (!rn_window_may_send(qp, now, s.len + RN_PACKET_COST))
		return 0;
	switch (rn_req_fetch(qp, wqe, s.psn, s.offset, s.len, payload, b->part)) {
	case RN_MEM_DONE:
		break;
	case RN_MEM_PENDING:
		return 0;
	case RN_MEM_FAULT:
		fail_locally(qp, now, wqe, RN_WC_LOC_PROT_ERR);
		return 0;
	}
	if (wqe->state == RN_WQE_POSTED)
		count_message(&qp->req, wqe);
	start_wqe(&qp->req, wqe);
	p = emit_bth(qp, b, &s, wants_ack(qp, &s), is_solicited(wqe, &s));
	p = emit_xrceth(qp, wqe, p);
	p = emit_extensions(wqe, op->flags, p);
	assert(p == payload);
	segment_sent(qp, now, wqe, &s);
	return end_packet(b, payload, s.len);
}

/* ------------------------------------------------------------ building UD datagrams */
static uint32_t build_datagram(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			       struct rn_build *b)
{
	const struct rn_wqe_ud *ud = rn_wqe_ud(wqe);
	struct segment s = { .psn = qp->req.next_psn, .len = wqe->length, .last = true };
	struct rn_deth deth = { .qkey = wqe->rkey, .src_qpn = qp->qpn };
	enum rn_mem_result result;
	uint8_t *p, *payload;

	s.opcode = rn_wqe_info(wqe)->only | RN_CLASS_UD;
	payload = b->buf + rn_opcode_info[s.opcode].hdr_len;
	wqe->packet_count = 1;
	/* A message that is too long for one datagram completes with success, although no
	 * packet is sent (C10-93.1.1).
	 */
	if (wqe->length > qp->dev->cfg.mtu_max) {
		segment_sent(qp, now, wqe, &s);
		return 0;
	}
	if (!rn_qp_flow(qp->dev, &ud->av, &qp->flow)) {
		fail_locally(qp, now, wqe, RN_WC_LOC_QP_OP_ERR);
		return 0;
	}
	result = rn_req_fetch(qp, wqe, s.psn, 0, s.len, payload, b->part);
	if (result == RN_MEM_FAULT)
		fail_locally(qp, now, wqe, RN_WC_LOC_PROT_ERR);
	if (result != RN_MEM_DONE)
		return 0;

	start_wqe(&qp->req, wqe);
	b->tx->dest_qpn = ud->dest_qpn;
	if (rn_gid_is_multicast(&qp->flow.dst))
		rn_count(qp->dev, RN_STAT_TX_MULTICAST);
	p = emit_bth(qp, b, &s, false, is_solicited(wqe, &s));
	p = rn_deth_emit(p, &deth);
	p = emit_extensions(wqe, rn_opcode_info[s.opcode].flags, p);
	assert(p == payload);
	segment_sent(qp, now, wqe, &s);
	return end_packet(b, payload, s.len);
}

/* --------------------------- building READ, atomic, ATOMIC WRITE and FLUSH requests */
/* Called when a READ, atomic, ATOMIC WRITE or FLUSH request was built: adds it to the
 * ring of requests that wait for responses (req.rd). @last: PSN of the request's last
 * response; @bytes: number of bytes that a READ requests.
 */
static void note_read_sent(struct rn_qp *qp, struct rn_psn last, uint32_t bytes)
{
	struct rn_requester *req = &qp->req;

	assert(req->rd_count < req->rd_room);
	*rn_rd_at(req, req->rd_count) =
		(struct rn_rd_sent){ .last_psn = last.v, .bytes = bytes };
	req->rd_count++;
	rn_read_window_charge(qp, bytes);
}

/* Calls note_read_sent() for a request that was built, and updates PSNs and windows. The
 * request takes @packets PSNs, from @psn on.
 */
static void request_sent(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			 struct rn_psn psn, uint32_t packets, uint32_t bytes)
{
	struct rn_requester *req = &qp->req;

	if (!rn_psn_before(psn, req->high))
		count_message(req, wqe);
	start_wqe(req, wqe);
	req->since_ack_req = 0;
	note_read_sent(qp, rn_psn_add(psn, packets - 1), bytes);
	rn_window_charge(qp, now, RN_PACKET_COST);
	note_sent(qp, now, psn, rn_psn_add(psn, packets));
	move_on(req, wqe, packets);
}

static bool may_request(struct rn_qp *qp, rn_ns now, uint32_t bytes)
{
	return qp->req.rd_count < qp->attr.max_rd_atomic &&
	       rn_window_may_send(qp, now, RN_PACKET_COST) &&
	       rn_read_window_open(qp, now, bytes);
}

/* Builds a READ request for @wqe. If the READ is cut into several requests, builds the
 * next of them. Return: length of the packet in bytes; 0 if it may not leave now.
 */
static uint32_t build_read(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			   struct rn_build *b)
{
	struct rn_requester *req = &qp->req;
	struct segment s = { .psn = psn_to_send(req, wqe),
			     .opcode = RN_RC_READ_REQUEST | opcode_class(qp->type) };
	struct rn_reth reth = { .va = wqe->remote_addr, .rkey = wqe->rkey };
	uint32_t offset = req->cur_packet << rn_req_mtu_shift(qp);
	uint32_t packets;
	uint8_t *p;

	if (wqe->state == RN_WQE_POSTED)
		wqe->packet_count = count_packets(qp, wqe->length);
	packets = rn_req_read_packets(qp, wqe, req->cur_packet);
	reth.va += offset;
	reth.dma_len = packets << rn_req_mtu_shift(qp);
	if (reth.dma_len > wqe->length - offset)
		reth.dma_len = wqe->length - offset;
	if (!may_request(qp, now, reth.dma_len))
		return 0;

	p = emit_xrceth(qp, wqe, emit_bth(qp, b, &s, true, false));
	p = rn_reth_emit(p, &reth);
	request_sent(qp, now, wqe, s.psn, packets, reth.dma_len);
	return (uint32_t)(p - b->buf);
}

static uint8_t *emit_atomic_eth(struct rn_send_wqe *wqe, uint8_t *p)
{
	const struct rn_wqe_atomic *operands = rn_wqe_atomic(wqe);
	bool swap = wqe->opcode == RN_WR_ATOMIC_CMP_AND_SWP;
	struct rn_atomic_eth eth = {
		.va = wqe->remote_addr,
		.rkey = wqe->rkey,
		.swap_add = swap ? operands->swap : operands->compare_add,
		.compare = swap ? operands->compare_add : 0,
	};

	return rn_atomic_eth_emit(p, &eth);
}

static uint8_t *emit_feth(const struct rn_send_wqe *wqe, uint8_t *p)
{
	const struct rn_feth feth = {
		.placement = wqe->imm & UINT8_MAX,
		.selectivity = (uint8_t)(wqe->imm >> 8),
	};

	return rn_feth_emit(p, &feth);
}

/* Builds a request that is always a single packet: an atomic, ATOMIC WRITE or FLUSH.
 * Return: its length in bytes; 0 if it may not leave now, or if the WQE has failed.
 */
static uint32_t build_single(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			     struct rn_build *b)
{
	struct segment s = {
		.psn = psn_to_send(&qp->req, wqe),
		.opcode = rn_wqe_info(wqe)->only | opcode_class(qp->type),
	};
	const struct rn_opcode_info *op = &rn_opcode_info[s.opcode];
	uint8_t *payload = b->buf + op->hdr_len;
	enum rn_mem_result result;
	uint8_t *p;

	if (op->flags & RN_OP_PAYLOAD)
		s.len = wqe->length;
	if (!may_request(qp, now, 0))
		return 0;
	result = rn_req_fetch(qp, wqe, s.psn, 0, s.len, payload, NULL);
	if (result == RN_MEM_FAULT)
		fail_locally(qp, now, wqe, RN_WC_LOC_PROT_ERR);
	if (result != RN_MEM_DONE)
		return 0;
	wqe->packet_count = 1;
	p = emit_xrceth(qp, wqe, emit_bth(qp, b, &s, true, false));
	if (op->flags & RN_OP_FETH)
		p = emit_feth(wqe, p);
	if (op->flags & RN_OP_ATOMIC_ETH)
		p = emit_atomic_eth(wqe, p);
	p = emit_extensions(wqe, op->flags, p);
	assert(p == payload);
	request_sent(qp, now, wqe, s.psn, 1, 0);
	return (uint32_t)(p - b->buf) + s.len;
}

/* --------------------------------------------------------- choosing the next packet */
/* Executes a WQE that sends no packet: BIND_MW or LOCAL_INV. A WQE behind it starts only
 * afterwards. LOCAL_INV first waits until every WQE before it has completed (IBTA Vol 1,
 * 10.6.5.1).
 */
static void execute_here(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe)
{
	struct rn_requester *req = &qp->req;
	enum rn_wc_status status = RN_WC_SUCCESS;

	if (wqe->opcode == RN_WR_BIND_MW)
		status = rn_mw_bind(qp, wqe);
	else if (req->cur != req->sq.head)
		return;
	else if (!rn_mw_invalidate(qp, wqe->imm))
		status = RN_WC_LOC_QP_OP_ERR;

	if (status != RN_WC_SUCCESS) {
		fail_locally(qp, now, wqe, status);
		return;
	}
	wqe->state = RN_WQE_DONE;
	wqe->status = RN_WC_SUCCESS;
	req->cur++;
	rn_req_finish_local(qp, now);
}

/* Moves req->cur to the next WQE that has something to send. When packets are sent
 * again, local operations may lie between their WQEs that were executed already. They
 * are skipped.
 */
static void skip_ended(struct rn_requester *req)
{
	for (; req->cur != req->sq.tail; req->cur++) {
		const struct rn_send_wqe *wqe = rn_wq_at(&req->sq, req->cur);

		if (wqe->state != RN_WQE_DONE || wqe->status != RN_WC_SUCCESS)
			return;
	}
}

static uint32_t build_wqe(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			  struct rn_build *b)
{
	switch ((enum rn_op_answer)rn_wqe_info(wqe)->answer) {
	case RN_ANSWER_ACK:
		if (qp->type == RN_QPT_UD)
			return build_datagram(qp, now, wqe, b);
		return build_segment(qp, now, wqe, b);
	case RN_ANSWER_DATA:
		return build_read(qp, now, wqe, b);
	case RN_ANSWER_ATOMIC:
	case RN_ANSWER_EMPTY:
		return build_single(qp, now, wqe, b);
	case RN_ANSWER_NONE:
		execute_here(qp, now, wqe);
		return 0;
	}
	return 0;
}

uint32_t rn_req_build(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	uint32_t cur, len;

	assert(b->cap >= RN_PACKET_MAX);
	do {
		struct rn_send_wqe *wqe;

		skip_ended(&qp->req);
		wqe = next_wqe(qp);
		if (!wqe)
			return 0;
		cur = qp->req.cur;
		len = build_wqe(qp, now, wqe, b);
		/* If this WQE had no packet to send (a datagram that is too long, or a
		 * local operation), try the next one.
		 */
	} while (len == 0 && qp->req.cur != cur);
	return len;
}
