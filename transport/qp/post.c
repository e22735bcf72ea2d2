/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.c - work requests become WQEs. */
#include "credit.h"

#include <errno.h>
#include <string.h>

enum {
	WORD_LEN = 8
};

/* In this the Q_Key of the QP is sent instead; IBTA Vol 1, 10.2.5. */
#define QKEY_OWN (1u << 31)

enum {
	ON_RC = 1 << 0,
	ON_UC = 1 << 1,
	ON_UD = 1 << 2,
	INLINE = 1 << 3,    /* may carry its data inline */
	RD_ATOMIC = 1 << 4, /* counts against max_rd_atomic */
	ATOMIC = 1 << 5,    /* has operands */
	ON_RAW = 1 << 6,
	BIND = 1 << 7,
	WORD = 1 << 8, /* of 8 bytes */
	FLUSH = 1 << 9,
};

/* clang-format off */
static const uint16_t rules[RN_WR_COUNT] = {
	[RN_WR_RDMA_WRITE]           = ON_RC | ON_UC | INLINE,
	[RN_WR_RDMA_WRITE_WITH_IMM]  = ON_RC | ON_UC | INLINE,
	[RN_WR_SEND]                 = ON_RC | ON_UC | ON_UD | ON_RAW | INLINE,
	[RN_WR_SEND_WITH_IMM]        = ON_RC | ON_UC | ON_UD | INLINE,
	[RN_WR_RDMA_READ]            = ON_RC | RD_ATOMIC,
	[RN_WR_ATOMIC_CMP_AND_SWP]   = ON_RC | RD_ATOMIC | ATOMIC | WORD,
	[RN_WR_ATOMIC_FETCH_AND_ADD] = ON_RC | RD_ATOMIC | ATOMIC | WORD,
	[RN_WR_LOCAL_INV]            = ON_RC | ON_UC,
	[RN_WR_BIND_MW]              = ON_RC | ON_UC | BIND,
	[RN_WR_SEND_WITH_INV]        = ON_RC | INLINE,
	[RN_WR_FLUSH]                = ON_RC | RD_ATOMIC | FLUSH,
	[RN_WR_ATOMIC_WRITE]         = ON_RC | RD_ATOMIC | WORD | INLINE,
};
/* clang-format on */

static uint8_t type_bit(enum rn_qp_type type)
{
	if (type == RN_QPT_RC || type == RN_QPT_XRC_SEND)
		return ON_RC;
	if (type == RN_QPT_RAW_PACKET)
		return ON_RAW;
	if (type == RN_QPT_XRC_RECV)
		return 0; /* it sends nothing */
	return type == RN_QPT_UC ? ON_UC : ON_UD;
}

static uint64_t total_len(const struct rn_sge *sg, uint32_t num_sge)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < num_sge; i++)
		sum += sg[i].len;
	return sum;
}

/* Inline data takes the place of the SGEs: their number then does not matter to the WQE,
 * but to the length of our loops.
 */
static bool data_fits(const struct rn_qp *qp, const struct rn_send_wr *wr, uint64_t len)
{
	/* A word fits in the place of operands. */
	if (wr->flags & RN_SEND_INLINE)
		return wr->num_sge <= RN_SGE_MAX &&
		       (len <= qp->max_inline || wr->opcode == RN_WR_ATOMIC_WRITE);
	return wr->num_sge <= qp->req.sq.max_sge;
}

static bool is_flush_sane(const struct rn_send_wr *wr)
{
	const uint8_t known = RN_FLUSH_GLOBAL | RN_FLUSH_PERSISTENT;

	return wr->flush_placement && !(wr->flush_placement & ~known) &&
	       wr->flush_selectivity <= RN_FLUSH_MR;
}

static int check_send(const struct rn_qp *qp, const struct rn_send_wr *wr, uint64_t len)
{
	uint16_t rule;

	if (qp->state < RN_QPS_RTS)
		return -EINVAL;
	if ((unsigned)wr->opcode >= RN_ARRAY_SIZE(rules))
		return -EINVAL;
	rule = rules[wr->opcode];
	if (!(rule & type_bit(qp->type)) || len > RN_MSG_MAX)
		return -EINVAL;
	if ((wr->flags & RN_SEND_INLINE) && !(rule & INLINE))
		return -EINVAL;
	if ((wr->flags & RN_SEND_IP_CSUM) && qp->type != RN_QPT_RAW_PACKET)
		return -EINVAL;
	if ((rule & RD_ATOMIC) && qp->attr.max_rd_atomic == 0)
		return -EINVAL;
	if ((rule & WORD) && len != WORD_LEN)
		return -EINVAL;
	if ((rule & FLUSH) && !is_flush_sane(wr))
		return -EINVAL;
	if (qp->type == RN_QPT_UD && (!wr->av || wr->remote_qpn > RN_QPN_MASK))
		return -EINVAL;
	if (qp->type == RN_QPT_XRC_SEND && wr->remote_srqn > RN_SRQN_MAX)
		return -EINVAL;
	return 0;
}

static void copy_inline(uint8_t *to, const struct rn_send_wr *wr)
{
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		if (wr->sg[i].len == 0)
			continue;
		/* Inline data: here, and only here, an address is a pointer. */
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		memcpy(to, (const void *)(uintptr_t)wr->sg[i].addr, wr->sg[i].len);
		to += wr->sg[i].len;
	}
}

