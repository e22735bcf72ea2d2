/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tx_batch.c - combines packets of the core into super-packets, and sends these.
 */
#include "tx_batch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "rocin/icrc.h"
#include "rocin/stats.h"
#include "rocin/transport.h"
#include "trace_points.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/log.h"

static_assert(sizeof(struct rn_flow) == 40, "compared as bytes: no padding");

void rnp_tx_batch_init(struct rnp_tx_batch *s, struct rn_dev *dev,
		       const struct rn_gid *gid, uint64_t *stats)
{
	uintptr_t room = (uintptr_t)s->room;

	s->buf = s->room + ((RNP_TX_BATCH_OFFSET - room) & (RNP_TX_BATCH_PAGE - 1));
	s->dev = dev;
	s->gid = gid;
	s->stats = stats;
	rnp_tx_batch_drop(s);
}

void rnp_tx_batch_drop(struct rnp_tx_batch *s)
{
	s->start = s->len = s->seg_len = s->count = s->next_len = 0;
	s->closed = s->is_run = s->is_placed = false;
}

static void count_dropped(struct rnp_tx_batch *s, uint32_t packets)
{
	uint64_t *n = &s->stats[RN_STAT_TX_DROPPED];

	__atomic_store_n(n, *n + packets, __ATOMIC_RELAXED);
}

/* Counts @packets packets that were too long for the network, and logs the first. The
 * path MTU that the QP was connected with is too large: the MTU of the link has become
 * smaller, or a router on the path has a smaller one.
 */
static void count_too_long(struct rnp_tx_batch *s, uint32_t packets)
{
	uint64_t *n = &s->stats[RN_STAT_TX_TOO_LONG];
	char text[RN_GID_TEXT_MAX];

	if (*n == 0)
		rn_log(RN_LOG_WARN,
		       "a packet of %u bytes is too long for the way to %s: the path MTU "
		       "of its queue pair is more than the network carries now",
		       s->seg_len, rn_gid_text(&s->label.flow.dst, text));
	__atomic_store_n(n, *n + packets, __ATOMIC_RELAXED);
}

/* Returns the 8 bytes of @f at offset @at. */
static inline uint64_t flow_word(const struct rn_flow *f, size_t at)
{
	uint64_t w;

	memcpy(&w, (const uint8_t *)f + at, sizeof(w));
	return w;
}

/* Are two flows equal? Compared by words, as this is done for each packet. */
static bool same_flow(const struct rn_flow *a, const struct rn_flow *b)
{
	return flow_word(a, 0) == flow_word(b, 0) && flow_word(a, 8) == flow_word(b, 8) &&
	       flow_word(a, 16) == flow_word(b, 16) &&
	       flow_word(a, 24) == flow_word(b, 24) &&
	       flow_word(a, 32) == flow_word(b, 32);
}

/* Returns the index of the GID that is the source address of @flow; RN_GID_MAX if that
 * address was removed from the device.
 */
static uint32_t find_sgid(const struct rnp_tx_batch *s, const struct rn_flow *flow)
{
	uint32_t i = 0;

	while (i < RN_GID_MAX && memcmp(&s->gid[i], &flow->src, sizeof(flow->src)) != 0)
		i++;
	return i;
}

/* Sets the destination (label) of the packet that was built last. Returns false if the
 * GID of the packet's source address was removed from the device.
 */
static bool make_label(struct rnp_tx_batch *s)
{
	const struct rn_tx *tx = &s->next_tx;
	struct rnp_label *label = &s->next;
	bool same = s->count > 0 && same_flow(&s->label.flow, tx->flow);

	label->dest_slot = tx->dest_qpn & 0xff;
	s->next_joins = same && label->dest_slot == s->label.dest_slot;
	if (same) {
		label->flow = s->label.flow;
		label->sgid_index = s->label.sgid_index;
		return true;
	}
	label->flow = *tx->flow;
	label->sgid_index = find_sgid(s, tx->flow);
	return label->sgid_index < RN_GID_MAX;
}

