/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* iface.h - the present state of an interface (name, link, addresses), and the detection
 * of bonds that fail over.
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
	/* The addresses are known. False: the interface has more of them than a GID table
	 * holds, or they cannot be read.
	 */
	bool knows_gids;
	uint32_t gid_count; /* number of addresses of the interface; may be 0 */
	struct rn_gid gid[RN_GID_MAX];
};

/* Reads the state of an interface. Returns 0, or -ENODEV if there is no such interface;
 * then @out has no name and no address, and is down.
 */
int rnd_iface_read(uint32_t ifindex, struct rnd_iface *out);

/* Returns the MTU of an interface in bytes; 0 if there is no such interface. */
uint32_t rnd_iface_mtu(uint32_t ifindex);

bool rnd_iface_has(const struct rnd_iface *iface, const struct rn_gid *gid);

/* ---- Bonds that fail over ---- */

/* Finds out when a bond has failed over to a port with another link address.
 *
 * This is the only change of addresses that Linux reports to rdma_cm ids, by the event
 * ADDR_CHANGE (cma_netdev_callback() in drivers/infiniband/core/cma.c). Other changes of
 * addresses and links are events of the device.
 *
 * These functions do no I/O: the caller passes them messages of rtnetlink(7).
 */

enum {
	/* maximum length of a link-layer address in bytes, as the kernel's MAX_ADDR_LEN
	 */
	RND_LINK_ADDRESS_MAX = 32,
};

struct rnd_link {
	uint32_t ifindex;
	uint8_t len;
	uint8_t address[RND_LINK_ADDRESS_MAX];
};

/* The links of this network namespace; zero-initialized. */
struct rnd_links {
	struct rnd_link *at;
	unsigned count;
};

/* A request for a list of all links. The caller sends it, and passes the answers to
 * rnd_links_take().
 */
struct rnd_links_question {
	struct nlmsghdr hdr;
	unsigned char body[16]; /* struct ifinfomsg of the request */
};
struct rnd_links_question rnd_links_question(void);

/**
 * rnd_links_take() - Process a message
 * @msg:	A complete message (NLMSG_OK())
 *
 * Return: the interface that has failed over to another link address, or 0.
 */
uint32_t rnd_links_take(struct rnd_links *links, const struct nlmsghdr *msg);

void rnd_links_free(struct rnd_links *links);

#endif /* RND_IFACE_H */
