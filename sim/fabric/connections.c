/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connections.c - simulated hosts whose programs establish connections; see
 * connections.h.
 *
 * The file has, in this order: the actions of programs, the checks of the events that
 * programs get, the CM messages, the hosts and their faults, and the run.
 */
#include "connections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/cm.h"
#include "rocin/random.h"
#include "sim/vnet/vnet.h"

enum {
	RECORDS = 128,
	/* maximum number of CM messages in flight; others are lost */
	FLIGHT = 512,
	LISTENERS = 2, /* one listener for connections and one for datagrams (SIDR) */
	PROCESSES = 3,
	PORT = 7174,
	FIRST_QPN = 0x1000,
	ASKED_MAX = 40, /* maximum number of connections that a run requests */
	SERVICE_RC = 0x01061c06,
	SERVICE_UD = 0x01111c06,
	LONGEST = 25, /* longest time that a peer is given to answer, as a CM time code */
	/* Highest random loss in packets per million at which the checks assume that, of
	 * the up to 16 transmissions of a request, at least one arrives and is answered.
	 */
	FEW_LOST = 100000,
};

#define SECOND RN_MSEC(1000)
#define HOUR (3600 * SECOND)

/* A program's record of one of its connections. */
struct record {
	struct rn_cm_conn *conn; /* the connection in the CM; NULL: the entry is free */
	unsigned process;
	bool active, sidr;
	/* The connection is requested from a service to which nobody listens. */
	bool nobody;
	/* the program has accepted or refused the request or, as the active side,
	 * confirmed the connection
	 */
	bool answered;
	/* @offers: number of alternate paths that this program has offered to the peer's
	 * program. @heard: number of alternate paths offered by the peer's program that
	 * the CM has reported to this one.
	 */
	unsigned offers;
	unsigned heard;
	unsigned seen; /* bit mask of the events that the program has got */
	/* Time at which the program does something next; RN_NEVER: it waits for an
	 * event.
	 */
	rn_ns act_at;
	rn_ns timewait_from; /* time at which time-wait began; 0: not in time-wait yet */
};

struct host {
	struct rn_cm *cm;
	void *block;
	uint64_t guid;
	uint32_t qpn; /* QP number that was assigned last */
	struct rn_cm_listener listener[LISTENERS];
	struct record record[RECORDS];
};

struct conns {
	const struct rn_connections_cfg *cfg;
	struct rn_connections_result *r;
	struct rn_vnet *net; /* the network, in which host i is host i of the run */
	struct rn_random random, network;
	uint32_t hosts;
	uint32_t left;	  /* number of connections still to be requested */
	uint32_t trouble; /* number of crashes and reboots still to come */
	uint32_t loss_ppm, double_ppm;
	struct host host[RN_CONNECTIONS_HOSTS];
};

static const struct rn_gid *gid_of(const struct conns *w, const struct host *h)
{
	return &w->net->host[h - w->host].gid;
}

/* ---- Trace, failures and records of connections ---- */

static void note(struct conns *w, uint64_t what)
{
	w->r->hash = rn_random_mix(w->r->hash ^ what);
}

static void fail(struct conns *w, const char *why)
{
	if (w->r->failed)
		return;
	w->r->failed = true;
	w->r->why = why;
}

static void trace_event(struct conns *w, const struct host *h, const char *what,
			const char *more, uint32_t id)
{
	char line[96];

	if (!w->cfg->trace)
		return;
	snprintf(line, sizeof(line), "host %u  %-12s %s 0x%08x", (unsigned)(h - w->host),
		 what, more, id);
	w->cfg->trace(w->cfg->trace_ctx, w->net->now, line);
}

static uint32_t draw(struct conns *w, uint32_t below)
{
	return rn_random_below(&w->random, below);
}

static struct record *record_of(struct host *h, const struct rn_cm_conn *conn)
{
	for (unsigned i = 0; i < RECORDS; i++)
		if (h->record[i].conn == conn)
			return &h->record[i];
	return NULL;
}

