/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* vnet.h - a simulated network: hosts, links, switches and a clock in virtual time.
 *
 * A host has an address, one port and usually a device of the transport core (struct
 * rn_dev). If it has none, the caller simulates the host (rn_vnet_ops). Links join ports
 * of hosts and switches; each direction has its own rate, delay, queue, ECN marking and
 * faults (link.h). A switch looks up the destination of a packet and sends it by one of
 * the ports that lead there, chosen by the addresses and the UDP source port, so that the
 * packets of a flow keep their order (ECMP). A packet that meets a full queue is lost or,
 * with PFC, waits. Time advances from event to event (heap.h); a step costs O(log n) in
 * packets and hosts.
 *
 * The caller, that is the code that runs the simulation:
 *
 * 1. allocates with rn_vnet_new() for the largest network that the caller will build, and
 *    starts each network with rn_vnet_clear();
 * 2. builds it with rn_vnet_add_host(), rn_vnet_add_switch(), rn_vnet_join() and
 *    rn_vnet_route(), or by topology.h; schedules its own events by rn_vnet_put();
 * 3. calls rn_vnet_step() while rn_vnet_next() is not RN_NEVER. The functions of
 *    rn_vnet_ops pass packets to the device, take its completions, and send its packets
 *    by rn_vnet_take() and rn_vnet_go();
 * 4. calls rn_vnet_rearm() after everything that may have changed the deadline of a host,
 *    except in arrive() and expire() of that host.
 *
 * Equal calls give equal runs on every machine. Nothing is allocated after rn_vnet_new():
 * packets in flight come from a pool. Threads: no locks; a network belongs to one thread.
 */
#ifndef RN_VNET_H
#define RN_VNET_H

#include "heap.h"
#include "link.h"
#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/rx_tx.h"
#include "rocin/wire.h"

struct rn_dev;

enum {
	RN_VNET_NOBODY = UINT32_MAX,
	/* Set in the node numbers of switches. Host i is node i. */
	RN_VNET_SWITCH = 1u << 31,
	/* First number of events of the caller, for rn_vnet_put(). */
	RN_VNET_OWN = 16,
};

struct rn_vnet_packet {
	struct rn_flow flow;
	uint32_t from, to; /* numbers of the sending and of the receiving host */
	uint32_t tag;	   /* tag for use by the caller */
	uint32_t port;	   /* number of the port that sent the packet last */
	/* With PFC: next packet in the list of packets that wait at a port. */
	uint32_t next;
	/* Value of rn_link.downs when the packet was sent. If it has changed at arrival,
	 * the link went down meanwhile.
	 */
	uint32_t downs;
	bool damaged;
	uint32_t len; /* length in bytes from BTH to ICRC */
	uint8_t bytes[RN_PACKET_MAX + RN_ICRC_LEN];
};

struct rn_vnet_port {
	struct rn_link link;
	uint32_t to; /* node at the other end; RN_VNET_NOBODY: not joined */
	/* Number of the port at the other end of the link. It is counted among the ports
	 * of node @to.
	 */
	uint32_t back;
	/* First and last packet in the list of packets that wait to leave by this port;
	 * RN_VNET_NOBODY: no packet waits. This member and the following ones are used
	 * only with PFC.
	 */
	uint32_t first, last;
	uint32_t waiting; /* bytes of the packets in the list of waiting packets */
	/* With PFC: bytes that this port has sent and that still wait in the switch at
	 * the other end of its link.
	 */
	uint32_t held;
	bool sends; /* a packet of this port is on the wire */
	/* the switch at the other end has sent PAUSE, and no RESUME after it */
	bool told;
	/* The last message that has reached this port was PAUSE. It must not send. */
	bool paused;
};

struct rn_vnet_host {
	/* NULL: the caller simulates the host, and rn_vnet_ops.deadline must be set. */
	struct rn_dev *dev;
	struct rn_gid gid;
	/* Ns by which the host's clock is ahead of the simulation's. */
	rn_ns skew;
	/* time until which the host does not run; arriving packets wait */
	rn_ns stalled_until;
	/* When the timer of this host became due, hosts with higher numbers had already
	 * been served in this step. The timer is set again when all other timers that are
	 * due have been served.
	 */
	bool waits;
	uint32_t next_waiting;
};

/* The route to a host: the ports [@first, @first + @count) of a switch, each of which
 * leads to that host.
 */
struct rn_vnet_route {
	uint16_t first, count;
};

