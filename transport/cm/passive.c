/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* passive.c - the side that is asked: REQ in, REP out, RTU in.
 *
 * A REQ is looked at in the order in which Linux does: is it one that came before, does
 * the peer use a QP that we think is connected, is anybody listening, is the path ours.
 */
#include "cm.h"

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

/* A REQ that came before. */
static void repeat_req(struct rn_cm *cm, const struct rn_cm_in *in,
		       struct rn_cm_conn *conn)
{
	rn_cm_stat(cm, RN_CM_STAT_DUPLICATES);
	if (conn->info.state == RN_CM_MRA_REQ_SENT) {
		rn_cm_ask_patience(cm, in->now, conn);
	} else if (conn->info.state == RN_CM_TIMEWAIT) {
		rn_cm_stat(cm, RN_CM_STAT_STALE);
		refuse(cm, in, RN_CM_REJ_STALE_CONN);
	}
	/* Else: the program still thinks, or the REP is sent again by its timer. */
}

/* Return: true if the peer has begun anew with a QP that we think is connected. */
static bool is_stale(struct rn_cm *cm, const struct rn_cm_in *in)
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

/* Return: a reason to say no, or 0. */
static uint16_t judge(const struct rn_cm_in *in)
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
	/* Linux' rdma_cm refuses it so, as what consumers of its CM do. */
	if (rn_cm_service_is_ip(req->service_id) && rn_cm_ip_hdr_parse(&ip, req->data))
		return RN_CM_REJ_CONSUMER;
	return 0;
}

/* As we send: what is the sender's is the remote end. */
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
	/* What the peer takes at a time is what we may ask for, and the other way round.
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
	rn_cm_keep(conn->open_data, req->data, sizeof(req->data));
}

static void new_conn(struct rn_cm *cm, const struct rn_cm_in *in,
		     struct rn_cm_listener *l)
{
	struct rn_cm_conn *conn = rn_cm_conn_wanted(cm, l);

	if (!conn)
		return;
	take_req(conn, in);
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
	if (is_stale(cm, in))
		return;
	l = rn_cm_match(cm, in, req->service_id, req->data, &known);
	reason = known ? judge(in) : RN_CM_REJ_INVALID_SERVICE_ID;
	if (!reason && !l)
		reason = RN_CM_REJ_CONSUMER; /* as Linux: of another address */
	if (reason)
		refuse(cm, in, reason);
	else
		new_conn(cm, in, l);
}

/* ---- REP ---- */

static void fill_rep(const struct rn_cm *cm, const struct rn_cm_conn *conn,
		     const struct rn_cm_offer *offer, struct rn_cm_msg *msg)
{
	bool is_xrc = conn->info.transport == RN_CM_TRANSPORT_EXTENDED;

	*msg = (struct rn_cm_msg){
		.attr = RN_CM_REP,
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
	rn_cm_put_data(msg->rep.data, RN_CM_REP_DATA, offer->data, offer->data_len);
}

int rn_cm_accept(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		 const struct rn_cm_offer *offer)
{
	struct rn_cm_msg msg;

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

/* ---- RTU ---- */

static void establish(struct rn_cm *cm, struct rn_cm_conn *conn)
{
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
	rn_cm_keep(conn->open_data, rtu->data, sizeof(rtu->data));
	establish(cm, conn);
}

int rn_cm_established(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (conn->info.state == RN_CM_ESTABLISHED)
		return -EISCONN;
	if (conn->info.state != RN_CM_REP_SENT && conn->info.state != RN_CM_MRA_REP_RCVD)
		return -EINVAL;
	memset(conn->open_data, 0, sizeof(conn->open_data));
	establish(cm, conn);
	return 0;
}
