/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model_thread.c - threads of the state machine (CPUs with a store buffer, GPUs and DMA
 * engines): what their instructions do, and which moves they can make.
 */
#include <string.h>

#include "model_internal.h"

static void write_location(const struct rn_model_run *run, unsigned loc, int64_t value)
{
	for (unsigned i = 0; i < run->plan->cell_count[loc]; i++)
		run->m->cell[run->plan->first_cell[loc] + i] = value;
}

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

bool rn_model_is_awaited(const struct rn_model_run *run, unsigned thread, int64_t value)
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

	return store ? store->value : rn_model_read_location(run, loc);
}

static void finish_load(const struct rn_model_run *run, unsigned thread, int64_t value)
{
	struct rn_model_thread *th = thread_of(run, thread);
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, th->pc);

	if (in->op == RN_LITMUS_WAIT && !rn_model_is_awaited(run, thread, value))
		return;
	if (in->op != RN_LITMUS_WAIT)
		th->reg[in->reg] = value;
	tell_thread(run, RN_STEP_INSTR, thread, th->pc, value);
	th->pc++;
}

void rn_model_end_load(const struct rn_model_run *run, unsigned thread)
{
	struct rn_model_thread *th = thread_of(run, thread);
	int64_t value = th->loaded;

	th->is_waiting = false;
	th->loaded = 0;
	finish_load(run, thread, value);
}

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

/* Issues the TLP of a doorbell, a write of the CPU to the NIC. With the instruction blue
 * (BlueFlame) the TLP carries the WQE @value; with bell and recv it carries none.
 */
static void ring(const struct rn_model_run *run, unsigned thread, unsigned instr,
		 int64_t value)
{
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, instr);
	const struct rn_litmus_test *t = run->plan->test;
	bool is_recv = in->op == RN_LITMUS_RECV;
	struct rn_tlp tlp = {
		.kind = RN_TLP_WRITE,
		.flags = RN_TLP_BELL,
		.requester = RN_AGENT_CPU,
		.target = is_recv ? t->rq[in->rq].nic : t->qp[in->qp].nic,
		.len = in->op == RN_LITMUS_BLUE ? 64 : 8,
		.data = (uint64_t)value,
		.tag = is_recv ? rn_model_tag(RN_USE_RECV_BELL, in->receive, 0, thread,
					      instr)
			       : rn_model_tag(RN_USE_DOORBELL, in->work, 0, thread,
					      instr),
	};

	rn_model_issue(run, code_of(run, thread)->node, &tlp);
}

/* Called when the entry of an instruction leaves the store buffer. Depending on the
 * instruction, makes the store visible outside the CPU, posts the work request, rings the
 * doorbell, or launches the GPU's thread.
 */
static void let_out(const struct rn_model_run *run, unsigned thread, unsigned instr,
		    int64_t value)
{
	const struct rn_litmus_instr *in = rn_instr(run->plan, thread, instr);

	if (in->op == RN_LITMUS_SFENCE)
		return;
	if (rn_litmus_is_doorbell(in->op))
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

void rn_model_do_store(const struct rn_model_run *run, unsigned thread, unsigned index)
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

/* Called when a work request is posted: copies its inline data, which the NIC does not
 * read later.
 */
static void take_inline(const struct rn_model_run *run, unsigned thread,
			const struct rn_litmus_instr *in)
{
	struct rn_model_request *rq = &run->m->request[in->work];
	unsigned piece = 0;

	if (in->op == RN_LITMUS_READ || in->op == RN_LITMUS_FLUSH ||
	    rn_litmus_is_atomic(in->op))
		return;
	for (unsigned i = 0; i < in->count; i++) {
		/* The buffer of a receive that the program posts is one word long. */
		unsigned cells = in->dst[i] == RN_LITMUS_NONE
					 ? 1
					 : run->plan->cell_count[in->dst[i]];

		for (unsigned k = 0; k < cells; k++, piece++) {
			if (!in->src[i].is_inline)
				continue;
			rq->value[piece] =
				value_of(thread_of(run, thread), &in->src[i].value);
			rq->gathered |= (uint16_t)(1u << piece);
		}
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

/* Returns true if all stores of the thread are visible. For a CPU this means that its
 * store buffer is empty, for a GPU that all its writes have arrived.
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

/* Returns true if the location never changes again once it has the value for which the
 * thread waits. If it may change, the instruction `wait' may miss the value, as any loop
 * of loads may.
 */
static bool is_lasting(const struct rn_model_run *run, unsigned thread, unsigned loc)
{
	unsigned writes = run->plan->writes[loc];

	return writes == 0 ||
	       (writes == 1 &&
		!rn_model_is_awaited(run, thread, run->plan->test->location[loc].init));
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
	if (is_wait && !rn_model_is_awaited(run, thread, load_own(run, thread, in->loc)))
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

	if (a->op == RN_LITMUS_RECV || b->op == RN_LITMUS_RECV)
		return a->op == b->op && a->rq == b->rq;
	if (rings_a || rings_b)
		return rings_a && rings_b && a->qp == b->qp;
	return !is_call(a->op) && !is_call(b->op) && a->loc == b->loc;
}

/* Returns true if the store @later may leave the store buffer before the store @earlier.
 * A verbs call or a launch may not: it has a store fence before it writes the doorbell. A
 * write to a BlueFlame register may, because such registers are mapped write-combining,
 * and no processor orders these writes.
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
		bool is_eager =
			in->op == RN_LITMUS_SFENCE ||
			(in->op == RN_LITMUS_RECV && run->plan->is_fed_by_one[in->rq]) ||
			(rn_litmus_is_work(in->op) &&
			 run->plan->is_posted_by_one[in->qp]);

		if (may_leave(run, thread, i))
			rn_add_move(to, RN_MOVE_STORE, thread, i, is_eager);
	}
}

void rn_model_thread_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	for (unsigned i = 0; i < run->plan->test->threads; i++) {
		const struct rn_model_thread *th = thread_of(run, i);

		if (th->stores > 0)
			store_moves(run, i, to);
		if (th->is_started && !th->is_waiting && th->pc < code_of(run, i)->count)
			instr_moves(run, i, to);
	}
}

void rn_model_do_instr(const struct rn_model_run *run, unsigned thread)
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
