/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_stale.c - finds the load of a witness that came too early. */
#include "litmus_html.h"
#include "sim/pcie/model/topology.h"

static bool is_load(const struct rn_litmus_test *t, const struct rn_litmus_step *s)
{
	const struct rn_litmus_instr *in;

	if (s->kind != RN_STEP_INSTR || s->thread == RN_LITMUS_NONE)
		return false;
	in = &t->thread[s->thread].instr[s->instr];
	return in->op == RN_LITMUS_LD || in->op == RN_LITMUS_MRD;
}

static bool is_data_write(const struct rn_litmus_step *s)
{
	return s->tlp_kind == RN_TLP_WRITE && s->loc != RN_LITMUS_NONE &&
	       !(s->tlp_flags & (RN_TLP_CQE | RN_TLP_BELL));
}

/* A write of @loc that was sent before @load and is visible only after it. */
static bool find_late(const struct rn_report_state *s, size_t load,
		      struct rn_html_stale *stale)
{
	for (size_t i = 0; i < load; i++) {
		const struct rn_litmus_step *sent = &s->steps[i];
		bool is_there = false;

		if (sent->kind != RN_STEP_ISSUE || !is_data_write(sent) ||
		    sent->loc != s->steps[load].loc)
			continue;
		*stale = (struct rn_html_stale){ .step = load,
						 .tlp = sent->tlp,
						 .where = RN_LIST_COUNT };
		for (size_t j = i; j < load; j++) {
			const struct rn_litmus_step *at = &s->steps[j];

			if (at->tlp != sent->tlp || at->node != sent->node)
				continue;
			is_there |= at->kind == RN_STEP_PERFORM;
			if (at->kind == RN_STEP_MOVE)
				stale->where = at->to;
		}
		/* It has not moved yet: it is in the queue that it will leave first. */
		for (size_t j = load; j < s->step_count && stale->where == RN_LIST_COUNT;
		     j++)
			if (s->steps[j].tlp == sent->tlp &&
			    s->steps[j].kind == RN_STEP_MOVE)
				stale->where = s->steps[j].from;
		if (!is_there)
			return true;
	}
	return false;
}

bool rn_html_find_stale(const struct rn_litmus_test *t, const struct rn_report_state *s,
			struct rn_html_stale *stale)
{
	for (size_t i = 0; i < s->step_count; i++)
		if (is_load(t, &s->steps[i]) && find_late(s, i, stale))
			return true;
	return false;
}
