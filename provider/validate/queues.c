/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* queues.c - rules about what is posted, completed, polled and waited for; see
 * rules/queues.def.
 */
#include <errno.h>

#include "model/model.h"

static bool has_signaled(const struct rn_val_qp *qp)
{
	for (uint32_t i = 0; i < qp->send.count; i++)
		if (rn_val_queued(&qp->send, i)->is_signaled)
			return true;
	return false;
}

/* ------------------------------------------------------------------------ sends */
/* Counts the requests of a post that were accepted. */
static void count_sends(struct rn_val_qp *qp, const struct rn_val_event *e)
{
	for (uint32_t i = 0; i < e->post.accepted && i < e->post.count; i++) {
		const struct rn_val_request *r = &e->post.request[i];

		if (rn_val_is(qp->send_cq, RN_VAL_CQ))
			qp->send_cq->cq.tally.signaled +=
				qp->sq_sig_all || r->flags & IBV_SEND_SIGNALED;
		qp->tally.messages += rn_val_takes_receive(r->opcode);
		qp->tally.solicited +=
			rn_val_takes_receive(r->opcode) && r->flags & IBV_SEND_SOLICITED;
	}
	if (qp->tally.has_failed)
		qp->tally.after_failure += e->post.accepted;
	qp->tally.has_reply = false;
}

static void check_signaled(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_qp *qp = &e->object->qp;
	struct rn_val_text name;

	if (qp->send.count < qp->cap.max_send_wr || has_signaled(qp))
		return;
	rn_val_find(
		v, e, RN_VAL_QUEUES_NOTHING_SIGNALED, e->object,
		"%s has %u unsignaled requests, which is all that it takes (max_send_wr "
		"%u)",
		rn_val_name(e->object, &name), qp->send.count, qp->cap.max_send_wr);
}

static void check_full_send_queue(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_qp *qp = &e->object->qp;
	struct rn_val_text name;

	if (e->rc == ENOMEM && qp->send.count > qp->asked.max_send_wr && has_signaled(qp))
		rn_val_find(v, e, RN_VAL_QUEUES_SEND_QUEUE_FULL, e->object,
			    "%s has %u requests that have not been polled, of the %u "
			    "that were asked for",
			    rn_val_name(e->object, &name),
			    qp->send.count - (e->post.count - e->post.accepted),
			    qp->asked.max_send_wr);
}

/* Reports messages to a QP of this process that has no receive left. */
static void check_receives_of_peer(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_object *o = e->object, *peer = rn_val_own_peer_of(v, o);
	bool is_lost = o->qp.type == IBV_QPT_UC;
	struct rn_val_text name, peer_name;
	uint32_t messages = 0;

	/* A target QP of XRC takes its receives from the SRQ that each request names, so
	 * it is not checked.
	 */
	if (!peer || peer->qp.type == IBV_QPT_XRC_RECV ||
	    (peer->qp.state != IBV_QPS_RTR && peer->qp.state != IBV_QPS_RTS) ||
	    rn_val_receives_of(peer)->count)
		return;
	for (uint32_t i = 0; i < e->post.accepted && i < e->post.count; i++)
		messages += rn_val_takes_receive(e->post.request[i].opcode);
	o->qp.tally.was_exhausted = o->qp.tally.was_exhausted || messages;
	if (messages)
		rn_val_find2(v, e,
			     is_lost ? RN_VAL_QUEUES_MESSAGE_LOST
				     : RN_VAL_QUEUES_RECEIVES_EXHAUSTED,
			     o, peer,
			     "%s sends %u message%s, and %s, which has posted %llu "
			     "receives so far, has none left",
			     rn_val_name(o, &name), messages, messages == 1 ? "" : "s",
			     rn_val_name(peer, &peer_name),
			     (unsigned long long)rn_val_receives_of(peer)->posted);
}

enum {
	/* Number of requests posted behind a failed one from which on the program counts
	 * as one that ignores failures: it may have posted fewer before it could see the
	 * failure.
	 */
	IGNORED = 64
};

static void check_status_ignored(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_qp *qp = &e->object->qp;
	struct rn_val_text name;

	if (qp->tally.after_failure >= IGNORED && qp->state == IBV_QPS_ERR)
		rn_val_find(v, e, RN_VAL_QUEUES_STATUS_IGNORED, e->object,
			    "%u requests were posted to %s behind its first completion "
			    "with an error",
			    qp->tally.after_failure, rn_val_name(e->object, &name));
}

