/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_internal.h - declarations shared by the files sanitize*.c. All functions run
 * under the host lock unless a comment says otherwise.
 */
#ifndef RN_SANITIZE_INTERNAL_H
#define RN_SANITIZE_INTERNAL_H

#include "rocin/opcode.h"
#include "sanitize.h"
#include "sim/pcie/model/fabric.h"

enum {
	/* Number of local ranges (SGEs) of a request that are kept. */
	RN_SAN_RANGES = 4,
	/* Number of completions that are kept, namely those that were taken last. */
	RN_SAN_COMPLETIONS = 1024,
	RN_SAN_SLOTS = 2 * RN_HOST_TLPS, /* more than payload slots, see rn_tlp.data */
	RN_SAN_CANDIDATES = 512, /* loads that may turn out to be those of a loop */
	RN_SAN_HASHES = 8192,	 /* number of hash buckets for pages; a power of two */
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

struct rn_san_early;

/* A work request of a send queue. */
struct rn_san_wr {
	uint64_t wr_id;
	uint64_t digest;
	uint64_t remote_addr, len;
	uint32_t rkey, msg;
	uint32_t stack;
	rn_ns when;	/* time of the post in ns */
	uint8_t opcode; /* enum rn_wr_opcode */
	uint8_t range_count;
	bool is_used, is_done, has_fence;
	/* The digest of the source buffer is known, and no device has written to the
	 * buffer since it was computed.
	 */
	bool has_digest;
	/* the source buffer is counted for its pages, see rn_san_note_write() */
	bool is_counted;
	/* The request is a READ, FLUSH or atomic, and a request without a fence was
	 * posted behind it. The completion of that later request does not show that this
	 * request has been executed.
	 */
	bool is_overtaken;
	/* For an atomic: a request that waits for it was posted later, so requests behind
	 * that one do not overtake the atomic.
	 */
	bool is_waited_for;
	bool is_held; /* the program cannot write to the pages of the source buffer now */
	struct rn_san_early *early; /* see sanitize_early.c; NULL if there is none */
	struct rn_host_range range[RN_SAN_RANGES];
};

struct rn_san_qp {
	struct rn_san_qp *next;
	unsigned agent;
	uint32_t qpn;
	struct {
		bool is_valid;
		/* number of the newest message that is covered by a completion which the
		 * program has taken
		 */
		uint32_t msg;
	} done[RN_SAN_SIDES];

