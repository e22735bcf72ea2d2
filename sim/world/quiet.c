/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* quiet.c - what must hold while nothing moves, and once everything is gone. */
#include "world_internal.h"

static bool has_work(const struct rn_w_end *e)
{
	return e->qp && e->alive && !rn_qp_sq_idle(e->qp);
}

/* Queue pairs share windows, and one that is woken and does not fit keeps others waiting
 * for a moment, so of several that have work nobody knows whose turn it is.
 */
static bool is_alone(struct rn_world *w, const struct rn_w_end *e)
{
	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		const struct rn_w_end *other = &w->pair[i / 2].end[i % 2];

		if (other != e && other->dev == e->dev && has_work(other))
			return false;
	}
	return true;
}

/* No packet is on its way and no memory is waited for, so only a timer can go on: whoever
 * is asked now must have nothing to send.
 */
static void check_asleep(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_device *d = &w->device[e->dev];
	uint8_t packet[RN_PACKET_MAX];
	struct rn_tx tx;

	if (!e->qp || d->dead || rn_w_is_stalled(d) || rn_qp_rate(e->qp))
		return;
	if (has_work(e) && !is_alone(w, e))
		return;
	/* It asks for no rate, as before, and looks at the queue pair again. */
	rn_qp_pace(e->qp, rn_w_local(d), 0, 0);
	if (rn_dev_transmit(d->dev, rn_w_local(d), RN_TX_WORK, packet, sizeof(packet),
			    &tx))
		rn_w_fail(w, "QP %x has a packet to send, and nothing makes it leave",
			  e->qpn);
}

static bool is_up(const struct rn_world *w, const struct rn_w_end *e)
{
	const struct rn_w_device *d = &w->device[e->dev];

	return e->qp && e->alive && !d->dead && !rn_w_is_stalled(d);
}

/* Everything that @e has sent has been taken, and its peer was asked for an answer. */
static void check_answered(struct rn_world *w, const struct rn_w_end *e)
{
	if (!rn_w_is_reliable(e) || !is_up(w, e) || !is_up(w, e->peer) || !e->asked ||
	    e->taken.v != e->next_psn.v)
		return;
	if (rn_psn_diff(e->told, e->taken) < -1)
		rn_w_fail(w, "QP %x has received %06x and does not answer", e->peer->qpn,
			  rn_psn_add(e->taken, RN_PSN_MASK).v);
}

void rn_w_check_rest(struct rn_world *w)
{
	/* Congestion control makes packets wait for their time. */
	if (rn_vnet_under_way(w->net) || w->mem_waiting || w->plan.cc == RN_CC_ON)
		return;
	for (uint32_t i = 0; i < 2 * w->plan.pairs && !w->result->failed; i++) {
		check_asleep(w, &w->pair[i / 2].end[i % 2]);
		check_answered(w, &w->pair[i / 2].end[i % 2]);
	}
}

/* The queue pairs and SRQs are gone; now the rest. */
void rn_w_check_gone(struct rn_w_device *d)
{
	struct rn_world *w = d->w;

	if (rn_dev_deadline(d->dev) != RN_NEVER)
		rn_w_fail(w, "device %u has a timer without a queue pair", d->number);
	if (rn_dev_acks_due(d->dev))
		rn_w_fail(w, "device %u has an acknowledgement without a queue pair",
			  d->number);
	if (d->mr.windows)
		rn_w_fail(w, "device %u has %u windows bound, and none left", d->number,
			  d->mr.windows);
	if (w->result->failed)
		return;
	rn_dev_remove_mr(d->dev, &d->mr);
	rn_dev_remove_mr(d->dev, &d->counters);
	rn_cq_fini(d->dev, &d->cq.cq);
	rn_dev_fini(d->dev); /* says so itself, if it still has anything */
}
