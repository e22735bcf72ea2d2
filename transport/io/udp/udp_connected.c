/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_connected.c - sockets that are each connected to one destination of many packets.
 *
 * A connected socket keeps its route, and sending by it needs neither address nor control
 * message. This saves half a microsecond of the 4 us that a super-packet costs over
 * loopback, or of the 2.6 us of a single packet. Such a socket only sends: peers answer
 * to port 4791. Its own port is the one that rocind holds for its user or, without such a
 * port, a dynamic one, as with hardware, which distinguishes streams by their source
 * ports. A firewall that tracks connections would take the two directions for two
 * connections, so connected sockets are used only for addresses of this host.
 *
 * The kernel numbers the IPv4 packets of a connected socket by a counter of that socket,
 * which begins anywhere, and the ICRC covers this number. So the counter is read first:
 * probe packets are sent to the host itself, and come back with their headers by the
 * error queue, because a time stamp was requested for them. A socket that does not behave
 * as described here is not used.
 */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rocin/hash.h"
#include "rocin/wire.h"
#include "transport/io/host/own_fd.h"
#include "udp_internal.h"

enum {
	/* Number of super-packets to a destination after which it gets a connected
	 * socket.
	 */
	WORTHWHILE = 64,
	/* Number of super-packets to other destinations that share an entry of the table,
	 * after which the last of these destinations gets the entry.
	 */
	STALE = 1 << 10,
	/* First port to try, and number of ports (a power of two), where rocind holds no
	 * port. By default the kernel does not choose dynamic ports in this range.
	 */
	PORT_FIRST = 0xf000,
	PORT_TRIES = 8,
	MAC_MAX = 64, /* bytes of link-layer header in front of the IP header */
	IPV4_LEN = 20,
	UDP_LEN = 8,
	PROBE_MAX = 2,
};

static uint32_t hash(const struct rn_flow *f, uint32_t sgid_index)
{
	uint64_t h = rn_get_be64(f->dst.raw) ^ rn_get_be64(f->dst.raw + 8) ^
		     (uint64_t)sgid_index << 32 ^ f->tclass;

	return (uint32_t)(rn_hash_word(h) >> 32);
}

enum {
	CUT_SPACE = CMSG_SPACE(sizeof(uint16_t))
};

/* Add a control message to @msg that makes the kernel cut the super-packet into segments
 * of @cut bytes. @cut 0: add nothing, because the message is a single packet.
 */
static void tell_cut(struct msghdr *msg, uint8_t control[CUT_SPACE], uint16_t cut)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)control;

	*c = (struct cmsghdr){ .cmsg_level = IPPROTO_UDP,
			       .cmsg_type = UDP_SEGMENT,
			       .cmsg_len = CMSG_LEN(sizeof(cut)) };
	memcpy(CMSG_DATA(c), &cut, sizeof(cut));
	msg->msg_control = control;
	msg->msg_controllen = CUT_SPACE;
}

/* ----------------------------------------------- reading the IPv4 identification */
/* Open a socket at the address @gid of this host, to which probe packets are sent. @to:
 * out: the address and port of the socket. Return: the socket; -1 if this host does not
 * have the address.
 */
