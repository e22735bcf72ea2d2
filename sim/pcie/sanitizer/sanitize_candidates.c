/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_candidates.c - tells loops that wait for memory from reads that come too
 * early.
 *
 * A load gets old bytes if a write of new ones is pending. This is a mistake if the
 * program goes on with what it has read, and no mistake if the program repeats the load
 * until the bytes have changed. So such a load is not reported at once: it becomes a
 * candidate, and its page stays closed. If the same instruction, called from the same
 * functions, loads the same byte again while the same write is pending, the load belongs
 * to a loop that waits for the byte; the write is then performed, so that the loop ends.
 * An instruction that faults twice before it has been executed does not count as a
 * repeated load. If the load is not repeated, it is reported when its entry is needed for
 * another candidate, when many other loads of the page have followed, or when the program
 * ends. A loop may read more bytes than there can be candidates. It ends nevertheless: a
 * hash of each load is kept when its entry is reused, and shows later that the load was
 * repeated.
 */
#include <stdatomic.h>

#include "rocin/random.h"
#include "sanitize_internal.h"
#include "sim/pcie/page/page.h"

enum {
	/* After this number of other loads of its page, a candidate is reported, because
	 * its load is not expected to be repeated any more. The number is high enough for
	 * a loop over flags that are 64 bytes apart, which makes fewer loads of a page
	 * per round.
	 */
	OTHERS_MAX = 128,
	/* number of sets in confirmed[], the hashes of loads that were reported */
	SETS = 1 << 12,
	WAYS = 4,    /* number of hashes in a set */
	OWN_MAX = 8, /* maximum number of candidates of one single step */
};

/* A load of bytes to which a write is pending, and which may belong to a loop that waits
 * for the write.
 */
static struct candidate {
	bool is_used;
	uint32_t stack;
	rn_iova addr;
	uintptr_t shown; /* address by which the program names the byte */
	/* the pending write, given by its number @seq in the fabric of the class */
	unsigned class;
	uint64_t seq;
	/* number of loads of the page by other instructions since this load */
	unsigned others;
	/* Number of the single step in which the load is executed; 0 when that step is
	 * over.
	 */
	uint64_t step;
	/* Equal to @step until the load has been executed, then 0. The thread that
	 * executes the load clears it without the host lock.
	 */
	_Atomic uint64_t running;
	/* The pending write was performed before the load was executed, so the load may
	 * have read the new bytes.
	 */
	bool is_doubtful;
	struct rn_san_report report;
} candidates[RN_SAN_CANDIDATES];
/* @next: index of the entry that is reused next. @used: number of entries that were ever
 * used.
 */
static unsigned next, used;
static uint64_t steps;
static uint64_t confirmed[SETS][WAYS];

static uint64_t hash_of(uint32_t stack, rn_iova addr, unsigned class, uint64_t seq)
{
	return rn_random_at(rn_random_at(addr, stack), rn_random_at(seq, class));
}

/* The candidates of the single step that this thread executes. There may be several,
 * because one instruction may load from several pages.
 */
static __thread struct {
	struct candidate *candidate;
	uint64_t step;
} own[OWN_MAX] __attribute__((tls_model("initial-exec")));
static __thread unsigned own_count __attribute__((tls_model("initial-exec")));

static void end_candidate(struct candidate *c)
{
	c->is_used = false;
	rn_san_page_watch(c->addr, -1);
}

static void confirm(struct candidate *c)
{
	static struct rn_random way;
	uint64_t hash = hash_of(c->stack, c->addr, c->class, c->seq);

	if (!c->is_used)
		return;
	/* The hash to be replaced is chosen at random. By a fixed rule, the loads of one
	 * loop could replace each other's hashes for ever.
	 */
	confirmed[hash % SETS][rn_random_scaled(&way, WAYS)] = hash;
	rn_san_report(&c->report);
	end_candidate(c);
}

/* Returns an entry for a new candidate. If all are in use, it is that of the oldest
 * candidate, whose load has not been repeated: that load is reported now.
 */
static struct candidate *take_candidate(void)
{
	struct candidate *c = &candidates[next];

