/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_memory.h - inside of a simulated GPU: its storage, its three views, who owns what.
 *
 *	view	used by				closed (PROT_NONE) where
 *	bar	the CPU, as addresses by NICs	nothing is allocated, or by the trap
 *	dev	kernels				nothing is allocated
 *	engine	the hierarchy, to perform TLPs	nothing is allocated
 *
 * All three map one memfd. A write that is on its way is in none of them.
 *
 * Locks: the host lock guards regions and the trap; the extents have a lock of their own
 * below it, since a fault may have to be explained while the host lock is held. Nothing
 * that can fault is touched under it.
 */
#ifndef RN_GPU_MEMORY_H
#define RN_GPU_MEMORY_H

#include <sys/types.h>

#include "rocin/gpu.h"
#include "sim/pcie/host/host.h"
#include "trap.h"

enum {
	RN_GPU_PAGE = 4096,
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

	/* Guarded by rn_gpu_table_lock(). */
	struct rn_gpu_extent *extents;
	uint64_t used, bar_used; /* bytes allocated; of them or declared in the BAR */
	uint64_t high; /* end of the highest extent ever; written under both locks */

	struct rn_gpu_extent bell;     /* page 0 */
	uint64_t bells;		       /* guarded by the host lock */
	struct rn_gpu_kernel *kernels; /* guarded by the lock of gpu_kernel.c */
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

/* Bytes of @gpu that peers can reach. */
uint64_t rn_gpu_bar_size(const struct rn_gpu *gpu);

extern struct rn_gpu_counts {
	_Atomic uint64_t launches, bar_reads, bar_writes, flushes, flushes_skipped;
	_Atomic uint64_t freed_accesses;
} rn_gpu_counts;

/* ---------------------------------------------------------- gpu_memory.c */
/* Map the views of a new GPU, with its doorbell page. 0 or -errno. */
int rn_gpu_memory_init(struct rn_gpu *gpu);

void rn_gpu_table_lock(void);
void rn_gpu_table_unlock(void);

/* The GPU with @addr in one of its views; *@offset in its memory; *@view = 'b', 'd' or
 * 'e'. NULL: none. No lock needed.
 */
struct rn_gpu *rn_gpu_of(uintptr_t addr, uint64_t *offset, char *view);

/* The extent, live or freed, that holds byte @offset. Table lock held. */
struct rn_gpu_extent *rn_gpu_extent_at(struct rn_gpu *gpu, uint64_t offset);

/* Call @visit with the BAR addresses of each live allocation; it may not fault. */
void rn_gpu_each_in_bar(struct rn_gpu *gpu,
			void (*visit)(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi));

/* Does a live allocation with a BAR address hold byte @offset? */
bool rn_gpu_is_in_bar(struct rn_gpu *gpu, uint64_t offset);

/* Account @bytes of declared memory to the aperture, or take them back (negative).
 * -ENOMEM: does not fit.
 */
int rn_gpu_bar_take(struct rn_gpu *gpu, int64_t bytes);

/* ---------------------------------------------------------- gpu_report.c */
/* A thread met a fault at @addr: if that is GPU memory which is not allocated, say so on
 * stderr, once per extent. Any thread, also in a handler of SIGSEGV.
 */
void rn_gpu_report_fault(uintptr_t addr);

/* ---------------------------------------------------------- gpu_access.c */
/* One TLP of @requester, to whatever lies at @addr, with an 8-byte operand at most. A
 * read is forced; a write is posted, forced with RN_TLP_BELL. Host lock not held.
 * Return: 0; -EFAULT: nothing answers.
 */
int rn_gpu_tlp(unsigned requester, unsigned kind, unsigned flags, rn_iova addr,
	       void *operand, uint32_t len);

/* Plain access of 1, 2, 4 or 8 aligned bytes that survives that nothing is there. */
int rn_gpu_plain_load(uintptr_t addr, unsigned size, uint64_t *value);
int rn_gpu_plain_store(uintptr_t addr, unsigned size, uint64_t value);

/* Somebody looks at memory again and again: let time pass for what is on its way. Host
 * lock not held.
 */
void rn_gpu_pause(struct rn_gpu *gpu);

/* Read TLP CPU -> GPU, forced: what a plain load of the CPU is. Host lock held. */
void rn_gpu_read_flush(struct rn_gpu *gpu);

/* -------------------------------------------------- for host_api.c and host_nic.c */
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

#endif /* RN_GPU_MEMORY_H */
