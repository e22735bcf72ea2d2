/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* list.h - intrusive doubly linked list.
 *
 * The same struct is the head of a list and the member by which an object is linked. A
 * head of an empty list, and an object that is on no list, point to themselves; both must
 * be initialised. An object may be freed only when it is on no list.
 */
#ifndef RN_LIST_H
#define RN_LIST_H

#include "rocin/hnode.h"

struct rn_list {
	struct rn_list *next;
	struct rn_list *prev;
};

static inline void rn_list_init(struct rn_list *node)
{
	node->next = node;
	node->prev = node;
}

static inline bool rn_list_is_empty(const struct rn_list *head)
{
	return head->next == head;
}

/* Returns true if @node is on a list. */
static inline bool rn_list_is_linked(const struct rn_list *node)
{
	return node->next != node;
}

/* Inserts @node, which is on no list, before @pos. */
static inline void rn_list_insert_before(struct rn_list *pos, struct rn_list *node)
{
	assert(!rn_list_is_linked(node));
	node->next = pos;
	node->prev = pos->prev;
	pos->prev->next = node;
	pos->prev = node;
}

static inline void rn_list_push_back(struct rn_list *head, struct rn_list *node)
{
	rn_list_insert_before(head, node);
}

static inline void rn_list_push_front(struct rn_list *head, struct rn_list *node)
{
	rn_list_insert_before(head->next, node);
}

/* Removes @node from its list. Harmless for a node that is on no list. */
static inline void rn_list_remove(struct rn_list *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
	rn_list_init(node);
}

/* Return the first or the last node; NULL if the list is empty. */
static inline struct rn_list *rn_list_first(const struct rn_list *head)
{
	assert(head->next);
	return rn_list_is_empty(head) ? NULL : head->next;
}

static inline struct rn_list *rn_list_last(const struct rn_list *head)
{
	assert(head->prev);
	return rn_list_is_empty(head) ? NULL : head->prev;
}

/* Removes and returns the first node; NULL if the list is empty. */
static inline struct rn_list *rn_list_pop_front(struct rn_list *head)
{
	struct rn_list *node = rn_list_first(head);

	if (node)
		rn_list_remove(node);
	return node;
}

/* Moves all nodes of @from, in their order, to the end of @to. @from is empty afterwards.
 */
static inline void rn_list_splice_back(struct rn_list *to, struct rn_list *from)
{
	if (rn_list_is_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	rn_list_init(from);
}

/* Iterates over a list. @node must not be removed in the body. */
#define rn_list_for_each(node, head) \
	for ((node) = (head)->next; (node) != (head); (node) = (node)->next)

/* Iterates over a list. @node may be removed in the body, but no other node may; @tmp
 * holds the next node.
 */
#define rn_list_for_each_safe(node, tmp, head)                              \
	for ((node) = (head)->next, (tmp) = (node)->next; (node) != (head); \
	     (node) = (tmp), (tmp) = (node)->next)

#endif /* RN_LIST_H */
