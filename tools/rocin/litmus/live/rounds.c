/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rounds.c - all runs of a test. These are the steps of a run; a line with ---- is a
 * barrier, with those who wait at it.
 *
 * reset own memory, post receives; lead: choose seed and deadline
 * ---- all ----	threads begin
 * ---- all ----	threads have ended or given up
 * all doorbells have been served; messages that wait for a receive of the program get one
 * every QP sends one more message; when these have arrived and the hierarchy is
 * 	drained, no message of the test is on its way. On UC they are repeated until
 * 	all workers have received theirs
 * ---- workers ----
 * copy the final state of own memory to the shared memory
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

/* A step of a run, with its time, by which steps are sorted. */
struct rn_live_timed {
	uint64_t at;	/* time of the step in ns */
	uint32_t order; /* order among steps that have the same time */
	struct rn_live_step step;
};

struct rn_live_list {
	struct rn_live_timed *at;
	size_t count, room;
};

/* ------------------------------------------------------------------------------ TLPs */
/* Converts a trace of TLPs in the simulated PCIe hierarchy to steps of the test.
 *
 * The process has one hierarchy, with consecutive numbers for NICs and GPUs, while the
 * test has several nodes. So agents and queues get the names that they have in the test.
 */

struct moves {
	const struct rn_live *l;
	struct rn_live_list *list;
	struct rn_pcie_move *move;
	uint32_t count;
};

struct who {
	uint8_t node, agent;
};

/* Adds a step, whose TLP and location the caller fills in. Returns NULL if there is
 * no memory.
 */
static struct rn_litmus_step *add_step(struct rn_live_list *list, uint64_t at,
				       const char *rule)
{
	struct rn_live_timed *t;

	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;

		t = realloc(list->at, room * sizeof(*t));
		if (!t)
			return NULL;
		list->at = t;
		list->room = room;
	}
	t = &list->at[list->count];
	*t = (struct rn_live_timed){
		.at = at,
		.order = (uint32_t)list->count++,
		.step.step = { .thread = RN_LITMUS_NONE,
			       .instr = RN_LITMUS_NONE,
			       .loc = RN_LITMUS_NONE,
			       .tlp = UINT16_MAX,
			       .from = RN_LIST_COUNT,
			       .to = RN_LIST_COUNT,
			       .passed = UINT16_MAX },
	};
	snprintf(t->step.rule, sizeof(t->step.rule), "%s", rule ? rule : "");
	return &t->step.step;
}

/* Returns the node and agent of the test for which an agent of the process is used. */
static struct who who_is(const struct rn_live *l, unsigned agent)
{
	const struct rn_live_map *map = &l->map;
	struct who who = { 0, (uint8_t)agent };

	if (rn_agent_is_nic(agent) && agent - RN_AGENT_NIC < map->nics)
		return (struct who){ map->nic[agent - RN_AGENT_NIC].node,
				     map->nic[agent - RN_AGENT_NIC].agent };
	for (unsigned i = 0; rn_agent_is_gpu(agent) && i < map->memories; i++)
		if (rn_agent_is_gpu(map->memory[i].agent) &&
		    map->memory[i].gpu == agent - RN_AGENT_GPU)
			return (struct who){ map->memory[i].node, map->memory[i].agent };
	for (unsigned i = 0; agent >= RN_AGENT_NVME && i < l->test->threads; i++)
		if (l->test->thread[i].agent >= RN_AGENT_NVME)
			return (struct who){ l->test->thread[i].node,
					     l->test->thread[i].agent };
	return who;
}

static struct who requester_of(const struct rn_live *l, const struct rn_pcie_move *m)
{
	struct who who = who_is(l, m->requester);

	/* All nodes use the same CPU agent, so the node is that of the memory accessed.
	 */
	if (m->requester == RN_AGENT_CPU)
		who.node = who_is(l, m->target).node;
	return who;
}

