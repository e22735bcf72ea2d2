/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_withheld.c - the writes whose bytes the program does not see yet.
 *
 * A device's write to watched memory does not go through the queues of the hierarchy. Its
 * bytes are stored when an event forces the write in the fabric of `given`, the model of
 * the machine with the user's knobs (sanitize_classes.c); they are never stored only
 * because time has passed. So a program that reads too early always gets old bytes, and a
 * program that waits for an event, or reads in a loop, gets the new ones. If a schedule
 * (sanitize_schedule.c) says that a write is not late, its bytes are stored at once.
 *
 * One TLP in that fabric stands for several writes of the hierarchy. They form a list,
 * whose number is the tag of this TLP. A write that is not withheld, or not any more,
 * must not be in a list, because its payload slot may be given to another write.
 */
#include <string.h>

#include "sanitize_internal.h"
#include "sim/pcie/host/host_internal.h"

enum {
	NONE = UINT16_MAX,
	/* Maximum number of writes that are withheld at a time. The remaining payload
	 * slots are left for other TLPs of the hierarchy.
	 */
	WITHHELD_MAX = RN_HOST_TLPS - 512,
	BUCKETS = 4096,
};

/* struct chain: a list of withheld writes, the oldest first. struct link: the place of
 * one write in such a list.
 */
struct chain {
	uint16_t first, last; /* payload slots of these writes; valid if @is_used */
	bool is_used;
};
struct link {
	uint16_t older, newer; /* payload slots, or NONE */
};

static struct withheld {
	struct rn_tlp tlp;
	uint64_t list;
	bool is_late;
	/* number of the page (rn_san_page_number()); set only with a schedule or a record
	 */
	uint64_t page;
} writes[RN_SAN_SLOTS]; /* the index is the payload slot of the write (rn_tlp.data) */
static struct chain all,
	/* @all: all withheld writes in the order of their issue. @buckets: hash table of
	 * the same writes, by the number of the list to which a write belongs
	 * (rn_san_withheld_list()), modulo BUCKETS.
	 */
	buckets[BUCKETS];
static struct link in_all[RN_SAN_SLOTS], in_bucket[RN_SAN_SLOTS];

static unsigned count;
static bool is_storing;
static uint64_t newest_list;
/* Number of the list to which the write that was issued last belongs. 0: the TLP that
 * stands for this list has been performed already.
 */
static uint64_t open_list;

static void append(struct chain *c, struct link *links, uint16_t slot)
{
	links[slot] =
		(struct link){ .older = c->is_used ? c->last : NONE, .newer = NONE };
	if (c->is_used)
		links[c->last].newer = slot;
	else
		c->first = slot;
	c->last = slot;
	c->is_used = true;
}

static void take_out(struct chain *c, struct link *links, uint16_t slot)
{
	const struct link *l = &links[slot];

	if (l->older != NONE)
		links[l->older].newer = l->newer;
	else
		c->first = l->newer;
	if (l->newer != NONE)
		links[l->newer].older = l->older;
	else
		c->last = l->older;
	c->is_used = c->first != NONE;
}

static unsigned first_of(const struct chain *c)
{
	return c->is_used ? c->first : NONE;
}

static struct chain *bucket_of(uint64_t list)
{
	return &buckets[list % BUCKETS];
}

uint64_t rn_san_withheld_list(void)
{
	open_list = ++newest_list;
	return open_list;
}

void rn_san_withheld_join(uint64_t list)
{
	open_list = list;
}

static void end_write(unsigned slot, bool is_stored)
{
	struct withheld *w = &writes[slot];

	count--;
	take_out(&all, in_all, (uint16_t)slot);
	take_out(bucket_of(w->list), in_bucket, (uint16_t)slot);
	if (w->is_late)
		rn_san_late_ended(&w->tlp, w->page);
	is_storing = true;
	rn_host_end_withheld(rn_san.host, &w->tlp, is_stored);
	is_storing = false;
}

/* A run: bytes of consecutive writes that are stored together. An access to closed pages
 * of host memory takes some microseconds, whatever its length.
 */
static struct {
	rn_iova addr;
	uint32_t len;
	uint8_t bytes[16 * 1024];
} run;

static void store_run(void)
{
	bool was_storing = is_storing;

	is_storing = true;
	if (run.len)
		(void)rn_host_store(rn_san.host, run.addr, run.bytes, run.len);
	is_storing = was_storing;
	run.len = 0;
}

/* Adds the bytes of the write to the run; if they do not follow the run, stores the run
 * first and begins a new one. Returns false if this kind of write cannot be in a run;
 * then the caller must store it by itself.
 */