static uint32_t sges_of(const struct rn_val_object *o, bool is_send)
{
	if (o->kind == RN_VAL_SRQ)
		return o->srq.max_sge;
	return is_send ? o->qp.cap.max_send_sge : o->qp.cap.max_recv_sge;
}

static void check_sges(struct rn_val *v, const struct rn_val_event *e)
{
	bool is_send = e->kind == RN_VAL_POST_SEND;
	uint32_t max = sges_of(e->object, is_send);
	struct rn_val_text name;

	for (uint32_t i = 0; i < e->post.count; i++)
		if (e->post.request[i].sge_count > max)
			rn_val_find(v, e, RN_VAL_QUEUES_TOO_MANY_SGES, e->object,
				    "a request with %u entries, and %s takes %u",
				    e->post.request[i].sge_count,
				    rn_val_name(e->object, &name), max);
}

/* --------------------------------------------------------------------- receives */
static void check_full_receive_queue(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;
	uint32_t asked = o->kind == RN_VAL_SRQ ? o->srq.max_wr : o->qp.asked.max_recv_wr;
	struct rn_val_text name;

	if (e->rc == ENOMEM)
		rn_val_find(v, e, RN_VAL_QUEUES_RECEIVE_QUEUE_FULL, o,
			    "%s has no room for one more receive, and %u were asked for",
			    rn_val_name(o, &name), asked);
}

static void check_beside_srq(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_text name, srq;

	if (rn_val_is(e->object->qp.srq, RN_VAL_SRQ))
		rn_val_find2(v, e, RN_VAL_QUEUES_RECEIVE_BESIDE_SRQ, e->object,
			     e->object->qp.srq, "%s takes its receives from %s",
			     rn_val_name(e->object, &name),
			     rn_val_name(e->object->qp.srq, &srq));
}

/* Checks an SRQ to which receives are posted. If it was empty before, no limit event told
 * the program in time to fill it.
 */
static void check_refill(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_srq *srq = &e->object->srq;
	struct rn_val_text name;

	if (srq->recv.count || !srq->recv.completed)
		return;
	if (!srq->tally.was_armed && !srq->limit)
		rn_val_find(v, e, RN_VAL_QUEUES_SRQ_LIMIT_UNARMED, e->object,
			    "%s is empty after %llu receives, and never had a limit",
			    rn_val_name(e->object, &name),
			    (unsigned long long)srq->recv.completed);
	else if (srq->tally.is_limit_spent)
		rn_val_find(v, e, RN_VAL_QUEUES_SRQ_LIMIT_SPENT, e->object,
			    "%s is empty, and its limit was not set again after the "
			    "event",
			    rn_val_name(e->object, &name));
}

static void check_modify_srq(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_srq *srq = &e->object->srq;
	uint32_t limit = e->modify_srq.attr->srq_limit;
	struct rn_val_text name;

	if (!(e->modify_srq.mask & IBV_SRQ_LIMIT))
		return;
	if (e->rc == EINVAL && limit > srq->max_wr)
		rn_val_find(v, e, RN_VAL_QUEUES_SRQ_LIMIT_ABOVE_SIZE, e->object,
			    "the limit is %u, and %s holds %u receives", limit,
			    rn_val_name(e->object, &name), srq->max_wr);
	if (e->rc || !limit)
		return;
	srq->tally.was_armed = true;
	srq->tally.is_limit_spent = false;
}

/* ------------------------------------------------------------------ completions */
/* Checks that a CQ has room for the completions of all outstanding requests. The call has
 * returned, so those requests of this post count that were not refused. Requests in posts
 * of other threads that have not returned yet (cq.unsure) do not count.
 */
static void check_room(struct rn_val *v, const struct rn_val_event *e,
		       const struct rn_val_object *cq)
{
	struct rn_val_text name;
	uint64_t sure;

	if (!rn_val_is(cq, RN_VAL_CQ))
		return;
	sure = (uint64_t)cq->cq.promised +
	       rn_val_promises(e->object, e, e->post.accepted);
	if (sure <= (uint64_t)cq->cq.size + cq->cq.unsure)
		return;
	rn_val_find2(v, e, RN_VAL_QUEUES_CQ_TOO_SMALL, e->object, cq,
		     "%u requests can complete to a CQ of %u entries, the newest of %s",
		     (uint32_t)(sure - cq->cq.unsure), cq->cq.size,
		     rn_val_name(e->object, &name));
}

