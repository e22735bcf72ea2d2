/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netlink.h - requests to the kernel's network configuration: rtnetlink(7).
 *
 * A request is built by rn_nl_begin() and rn_nl_put(), attributes within attributes
 * between rn_nl_nest() and rn_nl_nest_end(), and sent by rn_nl_talk().
 */
#ifndef RN_LAB_NETLINK_H
#define RN_LAB_NETLINK_H

#include <linux/netlink.h>

#include "rocin/types.h"

struct rn_nl {
	int fd; /* its network namespace is that in which it was opened */
	uint32_t seq;
};

struct rn_nl_msg {
	struct nlmsghdr hdr;
	char body[1008];
};

/* Return: 0 or -errno. */
int rn_nl_open(struct rn_nl *nl);
void rn_nl_close(struct rn_nl *nl);

/* @fixed: @len bytes of the structure that requests of this @type begin with. */
void rn_nl_begin(struct rn_nl_msg *m, uint16_t type, uint16_t flags, const void *fixed,
		 size_t len);
void rn_nl_put(struct rn_nl_msg *m, uint16_t type, const void *value, size_t len);
void rn_nl_put_u32(struct rn_nl_msg *m, uint16_t type, uint32_t value);
void rn_nl_put_text(struct rn_nl_msg *m, uint16_t type, const char *text);

/* Return: what rn_nl_nest_end() wants. */
size_t rn_nl_nest(struct rn_nl_msg *m, uint16_t type);
void rn_nl_nest_end(struct rn_nl_msg *m, size_t nest);

/* Bytes that are no attribute of their own, such as a structure inside one. */
void rn_nl_put_raw(struct rn_nl_msg *m, const void *bytes, size_t len);

/* Send and wait for the answer. Return: 0 or -errno, of the kernel's. */
int rn_nl_talk(struct rn_nl *nl, struct rn_nl_msg *m);

#endif /* RN_LAB_NETLINK_H */
