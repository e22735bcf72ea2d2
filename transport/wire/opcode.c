/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* opcode.c - two tables: properties of each packet opcode, and of each work
 * request opcode.
 *
 * The header length of an opcode is computed from its flags, so that the two always
 * agree. Transport classes share their rows: UC is RC without READ, atomics and
 * invalidation; an XRC request is an RC request with an XRCETH.
 */
#include "rocin/opcode.h"

#include "rocin/cqe.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/queue_pair.h"
#include "rocin/wire.h"
#include "rocin/work_request.h"

#define HDR_LEN(fl)                                                                      \
	(RN_BTH_LEN + ((fl)&RN_OP_NOTIFY ? RN_CNP_RESERVED_LEN : 0) +                    \
	 ((fl)&RN_OP_DETH ? RN_DETH_LEN : 0) + ((fl)&RN_OP_XRCETH ? RN_XRCETH_LEN : 0) + \
	 ((fl)&RN_OP_FETH ? RN_FETH_LEN : 0) + ((fl)&RN_OP_RETH ? RN_RETH_LEN : 0) +     \
	 ((fl)&RN_OP_ATOMIC_ETH ? RN_ATOMIC_ETH_LEN : 0) +                               \
	 ((fl)&RN_OP_AETH ? RN_AETH_LEN : 0) +                                           \
	 ((fl)&RN_OP_ATOMIC_ACK_ETH ? RN_ATOMIC_ACK_ETH_LEN : 0) +                       \
	 ((fl)&RN_OP_IMM ? RN_IMM_LEN : 0) + ((fl)&RN_OP_IETH ? RN_IETH_LEN : 0))

