/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* target.c - connects to the agent (the program that calls verbs on the device under
 * test), sends and receives packets by UDP sockets, and reads the counters of a device on
 * this host.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"
#include "rocin/wire.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/rocind/rocind_client.h"
#include "transport/io/rocind/stats_pages.h"

/* ---------------------------------------------------- sending and receiving packets */
/* A constant that the glibc of older distributions does not define. */
#ifndef IPV6_AUTOFLOWLABEL
#define IPV6_AUTOFLOWLABEL 70
#endif

static bool set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* ------------------------------------------------------------------ opening sockets */
/* Returns the index of the interface that has this address. Returns 0 if no interface has
 * it, which is the case for most addresses in 127.0.0.0/8.
 */
static uint32_t ifindex_of(const struct rn_gid *own)
{
	union rn_sockaddr want;
	struct ifaddrs *list = NULL;
	uint32_t found = 0;

	rn_gid_sockaddr(&want, own, 0, 0);
	if (getifaddrs(&list))
		return 0;
	for (struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
		union rn_sockaddr has = { 0 };

		if (!i->ifa_addr || i->ifa_addr->sa_family != want.sa.sa_family)
			continue;
		memcpy(&has, i->ifa_addr,
		       want.sa.sa_family == AF_INET ? sizeof(has.in) : sizeof(has.in6));
		if (want.sa.sa_family == AF_INET
			    ? has.in.sin_addr.s_addr == want.in.sin_addr.s_addr
			    : !memcmp(&has.in6.sin6_addr, own->raw, sizeof(own->raw)))
			found = if_nametoindex(i->ifa_name);
	}
	freeifaddrs(list);
	return found;
}

static void ask_for_facts(int fd, bool ipv4)
{
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 4 << 20);
	if (ipv4) {
		set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		set_int(fd, IPPROTO_IP, IP_RECVTOS, 1);
		set_int(fd, IPPROTO_IP, IP_RECVTTL, 1);
		return;
	}
	set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	set_int(fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0);
	set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	set_int(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
}

static int open_udp(const struct rn_gid *gid, uint16_t port, bool shared)
{
	union rn_sockaddr at;
	socklen_t len = rn_gid_sockaddr(&at, gid, port, 0);
	int fd = socket(at.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	ask_for_facts(fd, rn_gid_is_ipv4(gid));
	if ((!shared || set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1)) &&
	    bind(fd, &at.sa, len) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* Opens a UDP socket on @gid. It sends with DF set, so the kernel uses IPv4
 * identification 0, and it reports ToS and TTL of received packets. Returns the
 * descriptor or -errno.
 */
static int udp_socket(const struct rn_gid *gid, uint16_t port)
{
	return open_udp(gid, port, false);
}

/* Opens a socket that receives packets to the multicast group @group, on the interface
 * with the address @own. Returns the descriptor or -errno.
 */
static int group_socket(const struct rn_gid *group, const struct rn_gid *own)
{
	struct ip_mreqn v4 = { .imr_ifindex = (int)ifindex_of(own) };
	struct ipv6_mreq v6 = { .ipv6mr_interface = ifindex_of(own) };
	int fd = open_udp(group, RN_ROCE_PORT, true);
	int rc;

	if (fd < 0)
		return fd;
	memcpy(&v4.imr_multiaddr, group->raw + 12, sizeof(v4.imr_multiaddr));
	memcpy(&v4.imr_address, own->raw + 12, sizeof(v4.imr_address));
	memcpy(&v6.ipv6mr_multiaddr, group->raw, sizeof(group->raw));
	rc = rn_gid_is_ipv4(group)
		     ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4))
		     : setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof(v6));
	if (!rc)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* ----------------------------------------------------------------- sending a packet */
static bool set_header(int fd, const struct rn_flow *f)
{
	bool to_group = rn_gid_is_multicast(&f->dst);

	if (!rn_gid_is_ipv4(&f->dst))
		return set_int(fd, IPPROTO_IPV6,
			       to_group ? IPV6_MULTICAST_HOPS : IPV6_UNICAST_HOPS,
			       f->hop_limit) &&
		       set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, f->tclass) &&
		       (!to_group ||
			set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)f->ifindex));
	return set_int(fd, IPPROTO_IP, to_group ? IP_MULTICAST_TTL : IP_TTL,
		       f->hop_limit) &&
	       set_int(fd, IPPROTO_IP, IP_TOS, f->tclass) &&
	       (!to_group ||
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, f->src.raw + 12, 4) == 0);
}

