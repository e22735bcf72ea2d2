/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rounds.c - all runs of a test. These are the steps that each worker takes in a run. A
 * line with ---- is a barrier; it names those that wait at it.
 *
 * reset the memory of the own nodes, post receives; lead: choose seed and deadline
 * ---- all ----	threads begin
 * ---- all ----	threads have ended or given up
 * all doorbells have been served; messages that wait for a receive of the program get one
 * every QP sends one more message; when these have arrived and the hierarchy is
 * 	drained, no message of the test is on its way. On UC they are repeated until
 * 	all workers have received theirs
 * ---- workers ----
 * copy the final state of the own nodes to the shared memory
 * ---- workers ----
 * lead: count the final state
 * ---- workers ----
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "rocin/random.h"
#include "sim/pcie/model/topology.h"

/* maximum time in ns that a thread waits for a value or a completion */
static const uint64_t patience_ns = 100 * 1000000ull;
/* Maximum time in ns to wait for completions at the end of a run. Even a busy machine
 * would not delay them for so long, so they must have been lost.
 */
static const uint64_t quiet_patience_ns = 300 * 1000000000ull;

static const uint64_t uc_patience_ns = 5 * 1000000ull;

/* ---- Threads of a run ---- */

static void *thread_main(void *arg)
{
	struct rn_live_player *p = arg;
	struct rn_live *l = p->l;

	if (rn_agent_is_gpu(l->test->thread[p->number].agent))
		l->lib.rn_gpu_become(rn_live_gpu(l, p->number));
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

/* ---- Resetting memory and kernels for a run ---- */

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
		if (l->qp[i].side[0])
			atomic_store(&l->shared->sends[i], 0);
		if (l->qp[i].side[1] && rn_live_post_receives(l, i))
			return -1;
	}
	for (unsigned i = 0; i < l->test->rqs; i++)
		if (rn_live_plays(l, l->test->rq[i].node))
			atomic_store(&l->shared->receives[i], 0);
	return 0;
}

static int end_kernels(struct rn_live *l, struct rn_live_player *players)
{
	for (unsigned i = 0; i < l->test->threads; i++)
		if (players[i].kernel > 0 &&
		    l->lib.rn_gpu_wait_kernel(rn_live_gpu(l, i), players[i].kernel))
			return rn_live_fail(l, "rn_gpu_wait_kernel: %s",
					    l->lib.rn_gpu_last_error());
	return 0;
}

/* ---- Receives that threads of the test post, and those at the end of a run ---- */

static bool is_fed(const struct rn_live *l, unsigned qp)
{
	return l->test->rq[l->test->qp[qp].recv_queue].is_rung;
}

/* Returns the number of messages of the test in this run that consume a receive of
 * receive queue @rq.
 */
static unsigned takers_of(const struct rn_live *l, unsigned rq)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->test->qps; i++)
		if (l->test->qp[i].recv_queue == rq)
			n += atomic_load(&l->shared->sends[i]);
	return n;
}

/* Returns the number of receives of QP @qp that no message of the test has consumed in
 * this run. The receives of an SRQ are counted for the first QP that uses it.
 */
static unsigned unused_of(const struct rn_live *l, unsigned qp)
{
	unsigned rq = l->test->qp[qp].recv_queue, takers, receives;

	if (!is_fed(l, qp))
		return l->qp[qp].recvs - 1 - atomic_load(&l->shared->sends[qp]);
	for (unsigned i = 0; i < qp; i++)
		if (l->test->qp[i].recv_queue == rq)
			return 0;
	takers = takers_of(l, rq);
	receives = atomic_load(&l->shared->receives[rq]);
	return receives > takers ? receives - takers : 0;
}

/* Called at the end of a run: posts receives to queue @rq for the messages that still
 * need one. These are the messages of the test that exceed the receives of its
 * instructions, and the SEND that ends the run on each QP.
 */
static int feed_rest(struct rn_live *l, unsigned rq)
{
	unsigned takers = takers_of(l, rq);
	unsigned receives = atomic_load(&l->shared->receives[rq]);
	unsigned more = takers > receives ? takers - receives : 0;

	for (unsigned i = 0; i < l->test->qps; i++)
		more += l->test->qp[i].recv_queue == rq;
	for (unsigned i = 0; i < more; i++)
		if (rn_live_post_receive(l, rq, RN_LITMUS_NONE))
			return -1;
	return 0;
}

