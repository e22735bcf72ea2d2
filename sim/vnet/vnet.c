/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* vnet.c - a simulated network: hosts, links, switches and a clock in virtual time. */
#include "vnet.h"

#include <stdlib.h>
#include <string.h>

#include "host.h"

enum {
	/* the packet whose index in the pool is arg reaches the other end of its link */
	ARRIVAL,
	/* The following events exist only with PFC; arg: number of the port. */
	SENT,
	PAUSE,
	RESUME,
};

enum {
	/* Maximum number of events of one port that are scheduled at a time: one SENT,
	 * and a few PAUSE and RESUME.
	 */
	PORT_EVENTS = 8,
};

/* ------------------------------------------------------ building of a network */
static uint32_t ports_max(const struct rn_vnet_cfg *cfg)
{
	return cfg->hosts + cfg->switches * cfg->switch_ports;
}

struct rn_vnet *rn_vnet_new(const struct rn_vnet_cfg *cfg)
{
	struct rn_vnet *v = calloc(1, sizeof(*v));
	uint32_t events = cfg->packets + cfg->events +
			  (cfg->pause_above ? PORT_EVENTS * ports_max(cfg) : 0);
	struct rn_heap_item *item = calloc(events, sizeof(*item));
	struct rn_vnet_timer *timer = calloc(cfg->hosts, sizeof(*timer));

	if (!v || !item || !timer) {
		free(v);
		free(item);
		free(timer);
		return NULL;
	}
	v->cfg = *cfg;
	rn_heap_init(&v->heap, item, events);
	rn_vnet_timers_init(&v->timers, timer, cfg->hosts);
	v->host = calloc(cfg->hosts, sizeof(*v->host));
	v->port = calloc(ports_max(cfg), sizeof(*v->port));
	/* One element more than needed, because calloc() of size 0 may return NULL. */
	v->route = calloc((size_t)cfg->switches * cfg->hosts + 1, sizeof(*v->route));
	v->packet = calloc(cfg->packets, sizeof(*v->packet));
	v->free_packet = calloc(cfg->packets, sizeof(*v->free_packet));
	if (!v->host || !v->port || !v->route || !v->packet || !v->free_packet) {
		rn_vnet_free(v);
		return NULL;
	}
	return v;
}

void rn_vnet_free(struct rn_vnet *v)
{
	if (!v)
		return;
	free(v->heap.item);
	free(v->timers.timer);
	free(v->host);
	free(v->port);
	free(v->route);
	free(v->packet);
	free(v->free_packet);
	free(v);
}

uint64_t rn_vnet_memory(const struct rn_vnet *v)
{
	const struct rn_vnet_cfg *c = &v->cfg;

	return sizeof(*v) + (uint64_t)v->heap.max * sizeof(*v->heap.item) +
	       c->hosts * (sizeof(*v->timers.timer) + sizeof(*v->host)) +
	       ports_max(c) * sizeof(*v->port) +
	       (uint64_t)c->switches * c->hosts * sizeof(*v->route) +
	       c->packets * sizeof(*v->free_packet) +
	       (uint64_t)v->most_packets * sizeof(*v->packet);
}

void rn_vnet_clear(struct rn_vnet *v, rn_ns now)
{
	v->now = now;
	v->hosts = v->switches = 0;
	rn_heap_init(&v->heap, v->heap.item, v->heap.max);
	rn_vnet_timers_init(&v->timers, v->timers.timer, v->cfg.hosts);
	for (uint32_t i = 0; i < v->cfg.packets; i++)
		v->free_packet[i] = v->cfg.packets - 1 - i;
	v->free_packets = v->cfg.packets;
	v->most_packets = 0;
	v->overflowed = false;
	v->events = v->pauses = 0;
	v->sent = v->doubled = v->arrived = v->lost = 0;
}

struct rn_gid rn_vnet_gid(uint32_t number, bool ipv6)
{
	const uint32_t n = number + 1;
	struct rn_gid gid = { { [10] = 0xff, [11] = 0xff, [12] = 10 } };

	if (ipv6)
		gid = (struct rn_gid){ { 0xfd } };
	gid.raw[13] = (uint8_t)(n >> 16);
	gid.raw[14] = (uint8_t)(n >> 8);
	gid.raw[15] = (uint8_t)n;
	return gid;
}

