/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* route.c - asks the kernel for routes by RTM_GETROUTE messages; see rtnetlink(7). */
#include "route.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	/* A failed query leaves at most one unread answer, which the next query drops. If
	 * there are more than this number of unexpected answers, something is wrong with
	 * the socket.
	 */
	STALE_MAX = 16,
};

struct question {
	struct nlmsghdr hdr;
	struct rtmsg rt;
	char attrs[64];
};

static unsigned address_of(const struct rn_gid *gid, const uint8_t **bytes)
{
	bool is_v4 = rn_gid_is_ipv4(gid);

	*bytes = is_v4 ? gid->raw + 12 : gid->raw;
	return is_v4 ? 4 : 16;
}

static void add_attribute(struct question *q, uint16_t type, const void *value,
			  unsigned len)
{
	struct rtattr *attr =
		(struct rtattr *)((char *)q + NLMSG_ALIGN(q->hdr.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), value, len);
	q->hdr.nlmsg_len = NLMSG_ALIGN(q->hdr.nlmsg_len) + RTA_ALIGN(attr->rta_len);
	assert(q->hdr.nlmsg_len <= sizeof(*q));
}

static struct question question(const struct rn_gid *dst, uint32_t scope,
				const struct rn_gid *src)
{
	const uint8_t *bytes;
	unsigned len = address_of(dst, &bytes);
	struct question q = {
		.hdr = { .nlmsg_len = NLMSG_LENGTH(sizeof(q.rt)),
			 .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST },
		.rt = { .rtm_family = len == 4 ? AF_INET : AF_INET6,
			.rtm_dst_len = (uint8_t)(8 * len) },
	};

	add_attribute(&q, RTA_DST, bytes, len);
	if (src) {
		len = address_of(src, &bytes);
		q.rt.rtm_src_len = (uint8_t)(8 * len);
		add_attribute(&q, RTA_SRC, bytes, len);
	}
	if (scope)
		add_attribute(&q, RTA_OIF, &scope, sizeof(scope));
	return q;
}

static struct rn_gid gid_of(const void *bytes, unsigned len)
{
	struct rn_gid gid = { 0 };

	if (len == 4)
		gid.raw[10] = gid.raw[11] = 0xff;
	memcpy(gid.raw + (len == 4 ? 12 : 0), bytes, len);
	return gid;
}

static void read_answer(struct nlmsghdr *hdr, struct rnd_ucma_route *out)
{
	const struct rtmsg *rt = NLMSG_DATA(hdr);
	unsigned len = (unsigned)RTM_PAYLOAD(hdr);

	out->is_local = rt->rtm_type == RTN_LOCAL;
	for (struct rtattr *a = RTM_RTA(rt); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) == sizeof(out->ifindex))
			memcpy(&out->ifindex, RTA_DATA(a), sizeof(out->ifindex));
		if (a->rta_type == RTA_PREFSRC &&
		    (RTA_PAYLOAD(a) == 4 || RTA_PAYLOAD(a) == 16))
			out->src = gid_of(RTA_DATA(a), (unsigned)RTA_PAYLOAD(a));
	}
}

void rnd_router_close(struct rnd_router *r)
{
	if (r->sock >= 0)
		close(r->sock);
	r->sock = -1;
}

static int open_router(struct rnd_router *r)
{
	if (r->sock < 0)
		r->sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return r->sock < 0 ? -errno : 0;
}

union reply {
	char buf[1024];
	struct nlmsghdr hdr;
};

/* The kernel queues the answer before send() returns, so there is no need to wait.
 * Answers to earlier queries are dropped.
 */
static int take_reply(struct rnd_router *r, union reply *reply)
{
	for (unsigned i = 0; i <= STALE_MAX; i++) {
		ssize_t len = recv(r->sock, reply, sizeof(*reply), MSG_DONTWAIT);

		if (len < 0)
			return -errno;
		if (!NLMSG_OK(&reply->hdr, len))
			return -EIO;
		if (reply->hdr.nlmsg_seq == r->seq)
			return 0;
	}
	rnd_router_close(r); /* the next query opens a new socket */
	return -EIO;
}

static int query_kernel(struct rnd_router *r, struct question *q,
			struct rnd_ucma_route *out)
{
	union reply reply;
	const struct nlmsgerr *error;
	int rc;

	q->hdr.nlmsg_seq = ++r->seq;
	if (send(r->sock, q, q->hdr.nlmsg_len, 0) < 0)
		return -errno;
	rc = take_reply(r, &reply);
	if (rc)
		return rc;
	if (reply.hdr.nlmsg_type == NLMSG_ERROR) {
		error = NLMSG_DATA(&reply.hdr);
		return error->error ? error->error : -EIO;
	}
	if (reply.hdr.nlmsg_type != RTM_NEWROUTE)
		return -EIO;
	read_answer(&reply.hdr, out);
	return 0;
}

int rnd_route(struct rnd_router *r, const struct rn_gid *dst, uint32_t scope,
	      const struct rn_gid *src, struct rnd_ucma_route *out)
{
	struct question q = question(dst, scope, src);
	int rc = open_router(r);

	if (rc)
		return rc;
	*out = (struct rnd_ucma_route){ 0 };
	return query_kernel(r, &q, out);
}

bool rnd_route_is_local(struct rnd_router *r, const struct rn_gid *gid)
{
	struct rnd_ucma_route route = { 0 };

	return rnd_route(r, gid, 0, NULL, &route) == 0 && route.is_local;
}
