/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_socket.c - RoCEv2 packets through UDP sockets of the tester. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conform_live.h"
#include "rocin/netdev.h"

static struct sockaddr_in address_of(const struct rn_gid *gid, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };

	memcpy(&at.sin_addr, gid->raw + 12, sizeof(at.sin_addr));
	return at;
}

int rn_live_socket(const struct rn_gid *gid, uint16_t port)
{
	struct sockaddr_in at = address_of(gid, port);
	const int on = 1, df = IP_PMTUDISC_DO, room = 4 << 20;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof(df));
	setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int rn_live_send(const struct rn_scene_packet *p)
{
	struct sockaddr_in to = address_of(&p->flow.dst, RN_ROCE_PORT);
	const int ttl = p->flow.hop_limit, tos = p->flow.tclass;
	int fd = rn_live_socket(&p->flow.src, p->flow.sport);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)) ||
	    setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) ||
	    sendto(fd, p->bytes, p->len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static void read_ancillary(struct msghdr *m, struct rn_flow *flow)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int ttl;

		if (c->cmsg_level != IPPROTO_IP)
			continue;
		if (c->cmsg_type == IP_TOS) {
			flow->tclass = *CMSG_DATA(c);
		} else if (c->cmsg_type == IP_TTL) {
			memcpy(&ttl, CMSG_DATA(c), sizeof(ttl));
			flow->hop_limit = (uint8_t)ttl;
		}
	}
}

bool rn_live_take(int fd, const struct rn_gid *gid, struct rn_scene_packet *p)
{
	_Alignas(struct cmsghdr) char control[128];
	struct sockaddr_in from;
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
	p->flow = (struct rn_flow){ .dst = *gid, .sport = ntohs(from.sin_port) };
	p->flow.src.raw[10] = p->flow.src.raw[11] = 0xff;
	memcpy(p->flow.src.raw + 12, &from.sin_addr, 4);
	read_ancillary(&m, &p->flow);
	return true;
}
