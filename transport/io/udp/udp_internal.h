/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_internal.h - state shared by net_udp.c (the sockets of the addresses),
 * udp_group.c (the sockets of multicast groups) and udp_connected.c (connected sockets,
 * which only send).
 */
#ifndef RN_UDP_INTERNAL_H
#define RN_UDP_INTERNAL_H

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "net_udp.h"
#include "rocin/flow.h"
#include "rocin/net.h"
#include "transport/io/host/gid_sockaddr.h"

#ifndef UDP_SEGMENT /* as glibc of older distributions lacks it */
#define UDP_SEGMENT 103
#endif

/* ------------------------------------------------------------------ receiving */
/* From the result of a recvmsg() to packets: control messages, addresses, and cutting a
 * super-packet that UDP_GRO has put together. No state but the caller's.
 */

/* Values from the control messages of a datagram. */
struct rn_rx_meta {
	uint32_t seg_len; /* bytes of each packet but the last; 0: there is one packet */
	/* Packets that this socket has dropped so far; valid if has_overflow. */
	uint32_t overflow;
	bool has_overflow;
	uint8_t tclass;
	uint8_t hop_limit; /* 0: the kernel did not tell */
	/* Interface that the packet arrived by; 0: the kernel did not tell. */
	uint32_t ifindex;
};

void rn_rx_meta(struct msghdr *msg, struct rn_rx_meta *meta);

/* Fill in the source of a packet from an IPv4 or IPv6 socket address. */
void rn_rx_source(const struct sockaddr *from, struct rn_flow *flow);

/* A super-packet that is being cut into packets; @next is the first byte not
 * delivered yet.
 */
struct rn_rx_split {
	const uint8_t *data;
	uint32_t len;
	uint32_t seg_len; /* at least 1 */
	uint32_t next;
	uint16_t idx; /* position of the packet at @next */
};

/* @seg_len 0: it is one packet, which may be empty. */
void rn_rx_split_init(struct rn_rx_split *s, const uint8_t *data, uint32_t len,
		      uint32_t seg_len);

/* Fill in up to RN_RX_BATCH entries of @rx. Return: their number; 0 when
 * nothing is left.
 */
unsigned rn_rx_split_next(struct rn_rx_split *s, const struct rn_flow *flow,
			  struct rn_rx *rx);

/* ------------------------------------------------------------------ sockets */
struct udp_sock {
	int fd; /* -1: there is no socket */
	bool is_ipv4;
	/* Of packets that are sent without a control message. */
	uint8_t tclass, hop_limit;
	uint8_t place;	   /* index in rn_udp.order */
	uint32_t idle;	   /* reads that found nothing since the socket was last used */
	uint32_t overflow; /* SO_RXQ_OVFL counter as it was last seen */
	struct rn_gid gid;
};

/* A multicast group that was joined. */
struct udp_group {
	struct udp_group *next;
	struct rn_gid mgid;
	int fd;
	uint32_t overflow; /* as in struct udp_sock */
};

/* A destination of many packets, and the socket that is connected to it. */
struct udp_connected {
	bool is_used;
	bool is_barred; /* a socket was tried and cannot be used: do not open one again */
	uint8_t sgid_index;
	int fd; /* -1: there is no socket */
	struct rn_flow flow;
	/* super-packets to it before it got a socket; to others since its last one. */
	uint32_t uses, others;
	uint16_t sport;
	uint16_t next_id; /* IPv4 identification of the next packet */
	/* Segment length that the socket is set to (0: none); and the length of the last
	 * super-packet that it was not set to.
	 */
	uint32_t cut, wanted;
};

enum {
	RN_UDP_CONNECTED_MAX = 16
};

struct rn_udp {
	struct rn_net net;
	uint32_t ifindex;
	uint64_t *stats;
	unsigned sock_count;
	unsigned active; /* sockets in use: they come first in `order` */
	unsigned cursor; /* index in `order` of the socket to be read next */
	unsigned taken;	 /* packets that this socket has delivered in its turn */
	/* Receive calls that found nothing since the unused sockets were last read. */
	unsigned vain;
	unsigned calls; /* receive calls since the unused sockets were last read */
	uint8_t order[RN_GID_MAX + 1]; /* indices of `sock` */
	/* sock[sock_count], behind the sockets of the addresses, stands for all multicast
	 * groups: its descriptor is an epoll set of their sockets.
	 */
	struct udp_sock sock[RN_GID_MAX + 1];
	struct udp_group *groups;

	bool has_connected;
	/* Indexed by a hash of the flow. */
	struct udp_connected connected[RN_UDP_CONNECTED_MAX];

	/* Number of packets that have left of the super-packet that is being sent one
	 * packet at a time.
	 */
	uint32_t sent;
	/* RN_SUPER_BYTES for copies with identification 0; allocated on demand. */
	uint8_t *reseal;

	struct rn_net_uring *uring; /* NULL: recvmsg() and sendmsg() are used */
	struct rn_net_uring *failed_uring;
	struct {
		const struct rn_gid *dst;
		uint32_t *overflow;
	} kept; /* the socket whose datagrams are in uring->slot */

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

/* The interface of a flow: the flow's own, or that of the device. */
static inline uint32_t rn_udp_ifindex(const struct rn_udp *u, const struct rn_flow *f)
{
	return f->ifindex ? f->ifindex : u->ifindex;
}

/* Read a datagram from a socket that is bound to @dst. Return: false if
 * there is none.
 */
bool rn_udp_read(struct rn_udp *u, int fd, const struct rn_gid *dst, uint32_t *overflow);
/* To be called before a socket, its @dst or its @overflow is freed: datagrams kept
 * from it are lost.
 */
void rn_udp_forget(struct rn_udp *u);
/* Return: 0 or -errno of sendmsg(). */
int rn_udp_send_message(struct rn_udp *u, int fd, const struct msghdr *msg);

/* ------------------------------------------------------------- udp_connected.c */
struct rn_tx_socket rn_udp_tx_socket(void *ctx, const struct rn_flow *flow,
				     uint32_t sgid_index, uint32_t dest_slot);
/* udp_transmit() for a super-packet that has a connected socket. */
int rn_udp_send_connected(struct rn_udp *u, const struct rn_super *super);
/* To be called before the socket of that address is closed or replaced. */
void rn_udp_close_connected(struct rn_udp *u, unsigned sgid_index);

/* -------------------------------------------------------------- udp_group.c */
/* As rn_udp_read(), for a socket of one of the groups. */
bool rn_udp_read_groups(struct rn_udp *u);
void rn_udp_leave_all(struct rn_udp *u);

#endif /* RN_UDP_INTERNAL_H */
