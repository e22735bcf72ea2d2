/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_loads.c - checks plain loads and stores, which fault because their pages are
 * closed. A page is closed:
 *
 *	for loads of the CPU from GPU memory, while a write to the GPU or from it is
 *		pending (../gpu/trap.c closes the pages)
 *	for loads of a kernel from the dev view of its GPU, and for loads of the CPU from
 *		registered host memory, while a write to the page is pending in any class
 *		of machines
 *	while a load of the page may turn out to be one of a loop (sanitize_candidates.c)
 *	for stores of the CPU to whole pages of a request's source (ROCIN_SANITIZE=all),
 *		until the request completes
 *
 * An access to such a page faults and is checked. Then the page is opened for this one
 * instruction, which reads what it would have read without the sanitizer. While the
 * simulation itself accesses host memory, the pages are open.
 *
 * If no single steps are possible, because of the processor or a debugger, a page stays
 * open after the first load of it, and the pending writes to it count as seen by the
 * program.
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rocin/hash.h"
#include "sanitize_internal.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "sim/pcie/host/host_internal.h"
#include "sim/pcie/page/mappings.h"
#include "sim/pcie/page/page.h"
#include "transport/io/memory/mem_guard.h"
#include "transport/io/report/stacks.h"

enum {
	/* Longest source buffer whose pages are made read-only, in bytes. */
	SOURCE_MAX = 64 * 1024,
	/* THREAD_MAX: highest number of bytes that the C library is assumed to keep for a
	 * thread behind pthread_self(). TLS_MAX: highest distance in bytes from there to
	 * thread-local variables.
	 */
	THREAD_MAX = 4096,
	TLS_MAX = 1024 * 1024,
	STACK_SPARE = 1024 * 1024, /* bytes by which a stack may exceed its limit */
};

/* Hash table of pages, with chaining. An entry may be reused for another page if its page
 * has no pending writes and no source of a request lies in it. Entries are never freed.
 * So a thread that has faulted finds the entry of its page even if another thread has
 * opened the page since.
 */
static struct page {
	struct page *next;
	uintptr_t at; /* address in the dev view, or in host memory */
	unsigned writes, sources;
	enum rn_page_rights rights;
	/* The page is open for one access: of the simulation with the host lock held, or
	 * of an instruction of the program in a single step.
	 */
	bool is_lent;
} pages[RN_SAN_HASHES];

unsigned rn_san_page_hash(uintptr_t at)
{
	return (rn_hash_word(at / RN_PAGE_SIZE) >> 40) % RN_SAN_HASHES;
}

static void protect_page(struct page *p, enum rn_page_rights wanted)
{
	enum rn_page_rights rights = rn_page_is_pinned(p->at) ? RN_PAGE_OPEN : wanted;

	if (p->rights != rights && rn_page_protect(p->at, p->at + RN_PAGE_SIZE, rights))
		p->rights = rights;
}

