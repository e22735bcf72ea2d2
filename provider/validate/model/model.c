/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.c - keeps what the program has made, and what it has posted and polled.
 *
 * Destroyed objects are kept for a while, so that using one can be told from using an
 * address that never was an object's. Posted requests are in the model before the call is
 * made, since another thread may see the completion before the call returns.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- queues */
enum {
	ROOM_MIN = 16,
	ROOM_MAX = 1 << 16, /* maximum number of requests of a queue that are kept */
};

static struct rn_val_wr *slot(struct rn_val_queue *q, uint32_t i)
{
	return &q->ring[(q->first + i) & (q->room - 1)];
}

static bool enlarge(struct rn_val_queue *q)
{
	uint32_t room = q->room ? 2 * q->room : ROOM_MIN;
	struct rn_val_wr *ring = room <= ROOM_MAX ? calloc(room, sizeof(*ring)) : NULL;

	if (!ring)
		return false;
	for (uint32_t i = 0; i < q->count; i++)
		ring[i] = *slot(q, i);
	free(q->ring);
	q->ring = ring;
	q->room = room;
	q->first = 0;
	return true;
}

/* Returns the entry for the next request, or NULL if the request is not kept. */
static struct rn_val_wr *push(struct rn_val_queue *q)
{
	if (q->count == q->room && !enlarge(q))
		return NULL;
	q->posted++;
	return slot(q, q->count++);
}

/* Adds @more, which may be negative, to the number of completions that the outstanding
 * requests may still add to a CQ.
 */
static void promise(struct rn_val_object *cq, int more)
{
	if (cq && cq->kind == RN_VAL_CQ)
		cq->cq.promised += (uint32_t)more;
}

/* Notes that a post begins, or has returned. Until it returns, its requests may still be
 * refused.
 */
static void set_unsure(const struct rn_val_object *o, const struct rn_val_event *e)
{
	struct rn_val_object *cq =
		e->kind == RN_VAL_POST_SEND ? o->qp.send_cq : o->qp.recv_cq;
	uint32_t promises = rn_val_promises(o, e, e->post.count);

	if (!rn_val_is(cq, RN_VAL_CQ))
		return;
	if (!e->is_done)
		cq->cq.unsure += promises;
	else
		cq->cq.unsure -= promises < cq->cq.unsure ? promises : cq->cq.unsure;
}

static void drop_first(struct rn_val *v, struct rn_val_queue *q, struct rn_val_object *cq)
{
	struct rn_val_wr *first = slot(q, 0);

	if (!q->is_idle)
		rn_val_end_use(v, first);
	promise(cq, -(int)first->is_signaled);
	q->fetching -= first->is_fetching;
	q->first = (q->first + 1) & (q->room - 1);
	q->count--;
	q->completed++;
}

static void drop_at(struct rn_val *v, struct rn_val_queue *q, uint32_t at,
		    struct rn_val_object *cq)
{
	if (at) {
		struct rn_val_wr dropped = *slot(q, at);

		/* The entries before entry @at move up by one place. */
		for (uint32_t i = at; i > 0; i--)
			*slot(q, i) = *slot(q, i - 1);
		*slot(q, 0) = dropped;
	}
	drop_first(v, q, cq);
}

static void empty_queue(struct rn_val *v, struct rn_val_queue *q,
			struct rn_val_object *cq)
{
	while (q->count)
		drop_first(v, q, cq);
}

/* Finds the oldest request with that wr_id. Several requests may have the same wr_id.
 * @is_telling: the completion is successful, so it can only be that of a signaled
 * request; in a send queue, the requests before that one have completed, too.
 */
static struct rn_val_wr *find_wr(struct rn_val_queue *q, uint64_t wr_id, bool is_telling,
				 uint32_t *at)
{
	for (uint32_t i = 0; q && i < q->count; i++) {
		if (slot(q, i)->wr_id != wr_id ||
		    (is_telling && !slot(q, i)->is_signaled))
			continue;
		*at = i;
		return slot(q, i);
	}
	return NULL;
}

