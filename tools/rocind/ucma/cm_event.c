/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_event.c - what the connection manager tells becomes events of ids. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "id.h"

static void copy_data(struct rdma_ucm_conn_param *conn, const struct rn_cm_event *ev,
		      uint32_t skip)
{
	if (!ev->data || ev->data_len <= skip)
		return;
	conn->private_data_len = (uint8_t)(ev->data_len - skip);
	memcpy(conn->private_data, ev->data + skip, conn->private_data_len);
}

/* What the peer has asked for or granted, with the roles turned round: what it takes at
 * a time is what we may ask for.
 */
static void fill_conn(struct rnd_event *out, const struct rn_cm_event *ev, uint32_t skip)
{
	const struct rn_cm_info *info = rn_cm_conn_info(ev->conn);
	struct rdma_ucm_conn_param *conn = &out->resp.param.conn;

	conn->qp_num = info->qp.dest_qpn;
	conn->responder_resources = info->qp.max_dest_rd_atomic;
	conn->initiator_depth = info->qp.max_rd_atomic;
	conn->flow_control = info->peer_flow_control;
	conn->retry_count = info->qp.retry_cnt;
	conn->rnr_retry_count = info->qp.rnr_retry;
	conn->srq = info->peer_srq;
	out->resp.ece.vendor_id = info->vendor_id;
	out->resp.ece.attr_mod = info->vendor_option;
	copy_data(conn, ev, skip);
}

static void fill_ud(struct rnd_event *out, const struct rn_cm_event *ev, uint32_t skip)
{
	struct rdma_ucm_ud_param *ud = &out->resp.param.ud;

	if (!ev->data || ev->data_len <= skip)
		return;
	ud->private_data_len = (uint8_t)(ev->data_len - skip);
	memcpy(ud->private_data, ev->data + skip, ud->private_data_len);
}

/* A program may think for long: the peer is told so if it asks again. */
static void be_patient(struct rnd_ucma *ucma, const struct rn_cm_event *ev)
{
	if (ev->type != RN_CM_EV_SIDR_REQ)
		rn_cm_mra(ucma->cm, ev->conn, RN_CM_MRA_TIMEOUT, true);
}

/* ---- Asked ---- */

/* The ends of the new id, from the request's IP CM header. */
static void set_ends(struct rnd_id *id, const struct rn_cm_ip_hdr *hdr, uint16_t port,
		     uint32_t scope)
{
	uint16_t family = rn_gid_is_ipv4(&hdr->dst) ? AF_INET : AF_INET6;

	id->src = (struct rnd_address){ .family = family, .port = port, .gid = hdr->dst };
	id->dst = (struct rnd_address){ .family = family,
					.port = hdr->src_port,
					.gid = hdr->src };
	if (rn_gid_is_link_local(&hdr->dst))
		id->src.scope = scope;
	if (rn_gid_is_link_local(&hdr->src))
		id->dst.scope = scope;
}

static struct rnd_id *new_passive(struct rnd_id *listener, const struct rn_cm_event *ev)
{
	const struct rn_cm_info *info = rn_cm_conn_info(ev->conn);
	struct rn_cm_ip_hdr hdr;
	struct rnd_id *id;

	if (!ev->data || rn_cm_ip_hdr_parse(&hdr, ev->data))
		return NULL;
	id = rnd_id_new(listener->ch, listener->ps, listener->qp_type);
	if (!id)
		return NULL;
	set_ends(id, &hdr, listener->src.port, info->flow.ifindex);
	id->state = RND_ID_CONNECT;
	id->tos = info->flow.tclass;
	id->asked_for = listener;
	id->dev = rnd_find_dev(
		listener->ch,
		&(struct rnd_address){ .gid = info->flow.src, .scope = id->src.scope });
	return id;
}

/* Nobody can take it: as Linux, which says no for a consumer that has no memory. */
static void turn_away(struct rnd_ucma *ucma, rn_ns now, struct rn_cm_conn *conn)
{
	rn_cm_close(ucma->cm, now, conn);
}

