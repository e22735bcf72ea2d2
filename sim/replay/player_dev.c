/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_dev.c - calls about a device. */
#include <stdlib.h>
#include <string.h>

#include "player_internal.h"
#include "rocin/transport.h"

enum {
	TABLE_MAX = 1 << 22, /* chains */
};

bool rn_player_dev_init(struct rn_player *p, const struct rn_rec *rec)
{
	const struct rn_rec_dev_init *init = &rec->u.dev_init;
	struct rn_player_dev *d;

	if (p->dev[rec->dev])
		return rn_player_broken(p, "there is such a device already");
	if (init->has_read_part && !init->always_done)
		return rn_player_broken(p, "there is no such kind of memory");
	d = rn_player_alloc(p, sizeof(*d));
	if (!d)
		return false;
	d->p = p;
	d->number = rec->dev;
	d->came = &p->outcome;
	d->gid_count = init->cfg.gid_count;
	d->dev = rn_player_alloc(p, rn_dev_size());
	if (!d->dev) {
		rn_player_free(p, d, sizeof(*d));
		return false;
	}
	p->dev[rec->dev] = d;
	return true;
}

void rn_player_dev_free(struct rn_player_dev *d)
{
	struct rn_player *p = d->p;
	struct rn_player_pending *next;

	for (struct rn_player_pending *w = d->pending; w; w = next) {
		next = w->next;
		rn_player_free(p, w, sizeof(*w));
	}
	for (size_t i = 0; i < RN_ARRAY_SIZE(d->bucket); i++)
		free(d->bucket[i]);
	p->dev[d->number] = NULL;
	rn_player_free(p, d->dev, rn_dev_size());
	rn_player_free(p, d, sizeof(*d));
}

static bool init(struct rn_player_dev *d, const struct rn_rec_dev_init *in)
{
	struct rn_dev_cfg cfg = in->cfg;
	int rc;

	rn_player_mem_init(d, in, &cfg);
	cfg.stats = d->stats;
	rc = rn_dev_init(d->dev, &cfg);
	rn_player_result(d, rc);
	if (rc)
		rn_player_dev_free(d);
	return true;
}

static bool fini(struct rn_player_dev *d)
{
	if (d->objects > 0)
		return rn_player_broken(d->p, "the device still has objects");
	rn_dev_fini(d->dev);
	rn_player_done(d);
	rn_player_dev_free(d);
	return true;
}

static bool peer_holds(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_peer_holds *h = &rec->u.peer_holds;

	if (h->slot > UINT8_MAX)
		return rn_player_broken(d->p, "no process has such a slot");
	rn_dev_peer_holds(d->dev, rec->now, &h->gid, (uint8_t)h->slot, h->taken);
	rn_player_done(d);
	return true;
}

static bool set_gid(struct rn_player_dev *d, const struct rn_rec_gid *g)
{
	if (g->index >= d->gid_count)
		return rn_player_broken(d->p, "the GID table has no such entry");
	rn_dev_set_gid(d->dev, g->index, &g->gid);
	rn_player_done(d);
	return true;
}

static bool receive(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_receive *r = &rec->u.receive;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct rn_rec_rx *rx = &r->rx[i];

		if (rn_gid_is_ipv4(&rx->flow.src) != rn_gid_is_ipv4(&rx->flow.dst))
			return rn_player_broken(d->p, "a packet has two families");
		d->rx[i] = (struct rn_rx){ .flow = &rx->flow,
					   .data = rx->data,
					   .len = rx->len,
					   .gro_idx = rx->gro_idx,
					   .icrc = rx->icrc };
	}
	d->rx_count = r->count;
	d->p->r->packets_in += r->count;
	rn_dev_receive(d->dev, rec->now, d->rx, r->count);
	d->rx_count = 0;
	rn_player_done(d);
	return true;
}

static bool transmit(struct rn_player_dev *d, const struct rn_rec *rec)
{
	struct rn_player *p = d->p;
	struct rn_rec is = { .kind = RN_REC_PACKET };
	struct rn_tx tx;

	d->buf = p->packet;
	d->cap = RN_PACKET_MAX;
	is.u.packet.len = rn_dev_transmit(d->dev, rec->now, rec->u.what, p->packet,
					  RN_PACKET_MAX, &tx);
	d->buf = NULL;
	is.u.packet.data = p->packet;
	if (is.u.packet.len > 0) {
		is.u.packet.flow = *tx.flow;
		is.u.packet.dest_qpn = tx.dest_qpn;
		is.u.packet.src_qpn = tx.src_qpn;
		is.u.packet.response = tx.response;
		p->r->packets_out++;
	}
	rn_player_outcome(d, &is);
	return true;
}

