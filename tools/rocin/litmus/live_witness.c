/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_witness.c - how the last run went: what threads did, and what TLPs did. */
#include "live_witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/pcie/model/topology.h"

struct rn_litmus_step *rn_live_add_step(struct rn_live_list *list, uint64_t at,
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
	/* A post takes effect once it is made, everything else when it is done. */
	struct rn_litmus_step *s = rn_live_add_step(
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
	rn_live_add_moves(l, &list);
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
