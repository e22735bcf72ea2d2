/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* responder.h - a request packet while it is judged, and what the peer is told.
 *
 * responder.c loads a request, judges it and executes it; what follows a verdict differs
 * between RC and UC. response.c has the answers.
 */
#ifndef RN_RESPONDER_H
#define RN_RESPONDER_H

#include "transport/object/srq.h"

/* What is to become of a request packet. In the order in which the specification wants
 * objections to be found: all above RN_V_RNR come from checks that precede the one for a
 * receive WQE, so for those below it a WQE that the packet needs is there.
 */
enum rn_verdict {
	RN_V_NEXT, /* no objection */
	RN_V_OUT_OF_SEQUENCE,
	RN_V_DUPLICATE,
	RN_V_UNSUPPORTED,
	RN_V_BAD_SRQ, /* XRC: no such SRQ in the domain, or another within a message */
	RN_V_BAD_SEQUENCE,  /* opcode does not fit the message in progress */
	RN_V_NOT_PERMITTED, /* the QP does not allow this kind of access */
	RN_V_BAD_PAYLOAD_LEN,
	RN_V_NO_RESOURCE, /* more READs and atomics than agreed */
	RN_V_RNR,
	RN_V_TOO_LONG, /* more than 2^31 bytes */
	RN_V_BAD_KEY,
	RN_V_MISALIGNED,
	RN_V_RECV_TOO_SHORT,
	RN_V_BAD_DMA_LEN, /* payload does not add up to the length announced */
	/* Found while executing. */
	RN_V_RECV_PROT, /* the receive WQE does not open its memory */
	RN_V_MEM_FAULT, /* the remote memory is gone */
	RN_V_BAD_INVALIDATE,
	RN_V_COUNT
};

struct rn_request {
	const struct rn_packet *p;
	uint32_t flags; /* RN_OP_* of the opcode */
	enum rn_op_kind kind;
	struct rn_reth reth;	     /* if RN_OP_RETH */
	struct rn_atomic_eth atomic; /* if RN_OP_ATOMIC_ETH */
	struct rn_feth feth;	     /* if RN_OP_FETH */
	uint32_t imm;		     /* if RN_OP_IMM; if RN_OP_IETH the R_Key */
	uint32_t srqn;		     /* if RN_OP_XRCETH */
	struct rn_srq *srq; /* that receives come from; NULL: none, or none such */
	/* Remote memory that the request opens (First, Only, READ, atomic: all of it) or
	 * that this packet goes on with. No bytes: RN_KEY_OK, mr NULL.
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

/* What a FLUSH wants of memory; of @use domain and queue pair are filled in. */
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
/* Acknowledge everything up to @psn. Joins an acknowledgement that still waits. */
void rn_rsp_ack(struct rn_qp *qp, struct rn_psn psn, uint32_t msn);

/* A request with this PSN was accepted: take back a SEQ or RNR NAK that has not left, or
 * move it behind the request, if packets after it were dropped.
 */
void rn_rsp_accepted(struct rn_qp *qp, const struct rn_request *q);

/* SEQ or RNR NAK for exp_psn. */
void rn_rsp_nak(struct rn_qp *qp, uint8_t syndrome);

/* INV, ACC or OPERR NAK for @psn, and the QP to ERR. Responses to earlier READs and
 * atomics still leave, then the NAK, then nothing.
 */
void rn_rsp_fatal(struct rn_qp *qp, rn_ns now, enum rn_nak_code code, struct rn_psn psn);

/* The QP has room for any. */
static inline struct rn_resource *rn_res_at(const struct rn_responder *rsp, uint8_t index)
{
	return &rsp->res[index & (rsp->res_room - 1u)];
}

static inline uint8_t rn_res_count(const struct rn_responder *rsp)
{
	return (uint8_t)(rsp->res_tail - rsp->res_head);
}

/* Responses that @length bytes take. */
uint32_t rn_read_packets(const struct rn_qp *qp, uint32_t length);

/* The responses of resource @index are due from its `next` on. */
void rn_rsp_due(struct rn_qp *qp, uint8_t index);

/* Make room for a newer resource. */
void rn_rsp_forget_oldest(struct rn_qp *qp);

/* Start the next atomic, ATOMIC WRITE or FLUSH of the QP if none is under way. A failed
 * one gives up its resource.
 */
void rn_operation_start(struct rn_qp *qp, rn_ns now);

/* A receive was posted to the queue of @qp itself. */
void rn_credit_posted(struct rn_qp *qp);

#endif /* RN_RESPONDER_H */