static void clear_port(struct rn_vnet_port *port)
{
	*port = (struct rn_vnet_port){ .to = RN_VNET_NOBODY,
				       .first = RN_VNET_NOBODY,
				       .last = RN_VNET_NOBODY };
}

uint32_t rn_vnet_add_host(struct rn_vnet *v, struct rn_dev *dev, const struct rn_gid *gid)
{
	uint32_t number = v->hosts++;

	assert(v->hosts <= v->cfg.hosts);
	v->host[number] = (struct rn_vnet_host){ .dev = dev, .gid = *gid };
	clear_port(&v->port[number]);
	return number;
}

uint32_t rn_vnet_add_switch(struct rn_vnet *v)
{
	uint32_t node = RN_VNET_SWITCH | v->switches++;

	assert(v->switches <= v->cfg.switches);
	for (uint32_t i = 0; i < v->cfg.switch_ports; i++)
		clear_port(&v->port[rn_vnet_port_of(v, node, i)]);
	for (uint32_t i = 0; i < v->cfg.hosts; i++)
		rn_vnet_route(v, node, i, 0, 0);
	return node;
}

uint32_t rn_vnet_port_of(const struct rn_vnet *v, uint32_t node, uint32_t nth)
{
	if (!(node & RN_VNET_SWITCH))
		return node;
	return v->cfg.hosts + (node & ~RN_VNET_SWITCH) * v->cfg.switch_ports + nth;
}

void rn_vnet_join(struct rn_vnet *v, const struct rn_vnet_side *a,
		  const struct rn_vnet_side *b)
{
	uint32_t at_a = rn_vnet_port_of(v, a->node, a->nth);
	uint32_t at_b = rn_vnet_port_of(v, b->node, b->nth);

	rn_link_init(&v->port[at_a].link, a->link, a->seed);
	rn_link_init(&v->port[at_b].link, b->link, b->seed);
	v->port[at_a].to = b->node;
	v->port[at_a].back = at_b;
	v->port[at_b].to = a->node;
	v->port[at_b].back = at_a;
}

static struct rn_vnet_route *route_of(struct rn_vnet *v, uint32_t node, uint32_t host)
{
	return &v->route[(size_t)(node & ~RN_VNET_SWITCH) * v->cfg.hosts + host];
}

void rn_vnet_route(struct rn_vnet *v, uint32_t node, uint32_t host, uint32_t first,
		   uint32_t count)
{
	assert(first + count <= v->cfg.switch_ports);
	*route_of(v, node, host) =
		(struct rn_vnet_route){ (uint16_t)first, (uint16_t)count };
}

void rn_vnet_set_down(struct rn_vnet *v, uint32_t port, bool down)
{
	rn_link_set_down(&v->port[port].link, v->now, down);
	rn_link_set_down(&v->port[v->port[port].back].link, v->now, down);
}

/* ------------------------------------------------------------ pool of packets */
static uint32_t index_of(const struct rn_vnet *v, const struct rn_vnet_packet *p)
{
	return (uint32_t)(p - v->packet);
}

static struct rn_vnet_packet *packet_new(struct rn_vnet *v)
{
	if (!v->free_packets)
		return NULL;
	v->free_packets--;
	if (rn_vnet_under_way(v) > v->most_packets)
		v->most_packets = rn_vnet_under_way(v);
	return &v->packet[v->free_packet[v->free_packets]];
}

void rn_vnet_drop(struct rn_vnet *v, struct rn_vnet_packet *p)
{
	v->free_packet[v->free_packets++] = index_of(v, p);
}

static struct rn_vnet_packet *copy_of(struct rn_vnet *v, const struct rn_vnet_packet *p)
{
	struct rn_vnet_packet *copy = packet_new(v);

	if (copy)
		memcpy(copy, p, offsetof(struct rn_vnet_packet, bytes) + p->len);
	return copy;
}

/* ---------------------------------------------------------- sending on a link */
static void put_event(struct rn_vnet *v, rn_ns at, uint32_t what, uint32_t arg)
{
	if (!rn_heap_put(&v->heap, at, what, arg))
		v->overflowed = true;
}

void rn_vnet_put(struct rn_vnet *v, rn_ns at, uint32_t what, uint32_t arg)
{
	assert(what >= RN_VNET_OWN);
	put_event(v, at, what, arg);
}

