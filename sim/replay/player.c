/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player.c - replays a file record by record: makes the recorded calls, answers the
 * core's accesses to memory as recorded, and compares the records that the hook (hook.h)
 * makes of each call with those of the file.
 *
 * Each call is checked before it is made. So the player keeps the rules for callers of
 * the core, whatever the file contains.
 */
#include "player.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"
#include "record_text.h"
#include "rocin/gid.h"
#include "rocin/hash.h"
#include "rocin/stats.h"
#include "rocin/transport.h"
#include "transport/io/host/log.h"

enum {
	PROGRESS_EVERY = 65536, /* calls between two of rn_replay_cfg.progress() */
	/* maximum number of buckets of a lookup table of the core */
	TABLE_MAX = 1 << 22,
	/* number of hash chains in which objects are found by their addresses */
	CHAINS = 4096,
};

/* Limit of times in a file, in ns. A time plus a timeout then stays below 2^63. */
#define TIME_MAX ((rn_ns)1 << 61)
#define PERIOD_MAX ((rn_ns)1 << 60)
#define MEMORY_MAX (UINT64_C(8) << 30)

/* An object that had the address @id in the recorded program. */
struct object {
	struct object *next;
	uint64_t id;
	enum rn_rec_object kind;
	/* Device to which the object belongs; NULL: a CQ that no device has used yet. */
	struct device *dev;
	/* number of objects that use this one and must be destroyed first */
	unsigned users;
	struct object *uses[RN_REC_USES];
	void *ring; /* SRQ: memory of its ring */
	enum rn_qp_type type;
	bool is_xrc;		    /* SRQ: belongs to an XRC domain */
	_Alignas(64) uint8_t mem[]; /* the object of the core */
};

struct device {
	struct player *p;
	struct rn_dev *dev;
	/* the hook's data; NULL: the device is not initialised, or has ended */
	struct rn_hook_dev *shown;
	uint8_t number;
	/* the device's settings as in the recording, except for @ops and @stats */
	struct rn_dev_cfg cfg;
	struct rn_mem_ops ops;
	uint64_t stats[RN_STAT_COUNT];
	/* number of objects of the device; CQs that were never used do not count */
	unsigned objects;
	rn_ns now;
	/* For each lookup table (of QPs, regions, SRQs): the array by which a recorded
	 * call has replaced the first one; NULL: none has.
	 */
	void **bucket[RN_CALL_TABLE_SRQ + 1];
};

struct player {
	struct rn_hook_sink sink;
	const uint8_t *data;
	uint64_t len;
	const struct rn_replay_cfg *cfg;
	struct rn_replay_result *r;
	/* true if the replay is over; the reason is in r->end */
	bool stop;
	uint64_t memory; /* bytes that alloc_block() has given and that are in use */
	struct device *dev[RN_REC_DEVS];
	/* For each device number: offset behind the last record of the device that was
	 * processed. Index RN_REC_NO_DEV: the same for calls without a device.
	 */
	uint64_t cursor[RN_REC_NO_DEV + 1];
	struct object *chain[CHAINS];

	/* The members from here on are about the call that is being made. */
	struct rn_rec rec;
	struct rn_rec_room rec_room;
	struct device *d; /* NULL: the record names no device */
	struct object *o; /* object that the call uses or creates; or NULL */
	struct object *uses[RN_REC_USES]; /* existing objects that a new object uses */
	/* QP_CREATE: attributes of the QP; its CQs and SRQ are those in @uses */
	struct rn_qp_init qp;

	struct rn_rec expected; /* recorded action that the core should perform next */
	struct rn_rec_room expected_room;
	struct rn_rec outcome; /* recorded outcome of the call, if it was needed early */
	struct rn_rec_room outcome_room;
	uint8_t bytes[RN_REC_MAX];    /* buffer for the record of an action of the core */
	uint8_t packet[RN_FRAME_MAX]; /* buffer for a packet or frame */
};

/* Ends the replay for the reason @end, with the error text @why. Returns false. */
static bool stop_replay(struct player *p, enum rn_replay_end end, const char *why)
{
	if (p->stop)
		return false;
	p->stop = true;
	p->r->end = end;
	snprintf(p->r->why, sizeof(p->r->why), "%s", why);
	return false;
}

/* Ends the replay because the file is broken. Returns false. */
static bool broken(struct player *p, const char *why)
{
	return stop_replay(p, RN_REPLAY_BROKEN, why);
}

/* Allocates zeroed memory. If there is none, or if the objects in the file would need
 * more than a limit (cfg->max_memory), ends the replay and returns NULL.
 */
