/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* group_io.c - packets in and out of slot 0. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "group.h"

/* Room for type of service and hop limit. */
union control {
	char buf[2 * CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void put(struct msghdr *msg, int level, int type, int value)
{
	struct cmsghdr *c =
		(struct cmsghdr *)((char *)msg->msg_control + msg->msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(sizeof(value));
	memcpy(CMSG_DATA(c), &value, sizeof(value));
	msg->msg_controllen += CMSG_SPACE(sizeof(value));
}

bool rnd_group_send(const struct rnd_group *group, const struct rn_flow *flow,
		    const uint8_t *pkt, size_t len)
{
	union rnd_sockaddr sa;
	union control control = { 0 };
	struct iovec iov = { (void *)pkt, len };
	struct msghdr msg = {
		.msg_name = &sa,
		.msg_namelen = rnd_sockaddr(
			&sa, &flow->dst,
			rn_gid_is_link_local(&flow->dst) ? flow->ifindex : 0),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
	};
	bool is_v4 = rn_flow_is_ipv4(flow);

	put(&msg, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_TOS : IPV6_TCLASS,
	    flow->tclass);
	if (flow->hop_limit)
		put(&msg, is_v4 ? IPPROTO_IP : IPPROTO_IPV6,
		    is_v4 ? IP_TTL : IPV6_HOPLIMIT, flow->hop_limit);
	return sendmsg(group->sock[0], &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* IP_TOS comes as one byte, the others as an int. */
static uint8_t small_value(const struct cmsghdr *c)
{
	int value = 0;

	if (c->cmsg_len == CMSG_LEN(1))
		return *CMSG_DATA(c);
	if (c->cmsg_len >= CMSG_LEN(sizeof(value)))
		memcpy(&value, CMSG_DATA(c), sizeof(value));
	return (uint8_t)value;
}

static void read_control(struct msghdr *msg, struct rn_flow *flow)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
		    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS))
			flow->tclass = small_value(c);
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
		    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT))
			flow->hop_limit = small_value(c);
	}
}

static void read_name(const union rnd_sockaddr *sa, struct rn_flow *flow)
{
	if (sa->any.sa_family == AF_INET) {
		flow->src = (struct rn_gid){ .raw = { [10] = 0xff, 0xff } };
		memcpy(&flow->src.raw[12], &sa->v4.sin_addr, 4);
		flow->sport = ntohs(sa->v4.sin_port);
	} else {
		memcpy(flow->src.raw, &sa->v6.sin6_addr, sizeof(flow->src.raw));
		flow->sport = ntohs(sa->v6.sin6_port);
		flow->ifindex = sa->v6.sin6_scope_id;
	}
}

ssize_t rnd_group_receive(const struct rnd_group *group, struct rn_flow *flow,
			  uint8_t *pkt, size_t room)
{
	union rnd_sockaddr sa = { 0 };
	/* And for the count of packets that the socket lost (SO_RXQ_OVFL). */
	union {
		char buf[3 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { pkt, room };
	struct msghdr msg = { .msg_name = &sa,
			      .msg_namelen = sizeof(sa),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.buf) };
	ssize_t len = recvmsg(group->sock[0], &msg, MSG_DONTWAIT | MSG_TRUNC);

	if (len < 0)
		return -1;
	*flow = (struct rn_flow){ .dst = group->gid, .ifindex = group->scope };
	read_name(&sa, flow);
	read_control(&msg, flow);
	return len;
}
