/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.c - a litmus test as a state machine: memory, TLPs and their moves. The moves of
 * threads are in model_thread.c, those of NICs in model_nic.c.
 */
#include <errno.h>
#include <string.h>

#include "model_internal.h"

void rn_model_tell(const struct rn_model_run *run, const struct rn_litmus_step *step,
		   const struct rn_tlp *tlp)
{
	if (run->watch)
		run->watch->step(run->watch->arg, step, tlp);
}

/* ---- Values of locations ---- */

int64_t rn_model_read_location(const struct rn_model_run *run, unsigned loc)
{
	const int64_t *cell = &run->m->cell[run->plan->first_cell[loc]];

	for (unsigned i = 1; i < run->plan->cell_count[loc]; i++)
		if (cell[i] != cell[0])
			return RN_MODEL_TORN;
	return cell[0];
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

/* ---- Arrival of TLPs ---- */

struct host {
	const struct rn_model_run *run;
	unsigned node;
};

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
	case RN_USE_DOORBELL:
		m->request[number].value[0] = (int64_t)tlp->data;
		rn_model_post(host->run, number);
		break;
	case RN_USE_RECV_BELL:
		rn_model_post_receive(host->run, number);
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

/* Performs a read: stores the value that memory has now in the model, and returns it. The
 * agent that reads cannot use the value before the completion has arrived.
 */
static int64_t perform_read(const struct host *host, const struct rn_tlp *tlp)
{
	const struct rn_model_plan *plan = host->run->plan;
	struct rn_model *m = host->run->m;
	unsigned number = rn_tag_number(tlp->tag), piece = rn_tag_piece(tlp->tag);
	const struct rn_model_piece *p = &plan->work[number].piece[piece];
	int64_t *value = &m->request[number].value[piece];

	switch (rn_tag_use(tlp->tag)) {
	case RN_USE_RECV_FETCH:
		return m->receive[number].value[piece] =
			       m->cell[plan->first_cell[plan->receive[number].loc] +
				       piece];
	case RN_USE_LOAD: {
		const struct rn_model_thread *th = &m->thread[number];

		m->thread[number].loaded = rn_model_read_location(
			host->run, rn_instr(plan, number, th->pc)->loc);
		return th->loaded;
	}
	case RN_USE_GATHER:
		return *value = m->cell[p->local];
	case RN_USE_FETCH:
		return *value = m->cell[plan->first_cell[m->request[number].fetch_loc] +
					piece];
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
		rn_model_end_load(host->run, number);
		break;
	case RN_USE_GATHER:
		rq->gathered |= bit;
		break;
	case RN_USE_FETCH:
		rn_model_fetched(host->run, number, rn_tag_piece(tlp->tag));
		break;
	case RN_USE_RECV_FETCH:
		rn_model_receive_fetched(host->run, number, rn_tag_piece(tlp->tag));
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

/* ---- Issue of TLPs ---- */

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

/* ---- Moves of TLPs ---- */

void rn_model_move_tlp(const struct rn_model_run *run, unsigned node, unsigned index)
{
	struct host host = { run, node };

	rn_fabric_move(rn_model_fabric(run->plan, run->m, node), &ops, &host, index);
}

/* Returns true if only one queue of one agent leads into @queue. Then the first TLP of
 * that queue can move on into @queue at once: TLPs from elsewhere cannot come between, so
 * the order in @queue is the same.
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

/* Returns true if the TLP is a CQE that threads can only wait for: none of them polls
 * this CQ without waiting (instruction tryp). All that its arrival then does is to let a
 * thread continue.
 */
static bool is_awaited_cqe(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	if (rn_tag_use(tlp->tag) == RN_USE_DMACQE)
		return true;
	return rn_tag_use(tlp->tag) == RN_USE_CQE &&
	       !plan->is_tried[rn_tag_number(tlp->tag)];
}

static unsigned qp_of(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	return plan->work[rn_tag_number(tlp->tag)].qp;
}

/* Returns true if the TLP is a doorbell of a queue whose doorbell only one thread rings.
 * All that its arrival then does is to let the NIC start a work request or fetch a
 * receive.
 */
static bool is_single_doorbell(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	if (rn_tag_use(tlp->tag) == RN_USE_RECV_BELL)
		return plan->is_fed_by_one[plan->receive[rn_tag_number(tlp->tag)].rq];
	return rn_tag_use(tlp->tag) == RN_USE_DOORBELL &&
	       plan->is_posted_by_one[qp_of(plan, tlp)];
}

/* @tlp is the last completion of a read. Returns true if no memory is accessed in the
 * move in which it arrives. That would happen if the NIC has fetched an address in its
 * own memory, which it then reads without TLPs in the same move.
 */
static bool is_end_silent(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	return rn_tag_use(tlp->tag) != RN_USE_FETCH ||
	       plan->is_fetch_silent[qp_of(plan, tlp)];
}

static bool is_eager(const struct rn_model_plan *plan, const struct rn_fabric *f,
		     unsigned queue, unsigned index)
{
	const struct rn_tlp *tlp = rn_fabric_tlp(f, index);
	bool is_last = tlp->hop + 1 >= tlp->route.hops;

	if (queue >= RN_QUEUE_COUNT)
		return false;
	if (tlp->kind == RN_TLP_WRITE && !is_last)
		return goes_first(f, queue, index);
	if (tlp->kind == RN_TLP_WRITE)
		return is_awaited_cqe(plan, tlp) || is_single_doorbell(plan, tlp);
	if (!is_last)
		return true;
	return tlp->kind == RN_TLP_COMPLETION && is_end_silent(plan, tlp);
}

/* Returns the value that a read of @loc through the BAR of a GPU would get now. Such a
 * read first makes all writes visible that wait inside the GPU.
 */
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

/* @tlp is a load of the instruction `wait'. Returns true if it would get another value
 * than the one for which the thread waits. Such a load would only push writes in front of
 * it, and these can also move by themselves. So the search does not move the load now.
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

/* ---- Initial state, and the moves of the whole state machine ---- */

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

unsigned rn_model_moves(const struct rn_model_run *run, struct rn_move *moves)
{
	struct rn_moves to = { .list = moves };

	if (run->m->is_full)
		return 0;
	rn_model_thread_moves(run, &to);
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
		rn_model_do_store(run, move->who, move->what);
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
	case RN_MOVE_FETCH:
		rn_model_do_fetch(run, move->who);
		return;
	case RN_MOVE_TAKE:
		rn_model_do_take(run, move->who);
		return;
	case RN_MOVE_TLP:
		rn_model_move_tlp(run, move->who, move->what);
		return;
	}
	assert(!"a move");
}

/* ---- Outcome of a final state ---- */

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
			outcome->value[i] = rn_model_read_location(&run, o->loc);
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
