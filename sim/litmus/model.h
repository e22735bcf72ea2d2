/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.h - a litmus test as a machine: hosts with CPUs, GPUs, drives, NICs and a fabric.
 *
 *	plan	what a test and a set of knobs fix: cells, work requests, sizes, which
 *		moves commute with everything
 *	model	the state: one flat block, copied with memcpy(), a fabric per host at
 *		its end
 *	move	one step of one agent, or one TLP one place onward
 *
 * A NIC is this engine. Requester: work requests start in posting order, a fenced one
 * when no READ, atomic, FLUSH or ATOMIC WRITE before it is unfinished; their bytes are
 * gathered with one read per granule; packets go out in order. Responder: packets are
 * executed in order (nic.ooo: those of WRITEs in any), READs, atomics, FLUSH and ATOMIC
 * WRITE leave a context that starts in order but later than later WRITEs may be executed;
 * answers leave in order. A packet is a granule.
 *
 * Threads: none; the caller serialises.
 */
#ifndef RN_LITMUS_MODEL_H
#define RN_LITMUS_MODEL_H

#include "litmus.h"
#include "sim/pcie/model/fabric.h"

enum {
	RN_MODEL_CELLS = 64,
	RN_MODEL_PIECES = 16, /* granules of one message */
	RN_MODEL_BUFFER = 8,  /* stores in a CPU's buffer */
	RN_MODEL_TLPS = 96,   /* of one host */
	RN_MODEL_MOVES = 128,
};

/* A location whose granules differ reads as this. */
#define RN_MODEL_TORN INT64_C(-999999999)

/* A granule of a location, as far as the location fills it. */
struct rn_model_cell {
	uint8_t loc;
	uint64_t addr;
	uint32_t len;
};

/* One granule of a message. Cells are RN_LITMUS_NONE where there is nothing. */
struct rn_model_piece {
	uint8_t remote, local; /* cells at the responder, at the requester */
};

struct rn_model_work {
	uint8_t op; /* enum rn_litmus_op */
	uint8_t thread, instr, qp;
	bool fence, unsignaled;
	bool is_alone; /* atomic: no other one of this NIC on the same bytes */
	uint8_t pieces;
	struct rn_model_piece piece[RN_MODEL_PIECES];
};

struct rn_model_plan {
	const struct rn_litmus_test *test;
	struct rn_litmus_setup setup;
	bool is_now; /* place=now: what is issued is performed */
	uint8_t cells;
	uint8_t first_cell[RN_LITMUS_LOCATIONS], cell_count[RN_LITMUS_LOCATIONS];
	struct rn_model_cell cell[RN_MODEL_CELLS];
	struct rn_model_work work[RN_LITMUS_OPS];
	/* Streams of a QP's two ends, counted per NIC from 1. */
	uint8_t stream[RN_LITMUS_QPS], peer_stream[RN_LITMUS_QPS];
	bool is_posted_by_one[RN_LITMUS_QPS];
	bool is_only_end[RN_LITMUS_QPS]; /* responder NIC has no other QP, only messages
					  */
	bool is_polled_by_one[RN_LITMUS_CQS];
	bool is_tried[RN_LITMUS_CQS]; /* somebody looks without waiting */
	uint32_t tlps;		      /* room of each fabric */
	size_t fabric_at[RN_LITMUS_NODES], size;
};

/* A store, post or launch on its way out of a CPU. */
struct rn_model_store {
	int64_t instr; /* wide, so that the struct has no padding */
	int64_t value;
};

struct rn_model_thread {
	uint8_t pc, stores;
	bool is_started, is_waiting; /* for the answer of a load */
	struct rn_model_store store[RN_MODEL_BUFFER];
	int64_t loaded;
	int64_t reg[RN_LITMUS_REGS];
};

struct rn_model_request {
	bool is_started;  /* by the requester */
	bool is_serving;  /* its context at the responder has started */
	bool is_done;	  /* at the requester */
	bool is_modified; /* an atomic of the NIC has written */
	uint8_t position; /* in its send queue */
	uint8_t answered; /* pieces of a READ that are back */
	uint16_t gathered, executed, returned; /* pieces, bit each */
	int64_t value[RN_MODEL_PIECES];
};

struct rn_model_queue {
	bool is_broken; /* something was not routed */
	uint8_t posted, started, answered;
	uint8_t work[RN_LITMUS_OPS];
};

struct rn_model_ring {
	uint8_t issued, consumed;
	uint32_t arrived; /* slots, bit each */
};

/* Only `threads', `works' ... of the test are used, so a digest can skip the rest. */
struct rn_model {
	bool is_full; /* a fabric had no room: the test is too large */
	struct rn_model_ring dma[RN_LITMUS_NODES];
	struct rn_model_ring ring[RN_LITMUS_CQS];
	struct rn_model_queue qp[RN_LITMUS_QPS];
	int64_t cell[RN_MODEL_CELLS];
	struct rn_model_thread thread[RN_LITMUS_THREADS];
	struct rn_model_request request[RN_LITMUS_OPS];
};

enum rn_move_kind {
	RN_MOVE_INSTR,	 /* thread */
	RN_MOVE_STORE,	 /* thread: the oldest store leaves the buffer */
	RN_MOVE_START,	 /* qp: the next work request */
	RN_MOVE_EXECUTE, /* work, piece: a packet at the responder */
	RN_MOVE_SERVE,	 /* work: its context */
	RN_MOVE_MODIFY,	 /* work: the NIC's atomic has read and writes */
	RN_MOVE_ANSWER,	 /* qp: an answer at the requester */
	RN_MOVE_TLP,	 /* node, index */
};

struct rn_move {
	uint8_t kind;
	uint8_t who;
	uint16_t what;
	/* Taking it first loses no final state, so nothing else need be tried. */
	bool is_eager;
};

/* For traces. @step: without text, and of a NIC `rule' is a verb: "starts". */
struct rn_model_watch {
	void (*step)(void *arg, const struct rn_litmus_step *step,
		     const struct rn_tlp *tlp);
	void *arg;
};

/* What the functions of the model share. */
struct rn_model_run {
	const struct rn_model_plan *plan;
	struct rn_model *m;
	const struct rn_model_watch *watch; /* or NULL */
	bool may_spin; /* loads of `wait' from other memory may miss, and repeat */
};

/**
 * rn_model_plan() - Prepare a test
 *
 * Return: 0; -E2BIG: more granules or TLPs than the model has room for.
 */
int rn_model_plan(struct rn_model_plan *plan, const struct rn_litmus_test *test,
		  const struct rn_litmus_setup *setup);

/* @m: plan->size bytes, 8-byte aligned. */
void rn_model_init(const struct rn_model_plan *plan, struct rn_model *m);

/* All moves; at most RN_MODEL_MOVES. 0: the state is final. */
unsigned rn_model_moves(const struct rn_model_run *run, struct rn_move *moves);

void rn_model_move(const struct rn_model_run *run, const struct rn_move *move);

void rn_model_outcome(const struct rn_model_plan *plan, const struct rn_model *m,
		      struct rn_litmus_outcome *outcome);

static inline struct rn_fabric *rn_model_fabric(const struct rn_model_plan *plan,
						struct rn_model *m, unsigned node)
{
	return (struct rn_fabric *)((char *)m + plan->fabric_at[node]);
}

static inline const struct rn_fabric *
rn_model_fabric_const(const struct rn_model_plan *plan, const struct rn_model *m,
		      unsigned node)
{
	return (const struct rn_fabric *)((const char *)m + plan->fabric_at[node]);
}

#endif /* RN_LITMUS_MODEL_H */
