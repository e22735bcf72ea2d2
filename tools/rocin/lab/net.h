/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net.h - the network of a lab: a switch (bridge), a link to each host, and the treatment
 * of packets on the links.
 */
#ifndef RN_LAB_NET_H
#define RN_LAB_NET_H

#include "lab.h"

/* The means by which a link gets the properties in rn_lab_link. */
enum {
	RN_LAB_BY_NETEM = 1 << 0, /* netem emulates delay, loss, reordering and rate */
	RN_LAB_BY_TBF = 1 << 1,	  /* tbf limits the rate */
	/* fault rules in the devices achieve all but the rate */
	RN_LAB_BY_RULES = 1 << 2,
};

struct nl_sock;
struct nl_msg;

/* Opens a netlink socket to the network namespace that this process is in, to be freed by
 * nl_socket_free(). Returns 0 or -errno.
 */
int rn_lab_net_open(struct nl_sock **nl);

/* Makes the switch, in its network namespace. This function and the following ones return
 * 0, or -errno with an error text in @err.
 */
int rn_lab_switch_make(struct nl_sock *nl, const struct rn_lab_link *link, char *err,
		       size_t err_len);

/* Makes a link from the switch to @host. @keeper: process id of the host's keeper. */
int rn_lab_cable_make(struct nl_sock *nl, const struct rn_lab_link *link, unsigned host,
		      pid_t keeper, char *err, size_t err_len);

/* Turns off the IPv6 features that would change addresses later. To be called in a new
 * network namespace, before it has interfaces.
 */
void rn_lab_net_prepare(bool has_ipv6);

/* Sets addresses, routes and the queueing discipline of a host. To be called in its
 * network namespace when it has its link. @by: out, RN_LAB_BY_...; 0 if the link treats
 * packets in no special way.
 */
int rn_lab_host_connect(const struct rn_lab_link *link, unsigned host, unsigned *by,
			char *err, size_t err_len);

/* Writes fault rules that have the same effect as @link, in the language of
 * rocin-fault(5), one per line; empty if there is nothing to do. Each @host gets another
 * random seed. Returns the length.
 */
int rn_lab_link_rules(const struct rn_lab_link *link, unsigned host, char *text,
		      size_t len);

/* Returns the number of the host with this name or address; -1 if there is none. */
int rn_lab_host_number(const char *name, unsigned hosts);

/* Writes the properties of @link as text; empty if it has none. Returns the length. */
int rn_lab_link_text(const struct rn_lab_link *link, char *text, size_t len);

/* Return a netlink message that installs a queueing discipline on interface @index. */
struct nl_msg *rn_lab_netem_msg(int index, const struct rn_lab_link *link);
struct nl_msg *rn_lab_tbf_msg(int index, const struct rn_lab_link *link);

#endif /* RN_LAB_NET_H */
