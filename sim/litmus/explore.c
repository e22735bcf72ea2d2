/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* explore.c - runs the model of a litmus test in one of three ways: makes all possible
 * runs, by depth-first search over the states; repeats a run that the search has found,
 * with a text for each step; or makes one random run.
 *
 * A state is recognised by its 128-bit digest. If an eager move is possible, the search
 * makes it at once and does not try other moves instead, because no final state is lost
 * by that (rn_move.is_eager). It branches only in states without eager moves.
 */
#include "explore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model_internal.h"
#include "rocin/hash.h"
#include "rocin/random.h"
#include "sim/pcie/model/driver.h"
#include "sim/pcie/model/text.h"

enum {
	DEFAULT_STATES = 20 * 1000 * 1000,
	FIRST_SLOTS = 1 << 12,
};

/* ---- The digest of a state ---- */

static uint64_t mix(uint64_t h, uint64_t word, uint64_t factor)
{
	h = (h ^ word) * factor;
	return h ^ h >> 32;
}

static void add(uint64_t digest[2], uint64_t word)
{
	digest[0] = mix(digest[0], word, RN_HASH_FACTOR);
	digest[1] = mix(digest[1], word + 1, UINT64_C(0xc2b2ae3d27d4eb4f));
}

static void add_bytes(uint64_t digest[2], const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		add(digest, word);
	}
	word = 0;
	memcpy(&word, at, len);
	if (len > 0)
		add(digest, word);
}

/* Adds a TLP to the digest. Two members are left out: seq, because only the order of TLPs
 * matters, and hop, because the queue in which the TLP is determines it.
 */
static void add_tlp(uint64_t digest[2], const struct rn_tlp *tlp)
{
	add(digest, (uint64_t)tlp->kind << 56 | (uint64_t)tlp->flags << 48 |
			    (uint64_t)tlp->requester << 40 | (uint64_t)tlp->target << 32 |
			    (uint64_t)tlp->msg << 8 | tlp->stream);
	add(digest, tlp->addr ^ (uint64_t)tlp->len << 48);
	add(digest, tlp->data);
	add(digest, tlp->tag);
}

static void add_fabric(uint64_t digest[2], const struct rn_fabric *f)
{
	for (unsigned q = rn_fabric_busy_queue(f, 0); q < RN_LIST_COUNT;
	     q = rn_fabric_busy_queue(f, q + 1)) {
		add(digest, UINT64_C(1) << 63 | q);
		for (unsigned i = rn_fabric_first(f, q); i != RN_TLP_NONE;
		     i = rn_fabric_next(f, i))
			add_tlp(digest, rn_fabric_tlp(f, i));
	}
}

/* Computes the digest of a state. Equal states have equal digests, even if their TLPs lie
 * at different places in the arrays of the fabrics.
 */
static void digest_state(const struct rn_model_plan *plan, const struct rn_model *m,
			 uint64_t digest[2])
{
	const struct rn_litmus_test *t = plan->test;

	digest[0] = 1;
	digest[1] = 2;
	add_bytes(digest, m->dma, t->nodes * sizeof(m->dma[0]));
	add_bytes(digest, m->ring, t->cqs * sizeof(m->ring[0]));
	add_bytes(digest, m->qp, t->qps * sizeof(m->qp[0]));
	add_bytes(digest, m->cell, plan->cells * sizeof(m->cell[0]));
	add_bytes(digest, m->thread, t->threads * sizeof(m->thread[0]));
	add_bytes(digest, m->request, t->works * sizeof(m->request[0]));
	if (t->receives > 0) {
		add_bytes(digest, m->recv_queue, t->rqs * sizeof(m->recv_queue[0]));
		add_bytes(digest, m->receive, t->receives * sizeof(m->receive[0]));
	}
	for (unsigned i = 0; i < t->nodes; i++) {
		add(digest, UINT64_C(1) << 62 | i);
		add_fabric(digest, rn_model_fabric_const(plan, m, i));
	}
}

/* ---- Known states ---- */

/* Hash set of digests with open addressing. A slot with {0, 0} is free. */
struct seen {
	uint64_t (*slot)[2];
	size_t slots, used;
};