static void *alloc_block(struct player *p, size_t bytes)
{
	uint64_t max = p->cfg->max_memory ? p->cfg->max_memory : MEMORY_MAX;
	size_t rounded = (bytes + 63) & ~(size_t)63;
	void *block = NULL;

	if (p->memory + bytes <= max)
		block = aligned_alloc(64, rounded);
	if (!block) {
		stop_replay(p, RN_REPLAY_NO_MEMORY, "no memory");
		return NULL;
	}
	p->memory += malloc_usable_size(block);
	return memset(block, 0, rounded);
}

static void free_block(struct player *p, void *block)
{
	p->memory -= malloc_usable_size(block);
	free(block);
}

/* ------------------------------------------ objects of the recorded program */
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

/* Returns the address that an object of the core had in the recorded program. */
static uint64_t id_of(const void *object)
{
	const uint8_t *mem = object;
	const struct object *o = (const void *)(mem - offsetof(struct object, mem));

	return o->id;
}

/* Adds an object of @size bytes. Returns false if there is no memory. */
static bool add_object(struct player *p, size_t size)
{
	struct object **chain = chain_of(p, p->rec.id);
	struct object *o = alloc_block(p, sizeof(*o) + size);

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
	free_block(p, o->ring);
	free_block(p, o);
}

/* Finds the object @id. It must belong to the device of the call, if the record names
 * one. A CQ is assigned to a device when that device first uses it. Returns NULL if
 * there is no such object, because the file is broken.
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
	broken(p, "there is no such object");
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
		broken(p, "there is such an object already");
	return !p->stop;
}

static void *object_of(const struct object *o)
{
	return o ? (void *)o->mem : NULL;
}

/* Returns the device of the call, which find_objects() has found before. */
static struct rn_dev *dev_of(const struct player *p)
{
	assert(p->d);
	return p->d->dev;
}

static void forget_objects(struct player *p)
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

/* ----------------------------------------------------------- recorded calls */
static void grow_table(struct player *p)
{
	static void **(*const grow[])(struct rn_dev *, void **, uint32_t) = {
		[RN_CALL_TABLE_QP] = rn_dev_grow_qp_table,
		[RN_CALL_TABLE_MR] = rn_dev_grow_mr_table,
		[RN_CALL_TABLE_SRQ] = rn_dev_grow_srq_table,
	};
	const struct rn_call_grow *g = &p->rec.u.call.grow;
	void **bucket = alloc_block(p, g->count * sizeof(*bucket));

	if (!bucket)
		return;
	free_block(p, grow[g->table](dev_of(p), bucket, g->count));
	p->d->bucket[g->table] = bucket;
}

/* Called for a recorded call that reports the end of a pending access. Returns the number
 * that the memory was given for the access, or 0 if there is none. The record has the
 * number 0 if the QP was destroyed before; then the access is found by its tag.
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
	void *ring = alloc_block(p, ring_size(p)), *old = NULL;
	struct rn_srq_init init;

	if (!ring)
		return;
	if (p->rec.kind == RN_CALL_SRQ_CREATE) {
		init = *p->rec.u.call.srq;
		init.cq = object_of(p->uses[0]);
		p->o->is_xrc = init.xrcd;
		(void)rn_srq_create(dev_of(p), p->o->mem, ring, &init);
	} else if (rn_srq_resize(object_of(p->o), ring, p->rec.u.call.number, &old)) {
		free_block(p, ring);
		return;
	}
	free_block(p, old);
	p->o->ring = ring;
}

static void add_mr(struct player *p)
{
	struct rn_mr *mr = object_of(p->o);

	assert(p->d && mr);
	*mr = *p->rec.u.call.mr; /* the file has those members that rn_mr_init() sets */
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

/* Returns true if the core allows a QP with these attributes. */
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

/* GCC's analyzer cannot see that find_objects() has found the device and all objects
 * that this kind of call needs.
 */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-null-dereference"
#endif

/* Makes the recorded call. If the call creates an object, the object's memory is
 * allocated already. Returns NULL, or, if no program can make this call, a text that says
 * why.
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

/* Makes the call of p->rec. Returns false if that ends the replay. */
static bool make_call(struct player *p)
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
		return broken(p, "an object goes that others use");
	why = call_core(p);
	if (why)
		return broken(p, why);
	if (ended)
		remove_object(p, ended);
	return !p->stop;
}
#ifndef __clang__
#pragma GCC diagnostic pop
#endif

