/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* iface.c - reads name, link state and addresses of an interface by netlink and ioctl().
 */
#include "iface.h"

#include <errno.h>
#include <libmnl/libmnl.h>
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

uint32_t rnd_iface_mtu(uint32_t ifindex)
{
	struct ifreq req = { 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && if_indextoname(ifindex, req.ifr_name) &&
		  ioctl(fd, SIOCGIFMTU, &req) == 0;

	if (fd >= 0)
		close(fd);
	return ok ? (uint32_t)req.ifr_mtu : 0;
}

int rnd_iface_read(uint32_t ifindex, struct rnd_iface *out)
{
	struct rn_netdev dev;
	char why[8]; /* buffer for an error text that nobody needs */
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
		/* -EADDRNOTAVAIL means that the interface has no address. */
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

/* ---- Bonds that fail over ---- */

struct rnd_links_question rnd_links_question(void)
{
	struct rnd_links_question q = { 0 };
	struct nlmsghdr *hdr = mnl_nlmsg_put_header(&q);

	static_assert(sizeof(struct ifinfomsg) == sizeof(q.body), "as the kernel has it");
	/* The body stays zero, which means the family AF_UNSPEC. */
	(void)mnl_nlmsg_put_extra_header(hdr, sizeof(q.body));
	hdr->nlmsg_type = RTM_GETLINK;
	hdr->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	return q;
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

/* Adds a link to the list. If there is no memory, the link is not added, and its changes
 * will not be noticed.
 */
static void add_link(struct rnd_links *links, const struct rnd_link *link)
{
	struct rnd_link *more =
		realloc(links->at, (links->count + 1) * sizeof(links->at[0]));

	if (!more)
		return;
	links->at = more;
	links->at[links->count++] = *link;
}

struct link_message {
	struct rnd_link link;
	uint32_t event;
};

static int read_link_attribute(const struct nlattr *attr, void *out)
{
	struct link_message *m = out;
	uint16_t type = mnl_attr_get_type(attr);
	uint16_t len = mnl_attr_get_payload_len(attr);

	if (type == IFLA_ADDRESS && len <= RND_LINK_ADDRESS_MAX) {
		m->link.len = (uint8_t)len;
		memcpy(m->link.address, mnl_attr_get_payload(attr), len);
	}
	if (type == IFLA_EVENT && mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
		m->event = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static bool read_link(const struct nlmsghdr *msg, struct link_message *out)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(msg);
	size_t len = mnl_nlmsg_get_payload_len(msg);

	if (len < sizeof(*info))
		return false;
	*out = (struct link_message){ .link.ifindex = (uint32_t)info->ifi_index,
				      .event = IFLA_EVENT_NONE };
	(void)mnl_attr_parse_payload(info + 1, len - sizeof(*info), read_link_attribute,
				     out);
	return true;
}

/* Compares the link-layer address of each link with the stored one, which the link had
 * when it was first seen, or when its bond last failed over. Other changes, such as those
 * made by a user, are not reported to programs.
 */
uint32_t rnd_links_take(struct rnd_links *links, const struct nlmsghdr *msg)
{
	struct link_message m;
	struct rnd_link *known;

	if ((msg->nlmsg_type != RTM_NEWLINK && msg->nlmsg_type != RTM_DELLINK) ||
	    !read_link(msg, &m))
		return 0;
	known = find_link(links, m.link.ifindex);
	if (msg->nlmsg_type == RTM_DELLINK) {
		forget_link(links, m.link.ifindex);
	} else if (!known) {
		add_link(links, &m.link);
	} else if (m.event == IFLA_EVENT_BONDING_FAILOVER &&
		   (known->len != m.link.len ||
		    memcmp(known->address, m.link.address, m.link.len) != 0)) {
		*known = m.link;
		return m.link.ifindex;
	}
	return 0;
}

void rnd_links_free(struct rnd_links *links)
{
	free(links->at);
	*links = (struct rnd_links){ 0 };
}
