/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_rounds.c - all runs of a test.
 *
 *	reset own memory, post receives; lead: seed, deadline
 *	---- all ----	threads begin
 *	---- all ----	threads have ended or given up
 *	every QP sends one message more: when it is there, and the hierarchy is drained,
 *	nothing of the test is on its way; on UC again until all workers have theirs
 *	---- workers ----
 *	own final memory into the shared block
 *	---- workers ----
 *	lead: count
 *	---- workers ----
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "live.h"
#include "rocin/random.h"

static const uint64_t patience_ns = 100 * 1000000ull;	      /* of a waiting thread */
static const uint64_t quiet_patience_ns = 10 * 1000000000ull; /* then it is a failure */

static const uint64_t uc_patience_ns = 5 * 1000000ull;

uint64_t rn_live_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- threads ---- */

static void *thread_main(void *arg)
{
	struct rn_live_player *p = arg;
	struct rn_live *l = p->l;
	const struct rn_litmus_thread *t = &l->test->thread[p->number];

	if (rn_agent_is_gpu(t->agent))
		for (unsigned i = 0; i < l->map.memories; i++)
			if (l->map.memory[i].node == t->node &&
			    l->map.memory[i].agent == t->agent)
				l->lib.rn_gpu_become(
					l->lib.rn_gpu_open(l->map.memory[i].gpu));
	for (;;) {
		pthread_barrier_wait(&l->shared->all);
		if (l->shared->is_last)
			return NULL;
		rn_live_play(p);
		pthread_barrier_wait(&l->shared->all);
	}
}

static bool is_mine(const struct rn_live *l, unsigned thread)
{
	return rn_live_plays(l, l->test->thread[thread].node);
}

static int start_threads(struct rn_live *l, struct rn_live_player *players)
{
	for (unsigned i = 0; i < l->test->threads; i++) {
		players[i] = (struct rn_live_player){ .l = l,
						      .number = (uint8_t)i,
						      .all = players };
		if (is_mine(l, i) && !l->test->thread[i].is_launched &&
		    pthread_create(&players[i].thread, NULL, thread_main, &players[i]))
			return rn_live_fail(l, "no thread");
	}
	return 0;
}

static void join_threads(struct rn_live *l, struct rn_live_player *players)
{
	for (unsigned i = 0; i < l->test->threads; i++)
		if (is_mine(l, i) && !l->test->thread[i].is_launched)
			pthread_join(players[i].thread, NULL);
}

/* ---- one run ---- */

static void reset_memory(struct rn_live *l)
{
	for (unsigned i = 0; i < l->test->locations; i++) {
		uint32_t bytes = l->map.place[i].bytes;
		int64_t *at;

		if (!rn_live_plays(l, l->test->location[i].node))
			continue;
		if (rn_live_is_dm(l, i)) {
			rn_live_dm_reset(l, i);
			continue;
		}
		at = (int64_t *)(void *)rn_live_address(l, i);
		if (bytes < l->map.element)
			bytes = l->map.element;
		for (uint32_t j = 0; j < bytes / sizeof(*at); j++)
			at[j] = l->test->location[i].init;
	}
}

static int reset(struct rn_live *l, struct rn_live_player *players)
{
	reset_memory(l);
	if (rn_live_set_layer(l))
		return -1;
	for (unsigned i = 0; i < RN_LITMUS_CQS; i++)
		atomic_store(&l->recv_seen[i], 0);
	for (unsigned i = 0; i < l->test->threads; i++)
		if (is_mine(l, i)) {
			l->shared->thread[i] = (struct rn_live_thread_result){ 0 };
			players[i].kernel = 0;
			players[i].rng = rn_random_at(l->shared->seed, i) | 1;
		}
	for (unsigned i = 0; i < l->test->qps; i++) {
		atomic_store(&l->qp[i].sends, 0);
		if (l->qp[i].side[1] && rn_live_post_receives(l, i))
			return -1;
	}
	return rn_live_drive_reset(l);
}