/* ------------------------------------------------------------ records of a call */

static bool get_record(struct player *p, uint64_t at, struct rn_rec *rec,
		       struct rn_rec_room *room)
{
	return rn_rec_get(p->data + at, p->len - at, rec, room) > 0 ||
	       broken(p, "a record has other fields than its kind");
}

/* Finds the first record of device @number at offset *@at of the file or behind it. Moves
 * *@at to it, sets *@kind to its kind, and returns its length. Returns 0 if the device
 * has no more records, or if the file is broken.
 */
static uint64_t next_record(struct player *p, uint8_t number, uint64_t *at,
			    unsigned *kind)
{
	uint8_t dev;
	ssize_t n;

	for (; (n = rn_rec_peek(p->data + *at, p->len - *at, kind, &dev)) > 0;
	     *at += (uint64_t)n)
		if (dev == number)
			return (uint64_t)n;
	if (n < 0)
		broken(p, "there is no record where one should begin");
	return 0;
}

/* Finds the record of the outcome of the call that device @d is making. Returns NULL if
 * the file ends before it.
 */
static const struct rn_rec *find_outcome(const struct device *d)
{
	struct player *p = d->p;
	enum rn_rec_class class = RN_REC_ACCESS;
	uint64_t at = p->cursor[d->number], n;
	unsigned kind;

	for (; (n = next_record(p, d->number, &at, &kind)) > 0; at += n) {
		class = rn_rec_info[kind].class;
		if (class != RN_REC_ACCESS)
			break;
	}
	if (class != RN_REC_OUTCOME || !get_record(p, at, &p->outcome, &p->outcome_room))
		return NULL;
	return &p->outcome;
}

/* --------------------------------------- comparison of actions with the records */

/* Ends the replay with a difference. @is: what the core does now; NULL: nothing. @n:
 * length of the record of what it did in the recorded run; 0: it did nothing.
 */
static void differ(struct player *p, uint8_t number, uint64_t n, const struct rn_rec *is)
{
	struct rn_replay_result *r = p->r;
	struct rn_rec *was = n ? &p->expected : NULL;

	if (p->stop || (was && !get_record(p, p->cursor[number], was, &p->expected_room)))
		return;
	stop_replay(p, RN_REPLAY_DIFFERENT, "");
	snprintf(r->why, sizeof(r->why), "call %llu (%s) goes another way",
		 (unsigned long long)r->calls, rn_rec_info[p->rec.kind].name);
	if (was)
		rn_rec_text(was, r->recorded, sizeof(r->recorded));
	if (is)
		rn_rec_text(is, r->replayed, sizeof(r->replayed));
	if (was && is && was->kind == is->kind)
		rn_rec_compare(was, is, r);
}

static void count_record(struct rn_replay_result *r, const struct rn_rec *is)
{
	r->accesses += rn_rec_info[is->kind].class == RN_REC_ACCESS;
	if (is->kind == RN_CALL_RECEIVE)
		r->packets_in += is->u.call.receive.count;
	else if (is->kind == RN_CALL_RECEIVE_FRAME)
		r->packets_in++;
	else if (is->kind == RN_REC_PACKET || is->kind == RN_REC_FRAME)
		r->packets_out += is->u.packet.len > 0;
	else if (is->kind == RN_REC_WRITE && (is->u.access.attr.flags & RN_MEM_CQE))
		r->completions++;
}

/* Called for each action of the core: compares it with the next record of its device. */
static bool compare_next(struct rn_hook_sink *s, const struct rn_rec *is)
{
	struct player *p = RN_CONTAINER_OF(s, struct player, sink);
	uint64_t *at = &p->cursor[is->dev], n;
	unsigned kind;

	if (p->stop)
		return true;
	count_record(p->r, is);
	n = next_record(p, is->dev, at, &kind);
	if (!n) /* the file ends here: the recorded program was killed in this call */
		p->r->cut_off = true;
	else if (*at != p->r->at && rn_rec_info[kind].class == RN_REC_CALL)
		broken(p, "a call begins within another");
	else if (rn_rec_put(is, p->bytes, sizeof(p->bytes)) != n ||
		 memcmp(p->bytes, p->data + *at, n) != 0)
		differ(p, is->dev, n, is);
	*at += n;
	return true;
}

static int open_device(struct rn_hook_sink *s, struct rn_hook_dev *shown)
{
	struct player *p = RN_CONTAINER_OF(s, struct player, sink);

	shown->number = p->rec.dev;
	p->dev[p->rec.dev]->shown = shown;
	return 0;
}

