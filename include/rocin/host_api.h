/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_api.h - the interface between a device and the simulated PCIe
 * hierarchy of its process.
 *
 * The hierarchy lives in librocin-gpu.so, one per process, shared by all devices, GPUs
 * and drives in it. A device looks for it only if ROCIN_PCIE is set or the library is in
 * the process already, so a program that does not use it pays nothing.
 *
 * Locks: the device calls with or without its engine lock held. The hierarchy takes its
 * own lock inside, and calls back without holding it. While it holds its own lock it
 * takes no lock of the device, except where this header says so.
 */
#ifndef RN_HOST_API_H
#define RN_HOST_API_H

#include "rocin/mem.h"
#include "rocin/pcie.h"

struct rn_host_nic;

/* Raised with every change of the structs in this header or of the meaning of their
 * members: a device refuses a library of another version.
 */
enum {
	RN_HOST_API_VERSION = 2
};

#define RN_HOST_API_SYMBOL "rn_host_api"
#define RN_HOST_LIBRARY "librocin-gpu.so.0"

struct rn_host_nic_cfg {
	const char *name; /* "rocin0"; copied */
	/* A read or atomic that answered PENDING has ended: call collect() soon. Called
	 * from any thread, with no lock of the hierarchy held; must not block.
	 */
	void (*wake)(void *arg);
	void *arg;
};

/* A completion that the program has taken; for the sanitizer. */
struct rn_host_cqe {
	rn_iova slot; /* where the CQE lay */
	uint32_t qpn;
	bool recv;
};

/* A work request that was posted; for the sanitizer. */
struct rn_host_wr {
	uint32_t qpn;
	uint64_t wr_id;
	uint32_t msg;	/* send: number that will be in rn_mem_attr.msg; receive: 0 */
	uint8_t opcode; /* enum rn_wr_opcode */
	bool recv, fence, is_signaled;
	const struct rn_host_range {
		rn_iova addr;
		uint64_t len;
	} * local; /* NULL for inline data */
	unsigned local_count;
	uint64_t remote_addr;
	uint32_t rkey;
};

struct rn_host_api {
	uint32_t version; /* RN_HOST_API_VERSION */

	/* The knobs in force. NULL: mode strict, so nothing lies between device and
	 * memory, and attach() need not be called.
	 */
	const struct rn_pcie_knobs *(*knobs)(void);

	/* Attach a NIC to the hierarchy. Return: NULL with errno ENOSPC
	 * (RN_NIC_MAX) or ENOMEM.
	 */
	struct rn_host_nic *(*attach)(const struct rn_host_nic_cfg *cfg);
	/* Detach a NIC. All its TLPs on the way are performed first;
	 * their results are dropped.
	 */
	void (*detach)(struct rn_host_nic *nic);

	/* For rn_dev_cfg.mem; the context is the NIC. write() answers FAULT if a page in
	 * the range cannot be written at the time of the call.
	 */
	const struct rn_mem_ops *mem;

	/* Call @done for each operation that has ended since the last call, in the thread
	 * of the caller, with no lock of the hierarchy held. Cheap if there is none.
	 */
	unsigned (*collect)(struct rn_host_nic *nic,
			    void (*done)(void *arg, uint64_t tag,
					 enum rn_mem_result result),
			    void *arg);

	/* A poll of the CQ ring at @ring found nothing: some TLPs move. */
	void (*polled_empty)(struct rn_host_nic *nic, rn_iova ring);

	/* Perform the CQEs on their way into [@ring, @ring + @len), and the TLPs that
	 * they push, because an interrupt does not overtake its CQE.
	 */
	void (*settle_ring)(struct rn_host_nic *nic, rn_iova ring, uint64_t len);

	/* Mode ack=placed: perform the data writes of this QP. Does
	 * nothing in mode ack=early.
	 */
	void (*settle_acked)(struct rn_host_nic *nic, uint32_t qpn);

	/* Perform all TLPs of the QP (0: of the NIC). Its reads and atomics that are
	 * PENDING end now, and the next collect() reports them: they use buffers of
	 * QPs that live on when a region is deregistered. To be called before a QP's
	 * block or a region is freed.
	 */
	void (*drain)(struct rn_host_nic *nic, uint32_t qpn);

	/* Device memory behind a descriptor: the address by which the
	 * NIC reaches byte @offset.
	 * Return: 0; -ENOENT: not a descriptor of this library; -EINVAL: outside of its
	 * memory; -ENOMEM: beyond the BAR.
	 */
	int (*dmabuf)(int fd, uint64_t offset, uint64_t len, rn_iova *addr);

	/* May [@addr, @addr + @len) be registered with these RN_ACCESS_* flags? It may
	 * become device memory because the user declared it so.
	 * Return: 0; 1: it is device memory; -ENOMEM: beyond the BAR; another -errno.
	 */
	int (*region_add)(struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			  uint64_t len, uint32_t access);
	void (*region_remove)(struct rn_host_nic *nic, uint32_t key);

	/* [@addr, @addr + @len), which the device has allocated, is memory on the NIC
	 * from now on: accesses by the NIC itself are performed at once.
	 * Return: 0; -ENOMEM.
	 */
	int (*dm_add)(struct rn_host_nic *nic, rn_iova addr, uint64_t len);
	/* @addr: as given to dm_add(). Writes on their way to it are performed. No region
	 * of it may exist any more.
	 */
	void (*dm_remove)(struct rn_host_nic *nic, rn_iova addr);
	/* The program's copies to and from memory on the NIC. They are posted writes, and
	 * reads whose completions come behind what the NIC has written.
	 * Return: 0; -EFAULT.
	 */
	int (*dm_write)(struct rn_host_nic *nic, rn_iova addr, const void *src,
			uint64_t len);
	int (*dm_read)(struct rn_host_nic *nic, void *dst, rn_iova addr, uint64_t len);
	/* The program has posted a work request: the doorbell is a posted write
	 * as well, and comes behind the program's writes to memory on the NIC.
	 * Cheap if there are none.
	 */
	void (*doorbell)(struct rn_host_nic *nic);

	/* The sanitizer's hooks; NULL: it is off. */
	void (*posted)(struct rn_host_nic *nic, const struct rn_host_wr *wr);
	void (*polled)(struct rn_host_nic *nic, const struct rn_host_cqe *cqe);
};

/* Type of the symbol RN_HOST_API_SYMBOL of the library. Reads the environment at the
 * first call. Return: NULL with one sentence in @err if ROCIN_PCIE is not understood.
 */
typedef const struct rn_host_api *rn_host_api_fn(uint32_t version, char *err,
						 size_t err_len);

#endif /* RN_HOST_API_H */
