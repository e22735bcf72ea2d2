/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook.c - makes records of calls and accesses to memory; see hook.h. */
#include "hook.h"

#include <errno.h>
#include <stdlib.h>

#include "rocin/queue_pair.h"
#include "rocin/rx_tx.h"
#include "rocin/stats.h"

static struct rn_hook_sink *sink;

static bool is_lone(unsigned kind)
{
	return rn_rec_info[kind].class == RN_REC_LONE;
}

static void show_record(struct rn_hook_dev *d, struct rn_rec *rec)
{
	rec->dev = is_lone(rec->kind) ? RN_REC_NO_DEV : d->number;
	if (!d->sink->put(d->sink, rec))
		__atomic_fetch_add(&d->stats[RN_STAT_RECORD_LOST], 1, __ATOMIC_RELAXED);
}

static uint64_t id_of(const struct rn_hook_sink *s, const void *object)
{
	return object ? s->id(object) : 0;
}

/* ------------------------------------------------------------- pending accesses */
static uint32_t add_pending(struct rn_hook_dev *d, uint64_t tag, void *dst, uint32_t len)
{
	if (d->pending_count == d->pending_room) {
		d->pending_room = d->pending_room ? 2 * d->pending_room : 64;
		d->pending =
			reallocarray(d->pending, d->pending_room, sizeof(*d->pending));
		if (!d->pending)
			abort(); /* an incomplete recording would mislead its reader */
	}
	d->pending[d->pending_count++] = (struct rn_hook_pending){
		.number = ++d->last_number, .tag = tag, .dst = dst, .len = len
	};
	return d->last_number;
}

/* Called when the access @a has begun. If its result is PENDING, stores @number, by which
 * its end will be reported, in its record. Otherwise the access has ended, and the
 * pending access that was added last is removed again.
 */
static void keep_pending(struct rn_hook_dev *d, struct rn_rec_access *a, uint32_t number)
{
	if (a->result == RN_MEM_PENDING)
		a->number = number;
	else
		d->pending_count--;
}

/* Removes the pending access @number, which has ended, and returns it. Returns one with
 * the tag UINT64_MAX, which no QP uses, if there is no pending access @number.
 */
static struct rn_hook_pending take_pending(struct rn_hook_dev *d, uint64_t number)
{
	struct rn_hook_pending p = { .tag = UINT64_MAX };

	for (uint32_t i = 0; i < d->pending_count; i++) {
		if (d->pending[i].number != number)
			continue;
		p = d->pending[i];
		d->pending[i] = d->pending[--d->pending_count];
		break;
	}
	return p;
}

/* Called when the memory of a QP is freed: pending accesses of the QP must not write
 * there any more.
 */
static void forget_pending(struct rn_hook_dev *d, uint32_t qpn)
{
	for (uint32_t i = 0; i < d->pending_count; i++)
		if (d->pending[i].tag >> 8 == qpn)
			d->pending[i].dst = NULL;
}

/* ------------------------------------- memory operations that are recorded */
/* Stores in the record where the bytes of the access are: their place in a packet of the
 * call if @bytes point into a packet, otherwise @bytes.
 */
static void place_bytes(const struct rn_call *c, struct rn_rec *rec, const void *bytes)
{
	struct rn_rec_access *a = &rec->u.access;
	bool is_transmit =
		c && (c->kind == RN_CALL_TRANSMIT || c->kind == RN_CALL_TRANSMIT_FRAME);
	unsigned count =
		c && c->kind == RN_CALL_RECEIVE ? c->u.receive.count : is_transmit;

	for (unsigned i = 0; i < count; i++) {
		const struct rn_rx *rx = &c->u.receive.pkts[i];
		const uint8_t *packet = is_transmit ? c->u.transmit.buf : rx->data;
		size_t size = is_transmit ? c->u.transmit.cap : rx->len;
		uintptr_t offset = (uintptr_t)bytes - (uintptr_t)packet;

		if (offset > size || a->len > size - offset)
			continue;
		a->packet = i + 1;
		a->offset = (uint32_t)offset;
		return;
	}
	if (a->result == RN_MEM_DONE || rec->kind == RN_REC_WRITE) {
		a->data = bytes;
		a->data_len = a->len;
	}
}

