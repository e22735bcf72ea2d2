/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_withheld.c - the writes whose bytes the program does not see yet.
 *
 * A device's write to watched memory does not go through the queues of the hierarchy. Its
 * bytes are stored when the class `given` performs the write: when an event forces it,
 * and not because time has passed. So a program that looks too early reads old bytes,
 * each time, and one that waits for an event, or in a loop, gets the new ones.
 *
 * One TLP of the class stands for several writes of the hierarchy, which form a list.
 */
#include "sanitize_internal.h"
#include "sim/pcie/host/host_internal.h"

enum {
	NONE = UINT16_MAX,
	/* Writes that may be withheld; the other payload slots are left to the hierarchy.
	 */
	WITHHELD_MAX = RN_HOST_TLPS - 512,
};

/* For each payload slot the write that has it, and the next one of its list. */
static struct withheld {
	struct rn_tlp tlp;
	bool is_held;
	uint16_t next;
} writes[RN_SAN_SLOTS];
/* For the slot of the first write of a list: the slot of the last one. */
static uint16_t last[RN_SAN_SLOTS];
static unsigned count;
static bool is_storing;

uint64_t rn_san_withheld_list(const struct rn_tlp *tlp)
{
	writes[tlp->data].is_held = false;
	writes[tlp->data].next = NONE;
	last[tlp->data] = (uint16_t)tlp->data;
	return tlp->data + 1;
}

void rn_san_withheld_join(uint64_t list, const struct rn_tlp *tlp)
{
	uint16_t slot = (uint16_t)tlp->data;

	if (!list)
		return;
	(void)rn_san_withheld_list(tlp);
	writes[last[list - 1]].next = slot;
	last[list - 1] = slot;
}

static void end_write(struct withheld *w, bool is_stored)
{
	w->is_held = false;
	count--;
	is_storing = true;
	rn_host_end_withheld(rn_san.host, &w->tlp, is_stored);
	is_storing = false;
}

static void end_list(uint64_t list, bool is_stored)
{
	for (unsigned i = list ? (unsigned)list - 1 : NONE; i != NONE;) {
		struct withheld *w = &writes[i];

		i = w->next;
		if (w->is_held)
			end_write(w, is_stored);
	}
}

void rn_san_withheld_store(const struct rn_tlp *by)
{
	end_list(by->tag, true);
}

void rn_san_withheld_drop(const struct rn_tlp *by)
{
	end_list(by->tag, false);
}

static bool touches(const struct rn_tlp *tlp, rn_iova addr, uint64_t len)
{
	return tlp->addr < addr + len && addr < tlp->addr + tlp->len;
}

bool rn_san_is_withheld(const struct rn_tlp *by, rn_iova addr, uint64_t len)
{
	for (unsigned i = by->tag ? (unsigned)by->tag - 1 : NONE; i != NONE;
	     i = writes[i].next)
		if (writes[i].is_held && touches(&writes[i].tlp, addr, len))
			return true;
	return false;
}

bool rn_san_withhold(const struct rn_tlp *tlp)
{
	struct withheld *w = &writes[tlp->data];

	if (!rn_san_is_watched(tlp)) {
		rn_san_withheld_land(tlp->addr, tlp->len);
		return false;
	}
	while (count >= WITHHELD_MAX)
		rn_san_class_force_oldest();
	w->tlp = *tlp;
	w->is_held = true;
	count++;
	return true;
}

void rn_san_withheld_land(rn_iova addr, uint64_t len)
{
	if (!count || is_storing)
		return;
	for (unsigned i = 0; i < RN_SAN_SLOTS; i++)
		if (writes[i].is_held && touches(&writes[i].tlp, addr, len))
			end_write(&writes[i], true);
}

bool rn_san_is_storing(void)
{
	return is_storing;
}