static bool transmit_frame(struct rn_player_dev *d, rn_ns now)
{
	struct rn_player *p = d->p;
	struct rn_rec is = { .kind = RN_REC_FRAME };
	uint32_t flags = 0;

	d->buf = p->packet;
	d->cap = RN_FRAME_MAX;
	is.u.packet.len =
		rn_dev_transmit_frame(d->dev, now, p->packet, RN_FRAME_MAX, &flags);
	d->buf = NULL;
	is.u.packet.data = p->packet;
	is.u.packet.flags = is.u.packet.len > 0 ? flags : 0;
	p->r->packets_out += is.u.packet.len > 0;
	rn_player_outcome(d, &is);
	return true;
}

/* Owners are the objects of the player. */
static uint64_t object_of(const struct rn_event *ev)
{
	const struct rn_player_object *o;

	if (ev->completion || ev->async == RN_EVENT_CQ_ERR)
		o = ev->cq->owner;
	else if (ev->async == RN_EVENT_SRQ_LIMIT_REACHED)
		o = rn_srq_owner(ev->srq);
	else
		o = rn_qp_owner(ev->qp);
	return o->id;
}

static bool take_event(struct rn_player_dev *d)
{
	struct rn_rec is = { .kind = RN_REC_EVENT };
	struct rn_event ev;

	is.u.event.some = rn_dev_event(d->dev, &ev);
	if (is.u.event.some) {
		is.u.event.completion = ev.completion;
		is.u.event.async = ev.completion ? 0 : ev.async;
		is.u.event.object = object_of(&ev);
	}
	rn_player_outcome(d, &is);
	return true;
}

static bool grow(struct rn_player_dev *d, const struct rn_rec_grow *g)
{
	void **bucket, **old;

	if (g->count == 0 || g->count > TABLE_MAX || g->count & (g->count - 1) ||
	    (unsigned)g->table >= RN_ARRAY_SIZE(d->bucket))
		return rn_player_broken(d->p, "no table grows like that");
	bucket = calloc(g->count, sizeof(*bucket));
	if (!bucket)
		return rn_player_no_memory(d->p);
	if (g->table == RN_REC_TABLE_QP)
		old = rn_dev_grow_qp_table(d->dev, bucket, g->count);
	else if (g->table == RN_REC_TABLE_MR)
		old = rn_dev_grow_mr_table(d->dev, bucket, g->count);
	else
		old = rn_dev_grow_srq_table(d->dev, bucket, g->count);
	free(old);
	d->bucket[g->table] = bucket;
	rn_player_done(d);
	return true;
}

static bool mem_done(struct rn_player_dev *d, const struct rn_rec *rec)
{
	const struct rn_rec_mem_done *m = &rec->u.mem_done;

	if (!rn_player_mem_end(d, m))
		return false;
	rn_dev_mem_done(d->dev, rec->now, m->tag, m->result);
	rn_player_done(d);
	return true;
}

bool rn_player_dev_call(struct rn_player *p, struct rn_player_dev *d,
			const struct rn_rec *rec)
{
	switch ((int)rec->kind) {
	case RN_REC_DEV_INIT:
		return init(d, &rec->u.dev_init);
	case RN_REC_DEV_FINI:
		return fini(d);
	case RN_REC_SET_GID:
		return set_gid(d, &rec->u.gid);
	case RN_REC_RECEIVE:
		return receive(d, rec);
	case RN_REC_TRANSMIT:
		return transmit(d, rec);
	case RN_REC_PEER_HOLDS:
		return peer_holds(d, rec);
	case RN_REC_EXPIRE:
		rn_dev_expire(d->dev, rec->now);
		rn_player_done(d);
		return true;
	case RN_REC_MEM_DONE:
		return mem_done(d, rec);
	case RN_REC_DEV_ERROR:
		rn_dev_error(d->dev, rec->now);
		rn_player_done(d);
		return true;
	case RN_REC_TAKE_EVENT:
		return take_event(d);
	case RN_REC_GROW:
		return grow(d, &rec->u.grow);
	case RN_REC_TRANSMIT_FRAME:
		return transmit_frame(d, rec->now);
	default:
		return rn_player_broken(p, "there is no such call");
	}
}
