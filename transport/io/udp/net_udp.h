/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_udp.h - packets through UDP sockets, one socket per GID of the device.
 *
 * Sending takes one sendmsg() per super-packet (UDP_SEGMENT), or sendmmsg() of single
 * packets once the kernel has refused UDP_SEGMENT. Receiving takes one datagram per call,
 * which UDP_GRO may make many packets. Both, except sendmmsg(), can go through io_uring.
 * Of several sockets, the ones in use are read in turn, the others every
 * RN_UDP_LOOK_EVERY calls that find nothing.
 *
 * A multicast group has a socket of its own, bound to the group's address with
 * SO_REUSEADDR and a member on the device's interface. The kernel gives each such socket
 * of the host a copy, including the sender's, whichever process and user has it; so no
 * process needs to own the port of a group.
 *
 * The sockets are bound, not connected, with IP_MTU_DISCOVER = DO, so that the IPv4
 * identification of each packet is its position in its super-packet. A destination of
 * many packets on this host gets a connected socket of its own, provided that the
 * kernel's numbering of packets from it can be predicted (rn_net_ops.tx_socket). No call
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
	const int *sock; /* sockets by GID index; owned from now on; -1: no socket */
	const struct rn_gid *gid; /* addresses that they are bound to */
	uint32_t ifindex;	  /* scope of link-local addresses */
	bool gso;		  /* try to send super-packets */
	bool connected;		  /* connected sockets, see above */
	bool uring;		  /* use io_uring, where there is one */
	uint64_t *stats;	  /* RN_STAT_COUNT counters: SOCK_OVERFLOW is written */
};

/* Return: the back end, or NULL with errno ENOMEM; then the sockets are closed. */
struct rn_udp *rn_udp_new(const struct rn_udp_cfg *cfg);

/* Closes the sockets. NULL is ignored. */
void rn_udp_free(struct rn_udp *u);

/* Operations; rn_net.gso turns false when the kernel refuses super-packets. */
struct rn_net *rn_udp_net(struct rn_udp *u);

/* Replace the socket of GID index @idx by @fd (owned from now on), or by none (-1); the
 * old one is closed. Packets read from it and not delivered yet are lost.
 */
void rn_udp_set(struct rn_udp *u, unsigned idx, int fd, const struct rn_gid *gid);

/* Socket by GID index, -1 if there is none. Stays owned by @u. */
int rn_udp_fd(const struct rn_udp *u, unsigned idx);

/**
 * rn_group_open() - Open a socket that receives the packets of a multicast group
 * @mgid:	::ffff:a.b.c.d or an IPv6 group. ff0e::ffff:a.b.c.d, which RoCE v1 has
 *		for IPv4 groups, is an IPv6 group like any other
 * @ifindex:	Interface; packets that arrive by others are not received
 *
 * May have to wait for the kernel's global interface lock (RTNL), so it does not belong
 * on a data path.
 *
 * Return: descriptor for rn_udp_join(), or -EADDRINUSE (a program holds port 4791 of the
 *	   group for itself), -ENODEV (no such interface, or it has no IPv6),
 *	   -ENETUNREACH (IPv6 on the loopback interface, which has no route to groups
 *	   unless one was added), -EAFNOSUPPORT, -EMFILE, -ENFILE, -ENOMEM (also when
 *	   net.ipv4.igmp_max_memberships is 0).
 */
int rn_group_open(const struct rn_gid *mgid, uint32_t ifindex);

/* Leave the group, also for copies of the socket in fork() children, and close it.
 * -1 is ignored.
 */
void rn_group_close(int fd, const struct rn_gid *mgid, uint32_t ifindex);

/* Could a packet to a group leave by an interface? Return: 0; -ENETUNREACH: the interface
 * has no route to it; or the error of a socket call.
 */
int rn_group_route(const struct rn_gid *mgid, uint32_t ifindex);

/* Read from the socket of a group that was not joined yet. Return: 0, and @fd is owned
 * from now on; or -ENOMEM or -EMFILE, and @fd stays the caller's.
 */
int rn_udp_join(struct rn_udp *u, const struct rn_gid *mgid, int fd);

/* Stop reading a group. Return: the socket, which the caller closes by rn_group_close();
 * -1 if the group was not joined.
 */
int rn_udp_leave(struct rn_udp *u, const struct rn_gid *mgid);

/* A descriptor for epoll: readable if a packet waits in any group. -1 before the first
 * rn_udp_join(), always the same afterwards. Stays owned by @u.
 */
int rn_udp_groups_fd(const struct rn_udp *u);

/* Has @u received packets that it has not delivered yet, so that no socket shows
 * them as readable?
 */
bool rn_udp_holds(const struct rn_udp *u);

/* Is io_uring in use now? */
bool rn_udp_by_uring(const struct rn_udp *u);

/* The next call of receive() that finds nothing looks at every socket, because epoll says
 * that one is readable.
 */
void rn_udp_look_everywhere(struct rn_udp *u);

#endif /* RN_NET_UDP_H */
