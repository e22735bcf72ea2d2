/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sim.h - the variants of `rocin sim' that do not simulate random networks of devices
 * (those are in cmd_sim.c).
 */
#ifndef RN_SIM_H
#define RN_SIM_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "rocin/types.h"
#include "sim/fabric/incast.h"

/* --------------------------------------------------------------- rocin sim --incast */
/* Options of `rocin sim --incast': several senders share a link, in one run without and
 * in one with congestion control.
 */

struct rn_sim_incast {
	uint32_t senders;
	uint64_t seed;
	const char *plot; /* name of an SVG file to write, or NULL */
	bool json;
};

/* Runs `rocin sim --incast`. Returns the exit status of the program. */
int rn_sim_incast(const struct rn_sim_incast *args);

/* ---------------------------------------------------------- rocin sim --connections */
/* Options of `rocin sim --connections`: hosts whose programs connect by rdma_cm, one run
 * for each seed.
 */

struct rn_sim_connections {
	uint64_t first, last; /* first and last seed of a range */
	uint32_t hosts;	      /* number of hosts; 0: it depends on the seed */
	bool trace, json, hashes;
};

/* Runs `rocin sim --connections`. Returns the exit status of the program. */
int rn_sim_connections(const struct rn_sim_connections *args);

/* ------------------------------------------------------------- rocin sim --topology */
/* Options of `rocin sim --topology`: hosts send through a fat tree of switches, one run
 * for each seed.
 */

struct rn_sim_fat_tree {
	uint64_t first, last; /* first and last seed of a range */
	/* number of ports of a switch; 0: --topology was not given */
	uint32_t ports;
	uint32_t hosts; /* number of hosts; 0: as many as the tree has ports for */
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

/* Parser function for the options of `rocin sim --topology', as argp calls it for each
 * option. Must also be called with ARGP_KEY_END.
 */
error_t rn_sim_fat_tree_parse(struct rn_sim_fat_tree *args, int key, char *arg,
			      struct argp_state *state);

/* Runs `rocin sim --topology`. Returns the exit status of the program. */
int rn_sim_fat_tree(const struct rn_sim_fat_tree *args);

/* --------------------------------------------------------------- rocin sim --replay */
/* Options of `rocin sim --replay`: a recording is replayed in virtual time. */

struct rn_sim_replay {
	const char *file;
	uint64_t until; /* number of calls to replay; 0: all */
	bool trace, json;
};

/* Replays the recording. Returns 0 if the outputs of the transport are the recorded ones,
 * otherwise RN_EXIT_FAILURE.
 */
int rn_sim_replay(const struct rn_sim_replay *args);

#endif /* RN_SIM_H */
