/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_capture.c - the layer that copies packets to captures; see net_capture.h.
 *
 * Packets are recorded in sinks: the rings of captures, and the log of this process. A
 * received packet is recorded at once. The next call of receive() publishes it, because
 * all diagnostics (texts about single packets) have come by then. Diagnostics about a
 * packet to be sent come while the device builds it. They are kept here until the packet
 * comes.
 *
 * While no sink has room, packets are only counted as missed.
 */
#include "net_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "as_sent.h"
#include "capture_log.h"
#include "capture_ring.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/host/clock.h"

/* The ring of one capture; the entry is free if ring.shared is NULL. */
struct ring_sink {
	uint64_t id;
	struct rn_capture_filter filter;
	struct rn_capture_writer ring;
};

struct sinks {
	/* Bit sets of indices into `ring`. @rings: entries in use. @choosy: entries
	 * whose filter leaves out some packets.
	 */
	unsigned rings, choosy;
	struct ring_sink ring[RN_CAPTURES_MAX];
	struct rn_capture_log *log; /* capture log of this process, or NULL */
};

/* The numbers that a packet has in each sink; 0: it is not recorded there. */
struct numbers {
	uint64_t ring[RN_CAPTURES_MAX], log;
};

/* QPNs of the two queue pairs of a packet; 0: not known. */
struct ends {
	uint32_t local, remote;
};

enum wish {
	NOBODY,	 /* no capture wants packets of these queue pairs */
	NO_ROOM, /* a capture wants the packet, but no ring has room */
	WANTED,
};

enum {
	/* Number of diagnostics that can wait for their packets: one for each packet of
	 * a super-packet, and one more. A diagnostic waits longer only if a fault rule
	 * holds its packet back.
	 */
	WAITING_MAX = RN_SUPER_SEGMENTS + 1,
	/* offset of the source QPN in a packet with a DETH */
	UD_SRC_QPN = RN_BTH_LEN + 5,
	PASSED = 8,
	LAST = 4, /* number of entries: enough for both directions of two connections */
};

/* A cached result of passed_rings(): the rings that would record packets of this
 * direction, destination and flow, but are full.
 */
struct passed {
	struct rn_flow flow;
	uint32_t dest;
	bool is_known, is_sent;
	unsigned rings;
};

/* A cached result of a lookup: the number @sender of the local QP that sends packets of
 * this flow to the QP @dest.
 */
struct sender {
	struct rn_flow flow;
	uint32_t dest, sender;
};

struct rn_capture {
	struct rn_net net;
	struct rn_net *inner;
	const struct rn_capture_host *host;
	void *host_ctx;
	struct sinks sinks;

	/* After transmit() has returned -EAGAIN for a super-packet: number of its
	 * packets that were sent. The caller will pass the same super-packet again.
	 */
	uint32_t sent;

	unsigned received; /* number of packets in the last batch from receive() */
	/* all diagnostics about the packets of the last batch have come */
	bool is_judged;
	const uint8_t *packet[RN_RX_BATCH];
	struct numbers number[RN_RX_BATCH];
	uint8_t bth[RN_RX_BATCH][RN_BTH_LEN];

	unsigned waiting;
	struct rn_diagnostic wait[WAITING_MAX];

	bool is_passed; /* passed[] has valid entries */
	struct passed passed[PASSED];

	struct sender last[LAST]; /* recent results of find_sender() */
};

/* ------------------------------------------------------ the rings and the log */
static inline bool is_filtered_in(const struct rn_capture_filter *f,
				  const struct ends *ends)
{
	return !f->qpn || f->qpn == ends->local || f->qpn == ends->remote;
}

/* Return: bit set of the rings whose filters include packets of the queue pairs @ends.
 * If it is empty, the packet is not recorded in any of them.
 */
static inline unsigned sinks_about(const struct sinks *s, const struct ends *ends)
{
	unsigned rings = s->rings;

	for (unsigned left = s->choosy; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		if (!is_filtered_in(&s->ring[i].filter, ends))
			rings &= ~(1u << i);
	}
	return rings;
}

