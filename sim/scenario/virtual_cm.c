/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_cm.c - the connection manager of the device in virtual time, and the programs
 * that use it.
 */
#include "virtual_cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PSN = 0x131,
};

#define GUID UINT64_C(0x0200000000000011)

int rn_virtual_cm_init(struct rn_virtual_cm *v, const struct rn_scenario *s,
		       const struct rn_scene_names *n)
{
	const struct rn_cm_cfg cfg = {
		.conn_max = RN_VIRTUAL_CM_CONNS,
		.seed = 1,
		.stats = v->stats,
	};
	size_t size = (rn_cm_size(cfg.conn_max) + 15) & ~(size_t)15;

	memset(v, 0, sizeof(*v));
	v->block = aligned_alloc(16, size);
	if (!v->block)
		return -ENOMEM;
	v->cm = rn_cm_init(v->block, &cfg);
	v->gsi.resp_timeout = RN_CM_RESP_TIMEOUT;
	v->s = s;
	v->names = n;
	return 0;
}

void rn_virtual_cm_fini(struct rn_virtual_cm *v)
{
	free(v->block);
	v->block = NULL;
	v->cm = NULL;
}

/* ----------------------------------------------------- packets of queue pair 1 */
void rn_virtual_cm_receive(struct rn_virtual_cm *v, rn_ns now,
			   const struct rn_scene_packet *p)
{
	struct rn_gsi_mad mad;
	enum rn_gsi_verdict verdict =
		rn_gsi_receive(&v->gsi, &p->flow, p->bytes, p->len, &mad);

	if (verdict == RN_GSI_CM)
		rn_cm_receive(v->cm, now,
			      &(struct rn_cm_rx){ .flow = &p->flow,
						  .src_qpn = mad.src_qpn,
						  .mad = mad.mad });
	if (verdict != RN_GSI_REPLY && verdict != RN_GSI_PEER_INFO)
		return;
	v->reply = mad;
	v->reply_flow = (struct rn_flow){ .src = p->flow.dst,
					  .dst = p->flow.src,
					  .hop_limit = 64 };
	v->has_reply = true;
}

bool rn_virtual_cm_transmit(struct rn_virtual_cm *v, rn_ns now, struct rn_scene_packet *p)
{
	struct rn_cm_tx tx = { .flow = v->reply_flow,
			       .dest_qpn = v->reply.src_qpn,
			       .pkt = v->reply.reply };

	if (!v->has_reply && !rn_cm_transmit(v->cm, &tx))
		return false;
	v->has_reply = false;
	p->at = now;
	p->flow = tx.flow;
	p->len = RN_GSI_PACKET_LEN;
	rn_gsi_seal(&v->gsi, &p->flow, tx.dest_qpn, tx.pkt);
	memcpy(p->bytes, tx.pkt, RN_GSI_PACKET_LEN);
	return true;
}

/* ------------------------------------------- events of the connection manager */
void rn_virtual_cm_take_events(struct rn_virtual_cm *v, rn_ns now)
{
	struct rn_cm_event ev;

	while (v->events - v->events_taken < RN_VIRTUAL_CM_EVENTS &&
	       rn_cm_next_event(v->cm, &ev)) {
		unsigned i = v->events++ % RN_VIRTUAL_CM_EVENTS;
		struct rn_scene_cm_event *to = &v->event[i];
		const struct rn_cm_info *info = rn_cm_conn_info(ev.conn);
		const uint8_t *user = info->user;

		*to = (struct rn_scene_cm_event){
			.at = now,
			.type = (uint8_t)ev.type,
			.conn = user ? (uint8_t)(user - (const uint8_t *)v->conn)
				     : RN_SCN_CONNS,
			.remote_id = info->remote_id,
			.status = ev.status,
			.data_len = ev.data_len,
			.ari_len = ev.ari_len,
		};
		if (ev.data)
			memcpy(to->data, ev.data, ev.data_len);
		v->of[i] = ev.conn;
	}
}

/* Makes @conn the connection with index @i. The user pointer of @conn is set to an
 * address from which the index can be computed.
 */
