/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_cm.c - makes the connections of a scenario by librdmacm.
 *
 * The ids have no queue pairs: the scenario gives the queue pair numbers, and librdmacm
 * then leaves it to the program to say that its queue pair is ready. An id that connects
 * has an event channel of its own, so that waiting for its path does not take events of
 * other ids. Listeners, and the ids of requests, use one channel. It is open as long as
 * the device, because a device of Rocin receives packets for queue pair 1 only while a
 * program has a channel.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "agent.h"
#include "rocin/cm.h"

enum {
	RESOLVE_MS = 2000, /* limit of each of the two steps that find a path */
	/* limit for the event that ends such a step, which comes by RESOLVE_MS */
	EVENT_MS = 3 * RESOLVE_MS,
	PRIVATE_LEN = 8,
};

/* ------------------------------------------------------------------- addresses */
union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static union address address_of(const union ibv_gid *gid, uint64_t port)
{
	union address at = { .v6.sin6_family = AF_INET6 };

	if (rn_agent_family_of(gid) == 1) {
		memcpy(&at.v6.sin6_addr, gid->raw, sizeof(at.v6.sin6_addr));
		at.v6.sin6_port = htons((uint16_t)port);
		return at;
	}
	at = (union address){ .v4.sin_family = AF_INET };
	memcpy(&at.v4.sin_addr, gid->raw + 12, sizeof(at.v4.sin_addr));
	at.v4.sin_port = htons((uint16_t)port);
	return at;
}

static const union ibv_gid *own_gid(const struct rn_agent *a)
{
	return &a->gid[rn_agent_family(a)];
}

/* ------------------------------------------------------------ connections and ids */
/* Returns a new channel, or NULL. It does not block: an event that poll() has announced
 * may be gone, with its id, before it is taken.
 */
static struct rdma_event_channel *make_channel(const struct rn_agent *a)
{
	struct rdma_event_channel *channel = a->cm.lib->create_event_channel();

	if (!channel || !fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		return channel;
	a->cm.lib->destroy_event_channel(channel);
	return NULL;
}

static void close_conn(struct rn_agent *a, struct rn_agent_conn *c)
{
	if (c->id)
		a->cm.lib->destroy_id(c->id);
	if (c->channel)
		a->cm.lib->destroy_event_channel(c->channel);
	*c = (struct rn_agent_conn){ 0 };
}

/* Returns connection @index if it has an id, else NULL. */
static struct rn_agent_conn *conn_at(struct rn_agent *a, uint64_t index)
{
	return index < RN_SCN_CONNS && a->cm.conn[index].id ? &a->cm.conn[index] : NULL;
}

static bool is_udp(const struct rdma_cm_id *id)
{
	return id->ps == RDMA_PS_UDP;
}

/* Returns 0, or the errno of a function of librdmacm that has returned @rc. */
static int error_of(int rc)
{
	return rc ? errno : 0;
}

/* Returns true if librdmacm binds an id to the address of the device, and finds that it
 * belongs to this device.
 */
static bool can_bind(struct rn_agent *a)
{
	unsigned family = a->gid_index[0] < 0;
	union address at = address_of(&a->gid[family], 0);
	struct rdma_cm_id *id;
	bool good;

	if (a->cm.lib->create_id(a->cm.channel, &id, NULL, RDMA_PS_TCP))
		return false;
	good = !a->cm.lib->bind_addr(id, &at.any) && id->verbs &&
	       !strcmp(ibv_get_device_name(id->verbs->device),
		       ibv_get_device_name(a->ctx->device));
	a->cm.lib->destroy_id(id);
	return good;
}

bool rn_agent_cm_open(struct rn_agent *a)
{
	a->cm.lib = rn_agent_rdmacm();
	if (!a->cm.lib)
		return false;
	a->cm.channel = make_channel(a);
	if (a->cm.channel && can_bind(a))
		return true;
	rn_agent_cm_close(a);
	return false;
}

void rn_agent_cm_clear(struct rn_agent *a)
{
	struct rn_agent_cm *cm = &a->cm;

	for (unsigned i = 0; i < RN_SCN_CONNS; i++) {
		close_conn(a, &cm->conn[i]);
		if (cm->listener[i])
			cm->lib->destroy_id(cm->listener[i]);
		cm->listener[i] = NULL;
	}
	for (unsigned i = 0; i < cm->requests; i++)
		cm->lib->destroy_id(cm->request[i]);
	cm->requests = 0;
}

void rn_agent_cm_close(struct rn_agent *a)
{
	rn_agent_cm_clear(a);
	if (a->cm.channel)
		a->cm.lib->destroy_event_channel(a->cm.channel);
	a->cm = (struct rn_agent_cm){ 0 };
}

/* ------------------------------------------------------------------- listening */
static int listen_for(struct rn_agent *a, struct rn_conform_line *l)
{
	union address at = address_of(own_gid(a), l->n[2]);
	struct rdma_cm_id **id = &a->cm.listener[l->n[0] % RN_SCN_CONNS];
	int rc;

	if (l->count != 4 || l->n[0] >= RN_SCN_CONNS || !a->cm.channel)
		return EPROTO;
	if (*id)
		return EADDRINUSE;
	if (a->cm.lib->create_id(a->cm.channel, id, NULL,
				 l->n[1] ? RDMA_PS_UDP : RDMA_PS_TCP))
		return errno;
	rc = error_of(a->cm.lib->bind_addr(*id, &at.any));
	if (!rc)
		rc = error_of(a->cm.lib->listen(*id, (int)(l->n[3] & 0xffff)));
	l->count = 0;
	if (!rc)
		return 0;
	a->cm.lib->destroy_id(*id);
	*id = NULL;
	return rc;
}

static int unlisten(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rdma_cm_id **id = &a->cm.listener[l->n[0] % RN_SCN_CONNS];

	if (l->count != 1 || l->n[0] >= RN_SCN_CONNS)
		return EPROTO;
	if (!*id)
		return ENOENT;
	l->count = 0;
	a->cm.lib->destroy_id(*id);
	*id = NULL;
	return 0;
}

/* Makes the oldest request a connection. A connection with the same index, which the
 * program has not closed, is closed.
 */
static int take(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_cm *cm = &a->cm;

	if (l->count != 1 || l->n[0] >= RN_SCN_CONNS || cm->requests == 0)
		return EPROTO;
	close_conn(a, &cm->conn[l->n[0]]);
	cm->conn[l->n[0]].id = cm->request[0];
	cm->requests--;
	for (unsigned i = 0; i < cm->requests; i++)
		cm->request[i] = cm->request[i + 1];
	l->count = 0;
	return 0;
}

/* -------------------------------------------------------------------- connecting */
/* Waits for the event that ends a step of finding a path. Returns 0 or an errno. */
static int await(struct rn_agent *a, struct rdma_event_channel *channel,
		 enum rdma_cm_event_type wanted)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int rc;

