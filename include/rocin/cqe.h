/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cqe.h - what a device reports: the format of completion queue entries in the ring, the
 * device's part of a CQ, and events.
 *
 * Numbers of enum values equal those of <infiniband/verbs.h>.
 */
#ifndef RN_CQE_H
#define RN_CQE_H

#include <stdatomic.h>

#include "rocin/types.h"

/* A CQE in the ring: 64 bytes, written by one rn_mem_ops.write, in which `ctl` becomes
 * visible last.
 */
struct rn_cqe {
	uint64_t wr_id;
	uint64_t timestamp_ns;
	uint32_t byte_len;
	/* Immediate as a number (verbs: ntohl), or the R_Key that was invalidated. */
	uint32_t imm;
	uint32_t qpn;
	uint32_t src_qpn; /* UD: QPN of the sender */
	/* Enum rn_syndrome: detailed reason, for people. */
	uint32_t vendor_err;
	uint32_t sgid_index; /* UD: index in the GID table of the destination address */
	uint16_t pkey_index;
	uint8_t sl; /* UD: enum rn_l3_type of the packet, since RoCE has no SL */
	uint8_t reserved[13];
	uint64_t ctl; /* RN_CQE_CTL(): lap, flags, opcode, status */
};

static_assert(sizeof(struct rn_cqe) == 64, "one CQE is one cache line");

/* Fields of ctl: bits 63..32 number of the lap round the ring (1, 2, ...), 31..16 flags,
 * 15..8 opcode, 7..0 status. A CQE is valid for a consumer index if it has the lap number
 * of that index.
 */
static inline uint64_t rn_cqe_ctl(uint32_t lap, uint16_t flags, uint8_t opcode,
				  uint8_t status)
{
	return (uint64_t)lap << 32 | (uint32_t)flags << 16 | (uint32_t)opcode << 8 |
	       status;
}

/* Kind of the IP header in the 40 bytes before the data of a UD receive. Annex A17,
 * A17.4.5.1, requires a flag for it in the CQE. Verbs have no field for that, so NICs
 * report it in the SL, where programs look for it: bit 3 means UDP, bits 2..0 are the
 * kind of IP header.
 */
enum rn_l3_type {
	RN_L3_IPV6 = 1 << 3 | 1,
	RN_L3_IPV4 = 1 << 3 | 2,
};

/* Flags of a completion, with the numbers of enum ibv_wc_flags; Rocin's own flags begin
 * at bit 14.
 */
enum rn_wc_flag {
	RN_WC_GRH = 1 << 0,
	RN_WC_WITH_IMM = 1 << 1,
	RN_WC_IP_CSUM_OK = 1 << 2,
	RN_WC_WITH_INV = 1 << 3,
	/* ibv_poll_cq() skips this CQE, because its QP was reset or destroyed. */
	RN_WC_SKIP = 1 << 14,
};

/* clang-format off */
/* Opcodes of completions: symbol, number (of enum ibv_wc_opcode), name in messages to
 * the user.
 */
#define RN_WC_OPCODES(X)                                       \
	X(SEND,                 0, "SEND")                     \
	X(RDMA_WRITE,           1, "RDMA WRITE")               \
	X(RDMA_READ,            2, "RDMA READ")                \
	X(COMP_SWAP,            3, "compare and swap")         \
	X(FETCH_ADD,            4, "fetch and add")            \
	X(BIND_MW,              5, "bind")                     \
	X(LOCAL_INV,            6, "local invalidate")         \
	X(FLUSH,                8, "FLUSH")                    \
	X(ATOMIC_WRITE,         9, "ATOMIC WRITE")             \
	X(RECV,               128, "receive of a SEND")        \
	X(RECV_RDMA_WITH_IMM, 129, "receive of an immediate")
/* clang-format on */

enum rn_wc_opcode {
#define X(symbol, number, words) RN_WC_##symbol = (number),
	RN_WC_OPCODES(X)
#undef X
};

