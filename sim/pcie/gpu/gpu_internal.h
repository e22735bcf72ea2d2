/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_internal.h - a simulated GPU: its memory, and the mappings (views) of this memory.
 *
 * gpu.c	the GPUs of this process, attributes, counters
 * gpu_memory.c	allocations, dma-buf descriptors, registrations, reports of faults
 * gpu_access.c	accesses of kernels, MMIO calls of the CPU, flushes, waits
 * gpu_copy.c	the copy engine: copies and fills of any length
 * trap.c	traps plain loads and stores of the CPU
 * declare.c	rules by which registered memory is treated as a GPU's
 * real.c	memory of real GPUs
 * declared.c	the memory that these rules have declared
 *
 * view	used by				closed (PROT_NONE) where
 * bar	the CPU, and NICs as addresses	nothing is allocated, or by trap.c
 * dev	kernels				nothing is allocated, or by the sanitizer
 * engine	the hierarchy, to perform TLPs	nothing is allocated
 *
 * A view is a mapping of the whole memory of the GPU. All three views map one memfd. A
 * write that is still in flight is visible in none of them.
 *
 * Locks: the host lock guards regions and struct rn_trap_space. The extents have another
 * lock. It may be taken while the host lock is held, because a fault that occurs then may
 * have to be reported. Code that holds the lock of the extents must not touch memory that
 * can fault.
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

/* A range of a GPU's memory that is allocated, or that was freed and whose addresses are
 * not reused yet.
 */
struct rn_gpu_extent {
	/* Next extent of the GPU; the list is sorted by @start. */
	struct rn_gpu_extent *next;
	/* Offset in the GPU's memory and length, in whole pages. */
	uint64_t start, len;
	uint64_t asked; /* number of bytes that the program asked for */
	/* Number of the allocation, counted from the start of the process. */
	uint64_t number;
	unsigned flags; /* enum rn_gpu_alloc_flag */
	bool is_freed, is_reported;
	/* Value of a counter that each free increases, when this range was freed. The
	 * range with the lowest value was freed first.
	 */
	uint64_t freed_when;
	void *freed_by; /* return address of the program's call that freed the range */
	struct rn_host_region region;
};

enum rn_trap_state {
	RN_TRAP_OPEN,
	RN_TRAP_CLOSED,
};

/* State of the trap, one for each GPU. trap.c closes the pages of a GPU to the CPU, so
 * that a plain load faults and can be turned into a PCIe read.
 */
struct rn_trap_space {
	/* Number of TLPs in flight that write to the GPU's memory, or that the GPU has
	 * issued.
	 */
	unsigned on_way;
	enum rn_trap_state state;
	/* Single pages have been opened by rn_trap_open_page() since all pages were
	 * closed.
	 */
	bool has_stepped;
	/* False: the trap never closes pages of this GPU. The fault handler reads this
	 * without the lock.
	 */
	_Atomic bool is_active;
	/* List of the declared memory of this GPU, linked by next_of_gpu. */
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

	/* The fields from here on are guarded by the lock of the extents in gpu_memory.c.
	 */
	struct rn_gpu_extent *extents;
	/* Number of allocated bytes, and number of bytes of the BAR that allocations and
	 * declared memory take.
	 */
	uint64_t used, bar_used;
	/* Offset just past the extent whose end was the highest so far, freed extents
	 * included. Written with both locks held, that of the extents and the host lock.
	 */
	uint64_t high;

	/* the first page of the GPU's memory, to which doorbells are written */
	struct rn_gpu_extent bell;
	/* Number of doorbells written; guarded by the host lock. */
	uint64_t bells;
	/* List of kernels, the newest first; guarded by kernels.lock. */
	struct rn_gpu_kernel *kernels;
};

static inline unsigned rn_gpu_agent(const struct rn_gpu *gpu)
{
	return RN_AGENT_GPU + (unsigned)gpu->number;
}

/* Turns an address that was computed as an integer into a pointer. */
static inline void *rn_gpu_pointer(uintptr_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): views store addresses */
	return (void *)address;
}

