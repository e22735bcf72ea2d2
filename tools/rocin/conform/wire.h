/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.h - what `rocin conform --target` and rocin-conform-agent say to each
 * other over TCP: lines of a word and numbers in hexadecimal. Each request has one
 * answer: "ok" with numbers, or "no ERRNO". A GID is two numbers, its bytes as they are.
 *
 *  hello VERSION                  ok VERSION PID CAN GID GID GID GID
 *      The IPv4 one, the IPv6 one; zeros: there is none.
 *  begin CQES GID GID GID ...     ok CQES
 *      Everything of the scenario before is destroyed. GIDs of the tester, of another
 *      host, of the group.
 *  mr LENGTH VA ACCESS PD         ok KEY VA
 *      VA of all ones: where it lies.
 *  mw TYPE PD                     ok KEY           the next MR
 *  srq PD RQ XRCD                 ok NUMBER        XRCD 0: of no domain
 *  qp NUMBER...                   ok QPN           enum rn_conform_qp
 *  modify QP MASK ATTRIBUTE...                     enum rn_conform_attr
 *  post QP WR-FIELD...                             enum rn_conform_wr
 *  bind QP BIND-FIELD...          ok KEY           enum rn_conform_bind
 *  recv QP WR ADDRESS LENGTH KEY
 *  srecv SRQ WR ADDRESS LENGTH KEY
 *  limit SRQ BELOW
 *  group QP JOIN                                   1: join, 0: leave
 *  poll                           ok KIND ...      enum rn_conform_kind
 *  query QP                       ok STATE RQ-PSN SQ-PSN MIGRATION
 *  memory MR OFFSET LENGTH        ok WORD...       8 bytes each, the last filled up
 *  dereg MR
 *  unmap MR                                        its memory goes, the region stays
 *  arm QUEUE SOLICITED
 */
#ifndef RN_CONFORM_WIRE_H
#define RN_CONFORM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RN_CONFORM_VERSION = 2,
	RN_CONFORM_PORT = 18516,
	RN_CONFORM_NUMBERS = 40,   /* of a line at most */
	RN_CONFORM_LINE = 1024,	   /* bytes, with the newline */
	RN_CONFORM_READ_MAX = 256, /* bytes that one `memory` reads */
};

#define RN_CONFORM_ANYWHERE UINT64_MAX

/* clang-format off */
/* The requests that not every device does: symbol, bit of its ability, bit of
 * ibv_device_attr_ex.device_cap_flags_ex that tells of it, does ibv_post_send() take it on
 * our devices alone, does only a call of its own post it, and what one says who lacks it.
 */
#define RN_CONFORM_OPERATIONS(X)                                                       \
	X(FLUSH,        5, 38, true,  false, "the agent cannot post a FLUSH there")    \
	X(ATOMIC_WRITE, 6, 40, false, true,  "the device has no ATOMIC WRITE")
/* clang-format on */

/* What a device can do, in the answer to `hello`. */
enum rn_conform_can {
#define X(symbol, bit, cap, ours, by_call, why) RN_CONFORM_CAN_##symbol = 1 << (bit),
	RN_CONFORM_OPERATIONS(X)
#undef X
	RN_CONFORM_CAN_SRQ = 1 << 0,
	RN_CONFORM_CAN_XRC = 1 << 1,
	RN_CONFORM_CAN_MW1 = 1 << 2,
	RN_CONFORM_CAN_MW2 = 1 << 3,
	RN_CONFORM_CAN_GROUP = 1 << 4,
	RN_CONFORM_CAN_MIGRATE = 1 << 7,
	RN_CONFORM_CAN_SOLVE = 1 << 8, /* finds the IPv4 identification by the ICRC */
	RN_CONFORM_CAN_UNMAP =
		1 << 9, /* pins no pages: an MR loses its memory by munmap() */
};

struct rn_conform_operation {
	uint32_t ability; /* enum rn_conform_can */
	uint64_t cap;
	bool is_ours, by_call;
	const char *why;
};

/* NULL: every device does it. */
const struct rn_conform_operation *rn_conform_operation(uint64_t opcode);

