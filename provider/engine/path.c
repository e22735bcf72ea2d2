/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* path.c - what the network carries now, and why a peer is silent. */
#include "path.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "engine_internal.h"
#include "fd.h"
#include "rocin/icrc.h"
#include "rocin/transport.h"
#include "rocin/wire.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/udp/icmp_probe.h"

enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	/* Of a packet with a full payload: a WRITE Only with immediate, over XRC. */
	HEADERS = UDP_LEN + RN_BTH_LEN + RN_XRCETH_LEN + RN_RETH_LEN + RN_IMM_LEN +
		  RN_ICRC_LEN,
};

uint32_t rnp_port_mtu(const struct rn_netdev *dev)
{
	uint32_t mtu = rn_netdev_path_mtu(dev->mtu), now = mtu;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { 0 };

	if (fd < 0)
		return mtu;
	memcpy(req.ifr_name, dev->ifname, sizeof(req.ifr_name));
	if (ioctl(fd, SIOCGIFMTU, &req) == 0)
		now = rn_netdev_path_mtu((uint32_t)req.ifr_mtu);
	rn_fd_close(fd);
	if (now == 0) /* no path MTU is as small as that */
		now = 256;
	return now < mtu ? now : mtu;
}

static void close_way(int *fd)
{
	if (*fd > 0)
		rn_fd_close(*fd);
	*fd = 0;
}

void rnp_path_mtu_close(struct rnp_path_mtu *p)
{
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		close_way(&p->way[i].fd);
}

/* Bound, since the route may depend on it. Return: 0: none can be had. */
static int open_way(const struct rn_gid *src, uint32_t ifindex)
{
	int fd = rnp_fd_own(socket(rn_gid_is_ipv4(src) ? AF_INET : AF_INET6,
				   SOCK_DGRAM | SOCK_CLOEXEC, 0));
	union rn_sockaddr a;
	socklen_t len = rn_gid_sockaddr_on(&a, src, 0, ifindex);

	if (fd > 0 && bind(fd, &a.sa, len) < 0)
		close_way(&fd);
	return fd > 0 ? fd : 0;
}

/* MTU of the way to an address, IP header included; 0: nobody knows. */
static uint32_t ask(int fd, const struct rn_gid *dst, uint32_t ifindex)
{
	bool ipv4 = rn_gid_is_ipv4(dst);
	union rn_sockaddr a;
	socklen_t len = rn_gid_sockaddr_on(&a, dst, RN_ROCE_PORT, ifindex);
	int mtu = 0;

	/* Which looks for the route again; what it found before may be gone. */
	if (connect(fd, &a.sa, len) < 0)
		return 0;
	len = sizeof(mtu);
	if (getsockopt(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_MTU : IPV6_MTU,
		       &mtu, &len) < 0)
		return 0;
	return mtu > 0 ? (uint32_t)mtu : 0;
}

static uint32_t way_mtu(struct rnp_path_mtu *p, const struct rn_netdev *dev,
			const struct rn_av *av)
{
	const struct rn_gid *src = &dev->gid[av->sgid_index];
	int *fd = &p->way[av->sgid_index].fd;
	uint32_t mtu;

	if (memcmp(&p->way[av->sgid_index].src, src, sizeof(*src)) != 0)
		close_way(fd);
	p->way[av->sgid_index].src = *src;
	if (!*fd)
		*fd = open_way(src, dev->ifindex);
	mtu = *fd ? ask(*fd, &av->dgid, dev->ifindex) : 0;
	/* Perhaps the address was away meanwhile, or somebody has closed it. */
	if (!mtu)
		close_way(fd);
	return mtu;
}

bool rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
		      const struct rn_av *av, uint32_t path_mtu)
{
	uint32_t ip = rn_gid_is_ipv4(&av->dgid) ? IPV4_LEN : IPV6_LEN;
	uint32_t mtu = way_mtu(p, dev, av);

	if (mtu == 0 || mtu >= ip + HEADERS + path_mtu)
		return true;
	rn_log(RN_LOG_WARN,
	       "%s: a path MTU of %u bytes is refused: packets of %u bytes go to its "
	       "peer "
	       "at most",
	       dev->ibdev, path_mtu, mtu);
	return false;
}

/* ---------------------------------------------------------------- the ICMP probe */
enum {
	PAUSE_MS = 1000, /* hosts limit the rate of what they say by ICMP */
};

void rnp_icmp_probe_init(struct rnp_icmp_probe *k)
{
	*k = (struct rnp_icmp_probe){ .fd = -1 };
}

void rnp_icmp_probe_end(struct rnp_icmp_probe *k)
{
	if (k->fd >= 0)
		rn_fd_close(k->fd);
	k->fd = -1;
}

/* Once for each peer, unless there are several in turn. */
static void say(struct rnp_engine *e, int err)
{
	struct rnp_icmp_probe *k = &e->icmp_probe;
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
	int err = e->icmp_probe.fd < 0 ? 0 : rn_icmp_probe_answer(e->icmp_probe.fd);

	if (!err)
		return;
	say(e, err);
	rnp_icmp_probe_end(&e->icmp_probe);
}

void rnp_icmp_probe_silent(struct rnp_engine *e, rn_ns now)
{
	struct rnp_icmp_probe *k = &e->icmp_probe;
	struct rn_flow flow;

	if (!rn_dev_silent(e->dev, &flow))
		return;
	look_for_answer(e);
	if (now < k->next)
		return;
	rnp_icmp_probe_end(k);
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
