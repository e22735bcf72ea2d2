/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe.c - notices losses that cause no NAK, by watching whether una (the oldest PSN
 * that is not acknowledged) advances.
 *
 * A full socket buffer loses the last packets that were sent. A receiver reports a gap
 * only when a packet behind it arrives, and only once; so if no packet follows, or if
 * the packets that were sent again are lost as well, only the local ACK timer notices
 * the loss. Programs set that timer to tens of milliseconds or seconds, which is far too
 * long for a network that loses packets often. So for a while after a loss, each QP that
 * sends to the same peer is watched closely: after a few round trips without progress it
 * goes back, which means that it sends all packets from una on again. The same holds,
 * without a known loss, for a QP that has used its turn in a peer window shared by many
 * QPs (window.c), because it sends no further packets for a long time. Going back in
 * this way costs no retry, leaves the local ACK timer alone, and looks to the peer like
 * any other duplicate.
 *
 * While no loss is known, the watch is distant: the QP goes back if nothing comes back
 * for many round trips and the local ACK timer is far from its end. Each further wait is
 * twice as long as the one before.
 *
 * A QP that goes back without knowing of a loss first sends one packet (req.sends_one): a
 * peer that was only slow acknowledges everything, and the rest need not be sent again.
 */
#include "requester.h"

/* The close watch: the QP sends all unacknowledged packets again after this time without
 * progress, or after PROBE_RTTS round trips if these take longer.
 */
#define PROBE_MIN RN_MSEC(2)
/* The distant watch: the QP sends all unacknowledged packets again after this time
 * without progress, or after FIRST_RTTS round trips if these take longer. The time is
 * long because no loss is known; the peer process has probably just not been scheduled.
 */
#define FIRST_MIN RN_MSEC(100)
enum {
	PROBE_RTTS = 4,
	FIRST_RTTS = 16,
};
/* How long, after a loss, all QPs that send to the same peer are watched closely. */
#define WATCH RN_MSEC(200)

static rn_ns times_rtt(const struct rn_peer *peer, unsigned times, rn_ns least)
{
	return peer->rtt * times > least ? peer->rtt * times : least;
}

/* Returns how long a QP under a close watch waits for progress: that una, the oldest
 * unacknowledged PSN, advances, or that a response arrives. If responses behind a
 * missing one come at large intervals, the wait is longer.
 */
static rn_ns progress_wait(const struct rn_qp *qp)
{
	rn_ns wait = times_rtt(qp->peer, PROBE_RTTS, PROBE_MIN);
	rn_ns apart = PROBE_RTTS * qp->req.heard_apart;

	return apart > wait ? apart : wait;
}

static void start_watch(struct rn_qp *qp, rn_ns now)
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
	probe->wait = progress_wait(qp);
	start_watch(qp, now);
	rn_dev_arm_timer(qp->dev, qp);
}

/* Starts a distant watch, unless the local ACK timer would expire soon anyway. */
static void watch_from_afar(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;
	rn_ns wait = times_rtt(qp->peer, FIRST_RTTS, FIRST_MIN);
	rn_ns ack_deadline = rn_req_ack_deadline(qp, now);

	wait *= qp->dev->cfg.timeout_scale;
	if (ack_deadline == RN_NEVER ||
	    wait > (ack_deadline - now) / 2 / RN_REQ_ACK_TIMEOUTS)
		return;
	probe->is_close = probe->lossy = false;
	probe->wait = wait;
	start_watch(qp, now);
}

void rn_probe_burst(struct rn_qp *qp, rn_ns now)
{
	struct rn_peer *peer = qp->peer;

	if (rn_window_takes_turns(peer)) {
		/* The QP has used its turn in the peer window and sends no further
		 * packet for now. If the last packets are lost, no later one shows the
		 * gap to the peer.
		 */
		watch_closely(qp, now, false);
	} else if (rn_psn_before(qp->req.charged, qp->req.high)) {
		/* These packets are sent for the second time. If there is a reason to
		 * watch the QP closely, it is being watched already.
		 */
		return;
	} else if (peer->suspicion > 0) {
		peer->suspicion--;
		watch_closely(qp, now, true);
	} else if (qp->req.probe.deadline == RN_NEVER) {
		watch_from_afar(qp, now);
	}
}

