/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* view.h - gathers the data for answers to RDMA netlink requests: devices from the tree,
 * objects and counters of programs from rocind.
 *
 * Threads: any; no state. The functions contain cancellation points.
 */
#ifndef RNK_NETLINK_VIEW_H
#define RNK_NETLINK_VIEW_H

#include "nldev.h"
#include "rocin/netdev.h"
#include "transport/io/rocind/stats_pages.h"

struct rnk_nl_gathered {
	struct rnk_nl_view view;
	struct rnk_nl_device device[RN_NETDEV_MAX];
	struct rn_stats_list programs;
	struct rnk_nl_cm_id *cm_ids; /* owned */
	uint64_t ended[RN_NETDEV_MAX][RN_STAT_COUNT];
};

/**
 * rnk_nl_gather() - Gather the data that a request needs
 * @tree:	The tree of simulated files
 * @needs:	RNK_NL_* bits: the data to gather. rocind is asked for it if it runs, but
 *	is not started
 *
 * If no rocind runs, the gathered data contains no programs.
 */
void rnk_nl_gather(struct rnk_nl_gathered *g, const char *tree, unsigned needs);
void rnk_nl_release(struct rnk_nl_gathered *g);

/* Sums up the counters of a device: of all programs that use it, and of those that have
 * ended.
 */
void rnk_nl_sum_counters(const char *ibdev, uint64_t counter[RN_STAT_COUNT]);

#endif /* RNK_NETLINK_VIEW_H */
