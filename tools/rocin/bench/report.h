/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - what the values of a run say, and the forms in which it is told. */
#ifndef RN_BENCH_REPORT_H
#define RN_BENCH_REPORT_H

#include <stdio.h>

#include "bench.h"

enum rn_bench_verdict {
	RN_BENCH_NO_VERDICT, /* nothing was meant, or nothing was measured */
	RN_BENCH_REACHED,
	RN_BENCH_MISSED
};

enum rn_bench_change {
	RN_BENCH_NOT_COMPARED, /* no baseline, or it does not have this ratio */
	RN_BENCH_NOISE,
	RN_BENCH_FASTER,
	RN_BENCH_SLOWER
};

/* Of a cell, over the rounds. */
struct rn_bench_cell_row {
	struct rn_bench_summary value; /* in the item's unit */
	double p50, p99, p99_9;	       /* us, medians; NAN where nothing makes a trip */
};

/* Of a ratio. */
struct rn_bench_ratio_row {
	double *round; /* values, one of each round; NULL: not measured */
	struct rn_bench_summary value;
	enum rn_bench_verdict verdict;
	enum rn_bench_change change;
	struct rn_bench_shift shift; /* to the baseline; p is corrected for all rows */
};

struct rn_bench_report {
	const struct rn_bench_args *args;
	const struct rn_bench_plan *plan;
	const struct rn_bench_results *results;
	bool has_baseline;
	struct rn_bench_cell_row cell[RN_BENCH_CELLS_MAX];
	struct rn_bench_ratio_row ratio[RN_BENCH_RATIOS_MAX];
};

/* Return: 0, or -ENOMEM; rn_bench_report_free() is due after both. */
int rn_bench_report_make(struct rn_bench_report *report, const struct rn_bench_args *args,
			 const struct rn_bench_plan *plan,
			 const struct rn_bench_results *results);
void rn_bench_report_free(struct rn_bench_report *report);

void rn_bench_print_table(FILE *to, const struct rn_bench_report *report);

/* Return: 0 or -errno. */
int rn_bench_print_json(FILE *to, const struct rn_bench_report *report);

/* Bandwidth, latency and rate over size, with the quartiles as bands; SVG. */
void rn_bench_draw(FILE *to, const struct rn_bench_report *report);

/* ---- Against an earlier run ---- */

struct rn_bench_baseline; /* the ratios of an earlier run */

/**
 * rn_bench_baseline_read() - Read a file that --save has written
 * @err:	Out on failure: one sentence
 *
 * Return: the baseline, to be given to rn_bench_baseline_free(); NULL for a file that
 *	   cannot be read or is none of ours.
 */
struct rn_bench_baseline *rn_bench_baseline_read(const char *path, char *err,
						 size_t err_len);
void rn_bench_baseline_free(struct rn_bench_baseline *base);

/* Fill in change and shift of each row: noise, unless the Mann-Whitney test over the
 * ratios of the rounds gives p < 0.01 after Holm's correction for the number of rows, and
 * the ratios have moved by more than a twentieth (Hodges-Lehmann).
 */
void rn_bench_baseline_compare(const struct rn_bench_baseline *base,
			       struct rn_bench_report *report);

#endif /* RN_BENCH_REPORT_H */
