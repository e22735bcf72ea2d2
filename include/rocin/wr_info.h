/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr_info.h - properties of each work request opcode. */
#ifndef RN_WR_INFO_H
#define RN_WR_INFO_H

#include "rocin/opcode.h"
#include "rocin/work_request.h"

/* One element per work request opcode. For the opcodes of packets, see rn_opcode_info[].
 */
struct rn_wr_info {
	uint8_t answer; /* enum rn_op_answer */
	/* Opcodes of its packets, without the transport class; see opcode.h. */
	uint8_t first, middle, last, only;
	uint8_t wc_opcode; /* enum rn_wc_opcode */
	/* Takes a receive WQE of the peer: may be solicited (SE), needs a credit. */
	bool takes_recv;
	bool may_inline; /* inline data is possible */
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

/* Returns true if the SGEs describe memory for data in the peer's response. */
static inline bool rn_wr_brings_data(enum rn_wr_opcode opcode)
{
	return rn_wr_info[opcode].answer == RN_ANSWER_DATA ||
	       rn_wr_info[opcode].answer == RN_ANSWER_ATOMIC;
}

/* Returns true if the SGEs describe local memory; false for FLUSH, whose range is the
 * peer's memory, and for operations without SGEs.
 */
static inline bool rn_wr_has_data(enum rn_wr_opcode opcode)
{
	return rn_wr_flags(opcode) & RN_OP_PAYLOAD || rn_wr_brings_data(opcode);
}

#endif /* RN_WR_INFO_H */
