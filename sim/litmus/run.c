/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* run.c - one run of a model: agents by chance, TLPs as the driver of the knobs wants. */
#include "model_internal.h"
#include "sim/pcie/model/driver.h"
#include "trace_internal.h"

enum {
	STEPS_MAX = 20 * 1000, /* then whoever still waits does so for ever */
	ANY_ONE_IN = 32,       /* how often a TLP moves that the driver holds back */
};

struct chance {
	const struct rn_model_run *run;
	struct rn_driver driver[RN_LITMUS_NODES];
	uint64_t state;
};

/* SplitMix64, as in driver.c; one stream for the agents, one per fabric. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static unsigned draw_below(struct chance *c, unsigned n)
{
	return (unsigned)((draw(&c->state) >> 32) * n >> 32);
}

static void init_chance(struct chance *c, const struct rn_model_run *run, uint64_t seed)
{
	struct rn_pcie_knobs knobs = run->plan->setup.knobs;

	c->run = run;
	c->state = seed;
	if (knobs.driver == RN_DRIVER_REPLAY)
		knobs.driver = RN_DRIVER_RANDOM;
	for (unsigned i = 0; i < run->plan->test->nodes; i++) {
		knobs.seed = draw(&c->state);
		rn_driver_init(&c->driver[i], &knobs);
	}
}

/* Let one TLP of some fabric move; false: all drivers hold back. */
static bool move_some_tlp(struct chance *c)
{
	unsigned nodes = c->run->plan->test->nodes, first = draw_below(c, nodes);

	for (unsigned i = 0; i < nodes; i++) {
		unsigned node = (first + i) % nodes;
		unsigned index = rn_driver_pick(
			&c->driver[node], rn_model_fabric(c->run->plan, c->run->m, node));

		if (index == RN_TLP_NONE)
			continue;
		rn_model_move_tlp(c->run, node, index);
		return true;
	}
	return false;
}

/* One step; false: nothing can move any more. */
static bool step(struct chance *c)
{
	struct rn_move move[RN_MODEL_MOVES];
	unsigned n = rn_model_moves(c->run, move), agents = 0;

	while (agents < n && move[agents].kind != RN_MOVE_TLP)
		agents++;
	if (n == 0)
		return false;
	if (n > agents && draw_below(c, ANY_ONE_IN) == 0) {
		/* Threads that spin keep a driver busy for ever. */
		rn_model_move(c->run, &move[agents + draw_below(c, n - agents)]);
		return true;
	}
	if (n > agents && draw_below(c, agents + 1) == 0 && move_some_tlp(c))
		return true;
	rn_model_move(c->run, &move[draw_below(c, agents ? agents : n)]);
	return true;
}

void rn_trace_run(const struct rn_model_plan *plan, struct rn_model *m, uint64_t seed,
		  struct rn_litmus_outcome *outcome, struct rn_trace *trace)
{
	struct rn_tracer tracer = { .plan = plan, .m = m, .trace = trace };
	const struct rn_model_watch watch = { rn_tracer_step, &tracer };
	const struct rn_model_run run = {
		.plan = plan,
		.m = m,
		.watch = trace ? &watch : NULL,
		.may_spin = true,
	};
	struct chance c;

	if (trace)
		trace->count = 0;
	rn_model_init(plan, m);
	init_chance(&c, &run, seed);
	for (unsigned i = 0; i < STEPS_MAX; i++)
		if (!step(&c))
			break;
	rn_model_outcome(plan, m, outcome);
}
