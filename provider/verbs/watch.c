/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.c - see watch.h */
#include "watch.h"

void rnp_watch_posted(const struct rnp_qp *qp, const struct rn_send_wr *wr, uint32_t msg)
{
	const struct rnp_pcie *pcie = rnp_engine_pcie(qp->ctx->engine);
	struct rn_host_range local[RN_SGE_MAX];
	struct rn_host_wr told = {
		.qpn = qp->base.qp.qp_num,
		.wr_id = wr->wr_id,
		.msg = msg,
		.opcode = (uint8_t)wr->opcode,
		.fence = (wr->flags & RN_SEND_FENCE) != 0,
		.is_signaled = (wr->flags & RN_SEND_SIGNALED) != 0,
		.local = local,
		.remote_addr = wr->remote_addr,
		.rkey = wr->rkey,
	};

	/* Inline data has been copied: its source is the program's again. */
	if (!(wr->flags & RN_SEND_INLINE))
		for (uint32_t i = 0; i < wr->num_sge; i++) {
			struct rn_host_range *r = &local[told.local_count];

			r->len = wr->sg[i].len;
			if (r->len && rn_qp_sge_address(qp->core, &wr->sg[i], &r->addr))
				told.local_count++;
		}
	pcie->api->posted(pcie->nic, &told);
}