static int end_kernels(struct rn_live *l, struct rn_live_player *players)
{
	for (unsigned i = 0; i < l->test->threads; i++)
		if (players[i].kernel > 0 &&
		    l->lib.rn_gpu_wait_kernel(l->lib.rn_gpu_open(0), players[i].kernel))
			return rn_live_fail(l, "rn_gpu_wait_kernel: %s",
					    l->lib.rn_gpu_last_error());
	return 0;
}

/* Receives that all QPs of a completion queue use up in a run. */
static unsigned receives_of(const struct rn_live *l, unsigned cq)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->test->qps; i++)
		if (l->test->qp[i].recv_cq == cq)
			n += l->qp[i].recvs;
	return n;
}

static unsigned sends_of(const struct rn_live *l, unsigned cq)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->test->qps; i++)
		n += l->test->qp[i].send_cq == cq;
	return n;
}

/* Does a worker that waits for completion queue @cq miss what this one sends on @qp? */
static bool is_missed(const struct rn_live *l, unsigned qp, unsigned cq)
{
	return l->qp[qp].side[0] && (!l->qp[qp].side[1] || l->test->qp[qp].recv_cq == cq);
}

/* A message on UC that was lost is not sent again by the device. One too many finds no
 * receive.
 */
static int refill_uc(struct rn_live *l, unsigned cq, uint64_t *when)
{
	uint64_t now = rn_live_now();

	if (now <= *when)
		return 0;
	*when = now + uc_patience_ns;
	for (unsigned i = 0; i < l->test->qps; i++)
		if (l->test->qp[i].uc && is_missed(l, i, cq) &&
		    rn_live_post_unsignaled(l, i))
			return -1;
	return 0;
}

/* Take completions until those of the last messages have come. */
static int empty_cq(struct rn_live *l, unsigned cq)
{
	unsigned quiet = sends_of(l, cq), receives = receives_of(l, cq);
	uint64_t now = rn_live_now(), deadline = now + quiet_patience_ns;
	uint64_t refill = now + uc_patience_ns;
	struct ibv_wc wc;
	int rc;

	while (quiet > 0 || atomic_load(&l->recv_seen[cq]) < receives) {
		rc = rn_live_poll(l, cq, &wc);
		if (rc < 0)
			return -1;
		if (rc > 0 && wc.wr_id == RN_LIVE_QUIET_WR && !(wc.opcode & IBV_WC_RECV))
			quiet--;
		if (rc > 0)
			continue;
		sched_yield();
		if (refill_uc(l, cq, &refill))
			return -1;
		if (rn_live_now() > deadline)
			return rn_live_fail(l,
					    "completions are missing: %u of requests, "
					    "%u of %u receives",
					    quiet, atomic_load(&l->recv_seen[cq]),
					    receives);
	}
	return 0;
}

/* Until all workers have what they wait for: that of another may have been lost after
 * this one had all of its own. Who fails ends the process, and its parent the others.
 */
static int feed_others(struct rn_live *l)
{
	uint64_t refill = rn_live_now() + uc_patience_ns;

	atomic_fetch_add(&l->shared->emptied, 1);
	while (atomic_load(&l->shared->emptied) < l->workers) {
		sched_yield();
		if (refill_uc(l, RN_LITMUS_CQS, &refill))
			return -1;
	}
	return 0;
}

/* What was one too many ends here, not in the receives of the next run. */
static int drop_surplus(struct rn_live *l)
{
	struct ibv_wc wc;
	int rc = 0;

	for (unsigned i = 0; i < l->test->cqs; i++)
		while (l->cq[i] && (rc = rn_live_poll(l, i, &wc)) > 0)
			continue;
	return rc;
}