/* Set up the ring of a capture. Arguments and result are those of rn_capture_add(). */
static int sinks_add(struct sinks *s, uint64_t id, int fd, uint32_t size,
		     const struct rn_capture_filter *filter)
{
	struct ring_sink *r = s->ring;
	void *mem;
	int rc;

	while (r < s->ring + RN_CAPTURES_MAX && r->ring.shared)
		r++;
	if (r == s->ring + RN_CAPTURES_MAX)
		return -EMFILE;
	if (!rn_capture_is_size(size))
		return -EPROTO;
	mem = mmap(NULL, rn_capture_ring_bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	/* Only this process may write to the ring, so a fork child does not inherit the
	 * mapping.
	 */
	(void)madvise(mem, rn_capture_ring_bytes(size), MADV_DONTFORK);
	*r = (struct ring_sink){ .id = id, .filter = *filter };
	rc = rn_capture_writer_init(&r->ring, mem, size);
	if (rc) {
		munmap(mem, rn_capture_ring_bytes(size));
		return rc;
	}
	s->rings |= 1u << (r - s->ring);
	if (filter->qpn)
		s->choosy |= 1u << (r - s->ring);
	return 0;
}

static void end_ring(struct sinks *s, struct ring_sink *r)
{
	rn_capture_publish(&r->ring);
	munmap(r->ring.shared, rn_capture_ring_bytes(r->ring.size));
	s->rings &= ~(1u << (r - s->ring));
	s->choosy &= s->rings;
	*r = (struct ring_sink){ 0 };
}

static void sinks_remove(struct sinks *s, uint64_t id)
{
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		if (s->ring[i].ring.shared && s->ring[i].id == id)
			end_ring(s, &s->ring[i]);
}

/* Remove the rings of all captures, and close the log. */
static void sinks_end(struct sinks *s)
{
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		if (s->ring[i].ring.shared)
			end_ring(s, &s->ring[i]);
	rn_capture_log_close(s->log);
	s->log = NULL;
}

/* Return: true if no sink (ring or log) has room for any packet. */
static bool sinks_are_full(struct sinks *s)
{
	if (s->log)
		return false;
	for (unsigned left = s->rings; left; left &= left - 1)
		if (!rn_capture_is_full(&s->ring[__builtin_ctz(left)].ring))
			return false;
	return true;
}

/* Return: whether a packet is to be recorded. @rings: bit set of the rings whose filters
 * include the packet.
 */
static enum wish sinks_wish(struct sinks *s, unsigned rings)
{
	if (s->log)
		return WANTED;
	for (unsigned left = rings; left; left &= left - 1)
		if (!rn_capture_is_full(&s->ring[__builtin_ctz(left)].ring))
			return WANTED;
	return rings ? NO_ROOM : NOBODY;
}

static uint64_t put_in_ring(struct ring_sink *r, struct rn_capture_record *rec,
			    const struct ends *ends, const uint8_t *packet)
{
	const struct rn_capture_filter *f = &r->filter;

	if (!r->ring.shared || !is_filtered_in(f, ends))
		return 0;
	rec->cap = f->snaplen && f->snaplen < rec->len ? f->snaplen : rec->len;
	return rn_capture_put(&r->ring, rec, packet);
}

/* Record a packet in all sinks whose filters include it. @out: the numbers that the
 * packet has in the sinks; 0 where there was no room.
 */
static void sinks_put(struct sinks *s, struct rn_capture_record *rec,
		      const struct ends *ends, const uint8_t *packet, struct numbers *out)
{
	rec->kind = RN_CAPTURE_PACKET;
	rec->qpn = ends->local;
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		out->ring[i] = put_in_ring(&s->ring[i], rec, ends, packet);
	out->log = 0;
	if (s->log) {
		rec->cap = rec->len;
		out->log = rn_capture_log_put(s->log, rec, packet);
	}
}

static void sinks_diagnostic(struct sinks *s, const struct numbers *about,
			     const struct rn_diagnostic *diagnostic)
{
	struct rn_capture_record rec = { .kind = RN_CAPTURE_DIAGNOSTIC,
					 .cap = sizeof(*diagnostic) };

	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++) {
		rec.number = about->ring[i];
		if (rec.number && s->ring[i].ring.shared)
			rn_capture_put(&s->ring[i].ring, &rec, diagnostic);
	}
	if (about->log && s->log)
		rn_capture_log_diagnostic(s->log, about->log, diagnostic);
}

/* Count @packets as missed in the rings whose bits are set in @rings. */
static void sinks_miss(struct sinks *s, unsigned rings, unsigned packets)
{
	for (unsigned left = rings; left; left &= left - 1)
		rn_capture_miss(&s->ring[__builtin_ctz(left)].ring, packets);
}

