/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* loop.h - two RC queue pairs of one process that are connected to each other, made by
 * plain verbs.
 */
#ifndef RN_LOOP_H
#define RN_LOOP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

struct loop {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* CQ of both QPs */
	struct ibv_qp *qp[2];
	union ibv_gid gid;
};

/* Opens the first Rocin device. */
struct ibv_context *loop_open_device(void);

/* Opens the device, and creates a PD, a CQ with 64 entries, and two RC QPs (16 WRs, 2
 * SGEs, 32 bytes of inline data), which it connects and brings to RTS with ACK timeout 14
 * (67 ms), 7 retries and unlimited RNR retries.
 */
void loop_open(struct loop *l);
void loop_close(struct loop *l);

/* The same in single steps. */
struct ibv_qp *loop_create_qp(struct loop *l);
void loop_connect(struct loop *l, struct ibv_qp *qp, uint32_t dest_qpn);

/* Posts a request to qp[0], and returns the status of its completion. If @recv_wc is not
 * NULL, it gets the completion of a receive.
 */
struct loop_request {
	enum ibv_wr_opcode opcode;
	void *local;
	uint32_t len, lkey;
	const void *remote;
	uint32_t rkey;
};
enum ibv_wc_status loop_run(struct loop *l, const struct loop_request *r,
			    struct ibv_wc *recv_wc);
void loop_post_recv(struct loop *l, void *buf, uint32_t len, uint32_t lkey);

#endif /* RN_LOOP_H */
