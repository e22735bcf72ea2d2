/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bond.c - see bond.h. */
#include "bond.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

static struct rnd_link *find(const struct rnd_links *links, uint32_t ifindex)
{
	for (unsigned i = 0; i < links->count; i++)
		if (links->at[i].ifindex == ifindex)
			return &links->at[i];
	return NULL;
}

static void forget(struct rnd_links *links, uint32_t ifindex)
{
	struct rnd_link *link = find(links, ifindex);

	if (link)
		*link = links->at[--links->count];
}

/* Out of memory: the link will not be compared. */
static void add(struct rnd_links *links, const struct rnd_link *link)
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

/* An address counts from when the link is seen first, or has failed over: what is set by
 * hand between is told to nobody.
 */
uint32_t rnd_links_take(struct rnd_links *links, const struct nlmsghdr *msg)
{
	struct rnd_link link, *known;
	uint32_t event;

	if ((msg->nlmsg_type != RTM_NEWLINK && msg->nlmsg_type != RTM_DELLINK) ||
	    !read_link(msg, &link, &event))
		return 0;
	known = find(links, link.ifindex);
	if (msg->nlmsg_type == RTM_DELLINK) {
		forget(links, link.ifindex);
	} else if (!known) {
		add(links, &link);
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