	/* Ring buffer of requests: request @msg is at wr[msg % room]. */
	struct rn_san_wr *wr;
	uint32_t room;	     /* length of the ring buffer: a power of two, or 0 */
	bool has_posted;     /* true: the following fields are valid */
	uint32_t oldest;     /* number of the oldest request that has not completed */
	uint32_t past;	     /* number of the newest request plus 1 */
	uint32_t reads_open; /* number of READs and atomics that have not completed */
};

struct rn_san {
	struct rn_host *host;
	struct rn_sanitize_options options;
	struct rn_san_completion completions[RN_SAN_COMPLETIONS];
	uint16_t next_completion;
	uint32_t fetches; /* number of READs and atomics that have not completed */
	/* Number of reads performed by NICs that serve READs of the process itself. */
	uint64_t reads;
	/* If the read in progress must get the bytes that were there before the withheld
	 * writes, as the read for a digest must: its range. Otherwise the length is 0.
	 */
	struct rn_host_range old_read;
};
extern struct rn_san rn_san;

/* Returns true if the device reads the data of such a request from the program's memory.
 * The program must not change these data until the peer has them.
 */
static inline bool rn_san_is_gather(enum rn_wr_opcode opcode)
{
	return (rn_wr_flags(opcode) & RN_OP_PAYLOAD) != 0;
}

static inline bool rn_san_is_send(enum rn_wr_opcode opcode)
{
	return rn_san_is_gather(opcode) && !rn_wr_writes(opcode);
}

/* Returns true if the peer reads its memory for such a request and then answers it (READ,
 * FLUSH, atomic).
 */
static inline bool rn_san_is_answered(enum rn_wr_opcode opcode)
{
	return rn_wr_flags(opcode) & RN_OP_ANSWERED && !rn_san_is_gather(opcode);
}

/* Returns true if this is a write of a NIC or a drive, or a write of a GPU to another
 * GPU.
 */
static inline bool rn_san_is_by_device(const struct rn_tlp *tlp)
{
	return tlp->kind == RN_TLP_WRITE &&
	       (tlp->requester >= RN_AGENT_NIC ||
		(rn_agent_is_gpu(tlp->requester) && rn_agent_is_gpu(tlp->target)));
}

/* Returns true if this is the payload of a message, of a drive's transfer, or of a
 * kernel's store to another GPU.
 */
static inline bool rn_san_is_payload(const struct rn_tlp *tlp)
{
	return rn_san_is_by_device(tlp) &&
	       !(tlp->flags & (RN_TLP_CQE | RN_TLP_LOCK | RN_TLP_BELL));
}

/* @tlp is a TLP in the fabric of a class. Returns true if it is a write that is pending
 * for the agents that read its bytes. Such a TLP stands for a list of writes, see
 * rn_san_withheld_list().
 */
static inline bool rn_san_is_judged(const struct rn_tlp *tlp)
{
	return tlp->kind == RN_TLP_WRITE && tlp->tag != 0;
}

/* Is this the write by which a NIC ends an atomic under its lock? */
static inline bool rn_san_is_of_atomic(const struct rn_tlp *tlp)
{
	return tlp->kind == RN_TLP_WRITE && (tlp->flags & RN_TLP_LOCK) &&
	       rn_agent_is_nic(tlp->requester);
}

/* ----------------------------------------------------------------- sanitize.c */
/* A read by the program or by a device. */
struct rn_san_read {
	unsigned reader; /* agent that reads */
	rn_iova addr;
	uint64_t len;
	uint32_t qpn; /* number of the QP for which a NIC reads */
	/* Request for which a NIC reads its source buffer, or NULL. */
	const struct rn_san_wr *request;
	uint32_t stack; /* number of the stack of the load or of the post, or 0 */
	/* The classes in which a write to these bytes is pending, one bit each, and for
	 * each such class the newest of these writes.
	 */
	unsigned pending;
	const struct rn_tlp *by[RN_SAN_CLASS_COUNT];
};

/* Returns true if each access that may be late by the rules is delayed until an event of
 * the program forces it. This is so if the knob is hold=event, the sanitizer is not idle,
 * and no schedule of `rocin hunt' names the accesses that are late.
 */
bool rn_san_waits_for_events(const struct rn_host *h);

/* A plain load of @agent at @addr has faulted. Reports it if it is too early. @shown is
 * the address of the byte in the program. May move TLPs.
 */
void rn_san_judge_load(unsigned agent, rn_iova addr, uintptr_t shown);

/* Called when later accesses to the page at @page (an address as devices use it) will not
 * fault. So the pending writes to the page count as seen.
 */
void rn_san_give_up(rn_iova page);

/* Returns true if a write to the page is pending in any class, or if a load of it is a
 * candidate (sanitize_candidates.c).
 */
bool rn_san_is_page_pending(rn_iova page);

/* -------------------------------------------------------- sanitize_classes.c */
/* Place of a TLP in the fabric of a class; index RN_TLP_NONE: the TLP is in no fabric. */
struct rn_san_place {
	uint16_t index;
	uint64_t seq;
};

/* Makes the fabrics of all classes, or only that of the class `given` if nothing is to be
 * reported. That class gets the knobs @given. The caller calls this again when the knobs
 * have changed, while no TLP is pending. Returns false if there is no memory.
 */
bool rn_san_classes_make(const struct rn_pcie_knobs *given);

const struct rn_pcie_knobs *rn_san_class_knobs(unsigned class);

/* @tlp is a write of several granules, whose bytes lie in one page. Returns true if it
 * may be one TLP in the class `given`, whose knobs the user has set. The other classes
 * cut it by their own granules.
 */
bool rn_san_class_joins(const struct rn_tlp *tlp);

/* Issues a TLP of the hierarchy in all classes. @is_judged: the TLP is a write, and
 * pending for the agents that read its bytes. @cqe: out, the places of the TLP in the
 * classes if it is a CQE.
 */
void rn_san_class_issue(const struct rn_tlp *real, bool is_judged,
			struct rn_san_place cqe[RN_SAN_CLASS_COUNT]);

/* The program has taken the completion whose CQE is at place @cqe of each class. @reads:
 * number of reads that served READs of this process and had been performed when the CQE
 * was issued.
 */
void rn_san_class_cqe_taken(const struct rn_san_place cqe[RN_SAN_CLASS_COUNT],
			    uint64_t reads);

/* A NIC has performed the read @real, a TLP of the hierarchy. @reads: its number among
 * the reads that serve requests of this process; RN_SAN_LATER: the number is known only
 * when the request completes.
 */
#define RN_SAN_LATER UINT64_MAX
void rn_san_class_read_served(const struct rn_tlp *real, uint64_t reads);

/* Calls rn_san_class_read_served() with RN_SAN_LATER for all reads that serve @wr. */
void rn_san_class_fetch_overtaken(const struct rn_san_wr *wr);

/* Takes the write of the atomic @wr out of all queues: a request that does not wait for
 * the atomic was posted behind it, and the NIC of another machine may execute that
 * request first. So no later TLP pushes the write until rn_san_class_atomic_executed().
 */
void rn_san_class_atomic_overtaken(const struct rn_san_wr *wr);
void rn_san_class_atomic_executed(const struct rn_san_wr *wr);

/* Forces the reads that serve @wr, whose completion the program has taken. */
void rn_san_class_fetch_done(const struct rn_san_wr *wr);

/* Force TLPs in all classes. The first function: the read of a NIC, which is given as the
 * TLP of the hierarchy. The following ones, in this order: the completion entries of a
 * drive; the writes of devices to a range, which the program has seen; the writes of the
 * CPU and the GPUs to a range, which were seen; all TLPs to and from a range.
 */
void rn_san_class_read_done(const struct rn_tlp *real);
void rn_san_class_stored(unsigned agent);
void rn_san_class_seen(rn_iova addr, uint64_t len);
void rn_san_class_own_seen(rn_iova addr, uint64_t len);
void rn_san_class_emptied(rn_iova addr, uint64_t len);

/* Forces the data writes of a QP in those classes of machines whose NIC acknowledges data
 * only when they are in memory.
 */
void rn_san_class_placed(unsigned agent, uint32_t qpn);

/* Sends the read @flush in those classes whose GPUs do not make writes visible in order
 * to all agents in @scope, because a flush call on such a machine sends it.
 */
void rn_san_class_flush(const struct rn_tlp *flush, unsigned scope);

/* A write to declared memory, given as the TLP of the hierarchy, has been stored there.
 * In each class, forces the write of which it is a part, unless other parts of that write
 * are still on their way.
 */
void rn_san_class_landed(const struct rn_tlp *real);

/* Forces the TLPs of a QP of a NIC, or of all its QPs if @qpn is 0. */
void rn_san_class_drain(unsigned agent, uint32_t qpn);

/* The program has taken the completion with index @cover - 1. Notes that it covers those
 * pending writes that @is_covered accepts and that no completion covers yet.
 */
void rn_san_class_cover(bool (*is_covered)(const struct rn_tlp *tlp, const void *arg),
			const void *arg, uint32_t cover);

/* Returns false if certainly no write to the range is pending in any class. True means
 * that perhaps one is.
 */
bool rn_san_class_may_pend(rn_iova addr, uint64_t len);

/* Returns the classes in which a device's write to the range is pending, one bit each.
 * @by: out, for each class the newest such write, or NULL. Its tlp.data tells which
 * completion covers the write, as @cover of rn_san_class_cover() does.
 */
unsigned rn_san_class_pending(rn_iova addr, uint64_t len,
			      const struct rn_tlp *by[RN_SAN_CLASS_COUNT]);

/* Performs a write, given as the TLP of the hierarchy, in the class `given`. */
void rn_san_class_land(const struct rn_tlp *real);

/* Forces the oldest TLP of the class `given`. */
void rn_san_class_force_oldest(void);

/* ------------------------------------------------------- sanitize_withheld.c */
/* Both functions are about the write that is being issued. rn_san_withheld_list() begins
 * a list with it, and returns the number of the list. That number is the tag of the TLP
 * that stands for the list in the class `given`. rn_san_withheld_join() adds the write to
 * list @list instead; the caller makes that TLP longer.
 */
uint64_t rn_san_withheld_list(void);
void rn_san_withheld_join(uint64_t list);

/* Withholds the write that was issued last in the classes, unless the class `given` has
 * performed it already, or an access of the program to its bytes could go unseen. Returns
 * false if the write is not withheld.
 */
bool rn_san_withhold(const struct rn_tlp *tlp);

/* Returns true if a write to the range is withheld from the program. */
bool rn_san_is_withheld(rn_iova addr, uint64_t len);

/* Returns the oldest withheld write to the range, and sets *@page to the number of its
 * page. Returns NULL if there is none.
 */
const struct rn_tlp *rn_san_withheld_at(rn_iova addr, uint64_t len, uint64_t *page);

/* Both functions forget the withheld writes for which the TLP @by stands.
 * rn_san_withheld_store() first stores their bytes.
 */
void rn_san_withheld_store(const struct rn_tlp *by);
void rn_san_withheld_drop(const struct rn_tlp *by);

/* Stores the withheld bytes of the range in memory, because a device is about to access
 * them. For the program, these writes are still pending.
 */
void rn_san_withheld_land(rn_iova addr, uint64_t len);

/* Returns true while the bytes of a withheld write are being stored. */
bool rn_san_is_storing(void);

/* ------------------------------------------------------- sanitize_schedule.c */
/* Reads and opens the files of the options. Returns 0 or -errno. */
int rn_san_schedule_start(const struct rn_host *h, const struct rn_sanitize_options *o);

/* Returns true if there is a schedule (late=FILE) or a record (record=FILE). If it
 * returns false, the functions below do nothing, and all writes are late.
 */
bool rn_san_names_writes(void);

/* Notes a write that could be withheld. Returns true if it is to be late, false if it is
 * to be stored at once. @page: number that rn_san_page_number() has returned for it.
 */
bool rn_san_is_late(const struct rn_tlp *tlp, uint64_t page);

/* Notes that the newest event has performed a withheld write. */
void rn_san_late_ended(const struct rn_tlp *tlp, uint64_t page);

/* Notes that an agent reads bytes from before a write that is withheld. */
void rn_san_note_early(unsigned agent, const struct rn_tlp *tlp, uint64_t page);

/* Set the cause that is recorded for everything that happens from now on. The causes are,
 * in the order of the functions: an event; a read of a device; an event of an agent; an
 * event of message @msg of a QP.
 */
void rn_san_event(const char *what);
void rn_san_event_read(unsigned agent);
void rn_san_event_agent(const char *what, unsigned agent);
void rn_san_event_qp(const char *what, unsigned agent, uint32_t qpn, uint32_t msg);

/* Returns the number of a QP. The QPs of a NIC are numbered from 1 in the order of their
 * first use; 0: there are too many.
 */
unsigned rn_san_qp_order(unsigned agent, uint32_t qpn);

/* Counts a transfer of drive @agent that has ended: the drive has sent the completion
 * entry.
 */
void rn_san_transfer_ended(unsigned agent);

/* ----------------------------------------------------- sanitize_candidates.c */
/* Notes a load of bytes for which a write is pending. Such a load is a mistake, unless it
 * belongs to a loop that waits for the bytes. Returns true if it does belong to one: the
 * same instruction has read here before and found the same write pending.
 */
bool rn_san_candidate_note(const struct rn_san_read *r, uintptr_t shown);

/* The load of this thread's single step has been executed. Notes that it has not seen
 * writes that are performed from now on. Takes no lock, because writes that were
 * performed while the thread waited for the lock would count as seen.
 */
void rn_san_candidate_executed(void);

/* Called when the write with the number @seq leaves the fabric of a class. */
void rn_san_candidate_performed(unsigned class, uint64_t seq);

/* Called after the single step for which the page at @page was open. @page is an address
 * as the program uses it.
 */
void rn_san_candidate_ran(uintptr_t page);

/* Called for a load, with stack @stack, that finds nothing pending in a page with
 * candidates. If the load repeats a candidate, its write has been performed meanwhile, so
 * the candidate ends without a report.
 */
void rn_san_candidate_met(uint32_t stack, rn_iova addr);

/* Returns true if a load of the page was noted. */
bool rn_san_has_candidate(rn_iova page);

/* Reports all loads that were noted. */
void rn_san_candidates_confirm(void);

/* -------------------------------------------------------- sanitize_requests.c */
/* Finds a QP. If it is unknown and @make is true, adds it. Returns NULL if it is unknown
 * and @make is false, or if there is no memory.
 */
struct rn_san_qp *rn_san_qp(unsigned agent, uint32_t qpn, bool make);

/* Finds request @msg. Returns NULL if the request is not kept. */
struct rn_san_wr *rn_san_wr_find(const struct rn_san_qp *q, uint32_t msg);

/* Returns a request that has not completed and whose source buffer contains @addr, and
 * sets *@qp to its QP. Returns NULL if there is none.
 */
struct rn_san_wr *rn_san_wr_holding(uintptr_t addr, struct rn_san_qp **qp);

/* @tlp is a read of a NIC. Returns the READ, FLUSH or atomic of this process that the
 * read serves and that has not completed; NULL if there is none.
 */
const struct rn_san_wr *rn_san_fetch_of(const struct rn_tlp *tlp);

/* @tlp is a write of a NIC. Returns the atomic of this process whose last step this write
 * is and which has not completed; NULL if there is none.
 */
const struct rn_san_wr *rn_san_atomic_of(const struct rn_tlp *tlp);

/* Returns true if the NIC's read @tlp may serve the request. */
bool rn_san_may_serve(const struct rn_tlp *tlp, const struct rn_san_wr *wr);

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
	uint64_t reads; /* value of rn_san.reads when the CQE was issued */
	struct rn_san_place place[RN_SAN_CLASS_COUNT];
};
void rn_san_cqe_sent(const struct rn_san_cqe *cqe);
const struct rn_san_cqe *rn_san_cqe_at(rn_iova slot);

