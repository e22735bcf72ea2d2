/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_player.c - plays one thread of a test. */
#include <sched.h>
#include <stdbool.h>

#include "live.h"

enum {
	SPINS = 32, /* looks before the processor is offered to somebody else */
	EMPTY_ONE_IN = 4,
	LONGEST_NS = 300000,
	SHORT_NS = 4000,
	MIDDLE_NS = 40000,
};

static uint64_t draw(struct rn_live_player *p)
{
	uint64_t x = p->rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	p->rng = x;
	return x;
}

static void idle(unsigned *spins)
{
	if (++*spins % SPINS == 0)
		sched_yield();
}

/* Most instructions follow each other closely; some are late, so that other threads and
 * what is on its way get in between.
 */
static void delay(struct rn_live_player *p)
{
	uint64_t how = draw(p) % 16, until;
	unsigned spins = 0;

	if (how < 9)
		return;
	until = how < 12 ? SHORT_NS : how < 15 ? MIDDLE_NS : LONGEST_NS;
	until = rn_live_now() + draw(p) % until;
	while (rn_live_now() < until)
		idle(&spins);
}

/* ---- memory ---- */

/* Does the thread's processor own that memory? Then it is no PCIe access. */
static bool is_own(const struct rn_live_player *p, unsigned loc)
{
	return p->l->test->location[loc].agent == p->l->test->thread[p->number].agent;
}

/* The number that all words hold, or RN_LIVE_TORN. */
static int64_t load_words(const uint8_t *at, size_t words)
{
	const _Atomic int64_t *word = (const _Atomic int64_t *)(const void *)at;
	int64_t first = atomic_load_explicit(word, memory_order_acquire);

	for (size_t i = 1; i < words; i++)
		if (atomic_load_explicit(&word[i], memory_order_acquire) != first)
			return RN_LIVE_TORN;
	return first;
}

static int64_t load(struct rn_live_player *p, unsigned loc)
{
	struct rn_live *l = p->l;
	const uint8_t *at;

	if (rn_live_is_dm(l, loc))
		return rn_live_dm_load(l, loc);
	at = rn_live_address(l, loc);
	if (rn_agent_is_gpu(l->test->thread[p->number].agent))
		return (int64_t)l->lib.rn_gpu_load(at, sizeof(int64_t));
	if (!is_own(p, loc))
		return (int64_t)l->lib.rn_gpu_bar_load(at, sizeof(int64_t));
	return load_words(at, l->map.place[loc].bytes / sizeof(int64_t));
}

static void store(struct rn_live_player *p, unsigned loc, int64_t value)
{
	struct rn_live *l = p->l;
	uint8_t *at;

	if (rn_live_is_dm(l, loc)) {
		rn_live_dm_store(l, loc, value);
		return;
	}
	at = rn_live_address(l, loc);
	if (rn_agent_is_gpu(l->test->thread[p->number].agent))
		l->lib.rn_gpu_store(at, (uint64_t)value, sizeof(value));
	else if (!is_own(p, loc))
		l->lib.rn_gpu_bar_store(at, (uint64_t)value, sizeof(value));
	else
		atomic_store_explicit((_Atomic int64_t *)(void *)at, value,
				      memory_order_release);
}

/* ---- instructions ---- */

/* What a blocking instruction looks at, over and over: 1 there, 0 not yet, -1 failed. */
static int look(struct rn_live_player *p, const struct rn_litmus_instr *in, int64_t *seen)
{
	const int64_t *reg = p->l->shared->thread[p->number].reg;
	struct ibv_wc wc;

	switch (in->op) {
	case RN_LITMUS_WAIT:
		*seen = load(p, in->loc);
		return *seen ==
		       (in->value.is_reg ? reg[in->value.reg] : in->value.number);
	case RN_LITMUS_POLL:
		return rn_live_poll(p->l, in->cq, &wc);
	default:
		return rn_live_drive_poll(p->l, p->l->test->thread[p->number].node);
	}
}

static int wait_for(struct rn_live_player *p, const struct rn_litmus_instr *in,
		    int64_t *seen)
{
	uint64_t deadline = p->l->shared->deadline;
	unsigned spins = 0;
	int rc;

	while ((rc = look(p, in, seen)) == 0) {
		idle(&spins);
		if (spins % SPINS == 0 && rn_live_now() > deadline)
			return -1;
	}
	return rc;
}

static void play_launched(void *arg)
{
	rn_live_play(arg);
}

static int launch(struct rn_live_player *p, unsigned thread)
{
	const struct rn_litmus_thread *t = &p->l->test->thread[thread];
	struct rn_live *l = p->l;
	unsigned memory = 0;
	struct rn_gpu *gpu;

	while (l->map.memory[memory].node != t->node ||
	       l->map.memory[memory].agent != t->agent)
		memory++;
	gpu = l->lib.rn_gpu_open(l->map.memory[memory].gpu);
	p->all[thread].kernel = l->lib.rn_gpu_launch(gpu, play_launched, &p->all[thread]);
	return p->all[thread].kernel > 0
		       ? 0
		       : rn_live_fail(l, "rn_gpu_launch: %s", l->lib.rn_gpu_last_error());
}

/* As mfence orders: gcc's tsan refuses a fence, so by a read-modify-write of a word that
 * nobody else looks at.
 */
static void full_fence(void)
{
	atomic_int word = 0;

	atomic_fetch_add_explicit(&word, 1, memory_order_seq_cst);
	__asm__ volatile("" : : "r"(&word) : "memory");
}

/* One instruction. Return: 0; -1: it gave up or failed, and so does the thread. */
static int execute(struct rn_live_player *p, const struct rn_litmus_instr *in,
		   int64_t *reg, int64_t *value)
{
	struct ibv_wc wc;

	switch (in->op) {
	case RN_LITMUS_ST:
	case RN_LITMUS_MWR:
		*value = in->value.is_reg ? reg[in->value.reg] : in->value.number;
		store(p, in->loc, *value);
		return 0;
	case RN_LITMUS_LD:
	case RN_LITMUS_MRD:
		*value = reg[in->reg] = load(p, in->loc);
		return 0;
	case RN_LITMUS_MFENCE:
		full_fence();
		return 0;
	case RN_LITMUS_WAIT:
	case RN_LITMUS_POLL:
	case RN_LITMUS_POLLC:
		return wait_for(p, in, value) > 0 ? 0 : -1;
	case RN_LITMUS_TRYP:
		*value = reg[in->reg] = rn_live_poll(p->l, in->cq, &wc);
		return *value < 0 ? -1 : 0;
	case RN_LITMUS_LAUNCH:
		return launch(p, in->thread);
	case RN_LITMUS_DMA:
	case RN_LITMUS_DMACQE:
		return rn_live_drive_submit(p->l, in);
	default:
		if (draw(p) % EMPTY_ONE_IN == 0 && rn_live_post_empty(p->l, in->qp))
			return -1;
		return rn_live_post(p->l, in, reg);
	}
}

void rn_live_play(struct rn_live_player *p)
{
	const struct rn_litmus_thread *t = &p->l->test->thread[p->number];
	struct rn_live_thread_result *r = &p->l->shared->thread[p->number];

	delay(p);
	for (unsigned i = 0; i < t->count; i++) {
		struct rn_live_mark *mark = &r->mark[i];

		mark->began = rn_live_now();
		if (execute(p, &t->instr[i], r->reg, &mark->value))
			return;
		mark->ended = rn_live_now();
		r->executed = (uint8_t)(i + 1);
		if (i + 1u < t->count)
			delay(p);
	}
	r->is_done = true;
}
