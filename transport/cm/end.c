/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* end.c - MRA (a request for more time), REJ, DREQ, DREP, and closing a connection. */
#include "cm.h"

/* ---- MRA ---- */

int rn_cm_mra(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t timeout, bool delayed)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_MRA,
		.mra = { .local_id = conn->info.local_id,
			 .remote_id = conn->info.remote_id,
			 .service_timeout = timeout },
	};
	uint64_t tid = conn->tid;

	rn_cm_touch(cm, conn);
	if (timeout > 31)
		return -EINVAL;
	if (conn->info.state == RN_CM_REQ_RCVD) {
		msg.mra.about = RN_CM_ABOUT_REQ;
		conn->info.state = RN_CM_MRA_REQ_SENT;
	} else if (conn->info.state == RN_CM_REP_RCVD) {
		msg.mra.about = RN_CM_ABOUT_REP;
		conn->info.state = RN_CM_MRA_REP_SENT;
	} else if (conn->info.state == RN_CM_ESTABLISHED && conn->lap == RN_CM_LAP_RCVD) {
		msg.mra.about = RN_CM_ABOUT_OTHER;
		conn->lap = RN_CM_LAP_MRA_SENT;
		tid = conn->lap_tid[0];
	} else {
		return -EINVAL;
	}
	rn_cm_say(cm, conn, &msg, tid, 0);
	if (delayed)
		/* the MRA is sent only when the peer repeats its message:
		 * rn_cm_ask_patience()
		 */
		rn_list_remove(&conn->tx);
	else
		conn->mra_from = 0;
	return 0;
}

void rn_cm_ask_patience(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	if (now >= conn->mra_from)
		rn_cm_say_again(cm, conn);
}

enum {
	/* means "no message"; the two-bit field of an MRA cannot have this value */
	ABOUT_NOTHING = 4,
};

/* Return: which message of this side waits for an answer in the present state, as the
 * number by which an MRA names it.
 */
static unsigned awaited(const struct rn_cm_conn *conn)
{
	if (conn->info.state == RN_CM_REQ_SENT || conn->info.state == RN_CM_MRA_REQ_RCVD)
		return RN_CM_ABOUT_REQ;
	if (conn->info.state == RN_CM_REP_SENT || conn->info.state == RN_CM_MRA_REP_RCVD)
		return RN_CM_ABOUT_REP;
	if (conn->info.state == RN_CM_ESTABLISHED && conn->lap == RN_CM_LAP_SENT)
		return RN_CM_ABOUT_OTHER;
	return ABOUT_NOTHING;
}

void rn_cm_on_mra(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_mra *mra = &in->msg.mra;
	struct rn_cm_conn *conn = rn_cm_find(cm, in, mra->remote_id, mra->local_id);

	if (!conn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	if (mra->about != awaited(conn)) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	rn_list_remove(&conn->tx);
	conn->early_left = 0;
	conn->interval =
		(rn_cm_time(mra->service_timeout) + rn_cm_time(conn->info.qp.timeout)) *
		cm->cfg.timeout_scale;
	rn_timer_rearm(&cm->timers, &conn->timer, in->now + conn->interval);
	if (conn->info.state == RN_CM_REQ_SENT)
		conn->info.state = RN_CM_MRA_REQ_RCVD;
	else if (conn->info.state == RN_CM_REP_SENT)
		conn->info.state = RN_CM_MRA_REP_RCVD;
}

/* ---- REJ ---- */

/* Return: which message of the peer a REJ that we send now is about, namely the last one
 * that we have received.
 */
static uint8_t about(const struct rn_cm_conn *conn)
{
	if (conn->info.state == RN_CM_REQ_RCVD || conn->info.state == RN_CM_MRA_REQ_SENT)
		return RN_CM_ABOUT_REQ;
	if (conn->info.state == RN_CM_REP_RCVD || conn->info.state == RN_CM_MRA_REP_SENT)
		return RN_CM_ABOUT_REP;
	return RN_CM_ABOUT_OTHER;
}

void rn_cm_send_rej(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_no *no)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_REJ,
		.data = no->data,
		.data_len = no->data_len,
		.rej = {
			/* As long as the peer does not know our ID, the REJ has 0 in its
			 * place.
			 */
			.local_id = conn->info.state == RN_CM_REQ_RCVD
					    ? 0
					    : conn->info.local_id,
			.remote_id = conn->info.remote_id,
			.about = about(conn),
			.ari_len = (uint8_t)no->ari_len,
			.reason = no->reason,
		},
	};

	if (no->ari_len)
		memcpy(msg.rej.ari, no->ari, no->ari_len);
	rn_cm_stat(cm, RN_CM_STAT_REJ_SENT);
	rn_cm_say(cm, conn, &msg, conn->tid, 0);
}

/* Is this a state in which either side may send a REJ? */
static bool may_reject(enum rn_cm_state state)
{
	return state >= RN_CM_REQ_SENT && state <= RN_CM_MRA_REP_RCVD;
}

