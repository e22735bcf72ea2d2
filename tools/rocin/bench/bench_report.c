/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_report.c - see bench_report.h */
#include "bench_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct rn_bench_value *rn_bench_at(const struct rn_bench_results *results,
				   const struct rn_bench_plan *plan, unsigned round,
				   unsigned cell)
{
	return &results->value[(size_t)round * plan->cells + cell];
}

const char *rn_bench_verdict_name(enum rn_bench_verdict verdict)
{
	static const char *const name[] = {
		[RN_BENCH_NO_VERDICT] = "",
		[RN_BENCH_REACHED] = "reached",
		[RN_BENCH_MISSED] = "missed",
	};

	return name[verdict];
}

const char *rn_bench_change_name(enum rn_bench_change change)
{
	static const char *const name[] = {
		[RN_BENCH_NOT_COMPARED] = "not in the baseline",
		[RN_BENCH_NOISE] = "noise",
		[RN_BENCH_FASTER] = "faster",
		[RN_BENCH_SLOWER] = "slower",
	};

	return name[change];
}

bool rn_bench_ratio_wants_more(const struct rn_bench_plan *plan,
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

	return ratio->measure == RN_BENCH_TAIL_LATER ? over->p99_9 - under->p99_9
						     : over->value / under->value;
}

static void judge(const struct rn_bench_ratio *ratio, struct rn_bench_ratio_row *row)
{
	bool within = ratio->meant == RN_BENCH_AT_LEAST ? row->value.median >= ratio->bar
							: row->value.median <= ratio->bar;

	if (ratio->meant != RN_BENCH_NOTHING_MEANT && row->value.n)
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
	judge(ratio, row);
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