/* Asks the sink for the result of an access. Returns false if the sink gives none, so
 * that the memory must be accessed.
 */
static bool is_answered(const struct rn_hook_dev *d, struct rn_rec *rec, void *bytes)
{
	rec->dev = d->number;
	if (!d->sink->answer)
		return false;
	rec->u.access.result = d->sink->answer(d->sink, rec, bytes);
	return true;
}

static enum rn_mem_result write_shown(void *ctx, rn_iova dst, const void *src,
				      uint32_t len, struct rn_mem_attr attr)
{
	struct rn_hook_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_WRITE };
	struct rn_rec_access *a = &rec.u.access;

	*a = (struct rn_rec_access){ .addr = dst, .len = len, .attr = attr };
	if (!is_answered(d, &rec, NULL))
		a->result = d->mem->write(d->mem_ctx, dst, src, len, attr);
	place_bytes(d->call, &rec, src);
	show_record(d, &rec);
	return a->result;
}

static enum rn_mem_result read_shown(void *ctx, void *dst, rn_iova src, uint32_t len,
				     struct rn_mem_attr attr, uint64_t tag)
{
	struct rn_hook_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_READ };
	struct rn_rec_access *a = &rec.u.access;
	/* The pending access is added first, because another thread may report its end
	 * before the memory operation returns.
	 */
	uint32_t number = add_pending(d, tag, dst, len);

	*a = (struct rn_rec_access){ .addr = src, .len = len, .attr = attr, .tag = tag };
	if (!is_answered(d, &rec, dst))
		a->result = d->mem->read(d->mem_ctx, dst, src, len, attr, number);
	keep_pending(d, a, number);
	place_bytes(d->call, &rec, dst);
	show_record(d, &rec);
	return a->result;
}

static enum rn_mem_result read_part_shown(void *ctx, void *dst, rn_iova src, uint32_t len,
					  struct rn_mem_attr attr,
					  struct rn_crc32_part *part)
{
	struct rn_hook_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_READ };
	struct rn_rec_access *a = &rec.u.access;

	*a = (struct rn_rec_access){ .addr = src, .len = len, .attr = attr };
	part->len = 0;
	if (!is_answered(d, &rec, dst))
		a->result = d->mem->read_part(d->mem_ctx, dst, src, len, attr, part);
	place_bytes(d->call, &rec, dst);
	show_record(d, &rec);
	return a->result;
}

static enum rn_mem_result atomic_shown(void *ctx, const struct rn_mem_atomic_req *req,
				       uint64_t *orig, struct rn_mem_attr attr,
				       uint64_t tag)
{
	struct rn_hook_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_ATOMIC };
	struct rn_rec_access *a = &rec.u.access;
	uint32_t number = add_pending(d, tag, orig, sizeof(*orig));

	*a = (struct rn_rec_access){
		.req = *req, .len = sizeof(*orig), .attr = attr, .tag = tag
	};
	if (!is_answered(d, &rec, orig))
		a->result = d->mem->atomic(d->mem_ctx, req, orig, attr, number);
	keep_pending(d, a, number);
	if (a->result == RN_MEM_DONE)
		a->orig = *orig;
	show_record(d, &rec);
	return a->result;
}

static void before_ack_shown(void *ctx, uint32_t qpn)
{
	struct rn_hook_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_BEFORE_ACK, .u.qpn = qpn };

	show_record(d, &rec);
	if (!d->sink->answer)
		d->before_ack(d->mem_ctx, qpn);
}

static bool cq_full(void *hook, const struct rn_cq *cq)
{
	struct rn_hook_dev *d = hook;
	struct rn_rec rec = { .kind = RN_REC_OVERRUN, .id = id_of(d->sink, cq) };

	if (is_answered(d, &rec, NULL) && rec.u.access.result != RN_MEM_DONE)
		return false;
	show_record(d, &rec);
	return true;
}

