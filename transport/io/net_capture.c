/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_capture.c - see net_capture.h.
 *
 * A packet received is put into the rings at once and published with the next call: by
 * then the device has said what it thinks of it. What it thinks of a packet that it sends
 * it says before, while it builds it; that waits here until the packet comes by.
 *
 * While nobody reads, packets go by without being looked at.
 */
#include "net_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "capture_ring.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

enum {
	/* Packets that are built and not transmitted: a super-packet and one more. More
	 * only wait behind a fault.
	 */
	WAITING_MAX = RN_SUPER_SEGMENTS + 1,
	UD_SRC_QPN = RN_BTH_LEN + 5, /* where the DETH has it */
};

struct sink {
	uint64_t id;
	struct rn_capture_filter filter;
	struct rn_capture_writer ring; /* shared NULL: free */
	uint64_t number[RN_RX_BATCH];  /* of what was received last; 0: not captured */
};

struct rn_capture {
	struct rn_net net;
	struct rn_net *inner;
	const struct rn_capture_host *host;
	void *host_ctx;
	unsigned sinks;
	struct sink sink[RN_CAPTURES_MAX];

	unsigned received; /* by the last call */
	const uint8_t *packet[RN_RX_BATCH];
	uint8_t bth[RN_RX_BATCH][RN_BTH_LEN];

	unsigned waiting;
	struct rn_remark wait[WAITING_MAX];

	/* The sender that was looked up last. */
	struct rn_flow last_flow;
	uint32_t last_dest, last_sender;
};

static uint64_t realtime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---------------------------------------------------------------- whose packet */
static uint32_t find_sender(struct rn_capture *c, const struct rn_flow *flow,
			    uint32_t dest)
{
	if (dest != c->last_dest || memcmp(flow, &c->last_flow, sizeof(*flow)) != 0) {
		c->last_sender = c->host->sender(c->host_ctx, flow, dest);
		c->last_dest = dest;
		c->last_flow = *flow;
	}
	return c->last_sender;
}

struct ends {
	uint32_t local, remote; /* 0: not known */
};

static struct ends find_ends(struct rn_capture *c, bool is_sent,
			     const struct rn_flow *flow, const uint8_t *pkt, uint32_t len)
{
	uint32_t dest, other;

	if (len < RN_BTH_LEN)
		return (struct ends){ 0 };
	dest = rn_get_be24(pkt + 5);
	if (pkt[0] >> 5 == RN_CLASS_UD >> 5)
		other = len < UD_SRC_QPN + 3 ? 0 : rn_get_be24(pkt + UD_SRC_QPN);
	else if (is_sent)
		other = find_sender(c, flow, dest);
	else
		other = c->host->peer(c->host_ctx, dest);
	return is_sent ? (struct ends){ other, dest } : (struct ends){ dest, other };
}

static bool is_about_one(const struct rn_capture_filter *f, const struct ends *ends)
{
	return !f->qpn || f->qpn == ends->local || f->qpn == ends->remote;
}

enum wish {
	NOBODY,	 /* no capture is about a queue pair of the packet */
	NO_ROOM, /* one is, and its ring is full */
	WANTED,
};

static enum wish wish_of(struct rn_capture *c, const struct ends *ends)
{
	enum wish wish = NOBODY;

	for (unsigned i = 0, left = c->sinks; left > 0; i++) {
		struct sink *s = &c->sink[i];

		if (!s->ring.shared)
			continue;
		left--;
		if (!is_about_one(&s->filter, ends))
			continue;
		if (!rn_capture_is_full(&s->ring))
			return WANTED;
		wish = NO_ROOM;
	}
	return wish;
}

/* ------------------------------------------------------------------- recording */
static uint64_t put(struct sink *s, struct rn_capture_record *rec,
		    const struct ends *ends, const uint8_t *pkt)
{
	const struct rn_capture_filter *f = &s->filter;

	if (!is_about_one(f, ends))
		return 0;
	rec->cap = f->snaplen && f->snaplen < rec->len ? f->snaplen : rec->len;
	return rn_capture_put(&s->ring, rec, pkt);
}

static void publish(struct rn_capture *c)
{
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		if (c->sink[i].ring.shared)
			rn_capture_publish(&c->sink[i].ring);
}

void rn_capture_flush(struct rn_capture *c)
{
	publish(c);
}

/* No ring has room, and each has to do with all packets: none of them is looked at. */
static bool passes_by(struct rn_capture *c)
{
	for (unsigned i = 0, left = c->sinks; left > 0; i++) {
		struct sink *s = &c->sink[i];

		if (!s->ring.shared)
			continue;
		if (s->filter.qpn || !rn_capture_is_full(&s->ring))
			return false;
		left--;
	}
	return true;
}

static void miss(struct rn_capture *c, unsigned packets)
{
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++) {
		if (!c->sink[i].ring.shared)
			continue;
		rn_capture_miss(&c->sink[i].ring, packets);
		rn_capture_publish(&c->sink[i].ring);
	}
	c->waiting = 0;
}

