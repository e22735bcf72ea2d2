/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_table.c - the report for people. */
#include <math.h>
#include <string.h>

#include "bench_report.h"

enum {
	TEXT = 2 * RN_BENCH_CELL_TEXT + 8
};

static int widest_cell(const struct rn_bench_plan *plan)
{
	size_t most = 4;

	for (unsigned i = 0; i < plan->cells; i++) {
		char text[RN_BENCH_CELL_TEXT];

		rn_bench_cell_write(&plan->cell[i], text);
		if (strlen(text) > most)
			most = strlen(text);
	}
	return (int)most;
}

static int widest_ratio(const struct rn_bench_plan *plan)
{
	size_t most = 5;

	for (unsigned i = 0; i < plan->ratios; i++) {
		char text[TEXT];

		rn_bench_ratio_write(plan, &plan->ratio[i], text, sizeof(text));
		if (!plan->ratio[i].why_not && strlen(text) > most)
			most = strlen(text);
	}
	return (int)most;
}

static int widest_work(const struct rn_bench_plan *plan)
{
	size_t most = 0;

	for (unsigned i = 0; i < plan->ratios; i++)
		if (plan->ratio[i].work && strlen(plan->ratio[i].work) > most)
			most = strlen(plan->ratio[i].work);
	return (int)most;
}

/* Three significant digits at least, and none behind the point that say nothing. */
static void write_value(double v, char text[16])
{
	if (isnan(v))
		snprintf(text, 16, "-");
	else if (fabs(v) >= 1000)
		snprintf(text, 16, "%.0f", v);
	else
		snprintf(text, 16, "%.3g", v);
}

static void write_spread(const struct rn_bench_summary *s, char text[40])
{
	char low[16], high[16];

	write_value(s->q1, low);
	write_value(s->q3, high);
	snprintf(text, 40, "%s .. %s", low, high);
}

static void print_cells(FILE *to, const struct rn_bench_report *r)
{
	int width = widest_cell(r->plan);

	fprintf(to, "%-*s %-40s %7s %5s %17s %8s\n", width, "ITEM", "", "MEDIAN", "",
		"QUARTILES", "P99.9");
	for (unsigned i = 0; i < r->plan->cells; i++) {
		const struct rn_bench_item_info *info =
			&rn_bench_item_info[r->plan->cell[i].item];
		const struct rn_bench_cell_row *row = &r->cell[i];
		char name[RN_BENCH_CELL_TEXT], median[16], spread[40], tail[16] = "";

		rn_bench_cell_write(&r->plan->cell[i], name);
		write_value(row->value.median, median);
		write_spread(&row->value, spread);
		if (!isnan(row->p99_9))
			write_value(row->p99_9, tail);
		fprintf(to, "%-*s %-40s %7s %-5s %17s %8s\n", width, name, info->what,
			median, rn_bench_unit(info->kind), spread, tail);
	}
}

static void write_bar(const struct rn_bench_ratio *ratio, char text[32])
{
	*text = '\0';
	if (ratio->meant != RN_BENCH_NOTHING_MEANT)
		snprintf(text, 32, "at %s %.3g",
			 ratio->meant == RN_BENCH_AT_LEAST ? "least" : "most",
			 ratio->bar);
}

static void write_change(const struct rn_bench_report *r,
			 const struct rn_bench_ratio_row *row, char text[64])
{
	*text = '\0';
	if (!r->has_baseline)
		return;
	if (row->change == RN_BENCH_NOT_COMPARED)
		snprintf(text, 64, "  %s", rn_bench_change_name(row->change));
	else
		snprintf(text, 64, "  %s (x %.3g, p %.2g)",
			 rn_bench_change_name(row->change), row->shift.ratio,
			 row->shift.p);
}

static void print_ratios(FILE *to, const struct rn_bench_report *r)
{
	int work = widest_work(r->plan), width = widest_ratio(r->plan);

	if (r->plan->ratios == 0)
		return;
	fprintf(to, "\n%-*s%-*s %7s %17s %-14s%s\n", work ? work + 1 : 0,
		work ? "WORK" : "", width, "RATIO", "MEDIAN", "QUARTILES",
		work ? "BAR" : "", r->has_baseline ? "  AGAINST THE BASELINE" : "");
	for (unsigned i = 0; i < r->plan->ratios; i++) {
		const struct rn_bench_ratio *ratio = &r->plan->ratio[i];
		const struct rn_bench_ratio_row *row = &r->ratio[i];
		char name[TEXT], median[16], spread[40], bar[32], change[64];

		write_bar(ratio, bar);
		if (ratio->why_not) {
			fprintf(to, "%-*s %-*s %7s %17s %-14s %s\n", work, ratio->work,
				width, "", "", "", bar, ratio->why_not);
			continue;
		}
		rn_bench_ratio_write(r->plan, ratio, name, sizeof(name));
		write_value(row->value.median, median);
		write_spread(&row->value, spread);
		write_change(r, row, change);
		fprintf(to, "%-*s%-*s %7s %17s", work ? work + 1 : 0,
			ratio->work ? ratio->work : "", width, name, median, spread);
		if (work)
			fprintf(to, " %-14s %-7s", bar,
				rn_bench_verdict_name(row->verdict));
		fprintf(to, "%s\n", change);
	}
}

void rn_bench_print_table(FILE *to, const struct rn_bench_report *r)
{
	fprintf(to, "%u rounds of %u ms, path MTU %u, %s\n\n", r->plan->rounds,
		r->plan->slice_ms, r->results->path_mtu,
		r->results->pinned ? "pinned to processors" : "not pinned");
	print_cells(to, r);
	print_ratios(to, r);
}
