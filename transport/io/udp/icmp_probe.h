/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icmp_probe.h - finds out whether a host refuses packets to its RoCEv2 port.
 *
 * The sockets of a device cannot be used for that: they are not connected, and several of
 * them share one address, so the kernel reports an ICMP error to any of them. Instead, a
 * separate connected socket sends an empty datagram, which every device drops, to the
 * same port. An ICMP error for the datagram applies to the device's packets as well.
 *
 * Threads: any; no state. No function waits, and none is a cancellation point.
 */
#ifndef RN_ICMP_PROBE_H
#define RN_ICMP_PROBE_H

struct rn_flow;

/**
 * rn_icmp_probe_send() - Send a probe
 * @flow:	Flow to probe; its addresses are used, and ifindex for link-local ones
 *
 * Return: a descriptor for rn_icmp_probe_answer(), which the caller closes; or -errno,
 *	   which may already be the reason, see rn_icmp_probe_meaning().
 */
int rn_icmp_probe_send(const struct rn_flow *flow);

/* Return: the errno value of an ICMP error that has come back for the probe; 0: none
 * has. Each error is returned once.
 */
int rn_icmp_probe_answer(int fd);

/* Return: what the errno value of a probe says about the peer, as a text that follows
 * "refuses packets: "; NULL if it says nothing about the peer.
 */
const char *rn_icmp_probe_meaning(int err);

#endif /* RN_ICMP_PROBE_H */