static void check_resize(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_cq *cq = &e->object->cq;
	struct rn_val_text name;

	if (e->resize_cq.entries >= 0 && (uint32_t)e->resize_cq.entries < cq->promised)
		rn_val_find(
			v, e, RN_VAL_QUEUES_RESIZE_TOO_SMALL, e->object,
			"%s is to have %d entries, and %u requests can complete there",
			rn_val_name(e->object, &name), e->resize_cq.entries,
			cq->promised);
}

static void check_completion(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_completion *c = &e->completion;
	struct rn_val_long_text peer;
	struct rn_val_text name;

	if (c->qp && c->is_recv && c->wc->status == IBV_WC_SUCCESS)
		c->qp->qp.tally.has_reply = true;
	if (!c->qp || c->wc->status == IBV_WC_SUCCESS)
		return;
	c->qp->qp.tally.has_failed = true;
	if (c->wc->status == IBV_WC_RNR_RETRY_EXC_ERR)
		rn_val_find(v, e, RN_VAL_QUEUES_RNR_EXCEEDED, c->qp,
			    "request %#llx of %s found no receive (rnr_retry %u) at %s",
			    (unsigned long long)c->wc->wr_id, rn_val_name(c->qp, &name),
			    (unsigned)c->qp->qp.attr.rnr_retry,
			    rn_val_receives_text(v, c->qp, &peer));
	if (c->wc->status == IBV_WC_LOC_LEN_ERR && c->is_recv)
		rn_val_find(v, e, RN_VAL_QUEUES_RECEIVE_TOO_SHORT, c->qp,
			    "receive %#llx of %s has room for %llu bytes",
			    (unsigned long long)c->wc->wr_id, rn_val_name(c->qp, &name),
			    (unsigned long long)(c->wr ? c->wr->len : 0));
}

/* --------------------------------------------------------------------- events */
static void check_wakeup(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_cq *cq = &e->object->cq;
	struct rn_val_text name;

	if (!cq->notifies || cq->is_polled_since_armed || !cq->waiting_when_armed ||
	    cq->has_event)
		return;
	/* No finding if another thread has armed the CQ, which may be about to poll it;
	 * if a poll is under way; or if the CQ was armed for solicited events only, as
	 * the completions in it may be unsolicited.
	 */
	if (cq->armed_by != e->thread || e->cq_event.is_polling || cq->is_armed_solicited)
		return;
	rn_val_find(
		v, e, RN_VAL_QUEUES_LOST_WAKEUP, e->object,
		"%u completions were in %s when it was armed, and nobody polled before "
		"the event was waited for",
		cq->waiting_when_armed, rn_val_name(e->object, &name));
}

static void check_notify(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_object *o = e->object;
	struct rn_val_text name;

	o->cq.tally.solicited_notifies += e->notify.solicited_only != 0;
	if (!o->cq.has_channel)
		rn_val_find(v, e, RN_VAL_QUEUES_NOTIFY_WITHOUT_CHANNEL, o,
			    "%s was made without a channel", rn_val_name(o, &name));
}

static void check_async(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_object *o = e->object;
	struct rn_val_text name;

	if (e->async.type == IBV_EVENT_CQ_ERR && o->kind == RN_VAL_CQ)
		rn_val_find(v, e, RN_VAL_QUEUES_OVERFLOW, o,
			    "%s, of %u entries, had no room for a completion; %llu were "
			    "polled so far",
			    rn_val_name(o, &name), o->cq.size,
			    (unsigned long long)o->cq.entries);
	if (e->async.type == IBV_EVENT_SRQ_LIMIT_REACHED && o->kind == RN_VAL_SRQ)
		o->srq.tally.is_limit_spent = true;
}

/* Does a QP send only messages that never wake its peer? */
static bool is_unsolicited(const struct rn_val_object *from,
			   const struct rn_val_object *to)
{
	const struct rn_val_object *cq = to->qp.recv_cq;

	return from->qp.tally.messages && !from->qp.tally.solicited &&
	       rn_val_is(cq, RN_VAL_CQ) && cq->cq.notifies &&
	       cq->cq.notifies == cq->cq.tally.solicited_notifies;
}