static rn_ns think_until(struct conns *w)
{
	return w->net->now +
	       (draw(w, 4) ? (rn_ns)draw(w, 1000000) : (rn_ns)draw(w, 15) * SECOND);
}

/* ---- Actions of the programs: request, accept, change and end connections ---- */

static struct record *new_record(struct conns *w, struct host *h, struct rn_cm_conn *conn,
				 bool active, bool sidr)
{
	struct record *l = record_of(h, NULL);

	if (!l) {
		fail(w, "more connections than entries in the table");
		return NULL;
	}
	*l = (struct record){
		.conn = conn,
		.process = draw(w, PROCESSES),
		.active = active,
		.sidr = sidr,
		.act_at = active ? RN_NEVER : think_until(w),
	};
	return l;
}

static struct rn_cm_offer offer_of(struct conns *w, struct host *h)
{
	return (struct rn_cm_offer){
		.ca_guid = h->guid,
		.qpn = ++h->qpn,
		.psn = draw(w, 1 << 24),
		.resp_res = (uint8_t)draw(w, 17),
		.init_depth = (uint8_t)draw(w, 17),
		.retry_count = 7,
		.rnr_retry_count = (uint8_t)draw(w, 8),
	};
}

static struct rn_cm_route route_to(const struct conns *w, const struct host *h,
				   const struct rn_gid *to)
{
	return (struct rn_cm_route){
		.flow = { .src = *gid_of(w, h), .dst = *to, .ifindex = 1 },
		.mtu = 3,
	};
}

static void request_connection(struct conns *w, struct host *h)
{
	uint32_t self = (uint32_t)(h - w->host);
	uint32_t peer = (self + 1 + draw(w, w->hosts - 1)) % w->hosts;
	struct rn_cm_route route = route_to(w, h, &w->net->host[peer].gid);
	struct rn_cm_offer offer = offer_of(w, h);
	const struct rn_cm_ip_hdr ip = { 1, *gid_of(w, h), w->net->host[peer].gid };
	bool sidr = draw(w, 4) == 0;
	bool nobody = draw(w, 10) == 0;
	uint8_t data[RN_CM_IP_HDR_LEN];
	struct rn_cm_conn *conn = NULL;
	struct record *l;
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
		fail(w, "a request is refused by its own host");
		return;
	}
	trace_event(w, h, "asks", sidr ? "datagrams" : "connection",
		    rn_cm_conn_info(conn)->local_id);
	l = new_record(w, h, conn, true, sidr);
	if (l)
		l->nobody = nobody;
}

static void close_conn(struct conns *w, struct host *h, struct record *l)
{
	trace_event(w, h, "leaves", "", rn_cm_conn_info(l->conn)->local_id);
	rn_cm_close(h->cm, w->net->now, l->conn);
	*l = (struct record){ 0 };
}

static void expect_ok(struct conns *w, int rc)
{
	if (rc)
		fail(w, "a call is refused in a state that allows it");
}

static void refuse_request(struct conns *w, struct host *h, struct record *l)
{
	static const struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	struct rn_cm_offer none = { 0 };

	w->r->refused++;
	if (l->sidr)
		expect_ok(w,
			  rn_cm_sidr_reply(h->cm, l->conn, RN_CM_SIDR_REJECTED, &none));
	else
		expect_ok(w, rn_cm_reject(h->cm, w->net->now, l->conn, &no));
	l->act_at = think_until(w);
}

static void answer_request(struct conns *w, struct host *h, struct record *l)
{
	struct rn_cm_offer offer = offer_of(w, h);

	if (!l->sidr && !draw(w, 4) && rn_cm_mra(h->cm, l->conn, 21, draw(w, 2)) == 0) {
		l->act_at = think_until(w);
		return;
	}
	l->answered = true;
	l->act_at = RN_NEVER;
	if (draw(w, 6) == 0) {
		refuse_request(w, h, l);
	} else if (l->sidr) {
		expect_ok(w,
			  rn_cm_sidr_reply(h->cm, l->conn, RN_CM_SIDR_SUCCESS, &offer));
		/* The passive side has nothing to do until it ends the connection. */
		l->act_at = think_until(w);
	} else if (l->active) {
		expect_ok(w, rn_cm_ready(h->cm, l->conn, NULL, 0));
		l->act_at = think_until(w);
	} else {
		expect_ok(w, rn_cm_accept(h->cm, w->net->now, l->conn, &offer));
	}
}

