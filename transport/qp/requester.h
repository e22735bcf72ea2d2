/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requester.h - constants and functions shared by requester.c, retransmit.c, probe.c,
 * send_queue.c and window.c.
 *
 * The send queue, by index:   head <= cur <= tail
 *   [head, cur)  packets built; RC: waiting to be acknowledged
 *   cur          the WQE whose packet leaves next
 *   [cur, tail)  POSTED, or STARTED and to be sent again after going back
 *
 * The packets, by PSN:        una <= charged <= high <= next_psn
 *   una              the oldest PSN that is not acknowledged
 *   [una, charged)   on the wire, counted in the window
 *   charged          PSN of the packet that leaves next
 *   [charged, high)  sent before and to be sent again
 *   high             the first PSN that has never been sent
 *
 * una lies in the WQE at head. Going back (retransmission) always starts at una: the
 * packets that an acknowledgement or NAK covers are completed before.
 */
#ifndef RN_REQUESTER_H
#define RN_REQUESTER_H

#include "qp.h"

enum {
	/* Largest number of PSNs that one QP may have outstanding. The protocol allows
	 * 2^23.
	 */
	RN_OUTSTANDING_MAX = 1 << 22,
	/* Largest number of PSNs of one READ request, so that no single request
	 * exceeds RN_OUTSTANDING_MAX.
	 */
	RN_READ_PACKETS_MAX = 1 << 20,
	/* Largest number of packets sent until one asks for an acknowledgement. */
	RN_ACK_REQ_EVERY = 64,
};

/* Value of stage.psn when the payload in the bounce buffer is not needed any more. */
#define RN_STAGE_NOBODY ((struct rn_psn){ UINT32_MAX })

static inline const struct rn_wr_info *rn_wqe_info(const struct rn_send_wqe *wqe)
{
	return &rn_wr_info[wqe->opcode];
}

static inline struct rn_send_wqe *rn_req_head(const struct rn_qp *qp)
{
	return rn_wq_at(&qp->req.sq, qp->req.sq.head);
}

/* Returns the base-2 logarithm of the path MTU in bytes. */
static inline unsigned rn_req_mtu_shift(const struct rn_qp *qp)
{
	return (unsigned)__builtin_ctz(qp->attr.path_mtu);
}

/* Returns the number of payload bytes of packet number @packet, from 0, of a WQE. */
static inline uint32_t rn_req_packet_len(const struct rn_qp *qp,
					 const struct rn_send_wqe *wqe, uint32_t packet)
{
	uint32_t rest = wqe->length - (packet << rn_req_mtu_shift(qp));

	return rest < qp->attr.path_mtu ? rest : qp->attr.path_mtu;
}

/* The local ACK timer expires after this many times the local ACK timeout T, which the
 * QP's attribute `timeout' stands for. IBTA Vol 1, 9.7.6.1.3 allows T to 4 T. The
 * longest time is used: a peer in software may not be scheduled for a while, and no
 * packet is lost then; and probe.c notices real losses earlier.
 */
enum {
	RN_REQ_ACK_TIMEOUTS = 4,
};

/* Returns the time at which a local ACK timer that starts at @now expires. */
static inline rn_ns rn_req_ack_deadline(const struct rn_qp *qp, rn_ns now)
{
	rn_ns timeout = rn_ack_timeout_ns(qp->attr.timeout);

	if (timeout == RN_NEVER)
		return RN_NEVER;
	return now + timeout * RN_REQ_ACK_TIMEOUTS * qp->dev->cfg.timeout_scale;
}

/* ------------------------------------------------------------- send_queue.c */
/* Completes the WQE at sq.head with @status. Adds a CQE if the WQE is signaled or @status
 * is an error.
 */
void rn_req_retire(struct rn_qp *qp, rn_ns now, enum rn_wc_status status);
/* Completes the WQE at sq.head with the error @status. Then moves an RC QP to ERR, and a
 * UC or UD QP to SQE.
 */
