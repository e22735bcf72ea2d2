/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_udp.c - the back end for UDP sockets: chooses the socket to be read next, reads it
 * by system calls or by io_uring, and cuts datagrams into packets.
 */
#include "net_udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "rocin/stats.h"
#include "rocin/types.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/host/uring.h"
#include "udp_internal.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* ---------------------------------------------- cutting datagrams into packets */

/* Return: the value of the control message @c. The kernel sends some values as one byte
 * and others as an int.
 */
static uint32_t cmsg_value(const struct cmsghdr *c)
{
	int v = 0;

	if (c->cmsg_len < CMSG_LEN(sizeof(v)))
		return *CMSG_DATA(c);
	memcpy(&v, CMSG_DATA(c), sizeof(v));
	return (uint32_t)v;
}

static bool is_cmsg(const struct cmsghdr *c, int level, int type)
{
	return c->cmsg_level == level && c->cmsg_type == type;
}

static uint32_t cmsg_ifindex(const struct cmsghdr *c)
{
	struct in6_pktinfo info;

	if (c->cmsg_len < CMSG_LEN(sizeof(info)))
		return 0;
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	return info.ipi6_ifindex;
}

static void take_cmsg(const struct cmsghdr *c, struct rn_rx_meta *meta)
{
	if (is_cmsg(c, IPPROTO_UDP, UDP_GRO)) {
		meta->seg_len = cmsg_value(c);
	} else if (is_cmsg(c, IPPROTO_IP, IP_TOS) ||
		   is_cmsg(c, IPPROTO_IPV6, IPV6_TCLASS)) {
		meta->tclass = (uint8_t)cmsg_value(c);
	} else if (is_cmsg(c, IPPROTO_IP, IP_TTL) ||
		   is_cmsg(c, IPPROTO_IPV6, IPV6_HOPLIMIT)) {
		meta->hop_limit = (uint8_t)cmsg_value(c);
	} else if (is_cmsg(c, IPPROTO_IPV6, IPV6_PKTINFO)) {
		meta->ifindex = cmsg_ifindex(c);
	} else if (is_cmsg(c, SOL_SOCKET, SO_RXQ_OVFL)) {
		meta->overflow = cmsg_value(c);
		meta->has_overflow = true;
	}
}

void rn_rx_meta(struct msghdr *msg, struct rn_rx_meta *meta)
{
	*meta = (struct rn_rx_meta){ 0 };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		take_cmsg(c, meta);
}

void rn_rx_split_init(struct rn_rx_split *s, const uint8_t *data, uint32_t len,
		      uint32_t seg_len)
{
	*s = (struct rn_rx_split){ .data = data, .len = len, .seg_len = seg_len };
	if (seg_len == 0 || seg_len > len)
		s->seg_len = len > 0 ? len : 1;
}

unsigned rn_rx_split_next(struct rn_rx_split *s, const struct rn_flow *flow,
			  struct rn_rx *rx)
{
	unsigned n = 0;

	while (s->next < s->len && n < RN_RX_BATCH) {
		uint32_t left = s->len - s->next;

		rx[n++] = (struct rn_rx){
			.flow = flow,
			.data = s->data + s->next,
			.len = left < s->seg_len ? left : s->seg_len,
			.gro_idx = s->idx++,
		};
		s->next += s->seg_len;
	}
	return n;
}

/* A received datagram, valid until the next one is read. */
struct datagram {
	struct msghdr *msg; /* the source address and control messages of the datagram */
	const uint8_t *data;
	uint32_t len;
};

/* ------------------------------------------------------- the list of sockets in use */

static void not_in_use(struct rn_udp *u, unsigned idx)
{
	if (u->active <= 1)
		return;
	u->active--;
	rn_udp_swap_places(u, u->sock[idx].place, u->active);
}

/* --------------------------------------------------------- receiving by io_uring */

/* How io_uring is used: the thread that polls submits its requests by one system call,
 * and all of them have completed when it returns. (A request that stayed pending, such
 * as a multishot receive, would belong to that thread, see uring.h.) The gain is that
 * one call can receive several datagrams of a socket.
 */
