/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* play_call.c - makes a recorded call of the core again, on objects of the player's own.
 *
 * Each call is checked first, so that no file can make the player break the rules for
 * callers of the core.
 */
#include <assert.h>
#include <stdlib.h>

#include "player_internal.h"
#include "rocin/hash.h"

enum {
	TABLE_MAX = 1 << 22, /* maximum number of buckets of a table */
};

#define PERIOD_MAX ((rn_ns)1 << 60)

static struct object **chain_of(struct player *p, uint64_t id)
{
	return &p->chain[rn_hash_word(id) >> 52];
}

static_assert(CHAINS == 1 << (64 - 52), "chain_of()");

static struct object *find_any(struct player *p, enum rn_rec_object kind, uint64_t id)
{
	struct object *o = *chain_of(p, id);

	while (o && (o->id != id || o->kind != kind))
		o = o->next;
	return o;
}

uint64_t rn_play_id_of(const void *object)
{
	const uint8_t *mem = object;
	const struct object *o = (const void *)(mem - offsetof(struct object, mem));

	return o->id;
}

/* Adds an object of @size bytes. Returns false if there is no memory. */
static bool add_object(struct player *p, size_t size)
{
	struct object **chain = chain_of(p, p->rec.id);
	struct object *o = rn_play_alloc(p, sizeof(*o) + size);

	if (!o)
		return false;
	o->id = p->rec.id;
	o->kind = rn_rec_info[p->rec.kind].object;
	o->dev = p->d;
	o->type = p->qp.type;
	o->next = *chain;
	*chain = o;
	if (p->d)
		p->d->objects++;
	for (unsigned i = 0; i < RN_REC_USES; i++) {
		o->uses[i] = p->uses[i];
		if (o->uses[i])
			o->uses[i]->users++;
	}
	p->o = o;
	return true;
}

static void remove_object(struct player *p, struct object *o)
{
	struct object **at = chain_of(p, o->id);

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (o->dev)
		o->dev->objects--;
	for (unsigned i = 0; i < RN_REC_USES; i++)
		if (o->uses[i])
			o->uses[i]->users--;
	rn_play_free(p, o->ring);
	rn_play_free(p, o);
}

/* Finds an object of the device of the call, or of any device if the record names none. A
 * CQ is assigned to the device when it is first used. NULL: the file is broken.
 */
static struct object *find_object(struct player *p, enum rn_rec_object kind, uint64_t id)
{
	struct object *o = find_any(p, kind, id);

	if (o && p->d && !o->dev) {
		o->dev = p->d;
		p->d->objects++;
	}
	if (o && (!p->d || o->dev == p->d))
		return o;
	rn_play_broken(p, "there is no such object");
	return NULL;
}

/* Finds the objects that the call is about. Returns false if the file is broken. */
static bool find_objects(struct player *p)
{
	const struct rn_rec_info *info = &rn_rec_info[p->rec.kind];
	const uint64_t *id = p->rec.uses;

	p->o = NULL;
	for (unsigned i = 0; i < RN_REC_USES; i++)
		p->uses[i] = id[i] ? find_object(p, info->uses[i], id[i]) : NULL;
	if (info->object && info->role != RN_REC_MAKE)
		p->o = find_object(p, info->object, p->rec.id);
	else if (info->object)
		p->o = find_any(p, info->object, p->rec.id);
	/* A CQ that was never used may have been freed without a record. */
	if (p->o && info->role == RN_REC_MAKE && (p->o->kind != RN_REC_CQ || p->o->dev))
		rn_play_broken(p, "there is such an object already");
	return !p->stop;
}

static void *object_of(const struct object *o)
{
	return o ? (void *)o->mem : NULL;
}

/* Returns the device of the call. find_objects() has found it. */
static struct rn_dev *dev_of(const struct player *p)
{
	assert(p->d);
	return p->d->dev;
}

static void grow_table(struct player *p)
{
	const struct rn_call_grow *g = &p->rec.u.call.grow;
	void **bucket = rn_play_alloc(p, g->count * sizeof(*bucket)), **old;

	if (!bucket)
		return;
	if (g->table == RN_CALL_TABLE_QP)
		old = rn_dev_grow_qp_table(dev_of(p), bucket, g->count);
	else if (g->table == RN_CALL_TABLE_MR)
		old = rn_dev_grow_mr_table(dev_of(p), bucket, g->count);
	else
		old = rn_dev_grow_srq_table(dev_of(p), bucket, g->count);
	rn_play_free(p, old);
	p->d->bucket[g->table] = bucket;
}

