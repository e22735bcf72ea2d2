/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus.h - litmus tests of RDMA memory ordering: the parsed form and its outcomes.
 *
 *	RDMA G2-imm-into-gpu
 *	"WRITE WITH IMM into GPU memory; CPU raises a flag"
 *	{ d@B.gpu0=0, f@B.host=0; q: A.nic0->B.nic0; rule P6 P4 GV1 }
 *	A.cpu         | B.cpu   | B.gpu0   ;
 *	imm q d <- #1 | pollr q | wait f=1 ;
 *	              | st f 1  | ld r0 d  ;
 *	[gpu=owner] forbidden (B.gpu0:r0=0)
 *	[mode=ibta] forbidden (B.gpu0:r0=0)
 *
 * The words in brackets before a verdict are knobs (rocin/pcie.h) that change the mode
 * `typical`. relaxed=x+y among them names locations that are registered with relaxed
 * ordering. rocin-litmus(5) describes the format.
 *
 * The structs of a test are plain data without pointers. No allocation, no I/O.
 */
#ifndef RN_LITMUS_H
#define RN_LITMUS_H

#include "rocin/pcie.h"
#include "rocin/work_request.h"
#include "sim/pcie/model/tlp.h"

enum {
	RN_LITMUS_NODES = 6,
	RN_LITMUS_LOCATIONS = 16,
	RN_LITMUS_QPS = 8,
	RN_LITMUS_CQS = 20, /* maximum number of CQs: two for each QP, and shared ones */
	/* maximum number of receive queues: one for each QP, and SRQs */
	RN_LITMUS_RQS = 12,
	RN_LITMUS_THREADS = 8,
	RN_LITMUS_INSTRS = 24,	/* maximum number of instructions of a thread */
	RN_LITMUS_OPS = 16,	/* maximum number of work requests of a test */
	RN_LITMUS_RECVS = 8,	/* maximum number of receives of a test */
	RN_LITMUS_ELEMENTS = 8, /* maximum number of elements (locations) of a message */
	RN_LITMUS_REGS = 16,
	RN_LITMUS_TERMS = 8,
	RN_LITMUS_VERDICTS = 48,
	RN_LITMUS_OBSERVED = 32,
	RN_LITMUS_NAME = 16,
	RN_LITMUS_TEXT = 64,
	/* Stored in a uint8_t member that usually holds an index: there is no such
	 * object.
	 */
	RN_LITMUS_NONE = 0xff,
};

/* A location: memory with a name that holds one number. */
struct rn_litmus_location {
	char name[RN_LITMUS_NAME];
	uint8_t node;
	/* Owner of the memory (enum rn_agent): RN_AGENT_CPU for host memory, a GPU or a
	 * NIC.
	 */
	uint8_t agent;
	bool relaxed; /* registered with IBV_ACCESS_RELAXED_ORDERING */
	/* Size in bytes, a multiple of 8. Each 8 bytes of the location hold the same
	 * number.
	 */
	uint32_t size;
	uint32_t align;
	int64_t init;
};

struct rn_litmus_qp {
	char name[RN_LITMUS_NAME];
	bool uc;
	/* @node: host of the requester. @nic: its NIC, as enum rn_agent. */
	uint8_t node, nic;
	uint8_t peer, peer_nic; /* host and NIC of the responder */
	uint8_t send_cq, recv_cq, recv_queue;
	/* How the program gives work requests to the NIC. @is_called: by verbs calls.
	 * @is_rung: the program writes WQEs itself and rings the doorbell (instructions
	 * bell and blue). A test does not use both ways on one QP.
	 */
	bool is_called, is_rung;
};

/* A CQ. Each QP has one for sends and one for receives, unless the test defines a CQ that
 * is shared: `cq c: q,p.r' is the CQ of the sends and receives of QP q, and of the
 * receives of QP p.
 */
struct rn_litmus_cq {
	char name[RN_LITMUS_NAME]; /* "q", "q.r" or "c" */
	uint8_t node;
	uint8_t nic;
};

/* A receive queue. Each QP has one, unless the test defines an SRQ: `srq s: q, p'. */
struct rn_litmus_rq {
	char name[RN_LITMUS_NAME]; /* "q" or "s" */
	uint8_t node;
	uint8_t nic;
	bool is_shared;
	/* The program posts the receives of this queue by doorbells (instruction recv).
	 * If false, each message finds a receive that was posted before the test.
	 */
	bool is_rung;
};

/* clang-format off */
/* Table of work requests: symbol in this file; word in litmus tests; form of the operands
 * after the word (form_*() in parse_instr.c); operation of verbs (RN_WR_*).
 */
