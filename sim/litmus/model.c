/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.c - the machine as a whole: its TLPs, moves, digest and outcome. */
#include <errno.h>
#include <string.h>

#include "model_internal.h"

struct host {
	const struct rn_model_run *run;
	unsigned node;
};

/* ---- Memory ---- */

int64_t rn_model_read(const struct rn_model_run *run, unsigned loc)
{
	const int64_t *cell = &run->m->cell[run->plan->first_cell[loc]];

	for (unsigned i = 1; i < run->plan->cell_count[loc]; i++)
		if (cell[i] != cell[0])
			return RN_MODEL_TORN;
	return cell[0];
}

void rn_model_write(const struct rn_model_run *run, unsigned loc, int64_t value)
{
	for (unsigned i = 0; i < run->plan->cell_count[loc]; i++)
		run->m->cell[run->plan->first_cell[loc] + i] = value;
}

bool rn_model_is_relaxed(const struct rn_model_plan *plan, unsigned cell)
{
	switch (plan->setup.knobs.relaxed) {
	case RN_RELAXED_FORCE:
		return true;
	case RN_RELAXED_IGNORE:
		return false;
	case RN_RELAXED_REGISTERED:
		break;
	}
	return plan->setup.relaxed >> plan->cell[cell].loc & 1;
}

/* ---- Arriving ---- */

static void tell_tlp(const struct host *host, enum rn_litmus_step_kind kind,
		     const struct rn_tlp *tlp, int64_t value)
{
	const struct rn_litmus_step step = {
		.kind = (uint8_t)kind,
		.node = (uint8_t)host->node,
		.agent = tlp->requester,
		.thread = (uint8_t)rn_tag_thread(tlp->tag),
		.instr = (uint8_t)rn_tag_instr(tlp->tag),
		.loc = RN_LITMUS_NONE,
		.from = RN_LIST_COUNT,
		.to = RN_LIST_COUNT,
		.passed = RN_TLP_NONE,
		.value = value,
	};

	rn_model_tell(host->run, &step, tlp);
}

static void perform_write(const struct host *host, const struct rn_tlp *tlp)
{
	struct rn_model *m = host->run->m;
	unsigned number = rn_tag_number(tlp->tag), piece = rn_tag_piece(tlp->tag);

	switch (rn_tag_use(tlp->tag)) {
	case RN_USE_MEMORY:
		for (unsigned i = 0; i < piece; i++)
			m->cell[number + i] = (int64_t)tlp->data;
		break;
	case RN_USE_CQE:
		m->ring[number].arrived |= UINT32_C(1) << piece;
		break;
	case RN_USE_DMACQE:
		m->dma[host->node].arrived |= UINT32_C(1) << piece;
		break;
	case RN_USE_LAUNCH:
		m->thread[number].is_started = true;
		break;
	default:
		assert(!"a write for this");
	}
}

static int64_t perform_atomic(const struct host *host, unsigned work)
{
	int64_t *cell = &host->run->m->cell[host->run->plan->work[work].piece[0].remote];
	int64_t old = *cell;

	*cell = rn_model_atomic_result(host->run, work, old);
	return old;
}

/* The bytes are taken now; who asked finds them when the completion arrives. */
static int64_t perform_read(const struct host *host, const struct rn_tlp *tlp)
{
	const struct rn_model_plan *plan = host->run->plan;
	struct rn_model *m = host->run->m;
	unsigned number = rn_tag_number(tlp->tag), piece = rn_tag_piece(tlp->tag);
	const struct rn_model_piece *p = &plan->work[number].piece[piece];
	int64_t *value = &m->request[number].value[piece];

	switch (rn_tag_use(tlp->tag)) {
	case RN_USE_LOAD: {
		const struct rn_model_thread *th = &m->thread[number];

		m->thread[number].loaded =
			rn_model_read(host->run, rn_instr(plan, number, th->pc)->loc);
		return th->loaded;
	}
	case RN_USE_GATHER:
		return *value = m->cell[p->local];
	case RN_USE_SERVE:
		return *value = m->cell[p->remote];
	case RN_USE_ATOMIC:
		if (tlp->kind == RN_TLP_ATOMIC)
			return *value = perform_atomic(host, number);
		return *value = m->cell[p->remote];
	default:
		assert(!"a read for this");
		return 0;
	}
}