/* Make the records so far visible to readers. @is_final: all diagnostics about these
 * packets have come, so the log can convert them to blocks.
 */
static void sinks_publish(struct sinks *s, bool is_final)
{
	for (unsigned left = s->rings; left; left &= left - 1)
		rn_capture_publish(&s->ring[__builtin_ctz(left)].ring);
	if (s->log && is_final)
		rn_capture_log_release(s->log);
}

/* ----------------------------------------------------- queue pairs of a packet */
static uint32_t find_sender(struct rn_capture *c, const struct rn_flow *flow,
			    uint32_t dest)
{
	struct sender *last = &c->last[dest / 256 % LAST];

	if (dest != last->dest || memcmp(flow, &last->flow, sizeof(*flow)) != 0)
		*last = (struct sender){ .flow = *flow,
					 .dest = dest,
					 .sender = c->host->sender(c->host_ctx, flow,
								   dest) };
	return last->sender;
}

static bool is_datagram(const uint8_t *pkt, uint32_t len)
{
	return len >= RN_BTH_LEN && pkt[0] >> 5 == RN_CLASS_UD >> 5;
}

/* Return: the destination QPN of a packet to a connected queue pair; 0 if the packet is a
 * datagram or too short.
 */
static inline uint32_t dest_of(const uint8_t *pkt, uint32_t len)
{
	return len < RN_BTH_LEN || is_datagram(pkt, len) ? 0 : rn_get_be24(pkt + 5);
}

static inline struct ends find_ends(struct rn_capture *c, bool is_sent,
				    const struct rn_flow *flow, const uint8_t *pkt,
				    uint32_t len)
{
	uint32_t dest, other = 0;

	if (len < RN_BTH_LEN)
		return (struct ends){ 0 };
	dest = rn_get_be24(pkt + 5);
	if (is_datagram(pkt, len))
		other = len < UD_SRC_QPN + 3 ? 0 : rn_get_be24(pkt + UD_SRC_QPN);
	else if (is_sent)
		other = find_sender(c, flow, dest);
	/* the QP at the other end is needed only for a filter by QPN */
	else if (c->sinks.choosy)
		other = c->host->peer(c->host_ctx, dest);
	return is_sent ? (struct ends){ other, dest } : (struct ends){ dest, other };
}

static void publish_records(struct rn_capture *c)
{
	sinks_publish(&c->sinks, c->is_judged);
}

void rn_capture_flush(struct rn_capture *c)
{
	if (c->is_judged)
		return;
	c->is_judged = true;
	publish_records(c);
}

/* ------------------------------------------------------- counting missed packets */
static __attribute__((noinline)) unsigned rings_about(struct rn_capture *c, bool is_sent,
						      const struct rn_flow *flow,
						      const uint8_t *pkt, uint32_t len)
{
	const struct ends ends = find_ends(c, is_sent, flow, pkt, len);

	return sinks_about(&c->sinks, &ends);
}

/* Return: true if @p is the cached result for packets of this direction, destination and
 * flow. The flow is not compared for received packets, whose destination, a local QP,
 * determines the rings.
 */
static inline bool is_passed_so(const struct passed *p, bool is_sent, uint32_t dest,
				const struct rn_flow *flow)
{
	return p->is_known && p->dest == dest && p->is_sent == is_sent &&
	       (!is_sent || memcmp(flow, &p->flow, sizeof(*flow)) == 0);
}

static __attribute__((noinline)) void learn_passed(struct rn_capture *c, struct passed *p,
						   bool is_sent,
						   const struct rn_flow *flow,
						   const uint8_t *pkt, uint32_t len)
{
	*p = (struct passed){ .flow = *flow,
			      .dest = dest_of(pkt, len),
			      .is_known = true,
			      .is_sent = is_sent,
			      .rings = rings_about(c, is_sent, flow, pkt, len) };
	c->is_passed = true;
}

/* Return: bit set of the rings that would record this packet, but are full. While all
 * rings are full, the result is cached for each connected queue pair, so that a lookup
 * is not needed for each packet when packets of two queue pairs alternate.
 */
static unsigned passed_rings(struct rn_capture *c, bool is_sent,
			     const struct rn_flow *flow, const uint8_t *pkt, uint32_t len)
{
	struct passed *p;
	uint32_t dest;

	if (!c->sinks.choosy)
		return c->sinks.rings;
	dest = dest_of(pkt, len);
	if (!dest) /* a datagram, which contains its source QPN, so no lookup is needed */
		return rings_about(c, is_sent, flow, pkt, len);
	p = &c->passed[(dest >> 8 << 1 | is_sent) % PASSED];
	if (!is_passed_so(p, is_sent, dest, flow))
		learn_passed(c, p, is_sent, flow, pkt, len);
	return p->rings;
}