static void adopt(struct rn_virtual_cm *v, unsigned i, struct rn_cm_conn *conn)
{
	v->conn[i] = conn;
	rn_cm_set_user(conn, (uint8_t *)v->conn + i);
}

void rn_virtual_cm_take_event(struct rn_virtual_cm *v, unsigned conn)
{
	unsigned i = v->events_taken++ % RN_VIRTUAL_CM_EVENTS;

	if (v->event[i].type != RN_CM_EV_REQ && v->event[i].type != RN_CM_EV_SIDR_REQ)
		return;
	adopt(v, conn, v->of[i]);
	rn_cm_taken(v->of[i]);
}

/* ------------------------------------------------------- calls of the program */
/* The arguments of a call, besides the connection. */
struct given {
	struct rn_cm_offer offer;
	struct rn_cm_route route;
	uint8_t data[RN_CM_DATA_MAX];
};

static struct rn_cm_route route_of(const struct rn_virtual_cm *v,
				   const struct rn_scn_line *l)
{
	const struct rn_scn_object *o = &v->s->conn[l->subject];
	bool to_other = rn_scn_get(l, RN_F_TO, RN_SCN_TO_ONE) == RN_SCN_TO_OTHER;

	return (struct rn_cm_route){
		.flow = { .src = v->names->device,
			  .dst = to_other ? v->names->other : v->names->peer,
			  .ifindex = v->names->ifindex },
		.mtu = (uint8_t)rn_scn_get(l, RN_F_MTU, 3),
		.lifetime = (uint8_t)rn_scn_get(&o->line, RN_F_LIFETIME, 0),
	};
}

/* Sets the private data to that which the line gives. In a request for an IP service,
 * puts an IP CM header before it.
 */
static void fill_data(const struct rn_virtual_cm *v, const struct rn_scn_line *l,
		      struct given *g)
{
	const struct rn_cm_ip_hdr ip = {
		.src_port = 50001,
		.src = v->names->device,
		.dst = v->names->peer,
	};
	uint64_t service = rn_scene_service(&v->s->conn[l->subject]);
	uint8_t *to = g->data;

	if ((l->verb == RN_SCN_CONNECT || l->verb == RN_SCN_ASK) &&
	    rn_cm_service_is_ip(service))
		to = rn_cm_ip_hdr_emit(to, &ip);
	rn_scene_letters(rn_scn_get(l, RN_F_PRIVATE, 0), to);
	g->offer.data = g->data;
	g->offer.data_len = (uint32_t)(to - g->data) + 8;
}

static void fill(const struct rn_virtual_cm *v, const struct rn_scn_line *l,
		 struct given *g)
{
	memset(g, 0, sizeof(*g));
	g->route = route_of(v, l);
	g->offer = (struct rn_cm_offer){
		.ca_guid = GUID,
		.qpn = (uint32_t)rn_scn_get(l, RN_F_QPN,
					    (uint64_t)RN_SCENE_CM_QPN + l->subject),
		.psn = (uint32_t)rn_scn_get(l, RN_F_PSN, PSN + l->subject),
		.qkey = (uint32_t)rn_scn_get(l, RN_F_QKEY, 0),
		.transport = (uint8_t)rn_scn_get(l, RN_F_TRANSPORT, 0),
		.ext_transport = (uint8_t)rn_scn_get(l, RN_F_EXT, 0),
		.resp_res = (uint8_t)rn_scn_get(l, RN_F_RESP, RN_SCENE_CM_RESP),
		.init_depth = (uint8_t)rn_scn_get(l, RN_F_DEPTH, RN_SCENE_CM_DEPTH),
		.retry_count = (uint8_t)rn_scn_get(l, RN_F_RETRY, RN_SCENE_CM_RETRY),
		.rnr_retry_count =
			(uint8_t)rn_scn_get(l, RN_F_RNR_RETRY, RN_SCENE_CM_RNR_RETRY),
	};
	fill_data(v, l, g);
}

static int listen_for(struct rn_virtual_cm *v, const struct rn_scn_line *l)
{
	struct rn_cm_listener *to = &v->listener[l->subject];
	const struct rn_scn_object *o = &v->s->conn[l->subject];
	int rc;

	if (v->listens[l->subject])
		return -EADDRINUSE;
	*to = (struct rn_cm_listener){
		.service_id = rn_scene_service(o),
		.service_mask = UINT64_MAX,
		.backlog = (uint32_t)rn_scn_get(l, RN_F_BACKLOG, 0),
	};
	rc = rn_cm_listen(v->cm, to);
	v->listens[l->subject] = !rc;
	return rc;
}

