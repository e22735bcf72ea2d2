/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* objects.c - what programs do to their objects besides posting: create, connect, reset,
 * drain, pace and destroy QPs; post to, limit and resize SRQs.
 */
#include <string.h>

#include "rocin/srq.h"
#include "world_internal.h"

enum {
	PD = 1,
	XRCD = 1,
	RIGHTS = RN_ACCESS_REMOTE_MASK,
	/* Receives of an SRQ have room for messages of up to this number of bytes. */
	SRQ_MESSAGE = 6 * 1024,
};

static struct rn_qp_attr attributes(const struct rn_w_end *e, const uint32_t psn[2])
{
	const struct rn_plan_pair *p = e->pair->plan;

	return (struct rn_qp_attr){
		.path_mtu = p->mtu,
		.rq_psn = psn[!e->number],
		.sq_psn = psn[e->number],
		.qkey = rn_w_qkey(e),
		.dest_qpn = e->peer->qpn,
		.access = RIGHTS,
		.port_num = 1,
		.max_rd_atomic = p->depth,
		.max_dest_rd_atomic = p->depth,
		.min_rnr_timer = p->rnr_timer,
		.timeout = p->timeout,
		.retry_cnt = p->retry,
		.rnr_retry = p->rnr_retry,
	};
}

static bool bring_up(struct rn_world *w, struct rn_w_end *e, const uint32_t psn[2])
{
	static const enum rn_qp_state step[] = { RN_QPS_INIT, RN_QPS_RTR, RN_QPS_RTS };
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_qp_attr attr = attributes(e, psn);

	attr.av = (struct rn_av){ .dgid = w->net->host[e->peer->dev].gid,
				  .hop_limit = 64,
				  .tclass = e->pair->plan->tclass };
	for (unsigned i = 0; i < RN_ARRAY_SIZE(step); i++) {
		attr.state = step[i];
		if (rn_qp_modify(d->dev, e->qp, rn_w_local(d), &attr,
				 rn_qp_required(rn_w_type(e), step[i]))) {
			rn_w_fail(w, "QP %x cannot be brought to %s", e->qpn,
				  rn_qp_state_name(step[i]));
			return false;
		}
	}
	return true;
}

/* Adapts @init to the type of the QP: leaves out the queues that such a QP does not have,
 * and sets the SRQ or the XRC domain.
 */
static void leave_out(struct rn_qp_init *init, const struct rn_w_end *e)
{
	if (e->pair->plan->srq)
		init->max_recv_wr = init->max_recv_sge = 0;
	if (init->type == RN_QPT_XRC_SEND) {
		init->recv_cq = NULL;
	} else if (init->type == RN_QPT_XRC_RECV) {
		init->send_cq = init->recv_cq = NULL;
		init->max_send_wr = init->max_send_sge = init->max_inline = 0;
		init->xrcd = XRCD;
	} else {
		const struct rn_w_srq *srq = rn_w_srq_of(e);

		init->srq = srq ? srq->srq : NULL;
	}
}

static void create(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_qp_init init = {
		.type = rn_w_type(e),
		/* All QPs belong to one process, so they have the same slot (low byte of
		 * the QPN) and share its send window.
		 */
		.qpn = 0x110 + (w->qpns++ << 8),
		.pd = PD,
		.send_cq = &rn_w_cq_of(e)->cq,
		.recv_cq = &rn_w_cq_of(e)->cq,
		.max_send_wr = RN_W_WRS,
		.max_recv_wr = RN_W_WRS,
		.max_send_sge = 3,
		.max_recv_sge = 3,
		.max_inline = RN_W_INLINE,
		.owner = e,
	};

	if (e->pair->plan->own_cq)
		rn_w_cq_start_own(e);
	leave_out(&init, e);
	assert(rn_qp_size(d->dev, &init) <= RN_W_QP_BLOCK);
	e->qpn = init.qpn;
	e->qp = rn_qp_create(d->dev, e->block, &init);
}

static void forget(struct rn_world *w, struct rn_w_end *e)
{
	rn_w_keys_destroy(e);
	rn_w_mem_forget(&w->device[e->dev], e->qpn, !e->qp);
	rn_w_slot_close_all(&w->device[e->dev], e->qpn);
	e->sq.head = e->sq.tail = e->rq.head = e->rq.tail = 0;
	e->messages_sent = e->messages_got = 0;
	e->atomics_posted = e->atomics_done = e->requests = 0;
	e->sqd = RN_W_RUNS;
	e->pace.kbps = 0;
	e->alive = e->may_flush = e->bad_posted = e->due.is_due = false;
	e->rnrs = 0;
}

