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

/* ---- The watcher that turns what a model does into steps ---- */

/* TLPs on their way, to number them. */
struct rn_tracer {
	const struct rn_model_plan *plan;
	const struct rn_model *m;
	struct rn_trace *trace;
	uint16_t tlps; /* seen so far */
	unsigned known;
	struct {
		uint64_t tag;
		uint8_t node;
		bool is_write;
		uint16_t number;
	} tlp[RN_LITMUS_NODES * RN_MODEL_TLPS];
};

void rn_tracer_step(void *tracer, const struct rn_litmus_step *step,
		    const struct rn_tlp *tlp);

#endif /* RN_LITMUS_TRACE_H */
