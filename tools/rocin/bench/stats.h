/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.h - medians, quartiles, and the test whether two samples differ.
 *
 * These functions do not depend on what was measured.
 */
#ifndef RN_BENCH_STATS_H
#define RN_BENCH_STATS_H

#include "rocin/types.h"

/* Summary of a sample without the values that are NAN; @n is the number of the others. */
struct rn_bench_summary {
	double median, q1, q3, min, max; /* NAN if n is 0 */
	unsigned n;
};

/* Sorts @value. Quartiles are interpolated linearly between neighbours (type 7 of R). */
struct rn_bench_summary rn_bench_summarize(double *value, unsigned n);

/* Difference between two samples. */
struct rn_bench_shift {
	/* Two-sided p of the Mann-Whitney test: probability of ranks that differ as much
	 * if both samples come from the same distribution; 1 if a sample is empty.
	 */
	double p;
	/* Hodges-Lehmann estimate: median of all a / b; NAN if a sample is empty. */
	double ratio;
};

/* Compares two sorted samples of positive values. p is exact for small samples without
 * ties, else from the normal approximation with corrections for ties and continuity.
 */
struct rn_bench_shift rn_bench_compare(double *a, unsigned a_count, double *b,
				       unsigned b_count);

/* Corrects several p-values in place for multiple tests (Holm), so that all of them can
 * be compared with one significance level.
 */
void rn_bench_holm(double *p, unsigned n);

/* ---- Histogram of times in ns, with 32 buckets per doubling ---- */

enum {
	RN_BENCH_TIME_STEPS = 32 * 60
};

struct rn_bench_times {
	uint32_t count[RN_BENCH_TIME_STEPS];
};

void rn_bench_times_add(struct rn_bench_times *t, uint64_t ns);
void rn_bench_times_merge(struct rn_bench_times *t, const struct rn_bench_times *more);

/* Returns the time in ns that a share of @share (0 .. 1) of the times does not exceed,
 * with an error of at most 3 %; NAN if the histogram is empty.
 */
double rn_bench_times_quantile(const struct rn_bench_times *t, double share);

#endif /* RN_BENCH_STATS_H */
