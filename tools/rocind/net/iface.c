/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* iface.c - reads name, link state and addresses of an interface by netlink and ioctl().
 */
#include "iface.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/netdev.h"

static_assert(sizeof(((struct rnd_iface *)0)->name) == IFNAMSIZ, "as the kernel has it");

static bool read_flags(const char name[IFNAMSIZ], unsigned *flags)
{
	struct ifreq req = { 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	if (fd < 0)
		return false;
	memcpy(req.ifr_name, name, sizeof(req.ifr_name));
	ok = ioctl(fd, SIOCGIFFLAGS, &req) == 0;
	*flags = (unsigned short)req.ifr_flags;
	close(fd);
	return ok;
}

int rnd_iface_read(uint32_t ifindex, struct rnd_iface *out)
{
	struct rn_netdev dev;
	char why[8]; /* not used */
	unsigned flags;
	int rc;

	*out = (struct rnd_iface){ .knows_gids = true };
	if (!if_indextoname(ifindex, out->name) || !read_flags(out->name, &flags))
		return -ENODEV;
	out->up = (flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
	out->is_loopback = (flags & IFF_LOOPBACK) != 0;
	rc = rn_netdev_discover(out->name, &dev, 1, why, sizeof(why));
	if (rc > 0) {
		out->gid_count = dev.gid_count;
		memcpy(out->gid, dev.gid, sizeof(out->gid));
	} else {
		/* This error means that the interface has no address. */
		out->knows_gids = rc == -EADDRNOTAVAIL;
	}
	return 0;
}

bool rnd_iface_has(const struct rnd_iface *iface, const struct rn_gid *gid)
{
	for (uint32_t i = 0; i < iface->gid_count; i++)
		if (memcmp(&iface->gid[i], gid, sizeof(*gid)) == 0)
			return true;
	return false;
}

/* ---- Bonds ---- */

struct rnd_links_question rnd_links_question(void)
{
	static_assert(sizeof(struct ifinfomsg) == 16, "as the kernel has it");
	return (struct rnd_links_question){
		.hdr = { .nlmsg_len = sizeof(struct rnd_links_question),
			 .nlmsg_type = RTM_GETLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.body = { AF_UNSPEC },
	};
}

static struct rnd_link *find_link(const struct rnd_links *links, uint32_t ifindex)
{
	for (unsigned i = 0; i < links->count; i++)
		if (links->at[i].ifindex == ifindex)
			return &links->at[i];
	return NULL;
}

static void forget_link(struct rnd_links *links, uint32_t ifindex)
{
	struct rnd_link *link = find_link(links, ifindex);

	if (link)
		*link = links->at[--links->count];
}

/* If there is no memory, changes of this link are not noticed. */
static void add_link(struct rnd_links *links, const struct rnd_link *link)
{
	struct rnd_link *more =
		realloc(links->at, (links->count + 1) * sizeof(links->at[0]));

	if (!more)
		return;
	links->at = more;
	links->at[links->count++] = *link;
}

static bool read_link(const struct nlmsghdr *msg, struct rnd_link *link, uint32_t *event)
{
	const struct ifinfomsg *info = NLMSG_DATA(msg);
	const struct rtattr *attr = IFLA_RTA(info);
	size_t len = msg->nlmsg_len;

	*event = IFLA_EVENT_NONE;
	if (len < NLMSG_LENGTH(sizeof(*info)))
		return false;
	len -= NLMSG_LENGTH(sizeof(*info));
	*link = (struct rnd_link){ .ifindex = (uint32_t)info->ifi_index };
	for (; RTA_OK(attr, len); attr = RTA_NEXT(attr, len)) {
		if (attr->rta_type == IFLA_ADDRESS &&
		    RTA_PAYLOAD(attr) <= RND_LINK_ADDRESS_MAX) {
			link->len = (uint8_t)RTA_PAYLOAD(attr);
			memcpy(link->address, RTA_DATA(attr), link->len);
		} else if (attr->rta_type == IFLA_EVENT &&
			   RTA_PAYLOAD(attr) == sizeof(*event)) {
			memcpy(event, RTA_DATA(attr), sizeof(*event));
		}
	}
	return true;
}

/* The address is stored when a link is first seen and when a bond fails over. Changes by
 * hand in between are not reported to programs.
 */
uint32_t rnd_links_take(struct rnd_links *links, const struct nlmsghdr *msg)
{
	struct rnd_link link, *known;
	uint32_t event;

	if ((msg->nlmsg_type != RTM_NEWLINK && msg->nlmsg_type != RTM_DELLINK) ||
	    !read_link(msg, &link, &event))
		return 0;
	known = find_link(links, link.ifindex);
	if (msg->nlmsg_type == RTM_DELLINK) {
		forget_link(links, link.ifindex);
	} else if (!known) {
		add_link(links, &link);
	} else if (event == IFLA_EVENT_BONDING_FAILOVER &&
		   (known->len != link.len ||
		    memcmp(known->address, link.address, link.len) != 0)) {
		*known = link;
		return link.ifindex;
	}
	return 0;
}

void rnd_links_free(struct rnd_links *links)
{
	free(links->at);
	*links = (struct rnd_links){ 0 };
}
