/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.c - reports the results of conformance scenarios, and which rules of the
 * specification they cover, as text, JSON and JUnit XML.
 */
#include "report.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "tools/rocin/common/html.h"

/* Returns true if a scenario that has passed contains the name of this rule. */
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

bool rn_conform_is_finding(const struct rn_conform *c, size_t i, size_t *count)
{
	*count = 0;
	if (!rn_conform_has_failed(&c->run[i]))
		return false;
	for (size_t k = 0; k < c->count; k++) {
		if (!rn_conform_has_failed(&c->run[k]) ||
		    strcmp(c->run[k].signature, c->run[i].signature) != 0)
			continue;
		if (k < i)
			return false;
		++*count;
	}
	return true;
}

enum {
	/* maximum number of files that are named for each group of failures */
	EXAMPLES = 4,
};

static void print_finding(const struct rn_conform *c, size_t first, size_t count,
			  FILE *to)
{
	const char *lead = "        ";
	size_t named = 0;

	fprintf(to, "%6zu  %s\n", count, c->run[first].signature);
	for (size_t i = first; i < c->count && named < EXAMPLES; i++) {
		const struct rn_conform_case *k = &c->run[i];

		if (!rn_conform_has_failed(k) ||
		    strcmp(k->signature, c->run[first].signature) != 0)
			continue;
		fprintf(to, "%s%s", lead, rn_conform_short_name(k->file));
		lead = ", ";
		named++;
	}
	fputs(count > named ? ", ...\n" : "\n", to);
}

/* Prints the findings: groups of failures with the same signature. Prints nothing if
 * fewer than two scenarios have failed.
 */
static void print_findings(const struct rn_conform *c, FILE *to)
{
	size_t findings = 0, count;

	for (size_t i = 0; i < c->count; i++)
		findings += rn_conform_is_finding(c, i, &count);
	if (findings == 0 || c->failed + c->expected < 2)
		return;
	fprintf(to, "findings, %zu in %zu failures:\n", findings,
		c->failed + c->expected);
	for (size_t i = 0; i < c->count; i++)
		if (rn_conform_is_finding(c, i, &count))
			print_finding(c, i, count, to);
}

/* Prints which of the deviations that the profile lists were seen, and which were not
 * seen although their scenarios were run.
 */
static void print_expected(const struct rn_conform *c, FILE *to)
{
	for (size_t i = 0; i < c->expect.deviations; i++) {
		const struct rn_expect_deviation *d = &c->expect.deviation[i];

		if (d->scenarios)
			fprintf(to, "expected: %s, %u scenarios: %s\n", d->name,
				d->scenarios, d->says ? d->says : "");
	}
	for (size_t i = 0; i < c->expect.failures; i++) {
		const struct rn_expect_failure *f = &c->expect.failure[i];

		if (rn_expect_is_repaired(f))
			fprintf(to, "repaired: %s no longer fails as %s says: %s\n",
				f->file, c->expect.deviation[f->deviation].name,
				f->signature);
	}
}

static void print_totals(const struct rn_conform *c, FILE *to)
{
	fprintf(to, "%zu scenarios: %zu passed, %zu failed", c->count,
		c->count - c->failed - c->expected - c->skipped, c->failed);
	if (c->expected)
		fprintf(to, ", %zu failed as expected", c->expected);
	if (c->skipped)
		fprintf(to, ", %zu skipped", c->skipped);
	if (c->files > c->count)
		fprintf(to, ", %zu not run", c->files - c->count);
	if (c->slowly)
		fprintf(to, "; %zu passed with slower timers only", c->slowly);
	if (c->rule_count)
		fprintf(to, "; %zu of %zu rules covered", covered(c), c->rule_count);
	fputc('\n', to);
}

void rn_conform_print_text(const struct rn_conform *c, FILE *to, bool all)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct rn_conform_case *k = &c->run[i];

		if (k->result.skipped) {
			fprintf(to, "%s: skipped: %s\n", k->file, k->result.what);
		} else if (!k->result.passed) {
			if (all || k->deviation == RN_EXPECT_NONE)
				print_failure(k, to);
		} else if (all) {
			fputs("ok  ", to);
			print_rules(k, to);
			fprintf(to, ": %s\n", k->title);
		}
	}
	print_findings(c, to);
	print_expected(c, to);
	print_uncovered(c, to);
	print_totals(c, to);
}

static json_t *case_json(const struct rn_conform *c, const struct rn_conform_case *k)
{
	json_t *rules = json_array();
	json_t *o;

	for (unsigned i = 0; i < k->rules; i++)
		json_array_append_new(rules, json_string(k->rule[i]));
	o = json_pack("{s:s, s:o, s:s, s:b, s:f}", "file", k->file, "rules", rules,
		      "title", k->title, "passed", k->result.passed, "seconds",
		      k->seconds);
	if (o && k->result.slowly)
		json_object_set_new(o, "slowly", json_true());
	if (o && k->result.skipped)
		json_object_set_new(o, "skipped", json_string(k->result.what));
	else if (o && !k->result.passed)
		json_object_update_new(
			o,
			json_pack("{s:i, s:s, s:s, s:s, s:s, s:b}", "line",
				  (int)k->result.line, "what", k->result.what, "expected",
				  k->result.expected, "came", k->result.came, "signature",
				  k->signature, "lost", k->result.lost));
	if (o && k->deviation != RN_EXPECT_NONE)
		json_object_set_new(o, "deviation",
				    json_string(c->expect.deviation[k->deviation].name));
	if (o && k->trace)
		json_object_set_new(o, "trace", json_string(k->trace));
	return o;
}

