/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* life.c - rules about how long objects, memory and events live; see rules/life.def. */
#include <errno.h>

#include "model/model.h"

/* -------------------------------------------------- objects that are destroyed */
static const struct rn_val_object *user_of(const struct rn_val_object *used)
{
	return used->newest_user ? used->newest_user->user : NULL;
}

static void check_destroy_order(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *user;
	struct rn_val_text name, user_name;

	if (e->rc != EBUSY)
		return;
	user = user_of(e->object);
	if (!user && e->object->kind == RN_VAL_QP)
		rn_val_find(v, e, RN_VAL_LIFE_DESTROY_ATTACHED, e->object,
			    "%s() of %s failed with EBUSY", e->verb,
			    rn_val_name(e->object, &name));
	if (!user && e->object->kind == RN_VAL_MR)
		rn_val_find(v, e, RN_VAL_LIFE_DEREG_BOUND, e->object,
			    "%s() of %s failed with EBUSY", e->verb,
			    rn_val_name(e->object, &name));
	if (user)
		rn_val_find2(
			v, e, RN_VAL_LIFE_DESTROY_ORDER, e->object, user,
			"%s() of %s failed with EBUSY: %s still uses it, and so do %u "
			"others",
			e->verb, rn_val_name(e->object, &name),
			rn_val_name(user, &user_name), e->object->users - 1);
}

static void check_use_after_destroy(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_text name;

	bool is_before = !e->is_done || e->kind == RN_VAL_POLL;

	if (is_before && e->object && e->object->is_gone)
		rn_val_find(v, e, RN_VAL_LIFE_USE_AFTER_DESTROY, e->object,
			    "%s() got %s, which is gone", e->verb,
			    rn_val_name(e->object, &name));
}

/* Numbers of events of an object that the program has acknowledged, as libibverbs counts
 * them. Another thread may be acknowledging more of them now.
 */
struct acked {
	uint32_t events, async;
};

static struct acked acked_of(const struct rn_val_event *e)
{
	const uint32_t *events = e->destroy.acked, *async = e->destroy.async_acked;

	return (struct acked){
		.events = events ? __atomic_load_n(events, __ATOMIC_RELAXED) : 0,
		.async = async ? __atomic_load_n(async, __ATOMIC_RELAXED) : 0
	};
}

static bool has_counts(const struct rn_val_object *o, const struct rn_val_event *e)
{
	return o->kind == e->destroy.of && e->destroy.async_acked;
}

bool rn_val_is_unacked(const struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = rn_val_living_at(v, e->handle);
	struct acked a;

	if (!o || !has_counts(o, e))
		return false;
	a = acked_of(e);
	return o->async_events > a.async ||
	       (o->kind == RN_VAL_CQ && o->cq.events > a.events);
}

static void check_unacked(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;
	struct rn_val_text name;
	struct acked a;

	if (!has_counts(o, e))
		return;
	a = acked_of(e);
	if (o->async_events > a.async)
		rn_val_find(v, e, RN_VAL_LIFE_ASYNC_UNACKED, o,
			    "%u of %llu asynchronous events of %s were acknowledged",
			    a.async, (unsigned long long)o->async_events,
			    rn_val_name(o, &name));
	if (o->kind == RN_VAL_CQ && o->cq.events > a.events)
		rn_val_find(v, e, RN_VAL_LIFE_EVENTS_UNACKED, o,
			    "%u of %llu events of %s were acknowledged", a.events,
			    (unsigned long long)o->cq.events, rn_val_name(o, &name));
}

/* ------------------------------------------------------------- memory regions */
static void check_dereg(struct rn_val *v, const struct rn_val_event *e)
{
	enum rn_val_rule rule = e->kind == RN_VAL_REREG ? RN_VAL_LIFE_REREG_IN_USE
							: RN_VAL_LIFE_DEREG_IN_USE;
	const struct rn_val_object *by = rn_val_poster_of(v, e->object);
	struct rn_val_text name, user;

	if (by)
		rn_val_find2(v, e, rule, e->object, by,
			     "%s is in requests of %s that have not completed",
			     rn_val_name(e->object, &name), rn_val_name(by, &user));
}

static bool is_mapped(const struct rn_val *v, uint64_t addr, uint64_t len)
{
	return !v->is_mapped || !len || v->is_mapped(addr, len);
}

/* Must the region have memory while it is registered? A region with on-demand paging need
 * not.
 */