static void perform(void *ctx, const struct rn_tlp *tlp)
{
	const struct host *host = ctx;
	int64_t value = (int64_t)tlp->data;

	if (tlp->kind == RN_TLP_WRITE)
		perform_write(host, tlp);
	else
		value = perform_read(host, tlp);
	tell_tlp(host, RN_STEP_PERFORM, tlp, value);
}

static void complete(void *ctx, const struct rn_tlp *tlp)
{
	const struct host *host = ctx;
	unsigned number = rn_tag_number(tlp->tag);
	struct rn_model_request *rq = &host->run->m->request[number];
	uint16_t bit = (uint16_t)(1u << rn_tag_piece(tlp->tag));

	tell_tlp(host, RN_STEP_COMPLETE, tlp, 0);
	switch (rn_tag_use(tlp->tag)) {
	case RN_USE_LOAD:
		rn_model_loaded(host->run, number);
		break;
	case RN_USE_GATHER:
		rq->gathered |= bit;
		break;
	case RN_USE_SERVE:
	case RN_USE_ATOMIC:
		rq->returned |= bit;
		break;
	default:
		assert(!"a completion of this");
	}
}

static void moving(void *ctx, const struct rn_tlp *tlp, unsigned queue)
{
	const struct host *host = ctx;
	struct rn_litmus_step step = {
		.kind = RN_STEP_MOVE,
		.node = (uint8_t)host->node,
		.agent = tlp->requester,
		.thread = (uint8_t)rn_tag_thread(tlp->tag),
		.instr = (uint8_t)rn_tag_instr(tlp->tag),
		.loc = RN_LITMUS_NONE,
		.from = (uint16_t)(queue == RN_QUEUE_COUNT ? queue + tlp->target : queue),
		.to = RN_LIST_COUNT,
		.passed = RN_TLP_NONE,
	};

	if (queue < RN_QUEUE_COUNT && tlp->hop + 1 < tlp->route.hops)
		step.to = tlp->route.queue[tlp->hop + 1];
	rn_model_tell(host->run, &step, tlp);
}

static const struct rn_fabric_ops ops = {
	.perform = perform,
	.complete = complete,
	.moving = moving,
};

/* ---- Sending ---- */

struct rn_tlp rn_model_tlp(const struct rn_model_run *run, enum rn_tlp_kind kind,
			   unsigned requester, unsigned cell)
{
	const struct rn_model_cell *c = &run->plan->cell[cell];
	bool has_ido = run->plan->setup.knobs.ido && rn_agent_is_nic(requester);

	return (struct rn_tlp){
		.kind = (uint8_t)kind,
		.flags = has_ido ? RN_TLP_IDO : 0,
		.requester = (uint8_t)requester,
		.target = run->plan->test->location[c->loc].agent,
		.addr = c->addr,
		.len = c->len,
	};
}

bool rn_model_issue(const struct rn_model_run *run, unsigned node, struct rn_tlp *tlp)
{
	struct host host = { run, node };
	int rc;

	tell_tlp(&host, RN_STEP_ISSUE, tlp, (int64_t)tlp->data);
	rc = rn_fabric_issue(rn_model_fabric(run->plan, run->m, node), &ops, &host, tlp);
	run->m->is_full |= rc == -ENOBUFS;
	return rc >= 0;
}

void rn_model_move_tlp(const struct rn_model_run *run, unsigned node, unsigned index)
{
	struct host host = { run, node };

	rn_fabric_move(rn_model_fabric(run->plan, run->m, node), &ops, &host, index);
}

/* ---- Moving ---- */

/* Does only one agent send into this queue, through one queue? Then entering it from the
 * head of that one changes no order.
 */
static bool has_one_source(unsigned queue)
{
	return (queue >= RN_QUEUE_HOST && queue < RN_QUEUE_DOWN) ||
	       (queue >= RN_QUEUE_SPLIT && queue < RN_QUEUE_STREAM);
}

static unsigned next_queue(const struct rn_tlp *tlp)
{
	return tlp->route.queue[tlp->hop + 1];
}

