/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connect.c - sets up connections, and loads alternate paths of established ones.
 *
 * The active side sends a REQ, receives a REP and sends an RTU; the passive side receives
 * the REQ, sends the REP and receives the RTU. A REQ is checked in the same order as by
 * Linux: whether it is a duplicate, whether it names a QP that we think is connected,
 * whether there is a listener, and whether the path is valid. Either side may load an
 * alternate path later: it sends a LAP, and the other side answers by an APR.
 */
#include "cm.h"

/* -------------------------------- active side: REQ is sent, REP is received */
/* Compute the local ACK timeout code for a path with packet lifetime code @lifetime and a
 * peer with ACK delay code @ack_delay, as Linux' cm_ack_timeout() does. Codes are
 * logarithms of times, so the code for a sum of two times is the larger of their codes,
 * plus 1 if the smaller is nearly as large.
 */
static uint8_t ack_timeout_code(uint8_t ack_delay, uint8_t lifetime)
{
	/* twice the lifetime, as a packet and its ACK both travel */
	int code = lifetime + 1;

	if (code >= ack_delay)
		code += ack_delay >= code - 1;
	else
		code = ack_delay + (code >= ack_delay - 1);
	return (uint8_t)(code < 31 ? code : 31);
}

static bool is_good_mtu(uint8_t mtu)
{
	return mtu >= 1 && mtu <= 5;
}

bool rn_cm_route_is_good(const struct rn_cm_route *r)
{
	static const struct rn_gid none;
	const struct rn_gid *src = &r->flow.src, *dst = &r->flow.dst;

	return is_good_mtu(r->mtu) && rn_gid_is_ipv4(src) == rn_gid_is_ipv4(dst) &&
	       !rn_cm_same_gid(src, &none) && !rn_cm_same_gid(dst, &none) &&
	       !rn_gid_is_multicast(src) && !rn_gid_is_multicast(dst) &&
	       r->flow_label <= 0xfffff && r->sl <= 15 && r->rate <= 63 &&
	       r->lifetime <= 31;
}

static uint8_t lifetime_of(const struct rn_cm_route *r)
{
	return r->lifetime ? r->lifetime : RN_CM_LIFETIME_DEFAULT;
}

void rn_cm_path_of_route(struct rn_cm_path_rec *path, const struct rn_cm_route *r,
			 uint8_t ack_timeout)
{
	uint8_t hop_limit = r->flow.hop_limit ? r->flow.hop_limit : 64;
	bool is_routed = hop_limit > 1;

	*path = (struct rn_cm_path_rec){
		.local_lid = is_routed ? 0xffff : 0,
		.remote_lid = is_routed ? 0xffff : 0,
		.local_gid = r->flow.src,
		.remote_gid = r->flow.dst,
		.flow_label = r->flow_label,
		.rate = r->rate,
		.tclass = r->flow.tclass,
		.hop_limit = hop_limit,
		.sl = r->sl,
		.subnet_local = !is_routed,
		.ack_timeout = ack_timeout,
	};
}

static void fill_req(const struct rn_cm *cm, const struct rn_cm_conn *conn,
		     const struct rn_cm_route *route, const struct rn_cm_offer *offer,
		     struct rn_cm_msg *msg)
{
	*msg = (struct rn_cm_msg){
		.attr = RN_CM_REQ,
		.data = offer->data,
		.data_len = offer->data_len,
		.req = {
			.local_id = conn->info.local_id,
			.vendor_id = offer->vendor_id,
			.service_id = conn->info.service_id,
			.ca_guid = offer->ca_guid,
			.qkey = offer->qkey,
			.qpn = offer->qpn,
			.resp_res = offer->resp_res,
			.init_depth = offer->init_depth,
			.remote_resp_timeout = cm->cfg.resp_timeout,
			.transport = offer->transport,
			.flow_control = offer->flow_control,
			.start_psn = offer->psn,
			.local_resp_timeout = cm->cfg.resp_timeout,
			.retry_count = offer->retry_count,
			.pkey = conn->info.qp.pkey,
			.mtu = route->mtu,
			.rnr_retry_count = offer->rnr_retry_count,
			.max_cm_retries = cm->cfg.max_retries,
			.srq = offer->srq,
			.ext_transport = offer->ext_transport,
			.primary = conn->info.qp.path,
		},
	};
}

