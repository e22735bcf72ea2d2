/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.c - what all messages share: the table of connections, timers, events, sending and
 * receiving. connect.c, end.c and sidr.c handle the messages.
 *
 * A connection keeps the message that it sent last, and has one timer. While the peer's
 * answer is due, the timer sends that message again; in time-wait it ends the connection.
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
	[RN_CM_STAT_UNPROVEN] = "unproven",
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

/* ---- Memory of the table ---- */

enum {
	BLOCK_ALIGN = 16,
	CHAINS_MAX = 1 << 20,
};

/* Returns the number of hash chains in an index of connections: a power of two, at least
 * @conn_max but not more than CHAINS_MAX. So a chain is short even if the table of
 * connections is full.
 */
static uint32_t chain_count(uint32_t conn_max)
{
	uint32_t n = 16;

	while (n < conn_max && n < CHAINS_MAX)
		n *= 2;
	return n;
}

static size_t align_up(size_t size)
{
	return (size + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
}

size_t rn_cm_size(uint32_t conn_max)
{
	return align_up(sizeof(struct rn_cm)) +
	       3 * (size_t)chain_count(conn_max) * sizeof(struct rn_hnode *) +
	       (size_t)conn_max * sizeof(struct rn_cm_conn);
}

static uint64_t draw(struct rn_cm *cm)
{
	return cm->cfg.draw ? cm->cfg.draw() : rn_random_next(&cm->random);
}

struct rn_cm *rn_cm_init(void *block, const struct rn_cm_cfg *cfg)
{
	struct rn_cm *cm = block;
	uint32_t chains = chain_count(cfg->conn_max);
	struct rn_hnode **bucket = (void *)((char *)block + align_up(sizeof(*cm)));

	assert(cfg->conn_max > 0);
	memset(cm, 0, sizeof(*cm));
	memset(bucket, 0, 3 * (size_t)chains * sizeof(struct rn_hnode *));
	cm->cfg = *cfg;
	if (!cm->cfg.resp_timeout)
		cm->cfg.resp_timeout = RN_CM_RESP_TIMEOUT;
	if (!cm->cfg.ack_delay)
		cm->cfg.ack_delay = RN_CM_ACK_DELAY_DEFAULT;
	if (!cm->cfg.max_retries)
		cm->cfg.max_retries = RN_CM_MAX_RETRIES;
	if (!cm->cfg.timeout_scale)
		cm->cfg.timeout_scale = 1;
	assert(cm->cfg.timeout_scale <= 1000);
	assert(cm->cfg.resp_timeout <= 31);
	assert(cm->cfg.ack_delay <= 31);
	assert(cm->cfg.max_retries <= 15);
	cm->random.state = cfg->seed;
	cm->secret = draw(cm);
	cm->tid_count = draw(cm) >> 40;
	rn_list_init(&cm->tx);
	rn_list_init(&cm->events);
	rn_list_init(&cm->changed);
	cm->by_id = (struct rn_cm_index){ bucket, chains - 1 };
	cm->by_peer = (struct rn_cm_index){ bucket + chains, chains - 1 };
	cm->by_qpn = (struct rn_cm_index){ bucket + 2 * (size_t)chains, chains - 1 };
	cm->conns = (void *)(bucket + 3 * (size_t)chains);
	return cm;
}

uint32_t rn_cm_conn_count(const struct rn_cm *cm)
{
	return cm->count;
}

/* ---- Addresses that may be forged ----
 *
 * A REQ with a forged source address makes a listener send a REP, and its repetitions, to
 * that address: 16 messages for one. The REP has a random communication ID, so a message
 * that names this ID shows that the peer receives what is sent to its address. Until then
 * the address gets RN_CM_AMPLIFICATION messages for each request that came from it. A
 * peer that did not get the REP sends its request again, which brings new credit. A peer
 * that got the REP, but whose RTU was lost, sends nothing by itself; so an address that
 * has proven itself stays proven for some time, for all of its connections, and only the
 * REP of a peer's first connection is repeated less often than the REQ allows.
 */

/* Time for which an address stays proven, from the last message that shows it. */
#define PROVEN_FOR RN_MSEC(600000)

static struct rn_cm_proven *proven_entry(struct rn_cm *cm, const struct rn_gid *addr)
{
	uint64_t z = rn_random_mix(cm->secret ^ rn_get_be64(addr->raw));

	z = rn_random_mix(z ^ rn_get_be64(addr->raw + 8));
	return &cm->proven[z % RN_CM_PROVEN];
}

static void prove(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	conn->is_proven = true;
	*proven_entry(cm, &conn->info.flow.dst) = (struct rn_cm_proven){
		.addr = conn->info.flow.dst,
		.until = now + PROVEN_FOR,
	};
}

void rn_cm_credit(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	const struct rn_cm_proven *known = proven_entry(cm, &conn->info.flow.dst);

	if (now < known->until && rn_cm_same_gid(&known->addr, &conn->info.flow.dst))
		conn->is_proven = true;
	else if (conn->credit <= UINT8_MAX - RN_CM_AMPLIFICATION)
		conn->credit += RN_CM_AMPLIFICATION;
}

static bool may_send(const struct rn_cm_conn *conn)
{
	return conn->is_proven || conn->credit > 0;
}

/* May the connection's last message be sent once more? If the peer's address may be
 * forged, only a limited number of messages (the credit) may be sent to it. The last of
 * these is kept for the last early retry, because by then the network may have recovered
 * from what lost the others.
 */
static bool may_repeat(const struct rn_cm_conn *conn)
{
	return conn->is_proven || conn->credit > 1 ||
	       (conn->credit == 1 && conn->early_left == 0);
}

static void spend(struct rn_cm_conn *conn)
{
	if (conn->is_proven)
		return;
	assert(conn->credit > 0);
	conn->credit--;
}

/* ---- Hash chains ---- */

static struct rn_hnode **chain(const struct rn_cm_index *index, uint32_t key)
{
	return &index->bucket[key & index->mask];
}

static void link_in(struct rn_cm_index *index, struct rn_hnode *node, uint32_t key)
{
	struct rn_hnode **head = chain(index, key);

	node->key = key;
	node->next = *head;
	*head = node;
}

static void take_out(struct rn_cm_index *index, struct rn_hnode *node)
{
	struct rn_hnode **at = chain(index, node->key);

	while (*at != node) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = node->next;
}

/* Computes a hash of the values that identify a peer, or a QP of a peer. A peer chooses
 * its communication IDs and QPNs, so a secret is mixed in: no peer can choose values that
 * make long chains.
 */
static uint32_t hash(const struct rn_cm *cm, const struct rn_gid *addr, uint64_t guid,
		     uint32_t number)
{
	uint64_t z = rn_random_mix(cm->secret ^ rn_get_be64(addr->raw));

	z = rn_random_mix(z ^ rn_get_be64(addr->raw + 8));
	z = rn_random_mix(z ^ guid);
	return (uint32_t)rn_random_mix(z ^ number);
}

static struct rn_cm_conn *find_id(const struct rn_cm *cm, uint32_t id)
{
	for (struct rn_hnode *n = *chain(&cm->by_id, id); n; n = n->next)
		if (n->key == id)
			return RN_CONTAINER_OF(n, struct rn_cm_conn, by_id);
	return NULL;
}

static bool is_from(const struct rn_cm_conn *conn, const struct rn_gid *addr,
		    uint64_t guid)
{
	return conn->info.remote_guid == guid &&
	       rn_cm_same_gid(&conn->info.flow.dst, addr);
}

struct rn_cm_conn *rn_cm_find(struct rn_cm *cm, const struct rn_cm_in *in,
			      uint32_t local_id, uint32_t remote_id)
{
	struct rn_cm_conn *conn = find_id(cm, local_id);

	if (!conn || (conn->info.remote_id && conn->info.remote_id != remote_id) ||
	    !rn_cm_same_gid(&conn->info.flow.dst, &in->flow->src))
		return NULL;
	prove(cm, in->now, conn);
	rn_cm_touch(cm, conn);
	return conn;
}

struct rn_cm_conn *rn_cm_find_peer(struct rn_cm *cm, const struct rn_gid *addr,
				   uint64_t guid, uint32_t remote_id)
{
	uint32_t key = hash(cm, addr, guid, remote_id);

	for (struct rn_hnode *n = *chain(&cm->by_peer, key); n; n = n->next) {
		struct rn_cm_conn *c = RN_CONTAINER_OF(n, struct rn_cm_conn, by_peer);

		if (c->info.remote_id == remote_id && is_from(c, addr, guid)) {
			rn_cm_touch(cm, c);
			return c;
		}
	}
	return NULL;
}

struct rn_cm_conn *rn_cm_find_qpn(struct rn_cm *cm, const struct rn_gid *addr,
				  uint64_t guid, uint32_t qpn)
{
	uint32_t key = hash(cm, addr, guid, qpn);

	for (struct rn_hnode *n = *chain(&cm->by_qpn, key); n; n = n->next) {
		struct rn_cm_conn *c = RN_CONTAINER_OF(n, struct rn_cm_conn, by_qpn);

		if (c->info.qp.dest_qpn == qpn && is_from(c, addr, guid)) {
			rn_cm_touch(cm, c);
			return c;
		}
	}
	return NULL;
}

void rn_cm_index_id(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	link_in(&cm->by_id, &conn->by_id, conn->info.local_id);
}

void rn_cm_index_peer(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	assert(!conn->in_peer);
	link_in(&cm->by_peer, &conn->by_peer,
		hash(cm, &conn->info.flow.dst, conn->info.remote_guid,
		     conn->info.remote_id));
	conn->in_peer = true;
}

void rn_cm_index_qpn(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	assert(!conn->in_qpn);
	link_in(&cm->by_qpn, &conn->by_qpn,
		hash(cm, &conn->info.flow.dst, conn->info.remote_guid,
		     conn->info.qp.dest_qpn));
	conn->in_qpn = true;
}

void rn_cm_unindex_qpn(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (conn->in_qpn)
		take_out(&cm->by_qpn, &conn->by_qpn);
	conn->in_qpn = false;
}

void rn_cm_unindex(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	rn_cm_unindex_qpn(cm, conn);
	if (conn->in_peer)
		take_out(&cm->by_peer, &conn->by_peer);
	conn->in_peer = false;
}

/* ---- Allocation of connections ---- */

struct rn_cm_conn *rn_cm_conn_new(struct rn_cm *cm)
{
	struct rn_cm_conn *conn = cm->free;
	uint32_t id;

	if (conn) {
		cm->free = conn->next;
		rn_list_remove(&conn->changed);
	} else if (cm->fresh < cm->cfg.conn_max) {
		conn = &cm->conns[cm->fresh++];
	} else {
		return NULL;
	}
	memset(conn, 0, sizeof(*conn));
	rn_list_init(&conn->tx);
	rn_list_init(&conn->ev);
	rn_list_init(&conn->changed);
	rn_cm_touch(cm, conn);
	conn->in_use = true;
	do
		id = (uint32_t)draw(cm);
	while (!id || find_id(cm, id));
	conn->info.local_id = id;
	conn->is_open = true;
	conn->max_retries = cm->cfg.max_retries;
	rn_cm_index_id(cm, conn);
	cm->count++;
	return conn;
}

void rn_cm_conn_release(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (conn->is_open || conn->info.state != RN_CM_IDLE ||
	    rn_list_is_linked(&conn->tx))
		return;
	assert(!conn->listener);
	assert(!conn->in_peer && !conn->in_qpn);
	assert(!rn_list_is_linked(&conn->ev));
	assert(!rn_timer_is_armed(&conn->timer));
	take_out(&cm->by_id, &conn->by_id);
	rn_cm_touch(cm, conn);
	conn->in_use = false;
	conn->next = cm->free;
	cm->free = conn;
	assert(cm->count > 0);
	cm->count--;
}

uint64_t rn_cm_new_tid(struct rn_cm *cm, const struct rn_cm_conn *conn)
{
	return ++cm->tid_count << 32 | conn->info.local_id;
}

/* ---- Messages to be sent ---- */

bool rn_cm_offer_is_good(const struct rn_cm_offer *o, uint32_t room)
{
	return o->data_len <= room && o->qpn <= RN_QPN_MASK && o->psn <= RN_QPN_MASK &&
	       o->vendor_id <= 0xffffff && o->transport <= 3 && o->ext_transport <= 7 &&
	       o->retry_count <= 7 && o->rnr_retry_count <= 7;
}

void rn_cm_keep(uint8_t field[RN_CM_DATA_MAX], const struct rn_cm_msg *msg)
{
	assert(msg->data_len <= RN_CM_DATA_MAX);
	memcpy(field, msg->data, msg->data_len);
}

/* Write the MAD of @msg into @pkt, the packet that will carry it. This is the only
 * function that writes MADs.
 */
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

void rn_cm_say_again(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (!may_send(conn))
		rn_cm_stat(cm, RN_CM_STAT_UNPROVEN);
	else if (!rn_list_is_linked(&conn->tx))
		rn_list_push_back(&cm->tx, &conn->tx);
}

void rn_cm_say(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_msg *msg,
	       uint64_t tid, uint32_t attr_mod)
{
	/* Move the connection to the end of the list of those that have a message to
	 * send: its place is that of the new message, not that of the message replaced.
	 */
	rn_list_remove(&conn->tx);
	rn_cm_say_again(cm, conn);
	rn_cm_calm(cm, conn);
	write_mad(conn->out, msg, tid, attr_mod);
}

void rn_cm_reply(struct rn_cm *cm, const struct rn_cm_in *in, const struct rn_cm_msg *msg)
{
	struct rn_cm_answer *answer;

	if (cm->reply_count == RN_CM_REPLIES) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_FULL);
		return;
	}
	answer = &cm->replies[(cm->reply_first + cm->reply_count++) % RN_CM_REPLIES];
	answer->flow = rn_gsi_answer_flow(in->flow);
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
	rn_cm_touch(cm, conn);
	*tx = (struct rn_cm_tx){ .flow = conn->info.flow,
				 .dest_qpn = RN_QPN_GSI,
				 .pkt = conn->out };
	spend(conn);
	rn_cm_stat(cm, RN_CM_STAT_TX);
	/* If the connection is freed here, its bytes stay as they are until it is
	 * allocated again, so @tx remains valid.
	 */
	rn_cm_conn_release(cm, conn);
	return true;
}

