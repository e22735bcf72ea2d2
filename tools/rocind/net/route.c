/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* route.c - asks the kernel for routes by RTM_GETROUTE messages; see rtnetlink(7). */
#include "route.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	/* A query that has failed leaves at most one unread answer, which the next query
	 * drops. If there are more than STALE_MAX answers to earlier queries, something
	 * is wrong with the socket.
	 */
	STALE_MAX = 16,
};

/* A request, with room for three attributes: destination, source and interface. */
union question {
	char buf[128];
	struct nlmsghdr hdr;
};

static unsigned address_of(const struct rn_gid *gid, const uint8_t **bytes)
{
	bool is_v4 = rn_gid_is_ipv4(gid);

	*bytes = is_v4 ? gid->raw + 12 : gid->raw;
	return is_v4 ? 4 : 16;
}

static void put_attribute(union question *q, uint16_t type, const void *value, size_t len)
{
	bool fits = mnl_attr_put_check(&q->hdr, sizeof(*q), type, len, value);

	assert(fits);
}

static union question question(const struct rn_gid *dst, uint32_t scope,
			       const struct rn_gid *src)
{
	union question q = { 0 };
	struct nlmsghdr *hdr = mnl_nlmsg_put_header(&q);
	struct rtmsg *rt = mnl_nlmsg_put_extra_header(hdr, sizeof(*rt));
	const uint8_t *bytes;
	unsigned len = address_of(dst, &bytes);

	hdr->nlmsg_type = RTM_GETROUTE;
	hdr->nlmsg_flags = NLM_F_REQUEST;
	rt->rtm_family = len == 4 ? AF_INET : AF_INET6;
	rt->rtm_dst_len = (uint8_t)(8 * len);
	put_attribute(&q, RTA_DST, bytes, len);
	if (src) {
		len = address_of(src, &bytes);
		rt->rtm_src_len = (uint8_t)(8 * len);
		put_attribute(&q, RTA_SRC, bytes, len);
	}
	if (scope)
		put_attribute(&q, RTA_OIF, &scope, sizeof(scope));
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

static int read_route_attribute(const struct nlattr *attr, void *out)
{
	struct rnd_ucma_route *route = out;
	uint16_t type = mnl_attr_get_type(attr);
	uint16_t len = mnl_attr_get_payload_len(attr);

	if (type == RTA_OIF && mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
		route->ifindex = mnl_attr_get_u32(attr);
	if (type == RTA_PREFSRC && (len == 4 || len == 16))
		route->src = gid_of(mnl_attr_get_payload(attr), len);
	return MNL_CB_OK;
}

static int read_answer(const struct nlmsghdr *hdr, struct rnd_ucma_route *out)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(hdr);
	size_t len = mnl_nlmsg_get_payload_len(hdr);

	if (len < sizeof(*rt))
		return -EIO;
	out->is_local = rt->rtm_type == RTN_LOCAL;
	(void)mnl_attr_parse_payload(rt + 1, len - sizeof(*rt), read_route_attribute,
				     out);
	return 0;
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

/* Receives the answer to the last query, and drops answers to earlier ones. Does not
 * wait, because the kernel has queued the answer before send() has returned. Returns 0 or
 * -errno.
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
	rnd_router_close(r); /* closed, so that the next query opens a new socket */
	return -EIO;
}

static int error_of(const struct nlmsghdr *hdr)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(hdr);

	if (mnl_nlmsg_get_payload_len(hdr) < sizeof(*error) || !error->error)
		return -EIO;
	return error->error;
}

static int query_kernel(struct rnd_router *r, union question *q,
			struct rnd_ucma_route *out)
{
	union reply reply;
	int rc;

	q->hdr.nlmsg_seq = ++r->seq;
	if (send(r->sock, q, q->hdr.nlmsg_len, 0) < 0)
		return -errno;
	rc = take_reply(r, &reply);
	if (rc)
		return rc;
	if (reply.hdr.nlmsg_type == NLMSG_ERROR)
		return error_of(&reply.hdr);
	if (reply.hdr.nlmsg_type != RTM_NEWROUTE)
		return -EIO;
	return read_answer(&reply.hdr, out);
}

int rnd_route(struct rnd_router *r, const struct rn_gid *dst, uint32_t scope,
	      const struct rn_gid *src, struct rnd_ucma_route *out)
{
	union question q = question(dst, scope, src);
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