int rn_cm_connect(struct rn_cm *cm, rn_ns now, uint64_t service_id,
		  const struct rn_cm_route *route, const struct rn_cm_offer *offer,
		  struct rn_cm_conn **out)
{
	uint8_t lifetime = lifetime_of(route);
	struct rn_cm_conn *conn;
	struct rn_cm_msg msg;

	if (!rn_cm_route_is_good(route) || !rn_cm_offer_is_good(offer, RN_CM_REQ_DATA))
		return -EINVAL;
	conn = rn_cm_conn_new(cm);
	if (!conn)
		return -ENOMEM;
	conn->info.is_active = true;
	conn->is_proven = true;
	conn->info.transport = offer->transport;
	conn->info.ext_transport = offer->ext_transport;
	conn->info.service_id = service_id;
	conn->info.flow = route->flow;
	conn->info.flow.sport = 0;
	conn->info.qp = (struct rn_cm_qp){
		.rq_psn = offer->psn,
		.path_mtu = route->mtu,
		.max_dest_rd_atomic = offer->resp_res,
		.max_rd_atomic = offer->init_depth,
		.timeout = ack_timeout_code(cm->cfg.ack_delay, lifetime),
		.retry_cnt = offer->retry_count,
		.rnr_retry = offer->rnr_retry_count,
		.pkey = route->pkey ? route->pkey : 0xffff,
	};
	rn_cm_path_of_route(&conn->info.qp.path, route, conn->info.qp.timeout);
	conn->info.flow.hop_limit = conn->info.qp.path.hop_limit;
	conn->local_qpn = offer->qpn;
	conn->local_guid = offer->ca_guid;
	conn->lifetime = lifetime;
	conn->resp_timeout = 2 * rn_cm_time(lifetime) + rn_cm_time(cm->cfg.resp_timeout);
	conn->tid = rn_cm_new_tid(cm, conn);
	conn->info.state = RN_CM_REQ_SENT;
	fill_req(cm, conn, route, offer, &msg);
	rn_cm_say(cm, conn, &msg, conn->tid, offer->vendor_option);
	rn_cm_insist(cm, now, conn, conn->resp_timeout);
	*out = conn;
	return 0;
}

static uint8_t min8(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void refuse_rep(struct rn_cm *cm, const struct rn_cm_in *in, uint16_t reason)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_REJ,
		.rej = {
			.local_id = in->msg.rep.remote_id,
			.remote_id = in->msg.rep.local_id,
			.about = RN_CM_ABOUT_REP,
			.reason = reason,
		},
	};

	rn_cm_stat(cm, RN_CM_STAT_REJ_SENT);
	rn_cm_reply(cm, in, &msg);
}

/* Return: the type (attribute) of the message that was sent last. */
static uint16_t said_last(const struct rn_cm_conn *conn)
{
	struct rn_mad_hdr hdr;

	rn_mad_hdr_parse(&hdr, conn->out + RN_GSI_MAD_AT);
	return hdr.attr_id;
}

static void repeat_rtu(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_RTU,
		.rtu = { .local_id = conn->info.local_id,
			 .remote_id = conn->info.remote_id },
	};

	if (said_last(conn) == RN_CM_RTU)
		rn_cm_say_again(cm, conn);
	else if (conn->lap == RN_CM_LAP_NONE)
		rn_cm_say(cm, conn, &msg, conn->tid, 0);
}

/* Handle a duplicate of a REP. It came because our RTU or MRA was lost, so send that
 * again.
 */
static void repeat_rep(struct rn_cm *cm, const struct rn_cm_in *in,
		       struct rn_cm_conn *conn)
{
	rn_cm_stat(cm, RN_CM_STAT_DUPLICATES);
	if (conn->info.state == RN_CM_ESTABLISHED)
		repeat_rtu(cm, conn);
	else if (conn->info.state == RN_CM_MRA_REP_SENT)
		rn_cm_ask_patience(cm, in->now, conn);
}

/* Copy the values of the REP to the connection. If the peer grants more resources than we
 * have requested, the surplus is ignored.
 */
