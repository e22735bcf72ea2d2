/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check.c - checks completions, events and atomics against the requests that were posted.
 * It also acts as the program that polls, arms and resizes the completion queues.
 */
#include <string.h>

#include "rocin/cqe.h"
#include "rocin/opcode.h"
#include "rocin/srq.h"
#include "world_internal.h"

enum {
	/* Distance in bytes between the addresses of two CQ rings of a device. */
	APART = 1 << 16,
	SMALLEST = 16,
};

static enum rn_wc_status status_of(const struct rn_cqe *cqe)
{
	return (enum rn_wc_status)(cqe->ctl & 0xff);
}

static enum rn_wc_opcode opcode_of(const struct rn_cqe *cqe)
{
	return (enum rn_wc_opcode)(cqe->ctl >> 8 & 0xff);
}

static struct rn_w_device *device_of(struct rn_world *w, const struct rn_w_end *e)
{
	return &w->device[e->dev];
}

/* ------------------------------------------------ completions of send requests */
static void check_atomic_result(struct rn_world *w, struct rn_w_end *e,
				const struct rn_w_wr *wr)
{
	const struct rn_w_wr *done = &e->atomic[wr->index % RN_ARRAY_SIZE(e->atomic)];

	if (wr->index >= e->atomics_done)
		rn_w_fail(w, "atomic %llu of QP %x completes before it is carried out",
			  (unsigned long long)wr->id, e->qpn);
	else if (rn_w_slot_word(device_of(w, e), wr->slot) != done->fetched)
		rn_w_fail(w, "atomic %llu of QP %x does not report what it found",
			  (unsigned long long)wr->id, e->qpn);
}

static void check_written(struct rn_world *w, const struct rn_w_end *e,
			  const struct rn_w_wr *wr)
{
	if (wr->len && !rn_w_slot_holds(device_of(w, e->peer), wr->remote_slot, wr->len,
					wr->pattern))
		rn_w_fail(w,
			  "WRITE %llu of QP %x completes, and its bytes are not at the "
			  "target",
			  (unsigned long long)wr->id, e->qpn);
}

static void check_read(struct rn_world *w, const struct rn_w_end *e,
		       const struct rn_w_wr *wr)
{
	if (wr->len && !rn_w_slot_holds(device_of(w, e), wr->slot, wr->len, wr->pattern))
		rn_w_fail(w, "READ %llu of QP %x completes without its bytes",
			  (unsigned long long)wr->id, e->qpn);
}

/* Checks that a request that has completed with success has done to memory what it
 * should.
 */
static void check_effect(struct rn_world *w, struct rn_w_end *e, const struct rn_w_wr *wr)
{
	const struct rn_wr_info *info = &rn_wr_info[wr->opcode];

	if (info->answer == RN_ANSWER_NONE)
		rn_w_key_changed(w, e, wr);
	else if (info->answer == RN_ANSWER_ATOMIC)
		check_atomic_result(w, e, wr);
	else if (info->answer == RN_ANSWER_DATA)
		check_read(w, e, wr);
	else if (rn_wr_writes(wr->opcode))
		check_written(w, e, wr);
	if (info->takes_recv && wr->index >= e->peer->messages_got)
		rn_w_fail(w, "%llu of QP %x completes before its receive",
			  (unsigned long long)wr->id, e->qpn);
}

static void check_success(struct rn_world *w, struct rn_w_end *e,
			  const struct rn_w_wr *wr)
{
	w->result->done[wr->opcode]++;
	if (wr->bad)
		rn_w_fail(w, "%llu of QP %x succeeds with a wrong key",
			  (unsigned long long)wr->id, e->qpn);
	rn_w_slot_close(device_of(w, e), wr->slot);
	/* On UC a send completion does not mean that the data has arrived, so the slot at
	 * the target stays open for it.
	 */
	if (!rn_w_is_reliable(e))
		return;
	if (!rn_w_cq_is_lost(e->peer))
		check_effect(w, e, wr);
	if (wr->opcode == RN_WR_BIND_MW || wr->opcode == RN_WR_LOCAL_INV)
		return;
	rn_w_key_done(w, e, wr);
	if (!wr->key)
		rn_w_slot_close(device_of(w, e->peer), wr->remote_slot);
}

