/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connections_life.c - what programs do with connections, and what they may see of them.
 */
#include <errno.h>
#include <string.h>

#include "connections_internal.h"

enum {
	SERVICE_RC = 0x01061c06,
	SERVICE_UD = 0x01111c06,
	LONGEST = 25, /* code of the longest time that the CM waits */
	/* Parts per million of messages: 16 tries there and back do not all fail. */
	FEW_LOST = 100000,
};

static struct rn_conns_life *life_of(struct rn_conns_host *h,
				     const struct rn_cm_conn *conn)
{
	for (unsigned i = 0; i < RN_CONNS_LIVES; i++)
		if (h->life[i].conn == conn)
			return &h->life[i];
	return NULL;
}

static rn_ns think(struct rn_conns *w)
{
	return w->net->now + (rn_conns_draw(w, 4)
				      ? (rn_ns)rn_conns_draw(w, 1000000)
				      : (rn_ns)rn_conns_draw(w, 15) * RN_CONNS_SECOND);
}

/* ---- Asking and answering ---- */

static struct rn_conns_life *begin(struct rn_conns *w, struct rn_conns_host *h,
				   struct rn_cm_conn *conn, bool active, bool sidr)
{
	struct rn_conns_life *l = life_of(h, NULL);

	if (!l) {
		rn_conns_fail(w, "more connections than entries in the table");
		return NULL;
	}
	*l = (struct rn_conns_life){
		.conn = conn,
		.process = rn_conns_draw(w, RN_CONNS_PROCESSES),
		.active = active,
		.sidr = sidr,
		.act_at = active ? RN_NEVER : think(w),
	};
	return l;
}

static struct rn_cm_offer offer_of(struct rn_conns *w, struct rn_conns_host *h)
{
	return (struct rn_cm_offer){
		.ca_guid = h->guid,
		.qpn = ++h->qpn,
		.psn = rn_conns_draw(w, 1 << 24),
		.resp_res = (uint8_t)rn_conns_draw(w, 17),
		.init_depth = (uint8_t)rn_conns_draw(w, 17),
		.retry_count = 7,
		.rnr_retry_count = (uint8_t)rn_conns_draw(w, 8),
	};
}

static struct rn_cm_route route_to(const struct rn_conns *w,
				   const struct rn_conns_host *h, const struct rn_gid *to)
{
	return (struct rn_cm_route){
		.flow = { .src = *rn_conns_gid(w, h), .dst = *to, .ifindex = 1 },
		.mtu = 3,
	};
}

void rn_conns_ask(struct rn_conns *w, struct rn_conns_host *h)
{
	uint32_t self = (uint32_t)(h - w->host);
	uint32_t peer = (self + 1 + rn_conns_draw(w, w->hosts - 1)) % w->hosts;
	struct rn_cm_route route = route_to(w, h, &w->net->host[peer].gid);
	struct rn_cm_offer offer = offer_of(w, h);
	const struct rn_cm_ip_hdr ip = { 1, *rn_conns_gid(w, h), w->net->host[peer].gid };
	bool sidr = rn_conns_draw(w, 4) == 0;
	bool nobody = rn_conns_draw(w, 10) == 0;
	uint8_t data[RN_CM_IP_HDR_LEN];
	struct rn_cm_conn *conn = NULL;
	struct rn_conns_life *l;
	int rc;

	rn_cm_ip_hdr_emit(data, &ip);
	offer.data = data;
	offer.data_len = sizeof(data);
	if (sidr)
		rc = rn_cm_sidr_request(h->cm, w->net->now, SERVICE_UD + nobody, &route,
					&offer, &conn);
	else
		rc = rn_cm_connect(h->cm, w->net->now, SERVICE_RC + nobody, &route,
				   &offer, &conn);
	w->left--;
	w->r->asked++;
	if (rc || !conn) {
		rn_conns_fail(w, "a request is refused by its own host");
		return;
	}
	rn_conns_tell(w, h, "asks", sidr ? "datagrams" : "connection",
		      rn_cm_conn_info(conn)->local_id);
	l = begin(w, h, conn, true, sidr);
	if (l)
		l->nobody = nobody;
}

void rn_conns_leave(struct rn_conns *w, struct rn_conns_host *h, struct rn_conns_life *l)
{
	rn_conns_tell(w, h, "leaves", "", rn_cm_conn_info(l->conn)->local_id);
	rn_cm_close(h->cm, w->net->now, l->conn);
	*l = (struct rn_conns_life){ 0 };
}

