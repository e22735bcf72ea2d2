/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report_page.c - writes the results of conformance scenarios as an HTML page, and as
 * Markdown for the developers of the device.
 */
#include <errno.h>
#include <string.h>

#include "report.h"
#include "tools/rocin/common/html.h"

static const char *verdict_of(const struct rn_conform_case *k)
{
	return k->result.skipped		? "skipped"
	       : k->result.passed		? "passed"
	       : k->deviation != RN_EXPECT_NONE ? "expected"
						: "failed";
}

/* ------------------------------------------------------------------- report as HTML */
static void html_row(FILE *to, const char *lead, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(to, "<tr><th>%s</th><td>", lead);
	rn_html_text(to, text);
	fputs("</td></tr>\n", to);
}

static void html_failure(FILE *to, const struct rn_conform *c,
			 const struct rn_conform_case *k)
{
	fputs("<h3>", to);
	rn_html_text(to, k->file);
	fprintf(to, ":%u</h3>\n<table>\n", k->result.line);
	html_row(to, "scenario", k->title);
	html_row(to, "wrong", k->result.what);
	html_row(to, "expected", k->result.expected);
	html_row(to, "came", k->result.came);
	if (k->deviation != RN_EXPECT_NONE)
		html_row(to, "known as", c->expect.deviation[k->deviation].name);
	fputs("</table>\n", to);
	if (!k->trace)
		return;
	/* the lines are written one by one, because rn_html_text() would replace newlines
	 * by '?'
	 */
	fputs("<pre>", to);
	for (const char *at = k->trace; *at;) {
		size_t len = strcspn(at, "\n");
		char line[400];

		snprintf(line, sizeof(line), "%.*s", (int)len, at);
		rn_html_text(to, line);
		fputc('\n', to);
		at += len + (at[len] == '\n');
	}
	fputs("</pre>\n", to);
}

static void html_findings(FILE *to, const struct rn_conform *c)
{
	size_t count;

	fputs("<h2>Findings</h2>\n<table>\n<tr><th>scenarios</th><th>what</th></tr>\n",
	      to);
	for (size_t i = 0; i < c->count; i++) {
		if (!rn_conform_is_finding(c, i, &count))
			continue;
		fprintf(to, "<tr><td>%zu</td><td>", count);
		rn_html_text(to, c->run[i].signature);
		fputs("</td></tr>\n", to);
	}
	fputs("</table>\n", to);
}

static void html_cases(FILE *to, const struct rn_conform *c)
{
	fputs("<h2>Scenarios</h2>\n<table>\n"
	      "<tr><th>verdict</th><th>file</th><th>title</th><th>s</th></tr>\n",
	      to);
	for (size_t i = 0; i < c->count; i++) {
		const struct rn_conform_case *k = &c->run[i];

		fprintf(to, "<tr><td>%s</td><td>", verdict_of(k));
		rn_html_text(to, k->file);
		fputs("</td><td>", to);
		rn_html_text(to, k->result.skipped ? k->result.what : k->title);
		fprintf(to, "</td><td>%.2f</td></tr>\n", k->seconds);
	}
	fputs("</table>\n", to);
}

int rn_conform_print_html(FILE *to, const void *cases)
{
	const struct rn_conform *c = cases;

	rn_html_begin(to, "Conformance", NULL);
	fprintf(to, "<p>%zu scenarios of ", c->count);
	rn_html_text(to, c->target ? c->target : "the transport in virtual time");
	fprintf(to,
		": %zu passed, %zu failed, %zu failed as expected, %zu skipped.</p>\n",
		c->count - c->failed - c->expected - c->skipped, c->failed, c->expected,
		c->skipped);
	if (c->failed + c->expected > 0)
		html_findings(to, c);
	html_cases(to, c);
	if (c->failed + c->expected > 0)
		fputs("<h2>Failures</h2>\n", to);
	for (size_t i = 0; i < c->count; i++)
		if (rn_conform_has_failed(&c->run[i]))
			html_failure(to, c, &c->run[i]);
	rn_html_end(to);
	return ferror(to) ? -EIO : 0;
}