static int quiet(struct rn_live *l)
{
	for (unsigned i = 0; i < l->test->qps; i++)
		if (l->qp[i].side[0] &&
		    rn_live_post_quiet(l, i,
				       l->qp[i].recvs - 1 - atomic_load(&l->qp[i].sends)))
			return -1;
	for (unsigned i = 0; i < l->test->cqs; i++)
		if (l->cq[i] && empty_cq(l, i))
			return -1;
	if (feed_others(l))
		return -1;
	if (l->drive)
		l->lib.rn_storage_settle();
	if (l->lib.handle)
		l->lib.rn_pcie_drain();
	return 0;
}

static int64_t final_of(struct rn_live *l, unsigned loc)
{
	if (rn_live_is_dm(l, loc))
		return rn_live_dm_load(l, loc);
	return *(const volatile int64_t *)(const void *)rn_live_address(l, loc);
}

static void collect(struct rn_live *l)
{
	for (unsigned i = 0; i < l->test->locations; i++)
		if (rn_live_plays(l, l->test->location[i].node))
			l->shared->final[i] = final_of(l, i);
}

static int run_once(struct rn_live *l, struct rn_live_player *players)
{
	if (reset(l, players))
		return -1;
	l->began = rn_live_now();
	pthread_barrier_wait(&l->shared->all);
	pthread_barrier_wait(&l->shared->all);
	l->ended = rn_live_now();
	if (atomic_load(&l->shared->failed) || end_kernels(l, players) || quiet(l))
		return -1;
	pthread_barrier_wait(&l->shared->workers);
	if (drop_surplus(l))
		return -1;
	collect(l);
	pthread_barrier_wait(&l->shared->workers);
	return 0;
}

/* ---- counting ---- */

static void read_outcome(const struct rn_live *l, struct rn_litmus_outcome *out)
{
	const struct rn_litmus_test *t = l->test;

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < t->observeds; i++) {
		const struct rn_litmus_observed *o = &t->observed[i];
		const struct rn_live_thread_result *r = &l->shared->thread[o->thread];

		if (o->what == RN_LITMUS_MEMORY)
			out->value[i] = l->shared->final[o->loc];
		else if (o->what == RN_LITMUS_DONE)
			out->value[i] = r->is_done;
		else if (r->is_done)
			out->value[i] = r->reg[o->reg];
		else
			out->absent |= 1u << i;
	}
}

static void count(struct rn_live *l, struct rn_live_results *res)
{
	struct rn_litmus_outcome out;
	uint32_t i = 0;

	res->runs++;
	read_outcome(l, &out);
	while (i < res->states &&
	       !rn_litmus_same_outcome(l->test, &res->state[i].outcome, &out))
		i++;
	if (i == RN_LIVE_STATES)
		return;
	if (i == res->states) {
		res->states++;
		res->state[i] =
			(struct rn_live_state){ .outcome = out, .seed = l->shared->seed };
		res->step[i] = rn_live_witness(l, &res->state[i].steps);
	}
	res->state[i].count++;
}

/* The lead tells whether another run follows. */
static void lead(struct rn_live *l, uint64_t done, uint64_t began)
{
	const struct rn_live_request *r = l->request;
	uint64_t now = rn_live_now();

	l->shared->seed = rn_random_at(r->seed, r->first + done);
	l->shared->deadline = now + patience_ns;
	atomic_store(&l->shared->emptied, 0);
	l->shared->is_last =
		done == r->runs || (r->ms > 0 && now - began > r->ms * 1000000);
}

int rn_live_rounds(struct rn_live *l, struct rn_live_results *results)
{
	struct rn_live_player players[RN_LITMUS_THREADS];
	uint64_t began = rn_live_now();

	if (start_threads(l, players))
		return -1;
	for (uint64_t done = 0;; done++) {
		if (l->is_lead)
			lead(l, done, began);
		pthread_barrier_wait(&l->shared->workers);
		if (l->shared->is_last)
			break;
		if (run_once(l, players))
			return -1;
		if (results)
			count(l, results);
		pthread_barrier_wait(&l->shared->workers);
	}
	pthread_barrier_wait(&l->shared->all);
	join_threads(l, players);
	if (results)
		results->seconds = (double)(rn_live_now() - began) / 1e9;
	return 0;
}
