/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check_bank.c - compares the explorer with the verdicts of litmus files: prints each
 * mismatch and "CHECKS MISMATCHES", and ends with the test that has the first. For models
 * that were broken on purpose, so a model that does not end or asserts is a mismatch too
 * (the caller sees the status).
 */
#include <inttypes.h>
#include <string.h>

#include "bank.h"

enum {
	STATES_MAX = 100 * 1000, /* twenty times what the largest test needs */
};

static unsigned checks, mismatches;

static bool is_right(const struct rn_litmus_verdict *v, const struct rn_explore *e)
{
	size_t hits = 0;

	for (size_t i = 0; i < e->finals; i++)
		hits += rn_litmus_holds(v, &e->final[i].outcome);
	if (!e->complete || e->finals == 0)
		return false;
	if (v->expect == RN_LITMUS_ALLOWED)
		return hits > 0;
	return hits == (v->expect == RN_LITMUS_FORBIDDEN ? 0 : e->finals);
}

static void check_test(const struct rn_litmus_test *t)
{
	static struct rn_model_plan plan;

	if (mismatches)
		return;
	for (unsigned i = 0; i < t->verdicts; i++) {
		const struct rn_litmus_verdict *v = &t->verdict[i];
		struct rn_explore e = { .max_states = STATES_MAX };
		struct rn_litmus_setup setup;
		char err[256];

		checks++;
		if (rn_litmus_verdict_setup(t, v, &setup, err, sizeof(err)) ||
		    rn_model_plan(&plan, t, &setup) || rn_explore(&plan, &e) ||
		    !is_right(v, &e)) {
			mismatches++;
			printf("%s [%s] %s (%s): %" PRIu64 " states\n", t->name, v->knobs,
			       v->expect == RN_LITMUS_ALLOWED ? "allowed" : "forbidden",
			       v->text, e.states);
		}
		rn_explore_free(&e);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc && !mismatches; i++)
		for_each_test(argv[i], check_test);
	printf("%u %u\n", checks, mismatches);
	return mismatches ? 1 : 0;
}
