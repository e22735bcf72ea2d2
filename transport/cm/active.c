/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* active.c - the side that asks: REQ out, REP in, RTU out. */
#include "cm.h"

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
	rn_cm_put_data(msg->req.data, RN_CM_REQ_DATA, offer->data, offer->data_len);
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
		.timeout = rn_cm_ack_timeout(cm->cfg.ack_delay, lifetime),
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

/* ---- REP ---- */

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

static void repeat_rtu(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_RTU,
		.rtu = { .local_id = conn->info.local_id,
			 .remote_id = conn->info.remote_id },
	};

	if (conn->out_attr == RN_CM_RTU)
		rn_cm_say_again(cm, conn);
	else if (conn->lap == RN_CM_LAP_NONE)
		rn_cm_say(cm, conn, &msg, conn->tid, 0);
}

/* The answer to one that had been received: the RTU, or the MRA, was lost. */
static void repeat_rep(struct rn_cm *cm, const struct rn_cm_in *in,
		       struct rn_cm_conn *conn)
{
	rn_cm_stat(cm, RN_CM_STAT_DUPLICATES);
	if (conn->info.state == RN_CM_ESTABLISHED)
		repeat_rtu(cm, conn);
	else if (conn->info.state == RN_CM_MRA_REP_SENT)
		rn_cm_ask_patience(cm, in->now, conn);
}

/* A REP says who the peer is. What it grants beyond what was asked for is of no use. */
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
	info->qp.timeout = rn_cm_ack_timeout(rep->ack_delay, conn->lifetime);
	info->qp.path.ack_timeout = info->qp.timeout;
	rn_cm_keep(conn->open_data, rep->data, sizeof(rep->data));
}

/* Another connection's: the peer has forgotten that one. */
static bool is_stale(struct rn_cm *cm, const struct rn_cm_in *in,
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
	if (is_stale(cm, in, conn))
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
		.rtu = { .local_id = conn->info.local_id,
			 .remote_id = conn->info.remote_id },
	};

	if (data_len > RN_CM_RTU_DATA || (conn->info.state != RN_CM_REP_RCVD &&
					  conn->info.state != RN_CM_MRA_REP_SENT))
		return -EINVAL;
	rn_cm_put_data(msg.rtu.data, RN_CM_RTU_DATA, data, data_len);
	rn_cm_say(cm, conn, &msg, conn->tid, 0);
	conn->info.state = RN_CM_ESTABLISHED;
	return 0;
}