/* One level of the search: a state, the moves that are possible in it, and the index of
 * the move that is tried next.
 */
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
	size_t levels, depth; /* number of levels allocated, and in use */
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

/* Adds a state to the set of states that were visited. Returns 1 if it is new, 0 if it is
 * in the set already, or -ENOMEM.
 */
static int note_state(struct search *s, const struct rn_model *state)
{
	uint64_t digest[2];
	size_t i;

	if (2 * s->seen.used >= s->seen.slots) {
		int rc = grow(&s->seen);

		if (rc)
			return rc;
	}
	digest_state(s->plan, state, digest);
	i = find_slot(&s->seen, digest);
	if (s->seen.slot[i][0] != 0 || s->seen.slot[i][1] != 0)
		return 0;
	memcpy(s->seen.slot[i], digest, sizeof(digest));
	s->seen.used++;
	s->e->states++;
	return 1;
}

/* Allocates one more level. realloc() may move the array, so pointers to levels are
 * invalid afterwards.
 */
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

/* Makes eager moves until none is left, and sets @l->moves to the moves that remain. */
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

/* Begins to explore the state in level[depth], unless the search has visited the same
 * state before. Returns 0 or -ENOMEM.
 */
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

/* In the deepest state of the search, makes the next of the moves that have not been
 * tried. If all were tried, goes back one level. Returns 0 or -ENOMEM.
 */
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

static const char inside_rule[] = "GV1: what is inside a GPU is visible to it later";

/* ---- Texts of steps: numbers of TLPs ---- */

/* Writes the steps of a run to @trace. TLPs are numbered in the order of their first
 * steps; the numbers of those in flight are kept here.
 */
struct tracer {
	const struct rn_model_plan *plan;
	const struct rn_model *m;
	struct rn_trace *trace;
	uint16_t tlps; /* number of TLPs that were given a number so far */
	unsigned known;
	struct {
		uint64_t tag;
		uint8_t node;
		bool is_write;
		uint16_t number;
	} tlp[RN_LITMUS_NODES * RN_MODEL_TLPS];
};

static unsigned find_tlp(struct tracer *tr, unsigned node, const struct rn_tlp *tlp)
{
	bool is_write = tlp->kind == RN_TLP_WRITE;

	for (unsigned i = 0; i < tr->known; i++)
		if (tr->tlp[i].tag == tlp->tag && tr->tlp[i].node == node &&
		    tr->tlp[i].is_write == is_write)
			return i;
	return tr->known;
}

static uint16_t number_of(struct tracer *tr, unsigned node, const struct rn_tlp *tlp)
{
	unsigned i = find_tlp(tr, node, tlp);

	if (i < tr->known)
		return tr->tlp[i].number;
	assert(tr->known < RN_ARRAY_SIZE(tr->tlp));
	tr->tlp[i].tag = tlp->tag;
	tr->tlp[i].node = (uint8_t)node;
	tr->tlp[i].is_write = tlp->kind == RN_TLP_WRITE;
	tr->tlp[i].number = tr->tlps++;
	tr->known++;
	return tr->tlp[i].number;
}

static void forget(struct tracer *tr, unsigned node, const struct rn_tlp *tlp)
{
	unsigned i = find_tlp(tr, node, tlp);

	if (i < tr->known)
		tr->tlp[i] = tr->tlp[--tr->known];
}

/* ---- Texts of steps ---- */

/* Returns the number of the cell at an address. A cell is a part of a location; each cell
 * has another address.
 */
static unsigned cell_at(const struct rn_model_plan *plan, uint64_t addr)
{
	unsigned i = 0;

	while (plan->cell[i].addr != addr)
		i++;
	return i;
}

static unsigned cell_of(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	unsigned number = rn_tag_number(tlp->tag);
	const struct rn_model_piece *piece;

	switch (rn_tag_use(tlp->tag)) {
	case RN_USE_MEMORY:
		return number;
	case RN_USE_FETCH:
	case RN_USE_RECV_FETCH:
		return cell_at(plan, tlp->addr);
	case RN_USE_GATHER:
	case RN_USE_SERVE:
	case RN_USE_ATOMIC:
		piece = &plan->work[number].piece[rn_tag_piece(tlp->tag)];
		return rn_tag_use(tlp->tag) == RN_USE_GATHER ? piece->local
							     : piece->remote;
	default:
		return RN_LITMUS_NONE;
	}
}

