/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connect.c - commands by which rdma_cm ids listen, connect, accept, reject and
 * disconnect, and the events that result from them.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "id.h"

/* ---- Events of ids from events of the connection manager ---- */

static void copy_data(struct rdma_ucm_conn_param *conn, const struct rn_cm_event *ev,
		      uint32_t skip)
{
	if (!ev->data || ev->data_len <= skip)
		return;
	conn->private_data_len = (uint8_t)(ev->data_len - skip);
	memcpy(conn->private_data, ev->data + skip, conn->private_data_len);
}

/* Fills in the parameters that the peer has requested or granted. Responder resources and
 * initiator depth are stated for this side: this side's initiator depth is limited by the
 * responder resources of the peer.
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

/* Called when a peer has repeated a connection request. Answers by an MRA, which asks the
 * peer for patience, because the program may take long to accept. For SIDR there is no
 * MRA.
 */
static void be_patient(struct rnd_ucma *ucma, const struct rn_cm_event *ev)
{
	if (ev->type != RN_CM_EV_SIDR_REQ)
		rn_cm_mra(ucma->cfg.cm, ev->conn, RN_CM_MRA_TIMEOUT, true);
}

/* ---- Events of requests ---- */

/* Sets the addresses of @id, which was made for a connection request, to those in the IP
 * CM header of the request.
 */
static void set_ends(struct rnd_id *id, const struct rn_cm_ip_hdr *hdr, uint16_t port,
		     uint32_t scope)
{
	uint16_t family = rn_gid_is_ipv4(&hdr->dst) ? AF_INET : AF_INET6;

	id->port.src =
		(struct rnd_address){ .family = family, .port = port, .gid = hdr->dst };
	id->port.dst = (struct rnd_address){ .family = family,
					     .port = hdr->src_port,
					     .gid = hdr->src };
	if (rn_gid_is_link_local(&hdr->dst))
		id->port.src.scope = scope;
	if (rn_gid_is_link_local(&hdr->src))
		id->port.dst.scope = scope;
}

static struct rnd_id *new_passive(struct rnd_id *listener, const struct rn_cm_event *ev)
{
	const struct rn_cm_info *info = rn_cm_conn_info(ev->conn);
	struct rn_cm_ip_hdr hdr;
	struct rnd_id *id;

	if (!ev->data || rn_cm_ip_hdr_parse(&hdr, ev->data))
		return NULL;
	id = rnd_id_new(listener->ch, listener->port.ps, listener->qp_type);
	if (!id)
		return NULL;
	set_ends(id, &hdr, listener->port.src.port, info->flow.ifindex);
	id->state = RND_ID_CONNECT;
	id->tos = info->flow.tclass;
	id->asked_for = listener;
	id->dev = rnd_find_dev(listener->ch,
			       &(struct rnd_address){ .gid = info->flow.src,
						      .scope = id->port.src.scope });
	return id;
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
		/* This sends a REJ with the reason RN_CM_REJ_CONSUMER, as Linux does if
		 * it has no memory.
		 */
		rn_cm_close(ucma->cfg.cm, now, ev->conn);
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

/* ---- Events of established and failed connections ---- */

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
	/* rdma_cm has no command that could answer a LAP, so a LAP is ignored */
	case RN_CM_EV_LAP:
	case RN_CM_EV_APR:
	case RN_CM_EV_COUNT:
		break;
	}
}

void rnd_take_cm_events(struct rnd_ucma *ucma, rn_ns now)
{
	struct rn_cm_event ev;

	while (rn_cm_next_event(ucma->cfg.cm, &ev)) {
		struct rnd_id *id = rn_cm_conn_info(ev.conn)->user;

		if (ev.type == RN_CM_EV_REQ || ev.type == RN_CM_EV_SIDR_REQ) {
			on_request(ucma, now, &ev);
		} else if (id) {
			rnd_id_touch(id);
			on_event(id, &ev);
			rnd_id_show(id);
		}
	}
}

enum {
	/* maximum backlog, the default of the sysctl net.rdma_ucm.max_backlog */
	BACKLOG_MAX = 1024,
	NOTIFY_COMM_EST = IBV_EVENT_COMM_EST,
};

/* ---- Listening ---- */

/* Fills in the listener of an rdma_cm id: the values with which the connection manager
 * compares requests. The id is to get only requests for its address. If that is a
 * wildcard address, only the IP version of a request is compared.
 */
static void fill_listener(struct rnd_id *id, uint32_t backlog)
{
	struct rn_cm_listener *l = &id->listener;
	bool any = rnd_address_is_any(&id->port.src);

	rn_cm_listener_ip(l, id->port.ps, id->port.src.port,
			  any ? NULL : &id->port.src.gid);
	l->user = id;
	l->backlog = backlog > 0 && backlog < BACKLOG_MAX ? backlog : BACKLOG_MAX;
	if (any && (id->port.src.family == AF_INET || id->port.v6only)) {
		/* The IP version is in the second byte of the IP CM header. */
		l->compare[1] = id->port.src.family == AF_INET ? 0x40 : 0x60;
		l->compare_mask[1] = 0xf0;
	}
}

