/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_group.c - multicast groups of a device: one socket per group. All are read through
 * one epoll set, which is treated like one of the sockets of the addresses.
 */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_port.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/rocind/ctl_socket.h"
#include "udp_internal.h"

/* Constants that glibc of older distributions lacks. */
#ifndef IP_MULTICAST_ALL
#define IP_MULTICAST_ALL 49
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif

enum {
	/* Size in bytes of the receive buffer to ask for. rocind asks for the same for
	 * the sockets of addresses.
	 */
	BUFFER_BYTES = 8 << 20,
};

/* Ask for a large receive buffer, and for control messages with each packet (such as its
 * interface). If the kernel does not know one of these options, a counter is not updated,
 * or a field of received headers is 0.
 */
static void ask_for_facts(int fd, int family)
{
	if (!rn_udp_set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES))
		rn_udp_set_int(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
	rn_udp_set_int(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	if (family == AF_INET) {
		rn_udp_set_int(fd, IPPROTO_IP, IP_RECVTOS, 1);
		rn_udp_set_int(fd, IPPROTO_IP, IP_RECVTTL, 1);
		return;
	}
	rn_udp_set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	rn_udp_set_int(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	rn_udp_set_int(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

/* Bind the socket and join the group so that only packets of this interface are
 * received. For IPv4 the kernel itself drops packets of other interfaces, if
 * IP_MULTICAST_ALL is 0, so that memberships of other sockets do not count. For IPv6 it
 * passes them and reports the interface, which take_datagram() compares. Return: 0 or
 * -errno.
 */
static int bind_and_join(int fd, const struct rn_gid *mgid, uint32_t ifindex)
{
	/* address of the group; the scope is used if it is link-local */
	union rn_sockaddr addr;
	socklen_t len = rn_gid_sockaddr(&addr, mgid, RN_ROCE_PORT, ifindex);
	struct ip_mreqn v4 = { .imr_ifindex = (int)ifindex };
	struct ipv6_mreq v6 = { .ipv6mr_interface = ifindex };
	bool ok = rn_udp_set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (addr.sa.sa_family == AF_INET) {
		v4.imr_multiaddr = addr.in.sin_addr;
		ok = ok && rn_udp_set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) &&
		     bind(fd, &addr.sa, len) == 0 &&
		     setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4)) == 0;
	} else {
		v6.ipv6mr_multiaddr = addr.in6.sin6_addr;
		ok = ok && rn_udp_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
		     rn_udp_set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) &&
		     bind(fd, &addr.sa, len) == 0 &&
		     setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof(v6)) == 0;
	}
	return ok ? 0 : -errno;
}

/* Leaves the group and closes the socket. Closing alone is not enough, because a fork()
 * child may have a copy of the socket, which would keep the membership.
 */
void rn_group_close(int fd, const struct rn_gid *mgid, uint32_t ifindex)
{
	union rn_sockaddr addr;
	struct ip_mreqn v4 = { .imr_ifindex = (int)ifindex };
	struct ipv6_mreq v6 = { .ipv6mr_interface = ifindex };

	if (fd < 0)
		return;
	rn_gid_sockaddr(&addr, mgid, RN_ROCE_PORT, ifindex);
	if (addr.sa.sa_family == AF_INET) {
		v4.imr_multiaddr = addr.in.sin_addr;
		setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &v4, sizeof(v4));
	} else {
		v6.ipv6mr_multiaddr = addr.in6.sin6_addr;
		setsockopt(fd, IPPROTO_IPV6, IPV6_LEAVE_GROUP, &v6, sizeof(v6));
	}
	rn_fd_close(fd);
}

static int open_group_socket(int family)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	fd = fd < 0 ? -errno : rn_fd_raise(fd);
	return rn_own_fd_keep(fd);
}

int rn_group_route(const struct rn_gid *mgid, uint32_t ifindex)
{
	union rn_sockaddr addr;
	socklen_t len = rn_gid_sockaddr(&addr, mgid, RN_ROCE_PORT, ifindex);
	int fd, rc = 0;

	/* with IPv4, only the interface is needed to send to a group, and no route */
	if (rn_gid_is_ipv4(mgid))
		return 0;
	fd = open_group_socket(AF_INET6);
	if (fd < 0)
		return fd;
	if (!rn_udp_set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)ifindex) ||
	    syscall(SYS_connect, fd, &addr.sa, len) < 0)
		rc = -errno;
	rn_fd_close(fd);
	return rc;
}

