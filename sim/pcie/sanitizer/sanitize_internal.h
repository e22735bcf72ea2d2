/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_internal.h - declarations shared by the files sanitize*.c. All functions run
 * under the host lock unless a comment says otherwise.
 */
#ifndef RN_SANITIZE_INTERNAL_H
#define RN_SANITIZE_INTERNAL_H

#include "rocin/work_request.h"
#include "sanitize.h"
#include "sim/pcie/model/fabric.h"

enum {
	/* Number of local ranges (SGEs) of a request that are kept. */
	RN_SAN_RANGES = 4,
	/* Number of completions that are kept, the most recently taken ones. */
	RN_SAN_COMPLETIONS = 1024,
	RN_SAN_SLOTS = 2 * RN_HOST_TLPS,
	RN_SAN_HASHES = 8192, /* number of hash buckets for pages; a power of two */
};

enum rn_san_side {
	RN_SAN_SEND, /* data that arrives in responses to requests of this QP */
	RN_SAN_RECV, /* data that arrives in requests of the peer */
	RN_SAN_SIDES
};

/* A completion that the program has taken. */
struct rn_san_completion {
	uint64_t wr_id;
	rn_ns when;
	uint32_t qpn, msg;
	uint8_t agent;
	uint8_t opcode; /* enum rn_wc_opcode */
	bool is_storage;
};

/* A work request of a send queue. */
struct rn_san_wr {
	uint64_t wr_id;
	uint64_t digest;
	uint64_t remote_addr, len;
	uint32_t rkey, msg;
	uint32_t stack;
	uint32_t written; /* value of rn_san.written when this request was posted */
	rn_ns when;	  /* time of the post in ns */
	uint8_t opcode;	  /* enum rn_wr_opcode */
	uint8_t range_count;
	bool is_used, is_done, has_digest, has_fence;
	bool is_held; /* the program cannot write to the pages of the source buffer now */
	struct rn_host_range range[RN_SAN_RANGES];
};

struct rn_san_qp {
	struct rn_san_qp *next;
	unsigned agent;
	uint32_t qpn;
	struct {
		bool is_valid;
		/* Number of the newest message that a taken completion covers. */
		uint32_t msg;
		uint16_t completion; /* index of this completion in rn_san.completions */
	} done[RN_SAN_SIDES];

	/* Ring buffer of requests: request @msg is at wr[msg % room]. */
	struct rn_san_wr *wr;
	uint32_t room;	     /* length of the ring buffer: a power of two, or 0 */
	bool has_posted;     /* true: the following fields are valid */
	uint32_t oldest;     /* number of the oldest request that has not completed */
	uint32_t past;	     /* number of the newest request plus 1 */
	uint32_t reads_open; /* number of READs and atomics that have not completed */
};

/* State of the sanitizer. covered[i] belongs to the TLP whose payload has slot i: the
 * index of the completion that covers this write, plus 1; 0: no completion covers it.
 */
struct rn_san {
	struct rn_host *host;
	struct rn_sanitize_options options;
	uint16_t covered[RN_SAN_SLOTS];
	unsigned covered_count; /* number of covered writes in flight */
	struct rn_san_completion completions[RN_SAN_COMPLETIONS];
	uint16_t next_completion;
	uint32_t written; /* number of writes by devices that have been performed */
};
extern struct rn_san rn_san;

/* Classes of work requests, by opcode (enum rn_wr_opcode). */
static inline bool rn_san_is_send(unsigned opcode)
{
	return opcode == RN_WR_SEND || opcode == RN_WR_SEND_WITH_IMM ||
	       opcode == RN_WR_SEND_WITH_INV;
}

static inline bool rn_san_is_write(unsigned opcode)
{
	return opcode == RN_WR_RDMA_WRITE || opcode == RN_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == RN_WR_ATOMIC_WRITE;
}

static inline bool rn_san_is_gather(unsigned opcode)
{
	return rn_san_is_send(opcode) || rn_san_is_write(opcode);
}

static inline bool rn_san_is_fetch(unsigned opcode)
{
	return opcode == RN_WR_RDMA_READ || opcode == RN_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == RN_WR_ATOMIC_FETCH_AND_ADD;
}

/* ----------------------------------------------------------------- sanitize.c */
/* Checks a plain load of @agent at @addr and reports it if a write to this byte is
 * in flight.
 */
void rn_san_judge_load(unsigned agent, rn_iova addr);

/* Returns true if a write to [addr, addr + len) is in flight although a completion
 * covers it.
 */
bool rn_san_is_covered(rn_iova addr, uint64_t len);

/* Lists the pages of @agent's memory to which covered writes are in flight, in any order
 * and perhaps with duplicates. Returns the number of entries written, at most @room.
 */
unsigned rn_san_covered_pages(unsigned agent, uintptr_t *pages, unsigned room);

