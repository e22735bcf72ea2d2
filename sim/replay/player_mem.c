/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_mem.c - the replayed memory: answers the core's accesses with the
 * recorded results.
 */
#include <stdlib.h>
#include <string.h>

#include "player_internal.h"

/* Returns the record of the access that the core makes now, @is. NULL: there is none; the
 * core is told that the memory cannot be accessed, and what follows does not matter.
 */
static struct rn_rec *expect(struct rn_player_dev *d, const struct rn_rec *is)
{
	struct rn_player *p = d->p;
	struct rn_rec *was;

	if (p->stop)
		return NULL;
	p->r->accesses++;
	was = rn_player_next(d);
	if (p->stop || (!was && !d->has_outcome))
		return NULL; /* the file ends in the middle of this call */
	if (was && was->kind == is->kind)
		return was;
	rn_player_compare(p, was ? was : d->came, is);
	return NULL;
}

static bool answer_is_sane(const struct rn_player_dev *d, enum rn_mem_result result)
{
	return (unsigned)result <= RN_MEM_FAULT &&
	       !(d->always_done && result == RN_MEM_PENDING);
}

static bool add_pending(struct rn_player_dev *d, uint32_t number, uint64_t tag, void *dst,
			uint32_t len)
{
	struct rn_player_pending *w = rn_player_alloc(d->p, sizeof(*w));

	if (!w)
		return false;
	*w = (struct rn_player_pending){
		.next = d->pending, .number = number, .len = len, .tag = tag, .dst = dst
	};
	d->pending = w;
	return true;
}

static void drop(struct rn_player_dev *d, struct rn_player_pending **at)
{
	struct rn_player_pending *w = *at;

	*at = w->next;
	rn_player_free(d->p, w, sizeof(*w));
}

void rn_player_mem_forget(struct rn_player_dev *d, uint32_t qpn)
{
	struct rn_player_pending **at = &d->pending;

	while (*at) {
		if ((*at)->tag >> 8 == qpn)
			drop(d, at);
		else
			at = &(*at)->next;
	}
}

bool rn_player_mem_end(struct rn_player_dev *d, const struct rn_rec_mem_done *m)
{
	struct rn_player_pending **at = &d->pending;

	if (m->result != RN_MEM_DONE && m->result != RN_MEM_FAULT)
		return rn_player_broken(d->p, "memory has no such answer");
	if (m->number == 0)
		return !rn_dev_has_qpn(d->dev, (uint32_t)(m->tag >> 8)) ||
		       rn_player_broken(d->p, "no access of this QP waits");
	while (*at && (*at)->number != m->number)
		at = &(*at)->next;
	if (!*at || (*at)->tag != m->tag)
		return rn_player_broken(d->p, "no such access waits");
	if (m->result == RN_MEM_DONE) {
		if (m->len != (*at)->len)
			return rn_player_broken(d->p, "the access was of another length");
		memcpy((*at)->dst, m->data, m->len);
	}
	drop(d, at);
	return true;
}

/* ------------------------------------------------------------------- write */
/* Advances the consumer index of the CQ. The recorded program read CQEs at times that are
 * not recorded; it matters only where it read too few.
 */
static void make_room(const struct rn_player_dev *d, rn_iova dst)
{
	struct rn_player_object *o = rn_player_cq_at(d, dst);
	uint32_t taken;

	if (!o)
		return;
	d->p->r->completions++;
	taken = o->cq.producer + 1;
	if (o->fills_up && --o->room == 0)
		taken -= o->cq.capacity;
	atomic_store_explicit(&o->cq.consumer, taken, memory_order_relaxed);
}

static enum rn_mem_result write_replayed(void *ctx, rn_iova dst, const void *src,
					 uint32_t len, struct rn_mem_attr attr)
{
	struct rn_player_dev *d = ctx;
	struct rn_rec is = { .kind = RN_REC_WRITE,
			     .dev = d->number,
			     .u.write = { .dst = dst, .len = len, .attr = attr } };
	const struct rn_rec *was = expect(d, &is);

	if (!was)
		return RN_MEM_DONE;
	rn_rec_place_write(d->call, &is.u.write, src);
	is.u.write.result = was->u.write.result;
	rn_player_compare(d->p, was, &is);
	if (was->u.write.result != RN_MEM_DONE && was->u.write.result != RN_MEM_FAULT)
		rn_player_broken(d->p, "a write has no such answer");
	if (d->p->stop)
		return RN_MEM_DONE;
	if (attr.flags & RN_MEM_CQE)
		make_room(d, dst);
	return is.u.write.result;
}

