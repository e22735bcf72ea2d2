/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_text.c - the report of `rocin litmus` for a terminal: what is forbidden first,
 * then each run, then a table.
 */
#include <inttypes.h>
#include <string.h>

#include "litmus_report.h"
#include "litmus_table.h"
#include "sim/pcie/model/topology.h"

enum {
	DETAILED_RUNS = 12, /* more than these are only in the table */
};

/* ---- Witness ---- */

/* What tells the story: instructions, bytes that become visible or are taken, and who
 * overtook whom.
 */
static bool is_telling(const struct rn_litmus_step *s)
{
	switch ((enum rn_litmus_step_kind)s->kind) {
	case RN_STEP_INSTR:
	case RN_STEP_PERFORM:
		return true;
	case RN_STEP_MOVE:
		return s->rule != NULL;
	case RN_STEP_STORE:
	case RN_STEP_NIC:
	case RN_STEP_ISSUE:
	case RN_STEP_COMPLETE:
		break;
	}
	return false;
}

static void print_step(const struct rn_litmus_test *t, const struct rn_litmus_step *s,
		       FILE *to)
{
	char agent[16];

	fprintf(to, "  %s.%-6s %s", t->node[s->node],
		rn_agent_name(s->agent, agent, sizeof(agent)), s->text);
	if (s->rule)
		fprintf(to, "   (%s)", s->rule);
	fputc('\n', to);
}

static void print_witness(const struct rn_litmus_test *t,
			  const struct rn_report_state *state, FILE *to, bool all)
{
	char text[1024];

	if (!state->steps)
		return;
	rn_litmus_outcome_text(t, &state->outcome, text, sizeof(text));
	fprintf(to, "Witness of %s%s\n", text,
		all ? "" : " (condensed; --witness has every step)");
	for (size_t i = 0; i < state->step_count; i++)
		if (all || is_telling(&state->steps[i]))
			print_step(t, &state->steps[i], to);
}

/* ---- Rules ---- */

/* Calls @visit for each rule that the test names. */
static void print_rules(const struct rn_litmus_test *t, FILE *to, bool remedies)
{
	const char *at = t->rules;

	while (*at) {
		size_t len = strcspn(at, " ,");
		const struct rn_litmus_rule *rule = rn_litmus_find_rule(at, len);

		if (rule && remedies)
			fprintf(to, "Remedy: %s (%s)\n", rule->remedy, rule->name);
		else if (rule)
			fprintf(to, "Rule %s: %s\n", rule->name, rule->says);
		at += len;
		at += strspn(at, " ,");
	}
}

/* ---- One run ---- */

/* Other knobs under which the file forbids the same. */
static void print_forbidden_in(const struct rn_litmus_test *t,
			       const struct rn_litmus_verdict *v, FILE *to)
{
	const char *before = "   forbidden in: ";
	unsigned count = 0;

	for (unsigned i = 0; i < t->verdicts && count < 3; i++) {
		const struct rn_litmus_verdict *other = &t->verdict[i];

		if (other->expect != RN_LITMUS_FORBIDDEN ||
		    strcmp(other->text, v->text) != 0)
			continue;
		fprintf(to, "%s%s", before, other->knobs[0] ? other->knobs : "typical");
		before = "; ";
		count++;
	}
}

static void print_state(const struct rn_litmus_test *t, const struct rn_report_run *run,
			const struct rn_report_state *s, FILE *to)
{
	const struct rn_litmus_verdict *about = NULL;
	char text[1024];

	for (size_t i = 0; i < run->verdict_count && !about; i++)
		if (rn_litmus_holds(run->verdict[i].verdict, &s->outcome))
			about = run->verdict[i].verdict;
	rn_litmus_outcome_text(t, &s->outcome, text, sizeof(text));
	fprintf(to, "%9" PRIu64 " %s> %s", s->count, about ? "*" : ":", text);
	if (about && about->expect == RN_LITMUS_ALLOWED)
		print_forbidden_in(t, about, to);
	fputc('\n', to);
}

static uint64_t all_seen(const struct rn_report_run *run)
{
	uint64_t all = 0;

	for (size_t i = 0; i < run->state_count; i++)
		all += run->state[i].count;
	return all;
}

static void print_verdict(const struct rn_report_run *run,
			  const struct rn_report_verdict *v, FILE *to)
{
	static const char *const expects[] = {
		[RN_LITMUS_ALLOWED] = "Allowed",
		[RN_LITMUS_FORBIDDEN] = "Forbidden",
		[RN_LITMUS_ALWAYS] = "Always",
	};
	bool is_forall = v->verdict->expect == RN_LITMUS_ALWAYS;
	uint64_t all = all_seen(run), yes = is_forall ? all - v->seen : v->seen;
	const char *observed = "Sometimes";

	if (yes == 0)
		observed = "Never";
	else if (yes == all)
		observed = "Always";
	fprintf(to,
		"Expected %s (%s)   Observed %s %" PRIu64 " %" PRIu64 "   line %u   %s\n",
		expects[v->verdict->expect], v->verdict->text, observed, yes, all - yes,
		v->verdict->line, rn_report_status_name(v->status));
}