static uint16_t queue_of(const struct rn_live *l, unsigned queue)
{
	unsigned base = queue / RN_AGENT_COUNT * RN_AGENT_COUNT, agent = queue - base;

	if (queue >= RN_QUEUE_SPLIT && queue < RN_QUEUE_STREAM) {
		unsigned pair = queue - RN_QUEUE_SPLIT;

		return (uint16_t)(RN_QUEUE_SPLIT +
				  who_is(l, pair / RN_AGENT_COUNT).agent *
					  RN_AGENT_COUNT +
				  who_is(l, pair % RN_AGENT_COUNT).agent);
	}
	if (queue >= RN_QUEUE_COUNT)
		return (uint16_t)(RN_QUEUE_COUNT +
				  who_is(l, queue - RN_QUEUE_COUNT).agent);
	if (queue >= RN_QUEUE_STREAM)
		return (uint16_t)queue;
	return (uint16_t)(base + who_is(l, agent).agent);
}

/* Returns the address of a location. The program does not know the address of memory on
 * a NIC, but as that memory is aligned to its size, the address follows from the one in
 * the TLP.
 */
static uint64_t address_of(const struct rn_live *l, unsigned loc,
			   const struct rn_pcie_move *m)
{
	if (!rn_live_is_dm(l, loc))
		return (uintptr_t)rn_live_address(l, loc);
	return (m->addr & ~(uint64_t)(RN_LIVE_DM - 1)) + l->map.place[loc].offset;
}

/* Returns the agent whose memory the TLP accesses; for a completion, the memory it
 * comes from.
 */
static unsigned memory_of(const struct rn_pcie_move *m)
{
	return m->kind == RN_TLP_COMPLETION ? m->requester : m->target;
}

static uint8_t location_of(const struct rn_live *l, const struct rn_pcie_move *m)
{
	struct who who = who_is(l, memory_of(m));

	for (unsigned i = 0; i < l->test->locations; i++) {
		uint64_t at = address_of(l, i, m);
		uint32_t bytes = l->map.place[i].bytes;

		if (rn_live_is_dm(l, i) != rn_agent_is_nic(memory_of(m)) ||
		    (rn_live_is_dm(l, i) && (who.node != l->test->location[i].node ||
					     who.agent != l->test->location[i].agent)))
			continue;

		if (bytes < l->map.element)
			bytes = l->map.element;
		if (m->addr < at + bytes && at < m->addr + m->len)
			return (uint8_t)i;
	}
	return RN_LITMUS_NONE;
}

/* Writes the name of a completion: that of its QP, "q", or "q.r" for the responder. */
static void cqe_name(const struct rn_live *l, const struct rn_pcie_move *m, char *buf,
		     size_t len)
{
	for (unsigned i = 0; i < l->test->qps; i++)
		for (unsigned side = 0; side < 2; side++)
			if (l->shared->end[i][side].qpn == m->stream) {
				snprintf(buf, len, "CQE %s%s", l->test->qp[i].name,
					 side ? ".r" : "");
				return;
			}
	snprintf(buf, len, m->requester >= RN_AGENT_NVME ? "CQE dma" : "CQE");
}

static void tlp_name(const struct rn_live *l, const struct rn_pcie_move *m, char *buf,
		     size_t len)
{
	static const char *const names[RN_TLP_KIND_COUNT] = {
		[RN_TLP_WRITE] = "MWr",
		[RN_TLP_READ] = "MRd",
		[RN_TLP_ATOMIC] = "AtomicOp",
		[RN_TLP_COMPLETION] = "Cpl",
	};
	uint8_t loc = location_of(l, m);

	if (m->flags & RN_TLP_CQE) {
		cqe_name(l, m, buf, len);
		return;
	}
	if (m->flags & RN_TLP_BELL) {
		snprintf(buf, len, "doorbell");
		return;
	}
	snprintf(buf, len, "%s %s%s", names[m->kind],
		 loc == RN_LITMUS_NONE ? "other memory" : l->test->location[loc].name,
		 m->flags & RN_TLP_RO ? " RO" : "");
}

/* Returns the number of a TLP. TLPs are numbered in the order in which they first appear.
 */
