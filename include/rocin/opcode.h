/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* opcode.h - properties of each BTH opcode (whether the responder or the requester
 * handles it, and which headers follow), and of each work request opcode.
 *
 * Bits 7:5 of an opcode are its transport class, bits 4:0 its operation. The operation
 * numbers are those of RC in every class, so a requester composes an opcode as class |
 * operation: RN_CLASS_XRC | RN_RC_WRITE_ONLY == RN_XRC_WRITE_ONLY.
 *
 * Headers follow the BTH in this order, if the opcode's flags name them: DETH, XRCETH,
 * FETH, RETH or AtomicETH or AETH, AtomicAckETH, ImmDt or IETH; then payload.
 *
 * Source: IBTA Vol 1 table 38, Annexes A14, A17 and A19.
 */
#ifndef RN_OPCODE_H
#define RN_OPCODE_H

#include "rocin/mem.h"
#include "rocin/types.h"
#include "rocin/work_request.h"

enum rn_opcode_class {
	RN_CLASS_RC = 0x00,
	RN_CLASS_UC = 0x20,
	RN_CLASS_RD = 0x40, /* reliable datagram: not supported */
	RN_CLASS_UD = 0x60,
	RN_CLASS_CNP = 0x80,
	RN_CLASS_XRC = 0xa0,
	RN_CLASS_MANUFACTURER_0 = 0xc0,
	RN_CLASS_MANUFACTURER_1 = 0xe0,
};

enum rn_opcode {
	RN_RC_SEND_FIRST = 0x00,
	RN_RC_SEND_MIDDLE = 0x01,
	RN_RC_SEND_LAST = 0x02,
	RN_RC_SEND_LAST_IMM = 0x03,
	RN_RC_SEND_ONLY = 0x04,
	RN_RC_SEND_ONLY_IMM = 0x05,
	RN_RC_WRITE_FIRST = 0x06,
	RN_RC_WRITE_MIDDLE = 0x07,
	RN_RC_WRITE_LAST = 0x08,
	RN_RC_WRITE_LAST_IMM = 0x09,
	RN_RC_WRITE_ONLY = 0x0a,
	RN_RC_WRITE_ONLY_IMM = 0x0b,
	RN_RC_READ_REQUEST = 0x0c,
	RN_RC_READ_RESPONSE_FIRST = 0x0d,
	RN_RC_READ_RESPONSE_MIDDLE = 0x0e,
	RN_RC_READ_RESPONSE_LAST = 0x0f,
	RN_RC_READ_RESPONSE_ONLY = 0x10, /* also the response to FLUSH and ATOMIC WRITE */
	RN_RC_ACK = 0x11,
	RN_RC_ATOMIC_ACK = 0x12,
	RN_RC_CMP_SWAP = 0x13,
	RN_RC_FETCH_ADD = 0x14,
	RN_RC_SEND_LAST_INV = 0x16,
	RN_RC_SEND_ONLY_INV = 0x17,
	RN_RC_FLUSH = 0x1c,
	RN_RC_ATOMIC_WRITE = 0x1d,

	RN_UC_SEND_FIRST = 0x20,
	RN_UC_SEND_MIDDLE = 0x21,
	RN_UC_SEND_LAST = 0x22,
	RN_UC_SEND_LAST_IMM = 0x23,
	RN_UC_SEND_ONLY = 0x24,
	RN_UC_SEND_ONLY_IMM = 0x25,
	RN_UC_WRITE_FIRST = 0x26,
	RN_UC_WRITE_MIDDLE = 0x27,
	RN_UC_WRITE_LAST = 0x28,
	RN_UC_WRITE_LAST_IMM = 0x29,
	RN_UC_WRITE_ONLY = 0x2a,
	RN_UC_WRITE_ONLY_IMM = 0x2b,

	RN_UD_SEND_ONLY = 0x64,
	RN_UD_SEND_ONLY_IMM = 0x65,

	/* Congestion notification (CNP) in the form that NICs send. Some analysers
	 * list 0x80.
	 */
	RN_CNP = 0x81,

