/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_local.c - sends and receives packets through rings or, where there is none, by UDP,
 * and builds packets in a ring. Local wires are set up and removed in local_wires.c.
 */
#include "net_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "far_copy.h"
#include "local_internal.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"
#include "transport/io/host/own_fd.h"

enum {
	/* hop limit of packets whose flow has none; the default of sockets */
	HOP_LIMIT = 64,

	/* Reading the sockets is a system call, which costs several times as much as
	 * looking at the rings. While rings are in use, the sockets are read after
	 * LOOK_BUSY calls of receive() that found packets in a ring, or after LOOK_VAIN
	 * times as many calls that found none. If no packet has come for LIVELY_MAX
	 * calls, every LOOK_QUIET-th call reads the sockets.
	 */
	LOOK_BUSY = 64,
	LOOK_VAIN = 8,
	LOOK_QUIET = 8,
	/* Maximum number of reads of the sockets before a new ring is read. This number
	 * of reads returns more packets than the sockets' buffers can hold.
	 */
	DRAIN_MAX = 1024,
	/* number of calls without a packet after which rings count as not in use */
	QUIET_MAX = 4096,
	/* Number of calls without a packet that take some microseconds, as long as a
	 * switch of the scheduler.
	 */
	LIVELY_MAX = 64,
	/* This number of short polls, which only load the tails of the rings, takes as
	 * long as one call of receive().
	 */
	SHORT_SHARE = 16,
	/* If there are more local wires (pairs of rings) than this, only rings whose
	 * doorbell bit is set are read.
	 */
	SCAN_MAX = RN_RING_WATCH_MAX,
	/* number of calls without a packet after which all rings are read, even those
	 * whose doorbell bit is not set
	 */
	SCAN_EVERY = 64,

	/* Limits for packets that are built for a ring. */
	/* Numbers of bytes. When so many bytes of new packets are in the ring, they are
	 * made visible to the peer, which reads them while the next packets are built:
	 * SHOW_AT_STREAM in a stream, SHOW_AT otherwise.
	 */
	SHOW_AT = 8 * 1024,
	SHOW_AT_STREAM = 32 * 1024,
	/* Within a burst, the doorbell of the peer is rung at the first of each SHOWS
	 * times that packets are made visible.
	 */
	SHOWS = 8,
	/* Maximum number of packets in a short burst, which is a message, an
	 * acknowledgement and perhaps a few more.
	 */
	FEW = 4,
	MANY = 32, /* minimum number of packets in a long burst: a stream */
};

/* ---------------------------------------------------- sending packets through rings */
static void wake_peer(const struct local_wire *w)
{
	uint64_t one = 1;

	/* The write fails only if the pipe, or the counter of the eventfd, is full. The
	 * peer has been woken already then.
	 */
	if (rn_own_fd_is_there(w->peer_event))
		(void)!syscall(SYS_write, w->peer_event, &one, sizeof(one));
}

/* Publish the packets in the ring, and wake the peer if it sleeps. */
static void publish_and_wake(struct local_wire *w)
{
	if (rn_ring_publish(&w->send) && rn_doorbell_ring(w->peer_page, w->peer_bit))
		wake_peer(w);
}

/* Called when a packet found no space in its ring. Return: -EAGAIN if packets are to
 * wait for space; -ENOBUFS if they are to go by UDP.
 */
static int no_space(struct local_wire *w)
{
	rn_ns now = rn_local_now();

	rn_local_fit(w, now);
	if (w->is_stuck)
		return -ENOBUFS;
	if (w->full_since == 0)
		w->full_since = now;
	if (now - w->full_since < RN_LOCAL_PATIENCE)
		return -EAGAIN;
	w->is_stuck = true;
	return -ENOBUFS;
}

/* Send a super-packet through a ring. Return: 0; -EAGAIN if the ring is full, with the
 * number of packets sent so far in l->sent; another -errno if the remaining packets are
 * to go by UDP.
 */
