/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* repeats.c - see repeats.h. */
#include "repeats.h"

#include <string.h>

#include "rocin/opcode.h"
#include "rocin/wire.h"

enum {
	TYPE_SHIFT = 5, /* of an opcode: the transport is above */
	KIND_MASK = (1 << TYPE_SHIFT) - 1,
	ACKREQ_AT = 8,
	ACKREQ = 0x80,
	PSN_AT = 9, /* to the end of the BTH */
};

/* Responses have the same numbers in all reliable transports, and no others use them. */
static bool is_request(const struct rn_scene_packet *p)
{
	unsigned kind = p->bytes[0] & KIND_MASK;

	return p->len >= RN_BTH_LEN &&
	       (kind < RN_RC_READ_RESPONSE_FIRST || kind > RN_RC_ATOMIC_ACK);
}

static void copy_bth(uint8_t *bth, const struct rn_scene_packet *p)
{
	memcpy(bth, p->bytes, RN_BTH_LEN);
	bth[ACKREQ_AT] &= (uint8_t)~ACKREQ;
}

/* Return: true if @p is a READ, and which bytes it asks for. */
static bool read_range(const struct rn_scene_packet *p, uint64_t *va, uint64_t *end)
{
	uint32_t class = p->bytes[0] & ~(uint32_t)KIND_MASK;
	uint32_t at = RN_BTH_LEN + (class == RN_CLASS_XRC ? RN_XRCETH_LEN : 0);
	struct rn_reth reth;

	if ((p->bytes[0] & KIND_MASK) != RN_RC_READ_REQUEST || p->len < at ||
	    rn_reth_parse(&reth, p->bytes + at, p->bytes + p->len))
		return false;
	*va = reth.va;
	*end = reth.va + reth.dma_len;
	return true;
}

void rn_repeats_note(struct rn_repeats *r, const struct rn_scene_packet *p)
{
	unsigned at = r->count % RN_REPEATS_MAX;

	if (!is_request(p))
		return;
	copy_bth(r->taken[at].bth, p);
	r->taken[at].len = p->len;
	if (!read_range(p, &r->taken[at].va, &r->taken[at].end))
		r->taken[at].va = r->taken[at].end = 0;
	r->count++;
}

bool rn_repeats_has(const struct rn_repeats *r, const struct rn_scene_packet *p)
{
	unsigned count = r->count < RN_REPEATS_MAX ? r->count : RN_REPEATS_MAX;
	uint8_t bth[RN_BTH_LEN];
	uint64_t va = 0, end = 0;
	bool reads;

	if (!is_request(p))
		return false;
	copy_bth(bth, p);
	reads = read_range(p, &va, &end);
	for (unsigned i = 0; i < count; i++) {
		bool is_rest = reads && end == r->taken[i].end && va > r->taken[i].va &&
			       va < end;

		if (r->taken[i].len == p->len &&
		    memcmp(r->taken[i].bth, bth, is_rest ? PSN_AT : RN_BTH_LEN) == 0)
			return true;
	}
	return false;
}

const struct rn_scene_packet *rn_repeats_skip(const struct rn_repeats *r,
					      const struct rn_scene_ops *ops, void *ctx)
{
	const struct rn_scene_packet *p;

	while ((p = ops->packet(ctx)) && ops->slack && rn_repeats_has(r, p))
		ops->drop_packet(ctx);
	return p;
}