static void must(struct rn_conns *w, int rc)
{
	if (rc)
		rn_conns_fail(w, "a call is refused in a state that allows it");
}

static void refuse(struct rn_conns *w, struct rn_conns_host *h, struct rn_conns_life *l)
{
	static const struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	struct rn_cm_offer none = { 0 };

	w->r->refused++;
	if (l->sidr)
		must(w, rn_cm_sidr_reply(h->cm, l->conn, RN_CM_SIDR_REJECTED, &none));
	else
		must(w, rn_cm_reject(h->cm, w->net->now, l->conn, &no));
	l->act_at = think(w);
}

static void answer(struct rn_conns *w, struct rn_conns_host *h, struct rn_conns_life *l)
{
	struct rn_cm_offer offer = offer_of(w, h);

	if (!l->sidr && !rn_conns_draw(w, 4) &&
	    rn_cm_mra(h->cm, l->conn, 21, rn_conns_draw(w, 2)) == 0) {
		l->act_at = think(w);
		return;
	}
	l->answered = true;
	l->act_at = RN_NEVER;
	if (rn_conns_draw(w, 6) == 0) {
		refuse(w, h, l);
	} else if (l->sidr) {
		must(w, rn_cm_sidr_reply(h->cm, l->conn, RN_CM_SIDR_SUCCESS, &offer));
		l->act_at = think(w); /* it has no more to do than to leave */
	} else if (l->active) {
		must(w, rn_cm_ready(h->cm, l->conn, NULL, 0));
		l->act_at = think(w);
	} else {
		must(w, rn_cm_accept(h->cm, w->net->now, l->conn, &offer));
	}
}

/* An established connection is offered another path, or ends. */
static void go_on(struct rn_conns *w, struct rn_conns_host *h, struct rn_conns_life *l)
{
	struct rn_cm_route route = route_to(w, h, &rn_cm_conn_info(l->conn)->flow.dst);
	int rc = 0;

	if (rn_conns_draw(w, 3) == 0) {
		rc = rn_cm_load_alternate(h->cm, w->net->now, l->conn, &route);
		l->offers += !rc;
		rc = rc == -EALREADY ? 0 : rc;
	} else {
		rc = rn_cm_disconnect(h->cm, w->net->now, l->conn, NULL, 0);
	}
	must(w, rc);
	l->act_at = think(w);
}

/* A connection that has ended was in time-wait, and its program was told of the end. */
static void check_end(struct rn_conns *w, const struct rn_conns_life *l)
{
	if (l->seen >> RN_CM_EV_DISCONNECTED & 1 &&
	    !(l->seen >> RN_CM_EV_TIMEWAIT_EXIT & 1))
		rn_conns_fail(w, "a connection has ended without a time-wait");
}

void rn_conns_act(struct rn_conns *w, struct rn_conns_host *h, struct rn_conns_life *l)
{
	const struct rn_cm_info *info = rn_cm_conn_info(l->conn);

	rn_conns_note(w, info->local_id);
	l->act_at = RN_NEVER;
	if (rn_conns_draw(w, 12) == 0) {
		rn_conns_leave(w, h, l);
		return;
	}
	switch ((unsigned)info->state) {
	case RN_CM_REQ_RCVD:
	case RN_CM_MRA_REQ_SENT:
	case RN_CM_REP_RCVD:
	case RN_CM_MRA_REP_SENT:
	case RN_CM_SIDR_REQ_RCVD:
		answer(w, h, l);
		return;
	case RN_CM_ESTABLISHED:
		go_on(w, h, l);
		return;
	case RN_CM_DREQ_RCVD:
		must(w, rn_cm_disconnect(h->cm, w->net->now, l->conn, NULL, 0));
		l->act_at = think(w);
		return;
	case RN_CM_DREQ_SENT:
	case RN_CM_REP_SENT:
	case RN_CM_MRA_REP_RCVD:
		return; /* an event comes */
	case RN_CM_IDLE:
		check_end(w, l);
		rn_conns_leave(w, h, l);
		return;
	default:
		rn_conns_leave(w, h, l);
	}
}

/* ---- Seeing ---- */

#define BIT(event) (1u << RN_CM_EV_##event)

