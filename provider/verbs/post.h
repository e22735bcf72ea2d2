/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.h - a send work request in the form of the core, and who is told of it. */
#ifndef RNP_POST_H
#define RNP_POST_H

#include <infiniband/verbs.h>

#include "provider.h"
#include "provider/engine/trace_points.h"
#include "rocin/queue_pair.h"

/**
 * rnp_send_wr_from() - Convert one work request
 * @wr:		Of the program; @wr->next is not looked at
 * @qp:		For which it is: says how @wr->wr is to be read
 * @out:	Out: refers to the scatter list and the address handle of @wr
 *
 * Return: 0; -EINVAL: an opcode or flag that no QP of ours has, or an address handle of
 *	   another protection domain. rn_qp_post_send() judges the rest.
 */
int rnp_send_wr_from(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
		     struct rn_send_wr *out);

/* A receive request in the form of the core: refers to the scatter list of @wr. */
static inline struct rn_recv_wr rnp_recv_wr_from(const struct ibv_recv_wr *wr)
{
	return (struct rn_recv_wr){
		.wr_id = wr->wr_id,
		.sg = (const struct rn_sge *)wr->sg_list,
		.num_sge = (uint32_t)wr->num_sge,
	};
}

/* Fill in what BIND_MW needs besides wr_id and flags. Of @rkey only the key byte counts:
 * the index is the window's.
 */
void rnp_send_wr_bind(const struct ibv_mw *mw, uint32_t rkey,
		      const struct ibv_mw_bind_info *info, struct rn_send_wr *wr);

/* Tell the sanitizer that request number @msg of the send queue has been posted; engine
 * lock held.
 */
void rnp_post_tell_sanitizer(const struct rnp_qp *qp, const struct rn_send_wr *wr,
			     uint32_t msg);

/**
 * rnp_post_one() - Post one request to the core
 * @posted:	@posted->now is its time; it is added to the others of this call
 *
 * The sanitizer of the PCIe layer is told of it, if there is one, and who traces. Engine
 * lock held. Return: 0 or -errno of rn_qp_post_send().
 */
static inline int rnp_post_one(const struct rnp_qp *qp, struct rnp_posted *posted,
			       const struct rn_send_wr *wr)
{
	struct rnp_engine *e = qp->ctx->engine;
	const bool watched = rnp_pcie_is_watched(rnp_engine_pcie(e));
	const uint32_t msg = watched ? rn_qp_sq_next(qp->core) : 0;
	int rc = rn_qp_post_send(rnp_engine_dev(e), qp->core, posted->now, wr);

	if (watched && !rc)
		rnp_post_tell_sanitizer(qp, wr, msg);
	rn_trace_post_send(qp->base.qp.qp_num, wr->wr_id, wr->opcode, wr->flags, -rc);
	if (!rc)
		rnp_posted_add(posted, wr);
	return rc;
}

#endif /* RNP_POST_H */
