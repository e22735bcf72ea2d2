/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_json.c - the report for programs, and for --baseline. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench_report.h"

enum {
	FORMAT = 2,
	TEXT = 2 * RN_BENCH_CELL_TEXT + 8
};

/* JSON has no NaN. */
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
	if (cell->rcvbuf)
		json_object_set_new(o, "rcvbuf", json_integer(cell->rcvbuf));
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
					      rn_bench_change_name(row->change), "shift",
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
		if (row->verdict != RN_BENCH_NO_VERDICT)
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
	all = json_pack("{s:i, s:s, s:{s:s, s:s, s:i}, s:i, s:i, s:i, s:b, s:o, s:o}",
			"format", FORMAT, "version", ROCIN_VERSION, "machine", "kernel",
			host.release, "architecture", host.machine, "processors",
			(int)sysconf(_SC_NPROCESSORS_ONLN), "rounds",
			(int)r->plan->rounds, "slice_ms", (int)r->plan->slice_ms,
			"path_mtu", (int)r->results->path_mtu, "pinned",
			r->results->pinned, "items", items, "ratios", ratios);
	if (!all)
		return -ENOMEM;
	rc = json_dumpf(all, to, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(all);
	return rc || fputc('\n', to) == EOF ? -EIO : 0;
}
