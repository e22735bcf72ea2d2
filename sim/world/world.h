/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* world.h - a world: simulated devices, links and a switch, and checks of the transport.
 *
 * A plan (plan.h), drawn from a seed, says what work is posted, which faults occur, and
 * when. The checks use only the packets, completions and memory accesses of the
 * transport. They check after every event that:
 *
 * - a work request completes exactly once, in order, with a status that earlier events
 *   explain; a completion is lost only if its CQ is full, and then the QP goes to ERR;
 * - a request that succeeded has had its effect: the bytes at the target are those of
 *   the source, and each atomic was executed once, in order, with the result reported;
 * - memory is accessed only where a request in progress allows it, and each byte is
 *   written once, with the right value;
 * - a datagram is delivered by each QP that it is addressed to, and by no other QP, with
 *   the header that it had when it was sent;
 * - a memory window or region gives access to the memory and for the operations that it
 *   was bound for, until it is invalidated; an invalid key gives no access;
 * - PSNs and MSNs go forward; a retransmitted PSN carries the same bytes; only PSNs that
 *   have arrived are acknowledged; READ depth and window are obeyed;
 * - a requester counts one retry for each loss, and for each timeout that has really
 *   expired; it gives a request up only after retry_cnt + 1 attempts without an answer;
 * - when no packet is in flight and only a timer could continue the run, no device has a
 *   packet to send: a QP that waited for window space, for a receive or for other QPs has
 *   been served, and a requester that requested an acknowledgement has got one;
 * - after the faults have ended, every request that can complete does, and every timer
 *   stops; after an error every request is flushed; a device keeps no memory of
 *   destroyed objects.
 *
 * Equal plans give equal runs on every machine. Threads: no locks; one world belongs to
 * one thread. Nothing is allocated after rn_world_new().
 */
#ifndef RN_WORLD_H
#define RN_WORLD_H

#include "plan.h"
#include "rocin/work_request.h"

struct rn_world;

struct rn_world_result {
	bool failed;
	char why[240]; /* if the run failed: the reason, as text */
	/* Name of the check that failed: the same for all failures of one check. */
	const char *check;
	rn_ns at;      /* time of the failure, or of the last event */
	uint64_t hash; /* hash of all packets and completions */
	uint64_t events, packets, completions;
	/* Number of requests that have succeeded, by operation. */
	uint64_t done[RN_WR_COUNT];
	uint64_t datagrams; /* number of UD datagrams that were received */
	/* Number of steps of each kind that were made or tried. */
	uint64_t steps[RN_DO_COUNT];
};

/* Called with each event of the run as a line of text. */
typedef void rn_world_trace(void *ctx, rn_ns at, const char *line);

/* Allocates a world, which can run any number of plans one after the other. Returns NULL
 * if there is no memory.
 */
struct rn_world *rn_world_new(void);
void rn_world_free(struct rn_world *w);

/* Runs @plan to its end or to the first failed check. @trace may be NULL. */
void rn_world_run(struct rn_world *w, const struct rn_plan *plan, rn_world_trace *trace,
		  void *trace_ctx, struct rn_world_result *result);

/**
 * rn_world_shrink() - Reduce a failing plan to the parts that are needed for the failure
 * @plan:	In: a plan that fails; Out: the reduced plan
 * @result:	Out: the result of the smaller plan's run
 *
 * Leaves out pairs, faults and steps in halves, quarters and so on down to single ones,
 * as long as the same check fails.
 *
 * Return: the number of runs that were made.
 */
unsigned rn_world_shrink(struct rn_world *w, struct rn_plan *plan,
			 struct rn_world_result *result);

#endif /* RN_WORLD_H */