	do {
		if (poll(&p, 1, EVENT_MS) != 1)
			return ETIMEDOUT;
		rc = error_of(a->cm.lib->get_cm_event(channel, &ev));
	} while (rc == EAGAIN);
	if (rc)
		return rc;
	rc = ev->event == wanted ? 0 : ev->status < 0 ? -ev->status : EHOSTUNREACH;
	a->cm.lib->ack_cm_event(ev);
	return rc;
}

static int find_path(struct rn_agent *a, struct rn_agent_conn *c, const uint64_t *n)
{
	const union ibv_gid *peer = n[RN_CONFORM_CONN_TO] ? &a->other : &a->tester;
	union address from = address_of(own_gid(a), 0);
	union address to = address_of(peer, n[RN_CONFORM_CONN_PORT]);
	int rc;

	if (from.any.sa_family != to.any.sa_family)
		return EAFNOSUPPORT;
	rc = error_of(a->cm.lib->resolve_addr(c->id, &from.any, &to.any, RESOLVE_MS));
	if (!rc)
		rc = await(a, c->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (!rc)
		rc = error_of(a->cm.lib->resolve_route(c->id, RESOLVE_MS));
	return rc ? rc : await(a, c->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* Writes private data as bytes. Returns its length. */
static uint8_t put_data(uint64_t value, uint8_t data[PRIVATE_LEN])
{
	for (unsigned i = 0; i < PRIVATE_LEN; i++)
		data[i] = (uint8_t)(value >> (8 * (PRIVATE_LEN - 1 - i)));
	return value ? PRIVATE_LEN : 0;
}

static struct rdma_conn_param param_of(const uint64_t *n, uint8_t data[PRIVATE_LEN])
{
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = put_data(n[RN_CONFORM_CONN_DATA], data),
		.responder_resources = (uint8_t)n[RN_CONFORM_CONN_RESP],
		.initiator_depth = (uint8_t)n[RN_CONFORM_CONN_DEPTH],
		.retry_count = (uint8_t)n[RN_CONFORM_CONN_RETRY],
		.rnr_retry_count = (uint8_t)n[RN_CONFORM_CONN_RNR_RETRY],
		.qp_num = (uint32_t)n[RN_CONFORM_CONN_QPN],
	};
}

static int connect_to(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_conn *c = &a->cm.conn[l->n[0] % RN_SCN_CONNS];
	uint8_t data[PRIVATE_LEN];
	struct rdma_conn_param param = param_of(l->n, data);
	int rc;

	if (l->count != RN_CONFORM_CONN_NUMBERS || l->n[0] >= RN_SCN_CONNS ||
	    !a->cm.channel)
		return EPROTO;
	l->count = 0;
	close_conn(a, c);
	c->channel = make_channel(a);
	rc = c->channel ? 0 : ENOMEM;
	if (!rc)
		rc = error_of(a->cm.lib->create_id(
			c->channel, &c->id, NULL,
			l->n[RN_CONFORM_CONN_UDP] ? RDMA_PS_UDP : RDMA_PS_TCP));
	if (!rc)
		rc = find_path(a, c, l->n);
	if (!rc)
		rc = error_of(a->cm.lib->connect(c->id, &param));
	if (rc)
		close_conn(a, c);
	return rc;
}

/* --------------------------------------------------- calls about a connection */
static int accept_it(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_conn *c = conn_at(a, l->n[0]);
	uint8_t data[PRIVATE_LEN];
	struct rdma_conn_param param = param_of(l->n, data);

	if (l->count != RN_CONFORM_CONN_NUMBERS)
		return EPROTO;
	l->count = 0;
	return c ? error_of(a->cm.lib->accept(c->id, &param)) : ENOENT;
}

static int ready(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_conn *c = conn_at(a, l->n[0]);

	if (l->count != 1)
		return EPROTO;
	l->count = 0;
	return c ? error_of(a->cm.lib->establish(c->id)) : ENOENT;
}

static int reject(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_conn *c = conn_at(a, l->n[0]);
	uint8_t data[PRIVATE_LEN];
	uint8_t len = put_data(l->n[1], data);

	if (l->count != 2)
		return EPROTO;
	l->count = 0;
	return c ? error_of(a->cm.lib->reject(c->id, data, len)) : ENOENT;
}

static int established(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_conn *c = conn_at(a, l->n[0]);

	if (l->count != 1)
		return EPROTO;
	l->count = 0;
	return c ? error_of(a->cm.lib->notify(c->id, IBV_EVENT_COMM_EST)) : ENOENT;
}

static int disconnect(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_conn *c = conn_at(a, l->n[0]);

	if (l->count != 1)
		return EPROTO;
	l->count = 0;
	return c ? error_of(a->cm.lib->disconnect(c->id)) : ENOENT;
}

static int leave(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_conn *c = conn_at(a, l->n[0]);

	if (l->count != 1)
		return EPROTO;
	l->count = 0;
	if (!c)
		return ENOENT;
	close_conn(a, c);
	return 0;
}

/* Answers with what the program is told to set up its queue pair with. */
static int told(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	struct rn_agent_conn *c = conn_at(a, l->n[0]);
	uint64_t *n = l->n;
	int mask;

	if (l->count != 1)
		return EPROTO;
	if (!c)
		return ENOENT;
	if (!is_udp(c->id) && (a->cm.lib->init_qp_attr(c->id, &rtr, &mask) ||
			       a->cm.lib->init_qp_attr(c->id, &rts, &mask)))
		return errno;
	l->count = RN_CONFORM_TOLD_NUMBERS;
	n[RN_CONFORM_TOLD_DEST] = is_udp(c->id) ? c->qpn : rtr.dest_qp_num;
	n[RN_CONFORM_TOLD_QKEY] = c->qkey;
	n[RN_CONFORM_TOLD_RQ_PSN] = rtr.rq_psn;
	n[RN_CONFORM_TOLD_SQ_PSN] = rts.sq_psn;
	n[RN_CONFORM_TOLD_MTU] = (uint64_t)rtr.path_mtu;
	n[RN_CONFORM_TOLD_RD] = rts.max_rd_atomic;
	n[RN_CONFORM_TOLD_DEST_RD] = rtr.max_dest_rd_atomic;
	n[RN_CONFORM_TOLD_TIMEOUT] = rts.timeout;
	n[RN_CONFORM_TOLD_RETRY] = rts.retry_cnt;
	n[RN_CONFORM_TOLD_RNR_RETRY] = rts.rnr_retry;
	return 0;
}

/* ------------------------------------------------------------------------ events */
/* Returns the event of the connection manager (enum rn_cm_event_type) from which
 * librdmacm has made @ev; RN_CM_EV_COUNT: it is no event of a connection. librdmacm
 * reports the answer to a lookup as ESTABLISHED or UNREACHABLE; then the status is that
 * of the answer, which is positive.
 */
static enum rn_cm_event_type type_of(const struct rdma_cm_event *ev)
{
	switch ((int)ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return is_udp(ev->id) ? RN_CM_EV_SIDR_REQ : RN_CM_EV_REQ;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return RN_CM_EV_REP;
	case RDMA_CM_EVENT_ESTABLISHED:
		return is_udp(ev->id) ? RN_CM_EV_SIDR_REP : RN_CM_EV_ESTABLISHED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return is_udp(ev->id) && ev->status > 0 ? RN_CM_EV_SIDR_REP
							: RN_CM_EV_UNREACHABLE;
	/* rdma_cm has received an answer that it cannot use, such as a Q_Key of 0. */
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return RN_CM_EV_UNREACHABLE;
	case RDMA_CM_EVENT_REJECTED:
		return RN_CM_EV_REJECTED;
	case RDMA_CM_EVENT_DISCONNECTED:
		return RN_CM_EV_DISCONNECTED;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return RN_CM_EV_TIMEWAIT_EXIT;
	default:
		return RN_CM_EV_COUNT;
	}
}

/* Adds the private data of an event, of those types with which librdmacm has some. */
static void add_data(const struct rdma_cm_event *ev, enum rn_cm_event_type type,
		     struct rn_conform_line *l)
{
	const void *data = ev->param.conn.private_data;
	uint32_t len = ev->param.conn.private_data_len;

	if (is_udp(ev->id)) {
		data = ev->param.ud.private_data;
		len = ev->param.ud.private_data_len;
	}
	l->count = RN_CONFORM_CM_DATA;
	l->n[RN_CONFORM_CM_LENGTH] = RN_CONFORM_HIDDEN;
	if (type == RN_CM_EV_ESTABLISHED || type >= RN_CM_EV_UNREACHABLE ||
	    ev->event == RDMA_CM_EVENT_UNREACHABLE || len > RN_CONFORM_CM_DATA_MAX)
		return;
	memset(&l->n[RN_CONFORM_CM_DATA], 0, RN_CONFORM_CM_DATA_MAX);
	if (data && len)
		memcpy(&l->n[RN_CONFORM_CM_DATA], data, len);
	l->n[RN_CONFORM_CM_LENGTH] = data ? len : 0;
	l->count += (unsigned)(l->n[RN_CONFORM_CM_LENGTH] + 7) / 8;
}

/* Keeps the id of a request until the tester takes it. */
static void keep_request(struct rn_agent *a, struct rdma_cm_id *id)
{
	if (a->cm.requests < RN_AGENT_REQUESTS)
		a->cm.request[a->cm.requests++] = id;
	else
		a->cm.lib->destroy_id(id);
}

static uint64_t index_of(const struct rn_agent *a, const struct rdma_cm_id *id)
{
	uint64_t i = 0;

	while (i < RN_SCN_CONNS && a->cm.conn[i].id != id)
		i++;
	return i;
}

/* Takes an event from a channel, if there is one. Returns true if it is written to @l. */
static bool take_event(struct rn_agent *a, struct rdma_event_channel *channel,
		       struct rn_conform_line *l)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	enum rn_cm_event_type type;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *request = NULL;
	uint64_t index;

	if (poll(&p, 1, 0) != 1 || a->cm.lib->get_cm_event(channel, &ev))
		return false;
	type = type_of(ev);
	index = index_of(a, ev->id);
	if (type == RN_CM_EV_REQ || type == RN_CM_EV_SIDR_REQ)
		request = ev->id;
	if (type == RN_CM_EV_SIDR_REP && index < RN_SCN_CONNS &&
	    ev->event == RDMA_CM_EVENT_ESTABLISHED) {
		a->cm.conn[index].qpn = ev->param.ud.qp_num;
		a->cm.conn[index].qkey = ev->param.ud.qkey;
	}
	l->n[0] = RN_CONFORM_CM_EVENT;
	l->n[RN_CONFORM_CM_CONN] = index;
	l->n[RN_CONFORM_CM_TYPE] = (uint64_t)type;
	l->n[RN_CONFORM_CM_STATUS] = (uint32_t)ev->status;
	add_data(ev, type, l);
	a->cm.lib->ack_cm_event(ev);
	if (request)
		keep_request(a, request);
	return type != RN_CM_EV_COUNT;
}

bool rn_agent_cm_poll(struct rn_agent *a, struct rn_conform_line *l)
{
	if (!a->cm.channel)
		return false;
	if (take_event(a, a->cm.channel, l))
		return true;
	for (unsigned i = 0; i < RN_SCN_CONNS; i++)
		if (a->cm.conn[i].channel && take_event(a, a->cm.conn[i].channel, l))
			return true;
	return false;
}

const struct rn_agent_word rn_agent_cm_words[] = {
	{ "listen", listen_for },
	{ "unlisten", unlisten },
	{ "connect", connect_to },
	{ "take", take },
	{ "accept", accept_it },
	{ "ready", ready },
	{ "reject", reject },
	{ "established", established },
	{ "disconnect", disconnect },
	{ "close", leave },
	{ "told", told },
	{ 0 },
};
