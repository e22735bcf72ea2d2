/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_port.c - see own_port.h. */
#include "own_port.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/own_fd.h"

/* Opens a socket that is bound to an address. Return: the socket, or -errno. */
static int open_at(const struct rn_gid *gid, uint32_t ifindex, uint16_t port)
{
	union rn_sockaddr at;
	socklen_t len = rn_gid_sockaddr_on(&at, gid, port, ifindex);
	int fd = (int)syscall(SYS_socket, at.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	fd = rn_fd_raise(fd);
	if (fd < 0)
		return fd;
	if ((!port ||
	     setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &(int){ 1 }, sizeof(int)) == 0) &&
	    syscall(SYS_bind, fd, &at.sa, len) == 0)
		return fd;
	rc = -errno;
	rn_fd_close(fd);
	return rc;
}

bool rn_is_own_address(const struct rn_gid *gid, uint32_t ifindex)
{
	static const struct rn_gid loopback6 = { { [15] = 1 } };
	int fd;

	if (rn_gid_is_ipv4(gid) && gid->raw[12] == 127)
		return true;
	if (memcmp(gid, &loopback6, sizeof(*gid)) == 0)
		return true;
	if (rn_gid_is_multicast(gid))
		return false;
	fd = open_at(gid, ifindex, 0);
	if (fd < 0)
		return false;
	rn_fd_close(fd);
	return true;
}

static int attach(int fd, struct sock_filter *text, unsigned short len)
{
	const struct sock_fprog prog = { .len = len, .filter = text };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0
		       ? -errno
		       : 0;
}

int rn_own_port_open(const struct rn_gid *gid, uint32_t ifindex, uint16_t port)
{
	struct sock_filter nothing[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	const bool is_ipv4 = rn_gid_is_ipv4(gid);
	const int discover = IP_PMTUDISC_DO; /* IPV6_PMTUDISC_DO has the same value */
	int fd = open_at(gid, ifindex, port), rc;

	if (fd < 0)
		return fd;
	rc = attach(fd, nothing, RN_ARRAY_SIZE(nothing));
	if (rc == 0 && setsockopt(fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				  is_ipv4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER,
				  &discover, sizeof(discover)) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	rn_fd_close(fd);
	return rc;
}

/* Sets a filter that drops a packet if this host has sent it from another port than
 * @port. A multicast packet that this host sends comes back on the interface by which it
 * leaves. The kernel marks it as looped back, except on the loopback interface.
 */
int rn_own_port_only(int fd, uint16_t port)
{
	const uint32_t ad = (uint32_t)SKF_AD_OFF;
	struct sock_filter text[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ad + SKF_AD_IFINDEX),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, if_nametoindex("lo"), 2, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ad + SKF_AD_PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_LOOPBACK, 0, 2),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return attach(fd, text, RN_ARRAY_SIZE(text));
}
