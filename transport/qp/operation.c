/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* operation.c - atomics, ATOMIC WRITE and FLUSH at the responder: executed once, one at a
 * time and in order, while their resource waits to be answered.
 *
 * An ATOMIC WRITE is one aligned store, and never relaxed. Where memory may answer later
 * it also waits until every READ before it has its bytes.
 *
 * A FLUSH is a read of one byte of what it names: a read pushes the writes before it on
 * its way to that memory, and its completion comes behind them. Nothing lies between the
 * device and memory that never answers later. What the memory then survives is its own
 * property, so both placements end alike.
 *
 * Source: IBTA Vol 1, 9.4.5 and A19.
 */
#include "responder.h"
#include "scatter.h"

static void done(struct rn_responder *rsp, struct rn_resource *r)
{
	if (r->kind == RN_RES_ATOMIC)
		r->atomic.value = rsp->atomic.value;
	r->phase = RN_ATOMIC_DONE;
}

static enum rn_mem_result counted(const struct rn_qp *qp, enum rn_mem_result result)
{
	if (result == RN_MEM_FAULT)
		rn_count(qp->dev, RN_STAT_MEM_FAULT);
	return result;
}

/* Where the memory is now: it may have gone while the operation waited for its turn. */
static bool find_word(const struct rn_qp *qp, const struct rn_resource *r,
		      uint32_t access, rn_iova *iova, struct rn_mr **mr)
{
	const struct rn_key_use use = {
		.key = r->rkey,
		.pd = rn_res_pd(qp, r),
		.qpn = qp->qpn,
		.va = r->va,
		.len = sizeof(uint64_t),
		.access = access,
	};

	return rn_mr_check_remote(&qp->dev->mrs, &use, iova, mr) == RN_KEY_OK &&
	       *iova % sizeof(uint64_t) == 0;
}

static enum rn_mem_result run_atomic(struct rn_qp *qp, const struct rn_resource *r)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	struct rn_mem_atomic_req req = {
		.op = (enum rn_mem_atomic)r->atomic_op,
		.operand = r->atomic.value,
		.compare = r->atomic.compare,
	};
	struct rn_mem_attr attr = { .qpn = qp->qpn, .msg = r->msn };
	struct rn_mr *mr;

	if (!find_word(qp, r, RN_ACCESS_REMOTE_ATOMIC, &req.dst, &mr))
		return RN_MEM_FAULT;
	attr.flags = rn_mem_flags(mr);
	return counted(qp, cfg->mem->atomic(cfg->mem_ctx, &req, &qp->rsp.atomic.value,
					    attr, rn_mem_tag(qp, RN_TAG_RSP_ATOMIC)));
}

static enum rn_mem_result run_atomic_write(struct rn_qp *qp, const struct rn_resource *r)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	const struct rn_mem_attr attr = {
		.qpn = qp->qpn,
		.flags = RN_MEM_PUSH,
		.msg = r->msn,
	};
	struct rn_mr *mr;
	rn_iova iova;

	if (!find_word(qp, r, RN_ACCESS_REMOTE_WRITE, &iova, &mr))
		return RN_MEM_FAULT;
	return counted(qp, cfg->mem->write(cfg->mem_ctx, iova, &r->atomic.value,
					   sizeof(uint64_t), attr));
}

static enum rn_mem_result run_flush(struct rn_qp *qp, const struct rn_resource *r)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	const struct rn_mem_attr attr = {
		.qpn = qp->qpn,
		.flags = RN_MEM_PUSH,
		.msg = r->msn,
	};
	const struct rn_reth reth = {
		.va = r->va,
		.rkey = r->rkey,
		.dma_len = r->length,
	};
	const struct rn_key_use use = rn_flush_use(
		&reth, &r->flush,
		(struct rn_key_use){ .pd = rn_res_pd(qp, r), .qpn = qp->qpn });
	struct rn_mr *mr;
	rn_iova iova;

	if (rn_mr_check_remote(&qp->dev->mrs, &use, &iova, &mr) != RN_KEY_OK)
		return RN_MEM_FAULT;
	if (cfg->mem->always_done || (use.whole ? mr->length : use.len) == 0)
		return RN_MEM_DONE;
	return counted(qp, cfg->mem->read(cfg->mem_ctx, &qp->rsp.atomic.value, iova, 1,
					  attr, rn_mem_tag(qp, RN_TAG_RSP_ATOMIC)));
}

static enum rn_mem_result run(struct rn_qp *qp, const struct rn_resource *r)
{
	switch ((enum rn_resource_kind)r->kind) {
	case RN_RES_ATOMIC:
		return run_atomic(qp, r);
	case RN_RES_ATOMIC_WRITE:
		return run_atomic_write(qp, r);
	case RN_RES_FLUSH:
		return run_flush(qp, r);
	case RN_RES_READ:
		break;
	}
	assert(false);
	return RN_MEM_FAULT;
}

/* Memory that is always done is read when the response is built: a READ that is to see
 * the old bytes is fenced, as with any other write. A SEND behind the ATOMIC WRITE could
 * not wait for it.
 */
static bool must_wait(const struct rn_qp *qp, uint8_t index)
{
	const struct rn_responder *rsp = &qp->rsp;

	if (qp->dev->cfg.mem->always_done ||
	    rn_res_at(rsp, index)->kind != RN_RES_ATOMIC_WRITE)
		return false;
	for (uint8_t i = rsp->res_head; i != index; i++) {
		const struct rn_resource *r = rn_res_at(rsp, i);

		if (r->kind == RN_RES_READ && !r->answered)
			return true;
	}
	return false;
}

void rn_operation_start(struct rn_qp *qp, rn_ns now)
{
	struct rn_responder *rsp = &qp->rsp;

	for (uint8_t i = rsp->res_cur; i != rsp->res_tail && !rsp->atomic.running; i++) {
		struct rn_resource *r = rn_res_at(rsp, i);

		if (r->kind == RN_RES_READ || r->phase != RN_ATOMIC_WAITING)
			continue;
		if (must_wait(qp, i))
			return;
		switch (run(qp, r)) {
		case RN_MEM_DONE:
			done(rsp, r);
			break;
		case RN_MEM_PENDING:
			r->phase = RN_ATOMIC_RUNNING;
			rsp->atomic.running = true;
			rsp->atomic.index = i;
			break;
		case RN_MEM_FAULT:
			rn_rsp_fail(qp, now, i);
			return;
		}
	}
}

/* An index that is not in the ring any more, or names another request: the QP was reset
 * or failed meanwhile.
 */
void rn_operation_mem_done(struct rn_qp *qp, rn_ns now, enum rn_mem_result result)
{
	struct rn_responder *rsp = &qp->rsp;
	uint8_t i = rsp->atomic.index;
	struct rn_resource *r = rn_res_at(rsp, i);

	rsp->atomic.running = false;
	if ((uint8_t)(i - rsp->res_head) < rn_res_count(rsp) && r->kind != RN_RES_READ &&
	    r->phase == RN_ATOMIC_RUNNING) {
		if (result == RN_MEM_DONE) {
			done(rsp, r);
		} else {
			rn_count(qp->dev, RN_STAT_MEM_FAULT);
			rn_rsp_fail(qp, now, i);
		}
	}
	rn_operation_start(qp, now);
}
