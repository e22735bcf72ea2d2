/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* route_mtu.h - finds the path MTU by the settings of this host, regardless of ICMP
 * messages.
 *
 * An ICMP error about a UDP packet that was too long may be forged: it proves only that
 * its sender knows two addresses and the port of RoCEv2. The kernel believes it for ten
 * minutes, and refuses longer packets to that address. So packets that the kernel
 * refuses are sent nevertheless, by means of a socket option, if they fit the MTU of the
 * interface and of the route. If the ICMP error was genuine, these packets are lost on
 * the way, and the request fails as it would have otherwise.
 */
#ifndef RN_ROUTE_MTU_H
#define RN_ROUTE_MTU_H

#include "rocin/gid.h"

/* Returns the MTU of the route to the address @dst or, if the route has none of its own,
 * that of its interface. The MTU is in bytes and includes the IP header. Returns 0 if
 * the kernel does not say, or if the route has several interfaces.
 */
uint32_t rn_route_mtu(const struct rn_gid *src, const struct rn_gid *dst,
		      uint32_t ifindex);

#endif /* RN_ROUTE_MTU_H */