static int feed_rests(struct rn_live *l)
{
	for (unsigned i = 0; i < l->test->rqs; i++)
		if (l->test->rq[i].is_rung && rn_live_plays(l, l->test->rq[i].node) &&
		    feed_rest(l, i))
			return -1;
	return 0;
}

/* Returns true if a message of this run has had no receive with a valid buffer until the
 * end of the run. The effects of that message and of those behind it then come too late
 * for the final state.
 */
static bool has_waited(const struct rn_live *l)
{
	if (atomic_load(&l->shared->has_bad_receive))
		return true;
	for (unsigned i = 0; i < l->test->rqs; i++)
		if (l->test->rq[i].is_rung &&
		    takers_of(l, i) > atomic_load(&l->shared->receives[i]))
			return true;
	return false;
}

/* Returns the number of receives that the QPs of CQ number @cq consume in a run,
 * including those for the messages that end it.
 */
static unsigned receives_of(const struct rn_live *l, unsigned cq)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->test->qps; i++)
		if (l->test->qp[i].recv_cq == cq)
			n += atomic_load(&l->shared->sends[i]) + unused_of(l, i) + 1;
	return n;
}

static unsigned sends_of(const struct rn_live *l, unsigned cq)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->test->qps; i++)
		n += l->test->qp[i].send_cq == cq;
	return n;
}

/* Returns true if the process that polls CQ number @cq may be waiting for a message that
 * this process has sent on QP @qp.
 */
static bool is_missed(const struct rn_live *l, unsigned qp, unsigned cq)
{
	return l->qp[qp].side[0] && (!l->qp[qp].side[1] || l->test->qp[qp].recv_cq == cq);
}

/* Sends the messages that end a run on UC again if *@when has come, because UC does not
 * repeat a lost message. If the first message was not lost, the repeated one finds no
 * receive, so the responder drops it.
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

/* Polls CQ number @cq once after the threads have ended. Counts the completions that a
 * thread of the test could have polled, but not those of the messages that end a run,
 * whose length is 0.
 */
static int poll_left(struct rn_live *l, unsigned cq, struct ibv_wc *wc)
{
	int rc = rn_live_poll(l, cq, wc);
	bool is_of_test;

	if (rc <= 0)
		return rc;
	if (wc->opcode & IBV_WC_RECV)
		is_of_test = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM || wc->byte_len > 0;
	else
		is_of_test = wc->wr_id != RN_LIVE_QUIET_WR;
	if (is_of_test)
		atomic_fetch_add(&l->shared->left[cq], 1);
	return rc;
}

/* Called at the end of a run: polls CQ number @cq until the completions of all messages
 * that were sent have come.
 */
