/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sim_replay.h - `rocin sim --replay FILE`: a recorded run again, in virtual time. */
#ifndef RN_SIM_REPLAY_H
#define RN_SIM_REPLAY_H

#include "rocin/types.h"

struct rn_sim_replay {
	const char *file;
	uint64_t until; /* calls; 0: all */
	bool trace, json;
};

/* Return: 0 (the same), RN_EXIT_FAILURE (a difference, or it cannot be read). */
int rn_sim_replay(const struct rn_sim_replay *args);

#endif /* RN_SIM_REPLAY_H */
