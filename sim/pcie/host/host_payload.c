/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_payload.c - what TLPs carry. All of it is taken from the system at once: pages
 * that are mapped later could come to lie where a program has unmapped what it
 * registered, and late writes would hit them.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_internal.h"

enum {
	NONE = UINT16_MAX,
};

int rn_host_slots_make(struct rn_host *h, uint32_t count, uint32_t bytes)
{
	struct rn_host_slot *slots = calloc(count, sizeof(*slots));
	uint8_t *large = malloc((size_t)count * bytes);

	assert(count < NONE);
	if (!slots || !large) {
		free(slots);
		free(large);
		return -ENOMEM;
	}
	free(h->slots);
	free(h->large);
	h->slots = slots;
	h->large = large;
	h->large_bytes = bytes;
	h->slot_count = count;
	for (uint32_t i = 0; i < count; i++)
		slots[i].next = (uint16_t)(i + 1 < count ? i + 1 : NONE);
	h->free_slot = 0;
	return 0;
}

struct rn_host_slot *rn_host_slot_take(struct rn_host *h, uint32_t len)
{
	size_t at = h->free_slot;
	struct rn_host_slot *s;

	if (at == NONE)
		return NULL;
	assert(len <= h->large_bytes);
	s = &h->slots[at];
	h->free_slot = s->next;
	s->payload = (struct rn_payload){
		.bytes = len > RN_HOST_INLINE ? h->large + at * h->large_bytes : s->bytes,
	};
	return s;
}

void rn_host_slot_give(struct rn_host *h, struct rn_host_slot *s)
{
	s->next = h->free_slot;
	h->free_slot = (uint16_t)(s - h->slots);
}
