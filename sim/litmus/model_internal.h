/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model_internal.h - declarations shared by the files of the model and explore.c, which
 * shows its steps.
 */
#ifndef RN_LITMUS_MODEL_INTERNAL_H
#define RN_LITMUS_MODEL_INTERNAL_H

#include "model.h"

/* What a TLP is for. The tag of a TLP (rn_tlp.tag) contains this, a number and a piece.
 * The comments say what number and piece are for each purpose.
 */
enum rn_model_use {
	/* Write to a location; number: its first cell, piece: number of cells. */
	RN_USE_MEMORY,
	RN_USE_CQE,    /* write of a CQE; number: CQ, piece: slot */
	RN_USE_DMACQE, /* write of a DMA engine's CQE; piece: slot */
	RN_USE_LAUNCH, /* launch of a GPU thread; number: thread */
	RN_USE_LOAD,   /* load of a thread; number: thread */
	/* Read of a message's bytes by the requester; number: work request, piece. */
	RN_USE_GATHER,
	/* Read by the responder, for a READ, atomic, ATOMIC WRITE or FLUSH; number: work
	 * request, piece.
	 */
	RN_USE_SERVE,
	/* Write of a doorbell for a work request; number: work request. The value that
	 * the TLP writes is the WQE, if the doorbell carries one.
	 */
	RN_USE_DOORBELL,
	/* Read of a WQE, or of data to which the WQE points; number: work request, piece:
	 * cell of the location.
	 */
	RN_USE_FETCH,
	RN_USE_ATOMIC, /* PCIe AtomicOp, or the atomic of a NIC; number: work request */
	RN_USE_RECV_BELL, /* doorbell for a receive; number: receive */
	/* Read of the WQE of a receive; number: receive, piece: cell of the location. */
	RN_USE_RECV_FETCH,
};

/* Returns the tag of a TLP. @thread and @instr name the instruction that has caused the
 * TLP, for traces.
 */
static inline uint64_t rn_model_tag(enum rn_model_use use, unsigned number,
				    unsigned piece, unsigned thread, unsigned instr)
{
	return (uint64_t)use << 32 | (uint64_t)number << 24 | (uint64_t)piece << 16 |
	       (uint64_t)thread << 8 | instr;
}

static inline unsigned rn_tag_use(uint64_t tag)
{
	return (unsigned)(tag >> 32);
}

static inline unsigned rn_tag_number(uint64_t tag)
{
	return tag >> 24 & 0xff;
}

static inline unsigned rn_tag_piece(uint64_t tag)
{
	return tag >> 16 & 0xff;
}

static inline unsigned rn_tag_thread(uint64_t tag)
{
	return tag >> 8 & 0xff;
}

static inline unsigned rn_tag_instr(uint64_t tag)
{
	return tag & 0xff;
}

/* The list of moves that are possible in a state, while it is being made. */
struct rn_moves {
	struct rn_move *list;
	unsigned count;
};

static inline void rn_add_move(struct rn_moves *to, enum rn_move_kind kind, unsigned who,
			       unsigned what, bool is_eager)
{
	assert(to->count < RN_MODEL_MOVES);
	to->list[to->count++] = (struct rn_move){
		.kind = (uint8_t)kind,
		.who = (uint8_t)who,
		.what = (uint16_t)what,
		.is_eager = is_eager,
	};
}

static inline const struct rn_litmus_instr *rn_instr(const struct rn_model_plan *plan,
						     unsigned thread, unsigned instr)
{
	return &plan->test->thread[thread].instr[instr];
}

static inline bool rn_is_message(unsigned op)
{
	return op == RN_LITMUS_WRITE || op == RN_LITMUS_IMM || op == RN_LITMUS_SEND;
}

static inline const struct rn_model_work *rn_work(const struct rn_model_run *run,
						  unsigned work)
{
	return &run->plan->work[work];
}

static inline struct rn_model_request *rn_request(const struct rn_model_run *run,
						  unsigned work)
{
	return &run->m->request[work];
}

static inline const struct rn_litmus_qp *rn_qp(const struct rn_model_run *run,
					       unsigned qp)
{
	return &run->plan->test->qp[qp];
}

/* Returns the bit mask of all pieces of a work request. */
static inline uint16_t rn_all_pieces(const struct rn_model_work *work)
{
	return (uint16_t)((1u << work->pieces) - 1);
}

/* Returns true if issuing a read of agent @from to agent @to only puts it into a queue,
 * so that it reads memory in a later move. The search can then issue it at once without
 * losing a final state: in its queue the read blocks no other TLP, and it has fewer
 * writes in front of it than if it were issued later.
 */
static inline bool rn_is_silent(const struct rn_model_plan *plan, unsigned from,
				unsigned to)
{
	return !plan->is_now && from != to;
}

/* ---- TLPs (model.c) ---- */
/* Issues a TLP. Returns false if there is no route. */
bool rn_model_issue(const struct rn_model_run *run, unsigned node, struct rn_tlp *tlp);
/* Returns a TLP that writes or reads one cell, with the members kind, target, addr and
 * len set. The caller sets the others.
 */
