/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_stats.h - counters of a target that is a Rocin program of this user and host;
 * no public verb tells them.
 */
#ifndef RN_CONFORM_STATS_H
#define RN_CONFORM_STATS_H

#include "rocin/netdev.h"
#include "rocin/stats.h"

struct rn_rocind;

struct rn_conform_stats {
	int32_t pid; /* of the agent, as it says */
	struct rn_gid gid[2];
	int fd; /* its stats page; -1: not found */
	struct rn_rocind *daemon;
	bool looked;
	uint64_t base[RN_STAT_COUNT];
};

/* Counters count from now on. The page is looked for at the first call. */
void rn_conform_stats_begin(struct rn_conform_stats *c);

/* What was counted since; false: it cannot be seen. A packet to a queue pair that nobody
 * has may be rocind's to drop: it counts like one that the program drops.
 */
bool rn_conform_stats_get(struct rn_conform_stats *c, enum rn_stat stat, uint64_t *value);

void rn_conform_stats_close(struct rn_conform_stats *c);

#endif /* RN_CONFORM_STATS_H */
