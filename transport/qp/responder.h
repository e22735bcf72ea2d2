/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* responder.h - a request packet while it is checked, and the acknowledgements.
 *
 * responder.c parses a request, checks it and executes it; what follows a verdict differs
 * between RC and UC. response.c sends the acknowledgements and responses.
 */
#ifndef RN_RESPONDER_H
#define RN_RESPONDER_H

#include "transport/object/srq.h"

/* What becomes of a request packet. The verdicts stand in the order in which the
 * specification checks: those above RN_V_RNR are found before the check for a receive
 * WQE, so for those below RN_V_RNR a WQE is there if the packet needs one.
 */
enum rn_verdict {
	RN_V_NEXT, /* no check has failed */
	RN_V_OUT_OF_SEQUENCE,
	RN_V_DUPLICATE,
	RN_V_UNSUPPORTED,
	/* XRC: the domain has no such SRQ, or it changed within a message. */
	RN_V_BAD_SRQ,
	RN_V_BAD_SEQUENCE,  /* the opcode does not fit the message in progress */
	RN_V_NOT_PERMITTED, /* the QP does not allow this kind of access */
	RN_V_BAD_PAYLOAD_LEN,
	RN_V_NO_RESOURCE, /* more READs and atomics than max_dest_rd_atomic */
	RN_V_RNR,
	RN_V_TOO_LONG, /* longer than 2^31 bytes */
	RN_V_BAD_KEY,
	RN_V_MISALIGNED,
	RN_V_RECV_TOO_SHORT,
	RN_V_BAD_DMA_LEN, /* the payload does not add up to the announced DMA length */
	/* The verdicts below are found while the request is executed. */
	RN_V_RECV_PROT, /* protection error at the SGEs of the receive WQE */
	RN_V_MEM_FAULT, /* the remote memory is not there any more */
	RN_V_BAD_INVALIDATE,
	RN_V_COUNT
};

struct rn_request {
	const struct rn_packet *p;
	uint32_t flags; /* flags RN_OP_* of the opcode */
	enum rn_op_kind kind;
	struct rn_reth reth;	     /* valid if RN_OP_RETH */
	struct rn_atomic_eth atomic; /* valid if RN_OP_ATOMIC_ETH */
	struct rn_feth feth;	     /* valid if RN_OP_FETH */
	uint32_t imm;  /* valid if RN_OP_IMM; if RN_OP_IETH it is the R_Key */
	uint32_t srqn; /* valid if RN_OP_XRCETH */
	/* SRQ from which the request takes receive WQEs; NULL: none. */
	struct rn_srq *srq;
	/* Result of the R_Key check, and the remote memory: all of it for a First, Only,
	 * READ or atomic, the remaining part for a Middle or Last. If the request has no
	 * bytes, `key` is RN_KEY_OK and `mr` is NULL.
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

/* The access to memory that a FLUSH needs. The caller has filled in protection
 * domain and queue pair in @use.
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
/* Acknowledge every request up to @psn. If an acknowledgement already
 * waits, the two are joined.
 */
void rn_rsp_ack(struct rn_qp *qp, struct rn_psn psn, uint32_t msn);

/* A request with this PSN was accepted. A SEQ or RNR NAK that has not left yet is taken
 * back, or, if packets after the request were dropped, moved to the PSN behind it.
 */
void rn_rsp_accepted(struct rn_qp *qp, const struct rn_request *q);

/* Send a SEQ or RNR NAK for exp_psn. */
void rn_rsp_nak(struct rn_qp *qp, uint8_t syndrome);

/* Send an Invalid Request, Remote Access or Remote Operational NAK for @psn, and
 * move the QP to ERR. Responses to earlier READs and atomics still leave, then
 * the NAK, then nothing more.
 */
void rn_rsp_fatal(struct rn_qp *qp, rn_ns now, enum rn_nak_code code, struct rn_psn psn);

/* Entry of the ring for @index, which counts up without bound. res_room
 * must not be 0.
 */
static inline struct rn_resource *rn_res_at(const struct rn_responder *rsp, uint8_t index)
{
	return &rsp->res[index & (rsp->res_room - 1u)];
}

static inline uint8_t rn_res_count(const struct rn_responder *rsp)
{
	return (uint8_t)(rsp->res_tail - rsp->res_head);
}

/* Number of response packets that a READ of @length bytes takes. */
uint32_t rn_read_packets(const struct rn_qp *qp, uint32_t length);

/* The responses of resource @index are to be sent from its `next` on. */
void rn_rsp_due(struct rn_qp *qp, uint8_t index);

/* Drop the oldest resource, to make room for a newer one. */
void rn_rsp_forget_oldest(struct rn_qp *qp);

/* Start the next atomic, ATOMIC WRITE or FLUSH of the QP unless one is running. An
 * operation that fails gives up its resource.
 */
void rn_operation_start(struct rn_qp *qp, rn_ns now);

/* A receive was posted to the QP's own receive queue: an ACK may have to tell
 * the peer of new credits.
 */
void rn_credit_posted(struct rn_qp *qp);

#endif /* RN_RESPONDER_H */
