/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model_nic.c - the moves of a NIC of the model. As requester, it sends the packets of
 * work requests, processes the answers, and writes CQEs. As responder, it executes the
 * packets, and serves READs, atomics, FLUSHes and ATOMIC WRITEs: each of these has a
 * context, a unit that makes its accesses to memory (model.h).
 */
#include <string.h>

#include "model_internal.h"

/* ---- Acknowledgements and responses at the requester, and its CQEs ---- */

/* Returns true if the payload writes of @work and of all messages before it on the QP
 * have arrived. A write that has entered a GPU counts as arrived. With the knob
 * ack=placed, the responder acknowledges @work only then.
 */
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

static bool is_by_nic(const struct rn_model_run *run, unsigned work)
{
	return rn_litmus_is_atomic(rn_work(run, work)->op) &&
	       run->plan->setup.knobs.atomic == RN_ATOMIC_BY_NIC;
}

static bool is_returned(const struct rn_model_run *run, unsigned work)
{
	return rn_request(run, work)->returned == rn_all_pieces(rn_work(run, work));
}

/* Returns true if the responder has issued all memory accesses of @work, a READ, atomic,
 * FLUSH or ATOMIC WRITE. A write among them may still be in flight.
 */
static bool is_served(const struct rn_model_run *run, unsigned work)
{
	return is_returned(run, work) &&
	       (!is_by_nic(run, work) || rn_request(run, work)->is_modified);
}

/* Returns true if the requester can process an answer to @work: the responder has done
 * enough of the request to send one. On a UC QP, which gets no answers, returns true if
 * all bytes have been sent.
 */
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
	return is_served(run, work);
}

/* Returns true if no write of this NIC is in flight, so that a CQE would not wait behind
 * one.
 */
static bool is_path_free(const struct rn_model_run *run, unsigned node, unsigned nic)
{
	const struct rn_fabric *f = rn_model_fabric_const(run->plan, run->m, node);

	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

		if (tlp->requester == nic && tlp->kind == RN_TLP_WRITE)
			return false;
	}
	return true;
}

/* Returns true if the search loses no final state when the requester processes the answer
 * to @work at once. This is so if the requester then writes no result to memory, and
 * writes either no CQE, or one that no other write delays and for which threads can only
 * wait.
 */
static bool is_eager(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = &run->plan->test->qp[w->qp];

	if (w->op == RN_LITMUS_READ ||
	    (rn_litmus_is_atomic(w->op) && w->piece[0].local != RN_LITMUS_NONE))
		return false;
	if (w->unsignaled)
		return true;
	/* With the knob place=any the CQE first enters a queue of its own. Leaving that
	 * queue is a move by itself.
	 */
	if (run->plan->setup.knobs.place == RN_PLACE_ANY)
		return true;
	return !run->plan->is_tried[qp->send_cq] && is_path_free(run, qp->node, qp->nic);
}

static void answer_moves(const struct rn_model_run *run, struct rn_moves *to)
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

/* Writes piece @piece of the result of a READ or atomic to local memory, as payload. */
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

/* Reports to the trace what a NIC does for a work request. @does: a verb that says it. */
static void tell_nic(const struct rn_model_run *run, unsigned node, unsigned nic,
		     unsigned work, const char *does)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_step step =
		rn_model_nic_step(node, nic, w->thread, w->instr, does);

	rn_model_tell(run, &step, NULL);
}

/* Issues a CQE of @work for CQ @cq, written by @nic of @node. */
static void issue_cqe(const struct rn_model_run *run, unsigned node, unsigned nic,
		      unsigned stream, unsigned cq, unsigned work)
{
	unsigned slot = run->m->ring[cq].issued++;
	struct rn_tlp tlp = {
		.kind = RN_TLP_WRITE,
		.flags = RN_TLP_CQE,
		.requester = (uint8_t)nic,
		.target = RN_AGENT_CPU,
		.stream = stream,
		.addr = (UINT64_C(1) << 32) + UINT64_C(4096) * cq + UINT64_C(64) * slot,
		.len = 64,
		.tag = rn_model_tag(RN_USE_CQE, cq, slot, rn_work(run, work)->thread,
				    rn_work(run, work)->instr),
	};

	if (run->plan->setup.knobs.ido)
		tlp.flags |= RN_TLP_IDO;
	rn_model_issue(run, node, &tlp);
}

/* Processes the next answer at the requester. Answers arrive in posting order, and the
 * last answer to a request completes it, so CQEs are issued in posting order, too.
 */
