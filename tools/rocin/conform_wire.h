/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_wire.h - what `rocin conform --target` and rocin-conform-agent say to each
 * other over TCP: lines of a word and numbers in hexadecimal. Each request has one
 *answer: "ok" with numbers, or "no ERRNO".
 *
 *	hello VERSION			ok VERSION GID GID
 *	begin CQES GID GID		everything of the scenario before is destroyed;
 *the GID is that of the tester mr LENGTH VA ACCESS PD		ok KEY VA	VA of all
 *ones: where it lies qp TYPE PD SQ RQ		ok QPN
 *	modify QP MASK ATTRIBUTE...	in the order of enum rn_conform_attr
 *	post QP WR-FIELD...		in the order of enum rn_conform_wr
 *	recv QP WR ADDRESS LENGTH KEY
 *	poll				ok KIND ...: see enum rn_conform_kind
 *	query QP			ok STATE RQ-PSN SQ-PSN
 *	memory MR OFFSET LENGTH		ok WORD...: 8 bytes each, the last one filled up
 *	dereg MR
 *	arm QUEUE SOLICITED
 */
#ifndef RN_CONFORM_WIRE_H
#define RN_CONFORM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RN_CONFORM_VERSION = 1,
	RN_CONFORM_PORT = 18516,
	RN_CONFORM_NUMBERS = 40,   /* of a line at most */
	RN_CONFORM_LINE = 1024,	   /* bytes, with the newline */
	RN_CONFORM_READ_MAX = 256, /* bytes that one `memory` reads */
};

#define RN_CONFORM_ANYWHERE UINT64_MAX

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
	RN_CONFORM_WRS
};

/* First number of the answer to `poll`. */
enum rn_conform_kind {
	RN_CONFORM_NOTHING,
	RN_CONFORM_WC,	  /* QUEUE WR QPN LENGTH IMM SOURCE STATUS OPCODE FLAGS */
	RN_CONFORM_COMP,  /* QUEUE */
	RN_CONFORM_EVENT, /* QPN EVENT */
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