static uint16_t tlp_number(const struct moves *v, uint64_t seq)
{
	uint16_t n = 0;

	for (uint32_t i = 0; i < v->count && v->move[i].seq != seq; i++) {
		uint32_t j = 0;

		while (v->move[j].seq != v->move[i].seq)
			j++;
		n = (uint16_t)(n + (i == j));
	}
	return n;
}

/* Returns the index of the next move of the same TLP; v->count if there is none. */
static uint32_t next_of(const struct moves *v, uint32_t i)
{
	uint32_t j = i + 1;

	while (j < v->count && v->move[j].seq != v->move[i].seq)
		j++;
	return j;
}

static bool is_first(const struct moves *v, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (v->move[j].seq == v->move[i].seq)
			return false;
	return true;
}

static struct rn_litmus_step *add_tlp_step(const struct moves *v, uint32_t i, uint64_t at,
					   const char *rule)
{
	const struct rn_pcie_move *m = &v->move[i];
	struct rn_litmus_step *s = add_step(v->list, at, rule);
	struct who who = requester_of(v->l, m);

	if (!s)
		return NULL;
	s->node = who.node;
	s->agent = who.agent;
	s->loc = m->flags & RN_TLP_CQE ? RN_LITMUS_NONE : location_of(v->l, m);
	s->tlp_kind = m->kind;
	s->tlp_flags = m->flags;
	s->tlp = tlp_number(v, m->seq);
	return s;
}

static void add_issue(const struct moves *v, uint32_t i)
{
	struct rn_litmus_step *s = add_tlp_step(v, i, v->move[i].issued, NULL);
	char name[64];

	if (!s)
		return;
	s->kind = RN_STEP_ISSUE;
	tlp_name(v->l, &v->move[i], name, sizeof(name));
	snprintf(s->text, sizeof(s->text), "%s is sent", name);
}

/* Adds a step: the TLP moves from one queue to the next, or leaves its last queue. */
static void add_move(const struct moves *v, uint32_t i)
{
	const struct rn_pcie_move *m = &v->move[i];
	struct rn_litmus_step *s = add_tlp_step(v, i, m->when, m->rule);
	uint32_t next = next_of(v, i);
	char name[64], from[32], to[32] = "there";

	if (!s)
		return;
	s->kind = RN_STEP_MOVE;
	s->from = queue_of(v->l, m->queue);
	/* When a read has been performed, the next move is that of its completion, which
	 * is another TLP.
	 */
	if (next < v->count && v->move[next].kind == m->kind) {
		s->to = queue_of(v->l, v->move[next].queue);
		rn_queue_name(s->to, to, sizeof(to));
	}
	if (m->passed != m->seq)
		s->passed = tlp_number(v, m->passed);
	tlp_name(v->l, m, name, sizeof(name));
	rn_queue_name(s->from, from, sizeof(from));
	snprintf(s->text, sizeof(s->text), "%s  %s -> %s", name, from, to);
}

static void add_end(const struct moves *v, uint32_t i)
{
	const struct rn_pcie_move *m = &v->move[i];
	uint32_t next = next_of(v, i);
	struct rn_litmus_step *s;
	char name[64];

	if (next < v->count && v->move[next].kind == m->kind)
		return;
	s = add_tlp_step(v, i, m->when, NULL);
	if (!s)
		return;
	tlp_name(v->l, m, name, sizeof(name));
	s->kind = m->kind == RN_TLP_COMPLETION ? RN_STEP_COMPLETE : RN_STEP_PERFORM;
	snprintf(s->text, sizeof(s->text), "%s %s", name,
		 m->kind == RN_TLP_WRITE	? "is visible"
		 : m->kind == RN_TLP_COMPLETION ? "has come back"
						: "takes the bytes");
}

/* Returns the time at which a wait ended, if a processor issued this read while it waited
 * for a value; else 0.
 */