static bool is_loopback(uint32_t ifindex)
{
	struct ifreq req = { .ifr_ifindex = (int)ifindex };
	int fd = open_group_socket(AF_UNIX);
	bool is = fd >= 0 && ioctl(fd, SIOCGIFNAME, &req) == 0 &&
		  ioctl(fd, SIOCGIFFLAGS, &req) == 0 && (req.ifr_flags & IFF_LOOPBACK);

	if (fd >= 0)
		rn_fd_close(fd);
	return is;
}

/* Return: true if a socket for this group would never receive anything. That is so for
 * an IPv6 group on the loopback interface: the kernel lets a socket join, but has no
 * route for packets to the group. (On other interfaces the route appears when the link
 * comes up.)
 */
static bool is_in_vain(const struct rn_gid *mgid, uint32_t ifindex)
{
	if (rn_group_route(mgid, ifindex) != -ENETUNREACH || !is_loopback(ifindex))
		return false;
	rn_log(RN_LOG_ERROR,
	       "the loopback interface has no route to IPv6 groups; rocin doctor says "
	       "what to do");
	return true;
}

int rn_group_open(const struct rn_gid *mgid, uint32_t ifindex)
{
	int family = rn_gid_is_ipv4(mgid) ? AF_INET : AF_INET6;
	int fd, rc;

	if (is_in_vain(mgid, ifindex))
		return -ENETUNREACH;
	fd = open_group_socket(family);
	if (fd < 0)
		return fd;
	ask_for_facts(fd, family);
	rc = bind_and_join(fd, mgid, ifindex);
	if (rc == 0)
		return fd;
	rn_fd_close(fd);
	/* the limit is net.ipv4.igmp_max_memberships or net.core.optmem_max */
	return rc == -ENOBUFS ? -ENOMEM : rc;
}

static struct udp_sock *place_of_groups(struct rn_udp *u)
{
	return &u->sock[u->sock_count];
}

int rn_udp_groups_fd(const struct rn_udp *u)
{
	return u->sock[u->sock_count].fd;
}

static int open_set(struct rn_udp *u)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	fd = fd < 0 ? -errno : rn_fd_raise(fd);
	if (fd >= 0)
		place_of_groups(u)->fd = rn_own_fd_keep(fd);
	return fd < 0 ? fd : 0;
}

int rn_udp_join(struct rn_udp *u, const struct rn_gid *mgid, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct udp_group *g;
	int rc = rn_udp_groups_fd(u) < 0 ? open_set(u) : 0;

	if (rc == 0 && u->own_port && rn_own_port_only(fd, u->own_port))
		rc = -ENOMEM;
	if (rc)
		return rc;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->mgid = *mgid;
	g->fd = fd;
	ev.data.ptr = g;
	if (epoll_ctl(rn_udp_groups_fd(u), EPOLL_CTL_ADD, fd, &ev) < 0) {
		rc = -errno;
		free(g);
		return rc;
	}
	g->next = u->groups;
	u->groups = g;
	return 0;
}

int rn_udp_leave(struct rn_udp *u, const struct rn_gid *mgid)
{
	struct udp_group **at = &u->groups;
	struct udp_group *g;
	int fd;

	while (*at && memcmp(&(*at)->mgid, mgid, sizeof(*mgid)) != 0)
		at = &(*at)->next;
	g = *at;
	if (!g)
		return -1;
	*at = g->next;
	fd = g->fd;
	rn_udp_forget(u);
	epoll_ctl(rn_udp_groups_fd(u), EPOLL_CTL_DEL, fd, NULL);
	free(g);
	return fd;
}

void rn_udp_leave_all(struct rn_udp *u)
{
	while (u->groups) {
		struct rn_gid mgid = u->groups->mgid;

		rn_group_close(rn_udp_leave(u, &mgid), &mgid, u->ifindex);
	}
}

bool rn_udp_read_groups(struct rn_udp *u)
{
	struct epoll_event ev;
	struct udp_group *g;

	/* Each call reads one socket. epoll then puts that one behind the others that
	 * are readable, so that all get their turn.
	 */
	if (syscall(SYS_epoll_pwait, rn_udp_groups_fd(u), &ev, 1, 0, NULL, 0) != 1)
		return false;
	g = ev.data.ptr;
	return rn_udp_read(u, g->fd, &g->mgid, &g->overflow);
}