static bool goes_first(const struct rn_fabric *f, unsigned queue, unsigned index)
{
	const struct rn_tlp *tlp = rn_fabric_tlp(f, index);

	if (!has_one_source(next_queue(tlp)))
		return false;
	for (unsigned i = rn_fabric_first(f, queue); i != index;
	     i = rn_fabric_next(f, i)) {
		const struct rn_tlp *earlier = rn_fabric_tlp(f, i);

		if (earlier->hop + 1 < earlier->route.hops &&
		    next_queue(earlier) == next_queue(tlp))
			return false;
	}
	return true;
}

/* Who waits for a CQE only becomes able to go on when it arrives. */
static bool is_awaited_cqe(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	if (rn_tag_use(tlp->tag) == RN_USE_DMACQE)
		return true;
	return rn_tag_use(tlp->tag) == RN_USE_CQE &&
	       !plan->is_tried[rn_tag_number(tlp->tag)];
}

static bool is_eager(const struct rn_model_plan *plan, const struct rn_fabric *f,
		     unsigned queue, unsigned index)
{
	const struct rn_tlp *tlp = rn_fabric_tlp(f, index);
	bool is_last = tlp->hop + 1 >= tlp->route.hops;

	if (queue >= RN_QUEUE_COUNT)
		return false;
	if (tlp->kind == RN_TLP_WRITE)
		return is_last ? is_awaited_cqe(plan, tlp) : goes_first(f, queue, index);
	if (!is_last)
		return true;
	return tlp->kind == RN_TLP_COMPLETION;
}

/* What a read of @loc through the BAR would find after it has emptied the inside. */
static int64_t value_behind_bar(const struct rn_model_run *run, const struct rn_fabric *f,
				unsigned loc)
{
	unsigned gpu = run->plan->test->location[loc].agent;
	unsigned first = run->plan->first_cell[loc];
	unsigned count = run->plan->cell_count[loc];
	int64_t cell[RN_MODEL_CELLS];

	memcpy(cell, &run->m->cell[first], count * sizeof(cell[0]));
	for (unsigned i = rn_fabric_first(f, RN_QUEUE_COUNT + gpu); i != RN_TLP_NONE;
	     i = rn_fabric_next(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

		for (unsigned k = 0; k < rn_tag_piece(tlp->tag); k++) {
			unsigned number = rn_tag_number(tlp->tag) + k - first;

			if (number < count)
				cell[number] = (int64_t)tlp->data;
		}
	}
	for (unsigned i = 1; i < count; i++)
		if (cell[i] != cell[0])
			return RN_MODEL_TORN;
	return cell[0];
}

/* A load of `wait' that finds another value changes nothing but what it has pushed, and
 * that can move by itself: such a load just stays on its way.
 */
static bool would_miss(const struct rn_model_run *run, const struct rn_fabric *f,
		       const struct rn_tlp *tlp)
{
	unsigned thread = rn_tag_number(tlp->tag);
	const struct rn_litmus_instr *in;

	if (run->may_spin || tlp->kind != RN_TLP_READ ||
	    rn_tag_use(tlp->tag) != RN_USE_LOAD || tlp->hop + 1 < tlp->route.hops)
		return false;
	in = rn_instr(run->plan, thread, run->m->thread[thread].pc);
	if (in->op != RN_LITMUS_WAIT)
		return false;
	return !rn_model_is_awaited(run, thread, value_behind_bar(run, f, in->loc));
}

static void tlp_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	uint16_t index[RN_MODEL_TLPS];

	for (unsigned node = 0; node < run->plan->test->nodes; node++) {
		const struct rn_fabric *f =
			rn_model_fabric_const(run->plan, run->m, node);
		unsigned n = rn_fabric_moves(f, index, RN_MODEL_TLPS);

		for (unsigned i = 0; i < n; i++) {
			const struct rn_tlp *tlp = rn_fabric_tlp(f, index[i]);
			unsigned queue = tlp->state == RN_TLP_INSIDE
						 ? RN_QUEUE_COUNT
						 : tlp->route.queue[tlp->hop];

			if (!would_miss(run, f, tlp))
				rn_add_move(to, RN_MOVE_TLP, node, index[i],
					    is_eager(run->plan, f, queue, index[i]));
		}
	}
}

