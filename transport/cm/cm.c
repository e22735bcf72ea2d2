/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.c - messages in and out of the connection manager, events, and timers. What the
 * messages do is in connect.c, end.c and sidr.c.
 *
 * A connection keeps the message that it sent last, and has one timer. While an answer is
 * due, the timer sends that message again; in time-wait it ends the connection.
 */
#include "cm.h"

static const char *const stat_names[] = {
	[RN_CM_STAT_RX] = "rx",
	[RN_CM_STAT_TX] = "tx",
	[RN_CM_STAT_RESENT] = "resent",
	[RN_CM_STAT_TIMEOUTS] = "timeouts",
	[RN_CM_STAT_DUPLICATES] = "duplicates",
	[RN_CM_STAT_STALE] = "stale",
	[RN_CM_STAT_REJ_SENT] = "rej_sent",
	[RN_CM_STAT_REJ_RECEIVED] = "rej_received",
	[RN_CM_STAT_DROP_HEADER] = "drop_header",
	[RN_CM_STAT_DROP_ATTR] = "drop_attr",
	[RN_CM_STAT_DROP_UNKNOWN] = "drop_unknown",
	[RN_CM_STAT_DROP_STATE] = "drop_state",
	[RN_CM_STAT_DROP_FULL] = "drop_full",
};
static_assert(RN_ARRAY_SIZE(stat_names) == RN_CM_STAT_COUNT, "a word for each");

static const char *const event_names[] = {
	[RN_CM_EV_REQ] = "REQ",
	[RN_CM_EV_SIDR_REQ] = "SIDR_REQ",
	[RN_CM_EV_REP] = "REP",
	[RN_CM_EV_SIDR_REP] = "SIDR_REP",
	[RN_CM_EV_ESTABLISHED] = "ESTABLISHED",
	[RN_CM_EV_LAP] = "LAP",
	[RN_CM_EV_APR] = "APR",
	[RN_CM_EV_REJECTED] = "REJECTED",
	[RN_CM_EV_UNREACHABLE] = "UNREACHABLE",
	[RN_CM_EV_DISCONNECTED] = "DISCONNECTED",
	[RN_CM_EV_TIMEWAIT_EXIT] = "TIMEWAIT_EXIT",
};
static_assert(RN_ARRAY_SIZE(event_names) == RN_CM_EV_COUNT, "a word for each");

static const char *const state_names[] = {
	[RN_CM_IDLE] = "IDLE",
	[RN_CM_REQ_SENT] = "REQ_SENT",
	[RN_CM_MRA_REQ_RCVD] = "MRA_REQ_RCVD",
	[RN_CM_REP_RCVD] = "REP_RCVD",
	[RN_CM_MRA_REP_SENT] = "MRA_REP_SENT",
	[RN_CM_REQ_RCVD] = "REQ_RCVD",
	[RN_CM_MRA_REQ_SENT] = "MRA_REQ_SENT",
	[RN_CM_REP_SENT] = "REP_SENT",
	[RN_CM_MRA_REP_RCVD] = "MRA_REP_RCVD",
	[RN_CM_ESTABLISHED] = "ESTABLISHED",
	[RN_CM_DREQ_SENT] = "DREQ_SENT",
	[RN_CM_DREQ_RCVD] = "DREQ_RCVD",
	[RN_CM_TIMEWAIT] = "TIMEWAIT",
	[RN_CM_SIDR_REQ_SENT] = "SIDR_REQ_SENT",
	[RN_CM_SIDR_REQ_RCVD] = "SIDR_REQ_RCVD",
	[RN_CM_SIDR_REP_SENT] = "SIDR_REP_SENT",
};
static_assert(RN_ARRAY_SIZE(state_names) == RN_CM_STATE_COUNT, "a word for each");

const char *rn_cm_stat_name(enum rn_cm_stat stat)
{
	assert(stat < RN_CM_STAT_COUNT);
	return stat_names[stat];
}

