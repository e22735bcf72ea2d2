/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* explore.h - runs of a litmus test: finds all final states by trying every schedule,
 * repeats one of these runs step by step, or makes one random run.
 */
#ifndef RN_LITMUS_EXPLORE_H
#define RN_LITMUS_EXPLORE_H

#include "model.h"

/* A final state, and the choices that lead to it from the initial state. Eager moves are
 * not recorded: the search makes them at once, without a choice, and rn_trace_replay()
 * does the same.
 */
struct rn_explore_final {
	struct rn_litmus_outcome outcome;
	struct rn_move *choice;
	size_t choices;
};

struct rn_explore {
	/* The caller sets the members from here to @no_reduction. */
	/* maximum number of states, after which the search gives up; 0: 20 million */
	uint64_t max_states;
	/* try all interleavings, even those of moves whose order makes no difference */
	bool no_reduction;
	/* rn_explore() sets the following members. */
	uint64_t states; /* number of different states */
	/* Every schedule was tried, so no other final state is possible. */
	bool complete;
	struct rn_explore_final *final;
	size_t finals;
};

/**
 * rn_explore() - Find all final states by depth-first search over all moves
 *
 * Return: 0 with the final states in @e, or -ENOMEM. The caller must call
 * rn_explore_free() in both cases.
 */
int rn_explore(const struct rn_model_plan *plan, struct rn_explore *e);
void rn_explore_free(struct rn_explore *e);

/* ---- Repeated runs and random runs, step by step ---- */

/* Array to which the steps of a run are written. */
struct rn_trace {
	struct rn_litmus_step *step;
	size_t room;
	size_t count; /* number of steps of the run; steps beyond @room are not stored */
};

/**
 * rn_trace_replay() - Repeat a run that rn_explore() found
 * @m:		Out: the final state; plan->size bytes
 * @choice:	choices of rn_explore() for the same plan
 */
void rn_trace_replay(const struct rn_model_plan *plan, struct rn_model *m,
		     const struct rn_move *choice, size_t choices,
		     struct rn_trace *trace);

/**
 * rn_trace_run() - Make one random run, in which the driver that the knobs select chooses
 * the moves of TLPs
 * @m:		Out: the final state; plan->size bytes
 * @trace:	Out: the steps; may be NULL
 *
 * The same seed gives the same run. A thread may still be waiting when the run ends.
 */
void rn_trace_run(const struct rn_model_plan *plan, struct rn_model *m, uint64_t seed,
		  struct rn_litmus_outcome *outcome, struct rn_trace *trace);

#endif /* RN_LITMUS_EXPLORE_H */
