/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* posting.c - when what the program has posted leaves, and what leaves with it.
 *
 * A post leaves at once if its QP waits for no acknowledgement, else it may gather until
 * the next poll. The acknowledgement that the QP owes goes along in the same
 * super-packet, behind the request: a ping-pong then takes one packet each way, and a
 * peer that polls for its acknowledgement finds the answer first (ib_write_lat looks for
 * it in memory afterwards, and never calls the device while it does).
 */
#include "engine_internal.h"

enum {
	ANSWERED_MAX = 16
};

#define ANSWER_WITHIN RN_USEC(200) /* the thread, and then the program, must wake up */
#define GATHER_POLLED RN_USEC(500) /* a program that polled so recently will again */
#define GATHER_FOR RN_USEC(50)	   /* later posts leave at once, with what has gathered */

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
	return p->turn == RNP_LEASED && rn_qp_unacked(qp) &&
	       now - p->last_poll < GATHER_POLLED &&
	       (p->gather_since == 0 || now - p->gather_since < GATHER_FOR);
}

/* Was that the program's answer to what the background thread received? */
static void note_answer(struct rnp_progress *p, rn_ns now)
{
	if (p->found_at == 0)
		return;
	if (now - p->found_at > ANSWER_WITHIN)
		p->answered /= 2;
	else if (p->answered < ANSWERED_MAX)
		p->answered++;
	p->found_at = 0;
}

void rnp_engine_posted(struct rnp_engine *e, struct rn_qp *qp)
{
	unsigned what = rn_qp_unacked(qp) ? RN_TX_WORK : RN_TX_WORK | RN_TX_ALONG;
	rn_ns now = rnp_engine_now();

	if (rnp_has_sockets(e))
		rnp_pump_transmit(e, now, what, may_gather(e, qp, now));
	note_answer(&e->progress, now);
	rnp_progress_acked(e);
	e->progress.streak++; /* whoever posts is busy with the device */
	rnp_pump_events(e);
	rnp_progress_deadline(e, now);
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

void rnp_engine_drain(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	rnp_pump_step(e, now, RNP_DRAIN_APP, RNP_ACKS_NOW);
	rnp_progress_deadline(e, now);
}
