/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* link.h - the connection between a network drive and its users: one RC queue pair, and
 * the TCP connection by which both have found each other.
 *
 * A request is a SEND of the user. The server transfers the data by RDMA WRITE into the
 * user's memory, or by RDMA READ from there, and ends with a SEND of the answer. There is
 * one request at a time. The TCP connection carries nothing but the hello of both; when
 * it ends, so has the peer, and whoever waits for a completion learns it at once.
 */
#ifndef RN_NETDRIVE_LINK_H
#define RN_NETDRIVE_LINK_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RN_NETDRIVE_MAGIC UINT32_C(0x524e4431) /* "RND1" */

enum {
	RN_NETDRIVE_PORT = 4791 + 2, /* TCP */
	RN_NETDRIVE_PATH = 256,	     /* bytes of a path with its end */
	/* Maximum number of bytes of a request: that of a command of a drive. */
	RN_NETDRIVE_MAX = 16 * 1024 * 1024,
	RN_NETDRIVE_PIECE = 1024 * 1024, /* bytes that the server transfers at a time */
	/* Time in s that a user waits for an answer: much longer than a disk takes for
	 * RN_NETDRIVE_MAX bytes, and than the retries of an RC queue pair.
	 */
	RN_NETDRIVE_PATIENCE = 60,
};

enum rn_netdrive_op {
	RN_NETDRIVE_READ = 1,
	RN_NETDRIVE_WRITE = 2,
};

/* Integers in the messages are little-endian, as both ends are x86-64 or aarch64. */
struct rn_netdrive_request {
	uint64_t id;
	uint64_t addr; /* of the user's memory */
	uint64_t offset, len;
	uint32_t rkey;
	uint32_t op;
	char path[RN_NETDRIVE_PATH];
};

struct rn_netdrive_answer {
	uint64_t id;
	int64_t result; /* bytes, or -errno */
};

union rn_netdrive_message {
	struct rn_netdrive_request request;
	struct rn_netdrive_answer answer;
};

struct rn_netdrive_link {
	int tcp;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;		     /* of `messages' */
	union rn_netdrive_message *messages; /* one to send, one that was received */
};

/**
 * rn_netdrive_link_open() - Make a queue pair and connect it
 * @tcp:	A connected TCP socket; the link closes it
 * @address:	IPv4 address of the RDMA device; NULL: that of the socket
 * @err:	Out on failure: one sentence
 *
 * Return: 0, or -errno.
 */
int rn_netdrive_link_open(struct rn_netdrive_link *link, int tcp, const char *address,
			  char *err, size_t err_len);
void rn_netdrive_link_close(struct rn_netdrive_link *link);

/* Sends @bytes of messages[0]. Return: 0, or -errno. */
int rn_netdrive_link_send(struct rn_netdrive_link *link, size_t bytes);

/* Posts the receive of a message, to messages[1]. Return: 0, or -errno. */
int rn_netdrive_link_receive(struct rn_netdrive_link *link);

/* Waits for a completion of @opcode, and skips others; for @patience seconds, or for ever
 * if it is 0. Return: number of bytes; -EIO: the request failed; -ECONNRESET: the peer is
 * gone; -ETIMEDOUT.
 */
int rn_netdrive_link_wait(struct rn_netdrive_link *link, enum ibv_wc_opcode opcode,
			  unsigned patience);

#endif /* RN_NETDRIVE_LINK_H */