static int open_sink(const struct rn_gid *gid, uint32_t ifindex, union rn_sockaddr *to)
{
	socklen_t len = rn_gid_sockaddr_on(to, gid, 0, ifindex);
	int fd = (int)syscall(SYS_socket, to->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (syscall(SYS_bind, fd, &to->sa, len) == 0 &&
	    syscall(SYS_getsockname, fd, &to->sa, &len) == 0)
		return fd;
	rn_fd_close(fd);
	return -1;
}

/* Send @segments packets of one byte each as one super-packet. Return: false on failure.
 */
static bool send_probe(int fd, const union rn_sockaddr *to, unsigned segments)
{
	_Alignas(struct cmsghdr) uint8_t control[CUT_SPACE];
	uint8_t data[PROBE_MAX] = { 0 };
	struct iovec iov = { data, segments };
	struct msghdr msg = { .msg_name = (void *)&to->in,
			      .msg_namelen = sizeof(to->in),
			      .msg_iov = &iov,
			      .msg_iovlen = 1 };

	if (segments > 1)
		tell_cut(&msg, control, 1);
	return syscall(SYS_sendmsg, fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Read a probe with @segments bytes of payload that has come back by the error queue of
 * @fd, and store its IPv4 identification in @id. Return: false if it has not come back.
 */
static bool read_probe(int fd, unsigned segments, uint16_t *id)
{
	uint8_t frame[MAC_MAX + IPV4_LEN + UDP_LEN + PROBE_MAX];
	_Alignas(struct cmsghdr) uint8_t control[512];
	struct iovec iov = { frame, sizeof(frame) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	long n = syscall(SYS_recvmsg, fd, &msg, MSG_DONTWAIT | MSG_ERRQUEUE);
	const uint8_t *ip;

	if (n < 0 || (size_t)n < IPV4_LEN + UDP_LEN + segments ||
	    msg.msg_flags & MSG_TRUNC)
		return false;
	ip = frame + n - segments - UDP_LEN - IPV4_LEN;
	*id = rn_get_be16(ip + 4);
	return ip[0] == 0x45 && ip[9] == IPPROTO_UDP;
}

static bool probe_id(int fd, const union rn_sockaddr *to, unsigned segments, uint16_t *id)
{
	return send_probe(fd, to, segments) && read_probe(fd, segments, id);
}

/* Send three probes: super-packets of different numbers of packets. Return: true if the
 * counter of IPv4 identifications advances by one for each super-packet, whatever its
 * number of packets. @next_id: out: the next value of the counter.
 */
static bool counts_supers(int fd, const union rn_sockaddr *to, uint16_t *next_id)
{
	uint16_t id[3];

	if (!probe_id(fd, to, 1, &id[0]) || !probe_id(fd, to, PROBE_MAX, &id[1]) ||
	    !probe_id(fd, to, 1, &id[2]))
		return false;
	*next_id = (uint16_t)(id[2] + 1);
	return id[1] == (uint16_t)(id[0] + 1) && id[2] == (uint16_t)(id[1] + 1);
}

/* Learn the counter of the socket @fd from which the kernel takes the IPv4
 * identifications of packets. @to: address of a socket from open_sink() at the
 * destination's address. @next_id: out: the identification of the next packet. Return:
 * false if the counter does not behave as expected.
 */
static bool learn_id(int fd, const union rn_sockaddr *to, uint16_t *next_id)
{
	return rn_udp_set_int(fd, SOL_SOCKET, SO_TIMESTAMPING,
			      SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE) &&
	       counts_supers(fd, to, next_id) &&
	       rn_udp_set_int(fd, SOL_SOCKET, SO_TIMESTAMPING, 0);
}

/* -------------------------------------------- opening and closing connected sockets */
static void set_options(int fd, const struct udp_sock *s, const struct rn_flow *f)
{
	int room = 0;
	socklen_t len = sizeof(room);

	/* The kernel doubles the value that is set, so half of what it reports is set. */
	if (getsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &room, &len) == 0 &&
	    !rn_udp_set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, room / 2))
		(void)rn_udp_set_int(fd, SOL_SOCKET, SO_SNDBUF, room / 2);
	(void)rn_udp_set_int(fd, SOL_SOCKET, SO_RCVBUF, 0); /* no packet is expected */
	if (f->hop_limit)
		(void)rn_udp_set_int(fd, s->is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				     s->is_ipv4 ? IP_TTL : IPV6_UNICAST_HOPS,
				     f->hop_limit);
	(void)rn_udp_set_int(fd, s->is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
			     s->is_ipv4 ? IP_TOS : IPV6_TCLASS, f->tclass);
}

static bool dont_fragment(int fd, bool is_ipv4)
{
	if (is_ipv4)
		return rn_udp_set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	return rn_udp_set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
}

static bool bind_to_port(int fd, const struct rn_udp *u, struct udp_connected *o)
{
	uint32_t any = hash(&o->flow, o->sgid_index) ^
		       (uint32_t)syscall(SYS_getpid) * 0x9e3779b9u;
	union rn_sockaddr at;

	if (u->own_port) {
		socklen_t len = rn_gid_sockaddr_on(&at, &o->flow.src, u->own_port,
						   rn_udp_ifindex(u, &o->flow));

		o->sport = u->own_port;
		return rn_udp_set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) &&
		       syscall(SYS_bind, fd, &at.sa, len) == 0;
	}
	for (unsigned i = 0; i < PORT_TRIES; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST | ((any >> 16) + i));
		socklen_t len = rn_gid_sockaddr_on(&at, &o->flow.src, port,
						   rn_udp_ifindex(u, &o->flow));

		o->sport = port;
		if (syscall(SYS_bind, fd, &at.sa, len) == 0)
			return true;
	}
	return false;
}