/* What may have been seen before each event, and on which side it is seen. */
static bool is_in_order(const struct rn_conns_life *l, enum rn_cm_event_type type)
{
	const unsigned ends = BIT(REJECTED) | BIT(UNREACHABLE) | BIT(TIMEWAIT_EXIT);
	unsigned bit = 1u << type;

	if (!(bit & (BIT(LAP) | BIT(APR))) && l->seen & bit)
		return false;
	if (type == RN_CM_EV_TIMEWAIT_EXIT)
		return true;
	if (l->seen & ends)
		return false;
	switch ((int)type) {
	case RN_CM_EV_REP:
	case RN_CM_EV_SIDR_REP:
		return l->active && !(l->seen & BIT(DISCONNECTED));
	case RN_CM_EV_ESTABLISHED:
		return !l->active && l->answered;
	case RN_CM_EV_DISCONNECTED:
		return l->answered;
	case RN_CM_EV_LAP:
	case RN_CM_EV_APR:
		return l->answered && !(l->seen & BIT(DISCONNECTED));
	default:
		return true;
	}
}

static bool do_agree(const struct rn_cm_info *a, const struct rn_cm_info *b)
{
	return a->remote_id == b->local_id && a->qp.rq_psn == b->qp.sq_psn &&
	       a->qp.sq_psn == b->qp.rq_psn && a->qp.path_mtu == b->qp.path_mtu &&
	       a->qp.max_rd_atomic <= b->qp.max_dest_rd_atomic;
}

static struct rn_conns_host *peer_of(struct rn_conns *w, const struct rn_cm_info *info)
{
	return &w->host[rn_vnet_host_of(w->net, &info->flow.dst)];
}

/* The other end as its program knows it; NULL: that has left. */
static struct rn_conns_life *other_end(struct rn_conns *w, const struct rn_cm_info *ours)
{
	struct rn_conns_host *peer = peer_of(w, ours);

	for (unsigned i = 0; i < RN_CONNS_LIVES; i++) {
		const struct rn_cm_info *theirs =
			peer->life[i].conn ? rn_cm_conn_info(peer->life[i].conn) : NULL;

		if (theirs && ours->remote_id && theirs->local_id == ours->remote_id)
			return &peer->life[i];
	}
	return NULL;
}

/* The other end of a connection that was just confirmed says the same of it. */
static void check_agreement(struct rn_conns *w, const struct rn_cm_conn *conn)
{
	const struct rn_cm_info *ours = rn_cm_conn_info(conn);
	const struct rn_conns_life *other = other_end(w, ours);

	if (!other)
		return;
	w->r->established++;
	if (!do_agree(rn_cm_conn_info(other->conn), ours))
		rn_conns_fail(w, "the two ends of a connection do not agree");
}

/* Nobody gives up while the other end is there and few messages are lost. A farewell is
 * answered even by strangers.
 */
static void check_patience(struct rn_conns *w, const struct rn_cm_event *ev)
{
	const struct rn_conns_life *other = other_end(w, rn_cm_conn_info(ev->conn));
	enum rn_cm_state state = other ? rn_cm_conn_info(other->conn)->state : RN_CM_IDLE;

	if (ev->status != -ETIMEDOUT || w->loss_ppm > FEW_LOST)
		return;
	if (ev->type == RN_CM_EV_DISCONNECTED)
		rn_conns_fail(w, "a farewell is never answered");
	if (state == RN_CM_ESTABLISHED || state == RN_CM_REP_SENT ||
	    state == RN_CM_REP_RCVD)
		rn_conns_fail(w, "an end is given up that is still there");
}

/* Who asked for what nobody offers is told so. */
static void check_refusal(struct rn_conns *w, const struct rn_conns_life *l,
			  const struct rn_cm_event *ev)
{
	int want =
		l->sidr ? (int)RN_CM_SIDR_UNSUPPORTED : (int)RN_CM_REJ_INVALID_SERVICE_ID;
	bool told = ev->type == RN_CM_EV_REJECTED || ev->type == RN_CM_EV_SIDR_REP;

	/* Or that its host has forgotten a connection of the queue pair. */
	if (w->r->reboots && ev->status == RN_CM_REJ_STALE_CONN)
		return;
	if (told ? ev->status != want : w->loss_ppm <= FEW_LOST && !w->r->reboots)
		rn_conns_fail(w, "who asks for what nobody offers is not told so");
}

