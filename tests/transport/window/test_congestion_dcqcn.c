/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_congestion_dcqcn.c - the reaction point, by hand and against the equations
 * as published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/qp/congestion.h"

enum {
	LINE = 40000000, /* kbit/s, as in the paper */
};

#define PERIOD RN_USEC(55)

static struct rn_dcqcn_params params;

static int set_up(void **state)
{
	(void)state;
	rn_dcqcn_defaults(&params, LINE);
	return 0;
}

static void defaults_are_those_of_the_paper(void **state)
{
	(void)state;
	assert_int_equal(params.ai, 40000);
	assert_int_equal(params.bytes, 10000000);
	assert_int_equal(1 << params.gain, 256);
	assert_int_equal(params.fast, 5);
	assert_true(params.alpha_period == PERIOD);
	assert_true(params.increase_period == PERIOD);
	assert_true(params.cut_period == RN_USEC(50));
}

static void nothing_limits_before_the_first_notification(void **state)
{
	struct rn_dcqcn d = { 0 };

	(void)state;
	assert_false(rn_dcqcn_limits(&d));
	rn_dcqcn_sent(&d, &params, 1u << 30);
	rn_dcqcn_advance(&d, &params, RN_MSEC(1000));
	assert_false(rn_dcqcn_limits(&d));
}

static void the_first_notification_halves_the_line(void **state)
{
	struct rn_dcqcn d = { 0 };

	(void)state;
	assert_true(rn_dcqcn_notify(&d, &params, RN_USEC(7)));
	assert_int_equal(d.phase, RN_DCQCN_RECOVERY);
	assert_int_equal(d.rate, LINE / 2);
	assert_int_equal(d.target, LINE);
	assert_int_equal(d.alpha, RN_DCQCN_ONE);
}

static void one_cut_in_a_period(void **state)
{
	struct rn_dcqcn d = { 0 };

	(void)state;
	rn_dcqcn_notify(&d, &params, 0);
	assert_false(rn_dcqcn_notify(&d, &params, RN_USEC(49)));
	assert_int_equal(d.rate, LINE / 2);
	assert_true(rn_dcqcn_notify(&d, &params, RN_USEC(50)));
	assert_int_equal(d.rate, LINE / 4);
	assert_int_equal(d.target, LINE / 2);
}

static void no_cut_goes_below_the_least_rate(void **state)
{
	struct rn_dcqcn d = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		rn_dcqcn_notify(&d, &params, i * RN_USEC(50));
	assert_int_equal(d.rate, params.min);
	assert_int_equal(params.min, 1000);
}

/* Each step by time, none by bytes: five that halve the distance, then the target rises.
 */
static void time_brings_the_rate_back(void **state)
{
	struct rn_dcqcn d = { 0 };
	uint32_t rate, target;

	(void)state;
	rn_dcqcn_notify(&d, &params, 0);
	rn_dcqcn_notify(&d, &params, RN_USEC(50));
	rate = d.rate;
	target = d.target;
	for (rn_ns at = RN_USEC(50) + PERIOD; d.times < 4; at += PERIOD) {
		assert_true(d.increase_at == at);
		rn_dcqcn_advance(&d, &params, at - 1);
		assert_int_equal(d.rate, rate);
		rn_dcqcn_advance(&d, &params, at);
		rate = (rate + target + 1) / 2;
		assert_int_equal(d.phase, RN_DCQCN_RECOVERY);
		assert_int_equal(d.rate, rate);
		assert_int_equal(d.target, target);
	}
	for (unsigned i = 0; i < 20; i++) {
		rn_dcqcn_advance(&d, &params, d.increase_at);
		target += params.ai;
		rate = (rate + target + 1) / 2;
		assert_int_equal(d.phase, RN_DCQCN_ADDITIVE);
		assert_int_equal(d.target, target);
		assert_int_equal(d.rate, rate);
	}
}

static void bytes_bring_the_rate_back(void **state)
{
	struct rn_dcqcn d = { 0 };

	(void)state;
	rn_dcqcn_notify(&d, &params, 0);
	rn_dcqcn_sent(&d, &params, params.bytes - 1);
	assert_int_equal(d.rate, LINE / 2);
	rn_dcqcn_sent(&d, &params, 1);
	assert_int_equal(d.fills, 1);
	assert_int_equal(d.rate, LINE * 3 / 4);
	rn_dcqcn_sent(&d, &params, 4 * params.bytes);
	assert_int_equal(d.fills, 5);
	assert_int_equal(d.phase, RN_DCQCN_ADDITIVE);
}

/* Both counts over five: the target rises by more each time. */
static void both_together_hurry(void **state)
{
	struct rn_dcqcn d = { 0 };
	uint32_t target;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		rn_dcqcn_notify(&d, &params, i * RN_USEC(50));
	rn_dcqcn_sent(&d, &params, 7 * params.bytes);
	assert_int_equal(d.phase, RN_DCQCN_ADDITIVE);
	for (unsigned i = 0; i < 5; i++)
		rn_dcqcn_advance(&d, &params, d.increase_at);
	assert_int_equal(d.phase, RN_DCQCN_ADDITIVE);
	target = d.target;
	rn_dcqcn_advance(&d, &params, d.increase_at);
	assert_int_equal(d.phase, RN_DCQCN_HYPER);
	assert_int_equal(d.target, target + params.hai);
	rn_dcqcn_advance(&d, &params, d.increase_at);
	assert_int_equal(d.target, target + 3 * params.hai);
}

