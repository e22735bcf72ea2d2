/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - starts one program of the bank.
 *
 * usage: visibility NAME
 *
 * Each program is a file FOLDER/NAME.c with a main() of its own, which the build calls
 * after the file; programs.h, which the build writes, has X(function, name) for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#define X(function, name) int function(void);
#include "programs.h"
#undef X

static const struct program {
	const char *name;
	int (*run)(void);
} programs[] = {
#define X(function, name) { name, function },
#include "programs.h"
#undef X
};

/* See kit.h for VISIBILITY_CHECK. */
static int run(const struct program *program)
{
	int status = program->run();

	return !status && getenv("VISIBILITY_CHECK") && vis_wrong_seen() ? 1 : status;
}

int main(int argc, char **argv)
{
	const size_t count = sizeof(programs) / sizeof(*programs);

	for (size_t i = 0; argc == 2 && i < count; i++)
		if (!strcmp(programs[i].name, argv[1]))
			return run(&programs[i]);
	fprintf(stderr, "usage: %s NAME, which is one of:\n", argv[0]);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "%s\n", programs[i].name);
	return 64;
}
