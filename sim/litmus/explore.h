/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* explore.h - runs of a test: all final states, by trying every schedule; one of them
 * step by step; one that a seed decides.
 */
#ifndef RN_LITMUS_EXPLORE_H
#define RN_LITMUS_EXPLORE_H

#include "model.h"

/* A final state, and the choices that lead to it; eager moves between them are not noted,
 * as they follow.
 */
struct rn_explore_final {
	struct rn_litmus_outcome outcome;
	struct rn_move *choice;
	size_t choices;
};

struct rn_explore {
	/* In */
	uint64_t max_states; /* 0: 20 million */
	bool no_reduction;   /* try all interleavings, also of moves that commute */
	/* Out */
	uint64_t states; /* different ones that were seen */
	bool complete;	 /* every schedule was tried: what is not here cannot happen */
	struct rn_explore_final *final;
	size_t finals;
};

/**
 * rn_explore() - Depth first over all moves
 *
 * Return: 0; -ENOMEM. rn_explore_free() in both cases.
 */
int rn_explore(const struct rn_model_plan *plan, struct rn_explore *e);
void rn_explore_free(struct rn_explore *e);

/* ---- Runs step by step: one that was found, and one that a seed decides ---- */

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

#endif /* RN_LITMUS_EXPLORE_H */
