/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verify.h - connection and posting for verify.c; any failure ends the process. */
#ifndef RN_VERIFY_H
#define RN_VERIFY_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	BATCH = 16,
	RECV_DEPTH = 64,
	/* Bytes. In packets of 256 they take 12 KiB of a local ring, the smallest of
	 * which has 16, and less than a sixth of the default buffer of a socket.
	 */
	UNREAD_MAX = 8192,
	READ_INDEX = 0xfffffff
};

#define MARK 0x80000000u /* or'ed with the first message of the next batch */

enum operation {
	OP_SEND,
	OP_SEND_IMM,
	OP_WRITE_IMM,
	OP_WRITE_READ,
	OP_READ,
	OP_FETCH_ADD,
	OP_CMP_SWAP,
};

/* What the two tell each other. */
struct peer_info {
	uint32_t qpn, psn, rkey, qkey;
	uint64_t addr;
	union ibv_gid gid;
};

struct verify {
	bool requester, lossy, events, stream;
	const char *path, *wait;
	enum ibv_qp_type type;
	uint8_t gid_index;
	uint32_t count, max, mtu;
	uint8_t timeout; /* local ACK timeout, code */
	uint64_t seed;

	int sock;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	struct peer_info self, peer;

	/* One registered block: BATCH slots and one region that holds READ_INDEX (buf),
	 * BATCH slots for what comes back (check), RECV_DEPTH receives (recv).
	 */
	uint8_t *block, *buf, *check, *recv;
	size_t block_len, recv_len;
	uint64_t counter; /* what the remote counter must be after all posted atomics */
	uint64_t expected[BATCH]; /* what an atomic must return */

	uint32_t outstanding;
	uint32_t next, marked, received, received_before, lost;
	uint64_t bytes;
};

void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t mix(uint64_t x);
int64_t now_ms(void);
int read_all(int fd, void *buf, size_t len);

void verify_open(struct verify *v); /* device, objects, exchange, QP to RTS */
void verify_close(struct verify *v);

/* Message i: its index in the first 4 bytes, the rest follows from the index. */
void fill(uint8_t *p, uint32_t i, uint32_t len);
void check(const uint8_t *p, uint32_t i, uint32_t len, const char *what);
uint32_t index_of(const uint8_t *p);
void check_grh(struct verify *v, const struct ibv_wc *wc, uint8_t *slot);

void post_send(struct verify *v, uint32_t i, enum ibv_wr_opcode op, uint8_t *p,
	       uint32_t len, uint64_t remote);
void post_atomic(struct verify *v, uint32_t i, enum operation op);
void post_recv(struct verify *v, uint64_t slot);
void take_send_completion(struct verify *v);
bool take_recv_completion(struct verify *v, struct ibv_wc *wc);

#endif /* RN_VERIFY_H */
