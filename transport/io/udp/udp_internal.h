/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_internal.h - state shared by net_udp.c (the sockets of the addresses), udp_send.c
 * (sending by them), udp_group.c (the sockets of multicast groups) and udp_connected.c
 * (connected sockets, which only send).
 */
#ifndef RN_UDP_INTERNAL_H
#define RN_UDP_INTERNAL_H

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "net_udp.h"
#include "rocin/gid.h"
#include "rocin/net.h"
#include "transport/io/host/gid_sockaddr.h"

#ifndef UDP_SEGMENT /* glibc of older distributions lacks this constant */
#define UDP_SEGMENT 103
#endif

/* --------------------------------------------- cutting datagrams into packets */
/* Functions that turn the result of a recvmsg() into packets: they read control messages
 * and addresses, and cut a datagram that UDP_GRO has merged from several packets. Their
 * state is in structs of the caller.
 */

/* Values from the control messages of a datagram. */
struct rn_rx_meta {
	uint32_t seg_len; /* bytes of each packet but the last; 0: there is one packet */
	/* number of packets that this socket has dropped so far; valid if has_overflow */
	uint32_t overflow;
	bool has_overflow;
	uint8_t tclass;
	uint8_t hop_limit; /* hop limit; 0: the kernel did not report it */
	/* interface that the packet came by; 0: the kernel did not report it */
	uint32_t ifindex;
};

void rn_rx_meta(struct msghdr *msg, struct rn_rx_meta *meta);

/* A datagram that is being cut into packets; @next is the offset of the first byte that
 * is not delivered yet.
 */
struct rn_rx_split {
	const uint8_t *data;
	uint32_t len;
	uint32_t seg_len; /* length of each packet but the last, at least 1 */
	uint32_t next;
	uint16_t idx; /* position of the next packet in the datagram */
};

/* Begin to cut a datagram of @len bytes into packets. @seg_len: bytes of each packet but
 * the last; 0: the datagram is a single packet, which may be empty.
 */
void rn_rx_split_init(struct rn_rx_split *s, const uint8_t *data, uint32_t len,
		      uint32_t seg_len);

/* Fill in up to RN_RX_BATCH entries of @rx with the next packets of the datagram. Return:
 * the number of packets; 0 at the end of the datagram.
 */
unsigned rn_rx_split_next(struct rn_rx_split *s, const struct rn_flow *flow,
			  struct rn_rx *rx);

/* ---------------------------------------------- state of a device's sockets */
struct udp_sock {
	int fd; /* -1: there is no socket */
	bool is_ipv4;
	/* traffic class and hop limit of packets that are sent without a control message
	 */
	uint8_t tclass, hop_limit;
	uint8_t place; /* index in rn_udp.order */
	/* Number of times that this socket was read without result since it last had a
	 * packet or sent one.
	 */
	uint32_t idle;
	/* count of packets that the kernel has dropped at this socket (SO_RXQ_OVFL), as
	 * last read
	 */
	uint32_t overflow;
	struct rn_gid gid;
};

/* A multicast group that the device has joined. */
struct udp_group {
	struct udp_group *next;
	struct rn_gid mgid;
	int fd;
	uint32_t overflow; /* counter of dropped packets, as in struct udp_sock */
};

/* A destination that gets many packets, and the socket that is connected to it. */
struct udp_connected {
	bool is_used;
	/* the socket could not be used, so no other one is opened for this destination */
	bool is_barred;
	uint8_t sgid_index;
	int fd; /* -1: there is no socket */
	struct rn_flow flow;
	/* @uses: number of super-packets sent to this destination before it got a
	 * socket. @others: number of super-packets sent, since the last one to this
	 * destination, to others that share this entry.
	 */
	uint32_t uses, others;
	uint16_t sport;
	uint16_t next_id; /* IPv4 identification of the next packet */
	/* @cut: segment length (UDP_SEGMENT) that is set for the socket; 0: none.
	 * @wanted: segment length of the last super-packet, if that needed a control
	 * message.
	 */
	uint32_t cut, wanted;
};

enum {
	RN_UDP_CONNECTED_MAX = 16,
	RN_UDP_PLACES = 32, /* a power of two */
};

/* What is known about an address, as of the last lookup. */
struct udp_place {
	struct rn_gid gid;
	/* number of further uses before the address is looked up again; 0: the entry is
	 * empty or old
	 */
	uint32_t uses;
	bool is_own;
	/* MTU of the route in bytes, see route_mtu.h; 0: not looked up yet, 1: not known
	 */
	uint32_t route_mtu;
};

struct rn_udp {
	struct rn_net net;
	/* a warning about an ICMP error that was not believed has been logged */
	bool tells_of_icmp;
	uint32_t ifindex;
	uint64_t *stats;
	unsigned sock_count;
	unsigned active; /* number of sockets in use, which come first in `order` */
	unsigned cursor; /* index in `order` of the socket that is read next */
	/* number of packets that the socket at `cursor` has delivered in its turn */
	unsigned taken;
	/* Number of calls of receive() that found nothing, since the sockets not in use
	 * were last read.
	 */
	unsigned vain;
	/* number of calls of receive() since the sockets not in use were last read */
	unsigned calls;
	uint8_t order[RN_GID_MAX + 1]; /* indices in `sock`, those in use first */
	/* The sockets of the addresses. Behind them, sock[sock_count] stands for the
	 * sockets of all multicast groups: its descriptor is an epoll set of these.
	 */
	struct udp_sock sock[RN_GID_MAX + 1];
	struct udp_group *groups;