static uint64_t end_of_wait(const struct rn_live *l, const struct rn_pcie_move *m)
{
	struct who who = requester_of(l, m);

	for (unsigned i = 0; i < l->test->threads; i++) {
		const struct rn_litmus_thread *t = &l->test->thread[i];
		const struct rn_live_thread_result *r = &l->shared->thread[i];

		if (t->node != who.node || t->agent != who.agent)
			continue;
		for (unsigned j = 0; j < t->count; j++) {
			uint64_t ended = j < r->executed ? r->mark[j].ended : l->ended;

			if (t->instr[j].op == RN_LITMUS_WAIT && r->mark[j].began &&
			    r->mark[j].began <= m->issued && m->issued <= ended)
				return ended;
		}
	}
	return 0;
}

/* Is this read a poll of a wait, but not the last one? There may be many of them. */
static bool is_idle_look(const struct moves *v, const struct rn_pcie_move *m)
{
	uint64_t ended = m->kind == RN_TLP_READ ? end_of_wait(v->l, m) : 0;

	for (uint32_t i = 0; ended && i < v->count; i++)
		if (v->move[i].requester == m->requester && v->move[i].addr == m->addr &&
		    v->move[i].kind == RN_TLP_READ && v->move[i].issued > m->issued &&
		    v->move[i].issued <= ended)
			return true;
	return false;
}

static bool is_marked(const struct moves *v, uint64_t seq)
{
	for (uint32_t i = 0; i < v->count; i++)
		if (v->move[i].seq == seq && v->move[i].len == 0)
			return true;
	return false;
}

/* Removes TLPs that were not issued while the threads ran. */
static void drop_others(struct moves *v)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < v->count; i++)
		if (v->move[i].issued >= v->l->began && v->move[i].issued <= v->l->ended)
			v->move[kept++] = v->move[i];
	v->count = kept;
	/* Both the read and the completion of each such poll are dropped. The length of
	 * the read is set to 0 to mark both, as they have the same number.
	 */
	for (uint32_t i = 0; i < v->count; i++)
		if (is_idle_look(v, &v->move[i]))
			v->move[i].len = 0;
	kept = 0;
	for (uint32_t i = 0; i < v->count; i++)
		if (!is_marked(v, v->move[i].seq))
			v->move[kept++] = v->move[i];
	v->count = kept;
}

/* Adds steps for the TLPs of the last run, if all of them were in this process. */
static void add_moves(struct rn_live *l, struct rn_live_list *list)
{
	struct moves v = { .l = l, .list = list };

	if (!l->has_trace || l->workers > 1)
		return;
	v.move = calloc(RN_LIVE_MOVES, sizeof(*v.move));
	if (!v.move)
		return;
	v.count = l->lib.rn_pcie_trace_read(v.move, RN_LIVE_MOVES);
	drop_others(&v);
	for (uint32_t i = 0; i < v.count; i++) {
		if (is_first(&v, i))
			add_issue(&v, i);
		add_move(&v, i);
		add_end(&v, i);
	}
	free(v.move);
}

/* --------------------------------------------------------------- steps of the last run
 */
/* The steps of threads and TLPs in the last run. */

static bool has_location(const struct rn_litmus_instr *in)
{
	return in->op <= RN_LITMUS_MWR && in->op != RN_LITMUS_MFENCE;
}

static bool has_result(const struct rn_litmus_instr *in)
{
	return in->op == RN_LITMUS_LD || in->op == RN_LITMUS_MRD ||
	       in->op == RN_LITMUS_TRYP;
}

static void add_instr(const struct rn_live *l, unsigned thread, unsigned instr,
		      struct rn_live_list *list)
{
	const struct rn_litmus_thread *t = &l->test->thread[thread];
	const struct rn_litmus_instr *in = &t->instr[instr];
	const struct rn_live_mark *mark = &l->shared->thread[thread].mark[instr];
	/* A post takes effect when it begins, any other instruction when it ends. */
	struct rn_litmus_step *s = add_step(
		list, rn_litmus_is_work(in->op) ? mark->began : mark->ended, NULL);

	if (!s)
		return;
	s->kind = RN_STEP_INSTR;
	s->node = t->node;
	s->agent = t->agent;
	s->thread = (uint8_t)thread;
	s->instr = (uint8_t)instr;
	s->value = mark->value;
	if (has_location(in))
		s->loc = in->loc;
	if (has_result(in))
		snprintf(s->text, sizeof(s->text), "%s -> %" PRId64, in->text,
			 mark->value);
	else
		snprintf(s->text, sizeof(s->text), "%s", in->text);
}