/* ---- Timers: retries and time-wait ---- */

/* Time before the first early retry. A host answers within microseconds, and a program
 * usually within milliseconds, but the agreed timeouts are for the slowest peers. So some
 * retries are made early, in order that the loss of one message does not cost seconds.
 */
#define EARLY RN_MSEC(200)
enum {
	EARLY_PART = 3, /* one retry in EARLY_PART is made early */
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
	/* The peer's time-wait may end before that of this side. Then the peer may use
	 * its QPN for another connection.
	 */
	rn_cm_unindex_qpn(cm, conn);
	conn->info.state = RN_CM_TIMEWAIT;
	rn_timer_rearm(&cm->timers, &conn->timer,
		       now + rn_cm_time(conn->info.qp.timeout));
}

/* Act on the last message of @conn, which got no answer after all retries. */
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

static void repeat(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (!may_repeat(conn)) {
		rn_cm_stat(cm, RN_CM_STAT_UNPROVEN);
		return;
	}
	rn_cm_stat(cm, RN_CM_STAT_RESENT);
	rn_cm_say_again(cm, conn);
}

/* Does a packet of the peer's QP take the place of an RTU that was lost? The RTU may
 * never come: by the specification the active side does not repeat it once it uses its QP
 * (12.9.7.2, state REP Sent). And if the address of the active side is not proven, too
 * few copies of the REP are sent to it to make it send another RTU.
 */
