/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_udp.c - the sockets of a device: which one to read next, and reading. */
#include "net_udp.h"
#include "transport/io/host/fd_close.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/io/host/log.h"
#include "udp_internal.h"

enum {
	LOOK_ANYWAY = 256,    /* calls, though those in use never run dry */
	TURN = 8,	      /* packets from one socket before the next has its turn */
	IDLE_AFTER = 1 << 14, /* vain looks at a socket before it counts as unused */
};

/* ------------------------------------------------------------ sockets in use */
/* u->order lists the sockets: first those in use, then the others, then empty places. */
void rn_udp_in_use(struct rn_udp *u, unsigned idx)
{
	unsigned at = u->sock[idx].place;

	u->sock[idx].idle = 0;
	if (at < u->active)
		return;
	rn_udp_swap(u, at, u->active);
	u->active++;
}

void rn_udp_swap(struct rn_udp *u, unsigned a, unsigned b)
{
	uint8_t ia = u->order[a], ib = u->order[b];

	u->order[a] = ib;
	u->order[b] = ia;
	u->sock[ib].place = (uint8_t)a;
	u->sock[ia].place = (uint8_t)b;
}

static void not_in_use(struct rn_udp *u, unsigned idx)
{
	if (u->active <= 1)
		return;
	u->active--;
	rn_udp_swap(u, u->sock[idx].place, u->active);
}

/* ------------------------------------------------------------------ receive */
static void count_overflow(struct rn_udp *u, uint32_t *last, uint32_t overflow)
{
	uint64_t *counter = &u->stats[RN_STAT_SOCK_OVERFLOW];

	/* The kernel counts super-packets, modulo 2^32. */
	__atomic_store_n(counter, *counter + (uint32_t)(overflow - *last),
			 __ATOMIC_RELAXED);
	*last = overflow;
}

/* One datagram, from a socket that @dst is bound to. */
static void take(struct rn_udp *u, const struct rn_net_datagram *d,
		 const struct rn_gid *dst, uint32_t *overflow)
{
	struct rn_rx_meta meta;
	uint32_t len = d->len;

	rn_rx_meta(d->msg, &meta);
	if (meta.has_overflow)
		count_overflow(u, overflow, meta.overflow);
	/* To the same group, but on another interface: not for this device. */
	if (meta.ifindex != 0 && meta.ifindex != u->ifindex)
		len = 0;
	u->rx_flow.dst = *dst;
	u->rx_flow.ifindex = u->ifindex;
	u->rx_flow.tclass = meta.tclass;
	u->rx_flow.hop_limit = meta.hop_limit;
	rn_rx_source(d->msg->msg_name, &u->rx_flow);
	rn_rx_split_init(&u->split, d->data, len, meta.seg_len);
}

/* Errors of a socket are errors of packets that it sent: nothing to read. */
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
	struct rn_net_datagram d = { .msg = &msg, .data = u->rx_buf };
	long n = syscall(SYS_recvmsg, fd, &msg, MSG_DONTWAIT);

	if (n < 0)
		return false;
	d.len = (uint32_t)n;
	take(u, &d, dst, overflow);
	return true;
}

/* ---------------------------------------------------------- receive by io_uring */
static bool read_kept(struct rn_udp *u)
{
	struct rn_net_datagram d;

	if (!u->uring || !rn_net_uring_next(u->uring, &d))
		return false;
	u->taken++;
	take(u, &d, u->kept.dst, u->kept.overflow);
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
	rc = rn_net_uring_receive(u->uring, fd, &found);
	if (rc) {
		rn_udp_fall_back(u, rc);
		return read_by_call(u, fd, dst, overflow);
	}
	return found && read_kept(u);
}

void rn_udp_forget(struct rn_udp *u)
{
	if (u->uring)
		rn_net_uring_forget(u->uring);
}

void rn_udp_fall_back(struct rn_udp *u, int rc)
{
	rn_log(RN_LOG_WARN, "io_uring fails (%s); packets go by sendmsg and recvmsg",
	       strerrordesc_np(-rc));
	u->failed_uring = u->uring; /* packets that were delivered lie there */
	u->uring = NULL;
}

bool rn_udp_holds(const struct rn_udp *u)
{
	return u->uring && rn_net_uring_holds(u->uring);
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
		rn_udp_in_use(u, idx);
	return found;
}

static void next_turn(struct rn_udp *u)
{
	u->taken = 0;
	if (++u->cursor >= u->active)
		u->cursor = 0;
}

/* The sockets in use, beginning with the one that had something last. */
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

/* All the others, of which one may have got its first packet. */
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
	if (n <= 1) /* then recvmsg() alone is cheaper */
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

/* -------------------------------------------------------------- life of it */
static const struct rn_net_ops udp_ops = {
	.transmit = rn_udp_transmit,
	.receive = udp_receive,
	.outlet = rn_udp_outlet,
};

static void close_fd(int fd)
{
	if (fd >= 0)
		rn_fd_close(fd);
}

/* What the socket puts into packets when sendmsg() says nothing. */
static void learn_defaults(struct udp_sock *s)
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

void rn_udp_set(struct rn_udp *u, unsigned idx, int fd, const struct rn_gid *gid)
{
	struct udp_sock *s = &u->sock[idx];

	assert(idx < u->sock_count);
	rn_udp_shut_outlets(u, idx);
	close_fd(s->fd);
	s->fd = rn_own_fd_keep(fd);
	s->overflow = 0;
	u->split = (struct rn_rx_split){ 0 };
	rn_udp_forget(u);
	if (fd < 0)
		return;
	s->gid = *gid;
	s->is_ipv4 = rn_gid_is_ipv4(gid);
	learn_defaults(s);
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

	u->uring = rn_net_uring_new(why, sizeof(why));
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
	u->has_outlets = cfg->outlets;
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
		rn_udp_shut_outlets(u, i);
		close_fd(u->sock[i].fd);
	}
	rn_net_uring_free(u->uring);
	rn_net_uring_free(u->failed_uring);
	free(u->reseal);
	free(u);
}
