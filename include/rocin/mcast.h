/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mcast.h - multicast groups: which UD queue pairs get a copy of what is sent to one.
 *
 * A group is named by its MGID: ::ffff:a.b.c.d for an IPv4 group, an IPv6 group by
 * itself (IBTA Annex A17). A packet to QPN 0xffffff of a group goes to every QP that is
 * attached to it and passes P_Key and Q_Key, and takes a receive WQE of each (IBTA Vol 1,
 * 10.5.2). That the packets come to this host is up to whoever drives the device.
 *
 * Threads: as transport.h.
 */
#ifndef RN_MCAST_H
#define RN_MCAST_H

#include "rocin/gid.h"
#include "rocin/hnode.h"

struct rn_dev;
struct rn_qp;

/* One QP in one group. The caller allocates it; the fields are the device's while it is
 * attached.
 */
struct rn_mcast {
	struct rn_hnode node; /* key: hash of the MGID */
	struct rn_gid mgid;
	struct rn_qp *qp;
};

/* Let @qp, a UD QP in any state that is not in the group yet, take part. It stays until
 * rn_mcast_detach(), through RESET too; it must leave before it is destroyed.
 */
void rn_mcast_attach(struct rn_dev *dev, struct rn_mcast *m, struct rn_qp *qp,
		     const struct rn_gid *mgid);

/* @m is the caller's again. */
void rn_mcast_detach(struct rn_dev *dev, struct rn_mcast *m);

/* NULL if @qp is not in the group. */
struct rn_mcast *rn_mcast_find(const struct rn_dev *dev, const struct rn_qp *qp,
			       const struct rn_gid *mgid);

/* QPs in the group. */
uint32_t rn_mcast_members(const struct rn_dev *dev, const struct rn_gid *mgid);

#endif /* RN_MCAST_H */