static bool has_request(const struct rn_cm *cm, const struct rn_cm_conn *conn)
{
	if (conn->info.state != RN_CM_REP_SENT && conn->info.state != RN_CM_MRA_REP_RCVD)
		return false;
	return cm->cfg.has_request &&
	       cm->cfg.has_request(cm->cfg.ctx, &conn->info, conn->local_qpn);
}

static void expire_one(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn)
{
	rn_cm_touch(cm, conn);
	if (conn->info.state == RN_CM_TIMEWAIT) {
		rn_cm_to_idle(cm, conn);
		rn_cm_raise(cm, conn, RN_CM_EV_TIMEWAIT_EXIT, 0);
	} else if (conn->info.state == RN_CM_SIDR_REP_SENT) {
		rn_cm_to_idle(cm, conn);
	} else if (has_request(cm, conn)) {
		rn_cm_established(cm, conn);
	} else if (conn->retries_left) {
		conn->retries_left--;
		repeat(cm, conn);
		rn_timer_add(&cm->timers, &conn->timer, now + next_wait(conn));
	} else {
		give_up(cm, now, conn);
	}
	rn_cm_conn_release(cm, conn);
}

void rn_cm_expire(struct rn_cm *cm, rn_ns now)
{
	struct rn_timer *t;

	for (unsigned i = 0; i < RN_CM_EXPIRE_MAX && (t = rn_timer_pop(&cm->timers, now));
	     i++)
		expire_one(cm, now, RN_CONTAINER_OF(t, struct rn_cm_conn, timer));
}

