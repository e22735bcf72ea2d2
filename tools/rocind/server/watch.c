/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.c - compares the state of network interfaces with what clients have been told,
 * and reports changes to them.
 */
#include "server.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/rocind/cm/cm.h"
#include "tools/rocind/net/iface.h"
#include "transport/io/host/log.h"

enum {
	/* Maximum number of messages that are read at a time, so that frequent changes of
	 * addresses do not delay clients. If there are more, the socket stays readable.
	 * When an interface comes up, about 10 messages are sent.
	 */
	NEWS_MAX = 64,
};

int rnd_watch_open(void)
{
	const struct sockaddr_nl groups = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	const struct rnd_links_question links = rnd_links_question();
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_ROUTE);
	int err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&groups, sizeof(groups)) == 0 &&
	    send(fd, &links, sizeof(links), 0) == sizeof(links))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static bool tell_gid(struct rnd_client *client, unsigned idx, bool added)
{
	const struct rnd_attachment *a = &client->attachment;
	const struct rn_ctl_gid_change msg = { .hdr = rn_ctl_hdr(RN_CTL_GID_CHANGE),
					       .gid_idx = idx,
					       .added = added,
					       .gid = a->gid[idx] };

	return rnd_client_tell(client, &msg, added ? a->group[idx]->sock[a->slot] : -1);
}

/* Adds an address to the client's device. Returns false if the client was closed. */
static bool add_gid(struct rnd_client *client, unsigned idx, const struct rn_gid *gid)
{
	int rc = rnd_attach_gid(&client->server->groups, &client->attachment, idx, gid);

	if (rc == 0)
		return tell_gid(client, idx, true);
	/* While the kernel checks whether an address is a duplicate, it cannot be bound.
	 * When the check has ended, another message comes.
	 */
	rn_log(rc == -EADDRNOTAVAIL ? RN_LOG_DEBUG : RN_LOG_WARN,
	       "process %d does not get an address that appeared on %s: %s", client->pid,
	       client->attachment.ifname, strerror(-rc));
	return true;
}

/* Reports which addresses of the GID table the interface has lost or has got again.
 * Returns false if the client was closed.
 */
static bool update_known(struct rnd_client *client, const struct rnd_iface *iface)
{
	struct rnd_attachment *a = &client->attachment;

	for (unsigned idx = 0; idx < a->gid_count; idx++) {
		bool is_there = rnd_iface_has(iface, &a->gid[idx]);
		const struct rn_gid gid = a->gid[idx];

		if (is_there == (a->group[idx] != NULL))
			continue;
		if (!is_there) {
			rnd_wires_close_gid(client, idx);
			rnd_detach_gid(a, idx);
		}
		if (is_there ? !add_gid(client, idx, &gid)
			     : !tell_gid(client, idx, false))
			return false;
	}
	return true;
}

static bool knows_gid(const struct rnd_attachment *a, const struct rn_gid *gid)
{
	for (unsigned idx = 0; idx < a->gid_count; idx++)
		if (memcmp(&a->gid[idx], gid, sizeof(*gid)) == 0)
			return true;
	return false;
}

/* Returns the index of the first unused entry of the GID table. If there is none, returns
 * the index of an entry whose address the interface has lost.
 */
static unsigned free_place(const struct rnd_attachment *a)
{
	if (a->gid_count < RN_GID_MAX)
		return a->gid_count;
	for (unsigned idx = 0; idx < RN_GID_MAX; idx++)
		if (!a->group[idx])
			return idx;
	return RN_GID_MAX;
}

static bool add_unknown(struct rnd_client *client, const struct rnd_iface *iface)
{
	const struct rnd_attachment *a = &client->attachment;

	for (unsigned i = 0; i < iface->gid_count; i++) {
		unsigned place = free_place(a);

		if (knows_gid(a, &iface->gid[i]) || place == RN_GID_MAX)
			continue;
		if (!add_gid(client, place, &iface->gid[i]))
			return false;
	}
	return true;
}

void rnd_watch_update(struct rnd_client *client)
{
	struct rnd_attachment *a = &client->attachment;
	struct rnd_iface iface;

	if (!a->watches)
		return;
	client->is_changed = true;
	/* If this fails, the interface no longer exists, and @iface has no addresses. */
	(void)rnd_iface_read(a->ifindex, &iface);
	if (iface.knows_gids && (!update_known(client, &iface) ||
				 (a->follows && !add_unknown(client, &iface))))
		return;
	if (iface.up != a->up) {
		struct rn_ctl_port msg = { .hdr = rn_ctl_hdr(RN_CTL_PORT),
					   .up = iface.up };

		a->up = iface.up;
		rnd_client_tell(client, &msg, -1);
	}
}

/* Handles the messages about links. The loop uses NLMSG_OK(), because mnl_nlmsg_ok()
 * before libmnl 1.0.5 accepts any length from 2 GiB on.
 */
static void take_links(struct rnd_server *server, const void *news, int len)
{
	const struct nlmsghdr *msg = news;

	for (; NLMSG_OK(msg, (ssize_t)len); msg = mnl_nlmsg_next(msg, &len)) {
		uint32_t ifindex = rnd_links_take(&server->links, msg);

		if (ifindex)
			rnd_cm_addresses_changed(server->cm, ifindex);
	}
}

/* Called if the netlink socket cannot be read, for instance because a sandbox forbids it.
 * Stops waiting for the socket: it would stay readable, and rocind would try to read it
 * again and again.
 */
static void stop_if_broken(struct rnd_server *server, int error)
{
	if (error == EAGAIN)
		return;
	rn_log(RN_LOG_WARN, "changes of interfaces go unseen: %s", strerror(error));
	rnd_source_close(&server->netlink);
}

void rnd_watch_changed(struct rnd_server *server)
{
	union {
		/* large enough: the message about a link with many attributes has about 2
		 * KiB
		 */
		char buf[16384];
		struct nlmsghdr align;
	} news;
	struct rnd_client *next;

	for (unsigned i = 0; i < NEWS_MAX; i++) {
		ssize_t len = recv(server->netlink.fd, &news, sizeof(news), 0);

		if (len > 0)
			take_links(server, &news, (int)len);
		else if (len < 0 && errno != ENOBUFS && errno != EINTR) {
			stop_if_broken(server, errno);
			break;
		}
	}
	for (struct rnd_group *g = server->groups.first; g; g = g->next)
		rnd_group_forget_places(g);
	for (struct rnd_client *c = server->clients; c; c = next) {
		next = c->next;
		rnd_watch_update(c);
	}
}
