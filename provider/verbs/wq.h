/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wq.h - receive work queues, tables of them, and queue pairs that spread frames.
 *
 * A work queue is a raw packet QP that only receives, whose number it has; the program
 * does not see that QP. A QP with a table has no queues of its own and no states: what
 * its flow rules match goes to a work queue of the table, see rss.h.
 */
#ifndef RNP_WQ_H
#define RNP_WQ_H

#include "provider.h"

struct rnp_wq {
	struct ibv_wq base;
	struct rnp_qp *queue;
	unsigned tables; /* entries that name it; engine lock */
};

struct rnp_rwq_table {
	struct ibv_rwq_ind_table base;
	LIST_ENTRY(rnp_rwq_table) link; /* engine lock */
	unsigned qps;			/* that spread over it; engine lock */
	/* Constant. */
	uint32_t size;
	struct rnp_wq **wq;
	void **core; /* their struct rn_qp */
};

static inline struct rnp_wq *to_rnp_wq(struct ibv_wq *wq)
{
	return (struct rnp_wq *)wq;
}

#endif /* RNP_WQ_H */
