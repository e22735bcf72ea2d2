/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace.h - a run of the model step by step, and runs that a seed decides. */
#ifndef RN_LITMUS_TRACE_H
#define RN_LITMUS_TRACE_H

#include "explore.h"

/* Where steps go. */
struct rn_trace {
	struct rn_litmus_step *step;
	size_t room;
	size_t count; /* wanted; those beyond `room' are lost */
};

/**
 * rn_trace_replay() - Repeat what rn_explore() found
 * @m:		plan->size bytes to work in; afterwards the final state
 * @choice:	of the same plan
 */
void rn_trace_replay(const struct rn_model_plan *plan, struct rn_model *m,
		     const struct rn_move *choice, size_t choices,
		     struct rn_trace *trace);

/**
 * rn_trace_run() - One run, as the knobs' driver and @seed want it
 * @m:		plan->size bytes to work in; afterwards the final state
 * @trace:	or NULL
 *
 * The same seed gives the same run. A thread that waits for ever does not finish.
 */
void rn_trace_run(const struct rn_model_plan *plan, struct rn_model *m, uint64_t seed,
		  struct rn_litmus_outcome *outcome, struct rn_trace *trace);

#endif /* RN_LITMUS_TRACE_H */
