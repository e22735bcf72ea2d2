/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fabric_lists.c - the block of a fabric, its lists, and looking at them. */
#include <string.h>

#include "fabric_lists.h"

enum {
	NONE = RN_TLP_NONE,
	WORD_BITS = 64,
};

size_t rn_fabric_size(uint32_t tlps)
{
	assert(tlps > 0 && tlps <= RN_TLPS_MAX);
	return sizeof(struct rn_fabric) + tlps * sizeof(struct rn_tlp);
}

struct rn_fabric *rn_fabric_init(void *mem, uint32_t tlps,
				 const struct rn_pcie_knobs *knobs)
{
	struct rn_fabric *f = mem;

	assert((uintptr_t)mem % _Alignof(struct rn_fabric) == 0);
	memset(mem, 0, rn_fabric_size(tlps));
	f->knobs = *knobs;
	f->capacity = tlps;
	f->oldest = f->youngest = f->cursor = NONE;
	for (unsigned i = 0; i < RN_LIST_COUNT; i++)
		f->first[i] = f->last[i] = NONE;
	for (unsigned i = 0; i < tlps; i++)
		f->tlp[i].next = (uint16_t)(i + 1 < tlps ? i + 1 : NONE);
	return f;
}

/* ---- Lists ---- */

void rn_fabric_append(struct rn_fabric *f, unsigned index)
{
	struct rn_tlp *t = &f->tlp[index];
	unsigned list = rn_fabric_list_of(t);

	t->prev = f->last[list];
	t->next = NONE;
	if (t->prev == NONE)
		f->first[list] = (uint16_t)index;
	else
		f->tlp[t->prev].next = (uint16_t)index;
	f->last[list] = (uint16_t)index;
	f->busy[list / WORD_BITS] |= UINT64_C(1) << list % WORD_BITS;
	f->wanted += rn_tlp_is_wanted(t);
}

void rn_fabric_unlink(struct rn_fabric *f, unsigned index)
{
	struct rn_tlp *t = &f->tlp[index];
	unsigned list = rn_fabric_list_of(t);

	if (t->prev == NONE)
		f->first[list] = t->next;
	else
		f->tlp[t->prev].next = t->next;
	if (t->next == NONE)
		f->last[list] = t->prev;
	else
		f->tlp[t->next].prev = t->prev;
	if (f->first[list] == NONE)
		f->busy[list / WORD_BITS] &= ~(UINT64_C(1) << list % WORD_BITS);
	f->wanted -= rn_tlp_is_wanted(t);
}

unsigned rn_fabric_take_place(struct rn_fabric *f, const struct rn_tlp *tlp)
{
	unsigned index = f->free;
	struct rn_tlp *t = &f->tlp[index];

	f->free = t->next;
	*t = *tlp;
	t->seq = f->next_seq++;
	t->hop = 0;
	t->state = RN_TLP_QUEUED;
	t->waiter = NONE;
	t->younger = NONE;
	t->older = f->youngest;
	if (t->older == NONE)
		f->oldest = (uint16_t)index;
	else
		f->tlp[t->older].younger = (uint16_t)index;
	f->youngest = (uint16_t)index;
	f->count++;
	return index;
}

void rn_fabric_free_place(struct rn_fabric *f, unsigned index)
{
	struct rn_tlp *t = &f->tlp[index];

	if (t->older == NONE)
		f->oldest = t->younger;
	else
		f->tlp[t->older].younger = t->younger;
	if (t->younger == NONE)
		f->youngest = t->older;
	else
		f->tlp[t->younger].older = t->older;
	if (f->cursor == index)
		f->cursor = t->younger;
	*t = (struct rn_tlp){ .state = RN_TLP_FREE, .next = f->free };
	f->free = (uint16_t)index;
	f->count--;
}

/* ---- Looking ---- */

const struct rn_pcie_knobs *rn_fabric_knobs(const struct rn_fabric *f)
{
	return &f->knobs;
}

uint32_t rn_fabric_count(const struct rn_fabric *f)
{
	return f->count;
}

uint32_t rn_fabric_room(const struct rn_fabric *f)
{
	return f->capacity - f->count;
}

uint32_t rn_fabric_wanted(const struct rn_fabric *f)
{
	return f->wanted;
}

const struct rn_tlp *rn_fabric_tlp(const struct rn_fabric *f, unsigned index)
{
	if (index >= f->capacity || f->tlp[index].state == RN_TLP_FREE)
		return NULL;
	return &f->tlp[index];
}

unsigned rn_fabric_first(const struct rn_fabric *f, unsigned queue)
{
	assert(queue < RN_LIST_COUNT);
	return f->first[queue];
}

unsigned rn_fabric_last(const struct rn_fabric *f, unsigned queue)
{
	assert(queue < RN_LIST_COUNT);
	return f->last[queue];
}

static const struct rn_tlp *used(const struct rn_fabric *f, unsigned index)
{
	assert(index < f->capacity && f->tlp[index].state != RN_TLP_FREE);
	return &f->tlp[index];
}

unsigned rn_fabric_next(const struct rn_fabric *f, unsigned index)
{
	return used(f, index)->next;
}

unsigned rn_fabric_prev(const struct rn_fabric *f, unsigned index)
{
	return used(f, index)->prev;
}

unsigned rn_fabric_oldest(const struct rn_fabric *f)
{
	return f->oldest;
}

unsigned rn_fabric_youngest(const struct rn_fabric *f)
{
	return f->youngest;
}

unsigned rn_fabric_younger(const struct rn_fabric *f, unsigned index)
{
	return used(f, index)->younger;
}

unsigned rn_fabric_older(const struct rn_fabric *f, unsigned index)
{
	return used(f, index)->older;
}

unsigned rn_fabric_busy_queue(const struct rn_fabric *f, unsigned queue)
{
	for (unsigned w = queue / WORD_BITS; w < RN_FABRIC_WORDS; w++) {
		uint64_t bits = f->busy[w];

		if (w == queue / WORD_BITS)
			bits &= ~UINT64_C(0) << queue % WORD_BITS;
		if (bits)
			return w * WORD_BITS + (unsigned)__builtin_ctzll(bits);
	}
	return RN_LIST_COUNT;
}

void rn_fabric_each_queue(const struct rn_fabric *f,
			  void (*visit)(void *arg, unsigned queue), void *arg)
{
	for (unsigned q = rn_fabric_busy_queue(f, 0); q < RN_LIST_COUNT;
	     q = rn_fabric_busy_queue(f, q + 1))
		visit(arg, q);
}
