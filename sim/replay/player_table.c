/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_table.c - objects by the numbers that they have in the file. */
#include <stdlib.h>

#include "player_internal.h"

static struct rn_player_object **chain_of(struct rn_player *p, uint64_t id)
{
	return &p->chain[(id * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

static_assert(RN_PLAYER_CHAINS == 1 << (64 - 52), "chain_of()");

struct rn_player_object *rn_player_find(struct rn_player *p, enum rn_player_kind kind,
					uint64_t id)
{
	struct rn_player_object *o = *chain_of(p, id);

	while (o && (o->id != id || o->kind != kind))
		o = o->next;
	return o;
}

struct rn_player_object *rn_player_add(struct rn_player *p, enum rn_player_kind kind,
				       uint64_t id, struct rn_player_dev *d)
{
	struct rn_player_object **chain = chain_of(p, id);
	struct rn_player_object *o;

	if (rn_player_find(p, kind, id)) {
		rn_player_broken(p, "there is such an object already");
		return NULL;
	}
	o = rn_player_alloc(p, sizeof(*o));
	if (!o)
		return NULL;
	*o = (struct rn_player_object){
		.next = *chain, .id = id, .kind = kind, .dev = d, .bytes = sizeof(*o)
	};
	*chain = o;
	if (d)
		d->objects++;
	if (kind == RN_PLAYER_CQ) {
		o->next_cq = p->cqs;
		p->cqs = o;
	}
	return o;
}

static void unlink_cq(struct rn_player *p, const struct rn_player_object *o)
{
	struct rn_player_object **at = &p->cqs;

	while (*at != o)
		at = &(*at)->next_cq;
	*at = o->next_cq;
}

void rn_player_remove(struct rn_player *p, struct rn_player_object *o)
{
	struct rn_player_object **at = chain_of(p, o->id);

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (o->kind == RN_PLAYER_CQ)
		unlink_cq(p, o);
	if (o->dev)
		o->dev->objects--;
	for (size_t i = 0; i < RN_ARRAY_SIZE(o->uses); i++)
		if (o->uses[i])
			o->uses[i]->users--;
	free(o->block);
	free(o->srq);
	rn_player_free(p, o, o->bytes);
}

void rn_player_remove_all(struct rn_player *p)
{
	for (unsigned i = 0; i < RN_PLAYER_CHAINS; i++) {
		struct rn_player_object *next;

		for (struct rn_player_object *o = p->chain[i]; o; o = next) {
			next = o->next;
			free(o->block);
			free(o->srq);
			free(o);
		}
		p->chain[i] = NULL;
	}
	p->cqs = NULL;
}

static bool holds(const struct rn_player_object *o, const struct rn_player_dev *d,
		  rn_iova addr)
{
	return o->dev == d &&
	       addr - o->cq.ring < (uint64_t)o->cq.capacity * sizeof(struct rn_cqe);
}

struct rn_player_object *rn_player_cq_at(const struct rn_player_dev *d, rn_iova addr)
{
	struct rn_player_object **at = &d->p->cqs;
	struct rn_player_object *o;

	while (*at && !holds(*at, d, addr))
		at = &(*at)->next_cq;
	o = *at;
	if (!o)
		return NULL;
	/* To the front: the next CQE is likely for the same. */
	*at = o->next_cq;
	o->next_cq = d->p->cqs;
	d->p->cqs = o;
	return o;
}