static void replace_memory(struct rn_hook_dev *d, struct rn_dev_cfg *cfg)
{
	d->mem = cfg->mem;
	d->mem_ctx = cfg->mem_ctx;
	d->before_ack = cfg->before_ack;
	d->ops = (struct rn_mem_ops){
		.always_done = d->mem->always_done,
		.write = write_shown,
		.read = read_shown,
		.read_part = d->mem->read_part ? read_part_shown : NULL,
		.atomic = atomic_shown,
	};
	cfg->mem = &d->ops;
	cfg->mem_ctx = d;
	if (d->before_ack)
		cfg->before_ack = before_ack_shown;
}

/* --------------------------------------------------- begin and end of a call */
static struct rn_rec record_of(const struct rn_hook_sink *s, const struct rn_call *c)
{
	struct rn_rec rec = { .kind = c->kind,
			      .dev = RN_REC_NO_DEV,
			      .now = c->now,
			      .id = id_of(s, c->object),
			      .result = (int32_t)c->result,
			      .u.call = c->u };

	if (c->kind == RN_CALL_QP_CREATE) {
		rec.uses[0] = id_of(s, c->u.qp->send_cq);
		rec.uses[1] = id_of(s, c->u.qp->recv_cq);
		rec.uses[2] = id_of(s, c->u.qp->srq);
	} else if (c->kind == RN_CALL_SRQ_CREATE) {
		rec.uses[0] = id_of(s, c->u.srq->cq);
	} else if (c->kind == RN_CALL_MCAST_ATTACH) {
		rec.uses[0] = id_of(s, c->u.mcast.qp);
	}
	return rec;
}

static void put_call(struct rn_hook_dev *d, const struct rn_call *c)
{
	struct rn_rec rec = record_of(d->sink, c);

	show_record(d, &rec);
}

/* Records RN_CALL_MEM_DONE, by which the memory reports that a pending access has ended.
 * The memory knows the access by the number that add_pending() has given it. Replaces
 * this number in the call by the core's own tag of the access.
 */
static void put_mem_done(struct rn_hook_dev *d, struct rn_call *c)
{
	struct rn_hook_pending p = take_pending(d, c->u.mem_done.tag);
	struct rn_rec rec = { .kind = c->kind, .now = c->now };
	struct rn_rec_mem_done *m = &rec.u.mem_done;

	c->u.mem_done.tag = p.tag;
	*m = (struct rn_rec_mem_done){ .tag = p.tag, .result = c->u.mem_done.result };
	if (p.dst) {
		m->number = p.number;
		m->data = p.dst;
		m->len = m->result == RN_MEM_DONE ? p.len : 0;
		if (d->sink->answer)
			d->sink->answer(d->sink, &rec, p.dst);
	}
	show_record(d, &rec);
}

static const void *object_of(const struct rn_event *ev)
{
	if (ev->completion || ev->async == RN_EVENT_CQ_ERR)
		return ev->cq;
	if (ev->async == RN_EVENT_SRQ_LIMIT_REACHED)
		return ev->srq;
	return ev->qp;
}

static void put_outcome(struct rn_hook_dev *d, const struct rn_call *c)
{
	struct rn_rec rec = { .kind = rn_rec_info[c->kind].outcome,
			      .result = (int32_t)c->result };
	bool has = c->result > 0;

	if (rec.kind == RN_REC_PACKET || rec.kind == RN_REC_FRAME) {
		rec.u.packet = (struct rn_rec_packet){ .data = c->u.transmit.buf,
						       .len = (uint32_t)c->result };
		rec.u.packet.tx = has ? c->u.transmit.tx : NULL;
		rec.u.packet.flags =
			has && rec.kind == RN_REC_FRAME ? *c->u.transmit.flags : 0;
	} else if (rec.kind == RN_REC_EVENT) {
		rec.u.call.event = c->u.event;
		rec.id = id_of(d->sink, object_of(c->u.event));
	}
	show_record(d, &rec);
}

/* Returns how many packets of a receive call fit into one record. The call may be
 * recorded as several calls: the device does the same whether it gets packets in one call
 * or in several.
 */
