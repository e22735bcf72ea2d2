/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* topology.h - networks of a known shape.
 *
 * A fat tree of @k-port switches has @k pods of @k / 2 edge and @k / 2 aggregation
 * switches, and @k * @k / 4 core switches above them. An edge switch has @k / 2 places
 * for hosts; the other ports of edge and aggregation switches go up, and packets for
 * hosts elsewhere may take any of them. Source: Al-Fares, Loukissas, Vahdat, "A Scalable,
 * Commodity Data Center Network Architecture", SIGCOMM 2008, 3.
 */
#ifndef RN_VNET_TOPOLOGY_H
#define RN_VNET_TOPOLOGY_H

#include "vnet.h"

enum {
	RN_FAT_TREE_PORTS = 32, /* at most, of a switch */
};

/* Of a tree of @k-port switches, @k even: places for hosts; switches. */
static inline uint32_t rn_fat_tree_hosts(uint32_t k)
{
	return k * k * k / 4;
}

static inline uint32_t rn_fat_tree_switches(uint32_t k)
{
	return k * k + k * k / 4;
}

/* Join the hosts of @v, at most rn_fat_tree_hosts(@k), by a tree, in which they are
 * spread evenly. Every link has the settings @link; their seeds begin with @seed.
 */
void rn_vnet_fat_tree(struct rn_vnet *v, uint32_t k, const struct rn_link_cfg *link,
		      uint64_t seed);

#endif /* RN_VNET_TOPOLOGY_H */
