/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_wire.h - what `rocin litmus` and rocin-litmus say to each other.
 *
 * One stream socket, descriptor 0 of rocin-litmus. A request is answered by a response,
 * `states' states and the steps of each state behind it, then the next request may come.
 * Both are of one build, which the size of the request confirms. End of file ends
 * rocin-litmus.
 */
#ifndef RN_LIVE_WIRE_H
#define RN_LIVE_WIRE_H

#include "sim/litmus/litmus.h"

/* First argument of rocin-litmus: plain verbs, no simulated hierarchy. */
#define RN_LIVE_PLAIN "--plain"

enum {
	RN_LIVE_MAGIC = 0x524c4956,
	RN_LIVE_STATES = 256, /* different final states of a request at most */
	/* TLPs need not wait as long as for programs of people: that costs runs. */
	RN_LIVE_HOLD_NS = 500000,
};

struct rn_live_request {
	uint32_t magic;
	uint32_t size;	/* of this struct */
	bool is_hw;	/* plain verbs on whatever devices there are */
	bool processes; /* one per node */
	bool is_lossy;	/* packets get lost, so requests take their time */
	uint64_t first; /* number of the first run; decides its seed */
	uint64_t runs;	/* at most */
	uint64_t ms;	/* stop early after so many; 0: no */
	uint64_t seed;
	struct rn_litmus_setup setup;
	struct rn_litmus_test test;
};

enum rn_live_status {
	RN_LIVE_OK,
	RN_LIVE_CANNOT, /* not observable here; why says the reason */
	RN_LIVE_FAILED, /* why says what; rocin-litmus ends */
};

struct rn_live_response {
	uint32_t magic;
	uint32_t status; /* enum rn_live_status */
	char why[160];
	uint64_t runs;
	double seconds;
	uint32_t states;
	/* Too many packets got lost: these are the runs before, and rocin-litmus ends. */
	bool is_last;
};

struct rn_live_state {
	struct rn_litmus_outcome outcome;
	uint64_t count;
	uint64_t seed; /* of the first run that ended so */
	uint32_t steps;
};

struct rn_live_step {
	struct rn_litmus_step step; /* its pointer means nothing */
	char rule[96];		    /* "" none */
};

#endif /* RN_LIVE_WIRE_H */
