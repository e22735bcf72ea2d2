/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* world.h - N devices, links and a switch in virtual time, and what must hold of them.
 *
 * A plan (plan.h), made from a seed, says what work is posted, what goes wrong and when.
 * Checkers that know nothing of the transport but its packets, its completions and its
 * accesses to memory judge every step:
 *
 * - a work request completes exactly once, in order, with a status that what happened in
 *   the world allows; a completion is lost only for want of room, which ends the queue
 *   pair;
 * - a request that succeeded has had its effect: the bytes at the target are those of the
 *   source, atomics were carried out once, in order, with the result reported;
 * - memory is read and written only where a request under way opens it, and written with
 *   the right bytes, once;
 * - a datagram is delivered by every queue pair that it is for, and by no other, with the
 *   header that it had on the wire;
 * - a memory window or region opens what was bound to it, for what it was bound for,
 *   until it ends; a key that has ended, or never was, opens nothing;
 * - PSN and MSN go forward; what is sent again under a PSN is the same; nothing is
 *   acknowledged that has not arrived; READ depth and window are kept;
 * - the retry counter is charged with what was lost, once, and with timeouts that had run
 *   out; a request is given up after retry_cnt + 1 attempts without an answer, not
 * before;
 * - when no packet is on its way and only a timer could go on, nobody has a packet that
 *   could leave: what waited for room, a receive or its turn has been told, and who asked
 *   for an answer has been given one;
 * - when faults end, what can complete does, and every timer stops; after an error every
 *   request is flushed; of what was destroyed nothing is left in a device.
 *
 * Equal plans give equal runs, on every machine. Threads: no locks; one world belongs to
 * one thread. Nothing is allocated after rn_world_new().
 */
#ifndef RN_WORLD_H
#define RN_WORLD_H

#include "plan.h"
#include "rocin/work_request.h"

struct rn_world;

struct rn_world_result {
	bool failed;
	char why[240];	   /* a sentence, if it failed */
	const char *check; /* which check that was: equal for failures of a kind */
	rn_ns at;	   /* when that was, or when all was quiet */
	uint64_t hash;	   /* of every packet and completion */
	uint64_t events, packets, completions;
	uint64_t done[RN_WR_COUNT];  /* requests that have succeeded, by operation */
	uint64_t datagrams;	     /* UD, received */
	uint64_t steps[RN_DO_COUNT]; /* taken, or tried */
};

/* Is told what happens, a line each. */
typedef void rn_world_trace(void *ctx, rn_ns at, const char *line);

/* NULL: no memory. It can run any number of plans, one after the other. */
struct rn_world *rn_world_new(void);
void rn_world_free(struct rn_world *w);

/* Run @plan to the end or to the first thing that is wrong. @trace: or NULL. */
void rn_world_run(struct rn_world *w, const struct rn_plan *plan, rn_world_trace *trace,
		  void *trace_ctx, struct rn_world_result *result);

/**
 * rn_world_shrink() - Leave out of a failing plan what it does not need to fail
 * @plan:	Fails; becomes smaller
 * @result:	Of the smaller plan's run
 *
 * Takes steps, faults and queue pairs away in halves, quarters ... and single ones, as
 * long as the same check fails.
 *
 * Return: how many runs it took.
 */
unsigned rn_world_shrink(struct rn_world *w, struct rn_plan *plan,
			 struct rn_world_result *result);

#endif /* RN_WORLD_H */
