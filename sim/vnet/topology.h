/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* topology.h - joins hosts and switches into networks of standard shapes.
 *
 * A fat tree of @k-port switches has @k pods, each with @k / 2 edge switches and @k / 2
 * aggregation switches, and @k * @k / 4 core switches above the pods. An edge switch has
 * @k / 2 ports for hosts; its other ports lead to aggregation switches, and half of the
 * ports of an aggregation switch lead to core switches. A packet for a host below another
 * switch may leave by any of these upward ports. Source: Al-Fares, Loukissas, Vahdat, "A
 * Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008, 3.
 */
#ifndef RN_VNET_TOPOLOGY_H
#define RN_VNET_TOPOLOGY_H

#include "vnet.h"

enum {
	RN_FAT_TREE_PORTS = 32, /* maximum number of ports of a switch of a fat tree */
};

/* Return the maximum number of hosts, and the number of switches, of a fat tree of
 * @k-port switches. @k is even.
 */
static inline uint32_t rn_fat_tree_hosts(uint32_t k)
{
	return k * k * k / 4;
}

static inline uint32_t rn_fat_tree_switches(uint32_t k)
{
	return k * k + k * k / 4;
}

/* Builds the switches and links of a fat tree for the hosts of @v, at most
 * rn_fat_tree_hosts(@k) of them, and spreads the hosts evenly over its host ports. Each
 * direction of a link has the settings @link and its own seed: @seed, @seed + 1, and so
 * on.
 */
void rn_vnet_fat_tree(struct rn_vnet *v, uint32_t k, const struct rn_link_cfg *link,
		      uint64_t seed);

#endif /* RN_VNET_TOPOLOGY_H */
