/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net.h - interface of the back ends that carry packets (UDP sockets, shared memory), and
 * of the layers in front of them (captures, faults).
 *
 * A layer has the same operations as the back end that it wraps, so faults and
 * captures are added by composition. Threads: all calls are made under the lock of the
 * engine that owns the chain.
 */
#ifndef RN_NET_H
#define RN_NET_H

#include "rocin/rx_tx.h"

struct rn_flow;

enum {
	RN_SUPER_SEGMENTS = 64, /* UDP_MAX_SEGMENTS of the kernels that we support */
	RN_SUPER_BYTES = 65507, /* largest UDP payload of one send */
	RN_RX_BATCH = 64,
};

/* The socket by which a super-packet leaves: those properties of it that
 * the ICRC covers.
 */
struct rn_tx_socket {
	uint8_t id; /* 0: the unconnected socket of the source address; first_id is 0 */
	uint16_t sport;
	uint16_t first_id; /* IPv4 identification of the first packet */
};

/* A super-packet: packets of equal length (the last may be shorter) with one flow and one
 * destination process, one behind the other at @data, each with its ICRC. The
 * identification that the ICRC assumes is rn_super_ip_id().
 */
struct rn_super {
	const struct rn_flow *flow; /* with the source port of its socket */
	uint32_t sgid_index; /* index of the source address, and so of the socket */
	const uint8_t *data;
	uint32_t len;	  /* bytes of all packets */
	uint32_t seg_len; /* bytes of each packet but the last */
	uint32_t count;	  /* 1 .. RN_SUPER_SEGMENTS */
	struct rn_tx_socket tx_socket;
};

/* Length of the packet that begins at offset @at of the super-packet. */
static inline uint32_t rn_super_packet_len(const struct rn_super *s, uint32_t at)
{
	uint32_t left = s->len - at;

	return left < s->seg_len ? left : s->seg_len;
}

/* IPv4 identification of the packet at @position, counted from 0; not used with IPv6. */
static inline uint16_t rn_super_ip_id(const struct rn_tx_socket *tx_socket, bool gso,
				      uint32_t position)
{
	return (uint16_t)(tx_socket->first_id + (gso ? position : 0));
}

struct rn_net_ops {
	/* Send a super-packet. Return: 0; -EAGAIN: the socket is full, try the same
	 * super-packet again later; another -errno: the packets are lost, which the
	 * transport repairs and the caller counts.
	 */
	int (*transmit)(void *ctx, const struct rn_super *super);

	/* Receive without blocking: fills in @rx with up to RN_RX_BATCH packets, whose
	 * data stay valid until the next call. Return: the number of packets; 0 if none
	 * was waiting; -EAGAIN if something was taken and no packet is left of it (an
	 * empty datagram, one for another process, packets that a fault rule drops): the
	 * caller counts that as if packets had come, and may call again.
	 *
	 * One call is bounded, whatever the senders do: it takes at most one datagram off
	 * the sockets, even an empty one, and looks at 3 * RN_RX_BATCH records of each
	 * ring; a layer calls the one that it wraps at most once. (With io_uring a call
	 * may read some datagrams ahead, which later calls return.)
	 */
	int (*receive)(void *ctx, struct rn_rx *rx);

	/* NULL if there is only one socket. Returns the socket by which the next
	 * super-packet of this flow, to the process @dest_slot, will leave. That
	 * super-packet must be the next one by this socket, or not be sent at all.
	 */
	struct rn_tx_socket (*tx_socket)(void *ctx, const struct rn_flow *flow,
					 uint32_t sgid_index, uint32_t dest_slot);

	/* NULL, like the next two, unless packets can be built in the memory that carries
	 * them. Returns room of RN_PACKET_MAX + RN_ICRC_LEN bytes for the next packet
	 * from @flow->src to @flow->dst and the process @dest_slot; NULL: use transmit()
	 * instead. Only while no super-packet waits to be tried again. Nothing has
	 * happened before commit(), and commit() need not be called.
	 */
	uint8_t *(*reserve)(void *ctx, const struct rn_flow *flow, uint32_t dest_slot);

	/* After the last reserve(), with its flow: the packet has been built,
	 * @len bytes with its ICRC (for identification 0), or with zeros in
	 * its place if rn_net.no_icrc.
	 */
	void (*commit)(void *ctx, const struct rn_flow *flow, uint32_t len);

	/* All committed packets become visible to the peer now, if they are not yet. */
	void (*publish)(void *ctx);
};

struct rn_net {
	const struct rn_net_ops *ops;
	void *ctx;
	/* Several packets leave as one GSO super-packet, and the identification of each
	 * is its position. False: they leave one by one, with identification 0. May turn
	 * false when the kernel refuses GSO.
	 */
	bool gso;
	/* The packet for which the last reserve() gave room needs no ICRC, as the two
	 * ends have agreed. Packets given to transmit() always have one.
	 */
	bool no_icrc;
	/* Number of packets, from the first on, of the super-packet for which
	 * transmit() last returned 0, that have left twice: they lie in the ring of a
	 * peer that has stopped reading, and were sent by UDP together with the rest of
	 * the super-packet.
	 */
	uint32_t twice;
};

/* The socket that @net will use, or the only one. */
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
