/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_litmus.c - litmus files, and the model run on whatever can be understood. */
#include <errno.h>

#include "sim/litmus/explore.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	STATES_MAX = 200, /* of the explorer, per test */
	STEPS_MAX = 64,
	TESTS_MAX = 4, /* of one input that are run */
};

static struct rn_litmus_test test;
static struct rn_model_plan plan;

static bool is_terminated(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

/* Every number that is an index is one. */
static void check_test(const struct rn_litmus_test *t)
{
	require(t->threads > 0 && t->threads <= RN_LITMUS_THREADS);
	require(t->locations <= RN_LITMUS_LOCATIONS && t->qps <= RN_LITMUS_QPS);
	require(t->verdicts > 0 && t->verdicts <= RN_LITMUS_VERDICTS);
	require(is_terminated(t->name, sizeof(t->name)));
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned k = 0; k < t->thread[i].count; k++) {
			const struct rn_litmus_instr *in = &t->thread[i].instr[k];

			require(in->op < RN_LITMUS_OP_COUNT);
			require(is_terminated(in->text, sizeof(in->text)));
			require(!rn_litmus_is_work(in->op) || in->qp < t->qps);
			require(in->count <= RN_LITMUS_ELEMENTS);
		}
	for (unsigned i = 0; i < t->verdicts; i++)
		for (unsigned k = 0; k < t->verdict[i].count; k++)
			require(t->verdict[i].term[k].observed < t->observeds);
}

/* Whatever chance does, the explorer knows. */
static void run(const struct rn_litmus_verdict *v)
{
	struct rn_trace trace = { .room = STEPS_MAX };
	struct rn_explore e = { .max_states = STATES_MAX };
	struct rn_litmus_outcome outcome;
	struct rn_litmus_setup setup;
	struct rn_model *m;
	bool is_known = false;
	char why[256];

	require(rn_litmus_verdict_setup(&test, v, &setup, why, sizeof(why)) == 0);
	if (rn_model_plan(&plan, &test, &setup) != 0)
		return;
	m = malloc(plan.size);
	trace.step = calloc(STEPS_MAX, sizeof(trace.step[0]));
	require(m && trace.step && rn_explore(&plan, &e) == 0);
	rn_trace_run(&plan, m, plan.size, &outcome, &trace);
	for (size_t i = 0; i < e.finals; i++) {
		is_known |= rn_litmus_same_outcome(&test, &e.final[i].outcome, &outcome);
		rn_trace_replay(&plan, m, e.final[i].choice, e.final[i].choices, &trace);
	}
	require(is_known || !e.complete || e.finals == 0);
	rn_explore_free(&e);
	free(trace.step);
	free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rn_litmus_parser p;
	unsigned tests = 0;
	int rc;

	rn_litmus_parser_init(&p, (const char *)data, size);
	while ((rc = rn_litmus_parse(&p, &test)) == 1) {
		check_test(&test);
		if (tests++ < TESTS_MAX)
			run(&test.verdict[test.verdicts - 1]);
	}
	require(rc == 0 || rc == -EINVAL);
	require(rc == 0 || (p.error[0] && is_terminated(p.error, sizeof(p.error))));
	require(rc == 0 || (p.error_line > 0 && p.error_column > 0));
	return 0;
}
