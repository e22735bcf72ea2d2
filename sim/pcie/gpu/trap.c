/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trap.c - turns a plain load of the CPU from device memory into a PCIe read.
 *
 * While a TLP in flight writes to a GPU's memory or was issued by the GPU, all pages of
 * the CPU's view of this memory are closed (PROT_NONE). A load or store then faults; the
 * SIGSEGV handler performs a read TLP and opens the pages. A PCIe read pushes the writes
 * in front of it in the same queues, and its completion pushes the writes that the GPU
 * has sent, so it matters little which byte is read. Writes that the read does not push,
 * because they take another route or have not reached a queue that the read uses, stay in
 * flight. The next event of this GPU closes the pages again, because the next access may
 * push more writes. A plain store takes effect at once when the pages are open. It does
 * not overtake a write that it must not overtake, because the fault has pushed that write
 * before.
 *
 * The state of a GPU's pages:
 *
 * on_way	state
 * 0	OPEN	there is nothing that an access could push
 * > 0	CLOSED	an access faults and pushes
 * > 0	OPEN	after an access that could not push everything, until the next event: a
 *		write is issued or performed, or comes to the queue of the CPU's TLPs
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu_internal.h"
#include "transport/io/memory/mem_guard.h"

/* ---------------------------------------------------- protection of pages */
static bool is_watched(const struct rn_gpu *gpu)
{
	return atomic_load_explicit(&gpu->trap.is_active, memory_order_acquire);
}

static void set_open(uintptr_t lo, uintptr_t hi)
{
	if (!rn_page_protect(lo, hi, RN_PAGE_OPEN))
		atomic_fetch_add(&rn_gpu_counts.not_closed, 1);
}

static void open_addresses(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi)
{
	(void)gpu;
	set_open(lo, hi);
}

/* Closes the pages [lo, hi), except those that system calls use at the moment. Also drops
 * their page table entries by madvise(), which loses no data, because the pages are
 * shared memory. Without page table entries the next mprotect() is fast: the time that it
 * takes depends on the number of pages touched since, not on the number ever touched.
 */
static void close_addresses(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi)
{
	(void)gpu;
	if (!rn_page_protect(lo, hi, RN_PAGE_CLOSED))
		atomic_fetch_add(&rn_gpu_counts.not_closed, 1);
	madvise(rn_gpu_pointer(lo), hi - lo, MADV_DONTNEED);
}

static void each_declared(struct rn_gpu *gpu,
			  void (*visit)(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi))
{
	for (struct rn_declared *d = gpu->trap.declared; d; d = d->next_of_gpu)
		visit(gpu, d->region.addr, d->region.addr + d->region.len);
}

static void open_pages(struct rn_gpu *gpu)
{
	gpu->trap.state = RN_TRAP_OPEN;
	rn_gpu_each_in_bar(gpu, open_addresses);
	each_declared(gpu, open_addresses);
}

/* Closes the CPU's view of the GPU from its start to the highest allocation by one call.
 * The call includes the gaps between allocations, which are closed already.
 */
static void close_pages(struct rn_gpu *gpu)
{
	/* The program may have installed a SIGSEGV handler since the last call. This puts
	 * the library's handler in front of it again.
	 */
	(void)rn_guard_install();
	gpu->trap.state = RN_TRAP_CLOSED;
	gpu->trap.has_stepped = false;
	close_addresses(gpu, (uintptr_t)gpu->bar, (uintptr_t)gpu->bar + gpu->high);
	each_declared(gpu, close_addresses);
	atomic_fetch_add(&rn_gpu_counts.closings, 1);
}

void rn_trap_refresh(struct rn_gpu *gpu)
{
	if (gpu->trap.state == RN_TRAP_OPEN)
		open_pages(gpu);
	else
		close_pages(gpu);
}

/* ---------------------------------------- events that open and close pages */
static struct rn_gpu *gpu_of_agent(unsigned agent)
{
	return rn_agent_is_gpu(agent) ? rn_gpu_opened((int)(agent - RN_AGENT_GPU)) : NULL;
}

void rn_trap_count(struct rn_gpu *gpu, int change)
{
	struct rn_trap_space *t;

	if (!gpu || !is_watched(gpu))
		return;
	t = &gpu->trap;
	assert(change > 0 || t->on_way > 0);
	t->on_way += (unsigned)change;
	if (t->on_way > 0)
		rn_trap_close_again(gpu);
	else if (t->state != RN_TRAP_OPEN)
		open_pages(gpu);
}

static void count_tlp(const struct rn_tlp *tlp, int change)
{
	if (tlp->kind != RN_TLP_WRITE || tlp->flags & RN_TLP_BELL)
		return;
	rn_trap_count(gpu_of_agent(tlp->target), change);
	rn_trap_count(gpu_of_agent(tlp->requester), change);
}

