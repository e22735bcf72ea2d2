/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net.h - interface of the back ends that send and receive packets (UDP sockets, shared
 * memory), and of the layers that wrap them (captures, fault rules).
 *
 * A layer has the same operations as the back end that it wraps, so captures and fault
 * rules are added by wrapping. Threads: all calls are made under the lock of the engine
 * that owns the back end and its layers.
 */
#ifndef RN_NET_H
#define RN_NET_H

#include "rocin/rx_tx.h"

struct rn_flow;

enum {
	/* maximum number of packets in a super-packet: UDP_MAX_SEGMENTS of the
	 * supported kernels
	 */
	RN_SUPER_SEGMENTS = 64,
	RN_SUPER_BYTES = 65507, /* largest UDP payload of one send */
	RN_RX_BATCH = 64,
	/* rn_tx_socket.id of the unconnected socket for packets to addresses of this
	 * host. All its packets have an IPv4 identification that does not depend on the
	 * packets sent before (first_id is 0). So a layer that drops or delays packets
	 * (fault rules) may send by this socket, too.
	 */
	RN_TX_OWN_HOST = UINT8_MAX,
};

/* The properties of the sending socket that enter the ICRC of a super-packet. */
struct rn_tx_socket {
	/* Number of the socket. Socket 0 is the unconnected socket of the source address;
	 * its first_id is 0, and its packets come from port 4791.
	 */
	uint8_t id;
	uint16_t sport;
	uint16_t first_id; /* IPv4 identification of the first packet */
};

/* A super-packet: packets of equal length (the last may be shorter), with one flow and to
 * one destination process, stored one behind the other at @data, each with its ICRC.
 * Their ICRCs are computed with the IPv4 identifications of rn_super_ip_id().
 */
struct rn_super {
	/* Addresses of the packets, with the source port of the socket. */
	const struct rn_flow *flow;
	/* index of the source address in the GID table; each address has its own socket
	 */
	uint32_t sgid_index;
	const uint8_t *data;
	uint32_t len;	  /* length of all packets together in bytes */
	uint32_t seg_len; /* length of each packet except the last in bytes */
	uint32_t count;	  /* number of packets, 1 .. RN_SUPER_SEGMENTS */
	struct rn_tx_socket tx_socket;
};

/* Returns the length of the packet that begins at offset @at of the super-packet. */
static inline uint32_t rn_super_packet_len(const struct rn_super *s, uint32_t at)
{
	uint32_t left = s->len - at;

	return left < s->seg_len ? left : s->seg_len;
}

/* Returns the IPv4 identification of the packet at @position, counted from 0. Not used
 * with IPv6.
 */
static inline uint16_t rn_super_ip_id(const struct rn_tx_socket *tx_socket, bool gso,
				      uint32_t position)
{
	return (uint16_t)(tx_socket->first_id + (gso ? position : 0));
}

struct rn_net_ops {
	/* Sends a super-packet. Returns 0; or -EAGAIN if the socket is full: the caller
	 * must pass the same super-packet again later; or another -errno: the packets are
	 * lost. The caller counts lost packets. The transport will send them again.
	 */
	int (*transmit)(void *ctx, const struct rn_super *super);

	/* Receives without blocking: fills in @rx with up to RN_RX_BATCH packets, whose
	 * data stays valid until the next call. Return: number of packets; 0: none was
	 * waiting; -EAGAIN: something was received that gives no packet (an empty
	 * datagram, one for another process, packets that a fault rule drops). The caller
	 * treats -EAGAIN as if packets had come, and may call again.
	 *
	 * The work of one call is bounded, whatever is received: it takes at most one
	 * datagram from the sockets, even an empty one, and looks at 3 * RN_RX_BATCH
	 * records of each shared memory ring; a back end that wraps another one calls the
	 * receive() of the other one at most once. (With io_uring a call may read some
	 * datagrams in advance, which later calls return.)
	 */
	int (*receive)(void *ctx, struct rn_rx *rx);

	/* The pointer is NULL if there is only one socket. Otherwise the function returns
	 * the socket by which the next super-packet of this flow to the process
	 * @dest_slot (low byte of its QPNs) will be sent. The caller must send that
	 * super-packet before any other by this socket.
	 */
	struct rn_tx_socket (*tx_socket)(void *ctx, const struct rn_flow *flow,
					 uint32_t sgid_index, uint32_t dest_slot);

	/* Returns private memory of RN_PACKET_MAX + RN_ICRC_LEN bytes, in which the
	 * caller can build the next packet from @flow->src to @flow->dst and the process
	 * @dest_slot. Returns NULL if the caller has to use transmit() instead. Nothing
	 * is sent before commit(), which need not be called. The caller must not call
	 * this function while a super-packet has to be sent again (-EAGAIN). The pointers
	 * to this function, commit() and publish() are NULL if the back end cannot take
	 * packets one by one.
	 */
	uint8_t *(*reserve)(void *ctx, const struct rn_flow *flow, uint32_t dest_slot);

	/* Sends the packet that the caller has built in the memory from the last
	 * reserve(), which had the same @flow. @len counts its bytes with the ICRC, which
	 * is computed for IPv4 identification 0. If rn_net.no_icrc is set, the ICRC may
	 * be zeros.
	 */
	void (*commit)(void *ctx, const struct rn_flow *flow, uint32_t len);

	/* Makes all committed packets visible to the peer that are not visible yet. */
	void (*publish)(void *ctx);
};

struct rn_net {
	const struct rn_net_ops *ops;
	void *ctx;
	/* True: several packets are sent as one GSO super-packet, and the IPv4
	 * identification of each is its position in the super-packet. False: packets are
	 * sent one by one, with identification 0. May become false when the kernel
	 * refuses GSO.
	 */
	bool gso;
	/* The packet for which the last reserve() returned memory needs no ICRC, because
	 * this process and the receiver have agreed so. Packets for transmit() always
	 * have an ICRC.
	 */
	bool no_icrc;
	/* After transmit() has returned -EAGAIN: number of packets of the super-packet
	 * that have been sent already. The back end sets it for a back end that wraps it.
	 */
	uint32_t sent;
	/* After transmit(): the packets of the super-packet from number @alone_at on were
	 * sent one by one, with IPv4 identification 0 and an ICRC computed for it,
	 * although they were built as parts of a GSO super-packet. Valid if @is_alone.
	 * The back end sets them for a back end that wraps it.
	 */
	bool is_alone;
	uint32_t alone_at;
};

/* Returns the socket that @net will use, see tx_socket(). */
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