static void take_rep(struct rn_cm_conn *conn, const struct rn_cm_in *in)
{
	const struct rn_cm_rep *rep = &in->msg.rep;
	struct rn_cm_info *info = &conn->info;

	info->remote_id = rep->local_id;
	info->remote_guid = rep->ca_guid;
	info->peer_srq = rep->srq;
	info->peer_flow_control = rep->flow_control;
	info->vendor_id = (uint32_t)rep->vendor_hi << 16 |
			  (uint32_t)rep->vendor_mid << 8 | rep->vendor_low;
	info->vendor_option = in->hdr.attr_mod;
	info->qp.dest_qpn =
		info->transport == RN_CM_TRANSPORT_EXTENDED ? rep->eecn : rep->qpn;
	info->qp.sq_psn = rep->start_psn;
	info->qp.max_dest_rd_atomic = min8(info->qp.max_dest_rd_atomic, rep->init_depth);
	info->qp.max_rd_atomic = min8(info->qp.max_rd_atomic, rep->resp_res);
	info->qp.rnr_retry = rep->rnr_retry_count;
	info->qp.timeout = ack_timeout_code(rep->ack_delay, conn->lifetime);
	info->qp.path.ack_timeout = info->qp.timeout;
	rn_cm_keep(conn->open_data, &in->msg);
}

/* Does the REP name a QP of the peer that belongs to another connection in our table? If
 * so, the peer has forgotten that old connection. Then rejects the REP and, if the old
 * connection is established, ends it by a DREQ.
 */
static bool is_stale_rep(struct rn_cm *cm, const struct rn_cm_in *in,
			 const struct rn_cm_conn *conn)
{
	const struct rn_cm_rep *rep = &in->msg.rep;
	uint32_t qpn =
		conn->info.transport == RN_CM_TRANSPORT_EXTENDED ? rep->eecn : rep->qpn;
	struct rn_cm_conn *old = rn_cm_find_qpn(cm, &in->flow->src, rep->ca_guid, qpn);

	if (!old)
		return false;
	rn_cm_stat(cm, RN_CM_STAT_STALE);
	refuse_rep(cm, in, RN_CM_REJ_STALE_CONN);
	if (old->info.state == RN_CM_ESTABLISHED)
		rn_cm_send_dreq(cm, in->now, old, NULL, 0);
	return true;
}

void rn_cm_on_rep(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_rep *rep = &in->msg.rep;
	struct rn_cm_conn *conn = rn_cm_find(cm, in, rep->remote_id, rep->local_id);

	if (!conn || !rep->local_id) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	if (conn->info.state != RN_CM_REQ_SENT &&
	    conn->info.state != RN_CM_MRA_REQ_RCVD) {
		repeat_rep(cm, in, conn);
		return;
	}
	if (rn_cm_find_peer(cm, &in->flow->src, rep->ca_guid, rep->local_id)) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	if (is_stale_rep(cm, in, conn))
		return;
	rn_cm_calm(cm, conn);
	rn_list_remove(&conn->tx);
	take_rep(conn, in);
	conn->mra_from = in->now + rn_cm_time(cm->cfg.resp_timeout) / 2;
	rn_cm_index_peer(cm, conn);
	rn_cm_index_qpn(cm, conn);
	conn->info.state = RN_CM_REP_RCVD;
	rn_cm_raise(cm, conn, RN_CM_EV_REP, 0);
}

int rn_cm_ready(struct rn_cm *cm, struct rn_cm_conn *conn, const uint8_t *data,
		uint32_t data_len)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_RTU,
		.data = data,
		.data_len = data_len,
		.rtu = { .local_id = conn->info.local_id,
			 .remote_id = conn->info.remote_id },
	};

	rn_cm_touch(cm, conn);
	if (data_len > RN_CM_RTU_DATA || (conn->info.state != RN_CM_REP_RCVD &&
					  conn->info.state != RN_CM_MRA_REP_SENT))
		return -EINVAL;
	rn_cm_say(cm, conn, &msg, conn->tid, 0);
	conn->info.state = RN_CM_ESTABLISHED;
	return 0;
}

