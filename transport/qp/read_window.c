/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read_window.c - who may ask for responses when there is not room for all.
 *
 * QPs that do not fit stand in line. The first is called when there is room, and what
 * there is is his: whoever has just had a response would take it otherwise, time and
 * again, for he is always there first. If he needs more he keeps his place.
 */
#include "read_window.h"

#include "qp.h"

/* A QP that has no READ under way waits at most so long for the others: their peer may be
 * dead.
 */
#define PATIENCE RN_MSEC(1)

static void call_next(struct rn_dev *dev)
{
	struct rn_list *link;

	if (dev->read_turn || dev->read_in_flight >= dev->cfg.read_window)
		return;
	link = rn_list_pop_front(&dev->read_waiting);
	if (!link)
		return;
	dev->read_turn = RN_CONTAINER_OF(link, struct rn_qp, read_link);
	rn_dev_schedule(dev, dev->read_turn);
}

static bool is_its_turn(const struct rn_qp *qp)
{
	const struct rn_dev *dev = qp->dev;
	const struct rn_list *first = rn_list_first(&dev->read_waiting);

	if (dev->read_turn)
		return dev->read_turn == qp;
	return !first || first == &qp->read_link;
}

static bool fits(const struct rn_dev *dev, uint32_t bytes)
{
	return dev->read_in_flight == 0 ||
	       (uint64_t)dev->read_in_flight + bytes <= dev->cfg.read_window;
}

/* What an atomic brings takes no room. */
static bool may_ask(const struct rn_qp *qp, uint32_t bytes)
{
	return bytes == 0 || qp->req.read_pass ||
	       (is_its_turn(qp) && fits(qp->dev, bytes));
}

static void stand_in_line(struct rn_qp *qp)
{
	struct rn_dev *dev = qp->dev;

	if (dev->read_turn == qp) {
		dev->read_turn = NULL;
		rn_list_push_front(&dev->read_waiting, &qp->read_link);
	} else if (!rn_list_is_linked(&qp->read_link)) {
		rn_list_push_back(&dev->read_waiting, &qp->read_link);
	}
}

bool rn_read_window_open(struct rn_qp *qp, rn_ns now, uint32_t bytes)
{
	struct rn_requester *req = &qp->req;

	if (may_ask(qp, bytes))
		return true;
	stand_in_line(qp);
	if (req->rd_count == 0 && req->read_deadline == RN_NEVER) {
		req->read_deadline = now + PATIENCE;
		rn_dev_arm_timer(qp->dev, qp);
	}
	return false;
}

void rn_read_window_charge(struct rn_qp *qp, uint32_t bytes)
{
	qp->req.read_pass = false;
	qp->req.read_deadline = RN_NEVER;
	qp->dev->read_in_flight += bytes;
	rn_read_window_withdraw(qp);
}

void rn_read_window_credit(struct rn_dev *dev, uint32_t bytes)
{
	assert(dev->read_in_flight >= bytes);
	dev->read_in_flight -= bytes;
	call_next(dev);
}

void rn_read_window_yield(struct rn_qp *qp)
{
	if (qp->dev->read_turn != qp)
		return;
	qp->dev->read_turn = NULL;
	call_next(qp->dev);
}

void rn_read_window_withdraw(struct rn_qp *qp)
{
	rn_list_remove(&qp->read_link);
	rn_read_window_yield(qp);
}
