/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* walk.h - a walk over the objects of one kind that programs have on a device: queue
 * pairs and other objects with a record in a statistics page, and ids of rdma_cm.
 *
 * Threads: any; no state.
 */
#ifndef RNK_NETLINK_WALK_H
#define RNK_NETLINK_WALK_H

#include "nldev.h"
#include "transport/io/rocind/stats_pages.h"

enum rnk_nl_kind {
	RNK_NL_KIND_PD,
	RNK_NL_KIND_CQ,
	RNK_NL_KIND_QP,
	RNK_NL_KIND_CM_ID,
	RNK_NL_KIND_MR,
	RNK_NL_KIND_CTX,
	RNK_NL_KIND_SRQ,
	RNK_NL_KIND_COUNT
};

/* An object that the walk has found. Depending on the kind of object, one of the pointers
 * is set.
 */
struct rnk_nl_item {
	int32_t pid;
	uint32_t number;
	const struct rn_stats_qp *qp;
	const struct rn_stats_object *object;
	const struct rnk_nl_cm_id *cm_id;
};

/* The position of a walk over objects of one kind. */
struct rnk_nl_walk {
	const struct rnk_nl_view *view;
	const struct rnk_nl_device *dev;
	enum rnk_nl_kind kind;
	size_t program; /* index of the program that is being looked at */
	size_t next;	/* index of the next record of this program, or of the next id */
};

/* Goes on to the next object. Returns false at the end. */
bool rnk_nl_next(struct rnk_nl_walk *w, struct rnk_nl_item *item);

#endif /* RNK_NETLINK_WALK_H */
