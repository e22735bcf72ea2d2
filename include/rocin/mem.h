/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem.h - interface through which the device accesses memory.
 *
 * The transport has no pointer to any application buffer or completion ring. It accesses
 * them through struct rn_mem_ops, so the same transport works with plain loads and stores
 * (transport/io/memory) and with a model of PCIe ordering (sim/pcie). Each operation is
 * named after the TLP that it produces.
 */
#ifndef RN_MEM_H
#define RN_MEM_H

#include <string.h>

#include "rocin/types.h"

struct rn_crc32_part;

enum rn_mem_result {
	RN_MEM_DONE, /* the operation has ended before return; its results are valid */
	/* The operation goes on. A later rn_dev_mem_done() with its tag reports that it
	 * has ended, unless the NIC is closed before.
	 */
	RN_MEM_PENDING,
	/* there is no memory at the address, or it does not exist any more */
	RN_MEM_FAULT,
};

/* Attributes of an access that a TLP header carries. */
enum rn_mem_flag {
	/* Relaxed ordering (RO): may pass earlier posted writes. */
	RN_MEM_RELAXED = 1 << 0,
	RN_MEM_ID_ORDER = 1 << 1, /* ID-based ordering (IDO) */
	RN_MEM_CQE = 1 << 2,	  /* write of a CQE: never relaxed */
	/* Write of data that came in the response to a READ or atomic request of this QP.
	 */
	RN_MEM_RESPONSE = 1 << 3,
	/* Write of the payload of one packet of a WRITE without immediate. */
	RN_MEM_WRITE = 1 << 4,
	/* Access that is made for its ordering, not for its data. A read of this kind
	 * pushes earlier writes to memory. A write of this kind has one word, must not
	 * pass other writes, and does not count as payload.
	 */
	RN_MEM_PUSH = 1 << 5,
};

struct rn_mem_attr {
	/* Number of the QP (requester ID of the TLP); 0: the device itself accesses
	 * the memory.
	 */
	uint32_t qpn;
	uint32_t flags; /* flags of the access, enum rn_mem_flag */
	/* Number of the message to which the access belongs. Accesses of a requester
	 * (gather, RN_MEM_RESPONSE): number of the work request in its send queue, 0 for
	 * the first after RESET. Accesses of a responder: the MSN that counts this
	 * message, modulo 2^24; on UD, messages are counted in the same way. With
	 * RN_MEM_CQE: number of the message that the CQE completes.
	 */
	uint32_t msg;
};

/* Makes a struct rn_mem_attr. Stores @qpn and @flags as one 64-bit value, because after
 * two 32-bit stores a 64-bit load of the pair would have to wait until both stores had
 * reached the cache, in each call.
 */
static inline struct rn_mem_attr rn_mem_attr_of(uint32_t qpn, uint32_t flags,
						uint32_t msg)
{
	struct rn_mem_attr attr;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint64_t pair = (uint64_t)flags << 32 | qpn;
#else
	const uint64_t pair = (uint64_t)qpn << 32 | flags;
#endif

	static_assert(offsetof(struct rn_mem_attr, flags) == sizeof(uint32_t), "a pair");
	memcpy(&attr, &pair, sizeof(pair));
	attr.msg = msg;
	return attr;
}

enum rn_mem_atomic {
	RN_MEM_CMP_SWAP,
	RN_MEM_FETCH_ADD,
};

struct rn_mem_atomic_req {
	enum rn_mem_atomic op;
	rn_iova dst;	  /* address of the 8 bytes to change, naturally aligned */
	uint64_t operand; /* host order: swap value or addend */
	uint64_t compare; /* host order; RN_MEM_CMP_SWAP only */
};

/* Computes the value that the atomic operation @req writes to a word in which it has
 * found @found, and stores it in *@value. Returns false if the comparison has failed, so
 * that nothing is to be written.
 */
static inline bool rn_mem_atomic_result(const struct rn_mem_atomic_req *req,
					uint64_t found, uint64_t *value)
{
	*value = req->operand;
	switch (req->op) {
	case RN_MEM_FETCH_ADD:
		*value += found;
		return true;
	case RN_MEM_CMP_SWAP:
		return found == req->compare;
	}
	return false;
}

struct rn_mem_ops {
	/* True if no operation ever answers PENDING; the transport then allocates no
	 * bounce buffers.
	 */
	bool always_done;

	/* Posted write (MWr) of @len >= 1 bytes. Returns DONE once the write is accepted,
	 * which may be before other threads can see it, or FAULT; never PENDING. The
	 * caller may reuse @src at once. Bytes are written in ascending address order;
	 * the last naturally aligned word is stored last, with release semantics; an
	 * aligned write of 1, 2, 4 or 8 bytes is one store. After FAULT some leading
	 * bytes may have been written.
	 */
	enum rn_mem_result (*write)(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr);

	/* Non-posted read (MRd) of @len >= 1 bytes. @dst must stay valid until DONE,
	 * FAULT or rn_dev_mem_done(tag). An aligned read of 8 bytes is one load.
	 */
	enum rn_mem_result (*read)(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag);

	/* NULL, or a variant of `read` that always answers DONE or FAULT. The caller uses
	 * it for a payload that goes into a packet with an ICRC. *@part: out, describes
	 * the bytes at @dst for the computation of the CRC, or is empty if this would
	 * take extra time. Not for words that must be read by a single load.
	 */
	enum rn_mem_result (*read_part)(void *ctx, void *dst, rn_iova src, uint32_t len,
					struct rn_mem_attr attr,
					struct rn_crc32_part *part);

	/* AtomicOp (FetchAdd, CAS). *@orig: out, the value found, in host order. @orig
	 * must stay valid until DONE, FAULT or rn_dev_mem_done(tag), like @dst of `read`.
	 */
	enum rn_mem_result (*atomic)(void *ctx, const struct rn_mem_atomic_req *req,
				     uint64_t *orig, struct rn_mem_attr attr,
				     uint64_t tag);
};

#endif /* RN_MEM_H */
