/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connect.c - queue pairs of a world: made, connected, reset, destroyed. */
#include "world_internal.h"

enum {
	PD = 1,
	XRCD = 1,
	RIGHTS = RN_ACCESS_REMOTE_MASK,
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

/* What each step to RTS takes. */
static uint32_t step_mask(enum rn_qp_state to, enum rn_qp_type type)
{
	const uint32_t init = RN_ATTR_PKEY_INDEX | RN_ATTR_PORT;
	const uint32_t path =
		RN_ATTR_AV | RN_ATTR_PATH_MTU | RN_ATTR_DEST_QPN | RN_ATTR_RQ_PSN;
	bool asks = type == RN_QPT_RC || type == RN_QPT_XRC_SEND;
	bool answers = type == RN_QPT_RC || type == RN_QPT_XRC_RECV;

	switch ((int)to) {
	case RN_QPS_INIT:
		return init | (type == RN_QPT_UD ? RN_ATTR_QKEY : RN_ATTR_ACCESS_FLAGS);
	case RN_QPS_RTR:
		return type == RN_QPT_UD ? 0
					 : path | (answers ? RN_ATTR_MAX_DEST_RD_ATOMIC |
								     RN_ATTR_MIN_RNR_TIMER
							   : 0);
	default:
		return RN_ATTR_SQ_PSN | (asks || answers ? RN_ATTR_TIMEOUT : 0) |
		       (asks ? RN_ATTR_RETRY_CNT | RN_ATTR_RNR_RETRY |
					RN_ATTR_MAX_RD_ATOMIC
			     : 0);
	}
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
				 RN_ATTR_STATE | step_mask(step[i], rn_w_type(e)))) {
			rn_w_fail(w, "QP %x cannot be brought to %s", e->qpn,
				  rn_qp_state_name(step[i]));
			return false;
		}
	}
	return true;
}

/* What an end has no queue for, it is not given. */
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
	} else if (e->pair->plan->srq) {
		init->srq = rn_w_srq_of(e)->srq;
	}
}

static void create(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_qp_init init = {
		.type = rn_w_type(e),
		/* One process, one slot: a window that all share. */
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

/* Far from what may still be on its way: a quarter of the number space. */
void rn_w_reconnect(struct rn_world *w, struct rn_w_pair *p, struct rn_random *r)
{
	/* A late packet begins a message of UC, whatever its PSN is. */
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
