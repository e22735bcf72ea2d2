/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_copies.c - see dump_copies.h. */
#include "dump_copies.h"

#include <stdlib.h>

#include "rocin/wire.h"

enum {
	SLOTS = 1 << 16,
	SENT_BY_US = 4, /* packet types of Linux cooked mode */
	SENT_TO_US = 0,
	HEAD = 128, /* bytes that tell one packet from another, with the last ones, ... */
	TAIL = 4,   /* ... which are the ICRC if it was not cut off */
};

/* Packets with this sum that left and have not arrived. */
struct slot {
	uint64_t sum;
	uint32_t left;
	uint64_t number; /* the caller's, of the last of them */
};

struct rn_dump_copies {
	struct slot slot[SLOTS];
};

struct rn_dump_copies *rn_dump_copies_new(void)
{
	return calloc(1, sizeof(struct rn_dump_copies));
}

void rn_dump_copies_free(struct rn_dump_copies *c)
{
	free(c);
}

/* FNV-1a */
static uint64_t add(uint64_t sum, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum = (sum ^ p[i]) * 0x100000001b3;
	return sum;
}

/* Without what a way through a network changes. */
static uint64_t sum_of(const uint8_t *p, uint32_t len)
{
	uint32_t skip = p[0] >> 4 == 4 ? 12 : 8; /* addresses come then */
	uint64_t sum = 0xcbf29ce484222325;

	if (len <= skip)
		return sum;
	sum = add(sum, p + skip, (len < HEAD ? len : HEAD) - skip);
	return len > HEAD + TAIL ? add(sum, p + len - TAIL, TAIL) : sum;
}

bool rn_dump_is_copy(struct rn_dump_copies *c, const uint8_t *sll, const uint8_t *packet,
		     uint32_t len, uint64_t **number)
{
	uint64_t sum = sum_of(packet, len);
	struct slot *s = &c->slot[sum % SLOTS];

	*number = NULL;
	switch (rn_get_be16(sll)) {
	case SENT_BY_US:
		if (s->sum != sum)
			*s = (struct slot){ .sum = sum };
		s->left++;
		s->number = 0;
		*number = &s->number;
		return false;
	case SENT_TO_US:
		if (s->sum != sum || s->left == 0)
			return false;
		s->left--;
		*number = &s->number;
		return true;
	default:
		return false;
	}
}
