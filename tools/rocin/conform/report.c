/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.c - reports the results of scenarios, and which rules they cover, as text, JSON
 * and JUnit XML.
 */
#include "report.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "tools/rocin/common/html.h"

/* Does any scenario that passed name the rule? */
static bool covers_rule(const struct rn_conform *c, const char *rule)
{
	for (size_t i = 0; i < c->count; i++)
		for (unsigned k = 0; c->run[i].result.passed && k < c->run[i].rules; k++)
			if (!strcmp(c->run[i].rule[k], rule))
				return true;
	return false;
}

static void print_rules(const struct rn_conform_case *k, FILE *to)
{
	for (unsigned i = 0; i < k->rules; i++)
		fprintf(to, "%s%s", i ? ", " : "", k->rule[i]);
}

static void print_failure(const struct rn_conform_case *k, FILE *to)
{
	const struct rn_scene_result *r = &k->result;

	fprintf(to, "%s:%u: %s\n", k->file, r->line, r->what);
	if (*r->expected)
		fprintf(to, "    expected  %s\n", r->expected);
	if (*r->came)
		fprintf(to, "    came      %s\n", r->came);
	fputs("    rule      ", to);
	print_rules(k, to);
	fprintf(to, ": %s\n", k->title);
}

static size_t covered(const struct rn_conform *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->rule_count; i++)
		n += covers_rule(c, c->rule[i]);
	return n;
}

static void print_uncovered(const struct rn_conform *c, FILE *to)
{
	const char *lead = "rules without a scenario that passes:";

	for (size_t i = 0; i < c->rule_count; i++) {
		if (covers_rule(c, c->rule[i]))
			continue;
		fprintf(to, "%s %s", lead, c->rule[i]);
		lead = "";
	}
	if (!*lead)
		fputc('\n', to);
}

void rn_conform_print_text(const struct rn_conform *c, FILE *to, bool all)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct rn_conform_case *k = &c->run[i];

		if (k->result.skipped) {
			fprintf(to, "%s: skipped: %s\n", k->file, k->result.what);
		} else if (!k->result.passed) {
			print_failure(k, to);
		} else if (all) {
			fputs("ok  ", to);
			print_rules(k, to);
			fprintf(to, ": %s\n", k->title);
		}
	}
	print_uncovered(c, to);
	fprintf(to, "%zu scenarios: %zu passed, %zu failed", c->count,
		c->count - c->failed - c->skipped, c->failed);
	if (c->skipped)
		fprintf(to, ", %zu skipped", c->skipped);
	if (c->slowly)
		fprintf(to, "; %zu passed with slower timers only", c->slowly);
	if (c->rule_count)
		fprintf(to, "; %zu of %zu rules covered", covered(c), c->rule_count);
	fputc('\n', to);
}

static json_t *case_json(const struct rn_conform_case *k)
{
	json_t *rules = json_array();
	json_t *o;

	for (unsigned i = 0; i < k->rules; i++)
		json_array_append_new(rules, json_string(k->rule[i]));
	o = json_pack("{s:s, s:o, s:s, s:b}", "file", k->file, "rules", rules, "title",
		      k->title, "passed", k->result.passed);
	if (o && k->result.slowly)
		json_object_set_new(o, "slowly", json_true());
	if (o && k->result.skipped)
		json_object_set_new(o, "skipped", json_string(k->result.what));
	else if (o && !k->result.passed)
		json_object_update_new(
			o, json_pack("{s:i, s:s, s:s, s:s}", "line", (int)k->result.line,
				     "what", k->result.what, "expected",
				     k->result.expected, "came", k->result.came));
	return o;
}

int rn_conform_print_json(const struct rn_conform *c, FILE *to)
{
	json_t *cases = json_array(), *missing = json_array();
	json_t *o = json_pack("{s:i, s:i, s:i, s:o, s:o}", "scenarios", (int)c->count,
			      "failed", (int)c->failed, "skipped", (int)c->skipped,
			      "cases", cases, "rules_without_scenario", missing);
	int rc;

	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(cases, case_json(&c->run[i]));
	for (size_t i = 0; i < c->rule_count; i++)
		if (!covers_rule(c, c->rule[i]))
			json_array_append_new(missing, json_string(c->rule[i]));
	rc = o ? json_dumpf(o, to, JSON_INDENT(2)) : -1;
	json_decref(o);
	return rc || fputc('\n', to) == EOF ? -1 : 0;
}

int rn_conform_print_junit(FILE *to, const void *cases)
{
	const struct rn_conform *c = cases;

	fprintf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"rocin conform\" tests=\"%zu\" failures=\"%zu\" "
		"skipped=\"%zu\">\n",
		c->count, c->failed, c->skipped);
	for (size_t i = 0; i < c->count; i++) {
		const struct rn_conform_case *k = &c->run[i];

		fputs("  <testcase classname=\"", to);
		rn_xml_text(to, k->file);
		fputs("\" name=\"", to);
		rn_xml_text(to, k->title);
		if (k->result.skipped) {
			fputs("\">\n    <skipped message=\"", to);
			rn_xml_text(to, k->result.what);
			fputs("\"/>\n  </testcase>\n", to);
			continue;
		}
		fputs(k->result.passed ? "\"/>\n" : "\">\n    <failure message=\"", to);
		if (k->result.passed)
			continue;
		fprintf(to, "line %u: ", k->result.line);
		rn_xml_text(to, k->result.what);
		fputs("\">expected ", to);
		rn_xml_text(to, k->result.expected);
		fputs(", came ", to);
		rn_xml_text(to, k->result.came);
		fputs("</failure>\n  </testcase>\n", to);
	}
	fputs("</testsuite>\n", to);
	return ferror(to) ? -EIO : 0;
}