void rn_probe_peer(struct rn_qp *qp, rn_ns now)
{
	struct rn_list *link, *next;

	if (!qp->peer)
		return;
	rn_list_for_each_safe (link, next, &qp->peer->busy) {
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

static void go_back_on_suspicion(struct rn_qp *qp, rn_ns now)
{
	rn_ns ack_deadline = qp->req.ack_deadline;

	rn_req_go_back(qp);
	qp->req.sends_one = !qp->req.probe.lossy;
	qp->req.ack_deadline = ack_deadline;
	rn_window_loss(qp, now);
}

/* Returns true if the acknowledgement of a packet that was sent again came so quickly
 * that the peer must have missed its first copy: a peer acknowledges a packet that it was
 * missing at once. A peer that is only slow acknowledges packets at any time, including
 * those that were not sent again.
 */
static bool is_answered_at_once(const struct rn_qp *qp, rn_ns now)
{
	const struct rn_requester *req = &qp->req;

	if (!qp->peer)
		return true;
	if (rn_psn_before(req->charged, req->una) || qp->burst_at == RN_NEVER)
		return false;
	return now - qp->burst_at <= PROBE_MIN + qp->peer->rtt_least;
}

/* Returns how long to wait for further late acknowledgements. This is at most the local
 * ACK timeout. Round trips to a peer that stops now and then are long, and a wait of
 * several round trips could be very long.
 */
static rn_ns late_answer_wait(const struct rn_qp *qp, rn_ns now)
{
	rn_ns ack_deadline = rn_req_ack_deadline(qp, now);
	rn_ns wait = progress_wait(qp);

	return wait < ack_deadline - now ? wait : ack_deadline - now;
}

/* Stops sending packets again as long as acknowledgements of their first copies come in
 * (req.awaits_late).
 */
static void await_late_answers(struct rn_qp *qp, rn_ns now)
{
	qp->req.awaits_late = true;
	qp->req.probe.is_close = qp->req.probe.lossy = false;
	qp->req.probe.wait = late_answer_wait(qp, now);
	start_watch(qp, now);
	rn_dev_arm_timer(qp->dev, qp);
}

/* Called when una (the oldest unacknowledged PSN) has advanced, or a response behind a
 * missing one has arrived: starts the next wait of the watch.
 */
static void go_on_watching(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	if (qp->peer->suspicion > 0) {
		qp->peer->suspicion--;
		probe->lossy = true;
		probe->until = now + WATCH;
	}
	if (now >= probe->until) {
		watch_from_afar(qp, now);
		return;
	}
	probe->is_close = true;
	probe->wait = progress_wait(qp);
	start_watch(qp, now);
}

void rn_probe_expire(struct rn_qp *qp, rn_ns now)
{
	struct rn_probe *probe = &qp->req.probe;

	if (probe->deadline > now)
		return;
	probe->deadline = RN_NEVER;
	/* No further acknowledgements of first copies have come. Sends the oldest
	 * unacknowledged packet again.
	 */
	if (qp->req.awaits_late) {
		qp->req.awaits_late = false;
		rn_dev_schedule(qp->dev, qp);
	}
	/* Nothing is in flight: the timer need not run. */
	if (!qp->peer || qp->req.una.v == qp->req.high.v)
		return;
	if (!is_stuck(qp)) {
		go_on_watching(qp, now);
		return;
	}
	/* The peer has been silent for the whole time of the close watch (WATCH).
	 * Sending the same packets again would not help.
	 */
	if (probe->is_close && now >= probe->until)
		return;
	if (!probe->lossy && rn_window_holds(qp, now)) {
		start_watch(qp, now);
		return;
	}
	go_back_on_suspicion(qp, now);
	/* was_silent is set only under a distant watch. If it were set under a close
	 * watch, too, a peer that is merely slow would look like one that loses packets.
	 */
	if (!probe->is_close)
		probe->was_silent = true;
	probe->wait += probe->is_close ? progress_wait(qp) : probe->wait;
	start_watch(qp, now);
}

void rn_probe_answered(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;
	bool at_once = is_answered_at_once(qp, now);

	if (req->probe.was_silent && at_once)
		rn_window_suspect(qp);
	req->probe.was_silent = false;
	if (!req->sends_one)
		return;
	if (at_once || req->una.v == req->high.v)
		rn_req_resume_sending(qp);
	else
		await_late_answers(qp, now);
}