/* -------------------------------------------- passive side: REQ is received */
static void refuse(struct rn_cm *cm, const struct rn_cm_in *in, uint16_t reason)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_REJ,
		.rej = {
			.remote_id = in->msg.req.local_id,
			.about = RN_CM_ABOUT_REQ,
			.reason = reason,
		},
	};

	if (reason == RN_CM_REJ_INVALID_GID) {
		msg.rej.ari_len = sizeof(in->flow->dst.raw);
		memcpy(msg.rej.ari, in->flow->dst.raw, sizeof(in->flow->dst.raw));
	}
	rn_cm_stat(cm, RN_CM_STAT_REJ_SENT);
	rn_cm_reply(cm, in, &msg);
}

/* Handle a duplicate of a REQ. */
static void repeat_req(struct rn_cm *cm, const struct rn_cm_in *in,
		       struct rn_cm_conn *conn)
{
	rn_cm_stat(cm, RN_CM_STAT_DUPLICATES);
	/* A duplicate that comes from the peer raises the number of messages that may be
	 * sent to it (the credit). In time-wait that is not needed, as refuse() answers
	 * the REQ by a REJ without the connection.
	 */
	if (conn->info.state != RN_CM_TIMEWAIT)
		rn_cm_credit(cm, in->now, conn);
	if (conn->info.state == RN_CM_MRA_REQ_SENT) {
		rn_cm_ask_patience(cm, in->now, conn);
	} else if (conn->info.state == RN_CM_TIMEWAIT) {
		rn_cm_stat(cm, RN_CM_STAT_STALE);
		refuse(cm, in, RN_CM_REJ_STALE_CONN);
	}
	/* In all other states nothing is to be done: either the program has not answered
	 * the REQ yet, or the timer sends the REP again.
	 */
}

/* Does the REQ name a QP of the peer that belongs to a connection in our table? If so,
 * the peer has forgotten that old connection. Then rejects the REQ and, if the old
 * connection is established, ends it by a DREQ.
 */
static bool is_stale_req(struct rn_cm *cm, const struct rn_cm_in *in)
{
	const struct rn_cm_req *req = &in->msg.req;
	struct rn_cm_conn *old =
		rn_cm_find_qpn(cm, &in->flow->src, req->ca_guid, req->qpn);

	if (!old)
		return false;
	rn_cm_stat(cm, RN_CM_STAT_STALE);
	refuse(cm, in, RN_CM_REJ_STALE_CONN);
	if (old->info.state == RN_CM_ESTABLISHED)
		rn_cm_send_dreq(cm, in->now, old, NULL, 0);
	return true;
}

static bool is_usable_path(const struct rn_cm_path_rec *p)
{
	static const struct rn_gid none;

	return rn_gid_is_ipv4(&p->local_gid) == rn_gid_is_ipv4(&p->remote_gid) &&
	       !rn_cm_same_gid(&p->local_gid, &none) &&
	       !rn_gid_is_multicast(&p->local_gid);
}

/* Check the values of a REQ. Return: the reason to reject it, or 0. */
static uint16_t why_refuse(const struct rn_cm_in *in)
{
	const struct rn_cm_req *req = &in->msg.req;
	struct rn_cm_ip_hdr ip;

	if (req->transport == RN_CM_TRANSPORT_RD ||
	    (req->transport == RN_CM_TRANSPORT_EXTENDED && req->ext_transport != 1))
		return RN_CM_REJ_INVALID_TRANSPORT;
	if (!rn_cm_same_gid(&req->primary.remote_gid, &in->flow->dst) ||
	    !is_usable_path(&req->primary))
		return RN_CM_REJ_INVALID_GID;
	if (req->mtu < 1 || req->mtu > 5)
		return RN_CM_REJ_INVALID_MTU;
	/* Linux' rdma_cm rejects a REQ without a valid IP CM header with this reason; it
	 * is a consumer of the CM.
	 */
	if (rn_cm_service_is_ip(req->service_id) && rn_cm_ip_hdr_parse(&ip, in->msg.data))
		return RN_CM_REJ_CONSUMER;
	return 0;
}

/* Return: the path of a REQ as seen from our side. @p is the path as the peer has written
 * it; local and remote values are exchanged.
 */
