/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.c - the state machine: memory, TLPs, threads (CPUs with a TSO store buffer, GPUs,
 * DMA engines), and all moves except those of NICs, which are in model_nic.c.
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

/* ---- Memory ---- */

static int64_t read_location(const struct rn_model_run *run, unsigned loc)
{
	const int64_t *cell = &run->m->cell[run->plan->first_cell[loc]];

	for (unsigned i = 1; i < run->plan->cell_count[loc]; i++)
		if (cell[i] != cell[0])
			return RN_MODEL_TORN;
	return cell[0];
}

static void write_location(const struct rn_model_run *run, unsigned loc, int64_t value)
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

/* ---- Threads and their values ---- */

static struct rn_model_thread *thread_of(const struct rn_model_run *run, unsigned thread)
{
	return &run->m->thread[thread];
}

static const struct rn_litmus_thread *code_of(const struct rn_model_run *run,
					      unsigned thread)
{
	return &run->plan->test->thread[thread];
}

static bool is_cpu(const struct rn_model_run *run, unsigned thread)
{
	return code_of(run, thread)->agent == RN_AGENT_CPU;
}

static int64_t value_of(const struct rn_model_thread *th,
			const struct rn_litmus_value *value)
{
	return value->is_reg ? th->reg[value->reg] : value->number;
}

static bool is_own(const struct rn_model_run *run, unsigned thread, unsigned loc)
{
	return run->plan->test->location[loc].agent == code_of(run, thread)->agent;
}

static bool is_awaited(const struct rn_model_run *run, unsigned thread, int64_t value)
{
	const struct rn_model_thread *th = thread_of(run, thread);

	return value == value_of(th, &rn_instr(run->plan, thread, th->pc)->value);
}

static void tell_thread(const struct rn_model_run *run, unsigned kind, unsigned thread,
			unsigned instr, int64_t value)
{
	const struct rn_litmus_thread *code = code_of(run, thread);
	const struct rn_litmus_step step = {
		.kind = (uint8_t)kind,
		.node = code->node,
		.agent = code->agent,
		.thread = (uint8_t)thread,
		.instr = (uint8_t)instr,
		.loc = RN_LITMUS_NONE,
		.tlp = RN_TLP_NONE,
		.from = RN_LIST_COUNT,
		.to = RN_LIST_COUNT,
		.passed = RN_TLP_NONE,
		.value = value,
	};

	rn_model_tell(run, &step, NULL);
}

/* Returns the youngest store to @loc that is still in the store buffer, or NULL. */
static const struct rn_model_store *buffered(const struct rn_model_run *run,
					     unsigned thread, unsigned loc)
{
	const struct rn_model_thread *th = thread_of(run, thread);

	for (unsigned i = th->stores; i-- > 0;) {
		const struct rn_litmus_instr *in =
			rn_instr(run->plan, thread, (unsigned)th->store[i].instr);

		if ((in->op == RN_LITMUS_ST || in->op == RN_LITMUS_MWR) && in->loc == loc)
			return &th->store[i];
	}
	return NULL;
}

static int64_t load_own(const struct rn_model_run *run, unsigned thread, unsigned loc)
{
	const struct rn_model_store *store = buffered(run, thread, loc);

	return store ? store->value : read_location(run, loc);
}

static void finish_load(const struct rn_model_run *run, unsigned thread, int64_t value)
{
	struct rn_model_thread *th = thread_of(run, thread);
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, th->pc);

	if (in->op == RN_LITMUS_WAIT && !is_awaited(run, thread, value))
		return;
	if (in->op != RN_LITMUS_WAIT)
		th->reg[in->reg] = value;
	tell_thread(run, RN_STEP_INSTR, thread, th->pc, value);
	th->pc++;
}

