/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pace.c - requests of a QP leave at a given rate.
 *
 * pace.next is when everything that left has been paid for at that rate. It lags behind
 * the clock by the burst at most, so a pause is worth no more than that. Acknowledgements
 * and responses are the peer's business and are not held back.
 */
#include "qp.h"

/* Paid for by a pause where no burst was asked for. */
#define CREDIT RN_MSEC(1)

/* 2^32 bytes are less than 2^63 ns even at 1 kbps. */
static rn_ns time_of(const struct rn_qp *qp, uint32_t bytes)
{
	return (rn_ns)(bytes * UINT64_C(8000000) / qp->req.pace.kbps);
}

void rn_qp_pace(struct rn_qp *qp, rn_ns now, uint32_t kbps, uint32_t burst)
{
	struct rn_requester *req = &qp->req;

	req->pace.kbps = kbps;
	req->pace.burst = burst;
	req->pace.next = now;
	req->pace.deadline = RN_NEVER;
	rn_dev_schedule(qp->dev, qp);
}

uint32_t rn_qp_rate(const struct rn_qp *qp)
{
	return qp->req.pace.kbps;
}

bool rn_pace_may_send(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;

	if (req->pace.kbps == 0 || req->pace.next <= now)
		return true;
	if (req->pace.deadline != req->pace.next) {
		req->pace.deadline = req->pace.next;
		rn_dev_arm_timer(qp->dev, qp);
	}
	return false;
}

void rn_pace_sent(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	struct rn_requester *req = &qp->req;
	rn_ns credit;

	if (req->pace.kbps == 0 || len == 0)
		return;
	credit = req->pace.burst ? time_of(qp, req->pace.burst) : CREDIT;
	if (req->pace.next < now - credit)
		req->pace.next = now - credit;
	req->pace.next += time_of(qp, len + RN_ICRC_LEN);
}

void rn_pace_expire(struct rn_qp *qp, rn_ns now)
{
	if (qp->req.pace.deadline > now)
		return;
	qp->req.pace.deadline = RN_NEVER;
	rn_dev_schedule(qp->dev, qp);
}
