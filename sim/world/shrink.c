/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* shrink.c - reduces a failing plan to the parts that are needed for the failure. */
#include "world.h"

enum {
	RUNS_MAX = 5000
};

struct search {
	struct rn_world *w;
	struct rn_plan *plan;
	struct rn_world_result *result;
	const char *check; /* name of the check that fails */
	unsigned runs;
};

/* Returns the flag that says whether part @i of the plan is left out. Pairs come first,
 * because leaving out a pair removes most.
 */
static bool *part_flag(struct rn_plan *plan, uint32_t i)
{
	if (i < plan->pairs)
		return &plan->pair[i].off;
	i -= plan->pairs;
	if (i < plan->faults)
		return &plan->fault[i].off;
	i -= plan->faults;
	return i < plan->steps ? &plan->step[i].off : NULL;
}

static bool still_fails(struct search *s, const struct rn_plan *plan)
{
	struct rn_world_result result;

	s->runs++;
	rn_world_run(s->w, plan, NULL, NULL, &result);
	if (!result.failed || result.check != s->check)
		return false;
	*s->plan = *plan;
	*s->result = result;
	return true;
}

/* Runs the plan without the @count parts from number @from on. If the run still fails,
 * leaves these parts out for good and returns true.
 */
static bool try_without(struct search *s, uint32_t from, uint32_t count)
{
	struct rn_plan smaller = *s->plan;
	bool changed = false;

	for (uint32_t i = from; i < from + count && part_flag(&smaller, i); i++) {
		changed |= !*part_flag(&smaller, i);
		*part_flag(&smaller, i) = true;
	}
	return changed && still_fails(s, &smaller);
}

static bool try_chunks(struct search *s, uint32_t chunk)
{
	uint32_t count = s->plan->pairs + s->plan->faults + s->plan->steps;
	bool smaller = false;

	/* The loop starts with the last parts of the plan, because they are the least
	 * likely to have caused the failure.
	 */
	for (uint32_t at = (count - 1) / chunk + 1; at-- && s->runs < RUNS_MAX;)
		smaller |= try_without(s, at * chunk, chunk);
	return smaller;
}

static void without_delay(struct rn_plan *plan)
{
	plan->mem_delay = 0;
}

static void without_late_acks(struct rn_plan *plan)
{
	plan->acks_late = false;
}

static void without_notice(struct rn_plan *plan)
{
	plan->cc = RN_CC_OFF;
	plan->credits = false;
}

static void with_ipv4(struct rn_plan *plan)
{
	plan->ipv6 = false;
}

static void with_shared_queues(struct rn_plan *plan)
{
	for (uint32_t i = 0; i < plan->pairs; i++)
		plan->pair[i].own_cq = 0;
}

static void simplify(struct search *s)
{
	static void (*const change[])(struct rn_plan *) = {
		without_delay, without_late_acks,  without_notice,
		with_ipv4,     with_shared_queues,
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(change); i++) {
		struct rn_plan simple = *s->plan;

		change[i](&simple);
		still_fails(s, &simple);
	}
}

unsigned rn_world_shrink(struct rn_world *w, struct rn_plan *plan,
			 struct rn_world_result *result)
{
	struct search s = { .w = w, .plan = plan, .result = result };
	uint32_t count = plan->pairs + plan->faults + plan->steps;

	rn_world_run(w, plan, NULL, NULL, result);
	if (!result->failed)
		return 1;
	s.check = result->check;
	simplify(&s);
	for (uint32_t chunk = (count + 1) / 2; chunk; chunk /= 2)
		while (try_chunks(&s, chunk) && s.runs < RUNS_MAX)
			;
	return s.runs + 1;
}