/* -------------------------------------------------------- sanitize_requests.c */
/* Finds a QP, and adds it if it is unknown and @make is set. Returns NULL if it was not
 * found or there is no memory.
 */
struct rn_san_qp *rn_san_qp(unsigned agent, uint32_t qpn, bool make);

/* Finds request @msg. Returns NULL if the request is not kept. */
struct rn_san_wr *rn_san_wr_find(const struct rn_san_qp *q, uint32_t msg);

/* Finds a request that has not completed and whose source buffer contains @addr. Returns
 * the request and its QP, or NULL.
 */
struct rn_san_wr *rn_san_wr_holding(uintptr_t addr, struct rn_san_qp **qp);

/* Handles the completion of all requests up to @msg. */
void rn_san_requests_done(struct rn_san_qp *q, uint32_t msg);

/* Implements rn_host_hooks.drained: forgets the requests and completions of a QP, or of
 * all QPs of @agent if @qpn is 0.
 */
void rn_san_forget(struct rn_host *h, unsigned agent, uint32_t qpn);

/* A CQE that a NIC has sent, and the address of its slot in the CQ ring. */
struct rn_san_cqe {
	rn_iova slot;
	uint64_t wr_id;
	uint32_t qpn, msg;
	uint8_t agent, opcode, status;
};
void rn_san_cqe_sent(const struct rn_san_cqe *cqe);
const struct rn_san_cqe *rn_san_cqe_at(rn_iova slot);

/* Notes that a device has written [addr, addr + len). */
void rn_san_note_write(rn_iova addr, uint64_t len);

/* ----------------------------------------------------------- sanitize_loads.c */
/* Starts the checks of plain loads and stores. Not to be called in a signal handler. */
void rn_san_loads_watch(void);

/* Updates the pages of @tlp: @change is 1 if this write in flight became covered, -1 if
 * it was covered and has been performed.
 */
void rn_san_pages_covered(const struct rn_tlp *tlp, int change);

/* Takes from the program the right to write to the whole pages of a request's source
 * buffer, or gives the right back.
 */
void rn_san_source_hold(struct rn_san_wr *wr, bool hold);

/* Returns the hash bucket of a page, below RN_SAN_HASHES. Declared here for tests. */
unsigned rn_san_page_hash(uintptr_t at);

/* ---------------------------------------------------------- sanitize_report.c */
/* Prepares the reports. Not to be called in a signal handler. */
void rn_san_report_init(void);

/* Stores the stack of the caller. Returns the number of the stack, or 0 if there is no
 * room. Has a lock of its own and needs no other.
 */
uint32_t rn_san_stack(void);

/* A read that is reported: @reader reads @len bytes at @addr while the write @tlp to
 * these bytes is in flight. @request: the request for which a NIC reads its source
 * buffer, or NULL. @stack: number of the stack of the load, or 0.
 */
struct rn_san_read {
	unsigned reader; /* agent that reads */
	rn_iova addr;
	uint64_t len;
	const struct rn_tlp *tlp;
	uint32_t qpn; /* number of the QP for which a NIC reads */
	const struct rn_san_wr *request;
	uint32_t stack;
};
void rn_san_report_read(const struct rn_san_read *r);

/* Reports a changed source buffer. @store: number of the stack of the store, or 0. */
void rn_san_report_source(const struct rn_san_qp *q, const struct rn_san_wr *wr,
			  uint32_t store);

/* Reports a missing fence. @is_local: the local ranges of the two requests overlap;
 * false: their remote ranges do.
 */
void rn_san_report_fence(const struct rn_san_qp *q, const struct rn_san_wr *first,
			 const struct rn_san_wr *second, bool is_local);

/* Kinds of findings. This and the functions below are declared here for tests, too. */
enum rn_san_kind {
	RN_SAN_STALE,
	RN_SAN_UNORDERED,
	RN_SAN_SOURCE,
	RN_SAN_FENCE,
	RN_SAN_KIND_COUNT
};

/* Returns the kind as one line of text; never NULL. */
const char *rn_san_kind_text(enum rn_san_kind kind);

/* Return names such as "RDMA WRITE" and "receive of a SEND"; never NULL. */
const char *rn_san_wr_name(unsigned opcode); /* enum rn_wr_opcode */
const char *rn_san_wc_name(unsigned opcode); /* enum rn_wc_opcode */

struct rn_san_words {
	const char *rule, *remedy; /* lines after the first are indented by 14 columns */
};

/* Returns the rule that explains the finding, and the remedy. The finding is that @reader
 * reads bytes which the write @tlp will change.
 */
struct rn_san_words rn_san_words_of(const struct rn_pcie_knobs *k, unsigned reader,
				    const struct rn_tlp *tlp, bool is_covered);

#endif /* RN_SANITIZE_INTERNAL_H */
