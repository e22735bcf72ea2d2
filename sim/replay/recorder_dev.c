/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder_dev.c - calls about a device. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "recorder_internal.h"
#include "rocin/rx_tx.h"
#include "rocin/stats.h"
#include "rocin/transport.h"
#include "transport/io/host/log.h"

/* Devices that are recorded, at the place of their number. */
static pthread_mutex_t devs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rn_rec_dev *devs[RN_REC_DEVS];

static _Atomic uint64_t lone_calls;

/* @dev NULL: a free place. Return: RN_REC_DEVS if there is none. */
static unsigned place_of_locked(const struct rn_dev *dev)
{
	unsigned i = 0;

	while (i < RN_REC_DEVS && (devs[i] ? devs[i]->dev : NULL) != dev)
		i++;
	return i;
}

struct rn_rec_dev *rn_rec_find(const struct rn_dev *dev)
{
	struct rn_rec_dev *d;
	unsigned i;

	pthread_mutex_lock(&devs_lock);
	i = place_of_locked(dev);
	d = i < RN_REC_DEVS ? devs[i] : NULL;
	pthread_mutex_unlock(&devs_lock);
	return d;
}

void rn_rec_dev_after_fork(void)
{
	pthread_mutex_init(&devs_lock, NULL);
}

/* ----------------------------------------------------------- begin and end */
void rn_rec_begin(struct rn_rec_dev *d, struct rn_rec *rec)
{
	rec->dev = d->number;
	d->drained = 0;
	rn_recorder_put(rec);
}

void rn_rec_end(struct rn_rec_dev *d, struct rn_rec *rec)
{
	uint64_t overruns = __atomic_load_n(d->overruns, __ATOMIC_RELAXED);

	if (overruns != d->overruns_seen)
		rn_rec_note_overruns(d);
	d->overruns_seen = overruns;
	rec->dev = d->number;
	rn_recorder_put(rec);
}

void rn_rec_done(struct rn_rec_dev *d)
{
	struct rn_rec rec = { .kind = RN_REC_DONE };

	rn_rec_end(d, &rec);
}

void rn_rec_result(struct rn_rec_dev *d, int result)
{
	struct rn_rec rec = { .kind = RN_REC_RESULT, .result = result };

	rn_rec_end(d, &rec);
}

void rn_rec_lone(struct rn_rec *rec)
{
	rec->dev = RN_REC_NO_DEV;
	atomic_fetch_add_explicit(&lone_calls, 1, memory_order_relaxed);
	rn_recorder_put(rec);
}

/* ------------------------------------------------------------ init and fini */
static struct rn_rec_dev *add_dev(struct rn_dev *dev)
{
	struct rn_rec_dev *d = calloc(1, sizeof(*d));
	unsigned i = RN_REC_DEVS;

	if (!d)
		return NULL;
	pthread_mutex_lock(&devs_lock);
	i = place_of_locked(NULL);
	if (i < RN_REC_DEVS) {
		d->dev = dev;
		d->number = (uint8_t)i;
		devs[i] = d;
	}
	pthread_mutex_unlock(&devs_lock);
	if (i < RN_REC_DEVS)
		return d;
	free(d);
	return NULL;
}

static void remove_dev(struct rn_rec_dev *d)
{
	pthread_mutex_lock(&devs_lock);
	devs[d->number] = NULL;
	pthread_mutex_unlock(&devs_lock);
	free(d->pending);
	free(d);
}

RN_REC_WRAP(int, rn_dev_init, struct rn_dev *dev, const struct rn_dev_cfg *cfg)
{
	struct rn_dev_cfg own = *cfg;
	struct rn_rec_dev *d = rn_recorder_open() ? add_dev(dev) : NULL;
	struct rn_rec rec = { .kind = RN_REC_DEV_INIT };
	int rc;

	if (cfg->stats)
		rn_recorder_count_in(&cfg->stats[RN_STAT_RECORD_LOST]);
	if (!d)
		return __real_rn_dev_init(dev, cfg);
	d->overruns = cfg->stats;
	if (cfg->stats)
		d->overruns += RN_STAT_CQ_OVERRUN;
	rec.u.dev_init = (struct rn_rec_dev_init){
		.cfg = *cfg,
		.always_done = cfg->mem->always_done,
		.has_read_part = cfg->mem->read_part,
		.has_before_ack = cfg->before_ack,
	};
	rn_rec_mem_init(d, &own);
	rn_rec_begin(d, &rec);
	rc = __real_rn_dev_init(dev, &own);
	rn_rec_result(d, rc);
	if (rc)
		remove_dev(d);
	return rc;
}

RN_REC_WRAP(void, rn_dev_fini, struct rn_dev *dev)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec = { .kind = RN_REC_DEV_FINI };

	rn_recorder_count_in(NULL);
	if (!d) {
		__real_rn_dev_fini(dev);
		return;
	}
	rn_rec_begin(d, &rec);
	__real_rn_dev_fini(dev);
	rn_rec_done(d);
	remove_dev(d);
}