static void close_device(struct rn_hook_sink *s, struct rn_hook_dev *shown)
{
	RN_CONTAINER_OF(s, struct player, sink)->dev[shown->number]->shown = NULL;
}

/* ----------------------------- memory operations with the recorded results */

/* Stores the bytes that a read returns at @dst. Some of them may be in the recorded
 * packet that the call builds; the others are in the record of the access.
 */
static void fill_read(struct device *d, const struct rn_rec_access *a, void *dst,
		      uint32_t len)
{
	const struct rn_rec *out = a->packet ? find_outcome(d) : NULL;
	bool has_packet =
		out && (out->kind == RN_REC_PACKET || out->kind == RN_REC_FRAME);
	uint32_t left = has_packet && a->offset < out->u.packet.len
				? out->u.packet.len - a->offset
				: 0;

	if (left)
		memcpy(dst, out->u.packet.data + a->offset, len < left ? len : left);
	else if (!a->packet && a->data_len == len)
		memcpy(dst, a->data, len);
	else if (!a->packet)
		broken(d->p, "a read brought another number of bytes");
}

/* Gives the core the recorded result of an access. If the next record is not about such
 * an access, any result will do, because compare_next() will end the replay.
 */
static enum rn_mem_result answer_as_recorded(struct rn_hook_sink *s,
					     const struct rn_rec *is, void *bytes)
{
	struct player *p = RN_CONTAINER_OF(s, struct player, sink);
	struct device *d = p->dev[is->dev];
	const struct rn_rec_access *a = &p->expected.u.access;
	const struct rn_rec_mem_done *end = &p->rec.u.mem_done;
	uint64_t *at = &p->cursor[is->dev];
	unsigned kind = is->kind;

	if (kind == RN_CALL_MEM_DONE && bytes && end->len == is->u.mem_done.len)
		memcpy(bytes, end->data, end->len);
	if (kind == RN_CALL_MEM_DONE)
		return end->result;
	if (bytes)
		memset(bytes, 0, is->u.access.len);
	if (p->stop || !next_record(p, is->dev, at, &kind) || kind != is->kind)
		return is->kind == RN_REC_OVERRUN ? RN_MEM_FAULT : RN_MEM_DONE;
	if (kind == RN_REC_OVERRUN ||
	    !get_record(p, *at, &p->expected, &p->expected_room))
		return RN_MEM_DONE;
	if (a->result != RN_MEM_DONE && a->result != RN_MEM_FAULT &&
	    (a->result != RN_MEM_PENDING || kind == RN_REC_WRITE || d->ops.always_done)) {
		broken(p, "memory has no such answer");
		return RN_MEM_DONE;
	}
	if (kind == RN_REC_ATOMIC && bytes)
		memcpy(bytes, &a->orig, sizeof(a->orig));
	else if (bytes && a->result == RN_MEM_DONE)
		fill_read(d, a, bytes, is->u.access.len);
	return a->result;
}

/* All functions by which a device of the player accesses memory are this one. It is never
 * called, because the hook gets each result from answer_as_recorded().
 */
static void never(void)
{
	abort();
}

/* --------------------------------------------------------- recorded devices */

static bool add_dev(struct player *p)
{
	const struct rn_dev_cfg *cfg = p->rec.u.call.cfg;
	struct device *d;

	if (p->dev[p->rec.dev])
		return broken(p, "there is such a device already");
	if (cfg->mem->read_part && !cfg->mem->always_done)
		return broken(p, "there is no such kind of memory");
	d = alloc_block(p, sizeof(*d));
	if (!d)
		return false;
	p->dev[p->rec.dev] = d;
	d->p = p;
	d->number = p->rec.dev;
	d->ops = *cfg->mem;
	d->ops.write = (void *)never;
	d->ops.read = (void *)never;
	d->ops.atomic = (void *)never;
	d->cfg = *cfg;
	d->cfg.mem = &d->ops;
	d->cfg.stats = d->stats;
	d->dev = alloc_block(p, rn_dev_size());
	return d->dev;
}

static void free_dev(struct device *d)
{
	struct player *p = d->p;

	for (size_t i = 0; i < RN_ARRAY_SIZE(d->bucket); i++)
		free_block(p, d->bucket[i]);
	if (d->shown)
		rn_hook_free(d->shown);
	p->dev[d->number] = NULL;
	free_block(p, d->dev);
	free_block(p, d);
}

static void remove_all(struct player *p)
{
	for (unsigned i = 0; i < RN_REC_DEVS; i++)
		if (p->dev[i])
			free_dev(p->dev[i]);
	forget_objects(p);
}

