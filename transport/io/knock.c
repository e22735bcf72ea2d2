/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knock.c - see knock.h. */
#include "knock.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl_socket.h"
#include "fd_close.h"

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t fill(union address *a, const struct rn_gid *gid, uint32_t ifindex,
		      uint16_t port)
{
	memset(a, 0, sizeof(*a));
	if (rn_gid_is_ipv4(gid)) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		memcpy(&a->in.sin_addr, gid->raw + 12, 4);
		return sizeof(a->in);
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = htons(port);
	memcpy(&a->in6.sin6_addr, gid->raw, 16);
	if (rn_gid_is_link_local(gid))
		a->in6.sin6_scope_id = ifindex;
	return sizeof(a->in6);
}

/* Also what the kernel takes for passing, such as that a host does not answer to ARP. */
static void ask_for_all(int fd, int family)
{
	static const int on = 1;

	if (family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	else
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
}

int rn_knock(const struct rn_flow *flow)
{
	union address from, to;
	socklen_t from_len = fill(&from, &flow->src, flow->ifindex, 0);
	socklen_t to_len = fill(&to, &flow->dst, flow->ifindex, RN_ROCE_PORT);
	int fd = socket(to.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	fd = rn_ctl_raise_fd(fd);
	if (fd < 0)
		return fd;
	ask_for_all(fd, to.sa.sa_family);
	if (bind(fd, &from.sa, from_len) == 0 &&
	    syscall(SYS_connect, fd, &to.sa, to_len) == 0 &&
	    syscall(SYS_sendto, fd, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) == 0)
		return fd;
	rc = -errno;
	rn_fd_close(fd);
	return rc;
}

int rn_knock_answer(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

const char *rn_knock_meaning(int err)
{
	static const struct {
		int err;
		const char *text;
	} meanings[] = {
		{ ECONNREFUSED,
		  "nobody listens there on UDP port 4791; start the program with that "
		  "address first (rocin run --netdev there), or a firewall rejects the "
		  "port" },
		{ EHOSTUNREACH,
		  "no way leads to that host, or a firewall rejects UDP port 4791" },
		{ ENETUNREACH, "this host has no route to that network" },
		{ EACCES, "a firewall forbids UDP port 4791" },
		{ EPERM, "a firewall of this host forbids UDP port 4791" },
		{ ENOPROTOOPT, "that host knows no UDP" },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(meanings); i++)
		if (meanings[i].err == err)
			return meanings[i].text;
	return NULL;
}