void rn_req_fail_head(struct rn_qp *qp, rn_ns now, enum rn_wc_status status);
/* Completes the WQE at sq.head, a local operation (RN_WQE_DONE) that has succeeded. */
void rn_req_retire_ended(struct rn_qp *qp, rn_ns now);
/* Called whenever sq.head has moved. Completes the local operations (RN_WQE_DONE) that
 * are at sq.head now and have waited for older WQEs. Return: true if one of them had
 * failed, which has moved the QP to ERR.
 */
bool rn_req_finish_local(struct rn_qp *qp, rn_ns now);
/* In SQD: raises SQ_DRAINED if every WQE that was started has completed. */
void rn_req_check_drained(struct rn_qp *qp);

/* Returns an entry of the ring of requests that wait for responses. @behind: its
 * position, counted from the oldest (0). rd_room must not be 0.
 */
static inline struct rn_rd_sent *rn_rd_at(const struct rn_requester *req, uint32_t behind)
{
	return &req->rd[(req->rd_head + behind) & (req->rd_room - 1u)];
}

/* Removes the oldest request from the ring of those that wait for responses, because it
 * has been answered completely.
 */
void rn_req_read_answered(struct rn_qp *qp);
/* Removes all requests from the ring, because they will be sent again or have failed. */
void rn_req_reads_forget(struct rn_qp *qp);
/* Returns how many response packets, from number @packet of the READ @wqe on, one READ
 * request asks for. A READ is cut into several READ requests, which end at multiples
 * of cfg.read_chunk bytes. So a READ that is sent again from the middle never reaches
 * into another request: a responder answers only duplicates that lie within one
 * original request.
 */
uint32_t rn_req_read_packets(const struct rn_qp *qp, const struct rn_send_wqe *wqe,
			     uint32_t packet);

/* -------------------------------------------------------------- requester.c */
/* Copies bytes [@offset, @offset + @len) of the data of @wqe to @dst, as the payload of
 * the packet with @psn. If the function returns RN_MEM_PENDING, the caller must call it
 * again: the QP is scheduled again when the bytes have arrived. @part: NULL, or where the
 * CRC of the bytes is stored if the memory back end computes it.
 */
enum rn_mem_result rn_req_fetch(struct rn_qp *qp, struct rn_send_wqe *wqe,
				struct rn_psn psn, uint32_t offset, uint32_t len,
				uint8_t *dst, struct rn_crc32_part *part);

/* ------------------------------------------------------------- retransmit.c */
/* Starts retransmission: all unacknowledged packets will be sent again, from una, the
 * oldest one, on. The caller decides whether that costs a retry and counts as a loss.
 */
void rn_req_go_back(struct rn_qp *qp);

/* Called when the peer has reported which packets it has received: ends the state in
 * which only one packet is sent again (req.sends_one), so that all missing ones are
 * sent.
 */
static inline void rn_req_resume_sending(struct rn_qp *qp)
{
	if (!qp->req.sends_one)
		return;
	qp->req.sends_one = qp->req.awaits_late = false;
	rn_dev_schedule(qp->dev, qp);
}

/* ------------------------------------------------------------------ probe.c */
/* Called when the QP has nothing in flight and is about to send: starts to watch whether
 * it makes progress. The caller then sets qp->timer for ack_deadline and the deadline of
 * the watch.
 */
void rn_probe_burst(struct rn_qp *qp, rn_ns now);

/* Starts to watch closely, for a while, all QPs that send to the same peer as @qp,
 * because @qp has learned of a loss from that peer.
 */
void rn_probe_peer(struct rn_qp *qp, rn_ns now);

/* Called when una (the oldest unacknowledged PSN) has advanced while probe.was_silent or
 * sends_one was set. Decides whether packets to the peer were lost or the peer was only
 * slow. If the packet that was sent again had been lost the first time, its
 * acknowledgement comes at once. A slow peer acknowledges the first copies of all
 * packets, one by one, and the copies that were sent again last.
 */
void rn_probe_answered(struct rn_qp *qp, rn_ns now);

/* Called when the deadline of a watch (probe.c) has come. If una, the oldest
 * unacknowledged PSN, has not advanced since the watch began, sends all packets from una
 * on again.
 */
void rn_probe_expire(struct rn_qp *qp, rn_ns now);

#endif /* RN_REQUESTER_H */