static bool has_pages(const struct rn_val_object *mr)
{
	return mr->mr.has_memory && mr->mr.addr &&
	       !(mr->mr.access & IBV_ACCESS_ON_DEMAND);
}

static void check_memory(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_mr *mr = &e->object->mr;
	struct rn_val_text name;

	if (has_pages(e->object) && !is_mapped(v, mr->addr, mr->len))
		rn_val_find(
			v, e, RN_VAL_LIFE_MEMORY_UNMAPPED, e->object,
			"some of the %llu bytes at %#llx of %s are not mapped any more",
			(unsigned long long)mr->len, (unsigned long long)mr->addr,
			rn_val_name(e->object, &name));
}

/* Checks whether a request may have failed because the memory of one of its SGEs is not
 * mapped any more.
 */
static void check_failed(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_wr *wr = e->completion.wr;
	uint32_t kept = wr->sge_count < RN_VAL_SGES ? wr->sge_count : RN_VAL_SGES;
	struct rn_val_text name, mr_name;

	for (uint32_t i = 0; i < kept && !(wr->flags & IBV_SEND_INLINE); i++) {
		const struct ibv_sge *s = &wr->sge[i];
		const struct rn_val_object *mr = rn_val_mr_of_lkey(v, s->lkey);

		if (!mr || !has_pages(mr) || mr->mr.iova != mr->mr.addr ||
		    is_mapped(v, s->addr, s->length))
			continue;
		rn_val_find2(
			v, e, RN_VAL_LIFE_UNMAPPED_IN_REQUEST, e->completion.qp, mr,
			"request %#llx of %s names %u bytes at %#llx of %s, and they "
			"are not mapped any more",
			(unsigned long long)wr->wr_id,
			rn_val_name(e->completion.qp, &name), s->length,
			(unsigned long long)s->addr, rn_val_name(mr, &mr_name));
	}
}

/* Would a child of fork() share pages of the region copy-on-write? Then the next write of
 * the program to such a page goes to a copy, while the card still uses the old page.
 */
static bool is_copied(const struct rn_val *v, const struct rn_val_object *o)
{
	return o->kind == RN_VAL_MR && has_pages(o) &&
	       (!v->is_copied || v->is_copied(o->mr.addr, o->mr.len));
}

static void check_fork(struct rn_val *v, const struct rn_val_event *e)
{
	/* The check reads the mappings of the whole process, which takes time, so it is
	 * left out if no rule of this severity is reported.
	 */
	if (e->fork.is_safe || !(v->severities & 1U << RN_VAL_PORTABILITY))
		return;
	for (const struct rn_val_object *o = v->living; o; o = o->older) {
		struct rn_val_text name;

		if (!is_copied(v, o))
			continue;
		rn_val_find(v, e, RN_VAL_LIFE_FORK_WITHOUT_INIT, o,
			    "%u MRs are registered, %s the newest of them",
			    v->living_of[RN_VAL_MR], rn_val_name(o, &name));
		return;
	}
}

/* ------------------------------------------------------------- address handles */
static void check_ah(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *by = rn_val_poster_of(v, e->object);
	struct rn_val_text name, user;

	if (by)
		rn_val_find2(v, e, RN_VAL_LIFE_AH_IN_USE, e->object, by,
			     "%s is in requests of %s that have not completed",
			     rn_val_name(e->object, &name), rn_val_name(by, &user));
}

/* ----------------------------------------------------------------------- contexts */
static void check_contexts(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *first = NULL;
	struct rn_val_text name, other;

	for (unsigned i = 0; i < RN_VAL_PARENTS && e->make.parent[i]; i++) {
		const struct rn_val_object *o = rn_val_lookup(v, e->make.parent[i]);
		const struct rn_val_object *context =
			o && !o->is_gone ? rn_val_context_of(o) : NULL;

		if (!context)
			continue;
		if (!first)
			first = o;
		if (rn_val_context_of(first) == context)
			continue;
		rn_val_find2(v, e, RN_VAL_LIFE_FOREIGN_CONTEXT, o, first,
			     "%s() got %s and %s, which are of different contexts",
			     e->verb, rn_val_name(o, &name), rn_val_name(first, &other));
		return;
	}
}

static void check_close(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *user = user_of(e->object);
	struct rn_val_text name;

	if (user)
		rn_val_find2(
			v, e, RN_VAL_LIFE_CLOSE_WITH_OBJECTS, e->object, user,
			"%u objects of the context were not destroyed, %s the newest "
			"of them",
			e->object->users, rn_val_name(user, &name));
}

