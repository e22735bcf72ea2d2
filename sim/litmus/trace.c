/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace.c - steps of a model in words, and the replay of a witness. */
#include "trace.h"
#include "model_internal.h"
#include "sim/pcie/model/text.h"

static const char inside_rule[] = "GV1: what is inside a GPU is visible to it later";

/* ---- Numbers ---- */

static unsigned find_tlp(struct rn_tracer *tr, unsigned node, const struct rn_tlp *tlp)
{
	bool is_write = tlp->kind == RN_TLP_WRITE;

	for (unsigned i = 0; i < tr->known; i++)
		if (tr->tlp[i].tag == tlp->tag && tr->tlp[i].node == node &&
		    tr->tlp[i].is_write == is_write)
			return i;
	return tr->known;
}

static uint16_t number_of(struct rn_tracer *tr, unsigned node, const struct rn_tlp *tlp)
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

static void forget(struct rn_tracer *tr, unsigned node, const struct rn_tlp *tlp)
{
	unsigned i = find_tlp(tr, node, tlp);

	if (i < tr->known)
		tr->tlp[i] = tr->tlp[--tr->known];
}

/* ---- Words ---- */

static unsigned cell_of(const struct rn_model_plan *plan, const struct rn_tlp *tlp)
{
	unsigned number = rn_tag_number(tlp->tag);
	const struct rn_model_piece *piece;

	switch (rn_tag_use(tlp->tag)) {
	case RN_USE_MEMORY:
		return number;
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

static void add_value(struct rn_text *t, int64_t value)
{
	if (value == RN_MODEL_TORN) {
		rn_text_add(t, "torn");
		return;
	}
	if (value < 0)
		rn_text_char(t, '-');
	rn_text_number(t, value < 0 ? -(uint64_t)value : (uint64_t)value);
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
	} else {
		rn_text_add(t, names[tlp->kind]);
		rn_text_add(t, plan->test->location[loc].name);
	}
	if (rn_tag_use(tlp->tag) == RN_USE_MEMORY) {
		rn_text_char(t, '=');
		add_value(t, (int64_t)tlp->data);
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
			rn_text_add(t, " is visible");
			break;
		}
		rn_text_add(t, " finds ");
		add_value(t, step->value);
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

/* The value that a load has got; nothing of others. */
static void add_result(struct rn_text *t, const struct rn_litmus_instr *in, int64_t value)
{
	if (in->op != RN_LITMUS_LD && in->op != RN_LITMUS_MRD && in->op != RN_LITMUS_TRYP)
		return;
	rn_text_add(t, " -> ");
	add_value(t, value);
}

/* Bytes are read while newer ones for the same place are on their way. */
static void add_late(struct rn_text *t, struct rn_tracer *tr, struct rn_litmus_step *step)
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

static void add_words(struct rn_tracer *tr, struct rn_litmus_step *step,
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
		add_result(&t, rn_instr(plan, step->thread, step->instr), step->value);
	if (is_taking(plan, step, tlp))
		add_late(&t, tr, step);
}

/* ---- Overtaking ---- */

/* The TLP is still in its queue: whom does it leave behind? */
static void add_passed(struct rn_tracer *tr, struct rn_litmus_step *step,
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

void rn_tracer_step(void *tracer, const struct rn_litmus_step *step,
		    const struct rn_tlp *tlp)
{
	struct rn_tracer *tr = tracer;
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

/* ---- Replay ---- */

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
	struct rn_tracer tracer = { .plan = plan, .m = m, .trace = trace };
	const struct rn_model_watch watch = { rn_tracer_step, &tracer };
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