static void end_load(const struct rn_model_run *run, unsigned thread)
{
	struct rn_model_thread *th = thread_of(run, thread);
	int64_t value = th->loaded;

	th->is_waiting = false;
	th->loaded = 0;
	finish_load(run, thread, value);
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

/* Performs a read: returns the value that memory has now. The reader gets it when the
 * completion arrives.
 */
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
			read_location(host->run, rn_instr(plan, number, th->pc)->loc);
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
		end_load(host->run, number);
		break;
	case RN_USE_GATHER:
		rq->gathered |= bit;
		break;
	case RN_USE_FETCH:
		rn_model_fetched(host->run, number, rn_tag_piece(tlp->tag));
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

/* ---- Stores and loads ---- */

static void issue_store(const struct rn_model_run *run, unsigned thread, unsigned instr,
			int64_t value)
{
	const struct rn_litmus_thread *code = code_of(run, thread);
	unsigned loc = rn_instr(run->plan, thread, instr)->loc;
	struct rn_tlp tlp =
		rn_model_tlp(run, RN_TLP_WRITE, code->agent, run->plan->first_cell[loc]);

	tlp.len = run->plan->test->location[loc].size;
	tlp.msg = instr;
	tlp.data = (uint64_t)value;
	tlp.tag = rn_model_tag(RN_USE_MEMORY, run->plan->first_cell[loc],
			       run->plan->cell_count[loc], thread, instr);
	rn_model_issue(run, code->node, &tlp);
}

static void launch(const struct rn_model_run *run, unsigned thread, unsigned instr)
{
	const struct rn_litmus_thread *code = code_of(run, thread);
	unsigned kernel = rn_instr(run->plan, thread, instr)->thread;
	struct rn_tlp tlp = {
		.kind = RN_TLP_WRITE,
		.flags = RN_TLP_BELL,
		.requester = RN_AGENT_CPU,
		.target = code_of(run, kernel)->agent,
		.len = 4,
		.tag = rn_model_tag(RN_USE_LAUNCH, kernel, 0, thread, instr),
	};

	rn_model_issue(run, code->node, &tlp);
}

/* Sends a doorbell: a write to the NIC, with the WQE in it (blue) or without (bell). */
static void ring(const struct rn_model_run *run, unsigned thread, unsigned instr,
		 int64_t value)
{
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, instr);
	struct rn_tlp tlp = {
		.kind = RN_TLP_WRITE,
		.flags = RN_TLP_BELL,
		.requester = RN_AGENT_CPU,
		.target = run->plan->test->qp[in->qp].nic,
		.len = in->op == RN_LITMUS_BLUE ? 64 : 8,
		.data = (uint64_t)value,
		.tag = rn_model_tag(RN_USE_DOORBELL, in->work, 0, thread, instr),
	};

	rn_model_issue(run, code_of(run, thread)->node, &tlp);
}

/* Makes a store, post or launch visible outside its CPU. */
static void let_out(const struct rn_model_run *run, unsigned thread, unsigned instr,
		    int64_t value)
{
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, instr);

	if (in->op == RN_LITMUS_SFENCE)
		return;
	if (rn_litmus_is_rung(in->op))
		ring(run, thread, instr, value);
	else if (rn_litmus_is_work(in->op))
		rn_model_post(run, in->work);
	else if (in->op == RN_LITMUS_LAUNCH)
		launch(run, thread, instr);
	else if (is_own(run, thread, in->loc))
		write_location(run, in->loc, value);
	else
		issue_store(run, thread, instr, value);
}

static void do_store(const struct rn_model_run *run, unsigned thread, unsigned index)
{
	struct rn_model_thread *th = thread_of(run, thread);
	const struct rn_model_store store = th->store[index];

	th->stores--;
	memmove(th->store + index, th->store + index + 1,
		(th->stores - index) * sizeof(th->store[0]));
	th->store[th->stores] = (struct rn_model_store){ 0 };
	tell_thread(run, RN_STEP_STORE, thread, (unsigned)store.instr, store.value);
	let_out(run, thread, (unsigned)store.instr, store.value);
}

/* Copies inline data when the work request is posted, not when the NIC sees it. */
static void take_inline(const struct rn_model_run *run, unsigned thread,
			const struct rn_litmus_instr *in)
{
	struct rn_model_request *rq = &run->m->request[in->work];
	unsigned piece = 0;

	if (in->op == RN_LITMUS_READ || in->op == RN_LITMUS_FLUSH ||
	    in->op == RN_LITMUS_FAA || in->op == RN_LITMUS_CAS)
		return;
	for (unsigned i = 0; i < in->count; i++)
		for (unsigned k = 0; k < run->plan->cell_count[in->dst[i]];
		     k++, piece++) {
			if (!in->src[i].is_inline)
				continue;
			rq->value[piece] =
				value_of(thread_of(run, thread), &in->src[i].value);
			rq->gathered |= (uint16_t)(1u << piece);
		}
}

