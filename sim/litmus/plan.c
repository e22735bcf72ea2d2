/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plan.c - computes the plan of a test: what the test and its knobs determine before it
 * runs.
 */
#include <errno.h>
#include <string.h>

#include "model_internal.h"

enum {
	PAGE = 4096, /* bytes; each location begins in another page */
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Divides a location into cells, one for each granule. The address of the location has
 * the alignment that the test demands and no higher one, so that granule boundaries
 * divide the location into as many cells as possible.
 */
static int plan_location(struct rn_model_plan *plan, unsigned loc)
{
	const struct rn_litmus_location *l = &plan->test->location[loc];
	uint32_t granule = plan->setup.knobs.granule;
	uint64_t addr = (uint64_t)PAGE * (loc + 1);
	uint64_t end;

	addr += l->align < granule ? l->align : 0;
	end = addr + l->size;
	plan->first_cell[loc] = plan->cells;
	while (addr < end) {
		uint64_t next = (addr / granule + 1) * granule;
		uint32_t len = min_u32((uint32_t)(next - addr), (uint32_t)(end - addr));

		if (plan->cells == RN_MODEL_CELLS)
			return -E2BIG;
		plan->cell[plan->cells++] = (struct rn_model_cell){
			.loc = (uint8_t)loc,
			.addr = addr,
			.len = len,
		};
		addr += len;
	}
	plan->cell_count[loc] = (uint8_t)(plan->cells - plan->first_cell[loc]);
	return 0;
}

static int add_piece(struct rn_model_work *work, unsigned remote, unsigned local)
{
	if (work->pieces == RN_MODEL_PIECES)
		return -E2BIG;
	work->piece[work->pieces++] = (struct rn_model_piece){
		.remote = (uint8_t)remote,
		.local = (uint8_t)local,
	};
	return 0;
}

/* Adds the pieces of one element of a message: one for each granule of the remote
 * location.
 */
static int add_element(const struct rn_model_plan *plan, struct rn_model_work *work,
		       unsigned remote, unsigned local)
{
	for (unsigned i = 0; i < plan->cell_count[remote]; i++) {
		unsigned from = RN_LITMUS_NONE;
		int rc;

		if (local != RN_LITMUS_NONE) {
			unsigned last = plan->cell_count[local] - 1u;

			from = plan->first_cell[local] + (i < last ? i : last);
		}
		rc = add_piece(work, plan->first_cell[remote] + i, from);
		if (rc)
			return rc;
	}
	return 0;
}

/* Adds the pieces of a FLUSH: one read for each memory (host, GPU or NIC) in which it
 * names a location.
 */
static int plan_flush(const struct rn_model_plan *plan, struct rn_model_work *work,
		      const struct rn_litmus_instr *in)
{
	const struct rn_litmus_location *l = plan->test->location;

	for (unsigned i = 0; i < in->count; i++) {
		bool is_new = true;

		for (unsigned k = 0; k < i; k++)
			is_new &= l[in->dst[k]].agent != l[in->dst[i]].agent;
		if (is_new &&
		    add_piece(work, plan->first_cell[in->dst[i]], RN_LITMUS_NONE))
			return -E2BIG;
	}
	return 0;
}

static int plan_pieces(const struct rn_model_plan *plan, struct rn_model_work *work,
		       const struct rn_litmus_instr *in)
{
	unsigned local = in->dst[0] == RN_LITMUS_NONE ? RN_LITMUS_NONE
						      : plan->first_cell[in->dst[0]];

	if (in->op == RN_LITMUS_FLUSH)
		return plan_flush(plan, work, in);
	if (rn_litmus_is_atomic(in->op))
		return add_piece(work, plan->first_cell[in->loc], local);
	if (rn_litmus_is_rung(in->op))
		return add_element(plan, work, in->dst[0], RN_LITMUS_NONE);
	if (in->op == RN_LITMUS_SEND && in->dst[0] == RN_LITMUS_NONE)
		return add_piece(work, RN_LITMUS_NONE,
				 in->src[0].is_inline ? RN_LITMUS_NONE
						      : plan->first_cell[in->src[0].loc]);
	for (unsigned i = 0; i < in->count; i++) {
		bool is_read = in->op == RN_LITMUS_READ;
		unsigned remote = is_read ? in->src[i].loc : in->dst[i];
		int rc = add_element(plan, work, remote,
				     is_read ? in->dst[i] : in->src[i].loc);

		if (rc)
			return rc;
	}
	return 0;
}

/* Returns true if the cells of each location fit into the array rn_model_request.value. A
 * WQE may contain the address of any location, and then the NIC reads all of its cells.
 */
static bool can_fetch(const struct rn_model_plan *plan)
{
	for (unsigned i = 0; i < plan->test->locations; i++)
		if (plan->cell_count[i] > RN_MODEL_PIECES)
			return false;
	return true;
}

static int plan_work(struct rn_model_plan *plan, unsigned thread, unsigned instr)
{
	const struct rn_litmus_instr *in = rn_instr(plan, thread, instr);
	struct rn_model_work *work;

	if (in->work == RN_LITMUS_NONE)
		return 0;
	work = &plan->work[in->work];
	work->is_rung = rn_litmus_is_rung(in->op);
	work->op = work->is_rung ? RN_LITMUS_WRITE : in->op;
	work->thread = (uint8_t)thread;
	work->instr = (uint8_t)instr;
	work->qp = in->qp;
	work->fence = in->fence;
	work->unsignaled = in->unsignaled;
	work->takes = (in->op == RN_LITMUS_SEND || in->op == RN_LITMUS_IMM) &&
		      plan->test->rq[plan->test->qp[in->qp].recv_queue].is_rung;
	if (work->is_rung && !can_fetch(plan))
		return -E2BIG;
	return plan_pieces(plan, work, in);
}

static int plan_receive(struct rn_model_plan *plan, unsigned thread, unsigned instr)
{
	const struct rn_litmus_instr *in = rn_instr(plan, thread, instr);

	if (in->op != RN_LITMUS_RECV)
		return 0;
	plan->receive[in->receive] = (struct rn_model_doorbell){
		.thread = (uint8_t)thread,
		.instr = (uint8_t)instr,
		.rq = in->rq,
		.loc = in->loc,
	};
	return plan->cell_count[in->loc] > RN_MODEL_PIECES ? -E2BIG : 0;
}

static void plan_atomics(struct rn_model_plan *plan)
{
	for (unsigned i = 0; i < plan->test->works; i++) {
		struct rn_model_work *one = &plan->work[i];

		one->is_alone = true;
		for (unsigned k = 0; k < plan->test->works; k++) {
			const struct rn_model_work *other = &plan->work[k];

			if (i != k && rn_litmus_is_atomic(other->op) &&
			    other->piece[0].remote == one->piece[0].remote)
				one->is_alone = false;
		}
	}
}

static unsigned ends_of_nic(const struct rn_litmus_test *t, unsigned node, unsigned nic)
{
	unsigned ends = 0;

	for (unsigned i = 0; i < t->qps; i++) {
		ends += t->qp[i].node == node && t->qp[i].nic == nic;
		ends += t->qp[i].peer == node && t->qp[i].peer_nic == nic;
	}
	return ends;
}

/* Returns true if the program itself posts receives (recv) to a receive queue of this
 * NIC.
 */
static bool is_fed(const struct rn_litmus_test *t, unsigned node, unsigned nic)
{
	for (unsigned i = 0; i < t->rqs; i++)
		if (t->rq[i].is_rung && t->rq[i].node == node && t->rq[i].nic == nic)
			return true;
	return false;
}

/* Returns true if a location of the test is in the memory of this NIC. */
static bool is_device_used(const struct rn_litmus_test *t, unsigned node, unsigned nic)
{
	for (unsigned i = 0; i < t->locations; i++)
		if (t->location[i].node == node && t->location[i].agent == nic)
			return true;
	return false;
}

/* Fills in what the plan says about receive queues. A NIC reads the WQEs of a QP's
 * receive queue in the stream of that QP. An SRQ belongs to several QPs, so it gets
 * another stream. @streams: number of streams of each NIC, which is updated.
 */
static void plan_recv_queues(struct rn_model_plan *plan,
			     uint8_t streams[RN_LITMUS_NODES][RN_AGENT_COUNT])
{
	const struct rn_litmus_test *t = plan->test;
	unsigned takers[RN_LITMUS_RQS] = { 0 };

	for (unsigned i = 0; i < t->qps; i++) {
		plan->recv_stream[t->qp[i].recv_queue] = plan->peer_stream[i];
		takers[t->qp[i].recv_queue]++;
	}
	for (unsigned i = 0; i < t->rqs; i++) {
		if (t->rq[i].is_shared)
			plan->recv_stream[i] = ++streams[t->rq[i].node][t->rq[i].nic];
		plan->is_taken_by_one[i] = takers[i] == 1;
		plan->is_fed_by_one[i] = true;
	}
	for (unsigned i = 0; i < t->receives; i++)
		for (unsigned k = 0; k < i; k++)
			if (plan->receive[k].rq == plan->receive[i].rq &&
			    plan->receive[k].thread != plan->receive[i].thread)
				plan->is_fed_by_one[plan->receive[i].rq] = false;
}

static void plan_ends(struct rn_model_plan *plan)
{
	const struct rn_litmus_test *t = plan->test;
	uint8_t streams[RN_LITMUS_NODES][RN_AGENT_COUNT] = { { 0 } };

	for (unsigned i = 0; i < t->qps; i++) {
		const struct rn_litmus_qp *qp = &t->qp[i];

		plan->stream[i] = ++streams[qp->node][qp->nic];
		plan->peer_stream[i] = ++streams[qp->peer][qp->peer_nic];
		plan->is_posted_by_one[i] = true;
		plan->is_fetch_silent[i] =
			!plan->is_now && !is_device_used(t, qp->node, qp->nic);
		plan->is_only_end[i] = ends_of_nic(t, qp->peer, qp->peer_nic) == 1 &&
				       !is_fed(t, qp->peer, qp->peer_nic) &&
				       !is_device_used(t, qp->peer, qp->peer_nic);
	}
	plan_recv_queues(plan, streams);
	for (unsigned i = 0; i < t->works; i++) {
		const struct rn_model_work *work = &plan->work[i];

		if (!rn_is_message(work->op))
			plan->is_only_end[work->qp] = false;
		for (unsigned k = 0; k < i; k++)
			if (plan->work[k].qp == work->qp &&
			    plan->work[k].thread != work->thread)
				plan->is_posted_by_one[work->qp] = false;
	}
}

static void plan_rings(struct rn_model_plan *plan)
{
	const struct rn_litmus_test *t = plan->test;
	uint8_t poller[RN_LITMUS_CQS];

	memset(poller, RN_LITMUS_NONE, sizeof(poller));
	for (unsigned i = 0; i < t->cqs; i++)
		plan->is_polled_by_one[i] = true;
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned k = 0; k < t->thread[i].count; k++) {
			const struct rn_litmus_instr *in = rn_instr(plan, i, k);

			if (in->op != RN_LITMUS_POLL && in->op != RN_LITMUS_TRYP)
				continue;
			plan->is_tried[in->cq] |= in->op == RN_LITMUS_TRYP;
			if (poller[in->cq] != RN_LITMUS_NONE && poller[in->cq] != i)
				plan->is_polled_by_one[in->cq] = false;
			poller[in->cq] = (uint8_t)i;
		}
}