static struct rn_cm_path_rec turned(const struct rn_cm_path_rec *p)
{
	struct rn_cm_path_rec path = *p;

	path.local_lid = p->remote_lid;
	path.remote_lid = p->local_lid;
	path.local_gid = p->remote_gid;
	path.remote_gid = p->local_gid;
	return path;
}

static void take_req(struct rn_cm_conn *conn, const struct rn_cm_in *in)
{
	const struct rn_cm_req *req = &in->msg.req;
	struct rn_cm_info *info = &conn->info;

	info->transport = req->transport;
	info->ext_transport = req->ext_transport;
	info->peer_srq = req->srq;
	info->peer_flow_control = req->flow_control;
	info->remote_id = req->local_id;
	info->remote_guid = req->ca_guid;
	info->service_id = req->service_id;
	info->vendor_id = req->vendor_id;
	info->vendor_option = in->hdr.attr_mod;
	info->flow = (struct rn_flow){
		.src = in->flow->dst,
		.dst = in->flow->src,
		.ifindex = in->flow->ifindex,
		.tclass = req->primary.tclass,
		.hop_limit = req->primary.hop_limit ? req->primary.hop_limit : 64,
	};
	/* The number of READs and atomics that the peer can respond to becomes the number
	 * that we may have outstanding, and vice versa.
	 */
	info->qp = (struct rn_cm_qp){
		.dest_qpn = req->qpn,
		.sq_psn = req->start_psn,
		.path_mtu = req->mtu,
		.max_dest_rd_atomic = req->init_depth,
		.max_rd_atomic = req->resp_res,
		.timeout = req->primary.ack_timeout,
		.retry_cnt = req->retry_count,
		.rnr_retry = req->rnr_retry_count,
		.pkey = req->pkey,
		.path = turned(&req->primary),
		.alternate = turned(&req->alternate),
	};
	conn->tid = in->hdr.tid;
	conn->mra_from = in->now + rn_cm_time(req->remote_resp_timeout) / 2;
	conn->max_retries = req->max_cm_retries;
	conn->resp_timeout = rn_cm_time(req->local_resp_timeout);
	rn_cm_keep(conn->open_data, &in->msg);
}

static void new_conn(struct rn_cm *cm, const struct rn_cm_in *in,
		     struct rn_cm_listener *l)
{
	struct rn_cm_conn *conn = rn_cm_conn_wanted(cm, l);

	if (!conn)
		return;
	take_req(conn, in);
	rn_cm_credit(cm, in->now, conn);
	rn_cm_index_peer(cm, conn);
	rn_cm_index_qpn(cm, conn);
	conn->info.state = RN_CM_REQ_RCVD;
	rn_cm_raise(cm, conn, RN_CM_EV_REQ, 0);
}

void rn_cm_on_req(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_req *req = &in->msg.req;
	struct rn_cm_listener *l;
	struct rn_cm_conn *old;
	uint16_t reason;
	bool known;

	if (!req->local_id) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_ATTR);
		return;
	}
	old = rn_cm_find_peer(cm, &in->flow->src, req->ca_guid, req->local_id);
	if (old) {
		repeat_req(cm, in, old);
		return;
	}
	if (is_stale_req(cm, in))
		return;
	l = rn_cm_match(cm, in, req->service_id, in->msg.data, &known);
	reason = known ? why_refuse(in) : RN_CM_REJ_INVALID_SERVICE_ID;
	if (!reason && !l)
		/* A listener has the service ID, but another address. Linux rejects such
		 * a REQ with this reason.
		 */
		reason = RN_CM_REJ_CONSUMER;
	if (reason)
		refuse(cm, in, reason);
	else
		new_conn(cm, in, l);
}

/* ---- Sending of a REP ---- */

