/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check_world.c - for broken.sh: seeds until one fails, and what fails, made small; for
 * hashes.sh, with an argument: seeds and the hashes of their runs.
 */
#include <stdio.h>

#include "sim/fabric/connections.h"
#include "sim/fabric/fat_tree.h"
#include "sim/world/world.h"

enum {
	SEEDS = 6000,
	CONNECTION_SEEDS = 400,
	HASHES = 20,
	TREE_HASHES = 5,
};

static void print_hashes(struct rn_world *w)
{
	struct rn_world_result r;
	struct rn_plan plan;

	for (uint64_t seed = 1; seed <= HASHES; seed++) {
		rn_plan_make(&plan, seed, 0);
		rn_world_run(w, &plan, NULL, NULL, &r);
		printf("%llu %016llx\n", (unsigned long long)seed,
		       (unsigned long long)r.hash);
	}
	rn_world_free(w);
}

/* As rocin sim --topology=fat-tree:4 --loss=0.1% --flaps=2, and again with --pfc. */
static void print_tree_hashes(void)
{
	struct rn_fat_tree_cfg cfg = {
		.k = 4, .hosts = 16, .cc = RN_CC_ON, .loss_ppm = 1000, .flaps = 2
	};
	struct rn_fat_tree_result r;

	for (unsigned pfc = 0; pfc < 2; pfc++)
		for (cfg.seed = 1; cfg.seed <= TREE_HASHES; cfg.seed++) {
			cfg.pfc = pfc;
			if (rn_fat_tree_run(&cfg, &r) == 0)
				printf("%llu %016llx\n", (unsigned long long)cfg.seed,
				       (unsigned long long)r.hash);
		}
}

/* False: one has failed. */
static bool check_connections(void)
{
	struct rn_connections_cfg cfg = { 0 };
	struct rn_connections_result r;

	for (cfg.seed = 1; cfg.seed <= CONNECTION_SEEDS; cfg.seed++) {
		if (rn_connections_run(&cfg, &r) == 0 && !r.failed)
			continue;
		printf("connections, seed %llu: %s\n", (unsigned long long)cfg.seed,
		       r.failed ? r.why : "no memory");
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct rn_world *w = rn_world_new();
	struct rn_world_result r;
	struct rn_plan plan;
	uint32_t size;

	(void)argv;
	if (!w)
		return 2;
	if (argc > 1) {
		print_hashes(w);
		print_tree_hashes();
		return 0;
	}
	if (!check_connections()) {
		rn_world_free(w);
		return 1;
	}
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		rn_plan_make(&plan, seed, 0);
		rn_world_run(w, &plan, NULL, NULL, &r);
		if (!r.failed)
			continue;
		size = rn_plan_size(&plan);
		rn_world_shrink(w, &plan, &r);
		printf("seed %llu, %u of %u parts: %s\n", (unsigned long long)seed,
		       rn_plan_size(&plan), size, r.why);
		return r.failed ? 1 : 2;
	}
	rn_world_free(w);
	return 0;
}
