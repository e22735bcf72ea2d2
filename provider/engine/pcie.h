/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcie.h - calls of a device into the simulated PCIe hierarchy, which is a library of its
 * own (rocin/host_api.h), and to real GPUs (transport/io/cuda).
 *
 * A device reaches memory of real GPUs by itself, or by the hierarchy if it is attached
 * to that: then writes to GPUs are late, too.
 *
 * The library is loaded if ROCIN_PCIE is set, and used if it is in the process already.
 * Without it the functions here cost one test; in a build with RN_NO_PCIE they cost
 * nothing.
 *
 * All of them may be called with the engine lock or the lock of a CQ held: the hierarchy
 * has a lock of its own, and calls back without it.
 */
#ifndef RNP_PCIE_H
#define RNP_PCIE_H

#include "rocin/host_api.h"
#include "transport/io/cuda/cuda.h"

struct rn_dev;

/* What lies between a device and memory. Does not change while the device is open, except
 * for @cuda.
 */
struct rnp_pcie {
	/* functions of the library; NULL: it is not loaded */
	const struct rn_host_api *api;
	/* the device in the hierarchy; NULL: it is not attached */
	struct rn_host_nic *nic;
	/* how the device reaches memory of real GPUs by itself; NULL: not at all. Guarded
	 * by the engine lock.
	 */
	struct rn_cuda_nic *cuda;
};

/**
 * rnp_pcie_open() - Attach a device to the hierarchy, if ROCIN_PCIE is set
 * @p:		Out
 * @knobs:	ROCIN_PCIE, or NULL
 * @cfg:	The device to attach; copied
 * @err:	Out on failure: error text
 *
 * A fork() child has no hierarchy of its own. There the call returns 0 without attaching
 * the device, and @err says so.
 *
 * Return: 0, with @p->nic NULL if the device was not attached; -EINVAL: ROCIN_PCIE cannot
 * be parsed, or the library cannot be loaded; -ENOSPC, -ENOMEM: attaching failed.
 */
int rnp_pcie_open(struct rnp_pcie *p, const char *knobs,
		  const struct rn_host_nic_cfg *cfg, char *err, size_t err_len);

/* Completes the memory accesses that are under way, and detaches the device, also from
 * real GPUs. After that nobody calls @cfg.wake any more. Does nothing if the device is
 * not attached.
 */
void rnp_pcie_close(struct rnp_pcie *p);

/**
 * rnp_pcie_dmabuf() - Find the simulated device memory of a dma-buf, see
 * rn_host_api.dmabuf
 *
 * Works also if the library was loaded after the device was opened.
 *
 * Return: that of rn_host_api.dmabuf; -ENOENT if the library is not loaded.
 */
int rnp_pcie_dmabuf(int fd, uint64_t offset, uint64_t len, rn_iova *addr);

/* Returns the function for rn_dev_cfg.before_ack. That is settle_acked() if ROCIN_PCIE
 * says that an ACK is sent only after the data of its request is in memory; otherwise
 * NULL.
 */
typedef void rnp_before_ack_fn(void *mem_ctx, uint32_t qpn);
rnp_before_ack_fn *rnp_pcie_before_ack(const struct rnp_pcie *p);

/* Gives a device access to memory of real GPUs if the CUDA driver is in the process.
 * @wake and @arg: as in struct rn_host_nic_cfg. Does nothing if the device is attached to
 * the hierarchy.
 */
void rnp_pcie_open_cuda(struct rnp_pcie *p, void (*wake)(void *arg), void *arg);

/* The same for a device that was opened before the CUDA driver came into the process. Its
 * queue pairs have no memory for accesses that end later, so it waits for each access to
 * a GPU. The engine lock is held. Return: 0, also if the device has access already;
 * -errno.
 */
int rnp_pcie_join_cuda(struct rnp_pcie *p, struct rn_dev *dev, void (*wake)(void *arg),
		       void *arg);

static inline bool rnp_pcie_is_on(const struct rnp_pcie *p)
{
#ifdef RN_NO_PCIE
	(void)p;
	return false;
#else
	return p->nic != NULL;
#endif
}

/* Returns the settings from ROCIN_PCIE; NULL: the device is not attached to the simulated
 * PCIe hierarchy.
 */
