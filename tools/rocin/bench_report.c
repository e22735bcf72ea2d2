/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_report.c - medians, spreads and ratios, as a table or as JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* What a device is meant to reach on a two-core x86 machine over loopback. Told, not
 * enforced: no number on a shared machine is a verdict.
 */
static const struct ratio {
	enum rn_bench_item over, under;
	bool at_least; /* else at most */
	double budget;
	double or_value; /* of @over, in its unit; 0: none */
} ratios[] = {
	{ RN_BENCH_WRITE_BW, RN_BENCH_TCP_BW, true, 1.5, 0 },
	{ RN_BENCH_WRITE_BW, RN_BENCH_UDP_BW, true, 0.55, 0 },
	{ RN_BENCH_SEND_LAT, RN_BENCH_UDP_LAT, false, 2, 0 },
	{ RN_BENCH_WRITE_LAT, RN_BENCH_UDP_LAT, false, 6, 0 },
	{ RN_BENCH_SEND_RATE, RN_BENCH_UDP_RATE, true, 10, 1.5 },
};

struct summary {
	double median, min, max;
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static struct summary summarize(double *value, unsigned n)
{
	qsort(value, n, sizeof(*value), by_value);
	return (struct summary){ .median = (value[(n - 1) / 2] + value[n / 2]) / 2,
				 .min = value[0],
				 .max = value[n - 1] };
}

static struct summary of_item(const struct rn_bench_results *results, unsigned rounds,
			      unsigned item)
{
	double value[RN_BENCH_ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++)
		value[i] = results->value[i][item];
	return summarize(value, rounds);
}

static struct summary of_ratio(const struct rn_bench_results *results, unsigned rounds,
			       const struct ratio *r)
{
	double value[RN_BENCH_ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++)
		value[i] = results->value[i][r->over] / results->value[i][r->under];
	return summarize(value, rounds);
}

static bool measured(const struct rn_bench_args *args, const struct ratio *r)
{
	return args->items & 1u << r->over && args->items & 1u << r->under;
}

static bool within(const struct ratio *r, double ratio, double over)
{
	if (r->or_value > 0 && over >= r->or_value)
		return true;
	return r->at_least ? ratio >= r->budget : ratio <= r->budget;
}

static void print_item(const struct rn_bench_results *results, unsigned rounds,
		       unsigned item)
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[item];
	struct summary s = of_item(results, rounds, item);
	char spread[48];

	snprintf(spread, sizeof(spread), "%.4g .. %.4g", s.min, s.max);
	printf("%-10s %-46s %8.4g %18s %s\n", info->name, info->what, s.median, spread,
	       info->unit);
}

static void print_ratio(const struct rn_bench_results *results, unsigned rounds,
			const struct ratio *r)
{
	const char *over = rn_bench_item_info[r->over].name;
	struct summary s = of_ratio(results, rounds, r);
	double value = of_item(results, rounds, r->over).median;
	char name[32], budget[48], spread[48];
	int n;

	snprintf(name, sizeof(name), "%s / %s", over, rn_bench_item_info[r->under].name);
	n = snprintf(budget, sizeof(budget), "at %s %g", r->at_least ? "least" : "most",
		     r->budget);
	if (r->or_value > 0)
		snprintf(budget + n, sizeof(budget) - (size_t)n, ", or %g %s",
			 r->or_value, rn_bench_item_info[r->over].unit);
	snprintf(spread, sizeof(spread), "%.3g .. %.3g", s.min, s.max);
	printf("%-24s %-32s %8.3g %18s %s\n", name, budget, s.median, spread,
	       within(r, s.median, value) ? "met" : "missed");
}

static void print_text(const struct rn_bench_end *end, const struct rn_bench_args *args,
		       const struct rn_bench_results *results)
{
	bool headed = false;

	printf("%u rounds of %u ms, path MTU %u, %s\n\n", args->rounds, args->slice_ms,
	       end->path_mtu,
	       end->pinned ? "one processor for each process" : "not pinned");
	printf("%-10s %-46s %8s %18s\n", "ITEM", "", "MEDIAN", "MIN .. MAX");
	for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++)
		if (args->items & 1u << i)
			print_item(results, args->rounds, i);
	for (size_t i = 0; i < RN_ARRAY_SIZE(ratios); i++) {
		if (!measured(args, &ratios[i]))
			continue;
		if (!headed)
			printf("\n%-24s %-32s %8s %18s\n", "RATIO", "MEANT TO BE",
			       "MEDIAN", "MIN .. MAX");
		headed = true;
		print_ratio(results, args->rounds, &ratios[i]);
	}
}

static json_t *item_json(const struct rn_bench_results *results, unsigned rounds,
			 unsigned item)
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[item];
	struct summary s = of_item(results, rounds, item);
	json_t *all = json_array();

	for (unsigned i = 0; i < rounds; i++)
		json_array_append_new(all, json_real(results->value[i][item]));
	return json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:o}", "name", info->name,
			 "what", info->what, "unit", info->unit, "median", s.median,
			 "min", s.min, "max", s.max, "rounds", all);
}

static json_t *ratio_json(const struct rn_bench_results *results, unsigned rounds,
			  const struct ratio *r)
{
	struct summary s = of_ratio(results, rounds, r);
	double value = of_item(results, rounds, r->over).median;
	json_t *o = json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:s, s:b}", "over",
			      rn_bench_item_info[r->over].name, "under",
			      rn_bench_item_info[r->under].name, "median", s.median,
			      "min", s.min, "max", s.max, "budget", r->budget, "meant",
			      r->at_least ? "at least" : "at most", "met",
			      within(r, s.median, value));

	if (r->or_value > 0)
		json_object_set_new(o, "or_over_at_least", json_real(r->or_value));
	return o;
}

static int print_json(const struct rn_bench_end *end, const struct rn_bench_args *args,
		      const struct rn_bench_results *results)
{
	json_t *items = json_array(), *list = json_array(), *all;
	int rc;

	for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++)
		if (args->items & 1u << i)
			json_array_append_new(items, item_json(results, args->rounds, i));
	for (size_t i = 0; i < RN_ARRAY_SIZE(ratios); i++)
		if (measured(args, &ratios[i]))
			json_array_append_new(
				list, ratio_json(results, args->rounds, &ratios[i]));
	all = json_pack("{s:s, s:i, s:i, s:i, s:b, s:o, s:o}", "version", ROCIN_VERSION,
			"rounds", (int)args->rounds, "slice_ms", (int)args->slice_ms,
			"path_mtu", (int)end->path_mtu, "pinned", end->pinned, "items",
			items, "ratios", list);
	rc = json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
	return rc;
}

int rn_bench_report(const struct rn_bench_end *end, const struct rn_bench_args *args,
		    const struct rn_bench_results *results)
{
	int rc = 0;

	if (args->json)
		rc = print_json(end, args, results);
	else
		print_text(end, args, results);
	return rc || fflush(stdout) ? -1 : 0;
}
