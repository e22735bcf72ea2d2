/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_pages.c - pages of the device view, by which kernels name their memory, are
 * closed while covered writes to them are on their way.
 *
 * An access of a kernel to such a page faults and is judged; the page is open for that
 * instruction (sanitize_step.c). What is read is what would have been read.
 *
 * With ROCIN_SANITIZE=all so are pages of registered host memory, while any data is on
 * its way to them, and pages that are wholly the source of a request cannot be stored to
 * until it completes. The hierarchy's own accesses open them.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "gpu_memory.h"
#include "host_internal.h"
#include "sanitize_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	SOURCE_MAX = 64 * 1024, /* bytes of a source that is held */
	RETRIES_MAX = 10000,
	/* A thread has one for each buffer of a system call. More at once only open; what
	 * is not used takes no memory.
	 */
	PINS = 65536,
};

enum state {
	OPEN,
	READ_ONLY, /* a request has its source there */
	CLOSED,	   /* writes are on their way to it */
};

/* By hash, with others of the same hash behind; a place with neither writes nor sources
 * is free. Places are never given back, so who meets a fault finds the page that was
 * opened before it.
 */
static struct page {
	struct page *next;
	uintptr_t at; /* in the device view, or host memory */
	unsigned writes, sources;
	enum state state;
} pages[RN_SAN_HASHES];

/* Ranges that system calls use at the moment; lo == hi: free. */
static struct pin {
	uintptr_t lo, hi;
} pins[PINS];
static unsigned pins_high; /* one past the last that was ever used */
static unsigned pins_low;  /* all below are taken */

static bool is_pinned(uintptr_t at)
{
	for (unsigned i = 0; i < pins_high; i++)
		if (at >= pins[i].lo && at < pins[i].hi)
			return true;
	return false;
}

unsigned rn_san_page_hash(uintptr_t at)
{
	return (at / RN_GPU_PAGE * UINT64_C(0x9e3779b97f4a7c15) >> 40) % RN_SAN_HASHES;
}

static void protect(struct page *p, enum state wanted)
{
	enum state state = wanted != OPEN && is_pinned(p->at) ? OPEN : wanted;
	static const int rights[] = { [OPEN] = PROT_READ | PROT_WRITE,
				      [READ_ONLY] = PROT_READ,
				      [CLOSED] = PROT_NONE };
	void *at = (void *)p->at; // NOLINT(performance-no-int-to-ptr)

	if (p->state != state && mprotect(at, RN_GPU_PAGE, rights[state]) == 0)
		p->state = state;
}

static void protect_again(struct page *p)
{
	if (p->writes)
		protect(p, CLOSED);
	else
		protect(p, p->sources ? READ_ONLY : OPEN);
}

/* NULL: nothing was ever on its way there, or its place has been taken. */
static struct page *page_of(uintptr_t at)
{
	struct page *p = &pages[rn_san_page_hash(at)];

	while (p && p->at != at)
		p = p->next;
	return p;
}

static bool is_free(const struct page *p)
{
	return p->writes == 0 && p->sources == 0 && p->state == OPEN;
}

/* A place for a page that has none. NULL: no memory, so accesses to it are not seen. */
static struct page *add_page(uintptr_t at)
{
	struct page *first = &pages[rn_san_page_hash(at)], *p = first;

	while (p && !is_free(p))
		p = p->next;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->next = first->next;
		first->next = p;
	}
	p->at = at;
	return p;
}

/* Changes of a count: what goes down was up before, in a place that is there. */
static struct page *take(uintptr_t at, int change)
{
	struct page *p = page_of(at);

	return p || change < 0 ? p : add_page(at);
}

static void count_page(uintptr_t at, int change)
{
	struct page *p = take(at, change);

	if (!p || (change < 0 && p->writes == 0))
		return;
	p->writes += (unsigned)change;
	protect_again(p);
}

static void count_pages(uintptr_t addr, uint32_t len, int change)
{
	uintptr_t last = (addr + len - 1) & ~(uintptr_t)(RN_GPU_PAGE - 1);
	uintptr_t at = addr & ~(uintptr_t)(RN_GPU_PAGE - 1);

	for (; at <= last; at += RN_GPU_PAGE)
		count_page(at, change);
}

void rn_san_page_close(uintptr_t at)
{
	struct page *p = page_of(at);

	if (p)
		protect_again(p);
}

/* ------------------------------------------------------------- device view */
void rn_san_page_count(const struct rn_tlp *tlp, int change)
{
	struct rn_gpu *gpu;
	uint64_t offset;
	char view;

	if (!rn_agent_is_gpu(tlp->target))
		return;
	gpu = rn_gpu_of(tlp->addr, &offset, &view);
	/* Declared memory has no view of its own. */
	if (gpu && view == 'b')
		count_pages((uintptr_t)gpu->dev + offset, tlp->len, change);
}