static void connect_pair(struct rn_world *w, struct rn_w_pair *p, const uint32_t psn[2])
{
	for (unsigned i = 0; i < 2; i++) {
		struct rn_w_end *e = &p->end[i];

		if (!e->qp)
			create(w, e);
		rn_w_keys_create(e);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct rn_w_end *e = &p->end[i];

		if (!bring_up(w, e, psn))
			return;
		e->alive = true;
		rn_w_observe_reset(e, psn[i]);
		e->first_psn = rn_psn(psn[i]);
		if (psn[i] & 1 && !e->member)
			rn_w_join_or_leave(w, e);
	}
	p->connection++;
	rn_w_say(w,
		 "%s QP %x on device %u and QP %x on device %u are connected, PSN %06x "
		 "%06x",
		 rn_qp_type_name(p->plan->type), p->end[0].qpn, p->end[0].dev,
		 p->end[1].qpn, p->end[1].dev, psn[0], psn[1]);
}

bool rn_w_make_pair(struct rn_world *w, uint32_t i)
{
	struct rn_w_pair *p = &w->pair[i];
	struct rn_random r = rn_random_of(w->plan.seed, 1000 + i);

	p->w = w;
	p->plan = &w->plan.pair[i];
	for (unsigned k = 0; k < 2; k++) {
		struct rn_w_end *e = &p->end[k];
		uint8_t *block = e->block;

		*e = (struct rn_w_end){
			.peer = &p->end[!k],
			.pair = p,
			.dev = p->plan->dev[k],
			.number = k,
			.block = block,
		};
	}
	p->troubles = p->connection = p->stale = 0;
	connect_pair(w, p, p->plan->psn);
	for (unsigned k = 0; k < 2 && !w->result->failed; k++)
		rn_w_post_recvs(w, &p->end[k], p->plan->recvs, &r);
	return !w->result->failed;
}

static void tear_down(struct rn_world *w, struct rn_w_end *e, bool destroy)
{
	struct rn_w_device *d = &w->device[e->dev];
	const struct rn_qp_attr reset = { .state = RN_QPS_RESET };

	if (destroy) {
		if (e->member)
			rn_w_join_or_leave(w, e);
		rn_qp_destroy(d->dev, e->qp);
		if (e->pair->plan->own_cq)
			rn_cq_fini(d->dev, &e->own_cq.cq);
		e->qp = NULL;
	} else if (rn_qp_modify(d->dev, e->qp, rn_w_local(d), &reset, RN_ATTR_STATE)) {
		rn_w_fail(w, "QP %x cannot be brought to RESET", e->qpn);
	}
	forget(w, e);
}

/* Connects the pair again, with new first PSNs. The new PSNs are a quarter of the number
 * space away from those of packets that may still be in flight.
 */
void rn_w_reconnect(struct rn_world *w, struct rn_w_pair *p, struct rn_random *r)
{
	/* A UC QP cannot tell whether a late packet belongs to the earlier connection:
	 * the packet may begin a message, whatever its PSN is. So UC QPs are destroyed,
	 * and the new ones have other QPNs.
	 */
	bool destroy = rn_random_below(r, 2) || !rn_w_is_reliable(&p->end[0]) ||
		       rn_w_cq_is_lost(&p->end[0]) || rn_w_cq_is_lost(&p->end[1]);
	uint32_t psn[2];

	for (unsigned i = 0; i < 2; i++) {
		struct rn_w_device *d = &w->device[p->end[i].dev];

		if (d->dead || rn_w_is_stalled(d))
			return;
	}
	for (unsigned i = 0; i < 2; i++) {
		psn[i] = (p->end[i].next_psn.v + 0x400000 + rn_random_below(r, 4096)) &
			 RN_PSN_MASK;
		rn_w_say(w, "QP %x is %s", p->end[i].qpn,
			 destroy ? "destroyed" : "reset");
		tear_down(w, &p->end[i], destroy);
	}
	connect_pair(w, p, psn);
	for (unsigned k = 0; k < 2 && !w->result->failed; k++)
		rn_w_post_recvs(w, &p->end[k], p->plan->recvs, r);
}

void rn_w_close(struct rn_world *w, struct rn_w_end *e)
{
	if (e->qp)
		tear_down(w, e, true);
}

void rn_w_to_error(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_device *d = &w->device[e->dev];
	const struct rn_qp_attr err = { .state = RN_QPS_ERR };

	rn_w_say(w, "QP %x is moved to ERR", e->qpn);
	e->may_flush = true;
	e->alive = false;
	if (rn_qp_modify(d->dev, e->qp, rn_w_local(d), &err, RN_ATTR_STATE))
		rn_w_fail(w, "QP %x cannot be brought to ERR", e->qpn);
}

