/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* query.c - commands that query addresses and routes of an rdma_cm id, and the attributes
 * that its QP is to get.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "id.h"

enum {
	LIFETIME_DEFAULT = RN_CM_LIFETIME_DEFAULT,
	SELECTOR_EQUAL = 2, /* IB_SA_EQ: the value must be equal */
	HOP_LIMIT = 64,
	PORT = 1,
};

static bool has_path(const struct rnd_id *id)
{
	return id->dev && id->state >= RND_ID_ROUTE_RESOLVED;
}

/* ---- Command QUERY_ROUTE ---- */

static void fill_path(const struct rnd_id *id, struct ib_user_path_rec *rec)
{
	struct rn_cm_route route;

	memcpy(rec->sgid, id->port.src.gid.raw, sizeof(rec->sgid));
	memcpy(rec->dgid, id->port.dst.gid.raw, sizeof(rec->dgid));
	rec->pkey = htobe16(0xffff);
	if (!has_path(id))
		return;
	rnd_id_route(id, &route);
	rec->flow_label = htobe32(route.flow_label);
	rec->reversible = 1;
	rec->mtu = route.mtu;
	rec->hop_limit = HOP_LIMIT;
	rec->traffic_class = id->tos;
	rec->numb_path = 1;
	rec->mtu_selector = SELECTOR_EQUAL;
	rec->rate_selector = SELECTOR_EQUAL;
	rec->packet_life_time_selector = SELECTOR_EQUAL;
	rec->packet_life_time = route.lifetime ? route.lifetime : LIFETIME_DEFAULT;
}

void rnd_answer_route(const struct rnd_id *id, struct rdma_ucm_query_route_resp *resp)
{
	*resp = (struct rdma_ucm_query_route_resp){ 0 };
	rnd_address_write(&id->port.src, (uint8_t *)&resp->src_addr);
	rnd_address_write(&id->port.dst, (uint8_t *)&resp->dst_addr);
	if (!id->dev)
		return;
	resp->node_guid = htobe64(id->dev->nd.node_guid);
	resp->port_num = PORT;
	resp->num_paths = has_path(id);
	fill_path(id, &resp->ib_route[0]);
}

int rnd_cmd_query_route(struct rnd_call *c, const union rnd_command *in)
{
	struct rdma_ucm_query_route_resp resp;
	const struct rdma_ucm_query *cmd = &in->query;
	struct rnd_id *id;
	int rc = rnd_id_find(c->ch, cmd->id, &id);

	if (rc)
		return rc;
	rnd_answer_route(id, &resp);
	/* The last members are left out of the answer: librdmacm has already set them
	 * itself for devices that it knows by name.
	 */
	return rnd_call_answer(c, &resp,
			       offsetof(struct rdma_ucm_query_route_resp, ibdev_index));
}

/* ---- Command QUERY ---- */

/* Returns what an answer about addresses says about the device of the rdma_cm id. All
 * members are zero if the id has no device.
 */
static struct rdma_ucm_query_addr_resp addr_of_device(const struct rnd_id *id)
{
	struct rdma_ucm_query_addr_resp resp = { 0 };

	if (id->dev) {
		resp.node_guid = htobe64(id->dev->nd.node_guid);
		resp.port_num = PORT;
		resp.pkey = htobe16(0xffff);
	}
	return resp;
}