/* --------------------------------------------------------- what is judged at last */
static void check_end_of_qp(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object, *peer = rn_val_own_peer_of(v, o);
	struct rn_val_text name, peer_name;

	/* If a message of the peer has arrived after these requests were posted
	 * (has_reply), it may be the answer to them, and shows that they were carried
	 * out.
	 */
	if (o->qp.state == IBV_QPS_RTS && o->qp.send.count && !has_signaled(&o->qp) &&
	    !o->qp.tally.has_reply)
		rn_val_find(v, e, RN_VAL_QUEUES_LAST_UNSIGNALED, o,
			    "%u requests of %s are behind the last one that was signaled",
			    o->qp.send.count, rn_val_name(o, &name));
	if (peer && is_unsolicited(o, peer))
		rn_val_find2(
			v, e, RN_VAL_QUEUES_SOLICITED_MISSING, o, peer,
			"%s has sent %llu messages, none with IBV_SEND_SOLICITED, to "
			"%s, whose CQ was only armed for solicited ones",
			rn_val_name(o, &name), (unsigned long long)o->qp.tally.messages,
			rn_val_name(peer, &peer_name));
	else if (peer && is_unsolicited(peer, o))
		rn_val_find2(
			v, e, RN_VAL_QUEUES_SOLICITED_MISSING, peer, o,
			"%s has sent %llu messages, none with IBV_SEND_SOLICITED, to "
			"%s, whose CQ was only armed for solicited ones",
			rn_val_name(peer, &peer_name),
			(unsigned long long)peer->qp.tally.messages,
			rn_val_name(o, &name));
}

static void check_end_of_cq(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_cq *cq = &e->object->cq;
	struct rn_val_text name;

	if (cq->tally.signaled && !cq->polls)
		rn_val_find(v, e, RN_VAL_QUEUES_NEVER_POLLED, e->object,
			    "%llu signaled requests, and nobody has polled %s",
			    (unsigned long long)cq->tally.signaled,
			    rn_val_name(e->object, &name));
}

static void check_sends(struct rn_val *v, const struct rn_val_event *e)
{
	if (!e->is_done) {
		check_signaled(v, e);
		check_sges(v, e);
		return;
	}
	count_sends(&e->object->qp, e);
	check_room(v, e, e->object->qp.send_cq);
	check_full_send_queue(v, e);
	check_receives_of_peer(v, e);
	check_status_ignored(v, e);
}

static void check_receives(struct rn_val *v, const struct rn_val_event *e)
{
	bool is_qp = e->object->kind == RN_VAL_QP;

	if (e->is_done) {
		check_full_receive_queue(v, e);
		if (is_qp)
			check_room(v, e, e->object->qp.recv_cq);
		return;
	}
	check_sges(v, e);
	if (is_qp)
		check_beside_srq(v, e);
	else
		check_refill(v, e);
}

static void check_cq(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->kind == RN_VAL_CQ_EVENT)
		check_wakeup(v, e);
	else if (e->kind == RN_VAL_RESIZE_CQ && e->is_done)
		check_resize(v, e);
	else if (e->kind == RN_VAL_NOTIFY && e->is_done)
		check_notify(v, e);
	else if (e->kind == RN_VAL_DESTROY && !e->is_done)
		check_end_of_cq(v, e);
}

/* Clears the counts of a QP that is reset: what it did before is not judged. */
static void begin_again(struct rn_val_qp *qp)
{
	qp->tally.messages = qp->tally.solicited = 0;
	qp->tally.has_failed = false;
	qp->tally.after_failure = 0;
	qp->tally.was_exhausted = false;
	qp->tally.rnr_received = qp->tally.rnr_sent = 0;
}

void rn_val_check_queues(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;

	if (e->kind == RN_VAL_COMPLETION)
		check_completion(v, e);
	if (!o || o->is_gone)
		return;
	if (e->kind == RN_VAL_RNR && o->kind == RN_VAL_QP)
		rn_val_check_rnr(v, e);
	else if (e->kind == RN_VAL_POST_SEND && o->kind == RN_VAL_QP)
		check_sends(v, e);
	else if (e->kind == RN_VAL_POST_RECV &&
		 (o->kind == RN_VAL_QP || o->kind == RN_VAL_SRQ))
		check_receives(v, e);
	else if (e->kind == RN_VAL_MODIFY_SRQ && e->is_done && o->kind == RN_VAL_SRQ)
		check_modify_srq(v, e);
	else if (e->kind == RN_VAL_MODIFY && e->is_done && o->kind == RN_VAL_QP &&
		 e->modify.mask & IBV_QP_STATE && !e->rc &&
		 e->modify.attr->qp_state == IBV_QPS_RESET)
		begin_again(&e->object->qp);
	else if (e->kind == RN_VAL_ASYNC_EVENT)
		check_async(v, e);
	else if (e->kind == RN_VAL_DESTROY && !e->is_done && o->kind == RN_VAL_QP)
		check_end_of_qp(v, e);
	else if (o->kind == RN_VAL_CQ)
		check_cq(v, e);
}
