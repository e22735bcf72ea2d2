/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_pages.c - pages of the device view, by which kernels name their memory, are
 * closed while covered writes to them are on their way.
 *
 * The first access of a kernel to such a page faults and is judged; then the page is open
 * until something happens to it. What is read is what would have been read.
 *
 * With ROCIN_SANITIZE=all so are pages of registered host memory, while any data is on
 * its way to them. The hierarchy's own accesses open them.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "gpu_memory.h"
#include "mem_guard.h"
#include "sanitize_internal.h"

enum {
	PAGES = 8192, /* a power of two; more than pages that writes on their way touch */
	RETRIES_MAX = 10000,
};

/* By hash; a place with count 0 is free. */
static struct page {
	uintptr_t at; /* in the device view, or host memory */
	unsigned count;
	bool is_closed;
} pages[PAGES];

static struct page *page_of(uintptr_t at)
{
	return &pages[(at / RN_GPU_PAGE * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PAGES];
}

static void protect(struct page *p, bool close)
{
	if (p->is_closed == close)
		return;
	if (mprotect((void *)p->at, RN_GPU_PAGE,
		     close ? PROT_NONE : PROT_READ | PROT_WRITE) == 0)
		p->is_closed = close;
}

/* Two pages of one hash: the second stays open, and reads of it are not seen. */
static void count_page(uintptr_t at, int change)
{
	struct page *p = page_of(at);

	if (p->count == 0 && change > 0)
		*p = (struct page){ .at = at };
	if (p->at != at || (change < 0 && p->count == 0))
		return;
	p->count += (unsigned)change;
	protect(p, p->count > 0);
}

static void count_pages(uintptr_t addr, uint32_t len, int change)
{
	uintptr_t last = (addr + len - 1) & ~(uintptr_t)(RN_GPU_PAGE - 1);
	uintptr_t at = addr & ~(uintptr_t)(RN_GPU_PAGE - 1);

	for (; at <= last; at += RN_GPU_PAGE)
		count_page(at, change);
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
static void open_range(uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < PAGES; i++) {
		if (pages[i].at < lo || pages[i].at >= hi)
			continue;
		protect(&pages[i], false);
		pages[i].count = 0;
	}
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
		open_range(r->lo, r->hi);
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

void rn_sanitize_touch(uintptr_t addr, size_t len)
{
	uintptr_t at = addr & ~(uintptr_t)(RN_GPU_PAGE - 1);

	if (!rn_sanitize_is_on() || rn_san.options.level != RN_SANITIZE_ALL || !len ||
	    rn_gpu_is_forked() || rn_host_is_locked_by_me(rn_san.host))
		return;
	rn_host_lock(rn_san.host);
	for (; at < addr + len; at += RN_GPU_PAGE)
		if (page_of(at)->at == at)
			protect(page_of(at), false);
	rn_host_unlock(rn_san.host);
}

/* --------------------------------------------------------------- the fault */
/* The same address that is said to be open, over and over: it is not there. */
static bool is_stuck(uintptr_t addr)
{
	static __thread uintptr_t latest;
	static __thread unsigned times;

	times = addr == latest ? times + 1 : 0;
	latest = addr;
	return times > RETRIES_MAX;
}

/* @agent loads from, or stores to, @addr, which devices name @name. */
static bool meet(unsigned agent, uintptr_t addr, rn_iova name, bool may_retry)
{
	uintptr_t at = addr & ~(uintptr_t)(RN_GPU_PAGE - 1);
	bool is_locked = rn_host_is_locked_by_me(rn_san.host);
	bool was_closed;
	struct page *p;

	if (!is_locked)
		rn_host_lock(rn_san.host);
	p = page_of(at);
	was_closed = p->at == at && p->is_closed;
	if (was_closed)
		protect(p, false);
	if (was_closed && !is_locked && !rn_guard_is_store())
		rn_san_judge_load(agent, name);
	/* Another thread has opened it meanwhile? */
	may_retry = may_retry || p->at == at;
	if (!is_locked)
		rn_host_unlock(rn_san.host);
	return was_closed || (may_retry && !is_stuck(addr));
}

bool rn_sanitize_fault(uintptr_t addr)
{
	struct rn_gpu *gpu;
	uint64_t offset;
	char view;

	if (!rn_sanitize_is_on())
		return false;
	if (rn_gpu_is_forked()) { /* pages that were closed when it was copied */
		struct page *p = page_of(addr & ~(uintptr_t)(RN_GPU_PAGE - 1));
		bool was_closed = p->is_closed && addr - p->at < RN_GPU_PAGE;

		if (was_closed)
			protect(p, false);
		return was_closed;
	}
	gpu = rn_gpu_of(addr, &offset, &view);
	if (gpu && view == 'd')
		return meet(rn_gpu_agent(gpu), addr, (uintptr_t)gpu->bar + offset,
			    rn_gpu_find((const void *)addr, NULL) == 0);
	if (!gpu && rn_san.options.level == RN_SANITIZE_ALL)
		return meet(RN_AGENT_CPU, addr, addr, false);
	return false;
}
