/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_team.h - the processes that measure, as the one that gives orders sees them. */
#ifndef RN_BENCH_TEAM_H
#define RN_BENCH_TEAM_H

#include "bench.h"

enum {
	RN_BENCH_TEAMS_MAX = 64
};

struct rn_bench_pair {
	struct rn_bench_shared *shared;
	pid_t pid[2]; /* by role; 0: not started */
	int fd[2];    /* orders and answers; -1: none */
};

/* Packets. */
struct rn_bench_sent {
	uint64_t all, local;
};

/* Cells of one team need the same environment and the same number of processes. */
struct rn_bench_team {
	struct rn_bench_cell like;
	const struct rn_bench_plan *plan;
	unsigned pairs;
	struct rn_bench_pair pair[RN_BENCH_PAIRS_MAX];
	struct rn_bench_sent sent; /* when rn_bench_wire_check() looked last */
};

/* Do these need the same team? */
bool rn_bench_same_team(const struct rn_bench_cell *a, const struct rn_bench_cell *b);

/**
 * rn_bench_team_start() - Fork the processes of a team for cells like @cell
 * @team:	Out; rn_bench_team_end() is due, also after a failure
 * @plan:	Is to stay as long as the team
 *
 * Return: 0 or -errno.
 */
int rn_bench_team_start(struct rn_bench_team *team, const struct rn_bench_args *args,
			const struct rn_bench_plan *plan,
			const struct rn_bench_cell *cell);

/**
 * rn_bench_team_do() - Give an order to all processes of a team and wait for all answers
 * @value:	Out: of the pairs together
 * @answer:	Out: of the last one
 * @err:	Out on failure: one sentence
 *
 * Return: 0, or -1 if one has failed, has died or does not answer in time. The team is of
 * no more use then.
 */
int rn_bench_team_do(struct rn_bench_team *team, const struct rn_bench_order *order,
		     struct rn_bench_value *value, struct rn_bench_answer *answer,
		     char *err, size_t err_len);

/* End and reap them. Return: 0, or -1 if one did not end well. */
int rn_bench_team_end(struct rn_bench_team *team);

#endif /* RN_BENCH_TEAM_H */
