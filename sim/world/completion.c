/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* completion.c - completion queues of a world: polled, too small, resized, armed.
 *
 * A completion is judged as soon as it is there; its place is given back when the program
 * polls. One that rests too long loses completions, and what depends on them is not known
 * any more.
 */
#include <string.h>

#include "world_internal.h"

enum {
	APART = 1 << 16, /* bytes between the rings of a device */
	SMALLEST = 16,
};

static void start(struct rn_w_cq *q, struct rn_cqe *ring, rn_iova at, uint32_t capacity)
{
	memset(ring, 0, capacity * sizeof(*ring));
	rn_cq_init(&q->cq, at, capacity, q);
	q->ring = ring;
	q->seen = 0;
	q->armed = q->fired = q->overrun = false;
	q->rests_until = 0;
}

void rn_w_cq_start(struct rn_w_device *d)
{
	start(&d->cq, d->ring, RN_W_RING, RN_W_CQES);
}

void rn_w_cq_start_own(struct rn_w_end *e)
{
	struct rn_world *w = e->pair->w;
	uint32_t number = (uint32_t)(e->pair - w->pair) * 2 + e->number;

	start(&e->own_cq, e->own_ring, RN_W_RING + (rn_iova)APART * (1 + number),
	      (uint32_t)SMALLEST << e->pair->plan->own_cq % 3);
	e->own_cq.of = e;
	e->fatal = false;
}

struct rn_w_cq *rn_w_cq_of(struct rn_w_end *e)
{
	return e->pair->plan->own_cq ? &e->own_cq : &e->pair->w->device[e->dev].cq;
}

bool rn_w_cq_is_lost(const struct rn_w_end *e)
{
	return e->pair->plan->own_cq && e->own_cq.overrun;
}

/* The queue of device @d whose ring @at lies in; NULL. */
static struct rn_w_cq *find(struct rn_w_device *d, rn_iova at)
{
	uint64_t number = (at - RN_W_RING) / APART;
	struct rn_w_end *e;

	if (number == 0)
		return &d->cq;
	if (--number >= (uint64_t)2 * d->w->plan.pairs)
		return NULL;
	e = &d->w->pair[number / 2].end[number % 2];
	return e->qp && e->dev == d->number && e->pair->plan->own_cq ? &e->own_cq : NULL;
}

bool rn_w_cq_write(struct rn_w_device *d, rn_iova dst, const void *src, uint32_t len)
{
	struct rn_w_cq *q = find(d, dst);
	uint64_t offset = (dst - RN_W_RING) % APART;

	if (!q || offset >= q->cq.capacity * sizeof(*q->ring) ||
	    offset % sizeof(*q->ring) || len != sizeof(*q->ring))
		return false;
	memcpy((uint8_t *)q->ring + offset, src, len);
	return true;
}

static const struct rn_cqe *look(const struct rn_w_cq *q, uint32_t index)
{
	const struct rn_cqe *cqe = &q->ring[index % q->cq.capacity];

	return cqe->ctl >> 32 == index / q->cq.capacity + 1 ? cqe : NULL;
}

static void poll(struct rn_w_device *d, struct rn_w_cq *q)
{
	const struct rn_cqe *cqe;

	for (; (cqe = look(q, q->seen)); q->seen++) {
		if (q->armed)
			rn_w_fail(d->w, "device %u has a completion and does not tell",
				  d->number);
		q->fired = false;
		rn_w_check_cqe(d, cqe);
	}
	if (q->fired)
		rn_w_fail(d->w, "device %u tells of a completion that is not there",
			  d->number);
	if (d->w->calm || q->rests_until <= d->w->net->now)
		atomic_store(&q->cq.consumer, q->seen);
}

void rn_w_cq_poll(struct rn_w_device *d)
{
	struct rn_world *w = d->w;

	poll(d, &d->cq);
	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

		if (!e->qp || e->dev != d->number || !e->pair->plan->own_cq)
			continue;
		if (e->fatal && !e->own_cq.overrun)
			rn_w_fail(w, "QP %x has failed, for which there was no reason",
				  e->qpn);
		if (e->own_cq.overrun && rn_qp_state(e->qp) != RN_QPS_ERR)
			rn_w_fail(w, "QP %x goes on without its completions", e->qpn);
		poll(d, &e->own_cq);
	}
}

/* Events come before what they tell of is looked at. */
void rn_w_cq_event(struct rn_w_device *d, const struct rn_event *ev)
{
	struct rn_w_cq *q = ev->cq->owner;
	uint32_t waiting = q->seen - atomic_load(&q->cq.consumer);

	if (ev->completion) {
		if (!q->armed)
			rn_w_fail(d->w,
				  "device %u tells of a completion and was not asked",
				  d->number);
		q->armed = false;
		q->fired = true;
		return;
	}
	while (look(q, atomic_load(&q->cq.consumer) + waiting) &&
	       waiting < q->cq.capacity)
		waiting++;
	if (!q->of || waiting < q->cq.capacity) {
		rn_w_fail(d->w, "device %u has lost a completion, with room for it",
			  d->number);
		return;
	}
	q->overrun = true;
	rn_w_say(d->w, "a completion queue of device %u is full", d->number);
	q->of->may_flush = true;
	q->of->alive = false;
}

/* As a program does that sees fewer than the new ring takes. */
static void resize(struct rn_w_cq *q, uint32_t capacity)
{
	uint32_t first = atomic_load(&q->cq.consumer);
	struct rn_cqe old[RN_W_OWN_CQES];

	if (q->cq.producer - first > capacity)
		return;
	memcpy(old, q->ring, sizeof(old));
	memset(q->ring, 0, sizeof(old));
	for (uint32_t i = first; i != q->cq.producer; i++) {
		struct rn_cqe *to = &q->ring[i % capacity];

		*to = old[i % q->cq.capacity];
		to->ctl = (uint64_t)(i / capacity + 1) << 32 | (uint32_t)to->ctl;
	}
	rn_cq_move(&q->cq, q->cq.ring, capacity);
}

void rn_w_cq_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r)
{
	struct rn_w_cq *q = rn_w_cq_of(e);
	uint32_t us = 1 + rn_random_below(r, rn_random_below(r, 2) ? 300 : 20000);
	uint32_t what = rn_random_below(r, 6);

	if (q->overrun)
		return;
	if (what < 2 || !e->pair->plan->own_cq) {
		rn_w_say(w, "device %u: asked to tell of the next completion", e->dev);
		rn_cq_arm(&q->cq, RN_CQ_ARM_NEXT);
		q->armed = true;
	} else if (what < 5 && w->plan.rough) {
		rn_w_say(w, "QP %x: nobody polls, %u us", e->qpn, us);
		q->rests_until = w->net->now + RN_USEC(us);
		rn_w_put(w, q->rests_until, RN_W_WAKE, e->dev);
	} else {
		resize(q, (uint32_t)SMALLEST << rn_random_below(r, 3));
		rn_w_say(w, "QP %x: %u completions fit", e->qpn, q->cq.capacity);
	}
}
