/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_world.c - worlds repeat themselves, and what a plan leaves out does not happen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/world/world.h"

static struct rn_world_result run_seed(struct rn_world *w, uint64_t seed)
{
	struct rn_world_result r;
	struct rn_plan plan;

	rn_plan_make(&plan, seed, 0);
	rn_world_run(w, &plan, NULL, NULL, &r);
	assert_string_equal(r.why, "");
	return r;
}

static void a_seed_gives_the_same_run_whatever_ran_before(void **state)
{
	struct rn_world *w = rn_world_new();
	struct rn_world_result first, again;

	(void)state;
	assert_non_null(w);
	first = run_seed(w, 5);
	assert_int_not_equal(first.hash, run_seed(w, 6).hash);
	again = run_seed(w, 5);
	assert_int_equal(first.hash, again.hash);
	assert_int_equal(first.packets, again.packets);
	assert_int_equal(first.at, again.at);
	rn_world_free(w);
}

static void every_kind_of_step_and_harm_occurs(void **state)
{
	bool step[RN_DO_COUNT] = { false }, harm[RN_HARM_COUNT] = { false };
	struct rn_plan plan;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		rn_plan_make(&plan, seed, 0);
		for (uint32_t i = 0; i < plan.steps; i++)
			step[plan.step[i].what] = true;
		for (uint32_t i = 0; i < plan.faults; i++)
			harm[plan.fault[i].harm] = true;
	}
	for (unsigned i = 0; i < RN_DO_COUNT; i++)
		assert_true(step[i]);
	for (unsigned i = 0; i < RN_HARM_COUNT; i++)
		assert_true(harm[i]);
}

static void nothing_happens_in_a_plan_without_steps(void **state)
{
	struct rn_world *w = rn_world_new();
	struct rn_world_result r;
	struct rn_plan plan;

	(void)state;
	assert_non_null(w);
	rn_plan_make(&plan, 3, 4);
	assert_int_equal(plan.devices, 4);
	for (uint32_t i = 0; i < plan.steps; i++)
		plan.step[i].off = true;
	rn_world_run(w, &plan, NULL, NULL, &r);
	assert_string_equal(r.why, "");
	assert_int_equal(r.packets, 0);
	rn_world_free(w);
}

static void count_lines(void *ctx, rn_ns at, const char *line)
{
	unsigned *lines = ctx;

	assert_true(at > 0 && line[0] != '\0');
	++*lines;
}

static void a_trace_does_not_change_the_run(void **state)
{
	struct rn_world *w = rn_world_new();
	struct rn_world_result r;
	struct rn_plan plan;
	unsigned lines = 0;

	(void)state;
	assert_non_null(w);
	rn_plan_make(&plan, 5, 0);
	rn_world_run(w, &plan, count_lines, &lines, &r);
	assert_true(lines > r.packets);
	assert_int_equal(r.hash, run_seed(w, 5).hash);
	rn_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_gives_the_same_run_whatever_ran_before),
		cmocka_unit_test(every_kind_of_step_and_harm_occurs),
		cmocka_unit_test(nothing_happens_in_a_plan_without_steps),
		cmocka_unit_test(a_trace_does_not_change_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