	RN_XRC_SEND_FIRST = 0xa0,
	RN_XRC_SEND_MIDDLE = 0xa1,
	RN_XRC_SEND_LAST = 0xa2,
	RN_XRC_SEND_LAST_IMM = 0xa3,
	RN_XRC_SEND_ONLY = 0xa4,
	RN_XRC_SEND_ONLY_IMM = 0xa5,
	RN_XRC_WRITE_FIRST = 0xa6,
	RN_XRC_WRITE_MIDDLE = 0xa7,
	RN_XRC_WRITE_LAST = 0xa8,
	RN_XRC_WRITE_LAST_IMM = 0xa9,
	RN_XRC_WRITE_ONLY = 0xaa,
	RN_XRC_WRITE_ONLY_IMM = 0xab,
	RN_XRC_READ_REQUEST = 0xac,
	RN_XRC_READ_RESPONSE_FIRST = 0xad,
	RN_XRC_READ_RESPONSE_MIDDLE = 0xae,
	RN_XRC_READ_RESPONSE_LAST = 0xaf,
	RN_XRC_READ_RESPONSE_ONLY = 0xb0,
	RN_XRC_ACK = 0xb1,
	RN_XRC_ATOMIC_ACK = 0xb2,
	RN_XRC_CMP_SWAP = 0xb3,
	RN_XRC_FETCH_ADD = 0xb4,
	RN_XRC_SEND_LAST_INV = 0xb6,
	RN_XRC_SEND_ONLY_INV = 0xb7,
	RN_XRC_FLUSH = 0xbc,
	RN_XRC_ATOMIC_WRITE = 0xbd,
};

/* Flags of an opcode. A known opcode has exactly one of the first three flags. */
enum {
	RN_OP_REQUEST = 1 << 0,	 /* the packet is handled by the responder */
	RN_OP_RESPONSE = 1 << 1, /* the packet is handled by the requester */
	/* CNP: handled by congestion control; 16 zero bytes follow the BTH. */
	RN_OP_NOTIFY = 1 << 2,

	/* Position of the packet in a message or in the response to a READ. "Only"
	 * packets and single-packet requests have both FIRST and LAST. Acknowledgements
	 * have neither.
	 */
	RN_OP_FIRST = 1 << 3,
	RN_OP_LAST = 1 << 4, /* last packet of the message */

	/* The packet may carry payload; without this flag it must not. */
	RN_OP_PAYLOAD = 1 << 5,
	RN_OP_RETH = 1 << 6,
	RN_OP_AETH = 1 << 7,
	RN_OP_ATOMIC_ETH = 1 << 8,
	RN_OP_ATOMIC_ACK_ETH = 1 << 9,
	RN_OP_IMM = 1 << 10,
	RN_OP_IETH = 1 << 11,
	RN_OP_DETH = 1 << 12,
	RN_OP_XRCETH = 1 << 13,
	RN_OP_FETH = 1 << 14,

	RN_OP_RECV_WQE_TAKEN = 1 << 15, /* the packet takes a receive WQE */
	/* The packet completes the receive WQE that its message has taken. */
	RN_OP_COMPLETES_RECV = 1 << 16,

	/* The request needs a response of its own; an acknowledgement cannot replace
	 * it. The responder keeps such requests for duplicates, and they count
	 * against max_rd_atomic.
	 */
	RN_OP_ANSWERED = 1 << 17,
	RN_OP_WORD = 1 << 18, /* the request accesses 8 bytes, which must be aligned */

	/* From this bit on: enum rn_mem_atomic of a request with an AtomicETH. */
	RN_OP_ATOMIC_SHIFT = 24,
};

/* Operation of a request, or kind of a response. */
enum rn_op_kind {
	RN_OP_KIND_NONE, /* unknown opcode */
	RN_OP_KIND_SEND,
	RN_OP_KIND_WRITE,
	RN_OP_KIND_READ,
	RN_OP_KIND_ATOMIC, /* a request with an AtomicETH */
	RN_OP_KIND_ATOMIC_WRITE,
	RN_OP_KIND_FLUSH,
	RN_OP_KIND_READ_RESPONSE,
	RN_OP_KIND_ACK,
	RN_OP_KIND_ATOMIC_ACK,
	RN_OP_KIND_CNP,
};