int rn_cm_reject(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		 const struct rn_cm_no *no)
{
	rn_cm_touch(cm, conn);
	enum rn_cm_state state = conn->info.state;

	if (no->ari_len > RN_CM_ARI_LEN || no->data_len > RN_CM_REJ_DATA ||
	    !may_reject(state))
		return -EINVAL;
	rn_cm_send_rej(cm, conn, no);
	if (state == RN_CM_REP_SENT || state == RN_CM_MRA_REP_RCVD)
		rn_cm_to_timewait(cm, now, conn);
	else
		rn_cm_to_idle(cm, conn);
	return 0;
}

/* Find the connection that a received REJ is about. If the peer gave up before it knew
 * our ID, the REJ has no ID of ours, but the CA GUID of the peer in its ARI.
 */
static struct rn_cm_conn *find_rejected(struct rn_cm *cm, const struct rn_cm_in *in)
{
	const struct rn_cm_rej *rej = &in->msg.rej;

	if (rej->reason == RN_CM_REJ_TIMEOUT) {
		struct rn_cm_conn *conn = rn_cm_find_peer(
			cm, &in->flow->src, rn_get_be64(rej->ari), rej->local_id);

		if (conn)
			return conn;
	}
	return rn_cm_find(cm, in, rej->remote_id, rej->local_id);
}

/* Change the state of the connection as a received REJ demands. Return: true; false, with
 * nothing changed, if a REJ is not valid in the present state.
 */
static bool obey_rej(struct rn_cm *cm, const struct rn_cm_in *in, struct rn_cm_conn *conn)
{
	bool is_stale = in->msg.rej.reason == RN_CM_REJ_STALE_CONN;

	switch (conn->info.state) {
	case RN_CM_REQ_SENT:
	case RN_CM_MRA_REQ_RCVD:
	case RN_CM_REQ_RCVD:
	case RN_CM_MRA_REQ_SENT:
	case RN_CM_REP_SENT:
	case RN_CM_MRA_REP_RCVD:
		rn_list_remove(&conn->tx);
		if (is_stale)
			rn_cm_to_timewait(cm, in->now, conn);
		else
			rn_cm_to_idle(cm, conn);
		return true;
	case RN_CM_DREQ_SENT:
	case RN_CM_REP_RCVD:
	case RN_CM_MRA_REP_SENT:
	case RN_CM_ESTABLISHED:
		rn_list_remove(&conn->tx);
		rn_cm_to_timewait(cm, in->now, conn);
		return true;
	case RN_CM_IDLE:
	case RN_CM_DREQ_RCVD:
	case RN_CM_TIMEWAIT:
	case RN_CM_SIDR_REQ_SENT:
	case RN_CM_SIDR_REQ_RCVD:
	case RN_CM_SIDR_REP_SENT:
	case RN_CM_STATE_COUNT:
		break;
	}
	return false;
}

void rn_cm_on_rej(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_rej *rej = &in->msg.rej;
	struct rn_cm_conn *conn = find_rejected(cm, in);

	if (!conn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	if (!obey_rej(cm, in, conn)) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	rn_cm_stat(cm, RN_CM_STAT_REJ_RECEIVED);
	rn_cm_keep(conn->end_data, &in->msg);
	conn->ari_len =
		rej->ari_len < RN_CM_ARI_LEN ? rej->ari_len : (uint8_t)RN_CM_ARI_LEN;
	memcpy(conn->ari, rej->ari, RN_CM_ARI_LEN);
	rn_cm_raise(cm, conn, RN_CM_EV_REJECTED, rej->reason);
}

/* ---- DREQ and DREP ---- */

void rn_cm_send_dreq(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		     const uint8_t *data, uint32_t data_len)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_DREQ,
		.data = data,
		.data_len = data_len,
		.dreq = { .local_id = conn->info.local_id,
			  .remote_id = conn->info.remote_id,
			  .remote_qpn = conn->info.qp.dest_qpn },
	};

	assert(conn->info.state == RN_CM_ESTABLISHED);
	rn_cm_say(cm, conn, &msg, rn_cm_new_tid(cm, conn), 0);
	conn->info.state = RN_CM_DREQ_SENT;
	rn_cm_insist(cm, now, conn, conn->resp_timeout);
}

static void send_drep(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		      const uint8_t *data, uint32_t data_len)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_DREP,
		.data = data,
		.data_len = data_len,
		.drep = { .local_id = conn->info.local_id,
			  .remote_id = conn->info.remote_id },
	};

	rn_cm_say(cm, conn, &msg, conn->tid, 0);
	rn_cm_to_timewait(cm, now, conn);
}

int rn_cm_disconnect(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		     const uint8_t *data, uint32_t data_len)
{
	rn_cm_touch(cm, conn);
	if (conn->info.state == RN_CM_ESTABLISHED) {
		if (data_len > RN_CM_DREQ_DATA)
			return -EINVAL;
		rn_cm_send_dreq(cm, now, conn, data, data_len);
		return 0;
	}
	if (conn->info.state != RN_CM_DREQ_RCVD || data_len > RN_CM_DREP_DATA)
		return -EINVAL;
	send_drep(cm, now, conn, data, data_len);
	return 0;
}

/* Answer by a DREP a DREQ for a connection that we do not know, or do not know any more,
 * so that the peer need not wait.
 */
