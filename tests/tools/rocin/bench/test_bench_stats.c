/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_bench_stats.c - figures that R, or a pencil, gives as well. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/rocin/bench/bench.h"

static void assert_near(double got, double wanted, double within)
{
	if (!(fabs(got - wanted) <= within)) {
		print_error("got %.9g, wanted %.9g\n", got, wanted);
		fail();
	}
}

static void quartiles_lie_between_the_neighbours(void **state)
{
	double value[] = { 4, 1, 3, 2 };
	struct rn_bench_summary s = rn_bench_summarize(value, 4);

	(void)state;
	assert_near(s.median, 2.5, 1e-12);
	assert_near(s.q1, 1.75, 1e-12);
	assert_near(s.q3, 3.25, 1e-12);
	assert_near(s.min, 1, 0);
	assert_near(s.max, 4, 0);
	assert_int_equal(s.n, 4);
}

static void one_value_is_all_of_them(void **state)
{
	double value[] = { 7 };
	struct rn_bench_summary s = rn_bench_summarize(value, 1);

	(void)state;
	assert_near(s.median, 7, 0);
	assert_near(s.q1, 7, 0);
	assert_near(s.q3, 7, 0);
}

static void what_is_no_number_is_left_out(void **state)
{
	double value[] = { NAN, 5, INFINITY, 1, NAN };
	struct rn_bench_summary s = rn_bench_summarize(value, 5);
	double none[] = { NAN };

	(void)state;
	assert_int_equal(s.n, 2);
	assert_near(s.median, 3, 0);
	s = rn_bench_summarize(none, 1);
	assert_int_equal(s.n, 0);
	assert_true(isnan(s.median));
}

/* wilcox.test(c(1.1, 2.2, 3.3), c(4.4, 5.5, 6.6)): W = 0, p = 2 / choose(6, 3) */
static void apart_samples_have_the_smallest_p(void **state)
{
	double a[] = { 3.3, 1.1, 2.2 }, b[] = { 4.4, 6.6, 5.5 };
	struct rn_bench_shift s = rn_bench_compare(a, 3, b, 3);

	(void)state;
	assert_near(s.p, 0.1, 1e-12);
	/* The nine quotients, sorted, have 2.2 / 5.5 and 1.1 / 2.75 in the middle. */
	assert_near(s.ratio, 0.4, 1e-12);
}

/* All 10-over-5 = 252 orders by hand: W = 5 of 25 has p = 2 * 19 / 252. */
static void exact_p_counts_orders(void **state)
{
	double a[] = { 1, 2, 3, 6, 8 }, b[] = { 4, 5, 7, 9, 10 };
	struct rn_bench_shift s = rn_bench_compare(a, 5, b, 5);

	(void)state;
	assert_near(s.p, 2 * 19 / 252.0, 1e-12);
}

static void swapped_samples_have_the_same_p_and_the_inverse_ratio(void **state)
{
	double a[] = { 1, 2, 3, 6, 8 }, b[] = { 4, 5, 7, 9, 10 };
	struct rn_bench_shift s = rn_bench_compare(a, 5, b, 5);
	struct rn_bench_shift t = rn_bench_compare(b, 5, a, 5);

	(void)state;
	assert_near(s.p, t.p, 1e-12);
	assert_near(s.ratio * t.ratio, 1, 1e-12);
}

static void equal_samples_do_not_differ(void **state)
{
	double a[] = { 2, 2, 2, 2 }, b[] = { 2, 2, 2, 2 };
	struct rn_bench_shift s = rn_bench_compare(a, 4, b, 4);

	(void)state;
	assert_near(s.p, 1, 0);
	assert_near(s.ratio, 1, 0);
}

/* By pencil: U = 7, ties of 4 and 3 (t^3 - t = 84), variance 25 / 12 * (11 - 84 / 90).
 */
