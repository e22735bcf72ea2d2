/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.h - a litmus test as a state machine: hosts with CPUs, GPUs, drives, NICs and
 * a fabric.
 *
 *	plan	what a test and its knobs determine in advance: cells, work requests,
 *		sizes, and which moves commute with all others
 *	model	the state: one block without pointers, with a fabric per host at its end;
 *		copied with memcpy()
 *	move	one step of one agent, or of one TLP to its next queue
 *
 * A NIC works as follows. Requester: work requests start in posting order, a fenced one
 * when all READs, atomics, FLUSHes and ATOMIC WRITEs before it are finished. The NIC
 * gathers the bytes of a request with one read per granule, and sends the packets in
 * order. It fetches a work request that a doorbell announced when the request starts: the
 * NIC reads the WQE and follows addresses (an SGE list, the payload) until it finds
 * numbers. Responder: packets are executed in order (with nic.ooo packets of WRITEs in
 * any order). Where the program posts the receives (recv), their WQEs are fetched in
 * order, some time after the doorbell; a SEND or WRITE with immediate takes the next one,
 * and waits for it. For each READ, atomic, FLUSH and ATOMIC WRITE the responder has a
 * context, which makes the accesses to memory. Contexts start in order, but WRITEs that
 * come later may be executed before a context starts. Answers leave in order. Each packet
 * carries one granule.
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
	RN_MODEL_FETCHES = 3, /* WQE, SGE list and payload of a work request */
	RN_MODEL_BUFFER = 8,  /* stores in the store buffer of a CPU */
	RN_MODEL_TLPS = 96,   /* TLPs in flight in one host */
	RN_MODEL_MOVES = 128,
};

/* Value of a torn read: the bytes of the location, which became visible granule by
 * granule, did not all belong to the same number.
 */
#define RN_MODEL_TORN INT64_C(-999999999)

/* A cell: the part of a location that lies in one granule, the unit in which bytes
 * become visible together (knob granule).
 */
struct rn_model_cell {
	uint8_t loc;
	uint64_t addr;
	uint32_t len;
};

/* The part of a message that lies in one granule. A member is RN_LITMUS_NONE if there is
 * no cell at that end.
 */
struct rn_model_piece {
	uint8_t remote, local; /* cells at the responder and at the requester */
};

struct rn_model_work {
	uint8_t op; /* enum rn_litmus_op; for the doorbells bell and blue WRITE */
	uint8_t thread, instr, qp;
	bool is_rung; /* the NIC has to find out from the WQE what to send */
	bool fence, unsignaled;
	/* for an atomic: this NIC executes no other atomic on the same bytes */
	bool is_alone;
	/* the message consumes a receive that the program has posted (recv) */
	bool takes;
	uint8_t pieces;
	struct rn_model_piece piece[RN_MODEL_PIECES];
};

struct rn_model_doorbell {
	/* thread, instr, rq: fields of the instruction recv; loc: location of the WQE */
	uint8_t thread, instr, rq, loc;
};

struct rn_model_plan {
	const struct rn_litmus_test *test;
	struct rn_litmus_setup setup;
	bool is_now; /* place=now: a TLP is performed when it is issued */
	uint8_t cells;
	uint8_t first_cell[RN_LITMUS_LOCATIONS], cell_count[RN_LITMUS_LOCATIONS];
	struct rn_model_cell cell[RN_MODEL_CELLS];
	struct rn_model_work work[RN_LITMUS_OPS];
	/* Numbers of the streams (rn_tlp.stream) of the QP at its requester and at its
	 * responder. Each NIC numbers its streams from 1.
	 */
	uint8_t stream[RN_LITMUS_QPS], peer_stream[RN_LITMUS_QPS];
	bool is_posted_by_one[RN_LITMUS_QPS];
	struct rn_model_doorbell receive[RN_LITMUS_RECVS];
	uint8_t recv_stream[RN_LITMUS_RQS];
	/* For each receive queue. is_fed_by_one: one thread posts all its receives.
	 * is_taken_by_one: all messages that consume its receives arrive at one QP.
	 */
	bool is_fed_by_one[RN_LITMUS_RQS], is_taken_by_one[RN_LITMUS_RQS];
	/* For each QP: the responder's NIC has no other QP and fetches no receives, and
	 * only messages arrive at the QP, no READs or atomics.
	 */
	bool is_only_end[RN_LITMUS_QPS];
	/* For each QP: sending the reads by which the requester fetches a WQE and its
	 * data has no other effect than that they enter a queue (see rn_is_silent()).
	 */
	bool is_fetch_silent[RN_LITMUS_QPS];
	bool is_polled_by_one[RN_LITMUS_CQS];
	bool is_tried[RN_LITMUS_CQS]; /* a thread polls this CQ without waiting */
	/* Number of times that instructions write to the location. */
	uint8_t writes[RN_LITMUS_LOCATIONS];
	uint32_t tlps; /* number of places for TLPs in each fabric */
	size_t fabric_at[RN_LITMUS_NODES], size;
};

/* A store, post or launch in the store buffer of a CPU. */
struct rn_model_store {
	/* Number of the instruction; 64 bits wide so that the struct has no padding. */
	int64_t instr;
	int64_t value;
};

