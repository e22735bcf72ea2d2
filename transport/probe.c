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
 *
 * Where nothing was lost yet, each burst is watched from afar: if nothing comes back for
 * many round trips, and the local ACK timer is far from its end, the QP goes back as
 * well, each time after twice as long.
 */
#include "dest_turns.h"
#include "requester.h"

/* How long no progress is suspicious: at least this, and several round trips. */
#define PROBE_MIN RN_MSEC(2)
/* The same where nothing is known to have been lost: rather a peer that is not let run.
 */
#define FIRST_MIN RN_MSEC(100)
enum {
	PROBE_RTTS = 4,
	FIRST_RTTS = 16,
	/* Of so many bursts one at least is lost again, if the loss was none of a full
	 * buffer. Counted, not timed, so that it holds for a program that says little.
	 */
	SUSPICION = 1000,
};
/* How long after a loss we are suspicious at all. */
#define WATCH RN_MSEC(200)

static rn_ns times_rtt(const struct rn_dest *d, unsigned times, rn_ns least)
{
	return d->rtt * times > least ? d->rtt * times : least;
}

static rn_ns patience(const struct rn_dest *d)
{
	return times_rtt(d, PROBE_RTTS, PROBE_MIN);
}

static void watch(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	probe->una = qp->req.una;
	probe->deadline = now + probe->wait;
}

void rn_probe_watch(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	probe->until = now + WATCH;
	if (probe->deadline != RN_NEVER && probe->is_close)
		return;
	probe->is_close = true;
	probe->wait = patience(qp->dest);
	watch(qp, now);
	rn_dev_arm_timer(qp->dev, qp);
}

/* In case that what leaves now is lost. Where the local ACK timer runs out soon, it does.
 */
static void watch_from_afar(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;
	rn_ns wait = times_rtt(qp->dest, FIRST_RTTS, FIRST_MIN);
	rn_ns ack_deadline = rn_req_ack_deadline(qp, now);

	wait *= qp->dev->cfg.timeout_scale;
	if (ack_deadline == RN_NEVER || wait > (ack_deadline - now) / 2)
		return;
	probe->is_close = false;
	probe->wait = wait;
	watch(qp, now);
}

void rn_probe_burst(struct rn_qp *qp, rn_ns now)
{
	struct rn_dest *d = qp->dest;

	if (rn_dest_takes_turns(d)) {
		rn_probe_watch(qp, now);
	} else if (rn_psn_before(qp->req.charged, qp->req.high)) {
		return; /* sent again, and watched if there was a reason */
	} else if (d->suspicion > 0) {
		d->suspicion--;
		rn_probe_watch(qp, now);
	} else if (qp->req.probe.deadline == RN_NEVER) {
		watch_from_afar(qp, now);
	}
}

void rn_probe_suspect(struct rn_qp *qp)
{
	if (qp->dest)
		qp->dest->suspicion = SUSPICION;
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

static void go_back(struct rn_qp *qp, rn_ns now)
{
	rn_ns ack_deadline = qp->req.ack_deadline;

	rn_req_go_back(qp);
	qp->req.ack_deadline = ack_deadline;
	rn_dest_loss(qp, now);
}

/* It gets on. */
static void go_on(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	if (qp->dest->suspicion > 0) {
		qp->dest->suspicion--;
		probe->until = now + WATCH;
	}
	if (now >= probe->until) {
		watch_from_afar(qp, now);
		return;
	}
	probe->is_close = true;
	probe->wait = patience(qp->dest);
	watch(qp, now);
}

void rn_probe_expire(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	if (probe->deadline > now)
		return;
	probe->deadline = RN_NEVER;
	/* Idle: no wake-ups for nothing. */
	if (!qp->dest || qp->req.una.v == qp->req.high.v)
		return;
	if (!is_stuck(qp)) {
		go_on(qp, now);
		return;
	}
	/* Whoever is silent for so long is not served by more of the same. */
	if (probe->is_close && now >= probe->until)
		return;
	go_back(qp, now);
	/* Under a close watch that would breed suspicion of a peer that is but slow. */
	if (!probe->is_close)
		probe->was_silent = true;
	probe->wait += probe->is_close ? patience(qp->dest) : probe->wait;
	watch(qp, now);
}