static void ties_are_corrected_for(void **state)
{
	double a[] = { 1, 2, 2, 3, 3 }, b[] = { 2, 2, 3, 4, 5 };
	double z = (12.5 - 7 - 0.5) / sqrt(25 / 12.0 * (11 - 84 / 90.0));

	(void)state;
	assert_near(rn_bench_compare(a, 5, b, 5).p, erfc(z / sqrt(2)), 1e-12);
}

/* The two ways to p meet where one gives way to the other. */
static void exact_and_normal_p_agree_on_larger_samples(void **state)
{
	double a[20], b[20], more_a[21], more_b[21];
	double exact, normal;

	(void)state;
	for (unsigned i = 0; i < 21; i++) {
		more_a[i] = 10 + i;
		more_b[i] = 14.5 + i;
		if (i < 20) {
			a[i] = more_a[i];
			b[i] = more_b[i];
		}
	}
	exact = rn_bench_compare(a, 20, b, 20).p;
	normal = rn_bench_compare(more_a, 21, more_b, 21).p;
	assert_near(exact, normal, 0.015);
	assert_true(exact > 0.001 && exact < 0.05);
}

static void nothing_to_compare_is_no_difference(void **state)
{
	double a[] = { NAN }, b[] = { 1 };
	struct rn_bench_shift s = rn_bench_compare(a, 1, b, 1);

	(void)state;
	assert_near(s.p, 1, 0);
	assert_true(isnan(s.ratio));
}

/* p.adjust(c(0.01, 0.04, 0.03, 0.5), "holm") */
static void holm_is_that_of_r(void **state)
{
	double p[] = { 0.01, 0.04, 0.03, 0.5 };

	(void)state;
	rn_bench_holm(p, 4);
	assert_near(p[0], 0.04, 1e-12);
	assert_near(p[1], 0.09, 1e-12);
	assert_near(p[2], 0.09, 1e-12);
	assert_near(p[3], 0.5, 1e-12);
}

static void times_keep_their_size_within_three_percent(void **state)
{
	(void)state;
	for (double ns = 1; ns < 1e12; ns *= 1.37) {
		struct rn_bench_times t = { { 0 } };
		uint64_t whole = (uint64_t)ns;

		rn_bench_times_add(&t, whole);
		assert_near(rn_bench_times_quantile(&t, 0.5), (double)whole,
			    0.03 * (double)whole);
	}
}

static void quantiles_of_times_are_of_all_that_were_merged(void **state)
{
	struct rn_bench_times t = { { 0 } }, slow = { { 0 } };

	(void)state;
	assert_true(isnan(rn_bench_times_quantile(&t, 0.5)));
	for (unsigned i = 0; i < 998; i++)
		rn_bench_times_add(&t, 10);
	rn_bench_times_add(&slow, 1 << 20);
	rn_bench_times_add(&slow, 1 << 20);
	rn_bench_times_merge(&t, &slow);
	assert_near(rn_bench_times_quantile(&t, 0.998), 10, 0);
	assert_near(rn_bench_times_quantile(&t, 0.999), 1 << 20, 0.03 * (1 << 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quartiles_lie_between_the_neighbours),
		cmocka_unit_test(one_value_is_all_of_them),
		cmocka_unit_test(what_is_no_number_is_left_out),
		cmocka_unit_test(apart_samples_have_the_smallest_p),
		cmocka_unit_test(exact_p_counts_orders),
		cmocka_unit_test(swapped_samples_have_the_same_p_and_the_inverse_ratio),
		cmocka_unit_test(equal_samples_do_not_differ),
		cmocka_unit_test(ties_are_corrected_for),
		cmocka_unit_test(exact_and_normal_p_agree_on_larger_samples),
		cmocka_unit_test(nothing_to_compare_is_no_difference),
		cmocka_unit_test(holm_is_that_of_r),
		cmocka_unit_test(times_keep_their_size_within_three_percent),
		cmocka_unit_test(quantiles_of_times_are_of_all_that_were_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
