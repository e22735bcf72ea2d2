/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_udp.h - packets through UDP sockets, one socket per GID of the device.
 *
 * Sending: one sendmsg() per super-packet (UDP_SEGMENT); where the kernel refuses that,
 * sendmmsg() of single packets from then on. Receiving: one datagram per call, which
 * UDP_GRO lets be many packets. Or both, but for sendmmsg(), by io_uring. With
 * several sockets the ones in use are asked in turn, the others every RN_UDP_LOOK_EVERY
 * calls that find nothing.
 *
 * A multicast group has a socket of its own, bound to the group's address with
 * SO_REUSEADDR and a member on the device's interface. The kernel gives each such socket
 * of the host a copy, whatever process and user has it, the sender's own included; so
 * nobody needs to own the port of a group.
 *
 * The sockets are bound, not connected, with IP_MTU_DISCOVER = DO, so that the IPv4
 * identification of each packet is its position in its super-packet. A destination of
 * many packets on this host gets a connected one for what is sent to it, where it turns
 * out how the kernel numbers the packets of that (rn_net_ops.tx_socket). No call
 * blocks, none is a cancellation point.
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_UDP_H
#define RN_NET_UDP_H

#include "rocin/net.h"

struct rn_gid;

enum {
	RN_UDP_LOOK_EVERY = 16
};

struct rn_udp;

struct rn_udp_cfg {
	unsigned sock_count;
	const int *sock;	  /* by GID index; owned from now on; -1: none */
	const struct rn_gid *gid; /* what they are bound to */
	uint32_t ifindex;	  /* scope of link-local addresses */
	bool gso;		  /* try super-packets */
	bool connected;		  /* connected sockets, see above */
	bool uring;		  /* by io_uring, where there is one */
	uint64_t *stats;	  /* RN_STAT_COUNT counters: SOCK_OVERFLOW is written */
};

/* Return: the back end, or NULL with errno ENOMEM; the sockets are closed then. */
struct rn_udp *rn_udp_new(const struct rn_udp_cfg *cfg);

/* Closes the sockets. NULL is ignored. */
void rn_udp_free(struct rn_udp *u);

/* Operations; rn_net.gso turns false when the kernel refuses super-packets. */
struct rn_net *rn_udp_net(struct rn_udp *u);

/* Put another socket in place @idx (owned from now on), or none (-1); the old one is
 * closed. Packets read from it and not delivered are lost.
 */
void rn_udp_set(struct rn_udp *u, unsigned idx, int fd, const struct rn_gid *gid);

/* Socket by GID index, -1 if there is none. Stays owned by @u. */
int rn_udp_fd(const struct rn_udp *u, unsigned idx);

/**
 * rn_group_open() - A socket that receives what is sent to a multicast group
 * @mgid:	::ffff:a.b.c.d or an IPv6 group. ff0e::ffff:a.b.c.d, which RoCE v1 has for
 *		IPv4 groups, is an IPv6 group like any other
 * @ifindex:	Interface; packets that come in by others are not taken
 *
 * May have to wait for the kernel's lock of all interfaces: not for a data path.
 *
 * Return: descriptor for rn_udp_join(), or -EADDRINUSE (a program holds port 4791 of the
 *	   group for itself), -ENODEV (no such interface, or it has no IPv6), -ENETUNREACH
 *	   (IPv6 on the loopback interface, which has no route to groups unless one was
 *	   added), -EAFNOSUPPORT, -EMFILE, -ENFILE, -ENOMEM (also when
 *	   net.ipv4.igmp_max_memberships is 0).
 */
int rn_group_open(const struct rn_gid *mgid, uint32_t ifindex);

/* Leave the group, also for copies that fork() made, and close. -1 is ignored. */
void rn_group_close(int fd, const struct rn_gid *mgid, uint32_t ifindex);

/* Could what is sent to a group leave by an interface? 0, -ENETUNREACH: it has no route
 * to it, or what a socket call failed with.
 */
int rn_group_route(const struct rn_gid *mgid, uint32_t ifindex);

/* Read from the socket of a group that was not joined yet; @fd is owned from now on.
 * Return: 0, or -ENOMEM or -EMFILE, and @fd stays the caller's.
 */
int rn_udp_join(struct rn_udp *u, const struct rn_gid *mgid, int fd);

/* Return: the socket, the caller's again, to be closed by rn_group_close(); -1 if the
 * group was not joined.
 */
int rn_udp_leave(struct rn_udp *u, const struct rn_gid *mgid);

/* For epoll: readable when a packet waits in any group. The same from the first
 * rn_udp_join() on, -1 before. Stays owned by @u.
 */
int rn_udp_groups_fd(const struct rn_udp *u);

/* Has taken more from a socket than it has delivered: the socket does not show it. */
bool rn_udp_holds(const struct rn_udp *u);

/* Does it use io_uring now? */
bool rn_udp_by_uring(const struct rn_udp *u);

/* The next call that finds nothing looks at every socket: epoll says there is something.
 */
void rn_udp_look_everywhere(struct rn_udp *u);

#endif /* RN_NET_UDP_H */