const char *rn_cm_event_name(enum rn_cm_event_type type)
{
	assert(type < RN_CM_EV_COUNT);
	return event_names[type];
}

const char *rn_cm_state_name(enum rn_cm_state state)
{
	assert(state < RN_CM_STATE_COUNT);
	return state_names[state];
}

const struct rn_cm_info *rn_cm_conn_info(const struct rn_cm_conn *conn)
{
	return &conn->info;
}

void rn_cm_set_user(struct rn_cm_conn *conn, void *user)
{
	conn->info.user = user;
}

/* Do the values of an offer fit their fields in the messages? */
bool rn_cm_offer_is_good(const struct rn_cm_offer *o, uint32_t room)
{
	return o->data_len <= room && o->qpn <= RN_QPN_MASK && o->psn <= RN_QPN_MASK &&
	       o->vendor_id <= 0xffffff && o->transport <= 3 && o->ext_transport <= 7 &&
	       o->retry_count <= 7 && o->rnr_retry_count <= 7;
}

/* ---- Saying ---- */

void rn_cm_keep(uint8_t field[RN_CM_DATA_MAX], const struct rn_cm_msg *msg)
{
	assert(msg->data_len <= RN_CM_DATA_MAX);
	memcpy(field, msg->data, msg->data_len);
}

/* The one place where a MAD is made: in the packet that carries it. */
static void write_mad(uint8_t *pkt, const struct rn_cm_msg *msg, uint64_t tid,
		      uint32_t attr_mod)
{
	uint8_t *mad = pkt + RN_GSI_MAD_AT;
	const struct rn_mad_hdr hdr = {
		.base_version = RN_MAD_BASE_VERSION,
		.mgmt_class = RN_MAD_CLASS_CM,
		.class_version = RN_MAD_CM_VERSION,
		.method = RN_MAD_SEND,
		.tid = tid,
		.attr_id = (uint16_t)msg->attr,
		.attr_mod = attr_mod,
	};

	rn_mad_hdr_emit(mad, &hdr);
	rn_cm_msg_emit(mad + RN_MAD_HDR_LEN, msg);
}

void rn_cm_prepare(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_msg *msg,
		   uint64_t tid, uint32_t attr_mod)
{
	/* The message that was to be sent before is not valid any more. */
	rn_list_remove(&conn->tx);
	rn_cm_calm(cm, conn);
	write_mad(conn->out, msg, tid, attr_mod);
}

void rn_cm_say_again(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (!rn_list_is_linked(&conn->tx))
		rn_list_push_back(&cm->tx, &conn->tx);
}

void rn_cm_say(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_msg *msg,
	       uint64_t tid, uint32_t attr_mod)
{
	rn_cm_prepare(cm, conn, msg, tid, attr_mod);
	rn_cm_say_again(cm, conn);
}

/* The flow back to the sender of a packet. */
static struct rn_flow back(const struct rn_flow *f)
{
	return (struct rn_flow){
		.src = f->dst,
		.dst = f->src,
		.ifindex = f->ifindex,
		.tclass = f->tclass & 0xfc, /* without the ECN bits */
		.hop_limit = 64,
	};
}

void rn_cm_reply(struct rn_cm *cm, const struct rn_cm_in *in, const struct rn_cm_msg *msg)
{
	struct rn_cm_answer *answer;

	if (cm->reply_count == RN_CM_REPLIES) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_FULL);
		return;
	}
	answer = &cm->replies[(cm->reply_first + cm->reply_count++) % RN_CM_REPLIES];
	answer->flow = back(in->flow);
	answer->dest_qpn = in->src_qpn;
	write_mad(answer->out, msg, in->hdr.tid, 0);
}

