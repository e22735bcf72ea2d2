/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* many.h - two devices with up to thousands of connected RC QPs, in virtual time.
 *
 * QP i of the first device sends to QP i of the second. Both are driven as the engine
 * drives them: a step takes a few packets, looks at the timers if there were no more,
 * lets requests leave, and acknowledgements if nothing came in or many are owed. The
 * memory is that of the process (mem_direct.h), so that what a message costs here is what
 * it costs in a program, less its system calls. For the same reason packets do not go
 * through the virtual network (sim/vnet): they are at once in the receive queue of the
 * other device, as between sockets of one host.
 */
#ifndef RN_MANY_H
#define RN_MANY_H

#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/random.h"
#include "rocin/stats.h"

struct rn_qp;

struct many_cfg {
	unsigned qps;
	unsigned depth;	   /* of each queue, in work requests */
	unsigned len;	   /* bytes of a message, 64 at most */
	unsigned room;	   /* packets that a receive queue holds; what is more is lost */
	unsigned loss_pct; /* of the packets, lost by chance */
	rn_ns step_ns;	   /* that a step of both devices takes */
	bool is_peer_gone; /* the second device has no QPs, and answers nothing */
};

struct many_side {
	struct rn_dev *dev;
	uint64_t stats[RN_STAT_COUNT];
	struct rn_cq send_cq, recv_cq;
	struct rn_cqe *send_ring, *recv_ring;
	struct rn_mr mr;
	uint8_t *memory; /* 64 bytes for each QP */
	struct many_queue *in;
	void *table;
	unsigned unacked;
};

struct many {
	struct many_cfg cfg;
	rn_ns now;
	struct many_side side[2];
	struct rn_qp **qp[2];
	void **block[2];
	struct rn_stats_qp *records[2];
	uint32_t *posted;    /* by QP i of side 0 ... */
	uint32_t *completed; /* ... and with success, */
	uint32_t *received;  /* by QP i of side 1 */
	uint64_t completions, failures;
	uint64_t overflows;	 /* packets that found no room */
	struct rn_random random; /* which packets are lost */
};

/* All QPs connected, all receives posted. Asserts; memory is taken from malloc(). */
struct many *many_new(const struct many_cfg *cfg);
void many_free(struct many *m);

/* Post a SEND to QP @i of side 0; false if its queue is full. */
bool many_post(struct many *m, unsigned i);

/* One step of both devices; completions are taken and receives posted again. */
void many_step(struct many *m);

/* @burst messages through each QP: posted at once, then steps until all have ended. */
void many_round(struct many *m, unsigned burst);

#endif /* RN_MANY_H */