static int send_by_ring(struct rn_local *l, struct local_wire *w,
			const struct rn_super *super)
{
	const struct rn_flow *flow = super->flow;
	bool numbered = l->udp->gso && rn_flow_is_ipv4(flow);
	struct rn_ring_meta meta = rn_local_meta(flow);
	uint32_t first = l->sent, i = first, end;
	int rc = 0;

	if (w->is_away && !rn_local_fetch(l, w))
		return -ENOBUFS;
	l->sent = 0;
	/* A peer that has read all of its ring is no longer stuck. This is checked
	 * before more packets are put into the ring.
	 */
	if (w->is_stuck && rn_ring_is_read(&w->send))
		w->is_stuck = false;
	for (; i < super->count; i++) {
		if (w->want != w->send.size)
			rn_local_resize(w);
		meta.gro_idx = numbered ? (uint8_t)i : 0;
		rc = rn_ring_send(&w->send, &meta,
				  super->data + (size_t)i * super->seg_len,
				  rn_super_packet_len(super, i * super->seg_len));
		if (rc)
			break;
	}
	publish_and_wake(w);
	if (i > first) {
		end = i < super->count ? i * super->seg_len : super->len;
		rn_local_count(l, RN_STAT_LOCAL_TX_PACKETS, i - first);
		rn_local_count(l, RN_STAT_LOCAL_TX_BYTES, end - first * super->seg_len);
		w->full_since = 0;
	}
	if (rc == -EPIPE) {
		if (w->send.fault == RN_RING_CLOSED) {
			rn_local_lose(l, w);
			rn_local_peer_gone(l, w);
		} else {
			rn_local_break(l, w, rn_ring_fault_text(w->send.fault));
		}
		return rc;
	}
	if (rc == -EAGAIN) {
		l->sent = i;
		l->net.sent = i;
		rc = no_space(w);
	}
	return rc;
}

static bool fits_a_record(const struct rn_super *super)
{
	return super->seg_len <= RN_RING_PACKET_MAX &&
	       rn_super_packet_len(super, (super->count - 1) * super->seg_len) >=
		       RN_RING_PACKET_MIN;
}

static unsigned slot_of(const struct rn_super *super)
{
	return super->data[7]; /* low byte of the destination QPN in the BTH */
}

/* Sends by UDP the packets of @super that are not in the ring, from packet l->sent on.
 * The others are not sent again, because UC and UD would deliver them twice. The order
 * is kept, because the peer reads its ring before its sockets. Each packet leaves alone,
 * with IPv4 identification 0, so it is copied and its ICRC computed for that. Return: as
 * rn_net_ops.transmit().
 */
static int send_rest(struct rn_local *l, const struct rn_super *super)
{
	uint8_t packet[RN_PACKET_MAX + RN_ICRC_LEN];
	struct rn_super one = *super;
	int rc;

	l->net.is_alone = true;
	l->net.alone_at = l->sent;
	one.data = packet;
	one.count = 1;
	for (; l->sent < super->count; l->sent++) {
		one.len = one.seg_len =
			rn_super_packet_len(super, l->sent * super->seg_len);
		memcpy(packet, super->data + (size_t)l->sent * super->seg_len, one.len);
		rn_icrc_seal(super->flow, 0, packet, one.len - RN_ICRC_LEN);
		rc = l->udp->ops->transmit(l->udp->ctx, &one);
		if (rc)
			return rc;
	}
	return 0;
}

static int local_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_local *l = ctx;
	struct local_path *path;
	int rc;

	l->net.is_alone = false;
	if (!l->udp_begun && !super->tx_socket.id && fits_a_record(super)) {
		path = rn_local_path(l, super->flow, slot_of(super));
		if (path->wire) {
			rc = send_by_ring(l, path->wire, super);
			if (rc != -ENOBUFS && (rc != -EAGAIN || !l->hurry))
				return rc;
		}
	}
	/* There is no ring to this destination, or it is full. */
	rc = l->sent > 0 ? send_rest(l, super)
			 : l->udp->ops->transmit(l->udp->ctx, super);
	l->udp_begun = rc == -EAGAIN;
	l->net.sent = l->sent > 0 ? l->sent : l->udp->sent;
	if (!l->udp_begun)
		l->sent = 0;
	l->net.gso = l->udp->gso;
	return rc;
}

/* Return: the connected socket for packets to a destination; none if they go through a
 * ring.
 */