enum {
	/* Maximum number of datagrams that one call receives. The bytes of more datagrams
	 * would not fit into the processor's cache.
	 */
	AHEAD = 4,
	BUF = 65536,
	CONTROL = 256,
};

/* Memory for one received datagram. */
struct uring_slot {
	struct msghdr msg;
	struct iovec iov;
	struct sockaddr_storage from;
	_Alignas(struct cmsghdr) uint8_t control[CONTROL];
	int len; /* bytes received, or -errno */
};

/* The io_uring queue, and the datagrams that were received but not delivered yet. */
struct rn_net_uring {
	struct rn_uring *uring;
	/* Number of datagrams that the next call will ask for. It grows when all of them
	 * have come.
	 */
	unsigned ahead;
	/* @next: index of the first slot whose datagram was not delivered yet. @count:
	 * number of slots that the last call has filled.
	 */
	unsigned next, count;
	struct uring_slot slot[AHEAD];
	uint8_t buf[AHEAD][BUF];
};

/* Create an io_uring queue and its buffers. Return: the queue; NULL, with errno and the
 * error text as rn_uring_open() has set them.
 */
static struct rn_net_uring *uring_new(char *err, size_t err_len)
{
	struct rn_net_uring *n = malloc(sizeof(*n));

	if (!n) {
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for io_uring");
		return NULL;
	}
	n->ahead = 1;
	n->next = n->count = 0;
	n->uring = rn_uring_open(RN_URING_AT_ONCE, AHEAD, err, err_len);
	if (n->uring)
		return n;
	free(n);
	return NULL;
}

/* Frees the queue. NULL is ignored. */
static void uring_free(struct rn_net_uring *n)
{
	if (!n)
		return;
	rn_uring_close(n->uring);
	free(n);
}

/* Submit the @count requests that were prepared with the tags 0 .. @count - 1. Store the
 * result of each in @result, indexed by its tag. When the call returns, all have
 * completed, so their memory may be reused. Return: 0 or -errno.
 */
static int perform_requests(struct rn_net_uring *n, unsigned count, int *result)
{
	int rc = rn_uring_submit(n->uring, 0), one;
	uint64_t tag;

	if (rc)
		return rc;
	for (unsigned i = 0; i < count; i++) {
		if (!rn_uring_next(n->uring, &tag, &one))
			return -EIO;
		assert(tag < count);
		result[tag] = one;
	}
	return 0;
}

static void prepare_receive(struct rn_net_uring *n, unsigned idx, int fd)
{
	struct uring_slot *s = &n->slot[idx];

	s->iov = (struct iovec){ n->buf[idx], BUF };
	s->msg = (struct msghdr){
		.msg_name = &s->from,
		.msg_namelen = sizeof(s->from),
		.msg_iov = &s->iov,
		.msg_iovlen = 1,
		.msg_control = s->control,
		.msg_controllen = sizeof(s->control),
	};
	if (!rn_uring_recv(n->uring, fd, &s->msg, idx))
		assert(!"room for AHEAD requests");
}

/* Return: true if uring_next() has a datagram. It was received already, so epoll does
 * not report the socket as readable for it.
 */
static bool uring_holds(const struct rn_net_uring *n)
{
	for (unsigned i = n->next; i < n->count; i++)
		if (n->slot[i].len >= 0)
			return true;
	return false;
}

/* Drop the datagrams that were received but not delivered. They are lost. */
static void uring_forget(struct rn_net_uring *n)
{
	n->next = n->count = 0;
}

/* Take the next of the datagrams that the last uring_receive() has received. Return: true
 * with the datagram in @d; false if there is none.
 */
static bool uring_next(struct rn_net_uring *n, struct datagram *d)
{
	while (n->next < n->count) {
		unsigned idx = n->next++;
		struct uring_slot *s = &n->slot[idx];

		if (s->len < 0)
			continue;
		*d = (struct datagram){ .msg = &s->msg,
					.data = n->buf[idx],
					.len = (uint32_t)s->len };
		return true;
	}
	return false;
}