static int empty_cq(struct rn_live *l, unsigned cq)
{
	unsigned quiet = sends_of(l, cq), receives = receives_of(l, cq);
	uint64_t now = rn_live_now(), deadline = now + quiet_patience_ns;
	uint64_t refill = now + uc_patience_ns;
	struct ibv_wc wc;
	int rc;

	while (quiet > 0 || atomic_load(&l->recv_seen[cq]) < receives) {
		rc = poll_left(l, cq, &wc);
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

/* Called when this worker has received all messages for which it waits: repeats messages
 * on UC until the other workers have received theirs, because a message to another worker
 * may be lost. A worker that fails exits; the loop then ends, because the parent process
 * kills the other workers.
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

/* Polls surplus completions, so that they do not disturb the next run: a message on UC
 * that was sent twice may have two.
 */
static int drop_surplus(struct rn_live *l)
{
	struct ibv_wc wc;
	int rc = 0;

	for (unsigned i = 0; i < l->test->cqs; i++)
		while (l->cq[i] && (rc = poll_left(l, i, &wc)) > 0)
			continue;
	return rc;
}

static int finish_messages(struct rn_live *l)
{
	if (feed_rests(l))
		return -1;
	for (unsigned i = 0; i < l->test->qps; i++)
		if (l->qp[i].side[0] && rn_live_post_quiet(l, i, unused_of(l, i)))
			return -1;
	for (unsigned i = 0; i < l->test->cqs; i++)
		if (l->cq[i] && empty_cq(l, i))
			return -1;
	if (feed_others(l))
		return -1;
	if (rn_live_drive_finish(l))
		return -1;
	if (l->lib.handle)
		l->lib.rn_pcie_drain();
	return 0;
}

static int64_t final_of(struct rn_live *l, unsigned loc)
{
	const volatile int64_t *word;
	int64_t first;

	if (rn_live_is_dm(l, loc))
		return rn_live_dm_load(l, loc);
	word = (const volatile int64_t *)(const void *)rn_live_address(l, loc);
	first = *word;
	for (uint32_t i = 1; i < l->map.place[loc].bytes / sizeof(*word); i++)
		if (word[i] != first)
			return RN_LIVE_TORN;
	return first;
}

static void collect_final(struct rn_live *l)
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
	if (atomic_load(&l->shared->failed) || end_kernels(l, players) ||
	    rn_live_queues_finish(l) || finish_messages(l))
		return -1;
	pthread_barrier_wait(&l->shared->workers);
	if (drop_surplus(l))
		return -1;
	collect_final(l);
	pthread_barrier_wait(&l->shared->workers);
	return 0;
}

/* ---- Counting final states ---- */

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

/* Returns true if the thread has given up waiting for a value, but the value was there at
 * the end of the run.
 */
static bool could_go_on(const struct rn_live *l, unsigned thread)
{
	const struct rn_litmus_thread *t = &l->test->thread[thread];
	const struct rn_live_thread_result *r = &l->shared->thread[thread];
	const struct rn_litmus_instr *in = &t->instr[r->executed];

	if (r->is_done || r->executed == t->count || !r->mark[r->executed].began)
		return false;
	switch (in->op) {
	case RN_LITMUS_WAIT:
		return l->shared->final[in->loc] ==
		       (in->value.is_reg ? r->reg[in->value.reg] : in->value.number);
	case RN_LITMUS_POLL:
		return atomic_load(&l->shared->left[in->cq]) > 0;
	default:
		return in->op == RN_LITMUS_POLLC && atomic_load(&l->shared->left_dma) > 0;
	}
}

/* Counts the final state of a run. The run has no final state if a thread has given up
 * too early because the machine was busy, or if a message has waited for a receive.
 */
static void count(struct rn_live *l, struct rn_live_results *res)
{
	struct rn_litmus_outcome out;
	uint32_t i = 0;

	res->runs++;
	if (has_waited(l))
		return;
	for (unsigned thread = 0; thread < l->test->threads; thread++)
		if (could_go_on(l, thread))
			return;
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

/* Called by the lead (the process that counts final states). Decides whether there is
 * another run, and chooses its seed and the time at which its threads give up.
 */
static void decide_next_run(struct rn_live *l, uint64_t done, uint64_t began)
{
	const struct rn_live_request *r = l->request;
	uint64_t now = rn_live_now();

	l->shared->seed = rn_random_at(r->seed, r->first + done);
	l->shared->deadline = now + patience_ns;
	atomic_store(&l->shared->emptied, 0);
	atomic_store(&l->shared->left_dma, 0);
	atomic_store(&l->shared->has_bad_receive, false);
	for (unsigned i = 0; i < RN_LITMUS_CQS; i++)
		atomic_store(&l->shared->left[i], 0);
	l->shared->is_last =
		done == r->runs || (r->ms > 0 && now - began > r->ms * 1000000);
}

int rn_live_rounds(struct rn_live *l, struct rn_live_results *results)
{
	struct rn_live_player players[RN_LITMUS_THREADS] = { 0 };
	uint64_t began = rn_live_now();

	if (rn_live_queues_open(l, rn_live_post_fetched, rn_live_post_receive) ||
	    start_threads(l, players))
		return -1;
	for (uint64_t done = 0;; done++) {
		if (l->is_lead)
			decide_next_run(l, done, began);
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
	rn_live_queues_close(l);
	if (results)
		results->seconds = (double)(rn_live_now() - began) / 1e9;
	return 0;
}
