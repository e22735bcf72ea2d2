/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_port.h - sockets that send packets to this host from the port that rocind holds
 * for its user, because receivers on this host may drop packets from other source ports
 * (tools/rocind/net/admission.h). Packets to other hosts leave from port 4791, so that a
 * firewall that tracks connections takes both directions for one connection.
 *
 * Threads: any; no state.
 */
#ifndef RN_OWN_PORT_H
#define RN_OWN_PORT_H

#include "rocin/types.h"

struct rn_gid;

/* Return: true if this is an address of this host. @ifindex: scope of a link-local
 * address.
 */
bool rn_is_own_address(const struct rn_gid *gid, uint32_t ifindex);

/* Opens a socket that sends packets from the port @port of the address @gid, and receives
 * nothing. Return: the socket, or -errno.
 */
int rn_own_port_open(const struct rn_gid *gid, uint32_t ifindex, uint16_t port);

/* Makes the socket of a multicast group drop packets that were sent on this host from
 * another port than @port. Return: 0 or -errno.
 */
int rn_own_port_only(int fd, uint16_t port);

#endif /* RN_OWN_PORT_H */