/* --------------------------------------------------------------- report as Markdown */
static void markdown_line(FILE *to, const char *lead, const char *text)
{
	if (text && *text)
		fprintf(to, "- %s: %s\n", lead, text);
}

/* Prints one failure with its packets. */
static void markdown_case(FILE *to, const struct rn_conform_case *k)
{
	const char *name = rn_conform_short_name(k->file);

	fprintf(to, "\n`%s`, line %u: %s\n\n", name, k->result.line, k->title);
	markdown_line(to, "wrong", k->result.what);
	markdown_line(to, "expected", k->result.expected);
	markdown_line(to, "came", k->result.came);
	if (k->trace && *k->trace)
		fprintf(to, "\n```\n%s```\n", k->trace);
}

/* Prints the other scenarios that have failed for the same reason as case @first. */
static void markdown_others(FILE *to, const struct rn_conform *c, size_t first)
{
	const struct rn_conform_case *like = &c->run[first];
	const char *lead = "\nAlso: ";

	for (size_t i = first + 1; i < c->count; i++) {
		const struct rn_conform_case *k = &c->run[i];

		if (!rn_conform_has_failed(k) || k->deviation != like->deviation ||
		    (k->deviation == RN_EXPECT_NONE &&
		     strcmp(k->signature, like->signature) != 0))
			continue;
		fprintf(to, "%s`%s`", lead, rn_conform_short_name(k->file));
		lead = ", ";
	}
	fputs(*lead == '\n' ? "" : "\n", to);
}

static void markdown_deviation(FILE *to, const struct rn_conform *c, size_t index)
{
	const struct rn_expect_deviation *d = &c->expect.deviation[index];
	size_t first = 0;

	if (!d->scenarios)
		return;
	while (c->run[first].deviation != (int)index)
		first++;
	fprintf(to, "\n## %s\n\n%s\n\n", d->name, d->says ? d->says : "");
	markdown_line(to, "rule", d->rule);
	markdown_line(to, "source", d->source);
	fprintf(to, "- reproduce: `rocin conform --target ADDRESS --address OURS %s`\n",
		rn_conform_short_name(c->run[first].file));
	markdown_case(to, &c->run[first]);
	markdown_others(to, c, first);
}

int rn_conform_print_markdown(FILE *to, const void *cases)
{
	const struct rn_conform *c = cases;
	const char *slash = c->profile ? strrchr(c->profile, '/') : NULL;
	const char *profile = slash ? slash + 1 : c->profile;
	size_t count;

	fprintf(to,
		"# Deviations from the rules of RoCEv2%s%s\n\n"
		"%zu scenarios were run: %zu passed, %zu failed as described below, %zu "
		"were skipped because the device does not do what they are about.\n\n"
		"On the device's host: `rocin-conform-agent -d DEVICE -g GID`; it "
		"needs libibverbs alone. On another host: `rocin conform --target "
		"ADDRESS --address OURS FILE`. In the listings `<` is a packet to the "
		"device, `>` one of it; times count from the start of the scenario.\n",
		profile ? ": " : "", profile ? profile : "", c->count,
		c->count - c->failed - c->expected - c->skipped, c->failed + c->expected,
		c->skipped);
	for (size_t i = 0; i < c->expect.deviations; i++)
		markdown_deviation(to, c, i);
	for (size_t i = 0; i < c->count; i++) {
		if (!rn_conform_is_finding(c, i, &count) ||
		    c->run[i].deviation != RN_EXPECT_NONE)
			continue;
		fprintf(to, "\n## Not explained: %s\n", c->run[i].signature);
		markdown_case(to, &c->run[i]);
		markdown_others(to, c, i);
	}
	return ferror(to) ? -EIO : 0;
}
