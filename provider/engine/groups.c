/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* groups.c - multicast groups whose packets come to this process.
 *
 * The process opens their sockets itself. rocind owns port 4791 of the device's addresses
 * because a packet to one of them is for one process; a packet to a group is for every
 * member, and the kernel gives each socket a copy, also those of other users.
 */
#include <errno.h>

#include "engine_internal.h"

int rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock)
{
	struct rn_udp *udp = e->wire.udp;
	int rc;

	if (!udp)
		return -EIO;
	rc = rn_udp_join(udp, mgid, sock);
	if (rc)
		return rc;
	rc = rnp_background_add(e, rn_udp_groups_fd(udp), RNP_TAG_SOCKET,
				e->policy.turn == RNP_ARMED);
	if (!rc || rc == -EEXIST) /* one descriptor stands for all groups */
		return 0;
	rn_udp_leave(udp, mgid);
	return rc;
}

int rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid)
{
	return e->wire.udp ? rn_udp_leave(e->wire.udp, mgid) : -1;
}