/* Packets for which nobody has room who would want them. */
static void miss_some(struct rn_capture *c, const struct ends *ends, unsigned packets)
{
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++) {
		struct sink *s = &c->sink[i];

		if (!s->ring.shared || !is_about_one(&s->filter, ends))
			continue;
		rn_capture_miss(&s->ring, packets);
		rn_capture_publish(&s->ring);
	}
}

static void put_remark(struct sink *s, uint64_t number, const struct rn_remark *remark)
{
	struct rn_capture_record rec = { .kind = RN_CAPTURE_REMARK,
					 .cap = sizeof(*remark),
					 .number = number };

	if (number)
		rn_capture_put(&s->ring, &rec, remark);
}

/* Numbers of the packet by sink. */
static void record(struct rn_capture *c, struct rn_capture_record *rec,
		   const struct ends *ends, const uint8_t *pkt,
		   uint64_t number[RN_CAPTURES_MAX])
{
	rec->kind = RN_CAPTURE_PACKET;
	rec->qpn = ends->local;
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		number[i] = c->sink[i].ring.shared ? put(&c->sink[i], rec, ends, pkt) : 0;
}

/* --------------------------------------------------------------------- sending */
bool rn_capture_is_response(const uint8_t *packet)
{
	unsigned op = packet[0] & 0x1f;

	return op >= RN_RC_READ_RESPONSE_FIRST && op <= RN_RC_ATOMIC_ACK;
}

static bool is_about(const struct rn_remark *r, const uint8_t *pkt, uint32_t len)
{
	return len >= RN_BTH_LEN && r->dest_qpn == rn_get_be24(pkt + 5) &&
	       r->psn == rn_get_be24(pkt + 9) &&
	       (r->is_response != 0) == rn_capture_is_response(pkt);
}

/* What was said about this packet while it was built. */
static void tell_waiting(struct rn_capture *c, const uint8_t *pkt, uint32_t len,
			 const uint64_t number[RN_CAPTURES_MAX])
{
	unsigned kept = 0;

	for (unsigned i = 0; i < c->waiting; i++) {
		if (!is_about(&c->wait[i], pkt, len)) {
			c->wait[kept++] = c->wait[i];
			continue;
		}
		for (unsigned k = 0; k < RN_CAPTURES_MAX; k++)
			put_remark(&c->sink[k], number[k], &c->wait[i]);
	}
	c->waiting = kept;
}

/* The packets of one are all from one queue pair to one. @time: before it was handed on,
 * as nobody receives it earlier.
 */
static void record_super(struct rn_capture *c, const struct rn_super *super,
			 const struct ends *ends, bool gso, uint64_t time)
{
	struct rn_capture_record rec = { .flags = RN_CAPTURE_SENT,
					 .time = time,
					 .flow = *super->flow };

	for (uint32_t at = 0; at < super->len; at += super->seg_len) {
		uint32_t left = super->len - at;
		uint64_t number[RN_CAPTURES_MAX];

		rec.len = left < super->seg_len ? left : super->seg_len;
		record(c, &rec, ends, super->data + at, number);
		if (c->waiting)
			tell_waiting(c, super->data + at, rec.len, number);
		rec.ip_id += gso;
	}
	publish(c);
}

/* Nobody captures these: what was said about them is not kept either. */
static void forget_super(struct rn_capture *c, const struct rn_super *super)
{
	static const uint64_t nowhere[RN_CAPTURES_MAX];

	for (uint32_t at = 0; at < super->len && c->waiting; at += super->seg_len)
		tell_waiting(c, super->data + at, super->seg_len, nowhere);
}

static int capture_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_capture *c = ctx;
	bool gso = c->inner->gso, is_missed = passes_by(c);
	enum wish wish = NOBODY;
	struct ends ends = { 0 };
	uint64_t time = 0;
	int err;

	if (!is_missed) {
		ends = find_ends(c, true, super->flow, super->data, super->len);
		wish = wish_of(c, &ends);
	}
	if (wish == WANTED)
		time = realtime();
	err = c->inner->ops->transmit(c->inner->ctx, super);
	c->net.gso = c->inner->gso;
	if (err)
		return err;
	if (is_missed) {
		miss(c, super->count);
	} else if (wish == WANTED) {
		record_super(c, super, &ends, gso, time);
	} else {
		if (wish == NO_ROOM)
			miss_some(c, &ends, super->count);
		forget_super(c, super);
	}
	return 0;
}

void rn_capture_unsent(struct rn_capture *c, const struct rn_remark *what,
		       const struct rn_flow *flow, const uint8_t *packet, uint32_t len)
{
	unsigned sent = what->is_sent ? RN_CAPTURE_SENT : 0;
	struct rn_capture_record rec = { .flags = (uint16_t)(sent | RN_CAPTURE_UNSENT),
					 .time = realtime(),
					 .len = len,
					 .flow = *flow };
	const struct ends ends = find_ends(c, what->is_sent, flow, packet, len);
	uint64_t number[RN_CAPTURES_MAX];

	record(c, &rec, &ends, packet, number);
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		put_remark(&c->sink[i], number[i], what);
	if (c->waiting && what->is_sent)
		tell_waiting(c, packet, len, number);
	publish(c);
}

