/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fake_rdmacm.c - a librdmacm that makes ids and channels and counts them, as
 * fake_verbs.h does. A channel that is destroyed before its ids, an event that is not
 * acknowledged before its id goes, and a call with an id that is none are mistakes of the
 * program under test.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_verbs_internal.h"
#include "tests/fuzz/script.h"
#include "tools/rocin/conform/agent/agent_rdmacm.h"

/* A channel is a pipe with a byte in it, so it always has an event for poll(). */
struct channel {
	struct rdma_event_channel channel;
	unsigned ids, events, turn;
	bool listens;		 /* only then there are requests */
	struct rdma_cm_id *last; /* the id that was made last, if it is still there */
	int next;		 /* type of the next event; -1: any */
	int pipe[2];
};

struct event {
	struct rdma_cm_event event;
	struct channel *of;
};

static uint8_t data[56];

static struct channel *of_id(const struct rdma_cm_id *id)
{
	require(id != NULL && id->channel != NULL);
	return (struct channel *)id->channel;
}

static struct rdma_event_channel *create_channel(void)
{
	struct channel *c;

	if (fake_fails())
		return NULL;
	c = fake_make(sizeof(*c));
	require(pipe(c->pipe) == 0 && write(c->pipe[1], "", 1) == 1);
	c->channel.fd = c->pipe[0];
	c->next = -1;
	return &c->channel;
}

static void destroy_channel(struct rdma_event_channel *channel)
{
	struct channel *c = (struct channel *)channel;

	require(c->ids == 0 && c->events == 0);
	close(c->pipe[0]);
	close(c->pipe[1]);
	fake_destroy(c);
}

static struct rdma_cm_id *make_id(struct channel *c, enum rdma_port_space ps)
{
	struct rdma_cm_id *id = fake_make(sizeof(*id));

	id->channel = &c->channel;
	id->ps = ps;
	c->ids++;
	c->last = id;
	return id;
}

static int create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		     void *context, enum rdma_port_space ps)
{
	require(channel && !context && (ps == RDMA_PS_TCP || ps == RDMA_PS_UDP));
	if (fake_fails())
		return -1;
	*id = make_id((struct channel *)channel, ps);
	return 0;
}

static int destroy_id(struct rdma_cm_id *id)
{
	struct channel *c = of_id(id);

	require(c->events == 0 && c->ids > 0);
	c->ids--;
	if (c->last == id)
		c->last = NULL;
	return fake_destroy(id);
}

static int refuse(const struct rdma_cm_id *id)
{
	of_id(id);
	return fake_fails() ? -1 : 0;
}

static int bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	require(addr->sa_family == AF_INET || addr->sa_family == AF_INET6);
	id->verbs = fake_context();
	return refuse(id);
}

static int listen_at(struct rdma_cm_id *id, int backlog)
{
	require(backlog >= 0);
	of_id(id)->listens = true;
	return refuse(id);
}

static int resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to,
			int timeout_ms)
{
	require(from->sa_family == to->sa_family && timeout_ms > 0);
	of_id(id)->next = RDMA_CM_EVENT_ADDR_RESOLVED;
	return refuse(id);
}

static int resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	require(timeout_ms > 0);
	of_id(id)->next = RDMA_CM_EVENT_ROUTE_RESOLVED;
	return refuse(id);
}

static int with_param(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	volatile uint8_t byte = 0;

	for (unsigned i = 0; i < p->private_data_len; i++)
		byte ^= ((const uint8_t *)p->private_data)[i];
	(void)byte;
	return refuse(id);
}

static int establish(struct rdma_cm_id *id)
{
	return refuse(id);
}

static int reject(struct rdma_cm_id *id, const void *private_data, uint8_t len)
{
	require(len == 0 || private_data);
	return refuse(id);
}

static int notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	require(event == IBV_EVENT_COMM_EST);
	return refuse(id);
}

/* The events of a channel are in turn of all types; a request has an id of its own. */
static int get_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct channel *c = (struct channel *)channel;
	struct event *e;
	unsigned turn, type;

	require(c->events == 0);
	if (fake_fails() || !c->last)
		return -1;
	e = fake_make(sizeof(*e));
	c->events++;
	e->of = c;
	turn = c->turn++;
	type = c->next >= 0 ? (unsigned)c->next
			    : turn % (RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);
	c->next = -1;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST && !c->listens)
		type = RDMA_CM_EVENT_ESTABLISHED;
	e->event.event = (enum rdma_cm_event_type)type;
	e->event.status = (int)(turn % 3) - 1;
	e->event.id = e->event.event == RDMA_CM_EVENT_CONNECT_REQUEST
			      ? make_id(c, c->last->ps)
			      : c->last;
	if (e->event.id->ps == RDMA_PS_UDP) {
		e->event.param.ud.private_data = turn & 1 ? data : NULL;
		e->event.param.ud.private_data_len = sizeof(data);
	} else {
		e->event.param.conn.private_data = turn & 1 ? data : NULL;
		e->event.param.conn.private_data_len = sizeof(data);
	}
	*event = &e->event;
	return 0;
}

static int ack_event(struct rdma_cm_event *event)
{
	struct event *e = (struct event *)event;

	require(e->of->events == 1);
	e->of->events--;
	return fake_destroy(e);
}

static int init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	require(attr->qp_state == IBV_QPS_RTR || attr->qp_state == IBV_QPS_RTS);
	*mask = 0;
	return refuse(id);
}

const struct rn_agent_rdmacm *rn_agent_rdmacm(void)
{
	static const struct rn_agent_rdmacm fake = {
		.create_event_channel = create_channel,
		.destroy_event_channel = destroy_channel,
		.create_id = create_id,
		.destroy_id = destroy_id,
		.bind_addr = bind_addr,
		.listen = listen_at,
		.resolve_addr = resolve_addr,
		.resolve_route = resolve_route,
		.connect = with_param,
		.accept = with_param,
		.establish = establish,
		.reject = reject,
		.notify = notify,
		.disconnect = establish,
		.get_cm_event = get_event,
		.ack_cm_event = ack_event,
		.init_qp_attr = init_qp_attr,
	};

	return &fake;
}