enum rn_vnet_loss {
	/* The packet was lost at a full queue, at a link that is down, or at random. The
	 * link's counters lost and dropped tell which.
	 */
	RN_VNET_ON_LINK,
	RN_VNET_NO_ROOM, /* The packet pool is empty. */
	/* All links that lead from the switch to the host are down. */
	RN_VNET_NO_WAY,
};

/* Functions of the caller that rn_vnet_step() calls. @expire is required, @arrive if
 * packets are sent, @happen if the caller schedules events; the others may be NULL.
 */
struct rn_vnet_ops {
	/* Called when a packet has reached its host. This function must call
	 * rn_vnet_receive(), and then handle the packets and completions of the device.
	 * After it returns, the packet goes back to the pool.
	 */
	void (*arrive)(void *ctx, uint32_t host, struct rn_vnet_packet *p);
	/* Called when the deadline of @host has come. This function must call
	 * rn_dev_expire(), and then handle the packets and completions of the device.
	 */
	void (*expire)(void *ctx, uint32_t host);
	/* Returns the deadline of @host by the host's own clock. NULL: rn_dev_deadline()
	 * is used.
	 */
	rn_ns (*deadline)(void *ctx, uint32_t host);
	/* Called when an event is due that the caller scheduled by rn_vnet_put(). */
	void (*happen)(void *ctx, uint32_t what, uint32_t arg);
	/* Called when @p was put into the queue of @port. @by: time in ns from now until
	 * @p arrives at the other end of the link.
	 */
	void (*queued)(void *ctx, const struct rn_vnet_packet *p,
		       const struct rn_vnet_port *port, rn_ns by);
	/* Called when @p was lost at @port; @port is NULL if @p was lost before it
	 * reached a port.
	 */
	void (*lost)(void *ctx, const struct rn_vnet_packet *p,
		     const struct rn_vnet_port *port, enum rn_vnet_loss why);
};

struct rn_vnet_cfg {
	/* maximum number of hosts and of switches that will be added */
	uint32_t hosts, switches;
	uint32_t switch_ports; /* number of ports of one switch, at most 65535 */
	uint32_t packets;      /* maximum number of packets in flight at once */
	/* Maximum number of the caller's events that are scheduled at once. */
	uint32_t events;
	/* Priority flow control (PFC): a switch counts the bytes that arrived by a link
	 * and still wait in its queues, which have no limit then. If there are more than
	 * @pause_above of them, the switch pauses the port at the other end of that link.
	 * It lets the port continue when no more than half of @pause_above are left. 0:
	 * no PFC; a full queue loses packets.
	 */
	uint32_t pause_above;
	const struct rn_vnet_ops *ops;
	void *ctx;
};

struct rn_vnet {
	struct rn_vnet_cfg cfg;
	rn_ns now;
	/* number of hosts and of switches that have been added */
	uint32_t hosts, switches;
	struct rn_vnet_host *host;
	/* Ports by number. Host i has port i; switch s has the ports from number
	 * cfg.hosts + s * cfg.switch_ports on.
	 */
	struct rn_vnet_port *port;
	/* The route of switch s to host h is element s * cfg.hosts + h. */
	struct rn_vnet_route *route;
	struct rn_heap heap;
	struct rn_vnet_timers timers;
	struct rn_vnet_packet *packet;
	uint32_t *free_packet, free_packets;
	/* highest number of packets that were ever in flight at once */
	uint32_t most_packets;
	bool overflowed; /* an event was discarded because the heap was full */
	uint64_t events; /* number of events that were delivered */
	uint64_t pauses; /* number of PAUSE messages that switches have sent */
	/* Numbers of packets that were given to the network, duplicated by a link,
	 * delivered to their host, and lost.
	 */
	uint64_t sent, doubled, arrived, lost;
};

/* Allocates a network. Returns NULL if there is no memory. */
struct rn_vnet *rn_vnet_new(const struct rn_vnet_cfg *cfg);
void rn_vnet_free(struct rn_vnet *v);

/* Returns the memory in bytes that @v uses. Packets of the pool that were never in use do
 * not count.
 */
uint64_t rn_vnet_memory(const struct rn_vnet *v);

/* Removes all hosts, switches, links and packets and sets the time to @now. */
void rn_vnet_clear(struct rn_vnet *v, rn_ns now);

/* ------------------------------------------------------ building of a network */
/* Returns the address of host @number, counted from 0: 10.x.y.z or fd00::x:y:z, where
 * x.y.z is @number + 1.
 */
struct rn_gid rn_vnet_gid(uint32_t number, bool ipv6);

/* Adds a host with the device @dev, which the caller must initialise before the first
 * step. Returns the number of the host, counted from 0.
 */