static int by_time(const void *a, const void *b)
{
	const struct rn_live_timed *x = a, *y = b;

	if (x->at != y->at)
		return x->at > y->at ? 1 : -1;
	return x->order > y->order ? 1 : -1;
}

/* Returns the list of steps of the last run, to be freed by the caller; NULL: the steps
 * are unknown.
 */
static struct rn_live_step *find_witness(struct rn_live *l, uint32_t *count)
{
	struct rn_live_list list = { 0 };
	struct rn_live_step *steps;

	*count = 0;
	for (unsigned i = 0; i < l->test->threads; i++)
		for (unsigned j = 0; j < l->shared->thread[i].executed; j++)
			add_instr(l, i, j, &list);
	add_moves(l, &list);
	if (list.count == 0)
		return NULL;
	qsort(list.at, list.count, sizeof(*list.at), by_time);
	steps = calloc(list.count, sizeof(*steps));
	for (size_t i = 0; steps && i < list.count; i++)
		steps[i] = list.at[i].step;
	*count = steps ? (uint32_t)list.count : 0;
	free(list.at);
	return steps;
}

/* ------------------------------------------------------------------------------ runs */
/* maximum time in ns that a thread waits for a condition */
static const uint64_t patience_ns = 100 * 1000000ull;
/* After this time completions must be lost; a busy machine would not delay them for
 * so long.
 */
static const uint64_t quiet_patience_ns = 300 * 1000000000ull;

static const uint64_t uc_patience_ns = 5 * 1000000ull;

/* ---- Threads ---- */

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

/* ---- One run ---- */

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

/* ---- Receives of the program ---- */

static bool is_fed(const struct rn_live *l, unsigned qp)
{
	return l->test->rq[l->test->qp[qp].recv_queue].is_rung;
}

/* Returns the number of messages of the test that take a receive of a queue. */
static unsigned takers_of(const struct rn_live *l, unsigned rq)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->test->qps; i++)
		if (l->test->qp[i].recv_queue == rq)
			n += atomic_load(&l->shared->sends[i]);
	return n;
}

/* Returns the number of receives of a QP that no message of the test takes; of those of
 * an SRQ, its first QP has all.
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

/* Posts receives for messages that the program has none for, and for those that end the
 * run.
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

/* Has a message waited for a receive that names a buffer, until the run was over? What
 * came behind it does not belong to a final state.
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

/* Returns the number of receives that all QPs of a CQ consume in a run. */
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

/* May the worker that polls CQ @cq wait for a message that this worker sends on @qp? */
static bool is_missed(const struct rn_live *l, unsigned qp, unsigned cq)
{
	return l->qp[qp].side[0] && (!l->qp[qp].side[1] || l->test->qp[qp].recv_cq == cq);
}

/* Sends messages on UC again, because UC does not repeat a lost message. A superfluous
 * message finds no receive and is dropped.
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

/* Polls CQ @cq after the threads have ended, and counts what a thread of the test could
 * have polled. The receives of messages that end a run have no bytes.
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

/* Polls CQ @cq until the completions of all messages that were sent have come. */
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

/* Repeats messages until all workers have received what they wait for: a message to
 * another worker may be lost although this worker has received all of its own. A worker
 * that fails exits, and its parent kills the others.
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

/* Polls the completions of superfluous messages, so that they do not disturb the
 * next run.
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

/* ---- Counting ---- */

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

/* Has a thread given up although what it waited for is there in the end? */
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

/* Counts the final state of a run. A run in which a thread could go on, because a busy
 * machine took longer than threads wait, has no final state, and neither has one in which
 * a message waited for a receive.
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
		res->step[i] = find_witness(l, &res->state[i].steps);
	}
	res->state[i].count++;
}

/* Decides whether there is another run. Called by the lead worker. */
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
	struct rn_live_player players[RN_LITMUS_THREADS];
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
