/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cq.c - completion queues: entries, arming, event moderation; and the queues of events
 * that the device delivers.
 *
 * Moderation delays completion events so that one event stands for several CQEs. A CQ
 * whose event is delayed is on a list of the device until the event is raised. There are
 * few such CQs at a time, so the list is searched linearly.
 *
 * A pending event is a bit in its object (CQ, QP or SRQ), which is linked in one of the
 * device's event queues. So raising an event needs no memory, and the events of an object
 * vanish when it is destroyed.
 */
#include "rocin/cqe.h"
#include "rocin/transport.h"
#include "srq.h"
#include "transport/qp/qp.h"

/* ----------------------------------------------- asynchronous and completion events */
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

static void forget_events(struct rn_dev *dev, struct rn_cq *cq)
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
		forget_events(dev, cq);
		return;
	}
	/* The error event of the CQ is still pending; the next call delivers it. */
	cq->event_pending = false;
}

/* Returns which of the pending events of a QP (bits 1 << enum rn_async_event) must be
 * delivered first. Events of a working QP, such as COMM_EST, come before the event that
 * moved it to ERR, because they happened earlier.
 */
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

static bool take_event(struct rn_dev *dev, struct rn_event *ev)
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

bool rn_dev_event(struct rn_dev *dev, struct rn_event *ev)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_TAKE_EVENT, .u.event = ev);

	return RN_SHOW_RESULT(take_event(dev, ev));
}

/* -------------------------------------------------- moderation of completion events */
static bool is_moderated(const struct rn_dev *dev, const struct rn_cq *cq)
{
	return cq->hold_count > 0 && cq->hold_period > 0 && !dev->unmoderated;
}

static void forget_held(struct rn_dev *dev, struct rn_cq *cq)
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

static void hold_back(struct rn_dev *dev, struct rn_cq *cq, rn_ns now)
{
	if (cq->held++ > 0)
		return;
	cq->held_until = now + cq->hold_period;
	cq->next_held = dev->held_cqs;
	dev->held_cqs = cq;
}

static void fire_now(struct rn_dev *dev, struct rn_cq *cq)
{
	forget_held(dev, cq);
	cq->armed = RN_CQ_UNARMED;
	rn_event_raise_cq(dev, cq, false);
}

/* Raises the completion event of a CQ that is armed, and has got a CQE for which it was
 * armed. If the CQ is moderated, the event may be raised later.
 */
static void fire_or_hold(struct rn_dev *dev, struct rn_cq *cq, rn_ns now)
{
	if (!is_moderated(dev, cq) || cq->held + 1 >= cq->hold_count)
		fire_now(dev, cq);
	else
		hold_back(dev, cq, now);
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
	RN_SHOW_CALL(dev, .kind = RN_CALL_CQ_MODERATE, .object = cq,
		     .u.cq = { .count = count, .period = period });

	cq->hold_count = count;
	cq->hold_period = period;
	if (cq->held == 0)
		return;
	cq->held_until = begun + period;
	if (!is_moderated(dev, cq) || cq->held >= count)
		fire_now(dev, cq);
}

/* ------------------------------------------------ recording of calls about a CQ */
struct rn_call_hook rn_call_hook;

static bool is_cq_call_shown(void)
{
	/* The load is atomic, because opening a device, which sets the hook, may happen
	 * while another device is in use.
	 */
	return __builtin_expect(
		__atomic_load_n(&rn_call_hook.cq_call, __ATOMIC_RELAXED) != NULL, false);
}

static void show_ring(enum rn_call_kind kind, struct rn_cq *cq)
{
	const struct rn_call call = { .kind = kind,
				      .object = cq,
				      .u.cq = { .ring = cq->ring,
						.capacity = cq->capacity } };

	rn_call_hook.cq_call(&call);
}

