/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tlp.h - one transaction on its way through the fabric, and who sends and serves it. */
#ifndef RN_TLP_H
#define RN_TLP_H

#include "rocin/types.h"

/* Columns and rows of the ordering table (PCIe base specification 2.4.1). */
enum rn_tlp_kind {
	RN_TLP_WRITE,	   /* posted: memory write */
	RN_TLP_READ,	   /* read request */
	RN_TLP_ATOMIC,	   /* non-posted with data: AtomicOp */
	RN_TLP_COMPLETION, /* answer to a read or an AtomicOp */
	RN_TLP_KIND_COUNT,
};

enum rn_tlp_flag {
	RN_TLP_RO = 1 << 0,    /* relaxed ordering */
	RN_TLP_IDO = 1 << 1,   /* ID-based ordering */
	RN_TLP_CQE = 1 << 2,   /* a write into a completion ring; never RO */
	RN_TLP_BELL = 1 << 3,  /* a doorbell of the CPU: empties the GPU's inside */
	RN_TLP_LOCK = 1 << 4,  /* write half of a NIC atomic: nothing overtakes it */
	RN_TLP_DATA = 1 << 5,  /* payload of a message: what `place` speaks of */
	RN_TLP_FLUSH = 1 << 6, /* a read that is asked for its pushing, not its bytes */
	RN_TLP_NEAR = 1 << 7,  /* between peers below one switch, whatever rc.p2p says */
};

/* Agents of one host. The memory of an agent has the agent's number as target: the CPU's
 * is host memory, a GPU's is behind its BAR, a NIC's is on-NIC memory.
 */
enum rn_agent {
	RN_AGENT_CPU = 0,
	RN_AGENT_GPU = 1,   /* 4 of them */
	RN_AGENT_NIC = 5,   /* 8 */
	RN_AGENT_NVME = 13, /* 3 */
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

/* Queues that a TLP passes, in order. */
struct rn_route {
	uint16_t queue[RN_ROUTE_MAX];
	uint8_t hops; /* 0: performed at once */
};

struct rn_tlp {
	uint8_t kind;	   /* enum rn_tlp_kind */
	uint8_t flags;	   /* enum rn_tlp_flag */
	uint8_t requester; /* agent whose ID it carries; of a completion: the completer */
	uint8_t target;	   /* where it is performed; of a completion: the reader */
	uint32_t stream; /* QP of a NIC; 0: none. Chooses the queue of nic.queues=perqp */
	uint32_t msg;	 /* number of the message within the stream */
	uint32_t txn;	 /* transaction ID: completions of one keep their order */
	uint32_t len;	 /* bytes */
	uint32_t packet; /* of a WRITE, within the requester; 0: no such. See nic.ooo */
	uint64_t addr;	 /* in the target */
	/* The issuer's; the fabric never looks at them. */
	uint64_t data; /* slab index or value */
	uint64_t tag;
	uint64_t stamp; /* time or count at issue */

	/* The fabric's. */
	uint64_t seq;	     /* counts up at issue; a completion keeps its request's */
	uint16_t next, prev; /* in the queue */
	uint16_t older, younger; /* of all, by seq */
	uint16_t waiter;	 /* while forcing: who waits for this one */
	uint8_t hop;
	uint8_t state; /* enum rn_tlp_state of fabric.h */
	struct rn_route route;
};

/* Do the two touch a byte in common (same target assumed)? */
static inline bool rn_tlp_overlap(const struct rn_tlp *a, const struct rn_tlp *b)
{
	return a->addr < b->addr + b->len && b->addr < a->addr + a->len;
}

/* Do the two touch no byte in common? */
static inline bool rn_tlp_disjoint(const struct rn_tlp *a, const struct rn_tlp *b)
{
	return a->target != b->target || !rn_tlp_overlap(a, b);
}

/* Is somebody waiting for this TLP? True of all but plain writes. */
static inline bool rn_tlp_is_wanted(const struct rn_tlp *tlp)
{
	return tlp->kind != RN_TLP_WRITE ||
	       (tlp->flags & (RN_TLP_CQE | RN_TLP_BELL | RN_TLP_LOCK)) != 0;
}

#endif /* RN_TLP_H */