/* ---------------------------------------------------------------- gpu.c */
/* Sets the text that rn_gpu_last_error() returns, as printf() would. Returns @err. */
int rn_gpu_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the GPU @number. Returns NULL if it is not open or there is no such GPU. Needs
 * no lock.
 */
struct rn_gpu *rn_gpu_opened(int number);

/* Returns true in a child of fork(), which has no GPUs. */
bool rn_gpu_is_forked(void);

/* Returns true if the GPU cannot be used, because @gpu is NULL or this is a child of
 * fork(). The caller must then return -ENODEV.
 */
bool rn_gpu_is_gone(const struct rn_gpu *gpu);

/* Returns true with place=now: TLPs are performed at once, so none is ever in flight. */
bool rn_gpu_is_off(const struct rn_gpu *gpu);

extern struct rn_gpu_counts {
	_Atomic uint64_t launches, bar_reads, bar_writes, flushes, flushes_skipped;
	_Atomic uint64_t freed_accesses;
	/* How often trap.c has closed the BAR's pages, handled the fault of a load,
	 * opened pages for a system call, and failed to close pages.
	 */
	_Atomic uint64_t closings, loads_trapped, syscalls_opened, not_closed;
} rn_gpu_counts;

/* ---------------------------------------------------------- gpu_memory.c */
/* Maps the views of a new GPU and its doorbell page. Returns 0 or -errno. */
int rn_gpu_memory_init(struct rn_gpu *gpu);

/* Finds the GPU that has @addr in one of its views. Sets *@offset to the offset in the
 * GPU's memory and *@view to 'b' (bar), 'd' (dev) or 'e' (engine). Returns NULL if no GPU
 * has @addr. Needs no lock.
 */
struct rn_gpu *rn_gpu_of(uintptr_t addr, uint64_t *offset, char *view);

/* Calls @visit for each allocation of the GPU that is not freed and has BAR addresses,
 * which are [@lo, @hi). The lock of the extents is held during the call, so @visit must
 * not access memory that may fault.
 */
void rn_gpu_each_in_bar(struct rn_gpu *gpu,
			void (*visit)(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi));

/* Returns true if byte @offset belongs to an allocation that is not freed and has a
 * BAR address.
 */
bool rn_gpu_is_in_bar(struct rn_gpu *gpu, uint64_t offset);

/* Adds @bytes to rn_gpu.bar_used, the part of the BAR that is taken. Called with the
 * length of declared memory, negative when it is given back. Returns 0, or -ENOMEM if the
 * BAR has no room.
 */
int rn_gpu_bar_take(struct rn_gpu *gpu, int64_t bytes);

/* Called when an access at @addr has faulted. If @addr is GPU memory that is not
 * allocated, reports the access on standard error, once per extent. May be called by any
 * thread, also in the SIGSEGV handler.
 */
void rn_gpu_report_fault(uintptr_t addr);

/* Implements rn_host_api.dmabuf: finds the memory of a dma-buf descriptor. */
int rn_gpu_dmabuf_find(int fd, uint64_t offset, uint64_t len, rn_iova *addr);

/**
 * rn_gpu_region_add() - Check the registration of an MR, and find out whether it is
 * device memory
 * @nic:	The NIC of the MR
 * @key:	Key that identifies the MR
 *
 * Called without the host lock.
 *
 * Return: 0 for host memory; 1 for device memory, whose pages are mapped but may be
 *	closed, so that the caller must not access them to test whether they are mapped;
 *	-EFAULT for memory that was freed or never allocated; -EINVAL for an address of
 *	the dev view; -ENOMEM for memory outside the BAR. After an error
 *	rn_gpu_last_error() has a message.
 */
int rn_gpu_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		      uint64_t len, uint32_t access);
void rn_gpu_region_remove(const struct rn_host_nic *nic, uint32_t key);

/* --------------------------------------------------------------- trap.c */
/* Starts to trap the CPU's accesses to @gpu. Does nothing with ROCIN_PCIE_TRAP=off. */
void rn_trap_add(struct rn_host *h, struct rn_gpu *gpu);

/* Returns the TLP of the read by which the CPU flushes writes to the GPU. The caller
 * issues it.
 */
struct rn_tlp rn_gpu_flush_tlp(const struct rn_gpu *gpu);

