/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* explore.c - the back ends of `rocin litmus` that need no device: `explore' tries every
 * schedule of the model, `model' tries random schedules.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"
#include "sim/litmus/explore.h"
#include "tools/rocin/common/cmd.h"

enum {
	/* maximum number of steps of a witness (the steps that led to a final state);
	 * further steps are left out
	 */
	STEPS = 4096,
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Memory that the back ends of this file use for a run. */
struct bench {
	struct rn_model_plan plan;
	struct rn_model *model;
	struct rn_litmus_step *steps;
};

static void close_bench(struct bench *b)
{
	free(b->model);
	free(b->steps);
	free(b);
}

static struct bench *open_bench(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (b)
		b->steps = calloc(STEPS, sizeof(b->steps[0]));
	if (!b || !b->steps) {
		free(b);
		return NULL;
	}
	return b;
}

/* Prepares the run of a test under one set of PCIe settings (knobs). Returns 0 or -errno.
 * After -E2BIG (the test is too large for the model), the run is marked as skipped.
 */
static int set_up(struct bench *b, const struct rn_report_test *test,
		  struct rn_report_run *run)
{
	int rc = rn_model_plan(&b->plan, &test->test, &run->setup);

	if (rc) {
		rn_report_judge(run, "the test is larger than the model has room for");
		return rc;
	}
	b->model = malloc(b->plan.size);
	return b->model ? 0 : -ENOMEM;
}

static bool is_asked_for(const struct rn_report_run *run,
			 const struct rn_litmus_outcome *outcome)
{
	for (size_t i = 0; i < run->verdict_count; i++)
		if (rn_litmus_holds(run->verdict[i].verdict, outcome) !=
		    (run->verdict[i].verdict->expect == RN_LITMUS_ALWAYS))
			return true;
	return run->verdict_count == 0;
}

static void add_steps(struct bench *b, struct rn_report_state *state,
		      const struct rn_trace *trace)
{
	size_t count = trace->count < STEPS ? trace->count : STEPS;

	rn_report_set_steps(state, b->steps, count);
}

static void add_explored(struct bench *b, const struct rn_litmus_options *o,
			 struct rn_report_run *run, const struct rn_explore *e)
{
	for (size_t i = 0; i < e->finals; i++) {
		const struct rn_explore_final *f = &e->final[i];
		struct rn_trace trace = { .step = b->steps, .room = STEPS };
		struct rn_report_state *state =
			rn_report_add_state(b->plan.test, run, &f->outcome, 0);

		if (!o->witness && !is_asked_for(run, &f->outcome))
			continue;
		rn_trace_replay(&b->plan, b->model, f->choice, f->choices, &trace);
		add_steps(b, state, &trace);
	}
}

static int explore(struct bench *b, const struct rn_litmus_options *o,
		   const struct rn_report_test *test, struct rn_report_run *run)
{
	struct rn_explore e = { .max_states = o->runs };
	int rc = set_up(b, test, run);

	if (rc)
		return rc == -E2BIG ? 0 : rc;
	rc = rn_explore(&b->plan, &e);
	run->states = e.states;
	run->complete = e.complete;
	if (!rc) {
		add_explored(b, o, run, &e);
		rn_report_judge(run, NULL);
	}
	if (!e.complete)
		snprintf(run->why, sizeof(run->why),
			 "stopped after %llu states; --runs raises the bound",
			 (unsigned long long)e.states);
	rn_explore_free(&e);
	return rc;
}

static int draw_runs(struct bench *b, const struct rn_litmus_options *o,
		     const struct rn_report_test *test, struct rn_report_run *run)
{
	int rc = set_up(b, test, run);

	if (rc)
		return rc == -E2BIG ? 0 : rc;
	run->runs = o->runs ? o->runs : 1000;
	for (uint64_t i = 0; i < run->runs; i++) {
		struct rn_trace trace = { .step = b->steps, .room = STEPS };
		struct rn_litmus_outcome outcome;
		struct rn_report_state *state;

		rn_trace_run(&b->plan, b->model, o->seed + i, &outcome, NULL);
		state = rn_report_add_state(&test->test, run, &outcome, o->seed + i);
		if (state->count > 1 || (!o->witness && !is_asked_for(run, &outcome)))
			continue;
		rn_trace_run(&b->plan, b->model, o->seed + i, &outcome, &trace);
		add_steps(b, state, &trace);
	}
	rn_report_judge(run, NULL);
	return 0;
}

typedef int work_fn(struct bench *b, const struct rn_litmus_options *o,
		    const struct rn_report_test *test, struct rn_report_run *run);

static int run_timed(work_fn *work, const struct rn_litmus_options *o,
		     const struct rn_report_test *test, struct rn_report_run *run)
{
	struct bench *b = open_bench();
	double start = now();
	int rc = b ? work(b, o, test, run) : -ENOMEM;

	run->seconds = now() - start;
	if (b)
		close_bench(b);
	if (rc)
		rn_complain("%s: %s", test->test.name, strerror(-rc));
	return rc;
}

int rn_litmus_explore_run(const struct rn_litmus_options *o,
			  const struct rn_report_test *test, struct rn_report_run *run)
{
	return run_timed(explore, o, test, run);
}

int rn_litmus_model_run(const struct rn_litmus_options *o,
			const struct rn_report_test *test, struct rn_report_run *run)
{
	run->seed = o->seed;
	return run_timed(draw_runs, o, test, run);
}
