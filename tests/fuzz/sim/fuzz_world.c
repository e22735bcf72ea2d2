/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_world.c - a script of bytes is what happens in a world of devices that are all
 * honest: what is posted, what goes wrong on the way, who fails. Requester and responder
 * meet as they would on a bad day, and the checkers of the world judge what comes of it.
 *
 * The start is a plan made from the seed in the first bytes; the script then says which
 * faults and steps there are. What a step does in detail follows from its own seed, of
 * which the script has a byte.
 */
#include <stdio.h>

#include "sim/world/world.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From 0 to about 4 ms: mostly short, so that things overlap. */
static rn_ns take_time(struct script *s)
{
	uint8_t shape = take8(s);

	return ((rn_ns)(shape & 15) + 1) << shape / 16;
}

static void take_fault(struct script *s, struct rn_plan *plan)
{
	struct rn_plan_fault *f = &plan->fault[plan->faults++];

	f->harm = (enum rn_plan_harm)(take8(s) % RN_HARM_COUNT);
	f->dev = (uint8_t)(take8(s) % plan->devices);
	f->from = take_time(s) * 4;
	f->until = f->from + take_time(s) * 4;
	f->ppm = f->harm == RN_HARM_FLAP ? 1000000 : (take8(s) + 1u) * 1500u;
	f->by = take_time(s);
	if (f->until > plan->end)
		plan->end = f->until;
}

/* Mostly work, as long as something rarer is not named. */
static enum rn_plan_do take_what(struct script *s, bool rough)
{
	uint8_t what = take8(s);

	if (rough && what >= 0xc0)
		return (enum rn_plan_do)(what % RN_DO_COUNT);
	return what % 3 == 2 ? RN_DO_RECV : RN_DO_SEND;
}

static void take_steps(struct script *s, struct rn_plan *plan)
{
	rn_ns at = RN_USEC(10);

	for (plan->steps = 0; plan->steps < RN_PLAN_STEPS && !script_is_over(s);) {
		struct rn_plan_step *step = &plan->step[plan->steps++];
		uint8_t who;

		at += take_time(s);
		*step = (struct rn_plan_step){ .at = at,
					       .what = take_what(s, plan->rough) };
		who = take8(s);
		step->pair = (uint8_t)(who / 2 % plan->pairs);
		step->side = who & 1;
		step->seed = take8(s);
	}
	if (at > plan->end)
		plan->end = at;
}

static void take_plan(struct script *s, struct rn_plan *plan)
{
	uint16_t seed = take16(s);
	uint8_t mood = take8(s);

	rn_plan_make(plan, seed, 0);
	/* A packet that is lost just before a timeout may cost two retries: that, and the
	 * NAK that arrives after it. The checkers count one for each.
	 */
	for (unsigned i = 0; i < plan->pairs; i++)
		if (plan->pair[i].retry > 0)
			plan->pair[i].retry = 7;
	plan->rough = mood & 1;
	plan->acks_late = mood & 2;
	/* Much less than the shortest ACK timeout. */
	if (mood & 4)
		plan->mem_delay = 1 + take8(s) * 80;
	plan->faults = 0;
	plan->end = 0;
	for (unsigned n = mood / 8 % 8; n > 0; n--)
		take_fault(s, plan);
	take_steps(s, plan);
}

static void show(void *ctx, rn_ns at, const char *line)
{
	(void)ctx;
	fprintf(stderr, "%12lld %s\n", (long long)at, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rn_world *world;
	static struct rn_plan plan;
	struct rn_world_result result;
	struct script s = { data, data + size };

	if (!world)
		world = rn_world_new();
	require(world != NULL);
	take_plan(&s, &plan);
	rn_world_run(world, &plan, NULL, NULL, &result);
	if (result.failed) {
		rn_world_run(world, &plan, show, NULL, &result);
		fprintf(stderr, "%s\n", result.why);
	}
	require(!result.failed);
	return 0;
}