/* Notes that a device has written [addr, addr + len). If a source buffer changes there,
 * the device may have changed it, not the program.
 */
void rn_san_note_write(rn_iova addr, uint64_t len);

/* ----------------------------------------------------------- sanitize_early.c */
/* Copies the bytes of the source of @wr, which is being posted, to which the result of
 * @first will be written, as the program sees them now. @load copies such bytes; it
 * returns false if a part of them is not mapped.
 */
typedef bool rn_san_load_fn(rn_iova addr, void *bytes, uint32_t len);
void rn_san_early_keep(struct rn_san_wr *wr, const struct rn_san_wr *first,
		       rn_san_load_fn *load);

/* Copies for @wr may have been made when it was posted. Where the NIC's read @tlp has
 * read such bytes, replaces them by the copy. @bytes: the tlp->len bytes that the NIC has
 * read.
 */
void rn_san_early_put(const struct rn_san_wr *wr, const struct rn_tlp *tlp,
		      uint8_t *bytes);

/* Frees the copies that were made for the request. */
void rn_san_early_free(struct rn_san_wr *wr);

/* ----------------------------------------------------------- sanitize_loads.c */
/* Starts the checks of plain loads and stores. Not to be called in a signal handler. */
void rn_san_loads_watch(void);

/* Updates the counts of the pages of [addr, addr + len). @tlp is a write to these bytes.
 * @change: 1 if it has become pending in a class, -1 if it is not pending there any more.
 */
