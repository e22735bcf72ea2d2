/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doorbell.c - see doorbell.h. */
#include "doorbell.h"

#include <stdatomic.h>

/* All accesses are sequentially consistent, except where a comment says why
 * they need not be.
 */
struct rn_doorbell {
	_Alignas(128) _Atomic uint32_t sleeping;
	_Alignas(128) _Atomic uint64_t ready[RN_DOORBELL_WORDS];
};

static_assert(sizeof(struct rn_doorbell) <= RN_DOORBELL_BYTES, "fits its page");

bool rn_doorbell_ring(struct rn_doorbell *peer, unsigned idx)
{
	_Atomic uint64_t *word;
	uint64_t bit = UINT64_C(1) << idx % 64;

	assert(idx < RN_DOORBELL_RINGS);
	word = &peer->ready[idx / 64];
	/* If the bit is set already, the consumer has not taken it yet, and will look
	 * at the ring after this publication. So the cache line need not be written for
	 * each burst.
	 */
	if (!(atomic_load(word) & bit))
		atomic_fetch_or(word, bit);
	return atomic_load(&peer->sleeping) && atomic_exchange(&peer->sleeping, 0);
}

void rn_doorbell_announce(struct rn_doorbell *own)
{
	atomic_store(&own->sleeping, 1);
}

void rn_doorbell_awake(struct rn_doorbell *own)
{
	/* Relaxed: a producer that still sees the old value only wakes a process that
	 * is awake.
	 */
	if (atomic_load_explicit(&own->sleeping, memory_order_relaxed))
		atomic_store_explicit(&own->sleeping, 0, memory_order_relaxed);
}

uint64_t rn_doorbell_take(struct rn_doorbell *own, unsigned word)
{
	assert(word < RN_DOORBELL_WORDS);
	return atomic_load(&own->ready[word]) ? atomic_exchange(&own->ready[word], 0) : 0;
}

void rn_doorbell_remember(struct rn_doorbell *own, unsigned idx)
{
	assert(idx < RN_DOORBELL_RINGS);
	atomic_fetch_or_explicit(&own->ready[idx / 64], UINT64_C(1) << idx % 64,
				 memory_order_relaxed);
}
