/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net.h - what carries packets: UDP sockets, a pair in one process, and what is put in
 * front of them (tap, faults).
 *
 * A middleware has the same operations as what it wraps, so faults and captures are
 * composition. Threads: all calls under the lock of the engine that owns the chain.
 */
#ifndef RN_NET_H
#define RN_NET_H

#include "rocin/rx_tx.h"

struct rn_flow;

enum {
	RN_SUPER_SEGMENTS = 64, /* UDP_MAX_SEGMENTS of the kernels that we serve */
	RN_SUPER_BYTES = 65507, /* UDP payload of one send */
	RN_RX_BATCH = 64,
};

/* The socket that a super-packet leaves by, as far as the ICRC covers what that socket
 * puts into headers.
 */
struct rn_tx_socket {
	uint8_t id; /* 0: that of the source address, with its port, and first_id 0 */
	uint16_t sport;
	uint16_t first_id; /* IPv4 identification of the first packet */
};

/* Packets of equal length (the last may be shorter) with one flow and one destination
 * process, back to back at @data, each with its ICRC (identification = its position if
 * the back end sends it as a GSO super-packet, else 0; see rn_net.gso; and as much more
 * as its socket says).
 */
struct rn_super {
	const struct rn_flow *flow; /* with the source port of its socket */
	uint32_t sgid_index;	    /* which socket */
	const uint8_t *data;
	uint32_t len;	  /* bytes of all */
	uint32_t seg_len; /* bytes of each but the last */
	uint32_t count;	  /* 1 .. RN_SUPER_SEGMENTS */
	struct rn_tx_socket tx_socket;
};

/* Bytes of the packet that begins @at bytes into it. */
static inline uint32_t rn_super_packet_len(const struct rn_super *s, uint32_t at)
{
	uint32_t left = s->len - at;

	return left < s->seg_len ? left : s->seg_len;
}

/* Identification of the packet at @position; nothing for IPv6. */
static inline uint16_t rn_super_ip_id(const struct rn_tx_socket *tx_socket, bool gso,
				      uint32_t position)
{
	return (uint16_t)(tx_socket->first_id + (gso ? position : 0));
}

struct rn_net_ops {
	/* Returns 0; -EAGAIN (the socket is full: try the same again later); another
	 * -errno (the packets are lost, which the transport repairs; counted by the
	 * caller).
	 */
	int (*transmit)(void *ctx, const struct rn_super *super);

	/* Take what waits from the wire, non-blocking: fills @rx, up to RN_RX_BATCH
	 * entries, whose data stay valid until the next call. Returns the number of
	 * packets; 0 if nothing waits; -EAGAIN if something did and no packet is left of
	 * it (an empty datagram, one for somebody else, packets that a rule drops): the
	 * caller counts that as if packets had come, and may ask again.
	 *
	 * Bound, whatever the senders do: one call takes at most one datagram off the
	 * sockets, empty ones counted, and looks at 3 * RN_RX_BATCH records of each
	 * ring; a middleware calls what it wraps once at most. (By io_uring a call may
	 * read some datagrams ahead, which the next ones hand out.)
	 */
	int (*receive)(void *ctx, struct rn_rx *rx);

	/* May be NULL: there is one only. Which socket the next super-packet of
	 * this flow, to the process @dest_slot, leaves by: it is the next to leave by
	 * that one, or does not leave at all.
	 */
	struct rn_tx_socket (*tx_socket)(void *ctx, const struct rn_flow *flow,
					 uint32_t sgid_index, uint32_t dest_slot);

	/* May be NULL, as the next two: a back end whose wire is memory has packets built
	 * in it. Where the next packet from @flow->src to @flow->dst and the process
	 * @dest_slot can be built, RN_PACKET_MAX + RN_ICRC_LEN bytes, or NULL: not in
	 * place, use transmit(). Only while no super-packet is to be tried again. Nothing
	 * has happened until commit(), which may as well not be called.
	 */
	uint8_t *(*reserve)(void *ctx, const struct rn_flow *flow, uint32_t dest_slot);

	/* Behind the last reserve(), with its flow: the packet is there, @len bytes with
	 * its ICRC (identification 0), or with zeros if rn_net.bare.
	 */
	void (*commit)(void *ctx, const struct rn_flow *flow, uint32_t len);

	/* What has been committed leaves now, if it has not yet. */
	void (*publish)(void *ctx);
};

struct rn_net {
	const struct rn_net_ops *ops;
	void *ctx;
	/* Several packets leave as one GSO super-packet, and the identification of each
	 * is its position; false: one by one, with identification 0. May turn false, when
	 * the kernel says no.
	 */
	bool gso;
	/* The packet that the last reserve() gave room for goes without an ICRC, as the
	 * two ends have agreed. Packets of transmit() always have theirs.
	 */
	bool bare;
	/* Of the super-packet that transmit() last returned 0 for, so many packets, from
	 * the first on, have left twice: they lie in the ring of a peer that has stopped
	 * reading, and went by UDP with the rest.
	 */
	uint32_t twice;
};

/* What @net says, or that there is one socket only. */
static inline struct rn_tx_socket rn_net_tx_socket(const struct rn_net *net,
						   const struct rn_flow *flow,
						   uint32_t sgid_index,
						   uint32_t dest_slot)
{
	if (!net->ops->tx_socket)
		return (struct rn_tx_socket){ 0 };
	return net->ops->tx_socket(net->ctx, flow, sgid_index, dest_slot);
}

#endif /* RN_NET_H */
