/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.c - the machine as a whole: moves, digest, outcome. */
#include <string.h>

#include "model_internal.h"

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
	rn_model_tlp_moves(run, &to);
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

bool rn_model_is_finished(const struct rn_model_plan *plan, const struct rn_model *m,
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
			outcome->value[i] = rn_model_is_finished(plan, m, o->thread);
			break;
		case RN_LITMUS_REGISTER:
			if (rn_model_is_finished(plan, m, o->thread))
				outcome->value[i] = m->thread[o->thread].reg[o->reg];
			else
				outcome->absent |= UINT32_C(1) << i;
			break;
		}
	}
}
