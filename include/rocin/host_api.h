/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_api.h - the interface between a device and the simulated PCIe hierarchy of
 * its process.
 *
 * The hierarchy is implemented in librocin-gpu.so. There is one per process, shared by
 * all devices, GPUs and drives in it. A device loads the library only if ROCIN_PCIE is
 * set, or uses it if it is in the process already, so it costs other programs nothing.
 *
 * Locks: a device may call the hierarchy with or without its engine lock held. The
 * hierarchy takes its own lock inside, and calls back without holding it. While the
 * hierarchy holds its own lock, it takes no lock of a device, except where this header
 * says so.
 */
#ifndef RN_HOST_API_H
#define RN_HOST_API_H

#include "rocin/mem.h"
#include "rocin/pcie.h"

struct rn_host_nic;

/* Number that is incremented with every change of the structs in this header or of the
 * meaning of their members. A device refuses a library with another number.
 */
enum {
	RN_HOST_API_VERSION = 6
};

#define RN_HOST_API_SYMBOL "rn_host_api"
#define RN_HOST_LIBRARY "librocin-gpu.so.0"

/* Counters that the simulated PCIe hierarchy keeps for each NIC. */
enum rn_host_counter {
	RN_HOST_DOORBELLS,
	RN_HOST_WQE_READS,
	RN_HOST_MTT_HITS,
	RN_HOST_MTT_MISSES,
	RN_HOST_COUNTERS,
};

struct rn_host_nic_cfg {
	const char *name; /* name of the device, such as "rocin0"; copied */
	/* The PCIe hierarchy calls this function of the device when a read or atomic that
	 * had returned RN_MEM_PENDING has ended. The device must call collect() soon
	 * afterwards. Any thread may call the function, and none holds the lock of the
	 * hierarchy then. The function must not block.
	 */
	void (*wake)(void *arg);
	void *arg;
	/* Array of RN_HOST_COUNTERS counters, or NULL. The hierarchy increments them by
	 * relaxed stores until the NIC is detached.
	 */
	uint64_t *counter;
};

/* A completion that the program has polled; reported to the sanitizer. */
struct rn_host_cqe {
	rn_iova slot; /* address in the CQ ring at which the CQE was */
	uint32_t qpn;
	bool recv;
};

struct rn_host_range {
	rn_iova addr;
	uint64_t len;
};

/* WQEs that were written into a send queue or receive queue. The doorbell of that queue
 * is rung for them.
 */
struct rn_host_bell {
	uint32_t qpn; /* 0: an SRQ */
	/* true: a receive queue, for which BlueFlame is not used */
	bool is_recv;
	/* Number of the first WQE. Requests are counted like rn_mem_attr.msg, receives
	 * from the first one of their queue.
	 */
	uint32_t first, count;
	/* Returns the memory of one WQE. The PCIe hierarchy calls it with its own lock
	 * held.
	 */
	struct rn_host_range (*wqe)(const void *arg, uint32_t number);
	const void *arg;
};

/* A work request that was posted; reported to the sanitizer. */
struct rn_host_wr {
	uint32_t qpn;
	uint64_t wr_id;
	uint32_t msg;	/* send: value of rn_mem_attr.msg for its accesses; receive: 0 */
	uint8_t opcode; /* enum rn_wr_opcode */
	bool recv, fence, is_signaled;
	const struct rn_host_range
		*local; /* memory that the SGEs describe; NULL for inline data */
	unsigned local_count;
	uint64_t remote_addr;
	uint32_t rkey;
};

struct rn_host_api {
	uint32_t version; /* RN_HOST_API_VERSION of the library */

	/* Returns the settings (knobs) in force. Returns NULL if the mode is strict; then
	 * nothing lies between device and memory, and the device need not call attach().
	 */
	const struct rn_pcie_knobs *(*knobs)(void);

	/* Attaches a NIC to the PCIe hierarchy. Returns the NIC, or NULL with errno
	 * ENOSPC (there are RN_NIC_MAX already) or ENOMEM.
	 */
	struct rn_host_nic *(*attach)(const struct rn_host_nic_cfg *cfg);
	/* Detaches a NIC. All its TLPs are performed before, and their results dropped.
	 */
	void (*detach)(struct rn_host_nic *nic);

	/* Value for rn_dev_cfg.mem; rn_dev_cfg.mem_ctx is the NIC. Its write() answers
	 * FAULT if a page in the range is not writable at the time of the call.
	 */
	const struct rn_mem_ops *mem;

	/* Calls @done, in the calling thread, for each memory operation that has ended
	 * since the last call. The PCIe hierarchy's lock is not held then. Cheap if no
	 * operation has ended. Returns the number of operations that have ended.
	 */
	unsigned (*collect)(struct rn_host_nic *nic,
			    void (*done)(void *arg, uint64_t tag,
					 enum rn_mem_result result),
			    void *arg);

