/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_send.c - sends super-packets by unconnected sockets. Composes the destination and
 * control messages, sends single packets where the kernel refuses UDP_SEGMENT, has
 * separate sockets for packets to this host, and sends packets that are too long
 * according to ICMP all the same.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_port.h"
#include "rocin/hash.h"
#include "rocin/icrc.h"
#include "rocin/types.h"
#include "rocin/wire.h"
#include "route_mtu.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "udp_internal.h"

/* The destination address and the control messages with which a super-packet is sent.
 * They apply to all of its packets.
 */
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

/* Add a control message with the interface by which a multicast packet leaves. Without
 * it the routing table would decide, which may name another interface, or none.
 */
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

static void fill_envelope(const struct rn_udp *u, const struct udp_sock *s,
			  const struct rn_flow *f, struct envelope *e)
{
	int level = s->is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	bool to_group = rn_gid_is_multicast(&f->dst);

	e->control_len = 0;
	e->to_len =
		rn_gid_sockaddr_on(&e->to, &f->dst, RN_ROCE_PORT, rn_udp_ifindex(u, f));
	if (f->tclass != s->tclass)
		add_int(e, level, s->is_ipv4 ? IP_TOS : IPV6_TCLASS, f->tclass);
	/* A packet with hop limit 0 could not leave the host, so if the flow has 0, no
	 * hop limit is given. The hop limit that is set for the socket applies to
	 * unicast packets only.
	 */
	if (f->hop_limit != 0 && (to_group || f->hop_limit != s->hop_limit))
		add_int(e, level, s->is_ipv4 ? IP_TTL : IPV6_HOPLIMIT, f->hop_limit);
	if (to_group)
		add_interface(u, f, e);
}

static struct msghdr message_of(struct envelope *e, struct iovec *iov)
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

static int send_whole(struct rn_udp *u, const struct udp_sock *s, struct envelope *e,
		      const struct rn_super *super)
{
	struct iovec iov = { (void *)super->data, super->len };
	uint16_t seg_len = (uint16_t)super->seg_len;
	struct msghdr msg;

	if (super->count > 1)
		add_cmsg(e, IPPROTO_UDP, UDP_SEGMENT, &seg_len, sizeof(seg_len));
	msg = message_of(e, &iov);
	return rn_udp_send_message(u, s->fd, &msg);
}

/* Send the packets of a super-packet one by one, beginning with packet u->sent. @data:
 * the bytes of all packets. Return: 0 or -errno; after -EAGAIN, u->sent is the number of
 * the next packet.
 */
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

		iov[i].iov_base = (void *)(data + at);
		iov[i].iov_len = rn_super_packet_len(super, at);
		msgs[i] = (struct mmsghdr){ .msg_hdr = message_of(e, &iov[i]) };
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
	u->net.sent = u->sent;
	return err;
}

/* Return: true if the error @err means that the kernel accepts no super-packets at all,
 * false if it means that this one could not be sent.
 */
static bool gso_refused(int err)
{
	return err == -EINVAL || err == -EIO || err == -ENOPROTOOPT || err == -EOPNOTSUPP;
}

/* Copy the packets of a super-packet to u->reseal, with ICRCs for IPv4 identification 0,
 * the identification of packets that are sent alone. Return: false if there is no
 * memory.
 */