static void report_loss(struct rn_vnet *v, const struct rn_vnet_packet *p,
			const struct rn_vnet_port *port, enum rn_vnet_loss why)
{
	v->lost++;
	if (v->cfg.ops->lost)
		v->cfg.ops->lost(v->cfg.ctx, p, port, why);
}

static void double_it(struct rn_vnet *v, const struct rn_vnet_packet *p, rn_ns at)
{
	struct rn_vnet_packet *copy = copy_of(v, p);

	v->doubled++;
	if (copy)
		put_event(v, at, ARRIVAL, index_of(v, copy));
	else
		report_loss(v, p, NULL, RN_VNET_NO_ROOM);
}

/* Sends @p, a packet of the pool, on the link of port @number. Returns false if the
 * packet was lost and put back into the pool.
 */
static bool send_on_link(struct rn_vnet *v, struct rn_vnet_packet *p, uint32_t number,
			 rn_ns late)
{
	struct rn_vnet_port *port = &v->port[number];
	struct rn_link_fate fate =
		rn_link_send(&port->link, v->now, p->len + RN_LINK_FRAMING,
			     (p->flow.tclass & RN_ECN_MASK) != RN_ECN_NOT_ECT);

	p->port = number;
	p->downs = port->link.downs;
	if (fate.marked)
		p->flow.tclass |= RN_ECN_CE;
	if (fate.twice)
		double_it(v, p, fate.again);
	if (fate.lost) {
		report_loss(v, p, port, RN_VNET_ON_LINK);
		rn_vnet_drop(v, p);
		return false;
	}
	if (v->cfg.ops->queued)
		v->cfg.ops->queued(v->cfg.ctx, p, port, fate.arrives_at + late - v->now);
	put_event(v, fate.arrives_at + late, ARRIVAL, index_of(v, p));
	return true;
}

/* -------------------------------------------------------------- flow control */
/* Port @number has sent @bytes that now wait in the switch at the other end of its link.
 * Adds them to the count that the switch keeps for this port. If that exceeds the limit,
 * the switch sends PAUSE to the port. release() subtracts them again when they have left
 * the switch, and sends RESUME.
 */
static void hold(struct rn_vnet *v, uint32_t number, uint32_t bytes)
{
	struct rn_vnet_port *port = &v->port[number];

	port->held += bytes;
	if (port->told || port->held <= v->cfg.pause_above)
		return;
	port->told = true;
	v->pauses++;
	put_event(v, v->now + port->link.cfg.delay, PAUSE, number);
}

static void release(struct rn_vnet *v, uint32_t number, uint32_t bytes)
{
	struct rn_vnet_port *port = &v->port[number];

	port->held -= bytes;
	if (!port->told || port->held > v->cfg.pause_above / 2)
		return;
	port->told = false;
	put_event(v, v->now + port->link.cfg.delay, RESUME, number);
}

static uint32_t size_of(const struct rn_vnet_packet *p)
{
	return p->len + RN_LINK_FRAMING;
}

/* Called with PFC: if port @number is neither sending nor paused, sends its next waiting
 * packet. Packets wait in the list of the port, not in the queue of the link.
 */
static void send_next(struct rn_vnet *v, uint32_t number)
{
	struct rn_vnet_port *port = &v->port[number];
	struct rn_vnet_packet *p;

	if (port->sends || port->paused || port->first == RN_VNET_NOBODY)
		return;
	p = &v->packet[port->first];
	port->first = p->next;
	if (p->next == RN_VNET_NOBODY)
		port->last = RN_VNET_NOBODY;
	port->waiting -= size_of(p);
	port->sends = true;
	if (p->port != number)
		release(v, p->port, size_of(p));
	put_event(v, v->now + rn_link_time(&port->link, size_of(p)), SENT, number);
	send_on_link(v, p, number, 0);
}

static void wait_at(struct rn_vnet *v, struct rn_vnet_packet *p, uint32_t number)
{
	struct rn_vnet_port *port = &v->port[number];
	uint32_t i = index_of(v, p);

	if ((p->flow.tclass & RN_ECN_MASK) != RN_ECN_NOT_ECT &&
	    rn_link_mark(&port->link, port->waiting)) {
		p->flow.tclass |= RN_ECN_CE;
		port->link.marked++;
	}
	p->next = RN_VNET_NOBODY;
	*(port->last == RN_VNET_NOBODY ? &port->first : &v->packet[port->last].next) = i;
	port->last = i;
	port->waiting += size_of(p);
	if (port->waiting > port->link.queue_max)
		port->link.queue_max = port->waiting;
	if (p->port != number)
		hold(v, p->port, size_of(p));
	send_next(v, number);
}

