/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_cm.c - the connections of a scenario on a live device: the program on the device
 * is the agent, which uses librdmacm.
 *
 * Connections outlive their scenario: a device that closes them repeats DREQs until they
 * are answered, and remembers the peer in time-wait. So the peer uses other communication
 * IDs in each run. This file answers messages of the device about earlier runs, and the
 * scenario does not see them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conform.h"
#include "sim/scenario/describe.h"

enum {
	/* time in ms to wait for the answer which shows that the device has closed all
	 * connections
	 */
	CLOSED_MS = 1000,
	SERVICE_MASK = 0xffff, /* the bits of a service ID that contain the port number */
};

/* --------------------------------------------------------------- calls by the agent */
static int begin_conn(struct rn_live_target *t, const struct rn_scn_line *l,
		      const char *word)
{
	const struct rn_scn_object *o = &t->s->conn[l->subject];
	struct rn_conform_line line = { .count = RN_CONFORM_CONN_NUMBERS };

	snprintf(line.word, sizeof(line.word), "%s", word);
	line.n[RN_CONFORM_CONN] = l->subject;
	line.n[RN_CONFORM_CONN_UDP] = rn_scn_has(&o->line, RN_F_UDP);
	line.n[RN_CONFORM_CONN_PORT] = rn_scene_service(o) & SERVICE_MASK;
	line.n[RN_CONFORM_CONN_TO] =
		rn_scn_get(l, RN_F_TO, RN_SCN_TO_ONE) == RN_SCN_TO_OTHER;
	line.n[RN_CONFORM_CONN_QPN] =
		rn_scn_get(l, RN_F_QPN, (uint64_t)RN_SCENE_CM_QPN + l->subject);
	line.n[RN_CONFORM_CONN_RESP] = rn_scn_get(l, RN_F_RESP, RN_SCENE_CM_RESP);
	line.n[RN_CONFORM_CONN_DEPTH] = rn_scn_get(l, RN_F_DEPTH, RN_SCENE_CM_DEPTH);
	line.n[RN_CONFORM_CONN_RETRY] = rn_scn_get(l, RN_F_RETRY, RN_SCENE_CM_RETRY);
	line.n[RN_CONFORM_CONN_RNR_RETRY] =
		rn_scn_get(l, RN_F_RNR_RETRY, RN_SCENE_CM_RNR_RETRY);
	line.n[RN_CONFORM_CONN_DATA] = rn_scn_get(l, RN_F_PRIVATE, 0);
	return rn_live_ask(t, &line);
}

static int listen_for(struct rn_live_target *t, const struct rn_scn_line *l)
{
	const struct rn_scn_object *o = &t->s->conn[l->subject];
	struct rn_conform_line line = { .word = "listen",
					.count = 4,
					.n = { l->subject, rn_scn_has(&o->line, RN_F_UDP),
					       rn_scene_service(o) & SERVICE_MASK,
					       rn_scn_get(l, RN_F_BACKLOG, 0) } };

	return rn_live_ask(t, &line);
}

static int refuse(struct rn_live_target *t, const struct rn_scn_line *l)
{
	struct rn_conform_line line = { .word = "reject",
					.count = 2,
					.n = { l->subject,
					       rn_scn_get(l, RN_F_PRIVATE, 0) } };

	return rn_live_ask(t, &line);
}

int rn_live_cm_call(struct rn_live_target *t, const struct rn_scn_line *l)
{
	struct rn_conform_line line = { .count = 1, .n = { l->subject } };

	switch ((int)l->verb) {
	case RN_SCN_LISTEN:
		return listen_for(t, l);
	case RN_SCN_CONNECT:
	case RN_SCN_ASK:
		return begin_conn(t, l, "connect");
	case RN_SCN_ACCEPT:
		return begin_conn(t, l, "accept");
	case RN_SCN_ANSWER:
		return rn_scn_get(l, RN_F_CM_STATUS, 0) ? refuse(t, l)
							: begin_conn(t, l, "accept");
	case RN_SCN_REJECT:
		return refuse(t, l);
	case RN_SCN_MRA: /* rdma_cm has already sent the MRA; see live_skips.c */
		return 0;
	default:
		snprintf(line.word, sizeof(line.word), "%s", rn_scn_verb_name[l->verb]);
		return rn_live_ask(t, &line);
	}
}

