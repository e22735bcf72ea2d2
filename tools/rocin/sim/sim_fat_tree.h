/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sim_fat_tree.h - `rocin sim --topology=fat-tree:K`: hosts that load a fat tree, seed by
 * seed.
 */
#ifndef RN_SIM_FAT_TREE_H
#define RN_SIM_FAT_TREE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

struct rn_sim_fat_tree {
	uint64_t first, last; /* seeds */
	uint32_t ports;	      /* of a switch; 0: not asked for */
	uint32_t hosts;	      /* 0: as many as there is place for */
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

/* As an argp parser does, for these options and ARGP_KEY_END. */
error_t rn_sim_fat_tree_parse(struct rn_sim_fat_tree *args, int key, char *arg,
			      struct argp_state *state);

/* Return: exit status of the program. */
int rn_sim_fat_tree(const struct rn_sim_fat_tree *args);

#endif /* RN_SIM_FAT_TREE_H */