/* ---- Events for the program ---- */

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

/* Fill in private data, ARI and status of an event. */
static void describe(const struct rn_cm_conn *conn, struct rn_cm_event *ev)
{
	static const struct {
		uint8_t attr; /* message that has the private data; 0: none */
		bool is_end;  /* the private data is in end_data; false: in open_data */
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

/* ---- Receiving of messages ---- */

static void (*const handlers[])(struct rn_cm *cm, struct rn_cm_in *in) = {
	[RN_CM_REQ] = rn_cm_on_req,	      [RN_CM_MRA] = rn_cm_on_mra,
	[RN_CM_REJ] = rn_cm_on_rej,	      [RN_CM_REP] = rn_cm_on_rep,
	[RN_CM_RTU] = rn_cm_on_rtu,	      [RN_CM_DREQ] = rn_cm_on_dreq,
	[RN_CM_DREP] = rn_cm_on_drep,	      [RN_CM_SIDR_REQ] = rn_cm_on_sidr_req,
	[RN_CM_SIDR_REP] = rn_cm_on_sidr_rep, [RN_CM_LAP] = rn_cm_on_lap,
	[RN_CM_APR] = rn_cm_on_apr,
};

/* Parse a received message. Return: RN_CM_STAT_RX if it is valid; otherwise the counter
 * of the reason to drop it.
 */
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

/* Is this a request for a service that has no listener yet? */
static bool is_early(struct rn_cm *cm, const struct rn_cm_in *in)
{
	bool known = true;

	if (in->msg.attr == RN_CM_REQ)
		rn_cm_match(cm, in, in->msg.req.service_id, in->msg.data, &known);
	else if (in->msg.attr == RN_CM_SIDR_REQ)
		rn_cm_match(cm, in, in->msg.sidr_req.service_id, in->msg.data, &known);
	return !known;
}

bool rn_cm_receive(struct rn_cm *cm, rn_ns now, const struct rn_cm_rx *rx)
{
	struct rn_cm_in in = { .now = now };
	enum rn_cm_stat verdict = parse(&in, rx);

	if (verdict == RN_CM_STAT_RX && rx->may_wait && is_early(cm, &in))
		return false;
	rn_cm_stat(cm, verdict);
	if (verdict == RN_CM_STAT_RX)
		handlers[in.msg.attr](cm, &in);
	return true;
}