int rnd_cmd_listen(struct rnd_call *c, const union rnd_command *in)
{
	static const struct rnd_address any = { .family = AF_INET };
	const struct rdma_ucm_listen *cmd = &in->listen;
	struct rnd_id *id;
	int rc = rnd_id_find(c->ch, cmd->id, &id);

	if (rc)
		return rc;
	if (id->state == RND_ID_IDLE) {
		rc = rnd_id_bind(id, &any);
		if (rc)
			return rc;
	}
	if (id->state != RND_ID_BOUND)
		return -EINVAL;
	rc = rnd_port_listen(&c->ch->ucma->ports, &id->port);
	if (rc)
		return rc;
	fill_listener(id, cmd->backlog);
	rc = rn_cm_listen(c->ch->ucma->cfg.cm, &id->listener);
	if (rc == 0)
		id->state = RND_ID_LISTEN;
	return rc;
}

/* ---- Parameters that a program passes for a connection ---- */

static struct rn_cm_offer offer_of(const struct rnd_id *id,
				   const struct rdma_ucm_conn_param *p,
				   const struct rdma_ucm_ece *ece)
{
	bool is_xrc = id->qp_type == IBV_QPT_XRC_SEND || id->qp_type == IBV_QPT_XRC_RECV;

	return (struct rn_cm_offer){
		.ca_guid = id->dev->nd.node_guid,
		.qpn = p->qp_num & 0xffffff,
		.psn = id->psn,
		.transport = is_xrc			 ? RN_CM_TRANSPORT_EXTENDED
			     : id->qp_type == IBV_QPT_UC ? RN_CM_TRANSPORT_UC
							 : RN_CM_TRANSPORT_RC,
		.ext_transport = is_xrc,
		.resp_res = p->responder_resources,
		.init_depth = p->initiator_depth,
		.retry_count = p->retry_count < 7 ? p->retry_count : 7,
		.rnr_retry_count = p->rnr_retry_count < 7 ? p->rnr_retry_count : 7,
		.flow_control = p->flow_control != 0,
		.srq = p->srq != 0,
		.vendor_id = ece->vendor_id & 0xffffff,
		.vendor_option = ece->attr_mod,
		.data = p->private_data,
		.data_len = p->private_data_len,
	};
}

/* ---- Commands of the active side ---- */

enum {
	REQUEST_DATA_MAX = RN_CM_IP_HDR_LEN + UINT8_MAX
};

/* Builds the private data of a request in @data: the IP CM header, and behind it the
 * private data of the program.
 */
static void put_header(const struct rnd_id *id, struct rn_cm_offer *offer,
		       uint8_t data[REQUEST_DATA_MAX])
{
	const struct rn_cm_ip_hdr hdr = { .src_port = id->port.src.port,
					  .src = id->port.src.gid,
					  .dst = id->port.dst.gid };
	uint8_t *end = rn_cm_ip_hdr_emit(data, &hdr);

	memcpy(end, offer->data, offer->data_len);
	offer->data = data;
	offer->data_len += RN_CM_IP_HDR_LEN;
}

static int connect_id(struct rnd_id *id, rn_ns now, const struct rdma_ucm_connect *cmd)
{
	struct rn_cm_offer offer = offer_of(id, &cmd->conn_param, &cmd->ece);
	uint64_t service = rn_cm_service_id(id->port.ps, id->port.dst.port);
	struct rn_cm *cm = id->ch->ucma->cfg.cm;
	uint8_t data[REQUEST_DATA_MAX];
	struct rn_cm_route route;
	int rc;

	put_header(id, &offer, data);
	rnd_id_route(id, &route);
	if (id->qp_type == IBV_QPT_UD)
		rc = rn_cm_sidr_request(cm, now, service, &route, &offer, &id->conn);
	else
		rc = rn_cm_connect(cm, now, service, &route, &offer, &id->conn);
	if (rc)
		return rc;
	rn_cm_set_user(id->conn, id);
	id->state = RND_ID_CONNECT;
	return 0;
}

int rnd_cmd_connect(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_connect *cmd = &in->connect;
	struct rnd_id *id;
	int rc;

	if (c->head->in_len < offsetof(struct rdma_ucm_connect, ece))
		return -EINVAL;
	if (!cmd->conn_param.valid)
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd->id, &id);
	if (rc)
		return rc;
	if (id->state != RND_ID_ROUTE_RESOLVED)
		return -EINVAL;
	id->qpn = cmd->conn_param.qp_num & 0xffffff;
	return connect_id(id, c->now, cmd);
}