/* -------------------------------------------------------------------- read */
/* Copies bytes of the recorded packet, from the same offset. */
static void copy_from_packet(const struct rn_player_dev *d, void *dst, uint32_t offset,
			     uint32_t len)
{
	const struct rn_rec_packet *packet = &d->came->u.packet;

	memset(dst, 0, len);
	if (!d->has_outcome || offset >= packet->len)
		return; /* the packet was never sent */
	if (len > packet->len - offset)
		len = packet->len - offset;
	memcpy(dst, packet->data + offset, len);
}

static enum rn_mem_result bring(struct rn_player_dev *d, const struct rn_rec_read *r,
				void *dst, uint32_t len)
{
	if (!answer_is_sane(d, r->result))
		rn_player_broken(d->p, "a read has no such answer");
	else if (r->result == RN_MEM_DONE && !r->at && r->data_len != len)
		rn_player_broken(d->p, "a read brought another number of bytes");
	else if (r->result == RN_MEM_PENDING)
		add_pending(d, r->number, r->tag, dst, len);
	else if (r->result == RN_MEM_DONE && r->at)
		copy_from_packet(d, dst, r->at - 1, len);
	else if (r->result == RN_MEM_DONE)
		memcpy(dst, r->data, len);
	return d->p->stop ? RN_MEM_FAULT : r->result;
}

static enum rn_mem_result read_replayed(void *ctx, void *dst, rn_iova src, uint32_t len,
					struct rn_mem_attr attr, uint64_t tag)
{
	struct rn_player_dev *d = ctx;
	struct rn_rec is = { .kind = RN_REC_READ,
			     .dev = d->number,
			     .u.read = {
				     .src = src, .len = len, .attr = attr, .tag = tag } };
	const struct rn_rec *was = expect(d, &is);

	if (!was)
		return RN_MEM_FAULT;
	is.u.read.at = rn_rec_place_read(d->call, dst);
	is.u.read.result = was->u.read.result;
	is.u.read.number = was->u.read.number;
	is.u.read.data = was->u.read.data;
	is.u.read.data_len = was->u.read.data_len;
	rn_player_compare(d->p, was, &is);
	if (d->p->stop)
		return RN_MEM_FAULT;
	return bring(d, &was->u.read, dst, len);
}

static enum rn_mem_result read_part_replayed(void *ctx, void *dst, rn_iova src,
					     uint32_t len, struct rn_mem_attr attr,
					     struct rn_crc32_part *part)
{
	part->len = 0;
	return read_replayed(ctx, dst, src, len, attr, 0);
}

/* ------------------------------------------------------------------ atomic */
static enum rn_mem_result atomic_replayed(void *ctx, const struct rn_mem_atomic_req *req,
					  uint64_t *orig, struct rn_mem_attr attr,
					  uint64_t tag)
{
	struct rn_player_dev *d = ctx;
	struct rn_rec is = { .kind = RN_REC_ATOMIC,
			     .dev = d->number,
			     .u.atomic = { .req = *req, .attr = attr, .tag = tag } };
	const struct rn_rec *was = expect(d, &is);
	const struct rn_rec_atomic *a;

	*orig = 0;
	if (!was)
		return RN_MEM_FAULT;
	a = &was->u.atomic;
	is.u.atomic.result = a->result;
	is.u.atomic.orig = a->orig;
	is.u.atomic.number = a->number;
	rn_player_compare(d->p, was, &is);
	if (!answer_is_sane(d, a->result))
		rn_player_broken(d->p, "an atomic has no such answer");
	if (d->p->stop)
		return RN_MEM_FAULT;
	if (a->result == RN_MEM_PENDING &&
	    !add_pending(d, a->number, tag, orig, sizeof(*orig)))
		return RN_MEM_FAULT;
	if (a->result == RN_MEM_DONE)
		*orig = a->orig;
	return a->result;
}

static void before_ack_replayed(void *ctx, uint32_t qpn)
{
	struct rn_player_dev *d = ctx;
	struct rn_rec is = { .kind = RN_REC_BEFORE_ACK, .dev = d->number, .u.qpn = qpn };
	const struct rn_rec *was = expect(d, &is);

	if (was)
		rn_player_compare(d->p, was, &is);
}

void rn_player_mem_init(struct rn_player_dev *d, const struct rn_rec_dev_init *init,
			struct rn_dev_cfg *cfg)
{
	d->always_done = init->always_done;
	d->ops = (struct rn_mem_ops){
		.always_done = init->always_done,
		.write = write_replayed,
		.read = read_replayed,
		.read_part = init->has_read_part ? read_part_replayed : NULL,
		.atomic = atomic_replayed,
	};
	cfg->mem = &d->ops;
	cfg->mem_ctx = d;
	cfg->before_ack = init->has_before_ack ? before_ack_replayed : NULL;
}