struct rn_tlp rn_model_tlp(const struct rn_model_run *run, enum rn_tlp_kind kind,
			   unsigned requester, unsigned cell);
void rn_model_move_tlp(const struct rn_model_run *run, unsigned node, unsigned index);
bool rn_model_is_relaxed(const struct rn_model_plan *plan, unsigned cell);

/* Returns the value of a location; RN_MODEL_TORN if its cells have different values
 * (model.c).
 */
int64_t rn_model_read_location(const struct rn_model_run *run, unsigned loc);

/* ---- Threads (model_thread.c) ---- */
void rn_model_thread_moves(const struct rn_model_run *run, struct rn_moves *to);
void rn_model_do_instr(const struct rn_model_run *run, unsigned thread);
/* Lets a store leave the store buffer of a thread. @index: its place in the buffer. */
void rn_model_do_store(const struct rn_model_run *run, unsigned thread, unsigned index);
/* Called when the completion of the thread's load has arrived. */
void rn_model_end_load(const struct rn_model_run *run, unsigned thread);
/* Returns true if @value is the one for which the instruction `wait' of the thread waits.
 */
bool rn_model_is_awaited(const struct rn_model_run *run, unsigned thread, int64_t value);

/* ---- The NIC (model_nic.c) ---- */
void rn_model_post(const struct rn_model_run *run, unsigned work);
/* Called when a read by which the NIC fetches a work request has completed. Its value is
 * in rn_model_request.value[@cell]. Continues with the fetch or, after its end, with the
 * request.
 */
void rn_model_fetched(const struct rn_model_run *run, unsigned work, unsigned cell);
void rn_model_nic_moves(const struct rn_model_run *run, struct rn_moves *to);
void rn_model_do_start(const struct rn_model_run *run, unsigned qp);
void rn_model_do_execute(const struct rn_model_run *run, unsigned work, unsigned piece);

void rn_model_do_serve(const struct rn_model_run *run, unsigned work);
void rn_model_do_modify(const struct rn_model_run *run, unsigned work);
int64_t rn_model_atomic_result(const struct rn_model_run *run, unsigned work,
			       int64_t old);

void rn_model_do_answer(const struct rn_model_run *run, unsigned qp);

/* ---- Receives that the program posts (model_recv.c) ---- */
void rn_model_post_receive(const struct rn_model_run *run, unsigned receive);
/* Called when the NIC has read cell @cell of the WQE of a receive. After the last cell,
 * sets the buffer of the receive.
 */
void rn_model_receive_fetched(const struct rn_model_run *run, unsigned receive,
			      unsigned cell);
void rn_model_recv_moves(const struct rn_model_run *run, struct rn_moves *to);
void rn_model_do_fetch(const struct rn_model_run *run, unsigned rq);
void rn_model_do_take(const struct rn_model_run *run, unsigned work);
/* Returns true if the message has taken a receive whose WQE is valid, so that the message
 * can be written to a buffer.
 */
bool rn_model_has_receive(const struct rn_model_run *run, unsigned work);
/* Returns the cell at the responder to which a piece of a message is written, or from
 * which it is read. For a SEND this cell is in the buffer of a receive, so it is known
 * only when the SEND has taken one.
 */
unsigned rn_model_remote_cell(const struct rn_model_run *run, unsigned work,
			      unsigned piece);

/* Returns the number of the piece with which a message takes its receive. A SEND takes it
 * with its first piece, because the piece needs the buffer. A WRITE with immediate takes
 * it with its last piece, because the receive only reports the end of the message.
 */
static inline unsigned rn_taking_piece(const struct rn_model_work *work)
{
	return work->op == RN_LITMUS_SEND ? 0 : work->pieces - 1u;
}

/* Returns true if the knobs allow a responder to execute packets of WRITEs out of order.
 */
static inline bool rn_is_any_order(const struct rn_model_run *run)
{
	return run->plan->setup.knobs.ooo || run->plan->setup.knobs.place == RN_PLACE_ANY;
}

/* Reports a step to run->watch, if that is set (model.c). */
void rn_model_tell(const struct rn_model_run *run, const struct rn_litmus_step *step,
		   const struct rn_tlp *tlp);

/* Returns a step of a trace that describes an action of a NIC for an instruction. @does:
 * verb that names the action, such as "starts".
 */
static inline struct rn_litmus_step rn_model_nic_step(unsigned node, unsigned nic,
						      uint8_t thread, uint8_t instr,
						      const char *does)
{
	return (struct rn_litmus_step){
		.kind = RN_STEP_NIC,
		.node = (uint8_t)node,
		.agent = (uint8_t)nic,
		.thread = thread,
		.instr = instr,
		.loc = RN_LITMUS_NONE,
		.tlp = RN_TLP_NONE,
		.from = RN_LIST_COUNT,
		.to = RN_LIST_COUNT,
		.passed = RN_TLP_NONE,
		.rule = does,
	};
}

#endif /* RN_LITMUS_MODEL_INTERNAL_H */