static int unlisten(struct rn_virtual_cm *v, unsigned i)
{
	if (!v->listens[i])
		return -ENOENT;
	rn_cm_unlisten(v->cm, &v->listener[i]);
	v->listens[i] = false;
	return 0;
}

/* Executes a call that creates a connection. */
static int begin_conn(struct rn_virtual_cm *v, rn_ns now, const struct rn_scn_line *l)
{
	uint64_t service = rn_scene_service(&v->s->conn[l->subject]);
	struct rn_cm_conn *conn = NULL;
	struct given g;
	int rc;

	fill(v, l, &g);
	if (l->verb == RN_SCN_CONNECT)
		rc = rn_cm_connect(v->cm, now, service, &g.route, &g.offer, &conn);
	else
		rc = rn_cm_sidr_request(v->cm, now, service, &g.route, &g.offer, &conn);
	if (!rc)
		adopt(v, l->subject, conn);
	return rc;
}

static int reject(struct rn_virtual_cm *v, rn_ns now, const struct rn_scn_line *l)
{
	uint8_t data[8];
	const struct rn_cm_no no = {
		.reason = (uint16_t)rn_scn_get(l, RN_F_REASON, RN_CM_REJ_CONSUMER),
		.data = data,
		.data_len = sizeof(data),
	};

	rn_scene_letters(rn_scn_get(l, RN_F_PRIVATE, 0), data);
	return rn_cm_reject(v->cm, now, v->conn[l->subject], &no);
}

static int close_conn(struct rn_virtual_cm *v, rn_ns now, unsigned i)
{
	rn_cm_close(v->cm, now, v->conn[i]);
	v->conn[i] = NULL;
	return 0;
}

/* Executes a call about a connection that exists. */
static int call_conn(struct rn_virtual_cm *v, rn_ns now, const struct rn_scn_line *l)
{
	struct rn_cm_conn *conn = v->conn[l->subject];
	uint8_t status = (uint8_t)rn_scn_get(l, RN_F_CM_STATUS, 0);
	struct given g;

	fill(v, l, &g);
	switch ((int)l->verb) {
	case RN_SCN_ACCEPT:
		return rn_cm_accept(v->cm, now, conn, &g.offer);
	case RN_SCN_READY:
		return rn_cm_ready(v->cm, conn, g.offer.data, g.offer.data_len);
	case RN_SCN_REJECT:
		return reject(v, now, l);
	case RN_SCN_MRA:
		return rn_cm_mra(v->cm, conn,
				 (uint8_t)rn_scn_get(l, RN_F_WAIT, RN_CM_MRA_TIMEOUT),
				 rn_scn_has(l, RN_F_DELAYED));
	case RN_SCN_ESTABLISHED:
		return rn_cm_established(v->cm, conn);
	case RN_SCN_DISCONNECT:
		return rn_cm_disconnect(v->cm, now, conn, g.offer.data, g.offer.data_len);
	case RN_SCN_OFFER_PATH:
		return rn_cm_load_alternate(v->cm, now, conn, &g.route);
	case RN_SCN_ANSWER_PATH:
		return rn_cm_answer_alternate(v->cm, conn, status);
	case RN_SCN_ANSWER:
		return rn_cm_sidr_reply(v->cm, conn, status, &g.offer);
	default:
		return close_conn(v, now, l->subject);
	}
}

int rn_virtual_cm_call(struct rn_virtual_cm *v, rn_ns now, const struct rn_scn_line *l)
{
	if (l->verb == RN_SCN_LISTEN)
		return listen_for(v, l);
	if (l->verb == RN_SCN_UNLISTEN)
		return unlisten(v, l->subject);
	if (l->verb == RN_SCN_CONNECT || l->verb == RN_SCN_ASK)
		return begin_conn(v, now, l);
	return v->conn[l->subject] ? call_conn(v, now, l) : -ENOENT;
}
