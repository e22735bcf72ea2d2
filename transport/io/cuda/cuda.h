/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda.h - memory of real GPUs as the device reaches it, by the CUDA driver API.
 *
 * A region of such memory has addresses that no other memory has (aliases): bit 63 is
 * set, bits 48 to 62 are the number of the region, and the bits below are the address in
 * the GPU. So one test of an address tells how its bytes are moved, and an access names
 * the region that it goes through, although the same range may be registered several
 * times or be freed and allocated anew in between.
 *
 * How bytes move: each CUDA context whose memory is registered has a stream of its own,
 * which does not wait for the streams of the program, and pinned memory. A write is
 * copied into the pinned memory and its bytes are then on their way; writes that continue
 * each other travel as one copy. All copies of a context take place in the order in which
 * they were asked for. rn_cuda_settle() waits until those that were asked for have ended.
 * A read either waits for its bytes or reports them later.
 *
 * Memory that the program has freed, or whose context it has destroyed, is noticed before
 * each copy: the driver gives each allocation a number (the buffer ID) that it never
 * gives again.
 *
 * Atomics are read-modify-write under one lock. They are atomic towards each other, not
 * towards kernels of the GPU that change the same word at the same time; the atomics of a
 * PCIe device that lacks AtomicOps behave likewise.
 *
 * Threads: any. The functions of one NIC need the lock of its device; different NICs may
 * be used at the same time. One lock, inside, guards all regions and copies.
 */
#ifndef RN_CUDA_H
#define RN_CUDA_H

#include "rocin/mem.h"

struct rn_cuda_nic;

/* Is this an address of a region of a GPU? */
static inline bool rn_cuda_is_alias(rn_iova addr)
{
	return addr >> 63;
}

/* Is the CUDA driver loaded in this process? Not if it is one of simulated GPUs. */
bool rn_cuda_is_loaded(void);

/* The same, also if it is one of simulated GPUs: may the program have memory of GPUs? */
bool rn_cuda_is_used(void);

/* ------------------------------------------------------------------------ regions */

/**
 * rn_cuda_region_add() - Register memory of a GPU
 * @addr:	First byte, as the program names it
 * @len:	Length in bytes
 * @alias:	Out: address by which the functions of this file know that byte
 *
 * Also asks the driver to let synchronous copies of the program wait for their end
 * (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), as the peer-memory drivers demand. The first
 * region of a context takes 16 MiB of pinned memory.
 *
 * Return: 1: it is memory of a GPU, and *@alias is set. 0: it is not, nor is a CUDA
 * driver needed to find that out. -EFAULT: only a part of the range is. -ENOMEM: no
 * memory, or there are 32768 regions already. -EIO: the driver has failed; the log says
 * how.
 */
int rn_cuda_region_add(rn_iova addr, uint64_t len, rn_iova *alias);

/* Removes the region to which @alias belongs. No access to it may follow. */
void rn_cuda_region_remove(rn_iova alias);

/* Returns the number of the GPU, as the driver counts, to which the region belongs. */
unsigned rn_cuda_device(rn_iova alias);

/* Is the memory at @alias still the one that was registered? Makes no copy. */
bool rn_cuda_is_valid(rn_iova alias);

/* ------------------------------------------- accesses that end before they return */

/* Reads or writes @len bytes at @alias. A write is visible in the GPU before the function
 * returns. Return: RN_MEM_DONE or RN_MEM_FAULT.
 */
enum rn_mem_result rn_cuda_load(void *dst, rn_iova alias, uint32_t len);
enum rn_mem_result rn_cuda_store(rn_iova alias, const void *src, uint32_t len);
/* Performs an atomic, and stores in *@orig the value found. */
enum rn_mem_result rn_cuda_modify(const struct rn_mem_atomic_req *req, uint64_t *orig);

/* -------------------------------------------------------------- a device's accesses */

/* Operations of a device, whose context argument is a struct rn_cuda_nic. They move
 * memory of GPUs as described above and hand all other accesses to rn_mem_direct_ops. An
 * access that something outside of the GPU could notice, such as the write of a CQE, is
 * made after all earlier writes to GPUs have ended there. In the first table reads of
 * GPUs answer PENDING; in the second all accesses end before they return.
 */
extern const struct rn_mem_ops rn_cuda_ops;
extern const struct rn_mem_ops rn_cuda_waiting_ops;

/**
 * rn_cuda_attach() - Make a NIC
 * @wake:	Called when a read has ended that answered PENDING, so that the device
 *calls rn_cuda_collect() soon. Any thread may call it, with a lock of this file held. It
 *must neither block nor call functions of this file.
 * @arg:	Argument of @wake
 *
 * Return: the NIC; NULL: there is no memory for it.
 */
struct rn_cuda_nic *rn_cuda_attach(void (*wake)(void *arg), void *arg);

/* Waits for all accesses of the NIC, drops their results, and frees it. @wake is not
 * called afterwards.
 */
void rn_cuda_detach(struct rn_cuda_nic *nic);

/* Calls @done, in the calling thread and without a lock, for each read that has ended
 * since the last call, and sends writes on their way that still wait for others to join
 * them. Return: number of reads that have ended.
 */
unsigned rn_cuda_collect(struct rn_cuda_nic *nic,
			 void (*done)(void *arg, uint64_t tag, enum rn_mem_result result),
			 void *arg);

/* Has the NIC accesses that are under way? */
bool rn_cuda_is_busy(const struct rn_cuda_nic *nic);

/* Waits until all writes of the NIC are visible in the GPUs. @arg: the NIC. @qpn is not
 * used: the function has the type of rn_dev_cfg.before_ack.
 */
void rn_cuda_settle(void *arg, uint32_t qpn);

/* Waits until all reads of the NIC have ended; the next rn_cuda_collect() reports them.
 */
void rn_cuda_drain(struct rn_cuda_nic *nic);

#endif /* RN_CUDA_H */
