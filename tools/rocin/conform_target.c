/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_target.c - reaches the agent of a target, takes the tester's addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "conform_addr.h"
#include "conform_live_internal.h"
#include "rocin/netdev.h"

/* IPv4 in a GID. */
static struct rn_gid mapped(struct in_addr address)
{
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	memcpy(gid.raw + 12, &address, sizeof(address));
	return gid;
}

/* An address of 127/8 that has the process id in it, so that testers run side by side. */
static struct in_addr own_address(unsigned which)
{
	uint32_t pid = (uint32_t)getpid();

	return (struct in_addr){ htonl(UINT32_C(127) << 24 | (90 + which) << 16 |
				       (pid & 0xffff)) };
}

/* Addresses of the tester, and its socket. */
static int take_address(struct rn_live_target *t, const struct rn_live_options *o)
{
	struct in_addr own = own_address(0);

	if (o->address && inet_pton(AF_INET, o->address, &own) != 1) {
		rn_complain("%s: not an IPv4 address", o->address);
		return -EINVAL;
	}
	t->has_other = t->device.raw[12] == 127;
	if (!o->address && !t->has_other) {
		rn_complain("say which address of this host to test from, --address");
		return -EINVAL;
	}
	t->peer = mapped(own);
	t->other = mapped(own_address(1));
	t->fd = rn_live_socket(&t->peer, RN_ROCE_PORT);
	if (t->fd < 0)
		rn_complain("the tester's address, UDP port %u: %s", RN_ROCE_PORT,
			    strerror(-t->fd));
	return t->fd < 0 ? t->fd : 0;
}

static int say_hello(struct rn_live_target *t)
{
	struct rn_conform_line l = { .word = "hello",
				     .count = 1,
				     .n = { RN_CONFORM_VERSION } };

	if (rn_live_ask(t, &l))
		return -EPIPE;
	if (l.count != 3 || l.n[0] != RN_CONFORM_VERSION) {
		rn_complain(
			"the agent speaks version %u, this is version %u: install the "
			"same Rocin on both sides",
			(unsigned)l.n[0], RN_CONFORM_VERSION);
		return -EPROTO;
	}
	memcpy(t->device.raw, &l.n[1], sizeof(t->device.raw));
	if (rn_gid_is_ipv4(&t->device))
		return 0;
	rn_complain("the agent's GID is not an IPv4 address; start it with another, -g");
	return -EAFNOSUPPORT;
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
	t->fd = t->wire.fd = -1;
	rn_live_set_ops(t, o);
	if (!connect_agent(t, o) && !say_hello(t) && !take_address(t, o))
		return t;
	rn_live_target_close(t);
	return NULL;
}

void rn_live_target_close(struct rn_live_target *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	if (t->wire.fd >= 0)
		close(t->wire.fd);
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