bool rn_cm_transmit(struct rn_cm *cm, struct rn_cm_tx *tx)
{
	struct rn_cm_answer *answer;
	struct rn_cm_conn *conn;
	struct rn_list *node;

	if (cm->reply_count) {
		answer = &cm->replies[cm->reply_first];
		*tx = (struct rn_cm_tx){ .flow = answer->flow,
					 .dest_qpn = answer->dest_qpn,
					 .pkt = answer->out };
		cm->reply_first = (cm->reply_first + 1) % RN_CM_REPLIES;
		cm->reply_count--;
		rn_cm_stat(cm, RN_CM_STAT_TX);
		return true;
	}
	node = rn_list_pop_front(&cm->tx);
	if (!node)
		return false;
	conn = RN_CONTAINER_OF(node, struct rn_cm_conn, tx);
	*tx = (struct rn_cm_tx){ .flow = conn->info.flow,
				 .dest_qpn = RN_QPN_GSI,
				 .pkt = conn->out };
	rn_cm_stat(cm, RN_CM_STAT_TX);
	/* An entry that nobody needs any more keeps its bytes until it is taken anew. */
	rn_cm_conn_release(cm, conn);
	return true;
}

/* ---- Time ---- */

/* A host answers within microseconds, a program mostly within milliseconds. The agreed
 * timeouts are meant for the slowest, and the number of retries for all losses that may
 * occur. So some retries are made early, and one loss does not cost a wait of seconds.
 */
#define EARLY RN_MSEC(200)
enum {
	EARLY_PART = 3, /* the early retries are one third */
};

static rn_ns next_wait(struct rn_cm_conn *conn)
{
	rn_ns wait = conn->early;

	if (conn->early_left == 0)
		return conn->interval;
	conn->early_left--;
	conn->early *= 2;
	return wait;
}

void rn_cm_insist(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn, rn_ns interval)
{
	uint8_t left = conn->max_retries;
	rn_ns rest = interval * cm->cfg.timeout_scale * (left + 1);
	rn_ns step = EARLY * cm->cfg.timeout_scale;

	conn->retries_left = left;
	conn->early = step;
	for (; left > conn->max_retries - conn->max_retries / EARLY_PART &&
	       step < rest / (left + 1);
	     left--, step *= 2)
		rest -= step;
	conn->early_left = conn->max_retries - left;
	conn->interval = rest / (left + 1);
	rn_timer_rearm(&cm->timers, &conn->timer, now + next_wait(conn));
}

void rn_cm_calm(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	rn_timer_remove(&cm->timers, &conn->timer);
}

rn_ns rn_cm_deadline(const struct rn_cm *cm)
{
	return rn_timer_next_deadline(&cm->timers);
}

void rn_cm_to_idle(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	rn_cm_calm(cm, conn);
	rn_cm_unindex(cm, conn);
	rn_cm_taken(conn);
	conn->info.state = RN_CM_IDLE;
}

void rn_cm_to_timewait(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	rn_cm_taken(conn);
	/* The peer's time-wait may end first, and then it may use its QPN again. */
	rn_cm_unindex_qpn(cm, conn);
	conn->info.state = RN_CM_TIMEWAIT;
	rn_timer_rearm(&cm->timers, &conn->timer,
		       now + rn_cm_time(conn->info.qp.timeout));
}