static void pass_by(struct rn_capture *c, bool is_sent, const struct rn_flow *flow,
		    const uint8_t *pkt, uint32_t len, unsigned count)
{
	sinks_miss(&c->sinks, passed_rings(c, is_sent, flow, pkt, len), count);
	c->waiting = 0;
}

/* Return: how many of the @n received packets, from the first one on, go to the same
 * connected queue pair.
 */
static unsigned count_alike(const struct rn_rx *rx, unsigned n)
{
	uint32_t dest = dest_of(rx->data, rx->len);
	unsigned count = 1;

	while (dest && count < n && dest_of(rx[count].data, rx[count].len) == dest)
		count++;
	return count;
}

static void pass_batch(struct rn_capture *c, const struct rn_rx *rx, unsigned n)
{
	for (unsigned i = 0, count; i < n; i += count) {
		count = count_alike(&rx[i], n - i);
		pass_by(c, false, rx[i].flow, rx[i].data, rx[i].len, count);
	}
}

static bool nobody_has_room(struct rn_capture *c)
{
	if (sinks_are_full(&c->sinks))
		return true;
	if (c->is_passed)
		memset(c->passed, 0, sizeof(c->passed));
	c->is_passed = false;
	return false;
}

/* ------------------------------------------------------------------ transmit() */
static bool is_response_packet(const uint8_t *packet)
{
	unsigned op = packet[0] & 0x1f;

	return op >= RN_RC_READ_RESPONSE_FIRST && op <= RN_RC_ATOMIC_ACK;
}

static bool is_about(const struct rn_diagnostic *r, const uint8_t *pkt, uint32_t len)
{
	return len >= RN_BTH_LEN && r->dest_qpn == rn_get_be24(pkt + 5) &&
	       r->psn == rn_get_be24(pkt + 9) &&
	       (r->is_response != 0) == is_response_packet(pkt);
}

/* Record the diagnostics about this packet that came while the device built it. @number:
 * the numbers of the packet in the sinks. A sink in which it has no number gets no
 * diagnostics.
 */
static void tell_waiting(struct rn_capture *c, const uint8_t *pkt, uint32_t len,
			 const struct numbers *number)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < c->waiting; i++) {
		if (!is_about(&c->wait[i], pkt, len)) {
			c->wait[kept++] = c->wait[i];
			continue;
		}
		sinks_diagnostic(&c->sinks, number, &c->wait[i]);
	}
	c->waiting = kept;
}

/* A part of a super-packet that was sent: its packets from @first to @end - 1. */
struct sent_part {
	const struct rn_super *super;
	uint32_t first, end;
	bool gso;
	/* Time before the packets were passed to the back end. With the time after that,
	 * a packet could seem to be received before it was sent.
	 */
	uint64_t time;
};

/* Record the packets of @part, which all have the same source and destination QP. */
static void record_part(struct rn_capture *c, const struct sent_part *part,
			const struct ends *ends)
{
	struct rn_capture_record rec = { .flags = RN_CAPTURE_SENT,
					 .time = part->time,
					 .flow = *part->super->flow };
	struct rn_as_sent as;
	struct numbers number;

	for (uint32_t i = part->first; i < part->end; i++) {
		rn_as_sent(&as, c->inner, part->super, part->gso, i);
		rec.len = as.len;
		rec.ip_id = as.ip_id;
		sinks_put(&c->sinks, &rec, ends, as.packet, &number);
		if (c->waiting)
			tell_waiting(c, as.packet, as.len, &number);
	}
}

/* Drop the diagnostics that wait for the packets of @super, because no capture records
 * these.
 */
static void forget_super(struct rn_capture *c, const struct rn_super *super)
{
	static const struct numbers nowhere;

	for (uint32_t at = 0; at < super->len && c->waiting; at += super->seg_len)
		tell_waiting(c, super->data + at, super->seg_len, &nowhere);
}

/* Return: the packets of @super from @first to @end - 1. */
static struct rn_super part_of(const struct rn_super *super, uint32_t first, uint32_t end,
			       bool gso)
{
	struct rn_super part = *super;

	part.data += (size_t)first * super->seg_len;
	part.len = (end < super->count ? end * super->seg_len : super->len) -
		   first * super->seg_len;
	part.count = end - first;
	part.tx_socket.first_id = rn_super_ip_id(&super->tx_socket, gso, first);
	return part;
}