static void count_write(struct rn_model_plan *plan, unsigned loc)
{
	if (loc != RN_LITMUS_NONE && plan->writes[loc] < UINT8_MAX)
		plan->writes[loc]++;
}

static void plan_writes(struct rn_model_plan *plan, const struct rn_litmus_instr *in)
{
	if (in->op == RN_LITMUS_ST || in->op == RN_LITMUS_MWR || in->op == RN_LITMUS_DMA)
		count_write(plan, in->loc);
	if (!rn_litmus_is_work(in->op) || in->op == RN_LITMUS_FLUSH)
		return;
	if (rn_litmus_is_atomic(in->op)) {
		count_write(plan, in->loc);
		count_write(plan, in->dst[0]);
		return;
	}
	for (unsigned i = 0; i < in->count; i++)
		count_write(plan, in->dst[i]);
	/* This SEND goes into the buffer of a receive that the program posts, which may
	 * be any location of the peer. So it counts as a write to each of them.
	 */
	if (in->op == RN_LITMUS_SEND && in->dst[0] == RN_LITMUS_NONE)
		for (unsigned i = 0; i < plan->test->locations; i++)
			if (plan->test->location[i].node == plan->test->qp[in->qp].peer)
				count_write(plan, i);
}

/* Returns the maximum number of TLPs that can be in flight. Each granule of a message can
 * have two: the read of the requester and the write of the responder. The others are CQEs
 * at both ends, doorbells and the fetches after them, and loads and stores of threads.
 */