#define RN_LITMUS_REQUESTS(X)                                \
	X(WRITE,  "write",  message, RDMA_WRITE)             \
	X(IMM,    "imm",    message, RDMA_WRITE_WITH_IMM)    \
	X(SEND,   "send",   send,    SEND)                   \
	X(READ,   "read",   read,    RDMA_READ)              \
	X(FAA,    "faa",    faa,     ATOMIC_FETCH_AND_ADD)   \
	X(CAS,    "cas",    cas,     ATOMIC_CMP_AND_SWP)     \
	X(FLUSH,  "flush",  flush,   FLUSH)                  \
	X(AWRITE, "awrite", word,    ATOMIC_WRITE)
/* clang-format on */

enum rn_litmus_op {
	RN_LITMUS_ST,
	RN_LITMUS_LD,
	RN_LITMUS_MFENCE,
	RN_LITMUS_WAIT,
	RN_LITMUS_MRD,
	RN_LITMUS_MWR,
#define X(symbol, word, form, request) RN_LITMUS_##symbol,
	RN_LITMUS_REQUESTS(X)
#undef X
	/* Doorbells for a WRITE whose WQE the program has written itself. The NIC reads
	 * the WQE from memory (BELL), or gets it with the doorbell (BLUE).
	 */
	RN_LITMUS_BELL,
	RN_LITMUS_BLUE,
	RN_LITMUS_POLL, /* waits until it has taken a completion from @cq */
	/* polls @cq once: sets @reg to 1 if a CQE was there, to 0 if not */
	RN_LITMUS_TRYP,
	RN_LITMUS_LAUNCH,
	RN_LITMUS_DMA,
	RN_LITMUS_DMACQE,
	RN_LITMUS_POLLC,
	RN_LITMUS_SFENCE,
	RN_LITMUS_RECV, /* rings the doorbell of a receive queue */
	RN_LITMUS_OP_COUNT,
};

/* Returns true if the request is an atomic, which reads a word and changes it in one
 * step.
 */
