/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timer.c - timers in a leftist tree. */
#include "timer.h"

static bool is_before(const struct rn_timer *a, const struct rn_timer *b)
{
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	return a->seq < b->seq;
}

static unsigned rank_of(const struct rn_timer *t)
{
	return t ? t->rank : 0;
}

/* Makes the child of @t with the higher rank the left one, and computes the rank of @t
 * anew (see struct rn_timer). Returns true if the rank of @t has changed.
 */
static bool rebalance(struct rn_timer *t)
{
	struct rn_timer *left = t->left;
	unsigned rank;

	if (rank_of(left) < rank_of(t->right)) {
		t->left = t->right;
		t->right = left;
	}
	rank = rank_of(t->right) + 1;
	if (rank == t->rank)
		return false;
	t->rank = rank & 0x3f;
	return true;
}

/* Joins two trees, either of which may be empty. It walks down only their right edges.
 * These are short: each has as many timers as the rank of its root says. Return: the
 * first timer of both trees, the root of the joined one.
 */
static struct rn_timer *meld(struct rn_timer *a, struct rn_timer *b)
{
	struct rn_timer *root = NULL, *last = NULL, **at = &root;

	while (a && b) {
		struct rn_timer *first = is_before(b, a) ? b : a;

		b = first == a ? b : a;
		a = first->right;
		*at = first;
		first->parent = last;
		last = first;
		at = &first->right;
	}
	*at = a ? a : b;
	if (*at)
		(*at)->parent = last;
	for (; last; last = last->parent)
		rebalance(last);
	return root;
}

static void set_root(struct rn_timer_heap *heap, struct rn_timer *root)
{
	heap->root = root;
	if (root)
		root->parent = root;
}

/* Puts the tree @below, or nothing, in the place of a timer that is not the root. */
static void put_in_place_of(const struct rn_timer_heap *heap, const struct rn_timer *t,
			    struct rn_timer *below)
{
	struct rn_timer *parent = t->parent;

	*(parent->left == t ? &parent->left : &parent->right) = below;
	if (below)
		below->parent = parent;
	/* A changed rank of a node can change the rank of its parent, and so on upwards.
	 * The loop ends at the first node whose rank stays as it is, or at the root.
	 */
	while (rebalance(parent) && parent != heap->root)
		parent = parent->parent;
}

void rn_timer_add(struct rn_timer_heap *heap, struct rn_timer *t, rn_ns deadline)
{
	assert(!rn_timer_is_armed(t));
	assert(deadline != RN_NEVER);

	*t = (struct rn_timer){ .deadline = deadline, .seq = heap->seq++, .rank = 1 };
	set_root(heap, meld(heap->root, t));
}

void rn_timer_remove(struct rn_timer_heap *heap, struct rn_timer *t)
{
	struct rn_timer *below;

	if (!rn_timer_is_armed(t))
		return;
	below = meld(t->left, t->right);
	if (t == heap->root)
		set_root(heap, below);
	else
		put_in_place_of(heap, t, below);
	t->left = NULL;
	t->right = NULL;
	t->parent = NULL;
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