void rn_model_do_answer(const struct rn_model_run *run, unsigned qp)
{
	struct rn_model_queue *q = &run->m->qp[qp];
	unsigned work = q->work[q->answered];
	const struct rn_model_work *w = rn_work(run, work);
	struct rn_model_request *rq = &run->m->request[work];
	const struct rn_litmus_qp *l = rn_qp(run, qp);

	tell_nic(run, l->node, l->nic, work, "has the answer of");
	if (w->op == RN_LITMUS_READ) {
		write_result(run, work, rq->answered++);
		if (rq->answered < w->pieces)
			return;
	} else if (rn_litmus_is_atomic(w->op)) {
		write_result(run, work, 0);
	}
	rq->is_done = true;
	q->answered++;
	if (!w->unsignaled)
		issue_cqe(run, l->node, l->nic, run->plan->stream[qp], l->send_cq, work);
}

/* ---- Contexts of READs, atomics, FLUSH and ATOMIC WRITE at the responder ---- */

/* Returns true if another atomic that this NIC executes has locked the word that @work
 * accesses. An atomic locks the word when it reads it. It unlocks the word when its write
 * is issued or, with nic.queues=perqp, when the write has left the queue of its QP.
 */
static bool is_locked(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	unsigned cell = w->piece[0].remote;
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);
	const struct rn_fabric *f = rn_model_fabric_const(run->plan, run->m, qp->peer);

	for (unsigned i = 0; i < run->plan->test->works; i++) {
		const struct rn_model_work *other = rn_work(run, i);

		if (i != work && rn_litmus_is_atomic(other->op) &&
		    other->piece[0].remote == cell &&
		    rn_qp(run, other->qp)->peer_nic == qp->peer_nic &&
		    rn_request(run, i)->is_serving && !is_served(run, i))
			return true;
	}
	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

		if ((tlp->flags & RN_TLP_LOCK) && tlp->requester == qp->peer_nic &&
		    tlp->addr == run->plan->cell[cell].addr &&
		    tlp->route.queue[tlp->hop] >= RN_QUEUE_STREAM)
			return true;
	}
	return false;
}

/* What the responder has done for the READs, atomics, FLUSHes and ATOMIC WRITEs that
 * precede a given one on the same QP. @all_served: it has finished all of them.
 * @atomics_served: it has finished the atomics among them.
 */
struct before {
	bool all_served, atomics_served;
};

/* Returns true if the responder may execute this request now. An ATOMIC WRITE waits until
 * the responder has finished all READs, atomics, FLUSHes and ATOMIC WRITEs before it. So
 * does a READ with the knob rr=serial; a pipelined READ does not wait. An atomic and a
 * FLUSH wait for the atomics before them; the FLUSH must also flush what these have
 * written.
 */
static bool may_serve(const struct rn_model_run *run, unsigned work,
		      const struct before *before)
{
	bool is_serial = run->plan->setup.knobs.reads == RN_READS_SERIAL;
	unsigned op = rn_work(run, work)->op;

	if (op == RN_LITMUS_READ)
		return !is_serial || before->all_served;
	if (op == RN_LITMUS_AWRITE)
		return before->all_served;
	if (!before->atomics_served)
		return false;
	return !is_by_nic(run, work) || !is_locked(run, work);
}

static bool is_serve_eager(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);

	if (w->op == RN_LITMUS_AWRITE)
		return false;
	if (is_by_nic(run, work) && !w->is_alone)
		return false;
	for (unsigned i = 0; i < w->pieces; i++) {
		unsigned loc = run->plan->cell[w->piece[i].remote].loc;

		if (!rn_is_silent(run->plan, rn_qp(run, w->qp)->peer_nic,
				  run->plan->test->location[loc].agent))
			return false;
	}
	return true;
}

/* Looks for the first READ, atomic, FLUSH or ATOMIC WRITE of the QP that the responder
 * has not begun to execute. Adds the move that begins it, if it may begin now.
 */
static void serve_next(const struct rn_model_run *run, unsigned qp, struct rn_moves *to)
{
	const struct rn_model_queue *q = &run->m->qp[qp];
	struct before before = { .all_served = true, .atomics_served = true };

	for (unsigned i = 0; i < q->started; i++) {
		unsigned work = q->work[i];
		const struct rn_model_request *rq = rn_request(run, work);

		if (rn_is_message(rn_work(run, work)->op))
			continue;
		if (!rq->executed)
			return;
		if (!rq->is_serving) {
			if (may_serve(run, work, &before))
				rn_add_move(to, RN_MOVE_SERVE, work, 0,
					    is_serve_eager(run, work));
			return;
		}
		before.all_served &= is_served(run, work);
		if (rn_litmus_is_atomic(rn_work(run, work)->op))
			before.atomics_served &= is_served(run, work);
	}
}

