/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tso.c - depth first through the states of the machine, each once. */
#include "tso.h"

#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLACES = 8,
	BUFFER = 8, /* stores of a thread under way */
	STEPS = 64, /* of a thread */
	SEEN_LOG2 = 20,
};

struct store {
	uint64_t value;
	uint32_t place;
	uint32_t used; /* 0: the slot is empty */
};

/* What a thread has done is what its steps have returned. Zeros where nothing is: states
 * are compared byte by byte.
 */
struct thread {
	uint64_t returned[STEPS];
	uint32_t steps;
	uint32_t done;
	struct store buffer[BUFFER];
};

struct state {
	uint64_t memory[PLACES];
	uint64_t events; /* the eventfd */
	struct thread thread[TSO_THREADS];
};

/* How running a thread for one step ends. */
enum outcome {
	STEPPED = 1,
	BLOCKED,
	RETURNED,
};

static struct {
	void (*const *function)(void);
	unsigned count;
	struct tso_rules rules;
	const volatile void *place[PLACES];
	struct state *state;
	struct thread *thread; /* that runs */
	uint32_t replayed;     /* of its steps */
	jmp_buf back;
	uint64_t *seen;
	struct tso_result result;
} tso;

/* --------------------------------------------------------------------- memory */
static uint32_t place_of(const volatile void *at)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		if (!tso.place[i])
			tso.place[i] = at;
		if (tso.place[i] == at)
			return i;
	}
	abort();
}

static void leave_buffer(struct state *s, struct thread *t, unsigned i)
{
	s->memory[t->buffer[i].place] = t->buffer[i].value;
	memmove(&t->buffer[i], &t->buffer[i + 1],
		(BUFFER - 1 - i) * sizeof(t->buffer[0]));
	t->buffer[BUFFER - 1] = (struct store){ 0 };
}

static void empty_buffer(void)
{
	while (tso.thread->buffer[0].used)
		leave_buffer(tso.state, tso.thread, 0);
}

/* The thread's own last store, or what all see. */
static uint64_t seen_at(uint32_t place)
{
	for (unsigned i = BUFFER; i-- > 0;) {
		const struct store *b = &tso.thread->buffer[i];

		if (b->used && b->place == place)
			return b->value;
	}
	return tso.state->memory[place];
}

/* ---------------------------------------------------------------------- steps */
/* Is the step that begins here one of the past? Then this is what it returned. */
static bool replays(uint64_t *returned)
{
	if (tso.replayed == tso.thread->steps)
		return false;
	*returned = tso.thread->returned[tso.replayed++];
	return true;
}

static _Noreturn void stepped(uint64_t returned)
{
	assert(tso.thread->steps < STEPS);
	tso.thread->returned[tso.thread->steps++] = returned;
	longjmp(tso.back, STEPPED);
}

uint64_t tso_load(const volatile void *at)
{
	uint64_t value;

	if (replays(&value))
		return value;
	stepped(seen_at(place_of(at)));
}

void tso_store(volatile void *at, uint64_t value, memory_order order)
{
	uint32_t place = place_of(at);
	struct thread *t = tso.thread;
	uint64_t ignored;

	if (replays(&ignored))
		return;
	if (order == memory_order_seq_cst && at != tso.rules.weak) {
		empty_buffer();
		tso.state->memory[place] = value;
		stepped(0);
	}
	for (unsigned i = 0; i < BUFFER; i++) {
		if (t->buffer[i].used)
			continue;
		t->buffer[i] = (struct store){ value, place, 1 };
		stepped(0);
	}
	abort();
}

uint64_t tso_exchange(volatile void *at, uint64_t value)
{
	uint32_t place = place_of(at);
	uint64_t old;

	if (replays(&old))
		return old;
	empty_buffer();
	old = tso.state->memory[place];
	tso.state->memory[place] = value;
	stepped(old);
}

uint64_t tso_fetch_or(volatile void *at, uint64_t bits)
{
	uint32_t place = place_of(at);
	uint64_t old;

	if (replays(&old))
		return old;
	empty_buffer();
	old = tso.state->memory[place];
	tso.state->memory[place] |= bits;
	stepped(old);
}

void tso_wake(void)
{
	uint64_t ignored;

	if (replays(&ignored))
		return;
	empty_buffer();
	tso.state->events = 1;
	stepped(0);
}

void tso_sleep(void)
{
	uint64_t ignored;

	if (replays(&ignored))
		return;
	empty_buffer();
	if (tso.state->events == 0)
		longjmp(tso.back, BLOCKED);
	tso.state->events = 0;
	stepped(0);
}

/* ---------------------------------------------------------------------- search */
static enum outcome step(struct state *s, unsigned i)
{
	int outcome;

	tso.state = s;
	tso.thread = &s->thread[i];
	tso.replayed = 0;
	outcome = setjmp(tso.back);
	if (outcome != 0)
		return (enum outcome)outcome;
	tso.function[i]();
	tso.thread->done = 1;
	return RETURNED;
}

static uint64_t fingerprint(const struct state *s)
{
	const uint64_t *w = (const uint64_t *)s;
	uint64_t h = 1;

	static_assert(sizeof(*s) % sizeof(*w) == 0, "whole words");
	for (size_t i = 0; i < sizeof(*s) / sizeof(*w); i++) {
		h = (h ^ w[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h | 1;
}

static bool was_seen(const struct state *s)
{
	uint64_t h = fingerprint(s), mask = (UINT64_C(1) << SEEN_LOG2) - 1;
	uint64_t at = h >> (64 - SEEN_LOG2);

	while (tso.seen[at] && tso.seen[at] != h)
		at = (at + 1) & mask;
	if (tso.seen[at])
		return true;
	tso.seen[at] = h;
	assert(++tso.result.states < mask / 2);
	return false;
}

/* May store @i of the buffer be the next that all see? */
static bool may_leave(const struct thread *t, unsigned i)
{
	if (!t->buffer[i].used)
		return false;
	for (unsigned before = 0; before < i; before++)
		if (!tso.rules.any_order || t->buffer[before].place == t->buffer[i].place)
			return false;
	return true;
}

static void search(const struct state *s);

/* Return: how many ways there were to go on. */
static unsigned search_thread(const struct state *s, unsigned i)
{
	const struct thread *t = &s->thread[i];
	unsigned ways = 0;
	struct state next;

	for (unsigned b = 0; b < BUFFER; b++) {
		if (!may_leave(t, b))
			continue;
		next = *s;
		leave_buffer(&next, &next.thread[i], b);
		search(&next);
		ways++;
	}
	if (t->done)
		return ways;
	next = *s;
	if (step(&next, i) != BLOCKED) {
		search(&next);
		ways++;
	}
	return ways;
}

static void search(const struct state *s)
{
	unsigned ways = 0, done = 0;

	if (was_seen(s))
		return;
	for (unsigned i = 0; i < tso.count; i++) {
		ways += search_thread(s, i);
		done += s->thread[i].done;
	}
	if (ways > 0)
		return;
	if (done == tso.count)
		tso.result.ends++;
	else
		tso.result.stuck++;
}

struct tso_result tso_explore(void (*const *thread)(void), unsigned count,
			      struct tso_rules rules)
{
	static const struct state start;

	assert(count <= TSO_THREADS);
	memset(&tso, 0, sizeof(tso));
	tso.function = thread;
	tso.count = count;
	tso.rules = rules;
	tso.seen = calloc(UINT64_C(1) << SEEN_LOG2, sizeof(*tso.seen));
	assert(tso.seen);
	search(&start);
	free(tso.seen);
	return tso.result;
}
