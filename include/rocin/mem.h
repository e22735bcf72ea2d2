/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem.h - how the device reaches memory.
 *
 * The transport has no pointer to any application buffer or completion ring. All of
 * them are reached through struct rn_mem_ops, so the same transport runs over plain
 * stores (`direct`) and over a model of PCIe ordering (sim/pcie). Each operation is
 * named after the TLP that it produces.
 */
#ifndef RN_MEM_H
#define RN_MEM_H

#include <string.h>

#include "rocin/types.h"

struct rn_crc32_part;

enum rn_mem_result {
	RN_MEM_DONE,	/* finished before return; results are valid */
	RN_MEM_PENDING, /* rn_dev_mem_done(tag) follows, later or never */
	RN_MEM_FAULT,	/* no such address, or the memory behind it is gone */
};

/* Attributes of one access: what a TLP header carries. */
enum rn_mem_flag {
	RN_MEM_RELAXED = 1 << 0,  /* RO: may pass earlier posted writes */
	RN_MEM_ID_ORDER = 1 << 1, /* IDO */
	RN_MEM_CQE = 1 << 2,	  /* a completion entry: never relaxed */
	RN_MEM_RESPONSE = 1 << 3, /* bytes that a READ or atomic of ours brought back */
	RN_MEM_WRITE = 1 << 4, /* payload of one packet of a WRITE, without immediate */
	/* A read for what it pushes, not for its bytes; a write, of one word, that passes
	 * nothing and is no payload.
	 */
	RN_MEM_PUSH = 1 << 5,
};

struct rn_mem_attr {
	uint32_t qpn;	/* requester ID of the access; 0: the device itself */
	uint32_t flags; /* enum rn_mem_flag */
	/* Message that the access belongs to. As requester (gather, RN_MEM_RESPONSE) the
	 * number of the work request in its send queue, 0 for the first after RESET; as
	 * responder the MSN that counts the message, modulo 2^24 (UD: counted likewise).
	 * RN_MEM_CQE: the same number for the CQE of that message.
	 */
	uint32_t msg;
};

/* Made in a register: a pair of fields that was stored one by one can be read as a pair
 * only once both stores have reached the cache, and so it would be read at each call.
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
	rn_iova dst;	  /* naturally aligned, 8 bytes */
	uint64_t operand; /* host order: swap value or addend */
	uint64_t compare; /* host order; RN_MEM_CMP_SWAP only */
};

struct rn_mem_ops {
	/* True if no operation ever answers PENDING: the core then keeps no staging
	 * buffers.
	 */
	bool always_done;

	/* Posted write (MWr) of @len >= 1 bytes. Returns DONE once accepted, which need
	 * not be once visible; @src may be reused at once. Never PENDING. Bytes go upward
	 * in address order; the last naturally aligned word is stored last, with release
	 * semantics; an aligned write of 1, 2, 4 or 8 bytes is one store.
	 * On FAULT some leading bytes may have been written.
	 */
	enum rn_mem_result (*write)(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr);

	/* Non-posted read (MRd) of @len >= 1 bytes. @dst must stay valid until DONE,
	 * FAULT or rn_dev_mem_done(tag). An aligned read of 8 bytes is one load.
	 */
	enum rn_mem_result (*read)(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag);

	/* NULL, or as read, with always_done, for a payload that is to be signed: *@part
	 * says what the bytes at @dst are to a CRC, or is empty when that does not come
	 * for nothing. Not for words that must be read by one load.
	 */
	enum rn_mem_result (*read_part)(void *ctx, void *dst, rn_iova src, uint32_t len,
					struct rn_mem_attr attr,
					struct rn_crc32_part *part);

	/* AtomicOp (FetchAdd, CAS). @orig receives the value found, host order; it must
	 * stay valid as @dst of read does.
	 */
	enum rn_mem_result (*atomic)(void *ctx, const struct rn_mem_atomic_req *req,
				     uint64_t *orig, struct rn_mem_attr attr,
				     uint64_t tag);
};

#endif /* RN_MEM_H */