static void fill_rep(const struct rn_cm *cm, const struct rn_cm_conn *conn,
		     const struct rn_cm_offer *offer, struct rn_cm_msg *msg)
{
	bool is_xrc = conn->info.transport == RN_CM_TRANSPORT_EXTENDED;

	*msg = (struct rn_cm_msg){
		.attr = RN_CM_REP,
		.data = offer->data,
		.data_len = offer->data_len,
		.rep = {
			.local_id = conn->info.local_id,
			.remote_id = conn->info.remote_id,
			.qkey = offer->qkey,
			.qpn = is_xrc ? 0 : offer->qpn,
			.eecn = is_xrc ? offer->qpn : 0,
			.start_psn = offer->psn,
			.resp_res = offer->resp_res,
			.init_depth = offer->init_depth,
			.ack_delay = cm->cfg.ack_delay,
			.flow_control = offer->flow_control,
			.rnr_retry_count = offer->rnr_retry_count,
			.srq = offer->srq,
			.ca_guid = offer->ca_guid,
			.vendor_hi = (uint8_t)(offer->vendor_id >> 16),
			.vendor_mid = (uint8_t)(offer->vendor_id >> 8),
			.vendor_low = (uint8_t)offer->vendor_id,
		},
	};
}

int rn_cm_accept(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		 const struct rn_cm_offer *offer)
{
	struct rn_cm_msg msg;

	rn_cm_touch(cm, conn);
	if (!rn_cm_offer_is_good(offer, RN_CM_REP_DATA) ||
	    (conn->info.state != RN_CM_REQ_RCVD &&
	     conn->info.state != RN_CM_MRA_REQ_SENT))
		return -EINVAL;
	rn_cm_taken(conn);
	conn->local_qpn = offer->qpn;
	conn->local_guid = offer->ca_guid;
	conn->info.qp.rq_psn = offer->psn;
	conn->info.qp.max_dest_rd_atomic = offer->resp_res;
	conn->info.qp.max_rd_atomic = offer->init_depth;
	fill_rep(cm, conn, offer, &msg);
	rn_cm_say(cm, conn, &msg, conn->tid, offer->vendor_option);
	conn->info.state = RN_CM_REP_SENT;
	rn_cm_insist(cm, now, conn, conn->resp_timeout);
	return 0;
}

/* ---- Receiving of an RTU ---- */

static void establish(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	/* The program has received data of this connection. That proves as much as an RTU
	 * does: the peer knows our QPN and PSN, so its address is not forged.
	 */
	conn->is_proven = true;
	rn_cm_calm(cm, conn);
	rn_list_remove(&conn->tx);
	conn->info.state = RN_CM_ESTABLISHED;
	rn_cm_raise(cm, conn, RN_CM_EV_ESTABLISHED, 0);
}

void rn_cm_on_rtu(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_ids *rtu = &in->msg.rtu;
	struct rn_cm_conn *conn = rn_cm_find(cm, in, rtu->remote_id, rtu->local_id);

	if (!conn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	if (conn->info.state != RN_CM_REP_SENT &&
	    conn->info.state != RN_CM_MRA_REP_RCVD) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	rn_cm_keep(conn->open_data, &in->msg);
	establish(cm, conn);
}

int rn_cm_established(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	rn_cm_touch(cm, conn);
	if (conn->info.state == RN_CM_ESTABLISHED)
		return -EISCONN;
	if (conn->info.state != RN_CM_REP_SENT && conn->info.state != RN_CM_MRA_REP_RCVD)
		return -EINVAL;
	memset(conn->open_data, 0, sizeof(conn->open_data));
	establish(cm, conn);
	return 0;
}

/* ---------------------------------------------------------- alternate paths */
int rn_cm_load_alternate(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
			 const struct rn_cm_route *route)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_LAP,
		.lap = { .local_id = conn->info.local_id,
			 .remote_id = conn->info.remote_id,
			 .remote_qpn = conn->info.qp.dest_qpn,
			 .remote_resp_timeout = cm->cfg.resp_timeout },
	};

	rn_cm_touch(cm, conn);
	if (conn->info.state != RN_CM_ESTABLISHED || !rn_cm_route_is_good(route))
		return -EINVAL;
	if (conn->lap != RN_CM_LAP_NONE)
		return -EALREADY;
	rn_cm_path_of_route(&msg.lap.alternate, route, conn->info.qp.timeout);
	conn->info.qp.alternate = msg.lap.alternate;
	conn->lap = RN_CM_LAP_SENT;
	rn_cm_say(cm, conn, &msg, rn_cm_new_tid(cm, conn), 0);
	rn_cm_insist(cm, now, conn, conn->resp_timeout);
	return 0;
}

