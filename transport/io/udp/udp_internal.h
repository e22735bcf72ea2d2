/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_internal.h - state shared by net_udp.c (the sockets of the addresses), udp_group.c
 * (those of multicast groups) and udp_connected.c (those that only send).
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
/* From what one recvmsg() delivered to packets: control messages, addresses, and the
 * cutting of a super-packet that UDP_GRO has put together. No state but the caller's.
 */

/* What the control messages said. */
struct rn_rx_meta {
	uint32_t seg_len;  /* bytes of each packet but the last; 0: there is one packet */
	uint32_t overflow; /* packets dropped by this socket so far; see has_overflow */
	bool has_overflow;
	uint8_t tclass;
	uint8_t hop_limit; /* 0: not told */
	uint32_t ifindex;  /* that it came in by; 0: not told */
};

void rn_rx_meta(struct msghdr *msg, struct rn_rx_meta *meta);

/* Source of a packet: IPv4 or IPv6 socket address to GID and port. */
void rn_rx_source(const struct sockaddr *from, struct rn_flow *flow);

/* A super-packet being cut; @next is the first byte not delivered yet. */
struct rn_rx_split {
	const uint8_t *data;
	uint32_t len;
	uint32_t seg_len; /* at least 1 */
	uint32_t next;
	uint16_t idx; /* position of the packet at @next */
};

/* @seg_len 0: one packet, which may be empty. */
void rn_rx_split_init(struct rn_rx_split *s, const uint8_t *data, uint32_t len,
		      uint32_t seg_len);

/* Fill up to RN_RX_BATCH entries of @rx. Return: how many; 0 when nothing is left. */
unsigned rn_rx_split_next(struct rn_rx_split *s, const struct rn_flow *flow,
			  struct rn_rx *rx);

/* ------------------------------------------------------------------ sockets */
struct udp_sock {
	int fd; /* -1: none */
	bool is_ipv4;
	uint8_t tclass, hop_limit; /* in packets sent without a control message */
	uint8_t place;		   /* in rn_udp.order */
	uint32_t idle;		   /* vain looks since it was last used */
	uint32_t overflow;	   /* SO_RXQ_OVFL seen last */
	struct rn_gid gid;
};

/* A multicast group that was joined. */
struct udp_group {
	struct udp_group *next;
	struct rn_gid mgid;
	int fd;
	uint32_t overflow; /* as in struct udp_sock */
};

/* A destination, and the socket that is connected to it. */
struct udp_connected {
	bool is_used;
	bool is_barred; /* there is to be no socket: it did not do */
	uint8_t sgid_index;
	int fd; /* -1: none */
	struct rn_flow flow;
	uint32_t uses, others; /* super-packets to it before; to others since */
	uint16_t sport;
	uint16_t next_id; /* IPv4 identification of the next packet */
	/* Length that the socket cuts by, 0: it does not; and the one that it did not
	 * when asked last.
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
	unsigned active; /* sockets in use: the first of order */
	unsigned cursor; /* in order: whose turn it is to be read */
	unsigned taken;	 /* packets that it has delivered in its turn */
	unsigned vain;	 /* receive calls that found nothing, since the others were looked
			    at */
	unsigned calls;	 /* all of them */
	uint8_t order[RN_GID_MAX + 1]; /* indices of sock */
	/* The one behind those of the addresses, sock[sock_count], stands for all groups:
	 * its descriptor is an epoll set of their sockets.
	 */
	struct udp_sock sock[RN_GID_MAX + 1];
	struct udp_group *groups;

	bool has_connected;
	struct udp_connected connected[RN_UDP_CONNECTED_MAX]; /* by hash of the flow */

	/* Packets of the super-packet being sent one by one that have left. */
	uint32_t sent;
	uint8_t *reseal; /* RN_SUPER_BYTES: copies with identification 0; on demand */

	struct rn_net_uring *uring; /* NULL: by recvmsg() and sendmsg() */
	struct rn_net_uring *failed_uring;
	struct {
		const struct rn_gid *dst;
		uint32_t *overflow;
	} kept; /* whose datagrams it has kept */

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

/* The interface of a flow: its own, or that of the device. */
static inline uint32_t rn_udp_ifindex(const struct rn_udp *u, const struct rn_flow *f)
{
	return f->ifindex ? f->ifindex : u->ifindex;
}

/* Ask a socket that @dst is bound to; false if it is dry. */
bool rn_udp_read(struct rn_udp *u, int fd, const struct rn_gid *dst, uint32_t *overflow);
/* Before a socket or its @dst and @overflow go: what is kept of it is lost. */
void rn_udp_forget(struct rn_udp *u);
/* Return: 0 or -errno of sendmsg(). */
int rn_udp_send_message(struct rn_udp *u, int fd, const struct msghdr *msg);

/* ------------------------------------------------------------- udp_connected.c */
struct rn_tx_socket rn_udp_tx_socket(void *ctx, const struct rn_flow *flow,
				     uint32_t sgid_index, uint32_t dest_slot);
/* udp_transmit() of a super-packet with a connected socket. */
int rn_udp_send_connected(struct rn_udp *u, const struct rn_super *super);
/* Before the socket of that address goes, or another one comes. */
void rn_udp_close_connected(struct rn_udp *u, unsigned sgid_index);

/* -------------------------------------------------------------- udp_group.c */
bool rn_udp_read_groups(struct rn_udp *u); /* as rn_udp_read(), of one of them */
void rn_udp_leave_all(struct rn_udp *u);

#endif /* RN_UDP_INTERNAL_H */
