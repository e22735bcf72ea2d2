/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icmp_probe.h - does a host refuse what is sent to its RoCEv2 port?
 *
 * The sockets of a device cannot learn that: they are not connected, and of a group with
 * one address, of which the kernel gives an error to any. So an empty datagram, which
 * every device drops, goes to the same port from a socket of its own, and what ICMP says
 * of that is said of the device's packets as well.
 *
 * Threads: any; no state. Nothing here waits, and nothing is a cancellation point.
 */
#ifndef RN_ICMP_PROBE_H
#define RN_ICMP_PROBE_H

struct rn_flow;

/**
 * rn_icmp_probe_send() - Send the datagram
 * @flow:	From where and to whom; ifindex for link-local addresses
 *
 * Return: descriptor for rn_icmp_probe_answer(), the caller's to close; or -errno, which
 *	   may be the answer already, see rn_icmp_probe_meaning().
 */
int rn_icmp_probe_send(const struct rn_flow *flow);

/* What has come back: 0 (nothing yet) or an errno value, once. */
int rn_icmp_probe_answer(int fd);

/* What an errno value of a probe says of the peer, in words that follow "refuses packets:
 * "; NULL if it is about something else.
 */
const char *rn_icmp_probe_meaning(int err);

#endif /* RN_ICMP_PROBE_H */
