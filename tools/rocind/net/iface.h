/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* iface.h - what an interface has now: name, link, addresses. */
#ifndef RND_IFACE_H
#define RND_IFACE_H

#include "rocin/netdev.h"

struct rnd_iface {
	char name[16];
	bool up;
	bool is_loopback;
	bool knows_gids; /* false: more addresses than a GID table holds, or unreadable */
	uint32_t gid_count; /* may be 0 */
	struct rn_gid gid[RN_GID_MAX];
};

/* Return: 0, or -ENODEV (no such interface; @out has no name, no address, is down). */
int rnd_iface_read(uint32_t ifindex, struct rnd_iface *out);

bool rnd_iface_has(const struct rnd_iface *iface, const struct rn_gid *gid);

#endif /* RND_IFACE_H */