/* ------------------------------------------------------------ draining of QPs */
static void to_state(struct rn_world *w, struct rn_w_end *e, enum rn_qp_state state)
{
	struct rn_w_device *d = &w->device[e->dev];
	const struct rn_qp_attr attr = { .state = state, .en_sqd_async_notify = true };
	uint32_t notify = state == RN_QPS_SQD ? RN_ATTR_EN_SQD_ASYNC_NOTIFY : 0;

	rn_w_say(w, "QP %x goes to %s", e->qpn, rn_qp_state_name(state));
	if (rn_qp_modify(d->dev, e->qp, rn_w_local(d), &attr, RN_ATTR_STATE | notify))
		rn_w_fail(w, "QP %x cannot be brought to %s", e->qpn,
			  rn_qp_state_name(state));
}

void rn_w_drain_step(struct rn_world *w, struct rn_w_end *e)
{
	if (!e->alive || e->sqd != RN_W_RUNS || rn_w_type(e) == RN_QPT_XRC_RECV)
		return;
	e->sqd = RN_W_DRAINS;
	to_state(w, e, RN_QPS_SQD);
}

/* Called when the QP has drained: all requests that had started have completed.
 * Schedules when the program takes it back to RTS.
 */
void rn_w_drained(struct rn_world *w, struct rn_w_end *e)
{
	uint32_t number = (uint32_t)(e->pair - w->pair) * 2 + e->number;

	if (e->sqd != RN_W_DRAINS || e->rd_head != e->rd_tail)
		rn_w_fail(w, "QP %x says that it has drained", e->qpn);
	e->sqd = RN_W_DRAINED;
	rn_w_put(w, w->net->now + RN_USEC(1 + rn_random_below(&w->host_random, 300)),
		 RN_W_RESUME, number);
}

void rn_w_resume(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_device *d = &w->device[e->dev];

	if (!e->qp || !e->alive || e->sqd != RN_W_DRAINED)
		return;
	if (rn_w_is_stalled(d)) {
		rn_w_put(w, w->net->host[d->number].stalled_until, RN_W_RESUME,
			 (uint32_t)(e->pair - w->pair) * 2 + e->number);
		return;
	}
	e->sqd = RN_W_RUNS;
	to_state(w, e, RN_QPS_RTS);
	rn_w_drain(d);
}

/* --------------------------------------------------------- rate limits of QPs */
void rn_w_pace_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r)
{
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_w_pace *p = &e->pace;

	if (!e->alive || rn_w_type(e) == RN_QPT_XRC_RECV)
		return;
	*p = (struct rn_w_pace){ .since = rn_w_local(d) };
	if (rn_random_below(r, 4))
		p->kbps = 1000000u << rn_random_below(r, 4);
	if (rn_random_below(r, 2))
		p->burst = 1 + rn_random_below(r, 20000);
	rn_w_say(w, "QP %x may send %u kbps, bursts of %u", e->qpn, p->kbps, p->burst);
	rn_qp_pace(e->qp, rn_w_local(d), p->kbps, p->burst);
}

/* Checks the rate limit: the bytes sent must not exceed what the rate allows since the
 * limit was set, plus one burst and one packet.
 */
void rn_w_check_pace(struct rn_world *w, struct rn_w_end *e, uint32_t bytes)
{
	struct rn_w_pace *p = &e->pace;
	uint64_t ns, may;

	if (!p->kbps)
		return;
	/* The QP measures time by its host's clock, which may jump forward, so the check
	 * does the same.
	 */
	ns = (uint64_t)(rn_w_local(&w->device[e->dev]) - p->since);
	may = p->burst ? p->burst : p->kbps / 8;
	may += RN_PACKET_MAX + ns * p->kbps / 8000000;
	p->bytes += bytes;
	if (p->bytes > may)
		rn_w_fail(w, "QP %x sends faster than %u kbps", e->qpn, p->kbps);
}

/* ------------------------------------------------------ shared receive queues */
static size_t head_size(void)
{
	return (rn_srq_size() + 63) & ~(size_t)63;
}

size_t rn_w_srq_size(void)
{
	return (head_size() + 2 * rn_srq_ring_size(RN_W_SRQ, 3) + 63) & ~(size_t)63;
}