/* Returns the number by which the memory knows the pending access that the recorded call
 * ends, or 0 if there is none. If the record has the number 0, the access belonged to a
 * QP that was destroyed, and is found by its tag.
 */
static uint32_t number_of(const struct player *p)
{
	const struct rn_rec_mem_done *m = &p->rec.u.mem_done;
	const struct rn_hook_dev *shown;

	assert(p->d);
	shown = p->d->shown;
	for (uint32_t i = 0; i < shown->pending_count; i++) {
		const struct rn_hook_pending *w = &shown->pending[i];

		if (w->dst ? m->number == w->number : !m->number && m->tag == w->tag)
			return w->number;
	}
	return 0;
}

/* Returns the size of the ring of the SRQ that the call creates or resizes. */
static size_t ring_size(const struct player *p)
{
	const struct rn_srq_init *init = p->rec.u.call.srq;
	struct rn_srq_attr attr;

	if (p->rec.kind == RN_CALL_SRQ_CREATE)
		return rn_srq_ring_size(init->max_wr, init->max_sge);
	rn_srq_query(object_of(p->o), &attr);
	return rn_srq_ring_size(p->rec.u.call.number, attr.max_sge);
}

static void make_ring(struct player *p)
{
	void *ring = rn_play_alloc(p, ring_size(p)), *old = NULL;
	struct rn_srq_init init;

	if (!ring)
		return;
	if (p->rec.kind == RN_CALL_SRQ_CREATE) {
		init = *p->rec.u.call.srq;
		init.cq = object_of(p->uses[0]);
		p->o->is_xrc = init.xrcd;
		(void)rn_srq_create(dev_of(p), p->o->mem, ring, &init);
	} else if (rn_srq_resize(object_of(p->o), ring, p->rec.u.call.number, &old)) {
		rn_play_free(p, ring);
		return;
	}
	rn_play_free(p, old);
	p->o->ring = ring;
}

static void add_mr(struct player *p)
{
	struct rn_mr *mr = object_of(p->o);

	assert(p->d && mr);
	*mr = *p->rec.u.call.mr; /* the file has the members that rn_mr_init() sets */
	mr->node.key = mr->lkey >> RN_KEY_INDEX_SHIFT;
	rn_dev_add_mr(dev_of(p), mr);
}

static bool has_two_families(const struct rn_rx *rx, unsigned count)
{
	for (; count > 0; rx++, count--)
		if (rn_gid_is_ipv4(&rx->flow->src) != rn_gid_is_ipv4(&rx->flow->dst))
			return true;
	return false;
}

static bool is_power_of_two(uint32_t number, uint32_t max)
{
	return number && !(number & (number - 1)) && number <= max;
}

/* Does the core allow a QP with these attributes? */
static bool may_be_qp(const struct player *p)
{
	const struct rn_qp_init *init = &p->qp;
	bool is_raw = init->type == RN_QPT_RAW_PACKET;
	bool is_xrc = init->type == RN_QPT_XRC_SEND || init->type == RN_QPT_XRC_RECV;
	/* Raw packet QPs may have only one of the two queues. */
	bool needs_send = is_raw ? init->max_send_wr > 0 : init->type != RN_QPT_XRC_RECV;
	bool needs_recv = is_raw ? init->max_recv_wr > 0 : !is_xrc;

	return (init->send_cq || !needs_send) && (init->recv_cq || !needs_recv) &&
	       !(init->srq && p->uses[2]->is_xrc) && rn_qp_size(dev_of(p), init) > 0 &&
	       !rn_dev_has_qpn(dev_of(p), init->qpn);
}

static bool may_be_srq(const struct player *p, const struct rn_srq_init *init)
{
	return init->srqn >= 1 && init->srqn <= RN_SRQN_MAX &&
	       !init->xrcd == !p->uses[0] && ring_size(p) > 0 &&
	       !rn_dev_has_srqn(dev_of(p), init->srqn);
}