static bool reseal(struct rn_udp *u, const struct rn_super *super)
{
	if (!u->reseal)
		u->reseal = malloc(RN_SUPER_BYTES);
	if (!u->reseal)
		return false;
	if (super->data != u->reseal)
		memcpy(u->reseal, super->data, super->len);
	for (uint32_t at = 0; at < super->len; at += super->seg_len) {
		uint32_t len = rn_super_packet_len(super, at);

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

void rn_udp_learn_defaults(struct udp_sock *s)
{
	int level = s->is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	int tclass = 0, hops = 64;
	socklen_t len = sizeof(int);

	getsockopt(s->fd, level, s->is_ipv4 ? IP_TOS : IPV6_TCLASS, &tclass, &len);
	len = sizeof(int);
	getsockopt(s->fd, level, s->is_ipv4 ? IP_TTL : IPV6_UNICAST_HOPS, &hops, &len);
	s->tclass = (uint8_t)tclass;
	s->hop_limit = (uint8_t)hops;
}

enum {
	/* After this number of packets to an address, the device looks up again whether
	 * the address belongs to this host.
	 */
	PLACE_USES = 1 << 12,
	/* bytes of the headers in front of a packet */
	IPV4_UDP_LEN = 28,
	IPV6_UDP_LEN = 48,
};

static struct udp_place *look_up(struct rn_udp *u, const struct rn_flow *flow)
{
	uint64_t h = rn_get_be64(flow->dst.raw) ^ rn_get_be64(flow->dst.raw + 8);
	struct udp_place *p = &u->place[(rn_hash_word(h) >> 32) % RN_UDP_PLACES];

	if (p->uses && memcmp(&p->gid, &flow->dst, sizeof(p->gid)) == 0)
		return p;
	*p = (struct udp_place){ .gid = flow->dst, .uses = PLACE_USES };
	p->is_own = rn_is_own_address(&flow->dst, rn_udp_ifindex(u, flow));
	return p;
}

bool rn_udp_is_to_own_host(struct rn_udp *u, const struct rn_flow *flow)
{
	struct udp_place *p;

	if (!u->own_port)
		return false;
	/* A multicast packet also goes to members on this host. */
	if (rn_gid_is_multicast(&flow->dst))
		return true;
	p = look_up(u, flow);
	p->uses--;
	return p->is_own;
}

static void open_own(struct rn_udp *u, unsigned idx)
{
	const struct udp_sock *s = &u->sock[idx];
	struct udp_sock *own = &u->own[idx];
	int room = 0;
	socklen_t len = sizeof(room);

	*own = *s;
	own->fd = rn_own_fd_keep(rn_own_port_open(&s->gid, u->ifindex, u->own_port));
	if (own->fd < 0)
		return;
	rn_udp_learn_defaults(own);
	/* The kernel doubles the value that is set, so half of what it reports is set. */
	if (getsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &room, &len) == 0 &&
	    !rn_udp_set_int(own->fd, SOL_SOCKET, SO_SNDBUFFORCE, room / 2))
		(void)rn_udp_set_int(own->fd, SOL_SOCKET, SO_SNDBUF, room / 2);
}

struct udp_sock *rn_udp_own_sock(struct rn_udp *u, unsigned sgid_index)
{
	struct udp_sock *own = &u->own[sgid_index];

	if (own->fd < 0)
		open_own(u, sgid_index);
	return own->fd < 0 ? &u->sock[sgid_index] : own;
}

void rn_udp_close_own(struct rn_udp *u, unsigned idx)
{
	if (u->own[idx].fd >= 0)
		rn_fd_close(u->own[idx].fd);
	u->own[idx].fd = -1;
	memset(u->place, 0, sizeof(u->place));
}

/* Send a super-packet by an unconnected socket. */
static int send_super(struct rn_udp *u, const struct udp_sock *s,
		      const struct rn_super *super)
{
	struct envelope e;
	int err;

	fill_envelope(u, s, super->flow, &e);
	if (super->count == 1)
		return send_whole(u, s, &e, super);
	if (!u->net.gso)
		return send_each(u, s, &e, super, super->data);
	if (u->sent > 0)
		return send_resealed(u, s, &e, super);

	err = send_whole(u, s, &e, super);
	if (!gso_refused(err))
		return err;
	fill_envelope(u, s, super->flow, &e);
	return send_resealed(u, s, &e, super);
}

static bool set_discovery(const struct udp_sock *s, int how)
{
	return s->is_ipv4 ? rn_udp_set_int(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, how)
			  : rn_udp_set_int(s->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, how);
}

/* Return: true if these packets fit the MTU of the interface and of the route, whatever
 * ICMP messages have said.
 */
static bool is_carried(struct rn_udp *u, const struct udp_sock *s,
		       const struct rn_super *super)
{
	struct udp_place *p = look_up(u, super->flow);
	char text[RN_GID_TEXT_MAX];

	p->uses--;
	if (!p->route_mtu)
		p->route_mtu = rn_route_mtu(&s->gid, &super->flow->dst,
					    rn_udp_ifindex(u, super->flow));
	if (!p->route_mtu)
		p->route_mtu = 1;
	if (p->route_mtu < (s->is_ipv4 ? IPV4_UDP_LEN : IPV6_UDP_LEN) + super->seg_len)
		return false;
	if (!u->tells_of_icmp)
		rn_log(RN_LOG_WARN,
		       "ICMP says that packets of %u bytes are too long for the way to "
		       "%s, which may be forged; they are sent all the same",
		       super->seg_len, rn_gid_text(&super->flow->dst, text));
	u->tells_of_icmp = true;
	return true;
}

/* Send a super-packet that the kernel has refused as too long. With the socket option
 * IP_PMTUDISC_PROBE the kernel compares the length only with the MTU of the interface.
 * The IPv4 identifications of the packets are the same as without this option.
 */
static int send_refused(struct rn_udp *u, const struct udp_sock *s,
			const struct rn_super *super)
{
	int rc = -EMSGSIZE;

	if (!is_carried(u, s, super))
		return rc;
	/* IPV6_PMTUDISC_* have the same values. */
	if (set_discovery(s, IP_PMTUDISC_PROBE))
		rc = send_super(u, s, super);
	set_discovery(s, IP_PMTUDISC_DO);
	return rc;
}

/* Send a super-packet to this host that was built for source port 4791: move its ICRCs
 * to the own port, and use the socket with that port. There are such super-packets for
 * two reasons: fault injection delays packets without remembering their socket, and
 * packets for a local wire (rings in shared memory) go by UDP if the ring is full.
 */
static int redirect(struct rn_udp *u, const struct rn_super *super)
{
	struct rn_flow flow = *super->flow;
	struct rn_super own = *super;

	flow.sport = u->own_port;
	if (!u->reseal)
		u->reseal = malloc(RN_SUPER_BYTES);
	if (!u->reseal)
		return -ENOMEM;
	memcpy(u->reseal, super->data, super->len);
	for (uint32_t at = 0, i = 0; at < super->len; at += super->seg_len, i++) {
		uint32_t len = rn_super_packet_len(super, at);

		if (len >= RN_BTH_LEN + RN_ICRC_LEN)
			rn_icrc_move(super->flow, &flow, (uint16_t)(u->net.gso ? i : 0),
				     u->reseal + at, len - RN_ICRC_LEN);
	}
	own.flow = &flow;
	own.data = u->reseal;
	return send_super(u, rn_udp_own_sock(u, super->sgid_index), &own);
}

int rn_udp_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_udp *u = ctx;
	struct udp_sock *s = &u->sock[super->sgid_index];
	int rc;

	assert(super->sgid_index < u->sock_count);
	assert(super->len <= RN_SUPER_BYTES);
	if (s->fd < 0) {
		u->sent = 0; /* the rest of the super-packet is dropped */
		return -EADDRNOTAVAIL;
	}
	rn_udp_mark_in_use(u, super->sgid_index);
	if (super->tx_socket.id == RN_TX_OWN_HOST)
		s = rn_udp_own_sock(u, super->sgid_index);
	else if (super->tx_socket.id)
		return rn_udp_send_connected(u, super);
	else if (rn_udp_is_to_own_host(u, super->flow))
		return redirect(u, super);
	rc = send_super(u, s, super);
	return rc == -EMSGSIZE ? send_refused(u, s, super) : rc;
}
