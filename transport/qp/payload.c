/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* payload.c - from the SGEs of a send WQE to the payload of one packet. */
#include <string.h>

#include "requester.h"
#include "scatter.h"

/* Memory that may answer later: the payload of one packet is gathered into a buffer, and
 * the packet built when it is there. Going back may make it one that nobody wants.
 */
static enum rn_mem_result fetch_staged(struct rn_qp *qp, struct rn_send_wqe *wqe,
				       struct rn_psn psn, uint32_t offset, uint32_t len)
{
	__typeof__(qp->req.stage) *stage = &qp->req.stage;

	if (stage->waiting)
		return RN_MEM_PENDING;
	if (!stage->ready || stage->psn.v != psn.v) {
		enum rn_mem_result result;

		stage->psn = psn;
		result = rn_gather(qp, rn_wqe_sge(qp, wqe), wqe->num_sge, offset,
				   stage->buf, len, rn_mem_tag(qp, RN_TAG_REQ),
				   &stage->outstanding, NULL);
		/* A list may fail in the middle, with reads of its start under way. */
		stage->fault = result == RN_MEM_FAULT;
		stage->waiting = stage->outstanding > 0;
	}
	stage->ready = false;
	if (stage->waiting)
		return RN_MEM_PENDING;
	return stage->fault ? RN_MEM_FAULT : RN_MEM_DONE;
}

void rn_req_mem_done(struct rn_qp *qp, rn_ns now, enum rn_mem_result result)
{
	__typeof__(qp->req.stage) *stage = &qp->req.stage;

	(void)now;
	assert(stage->outstanding > 0);
	if (result == RN_MEM_FAULT)
		stage->fault = true;
	if (--stage->outstanding > 0)
		return;
	stage->waiting = false;
	stage->ready = true;
	rn_dev_schedule(qp->dev, qp);
}

// NOLINTNEXTLINE(readability-function-size): what, from where and to where
enum rn_mem_result rn_req_fetch(struct rn_qp *qp, struct rn_send_wqe *wqe,
				struct rn_psn psn, uint32_t offset, uint32_t len,
				uint8_t *dst, struct rn_crc32_part *part)
{
	enum rn_mem_result result;
	uint32_t outstanding = 0;

	if (len == 0)
		return RN_MEM_DONE;
	if (wqe->flags & RN_SEND_INLINE) {
		memcpy(dst, (const uint8_t *)rn_wqe_sge(qp, wqe) + offset, len);
		return RN_MEM_DONE;
	}
	if (!qp->req.stage.buf) {
		result = rn_gather(qp, rn_wqe_sge(qp, wqe), wqe->num_sge, offset, dst,
				   len, rn_mem_tag(qp, RN_TAG_REQ), &outstanding, part);
		assert(outstanding == 0);
		return result;
	}
	result = fetch_staged(qp, wqe, psn, offset, len);
	if (result == RN_MEM_DONE)
		memcpy(dst, qp->req.stage.buf, len);
	return result;
}