	/* Source port for packets to this host; 0: they leave from port 4791 like all
	 * others. @own: the sockets that send them, by GID index; a socket is opened
	 * when it is needed.
	 */
	uint16_t own_port;
	struct udp_sock own[RN_GID_MAX];
	struct udp_place place[RN_UDP_PLACES];

	bool has_connected;
	/* indexed by a hash of the flow and GID index */
	struct udp_connected connected[RN_UDP_CONNECTED_MAX];

	/* Number of packets of the present super-packet that have left, while they are
	 * sent one by one.
	 */
	uint32_t sent;
	/* Buffer of RN_SUPER_BYTES, allocated when needed: copies of packets that were
	 * built as parts of a super-packet, with their ICRCs computed anew for IPv4
	 * identification 0.
	 */
	uint8_t *reseal;

	struct rn_net_uring *uring; /* NULL: packets go by recvmsg() and sendmsg() */
	struct rn_net_uring *failed_uring;
	struct {
		const struct rn_gid *dst;
		uint32_t *overflow;
	} kept; /* The socket whose datagrams are in uring->slot. */

	struct rn_flow rx_flow;
	struct rn_rx_split split;
	union rn_sockaddr rx_from;
	_Alignas(struct cmsghdr) uint8_t rx_control[256];
	uint8_t rx_buf[65536];
};

static inline bool rn_udp_set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* Return: the interface of a flow or, if the flow has none, of the device. */
static inline uint32_t rn_udp_ifindex(const struct rn_udp *u, const struct rn_flow *f)
{
	return f->ifindex ? f->ifindex : u->ifindex;
}

/* Swaps two elements of u->order. That array has the indices of all sockets: first those
 * of sockets in use, then those of the others.
 */
static inline void rn_udp_swap_places(struct rn_udp *u, unsigned a, unsigned b)
{
	uint8_t ia = u->order[a], ib = u->order[b];

	u->order[a] = ib;
	u->order[b] = ia;
	u->sock[ib].place = (uint8_t)a;
	u->sock[ia].place = (uint8_t)b;
}

static inline void rn_udp_mark_in_use(struct rn_udp *u, unsigned idx)
{
	unsigned at = u->sock[idx].place;

	u->sock[idx].idle = 0;
	if (at < u->active)
		return;
	rn_udp_swap_places(u, at, u->active);
	u->active++;
}

/* Read a datagram from the socket @fd, which is bound to @dst, and begin to deliver its
 * packets. @overflow: count of the socket's dropped packets, as in struct udp_sock.
 * Return: false if there is no datagram.
 */
bool rn_udp_read(struct rn_udp *u, int fd, const struct rn_gid *dst, uint32_t *overflow);
/* Drop the datagrams that were received but not delivered yet. Called before a socket is
 * freed, and before the @dst or @overflow is freed that was passed to rn_udp_read().
 */
void rn_udp_forget(struct rn_udp *u);
/* Send a message by sendmsg() or io_uring. Return: 0, or -errno of sendmsg(). */
int rn_udp_send_message(struct rn_udp *u, int fd, const struct msghdr *msg);

/* ------------------------------------------------------------------ udp_send.c */
/* Implements rn_net_ops.transmit. */
int rn_udp_transmit(void *ctx, const struct rn_super *super);
/* Find out which traffic class and hop limit packets of the socket @s have if they are
 * sent without control messages, and store them in @s.
 */
void rn_udp_learn_defaults(struct udp_sock *s);
/* Return: true if a packet of this flow goes to this host, so that it must leave from
 * the own port (the port that rocind holds for its user).
 */
bool rn_udp_is_to_own_host(struct rn_udp *u, const struct rn_flow *flow);
/* Return: the socket that sends packets to this host from the own port (the port that
 * rocind holds for its user). Opened at the first call. If that fails, returns the
 * socket of the address.
 */
struct udp_sock *rn_udp_own_sock(struct rn_udp *u, unsigned sgid_index);
/* Close the socket that rn_udp_own_sock() has opened. */
void rn_udp_close_own(struct rn_udp *u, unsigned idx);

/* ------------------------------------------------------------- udp_connected.c */
struct rn_tx_socket rn_udp_tx_socket(void *ctx, const struct rn_flow *flow,
				     uint32_t sgid_index, uint32_t dest_slot);
/* Send a super-packet by its connected socket. Return: as rn_udp_transmit(). */
int rn_udp_send_connected(struct rn_udp *u, const struct rn_super *super);
/* Close the connected sockets of an address. Called before the socket of the address is
 * closed or replaced.
 */
void rn_udp_close_connected(struct rn_udp *u, unsigned sgid_index);

/* -------------------------------------------------------------- udp_group.c */
/* Read a datagram from the socket of one of the multicast groups, and begin to deliver
 * its packets. Return: false if there is no datagram.
 */
bool rn_udp_read_groups(struct rn_udp *u);
void rn_udp_leave_all(struct rn_udp *u);

#endif /* RN_UDP_INTERNAL_H */
