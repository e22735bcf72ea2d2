/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.h - memory regions with their access flags, memory windows and device memory, and
 * checks of the pages of a region.
 */
#ifndef RNP_MR_H
#define RNP_MR_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "rocin/mr.h"
#include "rocin/stats.h"

struct rnp_mr {
	struct rnp_abi_mr base;
	struct rnp_handle handle;
	struct rn_mr core;
	LIST_ENTRY(rnp_mr) link;
	/* copy of base.ibv_mr.pd, which the program might change */
	struct ibv_pd *pd;
	/* The region itself, if this is an imported handle, whose fields below are not
	 * used; NULL if this is the original.
	 */
	struct rnp_mr *origin;
	/* number of users (the program, the device, imported handles); guarded by the
	 * engine lock
	 */
	unsigned held;
	/* the region was removed from the device; guarded by the engine lock */
	bool gone;
	void *map; /* mapping of a file descriptor, unmapped with the region; or NULL */
	size_t map_len;
	/* device memory that is registered; NULL: memory of the program */
	struct rnp_dm *dm;
	/* DMA handle of the region, or NULL; guarded by the engine lock */
	struct rnp_dmah *dmah;
	/* The next members are guarded by the engine lock. */
	bool is_on_gpu;	 /* the memory is a simulated GPU's */
	uint64_t pinned; /* number of the region's pages that count as pinned */
	struct rn_stats_object *record;
};

/* A memory window. A window of type 2 is of type 2B, as in almost all devices: it is
 * bound to a domain and a queue pair, and its key works only for that queue pair.
 */
struct rnp_mw {
	struct ibv_mw base;
	struct rnp_handle handle;
	struct rn_mr core;
	struct ibv_pd *pd;	 /* copy of base.pd, which the program might change */
	LIST_ENTRY(rnp_mw) link; /* guarded by the engine lock */
	struct rn_stats_object *record;
};

/* Device memory (memory on the NIC). */
struct rnp_dm {
	struct ibv_dm base;
	struct rnp_handle handle;
	LIST_ENTRY(rnp_dm) link; /* guarded by the engine lock */
	/* number of regions of this memory; guarded by the engine lock */
	unsigned mrs;
	/* for an import, the device memory itself; otherwise NULL */
	struct rnp_dm *origin;
	/* number of users (the program, the device, imported handles); guarded by the
	 * engine lock
	 */
	unsigned held;
	/* the memory was removed from the device; written under the engine lock */
	atomic_bool gone;
	bool is_local; /* allocated in a fork() child, which has no device */
	rn_iova addr;  /* address by which the device accesses the memory */
	uint64_t len;  /* bytes that the program has requested */
	uint64_t room; /* bytes allocated from the device, a multiple of 64 */
	void *map;
	size_t map_len;
	/* descriptor of the file that holds the memory, from offset 0; -1: there is no
	 * such file
	 */
	int fd;
};

/* A DMA handle: hints by which a device accesses memory, see dmah.c. */
struct rnp_dmah {
	struct rnp_abi_dmah base;
	struct rnp_handle handle;
	/* number of regions with this handle; guarded by the engine lock */
	unsigned mrs;
};

static inline struct rnp_mr *to_rnp_mr(struct rnp_abi_mr *mr)
{
	return (struct rnp_mr *)mr;
}
static inline struct rnp_mw *to_rnp_mw(struct ibv_mw *mw)
{
	return (struct rnp_mw *)mw;
}

