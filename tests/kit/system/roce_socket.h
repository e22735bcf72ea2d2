/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* roce_socket.h - makes sockets as rocind does, on addresses that no other test uses. */
#ifndef RN_ROCE_SOCKET_H
#define RN_ROCE_SOCKET_H

#include <assert.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/gid.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Returns an address 127.81.x.y. Each process has a block of 8 addresses; @n chooses one.
 */
static inline struct rn_gid roce_gid(unsigned n)
{
	unsigned last = ((unsigned)getpid() * 8 + n) & 0xffff;

	assert(n < 8);
	return (struct rn_gid){ .raw = { [10] = 0xff,
					 [11] = 0xff,
					 [12] = 127,
					 [13] = (uint8_t)(81 + ((getpid() >> 13) & 7)),
					 [14] = (uint8_t)(last >> 8),
					 [15] = (uint8_t)(last & 0xff) } };
}

static inline struct rn_gid roce_gid_loopback6(void)
{
	return (struct rn_gid){ .raw = { [15] = 1 } };
}

static inline int roce_bind(int fd, const struct rn_gid *gid)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(RN_ROCE_PORT) };

	memcpy(&in.sin_addr, gid->raw + 12, 4);
	memcpy(&in6.sin6_addr, gid->raw, 16);
	if (rn_gid_is_ipv4(gid))
		return bind(fd, (struct sockaddr *)&in, sizeof(in));
	return bind(fd, (struct sockaddr *)&in6, sizeof(in6));
}

static inline void roce_option(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof(value));
}

/* Returns a bound socket, or -1 with errno. */
static inline int roce_socket(const struct rn_gid *gid)
{
	bool v4 = rn_gid_is_ipv4(gid);
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	roce_option(fd, SOL_SOCKET, SO_RCVBUF, 4 << 20);
	roce_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	roce_option(fd, IPPROTO_UDP, UDP_GRO, 1);
	if (v4) {
		roce_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		roce_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
		roce_option(fd, IPPROTO_IP, IP_RECVTTL, 1);
	} else {
		roce_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		roce_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
		roce_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
		roce_option(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	}
	if (roce_bind(fd, gid) == 0)
		return fd;
	close(fd);
	return -1;
}

#endif /* RN_ROCE_SOCKET_H */
