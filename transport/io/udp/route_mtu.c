/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* route_mtu.c - see route_mtu.h: a question to rtnetlink(7). */
#include "route_mtu.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/io/host/own_fd.h"

struct question {
	struct nlmsghdr hdr;
	struct rtmsg rt;
	uint8_t attrs[64];
};

static void add_attr(struct question *q, uint16_t type, const void *data, size_t len)
{
	struct rtattr *attr =
		(struct rtattr *)((uint8_t *)q + NLMSG_ALIGN(q->hdr.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), data, len);
	q->hdr.nlmsg_len =
		NLMSG_ALIGN(q->hdr.nlmsg_len) + (uint32_t)RTA_ALIGN(attr->rta_len);
}

/* Composes the request for the route. RTM_F_FIB_MATCH asks for the entry of the routing
 * table as configured, without the MTU that an ICMP message has set.
 */
static void compose(struct question *q, const struct rn_gid *src,
		    const struct rn_gid *dst, uint32_t ifindex)
{
	const bool ipv4 = rn_gid_is_ipv4(dst);
	const size_t at = ipv4 ? 12 : 0, len = sizeof(dst->raw) - at;

	memset(q, 0, sizeof(*q));
	q->hdr = (struct nlmsghdr){ .nlmsg_len = NLMSG_LENGTH(sizeof(q->rt)),
				    .nlmsg_type = RTM_GETROUTE,
				    .nlmsg_flags = NLM_F_REQUEST };
	q->rt = (struct rtmsg){ .rtm_family = ipv4 ? AF_INET : AF_INET6,
				.rtm_dst_len = (uint8_t)(8 * len),
				.rtm_src_len = (uint8_t)(8 * len),
				.rtm_flags = RTM_F_FIB_MATCH };
	add_attr(q, RTA_DST, dst->raw + at, len);
	add_attr(q, RTA_SRC, src->raw + at, len);
	if (rn_gid_is_link_local(dst))
		add_attr(q, RTA_OIF, &ifindex, sizeof(ifindex));
}

static uint32_t interface_mtu(uint32_t ifindex)
{
	struct ifreq req = { 0 };
	int fd;
	bool ok;

	if (!if_indextoname(ifindex, req.ifr_name))
		return 0;
	fd = rn_fd_raise((int)syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	ok = fd >= 0 && ioctl(fd, SIOCGIFMTU, &req) == 0;
	if (fd >= 0)
		rn_fd_close(fd);
	return ok ? (uint32_t)req.ifr_mtu : 0;
}

/* Returns the data of the first attribute of the type @type, and its length in bytes in
 * *@len; NULL if there is no such attribute.
 */
static const uint8_t *find_attr(const uint8_t *at, size_t left, uint16_t type,
				size_t *len)
{
	struct rtattr attr;
	size_t step;

	for (; left >= sizeof(attr); at += step, left -= step) {
		memcpy(&attr, at, sizeof(attr));
		step = RTA_ALIGN(attr.rta_len);
		if (attr.rta_len < sizeof(attr) || attr.rta_len > left)
			break;
		*len = attr.rta_len - sizeof(attr);
		if (attr.rta_type == type)
			return at + sizeof(attr);
		if (step > left)
			break;
	}
	return NULL;
}

/* Returns the 32-bit number in an attribute, or 0. */
static uint32_t find_number(const uint8_t *at, size_t left, uint16_t type)
{
	uint32_t number = 0;
	size_t len;
	const uint8_t *data = find_attr(at, left, type, &len);

	if (data && len >= sizeof(number))
		memcpy(&number, data, sizeof(number));
	return number;
}

static uint32_t read_answer(const struct nlmsghdr *hdr, size_t len)
{
	const size_t head = NLMSG_LENGTH(sizeof(struct rtmsg));
	const uint8_t *attrs = (const uint8_t *)hdr + head, *metrics;
	size_t metrics_len;
	uint32_t mtu = 0;

	if (len < head || hdr->nlmsg_len < head || hdr->nlmsg_len > len ||
	    hdr->nlmsg_type != RTM_NEWROUTE)
		return 0;
	len = hdr->nlmsg_len - head;
	metrics = find_attr(attrs, len, RTA_METRICS, &metrics_len);
	if (metrics)
		mtu = find_number(metrics, metrics_len, RTAX_MTU);
	return mtu ? mtu : interface_mtu(find_number(attrs, len, RTA_OIF));
}

uint32_t rn_route_mtu(const struct rn_gid *src, const struct rn_gid *dst,
		      uint32_t ifindex)
{
	union {
		char bytes[4096];
		struct nlmsghdr hdr;
	} answer;
	struct question q;
	int fd = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			      NETLINK_ROUTE);
	long len = -1;

	fd = rn_fd_raise(fd);
	if (fd < 0)
		return 0;
	compose(&q, src, dst, ifindex);
	/* When the send has returned, the kernel has put the answer into the receive
	 * queue.
	 */
	if (syscall(SYS_sendto, fd, &q, q.hdr.nlmsg_len, 0, NULL, 0) >= 0)
		len = syscall(SYS_recvfrom, fd, &answer, sizeof(answer), MSG_DONTWAIT,
			      NULL, NULL);
	rn_fd_close(fd);
	return len > 0 ? read_answer(&answer.hdr, (size_t)len) : 0;
}