/* A device that shares nothing: no more than its kind and a time. Return: whether it is
 * recorded.
 */
static struct rn_rec_dev *begin(const struct rn_dev *dev, enum rn_rec_kind kind,
				rn_ns now)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec = { .kind = kind, .now = now };

	if (d)
		rn_rec_begin(d, &rec);
	return d;
}

RN_REC_WRAP(void, rn_dev_set_gid, struct rn_dev *dev, uint32_t index,
	    const struct rn_gid *gid)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec = { .kind = RN_REC_SET_GID,
			      .u.gid = { .index = index, .gid = *gid } };

	if (d)
		rn_rec_begin(d, &rec);
	__real_rn_dev_set_gid(dev, index, gid);
	if (d)
		rn_rec_done(d);
}

RN_REC_WRAP(void, rn_dev_peer_holds, struct rn_dev *dev, rn_ns now,
	    const struct rn_gid *gid, uint8_t slot, uint64_t taken)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec = {
		.kind = RN_REC_PEER_HOLDS,
		.now = now,
		.u.peer_holds = { .gid = *gid, .slot = slot, .taken = taken },
	};

	if (d)
		rn_rec_begin(d, &rec);
	__real_rn_dev_peer_holds(dev, now, gid, slot, taken);
	if (d)
		rn_rec_done(d);
}

RN_REC_WRAP(void, rn_dev_expire, struct rn_dev *dev, rn_ns now)
{
	struct rn_rec_dev *d = begin(dev, RN_REC_EXPIRE, now);

	__real_rn_dev_expire(dev, now);
	if (d)
		rn_rec_done(d);
}

RN_REC_WRAP(void, rn_dev_error, struct rn_dev *dev, rn_ns now)
{
	struct rn_rec_dev *d = begin(dev, RN_REC_DEV_ERROR, now);

	__real_rn_dev_error(dev, now);
	if (d)
		rn_rec_done(d);
}

/* ----------------------------------------------------------------- packets */
static void fill_receive(struct rn_rec *rec, rn_ns now, const struct rn_rx *rx,
			 uint32_t count)
{
	struct rn_rec_receive *r = &rec->u.receive;

	rec->kind = RN_REC_RECEIVE;
	rec->now = now;
	r->count = count;
	for (uint32_t i = 0; i < count; i++)
		r->rx[i] = (struct rn_rec_rx){ .flow = *rx[i].flow,
					       .data = rx[i].data,
					       .len = rx[i].len,
					       .gro_idx = rx[i].gro_idx,
					       .icrc = rx[i].icrc };
}

/* As many as one record can take: it makes no difference to the device in how many calls
 * packets come.
 */
static unsigned how_many(const struct rn_rx *pkts, unsigned count)
{
	size_t bytes = pkts[0].len;
	unsigned n = 1;

	while (n < count && n < RN_REC_RX_MAX && bytes + pkts[n].len < RN_REC_MAX / 2)
		bytes += pkts[n++].len;
	return n;
}

RN_REC_WRAP(void, rn_dev_receive, struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
	    unsigned count)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec;

	if (!d) {
		__real_rn_dev_receive(dev, now, pkts, count);
		return;
	}
	while (count > 0) {
		unsigned n = how_many(pkts, count);

		fill_receive(&rec, now, pkts, n);
		rn_rec_begin(d, &rec);
		d->rx = pkts;
		d->rx_count = n;
		__real_rn_dev_receive(dev, now, pkts, n);
		d->rx_count = 0;
		rn_rec_done(d);
		pkts += n;
		count -= n;
	}
}

/* Known to find nothing, and so to change nothing. */
static bool is_drained(const struct rn_rec_dev *d, unsigned what)
{
	return (what & ~d->drained) == 0 &&
	       d->lone_calls == atomic_load_explicit(&lone_calls, memory_order_relaxed);
}

static void end_transmit(struct rn_rec_dev *d, unsigned what, uint32_t len,
			 const uint8_t *buf, const struct rn_tx *tx)
{
	struct rn_rec rec = { .kind = RN_REC_PACKET,
			      .u.packet = { .len = len, .data = buf } };

	if (len > 0) {
		rec.u.packet.flow = *tx->flow;
		rec.u.packet.dest_qpn = tx->dest_qpn;
		rec.u.packet.src_qpn = tx->src_qpn;
		rec.u.packet.response = tx->response;
	} else {
		d->drained = what;
		d->lone_calls = atomic_load_explicit(&lone_calls, memory_order_relaxed);
	}
	rn_rec_end(d, &rec);
}

