/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_api.h - what a device and the simulated PCIe hierarchy of its process say to each
 * other.
 *
 * The hierarchy lives in librocin-gpu.so, one per process, shared by all devices, GPUs
 * and drives in it. A device asks for it only if ROCIN_PCIE is set or the library is in
 * the process already, so a program that wants none of it pays nothing.
 *
 * Locks: the device calls with its engine lock held or not; the hierarchy takes its own
 * lock inside and calls back without it, so it may take none of the device's locks except
 * where it says so.
 */
#ifndef RN_HOST_API_H
#define RN_HOST_API_H

#include "rocin/mem.h"
#include "rocin/pcie.h"

struct rn_host_nic;

/* Raised with every change of the structs in this header, and of what their members mean:
 * a device refuses a library of another version.
 */
enum {
	RN_HOST_API_VERSION = 2
};

#define RN_HOST_API_SYMBOL "rn_host_api"
#define RN_HOST_LIBRARY "librocin-gpu.so.0"

struct rn_host_nic_cfg {
	const char *name; /* "rocin0"; copied */
	/* A read or atomic that answered PENDING has ended: call collect() soon. From any
	 * thread, no lock of the hierarchy held; must not block.
	 */
	void (*wake)(void *arg);
	void *arg;
};

/* A completion as a program took it; for the sanitizer. */
struct rn_host_cqe {
	rn_iova slot; /* where it lay */
	uint32_t qpn;
	bool recv;
};

/* A work request; for the sanitizer. */
struct rn_host_wr {
	uint32_t qpn;
	uint64_t wr_id;
	uint32_t msg;	/* send: number that rn_mem_attr.msg will carry; receive: 0 */
	uint8_t opcode; /* enum rn_wr_opcode */
	bool recv, fence, is_signaled;
	const struct rn_host_range {
		rn_iova addr;
		uint64_t len;
	} * local; /* none of inline data */
	unsigned local_count;
	uint64_t remote_addr;
	uint32_t rkey;
};

struct rn_host_api {
	uint32_t version; /* RN_HOST_API_VERSION */

	/* The knobs in force; NULL: strict, nothing lies between device and memory and
	 * attach() need not be called.
	 */
	const struct rn_pcie_knobs *(*knobs)(void);

	/* Put a NIC below the hierarchy. NULL with errno: ENOSPC (RN_NIC_MAX), ENOMEM. */
	struct rn_host_nic *(*attach)(const struct rn_host_nic_cfg *cfg);
	/* Everything on its way is performed first; results are dropped. */
	void (*detach)(struct rn_host_nic *nic);

	/* rn_dev_cfg.mem; the context is the NIC. write() answers FAULT where a page that
	 * it touches cannot be written at the time of the call.
	 */
	const struct rn_mem_ops *mem;

	/* Hand over what has ended since: calls @done for each, in the thread of the
	 * caller, no lock of the hierarchy held. Cheap if there is nothing.
	 */
	unsigned (*collect)(struct rn_host_nic *nic,
			    void (*done)(void *arg, uint64_t tag,
					 enum rn_mem_result result),
			    void *arg);

	/* A poll of the ring at @ring found nothing: moves some TLPs. */
	void (*polled_empty)(struct rn_host_nic *nic, rn_iova ring);

	/* Perform the CQEs on their way into [ring, ring + len), and what they push: an
	 * interrupt does not overtake its CQE.
	 */
	void (*settle_ring)(struct rn_host_nic *nic, rn_iova ring, uint64_t len);

	/* ack=placed: perform the data of this QP. Does nothing with ack=early. */
	void (*settle_acked)(struct rn_host_nic *nic, uint32_t qpn);

	/* Perform all that touches the QP (0: the NIC); its reads and atomics that are
	 * PENDING end now, and the next collect() hands them over: they are the buffers
	 * of QPs that live on when a region goes. Before a QP's block or a region goes.
	 */
	void (*drain)(struct rn_host_nic *nic, uint32_t qpn);

	/* Device memory behind a descriptor: address by which the NIC reaches byte
	 * @offset, where it lies in a GPU's allocation.
	 * Return: 0; -ENOENT: not a descriptor of this library; -EINVAL: outside of it;
	 *	   -ENOMEM: beyond the BAR.
	 */
	int (*dmabuf)(int fd, uint64_t offset, uint64_t len, rn_iova *addr);

	/* May [addr, addr + len) be registered, and with these RN_ACCESS_* flags? It may
	 * become device memory by what the user declared. 0; 1: it is device memory;
	 * -errno; -ENOMEM: beyond the BAR.
	 */
	int (*region_add)(struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			  uint64_t len, uint32_t access);
	void (*region_remove)(struct rn_host_nic *nic, uint32_t key);

	/* [addr, addr + len), which the device has made, is memory on the NIC from now
	 * on: the NIC's own accesses to it are done at once. 0; -ENOMEM.
	 */
	int (*dm_add)(struct rn_host_nic *nic, rn_iova addr, uint64_t len);
	/* @addr: as added. What is on its way to it is performed; no region of it lives.
	 */
	void (*dm_remove)(struct rn_host_nic *nic, rn_iova addr);
	/* The program's copies to and from memory on the NIC: posted writes, and reads
	 * whose completions come behind what the NIC has written. 0; -EFAULT.
	 */
	int (*dm_write)(struct rn_host_nic *nic, rn_iova addr, const void *src,
			uint64_t len);
	int (*dm_read)(struct rn_host_nic *nic, void *dst, rn_iova addr, uint64_t len);
	/* The program has posted: its doorbell is a write as well, and comes behind what
	 * it has written to memory on the NIC. Cheap if there is nothing.
	 */
	void (*doorbell)(struct rn_host_nic *nic);

	/* Sanitizer; NULL: off. */
	void (*posted)(struct rn_host_nic *nic, const struct rn_host_wr *wr);
	void (*polled)(struct rn_host_nic *nic, const struct rn_host_cqe *cqe);
};

/* Symbol RN_HOST_API_SYMBOL of the library. Reads the environment at the first call.
 * Return: NULL with one sentence in @err if ROCIN_PCIE is not understood.
 */
typedef const struct rn_host_api *rn_host_api_fn(uint32_t version, char *err,
						 size_t err_len);

#endif /* RN_HOST_API_H */