uint32_t rn_vnet_add_host(struct rn_vnet *v, struct rn_dev *dev,
			  const struct rn_gid *gid);
/* Adds a switch. Return: its node number, which the other functions take as @node. */
uint32_t rn_vnet_add_switch(struct rn_vnet *v);

/* Returns the number that port @nth of node @node has in the network, for
 * rn_vnet.port[]. A host has only port 0.
 */
uint32_t rn_vnet_port_of(const struct rn_vnet *v, uint32_t node, uint32_t nth);

/* One end of a link: a port of a node, the settings of the direction in which this port
 * sends, and the random seed of that direction.
 */
struct rn_vnet_side {
	uint32_t node, nth;
	const struct rn_link_cfg *link;
	uint64_t seed;
};
void rn_vnet_join(struct rn_vnet *v, const struct rn_vnet_side *a,
		  const struct rn_vnet_side *b);

/* Sets the route at switch @node for packets to @host: they leave by one of the switch's
 * ports [@first, @first + @count).
 */
void rn_vnet_route(struct rn_vnet *v, uint32_t node, uint32_t host, uint32_t first,
		   uint32_t count);

/* Takes the link at @port down or up, in both directions. */
void rn_vnet_set_down(struct rn_vnet *v, uint32_t port, bool down);

/* ------------------------------------------- time and steps of the simulation */
/* Schedules a call of rn_vnet_ops.happen() at the time @at; @what is RN_VNET_OWN or more.
 */
void rn_vnet_put(struct rn_vnet *v, rn_ns at, uint32_t what, uint32_t arg);

/* Returns the time of the next event or host timer; RN_NEVER: there is none. */
rn_ns rn_vnet_next(const struct rn_vnet *v);

/* Advances the clock to the next event or host timer and delivers either one event or all
 * timers that are due.
 */
void rn_vnet_step(struct rn_vnet *v);

/* Sets the timer of @host to the deadline of its device. Must be called whenever that
 * deadline may have changed.
 */
void rn_vnet_rearm(struct rn_vnet *v, uint32_t host);

/* Returns the time by the clock of @host. */
static inline rn_ns rn_vnet_local(const struct rn_vnet *v, uint32_t host)
{
	return v->now + v->host[host].skew;
}

static inline bool rn_vnet_is_stalled(const struct rn_vnet *v, uint32_t host)
{
	return v->host[host].stalled_until > v->now;
}

/* ----------------------------------------------------------- packets of hosts */
/* Returns the host that has the address @gid; RN_VNET_NOBODY: no host has it. */
uint32_t rn_vnet_host_of(const struct rn_vnet *v, const struct rn_gid *gid);

/**
 * rn_vnet_build() - Let the device of a host build its next packet, and add the ICRC
 * @what:	enum rn_tx_what: which kinds of packets may leave
 * @p:	Out: the packet with flow, from and len; to: RN_VNET_NOBODY if no host has the
 *	address
 * @tx:	Out
 *
 * Return: false if no packet may leave now.
 */
bool rn_vnet_build(struct rn_vnet *v, uint32_t host, unsigned what,
		   struct rn_vnet_packet *p, struct rn_tx *tx);

/* Builds a packet as rn_vnet_build() does, in a packet of the pool. The caller must pass
 * it to rn_vnet_go() or rn_vnet_drop(). Returns NULL if no packet may leave, or if the
 * pool is empty.
 */
struct rn_vnet_packet *rn_vnet_take(struct rn_vnet *v, uint32_t host, unsigned what,
				    struct rn_tx *tx);

/* Sends @p, a packet of the pool, by the port of its host. From then on the network
 * owns @p.
 */
void rn_vnet_go(struct rn_vnet *v, struct rn_vnet_packet *p);

/* Sends a copy of @p. It arrives @late ns later than it would by the link alone. Return:
 * the copy, valid until the next step; NULL: the copy is lost.
 */
struct rn_vnet_packet *rn_vnet_send(struct rn_vnet *v, const struct rn_vnet_packet *p,
				    rn_ns late);

/* Puts @p, a packet of the pool, back without sending it. */
void rn_vnet_drop(struct rn_vnet *v, struct rn_vnet_packet *p);

/* Passes @p to the device of @host as a packet that it has received. */
void rn_vnet_receive(struct rn_vnet *v, uint32_t host, const struct rn_vnet_packet *p);

static inline uint32_t rn_vnet_under_way(const struct rn_vnet *v)
{
	return v->cfg.packets - v->free_packets;
}

#endif /* RN_VNET_H */
