/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timer.c - timers in a pairing heap. */
#include "timer.h"

static bool is_before(const struct rn_timer *a, const struct rn_timer *b)
{
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	return a->seq < b->seq;
}

/* Joins two heaps, either of which may be empty. Neither root has siblings. */
static struct rn_timer *meld(struct rn_timer *a, struct rn_timer *b)
{
	struct rn_timer *first, *second;

	if (!a || !b)
		return a ? a : b;
	first = is_before(b, a) ? b : a;
	second = first == a ? b : a;

	second->prev = first;
	second->next = first->child;
	if (first->child)
		first->child->prev = second;
	first->child = second;
	return first;
}

/* Removes and returns the first node of a chain of siblings. */
static struct rn_timer *take_first(struct rn_timer **chain)
{
	struct rn_timer *t = *chain;

	if (t) {
		*chain = t->next;
		t->next = NULL;
	}
	return t;
}

/* Makes one heap of siblings: joins them in pairs from the left, then joins the pairs
 * from the right. The amortised bound depends on this order.
 */
static struct rn_timer *meld_siblings(struct rn_timer *chain)
{
	struct rn_timer *pairs = NULL, *heap = NULL, *pair;

	while (chain) {
		struct rn_timer *a = take_first(&chain);

		pair = meld(a, take_first(&chain));
		pair->next = pairs;
		pairs = pair;
	}
	while ((pair = take_first(&pairs)))
		heap = meld(heap, pair);
	return heap;
}

static void set_root(struct rn_timer_heap *heap, struct rn_timer *root)
{
	heap->root = root;
	if (root)
		root->prev = root;
}

/* Removes a timer that is not the root from its siblings; the timers below it stay
 * below it.
 */
static void cut(struct rn_timer *t)
{
	if (t->prev->child == t)
		t->prev->child = t->next;
	else
		t->prev->next = t->next;
	if (t->next)
		t->next->prev = t->prev;
}

void rn_timer_add(struct rn_timer_heap *heap, struct rn_timer *t, rn_ns deadline)
{
	assert(!rn_timer_is_armed(t));
	assert(deadline != RN_NEVER);

	*t = (struct rn_timer){ .deadline = deadline, .seq = heap->seq++ };
	set_root(heap, meld(heap->root, t));
}

void rn_timer_remove(struct rn_timer_heap *heap, struct rn_timer *t)
{
	struct rn_timer *below;

	if (!rn_timer_is_armed(t))
		return;
	below = meld_siblings(t->child);
	if (t == heap->root) {
		set_root(heap, below);
	} else {
		cut(t);
		set_root(heap, meld(heap->root, below));
	}
	t->child = NULL;
	t->next = NULL;
	t->prev = NULL;
}

void rn_timer_rearm(struct rn_timer_heap *heap, struct rn_timer *t, rn_ns deadline)
{
	rn_timer_remove(heap, t);
	if (deadline != RN_NEVER)
		rn_timer_add(heap, t, deadline);
}

struct rn_timer *rn_timer_pop(struct rn_timer_heap *heap, rn_ns now)
{
	struct rn_timer *t = heap->root;

	if (!t || t->deadline > now)
		return NULL;
	rn_timer_remove(heap, t);
	return t;
}