/* Returns the queue that holds the receives of a QP or an SRQ. */
static struct rn_val_queue *receives_of(struct rn_val_object *o)
{
	if (rn_val_is(o, RN_VAL_SRQ))
		return &o->srq.recv;
	if (!rn_val_is(o, RN_VAL_QP))
		return NULL;
	return rn_val_is(o->qp.srq, RN_VAL_SRQ) ? &o->qp.srq->srq.recv : &o->qp.recv;
}

const struct rn_val_queue *rn_val_receives_of(const struct rn_val_object *qp)
{
	return rn_val_is(qp->qp.srq, RN_VAL_SRQ) ? &qp->qp.srq->srq.recv : &qp->qp.recv;
}

/* ------------------------------------------------------------------ history */
static void add_step(struct rn_val_qp *qp, struct rn_val_step step)
{
	struct rn_val_step *last = &qp->history[(qp->steps - 1) % RN_VAL_HISTORY];

	if (qp->steps && step.what != RN_VAL_STEP_STATE && last->what == step.what &&
	    last->a == step.a && last->b == step.b && last->rc == step.rc) {
		last->again++;
		return;
	}
	qp->history[qp->steps++ % RN_VAL_HISTORY] = step;
}

/* ------------------------------------------------------------------ objects */
/* Returns the number of bytes that a card would pin for an MR, in whole pages; 0: it
 * would pin none.
 */
static uint64_t pinned(const struct rn_val_object *o)
{
	const uint64_t page = 4096;

	if (o->kind != RN_VAL_MR || !o->mr.has_memory ||
	    o->mr.access & IBV_ACCESS_ON_DEMAND)
		return 0;
	return (o->mr.addr % page + o->mr.len + page - 1) / page * page;
}

static void link_living(struct rn_val *v, struct rn_val_object *o)
{
	struct rn_val_object **at = &v->bucket[rn_val_bucket_of((uintptr_t)o->handle)];

	o->next = *at;
	*at = o;
	o->older = v->living;
	if (v->living)
		v->living->newer = o;
	v->living = o;
	v->living_of[o->kind]++;
	v->registered += pinned(o);
	rn_val_add_number(v, o);
}

static void set_kind(struct rn_val *v, struct rn_val_object *o,
		     const struct rn_val_make *m)
{
	if (m->kind == RN_VAL_MR)
		o->mr = (struct rn_val_mr){ .addr = m->mr.addr,
					    .iova = m->mr.iova,
					    .len = m->mr.len,
					    .access = m->mr.access,
					    .lkey = m->mr.lkey,
					    .rkey = m->mr.rkey,
					    .has_memory = m->mr.has_memory };
	if (m->kind == RN_VAL_QP) {
		o->qp.type = m->qp.type;
		o->qp.asked = m->qp.asked;
		o->qp.cap = m->qp.cap;
		o->qp.sq_sig_all = m->qp.sq_sig_all;
		o->qp.state = m->qp.state;
		o->qp.send_cq = rn_val_living_at(v, m->qp.send_cq);
		o->qp.recv_cq = rn_val_living_at(v, m->qp.recv_cq);
		o->qp.srq = rn_val_living_at(v, m->qp.srq);
		add_step(&o->qp, (struct rn_val_step){ .what = RN_VAL_STEP_MADE });
	}
	if (m->kind == RN_VAL_CQ) {
		o->cq.asked = m->cq.asked;
		o->cq.size = m->cq.size;
		o->cq.channel = rn_val_living_at(v, m->cq.channel);
		o->cq.has_channel = m->cq.channel != NULL;
	}
	if (m->kind == RN_VAL_SRQ) {
		o->srq.max_wr = m->srq.max_wr;
		o->srq.max_sge = m->srq.max_sge;
		o->srq.limit = m->srq.limit;
		o->srq.recv.is_idle = true;
	}
	if (m->kind == RN_VAL_AH) {
		o->ah.attr = m->ah.attr;
		o->ah.path = m->ah.path;
	}
	if (m->kind == RN_VAL_MW) {
		o->mw.type = m->mw.type;
		o->mw.rkey = m->mw.rkey;
	}
}