/* Returns a TLP for one piece of a work request. The requester's NIC sends it if @use is
 * RN_USE_GATHER, otherwise the responder's NIC.
 */
static struct rn_tlp piece_tlp(const struct rn_model_run *run, enum rn_tlp_kind kind,
			       enum rn_model_use use, unsigned work, unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);
	bool is_gather = use == RN_USE_GATHER;
	unsigned cell = is_gather ? w->piece[piece].local
				  : rn_model_remote_cell(run, work, piece);
	struct rn_tlp tlp =
		rn_model_tlp(run, kind, is_gather ? qp->nic : qp->peer_nic, cell);

	tlp.stream = is_gather ? run->plan->stream[w->qp] : run->plan->peer_stream[w->qp];
	tlp.msg = rn_request(run, work)->position;
	tlp.txn = work * 2 * RN_MODEL_PIECES + piece * 2 + is_gather;
	tlp.tag = rn_model_tag(use, work, piece, w->thread, w->instr);
	return tlp;
}

/* Issues a TLP for a work request. If there is no route, the QP stops. */
static void issue_piece(const struct rn_model_run *run, unsigned work, unsigned node,
			struct rn_tlp *tlp)
{
	if (!rn_model_issue(run, node, tlp))
		run->m->qp[rn_work(run, work)->qp].is_broken = true;
}

static void serve_awrite(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	struct rn_tlp tlp = piece_tlp(run, RN_TLP_WRITE, RN_USE_SERVE, work, 0);

	tlp.data = (uint64_t)rn_request(run, work)->value[0];
	tlp.tag = rn_model_tag(RN_USE_MEMORY, w->piece[0].remote, 1, w->thread, w->instr);
	rn_request(run, work)->returned = 1;
	issue_piece(run, work, rn_qp(run, w->qp)->peer, &tlp);
}

static void serve_atomic(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	bool by_nic = is_by_nic(run, work);
	struct rn_tlp tlp = piece_tlp(run, by_nic ? RN_TLP_READ : RN_TLP_ATOMIC,
				      RN_USE_ATOMIC, work, 0);

	if (!by_nic && rn_model_is_relaxed(run->plan, w->piece[0].remote))
		tlp.flags |= RN_TLP_RO;
	issue_piece(run, work, rn_qp(run, w->qp)->peer, &tlp);
}

void rn_model_do_serve(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);

	tell_nic(run, qp->peer, qp->peer_nic, work, "executes");
	rn_request(run, work)->is_serving = true;
	if (w->op == RN_LITMUS_AWRITE) {
		serve_awrite(run, work);
		return;
	}
	if (rn_litmus_is_atomic(w->op)) {
		serve_atomic(run, work);
		return;
	}
	for (unsigned i = 0; i < w->pieces; i++) {
		struct rn_tlp tlp = piece_tlp(run, RN_TLP_READ, RN_USE_SERVE, work, i);

		if (w->op == RN_LITMUS_FLUSH)
			tlp.flags |= RN_TLP_FLUSH;
		issue_piece(run, work, qp->peer, &tlp);
	}
}

/* Returns true if the atomic @work, which has found the value @old in the word, writes to
 * the word. A compare and swap whose comparison fails does not.
 */
static bool has_matched(const struct rn_model_run *run, unsigned work, int64_t old)
{
	const struct rn_model_work *w = rn_work(run, work);

	return w->op != RN_LITMUS_CAS ||
	       old == rn_instr(run->plan, w->thread, w->instr)->value.number;
}

int64_t rn_model_atomic_result(const struct rn_model_run *run, unsigned work, int64_t old)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_instr *in = rn_instr(run->plan, w->thread, w->instr);

	if (w->op == RN_LITMUS_FAA)
		return old + in->value.number;
	return has_matched(run, work, old) ? in->value2.number : old;
}