static unsigned loc_of(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	unsigned cell = cell_of(plan, tlp);

	if (rn_tag_use(tlp->tag) == RN_USE_LOAD)
		return rn_instr(plan, rn_tag_thread(tlp->tag), rn_tag_instr(tlp->tag))
			->loc;
	return cell == RN_LITMUS_NONE ? cell : plan->cell[cell].loc;
}

static void add_value(struct rn_text *t, const struct rn_model_plan *plan, int64_t value)
{
	if (value == RN_MODEL_TORN)
		rn_text_add(t, "torn");
	else
		rn_litmus_add_value(t, plan->test, value);
}

static bool is_doorbell(const struct rn_tlp *tlp)
{
	return rn_tag_use(tlp->tag) == RN_USE_DOORBELL ||
	       rn_tag_use(tlp->tag) == RN_USE_RECV_BELL;
}

/* Adds "doorbell q" to the text, and the WQE if the doorbell carries one. */
static void add_doorbell(struct rn_text *t, const struct rn_model_plan *plan,
			 const struct rn_tlp *tlp)
{
	const struct rn_litmus_instr *in =
		rn_instr(plan, rn_tag_thread(tlp->tag), rn_tag_instr(tlp->tag));

	rn_text_add(t, in->op == RN_LITMUS_RECV ? "receive doorbell " : "doorbell ");
	rn_text_add(t, in->op == RN_LITMUS_RECV ? plan->test->rq[in->rq].name
						: plan->test->qp[in->qp].name);
	if (in->op != RN_LITMUS_BLUE)
		return;
	rn_text_char(t, '=');
	add_value(t, plan, (int64_t)tlp->data);
}

static void add_tlp_name(struct rn_text *t, const struct rn_model_plan *plan,
			 const struct rn_tlp *tlp)
{
	static const char *const names[RN_TLP_KIND_COUNT] = {
		[RN_TLP_WRITE] = "MWr ",
		[RN_TLP_READ] = "MRd ",
		[RN_TLP_ATOMIC] = "AtomicOp ",
		[RN_TLP_COMPLETION] = "Cpl ",
	};
	unsigned loc = loc_of(plan, tlp);

	if (rn_tag_use(tlp->tag) == RN_USE_CQE) {
		rn_text_add(t, "CQE ");
		rn_text_add(t, plan->test->cq[rn_tag_number(tlp->tag)].name);
	} else if (rn_tag_use(tlp->tag) == RN_USE_DMACQE) {
		rn_text_add(t, "CQE dma");
	} else if (rn_tag_use(tlp->tag) == RN_USE_LAUNCH) {
		rn_text_add(t, "doorbell ");
		rn_text_add(t, plan->test->thread[rn_tag_number(tlp->tag)].name);
	} else if (is_doorbell(tlp)) {
		add_doorbell(t, plan, tlp);
	} else {
		rn_text_add(t, names[tlp->kind]);
		rn_text_add(t, plan->test->location[loc].name);
	}
	if (rn_tag_use(tlp->tag) == RN_USE_MEMORY) {
		rn_text_char(t, '=');
		add_value(t, plan, (int64_t)tlp->data);
	}
	if (tlp->flags & RN_TLP_RO)
		rn_text_add(t, " RO");
}

static void add_queue(struct rn_text *t, unsigned queue)
{
	char name[32];

	rn_text_add(t, rn_queue_name(queue, name, sizeof(name)));
}

