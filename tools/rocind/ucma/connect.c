/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connect.c - ids listen, connect, accept, reject and disconnect. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "id.h"

enum {
	BACKLOG_MAX = 1024, /* net.rdma_ucm.max_backlog */
	NOTIFY_COMM_EST = IBV_EVENT_COMM_EST,
};

/* ---- Listening ---- */

/* Only what is for the program's own addresses: those of its devices, or one. */
static void fill_listener(struct rnd_id *id, uint32_t backlog)
{
	struct rn_cm_listener *l = &id->listener;
	bool any = rnd_address_is_any(&id->src);

	rn_cm_listener_ip(l, id->ps, id->src.port, any ? NULL : &id->src.gid);
	l->user = id;
	l->backlog = backlog > 0 && backlog < BACKLOG_MAX ? backlog : BACKLOG_MAX;
	if (any && (id->src.family == AF_INET || id->v6only)) {
		/* IP version, in the second byte of the IP CM header */
		l->compare[1] = id->src.family == AF_INET ? 0x40 : 0x60;
		l->compare_mask[1] = 0xf0;
	}
}

int rnd_cmd_listen(const struct rnd_call *c)
{
	static const struct rnd_address any = { .family = AF_INET };
	struct rdma_ucm_listen cmd;
	struct rnd_id *id;
	int rc;

	rnd_call_take(c, &cmd, sizeof(cmd));
	rc = rnd_id_find(c->ch, cmd.id, &id);
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
	fill_listener(id, cmd.backlog);
	rc = rn_cm_listen(c->ch->ucma->cm, &id->listener);
	if (rc == 0)
		id->state = RND_ID_LISTEN;
	return rc;
}

/* ---- What is offered ---- */

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

/* ---- The active side ---- */

enum {
	REQUEST_DATA_MAX = RN_CM_IP_HDR_LEN + UINT8_MAX
};

/* Private data of a request: the IP CM header, then the program's. */
static void put_header(const struct rnd_id *id, struct rn_cm_offer *offer,
		       uint8_t data[REQUEST_DATA_MAX])
{
	const struct rn_cm_ip_hdr hdr = { .src_port = id->src.port,
					  .src = id->src.gid,
					  .dst = id->dst.gid };
	uint8_t *end = rn_cm_ip_hdr_emit(data, &hdr);

	memcpy(end, offer->data, offer->data_len);
	offer->data = data;
	offer->data_len += RN_CM_IP_HDR_LEN;
}

static int connect_id(struct rnd_id *id, rn_ns now, const struct rdma_ucm_connect *cmd)
{
	struct rn_cm_offer offer = offer_of(id, &cmd->conn_param, &cmd->ece);
	uint64_t service = rn_cm_service_id(id->ps, id->dst.port);
	struct rn_cm *cm = id->ch->ucma->cm;
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

int rnd_cmd_connect(const struct rnd_call *c)
{
	struct rdma_ucm_connect cmd;
	struct rnd_id *id;
	int rc;

	if (c->rq->in_len < offsetof(struct rdma_ucm_connect, ece))
		return -EINVAL;
	rnd_call_take(c, &cmd, sizeof(cmd));
	if (!cmd.conn_param.valid)
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd.id, &id);
	if (rc)
		return rc;
	if (id->state != RND_ID_ROUTE_RESOLVED)
		return -EINVAL;
	return connect_id(id, c->now, &cmd);
}

/* ---- The passive side ---- */

static int accept_id(struct rnd_id *id, rn_ns now, const struct rdma_ucm_accept *cmd)
{
	struct rn_cm_offer offer = offer_of(id, &cmd->conn_param, &cmd->ece);
	struct rn_cm *cm = id->ch->ucma->cm;
	int rc;

	if (id->qp_type != IBV_QPT_UD) {
		offer.rnr_retry_count = cmd->conn_param.rnr_retry_count & 7;
		rc = rn_cm_accept(cm, now, id->conn, &offer);
	} else {
		id->qkey = RND_UDP_QKEY;
		offer.qkey = id->qkey;
		rc = rn_cm_sidr_reply(cm, id->conn, RN_CM_SIDR_SUCCESS, &offer);
	}
	if (rc == 0)
		id->uid = cmd->uid;
	return rc;
}

int rnd_cmd_accept(const struct rnd_call *c)
{
	const struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	struct rdma_ucm_accept cmd;
	struct rnd_id *id;
	int rc;

	if (c->rq->in_len < offsetof(struct rdma_ucm_accept, ece))
		return -EINVAL;
	rnd_call_take(c, &cmd, sizeof(cmd));
	rc = rnd_id_find(c->ch, cmd.id, &id);
	if (rc)
		return rc;
	if (id->state != RND_ID_CONNECT || !id->conn)
		return -EINVAL;
	/* Without parameters: the active side is ready, after CONNECT_RESPONSE. */
	rc = cmd.conn_param.valid ? accept_id(id, c->now, &cmd)
				  : rn_cm_ready(c->ch->ucma->cm, id->conn, NULL, 0);
	/* The peer need not wait for what does not come. */
	if (rc)
		rn_cm_reject(c->ch->ucma->cm, c->now, id->conn, &no);
	return rc;
}

static int reject_id(const struct rnd_call *c, struct rnd_id *id,
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
		return rn_cm_sidr_reply(c->ch->ucma->cm, id->conn, RN_CM_SIDR_REJECTED,
					&nothing);
	return rn_cm_reject(c->ch->ucma->cm, c->now, id->conn, &no);
}

int rnd_cmd_reject(const struct rnd_call *c)
{
	struct rdma_ucm_reject cmd;
	struct rnd_id *id;
	int rc;

	rnd_call_take(c, &cmd, sizeof(cmd));
	if (cmd.reason && cmd.reason != RN_CM_REJ_CONSUMER &&
	    cmd.reason != RN_CM_REJ_VENDOR_OPTION)
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd.id, &id);
	if (rc)
		return rc;
	return id->conn ? reject_id(c, id, &cmd) : -EINVAL;
}

/* ---- Either side ---- */

/* The program knew the id; it may have moved to another channel since. */
static int find_by_birth(const struct rnd_call *c, uint32_t number, struct rnd_id **id)
{
	*id = rnd_table_get(&c->ch->ucma->ids, number);
	return *id && (*id)->birth == c->rq->birth ? 0 : -ENOENT;
}

int rnd_cmd_disconnect(const struct rnd_call *c)
{
	struct rdma_ucm_disconnect cmd;
	struct rnd_id *id;
	int rc;

	rnd_call_take(c, &cmd, sizeof(cmd));
	rc = c->rq->birth ? find_by_birth(c, cmd.id, &id)
			  : rnd_id_find(c->ch, cmd.id, &id);
	if (rc)
		return rc;
	if (!id->conn)
		return -EINVAL;
	/* The QP goes to ERR, whether or not there is anybody to say it to. */
	if (id->qp_type != IBV_QPT_UD)
		rn_cm_disconnect(c->ch->ucma->cm, c->now, id->conn, NULL, 0);
	return 0;
}

int rnd_cmd_notify(const struct rnd_call *c)
{
	struct rdma_ucm_notify cmd;
	struct rnd_id *id;
	int rc;

	rnd_call_take(c, &cmd, sizeof(cmd));
	rc = rnd_id_find(c->ch, cmd.id, &id);
	if (rc)
		return rc;
	if (!id->conn || cmd.event != NOTIFY_COMM_EST)
		return -EINVAL;
	return rn_cm_established(c->ch->ucma->cm, id->conn);
}