void rn_w_srq_create(struct rn_w_device *d)
{
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(d->srq); i++) {
		struct rn_w_srq *s = &d->srq[i];
		const struct rn_srq_init init = {
			.srqn = i + 1,
			.pd = PD,
			.max_wr = RN_W_SRQ,
			.max_sge = 3,
			.xrcd = i ? XRCD : 0,
			.cq = i ? &d->cq.cq : NULL,
			.owner = s,
		};

		memset(s->wr, 0, sizeof(s->wr));
		s->limit = 0;
		s->spare = s->block + head_size() + rn_srq_ring_size(RN_W_SRQ, 3);
		s->srq = rn_srq_create(d->dev, s->block, s->block + head_size(), &init);
	}
}

void rn_w_srq_destroy(struct rn_w_device *d)
{
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(d->srq); i++)
		rn_srq_destroy(d->srq[i].srq);
}

struct rn_w_srq *rn_w_srq_of(const struct rn_w_end *e)
{
	struct rn_w_device *d = &e->pair->w->device[e->dev];

	if (!e->pair->plan->srq)
		return NULL;
	return &d->srq[rn_w_type(e) == RN_QPT_XRC_RECV];
}

uint32_t rn_w_srq_posted(const struct rn_w_srq *s)
{
	struct rn_srq_attr attr;

	rn_srq_query(s->srq, &attr);
	return attr.posted;
}

static uint32_t room_of(const struct rn_w_srq *s)
{
	struct rn_srq_attr attr;

	rn_srq_query(s->srq, &attr);
	return attr.max_wr - attr.posted;
}

static struct rn_w_wr *unused(struct rn_w_srq *s)
{
	for (uint32_t i = 0; i < RN_W_SRQ_SEEN; i++)
		if (!s->wr[i].id)
			return &s->wr[i];
	return NULL;
}

void rn_w_srq_post(struct rn_w_device *d, struct rn_w_srq *s, uint32_t count,
		   struct rn_random *r)
{
	uint32_t room = room_of(s);
	struct rn_sge sg[3];

	if (count > room)
		count = room;
	while (count--) {
		struct rn_w_wr *wr = unused(s);
		struct rn_recv_wr recv = { .sg = sg };
		uint32_t slot;

		if (!wr)
			return;
		slot = rn_w_slot_take(d, RN_W_RECV, 0, SRQ_MESSAGE, rn_random_next(r));
		if (slot == RN_W_NONE)
			return;
		*wr = (struct rn_w_wr){ .id = UINT64_C(1) << 63 | ++d->w->ids,
					.slot = slot,
					.len = SRQ_MESSAGE };
		recv.wr_id = wr->id;
		recv.num_sge = rn_w_pieces(d, slot, SRQ_MESSAGE, sg, r);
		if (rn_srq_post_recv(s->srq, &recv))
			rn_w_fail(d->w, "the SRQ of device %u takes no receive",
				  d->number);
	}
}

struct rn_w_wr *rn_w_srq_take(struct rn_w_srq *s, uint64_t id)
{
	for (uint32_t i = 0; i < RN_W_SRQ_SEEN; i++)
		if (s->wr[i].id == id) {
			s->wr[i].id = 0;
			return &s->wr[i];
		}
	return NULL;
}

static void resize(struct rn_world *w, struct rn_w_device *d, struct rn_w_srq *s,
		   const struct rn_srq_attr *attr, struct rn_random *r)
{
	uint32_t least = attr->posted > attr->limit ? attr->posted : attr->limit;
	uint32_t max = least + rn_random_below(r, RN_W_SRQ - least + 1);
	void *old;

	max = max ? max : 1;
	if (rn_srq_resize(s->srq, s->spare, max, &old)) {
		rn_w_fail(w, "the SRQ of device %u cannot be resized", d->number);
		return;
	}
	s->spare = old;
	rn_w_say(w, "device %u: an SRQ holds %u", d->number, max);
}

void rn_w_srq_step(struct rn_world *w, struct rn_w_device *d, struct rn_random *r)
{
	struct rn_w_srq *s = &d->srq[rn_random_below(r, RN_ARRAY_SIZE(d->srq))];
	struct rn_srq_attr attr;

	rn_srq_query(s->srq, &attr);
	if (rn_random_below(r, 2)) {
		resize(w, d, s, &attr, r);
		return;
	}
	s->limit = attr.posted ? 1 + rn_random_below(r, attr.posted) : 0;
	rn_w_say(w, "device %u: tell when an SRQ holds less than %u", d->number,
		 s->limit);
	if (rn_srq_set_limit(s->srq, s->limit))
		rn_w_fail(w, "the SRQ of device %u takes no limit", d->number);
}

void rn_w_srq_told(struct rn_w_device *d, struct rn_w_srq *s)
{
	if (!s->limit || rn_w_srq_posted(s) >= s->limit)
		rn_w_fail(d->w, "the SRQ of device %u says that it runs empty",
			  d->number);
	s->limit = 0;
}
