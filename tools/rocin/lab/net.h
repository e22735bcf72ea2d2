/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net.h - the network of a lab: a switch (bridge), a link to each host, and the treatment
 * of packets on the links.
 */
#ifndef RN_LAB_NET_H
#define RN_LAB_NET_H

#include "lab.h"

/* The means by which the properties of rn_lab_link are achieved. */
enum {
	RN_LAB_BY_NETEM = 1 << 0, /* netem emulates delay, loss, reordering and rate */
	RN_LAB_BY_TBF = 1 << 1,	  /* tbf limits the rate */
	RN_LAB_BY_RULES = 1 << 2, /* fault rules in the devices: all but the rate */
};

struct nl_sock;
struct nl_msg;

/* Opens a netlink socket to the network namespace that this process is in, to be freed by
 * nl_socket_free(). Returns 0 or -errno.
 */
int rn_lab_net_open(struct nl_sock **nl);

/* Makes the switch; called in its network namespace. This and the following functions
 * return 0, or -errno with a sentence in @err.
 */
int rn_lab_switch_make(struct nl_sock *nl, const struct rn_lab_link *link, char *err,
		       size_t err_len);

/* Makes a link from the switch to @host, whose keeper is process @keeper. */
int rn_lab_cable_make(struct nl_sock *nl, const struct rn_lab_link *link, unsigned host,
		      pid_t keeper, char *err, size_t err_len);

/* Called in a new network namespace, before it has interfaces: turns off IPv6 features
 * that would change addresses later.
 */
void rn_lab_net_prepare(bool has_ipv6);

/* Called in the namespace of a host, which has its link: sets addresses, routes and the
 * queueing discipline. @by: out, RN_LAB_BY_...; 0 if there is nothing to do.
 */
int rn_lab_host_connect(const struct rn_lab_link *link, unsigned host, unsigned *by,
			char *err, size_t err_len);

/* Writes fault rules that do the same as @link, in the language of rocin-fault(5), one
 * per line; empty if there is nothing to do. Each @host has its own random seed. Returns
 * the length.
 */
int rn_lab_link_rules(const struct rn_lab_link *link, unsigned host, char *text,
		      size_t len);

/* The number of a host from its name or address; -1 if there is no such host. */
int rn_lab_host_number(const char *name, unsigned hosts);

/* Describes @link for people; empty if there is nothing to say. Returns the length. */
int rn_lab_link_text(const struct rn_lab_link *link, char *text, size_t len);

/* Netlink messages that install a queueing discipline on interface @index. */
struct nl_msg *rn_lab_netem_msg(int index, const struct rn_lab_link *link);
struct nl_msg *rn_lab_tbf_msg(int index, const struct rn_lab_link *link);

#endif /* RN_LAB_NET_H */
