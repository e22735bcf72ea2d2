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
 * A NIC as requester: it starts work requests in posting order, a request with a fence
 * when all READs, atomics, FLUSHes and ATOMIC WRITEs before it have finished. It gathers
 * the bytes of a request with one read per granule, and sends the packets in order; each
 * packet carries one granule. If the program has announced a request by a doorbell, the
 * NIC fetches the request when it starts: reads the WQE, and follows addresses (of an SGE
 * list, of the payload) until it finds numbers.
 *
 * A NIC as responder: it executes packets in order (with nic.ooo, packets of WRITEs in
 * any order). If the program posts the receives (recv), the NIC fetches their WQEs in
 * order, some time after the doorbell; a SEND or WRITE with immediate waits for the next
 * receive and takes it. For each READ, atomic, FLUSH and ATOMIC WRITE the responder has a
 * context, that is a unit that makes its accesses to memory. Contexts start in order, but
 * WRITEs that come later may be executed before a context starts. Answers leave in order.
 *
 * Threads: there are no locks; the caller must serialise the calls.
 */
#ifndef RN_LITMUS_MODEL_H
#define RN_LITMUS_MODEL_H

#include "litmus.h"
#include "sim/pcie/model/fabric.h"

enum {
	RN_MODEL_CELLS = 64,
	RN_MODEL_PIECES = 16, /* maximum number of granules of one message */
	/* maximum number of fetches for a work request: WQE, SGE list and payload */
	RN_MODEL_FETCHES = 3,
	RN_MODEL_BUFFER = 8, /* maximum number of stores in the store buffer of a CPU */
	RN_MODEL_TLPS = 96,  /* maximum number of TLPs in flight in one host */
	RN_MODEL_MOVES = 128,
};

/* Value of a torn read: some of the bytes that it got belong to one number and some to
 * another, because the bytes of the location become visible granule by granule.
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

/* The part of a message that lies in one granule. RN_LITMUS_NONE: the message has no cell
 * at this end.
 */
struct rn_model_piece {
	uint8_t remote, local; /* cells at the responder and at the requester */
};

struct rn_model_work {
	uint8_t op; /* enum rn_litmus_op; for the doorbells bell and blue it is WRITE */
	uint8_t thread, instr, qp;
	bool is_rung; /* the NIC must fetch the WQE to know what to send */
	bool fence, unsignaled;
	/* for an atomic: the test has no other atomic of this NIC on the same bytes */
	bool is_alone;
	/* the message takes a receive that the program posts (recv) */
	bool takes;
	uint8_t pieces;
	struct rn_model_piece piece[RN_MODEL_PIECES];
};

struct rn_model_doorbell {
	/* @thread, @instr, @rq: place and operand of the instruction recv. @loc: location
	 * of the WQE.
	 */
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
	/* For each receive queue. @is_fed_by_one: only one thread posts its receives.
	 * @is_taken_by_one: all messages that take its receives arrive at one QP.
	 */
	bool is_fed_by_one[RN_LITMUS_RQS], is_taken_by_one[RN_LITMUS_RQS];
	/* For each QP: the NIC of the responder has no other QP and fetches no receives,
	 * and no READs or atomics arrive at this QP.
	 */
	bool is_only_end[RN_LITMUS_QPS];
	/* For each QP: the reads by which the requester fetches a WQE and its data only
	 * enter a queue when they are issued (see rn_is_silent()).
	 */
	bool is_fetch_silent[RN_LITMUS_QPS];
	bool is_polled_by_one[RN_LITMUS_CQS];
	bool is_tried[RN_LITMUS_CQS]; /* a thread polls this CQ without waiting */
	/* Number of times that instructions of the test write to the location. */
	uint8_t writes[RN_LITMUS_LOCATIONS];
	uint32_t tlps; /* number of places for TLPs in each fabric */
	size_t fabric_at[RN_LITMUS_NODES], size;
};

/* A store, post or launch in the store buffer of a CPU. */
struct rn_model_store {
	/* Number of the instruction. It has 64 bits so that the struct has no padding,
	 * whose bytes would enter the digest of a state.
	 */
	int64_t instr;
	int64_t value;
};

struct rn_model_thread {
	uint8_t pc, stores;
	/* @is_waiting: a load has been issued, and its value has not arrived. */
	bool is_started, is_waiting;
	struct rn_model_store store[RN_MODEL_BUFFER];
	int64_t loaded;
	int64_t reg[RN_LITMUS_REGS];
};

struct rn_model_request {
	bool is_started; /* the requester has started the work request */
	bool is_serving; /* the responder's context for the request has started */
	bool is_done;	 /* the requester has the answer */
	/* The NIC performs the atomic itself, and has issued its write. */
	bool is_modified;
	uint8_t position; /* index in the send queue */
	/* number of pieces of a READ that have arrived at the requester */
	uint8_t answered;
	/* Fetches for a work request that a doorbell has announced. @fetch_loc: location
	 * that is being read. @fetches: number of fetches that have begun. @fetched: bit
	 * mask of the cells of the location whose values have arrived. Until the payload
	 * is known, these values are in @value.
	 */
	uint8_t fetch_loc, fetches;
	uint16_t fetched;
	/* Bit masks of the pieces of the request that the requester has read, that the
	 * responder has executed, and that the responder has returned.
	 */
	uint16_t gathered, executed, returned;
	/* number of the receive that the message has taken, from 1; 0: none */
	uint8_t taken;
	int64_t value[RN_MODEL_PIECES];
};

struct rn_model_queue {
	bool is_broken; /* a TLP could not be routed, so the QP has stopped */
	uint8_t posted, started, answered;
	uint8_t work[RN_LITMUS_OPS];
};

struct rn_model_recv_queue {
	/* Number of receives that doorbells have announced, number of those whose fetch
	 * has begun, and number of those that messages have taken.
	 */
	uint8_t posted, begun, taken;
	uint8_t receive[RN_LITMUS_RECVS];
};

struct rn_model_receive {
	bool is_fetched;
	/* location of the buffer, once the WQE was read; NONE: the WQE is invalid */
	uint8_t buffer;
	uint16_t fetched; /* bit mask of the cells of the WQE whose values have arrived */
	/* values of these cells; used until all have arrived */
	int64_t value[RN_MODEL_PIECES];
};

struct rn_model_ring {
	uint8_t issued, consumed;
	uint32_t arrived; /* bit mask of the slots of the ring whose CQE has arrived */
};

/* The state. Of each array only the elements that the test uses ever change; their number
 * (`threads', `works' ...) is in the plan. So a digest can leave out the others.
 */
struct rn_model {
	/* a fabric has had no free place for a TLP: the test is too large */
	bool is_full;
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
	/* A packet is executed at the responder; @who: work request, @what: piece. */
	RN_MOVE_EXECUTE,
	RN_MOVE_SERVE,	/* a context starts at the responder; who: work request */
	RN_MOVE_MODIFY, /* the NIC's atomic issues its write; who: work request */
	RN_MOVE_ANSWER, /* the requester processes the next answer; who: QP */
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

/* A function that is called for each step, so that a trace can be written. @step has no
 * text yet. If it is a step of a NIC, @step->rule is a verb such as "starts", which
 * becomes part of the text.
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
	/* loads of `wait' may get another value than the awaited one; they are repeated
	 */
	bool may_spin;
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