/* Returns true if the events so far allow @wr to complete with @status. */
static bool is_allowed(struct rn_world *w, const struct rn_w_end *e,
		       const struct rn_w_wr *wr, enum rn_wc_status status)
{
	const struct rn_plan_pair *p = e->pair->plan;
	bool peer_gone = !e->peer->qp || !e->peer->alive ||
			 w->net->host[e->peer->dev].stalled_until > wr->posted ||
			 w->net->host[e->dev].stalled_until > wr->posted;

	switch ((int)status) {
	case RN_WC_WR_FLUSH_ERR:
		return e->may_flush;
	case RN_WC_RETRY_EXC_ERR:
		/* A READ that is sent again after its key became invalid gets no answer,
		 * not even a NAK, so its retries may be used up.
		 */
		return rn_w_is_reliable(e) && rn_w_account_is_spent(e) &&
		       (peer_gone || rn_w_key_is_gone(e, wr) ||
			e->pair->troubles - wr->troubles > p->retry);
	case RN_WC_REM_ACCESS_ERR:
		return wr->bad || rn_w_key_is_gone(e, wr);
	case RN_WC_LOC_PROT_ERR:
		return rn_w_key_is_gone_here(e, wr);
	case RN_WC_MW_BIND_ERR:
		return wr->bad && wr->opcode == RN_WR_BIND_MW;
	case RN_WC_LOC_QP_OP_ERR:
		return wr->bad && wr->opcode == RN_WR_LOCAL_INV;
	case RN_WC_RNR_RETRY_EXC_ERR:
		return p->rnr_retry < 7 && e->rnrs - wr->rnrs > p->rnr_retry;
	default:
		return false;
	}
}

static void check_send(struct rn_world *w, struct rn_w_end *e, const struct rn_cqe *cqe)
{
	struct rn_w_queue *q = &e->sq;
	enum rn_wc_status status = status_of(cqe);
	struct rn_w_wr *wr;

	while (q->head != q->tail && q->wr[q->head % RN_W_WRS].id != cqe->wr_id) {
		wr = &q->wr[q->head++ % RN_W_WRS];
		if (wr->signaled) {
			rn_w_fail(w, "QP %x completes %llu before %llu", e->qpn,
				  (unsigned long long)cqe->wr_id,
				  (unsigned long long)wr->id);
			return;
		}
		check_success(w, e, wr);
	}
	if (q->head == q->tail) {
		rn_w_fail(w, "QP %x completes %llu, which is not outstanding", e->qpn,
			  (unsigned long long)cqe->wr_id);
		return;
	}
	wr = &q->wr[q->head++ % RN_W_WRS];
	if (status == RN_WC_SUCCESS) {
		if (!wr->signaled)
			rn_w_fail(w,
				  "QP %x completes %llu, which asked for no completion",
				  e->qpn, (unsigned long long)wr->id);
		if (opcode_of(cqe) != rn_wr_info[wr->opcode].wc_opcode)
			rn_w_fail(w, "QP %x completes %llu as opcode %u", e->qpn,
				  (unsigned long long)wr->id, (unsigned)opcode_of(cqe));
		check_success(w, e, wr);
		return;
	}
	if (!is_allowed(w, e, wr, status))
		rn_w_fail(w,
			  "QP %x completes %llu with status %u, for which there was no "
			  "reason",
			  e->qpn, (unsigned long long)wr->id, (unsigned)status);
	e->may_flush = true;
	e->alive = false;
}

/* ----------------------------------------------------- completions of receives */
/* Checks a message that has arrived over UC: it must be one of those that the peer has
 * sent. On UC, messages may be lost, duplicated and reordered.
 */
