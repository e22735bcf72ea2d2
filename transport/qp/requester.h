/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requester.h - what the files of the requester share.
 *
 * The send queue, by index:   head <= cur <= tail
 *   [head, cur)  packets built; RC: waiting to be acknowledged
 *   cur          the WQE whose packet leaves next
 *   [cur, tail)  POSTED, or STARTED and to be sent again after going back
 *
 * The packets, by PSN:        una <= charged <= high <= next_psn
 *   [una, charged)   on the wire, counted in the window
 *   [charged, high)  sent before and to be sent again
 *   charged          PSN of the packet that leaves next
 *
 * una lies in the WQE at head, and going back always means going back to una: what an
 * acknowledgement or NAK covers is completed first.
 */
#ifndef RN_REQUESTER_H
#define RN_REQUESTER_H

#include "qp.h"

enum {
	/* PSNs that may be outstanding; the protocol ends at 2^23. */
	RN_OUTSTANDING_MAX = 1 << 22,
	/* PSNs of one READ request, so that none exceeds the limit by itself. */
	RN_READ_PACKETS_MAX = 1 << 20,
	/* Packets between two that ask for an acknowledgement, at most. */
	RN_ACK_REQ_EVERY = 64,
};

/* stage.psn of a payload that is for no packet any more. */
#define RN_STAGE_NOBODY ((struct rn_psn){ UINT32_MAX })

static inline const struct rn_wr_info *rn_wqe_info(const struct rn_send_wqe *wqe)
{
	return &rn_wr_info[wqe->opcode];
}

static inline struct rn_send_wqe *rn_req_head(const struct rn_qp *qp)
{
	return rn_wq_at(&qp->req.sq, qp->req.sq.head);
}

/* log2 of the path MTU. */
static inline unsigned rn_req_mtu_shift(const struct rn_qp *qp)
{
	return (unsigned)__builtin_ctz(qp->attr.path_mtu);
}

/* Bytes of a WQE's packet @packet. */
static inline uint32_t rn_req_packet_len(const struct rn_qp *qp,
					 const struct rn_send_wqe *wqe, uint32_t packet)
{
	uint32_t rest = wqe->length - (packet << rn_req_mtu_shift(qp));

	return rest < qp->attr.path_mtu ? rest : qp->attr.path_mtu;
}

/* The local ACK timer runs out after so many times what its code says: not before T and
 * not after 4 T (IBTA Vol 1, 9.7.6.1.3). The longest, because a peer made of software may
 * not be let run for a while, and loses nothing meanwhile; losses show by other signs.
 */
enum {
	RN_REQ_ACK_TIMEOUTS = 4,
};

/* When the local ACK timer that starts at @now runs out. */
static inline rn_ns rn_req_ack_deadline(const struct rn_qp *qp, rn_ns now)
{
	rn_ns timeout = rn_ack_timeout_ns(qp->attr.timeout);

	if (timeout == RN_NEVER)
		return RN_NEVER;
	return now + timeout * RN_REQ_ACK_TIMEOUTS * qp->dev->cfg.timeout_scale;
}

/* ------------------------------------------------------------- send_queue.c */
/* Complete the WQE at head; CQE if it is signaled or @status is an error. */
void rn_req_retire(struct rn_qp *qp, rn_ns now, enum rn_wc_status status);
/* Complete the WQE at head with an error: RC to ERR, UC and UD to SQE. */
void rn_req_fail_head(struct rn_qp *qp, rn_ns now, enum rn_wc_status status);
/* Complete the WQE at head, which ended here with success. */
void rn_req_retire_ended(struct rn_qp *qp, rn_ns now);
/* The WQEs at head that ended here while older ones were unacknowledged: their turn to
 * complete has come. To be called whenever head has moved. Returns true if one had
 * failed, and the queue with it.
 */
bool rn_req_finish_local(struct rn_qp *qp, rn_ns now);
/* SQD: nothing that was started is left; tell. */
void rn_req_check_drained(struct rn_qp *qp);

/* The one that is @behind the oldest of those on the wire; the QP has room for any. */
static inline struct rn_rd_sent *rn_rd_at(const struct rn_requester *req, uint32_t behind)
{
	return &req->rd[(req->rd_head + behind) & (req->rd_room - 1u)];
}

/* READ and atomic requests on the wire. */
void rn_req_read_answered(struct rn_qp *qp); /* the oldest, completely */
void rn_req_reads_forget(struct rn_qp *qp);  /* all: they will be sent again, or never */
/* Packets that the READ request has that covers packet @packet of @wqe, from there on.
 * Requests end at multiples of the chunk, so that one sent again never reaches into
 * another: a responder answers only duplicates that lie within one original.
 */
uint32_t rn_req_read_packets(const struct rn_qp *qp, const struct rn_send_wqe *wqe,
			     uint32_t packet);

/* -------------------------------------------------------------- requester.c */
/* Bytes [@offset, @offset + @len) of @wqe, the payload of packet @psn, to @dst. PENDING:
 * ask again, the QP is scheduled when they have come. @part: as of rn_gather().
 */
enum rn_mem_result rn_req_fetch(struct rn_qp *qp, struct rn_send_wqe *wqe,
				struct rn_psn psn, uint32_t offset, uint32_t len,
				uint8_t *dst, struct rn_crc32_part *part);

/* ------------------------------------------------------------- retransmit.c */
/* What is not acknowledged will be sent again. Neither a retry nor a loss yet. */
void rn_req_go_back(struct rn_qp *qp);

/* @qp, with nothing in flight, is about to send. Its timer is armed for ack_deadline
 * later, and for this then.
 */
void rn_probe_burst(struct rn_qp *qp, rn_ns now);

#endif /* RN_REQUESTER_H */
