/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.h - the struct of an SRQ, and the functions by which a QP gets receive WQEs
 * from it.
 *
 * In a QP without an SRQ, the ring rsp.rq is the receive queue. For a QP with an SRQ,
 * rsp.rq has a single slot, to which the WQE for the message in progress is moved.
 */
#ifndef RN_TRANSPORT_SRQ_H
#define RN_TRANSPORT_SRQ_H

#include "rocin/queue_pair.h"
#include "transport/qp/qp.h"

struct rn_cq;

struct rn_srq {
	struct rn_hnode node; /* key: the SRQ number */
	struct rn_dev *dev;
	uint32_t pd, xrcd;
	/* For XRC: the CQ of the SRQ's receives. NULL for a basic SRQ, whose receives
	 * complete to the CQ of the QP that takes them.
	 */
	struct rn_cq *cq;
	struct rn_wq rq;
	uint32_t limit;
	uint32_t qps; /* number of QPs that were created with this SRQ */
	struct rn_list event_link;
	void *owner;
};

/* Returns the SRQ with the number @srqn; NULL if there is no such SRQ in the XRC domain
 * of @qp.
 */
struct rn_srq *rn_srq_find(const struct rn_qp *qp, uint32_t srqn);

/* Returns the oldest WQE of the SRQ; NULL if the SRQ is empty. */
struct rn_recv_wqe *rn_srq_head(const struct rn_srq *srq);

/* Moves the WQE at rn_srq_head() to the QP; the SRQ must not be empty. Raises
 * SRQ_LIMIT_REACHED if fewer than @srq->limit WQEs are left then. Return: the WQE at its
 * new place.
 */
struct rn_recv_wqe *rn_srq_take(struct rn_srq *srq, struct rn_qp *qp);

/* Returns the receive WQE of the message in progress or, if no message is in progress,
 * the one that the next message will take; NULL if no WQE is posted. @srq: the SRQ that
 * serves the message, or NULL.
 */
static inline struct rn_recv_wqe *rn_qp_next_recv(const struct rn_qp *qp,
						  const struct rn_srq *srq)
{
	const struct rn_wq *rq = &qp->rsp.rq;

	if (rn_wq_count(rq) > 0)
		return rn_wq_at(rq, rq->head);
	return srq ? rn_srq_head(srq) : NULL;
}

/* Moves the WQE at rn_qp_next_recv() to rsp.rq.head, unless it is there already; there
 * must be such a WQE. Return: the WQE at its new place.
 */
static inline struct rn_recv_wqe *rn_qp_take_recv(struct rn_qp *qp, struct rn_srq *srq)
{
	const struct rn_wq *rq = &qp->rsp.rq;

	if (rn_wq_count(rq) > 0)
		return rn_wq_at(rq, rq->head);
	assert(srq);
	return rn_srq_take(srq, qp);
}

/* Returns the protection domain of the receive WQE at rsp.rq.head. */
static inline uint32_t rn_qp_recv_pd(const struct rn_qp *qp)
{
	return qp->rsp.taken_from ? qp->rsp.taken_from->pd : qp->pd;
}

/* Returns the protection domain that the R_Keys of a request must belong to. @srq: the
 * SRQ that serves the message, or NULL.
 */
static inline uint32_t rn_qp_rkey_pd(const struct rn_qp *qp, const struct rn_srq *srq)
{
	return qp->type == RN_QPT_XRC_RECV && srq ? srq->pd : qp->pd;
}

/* Returns true if the QP takes its receive WQEs from an SRQ. When such a QP will take no
 * more, the event LAST_WQE_REACHED tells the program so.
 */
static inline bool rn_qp_uses_srq(const struct rn_qp *qp)
{
	return qp->srq || qp->type == RN_QPT_XRC_RECV;
}

#endif /* RN_TRANSPORT_SRQ_H */