void rn_san_pages_pending(const struct rn_tlp *tlp, rn_iova addr, uint64_t len,
			  int change);

/* Returns the number of the page that contains @addr. Pages are counted from 0 in an
 * allocation of GPU memory, or in a registered region of host memory.
 */
uint64_t rn_san_page_number(unsigned target, rn_iova addr);

/* Returns true if the sanitizer sees each access of the program to the bytes that @tlp
 * writes.
 */
bool rn_san_is_watched(const struct rn_tlp *tlp);

/* Returns true if an instruction of the program that accesses the pages of @tlp is being
 * executed in a single step, in which the sanitizer does not see its accesses.
 */
bool rn_san_is_stepping(const struct rn_tlp *tlp);

/* Counts a reason to keep the page with byte @addr (an address as devices use it) closed;
 * @change: 1 adds a reason, -1 removes one.
 */
void rn_san_page_watch(rn_iova addr, int change);

/* @hold true: takes from the program the right to write to the whole pages of the
 * request's source buffer. @hold false: gives it back.
 */
void rn_san_source_hold(struct rn_san_wr *wr, bool hold);

/* Returns the hash bucket of a page, below RN_SAN_HASHES. Declared here for tests. */
unsigned rn_san_page_hash(uintptr_t at);

/* ---------------------------------------------------------- sanitize_report.c */
/* Prepares the reports. Not to be called in a signal handler. */
void rn_san_report_init(void);

