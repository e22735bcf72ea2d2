/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bell.c - queues whose WQEs and doorbells the threads of a test write themselves,
 * without verbs calls: send queues (instructions `bell' and `blue') and receive queues
 * (instruction `recv').
 *
 * There is no verbs call that only rings a doorbell, so this file imitates the layer
 * below verbs with TLPs of the simulated PCIe hierarchy: a doorbell is a posted write of
 * the CPU to the NIC. When the doorbell has arrived, the NIC reads the WQE, and then the
 * data at the address in the WQE. This file sends the data by a verbs call, as inline
 * data. For the doorbell of a receive queue, it posts a receive by a verbs call, with the
 * buffer whose address is in the WQE.
 *
 * Each such queue has a thread, its engine, which stands for the NIC and serves doorbells
 * in the order in which they arrive. In PCIe mode strict, which has no TLPs, doorbells
 * arrive at once, and the engine loads from memory.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "sim/litmus/model.h"

enum {
	/* maximum number of words (of 8 bytes) in a location of a test */
	WORDS = RN_LIVE_PAGE / sizeof(int64_t),
};

struct bell {
	struct rn_live_queue *queue;
	const struct rn_litmus_instr *in;
	int64_t wqe; /* the WQE that a BlueFlame doorbell carries */
};

struct rn_live_queue {
	struct rn_live *l;
	rn_live_post_fn *post;
	rn_live_receive_fn *receive;
	unsigned node;
	uint32_t qpn; /* QPN of the queue pair; 0: the queue is that of an SRQ */
	/* number of the NIC for rn_pcie_ring(); negative: PCIe is not simulated */
	int nic;
	pthread_t engine;
	_Atomic unsigned rung;
	/* the doorbells of a run, by number of the work request or receive */
	struct bell bell[RN_LITMUS_OPS];

	/* @lock guards the members below; @changed is signalled when they change. A
	 * thread that holds the lock of the PCIe hierarchy may take @lock. A thread that
	 * holds @lock must not take the lock of the hierarchy.
	 */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const struct bell *arrived[RN_LITMUS_OPS];
	unsigned arrivals, served;
	/* @is_fetched: the read of a WQE or of data by the NIC has ended. @has_failed:
	 * there is no memory at the address.
	 */
	bool is_fetched, has_failed;
	bool is_over; /* the engine (the thread of this queue) must end */

	/* True: a doorbell led to no valid WQE, so the queue serves no more doorbells.
	 * While there are doorbells to serve, only the engine accesses this member.
	 */
	bool is_stopped;
};

/* ---- Fetching of WQEs and data by a NIC ---- */

static void fetched(void *arg, int result)
{
	struct rn_live_queue *q = arg;

	pthread_mutex_lock(&q->lock);
	q->is_fetched = true;
	q->has_failed = result != 0;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static bool fetch_by_tlps(struct rn_live_queue *q, const uint8_t *from, int64_t *word,
			  uint32_t bytes)
{
	struct rn_live *l = q->l;
	bool has_failed;

	q->is_fetched = false;
	if (l->lib.rn_pcie_fetch(q->nic, q->qpn, from, word, bytes,
				 (struct rn_pcie_end){ fetched, q }))
		return false;
	pthread_mutex_lock(&q->lock);
	while (!q->is_fetched)
		pthread_cond_wait(&q->changed, &q->lock);
	has_failed = q->has_failed;
	pthread_mutex_unlock(&q->lock);
	return !has_failed;
}

/* Reads a location as the NIC of @q would. Returns the number of words that were read, or
 * 0 after rn_live_fail().
 */
static unsigned fetch(struct rn_live_queue *q, unsigned loc, int64_t *word)
{
	const uint8_t *from = rn_live_address(q->l, loc);
	const _Atomic int64_t *at = (const _Atomic int64_t *)(const void *)from;
	unsigned words = q->l->map.place[loc].bytes / sizeof(*word);

	if (q->nic >= 0) {
		if (fetch_by_tlps(q, from, word, words * (uint32_t)sizeof(*word)))
			return words;
		rn_live_fail(q->l, "a NIC cannot fetch %s",
			     q->l->test->location[loc].name);
		return 0;
	}
	for (unsigned i = 0; i < words; i++)
		word[i] = atomic_load_explicit(&at[i], memory_order_acquire);
	return words;
}

static bool has_address(const int64_t *word, unsigned words)
{
	for (unsigned i = 0; i < words; i++)
		if (rn_litmus_is_address(word[i]))
			return true;
	return false;
}

/* Returns the location whose address is in each of the @words words at @word, if it is on
 * the node of this queue. Otherwise the words are no valid WQE, and the function returns
 * RN_LITMUS_NONE.
 */
static unsigned location_at(const struct rn_live_queue *q, const int64_t *word,
			    unsigned words)
{
	const struct rn_litmus_test *t = q->l->test;
	unsigned loc;

	for (unsigned i = 1; i < words; i++)
		if (word[i] != word[0])
			return RN_LITMUS_NONE;
	loc = (unsigned)(word[0] - RN_LITMUS_ADDRESS);
	return t->location[loc].node == q->node ? loc : RN_LITMUS_NONE;
}

/* Serves the doorbell of a receive: fetches its WQE, and posts a receive. If the WQE has
 * no valid address, posts the receive with memory outside of all locations, so that
 * messages can still arrive; the final state of this run is then not counted.
 */
static void serve_receive(struct rn_live_queue *q, const struct rn_litmus_instr *in)
{
	int64_t word[WORDS];
	unsigned words = fetch(q, in->loc, word), loc = RN_LITMUS_NONE;

	if (words == 0)
		return;
	if (rn_litmus_is_address(word[0]))
		loc = location_at(q, word, words);
	if (loc == RN_LITMUS_NONE)
		atomic_store(&q->l->shared->has_bad_receive, true);
	(void)q->receive(q->l, in->rq, loc);
}

/* Serves a doorbell: fetches its WQE, and posts what the WQE describes. If that fails,
 * the queue serves no more doorbells.
 */
static void serve(struct rn_live_queue *q, const struct bell *bell)
{
	unsigned words = 1, loc;
	int64_t word[WORDS];

	if (bell->in->op == RN_LITMUS_RECV) {
		serve_receive(q, bell->in);
		return;
	}
	word[0] = bell->wqe;
	if (bell->in->op == RN_LITMUS_BELL)
		words = fetch(q, bell->in->loc, word);
	for (unsigned fetches = 1; words > 0 && has_address(word, words); fetches++) {
		loc = location_at(q, word, words);
		if (loc == RN_LITMUS_NONE || fetches == RN_MODEL_FETCHES)
			words = 0;
		else
			words = fetch(q, loc, word);
	}
	q->is_stopped = words == 0 || q->post(q->l, bell->in, word, words);
}

/* ---- The engine that serves the doorbells of a queue ---- */

static const struct bell *next_bell(struct rn_live_queue *q)
{
	const struct bell *bell = NULL;

	pthread_mutex_lock(&q->lock);
	while (!q->is_over && q->served == q->arrivals)
		pthread_cond_wait(&q->changed, &q->lock);
	if (!q->is_over)
		bell = q->arrived[q->served];
	pthread_mutex_unlock(&q->lock);
	return bell;
}

static void *engine_main(void *arg)
{
	struct rn_live_queue *q = arg;
	const struct bell *bell;

	while ((bell = next_bell(q))) {
		if (!q->is_stopped)
			serve(q, bell);
		pthread_mutex_lock(&q->lock);
		q->served++;
		pthread_mutex_unlock(&q->lock);
	}
	return NULL;
}

static void arrived(void *arg, int result)
{
	const struct bell *bell = arg;
	struct rn_live_queue *q = bell->queue;

	(void)result;
	pthread_mutex_lock(&q->lock);
	q->arrived[q->arrivals++] = bell;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

int rn_live_ring(struct rn_live *l, const struct rn_litmus_instr *in, int64_t wqe)
{
	enum {
		BELL_BYTES = 8,
		/* bytes of a BlueFlame doorbell: one line of the processor's
		 * write-combining buffer
		 */
		BLUE_BYTES = 64,
	};
	bool is_recv = in->op == RN_LITMUS_RECV;
	struct rn_live_queue *q = l->queue[is_recv ? RN_LITMUS_QPS + in->rq : in->qp];
	struct bell *bell = &q->bell[is_recv ? in->receive : in->work];
	const int64_t bytes[BLUE_BYTES / sizeof(int64_t)] = { wqe };

	*bell = (struct bell){ .queue = q, .in = in, .wqe = wqe };
	atomic_fetch_add(&q->rung, 1);
	if (is_recv)
		atomic_fetch_add(&l->shared->receives[in->rq], 1);
	if (q->nic < 0) {
		arrived(bell, 0);
		return 0;
	}
	if (l->lib.rn_pcie_ring(q->nic, bytes,
				in->op == RN_LITMUS_BLUE ? BLUE_BYTES : BELL_BYTES,
				(struct rn_pcie_end){ arrived, bell }))
		return rn_live_fail(l, "the doorbell of \"%s\" does not go out",
				    in->text);
	return 0;
}

/* ---- All queues of a worker ---- */

static struct rn_live_queue *open_queue(struct rn_live *l, unsigned node, unsigned agent)
{
	const struct rn_live_device *d =
		&l->device[rn_live_find_nic(&l->map, node, agent)];
	struct rn_live_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->l = l;
	q->node = node;
	q->nic = l->lib.handle ? l->lib.rn_pcie_nic(ibv_get_device_name(d->ctx->device))
			       : -1;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	return q;
}

/* Starts the engine of @q (the thread that serves its doorbells), and stores @q as queue
 * @number. Returns 0, or -1 after rn_live_fail().
 */
static int start_engine(struct rn_live *l, struct rn_live_queue *q, unsigned number)
{
	if (q && !pthread_create(&q->engine, NULL, engine_main, q)) {
		l->queue[number] = q;
		return 0;
	}
	free(q);
	return rn_live_fail(l, "no thread for a queue");
}

static int open_send_queue(struct rn_live *l, unsigned qp, rn_live_post_fn *post)
{
	const struct rn_litmus_qp *t = &l->test->qp[qp];
	struct rn_live_queue *q;

	if (!t->is_rung || !l->qp[qp].side[0])
		return 0;
	q = open_queue(l, t->node, t->nic);
	if (q) {
		q->post = post;
		q->qpn = l->qp[qp].side[0]->qp_num;
	}
	return start_engine(l, q, qp);
}

static int open_recv_queue(struct rn_live *l, unsigned rq, rn_live_receive_fn *receive)
{
	const struct rn_litmus_rq *t = &l->test->rq[rq];
	struct rn_live_queue *q;

	if (!t->is_rung || !rn_live_plays(l, t->node))
		return 0;
	q = open_queue(l, t->node, t->nic);
	for (unsigned i = 0; q && !t->is_shared && i < l->test->qps; i++)
		if (l->test->qp[i].recv_queue == rq)
			q->qpn = l->qp[i].side[1]->qp_num;
	if (q)
		q->receive = receive;
	return start_engine(l, q, RN_LITMUS_QPS + rq);
}

int rn_live_queues_open(struct rn_live *l, rn_live_post_fn *post,
			rn_live_receive_fn *receive)
{
	for (unsigned i = 0; i < l->test->qps; i++)
		if (open_send_queue(l, i, post))
			return -1;
	for (unsigned i = 0; i < l->test->rqs; i++)
		if (open_recv_queue(l, i, receive))
			return -1;
	return 0;
}

void rn_live_queues_close(struct rn_live *l)
{
	for (unsigned i = 0; i < RN_LIVE_QUEUES; i++) {
		struct rn_live_queue *q = l->queue[i];

		if (!q)
			continue;
		pthread_mutex_lock(&q->lock);
		q->is_over = true;
		pthread_cond_broadcast(&q->changed);
		pthread_mutex_unlock(&q->lock);
		pthread_join(q->engine, NULL);
		pthread_cond_destroy(&q->changed);
		pthread_mutex_destroy(&q->lock);
		free(q);
		l->queue[i] = NULL;
	}
}

static bool is_idle(struct rn_live_queue *q)
{
	bool idle;

	pthread_mutex_lock(&q->lock);
	idle = q->served == atomic_load(&q->rung);
	if (idle) {
		q->served = q->arrivals = 0;
		q->is_stopped = false;
		atomic_store(&q->rung, 0);
	}
	pthread_mutex_unlock(&q->lock);
	return idle;
}

int rn_live_queues_finish(struct rn_live *l)
{
	for (unsigned i = 0; i < RN_LIVE_QUEUES; i++)
		while (l->queue[i] && !is_idle(l->queue[i])) {
			if (l->lib.handle)
				l->lib.rn_pcie_drain();
			sched_yield();
		}
	return atomic_load(&l->shared->failed) ? -1 : 0;
}