static void on_request(struct rnd_ucma *ucma, rn_ns now, const struct rn_cm_event *ev)
{
	bool is_ud = ev->type == RN_CM_EV_SIDR_REQ;
	struct rnd_id *listener = ev->listener ? ev->listener->user : NULL;
	struct rnd_id *id = NULL;
	struct rnd_event *out = NULL;

	if (listener && (listener->qp_type == IBV_QPT_UD) == is_ud)
		id = new_passive(listener, ev);
	if (id && id->dev)
		out = rnd_event_queue(listener, RND_EV_CONNECT_REQUEST, 0);
	if (!out) {
		if (id)
			rnd_id_destroy(id, now);
		turn_away(ucma, now, ev->conn);
		return;
	}
	id->conn = ev->conn;
	rn_cm_set_user(ev->conn, id);
	out->new_id = id;
	be_patient(ucma, ev);
	out->resp.id = id->number;
	if (is_ud)
		fill_ud(out, ev, RN_CM_IP_HDR_LEN);
	else
		fill_conn(out, ev, RN_CM_IP_HDR_LEN);
}

/* ---- Answered ---- */

static void on_datagram_service(struct rnd_id *id, const struct rn_cm_event *ev)
{
	const struct rn_cm_info *info = rn_cm_conn_info(ev->conn);
	bool ok = ev->status == RN_CM_SIDR_SUCCESS;
	struct rnd_event *out = rnd_event_queue(
		id, ok ? RND_EV_ESTABLISHED : RND_EV_UNREACHABLE, ev->status);

	if (!out)
		return;
	fill_ud(out, ev, 0);
	if (!ok)
		return;
	out->resp.param.ud.qp_num = info->qp.dest_qpn;
	out->resp.param.ud.qkey = info->qp.qkey;
	rnd_ah_attr(id, &out->resp.param.ud.ah_attr);
	out->resp.ece.vendor_id = info->vendor_id;
	out->resp.ece.attr_mod = info->vendor_option;
}

static void on_response(struct rnd_id *id, const struct rn_cm_event *ev)
{
	struct rnd_event *out = rnd_event_queue(id, RND_EV_CONNECT_RESPONSE, 0);

	be_patient(id->ch->ucma, ev);
	if (out)
		fill_conn(out, ev, 0);
}

static void on_rejected(struct rnd_id *id, const struct rn_cm_event *ev)
{
	struct rnd_event *out = rnd_event_queue(id, RND_EV_REJECTED, ev->status);

	if (out)
		copy_data(&out->resp.param.conn, ev, 0);
}

static void on_event(struct rnd_id *id, const struct rn_cm_event *ev)
{
	switch (ev->type) {
	case RN_CM_EV_REP:
		on_response(id, ev);
		break;
	case RN_CM_EV_SIDR_REP:
		on_datagram_service(id, ev);
		break;
	case RN_CM_EV_ESTABLISHED:
		rnd_event_queue(id, RND_EV_ESTABLISHED, 0);
		break;
	case RN_CM_EV_REJECTED:
		on_rejected(id, ev);
		break;
	case RN_CM_EV_UNREACHABLE:
		rnd_event_queue(id, RND_EV_UNREACHABLE, ev->status);
		break;
	case RN_CM_EV_DISCONNECTED:
		id->state = RND_ID_DISCONNECT;
		rnd_event_queue(id, RND_EV_DISCONNECTED, ev->status);
		break;
	case RN_CM_EV_TIMEWAIT_EXIT:
		rnd_event_queue(id, RND_EV_TIMEWAIT_EXIT, 0);
		break;
	case RN_CM_EV_REQ:
	case RN_CM_EV_SIDR_REQ:
	case RN_CM_EV_LAP: /* rdma_cm programs cannot say anything to it */
	case RN_CM_EV_APR:
	case RN_CM_EV_COUNT:
		break;
	}
}

void rnd_take_cm_events(struct rnd_ucma *ucma, rn_ns now)
{
	struct rn_cm_event ev;

	while (rn_cm_next_event(ucma->cm, &ev)) {
		struct rnd_id *id = rn_cm_conn_info(ev.conn)->user;

		if (ev.type == RN_CM_EV_REQ || ev.type == RN_CM_EV_SIDR_REQ) {
			on_request(ucma, now, &ev);
		} else if (id) {
			on_event(id, &ev);
			rnd_id_show(id);
		}
	}
}
