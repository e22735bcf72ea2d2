/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mcast.c - ids join multicast groups. On RoCE the group is the IP group: what it takes
 * is an address, which the QP is attached to; the network is told when that happens.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "id.h"

enum {
	MULTICAST_QPN = 0xffffff
};

static void fill_event(const struct rnd_id *id, const struct rnd_address *group,
		       struct rnd_event *out)
{
	struct rdma_ucm_ud_param *ud = &out->resp.param.ud;

	ud->qp_num = MULTICAST_QPN;
	ud->qkey = RND_UDP_QKEY;
	ud->ah_attr = (struct ib_uverbs_ah_attr){
		.grh = { .sgid_index = rnd_gid_index(id->dev, &id->port.src.gid),
			 .hop_limit = 1,
			 .traffic_class = id->tos },
		.is_global = 1,
		.port_num = 1,
	};
	memcpy(ud->ah_attr.grh.dgid, group->gid.raw, sizeof(ud->ah_attr.grh.dgid));
}

static struct rnd_mcast *new_group(struct rnd_id *id, uint64_t uid)
{
	struct rnd_mcast *mc = calloc(1, sizeof(*mc));

	if (!mc || !rnd_table_add(&id->ch->ucma->mcasts, mc, &mc->number)) {
		free(mc);
		return NULL;
	}
	mc->id = id;
	mc->uid = uid;
	rn_list_init(&mc->link);
	rn_list_push_back(&id->mcasts, &mc->link);
	rnd_mcast_show(mc);
	return mc;
}

void rnd_mcast_show(const struct rnd_mcast *mc)
{
	const struct rnd_ucma_channel *ch = mc->id->ch;
	const struct rnd_ucma_cfg *cfg = &ch->ucma->cfg;
	struct rn_cm_life life = { .uid = mc->uid,
				   .events_reported = mc->events_reported };

	if (cfg->ops->show_life)
		cfg->ops->show_life(cfg->ctx, ch->user, RN_CM_KIND_GROUP, mc->number,
				    &life);
}

void rnd_mcast_free(struct rnd_mcast *mc)
{
	const struct rnd_ucma_channel *ch = mc->id->ch;
	const struct rnd_ucma_cfg *cfg = &ch->ucma->cfg;

	if (ch->ucma->reported_group == mc)
		ch->ucma->reported_group = NULL;
	if (cfg->ops->show_life)
		cfg->ops->show_life(cfg->ctx, ch->user, RN_CM_KIND_GROUP, mc->number,
				    NULL);
	rnd_table_remove(&mc->id->ch->ucma->mcasts, mc->number);
	rn_list_remove(&mc->link);
	free(mc);
}

static int join(const struct rnd_call *c, const struct rdma_ucm_join_mcast *cmd)
{
	struct rdma_ucm_create_id_resp resp = { 0 };
	struct rnd_address group;
	struct rnd_event *out;
	struct rnd_mcast *mc;
	struct rnd_id *id;
	int rc;

	if (cmd->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	if (rnd_address_read(&group, &cmd->addr, cmd->addr_size))
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd->id, &id);
	if (rc)
		return rc;
	/* A group by name only: of the interface's own choosing, which it does not make.
	 */
	if (!id->dev || id->qp_type != IBV_QPT_UD ||
	    (id->state != RND_ID_BOUND && id->state != RND_ID_ADDR_RESOLVED) ||
	    !rn_gid_is_multicast(&group.gid) || group.family != id->port.src.family)
		return -EINVAL;
	mc = new_group(id, cmd->uid);
	if (!mc)
		return -ENOMEM;
	out = rnd_event_queue(id, RND_EV_MULTICAST_JOIN, 0);
	if (!out) {
		rnd_mcast_free(mc);
		return -ENOMEM;
	}
	out->mcast = mc;
	out->resp.uid = mc->uid;
	out->resp.id = mc->number;
	fill_event(id, &group, out);
	resp.id = mc->number;
	return rnd_call_answer(c, &resp, sizeof(resp));
}

int rnd_cmd_join_ip_mcast(const struct rnd_call *c)
{
	struct rdma_ucm_join_ip_mcast cmd;
	struct rdma_ucm_join_mcast join_cmd = { 0 };

	rnd_call_take(c, &cmd, sizeof(cmd));
	join_cmd.uid = cmd.uid;
	join_cmd.id = cmd.id;
	join_cmd.addr_size = sizeof(cmd.addr);
	join_cmd.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	memcpy(&join_cmd.addr, &cmd.addr, sizeof(cmd.addr));
	return join(c, &join_cmd);
}

int rnd_cmd_join_mcast(const struct rnd_call *c)
{
	struct rdma_ucm_join_mcast cmd;

	rnd_call_take(c, &cmd, sizeof(cmd));
	if (!cmd.addr_size || cmd.addr_size > sizeof(cmd.addr))
		return -EINVAL;
	return join(c, &cmd);
}

int rnd_cmd_leave_mcast(const struct rnd_call *c)
{
	struct rdma_ucm_destroy_id cmd;
	struct rdma_ucm_destroy_id_resp resp;
	struct rnd_mcast *mc;

	rnd_call_take(c, &cmd, sizeof(cmd));
	mc = rnd_table_get(&c->ch->ucma->mcasts, cmd.id);
	if (!mc)
		return -ENOENT;
	if (mc->id->ch != c->ch)
		return -EINVAL;
	rnd_event_forget(mc->id, mc, c->now);
	resp.events_reported = mc->events_reported;
	rnd_mcast_free(mc);
	return rnd_call_answer(c, &resp, sizeof(resp));
}