static void print_extent(const struct rn_report *r, const struct rn_report_run *run,
			 FILE *to)
{
	if (run->why[0])
		fprintf(to, "Note: %s\n", run->why);
	if (run->runs > 0)
		fprintf(to, "Back end %s: %" PRIu64 " runs from seed %" PRIu64 "\n",
			r->backend, run->runs, run->seed);
	else if (run->states > 0)
		fprintf(to, "Explorer: %" PRIu64 " states, %zu final, %s\n", run->states,
			run->state_count, run->complete ? "complete" : "not complete");
}

static void print_run(const struct rn_report *r, const struct rn_report_test *test,
		      const struct rn_report_run *run, FILE *to, bool witness)
{
	const struct rn_litmus_test *t = &test->test;

	fprintf(to, "Test %s  %s\n", t->name, run->knobs);
	fprintf(to, "Histogram (%zu states)\n", run->state_count);
	for (size_t i = 0; i < run->state_count; i++)
		print_state(t, run, &run->state[i], to);
	for (size_t i = 0; i < run->verdict_count; i++)
		print_verdict(run, &run->verdict[i], to);
	print_extent(r, run, to);
	for (size_t i = 0; i < run->state_count; i++)
		print_witness(t, &run->state[i], to, witness);
	print_rules(t, to, false);
	print_rules(t, to, true);
	fputc('\n', to);
}

/* ---- What is wrong ---- */

static void print_failure(const struct rn_report_test *test,
			  const struct rn_report_run *run,
			  const struct rn_report_verdict *v, FILE *to)
{
	const struct rn_report_state *s =
		v->state == SIZE_MAX ? NULL : &run->state[v->state];

	fprintf(to, "!! %s  %s (%s)  %s\n   %s:%u\n", rn_report_status_name(v->status),
		test->test.name, v->verdict->text, run->knobs, test->file,
		v->verdict->line);
	if (s && run->runs > 0)
		fprintf(to, "   again: --seed=%" PRIu64 " --runs=1\n", s->seed);
	if (s)
		print_witness(&test->test, s, to, true);
	print_rules(&test->test, to, true);
	fputc('\n', to);
}

static size_t print_failures(const struct rn_report *r, FILE *to)
{
	size_t failures = 0;

	for (size_t i = 0; i < r->test_count; i++)
		for (size_t k = 0; k < r->test[i]->run_count; k++) {
			const struct rn_report_run *run = &r->test[i]->run[k];

			for (size_t n = 0; n < run->verdict_count; n++) {
				if (!rn_report_is_failure(run->verdict[n].status))
					continue;
				print_failure(r->test[i], run, &run->verdict[n], to);
				failures++;
			}
		}
	return failures;
}

static void print_sum(const struct rn_report *r, FILE *to)
{
	size_t count[RN_REPORT_STATUS_COUNT] = { 0 }, all = 0, allowed = 0, seen = 0;

	for (size_t i = 0; i < r->test_count; i++)
		for (size_t k = 0; k < r->test[i]->run_count; k++) {
			const struct rn_report_run *run = &r->test[i]->run[k];

			for (size_t n = 0; n < run->verdict_count; n++, all++) {
				const struct rn_report_verdict *v = &run->verdict[n];

				count[v->status]++;
				if (v->verdict->expect != RN_LITMUS_ALLOWED)
					continue;
				allowed++;
				seen += v->seen > 0;
			}
		}
	fprintf(to, "%zu tests, %zu verdicts:", r->test_count, all);
	for (unsigned i = 0; i < RN_REPORT_STATUS_COUNT; i++)
		if (count[i] > 0)
			fprintf(to, " %zu %s", count[i], rn_report_status_name(i));
	fprintf(to, "; %zu of %zu allowed states seen\n", seen, allowed);
}

void rn_report_text(const struct rn_report *r, FILE *to, bool witness)
{
	size_t runs = 0;

	print_failures(r, to);
	for (size_t i = 0; i < r->test_count; i++)
		runs += r->test[i]->run_count;
	for (size_t i = 0; i < r->test_count && (witness || runs <= DETAILED_RUNS); i++)
		for (size_t k = 0; k < r->test[i]->run_count; k++)
			print_run(r, r->test[i], &r->test[i]->run[k], to, witness);
	if (runs > 1)
		rn_report_table(r, to);
	print_sum(r, to);
}
