/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* seeds.c - the main() of a test that runs one random world per seed. */
#include "seeds.h"

#include "tests/kit/device/pair.h"

#include <stdlib.h>

static const struct seeds *spec;
static uint64_t first = 1, count, running;

static void run_all(void **state)
{
	(void)state;
	for (uint64_t s = first; s < first + count; s++) {
		running = s;
		spec->run(s);
	}
	running = 0;
}

bool seeds_is_single(void)
{
	return count == 1;
}

int seeds_main(int argc, char **argv, const struct seeds *s)
{
	const struct CMUnitTest tests[] = { { .name = s->name, .test_func = run_all } };
	int failed;

	spec = s;
	count = s->count;
	if (argc == 3) {
		first = strtoull(argv[1], NULL, 0);
		count = strtoull(argv[2], NULL, 0);
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (!running)
		return failed;
	if (count == 1 && s->report)
		s->report();
	print_error("failed with seed %llu\n", (unsigned long long)running);
	return failed;
}
