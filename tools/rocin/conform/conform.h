/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform.h - what `rocin conform` reads, runs and reports. */
#ifndef RN_CONFORM_H
#define RN_CONFORM_H

#include <stdio.h>

#include "sim/scenario/scene.h"

/* A scenario of a file, and how it ended. */
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
	char **rule; /* of the list of rules; NULL: none was given */
	size_t rule_count;
};

/**
 * rn_conform_run() - Run the scenario of a file, or of every *.scn below a directory
 *
 * Files come in the order of their names. Return: 0, or -errno after a complaint, for
 * instance of a file that is not understood.
 */
int rn_conform_run(struct rn_conform *c, const char *path, const struct rn_scene_ops *ops,
		   void *ctx);

/* The rules that a list names: what stands in the first column of its tables.
 * Return: 0 or -errno after a complaint.
 */
int rn_conform_read_rules(struct rn_conform *c, const char *path);

/* Whether a scenario that passed names the rule. */
bool rn_conform_covers(const struct rn_conform *c, const char *rule);

void rn_conform_free(struct rn_conform *c);

/* Failures, then totals and the rules without a scenario; with @all every case. */
void rn_conform_text(const struct rn_conform *c, FILE *to, bool all);
/* 0 or -1: no memory, or the output cannot be written. */
int rn_conform_json(const struct rn_conform *c, FILE *to);
int rn_conform_junit(const struct rn_conform *c, FILE *to);

#endif /* RN_CONFORM_H */
