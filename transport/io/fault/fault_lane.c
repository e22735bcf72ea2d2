/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_lane.c - packets that wait. */
#include "fault_lane.h"

#include <stdlib.h>
#include <string.h>

enum {
	HELD_MAX = 16 << 20, /* bytes in one lane */
};

struct rn_fault_item *rn_fault_item_new(const struct rn_flow *flow, const uint8_t *data,
					uint32_t len)
{
	struct rn_fault_item *it = malloc(sizeof(*it) + len);

	if (!it)
		return NULL;
	it->behind = it->sgid_index = 0;
	it->gro_idx = 0;
	it->answers_for = 0;
	it->has_fate = false;
	it->flow = *flow;
	it->len = it->seg_len = len;
	it->count = 1;
	memcpy(it->data, data, len);
	return it;
}

struct rn_fault_item *rn_fault_item_copy(const struct rn_fault_item *it)
{
	struct rn_fault_item *copy = rn_fault_item_new(&it->flow, it->data, it->len);

	if (copy) {
		copy->sgid_index = it->sgid_index;
		copy->gro_idx = it->gro_idx;
	}
	return copy;
}

void rn_fault_drop_all(struct rn_fault_list *list)
{
	struct rn_fault_item *it, *next;

	for (it = TAILQ_FIRST(list); it; it = next) {
		next = TAILQ_NEXT(it, link);
		free(it);
	}
	TAILQ_INIT(list);
}

void rn_fault_drop_first(struct rn_fault_list *list)
{
	struct rn_fault_item *it = TAILQ_FIRST(list);

	TAILQ_REMOVE(list, it, link);
	free(it);
}

static void let_go(struct rn_fault_lane *l, struct rn_fault_item *it)
{
	TAILQ_REMOVE(&l->held, it, link);
	l->held_bytes -= it->len;
	if (it->behind)
		l->has_reordered = false;
	TAILQ_INSERT_TAIL(&l->ready, it, link);
}

void rn_fault_hold(struct rn_fault_lane *l, struct rn_fault_item *it)
{
	struct rn_fault_item *before = TAILQ_LAST(&l->held, rn_fault_list);

	while (before && before->due > it->due)
		before = TAILQ_PREV(before, rn_fault_list, link);
	if (before)
		TAILQ_INSERT_AFTER(&l->held, before, it, link);
	else
		TAILQ_INSERT_HEAD(&l->held, it, link);
	l->held_bytes += it->len;
	if (it->behind)
		l->has_reordered = true;
	while (l->held_bytes > HELD_MAX)
		let_go(l, TAILQ_FIRST(&l->held));
}

void rn_fault_release(struct rn_fault_lane *l, rn_ns now)
{
	struct rn_fault_item *it;

	while ((it = TAILQ_FIRST(&l->held)) && it->due <= now)
		let_go(l, it);
}

/* A packet has gone ahead of one that is behind others. */
void rn_fault_go_ahead(struct rn_fault_lane *l)
{
	struct rn_fault_item *it;

	if (!l->has_reordered)
		return;
	TAILQ_FOREACH(it, &l->held, link)
	if (it->behind)
		break;
	assert(it);
	if (it->behind > 1)
		it->behind--;
	else
		let_go(l, it);
}
