/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pace.c - what a queue pair sends leaves at a given rate: the lower of what the program
 * has asked for and what congestion control allows.
 *
 * pace.next is when everything that left has been paid for at that rate. It lags behind
 * the clock by the burst at most, so a pause is worth no more than that. Acknowledgements
 * are never held back; responses to READs and atomics only by congestion control: the
 * program's rate is for its own requests.
 *
 * pace.on says that any of this is to be looked at; it is off in a queue pair without a
 * rate, and that costs it one branch.
 */
#include "qp.h"

/* Paid for by a pause where no burst was asked for; a sleeping driver wakes up late. */
#define CREDIT RN_MSEC(1)
#define CREDIT_CONGESTED RN_USEC(200)

/* 2^32 bytes are less than 2^63 ns even at 1 kbps. */
static rn_ns time_of(const struct rn_qp *qp, uint32_t bytes)
{
	return (rn_ns)(bytes * UINT64_C(8000000) / qp->req.pace.kbps);
}

/* Is there a limit by congestion control, obeyed or not? */
static bool is_limited(const struct rn_qp *qp)
{
	return qp->cc && rn_dcqcn_limits(&qp->cc->rate);
}

static bool is_obeyed(const struct rn_qp *qp)
{
	return is_limited(qp) && qp->dev->cfg.cc == RN_CC_ON;
}

static void publish(struct rn_qp *qp)
{
	const struct rn_dcqcn *d = &qp->cc->rate;
	struct rn_stats_qp *s = qp->stats;

	if (!s)
		return;
	__atomic_store_n(&s->cc_phase, d->phase, __ATOMIC_RELAXED);
	__atomic_store_n(&s->cc_rate, rn_dcqcn_limits(d) ? d->rate : 0, __ATOMIC_RELAXED);
}

void rn_pace_follow(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;
	const uint32_t before = req->pace.kbps;
	uint32_t kbps = req->pace.limit;

	if (is_obeyed(qp) && (kbps == 0 || qp->cc->rate.rate < kbps))
		kbps = qp->cc->rate.rate;
	/* At most one packet has not been paid for; the rest is paid at the new rate. */
	if (before == 0 || (kbps == 0 && req->pace.next > now))
		req->pace.next = now;
	else if (req->pace.next > now && kbps != before)
		req->pace.next = now + (req->pace.next - now) * before / kbps;
	req->pace.kbps = kbps;
	req->pace.on = kbps || is_limited(qp);
	if (qp->cc)
		publish(qp);
}

void rn_qp_pace(struct rn_qp *qp, rn_ns now, uint32_t kbps, uint32_t burst)
{
	struct rn_requester *req = &qp->req;

	req->pace.limit = kbps;
	req->pace.burst = burst;
	if (!is_obeyed(qp)) /* what the network is owed stays */
		req->pace.next = now;
	req->pace.deadline = RN_NEVER;
	rn_pace_follow(qp, now);
	rn_dev_schedule(qp->dev, qp);
}

uint32_t rn_qp_rate(const struct rn_qp *qp)
{
	return qp->req.pace.limit;
}

void rn_pace_reset(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;

	req->pace.limit = req->pace.burst = 0;
	rn_pace_follow(qp, req->pace.next);
}

/* The rate may rise while a packet waits: it is looked at again then. */
static void wait_for_it(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;
	rn_ns at = req->pace.next;

	if (is_obeyed(qp) && qp->cc->rate.increase_at < at)
		at = qp->cc->rate.increase_at;
	if (req->pace.deadline == at)
		return;
	req->pace.deadline = at;
	rn_dev_arm_timer(qp->dev, qp);
}

bool rn_pace_may_send(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;

	if (is_limited(qp)) {
		rn_dcqcn_advance(&qp->cc->rate, &qp->dev->cc, now);
		rn_pace_follow(qp, now);
	}
	if (req->pace.kbps == 0 || req->pace.next <= now)
		return true;
	wait_for_it(qp);
	return false;
}

/* In ERR what is left of the responses leaves at once. */
bool rn_pace_may_respond(struct rn_qp *qp, rn_ns now)
{
	return !is_obeyed(qp) || qp->state == RN_QPS_ERR || rn_pace_may_send(qp, now);
}

/* What a pause is worth at most. */
static rn_ns credit_of(const struct rn_qp *qp)
{
	if (is_obeyed(qp))
		return CREDIT_CONGESTED;
	return qp->req.pace.burst ? time_of(qp, qp->req.pace.burst) : CREDIT;
}

static void pay(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	struct rn_requester *req = &qp->req;
	rn_ns credit;

	if (req->pace.kbps == 0)
		return;
	credit = credit_of(qp);
	if (req->pace.next < now - credit)
		req->pace.next = now - credit;
	req->pace.next += time_of(qp, len + RN_ICRC_LEN);
}

static void count_bytes(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	if (!is_limited(qp))
		return;
	rn_dcqcn_sent(&qp->cc->rate, &qp->dev->cc, len + RN_ICRC_LEN);
	rn_pace_follow(qp, now);
}

void rn_pace_sent(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	pay(qp, now, len);
	count_bytes(qp, now, len);
}

void rn_pace_responded(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	if (is_obeyed(qp))
		pay(qp, now, len);
	count_bytes(qp, now, len);
}

void rn_pace_expire(struct rn_qp *qp, rn_ns now)
{
	if (qp->req.pace.deadline > now)
		return;
	qp->req.pace.deadline = RN_NEVER;
	rn_dev_schedule(qp->dev, qp);
}