static uint32_t tlps_needed(const struct rn_model_plan *plan)
{
	uint32_t tlps = 2u * plan->test->threads + 4;
	uint32_t most_cells = 0;

	for (unsigned i = 0; i < plan->test->locations; i++)
		if (plan->cell_count[i] > most_cells)
			most_cells = plan->cell_count[i];
	for (unsigned i = 0; i < plan->test->works; i++)
		tlps += 2u * plan->work[i].pieces + 2 +
			(plan->work[i].is_rung ? 1 + most_cells : 0);
	tlps += plan->test->receives * (1 + most_cells);
	for (unsigned i = 0; i < plan->test->threads; i++)
		tlps += plan->test->thread[i].agent != RN_AGENT_CPU
				? plan->test->thread[i].count
				: 2;
	return tlps;
}

static void plan_block(struct rn_model_plan *plan)
{
	size_t fabric = (rn_fabric_size(plan->tlps) + 7) / 8 * 8;
	size_t at = (sizeof(struct rn_model) + 7) / 8 * 8;

	for (unsigned i = 0; i < plan->test->nodes; i++) {
		plan->fabric_at[i] = at;
		at += fabric;
	}
	plan->size = at;
}

int rn_model_plan(struct rn_model_plan *plan, const struct rn_litmus_test *test,
		  const struct rn_litmus_setup *setup)
{
	memset(plan, 0, sizeof(*plan));
	plan->test = test;
	plan->setup = *setup;
	plan->is_now = setup->knobs.place == RN_PLACE_NOW;
	for (unsigned i = 0; i < test->locations; i++)
		if (plan_location(plan, i))
			return -E2BIG;
	for (unsigned i = 0; i < test->threads; i++)
		for (unsigned k = 0; k < test->thread[i].count; k++) {
			if (plan_work(plan, i, k) || plan_receive(plan, i, k))
				return -E2BIG;
			plan_writes(plan, rn_instr(plan, i, k));
		}
	plan_atomics(plan);
	plan_ends(plan);
	plan_rings(plan);
	plan->tlps = tlps_needed(plan);
	plan_block(plan);
	return plan->tlps <= RN_MODEL_TLPS ? 0 : -E2BIG;
}