/* Receive datagrams from the socket @fd. The caller has taken all earlier ones by
 * uring_next(). An error of the socket is about a packet that was sent earlier; it
 * counts as "no datagram". @found: out: uring_next() has a datagram.
 *
 * Return: 0; or -errno: io_uring cannot be used any more.
 */
static int uring_receive(struct rn_net_uring *n, int fd, bool *found)
{
	int result[AHEAD], rc;
	unsigned got = 0;

	assert(!uring_holds(n));
	n->next = n->count = 0;
	for (unsigned i = 0; i < n->ahead; i++)
		prepare_receive(n, i, fd);
	rc = perform_requests(n, n->ahead, result);
	if (rc)
		return rc;
	n->count = n->ahead;
	for (unsigned i = 0; i < n->count; i++) {
		n->slot[i].len = result[i];
		got += result[i] >= 0;
	}
	if (got < n->ahead)
		n->ahead = 1;
	else if (n->ahead < AHEAD)
		n->ahead *= 2;
	*found = got > 0;
	return 0;
}

/* Send a message by io_uring. @result: out: 0, or -errno of sendmsg(). Return: 0; or
 * -errno if nothing was sent, and io_uring cannot be used any more.
 */
static int uring_send(struct rn_net_uring *n, int fd, const struct msghdr *msg,
		      int *result)
{
	int sent = 0, rc;

	if (!rn_uring_send(n->uring, fd, msg, 0))
		assert(!"room for a request");
	rc = perform_requests(n, 1, &sent);
	*result = sent < 0 ? sent : 0;
	return rc;
}

/* Called when io_uring has failed with @rc: uses system calls from now on. */
static void fall_back(struct rn_udp *u, int rc)
{
	rn_log(RN_LOG_WARN, "io_uring fails (%s); packets go by sendmsg and recvmsg",
	       strerrordesc_np(-rc));
	/* Packets that were delivered lie in the memory of the queue, so it is freed
	 * later.
	 */
	u->failed_uring = u->uring;
	u->uring = NULL;
}