static void serve_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	for (unsigned i = 0; i < run->plan->test->qps; i++)
		if (!run->m->qp[i].is_broken)
			serve_next(run, i, to);
	for (unsigned i = 0; i < run->plan->test->works; i++)
		if (is_by_nic(run, i) && is_returned(run, i) &&
		    !rn_request(run, i)->is_modified)
			rn_add_move(to, RN_MOVE_MODIFY, i, 0, false);
}

/* Performs the second half of an atomic that the NIC executes as a read and a write:
 * issues the write. If the comparison has failed, only ends the atomic.
 */
void rn_model_do_modify(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	int64_t old = rn_request(run, work)->value[0];
	struct rn_tlp tlp = piece_tlp(run, RN_TLP_WRITE, RN_USE_ATOMIC, work, 0);
	bool writes = has_matched(run, work, old);

	tell_nic(run, rn_qp(run, w->qp)->peer, rn_qp(run, w->qp)->peer_nic, work,
		 writes ? "modifies for" : "finds no match for");
	rn_request(run, work)->is_modified = true;
	if (!writes)
		return;
	tlp.flags |= RN_TLP_LOCK;
	tlp.data = (uint64_t)rn_model_atomic_result(run, work, old);
	tlp.tag = rn_model_tag(RN_USE_MEMORY, w->piece[0].remote, 1, w->thread, w->instr);
	issue_piece(run, work, rn_qp(run, w->qp)->peer, &tlp);
}

void rn_model_post(const struct rn_model_run *run, unsigned work)
{
	struct rn_model_queue *q = &run->m->qp[rn_work(run, work)->qp];

	rn_request(run, work)->position = q->posted;
	q->work[q->posted++] = (uint8_t)work;
}

/* ---- Requester: fetches of WQEs that a doorbell announced, and of their data ---- */

static const struct rn_litmus_instr *instr_of(const struct rn_model_run *run,
					      unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);

	return rn_instr(run->plan, w->thread, w->instr);
}

/* Issues the reads of all cells of a location. */
static void fetch_location(const struct rn_model_run *run, unsigned work, unsigned loc)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);
	struct rn_model_request *rq = rn_request(run, work);
	unsigned first = run->plan->first_cell[loc], count = run->plan->cell_count[loc];

	rq->fetch_loc = (uint8_t)loc;
	rq->fetches++;
	rq->fetched = 0;
	for (unsigned i = 0; i < count; i++) {
		struct rn_tlp tlp = rn_model_tlp(run, RN_TLP_READ, qp->nic, first + i);

		tlp.stream = run->plan->stream[w->qp];
		tlp.msg = rq->position;
		tlp.txn = work * 2 * RN_MODEL_PIECES + i * 2 + 1;
		tlp.tag = rn_model_tag(RN_USE_FETCH, work, i, w->thread, w->instr);
		issue_piece(run, work, qp->node, &tlp);
	}
}

/* Returns true if @value is the address of a location in the same host as the requester's
 * NIC, which can read it.
 */
static bool is_reachable(const struct rn_model_run *run, unsigned work, int64_t value)
{
	unsigned loc = (unsigned)(value - RN_LITMUS_ADDRESS);

	return run->plan->test->location[loc].node ==
	       rn_qp(run, rn_work(run, work)->qp)->node;
}

/* Called with the @count values that the NIC has got by a fetch for @work. If they are
 * all the same address, the NIC fetches what is there. If they are the payload, the
 * request uses them. Otherwise the WQE is invalid: the request never gets its bytes, so
 * neither this request nor any later one of the QP continues. Earlier requests complete,
 * because completions come in posting order (rule V4).
 */
static void use_fetched(const struct rn_model_run *run, unsigned work, unsigned count)
{
	const struct rn_model_work *w = rn_work(run, work);
	struct rn_model_request *rq = rn_request(run, work);
	unsigned addresses = 0;
	bool is_torn = false;

	for (unsigned i = 0; i < count; i++) {
		addresses += rn_litmus_is_address(rq->value[i]);
		is_torn |= rq->value[i] != rq->value[0];
	}
	if (addresses == 0) {
		for (unsigned i = count; i < w->pieces; i++)
			rq->value[i] = rq->value[count - 1];
		rq->gathered = rn_all_pieces(w);
	} else if (!is_torn && rq->fetches < RN_MODEL_FETCHES &&
		   is_reachable(run, work, rq->value[0])) {
		fetch_location(run, work, (unsigned)(rq->value[0] - RN_LITMUS_ADDRESS));
	}
}

