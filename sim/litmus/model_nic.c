/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model_nic.c - a NIC: work requests up to the wire, and packets at the responder. */
#include <string.h>

#include "model_internal.h"

void rn_model_tell_nic(const struct rn_model_run *run, unsigned node, unsigned nic,
		       unsigned work, const char *does)
{
	const struct rn_litmus_step step = {
		.kind = RN_STEP_NIC,
		.node = (uint8_t)node,
		.agent = (uint8_t)nic,
		.thread = rn_work(run, work)->thread,
		.instr = rn_work(run, work)->instr,
		.loc = RN_LITMUS_NONE,
		.tlp = RN_TLP_NONE,
		.from = RN_LIST_COUNT,
		.to = RN_LIST_COUNT,
		.passed = RN_TLP_NONE,
		.rule = does,
	};

	rn_model_tell(run, &step, NULL);
}

void rn_model_post(const struct rn_model_run *run, unsigned work)
{
	struct rn_model_queue *q = &run->m->qp[rn_work(run, work)->qp];

	rn_request(run, work)->position = q->posted;
	q->work[q->posted++] = (uint8_t)work;
}

/* A TLP for one piece, of the end of the QP at @nic. */
struct rn_tlp rn_model_piece_tlp(const struct rn_model_run *run, enum rn_tlp_kind kind,
				 enum rn_model_use use, unsigned work, unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);
	bool is_gather = use == RN_USE_GATHER;
	struct rn_tlp tlp =
		rn_model_tlp(run, kind, is_gather ? qp->nic : qp->peer_nic,
			     is_gather ? w->piece[piece].local : w->piece[piece].remote);

	tlp.stream = is_gather ? run->plan->stream[w->qp] : run->plan->peer_stream[w->qp];
	tlp.msg = rn_request(run, work)->position;
	tlp.txn = work * 2 * RN_MODEL_PIECES + piece * 2 + is_gather;
	tlp.tag = rn_model_tag(use, work, piece, w->thread, w->instr);
	return tlp;
}

void rn_model_issue_piece(const struct rn_model_run *run, unsigned work, unsigned node,
			  struct rn_tlp *tlp)
{
	if (!rn_model_issue(run, node, tlp))
		run->m->qp[rn_work(run, work)->qp].is_broken = true;
}

/* ---- Requester ---- */

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

	rn_model_tell_nic(run, rn_qp(run, qp)->node, rn_qp(run, qp)->nic, work, "starts");
	rn_request(run, work)->is_started = true;
	if (is_gathered(run, work))
		return;
	for (unsigned i = 0; i < w->pieces; i++) {
		struct rn_tlp tlp;

		if (w->piece[i].local == RN_LITMUS_NONE)
			continue;
		tlp = rn_model_piece_tlp(run, RN_TLP_READ, RN_USE_GATHER, work, i);
		rn_model_issue_piece(run, work, rn_qp(run, qp)->node, &tlp);
	}
}

/* ---- Responder: packets ---- */

/* All packets of @work have been executed. */
static bool is_executed(const struct rn_model_run *run, unsigned work)
{
	const struct rn_model_work *w = rn_work(run, work);
	uint16_t all = rn_is_message(w->op) ? rn_all_pieces(w) : 1;

	return rn_request(run, work)->executed == all;
}

/* May packets of WRITEs be executed out of order? */
static bool is_any_order(const struct rn_model_run *run)
{
	return run->plan->setup.knobs.ooo || run->plan->setup.knobs.place == RN_PLACE_ANY;
}

/* Writing into a queue that only this QP uses, where it is in order anyway. */
static bool is_execute_eager(const struct rn_model_run *run,
			     const struct rn_model_work *w, unsigned piece)
{
	unsigned loc = run->plan->cell[w->piece[piece].remote].loc;
	bool is_last = piece + 1u == w->pieces;
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);

	if (run->plan->is_now || is_any_order(run) || !run->plan->is_only_end[w->qp])
		return false;
	if (run->plan->test->location[loc].agent == qp->peer_nic)
		return false;
	return !(is_last && run->plan->is_tried[qp->recv_cq]);
}

/* Even then not before an earlier packet for the same bytes, unless those are relaxed. */
static bool is_overtaking_allowed(const struct rn_model_run *run, unsigned work,
				  unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_model_queue *q = &run->m->qp[w->qp];
	unsigned cell = w->piece[piece].remote;

	if (!is_any_order(run) || w->op != RN_LITMUS_WRITE)
		return false;
	if (rn_model_is_relaxed(run->plan, cell))
		return true;
	for (unsigned i = 0; i <= rn_request(run, work)->position; i++) {
		const struct rn_model_work *other = rn_work(run, q->work[i]);
		unsigned pieces = q->work[i] == work ? piece : other->pieces;

		for (unsigned k = 0; k < pieces; k++)
			if (rn_is_message(other->op) && other->piece[k].remote == cell &&
			    !(rn_request(run, q->work[i])->executed >> k & 1))
				return false;
	}
	return true;
}

/* The packets of one work request that may be executed now. Those before it all have
 * been if @in_order. Packets leave the requester in order, each with its bytes.
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
		if (!is_any_order(run))
			return;
	}
}

bool rn_model_is_way_free(const struct rn_model_run *run, unsigned node, unsigned nic)
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

void rn_model_issue_cqe(const struct rn_model_run *run, unsigned node, unsigned nic,
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

static void write_piece(const struct rn_model_run *run, unsigned work, unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	struct rn_tlp tlp =
		rn_model_piece_tlp(run, RN_TLP_WRITE, RN_USE_SERVE, work, piece);

	tlp.flags |= RN_TLP_DATA;
	if (rn_model_is_relaxed(run->plan, w->piece[piece].remote))
		tlp.flags |= RN_TLP_RO;
	tlp.data = (uint64_t)rn_request(run, work)->value[piece];
	tlp.tag = rn_model_tag(RN_USE_MEMORY, w->piece[piece].remote, 1, w->thread,
			       w->instr);
	rn_model_issue_piece(run, work, rn_qp(run, w->qp)->peer, &tlp);
}

void rn_model_do_execute(const struct rn_model_run *run, unsigned work, unsigned piece)
{
	const struct rn_model_work *w = rn_work(run, work);
	const struct rn_litmus_qp *qp = rn_qp(run, w->qp);

	rn_model_tell_nic(run, qp->peer, qp->peer_nic, work, "gets a packet of");
	rn_request(run, work)->executed |= (uint16_t)(1u << piece);
	if (!rn_is_message(w->op))
		return;
	write_piece(run, work, piece);
	if (piece + 1u == w->pieces && w->op != RN_LITMUS_WRITE)
		rn_model_issue_cqe(run, qp->peer, qp->peer_nic,
				   run->plan->peer_stream[w->qp], qp->recv_cq, work);
}

void rn_model_nic_moves(const struct rn_model_run *run, struct rn_moves *to)
{
	for (unsigned i = 0; i < run->plan->test->qps; i++) {
		if (run->m->qp[i].is_broken)
			continue;
		start_moves(run, i, to);
		execute_moves(run, i, to);
	}
	rn_model_serve_moves(run, to);
	rn_model_answer_moves(run, to);
}
