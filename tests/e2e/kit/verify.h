/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verify.h - functions of verify.c for connecting and posting. Any failure ends the
 * process.
 */
#ifndef RN_VERIFY_H
#define RN_VERIFY_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	BATCH = 16,
	RECV_DEPTH = 64,
	/* Number of bytes. In packets of 256 bytes they take 12 KiB of a local ring,
	 * whose minimum size is 16 KiB, and less than a sixth of the default buffer of a
	 * socket.
	 */
	UNREAD_MAX = 8192,
	READ_INDEX = 0xfffffff
};

/* added by OR to the number of the first message of the next batch */
#define MARK 0x80000000u

enum operation {
	OP_SEND,
	OP_SEND_IMM,
	OP_WRITE_IMM,
	OP_WRITE_READ,
	OP_READ,
	OP_FETCH_ADD,
	OP_CMP_SWAP,
};

/* The data that both sides exchange at the beginning. */
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
	uint8_t timeout; /* code of the local ACK timeout */
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

	/* One registered block of memory. @buf: BATCH slots, and a region with message
	 * READ_INDEX. @check: BATCH slots for data that is returned. @recv: RECV_DEPTH
	 * receives.
	 */
	uint8_t *block, *buf, *check, *recv;
	size_t block_len, recv_len;
	/* expected value of the remote counter after all posted atomics */
	uint64_t counter;
	uint64_t expected[BATCH]; /* values that the atomics must return */

	uint32_t outstanding;
	uint32_t next, marked, received, received_before, lost;
	uint64_t bytes;
};

void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t mix(uint64_t x);
int64_t now_ms(void);
int read_all(int fd, void *buf, size_t len);

/* opens the device, creates its objects, connects to the peer, and brings the QP to RTS
 */
void verify_open(struct verify *v);
void verify_close(struct verify *v);

/* Fills in message i: its index in the first 4 bytes; the other bytes follow from the
 * index.
 */
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
