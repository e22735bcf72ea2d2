/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* av.h - from the address that a program gives to the one that the device uses. */
#ifndef RNP_AV_H
#define RNP_AV_H

#include <infiniband/verbs.h>

#include "rocin/transport.h"

/**
 * rnp_av_from_attr() - Judge and convert an address
 * @dev:	Whose GID table @attr refers to
 * @av:		Out; untouched on failure
 *
 * Return: 0; -EINVAL: no GRH (RoCE has no other address), port not 1, an unused entry of
 *	   the GID table, an unspecified destination, addresses of different families.
 *	   A multicast destination is right for UD only.
 */
int rnp_av_from_attr(const struct rn_netdev *dev, const struct ibv_ah_attr *attr,
		     struct rn_av *av);

void rnp_av_to_attr(const struct rn_av *av, struct ibv_ah_attr *attr);

#endif /* RNP_AV_H */
