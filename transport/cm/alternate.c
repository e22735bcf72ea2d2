/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* alternate.c - an alternate path for an established connection: LAP and APR. */
#include "cm.h"

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

/* Which of those before has come again, 0 being the last; RN_CM_LAPS: it is new. */
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
	/* Came before: the APR or the MRA was lost, or the program thinks. One before
	 * the last has been answered, and its copy was late.
	 */
	before = find_lap(conn, in->hdr.tid);
	if (before < RN_CM_LAPS) {
		rn_cm_stat(cm, RN_CM_STAT_DUPLICATES);
		if (before == 0 && conn->out_attr == RN_CM_APR)
			rn_cm_say_again(cm, conn);
		else if (before == 0 && conn->out_attr == RN_CM_MRA)
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
	rn_cm_keep(conn->open_data, lap->data, sizeof(lap->data));
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
	rn_cm_keep(conn->end_data, apr->data, sizeof(apr->data));
	conn->ari_len =
		apr->ari_len < RN_CM_ARI_LEN ? apr->ari_len : (uint8_t)RN_CM_ARI_LEN;
	memcpy(conn->ari, apr->ari, RN_CM_ARI_LEN);
	rn_cm_raise(cm, conn, RN_CM_EV_APR, apr->status);
}
