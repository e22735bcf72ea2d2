/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sidr.c - service ID resolution (SIDR): a peer asks which QP, with which Q_Key, receives
 * datagrams for a service ID.
 */
#include "cm.h"

int rn_cm_sidr_request(struct rn_cm *cm, rn_ns now, uint64_t service_id,
		       const struct rn_cm_route *route, const struct rn_cm_offer *offer,
		       struct rn_cm_conn **out)
{
	struct rn_cm_msg msg = { .attr = RN_CM_SIDR_REQ };
	struct rn_cm_conn *conn;

	if (!rn_cm_route_is_good(route) ||
	    !rn_cm_offer_is_good(offer, RN_CM_SIDR_REQ_DATA))
		return -EINVAL;
	conn = rn_cm_conn_new(cm);
	if (!conn)
		return -ENOMEM;
	conn->is_sidr = true;
	conn->info.is_active = true;
	conn->is_proven = true;
	conn->info.service_id = service_id;
	conn->info.flow = route->flow;
	conn->info.flow.sport = 0;
	conn->info.qp.pkey = route->pkey ? route->pkey : 0xffff;
	conn->info.qp.path_mtu = route->mtu;
	rn_cm_path_of_route(&conn->info.qp.path, route, 0);
	conn->info.flow.hop_limit = conn->info.qp.path.hop_limit;
	conn->tid = rn_cm_new_tid(cm, conn);
	conn->info.state = RN_CM_SIDR_REQ_SENT;
	msg.sidr_req.request_id = conn->info.local_id;
	msg.sidr_req.pkey = conn->info.qp.pkey;
	msg.sidr_req.service_id = service_id;
	msg.data = offer->data;
	msg.data_len = offer->data_len;
	rn_cm_say(cm, conn, &msg, conn->tid, offer->vendor_option);
	rn_cm_insist(cm, now, conn, rn_cm_time(cm->cfg.resp_timeout));
	*out = conn;
	return 0;
}

/* ---- The side that answers ---- */

static void refuse(struct rn_cm *cm, const struct rn_cm_in *in, uint8_t status)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_SIDR_REP,
		.sidr_rep = { .request_id = in->msg.sidr_req.request_id,
			      .status = status,
			      .service_id = in->msg.sidr_req.service_id },
	};

	rn_cm_reply(cm, in, &msg);
}

static void take_request(struct rn_cm_conn *conn, const struct rn_cm_in *in)
{
	const struct rn_cm_sidr_req *req = &in->msg.sidr_req;
	struct rn_cm_info *info = &conn->info;

	conn->is_sidr = true;
	info->remote_id = req->request_id;
	info->service_id = req->service_id;
	info->vendor_option = in->hdr.attr_mod;
	info->flow = rn_gsi_answer_flow(in->flow);
	info->qp.pkey = req->pkey;
	info->qp.path.local_gid = info->flow.src;
	info->qp.path.remote_gid = info->flow.dst;
	info->qp.path.tclass = info->flow.tclass;
	info->qp.path.hop_limit = info->flow.hop_limit;
	conn->tid = in->hdr.tid;
	rn_cm_keep(conn->open_data, &in->msg);
}

static void new_request(struct rn_cm *cm, const struct rn_cm_in *in,
			struct rn_cm_listener *l)
{
	struct rn_cm_conn *conn = rn_cm_conn_wanted(cm, l);

	if (!conn)
		return;
	take_request(conn, in);
	rn_cm_credit(cm, in->now, conn);
	rn_cm_index_peer(cm, conn);
	conn->info.state = RN_CM_SIDR_REQ_RCVD;
	rn_cm_raise(cm, conn, RN_CM_EV_SIDR_REQ, 0);
}

void rn_cm_on_sidr_req(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_sidr_req *req = &in->msg.sidr_req;
	struct rn_cm_conn *old;
	struct rn_cm_listener *l;
	struct rn_cm_ip_hdr ip;
	bool known;

	if (!req->request_id) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_ATTR);
		return;
	}
	old = rn_cm_find_peer(cm, &in->flow->src, 0, req->request_id);
	if (old && old->is_sidr) {
		rn_cm_stat(cm, RN_CM_STAT_DUPLICATES);
		rn_cm_credit(cm, in->now, old);
		if (old->info.state == RN_CM_SIDR_REP_SENT)
			rn_cm_say_again(cm, old);
		return;
	}
	l = rn_cm_match(cm, in, req->service_id, in->msg.data, &known);
	if (!known)
		refuse(cm, in, RN_CM_SIDR_UNSUPPORTED);
	else if (!l || (rn_cm_service_is_ip(req->service_id) &&
			rn_cm_ip_hdr_parse(&ip, in->msg.data)))
		refuse(cm, in, RN_CM_SIDR_REJECTED);
	else
		new_request(cm, in, l);
}

void rn_cm_send_sidr_rep(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status,
			 const struct rn_cm_offer *offer)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_SIDR_REP,
		.sidr_rep = { .request_id = conn->info.remote_id,
			      .status = status,
			      .service_id = conn->info.service_id },
	};
	uint32_t attr_mod = 0;

	if (offer && status == RN_CM_SIDR_SUCCESS) {
		msg.sidr_rep.qpn = offer->qpn;
		msg.sidr_rep.qkey = offer->qkey;
		msg.sidr_rep.vendor_hi = (uint16_t)(offer->vendor_id >> 8);
		msg.sidr_rep.vendor_low = (uint8_t)offer->vendor_id;
		attr_mod = offer->vendor_option;
	}
	if (offer) {
		msg.data = offer->data;
		msg.data_len = offer->data_len;
	}
	rn_cm_say(cm, conn, &msg, conn->tid, attr_mod);
	conn->info.state = RN_CM_SIDR_REP_SENT;
}

int rn_cm_sidr_reply(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status,
		     const struct rn_cm_offer *offer)
{
	rn_cm_touch(cm, conn);
	if (conn->info.state != RN_CM_SIDR_REQ_RCVD ||
	    !rn_cm_offer_is_good(offer, RN_CM_SIDR_REP_DATA))
		return -EINVAL;
	rn_cm_taken(conn);
	rn_cm_send_sidr_rep(cm, conn, status, offer);
	return 0;
}

/* ---- The side that asks ---- */

void rn_cm_on_sidr_rep(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_sidr_rep *rep = &in->msg.sidr_rep;
	struct rn_cm_conn *conn = rn_cm_find(cm, in, rep->request_id, 0);

	if (!conn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	if (conn->info.state != RN_CM_SIDR_REQ_SENT) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	rn_list_remove(&conn->tx);
	rn_cm_to_idle(cm, conn);
	conn->info.qp.dest_qpn = rep->qpn;
	conn->info.qp.qkey = rep->qkey;
	conn->info.vendor_id = (uint32_t)rep->vendor_hi << 8 | rep->vendor_low;
	conn->info.vendor_option = in->hdr.attr_mod;
	rn_cm_keep(conn->open_data, &in->msg);
	conn->ari_len =
		rep->ari_len < RN_CM_ARI_LEN ? rep->ari_len : (uint8_t)RN_CM_ARI_LEN;
	memcpy(conn->ari, rep->ari, RN_CM_ARI_LEN);
	rn_cm_raise(cm, conn, RN_CM_EV_SIDR_REP, rep->status);
}