/* ---------------------------------------------------------------------- access flags */
RNP_SAME(RN_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
RNP_SAME(RN_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
RNP_SAME(RN_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
RNP_SAME(RN_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
RNP_SAME(RN_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND);
RNP_SAME(RN_ACCESS_ZERO_BASED, IBV_ACCESS_ZERO_BASED);
RNP_SAME(RN_ACCESS_ON_DEMAND, IBV_ACCESS_ON_DEMAND);
RNP_SAME(RN_ACCESS_HUGETLB, IBV_ACCESS_HUGETLB);
RNP_SAME(RN_ACCESS_FLUSH_GLOBAL, RNP_ACCESS_FLUSH_GLOBAL);
RNP_SAME(RN_ACCESS_FLUSH_PERSISTENT, RNP_ACCESS_FLUSH_PERSISTENT);
RNP_SAME(RN_ACCESS_RELAXED_ORDERING, IBV_ACCESS_RELAXED_ORDERING);
RNP_SAME(RN_ACCESS_OPTIONAL_RANGE, IBV_ACCESS_OPTIONAL_RANGE);

/**
 * rnp_access_check() - May a region be registered with these flags?
 *
 * Return: 0; -EINVAL: an unknown flag, or a remote write right without
 *	   IBV_ACCESS_LOCAL_WRITE (IBTA Vol 1, memory registration).
 */
static inline int rnp_access_check(uint32_t access)
{
	const uint32_t known = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			       RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC |
			       RN_ACCESS_MW_BIND | RN_ACCESS_ZERO_BASED |
			       RN_ACCESS_ON_DEMAND | RN_ACCESS_HUGETLB;
	const uint32_t flush = RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_FLUSH_PERSISTENT;
	const uint32_t remote_write = RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_ATOMIC;

	if (access & ~(known | flush | RN_ACCESS_OPTIONAL_RANGE))
		return -EINVAL;
	if ((access & remote_write) && !(access & RN_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/* May the device write to a region with these flags? */
static inline bool rnp_access_writes(uint32_t access)
{
	return access & (RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			 RN_ACCESS_REMOTE_ATOMIC | RN_ACCESS_MW_BIND);
}

/* ------------------------------------------------------------------ regions, windows */
struct ibv_mr *rnp_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
			  int access);
/* Registers a region of any kind, and sets @attr->key and @attr->pd. @dm: device memory
 * that is to be registered, whose count of regions the caller has increased already; NULL
 * for other memory. Return: the region, or NULL with -errno in @rc.
 */
struct rnp_mr *rnp_mr_register(struct ibv_pd *pd, struct rn_mr_attr *attr,
			       enum rnp_abi_mr_type type, struct rnp_dm *dm, int *rc);
struct ibv_mr *rnp_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				 uint64_t iova, int fd, int access);
/* Registers a region of memory or of a file descriptor, as the attributes say. */
struct ibv_mr *rnp_reg_mr_ex(struct ibv_pd *pd, struct rnp_abi_mr_attr *attr);
struct rnp_abi_dmah *rnp_alloc_dmah(struct ibv_context *context,
				    struct rnp_abi_dmah_attr *attr);
int rnp_dealloc_dmah(struct rnp_abi_dmah *base);
int rnp_rereg_mr(struct rnp_abi_mr *base, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access);
struct ibv_mr *rnp_alloc_null_mr(struct ibv_pd *pd);
int rnp_dereg_mr(struct rnp_abi_mr *base);
/* Registers memory of a real GPU with the GPU, and gives the device access to it. @alias:
 * out, the address by which the device reaches it. Return: as rn_cuda_region_add().
 */
int rnp_mr_join_gpu(struct rnp_context *ctx, uint64_t addr, uint64_t len, rn_iova *alias);
/* Undoes that; does nothing if the device reaches other memory at @addr. */
void rnp_mr_leave_gpu(struct rnp_context *ctx, rn_iova addr);
/* Removes the region from the device. The memory of its handle remains. The engine lock
 * is held. The functions rnp_*_detach() of other objects do likewise.
 */
void rnp_mr_detach(struct rnp_mr *mr);
/* Drops @holders uses of a region; the last one frees it. The engine lock is held. */
void rnp_mr_release(struct rnp_mr *mr, unsigned holders);

int rnp_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg_list, uint32_t num_sge);

struct ibv_mw *rnp_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int rnp_dealloc_mw(struct ibv_mw *base);

/* Removes the window from the device; the engine lock is held. */
void rnp_mw_detach(struct rnp_mw *mw);

/* --------------------------------------------------------------------- device memory */
struct ibv_dm *rnp_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int rnp_free_dm(struct ibv_dm *base);
/* Returns a new descriptor of the memory, which can be mapped and registered like that of
 * a dma-buf, and belongs to the caller; -1 with errno.
 */
int rnp_dm_export_dmabuf_fd(struct ibv_dm *base);
struct ibv_mr *rnp_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset,
			     size_t length, unsigned int access);
/* Removes device memory from the device. The caller must have removed all its regions
 * before.
 */
void rnp_dm_detach(struct rnp_dm *dm);
void rnp_dm_release(struct rnp_dm *dm, unsigned holders);
/* Creates a handle in @context by which the program copies to and from the device memory
 * of @origin. Returns NULL if there is not enough memory.
 */
struct rnp_dm *rnp_dm_new_import(struct ibv_context *context, struct rnp_dm *origin);

/* ----------------------------------------------- pages of the program's memory */

/**
 * rnp_pages_populate() - Check access to a range and fault in its pages, as pinning does
 * @addr:	First byte
 * @len:	Bytes; may be 0
 * @write:	Whether the device will write to the range
 *
 * Kernels before 5.14 have no MADV_POPULATE_WRITE. There the range is only read: memory
 * that is mapped but not writable passes, and fails only when the device writes to it.
 *
 * Return: 0, -EFAULT (not mapped, or not with that right), -EINVAL (it wraps).
 */
int rnp_pages_populate(const void *addr, size_t len, bool write);

/* Checks that the whole range is mapped, without accessing its pages. Return: 0 or
 * -EFAULT.
 */
int rnp_pages_mapped(const void *addr, size_t len);

/* Tells the kernel that the range will be used soon. Does not wait for the pages, and
 * cannot fail.
 */
void rnp_pages_expect(const void *addr, size_t len);

/* Returns a computed address as a pointer. */
static inline void *rnp_pages_pointer(uintptr_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): not to be dereferenced here */
	return (void *)address;
}

/* Reads the range, which is what rnp_pages_populate() does on old kernels. It is global
 * so that a test can call it. Return: 0 or -EFAULT.
 */
int rnp_pages_read(const void *addr, size_t len);

#endif /* RNP_MR_H */
