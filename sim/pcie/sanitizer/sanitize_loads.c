/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_loads.c - checks plain loads and stores, which fault because their pages are
 * closed. A page is closed:
 *
 *	for loads of the CPU from GPU memory, while a write to the GPU or from it is in
 *		flight (../gpu/trap.c closes the pages)
 *	for loads of a kernel from the dev view of its GPU, while a covered write to the
 *		page is in flight
 *	for loads of the CPU from registered host memory (ROCIN_SANITIZE=all), while any
 *		write to the page is in flight
 *	for stores of the CPU to whole pages of a request's source (ROCIN_SANITIZE=all),
 *		until the request completes
 *
 * An access faults and is checked, and the page is opened for this instruction, which
 * reads what it would have read without the sanitizer. Before the simulation itself
 * accesses host memory, the pages are opened.
 *
 * If a thread has used up its single steps, all pages of the GPU are opened except those
 * to which covered writes are in flight. So an incorrect load is found however many
 * correct loads come before it.
 */
#include <stdlib.h>

#include "sanitize_internal.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "sim/pcie/host/host_internal.h"
#include "sim/pcie/page/page.h"
#include "transport/io/memory/mem_guard.h"

enum {
	/* Longest source buffer whose pages are made read-only, in bytes. */
	SOURCE_MAX = 64 * 1024,
};

/* Hash table of pages, with chaining. An entry without writes and sources may be reused
 * for another page. Entries are never freed, so a thread that faulted finds the page even
 * if another thread has opened the page since.
 */
static struct page {
	struct page *next;
	uintptr_t at; /* address in the dev view, or in host memory */
	unsigned writes, sources;
	enum rn_page_rights rights;
} pages[RN_SAN_HASHES];

unsigned rn_san_page_hash(uintptr_t at)
{
	return (at / RN_PAGE_SIZE * UINT64_C(0x9e3779b97f4a7c15) >> 40) % RN_SAN_HASHES;
}

static void protect_page(struct page *p, enum rn_page_rights wanted)
{
	enum rn_page_rights rights = rn_page_is_pinned(p->at) ? RN_PAGE_OPEN : wanted;

	if (p->rights != rights && rn_page_protect(p->at, p->at + RN_PAGE_SIZE, rights))
		p->rights = rights;
}

static void protect_again(struct page *p)
{
	if (p->writes)
		protect_page(p, RN_PAGE_CLOSED);
	else
		protect_page(p, p->sources ? RN_PAGE_READ_ONLY : RN_PAGE_OPEN);
}

/* Returns the entry of a page; NULL if it has none or its entry was reused. */
static struct page *page_of(uintptr_t at)
{
	struct page *p = &pages[rn_san_page_hash(at)];

	while (p && p->at != at)
		p = p->next;
	return p;
}

static bool is_free(const struct page *p)
{
	return p->writes == 0 && p->sources == 0 && p->rights == RN_PAGE_OPEN;
}

/* Takes an entry for a page that has none. Returns NULL if there is no memory; accesses
 * to this page are not checked then.
 */
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

/* Returns the entry whose count is to change, and makes it for a count that goes up. For
 * a count that goes down the entry exists already.
 */
static struct page *page_to_count(uintptr_t at, int change)
{
	struct page *p = page_of(at);

	return p || change < 0 ? p : add_page(at);
}

static void count_page(uintptr_t at, int change)
{
	struct page *p = page_to_count(at, change);

	if (!p || (change < 0 && p->writes == 0))
		return;
	p->writes += (unsigned)change;
	protect_again(p);
}

static void count_pages(uintptr_t addr, uint32_t len, int change)
{
	uintptr_t last = rn_page_down(addr + len - 1);
	uintptr_t at = rn_page_down(addr);

	for (; at <= last; at += RN_PAGE_SIZE)
		count_page(at, change);
}

/* Called after a single step: closes the page again if writes or sources still
 * demand that.
 */
static void close_page(void *arg, uintptr_t at)
{
	struct page *p = page_of(at);

	(void)arg;
	if (p)
		protect_again(p);
}

/* ------------------------------------------------------------- device view */
void rn_san_pages_covered(const struct rn_tlp *tlp, int change)
{
	struct rn_gpu *gpu;
	uint64_t offset;
	char view;

	if (!rn_agent_is_gpu(tlp->target))
		return;
	gpu = rn_gpu_of(tlp->addr, &offset, &view);
	/* Declared memory has no dev view, so its accesses are not checked here. */
	if (gpu && view == 'b')
		count_pages((uintptr_t)gpu->dev + offset, tlp->len, change);
	gpu = rn_gpu_opened((int)(tlp->target - RN_AGENT_GPU));
	if (gpu && change > 0)
		rn_trap_close_again(gpu);
}

/* ------------------------------------------------------------- host memory */
/* A range of registered memory. Only its whole pages are protected: no other data lies in
 * them, nor a stack that is in use.
 */
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
	r->lo = rn_page_up(addr);
	r->hi = rn_page_down(addr + len);
	rn_host_lock(rn_san.host);
	r->next = regions;
	regions = r;
	rn_host_unlock(rn_san.host);
}

