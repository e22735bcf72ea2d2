/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wqe.h - work queue entries (WQEs), and the rings that hold them. */
#ifndef RN_WQE_H
#define RN_WQE_H

#include "rocin/work_request.h"

/* ------------------------------------------------------------------------ send WQEs */
enum rn_wqe_state {
	RN_WQE_POSTED,	/* no packet of this WQE has been built */
	RN_WQE_STARTED, /* PSNs are assigned; some packets may have been sent */
	RN_WQE_DONE,	/* ended without a packet; waits for older WQEs to complete */
};

/* A send WQE. It is in a slot of the ring of the send queue, and its SGEs or inline bytes
 * follow the struct.
 */
struct rn_send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr; /* remote address; UD: not used */
	uint32_t rkey;	      /* R_Key; UD: Q_Key */
	uint32_t length;      /* bytes of the message */
	/* Immediate data, or the R_Key to invalidate; FLUSH: placement | selectivity
	 * << 8.
	 */
	uint32_t imm;
	uint32_t first_psn; /* PSN of the first packet; valid once STARTED */
	/* Number of PSNs of the WQE, at least 1; valid once STARTED. */
	uint32_t packet_count;
	uint32_t progress; /* READ, atomic: number of response packets received */
	uint8_t opcode;	   /* enum rn_wr_opcode */
	uint8_t flags;	   /* enum rn_send_flag */
	uint8_t num_sge;
	uint8_t state; /* enum rn_wqe_state */
	/* Enum rn_wc_status with which the WQE completes; valid if DONE. */
	uint8_t status;
	uint8_t srqn[3]; /* XRC_SEND: number of the SRQ, big-endian */
	/* The data that follow the struct: RC atomics: struct rn_wqe_atomic, then SGEs.
	 * UD: struct rn_wqe_ud, then SGEs. BIND_MW: struct rn_wqe_bind, with the range at
	 * remote_addr. Inline: bytes in place of the SGEs. Otherwise SGEs. See
	 * rn_wqe_sge().
	 */
};

struct rn_wqe_atomic {
	uint64_t compare_add, swap; /* operands in host byte order */
};

struct rn_wqe_bind {
	uint64_t length; /* length of the range in bytes */
	uint32_t region; /* L_Key of the region to which the window is bound */
	uint32_t access; /* access rights of the window, RN_ACCESS_* */
};

struct rn_wqe_ud {
	struct rn_av av;
	uint32_t dest_qpn;
};

enum {
	/* Size of struct rn_wqe_ud, rounded up so that SGEs can follow. */
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

/* --------------------------------------------------------------------- receive WQEs */
struct rn_recv_wqe {
	uint64_t wr_id;
	uint32_t length; /* length of the memory of all SGEs in bytes */
	uint32_t num_sge;
	/* The SGEs follow the struct. */
};

static inline struct rn_sge *rn_recv_sge(struct rn_recv_wqe *wqe)
{
	return (struct rn_sge *)(wqe + 1);
}

/* Returns the number of bytes of a receive WQE with its SGEs. */
static inline uint32_t rn_recv_wqe_len(const struct rn_recv_wqe *wqe)
{
	return (uint32_t)(sizeof(*wqe) + wqe->num_sge * sizeof(struct rn_sge));
}

/* Returns the number of bytes of a list of SGEs. */
static inline uint64_t rn_sge_sum(const struct rn_sge *sg, uint32_t num_sge)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < num_sge; i++)
		sum += sg[i].len;
	return sum;
}

/* Fills in @wqe, a slot with room for the SGEs, from @wr. */
void rn_recv_wqe_fill(struct rn_recv_wqe *wqe, const struct rn_recv_wr *wr);

/* -------------------------------------------------------------------- rings of WQEs */
/* Returns the number of slots of a ring for @count entries: the next power of two, at
 * least 1.
 */
static inline uint32_t rn_power_of_two(uint32_t count)
{
	return count <= 1 ? 1 : 1u << (32 - __builtin_clz(count - 1));
}

/* A ring of WQEs. The indices @head and @tail count up without limit; the slot of an
 * index is index & (capacity - 1).
 */
struct rn_wq {
	uint8_t *slot; /* first slot: in the QP's block, or in the ring of an SRQ */
	uint32_t stride, capacity, max_sge, max_wr;
	uint32_t head; /* index of the oldest WQE that is not complete */
	uint32_t tail; /* index for the next WQE */
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
