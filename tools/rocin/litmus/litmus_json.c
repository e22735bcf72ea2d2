/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_json.c - the report of `rocin litmus` as JSON. */
#include <jansson.h>

#include "litmus_report.h"
#include "sim/pcie/model/fabric.h"

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