int rn_live_send(const struct rn_scene_packet *p)
{
	union rn_sockaddr to;
	socklen_t len = rn_gid_sockaddr(&to, &p->flow.dst, RN_ROCE_PORT, p->flow.ifindex);
	int fd = udp_socket(&p->flow.src, p->flow.sport);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (!set_header(fd, &p->flow) || sendto(fd, p->bytes, p->len, 0, &to.sa, len) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* --------------------------------------------------------------- receiving a packet */
static void read_ancillary(struct msghdr *m, struct rn_flow *flow)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		bool v4 = c->cmsg_level == IPPROTO_IP, v6 = c->cmsg_level == IPPROTO_IPV6;
		int value = 0;

		if (v4 && c->cmsg_type == IP_TOS) {
			flow->tclass = *CMSG_DATA(c);
			continue;
		}
		if (c->cmsg_len >= CMSG_LEN(sizeof(value)))
			memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (v6 && c->cmsg_type == IPV6_TCLASS)
			flow->tclass = (uint8_t)value;
		else if ((v4 && c->cmsg_type == IP_TTL) ||
			 (v6 && c->cmsg_type == IPV6_HOPLIMIT))
			flow->hop_limit = (uint8_t)value;
	}
}

bool rn_live_take(int fd, const struct rn_gid *gid, struct rn_scene_packet *p)
{
	_Alignas(struct cmsghdr) char control[256];
	union rn_sockaddr from;
	struct iovec iov = { .iov_base = p->bytes, .iov_len = sizeof(p->bytes) };
	struct msghdr m = { .msg_name = &from,
			    .msg_namelen = sizeof(from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0)
		return false;
	p->len = (uint32_t)n;
	p->flow = (struct rn_flow){ .dst = *gid };
	rn_flow_set_source(&p->flow, &from.sa);
	read_ancillary(&m, &p->flow);
	return true;
}

/* ------------------------------------------------ counters of a target on this host */
static bool is_it(const struct rn_conform_stats *c, const struct rn_rocind_client *client)
{
	if (client->pid != c->pid || client->stats_fd < 0)
		return false;
	for (unsigned i = 0; i < client->gid_count; i++)
		for (unsigned k = 0; k < 2; k++)
			if (!memcmp(&client->gid[i], &c->gid[k], sizeof(c->gid[k])))
				return true;
	return false;
}

static int on_client(void *ctx, const struct rn_rocind_client *client)
{
	struct rn_conform_stats *c = ctx;

	if (c->fd < 0 && is_it(c, client))
		c->fd = client->stats_fd;
	else if (client->stats_fd >= 0)
		close(client->stats_fd);
	return 0;
}

static void find_stats_page(struct rn_conform_stats *c)
{
	c->looked = true;
	c->daemon = rn_rocind_connect_running(NULL, 0);
	if (c->daemon)
		rn_rocind_list(c->daemon, on_client, c, NULL, 0);
}

static bool read_now(struct rn_conform_stats *c, uint64_t *counter)
{
	struct rn_rocind_status status;
	struct rn_stats_copy copy;
	bool good;

	if (c->fd < 0)
		return false;
	good = !rn_stats_read(c->fd, &copy) && copy.counter_count == RN_STAT_COUNT &&
	       !rn_rocind_status(c->daemon, &status, NULL, 0);
	if (good) {
		memcpy(counter, copy.page.counter, RN_STAT_COUNT * sizeof(*counter));
		counter[RN_STAT_RX_UNKNOWN_QP] +=
			status.drops[RN_ROCIND_DROP_UNKNOWN_SLOT];
	}
	rn_stats_free(&copy);
	return good;
}

void rn_conform_stats_begin(struct rn_conform_stats *c)
{
	if (!c->looked)
		find_stats_page(c);
	if (!read_now(c, c->base))
		memset(c->base, 0, sizeof(c->base));
}

bool rn_conform_stats_get(struct rn_conform_stats *c, enum rn_stat stat, uint64_t *value)
{
	uint64_t counter[RN_STAT_COUNT];

	if (!read_now(c, counter))
		return false;
	*value = counter[stat] - c->base[stat];
	return true;
}

static void close_counters(struct rn_conform_stats *c)
{
	if (c->fd >= 0)
		close(c->fd);
	rn_rocind_close(c->daemon);
}

/* ------------------------------------------------- connecting to the target's agent */
enum {
	/* When the agent was lost, its process for this tester must end before the agent
	 * accepts another connection, which takes at most two times 3 s. RECONNECT_S:
	 * time for which the tester tries to connect. RECONNECT_MS: interval between two
	 * attempts.
	 */
	RECONNECT_S = 10,
	RECONNECT_MS = 250,
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Returns an IPv4 address as a GID. */
static struct rn_gid mapped_gid(uint32_t address)
{
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	rn_put_be32(gid.raw + 12, address);
	return gid;
}

/* Returns address number @which of this process in 127.0.0.0/8. It contains the process
 * id, so that several testers can run at the same time.
 */
static struct rn_gid own_address(unsigned which)
{
	return mapped_gid(UINT32_C(127) << 24 | (90 + which) << 16 |
			  ((uint32_t)getpid() & 0xffff));
}

/* Returns the address of a multicast group: in 239.0.0.0/8 (for use within an
 * organisation) or, if @ipv6, in ff1e::/16 (transient and global).
 */
static struct rn_gid own_group(bool ipv6)
{
	uint32_t pid = (uint32_t)getpid() & 0xffffff;
	struct rn_gid gid = { { 0xff, 0x1e } };

	if (!ipv6)
		return mapped_gid(UINT32_C(239) << 24 | pid);
	rn_put_be32(gid.raw + 12, pid);
	return gid;
}

static bool read_address(const char *text, struct rn_gid *gid)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*gid = mapped_gid(ntohl(v4.s_addr));
		return true;
	}
	return inet_pton(AF_INET6, text, gid->raw) == 1;
}