static unsigned how_many(const struct rn_rx *pkts, unsigned count)
{
	size_t bytes = pkts[0].len;
	unsigned n = 1;

	while (n < count && n < RN_REC_RX_MAX && bytes + pkts[n].len < RN_REC_MAX / 2)
		bytes += pkts[n++].len;
	return n;
}

/* Returns true if the record of the call is written when the call has ended, or never.
 * Returns false if it must be written before the call is made.
 */
static bool waits_for_end(const struct rn_hook_dev *d, const struct rn_call *c)
{
	if (c->kind == RN_CALL_TRANSMIT)
		return (c->u.transmit.what & ~d->drained) == 0;
	return c->kind == RN_CALL_TAKE_EVENT;
}

static struct rn_call *call_begins(void *hook, struct rn_call *c)
{
	struct rn_hook_dev *d = hook;

	if (c->kind == RN_CALL_QP_PACE)
		/* A new rate limit may let packets leave. No other call whose record
		 * contains its result (class RN_REC_LONE) has such an effect.
		 */
		d->drained = 0;
	if (is_lone(c->kind))
		return c;
	d->call = c;
	if (waits_for_end(d, c))
		return c;
	d->drained = 0;
	if (c->kind == RN_CALL_RECEIVE)
		c->u.receive.count = how_many(c->u.receive.pkts, c->u.receive.count);
	if (c->kind == RN_CALL_QP_DESTROY)
		forget_pending(d, rn_qp_qpn(c->object));
	if (c->kind == RN_CALL_MEM_DONE)
		put_mem_done(d, c);
	else
		put_call(d, c);
	return c;
}

/* Records the end of a transmit call. If earlier calls have found no packet of the kinds
 * that it asks for, it finds none either and changes nothing, so it is left out.
 */
static void end_transmit(struct rn_hook_dev *d, const struct rn_call *c)
{
	unsigned what = c->u.transmit.what;

	if (what & ~d->drained)
		put_outcome(d, c);
	else
		assert(c->result == 0);
	if (c->result == 0)
		d->drained |= what;
}

static void call_ends(void *hook, const struct rn_call *c)
{
	struct rn_hook_dev *d = hook;

	if (is_lone(c->kind)) {
		put_call(d, c);
		return;
	}
	d->call = NULL;
	if (c->kind == RN_CALL_TRANSMIT) {
		end_transmit(d, c);
		return;
	}
	if (c->kind == RN_CALL_TAKE_EVENT) {
		if (!c->result)
			return; /* a call that finds no event changes nothing */
		d->drained = 0;
		put_call(d, c);
	}
	put_outcome(d, c);
	if (c->kind == RN_CALL_DEV_FINI) {
		d->sink->close(d->sink, d);
		rn_hook_free(d);
	}
}

static void cq_call(const struct rn_call *c)
{
	struct rn_rec rec = record_of(sink, c);

	(void)sink->put(sink, &rec);
}

/* ----------------------------------------------- start and end of a device */
static void *attach(struct rn_dev_cfg *cfg)
{
	struct rn_hook_dev *d = calloc(1, sizeof(*d));
	const struct rn_call init = { .kind = RN_CALL_DEV_INIT, .u.cfg = cfg };
	int rc = d ? sink->open(sink, d) : -ENOMEM;

	if (rc) {
		cfg->stats[RN_STAT_RECORD_LOST] += rc != -ENOENT;
		free(d);
		return NULL;
	}
	d->sink = sink;
	d->stats = cfg->stats;
	put_call(d, &init);
	put_outcome(d, &init);
	replace_memory(d, cfg);
	__atomic_store_n(&rn_call_hook.cq_call, cq_call, __ATOMIC_RELAXED);
	return d;
}

void rn_hook_free(struct rn_hook_dev *d)
{
	free(d->pending);
	free(d);
}

struct rn_hook_sink *rn_hook_set(struct rn_hook_sink *to)
{
	struct rn_hook_sink *before = sink;

	sink = to;
	rn_call_hook = (struct rn_call_hook){ 0 };
	if (to) {
		rn_call_hook.attach = attach;
		rn_call_hook.begin = call_begins;
		rn_call_hook.end = call_ends;
		rn_call_hook.cq_full = cq_full;
	}
	return before;
}
