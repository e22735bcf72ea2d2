/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icmp_probe.h - does a host refuse packets to its RoCEv2 port?
 *
 * The sockets of a device cannot tell. They are not connected, and several of them share
 * one address, so the kernel reports an ICMP error to any of them. So an empty datagram,
 * which every device drops, is sent to the same port from a separate connected socket; an
 * ICMP error for it applies to the device's packets as well.
 *
 * Threads: any; no state. Nothing here waits, and nothing is a cancellation point.
 */
#ifndef RN_ICMP_PROBE_H
#define RN_ICMP_PROBE_H

struct rn_flow;

/**
 * rn_icmp_probe_send() - Send a probe
 * @flow:	Its addresses; ifindex for link-local ones
 *
 * Return: a descriptor for rn_icmp_probe_answer(), which the caller closes; or -errno,
 *	   which may already say why, see rn_icmp_probe_meaning().
 */
int rn_icmp_probe_send(const struct rn_flow *flow);

/* Has an ICMP error come back? Return: 0 (not yet) or its errno value, which is
 * reported once.
 */
int rn_icmp_probe_answer(int fd);

/* What an errno value of a probe says about the peer, as text to follow "refuses packets:
 * "; NULL if it is about something else.
 */
const char *rn_icmp_probe_meaning(int err);

#endif /* RN_ICMP_PROBE_H */
