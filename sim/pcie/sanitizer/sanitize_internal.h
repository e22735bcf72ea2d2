/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_internal.h - what the files sanitize*.c share. Everything under the host lock
 * unless it says otherwise.
 */
#ifndef RN_SANITIZE_INTERNAL_H
#define RN_SANITIZE_INTERNAL_H

#include "rocin/work_request.h"
#include "sanitize.h"
#include "sim/pcie/model/fabric.h"

enum {
	RN_SAN_RANGES = 4,	   /* local ranges of a request that are remembered */
	RN_SAN_COMPLETIONS = 1024, /* newest that were taken */
	RN_SAN_SLOTS = 2 * RN_HOST_TLPS,
	RN_SAN_HASHES = 8192, /* of pages; a power of two */
};

enum rn_san_side {
	RN_SAN_SEND, /* our requests, and what their responses bring */
	RN_SAN_RECV, /* messages of the peer */
	RN_SAN_SIDES
};

/* A completion that a program took. */
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
	uint32_t written; /* rn_san.written when it was posted */
	rn_ns when;	  /* posted */
	uint8_t opcode;	  /* enum rn_wr_opcode */
	uint8_t range_count;
	bool is_used, is_done, has_digest, has_fence;
	bool is_held; /* its pages cannot be stored to */
	struct rn_host_range range[RN_SAN_RANGES];
};

struct rn_san_qp {
	struct rn_san_qp *next;
	unsigned agent;
	uint32_t qpn;
	struct {
		bool is_valid;
		uint32_t msg;	     /* the newest that a completion covers */
		uint16_t completion; /* which */
	} done[RN_SAN_SIDES];

	/* Request @msg is wr[msg % room]. */
	struct rn_san_wr *wr;
	uint32_t room;	     /* a power of two, or 0 */
	bool has_posted;     /* then: */
	uint32_t oldest;     /* the first not completed */
	uint32_t past;	     /* one past the newest */
	uint32_t reads_open; /* READs and atomics among them */
};

/* State of a TLP by its slot: the completion that covers it, plus 1; 0: none. */
struct rn_san {
	struct rn_host *host;
	struct rn_sanitize_options options;
	uint16_t covered[RN_SAN_SLOTS];
	unsigned covered_count; /* writes on their way that are */
	struct rn_san_completion completions[RN_SAN_COMPLETIONS];
	uint16_t next_completion;
	uint32_t written; /* writes of devices that were performed */
};
extern struct rn_san rn_san;

/* Of enum rn_wr_opcode. */
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
/* A plain load of @agent at @addr: report it if there is cause. */
void rn_san_judge_load(unsigned agent, rn_iova addr);

/* Are bytes of [addr, addr + len) on their way that a completion covers? */
bool rn_san_is_covered(rn_iova addr, uint64_t len);

/* The pages of @agent's memory that such bytes go to, in any order, some perhaps more
 * than once. Return: how many, at most @room.
 */
unsigned rn_san_covered_pages(unsigned agent, uintptr_t *pages, unsigned room);

/* -------------------------------------------------------- sanitize_requests.c */
/* NULL: unknown, or with @make no memory. */
struct rn_san_qp *rn_san_qp(unsigned agent, uint32_t qpn, bool make);

/* The request, NULL: not remembered (any more). */
struct rn_san_wr *rn_san_wr_find(const struct rn_san_qp *q, uint32_t msg);

/* A request whose source holds @addr and that has not completed, with its QP. */
struct rn_san_wr *rn_san_wr_holding(uintptr_t addr, struct rn_san_qp **qp);

/* All requests up to @msg have completed. */
void rn_san_requests_done(struct rn_san_qp *q, uint32_t msg);

/* rn_host_hooks.drained */
void rn_san_forget(struct rn_host *h, unsigned agent, uint32_t qpn);

/* A CQE as it was sent, by where it will lie. */
struct rn_san_cqe {
	rn_iova slot;
	uint64_t wr_id;
	uint32_t qpn, msg;
	uint8_t agent, opcode, status;
};
void rn_san_cqe_sent(const struct rn_san_cqe *cqe);
const struct rn_san_cqe *rn_san_cqe_at(rn_iova slot);

/* A device wrote [addr, addr + len). */
void rn_san_note_write(rn_iova addr, uint64_t len);

/* ----------------------------------------------------------- sanitize_loads.c */
/* Begin to watch; not in a handler. */
void rn_san_loads_watch(void);

/* A write on its way became covered (1), or a covered one was performed (-1). */
void rn_san_pages_covered(const struct rn_tlp *tlp, int change);

/* Keep the program from storing to the whole pages of a source, or let it. */
void rn_san_source_hold(struct rn_san_wr *wr, bool hold);

/* Below RN_SAN_HASHES; for tests. */
unsigned rn_san_page_hash(uintptr_t at);

/* ---------------------------------------------------------- sanitize_report.c */
/* Not in a handler. */
void rn_san_report_init(void);

/* The stack of the caller, remembered; 0: no room. No lock needed but its own. */
uint32_t rn_san_stack(void);

/* @reader takes @len bytes at @addr; @tlp is in their way. @request: of a gather, or
 * NULL. @stack: of the read, or 0.
 */
struct rn_san_read {
	unsigned reader; /* agent */
	rn_iova addr;
	uint64_t len;
	const struct rn_tlp *tlp;
	uint32_t qpn; /* of a NIC's read */
	const struct rn_san_wr *request;
	uint32_t stack;
};
void rn_san_report_read(const struct rn_san_read *r);

/* @store: stack of the store, or 0. */
void rn_san_report_source(const struct rn_san_qp *q, const struct rn_san_wr *wr,
			  uint32_t store);

/* @is_local: the local ranges overlap, else the remote ones. */
void rn_san_report_fence(const struct rn_san_qp *q, const struct rn_san_wr *first,
			 const struct rn_san_wr *second, bool is_local);

/* What a finding is called, which rule would have helped, what helps; for tests, too. */
enum rn_san_kind {
	RN_SAN_STALE,
	RN_SAN_UNORDERED,
	RN_SAN_SOURCE,
	RN_SAN_FENCE,
	RN_SAN_KIND_COUNT
};

/* One line; never NULL. */
const char *rn_san_kind_text(enum rn_san_kind kind);

/* "RDMA WRITE"; "receive of a SEND". Never NULL. */
const char *rn_san_wr_name(unsigned opcode); /* enum rn_wr_opcode */
const char *rn_san_wc_name(unsigned opcode); /* enum rn_wc_opcode */

struct rn_san_words {
	const char *rule, *remedy; /* continued lines are indented by 14 */
};

/* @reader takes bytes that @tlp would have written. */
struct rn_san_words rn_san_words_of(const struct rn_pcie_knobs *k, unsigned reader,
				    const struct rn_tlp *tlp, bool is_covered);

#endif /* RN_SANITIZE_INTERNAL_H */
