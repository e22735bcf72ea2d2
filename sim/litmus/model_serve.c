/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model_serve.c - contexts of READs, atomics, FLUSH and ATOMIC WRITE at the responder. */
#include "model_internal.h"

static bool is_by_nic(const struct rn_model_run *run, unsigned work)
{
	return rn_is_atomic(rn_work(run, work)->op) &&
	       run->plan->setup.knobs.atomic == RN_ATOMIC_BY_NIC;
}

static bool is_returned(const struct rn_model_run *run, unsigned work)
{
	return rn_request(run, work)->returned == rn_all_pieces(rn_work(run, work));
}

bool rn_model_is_served(const struct rn_model_run *run, unsigned work)
{
	return is_returned(run, work) &&
	       (!is_by_nic(run, work) || rn_request(run, work)->is_modified);
}

/* An atomic of this NIC holds the lock from its read until its write is in the uplink. */
static bool is_locked(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	unsigned cell = w->piece[0].remote;
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);
	const struct rn_fabric *f = rn_model_fabric_const(run->plan, run->m, qp->peer);

	for (unsigned i = 0; i < run->plan->test->works; i++) {
		const struct rn_model_work *other = rn_work(run, i);

		if (i != work && rn_is_atomic(other->op) &&
		    other->piece[0].remote == cell &&
		    rn_qp(run, other->qp)->peer_nic == qp->peer_nic &&
		    rn_request(run, i)->is_serving && !rn_model_is_served(run, i))
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

static bool may_serve(const struct rn_model_run *run, unsigned work, unsigned previous,
		      bool all_served)
{
	const struct rn_pcie_knobs *knobs = &run->plan->setup.knobs;
	unsigned op = rn_work(run, work)->op;

	if (op == RN_LITMUS_AWRITE)
		return all_served;
	if (op == RN_LITMUS_READ && knobs->reads == RN_READS_SERIAL)
		return previous == RN_LITMUS_NONE || rn_model_is_served(run, previous);
	if (is_by_nic(run, work))
		return !is_locked(run, work);
	return true;
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

/* The first context that has not started, if it may. */
static void serve_moves(const struct rn_model_run *run, unsigned qp, struct rn_moves *to)
{
	const struct rn_model_queue *q = &run->m->qp[qp];
	unsigned previous = RN_LITMUS_NONE;
	bool all_served = true;

	for (unsigned i = 0; i < q->started; i++) {
		unsigned work = q->work[i];
		const struct rn_model_request *rq = rn_request(run, work);

		if (rn_is_message(rn_work(run, work)->op))
			continue;
		if (!rq->executed)
			return;
		if (!rq->is_serving) {
			if (may_serve(run, work, previous, all_served))
				rn_add_move(to, RN_MOVE_SERVE, work, 0,
					    is_serve_eager(run, work));
			return;
		}
		all_served &= rn_model_is_served(run, work);
		previous = work;
	}
}

static void serve_awrite(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	struct rn_tlp tlp = rn_model_piece_tlp(run, RN_TLP_WRITE, RN_USE_SERVE, work, 0);

	tlp.data = (uint64_t)rn_request(run, work)->value[0];
	tlp.tag = rn_model_tag(RN_USE_MEMORY, w->piece[0].remote, 1, w->thread, w->instr);
	rn_request(run, work)->returned = 1;
	rn_model_issue_piece(run, work, rn_qp(run, w->qp)->peer, &tlp);
}

static void serve_atomic(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	bool by_nic = is_by_nic(run, work);
	struct rn_tlp tlp = rn_model_piece_tlp(run, by_nic ? RN_TLP_READ : RN_TLP_ATOMIC,
					       RN_USE_ATOMIC, work, 0);

	if (!by_nic && rn_model_is_relaxed(run->plan, w->piece[0].remote))
		tlp.flags |= RN_TLP_RO;
	rn_model_issue_piece(run, work, rn_qp(run, w->qp)->peer, &tlp);
}

void rn_model_do_serve(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);

	rn_model_tell_nic(run, qp->peer, qp->peer_nic, work, "executes");
	rn_request(run, work)->is_serving = true;
	if (w->op == RN_LITMUS_AWRITE) {
		serve_awrite(run, work);
		return;
	}
	if (rn_is_atomic(w->op)) {
		serve_atomic(run, work);
		return;
	}
	for (unsigned i = 0; i < w->pieces; i++) {
		struct rn_tlp tlp =
			rn_model_piece_tlp(run, RN_TLP_READ, RN_USE_SERVE, work, i);

		if (w->op == RN_LITMUS_FLUSH)
			tlp.flags |= RN_TLP_FLUSH;
		rn_model_issue_piece(run, work, qp->peer, &tlp);
	}
}

/* A comparison that failed writes nothing. */
static bool has_matched(const struct rn_model_run *run, unsigned work, int64_t old)
{
	const struct rn_model_work *w = rn_work(run, work);

	return w->op == RN_LITMUS_FAA ||
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

void rn_model_serve_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	for (unsigned i = 0; i < run->plan->test->qps; i++)
		if (!run->m->qp[i].is_broken)
			serve_moves(run, i, to);
	for (unsigned i = 0; i < run->plan->test->works; i++)
		if (is_by_nic(run, i) && is_returned(run, i) &&
		    !rn_request(run, i)->is_modified)
			rn_add_move(to, RN_MOVE_MODIFY, i, 0, false);
}

/* The second half of a NIC's atomic: the write, or of a failed comparison only the end.
 */
void rn_model_do_modify(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	int64_t old = rn_request(run, work)->value[0];
	struct rn_tlp tlp = rn_model_piece_tlp(run, RN_TLP_WRITE, RN_USE_ATOMIC, work, 0);
	bool writes = has_matched(run, work, old);

	rn_model_tell_nic(run, rn_qp(run, w->qp)->peer, rn_qp(run, w->qp)->peer_nic, work,
			  writes ? "modifies for" : "finds no match for");
	rn_request(run, work)->is_modified = true;
	if (!writes)
		return;
	tlp.flags |= RN_TLP_LOCK;
	tlp.data = (uint64_t)rn_model_atomic_result(run, work, old);
	tlp.tag = rn_model_tag(RN_USE_MEMORY, w->piece[0].remote, 1, w->thread, w->instr);
	rn_model_issue_piece(run, work, rn_qp(run, w->qp)->peer, &tlp);
}