/* statuses of a completion, with the numbers of enum ibv_wc_status */
enum rn_wc_status {
	RN_WC_SUCCESS = 0,
	RN_WC_LOC_LEN_ERR = 1,
	RN_WC_LOC_QP_OP_ERR = 2,
	RN_WC_LOC_PROT_ERR = 4,
	RN_WC_WR_FLUSH_ERR = 5,
	RN_WC_MW_BIND_ERR = 6,
	RN_WC_BAD_RESP_ERR = 7,
	RN_WC_LOC_ACCESS_ERR = 8,
	RN_WC_REM_INV_REQ_ERR = 9,
	RN_WC_REM_ACCESS_ERR = 10,
	RN_WC_REM_OP_ERR = 11,
	RN_WC_RETRY_EXC_ERR = 12,
	RN_WC_RNR_RETRY_EXC_ERR = 13,
	RN_WC_FATAL_ERR = 19,
	RN_WC_GENERAL_ERR = 21,
};

enum rn_cq_arm {
	RN_CQ_UNARMED,
	RN_CQ_ARM_SOLICITED, /* for the next CQE that is solicited or has an error */
	RN_CQ_ARM_NEXT,	     /* for the next CQE */
};

/* The device's part of a CQ. It is embedded in an object of the caller, who also owns
 * the ring.
 */
struct rn_cq {
	/* device address of the ring, `capacity` entries of struct rn_cqe */
	rn_iova ring;
	uint32_t capacity; /* number of entries of the ring, a power of two */
	/* Number of CQEs ever written; also loaded (relaxed) by the thread that polls. */
	uint32_t producer;
	/* Number of CQEs that have ever been polled. The thread that polls stores it
	 * (release). The device loads it (acquire) in rn_cq_push() to find out whether
	 * the ring is full. So a slot is reused only after the program has read it.
	 */
	_Atomic uint32_t consumer;
	enum rn_cq_arm armed;
	bool overrun; /* a CQE was lost; from then on no CQE is added */
	bool event_pending, error_pending;
	struct rn_cq *next_event;
	/* Event moderation: @count and @period of rn_cq_moderate(). */
	uint32_t hold_count;
	rn_ns hold_period;
	uint32_t held; /* number of CQEs whose event is being delayed */
	/* Time at which the delayed event is raised; valid if held > 0. */
	rn_ns held_until;
	struct rn_cq *next_held;
	void *owner; /* pointer of the caller, for its own use */
};

enum {
	RN_CQE_MAX = 1 << 22, /* largest number of CQEs of one CQ */
};

struct rn_dev;

/* Initialises a CQ. @ring: zeroed; @capacity: power of two, 1 .. RN_CQE_MAX; @owner: any
 * pointer of the caller.
 */
void rn_cq_init(struct rn_cq *cq, rn_iova ring, uint32_t capacity, void *owner);

/* Replaces the ring of a CQ by another one. Before the call, the caller must have copied
 * all CQEs that have not been polled, each to the place that belongs to its index in the
 * new ring. A thread that loads cq->ring at the same time gets the old or the new ring.
 */
void rn_cq_move(struct rn_cq *cq, rn_iova ring, uint32_t capacity);

/* Ends the use of a CQ. Its pending events are dropped. The caller must have destroyed
 * all QPs that used the CQ.
 */
void rn_cq_fini(struct rn_dev *dev, struct rn_cq *cq);

/* Arms the CQ as ibv_req_notify_cq() does: NEXT overrides SOLICITED, SOLICITED does not
 * override NEXT. Only CQEs that are added after this call raise an event.
 */
void rn_cq_arm(struct rn_cq *cq, enum rn_cq_arm mode);

/* Sets event moderation: an armed CQ raises its event when @count CQEs for which it is
 * armed have been added, or @period ns after the first of them, whichever is earlier. If
 * @count or @period is 0, the CQ raises the event at the first CQE. The new values also
 * hold for an event that is being delayed now.
 */
void rn_cq_moderate(struct rn_dev *dev, struct rn_cq *cq, uint32_t count, rn_ns period);

struct rn_qp;
struct rn_srq;

/* Types of asynchronous events, with the numbers of enum ibv_event_type. The core
 * (transport/) raises all but SRQ_ERR and WQ_FATAL.
 */
enum rn_async_event {
	RN_EVENT_CQ_ERR = 0,
	RN_EVENT_QP_FATAL = 1,
	RN_EVENT_QP_REQ_ERR = 2,
	RN_EVENT_QP_ACCESS_ERR = 3,
	RN_EVENT_COMM_EST = 4,
	RN_EVENT_SQ_DRAINED = 5,
	RN_EVENT_PATH_MIG = 6,
	RN_EVENT_PATH_MIG_ERR = 7,
	RN_EVENT_SRQ_ERR = 14,
	RN_EVENT_SRQ_LIMIT_REACHED = 15,
	RN_EVENT_LAST_WQE_REACHED = 16,
	RN_EVENT_WQ_FATAL = 19,
};

