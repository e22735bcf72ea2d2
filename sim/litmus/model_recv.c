/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model_recv.c - receive queues to which the program posts receives itself (instruction
 * recv): the NIC fetches the WQEs of the receives, and messages take the receives.
 *
 * A receive WQE is the address of a buffer. The NIC fetches the WQEs of a queue one after
 * the other, in the order in which their doorbells have arrived. It may fetch a WQE in
 * advance, or only when a message needs a receive. A message takes the next receive of
 * its queue when the packet that needs it is processed; messages of several queue pairs
 * take receives from one SRQ. If a message takes a WQE that is not the address of a
 * buffer, the message never completes.
 */
#include "model_internal.h"

static const struct rn_model_doorbell *doorbell(const struct rn_model_run *run,
						unsigned receive)
{
	return &run->plan->receive[receive];
}

/* Reports a step of the NIC for the instruction that posted the receive. */
static void tell(const struct rn_model_run *run, unsigned receive, const char *does)
{
	const struct rn_model_doorbell *d = doorbell(run, receive);
	const struct rn_litmus_rq *rq = &run->plan->test->rq[d->rq];
	const struct rn_litmus_step step =
		rn_model_nic_step(rq->node, rq->nic, d->thread, d->instr, does);

	rn_model_tell(run, &step, NULL);
}

/* ---- Fetches of the WQEs of receives ---- */

void rn_model_post_receive(const struct rn_model_run *run, unsigned receive)
{
	struct rn_model_recv_queue *q = &run->m->recv_queue[doorbell(run, receive)->rq];

	q->receive[q->posted++] = (uint8_t)receive;
}

/* If the first @count values of the fetched WQE are all the address of the same location,
 * and this location is in the NIC's host, returns the location. Otherwise returns NONE.
 */
static unsigned buffer_at(const struct rn_model_run *run, unsigned receive,
			  unsigned count)
{
	const struct rn_model_receive *r = &run->m->receive[receive];
	const struct rn_litmus_test *t = run->plan->test;
	unsigned loc;

	for (unsigned i = 0; i < count; i++)
		if (!rn_litmus_is_address(r->value[i]) || r->value[i] != r->value[0])
			return RN_LITMUS_NONE;
	loc = (unsigned)(r->value[0] - RN_LITMUS_ADDRESS);
	return t->location[loc].node == t->rq[doorbell(run, receive)->rq].node
		       ? loc
		       : RN_LITMUS_NONE;
}

void rn_model_receive_fetched(const struct rn_model_run *run, unsigned receive,
			      unsigned cell)
{
	struct rn_model_receive *r = &run->m->receive[receive];
	unsigned count = run->plan->cell_count[doorbell(run, receive)->loc];

	r->fetched |= (uint16_t)(1u << cell);
	if (r->fetched != (1u << count) - 1)
		return;
	r->buffer = (uint8_t)buffer_at(run, receive, count);
	r->is_fetched = true;
	for (unsigned i = 0; i < count; i++)
		r->value[i] = 0;
}

static bool may_fetch(const struct rn_model_run *run, unsigned rq)
{
	const struct rn_model_recv_queue *q = &run->m->recv_queue[rq];

	return q->begun < q->posted &&
	       (q->begun == 0 || run->m->receive[q->receive[q->begun - 1]].is_fetched);
}

/* Returns true if the search can issue the reads of the next WQE at once, because issuing
 * them only puts them into a queue (rn_is_silent()).
 */
static bool is_fetch_eager(const struct rn_model_run *run, unsigned rq)
{
	const struct rn_model_recv_queue *q = &run->m->recv_queue[rq];
	unsigned loc = doorbell(run, q->receive[q->begun])->loc;

	return rn_is_silent(run->plan, run->plan->test->rq[rq].nic,
			    run->plan->test->location[loc].agent);
}

