/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - evaluates the results of a run and writes them in several forms. */
#ifndef RN_BENCH_REPORT_H
#define RN_BENCH_REPORT_H

#include <stdio.h>

#include "bench.h"

enum rn_bench_verdict {
	RN_BENCH_NO_VERDICT, /* the ratio has no target, or was not measured */
	RN_BENCH_REACHED,
	RN_BENCH_MISSED
};

enum rn_bench_change {
	RN_BENCH_NOT_COMPARED, /* there is no baseline, or it lacks this ratio */
	RN_BENCH_NOISE,
	RN_BENCH_FASTER,
	RN_BENCH_SLOWER
};

/* Summary of a cell over the rounds. */
struct rn_bench_cell_row {
	struct rn_bench_summary value; /* in the item's unit */
	/* Medians over the rounds in us; NAN if there are no round trips. */
	double p50, p99, p99_9;
};

/* Summary of the ratio of two cells over the rounds. */
struct rn_bench_ratio_row {
	double *round; /* one value per round; NULL: not measured */
	struct rn_bench_summary value;
	enum rn_bench_verdict verdict;
	enum rn_bench_change change;
	/* Change since the baseline; its p-value is corrected for the number of rows. */
	struct rn_bench_shift shift;
};

struct rn_bench_report {
	const struct rn_bench_args *args;
	const struct rn_bench_plan *plan;
	const struct rn_bench_results *results;
	bool has_baseline;
	struct rn_bench_cell_row cell[RN_BENCH_CELLS_MAX];
	struct rn_bench_ratio_row ratio[RN_BENCH_RATIOS_MAX];
};

/* Evaluates the results. Returns 0 or -ENOMEM; rn_bench_report_free() must be called in
 * both cases.
 */
int rn_bench_report_make(struct rn_bench_report *report, const struct rn_bench_args *args,
			 const struct rn_bench_plan *plan,
			 const struct rn_bench_results *results);
void rn_bench_report_free(struct rn_bench_report *report);

void rn_bench_print_table(FILE *to, const struct rn_bench_report *report);

/* Writes the report as JSON. Returns 0 or -errno. */
int rn_bench_print_json(FILE *to, const struct rn_bench_report *report);

/* Draws bandwidth, latency and rate for each message size as SVG; a band marks
 * the quartiles.
 */
void rn_bench_draw(FILE *to, const struct rn_bench_report *report);

/* ---- Comparison with an earlier run ---- */

struct rn_bench_baseline; /* the ratios of an earlier run */

/**
 * rn_bench_baseline_read() - Read a file that --save has written
 * @err:	Out on failure: error text
 *
 * Return: the baseline, to be freed by rn_bench_baseline_free(); NULL if the file cannot
 *	be read or has another format.
 */
struct rn_bench_baseline *rn_bench_baseline_read(const char *path, char *err,
						 size_t err_len);
void rn_bench_baseline_free(struct rn_bench_baseline *base);

/* Sets `change` and `shift` of each row. A change is noise unless two conditions hold:
 * the Mann-Whitney test over the ratios of the rounds gives p < 0.01 after Holm's
 * correction for the number of rows, and the ratios have changed by more than 5 %
 * (Hodges-Lehmann).
 */
void rn_bench_baseline_compare(const struct rn_bench_baseline *base,
			       struct rn_bench_report *report);

#endif /* RN_BENCH_REPORT_H */
