/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check_reduction.c - for each knob set of each test in the files: the explorer finds the
 * same final states whether or not it takes commuting moves at once. Tests that are large
 * without reduction are looked at in part.
 */
#include "bank.h"

enum {
	PLAIN_STATES = 4000,
};

static unsigned compared, cut, different;

static bool has_final(const struct rn_litmus_test *t, const struct rn_explore *e,
		      const struct rn_litmus_outcome *outcome)
{
	for (size_t i = 0; i < e->finals; i++)
		if (rn_litmus_same_outcome(t, &e->final[i].outcome, outcome))
			return true;
	return false;
}

static bool is_same(const struct rn_litmus_test *t, const struct rn_explore *with,
		    const struct rn_explore *without)
{
	for (size_t i = 0; i < without->finals; i++)
		if (!has_final(t, with, &without->final[i].outcome))
			return false;
	return !without->complete || with->finals == without->finals;
}

static void compare(const struct rn_litmus_test *t, const struct rn_litmus_setup *setup)
{
	static struct rn_model_plan plan;
	struct rn_explore with = { 0 };
	struct rn_explore without = { .max_states = PLAIN_STATES, .no_reduction = true };
	char knobs[256];

	if (rn_model_plan(&plan, t, setup) || rn_explore(&plan, &with) ||
	    rn_explore(&plan, &without)) {
		fprintf(stderr, "%s: does not fit\n", t->name);
		exit(2);
	}
	compared++;
	cut += !without.complete;
	if (!with.complete || !is_same(t, &with, &without)) {
		rn_litmus_setup_text(t, setup, knobs, sizeof(knobs));
		printf("%s [%s]: %zu final states, %zu without reduction\n", t->name,
		       knobs, with.finals, without.finals);
		different++;
	}
	rn_explore_free(&with);
	rn_explore_free(&without);
}

static void compare_all(const struct rn_litmus_test *t)
{
	struct rn_litmus_setup setup, last;
	char err[256];

	for (unsigned i = 0; i < t->verdicts; i++) {
		if (rn_litmus_verdict_setup(t, &t->verdict[i], &setup, err, sizeof(err)))
			exit(2);
		if (i == 0 || !rn_litmus_same_setup(&setup, &last))
			compare(t, &setup);
		last = setup;
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		for_each_test(argv[i], compare_all);
	printf("%u compared (%u in part), %u different\n", compared, cut, different);
	return different > 0 || compared == 0;
}