/* ------------------------------------------------------------------------- events */
void rn_live_cm_take(struct rn_live_target *t, const struct rn_conform_line *l)
{
	struct rn_live_cm *cm = &t->cm;
	const uint64_t *n = l->n;
	struct rn_scene_cm_event *ev = &cm->event[cm->events % RN_LIVE_CM_EVENTS];
	uint64_t len = n[RN_CONFORM_CM_LENGTH];
	bool asks = n[RN_CONFORM_CM_TYPE] == RN_CM_EV_REQ ||
		    n[RN_CONFORM_CM_TYPE] == RN_CM_EV_SIDR_REQ;
	/* librdmacm hides the IP CM header, which is the beginning of the private data */
	uint32_t skip = asks ? RN_CM_IP_HDR_LEN : 0;
	char text[160];

	if (cm->events - cm->taken == RN_LIVE_CM_EVENTS ||
	    n[RN_CONFORM_CM_TYPE] >= RN_CM_EV_COUNT)
		return;
	*ev = (struct rn_scene_cm_event){
		.at = rn_conform_now(),
		.type = (uint8_t)n[RN_CONFORM_CM_TYPE],
		.conn = n[RN_CONFORM_CM_CONN] < RN_SCN_CONNS
				? (uint8_t)n[RN_CONFORM_CM_CONN]
				: RN_SCN_CONNS,
		.status = (int32_t)(uint32_t)n[RN_CONFORM_CM_STATUS],
		.hides_data = len > sizeof(ev->data) - skip,
		.hides_ari = true,
	};
	if (!ev->hides_data) {
		ev->data_len = (uint32_t)len + skip;
		memcpy(ev->data + skip, &n[RN_CONFORM_CM_DATA], len);
	}
	cm->events++;
	rn_describe_cm_event(ev, text, sizeof(text));
	rn_live_trace_add(t, "  ", text);
}

static const struct rn_scene_cm_event *next_event(void *ctx)
{
	const struct rn_live_cm *cm = &((struct rn_live_target *)ctx)->cm;

	return cm->events == cm->taken ? NULL : &cm->event[cm->taken % RN_LIVE_CM_EVENTS];
}

static void take_event(void *ctx, unsigned conn)
{
	struct rn_live_target *t = ctx;
	uint8_t type = t->cm.event[t->cm.taken++ % RN_LIVE_CM_EVENTS].type;
	struct rn_conform_line l = { .word = "take", .count = 1, .n = { conn } };

	if (type == RN_CM_EV_REQ || type == RN_CM_EV_SIDR_REQ)
		rn_live_ask(t, &l);
}

static const struct rn_cm_info *info(void *ctx, unsigned conn)
{
	struct rn_live_target *t = ctx;
	struct rn_conform_line l = { .word = "told", .count = 1, .n = { conn } };
	const uint64_t *n = l.n;

	if (rn_live_ask(t, &l) || l.count != RN_CONFORM_TOLD_NUMBERS)
		return NULL;
	t->cm.info =
		(struct rn_cm_info){ .qp = {
					     .dest_qpn =
						     (uint32_t)n[RN_CONFORM_TOLD_DEST],
					     .qkey = (uint32_t)n[RN_CONFORM_TOLD_QKEY],
					     .rq_psn =
						     (uint32_t)n[RN_CONFORM_TOLD_RQ_PSN],
					     .sq_psn =
						     (uint32_t)n[RN_CONFORM_TOLD_SQ_PSN],
					     .path_mtu = (uint8_t)n[RN_CONFORM_TOLD_MTU],
					     .max_rd_atomic =
						     (uint8_t)n[RN_CONFORM_TOLD_RD],
					     .max_dest_rd_atomic =
						     (uint8_t)n[RN_CONFORM_TOLD_DEST_RD],
					     .timeout =
						     (uint8_t)n[RN_CONFORM_TOLD_TIMEOUT],
					     .retry_cnt =
						     (uint8_t)n[RN_CONFORM_TOLD_RETRY],
					     .rnr_retry = (uint8_t)
						     n[RN_CONFORM_TOLD_RNR_RETRY],
				     } };
	return &t->cm.info;
}

/* ----------------------------------- messages that do not belong to the scenario */
/* Returns true if a device repeats a message of this kind until it is answered. */
static bool is_repeated(uint8_t kind)
{
	return kind == RN_CM_REQ || kind == RN_CM_REP || kind == RN_CM_DREQ ||
	       kind == RN_CM_LAP || kind == RN_CM_SIDR_REQ;
}