static int capture_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_capture *c = ctx;
	bool gso = c->inner->gso, is_passed = nobody_has_room(c);
	enum wish wish = NOBODY;
	struct ends ends = { 0 };
	uint32_t first = c->sent;
	unsigned rings = 0;
	struct rn_super part;
	uint64_t time = 0;
	int err;

	if (!is_passed) {
		ends = find_ends(c, true, super->flow, super->data, super->len);
		rings = sinks_about(&c->sinks, &ends);
		wish = sinks_wish(&c->sinks, rings);
	}
	if (wish == WANTED)
		time = (uint64_t)rn_clock(CLOCK_REALTIME);
	err = c->inner->ops->transmit(c->inner->ctx, super);
	c->net.gso = c->inner->gso;
	c->sent = err == -EAGAIN ? c->inner->sent : 0;
	if (err && (err != -EAGAIN || c->sent == first))
		return err;
	/* The peer may answer these packets before the rest of the super-packet is sent,
	 * so they are recorded now.
	 */
	part = part_of(super, first, err ? c->sent : super->count, gso);
	if (is_passed) {
		pass_by(c, true, part.flow, part.data, part.len, part.count);
	} else if (wish == WANTED) {
		record_part(c,
			    &(struct sent_part){ super, first, first + part.count, gso,
						 time },
			    &ends);
		publish_records(c);
	} else {
		sinks_miss(&c->sinks, rings, part.count);
		forget_super(c, &part);
	}
	return err;
}

/* Record a packet that never gets to the wire, and the reason. */
static void record_unsent(struct rn_capture *c, const struct rn_fault_news *news)
{
	unsigned sent = news->what.is_sent ? RN_CAPTURE_SENT : 0;
	struct rn_capture_record rec = { .flags = (uint16_t)(sent | RN_CAPTURE_UNSENT),
					 .time = (uint64_t)rn_clock(CLOCK_REALTIME),
					 .len = news->len,
					 .flow = *news->flow };
	const struct ends ends =
		find_ends(c, sent != 0, news->flow, news->packet, news->len);
	struct numbers number;

	sinks_put(&c->sinks, &rec, &ends, news->packet, &number);
	sinks_diagnostic(&c->sinks, &number, &news->what);
	if (c->waiting && sent)
		tell_waiting(c, news->packet, news->len, &number);
	publish_records(c);
}

/* ------------------------------------------------------------------- receive() */
/* Record packet number @i of a batch. */
static void record_received(struct rn_capture *c, uint64_t time, const struct rn_rx *rx,
			    unsigned i, const struct ends *ends)
{
	struct rn_capture_record rec = {
		.time = time, .len = rx->len, .ip_id = rx->gro_idx, .flow = *rx->flow
	};

	c->packet[i] = NULL;
	if (rx->len > RN_CAPTURE_BODY_MAX)
		return;
	sinks_put(&c->sinks, &rec, ends, rx->data, &c->number[i]);
	c->packet[i] = rx->data;
	memset(c->bth[i], 0, RN_BTH_LEN);
	memcpy(c->bth[i], rx->data, rx->len < RN_BTH_LEN ? rx->len : RN_BTH_LEN);
}

static void record_batch(struct rn_capture *c, const struct rn_rx *rx, unsigned n)
{
	uint64_t time = 0;

	for (unsigned i = 0, end; i < n; i = end) {
		const struct ends ends =
			find_ends(c, false, rx[i].flow, rx[i].data, rx[i].len);
		unsigned rings = sinks_about(&c->sinks, &ends);

		end = i + count_alike(&rx[i], n - i);
		if (sinks_wish(&c->sinks, rings) != WANTED) {
			sinks_miss(&c->sinks, rings, end - i);
			memset(&c->packet[i], 0, (end - i) * sizeof(c->packet[0]));
			continue;
		}
		time = time ? time : (uint64_t)rn_clock(CLOCK_REALTIME);
		for (unsigned k = i; k < end; k++)
			record_received(c, time, &rx[k], k, &ends);
	}
	if (time) { /* at least one packet was recorded */
		c->received = n;
		c->is_judged = false;
	}
}

/* Record a batch of @n received packets, or count it as missed. Return: @n. Not inlined
 * into receive(), because it needs many registers, and most calls of receive() find no
 * packets.
 */
