/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mcast.h - the groups of a device, as the way of a packet sees them. */
#ifndef RN_TRANSPORT_MCAST_H
#define RN_TRANSPORT_MCAST_H

#include "rocin/mcast.h"

/* First member of the group, or the one after @m; NULL if there is none. */
struct rn_mcast *rn_mcast_first(const struct rn_dev *dev, const struct rn_gid *mgid);
struct rn_mcast *rn_mcast_next(const struct rn_mcast *m);

#endif /* RN_TRANSPORT_MCAST_H */
