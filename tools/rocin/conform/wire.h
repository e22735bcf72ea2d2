/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.h - the protocol of `rocin conform --target` and rocin-conform-agent over TCP:
 * lines that consist of a word and hexadecimal numbers. Each request has one answer: "ok"
 * with numbers, or "no ERRNO". A GID is two numbers, with its bytes in memory order.
 *
 *  hello VERSION                  ok VERSION PID CAN GID GID GID GID
 *      The device's IPv4 and IPv6 GID; a GID of zeros stands for none.
 *  begin CQES GID GID GID ...     ok CQES
 *      Destroys all objects of the last scenario. GIDs of the tester, of another host,
 *      of the multicast group.
 *  mr LENGTH VA ACCESS PD         ok R_KEY VA L_KEY
 *      VA of all ones: the address at which the memory lies.
 *  mw TYPE PD                     ok R_KEY         numbered like an MR
 *  srq PD RQ XRCD                 ok NUMBER        XRCD 0: not an XRC SRQ
 *  qp NUMBER...                   ok QPN           enum rn_conform_qp
 *  modify QP MASK ATTRIBUTE...                     enum rn_conform_attr
 *  post QP WR-FIELD...                             enum rn_conform_wr
 *  bind QP BIND-FIELD...          ok KEY           enum rn_conform_bind
 *  recv QP WR ADDRESS LENGTH KEY
 *  srecv SRQ WR ADDRESS LENGTH KEY
 *  limit SRQ LIMIT
 *  group QP JOIN                                   1: join, 0: leave
 *  poll                           ok KIND ...      enum rn_conform_kind
 *  query QP                       ok STATE RQ-PSN SQ-PSN MIGRATION
 *  memory MR OFFSET LENGTH        ok WORD...       8 bytes each, the last one padded
 *  dereg MR
 *  unmap MR                                        unmaps the memory, keeps the MR
 *  arm QUEUE SOLICITED
 *
 * Connections are made by librdmacm. CONN is the index of the connection in the scenario;
 * UDP 1: the connection stands for the lookup of a datagram service.
 *
 *  listen CONN UDP PORT BACKLOG
 *  unlisten CONN
 *  connect CONN-FIELD...                           enum rn_conform_conn
 *  take CONN                                       the oldest request becomes CONN
 *  accept CONN-FIELD...
 *  ready CONN                                      rdma_establish()
 *  reject CONN DATA
 *  established CONN                                rdma_notify()
 *  disconnect CONN
 *  close CONN                                      rdma_destroy_id()
 *  told CONN                      ok NUMBER...     enum rn_conform_told
 */
#ifndef RN_CONFORM_WIRE_H
#define RN_CONFORM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RN_CONFORM_VERSION = 4,
	RN_CONFORM_PORT = 18516,
	RN_CONFORM_NUMBERS = 40, /* maximum count of numbers in a line */
	RN_CONFORM_LINE = 1024,	 /* bytes of a line, including the newline */
	/* maximum number of bytes that one request `memory' reads */
	RN_CONFORM_READ_MAX = 256,
};

#define RN_CONFORM_ANYWHERE UINT64_MAX

/* clang-format off */
/* The operations that not every device supports. Arguments of X: symbol; bit in enum
 * rn_conform_can; bit in ibv_device_attr_ex.device_cap_flags_ex; true if ibv_post_send()
 * accepts the operation, on devices of Rocin only; flag in
 * ibv_qp_init_attr_ex.send_ops_flags for the function ibv_wr_*() that posts it, if no
 * other function posts it, otherwise 0; error text for a device that does not support it.
 */
#define RN_CONFORM_OPERATIONS(X)                                                       \
	X(FLUSH,        5, 38, true,  0,       "the agent cannot post a FLUSH there")  \
	X(ATOMIC_WRITE, 6, 40, false, 1 << 12, "the device has no ATOMIC WRITE")
/* clang-format on */

