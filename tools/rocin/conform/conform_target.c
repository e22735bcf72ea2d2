/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_target.c - reaches the agent of a target, takes the tester's addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform_addr.h"
#include "conform_live_internal.h"
#include "rocin/wire.h"
#include "tools/rocin/common/cmd.h"

/* IPv4 in a GID. */
static struct rn_gid mapped(uint32_t address)
{
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	rn_put_be32(gid.raw + 12, address);
	return gid;
}

/* An address of 127/8 that has the process id in it, so that testers run side by side. */
static struct rn_gid own_address(unsigned which)
{
	return mapped(UINT32_C(127) << 24 | (90 + which) << 16 |
		      ((uint32_t)getpid() & 0xffff));
}

/* 239/8 is of the organization, ff1e::/16 for everyone and not for long. */
static struct rn_gid own_group(bool ipv6)
{
	uint32_t pid = (uint32_t)getpid() & 0xffffff;
	struct rn_gid gid = { { 0xff, 0x1e } };

	if (!ipv6)
		return mapped(UINT32_C(239) << 24 | pid);
	rn_put_be32(gid.raw + 12, pid);
	return gid;
}

static bool read_address(const char *text, struct rn_gid *gid)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*gid = mapped(ntohl(v4.s_addr));
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

/* Loopback has addresses for everybody. */
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

static int open_socket(const struct rn_gid *own, int *fd)
{
	char text[INET6_ADDRSTRLEN];

	*fd = rn_live_socket(own, RN_ROCE_PORT);
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
	side->ifindex = rn_live_ifindex(&side->peer);
	side->group_fd = rn_live_group_socket(&side->group, &side->peer);
	if (side->has_other)
		rc = open_socket(&side->other, &side->other_fd);
	return rc ? rc : open_socket(&side->peer, &side->fd);
}

/* Addresses of the tester, and its sockets. */
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

	if (rn_live_ask(t, &l))
		return -EPIPE;
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

static int connect_agent(struct rn_live_target *t, const struct rn_live_options *o)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(RN_CONFORM_PORT) };

	if (rn_conform_address(o->target, &at)) {
		rn_complain("%s: not ADDRESS[:PORT], IPv4", o->target);
		return -EINVAL;
	}
	t->wire.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->wire.fd < 0 || connect(t->wire.fd, (struct sockaddr *)&at, sizeof(at))) {
		rn_complain("%s: no agent, start `rocin conform --agent' there: %s",
			    o->target, strerror(errno));
		return -ENOTCONN;
	}
	return 0;
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
	rn_live_set_ops(t, o);
	if (!connect_agent(t, o) && !say_hello(t) && !take_addresses(t, o))
		return t;
	rn_live_target_close(t);
	return NULL;
}

void rn_live_target_close(struct rn_live_target *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < 2; i++) {
		if (t->side[i].fd >= 0)
			close(t->side[i].fd);
		if (t->side[i].other_fd >= 0)
			close(t->side[i].other_fd);
		if (t->side[i].group_fd >= 0)
			close(t->side[i].group_fd);
	}
	if (t->wire.fd >= 0)
		close(t->wire.fd);
	rn_conform_stats_close(&t->stats);
	free(t);
}

const struct rn_scene_ops *rn_live_target_ops(struct rn_live_target *t)
{
	return &t->ops;
}

bool rn_live_target_is_lost(const struct rn_live_target *t)
{
	return t->is_lost;
}