void rn_model_fetched(const struct rn_model_run *run, unsigned work, unsigned cell)
{
	struct rn_model_request *rq = rn_request(run, work);
	unsigned count = run->plan->cell_count[rq->fetch_loc];

	rq->fetched |= (uint16_t)(1u << cell);
	if (rq->fetched == (1u << count) - 1)
		use_fetched(run, work, count);
}

/* Begins to fetch a work request: reads its WQE, or uses the WQE that came with a
 * BlueFlame doorbell.
 */
static void begin_fetch(const struct rn_model_run *run, unsigned work)
{
	const struct rn_litmus_instr *in = instr_of(run, work);

	if (in->op == RN_LITMUS_BELL) {
		fetch_location(run, work, in->loc);
		return;
	}
	rn_request(run, work)->fetches = 1;
	use_fetched(run, work, 1);
}

/* ---- Requester: start of work requests ---- */

static bool has_reads_before(const struct rn_model_run *run,
			     const struct rn_model_queue *q, unsigned position)
{
	for (unsigned i = 0; i < position; i++) {
		unsigned work = q->work[i];

		if (!rn_is_message(rn_work(run, work)->op) &&
		    !rn_request(run, work)->is_done)
			return true;
	}
	return false;
}

static bool is_gathered(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);

	if (!rn_is_message(w->op) && w->op != RN_LITMUS_AWRITE)
		return true;
	return rn_request(run, work)->gathered == rn_all_pieces(w);
}

static bool is_gather_silent(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);

	if (is_gathered(run, work))
		return true;
	if (w->is_rung)
		return run->plan->is_fetch_silent[w->qp];
	for (unsigned i = 0; i < w->pieces; i++) {
		unsigned cell = w->piece[i].local, loc;

		if (cell == RN_LITMUS_NONE)
			continue;
		loc = run->plan->cell[cell].loc;
		if (!rn_is_silent(run->plan, rn_qp(run, w->qp)->nic,
				  run->plan->test->location[loc].agent))
			return false;
	}
	return true;
}

static void start_moves(const struct rn_model_run *run, unsigned qp, struct rn_moves *to)
{
	const struct rn_model_queue *q = &run->m->qp[qp];
	unsigned work;

	if (q->started == q->posted)
		return;
	work = q->work[q->started];
	if (q->started > 0 && !is_gathered(run, q->work[q->started - 1]))
		return;
	if (rn_work(run, work)->fence && has_reads_before(run, q, q->started))
		return;
	rn_add_move(to, RN_MOVE_START, qp, 0, is_gather_silent(run, work));
}

void rn_model_do_start(const struct rn_model_run *run, unsigned qp)
{
	struct rn_model_queue *q = &run->m->qp[qp];
	unsigned work = q->work[q->started++];
	const struct rn_model_work *w = rn_work(run, work);

	tell_nic(run, rn_qp(run, qp)->node, rn_qp(run, qp)->nic, work, "starts");
	rn_request(run, work)->is_started = true;
	if (is_gathered(run, work))
		return;
	if (w->is_rung) {
		begin_fetch(run, work);
		return;
	}
	for (unsigned i = 0; i < w->pieces; i++) {
		struct rn_tlp tlp;

		if (w->piece[i].local == RN_LITMUS_NONE)
			continue;
		tlp = piece_tlp(run, RN_TLP_READ, RN_USE_GATHER, work, i);
		issue_piece(run, work, rn_qp(run, qp)->node, &tlp);
	}
}

/* ---- Responder: packets ---- */

/* Returns true if all packets of @work have been executed. */
static bool is_executed(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	uint16_t all = rn_is_message(w->op) ? rn_all_pieces(w) : 1;

	return rn_request(run, work)->executed == all;
}

/* Returns true if the payload of the packet is written to a queue that only this QP uses.
 * Then the search can execute the packet at once, because the order in that queue is the
 * same whenever that happens.
 */
static bool is_execute_eager(const struct rn_model_run *run,
			     const struct rn_model_work *w, unsigned piece)
{
	bool is_last = piece + 1u == w->pieces;
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);
	unsigned loc;

	if (run->plan->is_now || rn_is_any_order(run) || !run->plan->is_only_end[w->qp])
		return false;
	loc = run->plan->cell[w->piece[piece].remote].loc;
	if (run->plan->test->location[loc].agent == qp->peer_nic)
		return false;
	return !(is_last && run->plan->is_tried[qp->recv_cq]);
}

/* Returns true if the responder may execute this packet before earlier packets. It must
 * not do so if an earlier packet writes the same bytes, unless the location is relaxed.
 */