/* Changes a connection that is established: the program offers an alternate path, or
 * disconnects.
 */
static void change_conn(struct conns *w, struct host *h, struct record *l)
{
	struct rn_cm_route route = route_to(w, h, &rn_cm_conn_info(l->conn)->flow.dst);
	int rc = 0;

	if (draw(w, 3) == 0) {
		rc = rn_cm_load_alternate(h->cm, w->net->now, l->conn, &route);
		l->offers += !rc;
		rc = rc == -EALREADY ? 0 : rc;
	} else {
		rc = rn_cm_disconnect(h->cm, w->net->now, l->conn, NULL, 0);
	}
	expect_ok(w, rc);
	l->act_at = think_until(w);
}

/* Checks that a connection that was disconnected went through time-wait before its end.
 */
static void check_end(struct conns *w, const struct record *l)
{
	if (l->seen >> RN_CM_EV_DISCONNECTED & 1 &&
	    !(l->seen >> RN_CM_EV_TIMEWAIT_EXIT & 1))
		fail(w, "a connection has ended without a time-wait");
}

static void act_on_conn(struct conns *w, struct host *h, struct record *l)
{
	const struct rn_cm_info *info = rn_cm_conn_info(l->conn);

	note(w, info->local_id);
	l->act_at = RN_NEVER;
	if (draw(w, 12) == 0) {
		close_conn(w, h, l);
		return;
	}
	switch ((unsigned)info->state) {
	case RN_CM_REQ_RCVD:
	case RN_CM_MRA_REQ_SENT:
	case RN_CM_REP_RCVD:
	case RN_CM_MRA_REP_SENT:
	case RN_CM_SIDR_REQ_RCVD:
		answer_request(w, h, l);
		return;
	case RN_CM_ESTABLISHED:
		change_conn(w, h, l);
		return;
	case RN_CM_DREQ_RCVD:
		expect_ok(w, rn_cm_disconnect(h->cm, w->net->now, l->conn, NULL, 0));
		l->act_at = think_until(w);
		return;
	case RN_CM_DREQ_SENT:
	case RN_CM_REP_SENT:
	case RN_CM_MRA_REP_RCVD:
		return; /* the program waits for an event */
	case RN_CM_IDLE:
		check_end(w, l);
		close_conn(w, h, l);
		return;
	default:
		close_conn(w, h, l);
	}
}

/* ---- Checks of events ---- */

#define BIT(event) (1u << RN_CM_EV_##event)

/* Returns true if event @type may follow the events that the program has got before, and
 * may occur on this side of the connection.
 */
static bool is_in_order(const struct record *l, enum rn_cm_event_type type)
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

static struct host *peer_of(struct conns *w, const struct rn_cm_info *info)
{
	return &w->host[rn_vnet_host_of(w->net, &info->flow.dst)];
}

/* Returns the record of the other end of a connection; NULL if the program there has
 * ended the connection.
 */
static struct record *other_end(struct conns *w, const struct rn_cm_info *ours)
{
	struct host *peer = peer_of(w, ours);

	for (unsigned i = 0; i < RECORDS; i++) {
		const struct rn_cm_info *theirs =
			peer->record[i].conn ? rn_cm_conn_info(peer->record[i].conn)
					     : NULL;

		if (theirs && ours->remote_id && theirs->local_id == ours->remote_id)
			return &peer->record[i];
	}
	return NULL;
}

/* Checks that both ends of a connection that has just been confirmed have the
 * same parameters.
 */
