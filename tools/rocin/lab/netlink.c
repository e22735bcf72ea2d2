/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netlink.c - see netlink.h. */
#include "netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int rn_nl_open(struct rn_nl *nl)
{
	nl->seq = 0;
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return nl->fd < 0 ? -errno : 0;
}

void rn_nl_close(struct rn_nl *nl)
{
	if (nl->fd >= 0)
		close(nl->fd);
	nl->fd = -1;
}

static void *reserve(struct rn_nl_msg *m, size_t len)
{
	size_t at = NLMSG_ALIGN(m->hdr.nlmsg_len);

	assert(at + NLMSG_ALIGN(len) <= sizeof(*m));
	m->hdr.nlmsg_len = (uint32_t)(at + len);
	return (char *)m + at;
}

void rn_nl_put_raw(struct rn_nl_msg *m, const void *bytes, size_t len)
{
	memcpy(reserve(m, len), bytes, len);
}

void rn_nl_begin(struct rn_nl_msg *m, uint16_t type, uint16_t flags, const void *fixed,
		 size_t len)
{
	memset(m, 0, sizeof(*m));
	m->hdr.nlmsg_len = NLMSG_HDRLEN;
	m->hdr.nlmsg_type = type;
	m->hdr.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	rn_nl_put_raw(m, fixed, len);
}

void rn_nl_put(struct rn_nl_msg *m, uint16_t type, const void *value, size_t len)
{
	struct rtattr *a = reserve(m, RTA_LENGTH(len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), value, len);
}

void rn_nl_put_u32(struct rn_nl_msg *m, uint16_t type, uint32_t value)
{
	rn_nl_put(m, type, &value, sizeof(value));
}

void rn_nl_put_text(struct rn_nl_msg *m, uint16_t type, const char *text)
{
	rn_nl_put(m, type, text, strlen(text) + 1);
}

size_t rn_nl_nest(struct rn_nl_msg *m, uint16_t type)
{
	size_t at = NLMSG_ALIGN(m->hdr.nlmsg_len);

	rn_nl_put(m, type, NULL, 0);
	return at;
}

void rn_nl_nest_end(struct rn_nl_msg *m, size_t nest)
{
	struct rtattr *a = (struct rtattr *)(void *)((char *)m + nest);

	a->rta_len = (uint16_t)(m->hdr.nlmsg_len - nest);
}

int rn_nl_talk(struct rn_nl *nl, struct rn_nl_msg *m)
{
	union {
		char bytes[2048];
		struct nlmsghdr hdr;
	} reply;
	const struct nlmsgerr *error;
	ssize_t len;

	m->hdr.nlmsg_seq = ++nl->seq;
	if (send(nl->fd, m, m->hdr.nlmsg_len, 0) < 0)
		return -errno;
	do {
		len = recv(nl->fd, &reply, sizeof(reply), 0);
		if (len < 0 && errno != EINTR)
			return -errno;
	} while (len < 0 || !NLMSG_OK(&reply.hdr, len) ||
		 reply.hdr.nlmsg_seq != nl->seq || reply.hdr.nlmsg_type != NLMSG_ERROR);
	error = NLMSG_DATA(&reply.hdr);
	return error->error;
}
