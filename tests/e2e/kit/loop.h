/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* loop.h - two RC queue pairs of one process, connected to each other, by public verbs.
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
	struct ibv_cq *cq; /* of both QPs */
	struct ibv_qp *qp[2];
	union ibv_gid gid;
};

/* Open the first rocin device. */
struct ibv_context *loop_open_device(void);

/* Device, PD, CQ of 64 entries, two RC QPs (16 WRs, 2 SGEs, 32 bytes inline) in RTS,
 * connected; ACK timeout 14 (67 ms), 7 retries, RNR for ever.
 */
void loop_open(struct loop *l);
void loop_close(struct loop *l);

/* The same steps one by one. */
struct ibv_qp *loop_create_qp(struct loop *l);
void loop_connect(struct loop *l, struct ibv_qp *qp, uint32_t dest_qpn);

/* Post one request of qp[0] and return the status of its completion; receives complete
 * into @recv_wc if it is not NULL.
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
