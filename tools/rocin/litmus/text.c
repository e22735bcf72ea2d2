/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* text.c - writes the results of `rocin litmus' as text (failures first, then each run,
 * then a table) and as JSON.
 */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "report.h"
#include "sim/pcie/model/fabric.h"
#include "sim/pcie/model/topology.h"

/* ----------------------------------------------------------- the table of all tests */
/* A table with a row for each test and a column for each PCIe mode. Cells: "A 2/5"
 * allowed, occurred in 2 of 5 runs; "A 0" allowed, did not occur; "F ok" forbidden, did
 * not occur; "!!" failure; "cut": the explorer stopped at its limit; "skip": the back end
 * cannot run the test.
 */

enum {
	NAME_WIDTH = 40,
	CELL_WIDTH = 11,
};

/* Sets of knobs (PCIe settings) that have a column, because tests of this repository use
 * them. Results under other sets are counted in the last column.
 */
static const struct {
	const char *knobs, *title;
} columns[] = {
	{ "strict", "strict" },
	{ "ibta", "ibta" },
	{ "typical", "typical" },
	{ "typical,gpu.ordering=none", "gpu=none" },
	{ "typical,rc.p2p=split", "split" },
	{ "adversarial", "adversarial" },
};

static int column_of(const struct rn_report_run *run)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(columns); i++)
		if (!strcmp(columns[i].knobs, run->knobs))
			return (int)i;
	return -1;
}

/* Returns the verdict of a run that its cell shows: the first one whose status is not
 * "ok", or else the first one.
 */
static const struct rn_report_verdict *main_verdict(const struct rn_report_run *run)
{
	const struct rn_report_verdict *best = NULL;

	for (size_t i = 0; i < run->verdict_count; i++)
		if (!best || (best->status == RN_REPORT_OK &&
			      run->verdict[i].status != RN_REPORT_OK))
			best = &run->verdict[i];
	return best;
}

static void format_cell(const struct rn_report_run *run, char *buf, size_t len)
{
	const struct rn_report_verdict *v = run ? main_verdict(run) : NULL;
	uint64_t all = 0;

	if (!v) {
		snprintf(buf, len, "%s", run ? "-" : "");
		return;
	}
	for (size_t i = 0; i < run->state_count; i++)
		all += run->state[i].count;
	switch (v->status) {
	case RN_REPORT_FORBIDDEN_SEEN:
		snprintf(buf, len, "F !!");
		return;
	case RN_REPORT_UNREACHABLE:
		snprintf(buf, len, "A !!");
		return;
	case RN_REPORT_UNSEEN:
		snprintf(buf, len, "A 0");
		return;
	case RN_REPORT_CUT:
		snprintf(buf, len, "cut");
		return;
	case RN_REPORT_SKIPPED:
		snprintf(buf, len, "skip");
		return;
	case RN_REPORT_OK:
	case RN_REPORT_STATUS_COUNT:
		break;
	}
	if (v->verdict->expect == RN_LITMUS_ALLOWED)
		snprintf(buf, len, "A %" PRIu64 "/%" PRIu64, v->seen, all);
	else
		snprintf(buf, len, "F ok");
}

static const struct rn_report_run *run_in(const struct rn_report_test *test, int column)
{
	for (size_t i = 0; i < test->run_count; i++)
		if (column_of(&test->run[i]) == column)
			return &test->run[i];
	return NULL;
}

static bool is_used(const struct rn_report *r, int column)
{
	for (size_t i = 0; i < r->test_count; i++)
		if (run_in(r->test[i], column))
			return true;
	return false;
}

/* Writes the text of the last column, such as "2/3": under the sets of PCIe settings
 * (knobs) that have no column, 2 of 3 verdicts are as expected.
 */
static void format_others(const struct rn_report_test *test, char *buf, size_t len)
{
	size_t good = 0, all = 0;

	for (size_t i = 0; i < test->run_count; i++) {
		const struct rn_report_run *run = &test->run[i];

		if (column_of(run) >= 0)
			continue;
		for (size_t k = 0; k < run->verdict_count; k++, all++)
			good += run->verdict[k].status == RN_REPORT_OK;
	}
	if (all > 0)
		snprintf(buf, len, "%zu/%zu", good, all);
	else
		snprintf(buf, len, "-");
}

static void print_table(const struct rn_report *r, FILE *to)
{
	char text[32];
	bool has_others = is_used(r, -1);

	fprintf(to, "%-*s", NAME_WIDTH, "");
	for (size_t k = 0; k < RN_ARRAY_SIZE(columns); k++)
		if (is_used(r, (int)k))
			fprintf(to, " %-*s", CELL_WIDTH, columns[k].title);
	fprintf(to, "%s\n", has_others ? " others" : "");
	for (size_t i = 0; i < r->test_count; i++) {
		fprintf(to, "%-*s", NAME_WIDTH, r->test[i]->test.name);
		for (size_t k = 0; k < RN_ARRAY_SIZE(columns); k++) {
			if (!is_used(r, (int)k))
				continue;
			format_cell(run_in(r->test[i], (int)k), text, sizeof(text));
			fprintf(to, " %-*s", CELL_WIDTH, text);
		}
		if (has_others) {
			format_others(r->test[i], text, sizeof(text));
			fprintf(to, " %s", text);
		}
		fputc('\n', to);
	}
	fputc('\n', to);
}

/* ------------------------------------------------------------------- report as JSON */
static json_t *step_json(const struct rn_litmus_test *t, const struct rn_litmus_step *s)
{
	static const char *const kinds[] = {
		[RN_STEP_INSTR] = "instruction", [RN_STEP_STORE] = "store",
		[RN_STEP_NIC] = "nic",		 [RN_STEP_ISSUE] = "issue",
		[RN_STEP_MOVE] = "move",	 [RN_STEP_PERFORM] = "perform",
		[RN_STEP_COMPLETE] = "complete",
	};
	char agent[16], queue[32];
	json_t *o = json_pack(
		"{s:s, s:s, s:s, s:s}", "kind", kinds[s->kind], "node", t->node[s->node],
		"agent", rn_agent_name(s->agent, agent, sizeof(agent)), "text", s->text);

	if (s->tlp != RN_TLP_NONE)
		json_object_set_new(o, "tlp", json_integer(s->tlp));
	if (s->from < RN_LIST_COUNT)
		json_object_set_new(
			o, "from",
			json_string(rn_queue_name(s->from, queue, sizeof(queue))));
	if (s->to < RN_LIST_COUNT)
		json_object_set_new(
			o, "to", json_string(rn_queue_name(s->to, queue, sizeof(queue))));
	if (s->passed != RN_TLP_NONE)
		json_object_set_new(o, "passed", json_integer(s->passed));
	if (s->rule)
		json_object_set_new(o, "rule", json_string(s->rule));
	return o;
}

static json_t *state_json(const struct rn_litmus_test *t, const struct rn_report_state *s,
			  bool witness)
{
	char text[1024];
	json_t *o, *steps;

	rn_litmus_outcome_text(t, &s->outcome, text, sizeof(text));
	o = json_pack("{s:s, s:I, s:I}", "state", text, "count", (json_int_t)s->count,
		      "seed", (json_int_t)s->seed);
	if (!witness || !s->steps)
		return o;
	steps = json_array();
	for (size_t i = 0; i < s->step_count; i++)
		json_array_append_new(steps, step_json(t, &s->steps[i]));
	json_object_set_new(o, "witness", steps);
	return o;
}

static json_t *verdict_json(const struct rn_report_verdict *v)
{
	static const char *const expects[] = {
		[RN_LITMUS_ALLOWED] = "allowed",
		[RN_LITMUS_FORBIDDEN] = "forbidden",
		[RN_LITMUS_ALWAYS] = "always",
	};

	return json_pack("{s:s, s:s, s:s, s:b, s:I, s:i}", "expect",
			 expects[v->verdict->expect], "condition", v->verdict->text,
			 "status", rn_report_status_name(v->status), "failure",
			 rn_report_is_failure(v->status), "seen", (json_int_t)v->seen,
			 "line", (int)v->verdict->line);
}

static json_t *run_json(const struct rn_litmus_test *t, const struct rn_report_run *run,
			bool witness)
{
	json_t *states = json_array(), *verdicts = json_array(), *o;

	for (size_t i = 0; i < run->state_count; i++)
		json_array_append_new(states, state_json(t, &run->state[i], witness));
	for (size_t i = 0; i < run->verdict_count; i++)
		json_array_append_new(verdicts, verdict_json(&run->verdict[i]));
	o = json_pack("{s:s, s:I, s:I, s:b, s:f, s:o, s:o}", "knobs", run->knobs, "runs",
		      (json_int_t)run->runs, "explored", (json_int_t)run->states,
		      "complete", run->complete, "seconds", run->seconds, "states",
		      states, "verdicts", verdicts);
	if (run->why[0])
		json_object_set_new(o, "why", json_string(run->why));
	return o;
}

int rn_report_json(const struct rn_report *r, FILE *to, bool witness)
{
	json_t *tests = json_array(), *o;
	int rc;

	for (size_t i = 0; i < r->test_count; i++) {
		const struct rn_report_test *test = r->test[i];
		json_t *runs = json_array();

		for (size_t k = 0; k < test->run_count; k++)
			json_array_append_new(
				runs, run_json(&test->test, &test->run[k], witness));
		json_array_append_new(tests,
				      json_pack("{s:s, s:s, s:s, s:s, s:o}", "name",
						test->test.name, "file", test->file,
						"about", test->test.about, "rules",
						test->test.rules, "runs", runs));
	}
	o = json_pack("{s:s, s:I, s:o}", "backend", r->backend, "seed",
		      (json_int_t)r->seed, "tests", tests);
	rc = json_dumpf(o, to, JSON_INDENT(2));
	fputc('\n', to);
	json_decref(o);
	return rc;
}

/* ------------------------------------------------------------------- report as text */
enum {
	DETAILED_RUNS = 12, /* if there are more runs, the report has only the table */
};

/* ---- Steps of a state ---- */

/* Returns true if the step is printed: an instruction, bytes that become visible or are
 * read, or a TLP that passes another.
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

/* ---- Rules that a test names ---- */

/* Prints the remedy of each rule of memory ordering that the test names if @remedies is
 * true, otherwise the rule itself.
 */
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

/* ---- One run of a test ---- */

/* Prints up to three sets of knobs (PCIe settings) under which the file forbids the same
 * outcome.
 */
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

/* ---- Failures ---- */

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
		print_table(r, to);
	print_sum(r, to);
}