/* How the peer responds to a request. */
enum rn_op_answer {
	/* no response: the packet is no request, or the operation is local */
	RN_ANSWER_NONE,
	RN_ANSWER_ACK,	  /* an ACK, which may be for several requests */
	RN_ANSWER_DATA,	  /* READ responses */
	RN_ANSWER_ATOMIC, /* an atomic acknowledgement */
	/* A READ response without data, which reports that data has been placed. */
	RN_ANSWER_EMPTY,
};

struct rn_opcode_info {
	const char *name; /* name such as "RC_SEND_FIRST"; NULL: unknown opcode */
	uint32_t flags;	  /* flags RN_OP_*; 0: unknown opcode */
	uint8_t hdr_len;  /* length in bytes of the BTH and all headers behind it */
	uint8_t kind;	  /* operation of a request, or kind of a response */
	/* RN_ACCESS_* that the request needs; for FLUSH, see its FETH. */
	uint8_t access;
	uint8_t answer; /* enum rn_op_answer */
};

/* Properties of each opcode, indexed by the opcode; all zeros for an undefined opcode. */
extern const struct rn_opcode_info rn_opcode_info[256];

/* Returns the transport class of any opcode, defined or not. */
static inline enum rn_opcode_class rn_opcode_class(uint8_t opcode)
{
	return (enum rn_opcode_class)(opcode & 0xe0);
}

/* Returns the RC opcode of the same operation. */
static inline uint8_t rn_opcode_operation(uint8_t opcode)
{
	return opcode & 0x1f;
}

static inline bool rn_opcode_is_known(uint8_t opcode)
{
	return rn_opcode_info[opcode].flags != 0;
}

/* Returns which atomic a request with an AtomicETH is. @flags: those of its opcode. */
static inline enum rn_mem_atomic rn_op_atomic(uint32_t flags)
{
	return (enum rn_mem_atomic)(flags >> RN_OP_ATOMIC_SHIFT);
}

/* Properties of a work request opcode. rn_opcode_info[] has the properties of packet
 * opcodes.
 */
struct rn_wr_info {
	uint8_t answer; /* enum rn_op_answer */
	/* Opcodes of the packets of such a request, without the transport class. */
	uint8_t first, middle, last, only;
	uint8_t wc_opcode; /* enum rn_wc_opcode */
	/* The request takes a receive WQE of the peer, so it needs a credit, and it may
	 * carry the solicited event bit (SE).
	 */
	bool takes_recv;
	bool may_inline; /* the request may have inline data */
	uint16_t types;	 /* QP types that support it, as bits 1 << enum rn_qp_type */
};
extern const struct rn_wr_info rn_wr_info[RN_WR_COUNT];

/* Returns the flags RN_OP_* of the opcode for a message of one packet; 0: no packet
 * is sent.
 */
static inline uint32_t rn_wr_flags(enum rn_wr_opcode opcode)
{
	const struct rn_wr_info *info = &rn_wr_info[opcode];

	return info->answer == RN_ANSWER_NONE ? 0 : rn_opcode_info[info->only].flags;
}

/* Returns true if the peer writes the data to memory that the request names. */
static inline bool rn_wr_writes(enum rn_wr_opcode opcode)
{
	uint32_t flags = rn_wr_flags(opcode);

	return flags & RN_OP_PAYLOAD && flags & RN_OP_RETH;
}

/* Returns true if the peer writes data to its memory for this request, and writes it only
 * when it has executed all earlier requests.
 */
static inline bool rn_wr_writes_in_turn(enum rn_wr_opcode opcode)
{
	return rn_wr_writes(opcode) && rn_wr_flags(opcode) & RN_OP_ANSWERED;
}

/* Returns true if the SGEs describe memory for data in the peer's response. */
static inline bool rn_wr_brings_data(enum rn_wr_opcode opcode)
{
	return rn_wr_info[opcode].answer == RN_ANSWER_DATA ||
	       rn_wr_info[opcode].answer == RN_ANSWER_ATOMIC;
}

/* Returns true if the SGEs of the request describe local memory. Returns false for FLUSH,
 * whose SGE describes memory of the peer, and for operations without SGEs.
 */
static inline bool rn_wr_has_data(enum rn_wr_opcode opcode)
{
	return rn_wr_flags(opcode) & RN_OP_PAYLOAD || rn_wr_brings_data(opcode);
}

#endif /* RN_OPCODE_H */
