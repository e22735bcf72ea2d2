/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* iface.h - what an interface has now: name, link, addresses; and bonds that fail over.
 */
#ifndef RND_IFACE_H
#define RND_IFACE_H

#include <linux/netlink.h>

#include "rocin/gid.h"
#include "rocin/types.h"

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

/* ---- Bonds ---- */

/* Bonds that fail over to a port of another link address.
 *
 * It is all that Linux tells ids of connections about addresses: ADDR_CHANGE, of a bond
 * that has failed over and has another link address than before (cma_netdev_callback() in
 * drivers/infiniband/core/cma.c). Other changes of addresses and links are the device's
 * to tell.
 *
 * Without I/O: messages of rtnetlink(7) go in.
 */

enum {
	RND_LINK_ADDRESS_MAX = 32, /* MAX_ADDR_LEN */
};

struct rnd_link {
	uint32_t ifindex;
	uint8_t len;
	uint8_t address[RND_LINK_ADDRESS_MAX];
};

/* The links of this network namespace. Zero: none is known. */
struct rnd_links {
	struct rnd_link *at;
	unsigned count;
};

/* Send this to be told of all links there are; the answer goes into rnd_links_take(). */
struct rnd_links_question {
	struct nlmsghdr hdr;
	unsigned char body[16]; /* struct ifinfomsg */
};
struct rnd_links_question rnd_links_question(void);

/**
 * rnd_links_take() - Take in a message
 * @msg:	All of it is there (NLMSG_OK())
 *
 * Return: the interface that has failed over to another address, or 0.
 */
uint32_t rnd_links_take(struct rnd_links *links, const struct nlmsghdr *msg);

void rnd_links_free(struct rnd_links *links);

#endif /* RND_IFACE_H */
