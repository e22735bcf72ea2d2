/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.c - statistics for `rocin bench': medians, quartiles, and the test whether two
 * samples differ.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* Largest sample for which the p-value is computed exactly. For larger samples that would
 * take long, and the normal approximation is good.
 */
enum {
	EXACT_MAX = 20,
	EXACT_SUM = EXACT_MAX * EXACT_MAX
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double quantile(const double *sorted, unsigned n, double share)
{
	double at = share * (n - 1);
	unsigned i = (unsigned)at;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

struct rn_bench_summary rn_bench_summarize(double *value, unsigned n)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < n; i++)
		if (isfinite(value[i]))
			value[kept++] = value[i];
	if (kept == 0)
		return (struct rn_bench_summary){ NAN, NAN, NAN, NAN, NAN, 0 };
	qsort(value, kept, sizeof(*value), by_value);
	return (struct rn_bench_summary){
		.median = quantile(value, kept, 0.5),
		.q1 = quantile(value, kept, 0.25),
		.q3 = quantile(value, kept, 0.75),
		.min = value[0],
		.max = value[kept - 1],
		.n = kept,
	};
}

/* ---- Mann-Whitney test, Hodges-Lehmann estimate and Holm's correction ---- */

/* Returns the Mann-Whitney statistic U of two sorted samples: the number of pairs (a, b)
 * in which a is greater. Pairs of equal values count as half.
 */
static double u_of(const double *a, unsigned n, const double *b, unsigned m)
{
	unsigned below = 0, up_to = 0;
	double u = 0;

	for (unsigned i = 0; i < n; i++) {
		while (below < m && b[below] < a[i])
			below++;
		while (up_to < m && b[up_to] <= a[i])
			up_to++;
		u += below + (up_to - below) / 2.0;
	}
	return u;
}

/* Returns the sum of t^3 - t over all groups of equal values, where t is the number of
 * values of both samples in the group. Both samples are sorted.
 */
static double tie_sum(const double *a, unsigned n, const double *b, unsigned m)
{
	unsigned i = 0, j = 0;
	double sum = 0;

	while (i < n || j < m) {
		double v = j == m || (i < n && a[i] < b[j]) ? a[i] : b[j], t = 0;

		for (; i < n && a[i] <= v; i++)
			t++;
		for (; j < m && b[j] <= v; j++)
			t++;
		sum += t * t * t - t;
	}
	return sum;
}

/* Returns the exact p-value of statistic @u for samples of @n and @m values. ways(n, m,
 * u) is the number of orders of n and m values that have the statistic u. It follows from
 * ways(n, m, u) = ways(n - 1, m, u - m) + ways(n, m - 1, u), and is computed for all n at
 * once.
 */
static double exact_p(unsigned n, unsigned m, double u)
{
	static double ways[EXACT_MAX + 1][EXACT_SUM + 1];
	double less = n * m - u < u ? n * m - u : u, sum = 0, all = 0;

	memset(ways, 0, sizeof(ways));
	for (unsigned i = 0; i <= n; i++)
		ways[i][0] = 1;
	/* After step j of the outer loop, ways[i] has the values for i and j. */
	for (unsigned j = 1; j <= m; j++)
		for (unsigned i = 1; i <= n; i++)
			for (unsigned v = j; v <= i * j; v++)
				ways[i][v] += ways[i - 1][v - j];
	for (unsigned v = 0; v <= n * m; v++) {
		all += ways[n][v];
		if (v <= less)
			sum += ways[n][v];
	}
	return fmin(1, 2 * sum / all);
}

static double normal_p(unsigned n, unsigned m, double u, double tied)
{
	double all = (double)n + m, product = (double)n * m;
	double variance = product / 12 * (all + 1 - tied / (all * (all - 1)));
	double away = fabs(u - product / 2) - 0.5;

	if (variance <= 0 || away <= 0)
		return 1;
	return erfc(away / sqrt(2 * variance));
}

static double hodges_lehmann(const double *a, unsigned n, const double *b, unsigned m)
{
	double *all = malloc(sizeof(*all) * n * m), median;

	if (!all)
		return NAN;
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < m; j++)
			all[i * m + j] = a[i] / b[j];
	median = rn_bench_summarize(all, n * m).median;
	free(all);
	return median;
}

struct rn_bench_shift rn_bench_compare(double *a, unsigned a_count, double *b,
				       unsigned b_count)
{
	unsigned n = rn_bench_summarize(a, a_count).n;
	unsigned m = rn_bench_summarize(b, b_count).n;
	struct rn_bench_shift s = { .p = 1, .ratio = NAN };
	double u, tied;

	if (n == 0 || m == 0)
		return s;
	u = u_of(a, n, b, m);
	tied = tie_sum(a, n, b, m);
	if (tied <= 0 && n <= EXACT_MAX && m <= EXACT_MAX)
		s.p = exact_p(n, m, u);
	else
		s.p = normal_p(n, m, u, tied);
	s.ratio = hodges_lehmann(a, n, b, m);
	return s;
}

void rn_bench_holm(double *p, unsigned n)
{
	double floor = 0;

	/* Holm's method: takes the smallest p that is left, and multiplies it by the
	 * number of those left, again and again. A simple search suffices, because n is
	 * small.
	 */
	for (unsigned done = 0; done < n; done++) {
		unsigned least = n;

		for (unsigned i = 0; i < n; i++)
			if (p[i] >= 0 && (least == n || p[i] < p[least]))
				least = i;
		floor = fmin(1, fmax(floor, p[least] * (n - done)));
		/* negative values mark p-values that have been corrected */
		p[least] = -1 - floor;
	}
	for (unsigned i = 0; i < n; i++)
		p[i] = -1 - p[i];
}

/* ---- Histogram of times ---- */

enum {
	STEP_BITS = 5,
	STEPS = 1 << STEP_BITS
};

static unsigned step_of(uint64_t ns)
{
	unsigned shift;

	if (ns < (uint64_t)2 * STEPS)
		return (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - STEP_BITS;
	return shift * STEPS + (unsigned)(ns >> shift);
}

static double middle_of(unsigned step)
{
	unsigned shift = step < 2 * STEPS ? 0 : step / STEPS - 1;
	uint64_t low = (uint64_t)(step - shift * STEPS) << shift;

	return (double)low + (double)((uint64_t)1 << shift) / 2 - 0.5;
}

void rn_bench_times_add(struct rn_bench_times *t, uint64_t ns)
{
	unsigned step = step_of(ns);

	t->count[step < RN_BENCH_TIME_STEPS ? step : RN_BENCH_TIME_STEPS - 1]++;
}

void rn_bench_times_merge(struct rn_bench_times *t, const struct rn_bench_times *more)
{
	for (unsigned i = 0; i < RN_BENCH_TIME_STEPS; i++)
		t->count[i] += more->count[i];
}

double rn_bench_times_quantile(const struct rn_bench_times *t, double share)
{
	uint64_t all = 0, up_to = 0;

	for (unsigned i = 0; i < RN_BENCH_TIME_STEPS; i++)
		all += t->count[i];
	for (unsigned i = 0; i < RN_BENCH_TIME_STEPS; i++) {
		up_to += t->count[i];
		if (up_to && (double)up_to >= share * (double)all)
			return middle_of(i);
	}
	return NAN;
}
