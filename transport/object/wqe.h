/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wqe.h - work requests as they wait in a queue, and the ring that they wait in. */
#ifndef RN_WQE_H
#define RN_WQE_H

#include "rocin/work_request.h"

/* ------------------------------------------------------------- send queue */
enum rn_wqe_state {
	RN_WQE_POSTED,	/* no packet has been built */
	RN_WQE_STARTED, /* has PSNs; some packets may be on the wire */
	RN_WQE_DONE,	/* ended here, waits for older ones to complete first */
};

/* A send WQE; slots are sq.stride bytes apart, SGEs or inline bytes follow the struct. */
struct rn_send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr; /* UD: not used */
	uint32_t rkey;	      /* UD: Q_Key */
	uint32_t length;      /* bytes of the message */
	uint32_t imm; /* or R_Key to invalidate; FLUSH: placement | selectivity << 8 */
	uint32_t first_psn;    /* valid from STARTED on */
	uint32_t packet_count; /* PSNs that it takes, >= 1; valid from STARTED on */
	uint32_t progress;     /* READ/atomic: responses received, in packets */
	uint8_t opcode;	       /* enum rn_wr_opcode */
	uint8_t flags;	       /* enum rn_send_flag */
	uint8_t num_sge;
	uint8_t state;	 /* enum rn_wqe_state */
	uint8_t status;	 /* enum rn_wc_status to complete with */
	uint8_t srqn[3]; /* XRC_SEND: number of the SRQ, big-endian */
	/* RC atomics: struct rn_wqe_atomic, then SGEs. UD: struct rn_wqe_ud, then SGEs.
	 * BIND_MW: struct rn_wqe_bind, with the range at remote_addr.
	 * Inline: bytes in place of the SGEs. Otherwise SGEs. See rn_wqe_sge().
	 */
};

struct rn_wqe_atomic {
	uint64_t compare_add, swap; /* host order */
};

struct rn_wqe_bind {
	uint64_t length; /* bytes */
	uint32_t region; /* L_Key */
	uint32_t access; /* RN_ACCESS_* */
};

struct rn_wqe_ud {
	struct rn_av av;
	uint32_t dest_qpn;
};

enum {
	/* struct rn_wqe_ud, so that SGEs can follow. */
	RN_WQE_UD_PART = (sizeof(struct rn_wqe_ud) + 7) & ~7u,
	RN_WQE_ATOMIC_PART = sizeof(struct rn_wqe_atomic),
};

static inline struct rn_wqe_atomic *rn_wqe_atomic(struct rn_send_wqe *wqe)
{
	return (struct rn_wqe_atomic *)(wqe + 1);
}

static inline struct rn_wqe_ud *rn_wqe_ud(struct rn_send_wqe *wqe)
{
	return (struct rn_wqe_ud *)(wqe + 1);
}

static inline struct rn_wqe_bind *rn_wqe_bind(struct rn_send_wqe *wqe)
{
	return (struct rn_wqe_bind *)(wqe + 1);
}

/* ---------------------------------------------------------- receive queue */
struct rn_recv_wqe {
	uint64_t wr_id;
	uint32_t length; /* bytes of all SGEs */
	uint32_t num_sge;
	/* SGEs follow */
};

static inline struct rn_sge *rn_recv_sge(struct rn_recv_wqe *wqe)
{
	return (struct rn_sge *)(wqe + 1);
}

/* Bytes of a list of SGEs. */
static inline uint64_t rn_sge_sum(const struct rn_sge *sg, uint32_t num_sge)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < num_sge; i++)
		sum += sg[i].len;
	return sum;
}

/* Make @wqe, a slot with room for its SGEs, what @wr asks for. */
void rn_recv_wqe_fill(struct rn_recv_wqe *wqe, const struct rn_recv_wr *wr);

/* --------------------------------------------------------------- rings */
/* Slots of a ring for @count entries: the next power of two, at least 1. */
static inline uint32_t rn_power_of_two(uint32_t count)
{
	return count <= 1 ? 1 : 1u << (32 - __builtin_clz(count - 1));
}

/* Ring of WQEs. head and tail count up for ever; slot = index & (capacity - 1). */
struct rn_wq {
	uint8_t *slot; /* inside the QP's block, or the ring of an SRQ */
	uint32_t stride, capacity, max_sge, max_wr;
	uint32_t head; /* oldest not completed */
	uint32_t tail; /* next free */
};

static inline uint32_t rn_wq_count(const struct rn_wq *wq)
{
	return wq->tail - wq->head;
}

static inline void *rn_wq_at(const struct rn_wq *wq, uint32_t index)
{
	return wq->slot + (size_t)(index & (wq->capacity - 1)) * wq->stride;
}

#endif /* RN_WQE_H */
