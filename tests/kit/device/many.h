/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* many.h - two devices with up to thousands of connected RC QPs, in virtual time, for
 * measurements.
 *
 * QP i of the first device sends to QP i of the second one. A step does for each device
 * what the provider's engine does: it receives a few packets, processes the timers if
 * there were no more packets, and sends requests. It sends acknowledgements if no packet
 * came or if many must be sent. The devices access the memory of the process
 * (mem_direct.h), so a message takes as much time as in a program, except for system
 * calls. For the same reason packets do not pass through the virtual network (sim/vnet):
 * they get into the receive queue of the other device at once, as between sockets of one
 * host.
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
	unsigned depth; /* depth of each send and receive queue, in work requests */
	unsigned len;	/* length of a message in bytes, at most 64 */
	/* number of packets that a socket's receive queue has room for; further packets
	 * are lost
	 */
	unsigned room;
	unsigned loss_pct; /* percentage of packets that are lost at random */
	rn_ns step_ns;	   /* virtual time in ns that a step takes */
	bool is_peer_gone; /* the second device has no QPs, so it answers nothing */
};

struct many_side {
	struct rn_dev *dev;
	uint64_t stats[RN_STAT_COUNT];
	struct rn_cq send_cq, recv_cq;
	struct rn_cqe *send_ring, *recv_ring;
	struct rn_mr mr;
	uint8_t *memory; /* memory of all QPs; each has 64 bytes */
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
	uint32_t *posted; /* number of requests that QP i of side 0 has posted */
	/* number of requests of QP i of side 0 that have completed with success */
	uint32_t *completed;
	uint32_t *received; /* number of messages that QP i of side 1 has received */
	uint64_t completions, failures;
	/* number of packets that were lost because a receive queue was full */
	uint64_t overflows;
	struct rn_random random; /* chooses the packets that are lost */
};

/* Creates both devices, connects all QPs and posts all receives. Fails an assertion if
 * that is not possible.
 */
struct many *many_new(const struct many_cfg *cfg);
void many_free(struct many *m);

/* Posts a SEND to QP @i of side 0. Returns false if the send queue is full. */
bool many_post(struct many *m, unsigned i);

/* Makes one step of both devices. Polls the completions, and posts a new receive for each
 * that has completed.
 */
void many_step(struct many *m);

/* Posts @burst messages to each QP, and makes steps until all of them have completed. */
void many_round(struct many *m, unsigned burst);

#endif /* RN_MANY_H */