static __attribute__((noinline)) int take_batch(struct rn_capture *c,
						const struct rn_rx *rx, int n)
{
	if (nobody_has_room(c))
		pass_batch(c, rx, (unsigned)n);
	else
		record_batch(c, rx, (unsigned)n);
	return n;
}

static int capture_receive(void *ctx, struct rn_rx *rx)
{
	struct rn_capture *c = ctx;
	int n;

	rn_capture_flush(c);
	n = c->inner->ops->receive(c->inner->ctx, rx);
	c->received = 0;
	return n <= 0 ? n : take_batch(c, rx, n);
}

/* Return: the index of the packet @rx in the batch that receive() returned last;
 * c->received if it is not in that batch.
 */
static unsigned find_received(const struct rn_capture *c, const struct rn_rx *rx)
{
	unsigned i = 0;

	while (i < c->received && c->packet[i] != rx->data)
		i++;
	if (i < c->received || rx->len < RN_BTH_LEN)
		return i;
	/* A fault rule may have copied the packet, so headers are compared. If two
	 * packets have equal headers, the later one counts.
	 */
	for (i = c->received; i > 0; i--)
		if (c->packet[i - 1] && memcmp(c->bth[i - 1], rx->data, RN_BTH_LEN) == 0)
			return i - 1;
	return c->received;
}

void rn_capture_diagnostic(struct rn_capture *c, const struct rn_diagnostic *diagnostic,
			   const struct rn_rx *rx)
{
	unsigned i;

	if (diagnostic->is_sent) {
		if (c->waiting == WAITING_MAX)
			memmove(c->wait, c->wait + 1, --c->waiting * sizeof(c->wait[0]));
		c->wait[c->waiting++] = *diagnostic;
		return;
	}
	i = find_received(c, rx);
	if (i < c->received) {
		sinks_diagnostic(&c->sinks, &c->number[i], diagnostic);
		c->is_judged = false;
	}
}

void rn_capture_fault(struct rn_capture *c, const struct rn_fault_news *news)
{
	const struct rn_rx rx = { .data = news->packet, .len = news->len };
	struct rn_diagnostic what = news->what;

	if (!c)
		return;
	if (news->is_unsent) {
		record_unsent(c, news);
		return;
	}
	if (news->len < RN_BTH_LEN)
		return;
	what.dest_qpn = rn_get_be24(news->packet + 5);
	what.psn = rn_get_be24(news->packet + 9);
	what.is_response = is_response_packet(news->packet);
	rn_capture_diagnostic(c, &what, &rx);
}

/* ------------------------------------------------- the interface of the layer */
int rn_capture_add(struct rn_capture *c, uint64_t id, int fd, uint32_t size,
		   const struct rn_capture_filter *filter)
{
	c->received = 0; /* the numbers of the last batch do not apply to a new ring */
	return sinks_add(&c->sinks, id, fd, size, filter);
}

void rn_capture_remove(struct rn_capture *c, uint64_t id)
{
	sinks_remove(&c->sinks, id);
}

void rn_capture_set_log(struct rn_capture *c, struct rn_capture_log *log)
{
	c->sinks.log = log;
}

bool rn_capture_is_idle(const struct rn_capture *c)
{
	return c->sinks.rings == 0 && !c->sinks.log;
}

static struct rn_tx_socket capture_tx_socket(void *ctx, const struct rn_flow *flow,
					     uint32_t sgid_index, uint32_t dest_slot)
{
	const struct rn_capture *c = ctx;

	return rn_net_tx_socket(c->inner, flow, sgid_index, dest_slot);
}

static const struct rn_net_ops capture_ops = {
	.transmit = capture_transmit,
	.tx_socket = capture_tx_socket,
	.receive = capture_receive,
};

struct rn_capture *rn_capture_new(struct rn_net *inner,
				  const struct rn_capture_host *host, void *host_ctx)
{
	struct rn_capture *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->net = (struct rn_net){ .ops = &capture_ops, .ctx = c, .gso = inner->gso };
	c->inner = inner;
	c->host = host;
	c->host_ctx = host_ctx;
	c->is_judged = true;
	return c;
}

void rn_capture_free(struct rn_capture *c)
{
	if (!c)
		return;
	sinks_end(&c->sinks);
	free(c);
}

struct rn_net *rn_capture_net(struct rn_capture *c)
{
	return &c->net;
}
