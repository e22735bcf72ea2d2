/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_model.c - the explorer against itself, on the whole bank: with and without
 * reduction, by replay and by chance.
 */
#include "bank.h"
#include "model_kit.h"
#include "sim/litmus/explore.h"

enum {
	PLAIN_STATES = 1500, /* larger tests are not compared without reduction */
	SEEDS = 12,
	STEPS = 2048,
};

static const char *const files[] = {
	RN_BANK "/01-requester.litmus",	  RN_BANK "/02-mp.litmus",
	RN_BANK "/03-gpu.litmus",	  RN_BANK "/04-sameqp.litmus",
	RN_BANK "/05-atomics.litmus",	  RN_BANK "/06-hosts.litmus",
	RN_BANK "/07-completions.litmus", RN_BANK "/08-devices.litmus",
	RN_BANK "/10-cas.litmus",	  RN_BANK "/11-completion-entries.litmus",
	RN_BANK "/12-small-words.litmus",
};

static const char *const knobs[] = {
	"mode=strict",
	"mode=ibta",
	"mode=typical",
	"mode=adversarial",
	"gpu=none,ports=split",
	"gpu=none,c2c=1,nicq=perqp",
	"cpu=sc,place=any,ackearly=0",
	"atomic=pcie,mr.relaxed=force,rr=serial",
};

static struct rn_litmus_step steps[STEPS];

static unsigned compared, cut;

static void compare_reduced(const struct rn_litmus_test *t)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		struct rn_explore with = { 0 };
		struct rn_explore without = {
			.max_states = PLAIN_STATES,
			.no_reduction = true,
		};

		make_plan(t, knobs[i]);
		explore(&with);
		explore(&without);
		assert_true(with.complete);
		for (size_t k = 0; k < without.finals; k++)
			assert_true(has_final(&with, &without.final[k].outcome));
		if (without.complete)
			assert_int_equal(with.finals, without.finals);
		compared += without.complete;
		cut += !without.complete;
		rn_explore_free(&with);
		rn_explore_free(&without);
	}
}

static void reduction_loses_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(files); i++)
		for_each_test(files[i], compare_reduced);
	assert_true(compared > 4 * cut);
}

static void replay_test(const struct rn_litmus_test *t)
{
	struct rn_trace trace = { .step = steps, .room = STEPS };

	for (size_t i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		struct rn_explore e = { 0 };
		struct rn_model *m;

		make_plan(t, knobs[i]);
		m = malloc(plan.size);
		assert_non_null(m);
		explore(&e);
		for (size_t k = 0; k < e.finals; k++) {
			struct rn_litmus_outcome outcome;

			rn_trace_replay(&plan, m, e.final[k].choice, e.final[k].choices,
					&trace);
			rn_model_outcome(&plan, m, &outcome);
			assert_true(
				rn_litmus_same_outcome(t, &outcome, &e.final[k].outcome));
			assert_in_range(trace.count, 1, STEPS);
		}
		rn_explore_free(&e);
		free(m);
	}
}

static void witnesses_lead_where_they_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(files); i++)
		for_each_test(files[i], replay_test);
}

static void draw_test(const struct rn_litmus_test *t)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		struct rn_litmus_outcome outcome, again;
		struct rn_explore e = { 0 };
		struct rn_model *m;

		make_plan(t, knobs[i]);
		m = malloc(plan.size);
		assert_non_null(m);
		explore(&e);
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			rn_trace_run(&plan, m, seed, &outcome, NULL);
			assert_true(has_final(&e, &outcome));
		}
		rn_trace_run(&plan, m, SEEDS - 1, &again, NULL);
		assert_true(rn_litmus_same_outcome(t, &outcome, &again));
		rn_explore_free(&e);
		free(m);
	}
}

static void chance_stays_within(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(files); i++)
		for_each_test(files[i], draw_test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reduction_loses_nothing),
		cmocka_unit_test(witnesses_lead_where_they_say),
		cmocka_unit_test(chance_stays_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
