/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tlp.h - a simulated PCIe transaction (TLP), and the agents (CPU, GPUs, NICs, drives)
 * that send and serve TLPs.
 */
#ifndef RN_TLP_H
#define RN_TLP_H

#include "rocin/types.h"

/* Kinds of TLPs: rows and columns of the ordering table (PCIe base specification 2.4.1).
 */
enum rn_tlp_kind {
	RN_TLP_WRITE,	   /* posted memory write */
	RN_TLP_READ,	   /* read request */
	RN_TLP_ATOMIC,	   /* non-posted with data: AtomicOp */
	RN_TLP_COMPLETION, /* completion of a read or an AtomicOp */
	RN_TLP_KIND_COUNT,
};

enum rn_tlp_flag {
	RN_TLP_RO = 1 << 0,  /* relaxed ordering */
	RN_TLP_IDO = 1 << 1, /* ID-based ordering */
	RN_TLP_CQE = 1 << 2, /* a write into a completion ring; never RO */
	/* Doorbell of the CPU for a GPU. Before it is performed, all writes that wait
	 * inside the GPU become visible.
	 */
	RN_TLP_BELL = 1 << 3,
	/* Second half of an atomic that the NIC itself performs as a read and a write.
	 * No TLP may pass this write.
	 */
	RN_TLP_LOCK = 1 << 4,
	/* Payload of a message; the knob `place` decides how such writes are ordered. */
	RN_TLP_DATA = 1 << 5,
	/* A read that is issued to push earlier writes; the bytes read are not used. */
	RN_TLP_FLUSH = 1 << 6,
	/* Requester and target are below one PCIe switch, which forwards the TLP between
	 * them whatever the knob rc.p2p says.
	 */
	RN_TLP_NEAR = 1 << 7,
};

/* Agents of one hierarchy. Each agent has memory. The number of an agent as the target of
 * a TLP stands for this memory: host memory for the CPU, the memory behind the BAR for a
 * GPU, on-NIC memory for a NIC.
 */
enum rn_agent {
	RN_AGENT_CPU = 0,
	RN_AGENT_GPU = 1,   /* 4 GPUs: agents 1 to 4 */
	RN_AGENT_NIC = 5,   /* 8 NICs: agents 5 to 12 */
	RN_AGENT_NVME = 13, /* 3 drives: agents 13 to 15 */
	RN_AGENT_COUNT = 16,

	RN_GPU_MAX = RN_AGENT_NIC - RN_AGENT_GPU,
	RN_NIC_MAX = RN_AGENT_NVME - RN_AGENT_NIC,
	RN_NVME_MAX = RN_AGENT_COUNT - RN_AGENT_NVME,
};

static inline bool rn_agent_is_gpu(unsigned agent)
{
	return agent >= RN_AGENT_GPU && agent < RN_AGENT_NIC;
}

static inline bool rn_agent_is_nic(unsigned agent)
{
	return agent >= RN_AGENT_NIC && agent < RN_AGENT_NVME;
}

enum {
	RN_ROUTE_MAX = 4
};

/* The queues that a TLP passes, in order. */
struct rn_route {
	uint16_t queue[RN_ROUTE_MAX];
	uint8_t hops; /* number of queues; 0: the TLP is performed at once */
};

struct rn_tlp {
	uint8_t kind;  /* enum rn_tlp_kind */
	uint8_t flags; /* enum rn_tlp_flag */
	/* Agent whose requester ID the TLP carries. For a completion: the agent that
	 * sends it (the completer).
	 */
	uint8_t requester;
	/* Agent in whose memory the TLP is performed. For a completion: the agent that
	 * sent the request and gets the completion.
	 */
	uint8_t target;
	uint32_t stream; /* number of the QP at a NIC, 0 if none */
	uint32_t msg;	 /* number of the message within the stream */
	/* Transaction ID. Completions with the same ID and target do not pass each
	 * other.
	 */
	uint32_t txn;
	uint32_t len; /* length in bytes */
	/* Used with the knob nic.ooo: number of the RDMA WRITE packet whose data the TLP
	 * writes, as the NIC that sends the packets counts them, from 1. 0: the TLP does
	 * not write such data.
	 */
	uint32_t packet;
	uint64_t addr; /* address in the memory of the target */
	/* The fields from here on belong to the issuer; the fabric never reads them. */
	/* index of a buffer of the issuer, or any value that the issuer needs */
	uint64_t data;
	uint64_t tag;
	uint64_t stamp; /* time or sequence count at which the TLP was issued */

	/* The fields from here on belong to the fabric. */
	/* Order of issue; a completion has the number of its request. */
	uint64_t seq;
	uint16_t next, prev; /* neighbours in the list of the TLP's queue */
	/* Neighbours in the list of all TLPs, which is in the order of seq. */
	uint16_t older, younger;
	/* During rn_fabric_force(): index of the TLP that waits until this one has moved.
	 */
	uint16_t waiter;
	uint8_t hop;
	uint8_t state; /* enum rn_tlp_state of fabric.h */
	struct rn_route route;
};

/* Returns true if the TLP has a byte in common with the range [@addr, @addr + @len) of
 * its target's memory.
 */
static inline bool rn_tlp_touches(const struct rn_tlp *tlp, uint64_t addr, uint64_t len)
{
	return tlp->addr < addr + len && addr < tlp->addr + tlp->len;
}

/* Returns true if the two TLPs have a byte in common. Both must have the same target. */
static inline bool rn_tlp_overlap(const struct rn_tlp *a, const struct rn_tlp *b)
{
	return rn_tlp_touches(a, b->addr, b->len);
}

/* Returns true if the two TLPs have no byte in common. */
static inline bool rn_tlp_disjoint(const struct rn_tlp *a, const struct rn_tlp *b)
{
	return a->target != b->target || !rn_tlp_overlap(a, b);
}

/* Returns true if some agent or the program waits for this TLP: true for all TLPs except
 * writes of data.
 */
static inline bool rn_tlp_is_wanted(const struct rn_tlp *tlp)
{
	return tlp->kind != RN_TLP_WRITE ||
	       (tlp->flags & (RN_TLP_CQE | RN_TLP_BELL | RN_TLP_LOCK)) != 0;
}

#endif /* RN_TLP_H */
