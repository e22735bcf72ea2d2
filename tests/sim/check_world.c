/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check_world.c - for broken.sh: seeds until one fails, and what fails, made small; for
 * hashes.sh, with an argument: seeds and the hashes of their runs.
 */
#include <stdio.h>

#include "world.h"

enum {
	SEEDS = 6000,
	HASHES = 20
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
		return 0;
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