static void add_tlp_step(struct rn_text *t, const struct rn_model_plan *plan,
			 const struct rn_litmus_step *step, const struct rn_tlp *tlp)
{
	add_tlp_name(t, plan, tlp);
	switch ((enum rn_litmus_step_kind)step->kind) {
	case RN_STEP_ISSUE:
		rn_text_add(t, " is sent");
		break;
	case RN_STEP_MOVE:
		rn_text_add(t, "  ");
		add_queue(t, step->from);
		rn_text_add(t, " -> ");
		if (step->to < RN_LIST_COUNT)
			add_queue(t, step->to);
		else
			rn_text_add(t, "there");
		break;
	case RN_STEP_PERFORM:
		if (tlp->kind == RN_TLP_WRITE) {
			rn_text_add(t, is_doorbell(tlp) ? " has arrived" : " is visible");
			break;
		}
		rn_text_add(t, " finds ");
		add_value(t, plan, step->value);
		break;
	case RN_STEP_COMPLETE:
		rn_text_add(t, " has come back");
		break;
	case RN_STEP_INSTR:
	case RN_STEP_STORE:
	case RN_STEP_NIC:
		break;
	}
}

/* If the instruction is a load, adds the value that it has returned. */
static void add_result(struct rn_text *t, const struct rn_model_plan *plan,
		       const struct rn_litmus_instr *in, int64_t value)
{
	if (in->op != RN_LITMUS_LD && in->op != RN_LITMUS_MRD && in->op != RN_LITMUS_TRYP)
		return;
	rn_text_add(t, " -> ");
	add_value(t, plan, value);
}

/* Called for a step that reads the location @step->loc. If a newer write to this location
 * is still in flight, notes that in the text of the step.
 */
static void add_late(struct rn_text *t, struct tracer *tr, struct rn_litmus_step *step)
{
	const struct rn_fabric *f = rn_model_fabric_const(tr->plan, tr->m, step->node);

	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);
		bool is_inside = tlp->state == RN_TLP_INSIDE;

		if (tlp->kind != RN_TLP_WRITE || rn_tag_use(tlp->tag) != RN_USE_MEMORY ||
		    loc_of(tr->plan, tlp) != step->loc)
			continue;
		rn_text_add(t, ", while ");
		add_tlp_name(t, tr->plan, tlp);
		rn_text_add(t, " is in ");
		add_queue(t, is_inside ? RN_QUEUE_COUNT + tlp->target
				       : tlp->route.queue[tlp->hop]);
		if (is_inside)
			step->rule = inside_rule;
		return;
	}
}

static bool is_taking(const struct rn_model_plan *plan, const struct rn_litmus_step *step,
		      const struct rn_tlp *tlp)
{
	if (step->loc == RN_LITMUS_NONE)
		return false;
	if (tlp)
		return step->kind == RN_STEP_PERFORM && tlp->kind == RN_TLP_READ;
	return step->kind == RN_STEP_INSTR &&
	       rn_instr(plan, step->thread, step->instr)->op == RN_LITMUS_LD;
}

static void add_words(struct tracer *tr, struct rn_litmus_step *step,
		      const struct rn_tlp *tlp)
{
	const struct rn_model_plan *plan = tr->plan;
	struct rn_text t;

	rn_text_init(&t, step->text, sizeof(step->text));
	if (tlp) {
		add_tlp_step(&t, plan, step, tlp);
		if (is_taking(plan, step, tlp))
			add_late(&t, tr, step);
		return;
	}
	if (step->kind == RN_STEP_NIC) {
		rn_text_add(&t, step->rule);
		rn_text_char(&t, ' ');
		step->rule = NULL;
	}
	rn_text_add(&t, rn_instr(plan, step->thread, step->instr)->text);
	if (step->kind == RN_STEP_STORE)
		rn_text_add(&t, " leaves the store buffer");
	if (step->kind == RN_STEP_INSTR)
		add_result(&t, plan, rn_instr(plan, step->thread, step->instr),
			   step->value);
	if (is_taking(plan, step, tlp))
		add_late(&t, tr, step);
}

/* ---- Texts of steps: TLPs that were overtaken ---- */

/* Called when @tlp is about to leave its queue. If it is not the first there, stores in
 * @step which TLP it overtakes, and the rule that allows this.
 */
static void add_passed(struct tracer *tr, struct rn_litmus_step *step,
		       const struct rn_tlp *tlp)
{
	const struct rn_fabric *f = rn_model_fabric_const(tr->plan, tr->m, step->node);
	unsigned first = rn_fabric_first(f, step->from);
	const struct rn_tlp *earlier = rn_fabric_tlp(f, first);

	if (step->from >= RN_QUEUE_COUNT) {
		step->rule = inside_rule;
		return;
	}
	if (earlier == tlp)
		return;
	step->passed = number_of(tr, step->node, earlier);
	step->rule = rn_order_rule(tlp, earlier, &tr->plan->setup.knobs);
}