static void free_object(struct rn_val_object *o)
{
	if (o->kind == RN_VAL_QP) {
		free(o->qp.send.ring);
		free(o->qp.recv.ring);
		free(o->qp.remote);
	}
	if (o->kind == RN_VAL_SRQ)
		free(o->srq.recv.ring);
	free(o);
}

static void forget(struct rn_val *v, struct rn_val_object *o)
{
	struct rn_val_object **at = &v->bucket[rn_val_bucket_of((uintptr_t)o->handle)];

	while (*at && *at != o)
		at = &(*at)->next;
	if (*at)
		*at = o->next;
	free_object(o);
}

/* Keeps a destroyed object, and frees the oldest one if there are more than RN_VAL_GONE.
 */
static void keep_gone(struct rn_val *v, struct rn_val_object *o)
{
	struct rn_val_object *oldest = v->oldest_gone;

	o->newer = NULL;
	o->older = v->newest_gone;
	if (v->newest_gone)
		v->newest_gone->newer = o;
	else
		v->oldest_gone = o;
	v->newest_gone = o;
	if (v->gone++ < RN_VAL_GONE)
		return;
	v->gone--;
	v->oldest_gone = oldest->newer;
	v->oldest_gone->older = NULL;
	forget(v, oldest);
}

static unsigned parent_at(const struct rn_val_object *o, const struct rn_val_tie *tie)
{
	return (unsigned)(tie - o->tie);
}

/* Removes the references of living objects to an object that is being destroyed. */
static void cut_references(struct rn_val_object *gone)
{
	while (gone->newest_user) {
		struct rn_val_object *o = gone->newest_user->user;

		rn_val_untie(o, parent_at(o, gone->newest_user));
		if (o->kind == RN_VAL_CQ && o->cq.channel == gone)
			o->cq.channel = NULL;
		if (o->kind != RN_VAL_QP)
			continue;
		if (o->qp.send_cq == gone)
			o->qp.send_cq = NULL;
		if (o->qp.recv_cq == gone)
			o->qp.recv_cq = NULL;
		if (o->qp.srq == gone)
			o->qp.srq = NULL;
	}
}

static void end_object(struct rn_val *v, struct rn_val_object *o, uint32_t stack)
{
	if (o->kind == RN_VAL_QP) {
		empty_queue(v, &o->qp.send, o->qp.send_cq);
		empty_queue(v, &o->qp.recv, o->qp.recv_cq);
		rn_val_end_qp(v, o);
	}
	if (o->kind == RN_VAL_SRQ) {
		rn_val_set_idle(v, &o->srq.recv, true, o->handle);
		rn_val_end_srq(o);
	}
	o->is_gone = true;
	o->is_closing = false;
	o->gone_at = stack;
	if (o->newer)
		o->newer->older = o->older;
	else
		v->living = o->older;
	if (o->older)
		o->older->newer = o->newer;
	v->living_of[o->kind]--;
	v->registered -= pinned(o);
	rn_val_remove_number(v, o);
	for (unsigned i = 0; i < RN_VAL_PARENTS; i++)
		rn_val_untie(o, i);
	cut_references(o);
	if (o->kind == RN_VAL_QP)
		o->qp.send_cq = o->qp.recv_cq = o->qp.srq = NULL;
	if (o->kind == RN_VAL_CQ)
		o->cq.channel = NULL;
	keep_gone(v, o);
}

