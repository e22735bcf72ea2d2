/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_udp.h - sends and receives packets through UDP sockets, one socket per GID of
 * the device.
 *
 * Sending takes one sendmsg() per super-packet (UDP_SEGMENT), or sendmmsg() of single
 * packets once the kernel has refused UDP_SEGMENT. Receiving takes one call per
 * datagram, which UDP_GRO may have merged from many packets. Both, except sendmmsg(),
 * can go through io_uring. If there are several sockets, those on which packets have
 * come lately are read in turn, and the others only after RN_UDP_LOOK_EVERY calls that
 * found nothing.
 *
 * Each multicast group has a socket of its own, bound to the group's address with
 * SO_REUSEADDR, which has joined the group on the device's interface. The kernel delivers
 * a copy of a packet to each such socket of the host, also on the host of the sender,
 * whichever process and user the socket belongs to; so no process needs to own the port
 * of a group.
 *
 * The sockets are bound, not connected, with IP_MTU_DISCOVER = DO, so that the IPv4
 * identification of each packet is its position in its super-packet. A destination on
 * this host that gets many packets has a connected socket of its own, provided that the
 * identifications of its packets can be predicted (rn_net_ops.tx_socket). No call blocks,
 * and none is a cancellation point.
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
	const int *sock; /* sockets by GID index, owned from now on; -1: no socket */
	const struct rn_gid *gid; /* address that each socket is bound to */
	/* interface of the device, the scope of link-local addresses */
	uint32_t ifindex;
	bool gso;	   /* try to send super-packets (UDP_SEGMENT) */
	bool connected;	   /* use connected sockets, as described above */
	bool uring;	   /* use io_uring if the kernel supports it */
	uint16_t own_port; /* source port of packets to this host; 0: no special port */
	/* RN_STAT_COUNT counters, of which SOCK_OVERFLOW is written */
	uint64_t *stats;
};

/* Create the back end. It owns the sockets of @cfg from now on. Return: the back end;
 * NULL with errno ENOMEM, and the sockets are closed.
 */
struct rn_udp *rn_udp_new(const struct rn_udp_cfg *cfg);

/* Free the back end and close its sockets. NULL is ignored. */
void rn_udp_free(struct rn_udp *u);

/* Return: the operations of the back end. rn_net.gso becomes false when the kernel
 * refuses super-packets.
 */
struct rn_net *rn_udp_net(struct rn_udp *u);

/* Replace the socket of GID index @idx by @fd, which @u then owns; @fd -1: by none.
 * Closes the old socket. Packets that were read from it but not delivered yet are lost.
 */
void rn_udp_set(struct rn_udp *u, unsigned idx, int fd, const struct rn_gid *gid);

/* Return: the socket of a GID index, which @u still owns; -1 if there is none. */
int rn_udp_fd(const struct rn_udp *u, unsigned idx);

/**
 * rn_group_open() - Open a socket that receives the packets of a multicast group
 * @mgid:	::ffff:a.b.c.d or an IPv6 group. ff0e::ffff:a.b.c.d, which RoCE v1 has
 *		for IPv4 groups, is an IPv6 group like any other
 * @ifindex:	Index of the interface; packets that arrive by other interfaces are
 *		not received
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

/* Leave the group and close the socket @fd. A fork() child that has a copy of the socket
 * loses the membership, too. A negative @fd is ignored.
 */
void rn_group_close(int fd, const struct rn_gid *mgid, uint32_t ifindex);

/* Check whether this host would send packets to a group by an interface. Return: 0;
 * -ENETUNREACH: the interface has no route to the group; or the error of a socket call.
 */
int rn_group_route(const struct rn_gid *mgid, uint32_t ifindex);

/* Begin to receive the packets of a group. @fd: a socket for the group from
 * rn_group_open(). @u must not have joined the group already. Return: 0, and @u owns @fd
 * from now on; or -ENOMEM or -EMFILE, and the caller still owns @fd.
 */
int rn_udp_join(struct rn_udp *u, const struct rn_gid *mgid, int fd);

/* Stop receiving the packets of a group. Return: the socket of the group, which the
 * caller then owns, and closes by rn_group_close(); -1 if the group was not joined.
 */
int rn_udp_leave(struct rn_udp *u, const struct rn_gid *mgid);

/* Return: a descriptor for epoll, which is readable if a packet waits in the socket of
 * any group; -1 before the first rn_udp_join(). @u owns it, and it never changes
 * afterwards.
 */
int rn_udp_groups_fd(const struct rn_udp *u);

/* Return: true if @u has packets that it has received but not delivered yet. epoll does
 * not report its sockets as readable for these.
 */
bool rn_udp_holds(const struct rn_udp *u);

/* Return: true if io_uring is in use now. */
bool rn_udp_by_uring(const struct rn_udp *u);

/* Called when epoll has reported that a socket is readable. If the next call of
 * receive() finds nothing in the sockets in use, it reads all others, too.
 */
void rn_udp_look_everywhere(struct rn_udp *u);

#endif /* RN_NET_UDP_H */
