/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder_mem.c - memory as the core reaches it, with every access recorded. */
#include <stdlib.h>
#include <string.h>

#include "recorder_internal.h"

static uint32_t add_pending(struct rn_rec_dev *d, uint64_t tag, void *dst, uint32_t len)
{
	if (d->pending_count == d->pending_room) {
		uint32_t room = d->pending_room ? 2 * d->pending_room : 64;
		struct rn_rec_pending *bigger =
			reallocarray(d->pending, room, sizeof(*bigger));

		if (!bigger)
			abort(); /* a recording with a hole would only mislead */
		d->pending = bigger;
		d->pending_room = room;
	}
	d->pending[d->pending_count++] = (struct rn_rec_pending){
		.number = ++d->last_number, .tag = tag, .dst = dst, .len = len
	};
	return d->last_number;
}

static void drop_last(struct rn_rec_dev *d)
{
	d->pending_count--;
}

bool rn_rec_mem_take(struct rn_rec_dev *d, uint64_t number, struct rn_rec_pending *p)
{
	for (uint32_t i = 0; i < d->pending_count; i++) {
		if (d->pending[i].number != number)
			continue;
		*p = d->pending[i];
		d->pending[i] = d->pending[--d->pending_count];
		return true;
	}
	return false;
}

void rn_rec_mem_forget(struct rn_rec_dev *d, uint32_t qpn)
{
	for (uint32_t i = 0; i < d->pending_count; i++)
		if (d->pending[i].tag >> 8 == qpn)
			d->pending[i].dst = NULL;
}

/* -------------------------------------------------------------- operations */
static enum rn_mem_result write_recorded(void *ctx, rn_iova dst, const void *src,
					 uint32_t len, struct rn_mem_attr attr)
{
	struct rn_rec_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_WRITE,
			      .dev = d->number,
			      .u.write = { .dst = dst, .len = len, .attr = attr } };

	rec.u.write.result = d->mem->write(d->mem_ctx, dst, src, len, attr);
	rn_rec_place_write(&rec.u.write, d->rx, d->rx_count, src);
	rn_recorder_put(&rec);
	return rec.u.write.result;
}

static void put_read(struct rn_rec_dev *d, struct rn_rec *rec, const void *dst)
{
	struct rn_rec_read *r = &rec->u.read;

	r->at = rn_rec_place_read(d->buf, d->cap, dst);
	if (r->result == RN_MEM_DONE && !r->at) {
		r->data = dst;
		r->data_len = r->len;
	}
	rn_recorder_put(rec);
}

static enum rn_mem_result read_recorded(void *ctx, void *dst, rn_iova src, uint32_t len,
					struct rn_mem_attr attr, uint64_t tag)
{
	struct rn_rec_dev *d = ctx;
	struct rn_rec rec = {
		.kind = RN_REC_READ,
		.dev = d->number,
		.u.read = { .src = src, .len = len, .attr = attr, .tag = tag }
	};
	/* Before the call: another thread may see it end before this one returns. */
	uint32_t number = add_pending(d, tag, dst, len);

	rec.u.read.result = d->mem->read(d->mem_ctx, dst, src, len, attr, number);
	if (rec.u.read.result == RN_MEM_PENDING)
		rec.u.read.number = number;
	else
		drop_last(d);
	put_read(d, &rec, dst);
	return rec.u.read.result;
}

static enum rn_mem_result read_part_recorded(void *ctx, void *dst, rn_iova src,
					     uint32_t len, struct rn_mem_attr attr,
					     struct rn_crc32_part *part)
{
	struct rn_rec_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_READ,
			      .dev = d->number,
			      .u.read = { .src = src, .len = len, .attr = attr } };

	rec.u.read.result = d->mem->read_part(d->mem_ctx, dst, src, len, attr, part);
	put_read(d, &rec, dst);
	return rec.u.read.result;
}

static enum rn_mem_result atomic_recorded(void *ctx, const struct rn_mem_atomic_req *req,
					  uint64_t *orig, struct rn_mem_attr attr,
					  uint64_t tag)
{
	struct rn_rec_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_ATOMIC,
			      .dev = d->number,
			      .u.atomic = { .req = *req, .attr = attr, .tag = tag } };
	uint32_t number = add_pending(d, tag, orig, sizeof(*orig));

	rec.u.atomic.result = d->mem->atomic(d->mem_ctx, req, orig, attr, number);
	if (rec.u.atomic.result == RN_MEM_PENDING)
		rec.u.atomic.number = number;
	else
		drop_last(d);
	if (rec.u.atomic.result == RN_MEM_DONE)
		rec.u.atomic.orig = *orig;
	rn_recorder_put(&rec);
	return rec.u.atomic.result;
}

static void before_ack_recorded(void *ctx, uint32_t qpn)
{
	struct rn_rec_dev *d = ctx;
	const struct rn_rec rec = { .kind = RN_REC_BEFORE_ACK,
				    .dev = d->number,
				    .u.qpn = qpn };

	rn_recorder_put(&rec);
	d->before_ack(d->mem_ctx, qpn);
}

void rn_rec_mem_init(struct rn_rec_dev *d, struct rn_dev_cfg *cfg)
{
	d->mem = cfg->mem;
	d->mem_ctx = cfg->mem_ctx;
	d->before_ack = cfg->before_ack;
	d->ops = (struct rn_mem_ops){
		.always_done = d->mem->always_done,
		.write = write_recorded,
		.read = read_recorded,
		.read_part = d->mem->read_part ? read_part_recorded : NULL,
		.atomic = atomic_recorded,
	};
	cfg->mem = &d->ops;
	cfg->mem_ctx = d;
	if (d->before_ack)
		cfg->before_ack = before_ack_recorded;
}
