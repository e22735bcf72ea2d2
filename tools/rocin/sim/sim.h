/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sim.h - the variants of `rocin sim` other than plain worlds. */
#ifndef RN_SIM_H
#define RN_SIM_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "rocin/types.h"
#include "sim/world/incast.h"

/* -------------------------------------------------------------------------- --incast */
/* Several senders share a link, without and with congestion control. */

struct rn_sim_incast {
	uint32_t senders;
	uint64_t seed;
	const char *plot; /* file for a picture (SVG), or NULL */
	bool json;
};

/* Return: exit status of the program. */
int rn_sim_incast(const struct rn_sim_incast *args);

/* --------------------------------------------------------------------- --connections */
/* Worlds of hosts whose programs connect by rdma_cm, one for each seed. */

struct rn_sim_connections {
	uint64_t first, last; /* range of seeds */
	uint32_t hosts;	      /* 0: a number that depends on the seed */
	bool trace, json, hashes;
};

/* Return: exit status of the program. */
int rn_sim_connections(const struct rn_sim_connections *args);

/* ------------------------------------------------------------------------ --topology */
/* Hosts send through a fat tree of switches, one run for each seed. */

struct rn_sim_fat_tree {
	uint64_t first, last; /* range of seeds */
	uint32_t ports;	      /* ports of a switch; 0: --topology was not given */
	uint32_t hosts;	      /* 0: as many as the tree has room for */
	uint32_t loss_ppm, flaps;
	bool pfc, json, hashes;
};

enum {
	RN_OPT_TOPOLOGY = 0x300,
	RN_OPT_HOSTS,
	RN_OPT_LOSS,
	RN_OPT_FLAPS,
	RN_OPT_PFC,
};

/* Handles these options and ARGP_KEY_END, as an argp parser does. */
error_t rn_sim_fat_tree_parse(struct rn_sim_fat_tree *args, int key, char *arg,
			      struct argp_state *state);

/* Return: exit status of the program. */
int rn_sim_fat_tree(const struct rn_sim_fat_tree *args);

/* -------------------------------------------------------------------------- --replay */
/* Replays a recording in virtual time. */

struct rn_sim_replay {
	const char *file;
	uint64_t until; /* number of calls; 0: all */
	bool trace, json;
};

/* Returns 0 if the replay was the same as the recording, else RN_EXIT_FAILURE. */
int rn_sim_replay(const struct rn_sim_replay *args);

#endif /* RN_SIM_H */
