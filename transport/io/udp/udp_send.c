/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_send.c - super-packets out of UDP sockets. */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rocin/icrc.h"
#include "transport/io/host/log.h"
#include "udp_internal.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* Destination and control messages: the same for all packets of a super-packet. */
struct envelope {
	union rn_sockaddr to;
	socklen_t to_len;
	size_t control_len;
	_Alignas(struct cmsghdr) uint8_t control[3 * CMSG_SPACE(sizeof(int)) +
						 CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

static void add_cmsg(struct envelope *e, int level, int type, const void *value,
		     size_t len)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)(e->control + e->control_len);

	*c = (struct cmsghdr){ .cmsg_level = level,
			       .cmsg_type = type,
			       .cmsg_len = CMSG_LEN(len) };
	memcpy(CMSG_DATA(c), value, len);
	e->control_len += CMSG_SPACE(len);
	assert(e->control_len <= sizeof(e->control));
}

static void add_int(struct envelope *e, int level, int type, int value)
{
	add_cmsg(e, level, type, &value, sizeof(value));
}

/* The routing table may send a group by another interface, or know none. */
static void add_interface(const struct rn_udp *u, const struct rn_flow *f,
			  struct envelope *e)
{
	uint32_t ifindex = rn_udp_ifindex(u, f);
	struct in_pktinfo v4 = { .ipi_ifindex = (int)ifindex };
	struct in6_pktinfo v6 = { .ipi6_ifindex = ifindex };

	if (rn_flow_is_ipv4(f)) {
		memcpy(&v4.ipi_spec_dst, f->src.raw + 12, 4);
		add_cmsg(e, IPPROTO_IP, IP_PKTINFO, &v4, sizeof(v4));
	} else {
		memcpy(&v6.ipi6_addr, f->src.raw, 16);
		add_cmsg(e, IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof(v6));
	}
}

static void fill(const struct rn_udp *u, const struct udp_sock *s,
		 const struct rn_flow *f, struct envelope *e)
{
	int level = s->is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	bool to_group = rn_gid_is_multicast(&f->dst);

	e->control_len = 0;
	e->to_len =
		rn_gid_sockaddr_on(&e->to, &f->dst, RN_ROCE_PORT, rn_udp_ifindex(u, f));
	if (f->tclass != s->tclass)
		add_int(e, level, s->is_ipv4 ? IP_TOS : IPV6_TCLASS, f->tclass);
	/* A hop limit of 0 could not leave the host; that of a socket is for unicast. */
	if (f->hop_limit != 0 && (to_group || f->hop_limit != s->hop_limit))
		add_int(e, level, s->is_ipv4 ? IP_TTL : IPV6_HOPLIMIT, f->hop_limit);
	if (to_group)
		add_interface(u, f, e);
}

static struct msghdr message(struct envelope *e, struct iovec *iov)
{
	return (struct msghdr){
		.msg_name = &e->to,
		.msg_namelen = e->to_len,
		.msg_iov = iov,
		.msg_iovlen = 1,
		.msg_control = e->control_len > 0 ? e->control : NULL,
		.msg_controllen = e->control_len,
	};
}

int rn_udp_send_message(struct rn_udp *u, int fd, const struct msghdr *msg)
{
	int result = 0, rc;

	if (u->uring) {
		rc = rn_net_uring_send(u->uring, fd, msg, &result);
		if (!rc)
			return result;
		rn_udp_fall_back(u, rc);
	}
	if (syscall(SYS_sendmsg, fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	return 0;
}

static int send_whole(struct rn_udp *u, const struct udp_sock *s, struct envelope *e,
		      const struct rn_super *super)
{
	struct iovec iov = { (void *)super->data, super->len };
	uint16_t seg_len = (uint16_t)super->seg_len;
	struct msghdr msg;

	if (super->count > 1)
		add_cmsg(e, IPPROTO_UDP, UDP_SEGMENT, &seg_len, sizeof(seg_len));
	msg = message(e, &iov);
	return rn_udp_send_message(u, s->fd, &msg);
}

/* Packets from u->sent on, from @data. On -EAGAIN u->sent says where to go on. */
static int send_each(struct rn_udp *u, const struct udp_sock *s, struct envelope *e,
		     const struct rn_super *super, const uint8_t *data)
{
	struct mmsghdr msgs[RN_SUPER_SEGMENTS];
	struct iovec iov[RN_SUPER_SEGMENTS];
	uint32_t first = u->sent, count = super->count - first;
	uint32_t done = 0;
	int err = 0;

	assert(super->count <= RN_SUPER_SEGMENTS && first < super->count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (first + i) * super->seg_len;
		uint32_t left = super->len - at;

		iov[i].iov_base = (void *)(data + at);
		iov[i].iov_len = left < super->seg_len ? left : super->seg_len;
		msgs[i] = (struct mmsghdr){ .msg_hdr = message(e, &iov[i]) };
	}
	while (done < count) {
		long n = syscall(SYS_sendmmsg, s->fd, msgs + done, count - done,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0) {
			err = -errno;
			break;
		}
		done += (uint32_t)n;
	}
	u->sent = err == -EAGAIN ? first + done : 0;
	return err;
}

/* The kernel took exception to the super-packet as such (or to this packet). */
static bool gso_refused(int err)
{
	return err == -EINVAL || err == -EIO || err == -ENOPROTOOPT || err == -EOPNOTSUPP;
}

/* Sign the packets once more, for the identification that single packets have. */
static bool reseal(struct rn_udp *u, const struct rn_super *super)
{
	if (!u->reseal)
		u->reseal = malloc(RN_SUPER_BYTES);
	if (!u->reseal)
		return false;
	memcpy(u->reseal, super->data, super->len);
	for (uint32_t at = 0; at < super->len; at += super->seg_len) {
		uint32_t left = super->len - at;
		uint32_t len = left < super->seg_len ? left : super->seg_len;

		rn_icrc_seal(super->flow, 0, u->reseal + at, len - RN_ICRC_LEN);
	}
	return true;
}

static int send_resealed(struct rn_udp *u, const struct udp_sock *s, struct envelope *e,
			 const struct rn_super *super)
{
	int err;

	if (!reseal(u, super))
		return -ENOMEM;
	err = send_each(u, s, e, super, u->reseal);
	if (err == 0) {
		u->net.gso = false;
		rn_log(RN_LOG_INFO,
		       "the kernel refuses UDP super-packets; sending single ones");
	}
	return err;
}

int rn_udp_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_udp *u = ctx;
	struct udp_sock *s = &u->sock[super->sgid_index];
	struct envelope e;
	int err;

	assert(super->sgid_index < u->sock_count);
	assert(super->len <= RN_SUPER_BYTES);
	if (s->fd < 0) {
		u->sent = 0; /* the rest of it is lost */
		return -EADDRNOTAVAIL;
	}
	rn_udp_in_use(u, super->sgid_index);
	if (super->outlet.id)
		return rn_udp_send_out(u, super);
	fill(u, s, super->flow, &e);

	if (super->count == 1)
		return send_whole(u, s, &e, super);
	if (!u->net.gso)
		return send_each(u, s, &e, super, super->data);
	if (u->sent > 0)
		return send_resealed(u, s, &e, super);

	err = send_whole(u, s, &e, super);
	if (!gso_refused(err))
		return err;
	fill(u, s, super->flow, &e);
	return send_resealed(u, s, &e, super);
}
