/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_fields.c - what rules name: fields of headers, and verbs calls. */
#include "fault_rules.h"
#include "rocin/opcode.h"

/* clang-format off */
/* Source: IBTA Vol 1, 9.2 to 9.3, A14, A19. */
const struct rn_fault_field rn_fault_fields[] = {
	/* name            header               byte len shift bits */
	{ "bth.opcode",    0,                    0,  1,  0,  8 },
	{ "bth.se",        0,                    1,  1,  7,  1 },
	{ "bth.m",         0,                    1,  1,  6,  1 },
	{ "bth.pad",       0,                    1,  1,  4,  2 },
	{ "bth.tver",      0,                    1,  1,  0,  4 },
	{ "bth.pkey",      0,                    2,  2,  0, 16 },
	{ "bth.fecn",      0,                    4,  1,  7,  1 },
	{ "bth.becn",      0,                    4,  1,  6,  1 },
	{ "bth.dqpn",      0,                    5,  3,  0, 24 },
	{ "bth.a",         0,                    8,  1,  7,  1 },
	{ "bth.psn",       0,                    9,  3,  0, 24 },
	{ "deth.qkey",     RN_OP_DETH,           0,  4,  0, 32 },
	{ "deth.sqpn",     RN_OP_DETH,           5,  3,  0, 24 },
	{ "xrceth.srqn",   RN_OP_XRCETH,         1,  3,  0, 24 },
	{ "reth.va",       RN_OP_RETH,           0,  8,  0, 64 },
	{ "reth.rkey",     RN_OP_RETH,           8,  4,  0, 32 },
	{ "reth.len",      RN_OP_RETH,          12,  4,  0, 32 },
	{ "atomic.va",     RN_OP_ATOMIC_ETH,     0,  8,  0, 64 },
	{ "atomic.rkey",   RN_OP_ATOMIC_ETH,     8,  4,  0, 32 },
	{ "atomic.swap",   RN_OP_ATOMIC_ETH,    12,  8,  0, 64 },
	{ "atomic.compare", RN_OP_ATOMIC_ETH,   20,  8,  0, 64 },
	{ "aeth.syndrome", RN_OP_AETH,           0,  1,  0,  8 },
	{ "aeth.msn",      RN_OP_AETH,           1,  3,  0, 24 },
	{ "atomicack.orig", RN_OP_ATOMIC_ACK_ETH, 0, 8,  0, 64 },
	{ "immdt.data",    RN_OP_IMM,            0,  4,  0, 32 },
	{ "ieth.rkey",     RN_OP_IETH,           0,  4,  0, 32 },
	{ 0 },
};
/* clang-format on */

const char *const rn_fault_calls[] = {
	"alloc_pd",	 "reg_mr",    "create_cq", "create_srq", "create_qp",
	"create_ah",	 "modify_qp", "post_send", "post_recv",	 "post_srq_recv",
	"req_notify_cq", "alloc_mw",  "resize_cq", "modify_srq",
};
const unsigned rn_fault_call_count = RN_ARRAY_SIZE(rn_fault_calls);
