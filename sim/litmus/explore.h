/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* explore.h - all final states of a test, by trying every schedule. */
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

#endif /* RN_LITMUS_EXPLORE_H */