struct rn_model_thread {
	uint8_t pc, stores;
	/* @is_waiting: a load has been issued and its value has not come. */
	bool is_started, is_waiting;
	struct rn_model_store store[RN_MODEL_BUFFER];
	int64_t loaded;
	int64_t reg[RN_LITMUS_REGS];
};

struct rn_model_request {
	bool is_started; /* the requester has started the work request */
	bool is_serving; /* the responder's context for the request has started */
	bool is_done;	 /* the requester has the answer */
	/* The write of an atomic that the NIC performs has been issued. */
	bool is_modified;
	uint8_t position; /* index in the send queue */
	uint8_t answered; /* number of pieces of a READ that the requester has got */
	/* State of the fetches for a work request that a doorbell announced. fetch_loc:
	 * location that is being read. fetches: number of fetches that have begun. The
	 * bit mask that follows: cells of the location whose values have arrived; these
	 * values are in @value until the payload is known.
	 */
	uint8_t fetch_loc, fetches;
	uint16_t fetched;
	/* Bit masks of the pieces of the request that the requester has read, that the
	 * responder has executed, and that the responder has returned.
	 */
	uint16_t gathered, executed, returned;
	uint8_t taken; /* number of the receive that was consumed, from 1; 0: none */
	int64_t value[RN_MODEL_PIECES];
};

struct rn_model_queue {
	bool is_broken; /* a TLP could not be routed, so the QP has stopped */
	uint8_t posted, started, answered;
	uint8_t work[RN_LITMUS_OPS];
};

struct rn_model_recv_queue {
	/* Number of receives that a doorbell has announced, number of those whose fetch
	 * has begun, and number of those that messages have taken.
	 */
	uint8_t posted, begun, taken;
	uint8_t receive[RN_LITMUS_RECVS];
};

struct rn_model_receive {
	bool is_fetched;
	/* the location of the buffer, once it is known; NONE: the WQE is invalid */
	uint8_t buffer;
	uint16_t fetched; /* bit mask of the cells of the WQE whose values have arrived */
	/* values of these cells, until all have arrived */
	int64_t value[RN_MODEL_PIECES];
};

struct rn_model_ring {
	uint8_t issued, consumed;
	uint32_t arrived; /* bit mask of slots whose CQE has arrived */
};

/* Only the elements of arrays that the test uses (as many as `threads', `works' ... of
 * the plan say) ever change, so a digest can leave out the others.
 */
struct rn_model {
	bool is_full; /* a fabric had no free place: the test is too large */
	struct rn_model_ring dma[RN_LITMUS_NODES];
	struct rn_model_ring ring[RN_LITMUS_CQS];
	struct rn_model_queue qp[RN_LITMUS_QPS];
	int64_t cell[RN_MODEL_CELLS];
	struct rn_model_thread thread[RN_LITMUS_THREADS];
	struct rn_model_request request[RN_LITMUS_OPS];
	struct rn_model_recv_queue recv_queue[RN_LITMUS_RQS];
	struct rn_model_receive receive[RN_LITMUS_RECVS];
};

enum rn_move_kind {
	RN_MOVE_INSTR, /* a thread executes an instruction; who: thread */
	/* A store leaves the store buffer; who: thread, what: index in the buffer. */
	RN_MOVE_STORE,
	RN_MOVE_START, /* the next work request starts; who: QP */
	/* A packet is executed at the responder; who: work request, what: piece. */
	RN_MOVE_EXECUTE,
	RN_MOVE_SERVE,	/* a context starts at the responder; who: work request */
	RN_MOVE_MODIFY, /* the NIC's atomic issues its write; who: work request */
	RN_MOVE_ANSWER, /* an answer is processed at the requester; who: QP */
	RN_MOVE_FETCH,	/* the next receive is fetched; who: receive queue */
	RN_MOVE_TAKE,	/* a message consumes a receive; who: work request */
	RN_MOVE_TLP,	/* a TLP moves; who: node, what: index */
};

struct rn_move {
	uint8_t kind;
	uint8_t who;
	uint16_t what;
	/* No final state is lost if this move is made before all others, so the search
	 * need not try the others.
	 */
	bool is_eager;
};

/* A function that is called for each step, for traces. @step has no text yet. In a step
 * of a NIC, @step->rule is a verb such as "starts".
 */
struct rn_model_watch {
	void (*step)(void *arg, const struct rn_litmus_step *step,
		     const struct rn_tlp *tlp);
	void *arg;
};

/* Arguments that the functions of the model share. */
struct rn_model_run {
	const struct rn_model_plan *plan;
	struct rn_model *m;
	const struct rn_model_watch *watch; /* called for each step; may be NULL */
	bool may_spin; /* loads of `wait' may find another value and are then repeated */
};

/**
 * rn_model_plan() - Compute the plan of a test
 *
 * Return: 0 with @plan filled in, or -E2BIG if the test has more granules or TLPs than
 * the model has room for.
 */
int rn_model_plan(struct rn_model_plan *plan, const struct rn_litmus_test *test,
		  const struct rn_litmus_setup *setup);

/* Sets the initial state. @m: plan->size bytes, 8-byte aligned. */
void rn_model_init(const struct rn_model_plan *plan, struct rn_model *m);

/* Writes all moves that are possible in the present state to @moves, which has room for
 * RN_MODEL_MOVES. Returns their number; 0: the state is final.
 */
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
