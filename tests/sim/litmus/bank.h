/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bank.h - every test of some litmus files, one after the other. */
#ifndef RN_TEST_BANK_H
#define RN_TEST_BANK_H

#include <stdio.h>
#include <stdlib.h>

#include "sim/litmus/explore.h"

/* Calls @visit for each test; ends the process with a message if one is not understood.
 * Returns the number of tests.
 */
static inline unsigned for_each_test(const char *file,
				     void (*visit)(const struct rn_litmus_test *t))
{
	static struct rn_litmus_test test;
	static char text[1 << 18];
	FILE *f = fopen(file, "re");
	struct rn_litmus_parser p;
	unsigned count = 0;
	size_t len;
	int rc;

	if (!f) {
		perror(file);
		exit(2);
	}
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	rn_litmus_parser_init(&p, text, len);
	while ((rc = rn_litmus_parse(&p, &test)) == 1) {
		visit(&test);
		count++;
	}
	if (rc < 0) {
		fprintf(stderr, "%s:%u:%u: %s\n", file, p.error_line, p.error_column,
			p.error);
		exit(2);
	}
	return count;
}

#endif /* RN_TEST_BANK_H */