static void protect_again(struct page *p)
{
	p->is_lent = false;
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

/* Takes an entry for a page that has none. Returns NULL if there is no memory; then
 * accesses to this page are not checked.
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

/* Returns the entry of a page, one of whose counts the caller is about to change by
 * @change. If there is none and @change is positive, makes one; returns NULL if there is
 * no memory. If @change is negative, there is an entry.
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

/* Called after a single step. Closes the page again if a write to it is still pending, or
 * if a source buffer in it must still not change.
 */
static void close_page(void *arg, uintptr_t at)
{
	struct page *p = page_of(at);

	(void)arg;
	if (p)
		protect_again(p);
}

/* -------------------------------------------------- registered host memory */
/* A range of registered memory, enlarged to whole pages. Other data of the program may
 * lie in its first and last page. If the memory is on a stack or among thread-local
 * variables, only the pages that lie in it entirely are watched.
 */
static struct region {
	struct region *next;
	const struct rn_host_nic *nic;
	uint32_t key;
	bool is_used;
	/* Other processes can access the memory, too. The sanitizer does not see their
	 * loads.
	 */
	bool is_shared;
	_Atomic uintptr_t lo, hi; /* equal if the region is not used */
	/* Regions are never freed, because wrappers of system calls search the list
	 * without the lock.
	 */
} * _Atomic regions;

/* Returns true if this is the first thread of the process, and the page is farther from
 * its stack than the stack may grow. The top of this stack is known approximately: the
 * kernel has placed random bytes there, whose address is AT_RANDOM. pthread_getattr_np()
 * would tell exactly where the stack is, but it reads all mappings of the process.
 */
static bool is_far_from_stack(uintptr_t page)
{
	uintptr_t top = getauxval(AT_RANDOM);
	uintptr_t distance = page > top ? page - top : top - page;
	struct rlimit limit;

	return getpid() == gettid() && top && getrlimit(RLIMIT_STACK, &limit) == 0 &&
	       limit.rlim_cur < distance && distance - limit.rlim_cur > STACK_SPARE;
}

/* Returns true if the page lies in the stack of this thread. Such a page must not be
 * closed: the kernel could not call a signal handler in this thread.
 */
static bool is_on_stack(uintptr_t page)
{
	pthread_attr_t attr;
	void *stack;
	size_t size;

	if (is_far_from_stack(page))
		return false;
	if (pthread_getattr_np(pthread_self(), &attr))
		return true;
	pthread_attr_getstack(&attr, &stack, &size);
	pthread_attr_destroy(&attr);
	return page - rn_page_down((uintptr_t)stack) < size + RN_PAGE_SIZE;
}

/* The address range of this thread's thread-local variables. */
struct thread_locals {
	uintptr_t lo, hi;
};

/* Adds the thread-local variables of one library to the range, if they lie near it. Those
 * of a library that was loaded later may lie elsewhere.
 */
static int add_variables(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)info->dlpi_tls_data;
	struct thread_locals *t = arg;

	(void)size;
	if (!at || at + TLS_MAX < t->hi || at > t->lo + TLS_MAX)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS &&
		    at + info->dlpi_phdr[i].p_memsz > t->hi)
			t->hi = at + info->dlpi_phdr[i].p_memsz;
	if (at < t->lo)
		t->lo = at;
	return 0;
}

/* Returns true if thread-local variables of this thread lie in the page. Such a page must
 * not be closed: the SIGSEGV handler uses some of these variables before it can open a
 * page.
 */
static bool is_thread_local(uintptr_t page)
{
	uintptr_t self = (uintptr_t)pthread_self();
	struct thread_locals t = { .lo = self, .hi = self + THREAD_MAX };

	dl_iterate_phdr(add_variables, &t);
	return page >= rn_page_down(t.lo) && page < t.hi;
}

static void set_bounds(struct region *r, uintptr_t addr, uint64_t len)
{
	uintptr_t page = rn_page_down(addr);
	bool is_whole = is_on_stack(page) || is_thread_local(page) ||
			is_thread_local(rn_page_down(addr + len - 1));

	r->lo = is_whole ? rn_page_up(addr) : rn_page_down(addr);
	r->hi = is_whole ? rn_page_down(addr + len) : rn_page_up(addr + len);
}

/* Returns an unused entry for a region. Returns NULL if there is no memory; then the
 * region is not watched.
 */
static struct region *take_region(void)
{
	struct region *r = regions;

	while (r && r->is_used)
		r = r->next;
	if (!r) {
		r = calloc(1, sizeof(*r));
		if (!r)
			return NULL;
		r->next = regions;
		regions = r;
	}
	r->is_used = true;
	return r;
}

/* Returns true if a part of the range is a shared mapping. Returns false if it is not, or
 * if the list of mappings cannot be read.
 */
static bool is_shared_memory(uintptr_t lo, uintptr_t hi)
{
	FILE *maps = rn_mappings_open();
	struct rn_mapping m;
	bool is_shared = false;

	while (maps && !is_shared && rn_mappings_next(maps, &m))
		is_shared = m.rights[3] == 's' && m.lo < hi && lo < m.hi;
	if (maps)
		fclose(maps);
	return is_shared;
}