/* ------------------------------------------------------------- host memory */
/* Whole pages of a registration: nothing else lies in them, no stack in use either. */
static struct region {
	struct region *next;
	const struct rn_host_nic *nic;
	uint32_t key;
	uintptr_t lo, hi;
} * regions;

void rn_sanitize_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			    uint64_t len)
{
	struct region *r;

	if (!rn_sanitize_is_on() || rn_san.options.level != RN_SANITIZE_ALL)
		return;
	r = calloc(1, sizeof(*r));
	if (!r)
		return;
	r->nic = nic;
	r->key = key;
	r->lo = (addr + RN_GPU_PAGE - 1) & ~(uintptr_t)(RN_GPU_PAGE - 1);
	r->hi = (addr + len) & ~(uintptr_t)(RN_GPU_PAGE - 1);
	rn_host_lock(rn_san.host);
	r->next = regions;
	regions = r;
	rn_host_unlock(rn_san.host);
}

/* What is on its way to a region that goes is performed by then, or soon: let nothing of
 * it stay closed.
 */
static void forget(struct page *p)
{
	protect(p, OPEN);
	p->writes = p->sources = 0;
}

/* Every place whose page lies in the range. */
static void each_of_range(uintptr_t lo, uintptr_t hi, void (*visit)(struct page *p))
{
	for (unsigned i = 0; i < RN_SAN_HASHES; i++)
		for (struct page *p = &pages[i]; p; p = p->next)
			if (p->at >= lo && p->at < hi)
				visit(p);
}

void rn_sanitize_region_remove(const struct rn_host_nic *nic, uint32_t key)
{
	struct region **at = &regions, *r;

	if (!rn_sanitize_is_on() || rn_san.options.level != RN_SANITIZE_ALL)
		return;
	rn_host_lock(rn_san.host);
	while (*at && ((*at)->nic != nic || (*at)->key != key))
		at = &(*at)->next;
	r = *at;
	if (r) {
		*at = r->next;
		each_of_range(r->lo, r->hi, forget);
	}
	rn_host_unlock(rn_san.host);
	free(r);
}

void rn_san_host_page_count(const struct rn_tlp *tlp, int change)
{
	const struct region *r = regions;

	while (r && (tlp->addr < r->lo || tlp->addr + tlp->len > r->hi))
		r = r->next;
	if (r)
		count_pages(tlp->addr, tlp->len, change);
}

/* Whole pages of the range, if they are whole pages of one region. */
static void count_sources(const struct rn_host_range *range, int change)
{
	uintptr_t at = (range->addr + RN_GPU_PAGE - 1) & ~(uintptr_t)(RN_GPU_PAGE - 1);
	uintptr_t end = (range->addr + range->len) & ~(uintptr_t)(RN_GPU_PAGE - 1);
	const struct region *r = regions;

	if (at >= end || end - at > SOURCE_MAX)
		return;
	while (r && (at < r->lo || end > r->hi))
		r = r->next;
	for (; r && at < end; at += RN_GPU_PAGE) {
		struct page *p = take(at, change);

		if (!p || (change < 0 && p->sources == 0))
			continue;
		p->sources += (unsigned)change;
		protect_again(p);
	}
}

void rn_san_source_hold(struct rn_san_wr *wr, bool hold)
{
	if (wr->is_held == hold || rn_san.options.level != RN_SANITIZE_ALL)
		return;
	wr->is_held = hold;
	for (unsigned i = 0; i < wr->range_count; i++)
		count_sources(&wr->range[i], hold ? 1 : -1);
}

void rn_san_host_open(struct rn_host *h, rn_iova addr, uint64_t len, bool to_store)
{
	uintptr_t at = addr & ~(uintptr_t)(RN_GPU_PAGE - 1);

	(void)h;
	if (rn_san.options.level != RN_SANITIZE_ALL)
		return;
	for (; at < addr + len; at += RN_GPU_PAGE) {
		struct page *p = page_of(at);

		if (p && (to_store || p->state == CLOSED))
			protect(p, OPEN);
	}
}

static bool is_in_a_region(uintptr_t lo, uintptr_t hi)
{
	const struct region *r = regions;

	while (r && (r->lo >= hi || lo >= r->hi))
		r = r->next;
	return r != NULL;
}

/* Host lock held. */
static int take_pin(uintptr_t lo, uintptr_t hi)
{
	unsigned i = pins_low;

	while (i < pins_high && pins[i].lo < pins[i].hi)
		i++;
	pins_low = i;
	if (i == PINS)
		return -1;
	if (i == pins_high)
		pins_high++;
	pins[i] = (struct pin){ .lo = lo, .hi = hi };
	return (int)i;
}