/* Look for a LAP with the transaction ID @tid among those received before. Return: 0 if
 * this LAP is a duplicate of the last one; 1 .. RN_CM_LAPS - 1 if it is a duplicate of an
 * older one; RN_CM_LAPS if it is new.
 */
static unsigned find_lap(const struct rn_cm_conn *conn, uint64_t tid)
{
	for (unsigned i = 0; i < conn->laps_heard; i++)
		if (conn->lap_tid[i] == tid)
			return i;
	return RN_CM_LAPS;
}

static void remember_lap(struct rn_cm_conn *conn, uint64_t tid)
{
	memmove(&conn->lap_tid[1], &conn->lap_tid[0],
		(RN_CM_LAPS - 1) * sizeof(conn->lap_tid[0]));
	conn->lap_tid[0] = tid;
	if (conn->laps_heard < RN_CM_LAPS)
		conn->laps_heard++;
}

void rn_cm_on_lap(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_lap *lap = &in->msg.lap;
	struct rn_cm_conn *conn = rn_cm_find(cm, in, lap->remote_id, lap->local_id);
	unsigned before;

	if (!conn || lap->remote_qpn != conn->local_qpn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	if (conn->info.state != RN_CM_ESTABLISHED || conn->lap == RN_CM_LAP_SENT) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	/* A duplicate of the last LAP comes if the APR or the MRA was lost, or if the
	 * program has not answered yet. A duplicate of an older LAP, which has been
	 * answered, was delayed and is ignored.
	 */
	before = find_lap(conn, in->hdr.tid);
	if (before < RN_CM_LAPS) {
		rn_cm_stat(cm, RN_CM_STAT_DUPLICATES);
		if (before == 0 && said_last(conn) == RN_CM_APR)
			rn_cm_say_again(cm, conn);
		else if (before == 0 && said_last(conn) == RN_CM_MRA)
			rn_cm_ask_patience(cm, in->now, conn);
		return;
	}
	if (conn->lap != RN_CM_LAP_NONE) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	conn->lap = RN_CM_LAP_RCVD;
	conn->mra_from = in->now + rn_cm_time(lap->remote_resp_timeout) / 2;
	remember_lap(conn, in->hdr.tid);
	conn->info.qp.alternate = lap->alternate;
	conn->info.qp.alternate.local_lid = lap->alternate.remote_lid;
	conn->info.qp.alternate.remote_lid = lap->alternate.local_lid;
	conn->info.qp.alternate.local_gid = lap->alternate.remote_gid;
	conn->info.qp.alternate.remote_gid = lap->alternate.local_gid;
	rn_cm_keep(conn->open_data, &in->msg);
	rn_cm_raise(cm, conn, RN_CM_EV_LAP, 0);
}

int rn_cm_answer_alternate(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_APR,
		.apr = { .local_id = conn->info.local_id,
			 .remote_id = conn->info.remote_id,
			 .status = status },
	};

	rn_cm_touch(cm, conn);
	if (conn->info.state != RN_CM_ESTABLISHED ||
	    (conn->lap != RN_CM_LAP_RCVD && conn->lap != RN_CM_LAP_MRA_SENT))
		return -EINVAL;
	conn->lap = RN_CM_LAP_NONE;
	rn_cm_say(cm, conn, &msg, conn->lap_tid[0], 0);
	return 0;
}

void rn_cm_on_apr(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_apr *apr = &in->msg.apr;
	struct rn_cm_conn *conn = rn_cm_find(cm, in, apr->remote_id, apr->local_id);

	if (!conn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	if (conn->info.state != RN_CM_ESTABLISHED || conn->lap != RN_CM_LAP_SENT) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	rn_cm_calm(cm, conn);
	rn_list_remove(&conn->tx);
	conn->lap = RN_CM_LAP_NONE;
	rn_cm_keep(conn->end_data, &in->msg);
	conn->ari_len =
		apr->ari_len < RN_CM_ARI_LEN ? apr->ari_len : (uint8_t)RN_CM_ARI_LEN;
	memcpy(conn->ari, apr->ari, RN_CM_ARI_LEN);
	rn_cm_raise(cm, conn, RN_CM_EV_APR, apr->status);
}