/* Bind, configure and connect the socket @fd. @sink: address of a socket from
 * open_sink() at the destination's address. Return: false if the socket cannot be used.
 */
static bool prepare_socket(int fd, struct rn_udp *u, struct udp_connected *o,
			   const union rn_sockaddr *sink)
{
	const struct udp_sock *s = &u->sock[o->sgid_index];
	union rn_sockaddr to;
	socklen_t len = rn_gid_sockaddr_on(&to, &o->flow.dst, RN_ROCE_PORT,
					   rn_udp_ifindex(u, &o->flow));

	set_options(fd, s, &o->flow);
	return dont_fragment(fd, s->is_ipv4) && bind_to_port(fd, u, o) &&
	       syscall(SYS_connect, fd, &to.sa, len) == 0 &&
	       (!s->is_ipv4 || learn_id(fd, sink, &o->next_id));
}

static int open_connected_socket(struct rn_udp *u, struct udp_connected *o)
{
	union rn_sockaddr to;
	int sink = open_sink(&o->flow.dst, rn_udp_ifindex(u, &o->flow), &to), fd;

	if (sink < 0)
		return -1;
	fd = (int)syscall(SYS_socket, to.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !prepare_socket(fd, u, o, &to)) {
		rn_fd_close(fd);
		fd = -1;
	}
	rn_fd_close(sink);
	return fd;
}

static void open_connected(struct rn_udp *u, struct udp_connected *o)
{
	o->fd = rn_own_fd_keep(open_connected_socket(u, o));
	o->is_barred = o->fd < 0;
}

static void close_socket(struct udp_connected *o)
{
	if (o->fd >= 0)
		rn_fd_close(o->fd);
	o->fd = -1;
}

void rn_udp_close_connected(struct rn_udp *u, unsigned sgid_index)
{
	for (unsigned i = 0; i < RN_UDP_CONNECTED_MAX; i++) {
		if (!u->connected[i].is_used || u->connected[i].sgid_index != sgid_index)
			continue;
		close_socket(&u->connected[i]);
		u->connected[i].is_used = false;
	}
}

/* ------------------------------------------------------------ choosing a socket */
static bool is_for(const struct udp_connected *o, const struct rn_flow *f,
		   uint32_t sgid_index)
{
	return o->is_used && o->sgid_index == sgid_index &&
	       memcmp(&o->flow, f, sizeof(*f)) == 0;
}

/* Return: the socket that sends a flow without being connected: that of the address, or
 * the one for packets to this host.
 */
static struct rn_tx_socket shared_socket(struct rn_udp *u, const struct rn_flow *flow)
{
	if (!rn_udp_is_to_own_host(u, flow))
		return (struct rn_tx_socket){ 0 };
	return (struct rn_tx_socket){ .id = RN_TX_OWN_HOST, .sport = u->own_port };
}

