/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - requests as the sanitizer of the PCIe layer is told of them. */
#ifndef RNP_WATCH_H
#define RNP_WATCH_H

#include "provider.h"
#include "provider/engine/trace_points.h"

/* Request number @msg of the send queue has been posted; engine lock held. */
void rnp_watch_posted(const struct rnp_qp *qp, const struct rn_send_wr *wr, uint32_t msg);

/* rn_qp_post_send(), seen by the sanitizer if there is one. */
static inline int rnp_watch_send(const struct rnp_qp *qp, rn_ns now,
				 const struct rn_send_wr *wr)
{
	struct rnp_engine *e = qp->ctx->engine;
	uint32_t msg;
	int rc;

	if (!rnp_pcie_is_watched(rnp_engine_pcie(e)))
		return rn_qp_post_send(rnp_engine_dev(e), qp->core, now, wr);
	msg = rn_qp_sq_next(qp->core);
	rc = rn_qp_post_send(rnp_engine_dev(e), qp->core, now, wr);
	if (!rc)
		rnp_watch_posted(qp, wr, msg);
	return rc;
}

/* The same, seen by who traces. */
static inline int rnp_watch_post_send(const struct rnp_qp *qp, rn_ns now,
				      const struct rn_send_wr *wr)
{
	int rc = rnp_watch_send(qp, now, wr);

	rn_trace_post_send(qp->base.qp.qp_num, wr->wr_id, wr->opcode, wr->flags, -rc);
	return rc;
}

#endif /* RNP_WATCH_H */