static struct rn_val_object *make(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_make *m = &e->make;
	struct rn_val_object *old = rn_val_living_at(v, e->handle);
	struct rn_val_object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	/* The validation layer is not told when a channel is destroyed. If another object
	 * has the same address now, the channel was destroyed before.
	 */
	if (rn_val_is(old, RN_VAL_CHANNEL))
		end_object(v, old, 0);
	o->kind = m->kind;
	o->handle = e->handle;
	o->serial = ++v->serial;
	o->life = ++v->lives;
	o->number = m->number;
	o->made_at = e->stack;
	for (unsigned i = 0, n = 0; i < RN_VAL_PARENTS && m->parent[i]; i++) {
		struct rn_val_object *parent = rn_val_living_at(v, m->parent[i]);

		if (!parent)
			continue;
		rn_val_tie(o, n++, parent);
	}
	set_kind(v, o, m);
	link_living(v, o);
	if (o->kind == RN_VAL_QP)
		rn_val_begin_qp(v, o);
	if (o->kind == RN_VAL_SRQ)
		rn_val_begin_srq(o);
	return o;
}

void rn_val_model_free(struct rn_val *v)
{
	for (unsigned i = 0; i < RN_VAL_BUCKETS; i++) {
		struct rn_val_object *next;

		for (struct rn_val_object *o = v->bucket[i]; o; o = next) {
			next = o->next;
			free_object(o);
		}
	}
}

/* -------------------------------------------------------------------- posts */
/* Sets all members of @wr. Of the array @wr->sge it sets only as many elements as the
 * request has SGEs; the others are not used.
 */
static void fill_wr(struct rn_val_wr *wr, const struct rn_val_request *r, uint32_t stack)
{
	wr->wr_id = r->wr_id;
	wr->opcode = r->opcode;
	wr->flags = r->flags;
	wr->sge_count = r->sge_count;
	wr->remote_addr = r->remote_addr;
	wr->rkey = r->rkey;
	wr->len = rn_val_length_of(r);
	wr->ah = r->ah;
	wr->stack = stack;
	wr->is_signaled = wr->is_fetching = false;
	for (uint32_t i = 0; i < r->sge_count && i < RN_VAL_SGES; i++) {
		wr->sge[i] = r->sge[i];
		wr->mr_life[i] = 0;
	}
	wr->ah_life = 0;
}

static void begin_sends(struct rn_val *v, struct rn_val_object *o,
			const struct rn_val_event *e)
{
	set_unsure(o, e);
	for (uint32_t i = 0; i < e->post.count; i++) {
		struct rn_val_wr *wr = push(&o->qp.send);

		if (!wr)
			return;
		fill_wr(wr, &e->post.request[i], e->stack);
		if (!o->qp.send.is_idle)
			rn_val_begin_use(v, wr, o->handle);
		wr->is_fetching = rn_val_fetches(wr->opcode);
		o->qp.send.fetching += wr->is_fetching;
		wr->is_signaled = o->qp.sq_sig_all || wr->flags & IBV_SEND_SIGNALED;
		promise(o->qp.send_cq, wr->is_signaled);
	}
}

static void begin_receives(struct rn_val *v, struct rn_val_object *o,
			   const struct rn_val_event *e)
{
	struct rn_val_queue *q = o->kind == RN_VAL_SRQ ? &o->srq.recv : &o->qp.recv;

	if (o->kind == RN_VAL_QP)
		set_unsure(o, e);
	for (uint32_t i = 0; i < e->post.count; i++) {
		struct rn_val_wr *wr = push(q);

		if (!wr)
			return;
		fill_wr(wr, &e->post.request[i], e->stack);
		if (!q->is_idle)
			rn_val_begin_use(v, wr, o->handle);
		wr->is_signaled = o->kind == RN_VAL_QP;
		if (o->kind == RN_VAL_QP)
			promise(o->qp.recv_cq, 1);
	}
}

/* Removes from the model the requests of a post that the device has refused. Their wr_ids
 * may occur several times in the queue; the newest requests with these wr_ids are
 * removed.
 */