static bool is_overtaking_allowed(const struct rn_model_run *run, unsigned work,
				  unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_model_queue *q = &run->m->qp[w->qp];
	unsigned cell;

	if (!rn_is_any_order(run) || w->op != RN_LITMUS_WRITE)
		return false;
	cell = w->piece[piece].remote;
	if (rn_model_is_relaxed(run->plan, cell))
		return true;
	for (unsigned i = 0; i <= rn_request(run, work)->position; i++) {
		const struct rn_model_work *other = rn_work(run, q->work[i]);
		unsigned pieces = q->work[i] == work ? piece : other->pieces;

		for (unsigned k = 0; k < pieces; k++)
			if (rn_is_message(other->op) &&
			    rn_model_remote_cell(run, q->work[i], k) == cell &&
			    !(rn_request(run, q->work[i])->executed >> k & 1))
				return false;
	}
	return true;
}

/* Adds the moves that execute those packets of one work request that may be executed now.
 * @in_order: all packets of earlier requests have been executed. A packet can be executed
 * only after the requester has sent it; it sends packets in order, each when the bytes
 * were gathered. A packet that needs a receive waits until there is one.
 */
static void packet_moves(const struct rn_model_run *run, unsigned work, bool in_order,
			 struct rn_moves *to)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_model_request *rq = rn_request(run, work);

	if (!rn_is_message(w->op)) {
		if (in_order && is_gathered(run, work) && !rq->executed)
			rn_add_move(to, RN_MOVE_EXECUTE, work, 0, true);
		return;
	}
	for (unsigned i = 0; i < w->pieces; i++) {
		if (!(rq->gathered >> i & 1))
			return;
		if (w->takes && i == rn_taking_piece(w) &&
		    !rn_model_has_receive(run, work))
			return;
		if (rq->executed >> i & 1)
			continue;
		if (in_order || is_overtaking_allowed(run, work, i))
			rn_add_move(to, RN_MOVE_EXECUTE, work, i,
				    is_execute_eager(run, w, i));
		in_order = false;
	}
}

static void execute_moves(const struct rn_model_run *run, unsigned qp,
			  struct rn_moves *to)
{
	const struct rn_model_queue *q = &run->m->qp[qp];
	bool in_order = true;

	for (unsigned i = 0; i < q->started; i++) {
		if (is_executed(run, q->work[i]))
			continue;
		packet_moves(run, q->work[i], in_order, to);
		in_order = false;
		/* If there is no receive for a message, an RNR NAK refuses it and all
		 * packets behind it, which are then sent again. So packets behind such a
		 * message must not be executed now: a WRITE must not be executed twice.
		 */
		if (!rn_is_any_order(run) || (rn_work(run, q->work[i])->takes &&
					      !rn_model_has_receive(run, q->work[i])))
			return;
	}
}

static void write_piece(const struct rn_model_run *run, unsigned work, unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	unsigned cell = rn_model_remote_cell(run, work, piece);
	struct rn_tlp tlp = piece_tlp(run, RN_TLP_WRITE, RN_USE_SERVE, work, piece);

	tlp.flags |= RN_TLP_DATA;
	if (rn_model_is_relaxed(run->plan, cell))
		tlp.flags |= RN_TLP_RO;
	tlp.data = (uint64_t)rn_request(run, work)->value[piece];
	tlp.tag = rn_model_tag(RN_USE_MEMORY, cell, 1, w->thread, w->instr);
	issue_piece(run, work, rn_qp(run, w->qp)->peer, &tlp);
}

void rn_model_do_execute(const struct rn_model_run *run, unsigned work, unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);

	tell_nic(run, qp->peer, qp->peer_nic, work, "gets a packet of");
	rn_request(run, work)->executed |= (uint16_t)(1u << piece);
	if (!rn_is_message(w->op))
		return;
	write_piece(run, work, piece);
	if (piece + 1u == w->pieces && w->op != RN_LITMUS_WRITE)
		issue_cqe(run, qp->peer, qp->peer_nic, run->plan->peer_stream[w->qp],
			  qp->recv_cq, work);
}

void rn_model_nic_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	for (unsigned i = 0; i < run->plan->test->qps; i++) {
		if (run->m->qp[i].is_broken)
			continue;
		start_moves(run, i, to);
		execute_moves(run, i, to);
	}
	rn_model_recv_moves(run, to);
	serve_moves(run, to);
	answer_moves(run, to);
}
