/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - the results of `rocin conform`, and the reports of them. */
#ifndef RN_CONFORM_REPORT_H
#define RN_CONFORM_REPORT_H

#include <stdio.h>

#include "sim/scenario/scene.h"

/* A scenario, and its result. */
struct rn_conform_case {
	char *file;
	char title[160];
	char rule[RN_SCN_RULES][RN_SCN_NAME];
	unsigned rules;
	struct rn_scene_result result;
};

struct rn_conform {
	struct rn_conform_case *run;
	size_t count, failed, skipped, slowly;
	/* names of the rules in the list that was given; NULL: none was given */
	char **rule;
	size_t rule_count;
};

/* Prints failures, totals, and the rules that no scenario covers. @all: prints each
 * scenario as well.
 */
void rn_conform_print_text(const struct rn_conform *c, FILE *to, bool all);

/* Returns 0, or -1 if there is no memory or the output cannot be written. */
int rn_conform_print_json(const struct rn_conform *c, FILE *to);

/* Prints @cases, a struct rn_conform, as JUnit XML. Returns 0 or -EIO. */
int rn_conform_print_junit(FILE *to, const void *cases);

#endif /* RN_CONFORM_REPORT_H */
