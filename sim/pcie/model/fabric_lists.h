/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fabric_lists.h - inside of a fabric: TLPs in lists of indices, in one block.
 *
 * A list is a queue or the inside of a GPU. Each TLP is in one list, by its arrival
 * there, and in the list of all, by its issue.
 */
#ifndef RN_FABRIC_LISTS_H
#define RN_FABRIC_LISTS_H

#include "fabric.h"

enum {
	RN_FABRIC_WORDS = (RN_LIST_COUNT + 63) / 64,
};

static_assert(RN_LIST_COUNT < UINT16_MAX, "a list number fits where an index does");

struct rn_fabric {
	struct rn_pcie_knobs knobs;
	uint64_t busy[RN_FABRIC_WORDS]; /* bit per list: not empty */
	uint64_t next_seq;
	uint32_t capacity, count, wanted;
	uint16_t free; /* first free place */
	uint16_t oldest, youngest;
	uint16_t cursor; /* of rn_fabric_force_if(): moves on when its TLP goes */
	uint16_t first[RN_LIST_COUNT], last[RN_LIST_COUNT];
	struct rn_tlp tlp[];
};

/* The list that @t is in, or is to be in, by its state, target and hop. */
static inline unsigned rn_fabric_list_of(const struct rn_tlp *t)
{
	return t->state == RN_TLP_INSIDE ? RN_QUEUE_COUNT + t->target
					 : t->route.queue[t->hop];
}

/* To the end of its list, and out of it. */
void rn_fabric_append(struct rn_fabric *f, unsigned index);
void rn_fabric_unlink(struct rn_fabric *f, unsigned index);

/* A place for a copy of @tlp, the youngest of all, in no list yet; there must be room. */
unsigned rn_fabric_take_place(struct rn_fabric *f, const struct rn_tlp *tlp);
void rn_fabric_free_place(struct rn_fabric *f, unsigned index);

#endif /* RN_FABRIC_LISTS_H */