static void tell_step(void *tracer, const struct rn_litmus_step *step,
		      const struct rn_tlp *tlp)
{
	struct tracer *tr = tracer;
	struct rn_litmus_step s = *step;

	s.tlp = RN_TLP_NONE;
	if (tlp) {
		s.tlp = number_of(tr, s.node, tlp);
		s.tlp_kind = tlp->kind;
		s.tlp_flags = tlp->flags;
		s.loc = (uint8_t)loc_of(tr->plan, tlp);
		if (s.kind == RN_STEP_MOVE)
			add_passed(tr, &s, tlp);
	} else if (s.kind != RN_STEP_NIC &&
		   rn_instr(tr->plan, s.thread, s.instr)->op <= RN_LITMUS_MWR &&
		   rn_instr(tr->plan, s.thread, s.instr)->op != RN_LITMUS_MFENCE) {
		s.loc = rn_instr(tr->plan, s.thread, s.instr)->loc;
	}
	add_words(tr, &s, tlp);
	if (tlp && ((s.kind == RN_STEP_PERFORM && tlp->kind == RN_TLP_WRITE) ||
		    s.kind == RN_STEP_COMPLETE))
		forget(tr, s.node, tlp);
	if (tr->trace->count < tr->trace->room)
		tr->trace->step[tr->trace->count] = s;
	tr->trace->count++;
}

/* ---- Repetition of a run that was found ---- */

static bool take_eager(const struct rn_model_run *run)
{
	struct rn_move move[RN_MODEL_MOVES];
	unsigned n = rn_model_moves(run, move);

	for (unsigned i = 0; i < n; i++)
		if (move[i].is_eager) {
			rn_model_move(run, &move[i]);
			return true;
		}
	return false;
}

void rn_trace_replay(const struct rn_model_plan *plan, struct rn_model *m,
		     const struct rn_move *choice, size_t choices, struct rn_trace *trace)
{
	struct tracer tracer = { .plan = plan, .m = m, .trace = trace };
	const struct rn_model_watch watch = { tell_step, &tracer };
	const struct rn_model_run run = { .plan = plan, .m = m, .watch = &watch };

	trace->count = 0;
	rn_model_init(plan, m);
	for (size_t i = 0; i < choices; i++) {
		while (take_eager(&run))
			;
		rn_model_move(&run, &choice[i]);
	}
	while (take_eager(&run))
		;
}

/* ---- Random runs ---- */

enum {
	/* Maximum number of steps of a run. After that the run ends even if threads have
	 * not finished.
	 */
	STEPS_MAX = 20 * 1000,
	/* On average, one step in ANY_ONE_IN moves a TLP chosen at random, even one that
	 * the driver holds back.
	 */
	ANY_ONE_IN = 32,
};

struct chance {
	const struct rn_model_run *run;
	struct rn_driver driver[RN_LITMUS_NODES];
	/* Random numbers that choose the next agent or host to make a step. The driver of
	 * each fabric has a sequence of its own.
	 */
	struct rn_random agents;
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

/* Asks the drivers of the fabrics one after the other, beginning with a random one, and
 * moves the first TLP that a driver chooses. Returns false if all drivers hold their TLPs
 * back.
 */
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

/* Makes one step. Returns false if no move is possible any more. */
static bool step(struct chance *c)
{
	struct rn_move move[RN_MODEL_MOVES];
	unsigned n = rn_model_moves(c->run, move), agents = 0;

	while (agents < n && move[agents].kind != RN_MOVE_TLP)
		agents++;
	if (n == 0)
		return false;
	if (n > agents && rn_random_scaled(&c->agents, ANY_ONE_IN) == 0) {
		/* A driver may hold back the very TLP for which a thread waits in a loop.
		 * So now and then any TLP may move.
		 */
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
	struct tracer tracer = { .plan = plan, .m = m, .trace = trace };
	const struct rn_model_watch watch = { tell_step, &tracer };
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