/* A path is announced once for each that was offered. */
static void check_offer(struct rn_conns *w, struct rn_conns_life *l)
{
	const struct rn_conns_life *other = other_end(w, rn_cm_conn_info(l->conn));

	l->heard++;
	if (other && l->heard > other->offers)
		rn_conns_fail(w, "a path is announced that nobody has offered");
}

/* A request that is sent again is no new one, unless it was refused meanwhile. */
static void check_is_new(struct rn_conns *w, const struct rn_conns_host *h,
			 const struct rn_cm_conn *conn)
{
	const struct rn_cm_info *info = rn_cm_conn_info(conn);

	for (unsigned i = 0; i < RN_CONNS_LIVES; i++) {
		const struct rn_conns_life *l = &h->life[i];
		const struct rn_cm_info *other =
			l->conn ? rn_cm_conn_info(l->conn) : NULL;

		if (!other || memcmp(&other->flow.dst, &info->flow.dst,
				     sizeof(info->flow.dst)) != 0)
			continue;
		if (!l->active && other->state != RN_CM_IDLE &&
		    other->remote_id == info->remote_id)
			rn_conns_fail(w, "a request is announced twice");
		if (info->qp.dest_qpn && other->state == RN_CM_ESTABLISHED &&
		    other->qp.dest_qpn == info->qp.dest_qpn)
			rn_conns_fail(w, "a queue pair has two connections");
	}
}

static rn_ns timewait_of(const struct rn_cm_info *info)
{
	unsigned code = info->qp.timeout < LONGEST ? info->qp.timeout : LONGEST;

	return (rn_ns)4096 << code;
}

void rn_conns_watch(struct rn_conns *w, struct rn_conns_host *h)
{
	for (unsigned i = 0; i < RN_CONNS_LIVES; i++) {
		struct rn_conns_life *l = &h->life[i];

		if (l->conn && !l->timewait_from &&
		    rn_cm_conn_info(l->conn)->state == RN_CM_TIMEWAIT)
			l->timewait_from = w->net->now;
	}
}

/* Of a request: its life begins. */
static void hear_request(struct rn_conns *w, struct rn_conns_host *h,
			 const struct rn_cm_event *ev)
{
	bool sidr = ev->type == RN_CM_EV_SIDR_REQ;

	if (life_of(h, ev->conn) || ev->listener != &h->listener[sidr]) {
		rn_conns_fail(w, "a request comes to somebody else");
		return;
	}
	check_is_new(w, h, ev->conn);
	begin(w, h, ev->conn, false, sidr);
}

static void judge(struct rn_conns *w, struct rn_conns_life *l,
		  const struct rn_cm_event *ev)
{
	check_patience(w, ev);
	if (l->nobody)
		check_refusal(w, l, ev);
	if (ev->type == RN_CM_EV_LAP)
		check_offer(w, l);
	if (!is_in_order(l, ev->type))
		rn_conns_fail(w, "a program sees what its connection cannot have come "
				 "to");
	if (ev->type == RN_CM_EV_ESTABLISHED)
		check_agreement(w, ev->conn);
	if (ev->type == RN_CM_EV_TIMEWAIT_EXIT &&
	    (!l->timewait_from ||
	     w->net->now - l->timewait_from < timewait_of(rn_cm_conn_info(ev->conn))))
		rn_conns_fail(w, "a time-wait ends before its time");
}

void rn_conns_hear(struct rn_conns *w, struct rn_conns_host *h,
		   const struct rn_cm_event *ev)
{
	struct rn_conns_life *l;

	rn_conns_note(w, (uint64_t)ev->type);
	rn_conns_tell(w, h, "hears", rn_cm_event_name(ev->type),
		      rn_cm_conn_info(ev->conn)->local_id);
	if (ev->type == RN_CM_EV_REQ || ev->type == RN_CM_EV_SIDR_REQ) {
		hear_request(w, h, ev);
		return;
	}
	l = life_of(h, ev->conn);
	if (!l) {
		rn_conns_fail(w, "an event comes to a program that has left");
		return;
	}
	judge(w, l, ev);
	l->seen |= 1u << ev->type;
	l->act_at = think(w);
	w->r->resolved += ev->type == RN_CM_EV_SIDR_REP && ev->status == 0;
	w->r->ended += ev->type == RN_CM_EV_DISCONNECTED;
	if (ev->type == RN_CM_EV_LAP)
		must(w, rn_cm_answer_alternate(h->cm, ev->conn, RN_CM_APR_SUCCESS));
}
