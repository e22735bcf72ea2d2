/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* work_request.h - the work requests that a program posts.
 *
 * Numbers of enum values equal those of <infiniband/verbs.h>.
 */
#ifndef RN_WORK_REQUEST_H
#define RN_WORK_REQUEST_H

#include "rocin/gid.h"

enum {
	RN_SGE_MAX = 32,      /* largest number of SGEs of a WQE, in either queue */
	RN_INLINE_MAX = 1024, /* largest number of bytes of inline data */
	RN_WR_MAX = 16384,    /* largest number of WQEs of a queue */
	/* Largest number of bytes of a message; IBTA Vol 1, 9.7.2. */
	RN_MSG_MAX = 1u << 31,
};

struct rn_sge {
	/* Address in the memory region; for inline data, a pointer that is valid during
	 * the call.
	 */
	uint64_t addr;
	uint32_t len; /* length in bytes */
	uint32_t lkey;
};

/* Address vector of an AH or of a connected QP. */
struct rn_av {
	struct rn_gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t tclass;
	uint8_t sl;
};

/* The operands of a request besides its SGEs, and the members of struct ibv_send_wr that
 * hold them.
 */
enum rn_wr_operands {
	RN_WR_OPERANDS_UNKNOWN, /* there is no such request */
	RN_WR_OPERANDS_NONE,
	RN_WR_OPERANDS_ADDRESS, /* on UD, the address of the peer: wr.ud */
	RN_WR_OPERANDS_RDMA,	/* remote_addr, rkey: wr.rdma */
	RN_WR_OPERANDS_ATOMIC,	/* remote_addr, rkey, compare_add, swap: wr.atomic */
	RN_WR_OPERANDS_BIND,	/* a window, a region and a range: bind_mw */
	/* remote_addr, rkey: wr.rdma; for its other operands see RNP_WR_FLUSH in
	 * provider/verbs/object/library.h
	 */
	RN_WR_OPERANDS_FLUSH,
};

/* clang-format off */
/* The operations: symbol, number (of enum ibv_wr_opcode), operands, and names in scenarios,
 * in `rocin sim` and in messages to the user. X is a macro, so that several tables can be
 * made of this list.
 */
#define RN_WR_OPCODES(X)                                                                                   \
	X(RDMA_WRITE,             0, RDMA,    "write",        "write",        "RDMA WRITE")                \
	X(RDMA_WRITE_WITH_IMM,    1, RDMA,    "write_imm",    "write-imm",    "RDMA WRITE with immediate") \
	X(SEND,                   2, ADDRESS, "send",         "send",         "SEND")                      \
	X(SEND_WITH_IMM,          3, ADDRESS, "send_imm",     "send-imm",     "SEND with immediate")       \
	X(RDMA_READ,              4, RDMA,    "read",         "read",         "RDMA READ")                 \
	X(ATOMIC_CMP_AND_SWP,     5, ATOMIC,  "cas",          "cmp-swap",     "compare and swap")          \
	X(ATOMIC_FETCH_AND_ADD,   6, ATOMIC,  "faa",          "fetch-add",    "fetch and add")             \
	X(LOCAL_INV,              7, NONE,    "local_inv",    "local-inv",    "local invalidate")          \
	X(BIND_MW,                8, BIND,    "bind",         "bind",         "bind")                      \
	X(SEND_WITH_INV,          9, ADDRESS, "send_inv",     "send-inv",     "SEND with invalidate")      \
	X(FLUSH,                 14, FLUSH,   "flush",        "flush",        "FLUSH")                     \
	X(ATOMIC_WRITE,          15, RDMA,    "atomic_write", "atomic-write", "ATOMIC WRITE")
/* clang-format on */

enum rn_wr_opcode {
#define X(symbol, number, operands, word, name, words) RN_WR_##symbol = (number),
	RN_WR_OPCODES(X)
#undef X
	RN_WR_COUNT,
};

/* Returns the operands of a request with @opcode. @opcode may be any number, because it
 * may come unchecked from the program.
 */
static inline enum rn_wr_operands rn_wr_operands(unsigned opcode)
{
	static const uint8_t of[RN_WR_COUNT] = {
#define X(symbol, number, operands, word, name, words) \
	[number] = RN_WR_OPERANDS_##operands,
		RN_WR_OPCODES(X)
#undef X
	};

	return opcode < RN_WR_COUNT ? (enum rn_wr_operands)of[opcode]
				    : RN_WR_OPERANDS_UNKNOWN;
}

/* Returns true if the request changes 8 bytes of the peer and fetches their former value.
 */
static inline bool rn_wr_is_atomic(unsigned opcode)
{
	return rn_wr_operands(opcode) == RN_WR_OPERANDS_ATOMIC;
}

/* flags of a send request, with the numbers of enum ibv_send_flags */
enum rn_send_flag {
	RN_SEND_FENCE = 1 << 0,
	RN_SEND_SIGNALED = 1 << 1,
	RN_SEND_SOLICITED = 1 << 2,
	RN_SEND_INLINE = 1 << 3,
	/* Raw packet QPs: the sender of the frame computes the checksums. */
	RN_SEND_IP_CSUM = 1 << 4,
};

struct rn_send_wr {
	uint64_t wr_id;
	enum rn_wr_opcode opcode;
	uint32_t flags; /* flags of the request, enum rn_send_flag */
	/* Immediate data as a number (verbs: ntohl()), or the R_Key to invalidate. */
	uint32_t imm;
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add, swap; /* operands of an atomic, in host order */
	/* RN_WR_BIND_MW: the window whose index is in rkey is bound to the range
	 * [remote_addr, remote_addr + bind_length) of a region. The window gets the key
	 * byte of rkey. A length of 0 ends the binding of a window of type 1.
	 */
	uint64_t bind_length;
	/* RN_WR_BIND_MW: L_Key of the region, and access rights of the window
	 * (RN_ACCESS_*).
	 */
	uint32_t bind_region, bind_access;
	/* RN_WR_FLUSH: length of the range at remote_addr; placement (RN_FLUSH_GLOBAL |
	 * RN_FLUSH_PERSISTENT); selectivity (RN_FLUSH_RANGE or RN_FLUSH_MR). See wire.h.
	 */
	uint32_t flush_length;
	uint8_t flush_placement, flush_selectivity;
	const struct rn_av *av;		  /* UD: address of the peer; copied */
	uint32_t remote_qpn, remote_qkey; /* UD: QPN and Q_Key of the peer */
	/* XRC_SEND: number of the peer's SRQ, 24 bits. */
	uint32_t remote_srqn;
	/* SGEs; copied. With RN_SEND_INLINE the bytes that they describe are copied, too.
	 */
	const struct rn_sge *sg;
	uint32_t num_sge;
};

struct rn_recv_wr {
	uint64_t wr_id;
	const struct rn_sge *sg; /* the SGEs, which are copied */
	uint32_t num_sge;
};

#endif /* RN_WORK_REQUEST_H */