int rn_sanitize_pin(uintptr_t addr, size_t len)
{
	uintptr_t lo = addr & ~(uintptr_t)(RN_GPU_PAGE - 1);
	uintptr_t hi = (addr + len + RN_GPU_PAGE - 1) & ~(uintptr_t)(RN_GPU_PAGE - 1);
	int pin = -1;

	if (!rn_sanitize_is_on() || rn_san.options.level != RN_SANITIZE_ALL || !len ||
	    rn_host_is_forked() || rn_host_is_locked_by_me(rn_san.host))
		return -1;
	rn_host_lock(rn_san.host);
	if (is_in_a_region(lo, hi)) {
		pin = take_pin(lo, hi);
		rn_san_host_open(rn_san.host, addr, len, true);
	}
	rn_host_unlock(rn_san.host);
	return pin;
}

/* Every page that there is, or those of the range, whichever is less. */
static void protect_range_again(uintptr_t lo, uintptr_t hi)
{
	if ((hi - lo) / RN_GPU_PAGE >= RN_SAN_HASHES) {
		each_of_range(lo, hi, protect_again);
		return;
	}
	for (; lo < hi; lo += RN_GPU_PAGE)
		rn_san_page_close(lo);
}

void rn_sanitize_unpin(int pin)
{
	struct pin was;

	rn_host_lock(rn_san.host);
	was = pins[pin];
	pins[pin] = (struct pin){ 0 };
	if ((unsigned)pin < pins_low)
		pins_low = (unsigned)pin;
	protect_range_again(was.lo, was.hi);
	rn_host_unlock(rn_san.host);
}

/* --------------------------------------------------------------- the fault */
/* The same address that is said to be open, over and over: it is not there. One that was
 * closed is there, and may be met open, by another thread, any number of times in
 * between.
 */
static bool is_stuck(uintptr_t addr, bool was_closed)
{
	static __thread uintptr_t latest;
	static __thread unsigned times;

	times = addr == latest && !was_closed ? times + 1 : 0;
	latest = addr;
	return times > RETRIES_MAX;
}

/* The page is open. true: that was a finding, and the page need not close again. */
static bool judge(unsigned agent, uintptr_t addr, rn_iova name, const struct page *p)
{
	struct rn_san_wr *wr;
	struct rn_san_qp *q;

	if (!rn_guard_is_store()) {
		rn_san_judge_load(agent, name);
		return false;
	}
	wr = p->sources ? rn_san_wr_holding(addr, &q) : NULL;
	if (!wr)
		return false;
	wr->has_digest = false;
	rn_san_report_source(q, wr, rn_san_stack());
	return true;
}

/* @agent loads from, or stores to, @addr, which devices name @name. */
static bool meet(unsigned agent, uintptr_t addr, rn_iova name, bool may_retry)
{
	uintptr_t at = addr & ~(uintptr_t)(RN_GPU_PAGE - 1);
	bool is_locked = rn_host_is_locked_by_me(rn_san.host);
	bool was_closed, stuck;
	struct page *p;

	if (!is_locked)
		rn_host_lock(rn_san.host);
	p = page_of(at);
	was_closed = p && p->state != OPEN;
	stuck = is_stuck(addr, was_closed);
	if (was_closed)
		protect(p, OPEN);
	if (was_closed && !is_locked && !judge(agent, addr, name, p))
		/* Host memory is watched by programs that wait; nothing covered there. */
		(void)rn_san_step(NULL, at, agent != RN_AGENT_CPU && p->writes > 0);
	/* Another thread has opened it meanwhile? */
	may_retry = may_retry || p != NULL;
	if (!is_locked)
		rn_host_unlock(rn_san.host);
	return was_closed || (may_retry && !stuck);
}

bool rn_sanitize_fault(uintptr_t addr)
{
	struct rn_gpu *gpu;
	uint64_t offset;
	char view;

	if (!rn_sanitize_is_on())
		return false;
	if (rn_host_is_forked()) { /* pages that were closed when it was copied */
		struct page *p = page_of(addr & ~(uintptr_t)(RN_GPU_PAGE - 1));
		bool was_closed = p && p->state != OPEN;

		if (was_closed)
			protect(p, OPEN);
		return was_closed;
	}
	gpu = rn_gpu_of(addr, &offset, &view);
	if (gpu && view == 'd')
		return meet(rn_gpu_agent(gpu), addr, (uintptr_t)gpu->bar + offset,
			    rn_gpu_find(gpu->dev + offset, NULL) == 0);
	if (!gpu && rn_san.options.level == RN_SANITIZE_ALL)
		return meet(RN_AGENT_CPU, addr, addr, false);
	return false;
}