static int take_given(struct rn_live_target *t, const struct rn_live_options *o)
{
	for (unsigned i = 0; i < o->addresses; i++) {
		struct rn_live_side *side;
		struct rn_gid gid;

		if (!read_address(o->address[i], &gid)) {
			rn_complain("%s: not an IPv4 or IPv6 address", o->address[i]);
			return -EINVAL;
		}
		side = &t->side[rn_gid_is_ipv4(&gid) ? 0 : 1];
		*(side->has_peer ? &side->other : &side->peer) = gid;
		side->has_other = side->has_peer;
		side->has_peer = true;
	}
	return 0;
}

/* If the target is on loopback, fills in loopback addresses for those that the user has
 * not given.
 */
static void take_loopback(struct rn_live_side *ipv4)
{
	if (!ipv4->has_device || ipv4->device.raw[12] != 127)
		return;
	if (!ipv4->has_peer)
		ipv4->peer = own_address(0);
	if (!ipv4->has_other)
		ipv4->other = own_address(1);
	ipv4->has_peer = ipv4->has_other = true;
}

static int open_udp_socket(const struct rn_gid *own, int *fd)
{
	char text[INET6_ADDRSTRLEN];

	*fd = udp_socket(own, RN_ROCE_PORT);
	if (*fd >= 0)
		return 0;
	inet_ntop(AF_INET6, own->raw, text, sizeof(text));
	rn_complain("the tester's address %s, UDP port %u: %s", text, RN_ROCE_PORT,
		    strerror(-*fd));
	return *fd;
}

static int open_sockets(struct rn_live_side *side)
{
	int rc = 0;

	if (!side->has_peer || !side->has_device)
		return 0;
	side->ifindex = ifindex_of(&side->peer);
	side->group_fd = group_socket(&side->group, &side->peer);
	if (side->has_other)
		rc = open_udp_socket(&side->other, &side->other_fd);
	return rc ? rc : open_udp_socket(&side->peer, &side->fd);
}

/* Chooses the tester's addresses and opens its sockets. */
static int take_addresses(struct rn_live_target *t, const struct rn_live_options *o)
{
	int rc = take_given(t, o);

	if (rc)
		return rc;
	take_loopback(&t->side[0]);
	if (!t->side[0].has_peer && !t->side[1].has_peer) {
		rn_complain("say which address of this host to test from, --address");
		return -EINVAL;
	}
	for (unsigned i = 0; i < 2 && !rc; i++) {
		t->side[i].group = own_group(i);
		rc = open_sockets(&t->side[i]);
	}
	return rc;
}

