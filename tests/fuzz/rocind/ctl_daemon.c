/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ctl_daemon.c - rocind's code without its network: up to four clients say anything, and
 * addresses come and go; channels of the connection manager get any descriptors.
 *
 * UDP sockets are Unix sockets here, and what an interface has is made up (-Wl,--wrap).
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl_sides.h"
#include "tests/kit/system/hand_over.h"
#include "tools/rocind/cm/cm.h"
#include "tools/rocind/net/iface.h"
#include "tools/rocind/server/server.h"
#include "transport/io/rocind/ctl_socket.h"

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_rnd_iface_read(uint32_t ifindex, struct rnd_iface *out);

enum {
	PEERS = 4,
	STEPS_MAX = 64,
	OTHER = 0x80,	/* bit of a step */
	POOL = 16,	/* addresses 10.0.0.0 .. that an interface may have */
	FOREIGN = 0xf0, /* addresses that end in this or more are nobody's */
	LOOPBACK = 1,	/* interface index; that of the others is below IFACES */
	IFACES = 4,
};

struct peer {
	int sock;	/* -1: not connected */
	int channel;	/* of the connection manager, or -1 */
	int way[2];	/* both ends of the last one, or -1 */
	unsigned asked; /* requests without an answer */
	bool greeted;
};

static struct {
	struct rnd_server server;
	struct peer peer[PEERS];
	struct rnd_iface iface[IFACES];
} w;

/* ---- The network ---- */

int __wrap_socket(int domain, int type, int protocol)
{
	if (domain == AF_INET || domain == AF_INET6)
		return __real_socket(AF_UNIX, type, 0);
	return __real_socket(domain, type, protocol);
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	/* Both end with the address, but for the scope of IPv6. */
	const struct sockaddr_in *v4 = (const void *)addr;
	const struct sockaddr_in6 *v6 = (const void *)addr;
	uint8_t last;

	if (addr->sa_family == AF_UNIX)
		return __real_bind(fd, addr, len);
	require(fd >= 0 && len >= sizeof(*v4));
	last = addr->sa_family == AF_INET ? (uint8_t)(ntohl(v4->sin_addr.s_addr) & 0xff)
					  : v6->sin6_addr.s6_addr[15];
	if (last < FOREIGN)
		return 0;
	errno = EADDRNOTAVAIL;
	return -1;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	(void)level;
	(void)name;
	require(fd >= 0 && value && len);
	return 0;
}

int __wrap_rnd_iface_read(uint32_t ifindex, struct rnd_iface *out)
{
	*out = (struct rnd_iface){ .knows_gids = true };
	if (ifindex == 0 || ifindex >= IFACES)
		return -ENODEV;
	*out = w.iface[ifindex];
	return 0;
}

static void change_iface(struct script *s)
{
	struct rnd_iface *iface = &w.iface[take8(s) % IFACES];
	uint16_t has = take16(s);
	uint8_t flags = take8(s);

	*iface = (struct rnd_iface){ .name = "eth0",
				     .up = flags & 1,
				     .is_loopback = iface == &w.iface[LOOPBACK],
				     .knows_gids = !(flags & 2) };
	for (unsigned i = 0; i < POOL; i++)
		if (has >> i & 1)
			iface->gid[iface->gid_count++] = (struct rn_gid){
				.raw = { [10] = 0xff, 0xff, 10, 0, 0, (uint8_t)i }
			};
	rnd_watch_changed(&w.server);
}

/* ---- Clients ---- */

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* A channel outlives the connection that opened it. */
static void hang_up(struct peer *p)
{
	shut(&p->sock);
	p->asked = 0;
	p->greeted = false;
}

static void forget_ways(struct peer *p)
{
	shut(&p->way[0]);
	shut(&p->way[1]);
}

static void call(struct peer *p)
{
	int pair[2];

	hang_up(p);
	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	p->sock = pair[0];
	rnd_client_accept(&w.server, pair[1]);
}

