/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.h - the struct of an SRQ, and how a QP gets receive WQEs from it.
 *
 * A QP without an SRQ completes the WQEs of rsp.rq in their order. With an SRQ, rsp.rq
 * has room for a single WQE: the one taken for the message in progress.
 */
#ifndef RN_TRANSPORT_SRQ_H
#define RN_TRANSPORT_SRQ_H

#include "rocin/qp_types.h"
#include "transport/qp/qp.h"

struct rn_cq;

struct rn_srq {
	struct rn_hnode node; /* key: the SRQ number */
	struct rn_dev *dev;
	uint32_t pd, xrcd;
	struct rn_cq *cq; /* XRC: CQ of the receives; NULL: each QP has its own */
	struct rn_wq rq;
	uint32_t limit;
	uint32_t qps; /* number of QPs created with this SRQ */
	struct rn_list event_link;
	void *owner;
};

/* The SRQ with this number, if it is in the XRC domain of @qp; NULL if not. */
struct rn_srq *rn_srq_find(const struct rn_qp *qp, uint32_t srqn);

/* The SRQ's oldest WQE; NULL if there is none. */
struct rn_recv_wqe *rn_srq_head(const struct rn_srq *srq);

/* Move the WQE at rn_srq_head(), which is not NULL, to the QP. Raises SRQ_LIMIT_REACHED
 * if fewer than the limit are left. Return: the WQE at its new place.
 */
struct rn_recv_wqe *rn_srq_take(struct rn_srq *srq, struct rn_qp *qp);

/* The receive WQE of the message in progress or, if there is none, of the message that
 * starts now; NULL if no WQE is posted. @srq: the SRQ that serves the message, or NULL.
 */
static inline struct rn_recv_wqe *rn_qp_next_recv(const struct rn_qp *qp,
						  const struct rn_srq *srq)
{
	const struct rn_wq *rq = &qp->rsp.rq;

	if (rn_wq_count(rq) > 0)
		return rn_wq_at(rq, rq->head);
	return srq ? rn_srq_head(srq) : NULL;
}

/* Move the WQE at rn_qp_next_recv(), which is not NULL, to rsp.rq.head unless it is there
 * already. Return: the WQE at its new place.
 */
static inline struct rn_recv_wqe *rn_qp_take_recv(struct rn_qp *qp, struct rn_srq *srq)
{
	const struct rn_wq *rq = &qp->rsp.rq;

	if (rn_wq_count(rq) > 0)
		return rn_wq_at(rq, rq->head);
	assert(srq);
	return rn_srq_take(srq, qp);
}

/* Protection domain of the receive WQE at rsp.rq.head. */
static inline uint32_t rn_qp_recv_pd(const struct rn_qp *qp)
{
	return qp->rsp.taken_from ? qp->rsp.taken_from->pd : qp->pd;
}

/* Protection domain against which R_Keys of a request are checked; @srq
 * as for rn_qp_next_recv().
 */
static inline uint32_t rn_qp_rkey_pd(const struct rn_qp *qp, const struct rn_srq *srq)
{
	return qp->type == RN_QPT_XRC_RECV && srq ? srq->pd : qp->pd;
}

/* Does the QP take receives from an SRQ? Then LAST_WQE_REACHED tells the program
 * that no more will be taken.
 */
static inline bool rn_qp_uses_srq(const struct rn_qp *qp)
{
	return qp->srq || qp->type == RN_QPT_XRC_RECV;
}

#endif /* RN_TRANSPORT_SRQ_H */