static struct rn_tx_socket local_tx_socket(void *ctx, const struct rn_flow *flow,
					   uint32_t sgid_index, uint32_t dest_slot)
{
	struct rn_local *l = ctx;

	if (!rn_gid_is_multicast(&flow->dst) && rn_local_path(l, flow, dest_slot)->wire)
		return (struct rn_tx_socket){ 0 };
	return rn_net_tx_socket(l->udp, flow, sgid_index, dest_slot);
}

/* ---------------------------------------------- building packets for a ring */
/* Return: a place in the private memory @l->build for a packet that will be copied to
 * @at later. The payload behind the BTH is aligned. The place is half a page away from
 * the offset that @at has in its page, because copies between equal offsets are slow.
 */
static uint8_t *apart_from(struct rn_local *l, const uint8_t *at)
{
	size_t half = LOCAL_PAGE / 2, page = LOCAL_PAGE, line = RN_RING_ALIGN;
	size_t offset = ((uintptr_t)at - (uintptr_t)l->build + half) % page;

	return l->build + offset / line * line + line - RN_BTH_LEN;
}

/* Implements rn_net_ops.publish, which ends a burst. */
static void local_publish(void *ctx)
{
	struct rn_local *l = ctx;
	struct local_wire *w = l->place;

	l->shows = 0;
	if (!w)
		return;
	publish_and_wake(w);
	if (w->pace.began)
		w->send.past_caches =
			rn_copy_pace_end(&w->pace, rn_clock(CLOCK_MONOTONIC),
					 w->send.tail, w->send.past_caches);
	w->burst_before = w->burst;
	w->burst = 0;
}

static uint8_t *local_reserve(void *ctx, const struct rn_flow *flow, uint32_t dest_slot)
{
	struct rn_local *l = ctx;
	struct local_wire *w = rn_local_path(l, flow, dest_slot)->wire;
	const uint8_t *at;

	if (l->place && l->place != w)
		local_publish(l);
	l->place = NULL;
	if (!w || w->is_stuck || (w->is_away && !rn_local_fetch(l, w)))
		return NULL;
	if (w->want != w->send.size)
		rn_local_resize(w);
	l->place = w;
	l->net.no_icrc = w->may_omit_icrc;
	at = rn_ring_next(&w->send);
	if (!at)
		return NULL;
	l->built = apart_from(l, at);
	return l->built;
}

bool rn_local_is_ready(struct rn_local *l, const struct rn_flow *flow, uint32_t dest_slot)
{
	const struct local_path *last = l->last;
	const struct local_wire *w = last ? last->wire : NULL;

	return w && rn_local_is_to(last, flow, dest_slot) && !w->is_stuck &&
	       !w->is_away && w->want == w->send.size;
}

static bool is_stream(const struct local_wire *w)
{
	return w->burst_before >= MANY;
}

/* Return: true if, in the middle of a burst, it is time to make the packets built so far
 * visible to the peer. In a stream this happens less often: the peer has enough to do,
 * and each change of the tail, which the peer may be polling, takes nearly as long as a
 * packet.
 */
static bool is_to_show(const struct local_wire *w)
{
	uint32_t at = is_stream(w) ? SHOW_AT_STREAM : SHOW_AT;
	uint32_t half = w->send.size / 2;

	return rn_ring_unpublished(&w->send) >= (at < half ? at : half);
}

static void show_burst(struct rn_local *l, struct local_wire *w)
{
	if (l->shows++ % SHOWS == 0)
		publish_and_wake(w);
	else
		rn_ring_show(&w->send);
}

/* Return: true if the first packet of a burst is made visible at once. It is if
 * bursts are short: the peer waits for a message, and can read it while the second
 * packet, an acknowledgement, is built. In a stream, the peer would be interrupted
 * for a single packet.
 */
static bool goes_ahead(const struct local_wire *w)
{
	return w->burst == 1 && w->burst_before <= FEW;
}