void rn_live_cm_note(struct rn_live_target *t, const struct rn_scene_packet *p)
{
	struct rn_live_cm *cm = &t->cm;
	struct rn_scn_line came;
	const uint8_t *mad = t->s->conns ? rn_scene_mad_decode(NULL, p, &came) : NULL;

	if (mad && is_repeated(came.opcode))
		memcpy(cm->noted[cm->notes++ % RN_LIVE_CM_NOTES], mad, RN_MAD_LEN);
}

/* Returns true if the scenario need not expect the message. A device may request more
 * time by an MRA. It may also repeat a message until it has received the answer, if the
 * tester is slow.
 */
static bool is_spare(void *ctx, const struct rn_scene_packet *p)
{
	const struct rn_live_cm *cm = &((struct rn_live_target *)ctx)->cm;
	struct rn_scn_line came;
	const uint8_t *mad = rn_scene_mad_decode(NULL, p, &came);

	if (!mad || !is_repeated(came.opcode))
		return mad && came.opcode == RN_CM_MRA;
	for (unsigned i = 0; i < cm->notes && i < RN_LIVE_CM_NOTES; i++)
		if (!memcmp(cm->noted[i], mad, RN_MAD_LEN))
			return true;
	return false;
}

static void give(struct rn_scn_line *l, enum rn_scn_field f, uint64_t value)
{
	l->given |= RN_F_BIT(f);
	l->value[f] = value;
	l->region[f] = RN_SCN_ABSOLUTE;
}

/* Sends a DREQ or DREP with the given communication IDs. */
static void send_farewell(struct rn_live_target *t, uint8_t kind, uint64_t local,
			  uint64_t remote, uint64_t tid)
{
	const struct rn_scn_object none = { 0 };
	struct rn_scene_conn conn = { .run = t->names->run };
	struct rn_scn_line l = { .verb = RN_SCN_MAD_IN, .opcode = kind };
	struct rn_scene_packet p;

	give(&l, RN_F_LOCAL, local);
	give(&l, RN_F_REMOTE, remote);
	give(&l, RN_F_TID, tid);
	rn_scene_mad_encode(t->names, &none, &conn, &l, &p);
	t->ops.inject(t, &p);
}

static void answer_farewell(struct rn_live_target *t, const struct rn_scn_line *came)
{
	if (came->opcode == RN_CM_DREQ)
		send_farewell(t, RN_CM_DREP, came->value[RN_F_REMOTE],
			      came->value[RN_F_LOCAL], came->value[RN_F_TID]);
}

bool rn_live_cm_is_old(struct rn_live_target *t, const struct rn_scene_packet *p)
{
	struct rn_scn_line came;

	if (!t->names || !rn_scene_mad_decode(NULL, p, &came) ||
	    !rn_scn_has(&came, RN_F_REMOTE) ||
	    !rn_scene_is_of_other_run(t->names->run, (uint32_t)came.value[RN_F_REMOTE]))
		return false;
	answer_farewell(t, &came);
	return true;
}

/* Waits until the device has sent all messages about the connections that the agent has
 * closed. For this, sends it a DREQ for a connection that does not exist: the answer
 * comes after all of these messages.
 */
void rn_live_cm_settle(struct rn_live_target *t)
{
	const uint64_t id = rn_scene_peer_id(t->names->run, RN_SCN_CONNS - 1);
	const rn_ns until = rn_conform_now() + RN_MSEC(CLOSED_MS);
	const struct rn_scene_packet *p;
	struct rn_scn_line came = { 0 };

	send_farewell(t, RN_CM_DREQ, id, 0, id);
	while (rn_conform_now() < until && !t->is_lost &&
	       !(came.opcode == RN_CM_DREP && came.value[RN_F_TID] == id)) {
		p = t->ops.packet(t);
		if (!p) {
			t->ops.run(t, until);
			continue;
		}
		if (rn_scene_mad_decode(NULL, p, &came))
			answer_farewell(t, &came);
		t->ops.drop_packet(t);
	}
}

const struct rn_scene_cm_ops rn_live_cm_ops = {
	.event = next_event,
	.take_event = take_event,
	.info = info,
	.hides_state = true,
	.is_spare = is_spare,
};
