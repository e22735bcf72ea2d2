/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* steer.c - writes the BPF program that chooses the socket of a packet by its
 * destination QPN.
 */
#include "steer.h"

#define QPN_MASK 0xffffffu
#define QPN_MULTICAST 0xffffffu
#define QPN_FIRST_ORDINARY 256u
#define SLOT_MASK 0xffu

void rnd_steer_program(struct sock_filter prog[RND_STEER_PROGRAM_LEN],
		       unsigned slot_count)
{
	enum {
		TO_ROCIND = RND_STEER_PROGRAM_LEN - 1
	};
	/* Offset of a jump from @at to the instruction that chooses slot 0; BPF counts it
	 * from the next instruction.
	 */
#define ELSE_ROCIND(at) ((uint8_t)(TO_ROCIND - (at)-1))
	const struct sock_filter text[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, RND_BTH_LEN, 0, ELSE_ROCIND(1)),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, QPN_MASK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, QPN_MULTICAST, ELSE_ROCIND(4), 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, QPN_FIRST_ORDINARY, 0,
			 ELSE_ROCIND(5)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SLOT_MASK),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, slot_count, ELSE_ROCIND(7), 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
#undef ELSE_ROCIND

	static_assert(RN_ARRAY_SIZE(text) == RND_STEER_PROGRAM_LEN, "length as promised");
	for (unsigned i = 0; i < RND_STEER_PROGRAM_LEN; i++)
		prog[i] = text[i];
}

enum rn_rocind_drop rnd_steer_reason(const uint8_t *payload, size_t len)
{
	uint32_t qpn;

	if (len < RND_BTH_LEN)
		return RN_ROCIND_DROP_SHORT;
	qpn = (uint32_t)payload[5] << 16 | (uint32_t)payload[6] << 8 | payload[7];
	if (qpn == 0)
		return RN_ROCIND_DROP_QP0;
	if (qpn == 1)
		return RN_ROCIND_DROP_QP1;
	if (qpn == QPN_MULTICAST)
		return RN_ROCIND_DROP_MULTICAST;
	if (qpn < QPN_FIRST_ORDINARY)
		return RN_ROCIND_DROP_RESERVED;
	return RN_ROCIND_DROP_UNKNOWN_SLOT;
}