static void check_agreement(struct conns *w, const struct rn_cm_conn *conn)
{
	const struct rn_cm_info *ours = rn_cm_conn_info(conn);
	const struct record *other = other_end(w, ours);

	if (!other)
		return;
	w->r->established++;
	if (!do_agree(rn_cm_conn_info(other->conn), ours))
		fail(w, "the two ends of a connection do not agree");
}

/* Called when a CM has given up a connection because the peer did not answer. If few
 * messages are lost, checks that the other end no longer has the connection, and that the
 * unanswered message was not a disconnect request: even a host that does not know the
 * connection answers that.
 */
static void check_patience(struct conns *w, const struct rn_cm_event *ev)
{
	const struct record *other = other_end(w, rn_cm_conn_info(ev->conn));
	enum rn_cm_state state = other ? rn_cm_conn_info(other->conn)->state : RN_CM_IDLE;

	if (ev->status != -ETIMEDOUT || w->loss_ppm > FEW_LOST)
		return;
	if (ev->type == RN_CM_EV_DISCONNECTED)
		fail(w, "a farewell is never answered");
	if (state == RN_CM_ESTABLISHED || state == RN_CM_REP_SENT ||
	    state == RN_CM_REP_RCVD)
		fail(w, "an end is given up that is still there");
}

/* Called with the result of a request for a service that has no listener. Checks that the
 * program was told this reason.
 */
static void check_refusal(struct conns *w, const struct record *l,
			  const struct rn_cm_event *ev)
{
	int want =
		l->sidr ? (int)RN_CM_SIDR_UNSUPPORTED : (int)RN_CM_REJ_INVALID_SERVICE_ID;
	bool told = ev->type == RN_CM_EV_REJECTED || ev->type == RN_CM_EV_SIDR_REP;

	/* The peer may also have refused because it still has a connection of this host
	 * from before a reboot.
	 */
	if (w->r->reboots && ev->status == RN_CM_REJ_STALE_CONN)
		return;
	if (told ? ev->status != want : w->loss_ppm <= FEW_LOST && !w->r->reboots)
		fail(w, "who asks for what nobody offers is not told so");
}

/* Checks that the peer's alternate paths are reported no more often than the peer has
 * offered them.
 */
static void check_offer(struct conns *w, struct record *l)
{
	const struct record *other = other_end(w, rn_cm_conn_info(l->conn));

	l->heard++;
	if (other && l->heard > other->offers)
		fail(w, "a path is announced that nobody has offered");
}

/* Checks that an event about a request is not caused by a retransmission of a request
 * that was reported before. After a refusal, the same request may be reported again.
 */
static void check_is_new(struct conns *w, const struct host *h,
			 const struct rn_cm_conn *conn)
{
	const struct rn_cm_info *info = rn_cm_conn_info(conn);

	for (unsigned i = 0; i < RECORDS; i++) {
		const struct record *l = &h->record[i];
		const struct rn_cm_info *other =
			l->conn ? rn_cm_conn_info(l->conn) : NULL;

		if (!other || memcmp(&other->flow.dst, &info->flow.dst,
				     sizeof(info->flow.dst)) != 0)
			continue;
		if (!l->active && other->state != RN_CM_IDLE &&
		    other->remote_id == info->remote_id)
			fail(w, "a request is announced twice");
		if (info->qp.dest_qpn && other->state == RN_CM_ESTABLISHED &&
		    other->qp.dest_qpn == info->qp.dest_qpn)
			fail(w, "a queue pair has two connections");
	}
}

static rn_ns timewait_of(const struct rn_cm_info *info)
{
	unsigned code = info->qp.timeout < LONGEST ? info->qp.timeout : LONGEST;

	return (rn_ns)4096 << code;
}

static void note_timewait(struct conns *w, struct host *h)
{
	for (unsigned i = 0; i < RECORDS; i++) {
		struct record *l = &h->record[i];

		if (l->conn && !l->timewait_from &&
		    rn_cm_conn_info(l->conn)->state == RN_CM_TIMEWAIT)
			l->timewait_from = w->net->now;
	}
}

