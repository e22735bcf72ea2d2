/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.h - inside of the device: an SRQ, and how a QP comes by its receive WQEs.
 *
 * A QP without an SRQ completes the WQEs of rsp.rq in their order. With one, rsp.rq has
 * room for a single WQE: the one that the message in progress took.
 */
#ifndef RN_TRANSPORT_SRQ_H
#define RN_TRANSPORT_SRQ_H

#include "rocin/qp_types.h"
#include "transport/qp/qp.h"

struct rn_cq;

struct rn_srq {
	struct rn_hnode node; /* key: number */
	struct rn_dev *dev;
	uint32_t pd, xrcd;
	struct rn_cq *cq; /* of an XRC domain; NULL: those of the QPs */
	struct rn_wq rq;
	uint32_t limit;
	uint32_t qps; /* made with it */
	struct rn_list event_link;
	void *owner;
};

/* The SRQ with this number, if it is in the XRC domain of @qp; NULL if not. */
struct rn_srq *rn_srq_find(const struct rn_qp *qp, uint32_t srqn);

/* The SRQ's oldest WQE; NULL if there is none. */
struct rn_recv_wqe *rn_srq_head(const struct rn_srq *srq);

/* Move rn_srq_head(), which is not NULL, to the QP, and tell if the limit is reached.
 * Returns it at its new place.
 */
struct rn_recv_wqe *rn_srq_take(struct rn_srq *srq, struct rn_qp *qp);

/* The receive WQE of the message in progress or, if none is, of the one that starts now;
 * NULL if there is none. @srq: which serves the message, or NULL.
 */
static inline struct rn_recv_wqe *rn_qp_next_recv(const struct rn_qp *qp,
						  const struct rn_srq *srq)
{
	const struct rn_wq *rq = &qp->rsp.rq;

	if (rn_wq_count(rq) > 0)
		return rn_wq_at(rq, rq->head);
	return srq ? rn_srq_head(srq) : NULL;
}

/* Make rn_qp_next_recv(), which is not NULL, the QP's own: that at rsp.rq.head. Returns
 * it, at its new place.
 */
static inline struct rn_recv_wqe *rn_qp_take_recv(struct rn_qp *qp, struct rn_srq *srq)
{
	const struct rn_wq *rq = &qp->rsp.rq;

	if (rn_wq_count(rq) > 0)
		return rn_wq_at(rq, rq->head);
	assert(srq);
	return rn_srq_take(srq, qp);
}

/* Protection domain of the WQE at rsp.rq.head. */
static inline uint32_t rn_qp_recv_pd(const struct rn_qp *qp)
{
	return qp->rsp.taken_from ? qp->rsp.taken_from->pd : qp->pd;
}

/* Protection domain that R_Keys of a request are judged by; @srq as above. */
static inline uint32_t rn_qp_rkey_pd(const struct rn_qp *qp, const struct rn_srq *srq)
{
	return qp->type == RN_QPT_XRC_RECV && srq ? srq->pd : qp->pd;
}

/* For people and for the program: no more receives of the SRQ will be taken. */
static inline bool rn_qp_uses_srq(const struct rn_qp *qp)
{
	return qp->srq || qp->type == RN_QPT_XRC_RECV;
}

#endif /* RN_TRANSPORT_SRQ_H */