static int say_hello(struct rn_live_target *t)
{
	static const struct rn_gid none;
	struct rn_conform_line l = { .word = "hello",
				     .count = 1,
				     .n = { RN_CONFORM_VERSION } };

	if (rn_live_ask(t, &l)) {
		rn_complain("%s", t->is_lost ? t->lost : "the agent refuses to begin");
		return -EPIPE;
	}
	if (l.n[0] != RN_CONFORM_VERSION || l.count != 7) {
		rn_complain(
			"the agent speaks version %u, this is version %u: install the "
			"same Rocin on both sides",
			(unsigned)l.n[0], RN_CONFORM_VERSION);
		return -EPROTO;
	}
	t->stats.pid = (int32_t)l.n[1];
	t->can = (uint32_t)l.n[2];
	for (unsigned i = 0; i < 2; i++) {
		struct rn_gid *gid = &t->side[i].device;

		memcpy(gid, &l.n[3 + 2 * i], sizeof(*gid));
		t->side[i].has_device = memcmp(gid, &none, sizeof(none)) != 0;
		t->stats.gid[i] = *gid;
	}
	return 0;
}

/* Opens a connection to the agent at the address that the user has given. Returns 0 or
 * -errno.
 */
static int open_wire(struct rn_live_target *t)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(RN_CONFORM_PORT) };
	int rc;

	if (rn_conform_address(t->options.target, &at))
		return -EINVAL;
	t->wire = (struct rn_conform_wire){
		.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
	};
	if (t->wire.fd >= 0 && !connect(t->wire.fd, (struct sockaddr *)&at, sizeof(at)))
		return 0;
	rc = -errno;
	close_fd(&t->wire.fd);
	return rc;
}

static int connect_agent(struct rn_live_target *t)
{
	int rc = open_wire(t);

	if (rc == -EINVAL)
		rn_complain("%s: not ADDRESS[:PORT], IPv4", t->options.target);
	else if (rc)
		rn_complain("%s: no agent, start `rocin conform --agent' there: %s",
			    t->options.target, strerror(-rc));
	return rc;
}

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Called after reconnecting to the agent: sends `hello' to its new process. Returns true
 * if the device has the same properties as before.
 */
static bool greets_again(struct rn_live_target *t)
{
	struct rn_conform_line l = { .word = "hello",
				     .count = 1,
				     .n = { RN_CONFORM_VERSION } };

	if (open_wire(t))
		return false;
	t->is_lost = false;
	if (!rn_live_ask(t, &l) && l.count == 7 && l.n[0] == RN_CONFORM_VERSION) {
		t->stats.pid = (int32_t)l.n[1];
		return true;
	}
	close_fd(&t->wire.fd);
	return false;
}

bool rn_live_reconnect(struct rn_live_target *t)
{
	time_t until;

	close_fd(&t->wire.fd);
	close_counters(&t->stats);
	t->stats.fd = -1;
	t->stats.daemon = NULL;
	t->stats.looked = false;
	until = now_s() + RECONNECT_S;
	do {
		if (greets_again(t))
			return true;
		poll(NULL, 0, RECONNECT_MS);
	} while (now_s() < until);
	t->is_lost = t->is_gone = true;
	rn_complain("the agent is gone");
	return false;
}

struct rn_live_target *rn_live_target_open(const struct rn_live_options *o)
{
	struct rn_live_target *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->wire.fd = t->stats.fd = -1;
	for (unsigned i = 0; i < 2; i++)
		t->side[i].fd = t->side[i].other_fd = t->side[i].group_fd = -1;
	t->at = &t->side[0];
	t->options = *o;
	/* a number that earlier runs of this program have probably not used */
	t->run = (uint32_t)(rn_conform_now() >> 20) % RN_SCENE_RUNS;
	rn_live_set_ops(t);
	if (!connect_agent(t) && !say_hello(t) && !take_addresses(t, o))
		return t;
	rn_live_target_close(t);
	return NULL;
}

void rn_live_target_close(struct rn_live_target *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < 2; i++) {
		close_fd(&t->side[i].fd);
		close_fd(&t->side[i].other_fd);
		close_fd(&t->side[i].group_fd);
	}
	close_fd(&t->wire.fd);
	close_counters(&t->stats);
	free(t);
}

const struct rn_scene_ops *rn_live_target_ops(struct rn_live_target *t)
{
	return &t->ops;
}

bool rn_live_target_was_too_long(const struct rn_live_target *t)
{
	return t->was_too_long;
}

bool rn_live_target_is_gone(const struct rn_live_target *t)
{
	return t->is_gone;
}