struct rn_tx_socket rn_udp_tx_socket(void *ctx, const struct rn_flow *flow,
				     uint32_t sgid_index, uint32_t dest_slot)
{
	struct rn_udp *u = ctx;
	const struct rn_tx_socket shared = shared_socket(u, flow);
	unsigned at = hash(flow, sgid_index) % RN_UDP_CONNECTED_MAX;
	struct udp_connected *o = &u->connected[at];

	(void)dest_slot;
	if (!u->has_connected || !u->net.gso || rn_gid_is_multicast(&flow->dst))
		return shared;
	if (!is_for(o, flow, sgid_index)) {
		if (o->is_used && ++o->others < STALE)
			return shared;
		if (o->is_used)
			close_socket(o);
		*o = (struct udp_connected){ .fd = -1,
					     .is_used = true,
					     .sgid_index = (uint8_t)sgid_index,
					     .flow = *flow };
	}
	o->others = 0;
	if (o->fd < 0) {
		if (o->is_barred || ++o->uses < WORTHWHILE || u->sock[sgid_index].fd < 0)
			return shared;
		open_connected(u, o);
		if (o->is_barred)
			return shared;
	}
	return (struct rn_tx_socket){ .id = (uint8_t)(at + 1),
				      .sport = o->sport,
				      .first_id = o->next_id };
}

/* ------------------------------------------------------------ sending packets */
/* Send a super-packet with a control message that contains its segment length @cut; 0:
 * it is a single packet, and no message is needed. Return: 0 or -errno.
 */
static int send_told(struct rn_udp *u, const struct udp_connected *o,
		     const struct rn_super *super, uint16_t cut)
{
	_Alignas(struct cmsghdr) uint8_t control[CUT_SPACE];
	struct iovec iov = { (void *)super->data, super->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	tell_cut(&msg, control, cut);
	return rn_udp_send_message(u, o->fd, &msg);
}

/* Return: true if the kernel cuts this super-packet correctly without a control message,
 * by the segment length that is set for the socket.
 */
static bool cuts_so(const struct udp_connected *o, const struct rn_super *super)
{
	if (super->count > 1)
		return o->cut == super->seg_len;
	return o->cut == 0 || super->len <= o->cut;
}

/* Send a super-packet, if possible without the control message that contains the segment
 * length, which saves 0.1 us. The segment length is set for the socket instead, when two
 * super-packets in a row have it.
 */
static int send_by(struct rn_udp *u, struct udp_connected *o,
		   const struct rn_super *super)
{
	uint32_t cut = super->count > 1 ? super->seg_len : 0;

	if (!cuts_so(o, super) && o->wanted == cut &&
	    rn_udp_set_int(o->fd, IPPROTO_UDP, UDP_SEGMENT, (int)cut))
		o->cut = cut;
	if (!cuts_so(o, super) || u->uring) {
		o->wanted = cut;
		return send_told(u, o, super, (uint16_t)cut);
	}
	o->wanted = UINT32_MAX;
	if (syscall(SYS_sendto, o->fd, super->data, super->len,
		    MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) < 0)
		return -errno;
	return 0;
}

int rn_udp_send_connected(struct rn_udp *u, const struct rn_super *super)
{
	struct udp_connected *o = &u->connected[super->tx_socket.id - 1];
	int rc;

	if (!o->is_used || o->fd < 0 || o->sport != super->tx_socket.sport ||
	    (u->sock[o->sgid_index].is_ipv4 && o->next_id != super->tx_socket.first_id))
		/* The socket was closed since the packets were built. Their ICRCs are
		 * for its port and its IPv4 identifications, so no other socket can send
		 * them.
		 */
		return -EADDRNOTAVAIL;
	rc = send_by(u, o, super);
	/* The kernel has reported the error of an earlier packet instead of sending this
	 * super-packet, so it is sent again.
	 */
	if (rc == -ECONNREFUSED)
		rc = send_by(u, o, super);
	if (rc == -EAGAIN)
		return rc;
	o->next_id++;
	if (rc) { /* it is unknown whether the counter of identifications has advanced */
		close_socket(o);
		o->is_barred = true;
	}
	return rc;
}