static void check_any_message(struct rn_world *w, struct rn_w_end *e,
			      const struct rn_w_wr *recv, const struct rn_cqe *cqe)
{
	bool write = opcode_of(cqe) == RN_WC_RECV_RDMA_WITH_IMM;
	bool imm = cqe->ctl >> 16 & RN_WC_WITH_IMM;

	for (uint32_t i = 0; i < RN_W_MESSAGES && i < e->peer->messages_sent; i++) {
		const struct rn_w_wr *sent = &e->peer->expected[i];

		if (cqe->byte_len == sent->len && imm == (sent->opcode != RN_WR_SEND) &&
		    write == (sent->opcode == RN_WR_RDMA_WRITE_WITH_IMM) &&
		    (!imm || cqe->imm == sent->imm) &&
		    rn_w_slot_holds(device_of(w, e),
				    write ? sent->remote_slot : recv->slot, sent->len,
				    sent->pattern))
			return;
	}
	rn_w_fail(w, "QP %x receives a message that was not sent", e->qpn);
}

static void check_message(struct rn_world *w, struct rn_w_end *e,
			  const struct rn_w_wr *recv, const struct rn_cqe *cqe)
{
	struct rn_w_end *from = e->peer;
	const struct rn_w_wr *sent =
		&from->expected[e->messages_got % RN_ARRAY_SIZE(from->expected)];
	bool write = sent->opcode == RN_WR_RDMA_WRITE_WITH_IMM;
	bool imm = sent->opcode == RN_WR_SEND_WITH_IMM || write;
	unsigned long long id = sent->id;

	if (e->messages_got >= from->messages_sent) {
		rn_w_fail(w, "QP %x receives a message that was not sent", e->qpn);
		return;
	}
	e->messages_got++;
	if (opcode_of(cqe) != (write ? RN_WC_RECV_RDMA_WITH_IMM : RN_WC_RECV) ||
	    imm != !!(cqe->ctl >> 16 & RN_WC_WITH_IMM) || (imm && cqe->imm != sent->imm))
		rn_w_fail(w, "QP %x receives %llu as something else", e->qpn, id);
	if (sent->opcode == RN_WR_SEND_WITH_INV)
		rn_w_key_invalidated(w, e, sent, cqe);
	if (cqe->byte_len != sent->len)
		rn_w_fail(w, "QP %x receives %u bytes of %llu, which has %u", e->qpn,
			  cqe->byte_len, id, sent->len);
	if (!write && sent->len &&
	    !rn_w_slot_holds(device_of(w, e), recv->slot, sent->len, sent->pattern))
		rn_w_fail(w, "QP %x receives %llu, and the bytes are others", e->qpn, id);
	if (write && sent->len &&
	    !rn_w_slot_holds(device_of(w, e), sent->remote_slot, sent->len,
			     sent->pattern))
		rn_w_fail(w, "QP %x is told of WRITE %llu, and its bytes are not there",
			  e->qpn, id);
}

static void check_recv(struct rn_world *w, struct rn_w_end *e, const struct rn_cqe *cqe)
{
	struct rn_w_queue *q = &e->rq;
	enum rn_wc_status status = status_of(cqe);
	struct rn_w_wr *wr = &q->wr[q->head % RN_W_WRS];

	if (e->pair->plan->srq)
		wr = rn_w_srq_take(rn_w_srq_of(e), cqe->wr_id);
	else if (q->head == q->tail || wr->id != cqe->wr_id)
		wr = NULL;
	else
		q->head++;
	if (!wr) {
		rn_w_fail(w, "QP %x completes a receive that is not the oldest", e->qpn);
		return;
	}
	if (status == RN_WC_SUCCESS && rn_w_type(e) == RN_QPT_UD)
		rn_w_check_datagram(w, e, wr, cqe);
	else if (status == RN_WC_SUCCESS && !rn_w_is_reliable(e))
		check_any_message(w, e, wr, cqe);
	else if (status == RN_WC_SUCCESS)
		check_message(w, e, wr, cqe);
	else if (status == RN_WC_LOC_ACCESS_ERR && e->peer->bad_posted)
		/* The peer has sent a WRITE with immediate that has an invalid key. The
		 * receive completes with this error, and the QP goes to ERR.
		 */
		e->may_flush = true;
	else if (status != RN_WC_WR_FLUSH_ERR || !e->may_flush)
		rn_w_fail(w,
			  "QP %x completes a receive with status %u, for which there was "
			  "no reason",
			  e->qpn, (unsigned)status);
	if (status != RN_WC_SUCCESS)
		e->alive = false;
	rn_w_slot_close(device_of(w, e), wr->slot);
	if (e->pair->plan->srq && rn_w_srq_of(e)->limit &&
	    rn_w_srq_posted(rn_w_srq_of(e)) < rn_w_srq_of(e)->limit)
		rn_w_fail(w, "the SRQ of device %u runs empty and does not tell", e->dev);
	if (w->calm && e->pair->plan->srq)
		rn_w_srq_post(device_of(w, e), rn_w_srq_of(e), 1, &w->memory_random);
}