/* Adds a record for a connection request that has arrived at a listener. */
static void take_request(struct conns *w, struct host *h, const struct rn_cm_event *ev)
{
	bool sidr = ev->type == RN_CM_EV_SIDR_REQ;

	if (record_of(h, ev->conn) || ev->listener != &h->listener[sidr]) {
		fail(w, "a request comes to somebody else");
		return;
	}
	check_is_new(w, h, ev->conn);
	new_record(w, h, ev->conn, false, sidr);
}

static void check_event(struct conns *w, struct record *l, const struct rn_cm_event *ev)
{
	check_patience(w, ev);
	if (l->nobody)
		check_refusal(w, l, ev);
	if (ev->type == RN_CM_EV_LAP)
		check_offer(w, l);
	if (!is_in_order(l, ev->type))
		fail(w, "a program sees what its connection cannot have come "
			"to");
	if (ev->type == RN_CM_EV_ESTABLISHED)
		check_agreement(w, ev->conn);
	if (ev->type == RN_CM_EV_TIMEWAIT_EXIT &&
	    (!l->timewait_from ||
	     w->net->now - l->timewait_from < timewait_of(rn_cm_conn_info(ev->conn))))
		fail(w, "a time-wait ends before its time");
}

static void take_event(struct conns *w, struct host *h, const struct rn_cm_event *ev)
{
	struct record *l;

	note(w, (uint64_t)ev->type);
	trace_event(w, h, "hears", rn_cm_event_name(ev->type),
		    rn_cm_conn_info(ev->conn)->local_id);
	if (ev->type == RN_CM_EV_REQ || ev->type == RN_CM_EV_SIDR_REQ) {
		take_request(w, h, ev);
		return;
	}
	l = record_of(h, ev->conn);
	if (!l) {
		fail(w, "an event comes to a program that has left");
		return;
	}
	check_event(w, l, ev);
	l->seen |= 1u << ev->type;
	l->act_at = think_until(w);
	w->r->resolved += ev->type == RN_CM_EV_SIDR_REP && ev->status == 0;
	w->r->ended += ev->type == RN_CM_EV_DISCONNECTED;
	if (ev->type == RN_CM_EV_LAP)
		expect_ok(w, rn_cm_answer_alternate(h->cm, ev->conn, RN_CM_APR_SUCCESS));
}

/* ---- CM messages on the network ---- */

/* Sends a CM message. Its delay, loss and duplication are drawn here, at random, because
 * the links of the simulated network take no time and lose nothing.
 */
static void send_message(struct conns *w, const struct host *h, const struct rn_cm_tx *tx)
{
	struct rn_vnet_packet p = { .flow = tx->flow,
				    .from = (uint32_t)(h - w->host),
				    .to = rn_vnet_host_of(w->net, &tx->flow.dst),
				    .len = RN_MAD_LEN };
	unsigned copies = rn_random_ppm(&w->network, w->double_ppm) ? 2 : 1;

	memcpy(p.bytes, tx->pkt + RN_GSI_MAD_AT, RN_MAD_LEN);
	w->r->messages++;
	w->r->doubled += copies - 1;
	for (; copies; copies--) {
		bool late = rn_random_below(&w->network, 8) == 0;
		rn_ns delay =
			(late ? 3 * SECOND : 0) + rn_random_below(&w->network, 2000000);

		if (rn_random_ppm(&w->network, w->loss_ppm) ||
		    !rn_vnet_send(w->net, &p, delay))
			w->r->lost++;
		else
			w->r->late += late;
	}
}

/* ---- Hosts: creation, crashes and reboots ---- */

static void open_table(struct conns *w, struct host *h)
{
	const struct rn_cm_cfg cfg = {
		.conn_max = RECORDS,
		.seed = rn_random_next(&w->random),
	};

	h->cm = rn_cm_init(h->block, &cfg);
	h->qpn = FIRST_QPN;
	memset(h->record, 0, sizeof(h->record));
	rn_cm_listener_ip(&h->listener[0], RN_CM_PS_TCP, PORT, NULL);
	rn_cm_listener_ip(&h->listener[1], RN_CM_PS_UDP, PORT, gid_of(w, h));
	for (unsigned i = 0; i < LISTENERS; i++)
		if (rn_cm_listen(h->cm, &h->listener[i]))
			fail(w, "nobody listens, and nobody may");
}