static void reply_drep(struct rn_cm *cm, const struct rn_cm_in *in)
{
	struct rn_cm_msg msg = {
		.attr = RN_CM_DREP,
		.drep = { .local_id = in->msg.dreq.remote_id,
			  .remote_id = in->msg.dreq.local_id },
	};

	rn_cm_reply(cm, in, &msg);
}

void rn_cm_on_dreq(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_dreq *dreq = &in->msg.dreq;
	struct rn_cm_conn *conn = rn_cm_find(cm, in, dreq->remote_id, dreq->local_id);
	enum rn_cm_state state = conn ? conn->info.state : RN_CM_IDLE;
	bool crossed = state == RN_CM_DREQ_SENT;

	if (!conn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		reply_drep(cm, in);
		return;
	}
	if (dreq->remote_qpn != conn->local_qpn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	/* The DREQ is a duplicate. In or after time-wait it comes because our DREP was
	 * lost; in DREQ_RCVD it comes because the program has not answered the first one
	 * yet.
	 */
	if (state == RN_CM_TIMEWAIT || state == RN_CM_IDLE || state == RN_CM_DREQ_RCVD) {
		rn_cm_stat(cm, RN_CM_STAT_DUPLICATES);
		if (state != RN_CM_DREQ_RCVD)
			reply_drep(cm, in);
		return;
	}
	if (!crossed && state != RN_CM_ESTABLISHED && state != RN_CM_REP_SENT &&
	    state != RN_CM_MRA_REP_RCVD) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	rn_list_remove(&conn->tx);
	rn_cm_calm(cm, conn);
	conn->tid = in->hdr.tid;
	conn->info.state = RN_CM_DREQ_RCVD;
	rn_cm_keep(conn->end_data, &in->msg);
	rn_cm_raise(cm, conn, RN_CM_EV_DISCONNECTED, 0);
	/* Send the DREP at once if both sides have sent a DREQ, or if the program has
	 * closed the connection, because then the program will not answer.
	 */
	if (crossed || !conn->is_open)
		send_drep(cm, in->now, conn, NULL, 0);
}

void rn_cm_on_drep(struct rn_cm *cm, struct rn_cm_in *in)
{
	const struct rn_cm_ids *drep = &in->msg.drep;
	struct rn_cm_conn *conn = rn_cm_find(cm, in, drep->remote_id, drep->local_id);

	if (!conn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_UNKNOWN);
		return;
	}
	if (conn->info.state != RN_CM_DREQ_SENT) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_STATE);
		return;
	}
	rn_list_remove(&conn->tx);
	rn_cm_keep(conn->end_data, &in->msg);
	rn_cm_to_timewait(cm, in->now, conn);
	rn_cm_raise(cm, conn, RN_CM_EV_DISCONNECTED, 0);
}

/* ---- Closing of a connection ---- */

/* Tell the peer that the connection ends here, as its state requires. */
static void say_farewell(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	uint8_t guid[8];

	switch (conn->info.state) {
	case RN_CM_REQ_SENT:
	case RN_CM_MRA_REQ_RCVD:
		rn_put_be64(guid, conn->local_guid);
		no = (struct rn_cm_no){ .reason = RN_CM_REJ_TIMEOUT,
					.ari = guid,
					.ari_len = sizeof(guid) };
		rn_cm_reject(cm, now, conn, &no);
		return;
	case RN_CM_REQ_RCVD:
	case RN_CM_MRA_REQ_SENT:
	case RN_CM_REP_RCVD:
	case RN_CM_MRA_REP_SENT:
	case RN_CM_REP_SENT:
	case RN_CM_MRA_REP_RCVD:
		rn_cm_reject(cm, now, conn, &no);
		return;
	case RN_CM_ESTABLISHED:
	case RN_CM_DREQ_RCVD:
		rn_cm_disconnect(cm, now, conn, NULL, 0);
		return;
	case RN_CM_SIDR_REQ_RCVD:
		rn_cm_send_sidr_rep(cm, conn, RN_CM_SIDR_REJECTED, NULL);
		return;
	case RN_CM_SIDR_REQ_SENT:
		rn_cm_to_idle(cm, conn);
		return;
	case RN_CM_IDLE:
	case RN_CM_DREQ_SENT:
	case RN_CM_TIMEWAIT:
	case RN_CM_SIDR_REP_SENT:
	case RN_CM_STATE_COUNT:
		return;
	}
}

void rn_cm_close(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	rn_cm_touch(cm, conn);
	assert(conn->is_open);
	rn_cm_taken(conn);
	say_farewell(cm, now, conn);
	conn->is_open = false;
	conn->events = 0;
	rn_list_remove(&conn->ev);
	/* Keep the entry for some time: if the SIDR_REP is lost, the peer sends its
	 * SIDR_REQ again, and the SIDR_REP can be repeated.
	 */
	if (conn->info.state == RN_CM_SIDR_REP_SENT)
		rn_timer_rearm(&cm->timers, &conn->timer,
			       now + 2 * rn_cm_time(cm->cfg.resp_timeout));
	rn_cm_conn_release(cm, conn);
}
