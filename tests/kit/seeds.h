/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* seeds.h - the main() of a test that runs one random world per seed. */
#ifndef RN_SEEDS_H
#define RN_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct seeds {
	const char *name; /* name of the test, as a sentence */
	/* number of seeds that are run without arguments: 1 to @count */
	uint64_t count;
	void (*run)(uint64_t seed);
	void (*report)(
		/* prints more about the seed that has failed, if only that seed was run;
		 * or NULL
		 */
		void);
};

/* main() of the test. Its arguments are [FIRST_SEED COUNT]. Prints the seed that has
 * failed. Returns the exit status.
 */
int seeds_main(int argc, char **argv, const struct seeds *s);

/* Returns true if only one seed is run, so that recording packets is worth the memory. */
bool seeds_is_single(void);

#endif /* RN_SEEDS_H */