static void take_back(struct rn_val *v, struct rn_val_queue *q,
		      const struct rn_val_event *e, struct rn_val_object *cq)
{
	for (uint32_t i = e->post.count; i-- > e->post.accepted;) {
		uint32_t at = q->count;

		while (at && slot(q, at - 1)->wr_id != e->post.request[i].wr_id)
			at--;
		if (!at)
			continue;
		promise(cq, -(int)slot(q, at - 1)->is_signaled);
		q->fetching -= slot(q, at - 1)->is_fetching;
		if (!q->is_idle)
			rn_val_end_use(v, slot(q, at - 1));
		for (; at < q->count; at++)
			*slot(q, at - 1) = *slot(q, at);
		q->count--;
		q->posted--;
	}
}

/* Notes that the rkey of a memory window was invalidated. Does nothing if @rkey is not
 * the present rkey of a window.
 */
static void invalidate(const struct rn_val *v, const struct rn_val_object *qp,
		       uint32_t rkey)
{
	struct rn_val_object *mw = rn_val_window_of(v, qp, rkey);

	if (mw && mw->mw.rkey == rkey)
		mw->mw.is_bound = false;
}

static void bind(const struct rn_val *v, const struct rn_val_object *qp,
		 const struct rn_val_bind *b)
{
	const uint32_t tag = 0xff;
	struct rn_val_object *mw = rn_val_bound_window(v, qp, b);

	if (!mw || mw->is_gone)
		return;
	mw->mw.rkey = (mw->mw.rkey & ~tag) | (b->rkey & tag);
	mw->mw.addr = b->access & IBV_ACCESS_ZERO_BASED ? 0 : b->addr;
	mw->mw.len = b->len;
	mw->mw.access = b->access;
	mw->mw.is_bound = b->len != 0;
}

static void end_binds(const struct rn_val *v, const struct rn_val_object *qp,
		      const struct rn_val_event *e)
{
	for (uint32_t i = 0; i < e->post.accepted && i < e->post.count; i++) {
		const struct rn_val_request *r = &e->post.request[i];

		if (r->opcode == IBV_WR_BIND_MW)
			bind(v, qp, &r->bind);
		else if (r->opcode == IBV_WR_LOCAL_INV)
			invalidate(v, qp, r->rkey);
	}
}

static void end_post(struct rn_val *v, struct rn_val_object *o,
		     const struct rn_val_event *e)
{
	bool is_send = e->kind == RN_VAL_POST_SEND;

	if (o->kind == RN_VAL_SRQ) {
		take_back(v, &o->srq.recv, e, NULL);
		return;
	}
	set_unsure(o, e);
	if (is_send)
		end_binds(v, o, e);
	take_back(v, is_send ? &o->qp.send : &o->qp.recv, e,
		  is_send ? o->qp.send_cq : o->qp.recv_cq);
	if (e->post.count)
		add_step(&o->qp,
			 (struct rn_val_step){
				 .what = is_send ? RN_VAL_STEP_SEND : RN_VAL_STEP_RECV,
				 .a = (int)e->post.count,
				 .b = is_send ? (int)e->post.request->opcode : 0,
				 .wr_id = e->post.request->wr_id,
				 .rc = e->rc });
	v->tally.requests += e->post.accepted;
}

/* -------------------------------------------------------------- completions */
static struct rn_val_queue *queue_of(struct rn_val_object *qp, bool is_recv)
{
	return is_recv ? receives_of(qp) : &qp->qp.send;
}

/* Sets the state of a QP. In ERR its requests are flushed, so they use no memory any
 * more.
 */
static void set_state(struct rn_val *v, struct rn_val_object *o, enum ibv_qp_state state)
{
	rn_val_set_qp_state(v, o, state);
	rn_val_set_idle(v, &o->qp.send, state == IBV_QPS_ERR, o->handle);
	rn_val_set_idle(v, &o->qp.recv, state == IBV_QPS_ERR, o->handle);
}

static bool is_telling(const struct rn_val_completion *c)
{
	return !c->is_recv && c->wc->status == IBV_WC_SUCCESS;
}

/* May the completion be that of a receive from an SRQ of an XRC domain? It may if the QP
 * of the completion is not known, because it was destroyed.
 */
