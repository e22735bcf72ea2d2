/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* loopback.c - shows loopback interfaces to libfabric in the form that it accepts;
 * see loopback.h.
 */
#include "loopback.h"

#include <dlfcn.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "rocin/gid.h"
#include "rocin/netdev.h"

bool rnk_loopback_is_for(const void *caller)
{
	static const char *const names[] = { "libfabric", "libverbs-fi" };
	const char *file;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	file = strrchr(info.dli_fname, '/');
	file = file ? file + 1 : info.dli_fname;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(file, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Finds the first entry of the list @all for this interface and address family that has
 * not been changed for another device: rnk_loopback_show() clears the flag IFF_LOOPBACK
 * in each entry that it changes.
 */
static struct ifaddrs *find(struct ifaddrs *all, const char *ifname, int family)
{
	for (struct ifaddrs *i = all; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == family &&
		    (i->ifa_flags & IFF_LOOPBACK) && strcmp(i->ifa_name, ifname) == 0)
			return i;
	return NULL;
}

static const struct rn_gid *first_gid(const struct rn_netdev *dev, bool is_v4)
{
	for (uint32_t i = 0; i < dev->gid_count; i++)
		if (rn_gid_is_ipv4(&dev->gid[i]) == is_v4)
			return &dev->gid[i];
	return NULL;
}

static void show_one(struct ifaddrs *all, const struct rn_netdev *dev, bool is_v4)
{
	const struct rn_gid *gid = first_gid(dev, is_v4);
	struct ifaddrs *entry = find(all, dev->ifname, is_v4 ? AF_INET : AF_INET6);
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (!gid || !entry)
		return;
	entry->ifa_flags &= ~(unsigned)IFF_LOOPBACK;
	if (is_v4) {
		memcpy(&v4, entry->ifa_addr, sizeof(v4));
		memcpy(&v4.sin_addr, &gid->raw[12], sizeof(v4.sin_addr));
		memcpy(entry->ifa_addr, &v4, sizeof(v4));
	} else {
		memcpy(&v6, entry->ifa_addr, sizeof(v6));
		memcpy(&v6.sin6_addr, gid->raw, sizeof(v6.sin6_addr));
		memcpy(entry->ifa_addr, &v6, sizeof(v6));
	}
}

void rnk_loopback_show(struct ifaddrs *all, const struct rn_netdev *devs, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		show_one(all, &devs[i], true);
		show_one(all, &devs[i], false);
	}
}