static int query_addr(struct rnd_call *c, const struct rnd_id *id)
{
	struct rdma_ucm_query_addr_resp resp = addr_of_device(id);

	if (c->head->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	resp.src_size =
		(uint16_t)rnd_address_write(&id->port.src, (uint8_t *)&resp.src_addr);
	resp.dst_size =
		(uint16_t)rnd_address_write(&id->port.dst, (uint8_t *)&resp.dst_addr);
	return rnd_call_answer(c, &resp,
			       offsetof(struct rdma_ucm_query_addr_resp, ibdev_index));
}

/* struct sockaddr_ib. The header <rdma/ib.h>, which declares it, can hardly be included
 * in a C program of user space.
 */
struct sockaddr_ib_wire {
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t gid[16];
	uint64_t sid;
	uint64_t sid_mask;
	uint64_t scope_id;
};

static void put_gid(const struct rnd_id *id, const struct rnd_address *a, void *out)
{
	struct sockaddr_ib_wire ib = {
		.family = AF_IB,
		.pkey = id->dev ? htobe16(0xffff) : 0,
		.sid = htobe64(rn_cm_service_id(id->port.ps, a->port)),
		.sid_mask = UINT64_MAX,
	};

	memcpy(ib.gid, a->gid.raw, sizeof(ib.gid));
	memcpy(out, &ib, sizeof(ib));
}

static int query_gid(struct rnd_call *c, const struct rnd_id *id)
{
	struct rdma_ucm_query_addr_resp resp = addr_of_device(id);

	if (c->head->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	resp.src_size = resp.dst_size = sizeof(struct sockaddr_ib_wire);
	put_gid(id, &id->port.src, &resp.src_addr);
	put_gid(id, &id->port.dst, &resp.dst_addr);
	return rnd_call_answer(c, &resp,
			       offsetof(struct rdma_ucm_query_addr_resp, ibdev_index));
}

/* Writes a PathRecord as a subnet administrator would return it: IBTA Vol 1, 15.2.5.16.
 */
static void put_path_record(const struct rnd_id *id, uint8_t rec[64])
{
	struct rn_cm_route route;
	uint32_t label;

	rnd_id_route(id, &route);
	label = htobe32(route.flow_label << 8 | HOP_LIMIT);
	memcpy(rec + 8, id->port.dst.gid.raw, 16);
	memcpy(rec + 24, id->port.src.gid.raw, 16);
	memcpy(rec + 44, &label, sizeof(label));
	rec[48] = id->tos;
	/* two fields of the path record: reversible, and number of paths, which is 1 */
	rec[49] = 0x81;
	rec[50] = rec[51] = 0xff;
	rec[54] = (uint8_t)(SELECTOR_EQUAL << 6 | route.mtu);
	rec[55] = SELECTOR_EQUAL << 6;
	rec[56] = (uint8_t)(SELECTOR_EQUAL << 6 |
			    (route.lifetime ? route.lifetime : LIFETIME_DEFAULT));
}

static int query_path(struct rnd_call *c, const struct rnd_id *id)
{
	enum {
		HEAD_LEN = sizeof(struct rdma_ucm_query_path_resp)
	};
	struct ib_path_rec_data rec = { .flags = IB_PATH_GMP | IB_PATH_PRIMARY |
						 IB_PATH_BIDIRECTIONAL };
	uint8_t resp[HEAD_LEN + sizeof(rec)] = { 0 };
	const uint32_t num_paths = 1;

	if (c->head->out_len < HEAD_LEN)
		return -ENOSPC;
	if (!has_path(id) || c->head->out_len < sizeof(resp))
		return rnd_call_answer(c, resp, HEAD_LEN);
	put_path_record(id, (uint8_t *)rec.path_rec);
	memcpy(resp, &num_paths, sizeof(num_paths));
	memcpy(resp + HEAD_LEN, &rec, sizeof(rec));
	return rnd_call_answer(c, resp, sizeof(resp));
}

int rnd_cmd_query(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_query *cmd = &in->query;
	struct rnd_id *id;
	int rc = rnd_id_find(c->ch, cmd->id, &id);

	if (rc)
		return rc;
	switch (cmd->option) {
	case RDMA_USER_CM_QUERY_ADDR:
		return query_addr(c, id);
	case RDMA_USER_CM_QUERY_PATH:
		return query_path(c, id);
	case RDMA_USER_CM_QUERY_GID:
		return query_gid(c, id);
	default:
		return -ENOSYS;
	}
}

/* ---- Command INIT_QP_ATTR ---- */

void rnd_ah_attr(const struct rnd_id *id, struct ib_uverbs_ah_attr *ah)
{
	struct rn_cm_route route;

	rnd_id_route(id, &route);
	*ah = (struct ib_uverbs_ah_attr){
		.grh = { .flow_label = route.flow_label,
			 .sgid_index = rnd_gid_index(id->dev, &id->port.src.gid),
			 .hop_limit = HOP_LIMIT,
			 .traffic_class = id->tos },
		.is_global = 1,
		.port_num = PORT,
	};
	memcpy(ah->grh.dgid, id->port.dst.gid.raw, sizeof(ah->grh.dgid));
}

static void attr_init(const struct rnd_id *id, struct ib_uverbs_qp_attr *attr)
{
	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	attr->port_num = PORT;
	if (id->qp_type == IBV_QPT_UD) {
		attr->qp_attr_mask |= IBV_QP_QKEY;
		attr->qkey = RND_UDP_QKEY;
		return;
	}
	attr->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
	if (!id->conn)
		return;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (rn_cm_conn_info(id->conn)->qp.max_dest_rd_atomic)
		attr->qp_access_flags |=
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static bool is_reliable(const struct rnd_id *id)
{
	return id->qp_type != IBV_QPT_UC;
}

static void attr_rtr(const struct rnd_id *id, struct ib_uverbs_qp_attr *attr)
{
	const struct rn_cm_qp *qp = &rn_cm_conn_info(id->conn)->qp;

	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	rnd_ah_attr(id, &attr->ah_attr);
	attr->path_mtu = qp->path_mtu;
	attr->dest_qp_num = qp->dest_qpn;
	attr->rq_psn = id->psn;
	if (!is_reliable(id))
		return;
	attr->qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	attr->max_dest_rd_atomic = qp->max_dest_rd_atomic;
	attr->min_rnr_timer = 0;
}

static void attr_rts(const struct rnd_id *id, struct ib_uverbs_qp_attr *attr)
{
	const struct rn_cm_qp *qp = &rn_cm_conn_info(id->conn)->qp;

	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr->sq_psn = qp->sq_psn;
	if (!is_reliable(id))
		return;
	attr->qp_attr_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_MAX_QP_RD_ATOMIC;
	attr->timeout = id->has_ack_timeout ? id->ack_timeout : qp->timeout;
	attr->retry_cnt = qp->retry_cnt;
	attr->rnr_retry = qp->rnr_retry;
	attr->max_rd_atomic = qp->max_rd_atomic;
}

/* Fills in the attributes that a QP needs in state @state. UD QPs need attributes from
 * here only for INIT; librdmacm itself knows those for RTR and RTS.
 */
int rnd_answer_qp_attr(const struct rnd_id *id, uint32_t state,
		       struct ib_uverbs_qp_attr *attr)
{
	*attr = (struct ib_uverbs_qp_attr){ .qp_state = state };
	if (!id->dev)
		return -EINVAL;
	if (state == IBV_QPS_INIT)
		attr_init(id, attr);
	else if (id->qp_type == IBV_QPT_UD)
		attr->qp_attr_mask =
			IBV_QP_STATE | (state == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0);
	else if (id->conn && state == IBV_QPS_RTR)
		attr_rtr(id, attr);
	else if (id->conn && state == IBV_QPS_RTS)
		attr_rts(id, attr);
	else
		return -EINVAL;
	return 0;
}

int rnd_cmd_init_qp_attr(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_init_qp_attr *cmd = &in->init_qp_attr;
	struct ib_uverbs_qp_attr attr;
	struct rnd_id *id;
	int rc;

	if (cmd->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd->id, &id);
	if (rc == 0)
		rc = rnd_answer_qp_attr(id, cmd->qp_state, &attr);
	return rc ? rc : rnd_call_answer(c, &attr, sizeof(attr));
}
