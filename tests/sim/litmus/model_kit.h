/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model_kit.h - a test and its knobs, as a plan to explore. */
#ifndef RN_TEST_MODEL_KIT_H
#define RN_TEST_MODEL_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/litmus/explore.h"

static struct rn_model_plan plan;

static inline void make_plan(const struct rn_litmus_test *t, const char *words)
{
	struct rn_litmus_setup setup;
	char err[256] = "";

	if (rn_litmus_setup(t, words, &setup, err, sizeof(err)))
		fail_msg("%s: %s", words, err);
	assert_int_equal(rn_model_plan(&plan, t, &setup), 0);
}

static inline void explore(struct rn_explore *e)
{
	assert_int_equal(rn_explore(&plan, e), 0);
}

static inline bool has_final(const struct rn_explore *e,
			     const struct rn_litmus_outcome *outcome)
{
	for (size_t i = 0; i < e->finals; i++)
		if (rn_litmus_same_outcome(plan.test, &e->final[i].outcome, outcome))
			return true;
	return false;
}

#endif /* RN_TEST_MODEL_KIT_H */