void rn_w_check_cqe(struct rn_w_device *d, const struct rn_cqe *cqe)
{
	struct rn_world *w = d->w;
	struct rn_w_end *e = rn_w_find(w, d->number, cqe->qpn);

	w->result->completions++;
	rn_w_hash(w, cqe->wr_id, cqe->ctl ^ (uint64_t)cqe->byte_len << 20);
	rn_w_say(w, "QP %x completes %s%llu, status %u", cqe->qpn,
		 cqe->wr_id >> 63 ? "receive " : "",
		 (unsigned long long)(cqe->wr_id & INT64_MAX), (unsigned)status_of(cqe));
	if (!e)
		rn_w_fail(w, "a completion of QP %x, which does not exist", cqe->qpn);
	else if (cqe->wr_id >> 63)
		check_recv(w, e, cqe);
	else
		check_send(w, e, cqe);
}

/* ------------------------------------------------------- completion queues */
/* The simulated programs poll, arm and resize CQs, and some CQs are too small for all
 * CQEs. The checks look at a CQE as soon as it is written; its entry becomes free when
 * the program polls. If a program does not poll for too long, its CQ loses CQEs; from
 * then on, the checks that depend on CQEs of this CQ are skipped.
 */
static void start_cq(struct rn_w_cq *q, struct rn_cqe *ring, rn_iova at,
		     uint32_t capacity)
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
	start_cq(&d->cq, d->ring, RN_W_RING, RN_W_CQES);
}

