/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr_info.h - what each operation of a work request means to a device. */
#ifndef RN_WR_INFO_H
#define RN_WR_INFO_H

#include "rocin/opcode.h"
#include "rocin/work_request.h"

/* One row per work request opcode. rn_opcode_info[] describes the packets. */
struct rn_wr_info {
	uint8_t answer; /* enum rn_op_answer */
	/* Operation numbers of the packets, see opcode.h. */
	uint8_t first, middle, last, only;
	uint8_t wc_opcode; /* enum rn_wc_opcode */
	bool takes_recv; /* takes a receive at the peer: SE is sent, credits are needed */
	bool may_inline; /* may carry its data in the work request */
	uint16_t types;	 /* bits 1 << enum rn_qp_type: types of QPs that support it */
};
extern const struct rn_wr_info rn_wr_info[RN_WR_COUNT];

/* RN_OP_* of the request that is sent as one packet; 0: nothing goes to the wire. */
static inline uint32_t rn_wr_flags(enum rn_wr_opcode opcode)
{
	const struct rn_wr_info *info = &rn_wr_info[opcode];

	return info->answer == RN_ANSWER_NONE ? 0 : rn_opcode_info[info->only].flags;
}

/* Do its SGEs name where to put what the peer answers? */
static inline bool rn_wr_brings_data(enum rn_wr_opcode opcode)
{
	return rn_wr_info[opcode].answer == RN_ANSWER_DATA ||
	       rn_wr_info[opcode].answer == RN_ANSWER_ATOMIC;
}

/* Do its SGEs name memory at all? The bytes that a FLUSH names are the peer's. */
static inline bool rn_wr_has_data(enum rn_wr_opcode opcode)
{
	return rn_wr_flags(opcode) & RN_OP_PAYLOAD || rn_wr_brings_data(opcode);
}

#endif /* RN_WR_INFO_H */
