/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* posting.c - when what the program has posted leaves, and what leaves with it.
 *
 * A post leaves at once if its QP waits for no acknowledgement, else it may gather until
 * the next poll: a system call carries up to 64 packets and costs the same for one. In a
 * stream what gathers is not packets, but work requests that the core has not been asked
 * about, because many packets are built in one go for half of what it takes to ask for
 * each. That they leave, though the program does not poll, is what the lease of
 * progress.c is for.
 *
 * The acknowledgement that the QP owes goes along in the same super-packet, behind the
 * request: a ping-pong then takes one packet each way, and a peer that polls for its
 * acknowledgement has the answer as well (ib_write_lat looks for it in memory afterwards,
 * and never calls the device while it does).
 */
#include "engine_internal.h"

enum {
	RUN = 8,       /* work requests between polls: more will follow the first */
	OVERHEAD = 16, /* bytes of a packet besides its payload, at least */
	TAKE_MAX = 32, /* steps: more than the sockets hold */
};

#define GATHER_POLLED RN_USEC(500) /* a program that polled so recently will again */
#define GATHER_FOR RN_USEC(50)	   /* later posts leave at once, with what has gathered */

/* ----------------------------------------------------------------- the posts */
/* May what was posted to @qp wait for company? Only of a program that is about to poll:
 * it costs no system call then to send the rest. Whoever else is guarded by the lease.
 */
static bool may_gather(struct rnp_engine *e, const struct rn_qp *qp, rn_ns now)
{
	struct rnp_progress *p = &e->progress;

	if (p->gather_ban > 0) {
		p->gather_ban--;
		return false;
	}
	return p->turn == RNP_LEASED &&
	       (rn_qp_unacked(qp) || p->held > 0 || p->run >= RUN) &&
	       now - p->last_poll < GATHER_POLLED &&
	       (p->gather_since == 0 || now - p->gather_since < GATHER_FOR);
}

/* Is this one of many, which all go into one super-packet? Who posts a few is better
 * served by a packet that lies there when he polls.
 */
static bool may_hold(const struct rnp_progress *p, const struct rnp_posted *posted)
{
	uint32_t count = p->held + posted->count;

	return p->run >= RUN && count < RN_SUPER_SEGMENTS &&
	       p->held_bytes + posted->bytes + (uint64_t)count * OVERHEAD <
		       RN_SUPER_BYTES;
}

static void hold(struct rnp_progress *p, const struct rnp_posted *posted)
{
	p->held += posted->count;
	p->held_bytes += posted->bytes;
	if (p->gather_since == 0)
		p->gather_since = posted->now;
}

void rnp_engine_posted(struct rnp_engine *e, struct rn_qp *qp,
		       const struct rnp_posted *posted)
{
	struct rnp_progress *p = &e->progress;
	unsigned what = RN_TX_WORK;
	rn_ns now = posted->now;
	bool gather;
	int cancel;

	p->streak++; /* whoever posts is busy with the device */
	p->posts += posted->count;
	rnp_answers_note(p, now);
	gather = may_gather(e, qp, now);
	if (p->held == 0)
		p->held_bytes = 0;
	/* In ERR there are completions to tell of. */
	if (gather && may_hold(p, posted) && rn_qp_state(qp) == RN_QPS_RTS) {
		hold(p, posted);
		return;
	}
	if (!rn_qp_unacked(qp))
		what |= RN_TX_ALONG;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_pump_transmit(e, now, what, gather);
	rnp_answers_posted(e, qp);
	rnp_pump_events(e);
	rnp_progress_deadline(e, now);
	pthread_setcancelstate(cancel, NULL);
}

void rnp_posting_polled(struct rnp_engine *e)
{
	struct rnp_progress *p = &e->progress;

	if (p->posts > 0)
		p->run = p->posts;
	/* Whoever posts so many polls for them, whatever it did before. */
	if (p->posts >= RUN)
		p->streak_need = p->times.streak;
	p->posts = 0;
}

void rnp_engine_kick(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	rnp_pump_transmit(e, now, RN_TX_ALL, false);
	rnp_pump_events(e);
	rnp_progress_deadline(e, now);
}

void rnp_engine_say_last(struct rnp_engine *e)
{
	/* No more than these: the peer's sockets do not hold what a ring lets through. */
	if (e->wire.local) {
		rn_local_hurry(e->wire.local, true);
		rnp_pump_transmit(e, rnp_engine_now(), RN_TX_ACKS, false);
		rn_local_hurry(e->wire.local, false);
	}
	rnp_engine_kick(e);
}

bool rnp_engine_settle(struct rnp_engine *e, uint32_t qpn)
{
	bool ended = false;

	if (!rnp_pcie_is_on(&e->pcie))
		return false;
	for (;;) {
		rnp_pcie_drain(&e->pcie, qpn);
		/* An atomic that has ended lets the next of its QP begin. */
		if (rnp_pump_collect(e, rnp_engine_now()) == 0)
			return ended;
		ended = true;
	}
}

void rnp_engine_take_all(struct rnp_engine *e)
{
	unsigned found = RNP_DRAIN_BACKGROUND;

	if (!rnp_has_sockets(e))
		return;
	if (e->wire.local)
		rn_local_look_everywhere(e->wire.local);
	else
		rn_udp_look_everywhere(e->wire.udp);
	for (unsigned i = 0; i < TAKE_MAX && found >= RNP_DRAIN_BACKGROUND; i++)
		found = rnp_pump_step(e, rnp_engine_now(), RNP_DRAIN_BACKGROUND,
				      RNP_ACKS_NOW);
	rnp_progress_deadline(e, rnp_engine_now());
}

void rnp_engine_drain(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	rnp_pump_step(e, now, RNP_DRAIN_APP, RNP_ACKS_NOW);
	rnp_progress_deadline(e, now);
}
