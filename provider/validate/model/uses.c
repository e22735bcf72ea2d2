/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uses.c - counts which objects use an object, and how many outstanding requests name an
 * MR or an AH. The counts change when objects are created and requests posted, so that
 * destroying an object takes no longer if there are many others.
 *
 * A request stores the @life of each MR and AH that it names. If a key or an address is
 * used again, the new object has another life, so a request of the old object that
 * completes late does not change the counts of the new one.
 */
#include "model.h"

/* --------------------------------------------------------------------------- objects */
static void set_parent(struct rn_val_object *user, unsigned i,
		       struct rn_val_object *parent)
{
	user->parent[i] = parent;
	user->pd = rn_val_parent_of(user, RN_VAL_PD);
	user->context = rn_val_parent_of(user, RN_VAL_CONTEXT);
}

void rn_val_tie(struct rn_val_object *user, unsigned i, struct rn_val_object *parent)
{
	struct rn_val_tie *t = &user->tie[i];

	set_parent(user, i, parent);
	*t = (struct rn_val_tie){ .user = user, .older = parent->newest_user };
	if (t->older)
		t->older->newer = t;
	parent->newest_user = t;
	parent->users++;
}

void rn_val_untie(struct rn_val_object *user, unsigned i)
{
	struct rn_val_object *parent = user->parent[i];
	struct rn_val_tie *t = &user->tie[i];

	if (!parent)
		return;
	if (t->newer)
		t->newer->older = t->older;
	else
		parent->newest_user = t->older;
	if (t->older)
		t->older->newer = t->newer;
	parent->users--;
	set_parent(user, i, NULL);
}

/* -------------------------------------------------------------------------- requests */
static uint32_t kept(const struct rn_val_wr *wr)
{
	if (wr->flags & IBV_SEND_INLINE)
		return 0;
	return wr->sge_count < RN_VAL_SGES ? wr->sge_count : RN_VAL_SGES;
}

static uint32_t name(struct rn_val_object *o, const void *by)
{
	if (!o)
		return 0;
	o->outstanding++;
	o->named_by = by;
	return o->life;
}

static void unname(struct rn_val_object *o, uint32_t life)
{
	if (o && o->life == life && o->outstanding)
		o->outstanding--;
}

static struct rn_val_object *handle_of(const struct rn_val *v, const struct rn_val_wr *wr)
{
	struct rn_val_object *ah = wr->ah ? rn_val_lookup(v, wr->ah) : NULL;

	return rn_val_is(ah, RN_VAL_AH) && !ah->is_gone ? ah : NULL;
}

void rn_val_begin_use(struct rn_val *v, struct rn_val_wr *wr, const void *by)
{
	for (uint32_t i = 0; i < kept(wr); i++)
		wr->mr_life[i] = wr->sge[i].length
					 ? name(rn_val_mr_of_lkey(v, wr->sge[i].lkey), by)
					 : 0;
	wr->ah_life = name(handle_of(v, wr), by);
}

void rn_val_end_use(struct rn_val *v, struct rn_val_wr *wr)
{
	for (uint32_t i = 0; i < kept(wr); i++) {
		if (wr->mr_life[i])
			unname(rn_val_mr_of_lkey(v, wr->sge[i].lkey), wr->mr_life[i]);
		wr->mr_life[i] = 0;
	}
	if (wr->ah_life)
		unname(handle_of(v, wr), wr->ah_life);
	wr->ah_life = 0;
}

static bool names(const struct rn_val_wr *wr, uint32_t life)
{
	for (uint32_t i = 0; i < kept(wr); i++)
		if (wr->mr_life[i] == life)
			return true;
	return wr->ah_life == life;
}

void rn_val_set_idle(struct rn_val *v, struct rn_val_queue *q, bool is_idle,
		     const void *by)
{
	if (q->is_idle == is_idle)
		return;
	q->is_idle = is_idle;
	for (uint32_t i = 0; i < q->count; i++) {
		struct rn_val_wr *wr = &q->ring[(q->first + i) % q->room];

		if (is_idle)
			rn_val_end_use(v, wr);
		else
			rn_val_begin_use(v, wr, by);
	}
}

/* ------------------------------------------------------------------------ who it is */
static bool has_named(const struct rn_val_queue *q, uint32_t life)
{
	for (uint32_t i = 0; i < q->count; i++)
		if (names(rn_val_queued(q, i), life))
			return true;
	return false;
}

static bool is_poster(const struct rn_val_object *by, uint32_t life)
{
	if (by->kind == RN_VAL_SRQ)
		return has_named(&by->srq.recv, life);
	return by->kind == RN_VAL_QP &&
	       (has_named(&by->qp.send, life) || has_named(&by->qp.recv, life));
}

const struct rn_val_object *rn_val_poster_of(const struct rn_val *v,
					     const struct rn_val_object *o)
{
	const struct rn_val_object *by;

	if (!o->outstanding)
		return NULL;
	/* The newest request is mostly still outstanding, so the queue to which it was
	 * posted is looked at first.
	 */
	by = rn_val_lookup(v, o->named_by);
	if (by && !by->is_gone && is_poster(by, o->life))
		return by;
	by = v->living;
	while (by && !is_poster(by, o->life))
		by = by->older;
	return by;
}