/* Issues a read of the CPU from the GPU and forces it. It pushes the same writes as a
 * plain load of the CPU does. The host lock is held.
 */
void rn_gpu_read_flush(struct rn_gpu *gpu);

/* Opens or closes the GPU's pages as the state of the trap requires. Must be called after
 * memory was allocated, freed or declared, because its pages may have the wrong
 * protection.
 */
void rn_trap_refresh(struct rn_gpu *gpu);

/* Closes the pages of the GPU that are open. Needed when the next access may push more
 * TLPs than the last one, or when the sanitizer may have to check it.
 */
void rn_trap_close_again(struct rn_gpu *gpu);

/* Opens only the page at @page. Called by the sanitizer if it decides itself which pages
 * to open (rn_trap_on_load()). Returns false if accesses to this page are not trapped, or
 * if the page cannot be opened.
 */
bool rn_trap_open_page(struct rn_gpu *gpu, uintptr_t page);

/* Opens all pages of the GPU, until the next event that trap.c lists closes them again.
 */
void rn_trap_open(struct rn_gpu *gpu);

/* Adds @change (1 or -1) to rn_trap_space.on_way, the number of writes in flight to or
 * from the GPU's memory. Called by the sanitizer for writes that it withholds. Does
 * nothing if @gpu is NULL.
 */
void rn_trap_count(struct rn_gpu *gpu, int change);

/* Closes a page that rn_trap_open_page() opened, unless the GPU is no longer trapped. */
void rn_trap_close_page(struct rn_gpu *gpu, uintptr_t page);

/* Registers @fn, which takes over the opening of pages. When a load or store of the CPU
 * has faulted at @addr, the SIGSEGV handler first performs the read TLP of this access,
 * and then calls @fn under the host lock. Must be called before rn_trap_add().
 */
void rn_trap_on_load(void (*fn)(struct rn_gpu *gpu, uintptr_t addr));

/* ---------------------------------------------------------------- real.c */
/* Functions of rn_host_api for memory of real GPUs; rocin/host_api.h describes them. */
int rn_gpu_real_add(rn_iova addr, uint64_t len, rn_iova *alias);
void rn_gpu_real_remove(rn_iova alias);

/* ----------------------------------------------------------- declared.c */
/* A piece: a range of the program's memory that a rule has declared to be a GPU's
 * (declare.h). Registrations that overlap share pieces. A piece is never freed, because
 * the SIGSEGV handler walks the list without a lock.
 */
struct rn_declared {
	/* Next piece in the list of all pieces; set before the piece is put into
	 * the list.
	 */
	struct rn_declared *next;
	/* Next piece in the list of its GPU, rn_trap_space.declared. */
	struct rn_declared *next_of_gpu;
	struct rn_gpu *gpu; /* GPU that has the memory; does not change */
	/* first address of the piece, and the address behind it; they do not change */
	uintptr_t lo, hi;
	_Atomic bool is_active; /* at least one registration uses the piece */
	/* Number of registrations that use the piece; guarded by the host lock. */
	unsigned users;
	struct rn_host_region region;
	/* Second mapping of the same pages, by which the simulation accesses them. NULL:
	 * the program's pages were not replaced by those of a memfd, or the program has
	 * later mapped other pages there.
	 */
	char *engine;
	ino_t inode; /* inode number of the memfd with the pages */
};

/* Called when memory that is not an allocation of a GPU is registered. Finds out whether
 * a rule declares the memory to be a GPU's. Arguments and return values are those of
 * rn_gpu_region_add().
 */
int rn_declared_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		    uint64_t len, uint32_t access);

/* Finds the GPU and the offset of an address in declared memory, as rn_gpu_find() does
 * for allocations. Returns 0 or -ENOENT.
 */
int rn_declared_find(uintptr_t addr, struct rn_gpu_where *out);

/* Returns the GPU to which an active registration has declared the memory at @addr, or
 * NULL. May be called by any thread, also in the SIGSEGV handler, without a lock.
 */
struct rn_gpu *rn_declared_of(uintptr_t addr);

#endif /* RN_GPU_INTERNAL_H */
