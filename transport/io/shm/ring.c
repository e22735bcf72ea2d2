/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring.c - the memory of a ring, and why an end of one stops. */
#include "ring_layout.h"

void rn_ring_format(void *mem, uint32_t capacity)
{
	struct rn_ring_shared *shared = mem;

	assert((uintptr_t)mem % RN_RING_APART == 0);
	assert(capacity <= RN_RING_SIZE_MAX);
	assert(rn_ring_is_size(capacity, capacity));
	atomic_store_explicit(&shared->capacity, capacity, memory_order_relaxed);
	atomic_store_explicit(&shared->version, RN_RING_VERSION, memory_order_relaxed);
	atomic_store_explicit(&shared->magic, RN_RING_MAGIC, memory_order_release);
}

bool rn_ring_is_formatted(const struct rn_ring_shared *shared, uint32_t capacity)
{
	return atomic_load_explicit(&shared->magic, memory_order_acquire) ==
		       RN_RING_MAGIC &&
	       atomic_load_explicit(&shared->version, memory_order_relaxed) ==
		       RN_RING_VERSION &&
	       atomic_load_explicit(&shared->capacity, memory_order_relaxed) == capacity;
}

const char *rn_ring_fault_text(enum rn_ring_fault fault)
{
	static const char *const text[] = {
		[RN_RING_OK] = "nothing is wrong",
		[RN_RING_CLOSED] = "the peer has closed it",
		[RN_RING_BAD_MAGIC] = "the memory is no ring of this version and size",
		[RN_RING_BAD_HEAD] = "the peer says that it has read what it cannot have",
		[RN_RING_BAD_TAIL] =
			"the peer says that it has written what it cannot have",
		[RN_RING_BAD_TAG] = "a record is not the one of its place",
		[RN_RING_BAD_LENGTH] = "a record has the length of no packet",
		[RN_RING_BAD_EXTENT] = "a record goes past what was written",
		[RN_RING_BAD_SIZE] = "the ring is to have a size that it cannot have",
	};

	static_assert(RN_ARRAY_SIZE(text) == RN_RING_FAULT_COUNT, "one for each");
	assert(fault < RN_RING_FAULT_COUNT);
	return text[fault];
}