static void alpha_forgets_when_there_is_no_notification(void **state)
{
	struct rn_dcqcn d = { 0 };
	double alpha = 1;

	(void)state;
	rn_dcqcn_notify(&d, &params, 0);
	for (rn_ns at = PERIOD; at <= 20 * PERIOD; at += PERIOD) {
		rn_dcqcn_advance(&d, &params, at);
		if (!rn_dcqcn_limits(&d))
			break;
		alpha *= 1 - 1.0 / 256;
		assert_in_range(d.alpha, (uint32_t)(alpha * RN_DCQCN_ONE) - 64,
				(uint32_t)(alpha * RN_DCQCN_ONE) + 64);
	}
	assert_true(alpha < 0.97);
}

static void the_limit_ends_at_the_line(void **state)
{
	struct rn_dcqcn d = { 0 };
	rn_ns now = 0;

	(void)state;
	for (; now < RN_MSEC(1); now += RN_USEC(50))
		rn_dcqcn_notify(&d, &params, now);
	for (; rn_dcqcn_limits(&d); now += PERIOD) {
		uint32_t rate = d.rate;

		rn_dcqcn_advance(&d, &params, now);
		assert_true(d.rate >= rate && d.rate <= LINE && d.target <= LINE);
		assert_true(now < RN_MSEC(100));
	}
	assert_true(rn_dcqcn_notify(&d, &params, now));
	assert_int_equal(d.rate, LINE / 2); /* as the first one */
}

/* However late one asks: what would have happened has happened. */
static void a_late_look_sees_the_same(void **state)
{
	struct rn_dcqcn often = { 0 }, late = { 0 };

	(void)state;
	for (rn_ns at = 0; at < RN_MSEC(2); at += RN_USEC(50)) {
		rn_dcqcn_notify(&often, &params, at);
		rn_dcqcn_notify(&late, &params, at);
	}
	for (rn_ns at = RN_MSEC(2); at <= RN_MSEC(9); at += 777)
		rn_dcqcn_advance(&often, &params, at);
	rn_dcqcn_advance(&often, &params, RN_MSEC(9));
	rn_dcqcn_advance(&late, &params, RN_MSEC(9));
	assert_int_equal(often.rate, late.rate);
	assert_int_equal(often.target, late.target);
	assert_int_equal(often.alpha, late.alpha);
	assert_int_equal(often.phase, late.phase);
}

/* ---------------------------------------------- the algorithm in real numbers */
struct model {
	double rc, rt, alpha;
	unsigned times, fills;
};

static void model_cut(struct model *m)
{
	const double g = 1.0 / 256;

	m->rt = m->rc;
	m->rc *= 1 - m->alpha / 2;
	if (m->rc < params.min)
		m->rc = params.min;
	m->alpha = (1 - g) * m->alpha + g;
	m->times = m->fills = 0;
}

static void model_increase(struct model *m)
{
	unsigned most = m->times > m->fills ? m->times : m->fills;
	unsigned least = m->times < m->fills ? m->times : m->fills;

	if (most >= 5)
		m->rt += least > 5 ? (least - 5) * (double)params.hai : params.ai;
	if (m->rt > LINE)
		m->rt = LINE;
	m->rc = (m->rc + m->rt) / 2;
}

/* Notifications and bytes at random, in steps of the period. */
static void a_random_history_follows_the_equations(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned run = 0; run < 200; run++) {
		struct rn_dcqcn d = { 0 };
		struct model m = { .rc = LINE, .alpha = 1 };
		rn_ns now = 0;

		rn_dcqcn_notify(&d, &params, now);
		model_cut(&m);
		for (unsigned step = 0; step < 300 && rn_dcqcn_limits(&d); step++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			now += PERIOD;
			rn_dcqcn_advance(&d, &params, now);
			m.times++;
			model_increase(&m);
			m.alpha *= 1 - 1.0 / 256;
			if (random >> 61 == 0) {
				rn_dcqcn_sent(&d, &params, params.bytes);
				m.fills++;
				model_increase(&m);
			} else if (random >> 60 == 3 && rn_dcqcn_limits(&d)) {
				rn_dcqcn_notify(&d, &params, now);
				model_cut(&m);
			}
			assert_true(d.rate < m.rc + 100 && d.rate > m.rc - 100);
			assert_true(d.target < m.rt + 100 && d.target > m.rt - 100);
		}
		assert_true(now > 5 * PERIOD);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, set_up)
	const struct CMUnitTest tests[] = {
		TEST(defaults_are_those_of_the_paper),
		TEST(nothing_limits_before_the_first_notification),
		TEST(the_first_notification_halves_the_line),
		TEST(one_cut_in_a_period),
		TEST(no_cut_goes_below_the_least_rate),
		TEST(time_brings_the_rate_back),
		TEST(bytes_bring_the_rate_back),
		TEST(both_together_hurry),
		TEST(alpha_forgets_when_there_is_no_notification),
		TEST(the_limit_ends_at_the_line),
		TEST(a_late_look_sees_the_same),
		TEST(a_random_history_follows_the_equations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