void rn_model_init(const struct rn_model_plan *plan, struct rn_model *m)
{
	const struct rn_litmus_test *t = plan->test;

	memset(m, 0, plan->size);
	for (unsigned i = 0; i < plan->cells; i++)
		m->cell[i] = t->location[plan->cell[i].loc].init;
	for (unsigned i = 0; i < t->threads; i++)
		m->thread[i].is_started = !t->thread[i].is_launched;
	for (unsigned i = 0; i < t->nodes; i++)
		rn_fabric_init(rn_model_fabric(plan, m, i), plan->tlps,
			       &plan->setup.knobs);
}

void rn_model_tell(const struct rn_model_run *run, const struct rn_litmus_step *step,
		   const struct rn_tlp *tlp)
{
	if (run->watch)
		run->watch->step(run->watch->arg, step, tlp);
}

unsigned rn_model_moves(const struct rn_model_run *run, struct rn_move *moves)
{
	struct rn_moves to = { .list = moves };

	if (run->m->is_full)
		return 0;
	rn_model_cpu_moves(run, &to);
	rn_model_nic_moves(run, &to);
	tlp_moves(run, &to);
	return to.count;
}

void rn_model_move(const struct rn_model_run *run, const struct rn_move *move)
{
	switch ((enum rn_move_kind)move->kind) {
	case RN_MOVE_INSTR:
		rn_model_do_instr(run, move->who);
		return;
	case RN_MOVE_STORE:
		rn_model_do_store(run, move->who);
		return;
	case RN_MOVE_START:
		rn_model_do_start(run, move->who);
		return;
	case RN_MOVE_EXECUTE:
		rn_model_do_execute(run, move->who, move->what);
		return;
	case RN_MOVE_SERVE:
		rn_model_do_serve(run, move->who);
		return;
	case RN_MOVE_MODIFY:
		rn_model_do_modify(run, move->who);
		return;
	case RN_MOVE_ANSWER:
		rn_model_do_answer(run, move->who);
		return;
	case RN_MOVE_TLP:
		rn_model_move_tlp(run, move->who, move->what);
		return;
	}
	assert(!"a move");
}

/* ---- Digest ---- */

static uint64_t mix(uint64_t h, uint64_t word, uint64_t factor)
{
	h = (h ^ word) * factor;
	return h ^ h >> 32;
}

static void add(uint64_t digest[2], uint64_t word)
{
	digest[0] = mix(digest[0], word, UINT64_C(0x9e3779b97f4a7c15));
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

/* Not: seq, which only counts, and hop, which its queue tells. */
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

void rn_model_digest(const struct rn_model_plan *plan, const struct rn_model *m,
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
	for (unsigned i = 0; i < t->nodes; i++) {
		add(digest, UINT64_C(1) << 62 | i);
		add_fabric(digest, rn_model_fabric_const(plan, m, i));
	}
}

/* ---- Outcome ---- */

static bool is_finished(const struct rn_model_plan *plan, const struct rn_model *m,
			unsigned thread)
{
	const struct rn_model_thread *th = &m->thread[thread];

	return th->is_started && th->pc == plan->test->thread[thread].count;
}

void rn_model_outcome(const struct rn_model_plan *plan, const struct rn_model *m,
		      struct rn_litmus_outcome *outcome)
{
	const struct rn_model_run run = { .plan = plan, .m = (struct rn_model *)m };

	*outcome = (struct rn_litmus_outcome){ 0 };
	for (unsigned i = 0; i < plan->test->observeds; i++) {
		const struct rn_litmus_observed *o = &plan->test->observed[i];

		switch ((enum rn_litmus_what)o->what) {
		case RN_LITMUS_MEMORY:
			outcome->value[i] = rn_model_read(&run, o->loc);
			break;
		case RN_LITMUS_DONE:
			outcome->value[i] = is_finished(plan, m, o->thread);
			break;
		case RN_LITMUS_REGISTER:
			if (is_finished(plan, m, o->thread))
				outcome->value[i] = m->thread[o->thread].reg[o->reg];
			else
				outcome->absent |= UINT32_C(1) << i;
			break;
		}
	}
}