/* ---------------------------------------------------------- completion queues */
void rn_cq_init(struct rn_cq *cq, rn_iova ring, uint32_t capacity, void *owner)
{
	assert(capacity >= 1 && capacity <= RN_CQE_MAX);
	assert((capacity & (capacity - 1)) == 0);
	*cq = (struct rn_cq){ .ring = ring, .capacity = capacity, .owner = owner };
	if (is_cq_call_shown())
		show_ring(RN_CALL_CQ_INIT, cq);
}

void rn_cq_move(struct rn_cq *cq, rn_iova ring, uint32_t capacity)
{
	assert(capacity >= 1 && capacity <= RN_CQE_MAX);
	assert((capacity & (capacity - 1)) == 0);
	__atomic_store_n(&cq->ring, ring, __ATOMIC_RELAXED);
	cq->capacity = capacity;
	if (is_cq_call_shown())
		show_ring(RN_CALL_CQ_MOVE, cq);
}

void rn_cq_fini(struct rn_dev *dev, struct rn_cq *cq)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_CQ_FINI, .object = cq);

	forget_held(dev, cq);
	forget_events(dev, cq);
}

void rn_cq_arm(struct rn_cq *cq, enum rn_cq_arm mode)
{
	if (cq->armed != RN_CQ_ARM_NEXT)
		cq->armed = mode;
	if (is_cq_call_shown())
		rn_call_hook.cq_call(&(struct rn_call){
			.kind = RN_CALL_CQ_ARM, .object = cq, .u.cq.arm = mode });
}

/* --------------------------------------------------------- completion queue entries */
static void lose_cqe(struct rn_dev *dev, struct rn_cq *cq, struct rn_qp *qp)
{
	if (qp->type == RN_QPT_XRC_RECV)
		/* An XRC_RECV QP has no CQ; this was the CQ of an SRQ. */
		qp->rsp.cq_lost = true;
	rn_count(dev, RN_STAT_CQ_OVERRUN);
	/* After the CQ's first lost CQE, a further one matters only if its QP is not in
	 * ERR yet.
	 */
	if (!cq->overrun || qp->state != RN_QPS_ERR)
		dev->cq_failed = true;
	if (cq->overrun)
		return;
	cq->overrun = true;
	rn_event_raise_cq(dev, cq, true);
}

/* Counts a completion of a receive with an error. Does nothing for a send, because
 * send_queue.c counts the errors of sends.
 */
static void count_error(struct rn_dev *dev, const struct rn_completion *c)
{
	if (!(c->opcode & RN_WC_RECV))
		return;
	rn_count(dev, c->status == RN_WC_WR_FLUSH_ERR ? RN_STAT_RESP_CQE_FLUSH
						      : RN_STAT_RESP_CQE_ERR);
}

static bool is_armed_for(const struct rn_cq *cq, const struct rn_completion *c)
{
	if (cq->armed == RN_CQ_UNARMED)
		return false;
	return cq->armed == RN_CQ_ARM_NEXT || c->solicited || c->status != RN_WC_SUCCESS;
}

/* Returns the number of the message that a CQE is about, see rn_mem_attr.msg. For a
 * receive that succeeded, it is the number of the message that was received last. For a
 * receive that failed, it is the number that the message would have got, because the
 * message was not received completely.
 */
static uint32_t message_of(const struct rn_qp *qp, const struct rn_completion *c)
{
	if (!(c->opcode & RN_WC_RECV))
		return qp->req.sq.head - 1;
	return c->status == RN_WC_SUCCESS ? qp->rsp.msn : rn_rsp_next_msn(qp);
}

static bool write_cqe(struct rn_dev *dev, struct rn_cq *cq, const struct rn_cqe *cqe,
		      uint32_t msg)
{
	uint32_t slot = cq->producer & (cq->capacity - 1);
	struct rn_mem_attr attr = rn_mem_attr_of(cqe->qpn, RN_MEM_CQE, msg);
	rn_iova dst = cq->ring + (uint64_t)slot * sizeof(*cqe);

	return dev->cfg.mem->write(dev->cfg.mem_ctx, dst, cqe, sizeof(*cqe), attr) ==
	       RN_MEM_DONE;
}