static inline bool rn_litmus_is_atomic(unsigned op)
{
	switch (op) {
#define X(symbol, word, form, request) \
	case RN_LITMUS_##symbol:       \
		return rn_wr_is_atomic(RN_WR_##request);
		RN_LITMUS_REQUESTS(X)
#undef X
	default:
		return false;
	}
}

static inline bool rn_litmus_is_work(enum rn_litmus_op op)
{
	return op >= RN_LITMUS_WRITE && op < RN_LITMUS_POLL;
}

/* Returns true if the program writes the WQE itself and rings a doorbell for it. Returns
 * false if it posts the request by a verbs call.
 */
static inline bool rn_litmus_is_rung(enum rn_litmus_op op)
{
	return op == RN_LITMUS_BELL || op == RN_LITMUS_BLUE;
}

static inline bool rn_litmus_is_doorbell(enum rn_litmus_op op)
{
	return rn_litmus_is_rung(op) || op == RN_LITMUS_RECV;
}

/* First value that stands for an address: RN_LITMUS_ADDRESS + i is the address of
 * location i. All numbers in a test are smaller.
 */
#define RN_LITMUS_ADDRESS INT64_C(1000000000000)

static inline bool rn_litmus_is_address(int64_t value)
{
	return value >= RN_LITMUS_ADDRESS &&
	       value < RN_LITMUS_ADDRESS + RN_LITMUS_LOCATIONS;
}

/* A number, an address or a register. */
struct rn_litmus_value {
	bool is_reg;
	uint8_t reg;
	int64_t number;
};

/* Source of the bytes of one element of a message: a value (inline data), or a location
 * from which the NIC reads them.
 */
struct rn_litmus_source {
	bool is_inline;
	uint8_t loc; /* location, if not inline */
	struct rn_litmus_value value;
};

/* One instruction. The fields that an instruction uses:
 *
 *	st, mwr, dma	loc, value		ld, mrd		reg, loc
 *	wait		loc, value		poll		cq
 *	tryp		reg, cq			launch		thread
 *	dmacqe, pollc	nothing (pollc waits for any DMA engine of its node)
 *	sfence		nothing
 *	write imm send	qp, count, dst[] (remote), src[] (local or inline); for a send
 *			into the buffer of a posted receive, count is 1 and dst[0] is NONE
 *	read		qp, count, dst[] (local), src[] (remote, never inline)
 *	faa		qp, dst[0] (local or NONE), loc (remote), value
 *	cas		like faa, with value (expected) and value2 (new)
 *	flush		qp, count, dst[] (remote)
 *	awrite		qp, dst[0] (remote), src[0]
 *	bell		qp, dst[0] (remote), loc (of the WQE)
 *	blue		qp, dst[0] (remote), value (the WQE)
 *	recv		rq, loc (of the WQE), receive
 */
struct rn_litmus_instr {
	uint8_t op; /* enum rn_litmus_op */
	bool fence, unsignaled;
	uint8_t reg, loc, qp, cq, thread;
	uint8_t count;
	uint8_t dst[RN_LITMUS_ELEMENTS];
	struct rn_litmus_source src[RN_LITMUS_ELEMENTS];
	struct rn_litmus_value value, value2;
	/* number of the work request in the test; NONE: it posts no work request */
	uint8_t work;
	uint8_t rq, receive; /* receive: number of the receive in the test */
	uint32_t line;
	char text[RN_LITMUS_TEXT]; /* text of the instruction, with single blanks */
};

struct rn_litmus_thread {
	char name[RN_LITMUS_NAME]; /* "B.gpu0" */
	uint8_t node;
	uint8_t agent;	  /* RN_AGENT_CPU, a GPU or an NVMe drive */
	bool is_launched; /* starts only when a CPU launches it */
	uint8_t count;
	struct rn_litmus_instr instr[RN_LITMUS_INSTRS];
};

/* What a condition can compare with a value. */
enum rn_litmus_what {
	RN_LITMUS_REGISTER, /* register of a thread that has finished */
	RN_LITMUS_MEMORY,   /* memory after all TLPs have been performed */
	RN_LITMUS_DONE,	    /* whether a thread has finished: 1 or 0 */
};

struct rn_litmus_observed {
	uint8_t what; /* enum rn_litmus_what */
	uint8_t thread, reg, loc;
	char name[RN_LITMUS_TEXT]; /* "B.gpu0:r0", "x", "A.cpu:done" */
};

/* A term of a condition: observed[@observed] == @value, or != if @is_not. */
struct rn_litmus_term {
	uint8_t observed;
	bool is_not;
	int64_t value;
};

enum rn_litmus_expect {
	/* Some final state satisfies the condition; also written `exists`. */
	RN_LITMUS_ALLOWED,
	RN_LITMUS_FORBIDDEN, /* no final state satisfies it; also written ~exists */
	RN_LITMUS_ALWAYS,    /* every final state satisfies it; written `forall` */
};

struct rn_litmus_verdict {
	uint8_t expect; /* enum rn_litmus_expect */
	uint8_t count;
	/* The condition is true if all terms are. */
	struct rn_litmus_term term[RN_LITMUS_TERMS];
	/* Knobs for which this verdict holds, if that is not the mode `typical'; text for
	 * rn_pcie_parse(). May be empty.
	 */
	char knobs[RN_LITMUS_TEXT];
	/* Bit mask of the locations that are registered with relaxed ordering for this
	 * verdict, including those that are for the whole test.
	 */
	uint32_t relaxed;
	uint32_t line;
	char text[2 * RN_LITMUS_TEXT]; /* text of the condition without ( ) */
};

struct rn_litmus_test {
	char name[RN_LITMUS_TEXT];
	char about[4 * RN_LITMUS_TEXT];
	/* Names of the ordering rules from which the verdicts follow, such as "P6 P4
	 * GV1". rocin-litmus(5) explains the rules.
	 */
	char rules[RN_LITMUS_TEXT];
	char opt[RN_LITMUS_TEXT]; /* knobs that apply to all verdicts of the test */
	uint32_t line;
	uint8_t nodes, locations, qps, cqs, rqs, threads, works, receives, verdicts,
		observeds;
	char node[RN_LITMUS_NODES][RN_LITMUS_NAME];
	struct rn_litmus_location location[RN_LITMUS_LOCATIONS];
	struct rn_litmus_qp qp[RN_LITMUS_QPS];
	struct rn_litmus_cq cq[RN_LITMUS_CQS];
	struct rn_litmus_rq rq[RN_LITMUS_RQS];
	struct rn_litmus_thread thread[RN_LITMUS_THREADS];
	struct rn_litmus_verdict verdict[RN_LITMUS_VERDICTS];
	struct rn_litmus_observed observed[RN_LITMUS_OBSERVED];
};

/* ---- Parsing (parse.c) ---- */

struct rn_litmus_parser {
	const char *text, *at, *end; /* the text of the file, which the caller owns */
	const char *word;	     /* beginning of the last word that was read */
	uint32_t line, word_line;
	/* After -EINVAL: the place of the error, and a text that says what was expected
	 * there.
	 */
	uint32_t error_line, error_column;
	char error[2 * RN_LITMUS_TEXT];
};

void rn_litmus_parser_init(struct rn_litmus_parser *p, const char *text, size_t len);

/**
 * rn_litmus_parse() - Parse the next test of a file
 *
 * Return: 1 if @test was filled in; 0 at the end of the file; -EINVAL on an error:
 *	   error_line and error_column are set, and the function must not be called again.
 */
int rn_litmus_parse(struct rn_litmus_parser *p, struct rn_litmus_test *test);

/* ---- Knobs of a verdict ---- */

/* What the runs of a test depend on, besides the test itself. */
struct rn_litmus_setup {
	struct rn_pcie_knobs knobs;
	uint32_t relaxed; /* all relaxed locations, a bit mask of indices */
};

/**
 * rn_litmus_setup() - Get the knobs for a run of a test
 * @words:	"gpu=none,relaxed=x+y", changes to the mode typical and to the knobs of
 *	the test
 *
 * Return: 0, or -EINVAL and an error text in @err.
 */
int rn_litmus_setup(const struct rn_litmus_test *t, const char *words,
		    struct rn_litmus_setup *setup, char *err, size_t err_len);

/* Gets the knobs for which a verdict is given, as rn_litmus_setup() does. */
int rn_litmus_verdict_setup(const struct rn_litmus_test *t,
			    const struct rn_litmus_verdict *v,
			    struct rn_litmus_setup *setup, char *err, size_t err_len);

bool rn_litmus_same_setup(const struct rn_litmus_setup *a,
			  const struct rn_litmus_setup *b);

/* Writes the knobs as text: "typical,gpu.ordering=none,relaxed=x+y". */
void rn_litmus_setup_text(const struct rn_litmus_test *t,
			  const struct rn_litmus_setup *setup, char *buf, size_t len);

/* ---- Outcomes ---- */

/* A final state: the values of all members of observed[] of the test. A bit of @absent is
 * set if a value does not exist because its thread has not finished.
 */
struct rn_litmus_outcome {
	uint32_t absent;
	int64_t value[RN_LITMUS_OBSERVED];
};

bool rn_litmus_same_outcome(const struct rn_litmus_test *t,
			    const struct rn_litmus_outcome *a,
			    const struct rn_litmus_outcome *b);

/* Returns true if the condition of @v holds in the final state @outcome. A comparison
 * with an absent value is false, even if the operator is !=.
 */
bool rn_litmus_holds(const struct rn_litmus_verdict *v,
		     const struct rn_litmus_outcome *outcome);

struct rn_text;
/* Appends a value: a number, or &x for the address of x. */
void rn_litmus_add_value(struct rn_text *text, const struct rn_litmus_test *t,
			 int64_t value);

/* Writes the values as text: "B.gpu0:r0=0; x=1;". */
void rn_litmus_outcome_text(const struct rn_litmus_test *t,
			    const struct rn_litmus_outcome *outcome, char *buf,
			    size_t len);

/* ---- Steps of a run ---- */

enum rn_litmus_step_kind {
	RN_STEP_INSTR,	  /* a thread executes an instruction */
	RN_STEP_STORE,	  /* a store leaves the store buffer of its CPU */
	RN_STEP_NIC,	  /* a NIC starts, executes or answers a work request */
	RN_STEP_ISSUE,	  /* a TLP is sent */
	RN_STEP_MOVE,	  /* a TLP moves from one queue to the next */
	RN_STEP_PERFORM,  /* a write becomes visible, or a read reads its bytes */
	RN_STEP_COMPLETE, /* the completion of a read has arrived */
};

/* One step of a run, for a trace. */
struct rn_litmus_step {
	uint8_t kind; /* enum rn_litmus_step_kind */
	uint8_t node;
	uint8_t agent; /* agent that makes the step; for a step of a TLP, its requester */
	/* instruction that caused the step; NONE: no instruction */
	uint8_t thread, instr;
	uint8_t loc; /* location that is read or written; NONE: no location */
	uint8_t tlp_kind, tlp_flags;
	uint16_t tlp; /* number of the TLP in this run, from 0; or RN_TLP_NONE */
	/* Queues that the TLP leaves and enters; RN_LIST_COUNT: it leaves or enters none.
	 */
	uint16_t from, to;
	/* Number of the first TLP that was overtaken in the queue @from; RN_TLP_NONE:
	 * none was.
	 */
	uint16_t passed;
	int64_t value;		       /* value that was read or written */
	const char *rule;	       /* rule that allowed or forced the step, or NULL */
	char text[2 * RN_LITMUS_TEXT]; /* such as "CQE q.r   up:nic0 -> host<nic0" */
};

#endif /* RN_LITMUS_H */