/* The host reboots: its CM forgets everything. No peer gets a message about it. */
static void reboot(struct conns *w, struct host *h)
{
	trace_event(w, h, "reboots", "", 0);
	w->r->reboots++;
	open_table(w, h);
}

/* Ends a process. The CM of its host rejects or disconnects its connections. */
static void crash(struct conns *w, struct host *h, unsigned process)
{
	trace_event(w, h, "crashes", "process", process);
	w->r->crashes++;
	for (unsigned i = 0; i < RECORDS; i++)
		if (h->record[i].conn && h->record[i].process == process)
			close_conn(w, h, &h->record[i]);
}

/* Makes a process crash or a host reboot. Returns the host. */
static struct host *cause_fault(struct conns *w)
{
	struct host *h = &w->host[draw(w, w->hosts)];

	w->trouble--;
	if (draw(w, 3))
		crash(w, h, draw(w, PROCESSES));
	else
		reboot(w, h);
	return h;
}

/* ---- Work of one host after an event ---- */

static void drain(struct conns *w, struct host *h)
{
	struct rn_cm_event ev;
	struct rn_cm_tx tx;

	while (rn_cm_next_event(h->cm, &ev))
		take_event(w, h, &ev);
	while (rn_cm_transmit(h->cm, &tx))
		send_message(w, h, &tx);
}

static void serve_host(struct conns *w, struct host *h)
{
	drain(w, h);
	rn_cm_expire(h->cm, w->net->now);
	drain(w, h);
	for (unsigned i = 0; i < RECORDS; i++)
		if (h->record[i].conn && h->record[i].act_at <= w->net->now)
			act_on_conn(w, h, &h->record[i]);
	drain(w, h);
	note_timewait(w, h);
}

/* Implements rn_vnet_ops.deadline: returns the time at which the connection manager or a
 * program of the host has to do something.
 */
static rn_ns deadline(void *ctx, uint32_t host)
{
	const struct conns *w = ctx;
	const struct host *h = &w->host[host];
	rn_ns next = rn_cm_deadline(h->cm);

	for (unsigned i = 0; i < RECORDS; i++)
		if (h->record[i].conn && h->record[i].act_at < next)
			next = h->record[i].act_at;
	return next;
}

static void on_expire(void *ctx, uint32_t host)
{
	struct conns *w = ctx;

	serve_host(w, &w->host[host]);
}

static void on_arrival(void *ctx, uint32_t host, struct rn_vnet_packet *p)
{
	struct conns *w = ctx;
	const struct rn_flow flow = {
		.src = p->flow.src,
		.dst = p->flow.dst,
		.ifindex = 1,
		.hop_limit = 64,
	};

	note(w, (uint64_t)w->net->now);
	rn_cm_receive(w->host[host].cm, w->net->now,
		      &(struct rn_cm_rx){ .flow = &flow, .src_qpn = 1, .mad = p->bytes });
	serve_host(w, &w->host[host]);
}

/* Implements rn_vnet_ops.happen: lets a host request a connection, or causes a fault.
 * Then schedules the next such event.
 */
static void happen(void *ctx, uint32_t what, uint32_t arg)
{
	struct conns *w = ctx;
	struct host *h;
	rn_ns next;

	(void)what, (void)arg;
	if (w->trouble && (!w->left || draw(w, 6) == 0)) {
		h = cause_fault(w);
	} else {
		h = &w->host[draw(w, w->hosts)];
		request_connection(w, h);
	}
	next = w->net->now + draw(w, 3000) * RN_USEC(1000);
	if (w->left || w->trouble)
		rn_vnet_put(w->net, next, RN_VNET_OWN, 0);
	serve_host(w, h);
	rn_vnet_rearm(w->net, (uint32_t)(h - w->host));
}

static const struct rn_vnet_ops network = {
	.arrive = on_arrival,
	.expire = on_expire,
	.deadline = deadline,
	.happen = happen,
};

