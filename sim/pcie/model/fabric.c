/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fabric.c - who may leave a queue, and what happens when it does. */
#include <errno.h>

#include "fabric_lists.h"

enum {
	NONE = RN_TLP_NONE
};

/* What the moving functions share. */
struct run {
	struct rn_fabric *f;
	const struct rn_fabric_ops *ops;
	void *ctx;
};

/* ---- Who may move ---- */

/* Inside a GPU only writes to the same bytes keep their order. */
static bool may_pass(const struct rn_fabric *f, const struct rn_tlp *later,
		     const struct rn_tlp *earlier)
{
	if (later->state == RN_TLP_INSIDE)
		return !rn_tlp_overlap(later, earlier);
	return rn_order_may_pass(later, earlier, &f->knobs);
}

/* From the head: what is first there blocks most often, and can leave at once. */
unsigned rn_fabric_blocker(const struct rn_fabric *f, unsigned index)
{
	const struct rn_tlp *t = rn_fabric_tlp(f, index);

	assert(t);
	for (unsigned i = f->first[rn_fabric_list_of(t)]; i != index; i = f->tlp[i].next)
		if (!may_pass(f, t, &f->tlp[i]))
			return i;
	return NONE;
}

bool rn_fabric_movable(const struct rn_fabric *f, unsigned index)
{
	return rn_fabric_tlp(f, index) && rn_fabric_blocker(f, index) == NONE;
}

unsigned rn_fabric_moves(const struct rn_fabric *f, uint16_t *index, unsigned max)
{
	unsigned n = 0;

	for (unsigned q = rn_fabric_busy_queue(f, 0); q < RN_LIST_COUNT;
	     q = rn_fabric_busy_queue(f, q + 1))
		for (unsigned i = f->first[q]; i != NONE; i = f->tlp[i].next) {
			if (rn_fabric_blocker(f, i) != NONE)
				continue;
			if (n < max)
				index[n] = (uint16_t)i;
			n++;
		}
	return n;
}

/* ---- Moving ---- */

static bool has_inside(const struct rn_fabric *f, unsigned target)
{
	return rn_agent_is_gpu(target) && f->knobs.gpu_ordering == RN_GPU_ORDER_NONE;
}

static struct rn_tlp completion_of(const struct rn_tlp *request)
{
	struct rn_tlp c = *request;

	c.kind = RN_TLP_COMPLETION;
	c.requester = request->target;
	c.target = request->requester;
	c.hop = 0;
	return c;
}

/* The knobs that route @t: with RN_TLP_NEAR a copy in @near. */
static const struct rn_pcie_knobs *
knobs_of(const struct rn_fabric *f, const struct rn_tlp *t, struct rn_pcie_knobs *near)
{
	if (!(t->flags & RN_TLP_NEAR))
		return &f->knobs;
	*near = f->knobs;
	near->p2p = RN_P2P_SHARED;
	return near;
}

static void perform_and_free(const struct run *run, unsigned index)
{
	const struct rn_tlp t = run->f->tlp[index];

	rn_fabric_free_place(run->f, index);
	run->ops->perform(run->ctx, &t);
}

static void empty_inside(const struct run *run, unsigned gpu)
{
	struct rn_fabric *f = run->f;
	unsigned list = RN_QUEUE_COUNT + gpu, index;

	while ((index = f->first[list]) != NONE) {
		if (run->ops->moving)
			run->ops->moving(run->ctx, &f->tlp[index], RN_QUEUE_COUNT);
		rn_fabric_unlink(f, index);
		perform_and_free(run, index);
	}
}

/* These make a GPU's inside visible before they are performed. */
static bool empties_inside(const struct rn_tlp *t)
{
	bool is_bar_read = t->kind == RN_TLP_READ || t->kind == RN_TLP_ATOMIC;
	bool is_bell = t->kind == RN_TLP_WRITE && (t->flags & RN_TLP_BELL);

	return is_bar_read || is_bell;
}

/* The three ways to arrive: true if the TLP is still on its way somewhere. */
static bool arrive_write(const struct run *run, unsigned index)
{
	struct rn_tlp *t = &run->f->tlp[index];

	if (has_inside(run->f, t->target) && !empties_inside(t)) {
		t->state = RN_TLP_INSIDE;
		rn_fabric_append(run->f, index);
		return true;
	}
	perform_and_free(run, index);
	return false;
}

static bool arrive_completion(const struct run *run, unsigned index)
{
	const struct rn_tlp t = run->f->tlp[index];

	rn_fabric_free_place(run->f, index);
	run->ops->complete(run->ctx, &t);
	return false;
}

