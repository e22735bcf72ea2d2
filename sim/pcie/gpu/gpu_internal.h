/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_internal.h - inside of a simulated GPU: its storage, its views, who owns what.
 *
 *	gpu.c		which GPUs there are, attributes, counters
 *	gpu_memory.c	allocations, descriptors, registrations, what is said of a fault
 *	gpu_access.c	TLPs and plain accesses; kernels, explicit MMIO, flushes, waits
 *	trap.c		what a plain load or store of the CPU does
 *	declare.c	rules by which registered memory is a GPU's
 *	declared.c	the memory for which one has been found
 *
 *	view	used by				closed (PROT_NONE) where
 *	bar	the CPU, as addresses by NICs	nothing is allocated, or by trap.c
 *	dev	kernels				nothing is allocated, or by the sanitizer
 *	engine	the hierarchy, to perform TLPs	nothing is allocated
 *
 * All three map one memfd. A write that is on its way is in none of them.
 *
 * Locks: the host lock guards regions and struct rn_trap_space; the extents have a lock
 * of their own below it, since a fault may have to be explained while the host lock is
 * held. Nothing that can fault is touched under it.
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

/* A piece of a GPU's memory that is in use, or freed and not used again yet. */
struct rn_gpu_extent {
	struct rn_gpu_extent *next; /* upward */
	uint64_t start, len;	    /* bytes in the GPU, whole pages */
	uint64_t asked;		    /* what the caller asked for */
	uint64_t number;	    /* of the allocation in this process */
	unsigned flags;		    /* enum rn_gpu_alloc_flag */
	bool is_freed, is_reported;
	uint64_t freed_when; /* counts up */
	void *freed_by;	     /* return address */
	struct rn_host_region region;
};

enum rn_trap_state {
	RN_TRAP_OPEN,
	RN_TRAP_CLOSED,
	RN_TRAP_PARTLY, /* the sanitizer keeps some pages closed */
};

/* What the CPU reaches of one GPU. */
struct rn_trap_space {
	unsigned on_way; /* writes to it or from it */
	enum rn_trap_state state;
	bool has_stepped;	/* pages were opened one by one since all were closed */
	_Atomic bool is_active; /* a handler looks at it without the lock */
	struct rn_declared *declared; /* memory that belongs to it; next_of_gpu */
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

	/* Guarded by the lock of gpu_memory.c. */
	struct rn_gpu_extent *extents;
	uint64_t used, bar_used; /* bytes allocated; of them or declared in the BAR */
	uint64_t high; /* end of the highest extent ever; written under both locks */

	struct rn_gpu_extent bell;     /* page 0 */
	uint64_t bells;		       /* guarded by the host lock */
	struct rn_gpu_kernel *kernels; /* guarded by kernels.lock */
};

static inline unsigned rn_gpu_agent(const struct rn_gpu *gpu)
{
	return RN_AGENT_GPU + (unsigned)gpu->number;
}

/* An address that was computed. */
static inline void *rn_gpu_pointer(uintptr_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): views and TLPs are numbers */
	return (void *)address;
}

/* ---------------------------------------------------------------- gpu.c */
/* Set the sentence of rn_gpu_last_error(); returns @err. */
int rn_gpu_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* GPUs that are open; NULL past the last or not open yet. No lock needed. */
struct rn_gpu *rn_gpu_opened(int number);

/* True in a child of fork(): its GPUs are gone. */
bool rn_gpu_is_forked(void);

/* In a forked child, or NULL where a GPU is wanted: -ENODEV, which has been told. */
bool rn_gpu_is_gone(const struct rn_gpu *gpu);

/* Does the layer hold nothing back? */
bool rn_gpu_is_off(const struct rn_gpu *gpu);

extern struct rn_gpu_counts {
	_Atomic uint64_t launches, bar_reads, bar_writes, flushes, flushes_skipped;
	_Atomic uint64_t freed_accesses;
	/* trap.c */
	_Atomic uint64_t closings, loads_trapped, syscalls_opened, not_closed;
} rn_gpu_counts;

/* ---------------------------------------------------------- gpu_memory.c */
/* Map the views of a new GPU, with its doorbell page. 0 or -errno. */
int rn_gpu_memory_init(struct rn_gpu *gpu);

/* The GPU with @addr in one of its views; *@offset in its memory; *@view = 'b', 'd' or
 * 'e'. NULL: none. No lock needed.
 */
