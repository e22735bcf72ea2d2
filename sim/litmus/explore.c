/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* explore.c - runs of a model: all of them, by depth-first search over its states, and
 * one by chance.
 *
 * A state that has been seen is known by its 128-bit digest. Moves that are marked eager
 * are taken at once and alone, since they lose no final state; only where none is left
 * the search branches.
 */
#include "explore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model_internal.h"
#include "rocin/random.h"
#include "sim/pcie/model/driver.h"
#include "trace.h"

enum {
	DEFAULT_STATES = 20 * 1000 * 1000,
	FIRST_SLOTS = 1 << 12,
};

/* Digests, open addressing; {0, 0} is free. */
struct seen {
	uint64_t (*slot)[2];
	size_t slots, used;
};

/* One level of the search: a state and what may be done in it. */
struct level {
	struct rn_model *state;
	struct rn_move move[RN_MODEL_MOVES];
	unsigned moves, next;
};

struct search {
	const struct rn_model_plan *plan;
	struct rn_explore *e;
	struct seen seen;
	struct level *level;
	size_t levels, depth; /* allocated, in use */
	uint64_t max_states;
};

static size_t find_slot(const struct seen *seen, const uint64_t digest[2])
{
	size_t i = digest[0] & (seen->slots - 1);

	while (seen->slot[i][0] != 0 || seen->slot[i][1] != 0) {
		if (seen->slot[i][0] == digest[0] && seen->slot[i][1] == digest[1])
			break;
		i = (i + 1) & (seen->slots - 1);
	}
	return i;
}

static int grow(struct seen *seen)
{
	struct seen old = *seen;

	seen->slots = old.slots ? 4 * old.slots : FIRST_SLOTS;
	seen->slot = calloc(seen->slots, sizeof(seen->slot[0]));
	if (!seen->slot) {
		*seen = old;
		return -ENOMEM;
	}
	for (size_t i = 0; i < old.slots; i++)
		if (old.slot[i][0] != 0 || old.slot[i][1] != 0)
			memcpy(seen->slot[find_slot(seen, old.slot[i])], old.slot[i],
			       sizeof(old.slot[i]));
	free(old.slot);
	return 0;
}

/* 1: new; 0: seen before; -ENOMEM */
static int note_state(struct search *s, const struct rn_model *state)
{
	uint64_t digest[2];
	size_t i;

	if (2 * s->seen.used >= s->seen.slots) {
		int rc = grow(&s->seen);

		if (rc)
			return rc;
	}
	rn_model_digest(s->plan, state, digest);
	i = find_slot(&s->seen, digest);
	if (s->seen.slot[i][0] != 0 || s->seen.slot[i][1] != 0)
		return 0;
	memcpy(s->seen.slot[i], digest, sizeof(digest));
	s->seen.used++;
	s->e->states++;
	return 1;
}

