/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* responder.h - a request packet while it is checked, and the functions that
 * acknowledge requests.
 *
 * responder.c parses a request, checks it and executes it; RC and UC then handle the
 * result of the checks (the verdict) in different ways. response.c sends the
 * acknowledgements and responses.
 */
#ifndef RN_RESPONDER_H
#define RN_RESPONDER_H

#include "transport/object/srq.h"

/* Result of the checks of a request packet. The values are in the order in which the
 * specification makes the checks. RN_V_RNR is the result of the check that a receive WQE
 * is posted. So if the verdict is one behind RN_V_RNR in this list, a WQE is posted if
 * the packet needs one. If it is one before RN_V_RNR, that has not been checked.
 */
enum rn_verdict {
	RN_V_NEXT, /* no error: go on with the next check */
	RN_V_OUT_OF_SEQUENCE,
	RN_V_DUPLICATE,
	RN_V_UNSUPPORTED,
	/* XRC: the domain has no such SRQ, or it is another SRQ than in the packets of
	 * this message so far.
	 */
	RN_V_BAD_SRQ,
	RN_V_BAD_SEQUENCE,  /* the opcode does not fit the message in progress */
	RN_V_NOT_PERMITTED, /* the QP does not allow this kind of access */
	RN_V_BAD_PAYLOAD_LEN,
	RN_V_NO_RESOURCE, /* more READs and atomics outstanding than max_dest_rd_atomic */
	RN_V_RNR,
	RN_V_TOO_LONG, /* longer than 2^31 bytes */
	RN_V_BAD_KEY,
	RN_V_MISALIGNED,
	RN_V_RECV_TOO_SHORT,
	/* The sum of the payload lengths is not the DMA length in the RETH. */
	RN_V_BAD_DMA_LEN,
	/* The verdicts from here on are found while the request is executed. */
	RN_V_RECV_PROT, /* the receive WQE's SGEs do not allow the access */
	RN_V_MEM_FAULT, /* the remote memory does not exist any more */
	RN_V_BAD_INVALIDATE,
	RN_V_COUNT
};

struct rn_request {
	const struct rn_packet *p;
	uint32_t flags; /* RN_OP_* flags of the opcode */
	enum rn_op_kind kind;
	struct rn_reth reth;	     /* valid with flag RN_OP_RETH */
	struct rn_atomic_eth atomic; /* valid with flag RN_OP_ATOMIC_ETH */
	struct rn_feth feth;	     /* valid with flag RN_OP_FETH */
	/* Flag RN_OP_IMM: the immediate data; flag RN_OP_IETH: the R_Key to invalidate.
	 */
	uint32_t imm;
	uint32_t srqn; /* valid with flag RN_OP_XRCETH */
	/* SRQ from which the request takes its receive WQE; NULL: none. */
	struct rn_srq *srq;
	/* Result of the R_Key check, and the memory that the key gives access to. For a
	 * First or Only packet, a READ or an atomic, this is the whole range of the
	 * request. For a Middle or Last packet it is the rest of the range, from this
	 * packet on. If the request has no bytes, @key is RN_KEY_OK and @mr is NULL.
	 */
	enum rn_key_result key;
	rn_iova iova;
	struct rn_mr *mr;
};

static inline uint32_t rn_flush_access(uint8_t placement)
{
	return (placement & RN_FLUSH_GLOBAL ? RN_ACCESS_FLUSH_GLOBAL : 0) |
	       (placement & RN_FLUSH_PERSISTENT ? RN_ACCESS_FLUSH_PERSISTENT : 0);
}

/* Returns @use with the access fields filled in for a FLUSH. The caller has set the
 * protection domain and the queue pair.
 */
static inline struct rn_key_use rn_flush_use(const struct rn_reth *reth,
					     const struct rn_feth *feth,
					     struct rn_key_use use)
{
	use.key = reth->rkey;
	use.va = reth->va;
	use.len = reth->dma_len;
	use.whole = feth->selectivity == RN_FLUSH_MR;
	use.access = rn_flush_access(feth->placement);
	return use;
}

/* --------------------------------------------------------------- response.c */
/* Makes an ACK due that acknowledges every request up to @psn. If an acknowledgement is
 * due already, only the newer of the two is sent.
 */
void rn_rsp_ack(struct rn_qp *qp, struct rn_psn psn, uint32_t msn);

/* Updates the expected PSN, and the acknowledgement that is due, after request @q was
 * accepted. If a NAK (PSN sequence error or RNR) is due but not sent yet, an ACK
 * replaces it. But if packets behind the request were dropped meanwhile, a NAK stays
 * due, and asks for the first of these.
 */
void rn_rsp_accepted(struct rn_qp *qp, const struct rn_request *q);

/* Makes a PSN sequence or RNR NAK for exp_psn due. */
void rn_rsp_nak(struct rn_qp *qp, uint8_t syndrome);

/* Moves the QP to ERR, with a NAK for @psn: Invalid Request, Remote Access Error or
 * Remote Operational Error, as @code says. The responses to earlier READs and atomics are
 * sent first, then the NAK, then nothing more.
 */
void rn_rsp_fatal(struct rn_qp *qp, rn_ns now, enum rn_nak_code code, struct rn_psn psn);

/* Returns the entry of the ring of received READ and atomic requests for @index, which
 * counts up and wraps. res_room must not be 0.
 */
static inline struct rn_resource *rn_res_at(const struct rn_responder *rsp, uint8_t index)
{
	return &rsp->res[index & (rsp->res_room - 1u)];
}

static inline uint8_t rn_res_count(const struct rn_responder *rsp)
{
	return (uint8_t)(rsp->res_tail - rsp->res_head);
}

/* Returns the number of response packets that a READ of @length bytes needs. */
uint32_t rn_read_packets(const struct rn_qp *qp, uint32_t length);

/* Makes the responses of the stored request (resource) at @index due, from its `next`
 * on.
 */
void rn_rsp_due(struct rn_qp *qp, uint8_t index);

/* Drops the oldest stored request (resource) from the ring, to make room for a new one.
 */
void rn_rsp_forget_oldest(struct rn_qp *qp);

/* Starts the next atomic, ATOMIC WRITE or FLUSH that waits in the ring, unless one is
 * being executed. If it fails, its entry is removed from the ring.
 */
void rn_operation_start(struct rn_qp *qp, rn_ns now);

/* Called when a receive was posted to the QP's own receive queue. Makes an ACK due if the
 * peer has to be told that there are credits again.
 */
void rn_credit_posted(struct rn_qp *qp);

/* ---- Reports to a capture about single packets (transport/object/diagnostic.c) ---- */

/* Reports that the request being received is refused. */
void rn_diagnostic_refused(struct rn_qp *qp, const struct rn_request *q,
			   enum rn_verdict v);

/* Reports that a request packet is sent again. */
void rn_diagnostic_resent(struct rn_qp *qp, struct rn_psn psn);

/* Reports that a NAK or RNR NAK is sent. Does nothing if @syndrome is that of an ACK. */
void rn_diagnostic_nak(struct rn_qp *qp, uint8_t syndrome, struct rn_psn psn);

#endif /* RN_RESPONDER_H */