static bool may_be_of_xrc(const struct rn_val_event *e)
{
	const struct rn_val_completion *c = &e->completion;

	return c->is_recv && rn_val_is(e->object, RN_VAL_CQ) &&
	       (!c->qp || c->qp->qp.type == IBV_QPT_XRC_RECV);
}

static struct rn_val_wr *find_xrc_receive(const struct rn_val_object *cq, uint64_t wr_id)
{
	struct rn_val_wr *wr = NULL;
	uint32_t at;

	for (struct rn_val_object *o = cq->cq.xrc_srqs; o && !wr; o = o->srq.next_of_cq)
		wr = find_wr(&o->srq.recv, wr_id, false, &at);
	return wr;
}

/* Removes receives of XRC that have completed. The completion does not name the SRQ, so
 * the oldest receive with this wr_id is removed from each SRQ that may be the right one.
 */
static void drop_xrc_receives(struct rn_val *v, const struct rn_val_object *cq,
			      uint64_t wr_id)
{
	uint32_t at;

	for (struct rn_val_object *o = cq->cq.xrc_srqs; o; o = o->srq.next_of_cq)
		if (find_wr(&o->srq.recv, wr_id, false, &at))
			drop_at(v, &o->srq.recv, at, NULL);
}

static void match(struct rn_val *v, struct rn_val_event *e)
{
	struct rn_val_completion *c = &e->completion;

	/* The QP number is looked up on the device of the CQ, as another device may have
	 * a QP with the same number.
	 */
	c->qp = rn_val_context_of(e->object)
			? rn_val_qp_beside(v, e->object, c->wc->qp_num)
			: rn_val_qp_of_number(v, c->wc->qp_num);
	if (may_be_of_xrc(e)) {
		c->wr = find_xrc_receive(e->object, c->wc->wr_id);
		return;
	}
	if (!c->qp)
		return;
	c->queue = queue_of(c->qp, c->is_recv);
	c->wr = find_wr(c->queue, c->wc->wr_id, is_telling(c), &c->at);
	/* The opcode of a completion with an error is not valid, so the queue is found by
	 * looking for the request in both queues.
	 */
	if (c->wr || c->wc->status == IBV_WC_SUCCESS)
		return;
	c->queue = queue_of(c->qp, !c->is_recv);
	c->wr = find_wr(c->queue, c->wc->wr_id, false, &c->at);
	c->is_recv = c->wr ? !c->is_recv : c->is_recv;
}

static void complete(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_completion *c = &e->completion;
	struct rn_val_object *o = c->qp;

	if (may_be_of_xrc(e))
		drop_xrc_receives(v, e->object, c->wc->wr_id);
	if (!o)
		return;
	if (c->wc->status == IBV_WC_SUCCESS && c->wc->wc_flags & IBV_WC_WITH_INV)
		invalidate(v, o, c->wc->invalidated_rkey);
	if (c->wc->status != IBV_WC_SUCCESS) {
		add_step(&o->qp, (struct rn_val_step){ .what = RN_VAL_STEP_ERROR,
						       .a = (int)c->wc->status,
						       .wr_id = c->wc->wr_id });
		if (o->qp.state == IBV_QPS_RTS || o->qp.state == IBV_QPS_RTR)
			set_state(v, o, IBV_QPS_ERR);
		rn_val_share(v, o);
	}
	if (!c->wr || !c->queue)
		return;
	if (c->is_recv) {
		drop_at(v, c->queue, c->at, o->qp.srq ? NULL : o->qp.recv_cq);
		return;
	}
	/* The requests before this one have completed, too, but silently. */
	for (uint32_t i = 0; i <= c->at; i++)
		drop_first(v, c->queue, o->qp.send_cq);
}

