/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* vnet.h - hosts, links, switches and a clock in virtual time.
 *
 * A host is a device of the core, or what else has a deadline, with an address and one
 * port. Links join ports of hosts and switches; each direction has its own rate, delay,
 * queue, marks and faults (link.h). A switch looks up the destination and sends by one of
 * the ports that lead there: which one follows from the addresses and the UDP source port
 * of the packet, so that the packets of a flow keep their order (ECMP). What finds a
 * queue full is lost or, with PFC, waits. Time goes from one thing that happens to the
 * next (heap.h); a step costs O(log n) in packets and hosts.
 *
 * Who drives a network:
 *
 * 1. allocates with rn_vnet_new() for the largest that will be, and begins one with
 *    rn_vnet_clear();
 * 2. builds it with rn_vnet_add_host(), rn_vnet_add_switch(), rn_vnet_join() and
 *    rn_vnet_route(), or by topology.h; events of its own come by rn_vnet_put();
 * 3. calls rn_vnet_step() while rn_vnet_next() is not RN_NEVER. Its operations give
 *    packets to the device, take its completions, and let out what it has to send by
 *    rn_vnet_take() and rn_vnet_go();
 * 4. calls rn_vnet_rearm() after whatever may have changed the deadline of a host, but
 *    for arrive() and expire() of that host.
 *
 * Equal calls give equal runs, on every machine. Nothing is allocated after
 * rn_vnet_new(): a packet under way has a place in a pool. Threads: no locks; a network
 * belongs to one thread.
 */
#ifndef RN_VNET_H
#define RN_VNET_H

#include "heap.h"
#include "link.h"
#include "rocin/flow.h"
#include "rocin/icrc.h"
#include "rocin/rx_tx.h"
#include "rocin/wire.h"

struct rn_dev;

enum {
	RN_VNET_NOBODY = UINT32_MAX,
	RN_VNET_SWITCH = 1u << 31, /* in the number of a node: a switch */
	/* Of the driver's events: this and more. */
	RN_VNET_OWN = 16,
};

struct rn_vnet_packet {
	struct rn_flow flow;
	uint32_t from, to; /* hosts */
	uint32_t tag;	   /* the driver's */
	uint32_t port;	   /* it is on its way from there */
	uint32_t next;	   /* with PFC: that waits behind it */
	uint32_t downs;	   /* of that link when it left */
	bool damaged;
	uint32_t len; /* from BTH to ICRC */
	uint8_t bytes[RN_PACKET_MAX + RN_ICRC_LEN];
};

struct rn_vnet_port {
	struct rn_link link;
	uint32_t to;   /* node at the other end; RN_VNET_NOBODY: not joined */
	uint32_t back; /* the port of that node */
	/* With PFC: */
	uint32_t first, last; /* packets that wait here; RN_VNET_NOBODY: none */
	uint32_t waiting;     /* their bytes */
	uint32_t held;	      /* bytes that came from here and wait at the other end */
	bool sends;	      /* one is being sent */
	bool told;	      /* the other end has told it to pause, and not to go on */
	bool paused;	      /* it has heard so */
};

struct rn_vnet_host {
	struct rn_dev *dev; /* NULL: rn_vnet_ops.deadline knows what it has to do */
	struct rn_gid gid;
	rn_ns skew;	     /* its clock is so much ahead */
	rn_ns stalled_until; /* nothing of it runs; what arrives waits */
	/* Its timer is looked at again when those of this time are done. */
	bool waits;
	uint32_t next_waiting;
};

/* Ports [@first, @first + @count) of a switch lead to a host. */
struct rn_vnet_route {
	uint16_t first, count;
};

enum rn_vnet_loss {
	RN_VNET_ON_LINK, /* queue full, link down, by chance: its counters say which */
	RN_VNET_NO_ROOM, /* in the pool */
	RN_VNET_NO_WAY,	 /* no port of a switch that leads there is up */
};

/* What the driver does. @expire must be there, @arrive where there are packets, @happen
 * where it has events of its own; the others may be NULL.
 */
struct rn_vnet_ops {
	/* A packet comes to its host: rn_vnet_receive(), and what follows. It is given
	 * back to the pool afterwards.
	 */
	void (*arrive)(void *ctx, uint32_t host, struct rn_vnet_packet *p);
	/* The deadline of a host is reached: rn_dev_expire(), and what follows. */
	void (*expire)(void *ctx, uint32_t host);
	/* When that is, by its clock. NULL: rn_dev_deadline() says it. */
	rn_ns (*deadline)(void *ctx, uint32_t host);
	/* The driver's own event. */
	void (*happen)(void *ctx, uint32_t what, uint32_t arg);
	/* @p has been put into the queue of @port, and reaches the other end in @by. */
	void (*queued)(void *ctx, const struct rn_vnet_packet *p,
		       const struct rn_vnet_port *port, rn_ns by);
	/* @p is lost. @port: where; NULL: it did not come to one. */
	void (*lost)(void *ctx, const struct rn_vnet_packet *p,
		     const struct rn_vnet_port *port, enum rn_vnet_loss why);
};

struct rn_vnet_cfg {
	uint32_t hosts, switches; /* at most */
	uint32_t switch_ports;	  /* of a switch, at most 65535 */
	uint32_t packets;	  /* under way at once */
	uint32_t events;	  /* of the driver, at once, in addition */
	/* Priority flow control: what has come by a link waits at the switch in as many
	 * bytes as it takes, and the other end is told to pause when it is more than so
	 * many, to go on when it is half of it. 0: none; a queue that is full loses
	 * packets.
	 */
	uint32_t pause_above;
	const struct rn_vnet_ops *ops;
	void *ctx;
};