static void fill_parts(const struct rn_qp *qp, struct rn_send_wqe *wqe,
		       const struct rn_send_wr *wr)
{
	if (qp->type == RN_QPT_XRC_SEND)
		rn_put_be24(wqe->srqn, wr->remote_srqn);
	if (qp->type == RN_QPT_UD) {
		*rn_wqe_ud(wqe) =
			(struct rn_wqe_ud){ .av = *wr->av, .dest_qpn = wr->remote_qpn };
		wqe->rkey = wr->remote_qkey & QKEY_OWN ? qp->attr.qkey : wr->remote_qkey;
	} else if (rules[wr->opcode] & ATOMIC) {
		*rn_wqe_atomic(wqe) =
			(struct rn_wqe_atomic){ .compare_add = wr->compare_add,
						.swap = wr->swap };
	} else if (rules[wr->opcode] & BIND) {
		*rn_wqe_bind(wqe) = (struct rn_wqe_bind){ .length = wr->bind_length,
							  .region = wr->bind_region,
							  .access = wr->bind_access };
		return;
	} else if (rules[wr->opcode] & FLUSH) {
		wqe->length = wr->flush_length;
		wqe->imm = wr->flush_placement | (uint32_t)wr->flush_selectivity << 8;
		return;
	}
	if (wr->flags & RN_SEND_INLINE)
		copy_inline(rn_wqe_sge(qp, wqe), wr);
	else if (wr->num_sge)
		memcpy(rn_wqe_sge(qp, wqe), wr->sg, wr->num_sge * sizeof(*wr->sg));
}

int rn_qp_check_send(const struct rn_qp *qp, const struct rn_send_wr *wr)
{
	uint64_t len;

	if (wr->num_sge > RN_SGE_MAX)
		return -EINVAL;
	len = total_len(wr->sg, wr->num_sge);
	return data_fits(qp, wr, len) ? check_send(qp, wr, len) : -EINVAL;
}

uint32_t rn_qp_sq_room(const struct rn_qp *qp)
{
	return qp->req.sq.max_wr - rn_wq_count(&qp->req.sq);
}

uint32_t rn_qp_sq_next(const struct rn_qp *qp)
{
	return qp->req.sq.tail;
}

bool rn_qp_sge_address(const struct rn_qp *qp, const struct rn_sge *sge, rn_iova *addr)
{
	struct rn_key_use use = {
		.key = sge->lkey, .pd = qp->pd, .va = sge->addr, .len = sge->len
	};
	struct rn_mr *mr;

	return rn_mr_check_local(&qp->dev->mrs, &use, addr, &mr) == RN_KEY_OK &&
	       mr->kind != RN_MR_KIND_NULL;
}

int rn_qp_post_send(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_send_wr *wr)
{
	struct rn_wq *sq = &qp->req.sq;
	struct rn_send_wqe *wqe;
	int rc = rn_qp_check_send(qp, wr);

	if (rc)
		return rc;
	if (rn_wq_count(sq) >= sq->max_wr)
		return -ENOMEM;

	wqe = rn_wq_at(sq, sq->tail);
	*wqe = (struct rn_send_wqe){
		.wr_id = wr->wr_id,
		.remote_addr = wr->remote_addr,
		.rkey = wr->rkey,
		.length = (uint32_t)total_len(wr->sg, wr->num_sge),
		.imm = wr->imm,
		.opcode = (uint8_t)wr->opcode,
		.flags = (uint8_t)wr->flags,
		.num_sge = (uint8_t)wr->num_sge,
		.state = RN_WQE_POSTED,
	};
	fill_parts(qp, wqe, wr);
	sq->tail++;
	if (qp->state == RN_QPS_RTS)
		rn_dev_schedule(dev, qp);
	else if (qp->state != RN_QPS_SQD)
		rn_req_flush(qp, now);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
	return 0;
}

void rn_recv_wqe_fill(struct rn_recv_wqe *wqe, const struct rn_recv_wr *wr)
{
	uint64_t len = total_len(wr->sg, wr->num_sge);

	*wqe = (struct rn_recv_wqe){
		.wr_id = wr->wr_id,
		/* No message is longer than 2^31 bytes, so no one sees the ceiling. */
		.length = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX,
		.num_sge = wr->num_sge,
	};
	if (wr->num_sge)
		memcpy(rn_recv_sge(wqe), wr->sg, wr->num_sge * sizeof(*wr->sg));
}

int rn_qp_post_recv(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_recv_wr *wr)
{
	struct rn_wq *rq = &qp->rsp.rq;

	if (qp->state == RN_QPS_RESET || wr->num_sge > rq->max_sge || !qp->recv_cq ||
	    qp->srq)
		return -EINVAL;
	if (rn_wq_count(rq) >= rq->max_wr)
		return -ENOMEM;
	rn_recv_wqe_fill(rn_wq_at(rq, rq->tail), wr);
	rq->tail++;
	if (qp->state == RN_QPS_ERR)
		rn_rsp_flush(qp, now);
	rn_credit_posted(qp);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
	return 0;
}