void rn_sanitize_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			    uint64_t len)
{
	struct region *r;
	bool is_shared;

	if (!rn_sanitize_is_on())
		return;
	/* If two processes share memory and wait for each other's writes, a withheld
	 * write could make both wait for ever. With RN_SANITIZE_SILENT this must not
	 * happen, so it is noted here whether the memory is shared. When the sanitizer
	 * reports, only the accesses of this process matter.
	 */
	is_shared = rn_san.options.level == RN_SANITIZE_SILENT &&
		    is_shared_memory(addr, addr + len);
	rn_host_lock(rn_san.host);
	r = take_region();
	if (r) {
		r->is_shared = is_shared;
		r->nic = nic;
		r->key = key;
		set_bounds(r, addr, len);
	}
	rn_host_unlock(rn_san.host);
}

static const struct region *region_of(uintptr_t lo, uintptr_t hi)
{
	const struct region *r = regions;

	while (r && (lo < r->lo || hi > r->hi))
		r = r->next;
	return r;
}

/* Called for each page of a region that is being removed: opens the page. Writes in
 * flight to the page are performed soon, so they need not be counted any more.
 */
static void forget_page(struct page *p)
{
	protect_page(p, RN_PAGE_OPEN);
	p->writes = p->sources = 0;
}

/* Calls @visit for each entry whose page lies in [lo, hi). Looks up each page of the
 * range, or goes through the whole table if that has fewer entries.
 */
static void each_of_range(uintptr_t lo, uintptr_t hi, void (*visit)(struct page *p))
{
	struct page *found;

	if ((hi - lo) / RN_PAGE_SIZE < RN_SAN_HASHES) {
		for (; lo < hi; lo += RN_PAGE_SIZE)
			if ((found = page_of(lo)))
				visit(found);
		return;
	}
	for (unsigned i = 0; i < RN_SAN_HASHES; i++)
		for (struct page *p = &pages[i]; p; p = p->next)
			if (p->at >= lo && p->at < hi)
				visit(p);
}

void rn_sanitize_region_remove(const struct rn_host_nic *nic, uint32_t key)
{
	struct region *r = regions;

	if (!rn_sanitize_is_on())
		return;
	rn_host_lock(rn_san.host);
	while (r && (!r->is_used || r->nic != nic || r->key != key))
		r = r->next;
	if (r) {
		rn_san_candidates_confirm();
		rn_san_event("the end of its region");
		rn_san_class_seen(r->lo, r->hi - r->lo);
		each_of_range(r->lo, r->hi, forget_page);
		r->hi = r->lo;
		r->is_used = false;
	}
	rn_host_unlock(rn_san.host);
}

/* Changes the number of source buffers of each page that lies entirely in @range by
 * @change. Does nothing unless these pages lie in one region.
 */
