/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_build.c - packets that are built where they leave: in a ring, or beside it. */
#include "far_copy.h"
#include "local_internal.h"
#include "rocin/wire.h"

enum {
	SHOW_AT = 8 * 1024, /* bytes: the peer reads them while the next are built */
	SHOW_AT_STREAM = 32 * 1024,
	SHOWS = 8, /* one of so many rings for the peer, the first of a burst at least */
	FEW = 4,   /* packets of a burst: a message, an acknowledgement and a little */
	MANY = 32, /* likewise: as one message it would be long */
};

/* Where a packet is built that will be copied to @at: its payload aligned, behind a BTH,
 * and half a page away from where it goes.
 */
static uint8_t *apart_from(struct rn_local *l, const uint8_t *at)
{
	size_t half = LOCAL_PAGE / 2, page = LOCAL_PAGE, line = RN_RING_ALIGN;
	size_t offset = ((uintptr_t)at - (uintptr_t)l->build + half) % page;

	return l->build + offset / line * line + line - RN_BTH_LEN;
}

uint8_t *rn_local_reserve(void *ctx, const struct rn_flow *flow, uint32_t dest_slot)
{
	struct rn_local *l = ctx;
	struct local_wire *w = rn_local_way(l, flow, dest_slot)->wire;
	uint8_t *at;

	if (l->place && l->place != w)
		rn_local_publish(l);
	l->place = NULL;
	if (!w || w->is_stuck || (w->is_away && !rn_local_fetch(l, w)))
		return NULL;
	if (w->want != w->send.size)
		rn_local_resize(w);
	l->place = w;
	l->net.bare = w->may_be_bare;
	at = rn_ring_reserve(&w->send);
	l->apart = at && w->is_long ? apart_from(l, at) : NULL;
	return l->apart ? l->apart : at;
}

static bool is_stream(const struct local_wire *w)
{
	return w->burst_before >= MANY;
}

/* Does the peer get what has been built, in the middle of a burst? In a stream it has
 * enough to do, and each change of the tail, which it may be looking at, takes as long as
 * a good part of a packet.
 */
static bool is_to_show(const struct local_wire *w)
{
	uint32_t at = is_stream(w) ? SHOW_AT_STREAM : SHOW_AT;
	uint32_t half = w->send.size / 2;

	return rn_ring_unpublished(&w->send) >= (at < half ? at : half);
}

static void show(struct rn_local *l, struct local_wire *w)
{
	if (l->shows++ % SHOWS == 0)
		rn_local_let_go(w);
	else
		rn_ring_show(&w->send);
}

/* Where bursts are short somebody waits: what this one begins with, an acknowledgement
 * that goes ahead of its answer or a message ahead of its acknowledgement, is read while
 * the other is built. In a stream the peer would be disturbed, and find little.
 */
static bool goes_ahead(const struct local_wire *w)
{
	return w->burst == 1 && w->burst_before <= FEW;
}

void rn_local_commit(void *ctx, const struct rn_flow *flow, uint32_t len)
{
	struct rn_local *l = ctx;
	struct local_wire *w = l->place;
	struct rn_ring_meta meta = rn_local_meta(flow);

	meta.flags = l->net.bare ? RN_RING_BARE : 0;
	if (l->apart)
		(void)!rn_ring_send(&w->send, &meta, l->apart, len); /* there is space */
	else
		rn_ring_commit(&w->send, &meta, len);
	w->is_long = len >= RN_FAR_COPY_MIN;
	w->full_since = 0;
	rn_local_count(l, RN_STAT_LOCAL_TX_PACKETS, 1);
	rn_local_count(l, RN_STAT_LOCAL_TX_BYTES, len);
	if (l->net.bare)
		rn_local_count(l, RN_STAT_LOCAL_TX_BARE, 1);
	if (++w->burst == 1 && is_stream(w) && w->is_long)
		rn_local_pace_begin(w);
	if (is_to_show(w))
		show(l, w);
	else if (goes_ahead(w))
		rn_ring_show(&w->send);
}

void rn_local_publish(void *ctx)
{
	struct rn_local *l = ctx;
	struct local_wire *w = l->place;

	l->shows = 0;
	if (!w)
		return;
	rn_local_let_go(w);
	rn_local_pace_end(w);
	w->burst_before = w->burst;
	w->burst = 0;
}