static bool may_join(const struct player *p, const struct rn_gid *mgid)
{
	const struct object *qp = p->uses[0];

	return qp && qp->type == RN_QPT_UD && rn_gid_is_multicast(mgid) &&
	       !rn_mcast_find(dev_of(p), object_of(qp), mgid);
}

static bool may_end_access(const struct player *p, const struct rn_rec_mem_done *m)
{
	return (m->result == RN_MEM_DONE || m->result == RN_MEM_FAULT) &&
	       (m->number || !rn_dev_has_qpn(dev_of(p), (uint32_t)(m->tag >> 8)));
}

/* find_objects() has found the device and the objects that the kind of call has, which
 * GCC's analyzer does not know.
 */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-null-dereference"
#endif

/* Makes the call of the record, for which a new object has memory already. Return: why no
 * program can make it; NULL: it is made.
 */
/* NOLINTNEXTLINE(readability-function-size): a row for each call */
static const char *call_core(struct player *p)
{
	const union rn_call_args *a = &p->rec.u.call;
	const struct rn_rec_mem_done *m = &p->rec.u.mem_done;
	struct device *d = p->d;
	struct rn_dev *dev = d ? d->dev : NULL;
	struct object *o = p->o;
	void *it = object_of(o);
	rn_ns now = p->rec.now;
	struct rn_event event;
	struct rn_tx tx;
	uint32_t flags;

	switch ((int)p->rec.kind) {
/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses, clang-analyzer-core.NullDereference) */
#define MAKE(kind, call) case RN_CALL_##kind: call; return NULL;
#define ALLOW(kind, condition, why, call) case RN_CALL_##kind: if (!(condition)) return why; call; return NULL;
	MAKE(DEV_INIT, rn_dev_init(dev, &d->cfg))
	ALLOW(DEV_FINI, d->objects == 0, "the device still has objects", rn_dev_fini(dev))
	ALLOW(SET_GID, a->set_gid.index < d->cfg.gid_count, "the GID table has no such entry",
	      rn_dev_set_gid(dev, a->set_gid.index, &a->set_gid.gid))
	ALLOW(RECEIVE, a->receive.count <= RN_REC_RX_MAX &&
	      !has_two_families(a->receive.pkts, a->receive.count), "a packet has two families",
	      rn_dev_receive(dev, now, a->receive.pkts, a->receive.count))
	MAKE(TRANSMIT, rn_dev_transmit(dev, now, a->transmit.what, p->packet, RN_PACKET_MAX, &tx))
	MAKE(EXPIRE, rn_dev_expire(dev, now))
	ALLOW(PEER_HOLDS, a->peer_holds.slot <= UINT8_MAX, "no process has such a slot",
	      rn_dev_peer_holds(dev, now, &a->peer_holds.gid, (uint8_t)a->peer_holds.slot,
				a->peer_holds.taken))
	ALLOW(MEM_DONE, may_end_access(p, m), "no such access waits",
	      rn_dev_mem_done(dev, now, number_of(p), m->result))
	MAKE(DEV_ERROR, rn_dev_error(dev, now))
	MAKE(TAKE_EVENT, rn_dev_event(dev, &event))
	ALLOW(GROW, is_power_of_two(a->grow.count, TABLE_MAX) &&
	      (unsigned)a->grow.table < RN_ARRAY_SIZE(d->bucket), "no table grows like that", grow_table(p))
	ALLOW(CQ_INIT, is_power_of_two(a->cq.capacity, RN_CQE_MAX), "there is no ring of such a size",
	      rn_cq_init(it, a->cq.ring, a->cq.capacity, NULL))
	ALLOW(CQ_MOVE, is_power_of_two(a->cq.capacity, RN_CQE_MAX), "there is no ring of such a size",
	      rn_cq_move(it, a->cq.ring, a->cq.capacity))
	ALLOW(CQ_ARM, (unsigned)a->cq.arm <= RN_CQ_ARM_NEXT, "a CQ is not armed like that",
	      rn_cq_arm(it, a->cq.arm))
	ALLOW(CQ_MODERATE, a->cq.period >= 0 && a->cq.period <= PERIOD_MAX, "a time is out of range",
	      rn_cq_moderate(dev, it, a->cq.count, a->cq.period))
	MAKE(CQ_FINI, rn_cq_fini(dev, it))
	ALLOW(QP_CREATE, may_be_qp(p), "there cannot be such a QP", rn_qp_create(dev, it, &p->qp))
	ALLOW(QP_MODIFY, (unsigned)a->modify.attr->state < RN_QPS_COUNT, "there is no such state",
	      rn_qp_modify(dev, it, now, a->modify.attr, a->modify.mask))
	ALLOW(QP_PACE, now >= o->dev->now, "time goes backwards",
	      rn_qp_pace(it, o->dev->now = now, a->pace.kbps, a->pace.burst))
	MAKE(QP_DESTROY, rn_qp_destroy(dev, it))
	MAKE(QP_FAIL, rn_qp_fail(dev, it, now))
	MAKE(QP_OVERRUN, rn_qp_overrun(dev, it, now, a->of_send_cq))
	MAKE(POST_SEND, rn_qp_post_send(dev, it, now, a->send))
	MAKE(POST_RECV, rn_qp_post_recv(dev, it, now, a->recv))
	ALLOW(ADD_MR, (unsigned)a->mr->kind <= RN_MR_KIND_NULL &&
	      !rn_dev_has_mr_index(dev, a->mr->lkey >> RN_KEY_INDEX_SHIFT),
	      "there cannot be such a region", add_mr(p))
	MAKE(REMOVE_MR, rn_dev_remove_mr(dev, it))
	ALLOW(SRQ_CREATE, may_be_srq(p, a->srq), "there cannot be such an SRQ", make_ring(p))
	MAKE(SRQ_POST_RECV, rn_srq_post_recv(it, a->recv))
	MAKE(SRQ_SET_LIMIT, rn_srq_set_limit(it, a->number))
	ALLOW(SRQ_RESIZE, ring_size(p) > 0, "no SRQ is so long", make_ring(p))
	MAKE(SRQ_DESTROY, rn_srq_destroy(it))
	ALLOW(MCAST_ATTACH, may_join(p, a->mcast.mgid), "the QP cannot join that group",
	      rn_mcast_attach(dev, it, object_of(p->uses[0]), a->mcast.mgid))
	MAKE(MCAST_DETACH, rn_mcast_detach(dev, it))
	MAKE(TRANSMIT_FRAME, rn_dev_transmit_frame(dev, now, p->packet, RN_FRAME_MAX, &flags))
	ALLOW(RECEIVE_FRAME, o->type == RN_QPT_RAW_PACKET && a->frame->len > 0 &&
	      a->frame->len <= RN_FRAME_MAX, "a QP gets no such frame",
	      rn_qp_receive_frame(dev, it, now, a->frame))
	/* NOLINTEND(bugprone-macro-parentheses, clang-analyzer-core.NullDereference) */
	/* clang-format on */
	default:
		return "there is no such call";
	}
}

