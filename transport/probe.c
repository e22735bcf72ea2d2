/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe.c - packets lost where nobody will say so.
 *
 * A full socket buffer loses the end of what was sent. A receiver reports a gap only when
 * something comes behind it, and only once; so if nothing follows, or if the packets sent
 * again are lost as well, only the local ACK timer is left. Programs set that to tens of
 * milliseconds or seconds, which is right for a network that hardly ever loses, and an
 * age for this one. So for a while after a loss, each QP towards that destination that
 * makes no progress goes back by itself; so does, without a loss, one that has sent in
 * its turn (dest_turns.c), behind which it sends nothing for long. That costs no retry,
 * leaves the local ACK timer alone, and to the peer looks like any other duplicate.
 */
#include "requester.h"

/* How long no progress is suspicious: at least this, and several round trips. */
#define PROBE_MIN RN_MSEC(2)
enum {
	PROBE_RTTS = 4
};
/* How long after a loss we are suspicious at all. */
#define WATCH RN_MSEC(200)

static rn_ns patience(const struct rn_dest *d)
{
	return d->rtt * PROBE_RTTS > PROBE_MIN ? d->rtt * PROBE_RTTS : PROBE_MIN;
}

static void watch(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	probe->una = qp->req.una;
	probe->deadline = now + probe->wait;
	rn_dev_arm_timer(qp->dev, qp);
}

void rn_probe_watch(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	probe->until = now + WATCH;
	if (probe->deadline != RN_NEVER)
		return;
	probe->wait = patience(qp->dest);
	watch(qp, now);
}

void rn_probe_start(struct rn_qp *qp, rn_ns now)
{
	struct rn_list *link, *next;

	if (!qp->dest)
		return;
	rn_list_for_each_safe (link, next, &qp->dest->busy) {
		struct rn_qp *m = RN_CONTAINER_OF(link, struct rn_qp, busy_link);

		if (m->req.una.v == m->req.high.v) {
			rn_list_remove(link);
			continue;
		}
		rn_probe_watch(m, now);
	}
}

static bool is_stuck(const struct rn_qp *qp)
{
	const struct rn_requester *req = &qp->req;

	return req->in_flight > 0 && req->una.v == req->probe.una.v && !req->rnr_waiting;
}

void rn_probe_expire(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	if (probe->deadline > now)
		return;
	probe->deadline = RN_NEVER;
	/* Idle: no wake-ups for nothing. */
	if (!qp->dest || now >= probe->until || qp->req.una.v == qp->req.high.v)
		return;
	if (is_stuck(qp)) {
		rn_ns ack_deadline = qp->req.ack_deadline;

		rn_req_go_back(qp);
		qp->req.ack_deadline = ack_deadline;
		rn_dest_loss(qp, now);
		probe->wait += patience(qp->dest);
	} else {
		probe->wait = patience(qp->dest);
	}
	watch(qp, now);
}