/* Numbers of `qp`. */
enum rn_conform_qp {
	RN_CONFORM_QP_TYPE,
	RN_CONFORM_QP_PD,
	RN_CONFORM_QP_SQ,
	RN_CONFORM_QP_RQ,
	RN_CONFORM_QP_SRQ, /* 1: the first; 0: none */
	RN_CONFORM_QP_XRCD,
	RN_CONFORM_QP_INLINE, /* bytes */
	RN_CONFORM_QP_EX,     /* requests will come that only ibv_wr_*() posts */
	RN_CONFORM_QP_NUMBERS
};

/* Numbers of `modify`, after the queue pair and the mask (RN_ATTR_*). */
enum rn_conform_attr {
	RN_CONFORM_STATE = 2,
	RN_CONFORM_MTU, /* bytes */
	RN_CONFORM_QKEY,
	RN_CONFORM_RQ_PSN,
	RN_CONFORM_SQ_PSN,
	RN_CONFORM_DEST,
	RN_CONFORM_ACCESS,
	RN_CONFORM_RD,
	RN_CONFORM_DEST_RD,
	RN_CONFORM_RNR_TIMER,
	RN_CONFORM_TIMEOUT,
	RN_CONFORM_RETRY,
	RN_CONFORM_RNR_RETRY,
	RN_CONFORM_DRAIN,
	RN_CONFORM_ALT, /* the alternate path, 1: to the other host; 0: to the tester */
	RN_CONFORM_ALT_TIMEOUT,
	RN_CONFORM_MIG,
	RN_CONFORM_CUR,
	RN_CONFORM_ATTRS
};

/* Numbers of `post`, after the queue pair. */
enum rn_conform_wr {
	RN_CONFORM_ID = 1,
	RN_CONFORM_OPCODE,
	RN_CONFORM_FLAGS,
	RN_CONFORM_IMM,
	RN_CONFORM_REMOTE,
	RN_CONFORM_RKEY,
	RN_CONFORM_COMPARE_ADD,
	RN_CONFORM_SWAP,
	RN_CONFORM_ADDRESS,
	RN_CONFORM_LENGTH, /* 0: no bytes at all */
	RN_CONFORM_LKEY,
	RN_CONFORM_SRQN, /* of the peer */
	RN_CONFORM_TO,	 /* datagrams, 1: to the group; 0: to the tester */
	RN_CONFORM_TO_QPN,
	RN_CONFORM_TO_QKEY,
	RN_CONFORM_WRS
};

/* Numbers of `bind`, after the queue pair. */
enum rn_conform_bind {
	RN_CONFORM_BIND_ID = 1,
	RN_CONFORM_BIND_FLAGS,
	RN_CONFORM_BIND_MW,  /* as the number of an MR */
	RN_CONFORM_BIND_KEY, /* of a window of type 2 */
	RN_CONFORM_BIND_MR,
	RN_CONFORM_BIND_ADDRESS,
	RN_CONFORM_BIND_LENGTH,
	RN_CONFORM_BIND_ACCESS,
	RN_CONFORM_BINDS
};

/* First number of the answer to `poll`. */
enum rn_conform_kind {
	RN_CONFORM_NOTHING,
	RN_CONFORM_WC,	  /* QUEUE WR QPN LENGTH IMM SOURCE STATUS OPCODE FLAGS */
	RN_CONFORM_COMP,  /* QUEUE */
	RN_CONFORM_EVENT, /* QPN EVENT; of an SRQ its number, of a queue 0 */
};

struct rn_conform_line {
	char word[12];
	unsigned count;
	uint64_t n[RN_CONFORM_NUMBERS];
};

/* A connection. */
struct rn_conform_wire {
	int fd;
	size_t used;
	char buf[RN_CONFORM_LINE];
};

/* 0 or -errno. Never waits for long: a line is small. */
int rn_conform_send(struct rn_conform_wire *w, const struct rn_conform_line *l);

/**
 * rn_conform_receive() - Wait for a line
 * @timeout_ms:	-1: for ever
 *
 * Return: 0; -ETIMEDOUT, -EPIPE (the other end is gone), -EPROTO (not such a line),
 *	   or -errno.
 */
int rn_conform_receive(struct rn_conform_wire *w, struct rn_conform_line *l,
		       int timeout_ms);

#endif /* RN_CONFORM_WIRE_H */
