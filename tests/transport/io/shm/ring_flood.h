/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring_flood.h - a producer that fills its ring with records that are no packets. */
#ifndef RING_FLOOD_H
#define RING_FLOOD_H

#include "transport/io/shm/ring_layout.h"

/* @count changes of the size, all to the same: 64 bytes each. Left to be published. */
static inline void ring_flood(struct rn_ring_send *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct rn_ring_header *h = (void *)(s->data + s->off);

		s->size = s->capacity;
		atomic_store(&h->meta, s->capacity);
		atomic_store(&h->what,
			     (uint64_t)rn_ring_tag(s->tail) << 32 | RN_RING_RESIZE);
		s->tail += RN_RING_ALIGN;
		s->off = (s->off + RN_RING_ALIGN) & (s->size - 1);
	}
}

#endif /* RING_FLOOD_H */
