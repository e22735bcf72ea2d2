/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lookup.c - finds objects of the model: by handle, by number, and from one another. */
#include "model.h"

#include "rocin/hash.h"

unsigned rn_val_bucket_of(uint64_t key)
{
	return (unsigned)(rn_hash_word(key) >> 32) % RN_VAL_BUCKETS;
}

static unsigned number_bucket(enum rn_val_kind kind, uint32_t number)
{
	return rn_val_bucket_of((uint64_t)kind << 32 | number);
}

struct rn_val_object *rn_val_lookup(const struct rn_val *v, const void *handle)
{
	struct rn_val_object *o = v->bucket[rn_val_bucket_of((uintptr_t)handle)],
			     *gone = NULL;

	for (; o; o = o->next) {
		if (o->handle != handle)
			continue;
		if (!o->is_gone)
			return o;
		if (!gone)
			gone = o;
	}
	return gone;
}

struct rn_val_object *rn_val_living_at(const struct rn_val *v, const void *handle)
{
	struct rn_val_object *o = handle ? rn_val_lookup(v, handle) : NULL;

	return o && !o->is_gone ? o : NULL;
}

static struct rn_val_object *find_number(const struct rn_val *v, enum rn_val_kind kind,
					 uint32_t number)
{
	struct rn_val_object *o = v->numbered[number_bucket(kind, number)];

	while (o && (o->kind != kind || o->number != number))
		o = o->next_number;
	return o;
}

struct rn_val_object *rn_val_qp_of_number(const struct rn_val *v, uint32_t qpn)
{
	return find_number(v, RN_VAL_QP, qpn);
}

/* Most requests name the same region as the previous one, so that is tried first. */
struct rn_val_object *rn_val_mr_of_lkey(struct rn_val *v, uint32_t lkey)
{
	if (!v->last_mr || v->last_mr->number != lkey)
		v->last_mr = find_number(v, RN_VAL_MR, lkey);
	return v->last_mr;
}

bool rn_val_is_of_same_device(const struct rn_val_object *a,
			      const struct rn_val_object *b)
{
	const struct rn_val_object *of_a = rn_val_context_of(a),
				   *of_b = rn_val_context_of(b);

	return of_a && of_b && of_a->number == of_b->number;
}

/* Returns the living object of a kind that has that number on the device of @o, or NULL.
 */
static struct rn_val_object *find_beside(const struct rn_val *v,
					 const struct rn_val_object *o,
					 enum rn_val_kind kind, uint32_t number)
{
	struct rn_val_object *found = find_number(v, kind, number);

	while (found && (found->kind != kind || found->number != number ||
			 !rn_val_is_of_same_device(found, o)))
		found = found->next_number;
	return found;
}

enum {
	TAG_BITS = 8 /* number of low bits of an rkey that the program chooses */
};

struct rn_val_object *rn_val_window_of(const struct rn_val *v,
				       const struct rn_val_object *o, uint32_t rkey)
{
	return find_beside(v, o, RN_VAL_MW, rkey >> TAG_BITS);
}

struct rn_val_object *rn_val_bound_window(const struct rn_val *v,
					  const struct rn_val_object *qp,
					  const struct rn_val_bind *b)
{
	struct rn_val_object *mw =
		b->mw ? rn_val_lookup(v, b->mw) : rn_val_window_of(v, qp, b->rkey);

	return rn_val_is(mw, RN_VAL_MW) ? mw : NULL;
}

struct rn_val_object *rn_val_bound_mr(struct rn_val *v, const struct rn_val_bind *b)
{
	struct rn_val_object *mr =
		b->mr ? rn_val_lookup(v, b->mr) : rn_val_mr_of_lkey(v, b->lkey);

	return rn_val_is(mr, RN_VAL_MR) && b->len ? mr : NULL;
}

struct rn_val_object *rn_val_parent_of(const struct rn_val_object *o,
				       enum rn_val_kind kind)
{
	for (unsigned i = 0; i < RN_VAL_PARENTS; i++)
		if (rn_val_is(o->parent[i], kind))
			return o->parent[i];
	return NULL;
}

struct rn_val_object *rn_val_qp_beside(const struct rn_val *v,
				       const struct rn_val_object *o, uint32_t qpn)
{
	return find_beside(v, o, RN_VAL_QP, qpn);
}

struct rn_val_object *rn_val_own_target_of(const struct rn_val *v,
					   const struct rn_val_object *qp)
{
	if (!qp->qp.is_to_self || !(qp->qp.mask & IBV_QP_DEST_QPN))
		return NULL;
	return rn_val_qp_beside(v, qp, qp->qp.attr.dest_qp_num);
}

struct rn_val_object *rn_val_own_peer_of(const struct rn_val *v,
					 const struct rn_val_object *qp)
{
	struct rn_val_object *peer = rn_val_own_target_of(v, qp);

	return peer && rn_val_own_target_of(v, peer) == qp ? peer : NULL;
}

struct rn_val_object *rn_val_peer_of(const struct rn_val *v,
				     const struct rn_val_object *qp)
{
	struct rn_val_object *peer = qp->qp.remote;

	if (!peer)
		return rn_val_own_peer_of(v, qp);
	return peer->qp.mask & IBV_QP_DEST_QPN && peer->qp.attr.dest_qp_num == qp->number
		       ? peer
		       : NULL;
}

static bool is_like(const struct rn_val_object *a, const struct rn_val_object *b)
{
	return a->mr.has_memory && a->mr.addr == b->mr.addr && a->mr.len == b->mr.len &&
	       a->mr.access == b->mr.access && rn_val_pd_of(a) == rn_val_pd_of(b);
}

const struct rn_val_object *rn_val_mr_like(const struct rn_val *v,
					   const struct rn_val_object *mr)
{
	const struct rn_val_object *o = v->mr_at[rn_val_bucket_of(mr->mr.addr)];

	while (o && (o == mr || !is_like(o, mr)))
		o = o->next_address;
	return o;
}

void rn_val_add_number(struct rn_val *v, struct rn_val_object *o)
{
	struct rn_val_object **at = &v->numbered[number_bucket(o->kind, o->number)];

	if (o->kind != RN_VAL_QP && o->kind != RN_VAL_MR && o->kind != RN_VAL_MW)
		return;
	o->next_number = *at;
	*at = o;
	if (o->kind != RN_VAL_MR)
		return;
	at = &v->mr_at[rn_val_bucket_of(o->mr.addr)];
	o->next_address = *at;
	*at = o;
}

void rn_val_remove_number(struct rn_val *v, const struct rn_val_object *o)
{
	struct rn_val_object **at = &v->numbered[number_bucket(o->kind, o->number)];

	if (v->last_mr == o)
		v->last_mr = NULL;
	while (*at && *at != o)
		at = &(*at)->next_number;
	if (*at)
		*at = o->next_number;
	if (o->kind != RN_VAL_MR)
		return;
	at = &v->mr_at[rn_val_bucket_of(o->mr.addr)];
	while (*at && *at != o)
		at = &(*at)->next_address;
	if (*at)
		*at = o->next_address;
}