struct rn_gpu *rn_gpu_of(uintptr_t addr, uint64_t *offset, char *view);

/* Call @visit with the BAR addresses of each live allocation; it may not fault. */
void rn_gpu_each_in_bar(struct rn_gpu *gpu,
			void (*visit)(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi));

/* Does a live allocation with a BAR address hold byte @offset? */
bool rn_gpu_is_in_bar(struct rn_gpu *gpu, uint64_t offset);

/* Account @bytes of declared memory to the aperture, or take them back (negative).
 * -ENOMEM: does not fit.
 */
int rn_gpu_bar_take(struct rn_gpu *gpu, int64_t bytes);

/* A thread met a fault at @addr: if that is GPU memory which is not allocated, say so on
 * stderr, once per extent. Any thread, also in a handler of SIGSEGV.
 */
void rn_gpu_report_fault(uintptr_t addr);

/* rn_host_api.dmabuf */
int rn_gpu_dmabuf_find(int fd, uint64_t offset, uint64_t len, rn_iova *addr);

/**
 * rn_gpu_region_add() - May a NIC register this, and is it device memory?
 * @nic, @key:	Name the registration
 *
 * Host lock not held.
 *
 * Return: 0: host memory; 1: device memory (its pages may be closed: do not touch them to
 *	   see if they are there, they are); -EFAULT: freed or never allocated; -EINVAL:
 *	   named by its device address; -ENOMEM: beyond the BAR. rn_gpu_last_error() says
 *	   it in a sentence.
 */
int rn_gpu_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		      uint64_t len, uint32_t access);
void rn_gpu_region_remove(const struct rn_host_nic *nic, uint32_t key);

/* ---------------------------------------------------------- gpu_access.c */
/* --------------------------------------------------------------- trap.c */
/* Begin to watch @gpu. Does nothing with ROCIN_PCIE_TRAP=off. */
void rn_trap_add(struct rn_host *h, struct rn_gpu *gpu);

/* Read TLP CPU -> GPU, forced: what a plain load of the CPU is. Host lock held. */
void rn_gpu_read_flush(struct rn_gpu *gpu);

/* After memory was allocated, freed, declared: make its pages what the state says. */
void rn_trap_refresh(struct rn_gpu *gpu);

/* The next access may have more to push, or to be judged: close what is open. */
void rn_trap_close_again(struct rn_gpu *gpu);

/* For the sanitizer, which takes the opening on itself. The page at @page and no other:
 * false: it is not watched, or cannot be opened.
 */
bool rn_trap_open_page(struct rn_gpu *gpu, uintptr_t page);

/* All but @count pages, which rise. */
void rn_trap_open_but(struct rn_gpu *gpu, const uintptr_t *pages, unsigned count);

/* What rn_trap_open_page() has opened, if it is still watched. */
void rn_trap_close_page(struct rn_gpu *gpu, uintptr_t page);

/* Have @fn called, under the host lock, when a load or store of the CPU has met a closed
 * page at @addr and pushed what it pushes: it opens what is to be opened. In the handler
 * of SIGSEGV. Before any GPU is watched.
 */
void rn_trap_on_load(void (*fn)(struct rn_gpu *gpu, uintptr_t addr));

/* ----------------------------------------------------------- declared.c */
/* A piece of it; registrations that overlap share pieces. Never freed, since handlers of
 * SIGSEGV walk the list without a lock.
 */
struct rn_declared {
	struct rn_declared *next;	 /* of all; set before it is published */
	struct rn_declared *next_of_gpu; /* rn_trap_space.declared */
	struct rn_gpu *gpu;		 /* does not change */
	uintptr_t lo, hi;		 /* do not change */
	_Atomic bool is_active;		 /* registered */
	unsigned users;			 /* registrations; host lock */
	struct rn_host_region region;
	char *engine; /* another mapping of the same pages; NULL: not replaced, or gone */
	ino_t inode;  /* of the memfd */
};

/* As rn_gpu_region_add(), for memory that is no allocation. */
int rn_declared_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		    uint64_t len, uint32_t access);

/* As rn_gpu_find(). */
int rn_declared_find(uintptr_t addr, struct rn_gpu_where *out);

/* The GPU whose replaced page lies at @addr; NULL: none. Any thread, also in a handler of
 * SIGSEGV: no lock needed.
 */
struct rn_gpu *rn_declared_of(uintptr_t addr);

#endif /* RN_GPU_INTERNAL_H */