/* Pointers to levels are void after this. */
static int add_level(struct search *s)
{
	struct level *more = realloc(s->level, (s->levels + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	s->level = more;
	s->level[s->levels].state = malloc(s->plan->size);
	if (!s->level[s->levels].state)
		return -ENOMEM;
	s->levels++;
	return 0;
}

/* Take eager moves until none is left; then the moves of @l are all that there are. */
static void settle(const struct search *s, struct level *l)
{
	const struct rn_model_run run = { .plan = s->plan, .m = l->state };

	for (;;) {
		unsigned i = 0;

		l->moves = rn_model_moves(&run, l->move);
		while (i < l->moves && !l->move[i].is_eager)
			i++;
		if (i == l->moves || s->e->no_reduction)
			return;
		rn_model_move(&run, &l->move[i]);
	}
}

static int add_final(struct search *s)
{
	struct rn_explore *e = s->e;
	struct rn_litmus_outcome outcome;
	struct rn_explore_final *more, *new;

	rn_model_outcome(s->plan, s->level[s->depth - 1].state, &outcome);
	for (size_t i = 0; i < e->finals; i++)
		if (rn_litmus_same_outcome(s->plan->test, &e->final[i].outcome, &outcome))
			return 0;
	more = realloc(e->final, (e->finals + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	e->final = more;
	new = &e->final[e->finals];
	*new = (struct rn_explore_final){ .outcome = outcome };
	new->choice = malloc(s->depth * sizeof(new->choice[0]));
	if (!new->choice)
		return -ENOMEM;
	e->finals++;
	for (size_t i = 0; i + 1 < s->depth; i++) {
		const struct level *l = &s->level[i];

		new->choice[new->choices++] = l->move[l->next - 1];
	}
	return 0;
}

/* The state of level[depth] is set: enter it, unless it was seen. */
static int enter(struct search *s)
{
	struct level *l = &s->level[s->depth];
	int rc;

	settle(s, l);
	rc = note_state(s, l->state);
	if (rc <= 0)
		return rc;
	s->depth++;
	l->next = 0;
	if (l->state->is_full)
		s->e->complete = false;
	else if (l->moves == 0)
		return add_final(s);
	return 0;
}

/* One move from the deepest state, or back to the one before. */
static int advance(struct search *s)
{
	struct rn_model_run run = { .plan = s->plan };
	struct level *l;

	if (s->depth == s->levels) {
		int rc = add_level(s);

		if (rc)
			return rc;
	}
	l = &s->level[s->depth - 1];
	if (l->next == l->moves) {
		s->depth--;
		return 0;
	}
	run.m = s->level[s->depth].state;
	memcpy(run.m, l->state, s->plan->size);
	rn_model_move(&run, &l->move[l->next++]);
	return enter(s);
}

static int search(struct search *s)
{
	int rc = add_level(s);

	if (rc)
		return rc;
	rn_model_init(s->plan, s->level[0].state);
	rc = enter(s);
	while (!rc && s->depth > 0) {
		if (s->e->states > s->max_states) {
			s->e->complete = false;
			break;
		}
		rc = advance(s);
	}
	return rc;
}

int rn_explore(const struct rn_model_plan *plan, struct rn_explore *e)
{
	struct search s = { .plan = plan, .e = e };
	int rc;

	s.max_states = e->max_states ? e->max_states : DEFAULT_STATES;
	e->states = 0;
	e->complete = true;
	e->final = NULL;
	e->finals = 0;
	rc = search(&s);
	for (size_t i = 0; i < s.levels; i++)
		free(s.level[i].state);
	free(s.level);
	free(s.seen.slot);
	return rc;
}

void rn_explore_free(struct rn_explore *e)
{
	for (size_t i = 0; i < e->finals; i++)
		free(e->final[i].choice);
	free(e->final);
	e->final = NULL;
	e->finals = 0;
}

/* ---- One run: agents by chance, TLPs as the driver of the knobs wants ---- */

enum {
	STEPS_MAX = 20 * 1000, /* then whoever still waits does so for ever */
	ANY_ONE_IN = 32,       /* how often a TLP moves that the driver holds back */
};

struct chance {
	const struct rn_model_run *run;
	struct rn_driver driver[RN_LITMUS_NODES];
	struct rn_random agents; /* each fabric's driver has a sequence of its own */
};

static void init_chance(struct chance *c, const struct rn_model_run *run, uint64_t seed)
{
	struct rn_pcie_knobs knobs = run->plan->setup.knobs;

	c->run = run;
	c->agents.state = seed;
	if (knobs.driver == RN_DRIVER_REPLAY)
		knobs.driver = RN_DRIVER_RANDOM;
	for (unsigned i = 0; i < run->plan->test->nodes; i++) {
		knobs.seed = rn_random_next(&c->agents);
		rn_driver_init(&c->driver[i], &knobs);
	}
}

/* Let one TLP of some fabric move; false: all drivers hold back. */
static bool move_some_tlp(struct chance *c)
{
	unsigned nodes = c->run->plan->test->nodes,
		 first = rn_random_scaled(&c->agents, nodes);

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
	if (n > agents && rn_random_scaled(&c->agents, ANY_ONE_IN) == 0) {
		/* Threads that spin keep a driver busy for ever. */
		rn_model_move(c->run,
			      &move[agents + rn_random_scaled(&c->agents, n - agents)]);
		return true;
	}
	if (n > agents && rn_random_scaled(&c->agents, agents + 1) == 0 &&
	    move_some_tlp(c))
		return true;
	rn_model_move(c->run, &move[rn_random_scaled(&c->agents, agents ? agents : n)]);
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