bool rn_play_call(struct player *p)
{
	const struct rn_rec_info *info = &rn_rec_info[p->rec.kind];
	size_t size = sizeof(union {
		struct rn_cq cq;
		struct rn_mr mr;
		struct rn_mcast mcast;
	});
	struct object *ended;
	const char *why;

	if (!find_objects(p))
		return false;
	if (p->rec.kind == RN_CALL_QP_CREATE) {
		p->qp = *p->rec.u.call.qp;
		p->qp.send_cq = object_of(p->uses[0]);
		p->qp.recv_cq = object_of(p->uses[1]);
		p->qp.srq = object_of(p->uses[2]);
		size = rn_qp_size(dev_of(p), &p->qp);
	} else if (p->rec.kind == RN_CALL_SRQ_CREATE) {
		size = rn_srq_size();
	}
	if (info->role == RN_REC_MAKE && !p->o && !add_object(p, size))
		return false;
	ended = info->role == RN_REC_END ? p->o : NULL;
	if (ended && ended->users > 0)
		return rn_play_broken(p, "an object goes that others use");
	why = call_core(p);
	if (why)
		return rn_play_broken(p, why);
	if (ended)
		remove_object(p, ended);
	return !p->stop;
}
#ifndef __clang__
#pragma GCC diagnostic pop
#endif

void rn_play_forget_objects(struct player *p)
{
	struct object *next;

	for (unsigned i = 0; i < CHAINS; i++) {
		for (struct object *o = p->chain[i]; o; o = next) {
			next = o->next;
			free(o->ring);
			free(o);
		}
	}
}