int rn_conform_print_json(const struct rn_conform *c, FILE *to)
{
	json_t *cases = json_array(), *missing = json_array();
	json_t *repaired = json_array();
	json_t *o = json_pack("{s:i, s:i, s:i, s:i, s:f, s:o, s:o, s:o}", "scenarios",
			      (int)c->count, "failed", (int)c->failed, "expected",
			      (int)c->expected, "skipped", (int)c->skipped, "seconds",
			      c->seconds, "cases", cases, "repaired", repaired,
			      "rules_without_scenario", missing);
	int rc;

	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(cases, case_json(c, &c->run[i]));
	for (size_t i = 0; i < c->rule_count; i++)
		if (!covers_rule(c, c->rule[i]))
			json_array_append_new(missing, json_string(c->rule[i]));
	for (size_t i = 0; i < c->expect.failures; i++)
		if (rn_expect_is_repaired(&c->expect.failure[i]))
			json_array_append_new(repaired,
					      json_string(c->expect.failure[i].file));
	rc = o ? json_dumpf(o, to, JSON_INDENT(2)) : -1;
	json_decref(o);
	return rc || fputc('\n', to) == EOF ? -1 : 0;
}

int rn_conform_print_listed(const struct rn_scenario *s, const char *name, bool is_first,
			    bool as_json, FILE *to)
{
	json_t *rules = json_array(), *o;
	char words[RN_SCN_RULES * (RN_SCN_NAME + 1)] = "";
	size_t len = 0;
	int rc;

	for (unsigned i = 0; i < s->rules; i++) {
		len += (size_t)snprintf(words + len, sizeof(words) - len, "%s%s",
					i ? " " : "", s->rule[i]);
		json_array_append_new(rules, json_string(s->rule[i]));
	}
	o = json_pack("{s:s, s:o, s:s}", "file", name, "rules", rules, "title", s->title);
	if (as_json) {
		fputs(is_first ? "[\n" : ",\n", to);
		rc = o ? json_dumpf(o, to, 0) : -ENOMEM;
	} else {
		rc = fprintf(to, "%-44s %-8s %s\n", name, words, s->title) < 0;
	}
	json_decref(o);
	return rc ? -EIO : 0;
}

/* Returns the length of the folder in the path of a file, without the slash behind it. */
static size_t folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static void junit_case(FILE *to, const struct rn_conform_case *k)
{
	const struct rn_scene_result *r = &k->result;

	fputs("    <testcase classname=\"", to);
	rn_xml_text(to, k->file);
	fputs("\" name=\"", to);
	rn_xml_text(to, k->title);
	fprintf(to, "\" time=\"%.3f\"", k->seconds);
	if (r->passed) {
		fputs("/>\n", to);
		return;
	}
	if (r->skipped || k->deviation != RN_EXPECT_NONE) {
		fputs(">\n      <skipped message=\"", to);
		rn_xml_text(to, r->skipped ? r->what : "failed, as expected");
		fputs("\"/>\n    </testcase>\n", to);
		return;
	}
	fprintf(to, ">\n      <failure type=\"");
	rn_xml_text(to, k->signature);
	fprintf(to, "\" message=\"line %u: ", r->line);
	rn_xml_text(to, r->what);
	fputs("\">expected ", to);
	rn_xml_text(to, r->expected);
	fputs(", came ", to);
	rn_xml_text(to, r->came);
	fputs("</failure>\n", to);
	if (k->trace) {
		fputs("      <system-out>", to);
		rn_xml_text(to, k->trace);
		fputs("</system-out>\n", to);
	}
	fputs("    </testcase>\n", to);
}

/* Prints a JUnit test suite: the cases, from @first on, whose files are in the folder of
 * case @first. Returns the index after the last of them.
 */
static size_t junit_suite(FILE *to, const struct rn_conform *c, size_t first)
{
	const char *file = c->run[first].file;
	size_t len = folder_of(file), end = first, failed = 0, skipped = 0;
	double seconds = 0;

	for (; end < c->count && folder_of(c->run[end].file) == len &&
	       !strncmp(c->run[end].file, file, len);
	     end++) {
		const struct rn_conform_case *k = &c->run[end];
		bool fails = rn_conform_has_failed(k) && k->deviation == RN_EXPECT_NONE;

		failed += fails;
		skipped += !k->result.passed && !fails;
		seconds += k->seconds;
	}
	fputs("  <testsuite name=\"", to);
	for (size_t i = 0; i < len; i++)
		rn_xml_text(to, (char[]){ file[i], '\0' });
	fprintf(to, "\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
		end - first, failed, skipped, seconds);
	while (first < end)
		junit_case(to, &c->run[first++]);
	fputs("  </testsuite>\n", to);
	return end;
}

int rn_conform_print_junit(FILE *to, const void *cases)
{
	const struct rn_conform *c = cases;

	fprintf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"rocin conform\" tests=\"%zu\" failures=\"%zu\" "
		"skipped=\"%zu\" time=\"%.3f\">\n",
		c->count, c->failed, c->skipped + c->expected, c->seconds);
	for (size_t i = 0; i < c->count;)
		i = junit_suite(to, c, i);
	fputs("</testsuites>\n", to);
	return ferror(to) ? -EIO : 0;
}
