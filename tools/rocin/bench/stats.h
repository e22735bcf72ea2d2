/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.h - medians, spreads and the question whether two samples differ.
 *
 * Nothing here knows what was measured.
 */
#ifndef RN_BENCH_STATS_H
#define RN_BENCH_STATS_H

#include "rocin/types.h"

/* Of a sample: values that are not numbers are left out, and @n says how many were. */
struct rn_bench_summary {
	double median, q1, q3, min, max; /* NAN if n is 0 */
	unsigned n;
};

/* Sorts @value. Quartiles are interpolated between the neighbours (R's type 7). */
struct rn_bench_summary rn_bench_summarize(double *value, unsigned n);

/* How one sample lies to another. */
struct rn_bench_shift {
	double p;     /* two-sided, of the Mann-Whitney test: chance of such ranks if both
		       * samples come from the same source; 1 if a sample is empty */
	double ratio; /* Hodges-Lehmann: median of all a / b; NAN if a sample is empty */
};

/* @a and @b are sorted. Exact without ties for small samples, else by the normal
 * approximation with corrections for ties and for continuity. Values are positive.
 */
struct rn_bench_shift rn_bench_compare(double *a, unsigned a_count, double *b,
				       unsigned b_count);

/* Make several p into such that may be held against one level (Holm). In place. */
void rn_bench_holm(double *p, unsigned n);

/* ---- Times: a histogram of nanoseconds, 32 steps for each doubling ---- */

enum {
	RN_BENCH_TIME_STEPS = 32 * 60
};

struct rn_bench_times {
	uint32_t count[RN_BENCH_TIME_STEPS];
};

void rn_bench_times_add(struct rn_bench_times *t, uint64_t ns);
void rn_bench_times_merge(struct rn_bench_times *t, const struct rn_bench_times *more);

/* @share: 0 .. 1. Return: ns, within 3 %; NAN if there is nothing. */
double rn_bench_times_quantile(const struct rn_bench_times *t, double share);

#endif /* RN_BENCH_STATS_H */