/* The kind of object that an asynchronous event is about. */
enum rn_event_object {
	RN_EVENT_OF_DEVICE, /* the device or its port */
	RN_EVENT_OF_CQ,
	RN_EVENT_OF_QP,
	RN_EVENT_OF_SRQ,
	RN_EVENT_OF_WQ,
};

static inline enum rn_event_object rn_event_object(int event)
{
	switch (event) {
	case RN_EVENT_CQ_ERR:
		return RN_EVENT_OF_CQ;
	case RN_EVENT_QP_FATAL:
	case RN_EVENT_QP_REQ_ERR:
	case RN_EVENT_QP_ACCESS_ERR:
	case RN_EVENT_COMM_EST:
	case RN_EVENT_SQ_DRAINED:
	case RN_EVENT_PATH_MIG:
	case RN_EVENT_PATH_MIG_ERR:
	case RN_EVENT_LAST_WQE_REACHED:
		return RN_EVENT_OF_QP;
	case RN_EVENT_SRQ_ERR:
	case RN_EVENT_SRQ_LIMIT_REACHED:
		return RN_EVENT_OF_SRQ;
	case RN_EVENT_WQ_FATAL:
		return RN_EVENT_OF_WQ;
	default:
		return RN_EVENT_OF_DEVICE;
	}
}

/* An event that a device reports: a completion event of an armed CQ, or an
 * asynchronous event.
 */
struct rn_event {
	bool completion; /* true: completion event of a CQ; false: asynchronous event */
	/* type of the asynchronous event; valid if !completion */
	enum rn_async_event async;
	struct rn_cq *cq;   /* the CQ; valid if completion, or for CQ_ERR */
	struct rn_srq *srq; /* the SRQ; valid for SRQ_LIMIT_REACHED */
	struct rn_qp *qp;   /* the QP; valid for all other events */
};

/* Values of ibv_wc.vendor_err: why a work request failed, in more detail than its status.
 *
 * The numbers are documented in rocin(7) and do not change. A failed work request always
 * has a value other than RN_SYN_NONE.
 */
enum rn_syndrome {
	RN_SYN_NONE = 0,
	RN_SYN_OTHER = 0x01, /* no detail: the status tells the reason */

	/* The L_Key of an SGE does not allow the access: 0x10 + enum rn_key_result. */
	RN_SYN_LKEY = 0x10,
	RN_SYN_LKEY_UNKNOWN = 0x11,
	RN_SYN_LKEY_INVALID = 0x12,
	RN_SYN_LKEY_PD = 0x13,
	RN_SYN_LKEY_ACCESS = 0x15,
	RN_SYN_LKEY_RANGE = 0x16,
	/* The L_Key allows the access, but the memory does not exist any more. */
	RN_SYN_LOCAL_MEMORY = 0x1f,

	/* The message is longer than the memory of the work request. */
	RN_SYN_TOO_LONG = 0x20,
	RN_SYN_REQUEST = 0x21, /* the device cannot execute the work request */
	RN_SYN_BIND = 0x22,    /* the window cannot be bound to this region */

	/* The peer has answered with a NAK. */
	RN_SYN_NAK_INVALID = 0x31, /* invalid request */
	/* the R_Key, the range or the access right is wrong */
	RN_SYN_NAK_ACCESS = 0x32,
	RN_SYN_NAK_OPERATION = 0x33, /* the peer could not execute the request */

	/* The retries were used up without an acknowledgement. */
	RN_SYN_SILENCE = 0x41, /* no response came within the ACK timeout */
	/* The peer reported PSN sequence errors, so packets are lost. */
	RN_SYN_SEQUENCE = 0x42,
	/* RNR: the peer had no receive posted, even after rnr_retry retries. */
	RN_SYN_NOT_READY = 0x43,
	RN_SYN_RESPONSE = 0x44, /* a response does not fit the request */

	/* Completions of receives: this side has refused the peer's request. */
	RN_SYN_PEER_INVALID = 0x51, /* invalid request */
	/* the R_Key, the range or the access right is wrong */
	RN_SYN_PEER_ACCESS = 0x52,

	RN_SYN_FLUSHED = 0x80, /* this WQE is not the cause: the QP went to ERR or SQE */
};

#endif /* RN_CQE_H */