static void flow_control(struct rn_vnet *v, uint32_t what, uint32_t number)
{
	struct rn_vnet_port *port = &v->port[number];

	if (what == SENT)
		port->sends = false;
	else
		port->paused = what == PAUSE;
	send_next(v, number);
}

/* Sends @p, a packet of the pool, by port @number of the node where it is: at once, or
 * after the packets that wait there. @p->port: the port of another node by which @p has
 * come; @number if @p begins at this host. Returns false if the packet was lost and put
 * back into the pool.
 */
static bool leave_by(struct rn_vnet *v, struct rn_vnet_packet *p, uint32_t number,
		     rn_ns late)
{
	if (!v->cfg.pause_above)
		return send_on_link(v, p, number, late);
	assert(!late);
	wait_at(v, p, number);
	return true;
}

/* ----------------------------------------------------- forwarding by a switch */
/* Returns the ECMP hash of a flow at switch @node. All packets of a flow get the same
 * value at one switch. Different switches get different values. With equal ones, all
 * packets that reach a switch of the next tier would leave it by a few of its ports.
 */
static uint32_t hash_of(const struct rn_flow *f, uint32_t node)
{
	uint64_t ends = (uint64_t)rn_get_be32(f->src.raw + 12) << 32 |
			rn_get_be32(f->dst.raw + 12);

	return (uint32_t)rn_random_mix(rn_random_mix(ends) ^
				       rn_random_mix((uint64_t)node << 16 | f->sport));
}

/* Chooses by @hash one of the ports of @r whose link is up. Returns RN_VNET_NOBODY if all
 * of the links are down.
 */
static uint32_t port_up(const struct rn_vnet *v, uint32_t node,
			const struct rn_vnet_route *r, uint32_t hash)
{
	uint32_t first = rn_vnet_port_of(v, node, r->first), up = 0;

	for (uint32_t i = 0; i < r->count; i++)
		up += !v->port[first + i].link.down;
	if (!up)
		return RN_VNET_NOBODY;
	hash %= up;
	for (;; first++)
		if (!v->port[first].link.down && !hash--)
			return first;
}

static void forward(struct rn_vnet *v, uint32_t node, struct rn_vnet_packet *p)
{
	const struct rn_vnet_route *r = route_of(v, node, p->to);
	uint32_t port = port_up(v, node, r, r->count > 1 ? hash_of(&p->flow, node) : 0);

	if (port != RN_VNET_NOBODY) {
		leave_by(v, p, port, 0);
		return;
	}
	report_loss(v, p, NULL, RN_VNET_NO_WAY);
	rn_vnet_drop(v, p);
}

/* ------------------------------------------------------------ packets of hosts */
uint32_t rn_vnet_host_of(const struct rn_vnet *v, const struct rn_gid *gid)
{
	uint32_t number = (rn_get_be32(gid->raw + 12) & 0xffffff) - 1;

	if (number >= v->hosts || memcmp(gid, &v->host[number].gid, sizeof(*gid)) != 0)
		return RN_VNET_NOBODY;
	return number;
}

bool rn_vnet_build(struct rn_vnet *v, uint32_t host, unsigned what,
		   struct rn_vnet_packet *p, struct rn_tx *tx)
{
	p->len = rn_vhost_transmit(v->host[host].dev, rn_vnet_local(v, host), what,
				   p->bytes, &p->flow, tx);
	if (!p->len)
		return false;
	p->from = host;
	p->to = rn_vnet_host_of(v, &p->flow.dst);
	p->damaged = false;
	return true;
}

struct rn_vnet_packet *rn_vnet_take(struct rn_vnet *v, uint32_t host, unsigned what,
				    struct rn_tx *tx)
{
	struct rn_vnet_packet *p = packet_new(v);

	if (p && !rn_vnet_build(v, host, what, p, tx)) {
		rn_vnet_drop(v, p);
		return NULL;
	}
	return p;
}

void rn_vnet_go(struct rn_vnet *v, struct rn_vnet_packet *p)
{
	v->sent++;
	p->port = p->from;
	leave_by(v, p, p->from, 0);
}

