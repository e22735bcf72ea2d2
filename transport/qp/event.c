/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.c - completion and asynchronous events waiting to be taken.
 *
 * An event is a bit in its object plus the object's place in one of two queues of the
 * device, so that raising one needs no memory and forgetting an object is complete.
 */
#include "srq.h"

void rn_event_raise(struct rn_qp *qp, enum rn_async_event event)
{
	qp->async_pending |= 1u << event;
	if (!rn_list_is_linked(&qp->event_link))
		rn_list_push_back(&qp->dev->qp_events, &qp->event_link);
}

void rn_event_raise_srq(struct rn_srq *srq)
{
	if (!rn_list_is_linked(&srq->event_link))
		rn_list_push_back(&srq->dev->srq_events, &srq->event_link);
}

void rn_event_raise_cq(struct rn_dev *dev, struct rn_cq *cq, bool error)
{
	bool queued = cq->event_pending || cq->error_pending;

	if (error)
		cq->error_pending = true;
	else
		cq->event_pending = true;
	if (queued)
		return;
	cq->next_event = NULL;
	*dev->cq_events_tail = cq;
	dev->cq_events_tail = &cq->next_event;
}

void rn_event_forget_qp(struct rn_qp *qp)
{
	qp->async_pending = 0;
	rn_list_remove(&qp->event_link);
}

void rn_event_forget_cq(struct rn_dev *dev, struct rn_cq *cq)
{
	struct rn_cq **at = &dev->cq_events;

	if (!cq->event_pending && !cq->error_pending)
		return;
	while (*at != cq)
		at = &(*at)->next_event;
	*at = cq->next_event;
	if (dev->cq_events_tail == &cq->next_event)
		dev->cq_events_tail = at;
	cq->event_pending = false;
	cq->error_pending = false;
	cq->next_event = NULL;
}

static void take_cq_event(struct rn_dev *dev, struct rn_event *ev)
{
	struct rn_cq *cq = dev->cq_events;

	*ev = (struct rn_event){ .completion = cq->event_pending,
				 .async = RN_EVENT_CQ_ERR,
				 .cq = cq };
	if (!cq->event_pending || !cq->error_pending) {
		rn_event_forget_cq(dev, cq);
		return;
	}
	cq->event_pending = false; /* the error comes with the next call */
}

/* What happens to a QP that works was there before what put an end to it. */
static unsigned first_event(uint32_t pending)
{
	const uint32_t at_work = 1u << RN_EVENT_COMM_EST | 1u << RN_EVENT_SQ_DRAINED |
				 1u << RN_EVENT_PATH_MIG | 1u << RN_EVENT_PATH_MIG_ERR;

	return (unsigned)__builtin_ctz(pending & at_work ? pending & at_work : pending);
}

static void take_qp_event(struct rn_dev *dev, struct rn_event *ev)
{
	struct rn_list *link = rn_list_first(&dev->qp_events);
	struct rn_qp *qp;
	unsigned event;

	assert(link);
	qp = RN_CONTAINER_OF(link, struct rn_qp, event_link);
	event = first_event(qp->async_pending);
	*ev = (struct rn_event){ .async = (enum rn_async_event)event, .qp = qp };
	qp->async_pending &= ~(1u << event);
	if (!qp->async_pending)
		rn_list_remove(&qp->event_link);
}

static void take_srq_event(struct rn_dev *dev, struct rn_event *ev)
{
	struct rn_list *link = rn_list_pop_front(&dev->srq_events);

	*ev = (struct rn_event){ .async = RN_EVENT_SRQ_LIMIT_REACHED,
				 .srq = RN_CONTAINER_OF(link, struct rn_srq,
							event_link) };
}

bool rn_dev_event(struct rn_dev *dev, struct rn_event *ev)
{
	if (dev->cq_events)
		take_cq_event(dev, ev);
	else if (!rn_list_is_empty(&dev->qp_events))
		take_qp_event(dev, ev);
	else if (!rn_list_is_empty(&dev->srq_events))
		take_srq_event(dev, ev);
	else
		return false;
	return true;
}