/* --------------------------------------------------------------------- state */
/* clang-format off */
#define QP_ATTRS(X)                                                                     \
	X(IBV_QP_CUR_STATE, cur_qp_state)                                               \
	X(IBV_QP_ACCESS_FLAGS, qp_access_flags) X(IBV_QP_PKEY_INDEX, pkey_index)        \
	X(IBV_QP_PORT, port_num) X(IBV_QP_QKEY, qkey) X(IBV_QP_AV, ah_attr)             \
	X(IBV_QP_PATH_MTU, path_mtu) X(IBV_QP_TIMEOUT, timeout)                         \
	X(IBV_QP_RETRY_CNT, retry_cnt) X(IBV_QP_RNR_RETRY, rnr_retry)                   \
	X(IBV_QP_RQ_PSN, rq_psn) X(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic)              \
	X(IBV_QP_MIN_RNR_TIMER, min_rnr_timer) X(IBV_QP_SQ_PSN, sq_psn)                 \
	X(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic) X(IBV_QP_DEST_QPN, dest_qp_num)
/* clang-format on */

static void end_modify(struct rn_val *v, struct rn_val_object *o,
		       const struct rn_val_event *e)
{
	const struct ibv_qp_attr *a = e->modify.attr;
	struct rn_val_qp *qp = &o->qp;

	if (e->modify.mask & IBV_QP_STATE)
		add_step(qp, (struct rn_val_step){ .what = RN_VAL_STEP_STATE,
						   .a = (int)qp->state,
						   .b = (int)a->qp_state,
						   .rc = e->rc });
	if (e->rc)
		return;
#define X(bit, member)              \
	if (e->modify.mask & (bit)) \
		qp->attr.member = a->member;
	QP_ATTRS(X)
#undef X
	qp->mask |= e->modify.mask;
	if (e->modify.mask & (IBV_QP_AV | IBV_QP_DEST_QPN)) {
		free(qp->remote);
		qp->remote = NULL;
		qp->has_asked = false;
	}
	if (e->modify.mask & IBV_QP_AV)
		qp->is_to_self = e->modify.path.is_to_self;
	if (e->modify.mask & IBV_QP_STATE)
		set_state(v, o, a->qp_state);
	if (e->modify.mask & IBV_QP_STATE && qp->state == IBV_QPS_RESET) {
		empty_queue(v, &qp->send, qp->send_cq);
		empty_queue(v, &qp->recv, qp->recv_cq);
		qp->mask = 0;
	}
	rn_val_share(v, o);
}

/* ------------------------------------------------------------------- events */
static void end_reg(struct rn_val *v, struct rn_val_object *o,
		    const struct rn_val_event *e)
{
	if (e->rc)
		return;
	rn_val_remove_number(v, o);
	v->registered -= pinned(o);
	if (o->mr.lkey != e->rereg.lkey) {
		o->life = ++v->lives;
		o->outstanding = 0;
	}
	if (e->rereg.flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		o->mr.addr = o->mr.iova = e->rereg.addr;
		o->mr.len = e->rereg.len;
	}
	if (e->rereg.flags & IBV_REREG_MR_CHANGE_ACCESS)
		o->mr.access = e->rereg.access;
	o->mr.lkey = o->number = e->rereg.lkey;
	o->mr.rkey = e->rereg.rkey;
	v->registered += pinned(o);
	rn_val_add_number(v, o);
	if (e->rereg.flags & IBV_REREG_MR_CHANGE_PD && rn_val_living_at(v, e->rereg.pd)) {
		rn_val_untie(o, 0);
		rn_val_tie(o, 0, rn_val_living_at(v, e->rereg.pd));
	}
}

/* Has a completion come since the CQ was armed? If it was armed for solicited events
 * only, that is not known, and the result is false.
 */
static bool has_come(const struct rn_val_cq *cq, uint32_t waiting)
{
	return cq->is_armed && !cq->is_armed_solicited &&
	       cq->entries - cq->entries_when_armed + waiting > cq->waiting_when_armed;
}