/* ---------------------------------------------- the replay, record by record */

static bool take_time(struct player *p)
{
	struct rn_replay_result *r = p->r;
	rn_ns now = p->rec.now;

	if (now < 0 || now > TIME_MAX)
		return broken(p, "a time is out of range");
	if (now == 0)
		return true;
	if (p->d && now < p->d->now)
		return broken(p, "time goes backwards");
	if (p->d)
		p->d->now = now;
	if (r->first == 0)
		r->first = now;
	r->last = now;
	return true;
}

/* Makes the recorded call at offset @at again. */
static bool replay_call(struct player *p, uint64_t at, uint64_t len)
{
	uint8_t number = p->rec.dev;
	bool is_lone = rn_rec_info[p->rec.kind].class == RN_REC_LONE;

	if ((number == RN_REC_NO_DEV) != is_lone)
		return broken(p, "a call is out of place");
	if (p->rec.kind == RN_CALL_DEV_INIT && !add_dev(p))
		return false;
	p->d = is_lone ? NULL : p->dev[number];
	if (!p->d && !is_lone)
		return broken(p, "there is no such device");
	p->cursor[number] = at;
	if (!take_time(p) || !make_call(p))
		return false;
	if (p->cursor[number] == at) /* the hook has made no record of this call */
		differ(p, number, len, NULL);
	if (p->d && !p->d->shown)
		free_dev(p->d);
	return true;
}

/* Processes one record. Returns false if the replay is over. */
static bool step(struct player *p, uint64_t *at)
{
	const struct rn_replay_cfg *cfg = p->cfg;
	ssize_t n = rn_rec_get(p->data + *at, p->len - *at, &p->rec, &p->rec_room);
	uint64_t begin = *at;
	enum rn_rec_class class;
	bool is_call;

	if (n == 0)
		return false;
	if (n < 0)
		return broken(p, "there is no record where one should begin");
	*at += (uint64_t)n;
	class = rn_rec_info[p->rec.kind].class;
	is_call = class == RN_REC_CALL || class == RN_REC_LONE;
	if (is_call && cfg->until && p->r->calls >= cfg->until)
		return false;
	if (is_call) {
		p->r->at = begin;
		if (++p->r->calls % PROGRESS_EVERY == 0 && cfg->progress)
			cfg->progress(cfg->arg, begin, p->len);
	}
	if (cfg->trace)
		cfg->trace(cfg->arg, p->r->calls, &p->rec);
	if (is_call)
		return replay_call(p, begin, (uint64_t)n) && !p->stop;
	if (p->rec.kind == RN_REC_LIMIT)
		p->r->limited = true;
	/* the record is part of no call that was made */
	else if (begin >= p->cursor[p->rec.dev])
		return broken(p, "part of a call stands alone");
	return true;
}

static uint64_t read_header(struct player *p)
{
	struct rn_rec_header h;
	ssize_t n = rn_rec_get_header(p->data, p->len, &h);
	char why[160];

	if (n == -ENOTSUP) {
		snprintf(why, sizeof(why),
			 "it has version %u of the format, written by rocin %.*s; this "
			 "rocin (%s) reads version %d",
			 h.version, (int)(h.rocin_len < 32 ? h.rocin_len : 32),
			 (const char *)h.rocin, ROCIN_VERSION, RN_REC_VERSION);
		broken(p, why);
	} else if (n < 0) {
		broken(p, "it is not a recorded run");
	}
	return n < 0 ? 0 : (uint64_t)n;
}

void rn_replay(const uint8_t *data, size_t len, const struct rn_replay_cfg *cfg,
	       struct rn_replay_result *result)
{
	struct player *p = calloc(1, sizeof(*p));
	struct rn_hook_sink *before;
	uint64_t at;

	*result = (struct rn_replay_result){ .end = RN_REPLAY_SAME };
	if (!p) {
		result->end = RN_REPLAY_NO_MEMORY;
		snprintf(result->why, sizeof(result->why), "no memory");
		return;
	}
	p->sink = (struct rn_hook_sink){ .open = open_device,
					 .close = close_device,
					 .put = compare_next,
					 .answer = answer_as_recorded,
					 .id = id_of };
	p->data = data;
	p->len = len;
	p->cfg = cfg;
	p->r = result;
	before = rn_hook_set(&p->sink);
	at = read_header(p);
	while (!p->stop && step(p, &at))
		continue;
	rn_hook_set(before);
	remove_all(p);
	free(p);
}
