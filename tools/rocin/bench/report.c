/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.c - evaluates the results of `rocin bench', and writes them as a table or as
 * JSON.
 */
#include "bench.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "rocin/cpu.h"

static const char *verdict_name(enum rn_bench_verdict verdict)
{
	static const char *const name[] = {
		[RN_BENCH_NO_VERDICT] = "",
		[RN_BENCH_REACHED] = "reached",
		[RN_BENCH_MISSED] = "missed",
		[RN_BENCH_BEYOND_REACH] = "beyond reach",
	};

	return name[verdict];
}

static const char *change_name(enum rn_bench_change change)
{
	static const char *const name[] = {
		[RN_BENCH_NOT_COMPARED] = "not in the baseline",
		[RN_BENCH_NOISE] = "noise",
		[RN_BENCH_FASTER] = "faster",
		[RN_BENCH_SLOWER] = "slower",
	};

	return name[change];
}

/* Returns true if a greater value of this ratio is better. */
static bool ratio_wants_more(const struct rn_bench_plan *plan,
			     const struct rn_bench_ratio *ratio)
{
	if (ratio->meant != RN_BENCH_NOTHING_MEANT)
		return ratio->meant == RN_BENCH_AT_LEAST;
	return rn_bench_more_is_better(
		rn_bench_item_info[plan->cell[ratio->over].item].kind);
}

static double median_of(const struct rn_bench_report *r, double *scratch, unsigned cell,
			size_t field)
{
	for (unsigned i = 0; i < r->plan->rounds; i++) {
		const struct rn_bench_value *v =
			rn_bench_at(r->results, r->plan, i, cell);

		scratch[i] = *(const double *)((const char *)v + field);
	}
	return rn_bench_summarize(scratch, r->plan->rounds).median;
}

static void fill_cell(struct rn_bench_report *r, double *scratch, unsigned cell)
{
	struct rn_bench_cell_row *row = &r->cell[cell];

	row->p50 = median_of(r, scratch, cell, offsetof(struct rn_bench_value, p50));
	row->p99 = median_of(r, scratch, cell, offsetof(struct rn_bench_value, p99));
	row->p99_9 = median_of(r, scratch, cell, offsetof(struct rn_bench_value, p99_9));
	row->cores = median_of(r, scratch, cell, offsetof(struct rn_bench_value, cores));
	row->cpu = median_of(r, scratch, cell, offsetof(struct rn_bench_value, cpu));
	for (unsigned i = 0; i < r->plan->rounds; i++)
		scratch[i] = rn_bench_at(r->results, r->plan, i, cell)->value;
	row->value = rn_bench_summarize(scratch, r->plan->rounds);
}

static double ratio_of(const struct rn_bench_report *r,
		       const struct rn_bench_ratio *ratio, unsigned round)
{
	const struct rn_bench_value *over =
		rn_bench_at(r->results, r->plan, round, ratio->over);
	const struct rn_bench_value *under =
		rn_bench_at(r->results, r->plan, round, ratio->under);

	switch (ratio->measure) {
	case RN_BENCH_TAIL_LATER:
		return over->p99_9 - under->p99_9;
	case RN_BENCH_BEYOND_LINES:
		return over->value - RN_BENCH_LINES * under->value;
	case RN_BENCH_QUOTIENT:
		break;
	}
	return over->value / under->value;
}

/* Returns true if this machine can reach the target of the ratio at all. */
static bool is_reachable(const struct rn_bench_report *r,
			 const struct rn_bench_ratio *ratio)
{
	return !ratio->has_condition ||
	       r->cell[ratio->only_if].value.median >= r->cell[ratio->under].value.median;
}

static void judge_ratio(const struct rn_bench_report *r,
			const struct rn_bench_ratio *ratio,
			struct rn_bench_ratio_row *row)
{
	bool within = ratio->meant == RN_BENCH_AT_LEAST ? row->value.median >= ratio->bar
							: row->value.median <= ratio->bar;

	if (ratio->meant == RN_BENCH_NOTHING_MEANT || row->value.n == 0)
		return;
	if (!is_reachable(r, ratio))
		row->verdict = RN_BENCH_BEYOND_REACH;
	else
		row->verdict = within ? RN_BENCH_REACHED : RN_BENCH_MISSED;
}

static int fill_ratio(struct rn_bench_report *r, double *scratch, unsigned i)
{
	const struct rn_bench_ratio *ratio = &r->plan->ratio[i];
	struct rn_bench_ratio_row *row = &r->ratio[i];

	if (ratio->why_not)
		return 0;
	row->round = malloc(r->plan->rounds * sizeof(*row->round));
	if (!row->round)
		return -ENOMEM;
	for (unsigned k = 0; k < r->plan->rounds; k++)
		scratch[k] = row->round[k] = ratio_of(r, ratio, k);
	row->value = rn_bench_summarize(scratch, r->plan->rounds);
	judge_ratio(r, ratio, row);
	return 0;
}

int rn_bench_report_make(struct rn_bench_report *report, const struct rn_bench_args *args,
			 const struct rn_bench_plan *plan,
			 const struct rn_bench_results *results)
{
	double *scratch = malloc(plan->rounds * sizeof(*scratch));
	int rc = scratch ? 0 : -ENOMEM;

	*report = (struct rn_bench_report){ .args = args,
					    .plan = plan,
					    .results = results };
	for (unsigned i = 0; rc == 0 && i < plan->cells; i++)
		fill_cell(report, scratch, i);
	for (unsigned i = 0; rc == 0 && i < plan->ratios; i++)
		rc = fill_ratio(report, scratch, i);
	free(scratch);
	return rc;
}

void rn_bench_report_free(struct rn_bench_report *report)
{
	for (unsigned i = 0; i < report->plan->ratios; i++)
		free(report->ratio[i].round);
}

/* ---------------------------------------------------------------- report as a table */
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

/* Writes a number with at least three significant digits, and no more decimals than
 * these need.
 */
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

	fprintf(to, "%-*s %-40s %7s %5s %17s %8s %7s %-4s %6s\n", width, "ITEM", "",
		"MEDIAN", "", "QUARTILES", "P99.9", "CPU", "", "COPIES");
	for (unsigned i = 0; i < r->plan->cells; i++) {
		const struct rn_bench_item_info *info =
			&rn_bench_item_info[r->plan->cell[i].item];
		const struct rn_bench_cell_row *row = &r->cell[i];
		char name[RN_BENCH_CELL_TEXT], median[16], spread[40], tail[16] = "";
		char cpu[16], copies[16] = "-";

		rn_bench_cell_write(&r->plan->cell[i], name);
		write_value(row->value.median, median);
		write_spread(&row->value, spread);
		if (!isnan(row->p99_9))
			write_value(row->p99_9, tail);
		write_value(row->cpu, cpu);
		if (rn_bench_copies(&r->plan->cell[i]) != RN_BENCH_COPIES_UNKNOWN)
			snprintf(copies, sizeof(copies), "%u",
				 rn_bench_copies(&r->plan->cell[i]));
		fprintf(to, "%-*s %-40s %7s %-5s %17s %8s %7s %-4s %6s\n", width, name,
			info->what, median, rn_bench_unit(info->kind), spread, tail, cpu,
			rn_bench_cpu_unit(info->kind), copies);
	}
	fputs("\nCPU: time of the processors of both ends, together, for a GB, a round "
	      "trip "
	      "or a message;\nCOPIES: how often they copy each byte. A card would take "
	      "over "
	      "the copies and all but\nposting and polling.\n",
	      to);
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
		snprintf(text, 64, "  %s", change_name(row->change));
	else
		snprintf(text, 64, "  %s (x %.3g, p %.2g)", change_name(row->change),
			 row->shift.ratio, row->shift.p);
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
			fprintf(to, " %-14s %-7s", bar, verdict_name(row->verdict));
		fprintf(to, "%s\n", change);
	}
}

/* Returns the factor by which a ratio has missed its target (1 or more). */
static double lacking(const struct rn_bench_ratio *ratio,
		      const struct rn_bench_ratio_row *row)
{
	return ratio->meant == RN_BENCH_AT_LEAST ? ratio->bar / row->value.median
						 : row->value.median / ratio->bar;
}

/* Prints one sentence that says how many targets were reached, and which measurement is
 * farthest from its target.
 */
static void print_summary(FILE *to, const struct rn_bench_report *r)
{
	unsigned count[RN_BENCH_VERDICTS] = { 0 }, far = 0;
	double most = 0;
	char median[16], bar[32];

	for (unsigned i = 0; i < r->plan->ratios; i++) {
		const struct rn_bench_ratio_row *row = &r->ratio[i];

		count[row->verdict]++;
		if (row->verdict == RN_BENCH_MISSED &&
		    lacking(&r->plan->ratio[i], row) > most) {
			most = lacking(&r->plan->ratio[i], row);
			far = i;
		}
	}
	if (count[RN_BENCH_REACHED] + count[RN_BENCH_MISSED] == 0)
		return;
	fprintf(to, "\n%u of %u bars are reached", count[RN_BENCH_REACHED],
		count[RN_BENCH_REACHED] + count[RN_BENCH_MISSED]);
	if (count[RN_BENCH_MISSED]) {
		write_value(r->ratio[far].value.median, median);
		write_bar(&r->plan->ratio[far], bar);
		fprintf(to, "; farthest away is \"%s\": %s, meant to be %s",
			r->plan->ratio[far].work, median, bar);
	}
	fputs(".\n", to);
}

void rn_bench_print_table(FILE *to, const struct rn_bench_report *r)
{
	fprintf(to,
		"%u rounds of %u ms, path MTU %u, %s, vector instructions of level "
		"%s\n\n",
		r->plan->rounds, r->plan->slice_ms, r->results->path_mtu,
		r->results->pinned ? "pinned to processors" : "not pinned",
		rn_cpu_name(rn_cpu_level()));
	print_cells(to, r);
	print_ratios(to, r);
	print_summary(to, r);
}

/* ------------------------------------------------------------------- report as JSON */
enum {
	FORMAT = 2
};

/* Returns a JSON number, or null for NaN, which JSON cannot express. */
static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static void add_summary(json_t *to, const struct rn_bench_summary *s)
{
	json_object_set_new(to, "median", real(s->median));
	json_object_set_new(to, "q1", real(s->q1));
	json_object_set_new(to, "q3", real(s->q3));
	json_object_set_new(to, "min", real(s->min));
	json_object_set_new(to, "max", real(s->max));
}

static json_t *cell_json(const struct rn_bench_report *r, unsigned i)
{
	static const char *const wire[] = { [RN_BENCH_OVER_UDP] = "udp",
					    [RN_BENCH_OVER_LOCAL] = "local",
					    [RN_BENCH_OVER_BESIDE] = "beside" };
	const struct rn_bench_cell *cell = &r->plan->cell[i];
	const struct rn_bench_item_info *info = &rn_bench_item_info[cell->item];
	const struct rn_bench_cell_row *row = &r->cell[i];
	json_t *all = json_array(), *o;
	char name[RN_BENCH_CELL_TEXT];

	rn_bench_cell_write(cell, name);
	o = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i}", "name", name, "item",
		      info->name, "what", info->what, "unit", rn_bench_unit(info->kind),
		      "size", (int)cell->len, "qps", (int)cell->qps, "processes",
		      (int)(2 * cell->pairs));
	if (info->family == RN_BENCH_VERBS)
		json_object_set_new(o, "wire", json_string(wire[cell->wire]));
	if (cell->threads > 1)
		json_object_set_new(o, "threads", json_integer(cell->threads));
	if (cell->rcvbuf)
		json_object_set_new(o, "rcvbuf", json_integer(cell->rcvbuf));
	json_object_set_new(o, "cores", real(row->cores));
	json_object_set_new(o, "cpu", real(row->cpu));
	json_object_set_new(o, "cpu_unit", json_string(rn_bench_cpu_unit(info->kind)));
	json_object_set_new(o, "copies",
			    rn_bench_copies(cell) == RN_BENCH_COPIES_UNKNOWN
				    ? json_null()
				    : json_integer(rn_bench_copies(cell)));
	add_summary(o, &row->value);
	if (!isnan(row->p50)) {
		json_object_set_new(o, "p50", real(row->p50));
		json_object_set_new(o, "p99", real(row->p99));
		json_object_set_new(o, "p99.9", real(row->p99_9));
	}
	for (unsigned k = 0; k < r->plan->rounds; k++)
		json_array_append_new(
			all, real(rn_bench_at(r->results, r->plan, k, i)->value));
	json_object_set_new(o, "rounds", all);
	return o;
}

static void add_change(const struct rn_bench_report *r,
		       const struct rn_bench_ratio_row *row, json_t *o)
{
	if (r->has_baseline)
		json_object_set_new(o, "baseline",
				    json_pack("{s:s, s:o, s:o}", "change",
					      change_name(row->change), "shift",
					      real(row->shift.ratio), "p",
					      real(row->shift.p)));
}

static json_t *ratio_json(const struct rn_bench_report *r, unsigned i)
{
	const struct rn_bench_ratio *ratio = &r->plan->ratio[i];
	const struct rn_bench_ratio_row *row = &r->ratio[i];
	json_t *o, *all = json_array();
	char name[TEXT];

	rn_bench_ratio_write(r->plan, ratio, name, sizeof(name));
	o = json_pack("{s:s}", "name", name);
	if (ratio->work)
		json_object_set_new(o, "work", json_string(ratio->work));
	if (ratio->meant != RN_BENCH_NOTHING_MEANT) {
		json_object_set_new(o, "meant",
				    json_string(ratio->meant == RN_BENCH_AT_LEAST
							? "at least"
							: "at most"));
		json_object_set_new(o, "bar", real(ratio->bar));
	}
	if (ratio->why_not) {
		json_object_set_new(o, "not_measured", json_string(ratio->why_not));
	} else {
		add_summary(o, &row->value);
		if (row->verdict == RN_BENCH_BEYOND_REACH)
			json_object_set_new(o, "beyond_reach", json_true());
		else if (row->verdict != RN_BENCH_NO_VERDICT)
			json_object_set_new(
				o, "reached",
				json_boolean(row->verdict == RN_BENCH_REACHED));
		add_change(r, row, o);
		for (unsigned k = 0; k < r->plan->rounds; k++)
			json_array_append_new(all, real(row->round[k]));
	}
	json_object_set_new(o, "rounds", all);
	return o;
}

int rn_bench_print_json(FILE *to, const struct rn_bench_report *r)
{
	json_t *items = json_array(), *ratios = json_array(), *all;
	struct utsname host;
	int rc;

	if (uname(&host))
		return -errno;
	for (unsigned i = 0; i < r->plan->cells; i++)
		json_array_append_new(items, cell_json(r, i));
	for (unsigned i = 0; i < r->plan->ratios; i++)
		json_array_append_new(ratios, ratio_json(r, i));
	all = json_pack(
		"{s:i, s:s, s:{s:s, s:s, s:i, s:s}, s:i, s:i, s:i, s:b, s:o, s:o}",
		"format", FORMAT, "version", ROCIN_VERSION, "machine", "kernel",
		host.release, "architecture", host.machine, "processors",
		(int)sysconf(_SC_NPROCESSORS_ONLN), "vector_instructions",
		rn_cpu_name(rn_cpu_level()), "rounds", (int)r->plan->rounds, "slice_ms",
		(int)r->plan->slice_ms, "path_mtu", (int)r->results->path_mtu, "pinned",
		r->results->pinned, "items", items, "ratios", ratios);
	if (!all)
		return -ENOMEM;
	rc = json_dumpf(all, to, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(all);
	return rc || fputc('\n', to) == EOF ? -EIO : 0;
}

/* ------------------------------------------------- comparison with an earlier run */
static const double level = 0.01; /* significance level for all rows together */
/* a ratio that has changed by less than this factor between two runs is reported as noise
 */
static const double matters = 1.05;

struct rn_bench_baseline {
	json_t *all;
	json_t *ratios; /* array of ratios, which `all` owns */
};

struct rn_bench_baseline *rn_bench_baseline_read(const char *path, char *err,
						 size_t err_len)
{
	struct rn_bench_baseline *base = calloc(1, sizeof(*base));
	json_error_t why;

	if (!base) {
		snprintf(err, err_len, "no memory");
		return NULL;
	}
	base->all = json_load_file(path, 0, &why);
	if (!base->all) {
		snprintf(err, err_len, "%s: %s", path, why.text);
		free(base);
		return NULL;
	}
	base->ratios = json_object_get(base->all, "ratios");
	if (json_integer_value(json_object_get(base->all, "format")) != 2 ||
	    !json_is_array(base->ratios)) {
		snprintf(err, err_len,
			 "%s is not what `rocin bench --save` of this version writes",
			 path);
		rn_bench_baseline_free(base);
		return NULL;
	}
	return base;
}

void rn_bench_baseline_free(struct rn_bench_baseline *base)
{
	if (!base)
		return;
	json_decref(base->all);
	free(base);
}

static json_t *find_rounds(const struct rn_bench_baseline *base, const char *name)
{
	json_t *ratio;
	size_t i;

	json_array_foreach(base->ratios, i, ratio)
	{
		const char *has = json_string_value(json_object_get(ratio, "name"));

		if (has && strcmp(has, name) == 0)
			return json_object_get(ratio, "rounds");
	}
	return NULL;
}

/* Copies the elements of a JSON array that are positive numbers to @value, and ignores
 * the others. Returns how many it has copied.
 */
static unsigned copy_rounds(const json_t *rounds, double value[RN_BENCH_ROUNDS_MAX])
{
	unsigned n = 0;
	json_t *one;
	size_t i;

	json_array_foreach(rounds, i, one)
	{
		double v = json_number_value(one);

		if (n < RN_BENCH_ROUNDS_MAX && isfinite(v) && v > 0)
			value[n++] = v;
	}
	return n;
}

static bool compare(const struct rn_bench_baseline *base, struct rn_bench_report *report,
		    unsigned i)
{
	static double now[RN_BENCH_ROUNDS_MAX], then[RN_BENCH_ROUNDS_MAX];
	const struct rn_bench_ratio *ratio = &report->plan->ratio[i];
	struct rn_bench_ratio_row *row = &report->ratio[i];
	char name[TEXT];
	unsigned n;

	/* Only quotients are compared with an earlier run, not differences of
	 * percentiles.
	 */
	if (ratio->why_not || ratio->measure != RN_BENCH_QUOTIENT)
		return false;
	rn_bench_ratio_write(report->plan, ratio, name, sizeof(name));
	n = copy_rounds(find_rounds(base, name), then);
	if (n == 0)
		return false;
	memcpy(now, row->round, report->plan->rounds * sizeof(*now));
	row->shift = rn_bench_compare(now, report->plan->rounds, then, n);
	return true;
}

static enum rn_bench_change change_of(const struct rn_bench_report *report, unsigned i)
{
	const struct rn_bench_shift *shift = &report->ratio[i].shift;
	bool more = shift->ratio > 1;

	if (!(shift->p < level) || (shift->ratio < matters && shift->ratio > 1 / matters))
		return RN_BENCH_NOISE;
	return more == ratio_wants_more(report->plan, &report->plan->ratio[i])
		       ? RN_BENCH_FASTER
		       : RN_BENCH_SLOWER;
}

void rn_bench_baseline_compare(const struct rn_bench_baseline *base,
			       struct rn_bench_report *report)
{
	static double p[RN_BENCH_RATIOS_MAX];
	static unsigned row[RN_BENCH_RATIOS_MAX];
	unsigned n = 0;

	report->has_baseline = true;
	for (unsigned i = 0; i < report->plan->ratios; i++)
		if (compare(base, report, i)) {
			p[n] = report->ratio[i].shift.p;
			row[n++] = i;
		}
	rn_bench_holm(p, n);
	for (unsigned k = 0; k < n; k++) {
		report->ratio[row[k]].shift.p = p[k];
		report->ratio[row[k]].change = change_of(report, row[k]);
	}
}
