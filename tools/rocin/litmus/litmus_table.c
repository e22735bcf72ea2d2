/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_table.c - test x mode. A cell: "A 2/5" allowed, seen in 2 of 5; "A 0" allowed,
 * not seen; "F ok" forbidden and not seen; "!!" a failure; "cut", "skip".
 */
#include <inttypes.h>
#include <string.h>

#include "litmus_table.h"

enum {
	NAME_WIDTH = 40,
	CELL_WIDTH = 11,
};

/* Knob sets of the bank that have a column; the rest is counted in the last one. */
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

/* The verdict of a run that says most: the worst, or else the first. */
static const struct rn_report_verdict *main_verdict(const struct rn_report_run *run)
{
	const struct rn_report_verdict *best = NULL;

	for (size_t i = 0; i < run->verdict_count; i++)
		if (!best || (best->status == RN_REPORT_OK &&
			      run->verdict[i].status != RN_REPORT_OK))
			best = &run->verdict[i];
	return best;
}

static void cell(const struct rn_report_run *run, char *buf, size_t len)
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

/* "3/3": verdicts of knob sets without a column that are as expected. */
static void others(const struct rn_report_test *test, char *buf, size_t len)
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

void rn_report_table(const struct rn_report *r, FILE *to)
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
			cell(run_in(r->test[i], (int)k), text, sizeof(text));
			fprintf(to, " %-*s", CELL_WIDTH, text);
		}
		if (has_others) {
			others(r->test[i], text, sizeof(text));
			fprintf(to, " %s", text);
		}
		fputc('\n', to);
	}
	fputc('\n', to);
}
