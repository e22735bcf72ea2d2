/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_internal.h - a simulated GPU: its storage, its views, and which memory is its own.
 *
 * gpu.c	the GPUs of this process, attributes, counters
 * gpu_memory.c	allocations, dma-buf descriptors, registrations, reports of faults
 * gpu_access.c	accesses of kernels, explicit MMIO of the CPU, flushes, waits
 * trap.c	plain loads and stores of the CPU
 * declare.c	rules by which registered memory is a GPU's
 * declared.c	the memory that these rules have declared
 *
 * view	used by				closed (PROT_NONE) where
 * bar	the CPU, and NICs as addresses	nothing is allocated, or by trap.c
 * dev	kernels				nothing is allocated, or by the sanitizer
 * engine	the hierarchy, to perform TLPs	nothing is allocated
 *
 * All three views map one memfd. A write that is still on its way is visible in none of
 * them.
 *
 * Locks: the host lock guards regions and struct rn_trap_space. The extents have a lock
 * of their own, which may be taken while the host lock is held, since a fault may have to
 * be explained then. Code that holds the lock of the extents touches no memory that can
 * fault.
 */
#ifndef RN_GPU_INTERNAL_H
#define RN_GPU_INTERNAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "rocin/gpu.h"
#include "sim/pcie/page/page.h"

enum {
	RN_GPU_PAGE = RN_PAGE_SIZE,
};

/* A range of a GPU's memory that is allocated, or that was freed and is not reused yet.
 */
struct rn_gpu_extent {
	struct rn_gpu_extent *next; /* the extents of a GPU are sorted by @start */
	uint64_t start, len;	    /* bytes in the GPU, whole pages */
	uint64_t asked;		    /* bytes that the caller asked for */
	uint64_t number;	    /* counts the allocations of this process */
	unsigned flags;		    /* enum rn_gpu_alloc_flag */
	bool is_freed, is_reported;
	uint64_t freed_when; /* counts the calls of free, to find the oldest */
	void *freed_by;	     /* return address of the call that freed it */
	struct rn_host_region region;
};

enum rn_trap_state {
	RN_TRAP_OPEN,
	RN_TRAP_CLOSED,
	RN_TRAP_PARTLY, /* open, but the sanitizer keeps some pages closed */
};

/* The state of the CPU's view of one GPU. */
struct rn_trap_space {
	unsigned on_way; /* TLPs that write to its memory or come from it */
	enum rn_trap_state state;
	/* Single pages have been opened since all pages were closed. */
	bool has_stepped;
	/* The GPU is watched; the fault handler reads this without the lock. */
	_Atomic bool is_active;
	/* Declared memory that belongs to this GPU, linked by next_of_gpu. */
	struct rn_declared *declared;
};

struct rn_gpu_kernel;

struct rn_gpu {
	int number;
	int memfd;
	dev_t dev_id;
	ino_t inode;
	uint64_t size;
	char *bar, *dev, *engine;
	struct rn_host *host;
	struct rn_trap_space trap;

	/* The following fields are guarded by the lock of gpu_memory.c. */
	struct rn_gpu_extent *extents;
	/* Bytes allocated; bytes of the BAR that allocations and declared memory take. */
	uint64_t used, bar_used;
	/* End of the highest extent so far; written with both locks held. */
	uint64_t high;

	struct rn_gpu_extent bell;     /* the doorbell page: page 0 */
	uint64_t bells;		       /* count of doorbells; guarded by the host lock */
	struct rn_gpu_kernel *kernels; /* guarded by kernels.lock */
};

static inline unsigned rn_gpu_agent(const struct rn_gpu *gpu)
{
	return RN_AGENT_GPU + (unsigned)gpu->number;
}

/* Turns an address that was computed as a number into a pointer. */
static inline void *rn_gpu_pointer(uintptr_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): views and TLPs are numbers */
	return (void *)address;
}

/* ---------------------------------------------------------------- gpu.c */
/* Sets the message of rn_gpu_last_error(); returns @err. */
int rn_gpu_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The GPU @number if it is open; NULL if it is not, or there is no such GPU. No lock
 * needed.
 */
struct rn_gpu *rn_gpu_opened(int number);

/* True in a child of fork(), which has no GPUs. */
bool rn_gpu_is_forked(void);

/* True if the GPU cannot be used: @gpu is NULL, or this is a child of fork(). The caller
 * returns -ENODEV then.
 */
bool rn_gpu_is_gone(const struct rn_gpu *gpu);

/* Does the layer hold back no TLPs (place=now)? */
bool rn_gpu_is_off(const struct rn_gpu *gpu);

extern struct rn_gpu_counts {
	_Atomic uint64_t launches, bar_reads, bar_writes, flushes, flushes_skipped;
	_Atomic uint64_t freed_accesses;
	/* trap.c counts: closings of the BAR, trapped loads, pages opened for system
	 * calls, and pages that could not be closed.
	 */
	_Atomic uint64_t closings, loads_trapped, syscalls_opened, not_closed;
} rn_gpu_counts;

/* ---------------------------------------------------------- gpu_memory.c */
/* Maps the views of a new GPU and its doorbell page. Returns 0 or -errno. */
int rn_gpu_memory_init(struct rn_gpu *gpu);