#define ROW(op, k, fl)                        \
	[RN_##op] = { .name = #op,            \
		      .flags = (fl),          \
		      .hdr_len = HDR_LEN(fl), \
		      .kind = RN_OP_KIND_##k, \
		      .access = ACCESS_##k,   \
		      .answer = ANSWER_##k }

/* For each kind of packet: the access right that the remote memory must grant, and how
 * the packet is answered.
 */
#define ACCESS_SEND 0
#define ACCESS_WRITE RN_ACCESS_REMOTE_WRITE
#define ACCESS_READ RN_ACCESS_REMOTE_READ
#define ACCESS_ATOMIC RN_ACCESS_REMOTE_ATOMIC
#define ACCESS_ATOMIC_WRITE RN_ACCESS_REMOTE_WRITE
#define ACCESS_FLUSH 0
#define ACCESS_READ_RESPONSE 0
#define ACCESS_ACK 0
#define ACCESS_ATOMIC_ACK 0
#define ACCESS_CNP 0

#define ANSWER_SEND RN_ANSWER_ACK
#define ANSWER_WRITE RN_ANSWER_ACK
#define ANSWER_READ RN_ANSWER_DATA
#define ANSWER_ATOMIC RN_ANSWER_ATOMIC
#define ANSWER_ATOMIC_WRITE RN_ANSWER_EMPTY
#define ANSWER_FLUSH RN_ANSWER_EMPTY
#define ANSWER_READ_RESPONSE RN_ANSWER_NONE
#define ANSWER_ACK RN_ANSWER_NONE
#define ANSWER_ATOMIC_ACK RN_ANSWER_NONE
#define ANSWER_CNP RN_ANSWER_NONE

#define REQ RN_OP_REQUEST
#define RSP RN_OP_RESPONSE
#define FIRST RN_OP_FIRST
#define LAST RN_OP_LAST
#define PAY RN_OP_PAYLOAD
#define RETH RN_OP_RETH
#define AETH RN_OP_AETH
#define IMM RN_OP_IMM
#define INV RN_OP_IETH
#define DETH RN_OP_DETH
#define FETH RN_OP_FETH
#define TAKES RN_OP_RECV_WQE_TAKEN
#define DONE RN_OP_COMPLETES_RECV
#define ALONE (RN_OP_FIRST | RN_OP_LAST | RN_OP_ANSWERED)
#define WORD RN_OP_WORD
#define DOES(op) (RN_OP_ATOMIC_ETH | RN_OP_WORD | RN_MEM_##op << RN_OP_ATOMIC_SHIFT)

/* clang-format off */
/*          opcode                    kind           who   position       carries        receive WQE */
#define SEND_AND_WRITE(c, X)                                                                         \
	ROW(c##_SEND_FIRST,           SEND,          REQ | FIRST        | PAY | (X)        | TAKES),        \
	ROW(c##_SEND_MIDDLE,          SEND,          REQ                | PAY | (X)),                       \
	ROW(c##_SEND_LAST,            SEND,          REQ |         LAST | PAY | (X)                | DONE), \
	ROW(c##_SEND_LAST_IMM,        SEND,          REQ |         LAST | PAY | (X) | IMM          | DONE), \
	ROW(c##_SEND_ONLY,            SEND,          REQ | FIRST | LAST | PAY | (X)        | TAKES | DONE), \
	ROW(c##_SEND_ONLY_IMM,        SEND,          REQ | FIRST | LAST | PAY | (X) | IMM  | TAKES | DONE), \
	ROW(c##_WRITE_FIRST,          WRITE,         REQ | FIRST        | PAY | (X) | RETH),                \
	ROW(c##_WRITE_MIDDLE,         WRITE,         REQ                | PAY | (X)),                       \
	ROW(c##_WRITE_LAST,           WRITE,         REQ |         LAST | PAY | (X)),                       \
	ROW(c##_WRITE_LAST_IMM,       WRITE,         REQ |         LAST | PAY | (X) | IMM  | TAKES | DONE), \
	ROW(c##_WRITE_ONLY,           WRITE,         REQ | FIRST | LAST | PAY | (X) | RETH),                \
	ROW(c##_WRITE_ONLY_IMM,       WRITE,         REQ | FIRST | LAST | PAY | (X) | RETH | IMM | TAKES | DONE)

#define RELIABLE(c, X)                                                                               \
	ROW(c##_READ_REQUEST,         READ,          REQ | ALONE | (X) | RETH),                             \
	ROW(c##_READ_RESPONSE_FIRST,  READ_RESPONSE, RSP | FIRST        | PAY | AETH),                      \
	ROW(c##_READ_RESPONSE_MIDDLE, READ_RESPONSE, RSP                | PAY),                             \
	ROW(c##_READ_RESPONSE_LAST,   READ_RESPONSE, RSP |         LAST | PAY | AETH),                      \
	ROW(c##_READ_RESPONSE_ONLY,   READ_RESPONSE, RSP | FIRST | LAST | PAY | AETH),                      \
	ROW(c##_ACK,                  ACK,           RSP | AETH),                                           \
	ROW(c##_ATOMIC_ACK,           ATOMIC_ACK,    RSP | AETH | RN_OP_ATOMIC_ACK_ETH),                    \
	ROW(c##_CMP_SWAP,             ATOMIC,        REQ | ALONE | (X) | DOES(CMP_SWAP)),                   \
	ROW(c##_FETCH_ADD,            ATOMIC,        REQ | ALONE | (X) | DOES(FETCH_ADD)),                  \
	ROW(c##_SEND_LAST_INV,        SEND,          REQ |         LAST | PAY | (X) | INV          | DONE), \
	ROW(c##_SEND_ONLY_INV,        SEND,          REQ | FIRST | LAST | PAY | (X) | INV  | TAKES | DONE), \
	ROW(c##_FLUSH,                FLUSH,         REQ | ALONE | (X) | FETH | RETH),                      \
	ROW(c##_ATOMIC_WRITE,         ATOMIC_WRITE,  REQ | ALONE | PAY | (X) | RETH | WORD)

const struct rn_opcode_info rn_opcode_info[256] = {
	SEND_AND_WRITE(RC, 0),
	RELIABLE(RC, 0),
	SEND_AND_WRITE(UC, 0),
	ROW(UD_SEND_ONLY,             SEND,          REQ | FIRST | LAST | PAY | DETH       | TAKES | DONE),
	ROW(UD_SEND_ONLY_IMM,         SEND,          REQ | FIRST | LAST | PAY | DETH | IMM | TAKES | DONE),
	ROW(CNP,                      CNP,           RN_OP_NOTIFY),
	SEND_AND_WRITE(XRC, RN_OP_XRCETH),
	RELIABLE(XRC, RN_OP_XRCETH),
};

#define ON_RC (1 << RN_QPT_RC | 1 << RN_QPT_XRC_SEND)
#define ON_UC (1 << RN_QPT_UC)
#define ON_UD (1 << RN_QPT_UD)
#define ON_RAW (1 << RN_QPT_RAW_PACKET)

#define MESSAGE(what, end)                                                    \
	ANSWER_##what, RN_RC_##what##_FIRST, RN_RC_##what##_MIDDLE,            \
		RN_RC_##what##_LAST##end, RN_RC_##what##_ONLY##end
#define SINGLE(kind, op) ANSWER_##kind, op, op, op, op
#define LOCAL RN_ANSWER_NONE, 0, 0, 0, 0

const struct rn_wr_info rn_wr_info[RN_WR_COUNT] = {
	/*                              answer, operations                             completion          receive inline types */
	[RN_WR_RDMA_WRITE]           = { MESSAGE(WRITE, ),                         RN_WC_RDMA_WRITE,   false,  true,  ON_RC | ON_UC },
	[RN_WR_RDMA_WRITE_WITH_IMM]  = { MESSAGE(WRITE, _IMM),                     RN_WC_RDMA_WRITE,   true,   true,  ON_RC | ON_UC },
	[RN_WR_SEND]                 = { MESSAGE(SEND, ),                          RN_WC_SEND,         true,   true,  ON_RC | ON_UC | ON_UD | ON_RAW },
	[RN_WR_SEND_WITH_IMM]        = { MESSAGE(SEND, _IMM),                      RN_WC_SEND,         true,   true,  ON_RC | ON_UC | ON_UD },
	[RN_WR_SEND_WITH_INV]        = { MESSAGE(SEND, _INV),                      RN_WC_SEND,         true,   true,  ON_RC },
	[RN_WR_RDMA_READ]            = { SINGLE(READ, RN_RC_READ_REQUEST),         RN_WC_RDMA_READ,    false,  false, ON_RC },
	[RN_WR_ATOMIC_CMP_AND_SWP]   = { SINGLE(ATOMIC, RN_RC_CMP_SWAP),           RN_WC_COMP_SWAP,    false,  false, ON_RC },
	[RN_WR_ATOMIC_FETCH_AND_ADD] = { SINGLE(ATOMIC, RN_RC_FETCH_ADD),          RN_WC_FETCH_ADD,    false,  false, ON_RC },
	[RN_WR_ATOMIC_WRITE]         = { SINGLE(ATOMIC_WRITE, RN_RC_ATOMIC_WRITE), RN_WC_ATOMIC_WRITE, false,  true,  ON_RC },
	[RN_WR_FLUSH]                = { SINGLE(FLUSH, RN_RC_FLUSH),               RN_WC_FLUSH,        false,  false, ON_RC },
	[RN_WR_LOCAL_INV]            = { LOCAL,                                    RN_WC_LOCAL_INV,    false,  false, ON_RC | ON_UC },
	[RN_WR_BIND_MW]              = { LOCAL,                                    RN_WC_BIND_MW,      false,  false, ON_RC | ON_UC },
};
/* clang-format on */