/* Abilities of the device, in the answer to `hello`. */
enum rn_conform_can {
#define X(symbol, bit, cap, ours, call, why) RN_CONFORM_CAN_##symbol = 1 << (bit),
	RN_CONFORM_OPERATIONS(X)
#undef X
	RN_CONFORM_CAN_SRQ = 1 << 0,
	RN_CONFORM_CAN_XRC = 1 << 1,
	RN_CONFORM_CAN_MW1 = 1 << 2,
	RN_CONFORM_CAN_MW2 = 1 << 3,
	RN_CONFORM_CAN_GROUP = 1 << 4,
	RN_CONFORM_CAN_MIGRATE = 1 << 7,
	/* The tester can compute the IPv4 identification of a packet from its ICRC. */
	RN_CONFORM_CAN_SOLVE = 1 << 8,
	RN_CONFORM_CAN_UNMAP =
		/* pages are not pinned, so munmap() removes the memory of an MR */
		1 << 9,
	/* A QP that is attached to a multicast group receives messages to the group even
	 * if no program has joined the group by librdmacm.
	 */
	RN_CONFORM_CAN_HEAR_GROUP = 1 << 12,
	/* The device is a Rocin device. */
	RN_CONFORM_CAN_BE_OURS = 1 << 11,
	/* An SRQ has exactly the requested size; the size is not rounded up. */
	RN_CONFORM_CAN_EXACT_SRQ = 1 << 10,
	/* librdmacm exists, and makes connections from and to the addresses of the
	 * device.
	 */
	RN_CONFORM_CAN_CONNECT = 1 << 13,
};

struct rn_conform_operation {
	uint32_t ability; /* ability that the opcode needs, enum rn_conform_can */
	uint64_t cap;
	bool is_ours;
	uint64_t call; /* enum ibv_qp_create_send_ops_flags, or 0 */
	const char *why;
};

/* Returns the row of RN_CONFORM_OPERATIONS for an opcode, which tells how an agent posts
 * the operation. Returns NULL if every device supports @opcode.
 */
const struct rn_conform_operation *rn_conform_operation(uint64_t opcode);

/* Indices of the numbers of `qp`. */
enum rn_conform_qp {
	RN_CONFORM_QP_TYPE,
	RN_CONFORM_QP_PD,
	RN_CONFORM_QP_SQ,
	RN_CONFORM_QP_RQ,
	RN_CONFORM_QP_SRQ, /* 1: the QP uses the first SRQ; 0: it uses none */
	RN_CONFORM_QP_XRCD,
	/* number of bytes of inline data that the QP must support */
	RN_CONFORM_QP_INLINE,
	/* the QP must support requests that only ibv_wr_*() can post */
	RN_CONFORM_QP_EX,
	RN_CONFORM_QP_NUMBERS
};

/* Indices of the numbers in `modify', after QP and mask (RN_ATTR_*). */
enum rn_conform_attr {
	RN_CONFORM_STATE = 2,
	RN_CONFORM_MTU, /* path MTU in bytes */
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
	/* destination of the alternate path: 1: the other host; 0: the tester */
	RN_CONFORM_ALT,
	RN_CONFORM_ALT_TIMEOUT,
	RN_CONFORM_MIG,
	RN_CONFORM_CUR,
	RN_CONFORM_ATTRS
};

/* Indices of the numbers in `post', after that of the QP. */
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
	RN_CONFORM_LENGTH, /* length of the SGE in bytes; 0: there is no SGE */
	RN_CONFORM_LKEY,
	RN_CONFORM_SRQN, /* for XRC: number of the SRQ at the peer */
	/* destination of a UD request: 1: the multicast group; 0: the tester */
	RN_CONFORM_TO,
	RN_CONFORM_TO_QPN,
	RN_CONFORM_TO_QKEY,
	RN_CONFORM_WRS
};

/* Indices of the numbers in `bind', after that of the QP. */
enum rn_conform_bind {
	RN_CONFORM_BIND_ID = 1,
	RN_CONFORM_BIND_FLAGS,
	/* Number of the window. Windows and MRs are numbered together, in the order of
	 * their creation.
	 */
	RN_CONFORM_BIND_MW,
	RN_CONFORM_BIND_KEY, /* key of a type 2 window */
	RN_CONFORM_BIND_MR,
	RN_CONFORM_BIND_ADDRESS,
	RN_CONFORM_BIND_LENGTH,
	RN_CONFORM_BIND_ACCESS,
	RN_CONFORM_BINDS
};