/* Opens a page of a region that is being removed. Writes to the page that are still in
 * flight will be performed soon.
 */
static void forget_page(struct page *p)
{
	protect_page(p, RN_PAGE_OPEN);
	p->writes = p->sources = 0;
}

/* Calls @visit for each entry whose page lies in [lo, hi). */
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
		each_of_range(r->lo, r->hi, forget_page);
	}
	rn_host_unlock(rn_san.host);
	free(r);
}

static void count_host_pages(const struct rn_tlp *tlp, int change)
{
	const struct region *r = regions;

	if (tlp->kind != RN_TLP_WRITE || !(tlp->flags & RN_TLP_DATA) ||
	    tlp->target != RN_AGENT_CPU)
		return;
	while (r && (tlp->addr < r->lo || tlp->addr + tlp->len > r->hi))
		r = r->next;
	if (r)
		count_pages(tlp->addr, tlp->len, change);
}

/* Changes the count of sources of each whole page of @range, if these pages lie in
 * one region.
 */
static void count_sources(const struct rn_host_range *range, int change)
{
	uintptr_t at = rn_page_up(range->addr);
	uintptr_t end = rn_page_down(range->addr + range->len);
	const struct region *r = regions;

	if (at >= end || end - at > SOURCE_MAX)
		return;
	while (r && (at < r->lo || end > r->hi))
		r = r->next;
	for (; r && at < end; at += RN_PAGE_SIZE) {
		struct page *p = page_to_count(at, change);

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

static void open_host_pages(rn_iova addr, uint64_t len, bool to_store)
{
	uintptr_t at = rn_page_down(addr);

	for (; at < addr + len; at += RN_PAGE_SIZE) {
		struct page *p = page_of(at);

		if (p && (to_store || p->rights == RN_PAGE_CLOSED))
			protect_page(p, RN_PAGE_OPEN);
	}
}

static void host_issued(struct rn_host *h, const struct rn_tlp *tlp)
{
	(void)h;
	count_host_pages(tlp, 1);
}

static void host_performed(struct rn_host *h, const struct rn_tlp *tlp)
{
	(void)h;
	count_host_pages(tlp, -1);
}

static void host_touching(struct rn_host *h, rn_iova addr, uint64_t len, bool to_store)
{
	(void)h;
	open_host_pages(addr, len, to_store);
}

static bool is_in_a_region(uintptr_t lo, uintptr_t hi)
{
	const struct region *r = regions;

	while (r && (r->lo >= hi || lo >= r->hi))
		r = r->next;
	return r != NULL;
}

/* Implements rn_page_watcher.owner for host memory: returns an object if the range may be
 * registered memory.
 */
static void *host_memory(uintptr_t addr, size_t len)
{
	(void)addr;
	(void)len;
	return rn_san.options.level == RN_SANITIZE_ALL && !rn_host_is_forked() ? &regions
									       : NULL;
}

static bool open_for_call(void *owner, uintptr_t addr, size_t len)
{
	(void)owner;
	if (!is_in_a_region(rn_page_down(addr), rn_page_up(addr + len)))
		return false;
	open_host_pages(addr, len, true);
	return true;
}

/* Protects each page of the range that has an entry again. Walks the table or the range,
 * whichever is shorter.
 */
static void protect_range_again(void *owner, uintptr_t lo, uintptr_t hi)
{
	(void)owner;
	if ((hi - lo) / RN_PAGE_SIZE >= RN_SAN_HASHES) {
		each_of_range(lo, hi, protect_again);
		return;
	}
	for (; lo < hi; lo += RN_PAGE_SIZE)
		close_page(NULL, lo);
}

/* -------------------------------- faults on pages that this file closed */
/* Checks the access for which the page has been opened. Returns true if a store was
 * reported; the page need not be closed again then.
 */
static bool judge_access(unsigned agent, uintptr_t addr, rn_iova name,
			 const struct page *p)
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

/* Handles a fault of @agent at a load from or store to @addr; devices use the address
 * @name for the same byte. Returns true if the instruction is to run again.
 */
static bool meet_access(unsigned agent, uintptr_t addr, rn_iova name, bool may_retry)
{
	uintptr_t at = rn_page_down(addr);
	bool is_locked = rn_host_is_locked_by_me(rn_san.host);
	bool was_closed, stuck;
	struct page *p;

	if (!is_locked)
		rn_host_lock(rn_san.host);
	p = page_of(at);
	was_closed = p && p->rights != RN_PAGE_OPEN;
	stuck = rn_page_is_stuck(addr, was_closed);
	if (was_closed)
		protect_page(p, RN_PAGE_OPEN);
	if (was_closed && !is_locked && !judge_access(agent, addr, name, p))
		/* The step is necessary only for loads of a kernel. The CPU may poll host
		 * memory, and for bytes that it polls no completion was taken.
		 */
		(void)rn_page_step(at, close_page, NULL,
				   agent != RN_AGENT_CPU && p->writes > 0);
	/* If the page has an entry and is open, another thread has opened it since
	 * the fault.
	 */
	may_retry = may_retry || p != NULL;
	if (!is_locked)
		rn_host_unlock(rn_san.host);
	return was_closed || (may_retry && !stuck);
}

static bool meet_fault(uintptr_t addr)
{
	struct rn_gpu *gpu;
	uint64_t offset;
	char view;

	if (rn_host_is_forked())
		return false;
	gpu = rn_gpu_of(addr, &offset, &view);
	if (gpu && view == 'd')
		return meet_access(rn_gpu_agent(gpu), addr, (uintptr_t)gpu->bar + offset,
				   rn_gpu_find(gpu->dev + offset, NULL) == 0);
	if (!gpu && rn_san.options.level == RN_SANITIZE_ALL)
		return meet_access(RN_AGENT_CPU, addr, addr, false);
	return false;
}

enum {
	/* Room for the pages of all covered writes in flight. Writes that span pages are
	 * rare; if there is not enough room, some of these pages are opened nevertheless.
	 */
	COVERED_PAGES = 2 * RN_HOST_TLPS,
};

static uintptr_t covered_pages[COVERED_PAGES]; /* guarded by the host lock */

/* ------------------------------------------- sorting without allocation */
static void sift_down(unsigned at, unsigned count)
{
	for (unsigned child; (child = 2 * at + 1) < count; at = child) {
		uintptr_t moved = covered_pages[at];

		if (child + 1 < count && covered_pages[child + 1] > covered_pages[child])
			child++;
		if (moved >= covered_pages[child])
			return;
		covered_pages[at] = covered_pages[child];
		covered_pages[child] = moved;
	}
}

/* Sorts by heap sort. qsort() may call malloc(), and this runs in the SIGSEGV handler,
 * perhaps while the thread is inside malloc().
 */
static void sort_pages(unsigned count)
{
	for (unsigned i = count / 2; i-- > 0;)
		sift_down(i, count);
	while (count-- > 1) {
		uintptr_t most = covered_pages[0];

		covered_pages[0] = covered_pages[count];
		covered_pages[count] = most;
		sift_down(0, count);
	}
}

/* ------------------------------------------- loads of the CPU from a GPU */
static bool is_page_covered(uintptr_t page)
{
	return rn_san_is_covered(page, RN_PAGE_SIZE);
}

static void open_but_covered(struct rn_gpu *gpu, uintptr_t page)
{
	unsigned count =
		rn_san_covered_pages(rn_gpu_agent(gpu), covered_pages, COVERED_PAGES);
	unsigned kept = 0;

	sort_pages(count);
	for (unsigned i = 0; i < count; i++)
		if (covered_pages[i] != page &&
		    (kept == 0 || covered_pages[i] != covered_pages[kept - 1]))
			covered_pages[kept++] = covered_pages[i];
	rn_trap_open_but(gpu, covered_pages, kept);
}

/* Closes the page after a single step of the CPU. */
static void close_page_of_gpu(void *arg, uintptr_t page)
{
	struct rn_gpu *gpu = arg;

	if (gpu->trap.state == RN_TRAP_CLOSED ||
	    (gpu->trap.state == RN_TRAP_PARTLY && is_page_covered(page)))
		rn_trap_close_page(gpu, page);
}

/* Checks an access of the CPU to a closed page of @gpu at @addr. trap.c calls this in
 * the SIGSEGV handler, after the read TLP of this access has pushed the writes in front
 * of it.
 */
static void judge_cpu_load(struct rn_gpu *gpu, uintptr_t addr)
{
	uintptr_t page = rn_page_down(addr);

	if (!rn_guard_is_store())
		rn_san_judge_load(RN_AGENT_CPU, addr);
	if (gpu->trap.state == RN_TRAP_OPEN)
		return;
	if (rn_page_step(page, close_page_of_gpu, gpu, is_page_covered(page)) &&
	    rn_trap_open_page(gpu, page))
		return;
	open_but_covered(gpu, page);
}

/* ------------------------------------------------------------ fork, start */
static void open_page(struct page *p)
{
	protect_page(p, RN_PAGE_OPEN);
}

static void open_in_child(void)
{
	each_of_range(0, UINTPTR_MAX, open_page);
}

static bool is_on(void)
{
	return true;
}

void rn_san_loads_watch(void)
{
	static const struct rn_page_watcher watcher = { .is_on = is_on,
							.fault = meet_fault,
							.owner = host_memory,
							.pinned = open_for_call,
							.unpinned = protect_range_again,
							.in_child = open_in_child };
	static const struct rn_host_hooks hooks = { .issued = host_issued,
						    .performed = host_performed,
						    .touching = host_touching };

	if (rn_san.options.level == RN_SANITIZE_ALL)
		rn_host_add_hooks(rn_san.host, &hooks);
	rn_page_step_init();
	rn_trap_on_load(judge_cpu_load);
	rn_page_watch(rn_san.host, &watcher);
}