/* ---- Commands of the passive side ---- */

static int accept_id(struct rnd_id *id, rn_ns now, const struct rdma_ucm_accept *cmd)
{
	struct rn_cm_offer offer = offer_of(id, &cmd->conn_param, &cmd->ece);
	struct rn_cm *cm = id->ch->ucma->cfg.cm;
	int rc;

	if (id->qp_type != IBV_QPT_UD) {
		offer.rnr_retry_count = cmd->conn_param.rnr_retry_count & 7;
		rc = rn_cm_accept(cm, now, id->conn, &offer);
	} else {
		offer.qkey = RND_UDP_QKEY;
		rc = rn_cm_sidr_reply(cm, id->conn, RN_CM_SIDR_SUCCESS, &offer);
	}
	if (rc == 0) {
		id->uid = cmd->uid;
		id->qpn = offer.qpn;
	}
	return rc;
}

int rnd_cmd_accept(struct rnd_call *c, const union rnd_command *in)
{
	const struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	const struct rdma_ucm_accept *cmd = &in->accept;
	struct rnd_id *id;
	int rc;

	if (c->head->in_len < offsetof(struct rdma_ucm_accept, ece))
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd->id, &id);
	if (rc)
		return rc;
	if (id->state != RND_ID_CONNECT || !id->conn)
		return -EINVAL;
	/* Without parameters, ACCEPT is the command of the active side after the event
	 * CONNECT_RESPONSE: the program says that it is ready.
	 */
	rc = cmd->conn_param.valid ? accept_id(id, c->now, cmd)
				   : rn_cm_ready(c->ch->ucma->cfg.cm, id->conn, NULL, 0);
	/* After an error the connection is rejected. Otherwise the peer would wait for a
	 * reply until its timeout.
	 */
	if (rc)
		rn_cm_reject(c->ch->ucma->cfg.cm, c->now, id->conn, &no);
	return rc;
}

static int reject_id(struct rnd_call *c, struct rnd_id *id,
		     const struct rdma_ucm_reject *cmd)
{
	const struct rn_cm_no no = {
		.reason = cmd->reason ? cmd->reason : RN_CM_REJ_CONSUMER,
		.data = cmd->private_data,
		.data_len = cmd->private_data_len,
	};
	const struct rn_cm_offer nothing = { .data = cmd->private_data,
					     .data_len = cmd->private_data_len };

	if (id->qp_type == IBV_QPT_UD)
		return rn_cm_sidr_reply(c->ch->ucma->cfg.cm, id->conn,
					RN_CM_SIDR_REJECTED, &nothing);
	return rn_cm_reject(c->ch->ucma->cfg.cm, c->now, id->conn, &no);
}

int rnd_cmd_reject(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_reject *cmd = &in->reject;
	struct rnd_id *id;
	int rc;

	if (cmd->reason && cmd->reason != RN_CM_REJ_CONSUMER &&
	    cmd->reason != RN_CM_REJ_VENDOR_OPTION)
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd->id, &id);
	if (rc)
		return rc;
	return id->conn ? reject_id(c, id, cmd) : -EINVAL;
}

/* ---- Commands of both sides ---- */

/* Finds an rdma_cm id by its number and its serial. Searches all channels, because the id
 * may have been migrated to another channel since the program made the call. Returns 0 or
 * -errno.
 */
static int find_by_serial(struct rnd_call *c, uint32_t number, struct rnd_id **id)
{
	*id = rnd_table_get(&c->ch->ucma->ids, number);
	if (!*id || (*id)->serial != c->head->serial)
		return -ENOENT;
	rnd_id_touch(*id);
	return 0;
}

int rnd_cmd_disconnect(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_disconnect *cmd = &in->disconnect;
	struct rnd_id *id;
	int rc;

	rc = c->head->one_way && c->head->serial ? find_by_serial(c, cmd->id, &id)
						 : rnd_id_find(c->ch, cmd->id, &id);
	if (rc)
		return rc;
	if (!id->conn)
		return -EINVAL;
	/* If there is a connection, this sends a DREQ. If there is none, the command
	 * succeeds nevertheless, because all that the program needs is that its QP goes
	 * to ERR.
	 */
	if (id->qp_type != IBV_QPT_UD)
		rn_cm_disconnect(c->ch->ucma->cfg.cm, c->now, id->conn, NULL, 0);
	return 0;
}

int rnd_cmd_notify(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_notify *cmd = &in->notify;
	struct rnd_id *id;
	int rc = rnd_id_find(c->ch, cmd->id, &id);

	if (rc)
		return rc;
	if (!id->conn || cmd->event != NOTIFY_COMM_EST)
		return -EINVAL;
	return rn_cm_established(c->ch->ucma->cfg.cm, id->conn);
}
