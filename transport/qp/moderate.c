/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* moderate.c - completion events held back so that one stands for several CQEs.
 *
 * A CQ that is held back is linked in the device until it fires. Few are at a time, so
 * the list is looked through.
 */
#include "qp.h"

static bool is_moderated(const struct rn_dev *dev, const struct rn_cq *cq)
{
	return cq->hold_count > 0 && cq->hold_period > 0 && !dev->unmoderated;
}

void rn_cq_forget_held(struct rn_dev *dev, struct rn_cq *cq)
{
	struct rn_cq **at = &dev->held_cqs;

	if (cq->held == 0)
		return;
	while (*at != cq)
		at = &(*at)->next_held;
	*at = cq->next_held;
	cq->next_held = NULL;
	cq->held = 0;
}

static void hold(struct rn_dev *dev, struct rn_cq *cq, rn_ns now)
{
	if (cq->held++ > 0)
		return;
	cq->held_until = now + cq->hold_period;
	cq->next_held = dev->held_cqs;
	dev->held_cqs = cq;
}

static void fire_now(struct rn_dev *dev, struct rn_cq *cq)
{
	rn_cq_forget_held(dev, cq);
	cq->armed = RN_CQ_UNARMED;
	rn_event_raise_cq(dev, cq, false);
}

void rn_cq_fire(struct rn_dev *dev, struct rn_cq *cq, rn_ns now)
{
	if (!is_moderated(dev, cq) || cq->held + 1 >= cq->hold_count)
		fire_now(dev, cq);
	else
		hold(dev, cq, now);
}

rn_ns rn_cq_held_deadline(const struct rn_dev *dev)
{
	rn_ns at = RN_NEVER;

	for (const struct rn_cq *cq = dev->held_cqs; cq; cq = cq->next_held)
		if (cq->held_until < at)
			at = cq->held_until;
	return at;
}

void rn_cq_fire_due(struct rn_dev *dev, rn_ns now)
{
	struct rn_cq *next;

	for (struct rn_cq *cq = dev->held_cqs; cq; cq = next) {
		next = cq->next_held;
		if (cq->held_until <= now)
			fire_now(dev, cq);
	}
}

void rn_cq_moderate(struct rn_dev *dev, struct rn_cq *cq, uint32_t count, rn_ns period)
{
	rn_ns begun = cq->held_until - cq->hold_period;

	cq->hold_count = count;
	cq->hold_period = period;
	if (cq->held == 0)
		return;
	cq->held_until = begun + period;
	if (!is_moderated(dev, cq) || cq->held >= count)
		fire_now(dev, cq);
}