/* Returns the place where the next packet is built: directly behind the open
 * super-packet, so that the packet can be appended to it.
 */
static uint8_t *tail(struct rnp_tx_batch *s)
{
	return s->buf + s->start + s->len;
}

static bool same_label(const struct rnp_label *a, const struct rnp_label *b)
{
	return a->dest_slot == b->dest_slot && same_flow(&a->flow, &b->flow);
}

/* Lets the core build one packet at @where: behind the open super-packet (tail()), or in
 * the place that a local wire has reserved. If a packet that was built there before has
 * not been sent yet, builds none. Returns false if the core has no packet.
 */
static bool build_at(struct rnp_tx_batch *s, uint8_t *where, rn_ns now, unsigned what)
{
	while (s->next_len == 0) {
		uint32_t n = rn_dev_transmit(s->dev, now, what, where, RN_PACKET_MAX,
					     &s->next_tx);

		if (n == 0)
			return false;
		if (make_label(s))
			s->next_len = n + RN_ICRC_LEN;
		else
			count_dropped(s, 1);
	}
	return true;
}

/* Makes the packets that were built in shared memory (of a local wire) visible to the
 * peer. Called before packets leave in another way, so that the order is kept.
 */
static void publish_placed(struct rnp_tx_batch *s, const struct rn_net *net)
{
	if (s->is_placed)
		net->ops->publish(net->ctx);
	s->is_placed = false;
}

/* Builds packets in the memory of a local wire, as long as they have the same destination
 * (label) as the packets before. The first packet to another destination is moved to
 * @s->buf, behind the empty super-packet. Return: 0: the core has no more packets; 1:
 * @max packets were built; -EAGAIN: the next packet cannot be built in place.
 */
static int build_in_place(struct rnp_tx_batch *s, const struct rn_net *net, rn_ns now,
			  unsigned what, unsigned max)
{
	const struct rn_flow *flow = &s->label.flow;

	for (unsigned n = 0; n < max; n++) {
		uint8_t *at;
		unsigned no_icrc;

		if (n > 0 && !rn_dev_has_packets(s->dev, what))
			return 0;
		at = net->ops->reserve(net->ctx, flow, s->label.dest_slot);
		no_icrc = at && net->no_icrc ? RN_TX_NO_ICRC : 0;
		if (!at)
			return -EAGAIN;
		if (!build_at(s, at, now, what | RN_TX_SINGLY | no_icrc))
			return 0;
		if (!same_label(&s->next, &s->label)) {
			memcpy(tail(s), at, s->next_len - RN_ICRC_LEN);
			return -EAGAIN;
		}
		if (no_icrc)
			memset(at + s->next_len - RN_ICRC_LEN, 0, RN_ICRC_LEN);
		else
			rn_icrc_seal_with(flow, 0, at, s->next_len - RN_ICRC_LEN,
					  &s->next_tx.part);
		net->ops->commit(net->ctx, flow, s->next_len);
		s->next_len = 0;
		s->is_placed = true;
	}
	publish_placed(s, net);
	return 1;
}

int rnp_tx_batch_place(struct rnp_tx_batch *s, const struct rn_net *net, rn_ns now,
		       unsigned what, unsigned max)
{
	int rc = build_in_place(s, net, now, what, max * RN_SUPER_SEGMENTS);

	if (rc == 0)
		publish_placed(s, net);
	return rc;
}

/* May the packet behind the open super-packet become part of it? */
static bool packet_fits(const struct rnp_tx_batch *s)
{
	return s->count > 0 && s->count < RN_SUPER_SEGMENTS && !s->closed &&
	       s->next_len <= s->seg_len && s->len + s->next_len <= RN_SUPER_BYTES &&
	       s->next_joins;
}