static void check_listed(const struct rn_ctl_client *client, unsigned fd_count)
{
	require(client->gid_count >= 1 && client->gid_count <= RN_GID_MAX);
	require(memchr(client->ibdev, '\0', sizeof(client->ibdev)) != NULL);
	require(memchr(client->ifname, '\0', sizeof(client->ifname)) != NULL);
	require(client->has_stats == fd_count);
}

static void check_answer(struct peer *p, const struct rn_ctl_packet *pkt)
{
	const struct rn_ctl_attached *attached = &pkt->msg.attached;
	const struct rn_ctl_refused *refused = &pkt->msg.refused;

	if (pkt->msg.hdr.type >= RN_CTL_GID_CHANGE)
		return;
	require(pkt->msg.hdr.type >= RN_CTL_WELCOME);
	require(p->asked > 0);
	p->asked--;
	if (pkt->msg.hdr.type == RN_CTL_ATTACHED) {
		require(attached->slot >= 1 && attached->slot <= RN_CTL_SLOT_MAX);
		require(attached->qpn_counter >= 1);
		require(attached->qpn_counter <= UINT16_MAX);
		require(attached->sock_count == pkt->fd_count);
	}
	if (pkt->msg.hdr.type == RN_CTL_CM_OPENED) {
		require(pkt->fd_count >= 1);
		shut(&p->channel);
		p->channel = dup(pkt->fd[0]);
	}
	if (pkt->msg.hdr.type == RN_CTL_CLIENT)
		check_listed(&pkt->msg.client, pkt->fd_count);
	if (pkt->msg.hdr.type == RN_CTL_REFUSED) {
		require(refused->err > 0 && refused->text[0]);
		require(memchr(refused->text, '\0', sizeof(refused->text)) != NULL);
	}
}

/* A client that is still connected has its answer, unless it asked for the end. */
static void read_all(struct peer *p)
{
	struct rn_ctl_packet pkt;
	int rc;

	if (p->sock < 0)
		return;
	while ((rc = rn_ctl_receive(p->sock, &pkt)) == 0) {
		require(rn_ctl_check(&pkt) == 0);
		check_answer(p, &pkt);
		rn_ctl_close_fds(&pkt);
	}
	require(rc == -EAGAIN || rc == -ECONNRESET);
	if (rc == -EAGAIN && !w.server.stopping)
		require(p->asked == 0);
	if (rc == -ECONNRESET)
		hang_up(p);
}

/* ---- The daemon ---- */

/* As rnd_server_run(), until nothing is left to do. */
static void serve(void)
{
	struct epoll_event event;

	while (!w.server.stopping && epoll_wait(w.server.epoll_fd, &event, 1, 0) == 1) {
		const struct rnd_source *source = event.data.ptr;

		source->on_ready(source->ctx);
	}
}

static bool shares_slot(const struct rnd_attachment *a, const struct rnd_attachment *b)
{
	for (uint32_t i = 0; i < a->gid_count; i++)
		for (uint32_t k = 0; k < b->gid_count; k++)
			if (a->group[i] && a->group[i] == b->group[k] &&
			    a->slot == b->slot)
				return true;
	return false;
}

/* Each slot that is taken has one owner. */
static void check_slots(void)
{
	unsigned taken = 0, owned = 0;

	for (const struct rnd_client *c = w.server.clients; c; c = c->next) {
		const struct rnd_attachment *a = &c->attachment;

		require(a->gid_count <= RN_GID_MAX);
		require(a->slot || a->gid_count == 0);
		for (uint32_t i = 0; i < a->gid_count; i++) {
			require(!a->group[i] || a->group[i]->taken[a->slot]);
			owned += a->group[i] != NULL;
		}
		for (const struct rnd_client *d = c->next; d; d = d->next)
			require(!shares_slot(a, &d->attachment));
	}
	for (const struct rnd_group *g = w.server.groups.first; g; g = g->next) {
		unsigned here = 0;

		for (unsigned slot = 0; slot < RND_SLOT_COUNT; slot++)
			here += g->taken[slot];
		require(g->users == here);
		taken += here;
	}
	require(taken == owned);
}