/* There was no answer, and no retries are left. */
static void give_up(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	rn_cm_stat(cm, RN_CM_STAT_TIMEOUTS);
	switch (conn->info.state) {
	case RN_CM_REQ_SENT:
	case RN_CM_MRA_REQ_RCVD:
	case RN_CM_REP_SENT:
	case RN_CM_MRA_REP_RCVD:
	case RN_CM_SIDR_REQ_SENT:
		rn_cm_to_idle(cm, conn);
		rn_cm_raise(cm, conn, RN_CM_EV_UNREACHABLE, -ETIMEDOUT);
		return;
	case RN_CM_DREQ_SENT:
		rn_cm_to_timewait(cm, now, conn);
		rn_cm_raise(cm, conn, RN_CM_EV_DISCONNECTED, -ETIMEDOUT);
		return;
	case RN_CM_ESTABLISHED:
		assert(conn->lap == RN_CM_LAP_SENT);
		conn->lap = RN_CM_LAP_NONE;
		rn_cm_raise(cm, conn, RN_CM_EV_APR, -ETIMEDOUT);
		return;
	case RN_CM_IDLE:
	case RN_CM_REP_RCVD:
	case RN_CM_MRA_REP_SENT:
	case RN_CM_REQ_RCVD:
	case RN_CM_MRA_REQ_SENT:
	case RN_CM_DREQ_RCVD:
	case RN_CM_TIMEWAIT:
	case RN_CM_SIDR_REQ_RCVD:
	case RN_CM_SIDR_REP_SENT:
	case RN_CM_STATE_COUNT:
		break;
	}
	assert(false); /* no answer is due in any other state */
}

static void expire_one(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	if (conn->info.state == RN_CM_TIMEWAIT) {
		rn_cm_to_idle(cm, conn);
		rn_cm_raise(cm, conn, RN_CM_EV_TIMEWAIT_EXIT, 0);
	} else if (conn->info.state == RN_CM_SIDR_REP_SENT) {
		rn_cm_to_idle(cm, conn);
	} else if (conn->retries_left) {
		conn->retries_left--;
		rn_cm_stat(cm, RN_CM_STAT_RESENT);
		rn_timer_add(&cm->timers, &conn->timer, now + next_wait(conn));
		rn_cm_say_again(cm, conn);
	} else {
		give_up(cm, now, conn);
	}
	rn_cm_conn_release(cm, conn);
}

void rn_cm_expire(struct rn_cm *cm, rn_ns now)
{
	struct rn_timer *t;

	while ((t = rn_timer_pop(&cm->timers, now)))
		expire_one(cm, now, RN_CONTAINER_OF(t, struct rn_cm_conn, timer));
}

/* ---- Events ---- */

void rn_cm_raise(struct rn_cm *cm, struct rn_cm_conn *conn, enum rn_cm_event_type type,
		 int status)
{
	if (!conn->is_open)
		return;
	if (status || type != RN_CM_EV_TIMEWAIT_EXIT)
		conn->status = status;
	conn->events |= (uint16_t)(1u << type);
	if (!rn_list_is_linked(&conn->ev))
		rn_list_push_back(&cm->events, &conn->ev);
}

/* Fill in the private data and status that an event shows. */
static void describe(const struct rn_cm_conn *conn, struct rn_cm_event *ev)
{
	static const struct {
		uint8_t attr; /* attribute of the message; 0: none */
		bool is_end;  /* the data is in end_data */
		bool ari, status;
	} rows[] = {
		[RN_CM_EV_REQ] = { RN_CM_REQ, false, false, false },
		[RN_CM_EV_SIDR_REQ] = { RN_CM_SIDR_REQ, false, false, false },
		[RN_CM_EV_REP] = { RN_CM_REP, false, false, false },
		[RN_CM_EV_SIDR_REP] = { RN_CM_SIDR_REP, false, true, true },
		[RN_CM_EV_ESTABLISHED] = { RN_CM_RTU, false, false, false },
		[RN_CM_EV_LAP] = { RN_CM_LAP, false, false, false },
		[RN_CM_EV_APR] = { RN_CM_APR, true, true, true },
		[RN_CM_EV_REJECTED] = { RN_CM_REJ, true, true, true },
		[RN_CM_EV_UNREACHABLE] = { 0, false, false, true },
		[RN_CM_EV_DISCONNECTED] = { RN_CM_DREQ, true, false, true },
		[RN_CM_EV_TIMEWAIT_EXIT] = { 0, false, false, false },
	};

	static_assert(RN_ARRAY_SIZE(rows) == RN_CM_EV_COUNT, "a row for each");
	if (rows[ev->type].status)
		ev->status = conn->status;
	if (rows[ev->type].attr) {
		ev->data = rows[ev->type].is_end ? conn->end_data : conn->open_data;
		ev->data_len = rn_cm_data_len((enum rn_cm_attr)rows[ev->type].attr);
	}
	if (rows[ev->type].ari && conn->ari_len) {
		ev->ari = conn->ari;
		ev->ari_len = conn->ari_len;
	}
}