static void local_commit(void *ctx, const struct rn_flow *flow, uint32_t len)
{
	struct rn_local *l = ctx;
	struct local_wire *w = l->place;
	struct rn_ring_meta meta = rn_local_meta(flow);

	meta.flags = l->net.no_icrc ? RN_RING_NO_ICRC : 0;
	/* Cannot fail, because rn_ring_next() has found that there is space. */
	(void)!rn_ring_send(&w->send, &meta, l->built, len);
	w->is_long = len >= RN_FAR_COPY_MIN;
	w->full_since = 0;
	rn_local_count(l, RN_STAT_LOCAL_TX_PACKETS, 1);
	rn_local_count(l, RN_STAT_LOCAL_TX_BYTES, len);
	if (l->net.no_icrc)
		rn_local_count(l, RN_STAT_LOCAL_TX_NO_ICRC, 1);
	if (++w->burst == 1 && is_stream(w) && w->is_long && rn_far_copy_has_past())
		rn_copy_pace_begin(&w->pace, rn_clock(CLOCK_MONOTONIC), w->send.tail);
	if (is_to_show(w))
		show_burst(l, w);
	else if (goes_ahead(w))
		rn_ring_show(&w->send);
}

/* ----------------------------------------------------- receiving packets from rings */
static void fill_flow(const struct rn_local *l, const struct local_wire *w,
		      const struct rn_ring_meta *meta, struct rn_flow *flow)
{
	*flow = (struct rn_flow){ .src = w->ends.peer,
				  .dst = w->ends.local,
				  .ifindex = l->cfg.ifindex,
				  .sport = meta->sport,
				  .tclass = meta->tclass,
				  .hop_limit =
					  meta->hop_limit ? meta->hop_limit : HOP_LIMIT };
}

/* Return: how the ICRC of a received packet is to be checked. If a capture or a fault
 * rule needs an ICRC and the packet has none, adds one. The packet has been copied to
 * private memory before.
 */
static enum rn_rx_icrc judge_icrc(const struct rn_local *l, const struct local_wire *w,
				  const struct rn_flow *flow,
				  const struct rn_ring_packet *pkt)
{
	/* The IPv4 identification for which the ICRC was computed is known exactly,
	 * because peers number their packets as this process does.
	 */
	if (!(pkt->meta.flags & RN_RING_NO_ICRC) || !w->may_omit_icrc)
		return RN_RX_ICRC_EXACT;
	if (!l->seals)
		return RN_RX_ICRC_NONE;
	rn_icrc_seal(flow, 0, (uint8_t *)pkt->data, pkt->len - RN_ICRC_LEN);
	return RN_RX_ICRC_EXACT;
}

static bool same_flow(const struct rn_ring_meta *a, const struct rn_ring_meta *b)
{
	return a->sport == b->sport && a->tclass == b->tclass &&
	       a->hop_limit == b->hop_limit;
}

/* Read packets from a ring. Return: the number of packets; 0: the ring is empty;
 * -EAGAIN: the records read so far held no packet, but there are more. Removes the local
 * wire (the pair of rings) if its peer has gone and the ring is empty, and after a
 * fault.
 */
static int read_wire(struct rn_local *l, struct local_wire *w, struct rn_rx *rx)
{
	struct rn_ring_packet pkt[RN_RX_BATCH];
	unsigned n = rn_ring_receive(&w->recv, pkt, RN_RX_BATCH, l->room, LOCAL_ROOM);
	struct rn_flow *flow = l->rx_flow;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		if (i > 0 && !same_flow(&pkt[i].meta, &pkt[i - 1].meta))
			flow++;
		if (i == 0 || !same_flow(&pkt[i].meta, &pkt[i - 1].meta))
			fill_flow(l, w, &pkt[i].meta, flow);
		rx[i] = (struct rn_rx){ .flow = flow,
					.data = pkt[i].data,
					.len = pkt[i].len,
					.gro_idx = pkt[i].meta.gro_idx,
					.icrc = (uint8_t)judge_icrc(l, w, flow, &pkt[i]),
					.part = pkt[i].part };
		bytes += pkt[i].len;
	}
	if (n > 0) {
		rn_local_count(l, RN_STAT_LOCAL_RX_PACKETS, n);
		rn_local_count(l, RN_STAT_LOCAL_RX_BYTES, bytes);
		return (int)n;
	}
	if (rn_ring_has_more(&w->recv))
		return -EAGAIN;
	if (w->recv.fault == RN_RING_CLOSED)
		rn_local_lose(l, w);
	if (w->recv.fault == RN_RING_CLOSED || (!w->recv.fault && w->is_closing))
		rn_local_remove(l, w);
	else if (w->recv.fault)
		rn_local_break(l, w, rn_ring_fault_text(w->recv.fault));
	return 0;
}