static void do_store_instr(const struct rn_model_run *run, unsigned thread)
{
	struct rn_model_thread *th = thread_of(run, thread);
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, th->pc);
	struct rn_model_store store = {
		.instr = th->pc,
		.value = value_of(th, &in->value),
	};

	if (rn_litmus_is_work(in->op) && !rn_litmus_is_rung(in->op))
		take_inline(run, thread, in);
	tell_thread(run, RN_STEP_INSTR, thread, th->pc, store.value);
	th->pc++;
	if (is_cpu(run, thread) && run->plan->setup.knobs.cpu != RN_CPU_SC)
		th->store[th->stores++] = store;
	else
		let_out(run, thread, (unsigned)store.instr, store.value);
}

static void do_load(const struct rn_model_run *run, unsigned thread)
{
	const struct rn_litmus_thread *code = code_of(run, thread);
	struct rn_model_thread *th = thread_of(run, thread);
	unsigned loc = rn_instr(run->plan, thread, th->pc)->loc;
	struct rn_tlp tlp;

	if (is_own(run, thread, loc)) {
		finish_load(run, thread, load_own(run, thread, loc));
		return;
	}
	tlp = rn_model_tlp(run, RN_TLP_READ, code->agent, run->plan->first_cell[loc]);
	tlp.len = run->plan->test->location[loc].size;
	tlp.txn = 0x10000 + thread;
	tlp.tag = rn_model_tag(RN_USE_LOAD, thread, 0, thread, th->pc);
	th->is_waiting = true;
	rn_model_issue(run, code->node, &tlp);
}

/* ---- Rings ---- */

static struct rn_model_ring *ring_of(const struct rn_model_run *run, unsigned thread)
{
	const struct rn_litmus_instr *in =
		rn_instr(run->plan, thread, thread_of(run, thread)->pc);

	if (in->op == RN_LITMUS_POLLC)
		return &run->m->dma[code_of(run, thread)->node];
	return &run->m->ring[in->cq];
}

static bool has_cqe(const struct rn_model_ring *ring)
{
	return ring->arrived >> ring->consumed & 1;
}

static void do_poll(const struct rn_model_run *run, unsigned thread)
{
	struct rn_model_thread *th = thread_of(run, thread);
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, th->pc);
	struct rn_model_ring *ring = ring_of(run, thread);
	bool is_there = has_cqe(ring);

	ring->consumed = (uint8_t)(ring->consumed + is_there);
	if (in->op == RN_LITMUS_TRYP)
		th->reg[in->reg] = is_there;
	tell_thread(run, RN_STEP_INSTR, thread, th->pc, is_there);
	th->pc++;
}

static void do_dma(const struct rn_model_run *run, unsigned thread)
{
	struct rn_model_thread *th = thread_of(run, thread);
	const struct rn_litmus_thread *code = code_of(run, thread);
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, th->pc);
	unsigned instr = th->pc++;
	struct rn_tlp cqe = {
		.kind = RN_TLP_WRITE,
		.flags = RN_TLP_CQE,
		.requester = code->agent,
		.target = RN_AGENT_CPU,
		.len = 16,
	};

	tell_thread(run, RN_STEP_INSTR, thread, instr, value_of(th, &in->value));
	if (in->op == RN_LITMUS_DMA) {
		issue_store(run, thread, instr, value_of(th, &in->value));
		return;
	}
	cqe.tag = rn_model_tag(RN_USE_DMACQE, 0, run->m->dma[code->node].issued++, thread,
			       instr);
	rn_model_issue(run, code->node, &cqe);
}

/* ---- Moves of threads ---- */

/* Returns true if all stores of the thread are visible: for a CPU the store buffer is
 * empty, for a GPU its writes have arrived.
 */
static bool is_fenced(const struct rn_model_run *run, unsigned thread)
{
	const struct rn_litmus_thread *code = code_of(run, thread);
	const struct rn_fabric *f = rn_model_fabric_const(run->plan, run->m, code->node);

	if (is_cpu(run, thread))
		return thread_of(run, thread)->stores == 0;
	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

		if (tlp->kind == RN_TLP_WRITE && tlp->requester == code->agent)
			return false;
	}
	return true;
}

