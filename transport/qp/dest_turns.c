/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dest_turns.c - the QPs that wait for a window: whose turn it is, and for how much.
 *
 * A QP with nothing in flight may always send a packet, so that a few QPs get on whatever
 * the others do. Many would drown the peer's buffer by that, and a packet that arrives
 * alone is acknowledged alone, which costs half as much again. So when many wait they
 * take turns in the order in which they came: each may send so many bytes (its grant) and
 * then queues again.
 */
#include "dest_turns.h"

enum {
	/* What a packet takes in the window besides its payload when we guess how many
	 * waiting QPs to wake.
	 */
	OVERHEAD = 64,
	/* A turn: what room there is, within these parts of the window; but not more
	 * than a super-packet.
	 */
	TURN_SHARE_MIN = 16,
	TURN_SHARE_MAX = 4,
	TURN_MAX = 64 << 10,
	/* A QP that has the window for itself and must wait goes on when so much may be
	 * sent, or such a part of the window: a super-packet. One of a few packets costs
	 * nearly as much.
	 */
	BURST = 64 << 10,
	BURST_SHARE = 3,
};

/* What is in flight may never be acknowledged: to QPs that are gone, from QPs that do not
 * look after it (timeout 0). Whoever waits behind it gets a turn after this.
 */
#define STUCK RN_MSEC(1)

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What nobody uses and nobody was promised. */
static uint32_t room_in(const struct rn_dest *d)
{
	uint64_t used = (uint64_t)d->in_flight + d->granted;

	return used < d->window ? (uint32_t)(d->window - used) : 0;
}

/* Bytes that @qp may send when its turn has come: at least a packet. */
static uint32_t turn_of(const struct rn_dest *d, const struct rn_qp *qp)
{
	uint32_t room = room_in(d), least = d->window / TURN_SHARE_MIN;
	uint32_t most = min_u32(d->window / TURN_SHARE_MAX, TURN_MAX);
	uint32_t turn = min_u32(room > least ? room : least, most);

	return turn > rn_dest_packet_of(qp) ? turn : rn_dest_packet_of(qp);
}

void rn_dest_stop_waiting(struct rn_qp *qp)
{
	if (!rn_list_is_linked(&qp->window_link))
		return;
	rn_list_remove(&qp->window_link);
	qp->dest->waiters--;
}

static struct rn_qp *first_waiter(const struct rn_dest *d)
{
	struct rn_list *link = rn_list_first(&d->waiting);

	assert(link);
	return RN_CONTAINER_OF(link, struct rn_qp, window_link);
}

/* The QP that has waited longest gets its turn. */
static void admit(struct rn_dest *d)
{
	struct rn_qp *qp = first_waiter(d);
	uint32_t grant = turn_of(d, qp);

	assert(qp->req.grant == 0);
	rn_dest_stop_waiting(qp);
	qp->req.grant = grant;
	qp->req.grant_cuts = d->cuts;
	d->granted += grant;
	rn_dev_schedule(qp->dev, qp);
}

/* Room for a packet is enough: the QP whose packet closed the window has asked for an
 * acknowledgement, which need not be of more than that. While more is in flight than the
 * window allows now, much of which is likely lost, half of what gets out of it may be
 * replaced: somebody must go on, or all would wait for their timers.
 */
static bool may_admit(struct rn_dest *d)
{
	const struct rn_qp *qp = first_waiter(d);
	uint32_t turn;

	if ((d->in_flight == 0 && d->granted == 0) || room_in(d) >= rn_dest_packet_of(qp))
		return true;
	/* All that it may send is paid for, or the window grows overfuller. */
	turn = turn_of(d, qp);
	if (d->replace < turn)
		return false;
	d->replace -= turn;
	return true;
}

static uint32_t burst_of(const struct rn_dest *d)
{
	return min_u32(BURST, d->window / BURST_SHARE);
}

uint32_t rn_burst_with(const struct rn_qp *qp, uint32_t len)
{
	uint32_t sent = qp->req.burst + len;

	return sent <= burst_of(qp->dest) ? sent : len;
}

bool rn_burst_is_too_little(const struct rn_qp *qp, uint32_t before)
{
	const struct rn_dest *d = qp->dest;
	uint32_t sent = before ? rn_burst_with(qp, before) : qp->req.burst;
	uint32_t burst = burst_of(d);

	if (d->in_flight != qp->req.in_flight ||
	    (sent > 0 && sent + rn_dest_packet_of(qp) <= burst))
		return false;
	return (uint64_t)d->in_flight + before + burst > d->window;
}

bool rn_burst_waits(const struct rn_qp *qp)
{
	return qp->req.in_flight > 0 && qp->req.since_ack_req == 0 &&
	       rn_burst_is_too_little(qp, 0);
}

/* Schedule as many of the waiting QPs as can send a packet each. */
static void wake_few(struct rn_dest *d)
{
	uint32_t room = room_in(d);

	if (d->waiters == 1 && rn_burst_waits(first_waiter(d)))
		return;
	while (room && d->waiters > 0) {
		struct rn_qp *qp = first_waiter(d);
		uint32_t need = qp->attr.path_mtu + OVERHEAD;

		rn_dest_stop_waiting(qp);
		rn_dev_schedule(qp->dev, qp);
		room = room > need ? room - need : 0;
	}
}

void rn_dest_wake(struct rn_dest *d, uint32_t freed)
{
	if (d->in_flight > d->window)
		d->replace += freed / 2;
	else
		d->replace = 0;
	while (rn_dest_takes_turns(d)) {
		if (!may_admit(d))
			return;
		admit(d);
	}
	wake_few(d);
}

void rn_dest_wait(struct rn_qp *qp, rn_ns now)
{
	struct rn_dest *d = qp->dest;

	if (rn_list_is_linked(&qp->window_link))
		return;
	rn_list_push_back(&d->waiting, &qp->window_link);
	d->waiters++;
	if (rn_dest_takes_turns(d) && !rn_timer_is_armed(&d->watch)) {
		d->moved = false;
		rn_timer_add(&qp->dev->watches, &d->watch, now + STUCK);
	}
}

void rn_dest_return_grant(struct rn_qp *qp)
{
	assert(qp->req.grant <= qp->dest->granted);
	qp->dest->granted -= qp->req.grant;
	qp->req.grant = 0;
}

void rn_dest_yield(struct rn_qp *qp)
{
	struct rn_dest *d = qp->dest;

	if (!d || (qp->req.grant == 0 && d->waiters == 0))
		return;
	rn_dest_return_grant(qp);
	/* It may itself be the first of those that wait: not for less than a packet. */
	if (rn_dest_takes_turns(d) ||
	    (d->waiters > 0 && room_in(d) >= rn_dest_packet_of(first_waiter(d))))
		rn_dest_wake(d, 0);
}

void rn_dest_withdraw(struct rn_qp *qp)
{
	if (!qp->dest)
		return;
	rn_dest_stop_waiting(qp);
	rn_dest_yield(qp);
}

void rn_dest_expire(struct rn_dev *dev, struct rn_timer *watch, rn_ns now)
{
	struct rn_dest *d = RN_CONTAINER_OF(watch, struct rn_dest, watch);

	if (d->waiters == 0)
		return;
	rn_timer_add(&dev->watches, watch, now + STUCK);
	if (!d->moved)
		admit(d);
	d->moved = false;
}