struct rn_vnet {
	struct rn_vnet_cfg cfg;
	rn_ns now;
	uint32_t hosts, switches; /* there are */
	struct rn_vnet_host *host;
	/* Host i has port i; switch s has those from cfg.hosts + s * cfg.switch_ports. */
	struct rn_vnet_port *port;
	struct rn_vnet_route *route; /* of switch s to host h: s * cfg.hosts + h */
	struct rn_heap heap;
	struct rn_vnet_timers timers;
	struct rn_vnet_packet *packet;
	uint32_t *free_packet, free_packets;
	uint32_t most_packets; /* that were ever under way at once */
	bool overflowed;       /* more happened at once than there is room for */
	uint64_t events;       /* steps that were taken */
	uint64_t pauses;       /* that ports were told */
	/* Packets given to the network, doubled by it, at their host, and lost. */
	uint64_t sent, doubled, arrived, lost;
};

/* NULL: no memory. */
struct rn_vnet *rn_vnet_new(const struct rn_vnet_cfg *cfg);
void rn_vnet_free(struct rn_vnet *v);

/* Bytes of @v, of the pool only what was ever used. */
uint64_t rn_vnet_memory(const struct rn_vnet *v);

/* No hosts, no switches, no packets; the time is @now. */
void rn_vnet_clear(struct rn_vnet *v, rn_ns now);

/* ------------------------------------------------------------------- building */
/* The address of host @number: 10.x.y.z or fd00::x:y:z, counted from 1. */
struct rn_gid rn_vnet_gid(uint32_t number, bool ipv6);

/* @dev: initialised before anything happens. Return: its number, counted from 0. */
uint32_t rn_vnet_add_host(struct rn_vnet *v, struct rn_dev *dev,
			  const struct rn_gid *gid);
/* Return: its number, which is also that of a node. */
uint32_t rn_vnet_add_switch(struct rn_vnet *v);

/* Of port @nth of a node, a host or a switch; hosts have port 0 alone. */
uint32_t rn_vnet_port_of(const struct rn_vnet *v, uint32_t node, uint32_t nth);

/* A link between two ports: what each sends has the settings and the seed beside it. */
struct rn_vnet_side {
	uint32_t node, nth;
	const struct rn_link_cfg *link;
	uint64_t seed;
};
void rn_vnet_join(struct rn_vnet *v, const struct rn_vnet_side *a,
		  const struct rn_vnet_side *b);

/* Switch @node sends what is for @host by one of the ports [@first, @first + @count). */
void rn_vnet_route(struct rn_vnet *v, uint32_t node, uint32_t host, uint32_t first,
		   uint32_t count);

/* Both directions of the link at @port. */
void rn_vnet_set_down(struct rn_vnet *v, uint32_t port, bool down);

/* ----------------------------------------------------------------------- time */
/* An event of the driver's: @what is RN_VNET_OWN or more. */
void rn_vnet_put(struct rn_vnet *v, rn_ns at, uint32_t what, uint32_t arg);

/* When something happens next; RN_NEVER: nothing is left. */
rn_ns rn_vnet_next(const struct rn_vnet *v);

/* Go there, and let one event happen, or all timers that are due. */
void rn_vnet_step(struct rn_vnet *v);

/* The deadline of @host may have changed. */
void rn_vnet_rearm(struct rn_vnet *v, uint32_t host);

/* By the clock of @host. */
static inline rn_ns rn_vnet_local(const struct rn_vnet *v, uint32_t host)
{
	return v->now + v->host[host].skew;
}

static inline bool rn_vnet_is_stalled(const struct rn_vnet *v, uint32_t host)
{
	return v->host[host].stalled_until > v->now;
}

/* -------------------------------------------------------------------- packets */
/* Whose address that is; RN_VNET_NOBODY. */
uint32_t rn_vnet_host_of(const struct rn_vnet *v, const struct rn_gid *gid);

/**
 * rn_vnet_build() - The next packet of a device, signed
 * @what:	enum rn_tx_what: which kinds may leave
 * @p:		Out: with flow, from and len; to: RN_VNET_NOBODY if nobody has it
 * @tx:		Out
 *
 * Return: false: nothing may leave now.
 */
bool rn_vnet_build(struct rn_vnet *v, uint32_t host, unsigned what,
		   struct rn_vnet_packet *p, struct rn_tx *tx);

/* The same, in a place of the pool, to be given to rn_vnet_go() or rn_vnet_drop(); NULL:
 * nothing leaves, or no place is free.
 */
struct rn_vnet_packet *rn_vnet_take(struct rn_vnet *v, uint32_t host, unsigned what,
				    struct rn_tx *tx);

/* @p, in the pool, leaves by the port of its host; it is the network's from now on. */
void rn_vnet_go(struct rn_vnet *v, struct rn_vnet_packet *p);

/* A copy of @p leaves, and comes @late later than the link makes it come. Return: the
 * copy, as long as nothing else happens; NULL: it is lost.
 */
struct rn_vnet_packet *rn_vnet_send(struct rn_vnet *v, const struct rn_vnet_packet *p,
				    rn_ns late);

/* @p, in the pool, goes nowhere. */
void rn_vnet_drop(struct rn_vnet *v, struct rn_vnet_packet *p);

/* The device of @host takes @p off the wire. */
void rn_vnet_receive(struct rn_vnet *v, uint32_t host, const struct rn_vnet_packet *p);

static inline uint32_t rn_vnet_under_way(const struct rn_vnet *v)
{
	return v->cfg.packets - v->free_packets;
}

#endif /* RN_VNET_H */
