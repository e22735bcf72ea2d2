/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring_layout.h - layout of the shared memory of a ring; see ring.h. */
#ifndef RN_RING_LAYOUT_H
#define RN_RING_LAYOUT_H

#include <stdatomic.h>

#include "ring.h"

enum {
	RN_RING_MAGIC = 0x526e5267, /* "RnRg" */
	RN_RING_VERSION = 1,
	/* Distance in bytes between the variables that the two sides write. It is two
	 * cache lines, because processors also prefetch the neighbour of a line.
	 */
	RN_RING_APART = 128,
};

/* Values of the length field in records without a packet. */
/* the record reaches to the end of the data, and is skipped */
#define RN_RING_PAD UINT32_MAX
#define RN_RING_RESIZE (UINT32_MAX - 1) /* the meta word is the new size of the ring */

/* The control page. Each cache line has one writer, unless a peer breaks the rules.
 * Memory order of tail and head is message passing (MP): the writer stores with release,
 * the reader loads with acquire. Where the doorbell needs it, the tail is stored
 * sequentially consistently. A side stores its closed flag after its last tail or head.
 */
struct rn_ring_shared {
	_Atomic uint32_t magic;
	_Atomic uint32_t version;
	_Atomic uint32_t capacity;

	_Alignas(RN_RING_APART) _Atomic uint64_t tail;
	_Atomic uint32_t send_closed;

	_Alignas(RN_RING_APART) _Atomic uint64_t head;
	_Atomic uint32_t recv_closed;
};

static_assert(sizeof(struct rn_ring_shared) <= RN_RING_CONTROL, "fits its page");

/* The header of a record: two words, each written and read as a whole. Records before the
 * tail belong to the consumer, free space to the producer; the words are atomic because a
 * hostile peer may write at any time.
 */
struct rn_ring_header {
	_Atomic uint64_t what; /* length of the packet | tag << 32 */
	_Atomic uint64_t meta;
};

static_assert(sizeof(struct rn_ring_header) == RN_RING_HEADER, "as promised");
static_assert(sizeof(struct rn_ring_meta) == sizeof(uint64_t), "one word");

static inline uint32_t rn_ring_tag(uint64_t position)
{
	return (uint32_t)(position / RN_RING_ALIGN);
}

/* Return: bytes of a record that holds a packet of @len bytes. */
static inline uint32_t rn_ring_need(uint32_t len)
{
	return (RN_RING_HEADER + len + RN_RING_ALIGN - 1) & ~(RN_RING_ALIGN - 1u);
}

static inline bool rn_ring_is_size(uint64_t size, uint32_t capacity)
{
	return size >= RN_RING_SIZE_MIN && size <= capacity && (size & (size - 1)) == 0;
}

#endif /* RN_RING_LAYOUT_H */