RN_REC_WRAP(uint32_t, rn_dev_transmit, struct rn_dev *dev, rn_ns now, unsigned what,
	    uint8_t *buf, size_t cap, struct rn_tx *tx)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec = { .kind = RN_REC_TRANSMIT, .now = now, .u.what = what };
	uint32_t len;

	if (!d)
		return __real_rn_dev_transmit(dev, now, what, buf, cap, tx);
	if (is_drained(d, what)) {
		len = __real_rn_dev_transmit(dev, now, what, buf, cap, tx);
		assert(len == 0);
		return len;
	}
	rn_rec_begin(d, &rec);
	d->buf = buf;
	d->cap = cap;
	len = __real_rn_dev_transmit(dev, now, what, buf, cap, tx);
	d->buf = NULL;
	end_transmit(d, what, len, buf, tx);
	return len;
}

RN_REC_WRAP(uint32_t, rn_dev_transmit_frame, struct rn_dev *dev, rn_ns now, uint8_t *buf,
	    size_t cap, uint32_t *flags)
{
	struct rn_rec_dev *d = begin(dev, RN_REC_TRANSMIT_FRAME, now);
	struct rn_rec rec = { .kind = RN_REC_FRAME };
	uint32_t len;

	if (!d)
		return __real_rn_dev_transmit_frame(dev, now, buf, cap, flags);
	d->buf = buf;
	d->cap = cap;
	len = __real_rn_dev_transmit_frame(dev, now, buf, cap, flags);
	d->buf = NULL;
	rec.u.packet.len = len;
	rec.u.packet.data = buf;
	rec.u.packet.flags = len > 0 ? *flags : 0;
	rn_rec_end(d, &rec);
	return len;
}

/* ------------------------------------------------------- memory and events */
RN_REC_WRAP(void, rn_dev_mem_done, struct rn_dev *dev, rn_ns now, uint64_t tag,
	    enum rn_mem_result result)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec = { .kind = RN_REC_MEM_DONE,
			      .now = now,
			      .u.mem_done = { .tag = tag, .result = result } };
	struct rn_rec_pending p;

	if (!d) {
		__real_rn_dev_mem_done(dev, now, tag, result);
		return;
	}
	if (!rn_rec_mem_take(d, tag, &p))
		return; /* the core never heard of it */
	rec.u.mem_done.tag = p.tag;
	if (p.dst) {
		rec.u.mem_done.number = p.number;
		rec.u.mem_done.data = p.dst;
		rec.u.mem_done.len = result == RN_MEM_DONE ? p.len : 0;
	}
	rn_rec_begin(d, &rec);
	__real_rn_dev_mem_done(dev, now, p.tag, result);
	rn_rec_done(d);
}

static uint64_t object_of(const struct rn_event *ev)
{
	if (ev->completion || ev->async == RN_EVENT_CQ_ERR)
		return rn_rec_id(ev->cq);
	if (ev->async == RN_EVENT_SRQ_LIMIT_REACHED)
		return rn_rec_id(ev->srq);
	return rn_rec_id(ev->qp);
}

/* To find none changes nothing. */
RN_REC_WRAP(bool, rn_dev_event, struct rn_dev *dev, struct rn_event *ev)
{
	bool some = __real_rn_dev_event(dev, ev);
	struct rn_rec_dev *d = some ? rn_rec_find(dev) : NULL;
	struct rn_rec call = { .kind = RN_REC_TAKE_EVENT };
	struct rn_rec rec = { .kind = RN_REC_EVENT };

	if (!d)
		return some;
	rn_rec_begin(d, &call);
	rec.u.event.some = true;
	rec.u.event.completion = ev->completion;
	rec.u.event.async = ev->completion ? 0 : ev->async;
	rec.u.event.object = object_of(ev);
	rn_rec_end(d, &rec);
	return some;
}

/* ------------------------------------------------------------------ tables */
static struct rn_rec_dev *begin_grow(const struct rn_dev *dev, enum rn_rec_table table,
				     uint32_t count)
{
	struct rn_rec_dev *d = rn_rec_find(dev);
	struct rn_rec rec = { .kind = RN_REC_GROW,
			      .u.grow = { .table = table, .count = count } };

	if (d)
		rn_rec_begin(d, &rec);
	return d;
}

#define GROW(name, table)                                                             \
	RN_REC_WRAP(void **, name, struct rn_dev *dev, void **bucket, uint32_t count) \
	{                                                                             \
		struct rn_rec_dev *d = begin_grow(dev, table, count);                 \
		void **old = __real_##name(dev, bucket, count);                       \
                                                                                      \
		if (d)                                                                \
			rn_rec_done(d);                                               \
		return old;                                                           \
	}

GROW(rn_dev_grow_qp_table, RN_REC_TABLE_QP)
GROW(rn_dev_grow_mr_table, RN_REC_TABLE_MR)
GROW(rn_dev_grow_srq_table, RN_REC_TABLE_SRQ)