/* Returns true if the location keeps the value that the thread waits for, once it has
 * this value. A `wait' for another value may miss it, like any loop that loads.
 */
static bool is_lasting(const struct rn_model_run *run, unsigned thread, unsigned loc)
{
	unsigned writes = run->plan->writes[loc];

	return writes == 0 ||
	       (writes == 1 &&
		!is_awaited(run, thread, run->plan->test->location[loc].init));
}

static void load_moves(const struct rn_model_run *run, unsigned thread,
		       struct rn_moves *to)
{
	const struct rn_model_thread *th = thread_of(run, thread);
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, th->pc);
	bool is_wait = in->op == RN_LITMUS_WAIT;
	bool is_eager = is_wait && is_lasting(run, thread, in->loc);

	if (!is_own(run, thread, in->loc)) {
		if (buffered(run, thread, in->loc))
			return;
		is_eager = !run->plan->is_now;
		is_wait &= run->plan->is_now;
	}
	if (is_wait && !is_awaited(run, thread, load_own(run, thread, in->loc)))
		return;
	rn_add_move(to, RN_MOVE_INSTR, thread, 0, is_eager);
}

static void poll_moves(const struct rn_model_run *run, unsigned thread,
		       struct rn_moves *to)
{
	const struct rn_litmus_instr *in =
		rn_instr(run->plan, thread, thread_of(run, thread)->pc);

	if (in->op == RN_LITMUS_TRYP)
		rn_add_move(to, RN_MOVE_INSTR, thread, 0, false);
	else if (has_cqe(ring_of(run, thread)))
		rn_add_move(to, RN_MOVE_INSTR, thread, 0,
			    in->op == RN_LITMUS_POLL &&
				    run->plan->is_polled_by_one[in->cq]);
}

static void instr_moves(const struct rn_model_run *run, unsigned thread,
			struct rn_moves *to)
{
	const struct rn_model_thread *th = thread_of(run, thread);
	bool has_buffer = is_cpu(run, thread) && run->plan->setup.knobs.cpu != RN_CPU_SC;

	switch (rn_instr(run->plan, thread, th->pc)->op) {
	case RN_LITMUS_LD:
	case RN_LITMUS_MRD:
	case RN_LITMUS_WAIT:
		load_moves(run, thread, to);
		return;
	case RN_LITMUS_POLL:
	case RN_LITMUS_TRYP:
	case RN_LITMUS_POLLC:
		poll_moves(run, thread, to);
		return;
	case RN_LITMUS_MFENCE:
		if (is_fenced(run, thread))
			rn_add_move(to, RN_MOVE_INSTR, thread, 0, true);
		return;
	case RN_LITMUS_DMA:
	case RN_LITMUS_DMACQE:
		rn_add_move(to, RN_MOVE_INSTR, thread, 0, false);
		return;
	default:
		if (!has_buffer || th->stores < RN_MODEL_BUFFER)
			rn_add_move(to, RN_MOVE_INSTR, thread, 0, has_buffer);
	}
}

static bool is_call(unsigned op)
{
	return op == RN_LITMUS_LAUNCH ||
	       (rn_litmus_is_work(op) && !rn_litmus_is_rung(op));
}

static bool is_same_place(const struct rn_litmus_instr *a,
			  const struct rn_litmus_instr *b)
{
	bool rings_a = rn_litmus_is_rung(a->op), rings_b = rn_litmus_is_rung(b->op);

	if (rings_a || rings_b)
		return rings_a && rings_b && a->qp == b->qp;
	return !is_call(a->op) && !is_call(b->op) && a->loc == b->loc;
}

/* May the store @later leave the store buffer before @earlier? A verbs call or a launch
 * has a store fence in it, in front of its doorbell. BlueFlame registers are mapped
 * write-combining, so no processor orders writes to them.
 */
static bool may_leave_before(const struct rn_model_run *run,
			     const struct rn_litmus_instr *later,
			     const struct rn_litmus_instr *earlier)
{
	if (later->op == RN_LITMUS_SFENCE || earlier->op == RN_LITMUS_SFENCE ||
	    is_call(later->op) || is_same_place(later, earlier))
		return false;
	return run->plan->setup.knobs.cpu == RN_CPU_PSO || later->op == RN_LITMUS_BLUE ||
	       earlier->op == RN_LITMUS_BLUE;
}