void rn_model_do_fetch(const struct rn_model_run *run, unsigned rq)
{
	struct rn_model_recv_queue *q = &run->m->recv_queue[rq];
	const struct rn_litmus_rq *of = &run->plan->test->rq[rq];
	unsigned receive = q->receive[q->begun++];
	const struct rn_model_doorbell *d = doorbell(run, receive);
	unsigned first = run->plan->first_cell[d->loc];

	tell(run, receive, "fetches the WQE of");
	for (unsigned i = 0; i < run->plan->cell_count[d->loc]; i++) {
		struct rn_tlp tlp = rn_model_tlp(run, RN_TLP_READ, of->nic, first + i);

		tlp.stream = run->plan->recv_stream[rq];
		tlp.txn = 0x8000 + receive * RN_MODEL_PIECES + i;
		tlp.tag =
			rn_model_tag(RN_USE_RECV_FETCH, receive, i, d->thread, d->instr);
		if (rn_model_issue(run, of->node, &tlp))
			continue;
		run->m->receive[receive].is_fetched = true;
		run->m->receive[receive].buffer = RN_LITMUS_NONE;
		return;
	}
}

/* ---- Messages that take receives ---- */

bool rn_model_has_receive(const struct rn_model_run *run, unsigned work)
{
	unsigned taken = rn_request(run, work)->taken;

	return taken > 0 && run->m->receive[taken - 1].buffer != RN_LITMUS_NONE;
}

unsigned rn_model_remote_cell(const struct rn_model_run *run, unsigned work,
			      unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);

	if (!w->takes || w->op != RN_LITMUS_SEND)
		return w->piece[piece].remote;
	assert(rn_model_has_receive(run, work));
	return run->plan->first_cell[run->m->receive[rn_request(run, work)->taken - 1]
					     .buffer] +
	       piece;
}

/* Returns true if the responder has executed all packets before the one with which @work
 * takes a receive. @position: position of the work request in its queue.
 */
static bool is_first_in_order(const struct rn_model_run *run,
			      const struct rn_model_queue *q, unsigned position)
{
	const struct rn_model_work *w = rn_work(run, q->work[position]);
	uint16_t own = (uint16_t)((1u << rn_taking_piece(w)) - 1);

	for (unsigned i = 0; i < position; i++) {
		const struct rn_model_work *other = rn_work(run, q->work[i]);
		uint16_t all = rn_is_message(other->op) ? rn_all_pieces(other) : 1;

		if (rn_request(run, q->work[i])->executed != all)
			return false;
	}
	return (rn_request(run, q->work[position])->executed & own) == own;
}

/* Returns true if the requester has sent the packet with which the message takes its
 * receive.
 */
static bool has_left(const struct rn_model_run *run, unsigned work)
{
	uint16_t sent = (uint16_t)((2u << rn_taking_piece(rn_work(run, work))) - 1);

	return (rn_request(run, work)->gathered & sent) == sent;
}

static void take_next(const struct rn_model_run *run, unsigned qp, struct rn_moves *to)
{
	const struct rn_model_queue *q = &run->m->qp[qp];
	unsigned rq = rn_qp(run, qp)->recv_queue, position = 0;
	const struct rn_model_recv_queue *r = &run->m->recv_queue[rq];

	while (position < q->started && (!rn_work(run, q->work[position])->takes ||
					 rn_model_has_receive(run, q->work[position])))
		position++;
	if (position == q->started || rn_request(run, q->work[position])->taken ||
	    r->taken == r->begun || !run->m->receive[r->receive[r->taken]].is_fetched ||
	    !has_left(run, q->work[position]))
		return;
	if (rn_is_any_order(run) || is_first_in_order(run, q, position))
		rn_add_move(to, RN_MOVE_TAKE, q->work[position], 0,
			    run->plan->is_taken_by_one[rq]);
}

void rn_model_do_take(const struct rn_model_run *run, unsigned work)
{
	struct rn_model_recv_queue *r =
		&run->m->recv_queue[rn_qp(run, rn_work(run, work)->qp)->recv_queue];
	unsigned receive = r->receive[r->taken++];

	rn_request(run, work)->taken = (uint8_t)(receive + 1);
	tell(run, receive,
	     run->m->receive[receive].buffer == RN_LITMUS_NONE ? "finds no buffer in"
							       : "takes");
}

void rn_model_recv_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	for (unsigned i = 0; i < run->plan->test->rqs; i++)
		if (may_fetch(run, i))
			rn_add_move(to, RN_MOVE_FETCH, i, 0, is_fetch_eager(run, i));
	for (unsigned i = 0; i < run->plan->test->qps; i++)
		if (!run->m->qp[i].is_broken &&
		    run->plan->test->rq[rn_qp(run, i)->recv_queue].is_rung)
			take_next(run, i, to);
}
