/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe.c - packets lost where nobody will say so.
 *
 * A full socket buffer loses the end of what was sent. A receiver reports a gap only when
 * something comes behind it, and only once; so if nothing follows, or if the packets sent
 * again are lost as well, only the local ACK timer is left. Programs set that to tens of
 * milliseconds or seconds, which is right for a network that hardly ever loses, and an
 * age for this one. So for a while after a loss, each QP towards that destination that
 * makes no progress goes back by itself; so does, without a loss, one that has sent in
 * its turn (window.c), behind which it sends nothing for long. That costs no retry,
 * leaves the local ACK timer alone, and to the peer looks like any other duplicate.
 *
 * Where nothing was lost yet, each burst is watched from afar: if nothing comes back for
 * many round trips, and the local ACK timer is far from its end, the QP goes back as
 * well, each time after twice as long.
 *
 * A QP that goes back without knowing of a loss asks with one packet (req.asks): a peer
 * that was only slow acknowledges everything, and nothing is sent again for nothing.
 */
#include "window.h"
#include "requester.h"

/* How long no progress is suspicious: at least this, and several round trips. */
#define PROBE_MIN RN_MSEC(2)
/* The same where nothing is known to have been lost: rather a peer that is not let run.
 */
#define FIRST_MIN RN_MSEC(100)
enum {
	PROBE_RTTS = 4,
	FIRST_RTTS = 16,
};
/* How long after a loss we are suspicious at all. */
#define WATCH RN_MSEC(200)

static rn_ns times_rtt(const struct rn_dest *d, unsigned times, rn_ns least)
{
	return d->rtt * times > least ? d->rtt * times : least;
}

/* Nor is it as long as the responses behind a gap come so far apart. */
static rn_ns patience(const struct rn_qp *qp)
{
	rn_ns wait = times_rtt(qp->dest, PROBE_RTTS, PROBE_MIN);
	rn_ns apart = PROBE_RTTS * qp->req.heard_apart;

	return apart > wait ? apart : wait;
}

static void watch(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	probe->una = qp->req.una;
	probe->heard = qp->req.heard;
	probe->deadline = now + probe->wait;
}

static void watch_closely(struct rn_qp *qp, rn_ns now, bool lossy)
{
	struct rn_probe *probe = &qp->req.probe;
	bool is_watched = probe->deadline != RN_NEVER && probe->is_close;

	probe->until = now + WATCH;
	probe->lossy = lossy || (is_watched && probe->lossy);
	if (is_watched)
		return;
	probe->is_close = true;
	probe->wait = patience(qp);
	watch(qp, now);
	rn_dev_arm_timer(qp->dev, qp);
}

void rn_probe_watch(struct rn_qp *qp, rn_ns now)
{
	watch_closely(qp, now, false);
}

/* In case that what leaves now is lost. Where the local ACK timer runs out soon, it does.
 */
static void watch_from_afar(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;
	rn_ns wait = times_rtt(qp->dest, FIRST_RTTS, FIRST_MIN);
	rn_ns ack_deadline = rn_req_ack_deadline(qp, now);

	wait *= qp->dev->cfg.timeout_scale;
	if (ack_deadline == RN_NEVER ||
	    wait > (ack_deadline - now) / 2 / RN_REQ_ACK_TIMEOUTS)
		return;
	probe->is_close = probe->lossy = false;
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
		watch_closely(qp, now, true);
	} else if (qp->req.probe.deadline == RN_NEVER) {
		watch_from_afar(qp, now);
	}
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
		watch_closely(m, now, true);
	}
}

static bool is_stuck(const struct rn_qp *qp)
{
	const struct rn_requester *req = &qp->req;

	return req->in_flight > 0 && req->una.v == req->probe.una.v &&
	       req->heard.v == req->probe.heard.v;
}

static void go_back(struct rn_qp *qp, rn_ns now)
{
	rn_ns ack_deadline = qp->req.ack_deadline;

	rn_req_go_back(qp);
	qp->req.asks = !qp->req.probe.lossy;
	qp->req.ack_deadline = ack_deadline;
	rn_dest_loss(qp, now);
}

/* Of a peer that was but slow, everything is acknowledged, what was not sent again too,
 * and at any time. What was lost is missed until it comes again, and then acknowledged at
 * once.
 */
bool rn_probe_is_answered(const struct rn_qp *qp, rn_ns now)
{
	const struct rn_requester *req = &qp->req;

	if (!qp->dest)
		return true;
	if (rn_psn_before(req->charged, req->una) || qp->burst_at == RN_NEVER)
		return false;
	return now - qp->burst_at <= PROBE_MIN + qp->dest->rtt_least;
}

/* Round trips of a peer that stands still now and then may be long. */
static rn_ns listening(const struct rn_qp *qp, rn_ns now)
{
	rn_ns ack_deadline = rn_req_ack_deadline(qp, now);
	rn_ns wait = patience(qp);

	return wait < ack_deadline - now ? wait : ack_deadline - now;
}

void rn_probe_listen(struct rn_qp *qp, rn_ns now)
{
	qp->req.listens = true;
	qp->req.probe.is_close = qp->req.probe.lossy = false;
	qp->req.probe.wait = listening(qp, now);
	watch(qp, now);
	rn_dev_arm_timer(qp->dev, qp);
}

/* It gets on. */
static void go_on(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	if (qp->dest->suspicion > 0) {
		qp->dest->suspicion--;
		probe->lossy = true;
		probe->until = now + WATCH;
	}
	if (now >= probe->until) {
		watch_from_afar(qp, now);
		return;
	}
	probe->is_close = true;
	probe->wait = patience(qp);
	watch(qp, now);
}

void rn_probe_expire(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	if (probe->deadline > now)
		return;
	probe->deadline = RN_NEVER;
	/* No more answers: ask for the rest, with one packet. */
	if (qp->req.listens) {
		qp->req.listens = false;
		rn_dev_schedule(qp->dev, qp);
	}
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
	if (!probe->lossy && rn_dest_holds(qp, now)) {
		watch(qp, now);
		return;
	}
	go_back(qp, now);
	/* Under a close watch that would breed suspicion of a peer that is but slow. */
	if (!probe->is_close)
		probe->was_silent = true;
	probe->wait += probe->is_close ? patience(qp) : probe->wait;
	watch(qp, now);
}
