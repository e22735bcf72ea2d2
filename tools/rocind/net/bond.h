/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bond.h - bonds that fail over to a port of another link address.
 *
 * It is all that Linux tells ids of connections about addresses: ADDR_CHANGE, of a bond
 * that has failed over and has another link address than before (cma_netdev_callback() in
 * drivers/infiniband/core/cma.c). Other changes of addresses and links are the device's
 * to tell.
 *
 * Without I/O: messages of rtnetlink(7) go in.
 */
#ifndef RND_BOND_H
#define RND_BOND_H

#include <linux/netlink.h>

#include "rocin/types.h"

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

#endif /* RND_BOND_H */
