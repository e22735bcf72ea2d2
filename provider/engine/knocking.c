/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knocking.c - see knocking.h. */
#include <arpa/inet.h>
#include <string.h>

#include "engine_internal.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/udp/icmp_probe.h"

enum {
	PAUSE_MS = 1000, /* hosts limit the rate of what they say by ICMP */
};

void rnp_knocking_init(struct rnp_knocking *k)
{
	*k = (struct rnp_knocking){ .fd = -1 };
}

void rnp_knocking_end(struct rnp_knocking *k)
{
	if (k->fd >= 0)
		rn_fd_close(k->fd);
	k->fd = -1;
}

/* Once for each peer, unless there are several in turn. */
static void say(struct rnp_engine *e, int err)
{
	struct rnp_knocking *k = &e->knocking;
	uint64_t *n = &e->stats.page->counter[RN_STAT_ICMP_REFUSED];
	const char *meaning = rn_icmp_probe_meaning(err);
	bool is_ipv4 = rn_gid_is_ipv4(&k->peer);
	char peer[INET6_ADDRSTRLEN] = "?";

	if (!meaning)
		return;
	__atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
	if (memcmp(&k->said, &k->peer, sizeof(k->peer)) == 0)
		return;
	k->said = k->peer;
	inet_ntop(is_ipv4 ? AF_INET : AF_INET6, k->peer.raw + (is_ipv4 ? 12 : 0), peer,
		  sizeof(peer));
	rn_log(RN_LOG_WARN, "%s: %s refuses packets: %s", e->netdev.ibdev, peer, meaning);
}

static void look_for_answer(struct rnp_engine *e)
{
	int err = e->knocking.fd < 0 ? 0 : rn_icmp_probe_answer(e->knocking.fd);

	if (!err)
		return;
	say(e, err);
	rnp_knocking_end(&e->knocking);
}

void rnp_knock_silent(struct rnp_engine *e, rn_ns now)
{
	struct rnp_knocking *k = &e->knocking;
	struct rn_flow flow;

	if (!rn_dev_silent(e->dev, &flow))
		return;
	look_for_answer(e);
	if (now < k->next)
		return;
	rnp_knocking_end(k);
	k->next = now + RN_MSEC(PAUSE_MS);
	k->peer = flow.dst;
	if (!flow.ifindex)
		flow.ifindex = e->netdev.ifindex;
	k->fd = rn_icmp_probe_send(&flow);
	if (k->fd < 0)
		say(e, -k->fd);
	else
		look_for_answer(e);
}
