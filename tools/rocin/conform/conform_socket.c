/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_socket.c - RoCEv2 packets through UDP sockets of the tester. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conform_live.h"
#include "rocin/netdev.h"
#include "transport/io/host/gid_sockaddr.h"

/* As glibc of older distributions lacks it. */
#ifndef IPV6_AUTOFLOWLABEL
#define IPV6_AUTOFLOWLABEL 70
#endif

static bool set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* ------------------------------------------------------------------------ making */
uint32_t rn_live_ifindex(const struct rn_gid *own)
{
	union rn_sockaddr want;
	struct ifaddrs *list = NULL;
	uint32_t found = 0;

	rn_gid_sockaddr(&want, own, 0, 0);
	if (getifaddrs(&list))
		return 0;
	for (struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
		union rn_sockaddr has = { 0 };

		if (!i->ifa_addr || i->ifa_addr->sa_family != want.sa.sa_family)
			continue;
		memcpy(&has, i->ifa_addr,
		       want.sa.sa_family == AF_INET ? sizeof(has.in) : sizeof(has.in6));
		if (want.sa.sa_family == AF_INET
			    ? has.in.sin_addr.s_addr == want.in.sin_addr.s_addr
			    : !memcmp(&has.in6.sin6_addr, own->raw, sizeof(own->raw)))
			found = if_nametoindex(i->ifa_name);
	}
	freeifaddrs(list);
	return found;
}

static void ask_for_facts(int fd, bool ipv4)
{
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 4 << 20);
	if (ipv4) {
		set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		set_int(fd, IPPROTO_IP, IP_RECVTOS, 1);
		set_int(fd, IPPROTO_IP, IP_RECVTTL, 1);
		return;
	}
	set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	set_int(fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0);
	set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	set_int(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
}

static int open_socket(const struct rn_gid *gid, uint16_t port, bool shared)
{
	union rn_sockaddr at;
	socklen_t len = rn_gid_sockaddr(&at, gid, port, 0);
	int fd = socket(at.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	ask_for_facts(fd, rn_gid_is_ipv4(gid));
	if ((!shared || set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1)) &&
	    bind(fd, &at.sa, len) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int rn_live_socket(const struct rn_gid *gid, uint16_t port)
{
	return open_socket(gid, port, false);
}

int rn_live_group_socket(const struct rn_gid *group, const struct rn_gid *own)
{
	struct ip_mreqn v4 = { .imr_ifindex = (int)rn_live_ifindex(own) };
	struct ipv6_mreq v6 = { .ipv6mr_interface = rn_live_ifindex(own) };
	int fd = open_socket(group, RN_ROCE_PORT, true);
	int rc;

	if (fd < 0)
		return fd;
	memcpy(&v4.imr_multiaddr, group->raw + 12, sizeof(v4.imr_multiaddr));
	memcpy(&v4.imr_address, own->raw + 12, sizeof(v4.imr_address));
	memcpy(&v6.ipv6mr_multiaddr, group->raw, sizeof(group->raw));
	rc = rn_gid_is_ipv4(group)
		     ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4))
		     : setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof(v6));
	if (!rc)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* ----------------------------------------------------------------------- sending */
static bool set_header(int fd, const struct rn_flow *f)
{
	bool to_group = rn_gid_is_multicast(&f->dst);

	if (!rn_gid_is_ipv4(&f->dst))
		return set_int(fd, IPPROTO_IPV6,
			       to_group ? IPV6_MULTICAST_HOPS : IPV6_UNICAST_HOPS,
			       f->hop_limit) &&
		       set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, f->tclass) &&
		       (!to_group ||
			set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)f->ifindex));
	return set_int(fd, IPPROTO_IP, to_group ? IP_MULTICAST_TTL : IP_TTL,
		       f->hop_limit) &&
	       set_int(fd, IPPROTO_IP, IP_TOS, f->tclass) &&
	       (!to_group ||
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, f->src.raw + 12, 4) == 0);
}

int rn_live_send(const struct rn_scene_packet *p)
{
	union rn_sockaddr to;
	socklen_t len = rn_gid_sockaddr(&to, &p->flow.dst, RN_ROCE_PORT, p->flow.ifindex);
	int fd = rn_live_socket(&p->flow.src, p->flow.sport);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (!set_header(fd, &p->flow) || sendto(fd, p->bytes, p->len, 0, &to.sa, len) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* --------------------------------------------------------------------- receiving */
static void read_ancillary(struct msghdr *m, struct rn_flow *flow)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		bool v4 = c->cmsg_level == IPPROTO_IP, v6 = c->cmsg_level == IPPROTO_IPV6;
		int value = 0;

		if (v4 && c->cmsg_type == IP_TOS) {
			flow->tclass = *CMSG_DATA(c);
			continue;
		}
		if (c->cmsg_len >= CMSG_LEN(sizeof(value)))
			memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (v6 && c->cmsg_type == IPV6_TCLASS)
			flow->tclass = (uint8_t)value;
		else if ((v4 && c->cmsg_type == IP_TTL) ||
			 (v6 && c->cmsg_type == IPV6_HOPLIMIT))
			flow->hop_limit = (uint8_t)value;
	}
}

static struct rn_gid sender(const union rn_sockaddr *from)
{
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	if (from->sa.sa_family == AF_INET)
		memcpy(gid.raw + 12, &from->in.sin_addr, 4);
	else
		memcpy(gid.raw, &from->in6.sin6_addr, sizeof(gid.raw));
	return gid;
}

bool rn_live_take(int fd, const struct rn_gid *gid, struct rn_scene_packet *p)
{
	_Alignas(struct cmsghdr) char control[256];
	union rn_sockaddr from;
	struct iovec iov = { .iov_base = p->bytes, .iov_len = sizeof(p->bytes) };
	struct msghdr m = { .msg_name = &from,
			    .msg_namelen = sizeof(from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0)
		return false;
	p->len = (uint32_t)n;
	/* The port is in the same place in both. */
	p->flow = (struct rn_flow){ .src = sender(&from),
				    .dst = *gid,
				    .sport = ntohs(from.in.sin_port) };
	read_ancillary(&m, &p->flow);
	return true;
}