static inline const struct rn_pcie_knobs *rnp_pcie_knobs(const struct rnp_pcie *p)
{
	return rnp_pcie_is_on(p) ? p->api->knobs() : NULL;
}

/* Does anything lie between the device and memory? */
static inline bool rnp_pcie_is_used(const struct rnp_pcie *p)
{
	return rnp_pcie_is_on(p) || p->cuda;
}

/* May accesses of memory be under way, which end later? */
static inline bool rnp_pcie_is_busy(const struct rnp_pcie *p)
{
	return rnp_pcie_is_on(p) || (p->cuda && rn_cuda_is_busy(p->cuda));
}

static inline unsigned rnp_pcie_collect(const struct rnp_pcie *p,
					void (*done)(void *arg, uint64_t tag,
						     enum rn_mem_result result),
					void *arg)
{
	if (rnp_pcie_is_on(p))
		return p->api->collect(p->nic, done, arg);
	return p->cuda ? rn_cuda_collect(p->cuda, done, arg) : 0;
}

static inline void rnp_pcie_polled_empty(const struct rnp_pcie *p, rn_iova ring)
{
	if (rnp_pcie_is_on(p))
		p->api->polled_empty(p->nic, ring);
}

static inline void rnp_pcie_settle_ring(const struct rnp_pcie *p, rn_iova ring,
					uint64_t len)
{
	if (rnp_pcie_is_on(p))
		p->api->settle_ring(p->nic, ring, len);
}

static inline void rnp_pcie_drain(const struct rnp_pcie *p, uint32_t qpn)
{
	if (rnp_pcie_is_on(p))
		p->api->drain(p->nic, qpn);
	else if (p->cuda)
		rn_cuda_drain(p->cuda);
}

static inline int rnp_pcie_region_add(const struct rnp_pcie *p, uint32_t key,
				      rn_iova addr, uint64_t len, uint32_t access)
{
	return rnp_pcie_is_on(p) ? p->api->region_add(p->nic, key, addr, len, access) : 0;
}

static inline void rnp_pcie_region_remove(const struct rnp_pcie *p, uint32_t key)
{
	if (rnp_pcie_is_on(p))
		p->api->region_remove(p->nic, key);
}

/* The next two functions may be called only if rnp_pcie_is_on(). */
static inline int rnp_pcie_real_add(const struct rnp_pcie *p, rn_iova addr, uint64_t len,
				    rn_iova *alias)
{
	return p->api->real_add(addr, len, alias);
}

static inline void rnp_pcie_real_remove(const struct rnp_pcie *p, rn_iova alias)
{
	p->api->real_remove(alias);
}

static inline int rnp_pcie_dm_add(const struct rnp_pcie *p, rn_iova addr, uint64_t len)
{
	return rnp_pcie_is_on(p) ? p->api->dm_add(p->nic, addr, len) : 0;
}

static inline void rnp_pcie_dm_remove(const struct rnp_pcie *p, rn_iova addr)
{
	if (rnp_pcie_is_on(p))
		p->api->dm_remove(p->nic, addr);
}

/* The next two functions may be called only if rnp_pcie_is_on(). */
static inline int rnp_pcie_dm_write(const struct rnp_pcie *p, rn_iova addr,
				    const void *src, uint64_t len)
{
	return p->api->dm_write(p->nic, addr, src, len);
}

static inline int rnp_pcie_dm_read(const struct rnp_pcie *p, void *dst, rn_iova addr,
				   uint64_t len)
{
	return p->api->dm_read(p->nic, dst, addr, len);
}

static inline void rnp_pcie_doorbell(const struct rnp_pcie *p)
{
	if (rnp_pcie_is_on(p))
		p->api->doorbell(p->nic);
}

/* Rings the doorbell of a send queue. May be called only if rnp_pcie_is_on(). */
static inline void rnp_pcie_ring(const struct rnp_pcie *p,
				 const struct rn_host_bell *bell)
{
	p->api->ring(p->nic, bell);
}

/* Does the sanitizer of the simulated PCIe hierarchy look at work requests and
 * completions?
 */
static inline bool rnp_pcie_is_watched(const struct rnp_pcie *p)
{
	return rnp_pcie_is_on(p) && p->api->posted && p->api->polled;
}

#endif /* RNP_PCIE_H */
