/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mcast.h - members of multicast groups: UD queue pairs that receive a copy of each
 * packet to a group.
 *
 * A group is named by its MGID: ::ffff:a.b.c.d for an IPv4 group, the address itself for
 * an IPv6 group (IBTA Annex A17). A packet to QPN 0xffffff and a group goes to every QP
 * that is attached to the group and whose P_Key and Q_Key checks it passes, and takes a
 * receive WQE of each of these QPs (IBTA Vol 1, 10.5.2). The caller has to join the group
 * on the network, so that its packets reach this host.
 *
 * Threads: as transport.h.
 */
#ifndef RN_MCAST_H
#define RN_MCAST_H

#include "rocin/gid.h"
#include "rocin/hnode.h"

struct rn_dev;
struct rn_qp;

/* The membership of one QP in one group. The caller allocates it; its fields belong to
 * the device while the QP is attached.
 */
struct rn_mcast {
	struct rn_hnode node; /* key: hash of @mgid */
	struct rn_gid mgid;
	struct rn_qp *qp;
};

/* Attaches @qp to the group. It must be a UD QP, in any state, that is not a member yet.
 * It stays a member until rn_mcast_detach(), also through RESET, and must be detached
 * before it is destroyed.
 */
void rn_mcast_attach(struct rn_dev *dev, struct rn_mcast *m, struct rn_qp *qp,
		     const struct rn_gid *mgid);

/* Detaches the QP. Afterwards the caller may free @m. */
void rn_mcast_detach(struct rn_dev *dev, struct rn_mcast *m);

/* Returns the membership of @qp in the group; NULL if it is not a member. */
struct rn_mcast *rn_mcast_find(const struct rn_dev *dev, const struct rn_qp *qp,
			       const struct rn_gid *mgid);

/* Returns the number of QPs in the group. */
uint32_t rn_mcast_members(const struct rn_dev *dev, const struct rn_gid *mgid);

#endif /* RN_MCAST_H */
