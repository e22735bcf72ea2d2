/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* html.c - writes the results of `rocin litmus' as an HTML page. */
#include "report.h"

#include <inttypes.h>
#include <string.h>

#include "sim/pcie/model/topology.h"
#include "tools/rocin/common/html.h"

/* Columns of the summary: one for each PCIe mode, and one for all other sets of knobs
 * (PCIe settings).
 */
enum {
	COLUMN_OTHER = RN_PCIE_MODE_COUNT,
	COLUMNS,
};

static unsigned column_of(const struct rn_report_run *run)
{
	for (unsigned i = 0; i < RN_PCIE_MODE_COUNT; i++)
		if (!strcmp(run->knobs, rn_pcie_mode_name(i)))
			return i;
	return COLUMN_OTHER;
}

static const char *class_of(enum rn_report_status status)
{
	if (rn_report_is_failure(status))
		return "bad";
	return status == RN_REPORT_OK ? "ok" : "warn";
}

static const char *expect_name(const struct rn_litmus_verdict *v)
{
	return v->expect == RN_LITMUS_ALLOWED	  ? "allowed"
	       : v->expect == RN_LITMUS_FORBIDDEN ? "forbidden"
						  : "always";
}

/* Returns true if the run has an equal verdict before verdict number @verdict. A file may
 * contain a verdict twice: for the default knobs (PCIe settings), and for the mode that
 * is the default.
 */
static bool is_repeated(const struct rn_report_run *run, size_t verdict)
{
	const struct rn_litmus_verdict *v = run->verdict[verdict].verdict;

	for (size_t i = 0; i < verdict; i++)
		if (run->verdict[i].verdict->expect == v->expect &&
		    !strcmp(run->verdict[i].verdict->text, v->text))
			return true;
	return false;
}

/* ---- Summary ---- */

static void count(const struct rn_report *r, uint64_t by[RN_REPORT_STATUS_COUNT],
		  uint64_t *runs)
{
	for (size_t i = 0; i < r->test_count; i++)
		for (size_t j = 0; j < r->test[i]->run_count; j++) {
			const struct rn_report_run *run = &r->test[i]->run[j];

			*runs += run->runs;
			for (size_t k = 0; k < run->verdict_count; k++)
				by[run->verdict[k].status] += !is_repeated(run, k);
		}
}

static void card(FILE *to, uint64_t number, const char *what, const char *class)
{
	fprintf(to, "<div class='%s'><b>%" PRIu64 "</b>%s</div>\n", class, number, what);
}

static void cards(FILE *to, const struct rn_report *r)
{
	uint64_t by[RN_REPORT_STATUS_COUNT] = { 0 }, runs = 0;

	count(r, by, &runs);
	fputs("<div class='cards'>", to);
	card(to, r->test_count, "tests", "");
	if (runs > 0)
		card(to, runs, "runs", "");
	card(to, by[RN_REPORT_OK], "verdicts as expected", "ok");
	card(to, by[RN_REPORT_FORBIDDEN_SEEN], "forbidden outcomes seen",
	     by[RN_REPORT_FORBIDDEN_SEEN] ? "bad" : "");
	if (by[RN_REPORT_UNREACHABLE])
		card(to, by[RN_REPORT_UNREACHABLE], "allowed, but impossible", "bad");
	if (by[RN_REPORT_UNSEEN])
		card(to, by[RN_REPORT_UNSEEN], "allowed, not seen", "warn");
	if (by[RN_REPORT_CUT])
		card(to, by[RN_REPORT_CUT], "not searched to the end", "warn");
	if (by[RN_REPORT_SKIPPED])
		card(to, by[RN_REPORT_SKIPPED], "cannot be observed here", "warn");
	fputs("</div>\n", to);
}

/* Writes the text of a cell: the letter of the verdict in the test file (A: allowed, F:
 * forbidden), and the result, such as "F ok" or "A 12/100".
 */
static void cell_word(FILE *to, const struct rn_report_run *run,
		      const struct rn_report_verdict *v)
{
	char letter = v->verdict->expect == RN_LITMUS_ALLOWED ? 'A' : 'F';

	fprintf(to, "<span class='%s' title='", class_of(v->status));
	rn_html_text(to, run->knobs);
	fputs(": ", to);
	rn_html_text(to, expect_name(v->verdict));
	fputs(" (", to);
	rn_html_text(to, v->verdict->text);
	fprintf(to, ")'>%c ", letter);
	if (v->status == RN_REPORT_SKIPPED)
		fputs("-", to);
	else if (rn_report_is_failure(v->status))
		fputs("!!", to);
	else if (letter == 'F' || run->runs == 0)
		fputs(v->status == RN_REPORT_CUT ? "?" : "ok", to);
	else
		fprintf(to, "%" PRIu64 "/%" PRIu64, v->seen, run->runs);
	fputs("</span> ", to);
}

static void summary_row(FILE *to, const struct rn_report_test *test, size_t number)
{
	fprintf(to, "<tr><td><a href='#t%zu'>", number);
	rn_html_text(to, test->test.name);
	fputs("</a></td>", to);
	for (unsigned column = 0; column < COLUMNS; column++) {
		fputs("<td>", to);
		for (size_t i = 0; i < test->run_count; i++) {
			const struct rn_report_run *run = &test->run[i];

			for (size_t j = 0; j < run->verdict_count; j++)
				if (column_of(run) == column && !is_repeated(run, j))
					cell_word(to, run, &run->verdict[j]);
		}
		fputs("</td>", to);
	}
	fputs("</tr>\n", to);
}

static void summary(FILE *to, const struct rn_report *r)
{
	fputs("<h2 id='summary'>All tests</h2><p class='dim'>F: an outcome that must not "
	      "occur; A: one that may. <span class='ok'>F ok</span> never seen, <span "
	      "class='bad'>F !!</span> seen, A with how often. The last column has "
	      "single "
	      "knobs changed; point at a cell to see which.</p>\n"
	      "<div class='scroll'><table><thead><tr><th>test</th>",
	      to);
	for (unsigned i = 0; i < RN_PCIE_MODE_COUNT; i++)
		fprintf(to, "<th>%s</th>", rn_pcie_mode_name(i));
	fputs("<th>other knobs</th></tr></thead><tbody>\n", to);
	for (size_t i = 0; i < r->test_count; i++)
		summary_row(to, r->test[i], i);
	fputs("</tbody></table></div>\n", to);
}

/* ---- The program of a test ---- */

/* Writes the name of an agent or memory, such as "B.nic0" or "B.host". */
static void place(FILE *to, const struct rn_litmus_test *t, unsigned node, unsigned agent,
		  bool is_memory)
{
	char name[32];

	rn_html_text(to, t->node[node]);
	fputc('.', to);
	fputs(is_memory && agent == RN_AGENT_CPU
		      ? "host"
		      : rn_agent_name(agent, name, sizeof(name)),
	      to);
}

static void locations(FILE *to, const struct rn_litmus_test *t)
{
	fputs("<p class='dim'>", to);
	for (unsigned i = 0; i < t->locations; i++) {
		const struct rn_litmus_location *loc = &t->location[i];

		fputs("<code>", to);
		rn_html_text(to, loc->name);
		fputs("</code> in memory of ", to);
		place(to, t, loc->node, loc->agent, true);
		fprintf(to, ", at first %" PRId64 "%s; ", loc->init,
			loc->relaxed ? ", relaxed ordering" : "");
	}
	for (unsigned i = 0; i < t->qps; i++) {
		const struct rn_litmus_qp *q = &t->qp[i];

		fputs("QP <code>", to);
		rn_html_text(to, q->name);
		fprintf(to, "</code>%s from ", q->uc ? " (UC)" : "");
		place(to, t, q->node, q->nic, false);
		fputs(" to ", to);
		place(to, t, q->peer, q->peer_nic, false);
		fputs("; ", to);
	}
	fputs("</p>\n", to);
}

static void program(FILE *to, const struct rn_litmus_test *t)
{
	unsigned rows = 0;

	fputs("<div class='scroll'><table><thead><tr>", to);
	for (unsigned i = 0; i < t->threads; i++) {
		fputs("<th>", to);
		rn_html_text(to, t->thread[i].name);
		fputs("</th>", to);
		if (t->thread[i].count > rows)
			rows = t->thread[i].count;
	}
	fputs("</tr></thead><tbody>\n", to);
	for (unsigned row = 0; row < rows; row++) {
		fputs("<tr>", to);
		for (unsigned i = 0; i < t->threads; i++) {
			fputs("<td class='code'>", to);
			if (row < t->thread[i].count)
				rn_html_text(to, t->thread[i].instr[row].text);
			fputs("</td>", to);
		}
		fputs("</tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
	locations(to, t);
}

/* ---- Results for one set of knobs ---- */

static bool is_asked_for(const struct rn_report_run *run, const struct rn_report_state *s)
{
	for (size_t i = 0; i < run->verdict_count; i++)
		if (rn_litmus_holds(run->verdict[i].verdict, &s->outcome))
			return true;
	return false;
}

static void histogram(FILE *to, const struct rn_litmus_test *t,
		      const struct rn_report_run *run)
{
	uint64_t most = 1;

	for (size_t i = 0; i < run->state_count; i++)
		if (run->state[i].count > most)
			most = run->state[i].count;
	fputs("<table class='bars'><tbody>\n", to);
	for (size_t i = 0; i < run->state_count; i++) {
		const struct rn_report_state *s = &run->state[i];
		char text[512];

		rn_litmus_outcome_text(t, &s->outcome, text, sizeof(text));
		fputs("<tr><td class='code'>", to);
		rn_html_text(to, *text ? text : "(nothing looked at)");
		fputs("</td>", to);
		if (run->runs > 0)
			fprintf(to,
				"<td class='number'>%" PRIu64 "</td><td class='bar'>"
				"<div class='%s' style='width:%u%%'></div></td>",
				s->count, is_asked_for(run, s) ? "hit" : "plain",
				(unsigned)(s->count * 100 / most));
		else
			fprintf(to, "<td>%s</td>",
				is_asked_for(run, s) ? "asked for" : "");
		fputs("</tr>\n", to);
	}
	fputs("</tbody></table>\n", to);
}

static void verdict(FILE *to, const struct rn_report_run *run,
		    const struct rn_report_verdict *v)
{
	fprintf(to, "<p>Expected: %s <code>", expect_name(v->verdict));
	rn_html_text(to, v->verdict->text);
	fprintf(to, "</code> &#8212; <span class='%s'>%s</span>", class_of(v->status),
		rn_report_status_name(v->status));
	if (v->status == RN_REPORT_SKIPPED || v->status == RN_REPORT_CUT) {
		fputs(": ", to);
		rn_html_text(to, run->why);
	} else if (run->runs > 0) {
		fprintf(to, ", seen in %" PRIu64 " of %" PRIu64 " runs", v->seen,
			run->runs);
	}
	fputs("</p>\n", to);
	if (v->status == RN_REPORT_FORBIDDEN_SEEN && v->state < run->state_count)
		fprintf(to,
			"<div class='box alarm'>This must not happen. First seen in the "
			"run with seed %" PRIu64 ".</div>\n",
			run->state[v->state].seed);
}

/* ---- A picture and its explanation ---- */

static const struct rn_report_state *state_of(const struct rn_report_run *run,
					      const struct rn_report_verdict *v)
{
	const struct rn_report_state *s =
		v->state < run->state_count ? &run->state[v->state] : NULL;

	return s && s->step_count > 0 ? s : NULL;
}

/* Explains a final state in words, for readers who do not know the model. */
static void explain_outcome(FILE *to, const struct rn_litmus_test *t,
			    const struct rn_report_state *s)
{
	struct rn_html_stale stale;
	const struct rn_litmus_step *load;
	char name[32], value[32];

	if (!rn_html_find_stale(t, s, &stale)) {
		fputs("<p>This is a way to that outcome: read it from the top "
		      "down.</p>\n",
		      to);
		return;
	}
	load = &s->steps[stale.step];
	snprintf(value, sizeof(value), "%" PRId64, load->value);
	fputs("<p>", to);
	rn_html_text(to, t->thread[load->thread].name);
	fputs(" reads ", to);
	rn_html_text(to, t->location[load->loc].name);
	fprintf(to,
		" and finds %s, although the bytes that belong there had been sent: "
		"they were still ",
		value);
	if (stale.where >= RN_LIST_COUNT) {
		fputs("on their way", to);
	} else if (stale.where >= RN_QUEUE_COUNT) {
		fputs("inside the GPU, behind its PCIe interface, where its own threads "
		      "do not see them yet",
		      to);
	} else {
		fputs("in the queue <code>", to);
		rn_html_text(to, rn_queue_name(stale.where, name, sizeof(name)));
		fputs("</code> of the PCIe hierarchy", to);
	}
	fputs(".</p>\n", to);
}

static void legend(FILE *to)
{
	fputs("<p class='dim'>Time goes downward, a row per step. Blue: data on its way; "
	      "green: a completion, dotted to the poll that takes it; orange: a read "
	      "and, "
	      "dashed, its answer. A thick line is a wait in a queue. A name such as A2b "
	      "is the rule of PCIe by which one passed another there. Red: the look that "
	      "came too early.</p>\n",
	      to);
}

static void picture(FILE *to, const struct rn_litmus_test *t,
		    const struct rn_report_run *run, const struct rn_report_verdict *v)
{
	const struct rn_report_state *s = state_of(run, v);

	fprintf(to, "<details%s><summary>How <code>",
		v->status == RN_REPORT_FORBIDDEN_SEEN ? " open='open'" : "");
	rn_html_text(to, v->verdict->text);
	fputs("</code> comes about with <code>", to);
	rn_html_text(to, run->knobs);
	fputs("</code></summary>\n", to);
	explain_outcome(to, t, s);
	rn_html_picture(to, t, s);
	legend(to);
	fputs("</details>\n", to);
}

static void rules(FILE *to, const struct rn_litmus_test *t)
{
	const char *at = t->rules;

	while (*at) {
		size_t len = strcspn(at, " ,");
		const struct rn_litmus_rule *rule = rn_litmus_find_rule(at, len);

		if (rule) {
			fprintf(to, "<div class='box'><b>%s</b> ", rule->name);
			rn_html_text(to, rule->says);
			fputs(".<br/>Remedy: ", to);
			rn_html_text(to, rule->remedy);
			fputs(".</div>\n", to);
		}
		at += len;
		at += strspn(at, " ,");
	}
}

/* ---- The whole page ---- */

/* Writes pictures of outcomes that have a verdict and have occurred: of the first such
 * outcome, and of each further one that is forbidden.
 */
static void pictures(FILE *to, const struct rn_report_test *test)
{
	bool is_shown = false;

	for (size_t i = 0; i < test->run_count; i++)
		for (size_t j = 0; j < test->run[i].verdict_count; j++) {
			const struct rn_report_verdict *v = &test->run[i].verdict[j];
			bool is_failure = v->status == RN_REPORT_FORBIDDEN_SEEN;

			if (!state_of(&test->run[i], v) || (is_shown && !is_failure))
				continue;
			picture(to, &test->test, &test->run[i], v);
			is_shown = true;
		}
}

static void one_test(FILE *to, const struct rn_report_test *test, size_t number)
{
	fprintf(to, "<section><h2 id='t%zu'>", number);
	rn_html_text(to, test->test.name);
	fputs("</h2><p>", to);
	rn_html_text(to, test->test.about);
	fputs("</p>\n", to);
	program(to, &test->test);
	pictures(to, test);
	for (size_t i = 0; i < test->run_count; i++) {
		const struct rn_report_run *run = &test->run[i];

		fputs("<h3><code>", to);
		rn_html_text(to, run->knobs);
		fputs("</code></h3>\n", to);
		for (size_t j = 0; j < run->verdict_count; j++)
			if (!is_repeated(run, j))
				verdict(to, run, &run->verdict[j]);
		if (run->state_count > 0)
			histogram(to, &test->test, run);
	}
	rules(to, &test->test);
	fputs("<p><a href='#summary'>All tests</a></p></section>\n", to);
}

int rn_report_html(const struct rn_report *r, FILE *to)
{
	rn_html_begin(to, "Litmus report", NULL);
	fputs("<p class='dim'>When is data that an RDMA network card has moved really "
	      "there? "
	      "Small programs, each with outcomes that must not occur and outcomes that "
	      "may. Back end: ",
	      to);
	rn_html_text(to, r->backend);
	fprintf(to, ", seed %" PRIu64 ".</p>\n", r->seed);
	cards(to, r);
	summary(to, r);
	for (size_t i = 0; i < r->test_count; i++)
		one_test(to, r->test[i], i);
	rn_html_end(to);
	return ferror(to) ? -1 : 0;
}
