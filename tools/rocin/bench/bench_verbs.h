/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_verbs.h - what the shapes of work of a program that uses verbs share.
 *
 * The programs of perftest are the model: both ends poll, a stream of requests is posted
 * one by one and each is signaled, WRITE ping-pong polls for its completion and then
 * spins on memory.
 */
#ifndef RN_BENCH_VERBS_H
#define RN_BENCH_VERBS_H

#include "bench_link.h"

enum {
	RN_BENCH_POLL_BATCH = 16
};

/* Messages leave from the start of the buffer; what arrives lies from rx_offset on in
 * rx_slots pieces, taken in turn. In a stream of big messages the two are the same.
 */
struct rn_bench_verbs {
	struct rn_bench_link link;
	enum ibv_wr_opcode opcode;
	bool streams, events;
	uint32_t len;
	uint32_t tx_depth; /* requests under way, of all queue pairs together */
	uint32_t rx_depth; /* receives of each queue pair */
	uint32_t rx_slots;
	size_t rx_offset, rx_stride;
	uint32_t burst;		    /* requests posted to a queue pair in one turn */
	uint32_t share;		    /* requests under way of one queue pair, at most */
	uint32_t next_qp;	    /* whose turn it is */
	uint32_t *under_way;	    /* of each queue pair */
	uint64_t posted, completed; /* requests */
	uint64_t received;	    /* messages, since the slice began */
	uint64_t next_recv;	    /* receives posted, ever */
	uint64_t sequence;	    /* of ping-pong */
};

/* Operations of struct rn_bench_ops. */
int rn_bench_verbs_open(struct rn_bench_end *end, void **state);
void rn_bench_verbs_close(void *state);

uint8_t *rn_bench_rx_slot(const struct rn_bench_verbs *v, uint64_t i);

/* One request to a queue pair; its completion, if signaled, stands for @count of them.
 * Return: 0, or -1 after rn_bench_fail().
 */
int rn_bench_post(struct rn_bench_end *end, struct rn_bench_verbs *v, uint32_t qp,
		  bool signaled, uint32_t count);

/* One ibv_poll_cq(); counts, and posts a receive for each that was used. Return: entries,
 * or -1 after rn_bench_fail().
 */
int rn_bench_poll(struct rn_bench_end *end, struct rn_bench_verbs *v);

/* Poll until the sender says stop and nothing comes any more. Return: 0 or -1. */
int rn_bench_serve(struct rn_bench_end *end, struct rn_bench_verbs *v);

#endif /* RN_BENCH_VERBS_H */
