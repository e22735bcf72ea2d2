/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* witness.c - makes the list of steps of the last run of a litmus test: the instructions
 * of its threads, and the TLPs of the simulated PCIe hierarchy.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "live.h"
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

/* -------------------------------------------------------------------- steps of TLPs */
/* Converts a trace of the simulated PCIe hierarchy (moves of TLPs) to steps of the test.
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

/* Adds a step to the list and returns it. The caller must fill in its TLP and location.
 * Returns NULL if there is no memory.
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

/* Returns the agent of the test (its node, and its number there) for which agent @agent
 * of the process's hierarchy stands.
 */
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

	/* The CPUs of all nodes are one agent in the hierarchy of the process. So the
	 * node of the CPU is taken from the memory that it accesses.
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

/* Returns the address of location @loc in TLPs. If the location is in device memory on a
 * NIC, its address follows from the address in the TLP of @m: that memory is aligned to
 * its size.
 */
static uint64_t address_of(const struct rn_live *l, unsigned loc,
			   const struct rn_pcie_move *m)
{
	if (!rn_live_is_dm(l, loc))
		return (uintptr_t)rn_live_address(l, loc);
	return (m->addr & ~(uint64_t)(RN_LIVE_DM - 1)) + l->map.place[loc].offset;
}

/* Returns the agent whose memory the TLP of move @m accesses. For a completion (of a
 * read), this is the agent that sends the completion.
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

/* Writes the name that tests give to a CQE: the name of its QP, such as "q", or "q.r" for
 * a CQE at the responder.
 */
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

/* Returns the number of a TLP in the steps: TLPs are numbered in the order in which they
 * first appear in the trace.
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

/* Returns the index of the move after move @i of the same TLP; v->count if there is none.
 */
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

/* Adds a step for move @i: the TLP goes from one queue to the next, or leaves its last
 * queue.
 */
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
	/* A read and its completion have the same number. So if this move performs a
	 * read, the next move with this number belongs to the completion, which is
	 * another TLP.
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

/* Returns 0 unless a processor has issued this read while a thread waited for a value. If
 * so, returns the time at which that wait ended.
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

/* Returns true if a thread has issued this read to wait for a value, and has repeated it
 * later. There may be many such reads, and only the last one is of interest.
 */
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

/* Removes TLPs that were issued before the threads began or after they ended. */
static void drop_others(struct moves *v)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < v->count; i++)
		if (v->move[i].issued >= v->l->began && v->move[i].issued <= v->l->ended)
			v->move[kept++] = v->move[i];
	v->count = kept;
	/* Each read that is_idle_look() finds is dropped, with its completion. Both have
	 * the same number, so setting the length of the read to 0 marks both.
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

/* Adds steps for the TLPs of the last run. Does nothing if the test runs in several
 * processes, because only those processes know their TLPs.
 */
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

/* ----------------------------------- steps of threads, and of TLPs, in the last run */

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

struct rn_live_step *rn_live_witness(struct rn_live *l, uint32_t *count)
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
