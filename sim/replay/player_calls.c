/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_calls.c - makes the recorded calls, on objects that the file identifies
 * by numbers.
 *
 * Each call is checked first, so that no file can make the player break the rules for
 * callers of the core.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "player_internal.h"
#include "rocin/queue_pair.h"
#include "rocin/transport.h"

enum {
	TABLE_MAX = 1 << 22, /* most buckets of a table */
	/* one more than the core accepts; it refuses any larger number alike */
	SGES = RN_SGE_MAX + 1,
};

#define PERIOD_MAX ((rn_ns)1 << 60)

/* A call that is being made. */
struct turn {
	struct rn_player *p;
	struct rn_player_dev *d; /* NULL: the record names no device */
	struct rn_dev *dev;
	const struct rn_rec *rec;
	struct rn_player_object *o; /* object that the call uses or creates; or NULL */
	struct rn_call call;	    /* the call, as far as its outcome needs it */
};

/* ----------------------------------------------------------------- objects */
static struct rn_player_object **chain_of(struct rn_player *p, uint64_t id)
{
	return &p->chain[(id * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

static_assert(RN_PLAYER_CHAINS == 1 << (64 - 52), "chain_of()");

struct rn_player_object *rn_player_find(struct rn_player *p, enum rn_player_kind kind,
					uint64_t id)
{
	struct rn_player_object *o = *chain_of(p, id);

	while (o && (o->id != id || o->kind != kind))
		o = o->next;
	return o;
}

/* Adds an object. False: there is one with its number already, or no memory. */
static bool add(struct turn *t, enum rn_player_kind kind)
{
	struct rn_player *p = t->p;
	struct rn_player_object **chain = chain_of(p, t->rec->id);
	struct rn_player_object *o;

	if (rn_player_find(p, kind, t->rec->id))
		return rn_player_broken(p, "there is such an object already");
	o = rn_player_alloc(p, sizeof(*o));
	if (!o)
		return false;
	*o = (struct rn_player_object){ .next = *chain,
					.id = t->rec->id,
					.kind = kind,
					.dev = t->d,
					.bytes = sizeof(*o) };
	*chain = o;
	if (t->d)
		t->d->objects++;
	if (kind == RN_PLAYER_CQ) {
		o->next_cq = p->cqs;
		p->cqs = o;
	}
	t->o = o;
	return true;
}

static void unlink_cq(struct rn_player *p, const struct rn_player_object *o)
{
	struct rn_player_object **at = &p->cqs;

	while (*at != o)
		at = &(*at)->next_cq;
	*at = o->next_cq;
}

static void remove_object(struct rn_player *p, struct rn_player_object *o)
{
	struct rn_player_object **at = chain_of(p, o->id);

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (o->kind == RN_PLAYER_CQ)
		unlink_cq(p, o);
	if (o->dev)
		o->dev->objects--;
	for (size_t i = 0; i < RN_ARRAY_SIZE(o->uses); i++)
		if (o->uses[i])
			o->uses[i]->users--;
	free(o->block);
	free(o->srq);
	rn_player_free(p, o, o->bytes);
}

static bool holds(const struct rn_player_object *o, const struct rn_player_dev *d,
		  rn_iova addr)
{
	return o->dev == d &&
	       addr - o->cq.ring < (uint64_t)o->cq.capacity * sizeof(struct rn_cqe);
}

struct rn_player_object *rn_player_cq_at(const struct rn_player_dev *d, rn_iova addr)
{
	struct rn_player_object **at = &d->p->cqs;
	struct rn_player_object *o;

	while (*at && !holds(*at, d, addr))
		at = &(*at)->next_cq;
	o = *at;
	if (!o)
		return NULL;
	/* Move it to the front: the next CQE is probably for the same CQ. */
	*at = o->next_cq;
	o->next_cq = d->p->cqs;
	d->p->cqs = o;
	return o;
}

/* Finds an object of the device of the call, or of any device if the record names none.
 * NULL: the file is broken.
 */
static struct rn_player_object *find_object(const struct turn *t,
					    enum rn_player_kind kind, uint64_t id)
{
	struct rn_player_object *o = rn_player_find(t->p, kind, id);

	if (o && (!t->d || o->dev == t->d))
		return o;
	rn_player_broken(t->p, "there is no such object");
	return NULL;
}

/* Finds a CQ that the device may use, and assigns it to the device. NULL: the file
 * is broken.
 */
static struct rn_player_object *find_usable_cq(const struct turn *t, uint64_t id)
{
	struct rn_player_object *o = rn_player_find(t->p, RN_PLAYER_CQ, id);

	if (!o || (o->dev && o->dev != t->d)) {
		rn_player_broken(t->p, "there is no such CQ");
		return NULL;
	}
	if (!o->dev)
		t->d->objects++;
	o->dev = t->d;
	return o;
}

/* Notes that @o uses @used (or NULL), which must not be destroyed before @o. */
static void use(struct rn_player_object *o, unsigned i, struct rn_player_object *used)
{
	o->uses[i] = used;
	if (used)
		used->users++;
}

/* ------------------------------------------------------------------ devices */
/* Adds the device of RN_CALL_DEV_INIT, before it is initialised. */
bool rn_player_add_dev(struct rn_player *p, const struct rn_rec *rec)
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

static void free_dev(struct rn_player_dev *d)
{
	struct rn_player *p;
	struct rn_player_pending *next;

	assert(d);
	p = d->p;
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

void rn_player_remove_all(struct rn_player *p)
{
	for (unsigned i = 0; i < RN_REC_DEVS; i++)
		if (p->dev[i])
			free_dev(p->dev[i]);
	for (unsigned i = 0; i < RN_PLAYER_CHAINS; i++) {
		struct rn_player_object *next;

		for (struct rn_player_object *o = p->chain[i]; o; o = next) {
			next = o->next;
			free(o->block);
			free(o->srq);
			free(o);
		}
	}
}

static bool init_dev(struct turn *t)
{
	const struct rn_rec_dev_init *in = &t->rec->u.dev_init;
	struct rn_dev_cfg cfg = in->cfg;

	rn_player_mem_init(t->d, in, &cfg);
	cfg.stats = t->d->stats;
	t->call.result = rn_dev_init(t->dev, &cfg);
	return true;
}

static bool set_gid(struct turn *t)
{
	const struct rn_call_gid *g = &t->rec->u.gid;

	if (g->index >= t->d->gid_count)
		return rn_player_broken(t->p, "the GID table has no such entry");
	rn_dev_set_gid(t->dev, g->index, &g->gid);
	return true;
}

static bool peer_holds(struct turn *t)
{
	const struct rn_call_peer_holds *h = &t->rec->u.peer_holds;

	if (h->slot > UINT8_MAX)
		return rn_player_broken(t->p, "no process has such a slot");
	rn_dev_peer_holds(t->dev, t->rec->now, &h->gid, (uint8_t)h->slot, h->taken);
	return true;
}

static bool grow(struct turn *t)
{
	const struct rn_call_grow *g = &t->rec->u.grow;
	void **bucket, **old;

	if (g->count == 0 || g->count > TABLE_MAX || g->count & (g->count - 1) ||
	    (unsigned)g->table >= RN_ARRAY_SIZE(t->d->bucket))
		return rn_player_broken(t->p, "no table grows like that");
	bucket = calloc(g->count, sizeof(*bucket));
	if (!bucket)
		return rn_player_no_memory(t->p);
	if (g->table == RN_CALL_TABLE_QP)
		old = rn_dev_grow_qp_table(t->dev, bucket, g->count);
	else if (g->table == RN_CALL_TABLE_MR)
		old = rn_dev_grow_mr_table(t->dev, bucket, g->count);
	else
		old = rn_dev_grow_srq_table(t->dev, bucket, g->count);
	free(old);
	t->d->bucket[g->table] = bucket;
	return true;
}

/* ----------------------------------------------------------------- packets */
static bool receive(struct turn *t)
{
	const struct rn_rec_receive *r = &t->rec->u.receive;
	struct rn_rx *pkts = t->d->rx;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct rn_rec_rx *rx = &r->rx[i];

		if (rn_gid_is_ipv4(&rx->flow.src) != rn_gid_is_ipv4(&rx->flow.dst))
			return rn_player_broken(t->p, "a packet has two families");
		pkts[i] = (struct rn_rx){ .flow = &rx->flow,
					  .data = rx->data,
					  .len = rx->len,
					  .gro_idx = rx->gro_idx,
					  .icrc = rx->icrc };
	}
	t->call.u.receive.pkts = pkts;
	t->call.u.receive.count = r->count;
	t->p->r->packets_in += r->count;
	rn_dev_receive(t->dev, t->rec->now, pkts, r->count);
	return true;
}

static bool transmit(struct turn *t)
{
	struct rn_player *p = t->p;
	bool is_frame = t->rec->kind == RN_CALL_TRANSMIT_FRAME;
	uint32_t cap = is_frame ? RN_FRAME_MAX : RN_PACKET_MAX;

	t->call.u.transmit.buf = p->packet;
	t->call.u.transmit.cap = cap;
	t->call.u.transmit.tx = &p->tx;
	t->call.u.transmit.flags = &p->flags;
	if (is_frame)
		t->call.result = rn_dev_transmit_frame(t->dev, t->rec->now, p->packet,
						       cap, &p->flags);
	else
		t->call.result = rn_dev_transmit(t->dev, t->rec->now, t->rec->u.what,
						 p->packet, cap, &p->tx);
	p->r->packets_out += t->call.result > 0;
	return true;
}

static bool receive_frame(struct turn *t)
{
	const struct rn_rx_frame *f = &t->rec->u.rx_frame;

	if (t->o->type != RN_QPT_RAW_PACKET || f->len == 0 || f->len > RN_FRAME_MAX)
		return rn_player_broken(t->p, "a QP gets no such frame");
	t->p->r->packets_in++;
	t->call.result = rn_qp_receive_frame(t->dev, t->o->qp, t->rec->now, f);
	return true;
}

static bool mem_done(struct turn *t)
{
	const struct rn_rec_mem_done *m = &t->rec->u.mem_done;

	if (!rn_player_mem_end(t->d, m))
		return false;
	rn_dev_mem_done(t->dev, t->rec->now, m->tag, m->result);
	return true;
}

/* ------------------------------------------------------- completion queues */
static bool ring_is_sane(const struct turn *t)
{
	uint32_t capacity = t->rec->u.cq.capacity;

	return (capacity >= 1 && capacity <= RN_CQE_MAX &&
		(capacity & (capacity - 1)) == 0) ||
	       rn_player_broken(t->p, "there is no ring of such a size");
}

static bool cq_init(struct turn *t)
{
	const struct rn_call_cq *c = &t->rec->u.cq;

	if (!ring_is_sane(t))
		return false;
	/* A CQ that was never used may have been freed without a record. */
	t->o = rn_player_find(t->p, RN_PLAYER_CQ, t->rec->id);
	if (t->o && t->o->dev)
		return rn_player_broken(t->p, "the CQ is in use");
	if (!t->o && !add(t, RN_PLAYER_CQ))
		return false;
	rn_cq_init(&t->o->cq, c->ring, c->capacity, t->o);
	return true;
}

static bool cq_move(struct turn *t)
{
	if (!ring_is_sane(t))
		return false;
	rn_cq_move(&t->o->cq, t->rec->u.cq.ring, t->rec->u.cq.capacity);
	return true;
}

static bool cq_arm(struct turn *t)
{
	if ((unsigned)t->rec->u.cq.arm > RN_CQ_ARM_NEXT)
		return rn_player_broken(t->p, "a CQ is not armed like that");
	rn_cq_arm(&t->o->cq, t->rec->u.cq.arm);
	return true;
}

static bool cq_moderate(struct turn *t)
{
	const struct rn_call_cq *c = &t->rec->u.cq;

	if (c->period < 0 || c->period > PERIOD_MAX)
		return rn_player_broken(t->p, "a time is out of range");
	rn_cq_moderate(t->dev, &t->o->cq, c->count, c->period);
	return true;
}

/* -------------------------------------------------------------- queue pairs */
/* Finds the CQs and the SRQ of a new QP. False: the file is broken. */
static bool find_queues(struct turn *t, struct rn_player_object *uses[3])
{
	const struct rn_rec_qp_init *in = &t->rec->u.qp_init;
	const struct rn_qp_init *init = &in->init;
	bool is_raw = init->type == RN_QPT_RAW_PACKET;
	bool is_xrc = init->type == RN_QPT_XRC_SEND || init->type == RN_QPT_XRC_RECV;
	/* Raw packet QPs may have only one of the two queues. */
	bool needs_send = is_raw ? init->max_send_wr > 0 : init->type != RN_QPT_XRC_RECV;
	bool needs_recv = is_raw ? init->max_recv_wr > 0 : !is_xrc;

	if ((needs_send && !in->send_cq) || (needs_recv && !in->recv_cq))
		return rn_player_broken(t->p, "a QP needs its CQs");
	if (in->send_cq && !(uses[0] = find_usable_cq(t, in->send_cq)))
		return false;
	if (in->recv_cq && !(uses[1] = find_usable_cq(t, in->recv_cq)))
		return false;
	if (in->srq && !(uses[2] = find_object(t, RN_PLAYER_SRQ, in->srq)))
		return false;
	return !(uses[2] && uses[2]->is_xrc) ||
	       rn_player_broken(t->p, "a QP is not made with an SRQ of an XRC domain");
}

static bool qp_create(struct turn *t)
{
	struct rn_player_object *uses[3] = { 0 };
	struct rn_qp_init init = t->rec->u.qp_init.init;
	size_t size;

	if (!find_queues(t, uses))
		return false;
	init.send_cq = uses[0] ? &uses[0]->cq : NULL;
	init.recv_cq = uses[1] ? &uses[1]->cq : NULL;
	init.srq = uses[2] ? uses[2]->srq : NULL;
	size = rn_qp_size(t->dev, &init);
	if (size == 0 || rn_dev_has_qpn(t->dev, init.qpn))
		return rn_player_broken(t->p, "there cannot be such a QP");
	if (!add(t, RN_PLAYER_QP) || !(t->o->block = rn_player_alloc(t->p, size)))
		return false;
	t->o->bytes += size;
	for (unsigned i = 0; i < 3; i++)
		use(t->o, i, uses[i]);
	t->o->type = init.type;
	t->o->qpn = init.qpn;
	init.owner = t->o;
	t->o->qp = rn_qp_create(t->dev, t->o->block, &init);
	return true;
}

static bool qp_modify(struct turn *t)
{
	const struct rn_rec_modify *m = &t->rec->u.modify;

	if ((unsigned)m->attr.state >= RN_QPS_COUNT)
		return rn_player_broken(t->p, "there is no such state");
	t->call.result = rn_qp_modify(t->dev, t->o->qp, t->rec->now, &m->attr, m->mask);
	return true;
}

static bool qp_pace(struct turn *t)
{
	const struct rn_call_pace *pace = &t->rec->u.pace;

	if (t->rec->now < t->o->dev->now)
		return rn_player_broken(t->p, "time goes backwards");
	t->o->dev->now = t->rec->now;
	rn_qp_pace(t->o->qp, t->rec->now, pace->kbps, pace->burst);
	return true;
}

/* ------------------------------------------------------------ work requests */
/* Makes the scatter list of a work request. False: the file is broken. */
static bool make_sg(const struct turn *t, struct rn_sge sg[SGES])
{
	const struct rn_rec_post *post = &t->rec->u.post;
	bool is_inline = post->wr.flags & RN_SEND_INLINE;
	uint64_t total = 0;

	if (post->wr.num_sge <= RN_SGE_MAX && post->count != post->wr.num_sge)
		return rn_player_broken(t->p, "a work request lacks parts of its list");
	for (uint32_t i = 0; i < SGES; i++) {
		sg[i] = i < post->count ? post->sg[i].sge : (struct rn_sge){ 0 };
		total += sg[i].len;
	}
	for (uint32_t i = 0; is_inline && i < post->count; i++) {
		if (total <= RN_INLINE_MAX && post->sg[i].len != sg[i].len)
			return rn_player_broken(t->p, "a work request lacks its data");
		sg[i].addr = (uintptr_t)post->sg[i].data;
	}
	return true;
}

static uint32_t num_sge(const struct rn_rec_post *post)
{
	return post->wr.num_sge < SGES ? post->wr.num_sge : SGES;
}

static bool post_send(struct turn *t)
{
	const struct rn_rec_post *post = &t->rec->u.post;
	struct rn_send_wr wr = post->wr;
	struct rn_sge sg[SGES];

	if (!make_sg(t, sg))
		return false;
	wr.sg = sg;
	wr.num_sge = num_sge(post);
	wr.av = post->has_av ? &post->av : NULL;
	t->call.result = rn_qp_post_send(t->dev, t->o->qp, t->rec->now, &wr);
	return true;
}

static bool post_recv(struct turn *t)
{
	const struct rn_rec_post *post = &t->rec->u.post;
	struct rn_sge sg[SGES];
	const struct rn_recv_wr wr = { .wr_id = post->wr.wr_id,
				       .sg = sg,
				       .num_sge = num_sge(post) };

	if (!make_sg(t, sg))
		return false;
	if (t->rec->kind == RN_CALL_SRQ_POST_RECV)
		t->call.result = rn_srq_post_recv(t->o->srq, &wr);
	else
		t->call.result = rn_qp_post_recv(t->dev, t->o->qp, t->rec->now, &wr);
	return true;
}

/* ---------------------------------------------------- shared receive queues */
static bool srq_create(struct turn *t)
{
	const struct rn_rec_srq *s = &t->rec->u.srq;
	struct rn_srq_init init = s->init;
	size_t ring = rn_srq_ring_size(init.max_wr, init.max_sge);
	struct rn_player_object *cq = NULL;

	if (init.srqn < 1 || init.srqn > RN_SRQN_MAX || !init.xrcd != !s->cq || !ring ||
	    rn_dev_has_srqn(t->dev, init.srqn))
		return rn_player_broken(t->p, "there cannot be such an SRQ");
	if (s->cq && !(cq = find_usable_cq(t, s->cq)))
		return false;
	if (!add(t, RN_PLAYER_SRQ) ||
	    !(t->o->srq = rn_player_alloc(t->p, rn_srq_size())) ||
	    !(t->o->block = rn_player_alloc(t->p, ring)))
		return false;
	t->o->bytes += rn_srq_size() + ring;
	use(t->o, 0, cq);
	t->o->is_xrc = init.xrcd;
	init.cq = cq ? &cq->cq : NULL;
	init.owner = t->o;
	rn_srq_create(t->dev, t->o->srq, t->o->block, &init);
	return true;
}

static bool srq_resize(struct turn *t)
{
	uint32_t max_wr = t->rec->u.srq.number;
	struct rn_srq_attr attr;
	void *ring, *old;
	size_t size;

	rn_srq_query(t->o->srq, &attr);
	size = rn_srq_ring_size(max_wr, attr.max_sge);
	if (size == 0)
		return rn_player_broken(t->p, "no SRQ is so long");
	ring = rn_player_alloc(t->p, size);
	if (!ring)
		return false;
	t->call.result = rn_srq_resize(t->o->srq, ring, max_wr, &old);
	if (t->call.result) {
		rn_player_free(t->p, ring, size);
		return true;
	}
	/* The size of the old ring is not subtracted: it is with that of the object. */
	free(old);
	t->o->block = ring;
	t->o->bytes += size;
	return true;
}

/* -------------------------------------------- regions, windows and multicast */
static bool add_mr(struct turn *t)
{
	const struct rn_mr *from = &t->rec->u.mr;

	if ((unsigned)from->kind > RN_MR_KIND_NULL ||
	    rn_dev_has_mr_index(t->dev, from->lkey >> RN_KEY_INDEX_SHIFT))
		return rn_player_broken(t->p, "there cannot be such a region");
	if (!add(t, RN_PLAYER_MR))
		return false;
	t->o->mr = *from; /* the file has the members that rn_mr_init() sets */
	t->o->mr.node.key = from->lkey >> RN_KEY_INDEX_SHIFT;
	rn_dev_add_mr(t->dev, &t->o->mr);
	return true;
}

static bool mcast_attach(struct turn *t)
{
	const struct rn_rec_mcast *m = &t->rec->u.mcast;
	struct rn_player_object *qp = find_object(t, RN_PLAYER_QP, m->qp);

	if (!qp)
		return false;
	if (qp->type != RN_QPT_UD || !rn_gid_is_multicast(&m->mgid) ||
	    rn_mcast_find(t->dev, qp->qp, &m->mgid))
		return rn_player_broken(t->p, "the QP cannot join that group");
	if (!add(t, RN_PLAYER_MCAST))
		return false;
	use(t->o, 0, qp);
	rn_mcast_attach(t->dev, &t->o->mcast, qp->qp, &m->mgid);
	return true;
}

/* ---------------------------------------------------------- making of a call */
/* Returns the object of the call, which must have one. */
static struct rn_player_object *object(const struct turn *t)
{
	assert(t->o);
	return t->o;
}

/* Makes a call that needs no check but that of its object. False: another kind of call.
 */
static bool make_plain(struct turn *t)
{
	switch ((int)t->rec->kind) {
	case RN_CALL_EXPIRE:
		rn_dev_expire(t->dev, t->rec->now);
		return true;
	case RN_CALL_DEV_ERROR:
		rn_dev_error(t->dev, t->rec->now);
		return true;
	case RN_CALL_TAKE_EVENT:
		t->call.u.event = &t->p->event;
		t->call.result = rn_dev_event(t->dev, &t->p->event);
		return true;
	case RN_CALL_QP_FAIL:
		rn_qp_fail(t->dev, object(t)->qp, t->rec->now);
		return true;
	case RN_CALL_QP_OVERRUN:
		rn_qp_overrun(t->dev, object(t)->qp, t->rec->now, t->rec->u.what);
		return true;
	case RN_CALL_SRQ_SET_LIMIT:
		t->call.result = rn_srq_set_limit(object(t)->srq, t->rec->u.srq.number);
		return true;
	default:
		return false;
	}
}

/* Makes a call that destroys something. False: the file is broken. */
static bool make_end(struct turn *t)
{
	if (t->o && t->o->users > 0)
		return rn_player_broken(t->p, "an object goes that others use");
	switch ((int)t->rec->kind) {
	case RN_CALL_DEV_FINI:
		if (t->d->objects > 0)
			return rn_player_broken(t->p, "the device still has objects");
		rn_dev_fini(t->dev);
		break;
	case RN_CALL_CQ_FINI:
		rn_cq_fini(t->dev, &object(t)->cq);
		break;
	case RN_CALL_QP_DESTROY:
		rn_player_mem_forget(t->d, object(t)->qpn);
		rn_qp_destroy(t->dev, object(t)->qp);
		break;
	case RN_CALL_REMOVE_MR:
		rn_dev_remove_mr(t->dev, &object(t)->mr);
		break;
	case RN_CALL_SRQ_DESTROY:
		rn_srq_destroy(object(t)->srq);
		break;
	default:
		rn_mcast_detach(t->dev, &object(t)->mcast);
	}
	return true;
}

#define NO_KIND RN_PLAYER_KINDS

/* clang-format off */
static const struct {
	bool (*make)(struct turn *t); /* NULL: made by make_plain() */
	enum rn_player_kind about; /* kind of the existing object that the call uses */
} calls[RN_CALL_KINDS] = {
	[RN_CALL_DEV_INIT]       = { init_dev,      NO_KIND },
	[RN_CALL_DEV_FINI]       = { make_end,      NO_KIND },
	[RN_CALL_SET_GID]        = { set_gid,       NO_KIND },
	[RN_CALL_RECEIVE]        = { receive,       NO_KIND },
	[RN_CALL_TRANSMIT]       = { transmit,      NO_KIND },
	[RN_CALL_EXPIRE]         = { NULL,          NO_KIND },
	[RN_CALL_PEER_HOLDS]     = { peer_holds,    NO_KIND },
	[RN_CALL_MEM_DONE]       = { mem_done,      NO_KIND },
	[RN_CALL_DEV_ERROR]      = { NULL,          NO_KIND },
	[RN_CALL_TAKE_EVENT]     = { NULL,          NO_KIND },
	[RN_CALL_GROW]           = { grow,          NO_KIND },
	[RN_CALL_CQ_INIT]        = { cq_init,       NO_KIND },
	[RN_CALL_CQ_MOVE]        = { cq_move,       RN_PLAYER_CQ },
	[RN_CALL_CQ_ARM]         = { cq_arm,        RN_PLAYER_CQ },
	[RN_CALL_CQ_MODERATE]    = { cq_moderate,   RN_PLAYER_CQ },
	[RN_CALL_CQ_FINI]        = { make_end,      RN_PLAYER_CQ },
	[RN_CALL_QP_CREATE]      = { qp_create,     NO_KIND },
	[RN_CALL_QP_MODIFY]      = { qp_modify,     RN_PLAYER_QP },
	[RN_CALL_QP_PACE]        = { qp_pace,       RN_PLAYER_QP },
	[RN_CALL_QP_DESTROY]     = { make_end,      RN_PLAYER_QP },
	[RN_CALL_QP_FAIL]        = { NULL,          RN_PLAYER_QP },
	[RN_CALL_QP_OVERRUN]     = { NULL,          RN_PLAYER_QP },
	[RN_CALL_POST_SEND]      = { post_send,     RN_PLAYER_QP },
	[RN_CALL_POST_RECV]      = { post_recv,     RN_PLAYER_QP },
	[RN_CALL_ADD_MR]         = { add_mr,        NO_KIND },
	[RN_CALL_REMOVE_MR]      = { make_end,      RN_PLAYER_MR },
	[RN_CALL_SRQ_CREATE]     = { srq_create,    NO_KIND },
	[RN_CALL_SRQ_POST_RECV]  = { post_recv,     RN_PLAYER_SRQ },
	[RN_CALL_SRQ_SET_LIMIT]  = { NULL,          RN_PLAYER_SRQ },
	[RN_CALL_SRQ_RESIZE]     = { srq_resize,    RN_PLAYER_SRQ },
	[RN_CALL_SRQ_DESTROY]    = { make_end,      RN_PLAYER_SRQ },
	[RN_CALL_MCAST_ATTACH]   = { mcast_attach,  NO_KIND },
	[RN_CALL_MCAST_DETACH]   = { make_end,      RN_PLAYER_MCAST },
	[RN_CALL_TRANSMIT_FRAME] = { transmit,      NO_KIND },
	[RN_CALL_RECEIVE_FRAME]  = { receive_frame, RN_PLAYER_QP },
};
/* clang-format on */

/* Returns the number of the object of an event. Owners in the core are objects of
 * the player.
 */
static uint64_t object_of(const struct rn_event *ev)
{
	const struct rn_player_object *o;

	assert(ev);
	if (ev->completion || ev->async == RN_EVENT_CQ_ERR)
		o = ev->cq->owner;
	else if (ev->async == RN_EVENT_SRQ_LIMIT_REACHED)
		o = rn_srq_owner(ev->srq);
	else
		o = rn_qp_owner(ev->qp);
	return o->id;
}

static void compare_outcome(struct turn *t)
{
	struct rn_rec is;

	if (!t->d) {
		is = *t->rec;
		is.result = (int32_t)t->call.result;
		rn_player_compare(t->p, t->rec, &is);
		return;
	}
	rn_rec_outcome(&t->call, &is);
	if (is.kind == RN_REC_EVENT && is.u.event.some)
		is.u.event.object = object_of(t->call.u.event);
	rn_player_outcome(t->d, &is);
}

bool rn_player_make_call(struct rn_player *p, struct rn_player_dev *d,
			 const struct rn_rec *rec)
{
	enum rn_player_kind about = calls[rec->kind].about;
	struct turn t = { .p = p, .d = d, .dev = d ? d->dev : NULL, .rec = rec };

	t.call.kind = (enum rn_call_kind)rec->kind;
	if (d && about == RN_PLAYER_CQ)
		t.o = find_usable_cq(&t, rec->id);
	else if (about != NO_KIND)
		t.o = find_object(&t, about, rec->id);
	if (about != NO_KIND && !t.o)
		return false;
	if (d)
		d->call = &t.call;
	if (calls[rec->kind].make ? !calls[rec->kind].make(&t) : !make_plain(&t))
		return false;
	if (d)
		d->call = NULL;
	compare_outcome(&t);
	if (calls[rec->kind].make == make_end && t.o)
		remove_object(p, t.o);
	else if (rec->kind == RN_CALL_DEV_FINI ||
		 (rec->kind == RN_CALL_DEV_INIT && t.call.result))
		free_dev(d);
	return true;
}