int rn_udp_send_message(struct rn_udp *u, int fd, const struct msghdr *msg)
{
	int result = 0, rc;

	if (u->uring) {
		rc = uring_send(u->uring, fd, msg, &result);
		if (!rc)
			return result;
		fall_back(u, rc);
	}
	if (syscall(SYS_sendmsg, fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		rn_fd_close(fd);
}

/* ----------------------------------------------------------- receiving packets */

enum {
	/* After this number of calls of receive(), the sockets not in use are read, too,
	 * even if those in use always have packets.
	 */
	LOOK_ANYWAY = 256,
	/* maximum number of packets read from one socket in its turn */
	TURN = 8,
	/* number of reads without a packet after which a socket counts as not in use */
	IDLE_AFTER = 1 << 14,
};

static void count_overflow(struct rn_udp *u, uint32_t *last, uint32_t overflow)
{
	uint64_t *counter = &u->stats[RN_STAT_SOCK_OVERFLOW];

	/* The kernel counts dropped datagrams, which may be super-packets, modulo 2^32.
	 */
	__atomic_store_n(counter, *counter + (uint32_t)(overflow - *last),
			 __ATOMIC_RELAXED);
	*last = overflow;
}

/* Begin to deliver the packets of the datagram @d, which came by a socket that is bound
 * to @dst. @overflow: the last count of packets that the kernel has dropped at that
 * socket.
 */
static void take_datagram(struct rn_udp *u, const struct datagram *d,
			  const struct rn_gid *dst, uint32_t *overflow)
{
	struct rn_rx_meta meta;
	uint32_t len = d->len;

	rn_rx_meta(d->msg, &meta);
	if (meta.has_overflow)
		count_overflow(u, overflow, meta.overflow);
	/* A packet for a multicast group may come by an interface of another device, and
	 * is dropped then.
	 */
	if (meta.ifindex != 0 && meta.ifindex != u->ifindex)
		len = 0;
	u->rx_flow.dst = *dst;
	u->rx_flow.ifindex = u->ifindex;
	u->rx_flow.tclass = meta.tclass;
	u->rx_flow.hop_limit = meta.hop_limit;
	rn_flow_set_source(&u->rx_flow, d->msg->msg_name);
	rn_rx_split_init(&u->split, d->data, len, meta.seg_len);
}

/* Read a datagram by recvmsg() and begin to deliver its packets. An error of the socket
 * is about a packet that was sent earlier; it counts as "no datagram". Return: false if
 * there is no datagram.
 */
static bool read_by_call(struct rn_udp *u, int fd, const struct rn_gid *dst,
			 uint32_t *overflow)
{
	struct iovec iov = { u->rx_buf, sizeof(u->rx_buf) };
	struct msghdr msg = {
		.msg_name = &u->rx_from,
		.msg_namelen = sizeof(u->rx_from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = u->rx_control,
		.msg_controllen = sizeof(u->rx_control),
	};
	struct datagram d = { .msg = &msg, .data = u->rx_buf };
	long n = syscall(SYS_recvmsg, fd, &msg, MSG_DONTWAIT);

	if (n < 0)
		return false;
	d.len = (uint32_t)n;
	take_datagram(u, &d, dst, overflow);
	return true;
}

static bool read_kept(struct rn_udp *u)
{
	struct datagram d;

	if (!u->uring || !uring_next(u->uring, &d))
		return false;
	u->taken++;
	take_datagram(u, &d, u->kept.dst, u->kept.overflow);
	return true;
}

bool rn_udp_read(struct rn_udp *u, int fd, const struct rn_gid *dst, uint32_t *overflow)
{
	bool found = false;
	int rc;

	if (!u->uring)
		return read_by_call(u, fd, dst, overflow);
	u->kept.dst = dst;
	u->kept.overflow = overflow;
	rc = uring_receive(u->uring, fd, &found);
	if (rc) {
		fall_back(u, rc);
		return read_by_call(u, fd, dst, overflow);
	}
	return found && read_kept(u);
}

void rn_udp_forget(struct rn_udp *u)
{
	if (u->uring)
		uring_forget(u->uring);
}

bool rn_udp_holds(const struct rn_udp *u)
{
	return u->uring && uring_holds(u->uring);
}

bool rn_udp_by_uring(const struct rn_udp *u)
{
	return u->uring;
}

static bool read_socket(struct rn_udp *u, unsigned idx)
{
	struct udp_sock *s = &u->sock[idx];
	bool found;

	if (s->fd < 0)
		return false;
	found = idx == u->sock_count ? rn_udp_read_groups(u)
				     : rn_udp_read(u, s->fd, &s->gid, &s->overflow);
	if (found)
		rn_udp_mark_in_use(u, idx);
	return found;
}

static void next_turn(struct rn_udp *u)
{
	u->taken = 0;
	if (++u->cursor >= u->active)
		u->cursor = 0;
}

/* Read the sockets in use, beginning with the one whose turn it is. Return: true if a
 * packet was found.
 */
static bool read_active(struct rn_udp *u)
{
	for (unsigned tries = u->active; tries > 0; tries--) {
		unsigned idx = u->order[u->cursor];

		if (read_socket(u, idx)) {
			if (++u->taken >= TURN)
				next_turn(u);
			return true;
		}
		if (++u->sock[idx].idle > IDLE_AFTER)
			not_in_use(u, idx);
		next_turn(u);
	}
	return false;
}

/* Read the sockets not in use: the first packet for a while may have come to one of
 * them. Return: true if a packet was found.
 */
static bool read_others(struct rn_udp *u)
{
	struct timespec now = { 0 };
	struct pollfd fds[RN_GID_MAX + 1];
	unsigned idx[RN_GID_MAX + 1];
	unsigned n = 0;

	for (unsigned i = u->active; i <= u->sock_count; i++) {
		unsigned other = u->order[i];

		if (u->sock[other].fd < 0)
			continue;
		fds[n] = (struct pollfd){ .fd = u->sock[other].fd, .events = POLLIN };
		idx[n++] = other;
	}
	if (n <= 1) /* for one socket, recvmsg() is cheaper than ppoll() and recvmsg() */
		return n == 1 && read_socket(u, idx[0]);
	if (syscall(SYS_ppoll, fds, n, &now, NULL, 0) <= 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (fds[i].revents && read_socket(u, idx[i]))
			return true;
	return false;
}

static bool read_any(struct rn_udp *u)
{
	bool anyway = ++u->calls >= LOOK_ANYWAY;

	if (!anyway) {
		if (read_active(u))
			return true;
		if (++u->vain < RN_UDP_LOOK_EVERY)
			return false;
	}
	u->vain = u->calls = 0;
	return read_others(u) || (anyway && read_active(u));
}

static int udp_receive(void *ctx, struct rn_rx *rx)
{
	struct rn_udp *u = ctx;
	unsigned n = rn_rx_split_next(&u->split, &u->rx_flow, rx);

	if (n > 0)
		return (int)n;
	if (!read_kept(u) && !read_any(u))
		return 0;
	n = rn_rx_split_next(&u->split, &u->rx_flow, rx);
	return n > 0 ? (int)n : -EAGAIN;
}

void rn_udp_look_everywhere(struct rn_udp *u)
{
	u->vain = RN_UDP_LOOK_EVERY;
}

/* ------------------------------------------------ creating and freeing the back end */

static const struct rn_net_ops udp_ops = {
	.transmit = rn_udp_transmit,
	.receive = udp_receive,
	.tx_socket = rn_udp_tx_socket,
};

void rn_udp_set(struct rn_udp *u, unsigned idx, int fd, const struct rn_gid *gid)
{
	struct udp_sock *s = &u->sock[idx];

	assert(idx < u->sock_count);
	rn_udp_close_connected(u, idx);
	rn_udp_close_own(u, idx);
	close_fd(s->fd);
	s->fd = rn_own_fd_keep(fd);
	s->overflow = 0;
	u->split = (struct rn_rx_split){ 0 };
	rn_udp_forget(u);
	if (fd < 0)
		return;
	s->gid = *gid;
	s->is_ipv4 = rn_gid_is_ipv4(gid);
	rn_udp_learn_defaults(s);
}

int rn_udp_fd(const struct rn_udp *u, unsigned idx)
{
	return idx < u->sock_count ? u->sock[idx].fd : -1;
}

struct rn_net *rn_udp_net(struct rn_udp *u)
{
	return &u->net;
}

static void open_uring(struct rn_udp *u)
{
	char why[300];

	u->uring = uring_new(why, sizeof(why));
	if (!u->uring)
		rn_log(RN_LOG_WARN, "%s; packets go by sendmsg and recvmsg", why);
}

struct rn_udp *rn_udp_new(const struct rn_udp_cfg *cfg)
{
	struct rn_udp *u = calloc(1, sizeof(*u));

	assert(cfg->sock_count > 0 && cfg->sock_count <= RN_GID_MAX);
	if (!u) {
		for (unsigned i = 0; i < cfg->sock_count; i++)
			close_fd(cfg->sock[i]);
		errno = ENOMEM;
		return NULL;
	}
	u->net = (struct rn_net){ .ops = &udp_ops, .ctx = u, .gso = cfg->gso };
	u->ifindex = cfg->ifindex;
	u->stats = cfg->stats;
	u->has_connected = cfg->connected;
	u->own_port = cfg->own_port;
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		u->own[i].fd = -1;
	u->sock_count = cfg->sock_count;
	u->active = 1;
	if (cfg->uring)
		open_uring(u);
	for (unsigned i = 0; i <= cfg->sock_count; i++) {
		u->order[i] = (uint8_t)i;
		u->sock[i].place = (uint8_t)i;
		u->sock[i].fd = -1;
		if (i < cfg->sock_count)
			rn_udp_set(u, i, cfg->sock[i], &cfg->gid[i]);
	}
	return u;
}

void rn_udp_free(struct rn_udp *u)
{
	if (!u)
		return;
	rn_udp_leave_all(u);
	for (unsigned i = 0; i <= u->sock_count; i++) {
		rn_udp_close_connected(u, i);
		close_fd(u->sock[i].fd);
		if (i < RN_GID_MAX)
			rn_udp_close_own(u, i);
	}
	uring_free(u->uring);
	uring_free(u->failed_uring);
	free(u->reseal);
	free(u);
}