static void tlp_issued(struct rn_host *h, const struct rn_tlp *tlp)
{
	(void)h;
	count_tlp(tlp, 1);
}

static void tlp_performed(struct rn_host *h, const struct rn_tlp *tlp)
{
	(void)h;
	count_tlp(tlp, -1);
}

void rn_trap_close_again(struct rn_gpu *gpu)
{
	const struct rn_trap_space *t = &gpu->trap;

	if (t->on_way > 0 && (t->state != RN_TRAP_CLOSED || t->has_stepped))
		close_pages(gpu);
}

/* Called when a write moves into the queue that TLPs from the CPU to the GPU use, too.
 * The next access of the CPU would push this write, so the access must fault: closes the
 * pages again.
 */
static void tlp_moving(struct rn_host *h, const struct rn_tlp *tlp)
{
	unsigned next = tlp->hop + 1;
	struct rn_gpu *gpu;

	(void)h;
	if (tlp->kind != RN_TLP_WRITE || next >= tlp->route.hops ||
	    tlp->route.queue[next] != RN_QUEUE_DOWN + tlp->target)
		return;
	gpu = gpu_of_agent(tlp->target);
	if (gpu && is_watched(gpu))
		rn_trap_close_again(gpu);
}

/* ----------------------------------------------------- handling of a fault */
/* Returns the GPU whose memory the CPU accesses at @addr, or NULL. */
static struct rn_gpu *gpu_named(uintptr_t addr)
{
	uint64_t offset;
	char view;
	struct rn_gpu *gpu = rn_gpu_of(addr, &offset, &view);

	if (!gpu)
		return rn_declared_of(addr);
	return view == 'b' && rn_gpu_is_in_bar(gpu, offset) ? gpu : NULL;
}

struct rn_tlp rn_gpu_flush_tlp(const struct rn_gpu *gpu)
{
	return (struct rn_tlp){
		.kind = RN_TLP_READ,
		.flags = RN_TLP_FLUSH,
		.requester = RN_AGENT_CPU,
		.target = (uint8_t)rn_gpu_agent(gpu),
		.addr = (uintptr_t)gpu->bar,
		.len = sizeof(uint64_t),
	};
}

void rn_gpu_read_flush(struct rn_gpu *gpu)
{
	struct rn_guard *outer = rn_guard_thread.current;
	struct rn_tlp tlp = rn_gpu_flush_tlp(gpu);
	uint64_t sink;

	rn_host_ask(gpu->host, &tlp, &sink);
	rn_guard_thread.current = outer;
}

/* Forces the TLPs that are still in the queue of TLPs from the CPU to this GPU. When the
 * read was issued, the driver may have moved some TLPs into this queue behind the read,
 * which did not push them. A store of the CPU takes effect at once, and would overtake
 * them.
 */
static void empty_way_of_cpu(struct rn_gpu *gpu)
{
	unsigned queue = RN_QUEUE_DOWN + rn_gpu_agent(gpu), index;

	if (rn_host_knobs(gpu->host)->gpu_link == RN_GPU_C2C)
		return;
	while ((index = rn_fabric_first(rn_host_fabric(gpu->host), queue)) != RN_TLP_NONE)
		rn_host_force(gpu->host, index);
}

static void push_by_read(struct rn_gpu *gpu)
{
	rn_gpu_read_flush(gpu);
	empty_way_of_cpu(gpu);
}

static void (*on_load)(struct rn_gpu *gpu, uintptr_t addr);

void rn_trap_on_load(void (*fn)(struct rn_gpu *gpu, uintptr_t addr))
{
	on_load = fn;
}

/* Handles a load or store of the program to a closed page. Called with the host
 * lock held.
 */
static void meet_access(struct rn_gpu *gpu, uintptr_t addr)
{
	push_by_read(gpu);
	if (on_load)
		on_load(gpu, addr);
	else if (gpu->trap.state != RN_TRAP_OPEN)
		open_pages(gpu);
	atomic_fetch_add(&rn_gpu_counts.loads_trapped, 1);
}

/* Returns true if the trap may close the page. Returns false for declared memory whose
 * pages could not be replaced by those of a memfd.
 */
static bool is_watched_page(const struct rn_gpu *gpu, uintptr_t addr)
{
	const struct rn_host_region *r = rn_host_region_of(gpu->host, addr);

	return r && r->target == rn_gpu_agent(gpu) && r->shift;
}