static void end_notify(struct rn_val_object *o, const struct rn_val_event *e)
{
	o->cq.has_event = o->cq.has_event || has_come(&o->cq, e->notify.waiting);
	o->cq.entries_when_armed = o->cq.entries;
	o->cq.armed_by = e->thread;
	o->cq.notifies++;
	o->cq.is_armed = true;
	o->cq.is_armed_solicited = e->notify.solicited_only;
	o->cq.is_polled_since_armed = false;
	o->cq.waiting_when_armed = e->notify.waiting;
}

static void end_poll(struct rn_val_object *o, const struct rn_val_event *e)
{
	o->cq.polls++;
	o->cq.is_polled_since_armed = true;
	if (e->poll.got <= 0)
		o->cq.empty_polls++;
	else
		o->cq.entries += (uint64_t)e->poll.got;
}

void rn_val_model_before(struct rn_val *v, struct rn_val_event *e)
{
	if (e->kind == RN_VAL_MAKE) {
		e->object = e->rc ? NULL : make(v, e);
		return;
	}
	/* After a call the object is the one that was found before the call, as its
	 * address may have been reused by now.
	 */
	if (!e->is_done || !e->object)
		e->object = e->handle ? rn_val_lookup(v, e->handle) : NULL;
	if (e->kind == RN_VAL_COMPLETION)
		match(v, e);
}

/* Changes the model for a call that is about to be made. */
static void begin(struct rn_val *v, struct rn_val_object *o, const struct rn_val_event *e)
{
	if (e->kind == RN_VAL_DESTROY)
		o->is_closing = true;
	else if (e->kind == RN_VAL_POST_SEND && o->kind == RN_VAL_QP)
		begin_sends(v, o, e);
	else if (e->kind == RN_VAL_POST_RECV &&
		 (o->kind == RN_VAL_QP || o->kind == RN_VAL_SRQ))
		begin_receives(v, o, e);
}

static void end_of_cq(struct rn_val_object *o, const struct rn_val_event *e)
{
	if (e->kind == RN_VAL_POLL)
		end_poll(o, e);
	else if (e->kind == RN_VAL_NOTIFY && !e->rc)
		end_notify(o, e);
	else if (e->kind == RN_VAL_RESIZE_CQ && !e->rc)
		o->cq.size = (uint32_t)e->resize_cq.entries;
	else if (e->kind == RN_VAL_CQ_EVENT) {
		o->cq.events++;
		o->cq.is_armed = false;
		o->cq.has_event = false;
	}
}

/* Changes the model for a call that has returned. */
static void end(struct rn_val *v, struct rn_val_object *o, const struct rn_val_event *e)
{
	bool has_posted = e->kind == RN_VAL_POST_SEND || e->kind == RN_VAL_POST_RECV;

	if (e->kind == RN_VAL_DESTROY && !e->rc)
		end_object(v, o, e->stack);
	else if (e->kind == RN_VAL_DESTROY)
		o->is_closing = false;
	else if (o->kind == RN_VAL_CQ && e->kind != RN_VAL_ASYNC_EVENT)
		end_of_cq(o, e);
	else if (has_posted && (o->kind == RN_VAL_QP || o->kind == RN_VAL_SRQ))
		end_post(v, o, e);
	else if (e->kind == RN_VAL_MODIFY && o->kind == RN_VAL_QP)
		end_modify(v, o, e);
	else if (e->kind == RN_VAL_ASYNC_EVENT)
		o->async_events++;
	else if (e->kind == RN_VAL_REREG && o->kind == RN_VAL_MR)
		end_reg(v, o, e);
	else if (e->kind == RN_VAL_MODIFY_SRQ && o->kind == RN_VAL_SRQ && !e->rc &&
		 e->modify_srq.mask & IBV_SRQ_LIMIT)
		o->srq.limit = e->modify_srq.attr->srq_limit;
}

void rn_val_model_after(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->kind == RN_VAL_COMPLETION)
		complete(v, e);
	if (!e->object || e->object->is_gone)
		return;
	if (e->is_done)
		end(v, e->object, e);
	else
		begin(v, e->object, e);
}
