/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* seeds.h - the main() of a test that runs one random world per seed. */
#ifndef RN_SEEDS_H
#define RN_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct seeds {
	const char *name; /* of the test, a sentence */
	uint64_t count;	  /* seeds 1 .. count without arguments */
	void (*run)(uint64_t seed);
	void (*report)(
		void); /* or NULL: more about the seed that failed, if it ran alone */
};

/* Arguments: [FIRST_SEED COUNT]. Names the seed that failed. Returns the exit status. */
int seeds_main(int argc, char **argv, const struct seeds *s);

/* One seed was asked for: worth keeping a record. */
bool seeds_is_single(void);

#endif /* RN_SEEDS_H */