static void count_sources(const struct rn_host_range *range, int change)
{
	uintptr_t at = rn_page_up(range->addr);
	uintptr_t end = rn_page_down(range->addr + range->len);

	if (at >= end || end - at > SOURCE_MAX || !region_of(at, end))
		return;
	for (; at < end; at += RN_PAGE_SIZE) {
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
	/* This puts the library's SIGSEGV handler in front again, in case the program has
	 * set one by a bare system call. Stores to the pages are to fault from now on.
	 */
	if (hold)
		(void)rn_guard_install();
	for (unsigned i = 0; i < wr->range_count; i++)
		count_sources(&wr->range[i], hold ? 1 : -1);
}

static void open_host_pages(rn_iova addr, uint64_t len, bool to_store)
{
	uintptr_t at = rn_page_down(addr);

	for (; at < addr + len; at += RN_PAGE_SIZE) {
		struct page *p = page_of(at);

		if (!p || (!to_store && p->rights != RN_PAGE_CLOSED))
			continue;
		p->is_lent = p->rights == RN_PAGE_CLOSED;
		protect_page(p, RN_PAGE_OPEN);
	}
}

/* Called when a single step is over for which this page was opened. */
static void end_step(void *arg, uintptr_t at)
{
	rn_san_candidate_ran(at);
	close_page(arg, at);
}

static bool is_any_closed(rn_iova addr, uint64_t len, bool to_store)
{
	for (uintptr_t at = rn_page_down(addr); at < addr + len; at += RN_PAGE_SIZE) {
		const struct page *p = page_of(at);

		if (p && (p->rights == RN_PAGE_CLOSED || (to_store && p->rights)))
			return true;
	}
	return false;
}

/* Called when the simulation is about to access the range. Stores the withheld bytes
 * first, unless the access is a read that must get the bytes from before the withheld
 * writes (rn_san.old_read).
 */
static void land_for_access(rn_iova addr, uint64_t len, bool to_store)
{
	if (to_store || !rn_san.old_read.len || addr != rn_san.old_read.addr ||
	    len > rn_san.old_read.len)
		rn_san_withheld_land(addr, len);
}

/* Accesses closed pages through /proc/self/mem without opening them: the kernel lets a
 * process write to its own private memory whatever the protection. If the pages were
 * opened instead, accesses of other threads would be missed meanwhile. The file is opened
 * for each access, because the program may close descriptors that it has not opened.
 * Returns false if the kernel refuses the access; then the caller must open the pages for
 * it.
 */
static bool access_closed(struct rn_host *h, rn_iova addr, void *bytes, uint32_t len,
			  bool to_store)
{
	long fd, n;

	(void)h;
	land_for_access(addr, len, to_store);
	if (!is_any_closed(addr, len, to_store))
		return false;
	fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = to_store ? syscall(SYS_pwrite64, fd, bytes, (size_t)len, (off_t)addr)
		     : syscall(SYS_pread64, fd, bytes, (size_t)len, (off_t)addr);
	syscall(SYS_close, fd);
	return n == (long)len;
}

/* Returns true if the byte is in a page that this file has closed and that is still
 * mapped.
 */
static bool is_closed(struct rn_host *h, rn_iova addr)
{
	uintptr_t at = rn_page_down(addr);
	const struct page *p = page_of(at);
	unsigned char is_resident;

	(void)h;
	return p && p->rights != RN_PAGE_OPEN &&
	       // NOLINTNEXTLINE(performance-no-int-to-ptr)
	       mincore((void *)at, RN_PAGE_SIZE, &is_resident) == 0;
}

static void host_touching(struct rn_host *h, rn_iova addr, uint64_t len, bool to_store)
{
	(void)h;
	land_for_access(addr, len, to_store);
	open_host_pages(addr, len, to_store);
}

static void host_touched(struct rn_host *h, rn_iova addr, uint64_t len)
{
	(void)h;
	for (uintptr_t at = rn_page_down(addr); at < addr + len; at += RN_PAGE_SIZE)
		close_page(NULL, at);
}

/* ------------------------------------------- pages with pending writes */
/* @addr is the address of a byte as devices use it. Returns the page by which the program
 * reads this byte: a page of registered host memory, or of the dev view of a GPU. Returns
 * 0 if this file does not close that page.
 */
static uintptr_t page_that_shows(unsigned target, rn_iova addr, struct rn_gpu **gpu)
{
	uintptr_t page = rn_page_down(addr);
	uint64_t offset;
	char view;

	*gpu = NULL;
	if (target == RN_AGENT_CPU)
		return region_of(page, page + RN_PAGE_SIZE) ? page : 0;
	if (!rn_agent_is_gpu(target))
		return 0;
	*gpu = rn_gpu_of(addr, &offset, &view);
	if (*gpu && view == 'b')
		return rn_page_down((uintptr_t)(*gpu)->dev + offset);
	/* Kernels access declared memory directly, not through the dev view. The
	 * sanitizer does not see their loads.
	 */
	*gpu = rn_gpu_opened((int)(target - RN_AGENT_GPU));
	return 0;
}

void rn_san_pages_pending(const struct rn_tlp *tlp, rn_iova addr, uint64_t len,
			  int change)
{
	struct rn_gpu *gpu = NULL;

	if (tlp->flags & (RN_TLP_CQE | RN_TLP_BELL) ||
	    (tlp->target == RN_AGENT_CPU && !rn_san_is_judged(tlp)))
		return;
	for (rn_iova at = rn_page_down(addr); at < addr + len; at += RN_PAGE_SIZE) {
		uintptr_t page =
			page_that_shows(tlp->target, at < addr ? addr : at, &gpu);

		if (page)
			count_page(page, change);
		rn_trap_count(gpu, change);
	}
}

void rn_san_page_watch(rn_iova addr, int change)
{
	const struct rn_host_region *r = rn_host_region_of(rn_san.host, addr);
	struct rn_gpu *gpu;
	uintptr_t page = page_that_shows(r ? r->target : RN_AGENT_CPU, addr, &gpu);

	if (page)
		count_page(page, change);
	rn_trap_count(gpu, change);
}

static bool is_page_watched(uintptr_t page)
{
	const struct page *p = page_of(page);

	return p && (p->rights == RN_PAGE_CLOSED || p->is_lent);
}

bool rn_san_is_stepping(const struct rn_tlp *tlp)
{
	struct rn_gpu *gpu;
	uintptr_t page = page_that_shows(tlp->target, tlp->addr, &gpu);
	const struct page *p = page ? page_of(page) : NULL;

	return p && p->is_lent;
}

uint64_t rn_san_page_number(unsigned target, rn_iova addr)
{
	uintptr_t page = rn_page_down(addr);
	struct rn_gpu_where where;
	const struct region *r;

	if (rn_agent_is_gpu(target))
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		return rn_gpu_find((const void *)(uintptr_t)addr, &where)
			       ? 0
			       : where.offset / RN_PAGE_SIZE;
	r = region_of(page, page + RN_PAGE_SIZE);
	return r ? (page - r->lo) / RN_PAGE_SIZE : 0;
}

static bool is_shared_page(uintptr_t page)
{
	const struct region *r = region_of(page, page + RN_PAGE_SIZE);

	return r && r->is_shared;
}

bool rn_san_is_watched(const struct rn_tlp *tlp)
{
	struct rn_gpu *gpu;
	rn_iova at = rn_page_down(tlp->addr);
	bool is_watched = true;

	for (; at < tlp->addr + tlp->len && is_watched; at += RN_PAGE_SIZE) {
		uintptr_t page = page_that_shows(tlp->target,
						 at < tlp->addr ? tlp->addr : at, &gpu);

		is_watched = page && is_page_watched(page) && !is_shared_page(page) &&
			     (!gpu || !gpu->trap.is_active ||
			      gpu->trap.state == RN_TRAP_CLOSED);
	}
	return is_watched;
}

/* --------------------------------------- system calls that use host memory */
static bool is_in_a_region(uintptr_t lo, uintptr_t hi)
{
	const struct region *r = regions;

	while (r && (r->lo >= hi || lo >= r->hi))
		r = r->next;
	return r != NULL;
}

/* Implements rn_page_watcher.owner for host memory: returns a pointer other than NULL if
 * the range may be registered memory.
 */
static void *host_memory(uintptr_t addr, size_t len)
{
	return rn_host_is_forked() ||
			       !is_in_a_region(rn_page_down(addr), rn_page_up(addr + len))
		       ? NULL
		       : &regions;
}

static bool open_for_call(void *owner, uintptr_t addr, size_t len)
{
	(void)owner;
	open_host_pages(addr, len, true);
	return true;
}

static void protect_range_again(void *owner, uintptr_t lo, uintptr_t hi)
{
	(void)owner;
	each_of_range(lo, hi, protect_again);
}

/* -------------------------------- faults on pages that this file closed */
/* Checks the access for which the page was opened. Returns true if it was a store that
 * has been reported. The page then need not be closed again.
 */
static bool judge_access(unsigned agent, uintptr_t addr, rn_iova name,
			 const struct page *p)
{
	struct rn_san_wr *wr;
	struct rn_san_qp *q;

	if (!rn_guard_is_store()) {
		rn_san_judge_load(agent, name, addr);
		return false;
	}
	wr = p->sources ? rn_san_wr_holding(addr, &q) : NULL;
	if (!wr)
		return false;
	wr->has_digest = false;
	rn_san_report_source(q, wr, rn_stacks_take());
	return true;
}

/* Handles a fault of @agent at a load from or store to @addr. @name: the address by which
 * devices use the same byte. @may_retry: the instruction may run again even if the page
 * is not one of this file. Returns true if the instruction is to run again.
 */
static bool meet_access(unsigned agent, uintptr_t addr, rn_iova name, bool may_retry)
{
	uintptr_t at = rn_page_down(addr);
	bool is_locked = rn_host_is_locked_by_me(rn_san.host);
	bool was_closed, is_opened, stuck;
	struct page *p;

	if (!is_locked)
		rn_host_lock(rn_san.host);
	p = page_of(at);
	was_closed = p && p->rights != RN_PAGE_OPEN;
	if (was_closed && !is_locked && !judge_access(agent, addr, name, p) &&
	    p->rights != RN_PAGE_OPEN) {
		p->is_lent = rn_page_step(at, end_step, NULL);
		if (!p->is_lent)
			rn_san_give_up(rn_page_down(name));
	}
	if (was_closed)
		protect_page(p, RN_PAGE_OPEN);
	/* A page that the program has unmapped meanwhile stays closed. */
	is_opened = was_closed && p->rights == RN_PAGE_OPEN;
	stuck = rn_page_is_stuck(addr, is_opened);
	/* The page has an entry but was open, so another thread has opened it since the
	 * fault, and the instruction must run again.
	 */
	may_retry = may_retry || p != NULL;
	if (!is_locked)
		rn_host_unlock(rn_san.host);
	return is_opened || (may_retry && !stuck);
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
	if (!gpu)
		return meet_access(RN_AGENT_CPU, addr, addr, false);
	return false;
}

/* ------------------------------------------- loads of the CPU from a GPU */
/* Called after a single step of the CPU. Closes the page again if the pages of the GPU
 * are to be closed.
 */
static void close_page_of_gpu(void *arg, uintptr_t page)
{
	struct rn_gpu *gpu = arg;

	rn_san_candidate_ran(page);
	if (gpu->trap.state == RN_TRAP_CLOSED)
		rn_trap_close_page(gpu, page);
}

/* Called by trap.c in the SIGSEGV handler, when the CPU has accessed a closed page of
 * @gpu at @addr and the read TLP of this access has pushed the writes in front of it.
 * Checks whether the access came too early. If no write to the page is pending, the page
 * stays open until the next event: another read would push nothing more.
 */
static void judge_cpu_load(struct rn_gpu *gpu, uintptr_t addr)
{
	uintptr_t page = rn_page_down(addr);

	if (!rn_guard_is_store())
		rn_san_judge_load(RN_AGENT_CPU, addr, addr);
	if (gpu->trap.state == RN_TRAP_OPEN)
		return;
	if (rn_san_is_page_pending(page) && !rn_page_step(page, close_page_of_gpu, gpu))
		rn_san_give_up(page);
	if (!rn_trap_open_page(gpu, page))
		rn_trap_open(gpu);
}

/* --------------------------------------------- child of fork(), and start */
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
	static const struct rn_host_hooks hooks = { .access = access_closed,
						    .is_closed = is_closed,
						    .touching = host_touching,
						    .touched = host_touched };

	rn_host_add_hooks(rn_san.host, &hooks);
	rn_page_step_init(rn_san_candidate_executed);
	rn_trap_on_load(judge_cpu_load);
	rn_page_watch(rn_san.host, &watcher);
}
