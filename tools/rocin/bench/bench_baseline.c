/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_baseline.c - faster, slower, or noise? */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_report.h"

static const double level = 0.01;   /* of p, for all rows together */
static const double matters = 1.05; /* what is less is nobody's concern */

enum {
	TEXT = 2 * RN_BENCH_CELL_TEXT + 8
};

struct rn_bench_baseline {
	json_t *all;
	json_t *ratios; /* an array; borrowed from all */
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

/* Positive numbers only; what else a file has is left out. Return: how many. */
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

	/* A difference has no ratio to an earlier one. */
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
	return more == rn_bench_ratio_wants_more(report->plan, &report->plan->ratio[i])
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
