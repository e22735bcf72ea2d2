/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_report.c - states and verdicts of a run, gathered by a back end. */
#include <stdlib.h>
#include <string.h>

#include "litmus_report.h"
#include "tools/rocin/common/cmd.h"

static void *grow(void *old, size_t count, size_t size)
{
	void *new = realloc(old, count * size);

	if (!new) {
		rn_complain("out of memory");
		exit(RN_EXIT_FAILURE);
	}
	return new;
}

struct rn_report_state *rn_report_add_state(const struct rn_litmus_test *t,
					    struct rn_report_run *run,
					    const struct rn_litmus_outcome *outcome,
					    uint64_t seed)
{
	struct rn_report_state *state;

	for (size_t i = 0; i < run->state_count; i++) {
		state = &run->state[i];
		if (rn_litmus_same_outcome(t, &state->outcome, outcome)) {
			state->count++;
			return state;
		}
	}
	run->state = grow(run->state, run->state_count + 1, sizeof(run->state[0]));
	state = &run->state[run->state_count++];
	*state = (struct rn_report_state){
		.outcome = *outcome,
		.count = 1,
		.seed = seed,
	};
	return state;
}

void rn_report_set_steps(struct rn_report_state *state,
			 const struct rn_litmus_step *steps, size_t count)
{
	state->steps = grow(state->steps, count + 1, sizeof(steps[0]));
	memcpy(state->steps, steps, count * sizeof(steps[0]));
	state->step_count = count;
}

/* The state that a verdict is about: one where the condition holds; of forall one where
 * it does not.
 */
static bool is_about(const struct rn_litmus_verdict *v, const struct rn_report_state *s)
{
	return rn_litmus_holds(v, &s->outcome) != (v->expect == RN_LITMUS_ALWAYS);
}

static enum rn_report_status status_of(const struct rn_report_run *run,
				       const struct rn_report_verdict *v)
{
	bool is_explored = run->runs == 0, is_seen = v->state != SIZE_MAX;

	if (v->verdict->expect == RN_LITMUS_ALLOWED) {
		if (is_seen)
			return RN_REPORT_OK;
		if (!is_explored)
			return RN_REPORT_UNSEEN;
		return run->complete ? RN_REPORT_UNREACHABLE : RN_REPORT_CUT;
	}
	if (is_seen)
		return RN_REPORT_FORBIDDEN_SEEN;
	return is_explored && !run->complete ? RN_REPORT_CUT : RN_REPORT_OK;
}

void rn_report_judge(struct rn_report_run *run, const char *why)
{
	if (why)
		snprintf(run->why, sizeof(run->why), "%s", why);
	for (size_t i = 0; i < run->verdict_count; i++) {
		struct rn_report_verdict *v = &run->verdict[i];

		v->seen = 0;
		v->state = SIZE_MAX;
		for (size_t k = run->state_count; k-- > 0;) {
			if (!is_about(v->verdict, &run->state[k]))
				continue;
			v->seen += run->state[k].count;
			v->state = k;
		}
		v->status = why ? RN_REPORT_SKIPPED : status_of(run, v);
	}
}

const char *rn_report_status_name(enum rn_report_status status)
{
	static const char *const names[RN_REPORT_STATUS_COUNT] = {
		[RN_REPORT_OK] = "ok",
		[RN_REPORT_FORBIDDEN_SEEN] = "FORBIDDEN",
		[RN_REPORT_UNREACHABLE] = "UNREACHABLE",
		[RN_REPORT_UNSEEN] = "not seen",
		[RN_REPORT_CUT] = "cut",
		[RN_REPORT_SKIPPED] = "skipped",
	};

	assert((unsigned)status < RN_REPORT_STATUS_COUNT);
	return names[status];
}

bool rn_report_is_failure(enum rn_report_status status)
{
	return status == RN_REPORT_FORBIDDEN_SEEN || status == RN_REPORT_UNREACHABLE;
}