static const struct rn_litmus_instr *buffered_at(const struct rn_model_run *run,
						 unsigned thread, unsigned index)
{
	return rn_instr(run->plan, thread,
			(unsigned)thread_of(run, thread)->store[index].instr);
}

static bool may_leave(const struct rn_model_run *run, unsigned thread, unsigned index)
{
	for (unsigned i = 0; i < index; i++)
		if (!may_leave_before(run, buffered_at(run, thread, index),
				      buffered_at(run, thread, i)))
			return false;
	return true;
}

static void store_moves(const struct rn_model_run *run, unsigned thread,
			struct rn_moves *to)
{
	for (unsigned i = 0; i < thread_of(run, thread)->stores; i++) {
		const struct rn_litmus_instr *in = buffered_at(run, thread, i);
		bool is_eager = in->op == RN_LITMUS_SFENCE ||
				(rn_litmus_is_work(in->op) &&
				 run->plan->is_posted_by_one[in->qp]);

		if (may_leave(run, thread, i))
			rn_add_move(to, RN_MOVE_STORE, thread, i, is_eager);
	}
}

static void thread_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	for (unsigned i = 0; i < run->plan->test->threads; i++) {
		const struct rn_model_thread *th = thread_of(run, i);

		if (th->stores > 0)
			store_moves(run, i, to);
		if (th->is_started && !th->is_waiting && th->pc < code_of(run, i)->count)
			instr_moves(run, i, to);
	}
}

static void do_instr(const struct rn_model_run *run, unsigned thread)
{
	struct rn_model_thread *th = thread_of(run, thread);

	switch (rn_instr(run->plan, thread, th->pc)->op) {
	case RN_LITMUS_LD:
	case RN_LITMUS_MRD:
	case RN_LITMUS_WAIT:
		do_load(run, thread);
		return;
	case RN_LITMUS_POLL:
	case RN_LITMUS_TRYP:
	case RN_LITMUS_POLLC:
		do_poll(run, thread);
		return;
	case RN_LITMUS_DMA:
	case RN_LITMUS_DMACQE:
		do_dma(run, thread);
		return;
	case RN_LITMUS_MFENCE:
		tell_thread(run, RN_STEP_INSTR, thread, th->pc, 0);
		th->pc++;
		return;
	default:
		do_store_instr(run, thread);
	}
}

/* ---- Moves of TLPs ---- */

void rn_model_move_tlp(const struct rn_model_run *run, unsigned node, unsigned index)
{
	struct host host = { run, node };

	rn_fabric_move(rn_model_fabric(run->plan, run->m, node), &ops, &host, index);
}

/* Returns true if all TLPs of this queue come from one queue of one agent. Moving the
 * first TLP of that queue into this one early then changes no order.
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

/* Returns true if the TLP is a CQE for which no thread polls without waiting. The arrival
 * of this CQE only lets a waiting thread continue.
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

/* Returns true for a doorbell of a QP that one thread rings. Its arrival only lets the
 * NIC start a work request.
 */
static bool is_single_doorbell(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	return rn_tag_use(tlp->tag) == RN_USE_DOORBELL &&
	       plan->is_posted_by_one[qp_of(plan, tlp)];
}

/* Returns true if the arrival of the completion reads no memory at once: what is fetched
 * may hold an address in the memory of the NIC itself.
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

/* Returns the value that a read of @loc through the BAR would return after all writes
 * inside the GPU became visible.
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

/* Returns true if this load of `wait' would find another value than it waits for. Its
 * only effect would be to push writes, which can move by themselves, so the load is left
 * where it is.
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
	return !is_awaited(run, thread, value_behind_bar(run, f, in->loc));
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

/* ---- The whole state machine ---- */

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
	thread_moves(run, &to);
	rn_model_nic_moves(run, &to);
	tlp_moves(run, &to);
	return to.count;
}

void rn_model_move(const struct rn_model_run *run, const struct rn_move *move)
{
	switch ((enum rn_move_kind)move->kind) {
	case RN_MOVE_INSTR:
		do_instr(run, move->who);
		return;
	case RN_MOVE_STORE:
		do_store(run, move->who, move->what);
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
			outcome->value[i] = read_location(&run, o->loc);
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