struct rn_vnet_packet *rn_vnet_send(struct rn_vnet *v, const struct rn_vnet_packet *p,
				    rn_ns late)
{
	struct rn_vnet_packet *copy = copy_of(v, p);

	v->sent++;
	if (!copy) {
		report_loss(v, p, NULL, RN_VNET_NO_ROOM);
		return NULL;
	}
	copy->port = copy->from;
	return leave_by(v, copy, copy->from, late) ? copy : NULL;
}

void rn_vnet_receive(struct rn_vnet *v, uint32_t host, const struct rn_vnet_packet *p)
{
	const struct rn_rx rx = { .flow = &p->flow, .data = p->bytes, .len = p->len };

	rn_dev_receive(v->host[host].dev, rn_vnet_local(v, host), &rx, 1);
}

static void packet_arrives(struct rn_vnet *v, uint32_t i)
{
	struct rn_vnet_packet *p = &v->packet[i];
	const struct rn_vnet_port *port = &v->port[p->port];
	uint32_t to = port->to;

	if (p->downs != port->link.downs) {
		report_loss(v, p, port, RN_VNET_ON_LINK);
		rn_vnet_drop(v, p);
	} else if (to & RN_VNET_SWITCH) {
		forward(v, to, p);
	} else if (rn_vnet_is_stalled(v, to)) {
		put_event(v, v->host[to].stalled_until, ARRIVAL, i);
	} else {
		v->arrived++;
		v->cfg.ops->arrive(v->cfg.ctx, to, p);
		rn_vnet_drop(v, p);
		rn_vnet_rearm(v, to);
	}
}

/* -------------------------------- timers of hosts, and steps of the simulation */
void rn_vnet_rearm(struct rn_vnet *v, uint32_t host)
{
	const struct rn_vnet_host *h = &v->host[host];
	rn_ns at = v->cfg.ops->deadline ? v->cfg.ops->deadline(v->cfg.ctx, host)
					: rn_dev_deadline(h->dev);

	if (h->waits)
		return;
	if (at != RN_NEVER) {
		at -= h->skew;
		at = at < h->stalled_until ? h->stalled_until : at;
		/* If the deadline has passed already, the timer is set to now. So all
		 * hosts that are late are served in the order of their numbers.
		 */
		at = at < v->now ? v->now : at;
	}
	rn_vnet_timers_set(&v->timers, host, at);
}

/* Calls expire() for the hosts whose timers are due, in the order of their numbers, once
 * each. A host whose timer becomes due when a higher number has been served waits for
 * the next step.
 */
static void serve_timers(struct rn_vnet *v)
{
	uint32_t next = 0, waiting = RN_VNET_NOBODY;

	while (rn_vnet_timers_next(&v->timers) <= v->now) {
		uint32_t host = rn_vnet_timers_first(&v->timers);

		rn_vnet_timers_set(&v->timers, host, RN_NEVER);
		if (host < next) {
			v->host[host].waits = true;
			v->host[host].next_waiting = waiting;
			waiting = host;
			continue;
		}
		next = host + 1;
		v->cfg.ops->expire(v->cfg.ctx, host);
		rn_vnet_rearm(v, host);
	}
	for (; waiting != RN_VNET_NOBODY; waiting = v->host[waiting].next_waiting) {
		v->host[waiting].waits = false;
		rn_vnet_rearm(v, waiting);
	}
}

rn_ns rn_vnet_next(const struct rn_vnet *v)
{
	rn_ns event = rn_heap_next(&v->heap), timer = rn_vnet_timers_next(&v->timers);

	return event < timer ? event : timer;
}

void rn_vnet_step(struct rn_vnet *v)
{
	rn_ns next = rn_vnet_next(v);
	struct rn_heap_item item;

	assert(next != RN_NEVER);
	if (next > v->now)
		v->now = next;
	v->events++;
	if (rn_heap_next(&v->heap) > v->now) {
		serve_timers(v);
		return;
	}
	item = rn_heap_take(&v->heap);
	if (item.what == ARRIVAL)
		packet_arrives(v, item.arg);
	else if (item.what < RN_VNET_OWN)
		flow_control(v, item.what, item.arg);
	else
		v->cfg.ops->happen(v->cfg.ctx, item.what, item.arg);
}
