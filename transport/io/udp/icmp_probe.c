/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icmp_probe.c - see icmp_probe.h. */
#include "icmp_probe.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/rocind/ctl_socket.h"

/* Make the socket also report errors that the kernel regards as transient, such as a host
 * that does not answer ARP.
 */
static void ask_for_all(int fd, int family)
{
	static const int on = 1;

	if (family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	else
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
}

int rn_icmp_probe_send(const struct rn_flow *flow)
{
	union rn_sockaddr from, to;
	socklen_t from_len = rn_gid_sockaddr_on(&from, &flow->src, 0, flow->ifindex);
	socklen_t to_len =
		rn_gid_sockaddr_on(&to, &flow->dst, RN_ROCE_PORT, flow->ifindex);
	int fd = socket(to.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	fd = rn_own_fd_keep(rn_fd_raise(fd));
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

int rn_icmp_probe_answer(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

const char *rn_icmp_probe_meaning(int err)
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