/* Indices of the numbers in `connect' and `accept'. */
enum rn_conform_conn {
	RN_CONFORM_CONN,
	/* Only for `connect': 1 for a datagram service (UDP), the port number, and the
	 * destination (1: the other host, 0: the tester)
	 */
	RN_CONFORM_CONN_UDP,
	RN_CONFORM_CONN_PORT,
	RN_CONFORM_CONN_TO,
	RN_CONFORM_CONN_QPN,
	RN_CONFORM_CONN_RESP,
	RN_CONFORM_CONN_DEPTH,
	RN_CONFORM_CONN_RETRY,
	RN_CONFORM_CONN_RNR_RETRY,
	/* private data: 8 bytes, the first of them in the highest byte; 0: no private
	 * data
	 */
	RN_CONFORM_CONN_DATA,
	RN_CONFORM_CONN_NUMBERS
};

/* Indices of the numbers in the answer to `told': the attributes that librdmacm reports
 * to a program for setting up its queue pair. For a datagram service there are only DEST
 * and QKEY, for a connection all others.
 */
enum rn_conform_told {
	RN_CONFORM_TOLD_DEST,
	RN_CONFORM_TOLD_QKEY,
	RN_CONFORM_TOLD_RQ_PSN,
	RN_CONFORM_TOLD_SQ_PSN,
	RN_CONFORM_TOLD_MTU, /* code, enum ibv_mtu */
	RN_CONFORM_TOLD_RD,
	RN_CONFORM_TOLD_DEST_RD,
	RN_CONFORM_TOLD_TIMEOUT,
	RN_CONFORM_TOLD_RETRY,
	RN_CONFORM_TOLD_RNR_RETRY,
	RN_CONFORM_TOLD_NUMBERS
};

/* The first number in the answer to `poll'; the comments name the numbers after it. */
enum rn_conform_kind {
	RN_CONFORM_NOTHING,
	/* a completion: QUEUE WR QPN LENGTH IMM SOURCE STATUS OPCODE FLAGS */
	RN_CONFORM_WC,
	RN_CONFORM_COMP, /* a completion event: QUEUE */
	/* An asynchronous event: QPN EVENT. If the event is about an SRQ, the first
	 * number is the SRQ number; if it is about a CQ, the first number is 0.
	 */
	RN_CONFORM_EVENT,
	/* An event of librdmacm: CONN TYPE STATUS LENGTH DATA. TYPE is enum
	 * rn_cm_event_type, STATUS a 32-bit number. CONN of a request: any number. LENGTH
	 * is the length of the private data, or RN_CONFORM_HIDDEN if librdmacm does not
	 * report it. Each number of DATA has 8 bytes of the private data, in memory
	 * order.
	 */
	RN_CONFORM_CM_EVENT,
};

/* Indices of the numbers of a RN_CONFORM_CM_EVENT. */
enum rn_conform_cm_event {
	RN_CONFORM_CM_CONN = 1,
	RN_CONFORM_CM_TYPE,
	RN_CONFORM_CM_STATUS,
	RN_CONFORM_CM_LENGTH,
	RN_CONFORM_CM_DATA,
	RN_CONFORM_CM_DATA_MAX = 8 * (RN_CONFORM_NUMBERS - RN_CONFORM_CM_DATA),
	RN_CONFORM_HIDDEN = 0xffff,
};

struct rn_conform_line {
	char word[12];
	unsigned count;
	uint64_t n[RN_CONFORM_NUMBERS];
};

/* A TCP connection with its input buffer. */
struct rn_conform_wire {
	int fd;
	size_t used;
	char buf[RN_CONFORM_LINE];
};

/* Sends a line to the other end. Returns 0 or -errno. The call may block, but rarely does
 * so, because lines are short.
 */
int rn_conform_send(struct rn_conform_wire *w, const struct rn_conform_line *l);

/**
 * rn_conform_receive() - Wait for a line
 * @timeout_ms:	-1: no limit
 *
 * Return: 0; -ETIMEDOUT; -EPIPE if the connection is closed; -EPROTO for an invalid line;
 *	or -errno.
 */
int rn_conform_receive(struct rn_conform_wire *w, struct rn_conform_line *l,
		       int timeout_ms);

#endif /* RN_CONFORM_WIRE_H */