	/* Reports that a poll of the CQ ring at @ring has found nothing; @ring 0: that
	 * the device has looked for work and found none. The PCIe hierarchy then moves
	 * some pending TLPs a step further.
	 */
	void (*polled_empty)(struct rn_host_nic *nic, rn_iova ring);

	/* Performs all writes that are on their way into the CQ ring [@ring, @ring +
	 * @len), and the TLPs that these push. The device calls this before it raises an
	 * interrupt, because the interrupt must not overtake its CQE.
	 */
	void (*settle_ring)(struct rn_host_nic *nic, rn_iova ring, uint64_t len);

	/* Called before the QP acknowledges data. In mode ack=placed, all data writes of
	 * the QP are performed. In mode ack=early (an acknowledgement may overtake the
	 * data) the function does nothing.
	 */
	void (*settle_acked)(struct rn_host_nic *nic, uint32_t qpn);

	/* Performs all TLPs of the QP @qpn, or of the whole NIC if @qpn is 0. Its reads
	 * and atomics that are PENDING end, and the next collect() reports them. The
	 * device must call this before it frees the memory block of a QP, or a region.
	 */
	void (*drain)(struct rn_host_nic *nic, uint32_t qpn);

	/* Finds the device memory behind a dma-buf descriptor. *@addr: out, the address
	 * by which the NIC accesses byte @offset. Return: 0; -ENOENT: not a descriptor of
	 * this library; -EINVAL: [@offset, @offset + @len) is not inside its memory;
	 * -ENOMEM: not reachable through the BAR.
	 */
	int (*dmabuf)(int fd, uint64_t offset, uint64_t len, rn_iova *addr);

	/* Registers memory of a real GPU, which a CUDA driver in this process knows.
	 * *@alias: out, the address by which the NIC accesses byte @addr. Return: 1; 0:
	 * it is not such memory; -errno. A region of it is registered by region_add(),
	 * too.
	 */
	int (*real_add)(rn_iova addr, uint64_t len, rn_iova *alias);
	/* Undoes that. Accesses that are on their way there are performed first. */
	void (*real_remove)(rn_iova alias);

	/* Registers a region, and checks that [@addr, @addr + @len) may be accessed with
	 * these RN_ACCESS_* flags. If the user has declared this memory to be device
	 * memory, it is treated as device memory from then on. Return: 0: it is host
	 * memory; 1: it is device memory; -ENOMEM: not reachable through the BAR;
	 * another -errno.
	 */
	int (*region_add)(struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			  uint64_t len, uint32_t access);
	void (*region_remove)(struct rn_host_nic *nic, uint32_t key);

	/* Declares [@addr, @addr + @len), which the device has allocated, to be memory
	 * on the NIC: accesses of the NIC itself are then performed at once. Return:
	 * 0; -ENOMEM.
	 */
	int (*dm_add)(struct rn_host_nic *nic, rn_iova addr, uint64_t len);
	/* Undoes dm_add() for @addr. Writes that are on their way to the memory are
	 * performed first. The caller must have removed all regions of this memory.
	 */
	void (*dm_remove)(struct rn_host_nic *nic, rn_iova addr);
	/* Copy between the program's memory and memory on the NIC, for the program.
	 * Writes are posted; completions of reads arrive after the earlier writes of the
	 * NIC. Return: 0; -EFAULT.
	 */
	int (*dm_write)(struct rn_host_nic *nic, rn_iova addr, const void *src,
			uint64_t len);
	int (*dm_read)(struct rn_host_nic *nic, void *dst, rn_iova addr, uint64_t len);
	/* Reports that the program has posted a work request. The doorbell is a posted
	 * write, which arrives at the NIC behind the program's earlier writes to memory
	 * on the NIC; these are performed. Cheap if there are no such writes.
	 */
	void (*doorbell)(struct rn_host_nic *nic);
	/* Rings the doorbell for WQEs that the device has not begun to execute. The
	 * doorbell and the NIC's reads of the WQEs (knob nic.wqe) have ended when the
	 * function returns.
	 */
	void (*ring)(struct rn_host_nic *nic, const struct rn_host_bell *bell);

	/* Functions of the sanitizer; NULL: the sanitizer is off. */
	void (*posted)(struct rn_host_nic *nic, const struct rn_host_wr *wr);
	void (*polled)(struct rn_host_nic *nic, const struct rn_host_cqe *cqe);
};

/* Type of the function RN_HOST_API_SYMBOL of the library. It reads the environment at the
 * first call. Returns the table of functions. Returns NULL, with an error text in @err,
 * if ROCIN_PCIE is not understood.
 */
typedef const struct rn_host_api *rn_host_api_fn(uint32_t version, char *err,
						 size_t err_len);

#endif /* RN_HOST_API_H */
