/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fail.c - misfortunes on demand. */
#include "rocin/fail.h"

#include "qp.h"

void rn_qp_fail(struct rn_dev *dev, struct rn_qp *qp, rn_ns now)
{
	if (qp->state == RN_QPS_RESET || qp->state == RN_QPS_ERR)
		return;
	rn_event_raise(qp, RN_EVENT_QP_FATAL);
	rn_qp_error(qp, now);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
}

void rn_qp_overrun(struct rn_dev *dev, struct rn_qp *qp, rn_ns now, bool of_send_cq)
{
	struct rn_cq *cq = of_send_cq ? qp->send_cq : qp->recv_cq;

	if (!cq || cq->overrun)
		return;
	rn_count(dev, RN_STAT_CQ_OVERRUN);
	cq->overrun = true;
	dev->cq_failed = true;
	rn_event_raise_cq(dev, cq, true);
	rn_dev_settle(dev, now);
}