	next = (next + 1) % RN_SAN_CANDIDATES;
	if (used < RN_SAN_CANDIDATES)
		used++;
	confirm(c);
	return c;
}

static bool was_confirmed(uint32_t stack, rn_iova addr, unsigned class, uint64_t seq)
{
	uint64_t hash = hash_of(stack, addr, class, seq);

	for (unsigned i = 0; i < WAYS; i++)
		if (confirmed[hash % SETS][i] == hash)
			return true;
	return false;
}

static void dismiss(struct candidate *c)
{
	rn_san_report_discard(&c->report);
	end_candidate(c);
}

static struct candidate *find_candidate(uint32_t stack, rn_iova addr)
{
	for (unsigned i = 0; i < used; i++)
		if (candidates[i].is_used && candidates[i].stack == stack &&
		    candidates[i].addr == addr)
			return &candidates[i];
	return NULL;
}

/* Returns true if this candidate is the load of this thread's single step, and the load
 * has not been executed yet. Then the instruction has faulted twice: between the faults,
 * another write to the page has arrived and has closed the page again.
 */
static bool is_load_of_step(const struct candidate *c)
{
	for (unsigned i = 0; i < own_count; i++)
		if (own[i].candidate == c && own[i].step == c->running)
			return true;
	return false;
}

bool rn_san_candidate_note(const struct rn_san_read *r, uintptr_t shown)
{
	unsigned class = (unsigned)__builtin_ctz(r->pending);
	struct candidate *c = find_candidate(r->stack, r->addr);

	if (c && c->class == class && c->seq == r->by[class]->seq) {
		if (is_load_of_step(c))
			return false;
		dismiss(c);
		return true;
	}
	if (!c && was_confirmed(r->stack, r->addr, class, r->by[class]->seq))
		return true;
	if (!c)
		c = take_candidate();
	confirm(c);
	*c = (struct candidate){ .is_used = true,
				 .stack = r->stack,
				 .addr = r->addr,
				 .shown = shown,
				 .class = class,
				 .seq = r->by[class]->seq,
				 .step = ++steps,
				 .running = steps,
				 .report = rn_san_prepare_read(r) };
	if (own_count < OWN_MAX) {
		own[own_count].candidate = c;
		own[own_count++].step = c->step;
	}
	rn_san_page_watch(c->addr, 1);
	return false;
}

void rn_san_candidate_executed(void)
{
	for (unsigned i = 0; i < own_count; i++) {
		uint64_t step = own[i].step;

		(void)atomic_compare_exchange_strong(&own[i].candidate->running, &step,
						     0);
	}
}

void rn_san_candidate_performed(unsigned class, uint64_t seq)
{
	for (unsigned i = 0; i < used; i++) {
		struct candidate *c = &candidates[i];

		if (c->is_used && c->class == class && c->seq == seq && c->running)
			c->is_doubtful = true;
	}
}

void rn_san_candidate_ran(uintptr_t page)
{
	for (unsigned i = own_count; i-- > 0;) {
		struct candidate *c = own[i].candidate;
		bool is_same = c->is_used && c->step == own[i].step;

		if (is_same && rn_page_down(c->shown) != page)
			continue;
		own[i] = own[--own_count];
		if (!is_same)
			continue;
		c->step = 0;
		c->running = 0;
		if (c->is_doubtful)
			dismiss(c);
	}
}

bool rn_san_has_candidate(rn_iova page)
{
	for (unsigned i = 0; i < used; i++)
		if (candidates[i].is_used && rn_page_down(candidates[i].addr) == page)
			return true;
	return false;
}

void rn_san_candidate_met(uint32_t stack, rn_iova addr)
{
	struct candidate *c = find_candidate(stack, addr);
	rn_iova page = rn_page_down(addr);

	if (c) {
		dismiss(c);
		return;
	}
	for (unsigned i = 0; i < used; i++)
		if (candidates[i].is_used && rn_page_down(candidates[i].addr) == page &&
		    ++candidates[i].others > OTHERS_MAX)
			confirm(&candidates[i]);
}

void rn_san_candidates_confirm(void)
{
	for (unsigned i = 0; i < used; i++)
		confirm(&candidates[i]);
}
