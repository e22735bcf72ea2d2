/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net.h - the network of a lab: a switch, a cable to each host, and what the cable
 * does to packets.
 */
#ifndef RN_LAB_NET_H
#define RN_LAB_NET_H

#include "lab.h"

/* What does what rn_lab_link asks for. */
enum {
	RN_LAB_BY_NETEM = 1 << 0, /* everything */
	RN_LAB_BY_TBF = 1 << 1,	  /* the rate */
	RN_LAB_BY_RULES = 1 << 2, /* the rest, by rules about faults of the devices */
};

struct nl_sock;
struct nl_msg;

/* To rtnetlink(7) of the network namespace that this process is in now; nl_socket_free()
 * is due. Return: 0 or -errno.
 */
int rn_lab_net_open(struct nl_sock **nl);

/* In the network namespace of the switch. All return 0 or -errno with a sentence. */
int rn_lab_switch_make(struct nl_sock *nl, const struct rn_lab_link *link, char *err,
		       size_t err_len);

/* A cable from the switch to @host, whose keeper is process @keeper. */
int rn_lab_cable_make(struct nl_sock *nl, const struct rn_lab_link *link, unsigned host,
		      pid_t keeper, char *err, size_t err_len);

/* In a network namespace before it gets interfaces: no surprises by IPv6. */
void rn_lab_net_prepare(bool has_ipv6);

/* In that of a host, which has its cable: addresses, routes, and what the cable does.
 * @by: out, RN_LAB_BY_...; 0 if there is nothing to do.
 */
int rn_lab_host_connect(const struct rn_lab_link *link, unsigned host, unsigned *by,
			char *err, size_t err_len);

/* The rules that stand for @link as rocin-fault(5) writes them, one a line; empty if
 * there is nothing. @host has dice of its own. Return: length.
 */
int rn_lab_link_rules(const struct rn_lab_link *link, unsigned host, char *text,
		      size_t len);

/* The host, from 0, that a name or an address stands for, of @hosts; -1 for none. */
int rn_lab_host_number(const char *name, unsigned hosts);

/* What is asked of @link, for people. Empty if nothing. Return: length. */
int rn_lab_link_text(const struct rn_lab_link *link, char *text, size_t len);

/* The requests for queueing disciplines of interface @index. */
struct nl_msg *rn_lab_netem_msg(int index, const struct rn_lab_link *link);
struct nl_msg *rn_lab_tbf_msg(int index, const struct rn_lab_link *link);

#endif /* RN_LAB_NET_H */