bool rn_trap_open_page(struct rn_gpu *gpu, uintptr_t page)
{
	if (!is_watched_page(gpu, page) ||
	    !rn_page_protect(page, page + RN_GPU_PAGE, RN_PAGE_OPEN))
		return false;
	gpu->trap.has_stepped = true;
	return true;
}

void rn_trap_open(struct rn_gpu *gpu)
{
	open_pages(gpu);
}

void rn_trap_close_page(struct rn_gpu *gpu, uintptr_t page)
{
	if (is_watched_page(gpu, page))
		close_addresses(gpu, page, page + RN_GPU_PAGE);
}

static bool meet_fault(uintptr_t addr)
{
	struct rn_gpu *gpu;
	bool is_met, is_stuck;

	if (rn_gpu_is_forked())
		return false;
	gpu = gpu_named(addr);
	if (!gpu || !is_watched(gpu)) {
		rn_gpu_report_fault(addr);
		return false;
	}
	if (rn_host_is_locked_by_me(gpu->host)) {
		if (gpu->trap.state != RN_TRAP_OPEN &&
		    !rn_trap_open_page(gpu, rn_page_down(addr)))
			open_pages(gpu);
		return !rn_page_is_stuck(addr, false);
	}
	rn_host_lock(gpu->host);
	is_met = gpu->trap.state != RN_TRAP_OPEN && is_watched_page(gpu, addr);
	if (is_met)
		meet_access(gpu, addr);
	rn_host_unlock(gpu->host);
	is_stuck = rn_page_is_stuck(addr, is_met);
	return is_met || !is_stuck;
}

/* ----------------------------------- system calls that use the GPU's pages */
static _Atomic bool is_any; /* accesses of the CPU to at least one GPU are trapped */

static bool is_on(void)
{
	return atomic_load_explicit(&is_any, memory_order_relaxed);
}

/* Implements rn_page_watcher.owner: returns the GPU in whose memory [at, at + len) begins
 * or ends.
 */
static void *find_gpu(uintptr_t at, size_t len)
{
	struct rn_gpu *gpu;

	if (rn_gpu_is_forked())
		return NULL;
	gpu = gpu_named(at);
	if (!gpu)
		gpu = gpu_named(at + len - 1);
	return gpu && is_watched(gpu) ? gpu : NULL;
}

static bool push_for_call(void *owner, uintptr_t at, size_t len)
{
	struct rn_gpu *gpu = owner;

	(void)at;
	(void)len;
	if (gpu->trap.state != RN_TRAP_OPEN) {
		atomic_fetch_add(&rn_gpu_counts.syscalls_opened, 1);
		push_by_read(gpu);
		open_pages(gpu);
	}
	/* If writes are in flight, closes the pages again, except those that another
	 * system call uses, so that the next load of the CPU faults.
	 */
	if (gpu->trap.on_way)
		close_pages(gpu);
	return true;
}

static void close_after_call(void *owner, uintptr_t lo, uintptr_t hi)
{
	struct rn_gpu *gpu = owner;

	(void)lo;
	(void)hi;
	if (gpu->trap.state != RN_TRAP_OPEN)
		close_pages(gpu);
}

/* ----------------------------------- opening of pages in a child of fork() */
static void open_range(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi)
{
	(void)gpu;
	(void)rn_page_protect(lo, hi, RN_PAGE_OPEN);
}

/* Opens declared memory only: a child of fork() has no mapping of the views of GPUs. */
static void open_in_child(void)
{
	for (int i = 0; i < RN_GPU_MAX; i++) {
		struct rn_gpu *gpu = rn_gpu_opened(i);

		if (gpu)
			each_declared(gpu, open_range);
	}
}

/* ------------------------ registration of a GPU whose accesses are trapped */
void rn_trap_add(struct rn_host *h, struct rn_gpu *gpu)
{
	static const struct rn_host_hooks hooks = { .issued = tlp_issued,
						    .performed = tlp_performed,
						    .moving = tlp_moving };
	static const struct rn_page_watcher watcher = { .is_on = is_on,
							.fault = meet_fault,
							.owner = find_gpu,
							.pinned = push_for_call,
							.unpinned = close_after_call,
							.in_child = open_in_child };
	const char *trap = getenv("ROCIN_PCIE_TRAP");

	rn_host_lock(h);
	rn_page_watch(h, &watcher);
	if (!trap || strcmp(trap, "off") != 0) {
		if (!is_on())
			rn_host_add_hooks(h, &hooks);
		/* @on_way counts TLPs only from now on, so those that are in flight
		 * already must be performed first.
		 */
		rn_host_force_all(h);
		atomic_store(&gpu->trap.is_active, true);
		atomic_store(&is_any, true);
	}
	rn_host_unlock(h);
}