static bool add_to_run(const struct rn_tlp *tlp)
{
	if (tlp->target != RN_AGENT_CPU || tlp->len > sizeof(run.bytes))
		return false;
	if (tlp->addr != run.addr + run.len || run.len + tlp->len > sizeof(run.bytes))
		store_run();
	if (!run.len)
		run.addr = tlp->addr;
	memcpy(run.bytes + run.len, rn_host_slot_of(rn_san.host, tlp)->payload.bytes,
	       tlp->len);
	run.len += tlp->len;
	return true;
}

static void end_list(uint64_t list, bool is_stored)
{
	unsigned slot = first_of(bucket_of(list)), newer;

	if (list == open_list)
		open_list = 0;
	for (; slot != NONE; slot = newer) {
		newer = in_bucket[slot].newer;
		if (writes[slot].list == list)
			end_write(slot, is_stored && !add_to_run(&writes[slot].tlp));
	}
	store_run();
}

void rn_san_withheld_store(const struct rn_tlp *by)
{
	end_list(by->tag, true);
}

void rn_san_withheld_drop(const struct rn_tlp *by)
{
	end_list(by->tag, false);
}

const struct rn_tlp *rn_san_withheld_at(rn_iova addr, uint64_t len, uint64_t *page)
{
	unsigned i = first_of(&all);

	while (i != NONE && !rn_tlp_touches(&writes[i].tlp, addr, len))
		i = in_all[i].newer;
	if (i == NONE)
		return NULL;
	*page = writes[i].page;
	return &writes[i].tlp;
}

bool rn_san_is_withheld(rn_iova addr, uint64_t len)
{
	uint64_t page;

	return rn_san_withheld_at(addr, len, &page) != NULL;
}

/* Returns true if an older write to bytes of @tlp was not withheld and is still in
 * flight.
 */
static bool is_behind_another(const struct rn_tlp *tlp)
{
	const struct rn_fabric *f = rn_host_fabric(rn_san.host);

	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *other = rn_fabric_tlp(f, i);

		if (other->kind == RN_TLP_WRITE &&
		    rn_tlp_touches(other, tlp->addr, tlp->len))
			return true;
	}
	return false;
}

bool rn_san_withhold(const struct rn_tlp *tlp)
{
	uint16_t slot = (uint16_t)tlp->data;
	struct withheld *w = &writes[slot];

	while (count >= WITHHELD_MAX && open_list)
		rn_san_class_force_oldest();
	if (!open_list || !rn_san_is_watched(tlp) || is_behind_another(tlp)) {
		rn_san_withheld_land(tlp->addr, tlp->len);
		return false;
	}
	*w = (struct withheld){ .tlp = *tlp, .list = open_list };
	append(&all, in_all, slot);
	append(bucket_of(open_list), in_bucket, slot);
	count++;
	if (rn_san_names_writes())
		w->page = rn_san_page_number(tlp->target, tlp->addr);
	w->is_late = rn_san_is_late(tlp, w->page);
	if (!w->is_late)
		rn_san_class_land(tlp);
	return true;
}

/* Enlarges the range until it contains each withheld write that touches it. */
static void widen(rn_iova *addr, uint64_t *len)
{
	bool is_wider = true;

	while (is_wider) {
		is_wider = false;
		for (unsigned i = first_of(&all); i != NONE; i = in_all[i].newer) {
			const struct rn_tlp *tlp = &writes[i].tlp;
			rn_iova lo = tlp->addr < *addr ? tlp->addr : *addr;
			rn_iova hi = tlp->addr + tlp->len;

			if (!rn_tlp_touches(tlp, *addr, *len))
				continue;
			hi = hi > *addr + *len ? hi : *addr + *len;
			is_wider = is_wider || hi - lo > *len;
			*addr = lo;
			*len = hi - lo;
		}
	}
}

void rn_san_withheld_land(rn_iova addr, uint64_t len)
{
	unsigned slot, newer;

	if (!count || is_storing || !rn_san_class_may_pend(addr, len))
		return;
	/* The range is widened first. Otherwise an older write that overlaps one of these
	 * writes, but not the range, would stay withheld, and would overwrite the newer
	 * bytes later.
	 */
	widen(&addr, &len);
	for (slot = first_of(&all); slot != NONE; slot = newer) {
		newer = in_all[slot].newer;
		if (rn_tlp_touches(&writes[slot].tlp, addr, len))
			end_write(slot, true);
	}
}

bool rn_san_is_storing(void)
{
	return is_storing;
}