static bool arrive_request(const struct run *run, unsigned index)
{
	struct rn_fabric *f = run->f;
	struct rn_tlp *t = &f->tlp[index];
	struct rn_pcie_knobs near;

	run->ops->perform(run->ctx, t);
	*t = completion_of(t);
	rn_topology_answer(knobs_of(f, t, &near), t->requester, t->target, &t->route);
	assert(t->route.hops > 0);
	rn_fabric_append(f, index);
	return true;
}

static bool arrive(const struct run *run, unsigned index)
{
	const struct rn_tlp *t = &run->f->tlp[index];

	if (has_inside(run->f, t->target) && empties_inside(t))
		empty_inside(run, t->target);
	if (t->kind == RN_TLP_WRITE)
		return arrive_write(run, index);
	if (t->kind == RN_TLP_COMPLETION)
		return arrive_completion(run, index);
	return arrive_request(run, index);
}

/* One place onward; true if the TLP is still on its way. */
static bool step(const struct run *run, unsigned index)
{
	struct rn_fabric *f = run->f;
	struct rn_tlp *t = &f->tlp[index];
	bool was_inside = t->state == RN_TLP_INSIDE;

	if (run->ops->moving)
		run->ops->moving(run->ctx, t,
				 was_inside ? RN_QUEUE_COUNT : rn_fabric_list_of(t));
	rn_fabric_unlink(f, index);
	if (was_inside) {
		perform_and_free(run, index);
		return false;
	}
	t->hop++;
	if (t->hop < t->route.hops) {
		rn_fabric_append(f, index);
		return true;
	}
	return arrive(run, index);
}

void rn_fabric_move(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		    unsigned index)
{
	const struct run run = { f, ops, ctx };

	assert(rn_fabric_movable(f, index));
	step(&run, index);
}

/* A blocker is an earlier one of the same queue, so the chain of those that wait ends at
 * one that may move. They are remembered by index, as chains may be as long as a queue.
 */
static void force(const struct run *run, unsigned index)
{
	struct rn_fabric *f = run->f;
	unsigned at = index;

	for (;;) {
		unsigned blocker = rn_fabric_blocker(f, at);
		unsigned waiter = f->tlp[at].waiter;

		if (blocker != NONE) {
			f->tlp[blocker].waiter = (uint16_t)at;
			at = blocker;
		} else if (at != index) {
			f->tlp[at].waiter = NONE;
			step(run, at);
			at = waiter;
		} else if (!step(run, index)) {
			return;
		}
	}
}

void rn_fabric_force(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		     unsigned index)
{
	const struct run run = { f, ops, ctx };

	assert(rn_fabric_tlp(f, index));
	force(&run, index);
}

void rn_fabric_force_if(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
			bool (*match)(const struct rn_tlp *tlp, const void *arg),
			const void *arg)
{
	const struct run run = { f, ops, ctx };
	uint64_t end = f->next_seq; /* what the calls issue meanwhile is not meant */
	unsigned index;

	f->cursor = f->oldest;
	while ((index = f->cursor) != NONE && f->tlp[index].seq < end) {
		f->cursor = f->tlp[index].younger;
		if (match(&f->tlp[index], arg))
			force(&run, index);
	}
	f->cursor = NONE;
}

void rn_fabric_empty_inside(struct rn_fabric *f, const struct rn_fabric_ops *ops,
			    void *ctx, unsigned gpu)
{
	const struct run run = { f, ops, ctx };

	assert(rn_agent_is_gpu(gpu));
	empty_inside(&run, gpu);
}

/* ---- Issuing ---- */

static void do_at_once(const struct run *run, const struct rn_tlp *tlp)
{
	run->ops->perform(run->ctx, tlp);
	if (tlp->kind != RN_TLP_WRITE) {
		const struct rn_tlp c = completion_of(tlp);

		run->ops->complete(run->ctx, &c);
	}
}

int rn_fabric_issue(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		    const struct rn_tlp *tlp)
{
	const struct run run = { f, ops, ctx };
	struct rn_pcie_knobs near;
	struct rn_route route;
	unsigned index;

	assert(tlp->kind < RN_TLP_COMPLETION);
	assert(!(tlp->flags & RN_TLP_CQE) || !(tlp->flags & RN_TLP_RO));
	if (!rn_topology_route(knobs_of(f, tlp, &near), tlp->requester, tlp->target,
			       tlp->stream, &route))
		return -EHOSTUNREACH;
	if (tlp->flags & RN_TLP_CQE)
		rn_topology_entry(&f->knobs, tlp->requester, tlp->stream, &route);
	if (f->knobs.place == RN_PLACE_NOW || route.hops == 0) {
		do_at_once(&run, tlp);
		return NONE;
	}
	if (f->free == NONE)
		return -ENOBUFS;
	index = rn_fabric_take_place(f, tlp);
	f->tlp[index].route = route;
	rn_fabric_append(f, index);
	return (int)index;
}
