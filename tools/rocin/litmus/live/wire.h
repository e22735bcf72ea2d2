/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.h - the protocol between `rocin litmus` and rocin-litmus.
 *
 * It uses one stream socket, descriptor 0 of rocin-litmus. A request is answered by a
 * response, followed by `states' states and the steps of each state; then the next
 * request may come. Both programs must be of the same build, which is checked by the size
 * of the request. At end of file rocin-litmus ends.
 */
#ifndef RN_LIVE_WIRE_H
#define RN_LIVE_WIRE_H

#include "sim/litmus/litmus.h"

/* Argument of rocin-litmus with which it uses plain verbs on any device, without the
 * simulated PCIe hierarchy.
 */
#define RN_LIVE_PLAIN "--plain"

enum {
	RN_LIVE_MAGIC = 0x524c4956,
	RN_LIVE_STATES = 256, /* maximum number of different final states */
	/* Longest time in ns for which TLPs are delayed. It is shorter than the default
	 * of the hierarchy, so that more runs are possible in the same time.
	 */
	RN_LIVE_HOLD_NS = 500000,
};

struct rn_live_request {
	uint32_t magic;
	uint32_t size; /* size of this struct */
	/* use plain verbs on any device, without the simulated PCIe hierarchy */
	bool is_hw;
	bool processes; /* each node of the test has a process of its own */
	bool is_lossy;	/* packets are lost on purpose, so that requests take longer */
	/* number of the first run; the seed of each run follows from its number and @seed
	 */
	uint64_t first;
	uint64_t runs; /* maximum number of runs */
	uint64_t ms;   /* time limit of the runs in ms; 0: none */
	uint64_t seed;
	struct rn_litmus_setup setup;
	struct rn_litmus_test test;
};

enum rn_live_status {
	RN_LIVE_OK,
	RN_LIVE_CANNOT, /* the test cannot be run here; `why' has the reason */
	/* the request has failed: `why' has the reason, and rocin-litmus ends */
	RN_LIVE_FAILED,
};

struct rn_live_response {
	uint32_t magic;
	uint32_t status; /* result, an enum rn_live_status */
	char why[160];
	uint64_t runs;
	double seconds;
	uint32_t states;
	/* Too many packets were lost, so rocin-litmus ends after this response. The
	 * response has the results of the runs before the failure.
	 */
	bool is_last;
};

struct rn_live_state {
	struct rn_litmus_outcome outcome;
	uint64_t count;
	uint64_t seed; /* seed of the first run with this final state */
	uint32_t steps;
};

struct rn_live_step {
	/* A copy of the step. Its pointer @rule is not valid in the receiving process, so
	 * the next member contains the text.
	 */
	struct rn_litmus_step step;
	/* Text of the ordering rule that the step uses; empty: it uses none. */
	char rule[96];
};

#endif /* RN_LIVE_WIRE_H */
