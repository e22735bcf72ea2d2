/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model_answer.c - acknowledgements and responses at the requester, and its CQEs. */
#include "model_internal.h"

/* Have the payload writes up to this message arrived? Inside a GPU is arrived. */
static bool is_placed(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = &run->plan->test->qp[w->qp];
	const struct rn_fabric *f = rn_model_fabric_const(run->plan, run->m, qp->peer);

	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

		if (tlp->kind == RN_TLP_WRITE && tlp->state == RN_TLP_QUEUED &&
		    !(tlp->flags & RN_TLP_CQE) && tlp->requester == qp->peer_nic &&
		    tlp->stream == run->plan->peer_stream[w->qp] &&
		    tlp->msg <= run->m->request[work].position)
			return false;
	}
	return true;
}

/* Is there something at the requester for this work request? */
static bool is_answerable(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_model_request *rq = &run->m->request[work];
	bool waits = run->plan->setup.knobs.ack == RN_ACK_PLACED;

	if (run->plan->test->qp[w->qp].uc)
		return rq->is_started && rq->gathered == rn_all_pieces(w);
	if (rn_is_message(w->op))
		return rq->executed == rn_all_pieces(w) &&
		       (!waits || is_placed(run, work));
	if (w->op == RN_LITMUS_READ)
		return rq->returned >> rq->answered & 1;
	if (w->op == RN_LITMUS_AWRITE)
		return rq->returned && (!waits || is_placed(run, work));
	return rn_model_is_served(run, work);
}

/* Does the answer write anything? A CQE that finds its way free and that nobody looks for
 * without waiting is as good as nothing.
 */
static bool is_eager(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = &run->plan->test->qp[w->qp];

	if (w->op == RN_LITMUS_READ ||
	    ((w->op == RN_LITMUS_FAA || w->op == RN_LITMUS_CAS) &&
	     w->piece[0].local != RN_LITMUS_NONE))
		return false;
	if (w->unsignaled)
		return true;
	/* The entry waits where nothing waits for it, and leaves by a move of its own. */
	if (run->plan->setup.knobs.place == RN_PLACE_ANY)
		return true;
	return !run->plan->is_tried[qp->send_cq] &&
	       rn_model_is_way_free(run, qp->node, qp->nic);
}

void rn_model_answer_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	for (unsigned i = 0; i < run->plan->test->qps; i++) {
		const struct rn_model_queue *q = &run->m->qp[i];

		if (q->is_broken || q->answered == q->started)
			continue;
		if (is_answerable(run, q->work[q->answered]))
			rn_add_move(to, RN_MOVE_ANSWER, i, 0,
				    is_eager(run, q->work[q->answered]));
	}
}

/* The result of a READ or atomic goes to local memory like any data. */
static void write_result(const struct rn_model_run *run, unsigned work, unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = &run->plan->test->qp[w->qp];
	unsigned cell = w->piece[piece].local;
	struct rn_tlp tlp;

	if (cell == RN_LITMUS_NONE)
		return;
	tlp = rn_model_tlp(run, RN_TLP_WRITE, qp->nic, cell);
	tlp.flags |= RN_TLP_DATA;
	if (rn_model_is_relaxed(run->plan, cell))
		tlp.flags |= RN_TLP_RO;
	tlp.stream = run->plan->stream[w->qp];
	tlp.msg = run->m->request[work].position;
	tlp.data = (uint64_t)run->m->request[work].value[piece];
	tlp.tag = rn_model_tag(RN_USE_MEMORY, cell, 1, w->thread, w->instr);
	if (!rn_model_issue(run, qp->node, &tlp))
		run->m->qp[w->qp].is_broken = true;
}

/* Answers come in the order of posting, and a request is done with its last one: so CQEs
 * go out in that order too.
 */
void rn_model_do_answer(const struct rn_model_run *run, unsigned qp)
{
	struct rn_model_queue *q = &run->m->qp[qp];
	unsigned work = q->work[q->answered];
	const struct rn_model_work *w = rn_work(run, work);
	struct rn_model_request *rq = &run->m->request[work];
	const struct rn_litmus_qp *l = rn_qp(run, qp);

	rn_model_tell_nic(run, l->node, l->nic, work, "has the answer of");
	if (w->op == RN_LITMUS_READ) {
		write_result(run, work, rq->answered++);
		if (rq->answered < w->pieces)
			return;
	} else if (w->op == RN_LITMUS_FAA || w->op == RN_LITMUS_CAS) {
		write_result(run, work, 0);
	}
	rq->is_done = true;
	q->answered++;
	if (!w->unsignaled)
		rn_model_issue_cqe(run, l->node, l->nic, run->plan->stream[qp],
				   l->send_cq, work);
}