/* Set the bits in l->ready of those rings that may have packets. */
static void look_at_doorbell(struct rn_local *l)
{
	bool all = l->wires <= SCAN_MAX || l->quiet % SCAN_EVERY == 0 || l->look;

	for (unsigned k = 0; k < LOCAL_WORDS; k++)
		l->ready[k] |=
			l->present[k] & (all ? UINT64_MAX : rn_doorbell_take(l->page, k));
}

/* Return: index of the first local wire from @from on whose bit in l->ready is set;
 * RN_ROCIND_WIRES_MAX if there is none.
 */
static unsigned next_ready(const struct rn_local *l, unsigned from)
{
	while (from < RN_ROCIND_WIRES_MAX) {
		uint64_t rest = l->ready[from / 64] >> from % 64;

		if (rest)
			return from + (unsigned)__builtin_ctzll(rest);
		from = (from / 64 + 1) * 64;
	}
	return from;
}

/* Read the rings of the local wires with indices @from to @to - 1, one after the other,
 * until one has packets. Return: the number of packets.
 */
static int read_from(struct rn_local *l, unsigned from, unsigned to, struct rn_rx *rx)
{
	for (unsigned i = next_ready(l, from); i < to; i = next_ready(l, i + 1)) {
		struct local_wire *w = l->wire[i];
		int n = w->is_fresh ? 0 : read_wire(l, w, rx);

		if (n > 0) {
			l->cursor = i + 1;
			return n;
		}
		if (n == 0)
			l->ready[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
	/* A ring that has many records but no packet keeps its bit, and the next call
	 * reads it again.
	 */
	return 0;
}

static int read_rings(struct rn_local *l, struct rn_rx *rx)
{
	unsigned turn = l->cursor < RN_ROCIND_WIRES_MAX ? l->cursor : 0;
	int n;

	look_at_doorbell(l);
	n = read_from(l, turn, RN_ROCIND_WIRES_MAX, rx);
	if (n == 0)
		n = read_from(l, 0, turn, rx);
	l->quiet = n > 0 ? 0 : l->quiet + 1;
	l->busy += n > 0 ? LOOK_VAIN : 1;
	return n;
}

static int read_sockets(struct rn_local *l, struct rn_rx *rx)
{
	int n;

	l->busy = 0;
	if (l->look || l->drain)
		rn_udp_look_everywhere(l->cfg.udp);
	n = l->udp->ops->receive(l->udp->ctx, rx);
	if (n == 0)
		l->look = false;
	return n;
}

/* If a new ring has packets, begin to read the sockets until they are empty. Packets
 * that the peer sent by UDP before are in the sockets by now, and must be received
 * before those in the ring.
 */
static void begin_drain(struct rn_local *l)
{
	for (unsigned i = 0; i < RN_ROCIND_WIRES_MAX; i++) {
		struct local_wire *w = l->wire[i];

		if (!w || !w->is_fresh || !rn_ring_waits(&w->recv))
			continue;
		w->is_drained_for = true;
		l->drain = DRAIN_MAX;
	}
}

static void end_drain(struct rn_local *l)
{
	l->drain = 0;
	for (unsigned i = 0; i < RN_ROCIND_WIRES_MAX; i++) {
		struct local_wire *w = l->wire[i];

		if (!w || !w->is_drained_for)
			continue;
		w->is_fresh = w->is_drained_for = false;
		l->ready[i / 64] |= UINT64_C(1) << i % 64;
		l->fresh--;
	}
}

static int local_receive(void *ctx, struct rn_rx *rx)
{
	struct rn_local *l = ctx;
	int by_udp = 0, n;

	if (l->wires == 0)
		return l->udp->ops->receive(l->udp->ctx, rx);
	if (l->fresh > 0 && l->drain == 0)
		begin_drain(l);
	if (l->drain > 0 || l->busy >= LOOK_BUSY * LOOK_VAIN) {
		by_udp = read_sockets(l, rx);
		if (l->drain > 0 && (by_udp == 0 || --l->drain == 0))
			end_drain(l);
		if (by_udp > 0)
			return by_udp;
	}
	n = read_rings(l, rx);
	if (n != 0)
		return n;
	if (by_udp == 0 && (l->look || l->quiet > QUIET_MAX ||
			    (l->quiet >= LIVELY_MAX && l->quiet % LOOK_QUIET == 0)))
		return read_sockets(l, rx);
	return by_udp;
}

bool rn_local_is_lively(const struct rn_local *l)
{
	return l->quiet < LIVELY_MAX;
}

bool rn_local_watch(const struct rn_local *l, struct rn_ring_watch *watch)
{
	watch->end = watch->ring;
	if (l->wires == 0 || l->wires > SCAN_MAX || l->fresh > 0 || l->drain > 0 ||
	    l->look)
		return false;
	for (unsigned k = 0; k < LOCAL_WORDS; k++)
		for (uint64_t rest = l->present[k]; rest; rest &= rest - 1)
			if (!rn_ring_watch(
				    &l->wire[64 * k + (unsigned)__builtin_ctzll(rest)]
					     ->recv,
				    watch))
				return false;
	return true;
}

void rn_local_polled_shortly(struct rn_local *l, uint32_t times)
{
	l->quiet += times / SHORT_SHARE;
	l->busy += times / SHORT_SHARE;
}

void rn_local_look_everywhere(struct rn_local *l)
{
	l->look = true;
	rn_udp_look_everywhere(l->cfg.udp);
}

void rn_local_seal(struct rn_local *l, bool on)
{
	l->seals = on;
}

void rn_local_hurry(struct rn_local *l, bool hurry)
{
	l->hurry = hurry;
}

void rn_local_who_holds(struct rn_local *l, rn_local_holds *holds, void *ctx)
{
	uint64_t taken;

	for (unsigned k = 0; k < LOCAL_WORDS; k++)
		for (uint64_t rest = l->present[k]; rest; rest &= rest - 1) {
			struct local_wire *w =
				l->wire[64 * k + (unsigned)__builtin_ctzll(rest)];

			if (!w->is_away && !w->is_closing &&
			    rn_ring_is_held(&w->send, &taken))
				holds(ctx, &w->ends, taken);
		}
}

/* ----------------------------------------- sleeping until a peer wakes this process */
int rn_local_event_fd(const struct rn_local *l)
{
	return l->page ? l->event_fd : -1;
}

bool rn_local_announce(struct rn_local *l)
{
	if (!l->page)
		return true;
	rn_doorbell_announce(l->page);
	for (unsigned i = 0; i < RN_ROCIND_WIRES_MAX; i++) {
		if (!l->wire[i] || !rn_ring_waits(&l->wire[i]->recv))
			continue;
		rn_doorbell_awake(l->page);
		return false;
	}
	return true;
}

void rn_local_awake(struct rn_local *l)
{
	if (l->page)
		rn_doorbell_awake(l->page);
}

/* ------------------------------------------------ creating and freeing the back end */
static const struct rn_net_ops local_ops = {
	.transmit = local_transmit,
	.tx_socket = local_tx_socket,
	.receive = local_receive,
	.reserve = local_reserve,
	.commit = local_commit,
	.publish = local_publish,
};

struct rn_local *rn_local_new(const struct rn_local_cfg *cfg)
{
	struct rn_local *l = aligned_alloc(64, sizeof(*l));

	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->cfg = *cfg;
	l->udp = rn_udp_net(cfg->udp);
	l->net = (struct rn_net){ .ops = &local_ops, .ctx = l, .gso = l->udp->gso };
	l->event_fd = -1;
	l->quiet = LIVELY_MAX;
	l->trim_at = RN_NEVER;
	return l;
}

void rn_local_free(struct rn_local *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < RN_ROCIND_WIRES_MAX; i++)
		if (l->wire[i])
			rn_local_close(l->wire[i]);
	if (l->page)
		rn_local_close_doorbell(l);
	free(l);
}

struct rn_net *rn_local_net(struct rn_local *l)
{
	return &l->net;
}

unsigned rn_local_wires(const struct rn_local *l)
{
	return l->wires;
}