bool rn_cm_next_event(struct rn_cm *cm, struct rn_cm_event *ev)
{
	struct rn_list *node = rn_list_first(&cm->events);
	struct rn_cm_conn *conn;

	if (!node)
		return false;
	conn = RN_CONTAINER_OF(node, struct rn_cm_conn, ev);
	*ev = (struct rn_cm_event){
		.type = (enum rn_cm_event_type)__builtin_ctz(conn->events),
		.conn = conn,
	};
	if (ev->type == RN_CM_EV_REQ || ev->type == RN_CM_EV_SIDR_REQ)
		ev->listener = conn->listener;
	describe(conn, ev);
	conn->events &= (uint16_t)(conn->events - 1);
	if (!conn->events)
		rn_list_remove(node);
	return true;
}

/* ---- Receiving ---- */

static void (*const handlers[])(struct rn_cm *cm, struct rn_cm_in *in) = {
	[RN_CM_REQ] = rn_cm_on_req,	      [RN_CM_MRA] = rn_cm_on_mra,
	[RN_CM_REJ] = rn_cm_on_rej,	      [RN_CM_REP] = rn_cm_on_rep,
	[RN_CM_RTU] = rn_cm_on_rtu,	      [RN_CM_DREQ] = rn_cm_on_dreq,
	[RN_CM_DREP] = rn_cm_on_drep,	      [RN_CM_SIDR_REQ] = rn_cm_on_sidr_req,
	[RN_CM_SIDR_REP] = rn_cm_on_sidr_rep, [RN_CM_LAP] = rn_cm_on_lap,
	[RN_CM_APR] = rn_cm_on_apr,
};

/* Parse a message. Return: RN_CM_STAT_RX, or why it is dropped. */
static enum rn_cm_stat parse(struct rn_cm_in *in, const struct rn_cm_rx *rx)
{
	in->flow = rx->flow;
	in->src_qpn = rx->src_qpn;
	rn_mad_hdr_parse(&in->hdr, rx->mad);
	if (in->hdr.base_version != RN_MAD_BASE_VERSION ||
	    in->hdr.mgmt_class != RN_MAD_CLASS_CM ||
	    in->hdr.class_version != RN_MAD_CM_VERSION || in->hdr.method != RN_MAD_SEND)
		return RN_CM_STAT_DROP_HEADER;
	if (rn_cm_msg_parse(&in->msg, in->hdr.attr_id, rx->mad + RN_MAD_HDR_LEN))
		return RN_CM_STAT_DROP_ATTR;
	return RN_CM_STAT_RX;
}

void rn_cm_receive(struct rn_cm *cm, rn_ns now, const struct rn_cm_rx *rx)
{
	struct rn_cm_in in = { .now = now };
	enum rn_cm_stat verdict = parse(&in, rx);

	rn_cm_stat(cm, verdict);
	if (verdict == RN_CM_STAT_RX)
		handlers[in.msg.attr](cm, &in);
}

bool rn_cm_is_early(struct rn_cm *cm, const struct rn_cm_rx *rx)
{
	struct rn_cm_in in = { 0 };
	bool known = true;

	if (parse(&in, rx) != RN_CM_STAT_RX)
		return false;
	if (in.msg.attr == RN_CM_REQ)
		rn_cm_match(cm, &in, in.msg.req.service_id, in.msg.data, &known);
	else if (in.msg.attr == RN_CM_SIDR_REQ)
		rn_cm_match(cm, &in, in.msg.sidr_req.service_id, in.msg.data, &known);
	return !known;
}
