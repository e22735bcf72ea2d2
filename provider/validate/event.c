/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.c - reports each event to the rules and then to the model. Categories without a
 * rule of a severity that the user has asked for are left out.
 */
#include <stdlib.h>

#include "model/model.h"

static unsigned categories_of(unsigned severities)
{
	unsigned categories = 0;

	for (unsigned i = 0; i < RN_VAL_RULE_COUNT; i++)
		if (severities & 1U << rn_val_rule_info(i)->severity)
			categories |= 1U << rn_val_rule_info(i)->category;
	return categories;
}

struct rn_val *rn_val_new(unsigned severities, rn_val_sink *sink, void *arg)
{
	struct rn_val *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->severities = severities;
	v->categories = categories_of(severities);
	v->sink = sink;
	v->arg = arg;
	return v;
}

void rn_val_set_probe(struct rn_val *v, rn_val_probe *is_mapped)
{
	v->is_mapped = is_mapped;
}

void rn_val_set_fork_probe(struct rn_val *v, rn_val_probe *is_copied)
{
	v->is_copied = is_copied;
}

void rn_val_set_ends(struct rn_val *v, const struct rn_val_ends *ends)
{
	v->ends = ends;
}

void rn_val_free(struct rn_val *v)
{
	rn_val_model_free(v);
	rn_val_counts_free(v);
	free(v);
}

/* The categories of rules that look at an event of the data path when the call begins
 * (@before), and when it has returned (@after). All other events are shown to the rules
 * of all categories.
 */
static const struct {
	unsigned is_listed : 1;
	unsigned before, after;
} looking[RN_VAL_EVENT_KINDS] = {
#define OF(symbol) (1U << RN_VAL_OF_##symbol)
	[RN_VAL_POST_SEND] = { 1,
			       OF(LIFE) | OF(STATE) | OF(QUEUES) | OF(MEMORY) |
				       OF(ADDRESSING) | OF(PORTABILITY) | OF(PERFORMANCE),
			       OF(QUEUES) | OF(MEMORY) | OF(PERFORMANCE) },
	[RN_VAL_POST_RECV] = { 1, OF(LIFE) | OF(STATE) | OF(QUEUES) | OF(MEMORY),
			       OF(QUEUES) },
	[RN_VAL_COMPLETION] = { 1, 0, OF(LIFE) | OF(STATE) | OF(QUEUES) | OF(MEMORY) },
	[RN_VAL_POLL] = { 1, 0, OF(LIFE) | OF(PERFORMANCE) },
#undef OF
};

void rn_val_event(struct rn_val *v, struct rn_val_event *e)
{
	unsigned categories = v->categories;

	if (looking[e->kind].is_listed)
		categories &=
			e->is_done ? looking[e->kind].after : looking[e->kind].before;
	rn_val_model_before(v, e);
	rn_val_ask_for_peer(v, e);
#define X(symbol, name, what)                      \
	if (categories & 1U << RN_VAL_OF_##symbol) \
		rn_val_check_##name(v, e);
	RN_VAL_CATEGORIES(X)
#undef X
	rn_val_model_after(v, e);
}