static void choose_tx_socket(struct rnp_tx_batch *s, const struct rn_net *net)
{
	const struct rnp_label *label = &s->label;

	s->flow = label->flow;
	s->tx_socket =
		rn_net_tx_socket(net, &label->flow, label->sgid_index, label->dest_slot);
	if (s->tx_socket.id)
		s->flow.sport = s->tx_socket.sport;
}

/* Begins a new super-packet with the packet that was built behind the open one. The open
 * super-packet must be empty.
 */
static void begin_super(struct rnp_tx_batch *s, const struct rn_net *net)
{
	assert(s->count == 0);
	if (s->start > RN_SUPER_BYTES) {
		memmove(s->buf, s->buf + s->start, s->next_len);
		s->start = 0;
	}
	s->is_run = same_label(&s->next, &s->label);
	s->label = s->next;
	s->seg_len = s->next_len;
	s->alone = rn_gid_is_multicast(&s->label.flow.dst);
	s->closed = false;
	choose_tx_socket(s, net);
}

/* Appends the packet that was built last to the open super-packet. Fills in its ICRC,
 * which depends on the place in the super-packet.
 */
static void append_packet(struct rnp_tx_batch *s, const struct rn_net *net)
{
	uint16_t ip_id = rn_super_ip_id(&s->tx_socket, net->gso, s->count);

	rn_icrc_seal_with(&s->flow, ip_id, tail(s), s->next_len - RN_ICRC_LEN,
			  &s->next_tx.part);
	s->closed = s->alone || s->next_len < s->seg_len;
	s->len += s->next_len;
	s->count++;
	s->next_len = 0;
}

static bool is_full(const struct rnp_tx_batch *s)
{
	return s->closed || s->count == RN_SUPER_SEGMENTS ||
	       s->len + s->seg_len > RN_SUPER_BYTES;
}

/* Sends the open super-packet. Return: 0 if it was sent or dropped; -EAGAIN if the socket
 * is full, and the super-packet stays open.
 */
static int send_open(struct rnp_tx_batch *s, const struct rn_net *net)
{
	const struct rn_super super = {
		.flow = &s->flow,
		.sgid_index = s->label.sgid_index,
		.data = s->buf + s->start,
		.len = s->len,
		.seg_len = s->seg_len,
		.count = s->count,
		.tx_socket = s->tx_socket,
	};
	int err = net->ops->transmit(net->ctx, &super);

	if (err == -EAGAIN)
		return err;
	rn_trace_transmit(s->label.dest_slot, s->count, s->len, -err);
	if (err == -EMSGSIZE)
		count_too_long(s, s->count);
	else if (err)
		count_dropped(s, s->count);
	/* If a packet was built behind the super-packet, it stays where it is and begins
	 * the next super-packet.
	 */
	s->start = s->next_len > 0 ? s->start + s->len : 0;
	s->len = s->count = 0;
	return 0;
}

int rnp_tx_batch_flush(struct rnp_tx_batch *s, const struct rn_net *net)
{
	publish_placed(s, net);
	return s->count == 0 ? 0 : send_open(s, net);
}

int rnp_tx_batch_fill(struct rnp_tx_batch *s, const struct rn_net *net, rn_ns now,
		      unsigned what, unsigned max)
{
	unsigned sent = 0;

	if (rnp_tx_batch_may_place(s, net)) {
		int rc = build_in_place(s, net, now, what, max * RN_SUPER_SEGMENTS);

		if (rc >= 0)
			return rc;
	}
	for (;;) {
		bool more = sent < max && build_at(s, tail(s), now, what);

		if (!more)
			return sent < max ? 0 : 1;
		if (s->count > 0 && !packet_fits(s)) {
			if (rnp_tx_batch_flush(s, net))
				return -EAGAIN;
			sent++;
		}
		if (s->count == 0)
			begin_super(s, net);
		append_packet(s, net);
		if (is_full(s)) {
			if (rnp_tx_batch_flush(s, net))
				return -EAGAIN;
			sent++;
		}
	}
}