/* Events may follow, but no answer. */
static bool is_notice(int type)
{
	return type == RN_CTL_WIRE_ASK || type == RN_CTL_WIRE_DROP;
}

static bool is_request(int type)
{
	return type >= RN_CTL_HELLO && type <= RN_CTL_CAPTURE && !is_notice(type);
}

/* What rocind does not understand, or not now, ends the connection. */
static void say(struct peer *p, struct script *s)
{
	int type = ctl_speak(s, p->sock);

	if (type == CTL_UNSENT)
		return;
	if (is_notice(type) && p->greeted) {
		serve();
		return;
	}
	p->asked++;
	serve();
	if (is_request(type) && (type == RN_CTL_HELLO) != p->greeted) {
		p->greeted = true;
		return;
	}
	read_all(p);
	require(p->sock < 0);
}

static void hand_over_pair(struct peer *p)
{
	forget_ways(p);
	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->way) == 0);
	(void)!hand_over(p->channel, p->way[0], MSG_DONTWAIT);
}

static void hand_over_other(const struct peer *p)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	require(fd >= 0);
	(void)!hand_over(p->channel, fd, MSG_DONTWAIT);
	close(fd);
}

/* A program at its channel. Its ends of ways stay open, both of them. */
static void use_channel(struct peer *p, struct script *s)
{
	uint8_t bytes[RN_CTL_TEXT_LEN];
	size_t len;

	if (p->channel < 0)
		return;
	switch (take8(s) % 6) {
	case 0:
		hand_over_pair(p);
		break;
	case 1:
		hand_over_other(p);
		break;
	case 2:
		(void)!hand_over(p->channel, p->channel, MSG_DONTWAIT);
		break;
	case 3:
		shut(&p->channel);
		break;
	case 4:
		forget_ways(p);
		break;
	default:
		len = take8(s);
		take_bytes(s, bytes, len);
		if (p->way[1] >= 0)
			(void)!send(p->way[1], bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	}
}

static void step(struct script *s)
{
	uint8_t op = take8(s);
	struct peer *p = &w.peer[op % PEERS];

	switch (op / PEERS % 8) {
	case 0:
		call(p);
		break;
	case 1:
		hang_up(p);
		break;
	case 2:
		if (op & OTHER)
			rnd_groups_give_back(&w.server.groups, RN_NEVER, 0);
		else
			change_iface(s);
		break;
	case 3:
		if (op & OTHER)
			use_channel(p, s);
		else
			read_all(p);
		break;
	default:
		if (p->sock >= 0)
			say(p, s);
		break;
	}
}

static void open_server(void)
{
	require(rnd_server_init(&w.server, 0) == 0);
	w.server.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	require(w.server.epoll_fd >= 0);
	for (unsigned i = 0; i < RND_SLOT_COUNT; i++)
		w.server.groups.next_counter[i] = (uint16_t)(i + 1);
	memset(w.iface, 0, sizeof(w.iface));
	for (unsigned i = 0; i < PEERS; i++)
		w.peer[i] = (struct peer){ .sock = -1, .channel = -1, .way = { -1, -1 } };
}

void ctl_daemon_side(struct script *s)
{
	open_server();
	for (unsigned n = 0; n < STEPS_MAX && !script_is_over(s) && !w.server.stopping;
	     n++) {
		step(s);
		serve();
		check_slots();
	}
	w.server.stopping = true;
	rnd_server_run(&w.server);
	for (unsigned i = 0; i < PEERS; i++) {
		read_all(&w.peer[i]);
		hang_up(&w.peer[i]);
		shut(&w.peer[i].channel);
		forget_ways(&w.peer[i]);
	}
	rnd_server_close(&w.server);
}