/* Finds the GPU that has @addr in one of its views. *@offset gets the offset in the GPU's
 * memory, *@view gets 'b' (bar), 'd' (dev) or 'e' (engine). NULL: no GPU has. No lock
 * needed.
 */
struct rn_gpu *rn_gpu_of(uintptr_t addr, uint64_t *offset, char *view);

/* Calls @visit with the BAR addresses of each live allocation. @visit runs with the lock
 * of the extents held and must not fault.
 */
void rn_gpu_each_in_bar(struct rn_gpu *gpu,
			void (*visit)(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi));

/* Does byte @offset belong to a live allocation that has a BAR address? */
bool rn_gpu_is_in_bar(struct rn_gpu *gpu, uint64_t offset);

/* Counts @bytes of declared memory as used space of the BAR, or as free again (negative).
 * -ENOMEM if they do not fit.
 */
int rn_gpu_bar_take(struct rn_gpu *gpu, int64_t bytes);

/* A thread has faulted at @addr. If that is GPU memory which is not allocated, writes a
 * report to stderr, once per extent. Any thread, also in the SIGSEGV handler.
 */
void rn_gpu_report_fault(uintptr_t addr);

/* Implements rn_host_api.dmabuf. */
int rn_gpu_dmabuf_find(int fd, uint64_t offset, uint64_t len, rn_iova *addr);

/**
 * rn_gpu_region_add() - Check the registration of an MR, and find out whether it is
 * device memory
 * @nic:	The NIC of the MR
 * @key:	Key that identifies the MR
 *
 * Host lock not held.
 *
 * Return: 0 for host memory; 1 for device memory, whose pages may be closed, so that the
 *	caller must not touch them to find out whether they are mapped (they are);
 *	-EFAULT for memory that was freed or never allocated; -EINVAL for an address of
 *	the dev view; -ENOMEM for memory outside the BAR. After an error
 *	rn_gpu_last_error() has a message.
 */
int rn_gpu_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		      uint64_t len, uint32_t access);
void rn_gpu_region_remove(const struct rn_host_nic *nic, uint32_t key);

/* ---------------------------------------------------------- gpu_access.c */
/* --------------------------------------------------------------- trap.c */
/* Begins to watch @gpu. Does nothing with ROCIN_PCIE_TRAP=off. */
void rn_trap_add(struct rn_host *h, struct rn_gpu *gpu);

/* Issues a read of the CPU to the GPU and forces it, which is what a plain load of the
 * CPU does. Host lock held.
 */
void rn_gpu_read_flush(struct rn_gpu *gpu);

/* To be called after memory was allocated, freed or declared: protects its pages as the
 * state of the GPU demands.
 */
void rn_trap_refresh(struct rn_gpu *gpu);

/* Closes open pages again, because the next access may have more TLPs to push or may have
 * to be judged by the sanitizer.
 */
void rn_trap_close_again(struct rn_gpu *gpu);

/* For the sanitizer, which decides itself which pages are opened. Opens only the page at
 * @page; false if that page is not watched, or cannot be opened.
 */
bool rn_trap_open_page(struct rn_gpu *gpu, uintptr_t page);

/* Opens all pages but @count ones, which are sorted by address. */
void rn_trap_open_but(struct rn_gpu *gpu, const uintptr_t *pages, unsigned count);

/* Closes a page that rn_trap_open_page() opened, if the GPU is still watched. */
void rn_trap_close_page(struct rn_gpu *gpu, uintptr_t page);

/* Makes @fn be called, in the SIGSEGV handler and under the host lock, when a load or
 * store of the CPU has met a closed page at @addr and its read has pushed what it pushes.
 * @fn then opens the pages that are to be opened. To be called before any GPU is watched.
 */
void rn_trap_on_load(void (*fn)(struct rn_gpu *gpu, uintptr_t addr));

/* ----------------------------------------------------------- declared.c */
/* A range of declared memory; registrations that overlap share it. Never freed, because
 * the SIGSEGV handler walks the list without a lock.
 */
struct rn_declared {
	/* Next object in the list of all declared memory; set before the object is
	 * published.
	 */
	struct rn_declared *next;
	/* Next object in the list of its GPU, rn_trap_space.declared. */
	struct rn_declared *next_of_gpu;
	struct rn_gpu *gpu;	/* constant */
	uintptr_t lo, hi;	/* constant */
	_Atomic bool is_active; /* a registration uses the range */
	/* Number of registrations that use it; guarded by the host lock. */
	unsigned users;
	struct rn_host_region region;
	/* A second mapping of the same pages; NULL if the pages were not replaced, or no
	 * longer are.
	 */
	char *engine;
	ino_t inode; /* inode of the memfd */
};

/* Adds a registration as rn_gpu_region_add() does, for memory that is not an allocation
 * of a GPU.
 */
int rn_declared_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		    uint64_t len, uint32_t access);

/* Finds the GPU and offset behind an address as rn_gpu_find() does, for declared memory.
 */
int rn_declared_find(uintptr_t addr, struct rn_gpu_where *out);

/* The GPU to which the page at @addr was declared, if that page has been replaced by a
 * mapping of a memfd; else NULL. Any thread, also in the SIGSEGV handler: needs no lock.
 */
struct rn_gpu *rn_declared_of(uintptr_t addr);

#endif /* RN_GPU_INTERNAL_H */
