/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* iface.c - see iface.h. */
#include "iface.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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
	char why[8]; /* nobody reads it */
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
		out->knows_gids = rc == -EADDRNOTAVAIL; /* which says: it has none */
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
