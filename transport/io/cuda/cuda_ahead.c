/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_ahead.c - reads the bytes of a message from a GPU before they are asked for.
 *
 * A device asks for a message packet by packet, and a copy takes as long for 4 KiB as for
 * 128 KiB. So the first read of a message asks for more than was wanted; while one piece
 * is handed out, the next one is on its way. Nothing tells where a message ends: what was
 * read beyond that is dropped, since it is of this message alone.
 */
#include "cuda_internal.h"

/* Returns what was read ahead of this message; or what is to be used for it, emptied:
 * that of an earlier message of the QP, or what was not used for the longest time. NULL:
 * reads wait for all of them.
 */
static struct rn_cuda_ahead *find(struct rn_cuda_lane *lane,
				  const struct rn_cuda_region *region,
				  const struct rn_cuda_request *r)
{
	struct rn_cuda_ahead *oldest = NULL;

	for (unsigned i = 0; i < RN_CUDA_AHEADS; i++) {
		struct rn_cuda_ahead *a = &lane->aheads[i];

		if (a->region == region && a->nic == r->nic && a->tag == r->tag &&
		    a->msg == r->msg)
			return a;
		if (a->piece[0].users || a->piece[1].users)
			continue;
		if (!oldest || a->used < oldest->used)
			oldest = a;
	}
	if (!oldest)
		return NULL;
	oldest->region = region;
	oldest->nic = r->nic;
	oldest->tag = r->tag;
	oldest->msg = r->msg;
	oldest->piece[0].len = oldest->piece[1].len = 0;
	return oldest;
}

static struct rn_cuda_piece *piece_with(struct rn_cuda_ahead *a, rn_cu_ptr src,
					uint32_t len)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rn_cuda_piece *p = &a->piece[i];

		if (p->len && src >= p->at && src - p->at < p->len &&
		    len <= p->len - (src - p->at))
			return p;
	}
	return NULL;
}

/* Asks for up to @len bytes at @at, not beyond the region. */
static bool fetch(struct rn_cuda_region *region, struct rn_cuda_piece *p, rn_cu_ptr at,
		  uint32_t len)
{
	const uint64_t left = region->start + region->len - at;

	p->at = at;
	p->len = left < len ? (uint32_t)left : len;
	if (p->len && rn_cuda_fetch_piece(region, p))
		return true;
	p->len = 0;
	return false;
}

/* Asks for what follows the piece @p, which is being handed out, unless that is there. */
static void fetch_next(struct rn_cuda_region *region, struct rn_cuda_ahead *a,
		       const struct rn_cuda_piece *p)
{
	struct rn_cuda_piece *other = &a->piece[p == &a->piece[0]];
	const rn_cu_ptr next = p->at + p->len;

	if (!other->users && next < region->start + region->len &&
	    !(other->len && other->at == next))
		(void)fetch(region, other, next, RN_CUDA_PIECE);
}

/* Returns the piece in which the bytes at @src lie, or behind which they follow. */
static struct rn_cuda_piece *piece_before(struct rn_cuda_ahead *a, rn_cu_ptr src)
{
	for (unsigned i = 0; i < 2; i++)
		if (a->piece[i].len && src > a->piece[i].at &&
		    src - a->piece[i].at <= a->piece[i].len)
			return &a->piece[i];
	return NULL;
}

/* Makes sure that a piece with the bytes at @src is there or on its way. Of a message
 * that goes on behind its first bytes, more is read at once.
 */
static struct rn_cuda_piece *prepare(struct rn_cuda_region *region,
				     struct rn_cuda_ahead *a, rn_cu_ptr src, uint32_t len)
{
	const struct rn_cuda_piece *before = piece_before(a, src);
	struct rn_cuda_piece *p = piece_with(a, src, len);

	if (p)
		return p;
	p = &a->piece[before ? before == &a->piece[0] : a->piece[0].users > 0];
	if (p->users || !rn_cuda_is_there(region, src))
		return NULL;
	rn_cuda_submit(region->lane);
	return fetch(region, p, src, before ? RN_CUDA_PIECE : RN_CUDA_FIRST) ? p : NULL;
}

static enum rn_mem_result read_alone(const struct rn_cuda_request *r)
{
	if (r->waits)
		return rn_cuda_read_in(r->dst, r->src, r->len);
	return rn_cuda_read_begin(r->nic, r->dst, r->src, r->len, r->tag);
}

enum rn_mem_result rn_cuda_read_ahead(const struct rn_cuda_request *r)
{
	rn_cu_ptr src;
	struct rn_cuda_region *region = rn_cuda_find(r->src, r->len, &src);
	struct rn_cuda_piece *p = NULL;
	struct rn_cuda_ahead *a;

	if (!region)
		return RN_MEM_FAULT;
	if (r->len > RN_CUDA_READ_MAX)
		return read_alone(r);
	a = find(region->lane, region, r);
	/* The end of a message is short, and may be there. */
	if (a && (r->len >= RN_CUDA_AHEAD_MIN || piece_with(a, src, r->len)))
		p = prepare(region, a, src, r->len);
	if (!p)
		return read_alone(r);
	a->used = ++region->lane->ahead_count;
	if (p->len > RN_CUDA_FIRST)
		fetch_next(region, a, p);
	return rn_cuda_read_piece(region->lane, r->waits ? NULL : r->nic, p,
				  (uint32_t)(src - p->at), r->dst, r->len, r->tag);
}

void rn_cuda_forget_ahead(const struct rn_cuda_nic *nic,
			  const struct rn_cuda_region *region)
{
	for (struct rn_cuda_lane *l = rn_cuda_lanes(); l; l = l->next)
		for (unsigned i = 0; i < RN_CUDA_AHEADS; i++)
			if (region ? l->aheads[i].region == region
				   : l->aheads[i].nic == nic)
				l->aheads[i].region = NULL;
}