/* Counts a read of bytes to which a write is pending. If it is the first one of its kind
 * and stack, writes a report and returns true.
 */
bool rn_san_report_read(const struct rn_san_read *r);

/* A finding that may be reported later. */
struct rn_san_report {
	unsigned kind; /* enum rn_san_kind */
	/* the classes of machines in which it is a mistake, one bit each */
	unsigned classes;
	uint32_t stack; /* number of the stack of the read, or 0 */
	uint64_t key;
	char *text; /* allocated; NULL if the finding is known already */
};
struct rn_san_report rn_san_prepare_read(const struct rn_san_read *r);
/* Returns true if the finding is new. */
bool rn_san_report(struct rn_san_report *report);
void rn_san_report_discard(struct rn_san_report *report);

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
/* Returns the name of the rule that a finding of this kind breaks, for `rocin explain`.
 */
const char *rn_san_kind_rule(enum rn_san_kind kind);

/* Return names such as "RDMA WRITE" and "receive of a SEND"; never NULL. */
const char *rn_san_wr_name(unsigned opcode); /* enum rn_wr_opcode */
const char *rn_san_wc_name(unsigned opcode); /* enum rn_wc_opcode */

struct rn_san_words {
	const char *rule, *remedy; /* lines after the first are indented by 14 columns */
};

/* Returns the rule that explains a finding, and the remedy. The finding: @reader has read
 * bytes that the write @tlp will change. @is_covered: the program had taken a completion
 * that covers the write.
 */
struct rn_san_words rn_san_words_of(const struct rn_pcie_knobs *k, unsigned reader,
				    const struct rn_tlp *tlp, bool is_covered);

#endif /* RN_SANITIZE_INTERNAL_H */