static bool is_of(uint8_t syndrome, enum rn_wc_status status)
{
	if (status == RN_WC_LOC_PROT_ERR)
		return syndrome > RN_SYN_LKEY && syndrome <= RN_SYN_LOCAL_MEMORY;
	return status == RN_WC_RETRY_EXC_ERR &&
	       (syndrome == RN_SYN_SILENCE || syndrome == RN_SYN_SEQUENCE);
}

/* Returns the vendor error of a CQE. In a completion of a send it tells what the peer has
 * answered; in one of a receive, what this end has answered to the peer.
 */
static uint8_t syndrome_of(const struct rn_qp *qp, const struct rn_completion *c)
{
	static const uint8_t by_status[] = {
		[RN_WC_LOC_LEN_ERR] = RN_SYN_TOO_LONG,
		[RN_WC_LOC_QP_OP_ERR] = RN_SYN_REQUEST,
		[RN_WC_WR_FLUSH_ERR] = RN_SYN_FLUSHED,
		[RN_WC_MW_BIND_ERR] = RN_SYN_BIND,
		[RN_WC_BAD_RESP_ERR] = RN_SYN_RESPONSE,
		[RN_WC_LOC_ACCESS_ERR] = RN_SYN_PEER_ACCESS,
		[RN_WC_REM_INV_REQ_ERR] = RN_SYN_NAK_INVALID,
		[RN_WC_REM_ACCESS_ERR] = RN_SYN_NAK_ACCESS,
		[RN_WC_REM_OP_ERR] = RN_SYN_NAK_OPERATION,
		[RN_WC_RNR_RETRY_EXC_ERR] = RN_SYN_NOT_READY,
	};
	uint8_t syndrome = RN_SYN_NONE;

	if (c->status == RN_WC_SUCCESS)
		return RN_SYN_NONE;
	if (is_of(qp->why, c->status))
		return qp->why;
	if ((c->opcode & RN_WC_RECV) && c->status == RN_WC_REM_INV_REQ_ERR)
		return RN_SYN_PEER_INVALID;
	if ((unsigned)c->status < RN_ARRAY_SIZE(by_status))
		syndrome = by_status[c->status];
	return syndrome ? syndrome : RN_SYN_OTHER;
}

/* Is the CQ full? In a replay of a recording no program polls CQEs, so the answer comes
 * from the recording (rn_call_hook.cq_full()).
 */
static bool is_full(const struct rn_dev *dev, const struct rn_cq *cq)
{
	uint32_t taken = atomic_load_explicit(&cq->consumer, memory_order_acquire);

	return cq->producer - taken >= cq->capacity &&
	       (!dev->hook || rn_call_hook.cq_full(dev->hook, cq));
}

void rn_cq_push(struct rn_dev *dev, struct rn_cq *cq, struct rn_qp *qp, rn_ns now,
		const struct rn_completion *c)
{
	uint32_t lap = (cq->producer >> __builtin_ctz(cq->capacity)) + 1;
	struct rn_cqe cqe = {
		.wr_id = c->wr_id,
		.timestamp_ns = (uint64_t)now,
		.byte_len = c->byte_len,
		.imm = c->imm,
		.qpn = qp->qpn,
		.src_qpn = c->src_qpn,
		.vendor_err = syndrome_of(qp, c),
		.sgid_index = c->sgid_index,
		.sl = c->sl,
		.ctl = rn_cqe_ctl(lap, c->flags, (uint8_t)c->opcode, (uint8_t)c->status),
	};

	dev->completions++;
	if (c->status != RN_WC_SUCCESS)
		count_error(dev, c);
	if (cq->overrun || is_full(dev, cq) ||
	    !write_cqe(dev, cq, &cqe, message_of(qp, c))) {
		lose_cqe(dev, cq, qp);
		return;
	}
	__atomic_store_n(&cq->producer, cq->producer + 1, __ATOMIC_RELAXED);
	if (is_armed_for(cq, c))
		fire_or_hold(dev, cq, now);
}
