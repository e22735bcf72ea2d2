/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* walk.c - goes through the objects of a device, one program after the other. */
#include "walk.h"

#include <string.h>

static enum rn_stats_kind record_kind(enum rnk_nl_kind kind)
{
	static const uint8_t of[RNK_NL_KIND_COUNT] = {
		[RNK_NL_KIND_PD] = RN_STATS_PD,	  [RNK_NL_KIND_CQ] = RN_STATS_CQ,
		[RNK_NL_KIND_MR] = RN_STATS_MR,	  [RNK_NL_KIND_CTX] = RN_STATS_PD,
		[RNK_NL_KIND_SRQ] = RN_STATS_SRQ,
	};

	return of[kind];
}

/* Returns true if a protection domain before the one at index @at belongs to the same
 * context. Contexts have no records of their own, so a context is reported when its first
 * protection domain is found.
 */
static bool is_known_context(const struct rn_stats_copy *copy, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (copy->object[i].kind == RN_STATS_PD &&
		    copy->object[i].ctxn == copy->object[at].ctxn)
			return true;
	return false;
}

static bool next_object(struct rnk_nl_walk *w, const struct rn_stats_copy *copy,
			struct rnk_nl_item *item)
{
	while (w->next < copy->object_count) {
		const struct rn_stats_object *o = &copy->object[w->next++];

		if (o->kind != record_kind(w->kind))
			continue;
		item->object = o;
		item->number = o->number;
		if (w->kind != RNK_NL_KIND_CTX)
			return true;
		item->number = o->ctxn;
		if (!is_known_context(copy, w->next - 1))
			return true;
	}
	return false;
}

static bool next_in_program(struct rnk_nl_walk *w, const struct rn_stats_client *c,
			    struct rnk_nl_item *item)
{
	*item = (struct rnk_nl_item){ .pid = c->id.pid };
	if (strncmp(c->id.ibdev, w->dev->name, sizeof(c->id.ibdev)) != 0)
		return false;
	if (w->kind != RNK_NL_KIND_QP)
		return next_object(w, &c->copy, item);
	if (w->next >= c->copy.qp_count)
		return false;
	item->qp = &c->copy.qp[w->next++];
	item->number = item->qp->qpn;
	return true;
}

static bool next_cm_id(struct rnk_nl_walk *w, struct rnk_nl_item *item)
{
	while (w->next < w->view->cm_id_count) {
		const struct rnk_nl_cm_id *id = &w->view->cm_id[w->next++];

		if (id->ibdev[0] &&
		    strncmp(id->ibdev, w->dev->name, sizeof(id->ibdev)) != 0)
			continue;
		*item = (struct rnk_nl_item){ .pid = id->pid,
					      .number = id->number,
					      .cm_id = id };
		return true;
	}
	return false;
}

bool rnk_nl_next(struct rnk_nl_walk *w, struct rnk_nl_item *item)
{
	const struct rn_stats_list *list = w->view->programs;

	if (w->kind == RNK_NL_KIND_CM_ID)
		return next_cm_id(w, item);
	for (; list && w->program < list->count; w->program++, w->next = 0)
		if (next_in_program(w, &list->client[w->program], item))
			return true;
	return false;
}