/* --------------------------------------------------------- protection domains */
/* Returns the PD of an object. If the object was created with a parent domain, which is a
 * handle on a PD, returns that PD.
 */
static const struct rn_val_object *domain_of(const struct rn_val_object *o)
{
	const struct rn_val_object *pd = rn_val_pd_of(o);

	return rn_val_pd_of(pd) ? rn_val_pd_of(pd) : pd;
}

static void check_domain(struct rn_val *v, const struct rn_val_event *e,
			 const struct rn_val_object *used)
{
	const struct rn_val_object *own = domain_of(e->object), *other = domain_of(used);
	struct rn_val_text name, user;

	/* Imported PDs and parent domains are handles on one PD, and all have its number.
	 */
	if (!own || !other || own == other || own->number == other->number)
		return;
	rn_val_find2(v, e, RN_VAL_LIFE_FOREIGN_PD, e->object, used,
		     "%s is of another PD than %s", rn_val_name(used, &name),
		     rn_val_name(e->object, &user));
}

static void check_named(struct rn_val *v, const struct rn_val_event *e,
			const struct rn_val_object *o)
{
	struct rn_val_text name, gone;

	if (o && o->is_gone)
		rn_val_find2(v, e, RN_VAL_LIFE_USE_AFTER_DESTROY, e->object, o,
			     "a request to %s names %s, which is gone",
			     rn_val_name(e->object, &name), rn_val_name(o, &gone));
	else if (o)
		check_domain(v, e, o);
}

static void check_domains(struct rn_val *v, const struct rn_val_event *e)
{
	for (uint32_t i = 0; i < e->post.count; i++) {
		const struct rn_val_request *r = &e->post.request[i];

		if (r->ah)
			check_named(v, e, rn_val_lookup(v, r->ah));
		if (e->kind == RN_VAL_POST_SEND && r->opcode == IBV_WR_BIND_MW) {
			check_named(v, e, rn_val_bound_window(v, e->object, &r->bind));
			check_named(v, e, rn_val_bound_mr(v, &r->bind));
		}
		for (uint32_t k = 0; k < r->sge_count; k++)
			if (r->sge[k].length && !(r->flags & IBV_SEND_INLINE))
				check_domain(v, e, rn_val_mr_of_lkey(v, r->sge[k].lkey));
	}
}

/* ----------------------------------------------------------------------- leaks */
static void check_leaks(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_text name;

	for (const struct rn_val_object *o = v->living; o; o = o->older) {
		/* A context without objects is no leak: libraries close their contexts
		 * when they are unloaded, which is later than this check.
		 */
		if (o->kind == RN_VAL_CONTEXT && !o->users)
			continue;
		rn_val_find(v, e,
			    o->kind == RN_VAL_CHANNEL ? RN_VAL_LIFE_CHANNEL_LEAK
						      : RN_VAL_LIFE_LEAK_AT_EXIT,
			    o, "%s was not destroyed before the program ended",
			    rn_val_name(o, &name));
	}
}

/* Checks an object that is about to be destroyed. */
static void check_destroy(struct rn_val *v, const struct rn_val_event *e)
{
	check_unacked(v, e);
	if (e->object->kind == RN_VAL_MR) {
		check_dereg(v, e);
		check_memory(v, e);
	}
	if (e->object->kind == RN_VAL_AH)
		check_ah(v, e);
	if (e->object->kind == RN_VAL_CONTEXT)
		check_close(v, e);
}

void rn_val_check_life(struct rn_val *v, const struct rn_val_event *e)
{
	check_use_after_destroy(v, e);
	if (e->kind == RN_VAL_EXIT)
		check_leaks(v, e);
	if (e->kind == RN_VAL_FORK)
		check_fork(v, e);
	if (e->kind == RN_VAL_MAKE)
		check_contexts(v, e);
	if (e->kind == RN_VAL_COMPLETION && e->completion.wr &&
	    e->completion.wc->status != IBV_WC_SUCCESS)
		check_failed(v, e);
	if (!e->object || e->object->is_gone)
		return;
	if (e->kind == RN_VAL_DESTROY && e->is_done)
		check_destroy_order(v, e);
	else if (e->kind == RN_VAL_DESTROY)
		check_destroy(v, e);
	if (e->kind == RN_VAL_REREG && !e->is_done && e->object->kind == RN_VAL_MR)
		check_dereg(v, e);
	if (!e->is_done && (e->kind == RN_VAL_POST_SEND || e->kind == RN_VAL_POST_RECV))
		check_domains(v, e);
}