void rn_w_cq_start_own(struct rn_w_end *e)
{
	struct rn_world *w = e->pair->w;
	uint32_t number = (uint32_t)(e->pair - w->pair) * 2 + e->number;

	start_cq(&e->own_cq, e->own_ring, RN_W_RING + (rn_iova)APART * (1 + number),
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

/* Returns the CQ of device @d whose ring contains the address @at, or NULL. */
static struct rn_w_cq *queue_at(struct rn_w_device *d, rn_iova at)
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
	struct rn_w_cq *q = queue_at(d, dst);
	uint64_t offset = (dst - RN_W_RING) % APART;

	if (!q || offset >= q->cq.capacity * sizeof(*q->ring) ||
	    offset % sizeof(*q->ring) || len != sizeof(*q->ring))
		return false;
	memcpy((uint8_t *)q->ring + offset, src, len);
	return true;
}

static const struct rn_cqe *cqe_at(const struct rn_w_cq *q, uint32_t index)
{
	const struct rn_cqe *cqe = &q->ring[index % q->cq.capacity];

	return cqe->ctl >> 32 == index / q->cq.capacity + 1 ? cqe : NULL;
}

static void poll(struct rn_w_device *d, struct rn_w_cq *q)
{
	const struct rn_cqe *cqe;

	for (; (cqe = cqe_at(q, q->seen)); q->seen++) {
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

/* Handles a completion event or an overrun of a CQ. Called before the CQEs that the event
 * reports are checked.
 */
static void take_cq_event(struct rn_w_device *d, const struct rn_event *ev)
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
	while (cqe_at(q, atomic_load(&q->cq.consumer) + waiting) &&
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

/* Resizes a CQ, unless the new size has no room for all CQEs that were not polled. A
 * correct program does not ask for such a size.
 */
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

/* ------------------------------------------------------ events and atomics */
void rn_w_check_event(struct rn_w_device *d, const struct rn_event *ev)
{
	struct rn_w_end *e;

	if (ev->completion || ev->async == RN_EVENT_CQ_ERR) {
		take_cq_event(d, ev);
		return;
	}
	e = ev->qp ? rn_w_find(d->w, d->number, rn_qp_qpn(ev->qp)) : NULL;
	if (ev->async == RN_EVENT_COMM_EST)
		return;
	if (e && ev->async == RN_EVENT_QP_FATAL && e->pair->plan->own_cq) {
		e->fatal = true;
		return;
	}
	if (ev->async == RN_EVENT_SRQ_LIMIT_REACHED) {
		rn_w_srq_told(d, rn_srq_owner(ev->srq));
		return;
	}
	if (e && ev->async == RN_EVENT_SQ_DRAINED) {
		rn_w_drained(d->w, e);
		return;
	}
	if (e && ev->async == RN_EVENT_LAST_WQE_REACHED && e->pair->plan->srq)
		return;
	if (e && ev->async == RN_EVENT_QP_ACCESS_ERR && e->peer->bad_posted) {
		e->may_flush = true;
		e->alive = false;
		return;
	}
	rn_w_fail(d->w, "device %u raises event %u, for which there was no reason",
		  d->number, (unsigned)ev->async);
}

void rn_w_check_atomic(struct rn_w_device *d, uint32_t qpn,
		       const struct rn_mem_atomic_req *req, uint64_t found)
{
	struct rn_w_end *e = rn_w_find(d->w, d->number, qpn);
	struct rn_w_end *from = e ? e->peer : NULL;
	struct rn_w_wr *wr;

	if (!from || from->atomics_done == from->atomics_posted) {
		rn_w_fail(d->w, "QP %x carries out an atomic that nobody asked for", qpn);
		return;
	}
	wr = &from->atomic[from->atomics_done++ % RN_ARRAY_SIZE(from->atomic)];
	wr->fetched = found;
	if (req->operand != wr->operand ||
	    req->op != rn_op_atomic(rn_wr_flags(wr->opcode)))
		rn_w_fail(d->w,
			  "QP %x carries out another atomic than %llu, whose turn it is",
			  qpn, (unsigned long long)wr->id);
}

/* ---- Checks at the end of a run ---- */
void rn_w_check_done(struct rn_world *w, struct rn_w_end *e)
{
	const struct rn_w_queue *q = &e->sq;

	if (rn_w_cq_is_lost(e))
		return;
	for (uint32_t i = q->head; i != q->tail; i++)
		if (q->wr[i % RN_W_WRS].signaled) {
			rn_w_fail(w, "%llu of QP %x never completes",
				  (unsigned long long)q->wr[i % RN_W_WRS].id, e->qpn);
			return;
		}
	if (e->alive && e->sqd != RN_W_RUNS)
		rn_w_fail(w, "QP %x never drains", e->qpn);
	if (!rn_qp_sq_idle(e->qp))
		rn_w_fail(w, "QP %x is quiet with work to do", e->qpn);
}

void rn_w_check_flushed(struct rn_world *w, struct rn_w_end *e)
{
	const struct rn_w_queue *q = &e->sq;

	if (rn_w_cq_is_lost(e))
		return;
	for (uint32_t i = q->head; i != q->tail; i++)
		if (q->wr[i % RN_W_WRS].signaled)
			rn_w_fail(w, "%llu of QP %x is not flushed",
				  (unsigned long long)q->wr[i % RN_W_WRS].id, e->qpn);
	if (e->rq.head != e->rq.tail)
		rn_w_fail(w, "%u receives of QP %x are not flushed",
			  e->rq.tail - e->rq.head, e->qpn);
}