/* ---- A run: network, faults and end ---- */

/* Joins the hosts by a switch and links that take no time. */
static void build(struct conns *w)
{
	static const struct rn_link_cfg plain = { 0 };
	uint32_t its_switch;

	rn_vnet_clear(w->net, RN_USEC(1));
	its_switch = rn_vnet_add_switch(w->net);
	for (unsigned n = 0; n < w->hosts; n++) {
		const struct rn_gid gid = rn_vnet_gid(n, false);

		rn_vnet_add_host(w->net, NULL, &gid);
		rn_vnet_join(w->net, &(struct rn_vnet_side){ n, 0, &plain, 0 },
			     &(struct rn_vnet_side){ its_switch, n, &plain, 0 });
		rn_vnet_route(w->net, its_switch, n, n, 1);
	}
}

static int open_hosts(struct conns *w)
{
	size_t size = (rn_cm_size(RECORDS) + 15) & ~(size_t)15;

	w->net = rn_vnet_new(&(struct rn_vnet_cfg){ .hosts = RN_CONNECTIONS_HOSTS,
						    .switches = 1,
						    .switch_ports = RN_CONNECTIONS_HOSTS,
						    .packets = FLIGHT,
						    .events = 1,
						    .ops = &network,
						    .ctx = w });
	if (!w->net)
		return -ENOMEM;
	build(w);
	for (unsigned n = 0; n < w->hosts; n++) {
		struct host *h = &w->host[n];

		h->guid = UINT64_C(0x0200000000000000) + n;
		h->block = aligned_alloc(16, size);
		if (!h->block)
			return -ENOMEM;
		open_table(w, h);
	}
	return 0;
}

static void close_hosts(struct conns *w)
{
	for (unsigned n = 0; n < w->hosts; n++)
		free(w->host[n].block);
	rn_vnet_free(w->net);
	free(w);
}

static void check_rest(struct conns *w)
{
	for (unsigned n = 0; n < w->hosts; n++) {
		const struct host *h = &w->host[n];

		for (unsigned i = 0; i < RECORDS; i++)
			if (h->record[i].conn)
				fail(w, "a program waits for what does not come");
		if (rn_cm_conn_count(h->cm))
			fail(w, "an entry is left in a table");
		for (unsigned i = 0; i < LISTENERS; i++)
			if (h->listener[i].pending_count)
				fail(w, "a listener still counts what was answered");
	}
}

static void set_up(struct conns *w)
{
	w->random = rn_random_of(w->cfg->seed, 1);
	w->network = rn_random_of(w->cfg->seed, 2);
	w->hosts = w->cfg->hosts;
	if (!w->hosts)
		w->hosts = 2 + draw(w, RN_CONNECTIONS_HOSTS - 1);
	w->left = 1 + draw(w, ASKED_MAX);
	w->trouble = draw(w, 2) ? draw(w, 5) : 0;
	w->loss_ppm = draw(w, 3) ? draw(w, 300000) : 0;
	w->double_ppm = draw(w, 3) ? draw(w, 400000) : 0;
}

static void run_to_end(struct conns *w)
{
	rn_vnet_put(w->net, w->net->now, RN_VNET_OWN, 0);
	while (!w->r->failed && rn_vnet_next(w->net) != RN_NEVER) {
		if (rn_vnet_next(w->net) > HOUR)
			fail(w, "it does not come to an end");
		rn_vnet_step(w->net);
	}
	check_rest(w);
	w->r->at = w->net->now;
}

int rn_connections_run(const struct rn_connections_cfg *cfg,
		       struct rn_connections_result *result)
{
	struct conns *w = calloc(1, sizeof(*w));
	int rc;

	*result = (struct rn_connections_result){ 0 };
	if (!w)
		return -ENOMEM;
	w->cfg = cfg;
	w->r = result;
	set_up(w);
	rc = open_hosts(w);
	if (!rc)
		run_to_end(w);
	close_hosts(w);
	return rc;
}