/* ------------------------------------------------------------------- receiving */
/* The @i-th of a batch. @rec: its time, if it was looked at before. */
static void record_received(struct rn_capture *c, struct rn_capture_record *rec,
			    const struct rn_rx *rx, unsigned i)
{
	const struct ends ends = find_ends(c, false, rx->flow, rx->data, rx->len);
	enum wish wish = rx->len > RN_CAPTURE_BODY_MAX ? NOBODY : wish_of(c, &ends);
	uint64_t number[RN_CAPTURES_MAX];

	c->packet[i] = NULL;
	memset(c->bth[i], 0, RN_BTH_LEN);
	if (wish == NO_ROOM)
		miss_some(c, &ends, 1);
	if (wish != WANTED)
		return;
	if (!rec->time)
		rec->time = realtime();
	rec->len = rx->len;
	rec->ip_id = rx->gro_idx;
	rec->flow = *rx->flow;
	record(c, rec, &ends, rx->data, number);
	c->packet[i] = rx->data;
	memcpy(c->bth[i], rx->data, rx->len < RN_BTH_LEN ? rx->len : RN_BTH_LEN);
	for (unsigned k = 0; k < RN_CAPTURES_MAX; k++)
		c->sink[k].number[i] = number[k];
}

static int capture_receive(void *ctx, struct rn_rx *rx)
{
	struct rn_capture *c = ctx;
	struct rn_capture_record rec = { 0 };
	int n;

	if (c->received)
		publish(c);
	n = c->inner->ops->receive(c->inner->ctx, rx);
	c->received = 0;
	if (n <= 0)
		return n;
	if (passes_by(c)) {
		miss(c, (unsigned)n);
		return n;
	}
	for (unsigned i = 0; i < (unsigned)n; i++)
		record_received(c, &rec, &rx[i], i);
	if (rec.time) /* one of them at least is in a ring */
		c->received = (unsigned)n;
	return n;
}

/* Which of the last batch; the number of them if it was none. */
static unsigned find_received(const struct rn_capture *c, const struct rn_rx *rx)
{
	unsigned i = 0;

	while (i < c->received && c->packet[i] != rx->data)
		i++;
	if (i < c->received || rx->len < RN_BTH_LEN)
		return i;
	/* Rules about faults work on copies; of two that are equal, the later one. */
	for (i = c->received; i > 0; i--)
		if (memcmp(c->bth[i - 1], rx->data, RN_BTH_LEN) == 0)
			return i - 1;
	return c->received;
}

void rn_capture_remark(struct rn_capture *c, const struct rn_remark *remark,
		       const struct rn_rx *rx)
{
	unsigned i;

	if (remark->is_sent) {
		if (c->waiting == WAITING_MAX)
			memmove(c->wait, c->wait + 1, --c->waiting * sizeof(c->wait[0]));
		c->wait[c->waiting++] = *remark;
		return;
	}
	i = find_received(c, rx);
	for (unsigned k = 0; k < RN_CAPTURES_MAX && i < c->received; k++)
		if (c->sink[k].ring.shared)
			put_remark(&c->sink[k], c->sink[k].number[i], remark);
}

/* ---------------------------------------------------------------------- sinks */
int rn_capture_add(struct rn_capture *c, uint64_t id, int fd, uint32_t size,
		   const struct rn_capture_filter *filter)
{
	struct sink *s = c->sink;
	void *mem;
	int rc;

	while (s < c->sink + RN_CAPTURES_MAX && s->ring.shared)
		s++;
	if (s == c->sink + RN_CAPTURES_MAX)
		return -EMFILE;
	if (!rn_capture_is_size(size))
		return -EPROTO;
	mem = mmap(NULL, rn_capture_ring_bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	/* A child has no part in it. */
	(void)madvise(mem, rn_capture_ring_bytes(size), MADV_DONTFORK);
	*s = (struct sink){ .id = id, .filter = *filter };
	rc = rn_capture_writer_init(&s->ring, mem, size);
	if (rc)
		munmap(mem, rn_capture_ring_bytes(size));
	else
		c->sinks++;
	return rc;
}

static void end_sink(struct rn_capture *c, struct sink *s)
{
	rn_capture_publish(&s->ring);
	munmap(s->ring.shared, rn_capture_ring_bytes(s->ring.size));
	*s = (struct sink){ 0 };
	c->sinks--;
}

void rn_capture_remove(struct rn_capture *c, uint64_t id)
{
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		if (c->sink[i].ring.shared && c->sink[i].id == id)
			end_sink(c, &c->sink[i]);
}

bool rn_capture_is_idle(const struct rn_capture *c)
{
	return c->sinks == 0;
}

static const struct rn_net_ops capture_ops = {
	.transmit = capture_transmit,
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
	return c;
}

void rn_capture_free(struct rn_capture *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		if (c->sink[i].ring.shared)
			end_sink(c, &c->sink[i]);
	free(c);
}

struct rn_net *rn_capture_net(struct rn_capture *c)
{
	return &c->net;
}
