/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_internal.h - declarations shared by the files sanitize*.c. The caller of each
 * function holds the host lock unless a comment says otherwise.
 */
#ifndef RN_SANITIZE_INTERNAL_H
#define RN_SANITIZE_INTERNAL_H

#include "rocin/opcode.h"
#include "sanitize.h"
#include "sim/pcie/model/fabric.h"

enum {
	/* Number of local ranges (SGEs) of a request that are kept; further ones are
	 * ignored.
	 */
	RN_SAN_RANGES = 4,
	/* Number of completions taken by the program that are kept; older ones are
	 * forgotten.
	 */
	RN_SAN_COMPLETIONS = 1024,
	/* No payload slot of the hierarchy (rn_tlp.data) has this number or a higher one.
	 */
	RN_SAN_SLOTS = 2 * RN_HOST_TLPS,
	/* maximum number of candidates (sanitize_candidates.c) */
	RN_SAN_CANDIDATES = 512,
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
	/* @digest is valid: no device has written to the source buffer since it was
	 * computed.
	 */
	bool has_digest;
	/* the source buffer is counted for its pages (sources_in[] in
	 * sanitize_requests.c)
	 */
	bool is_counted;
	/* The request is a READ, FLUSH or atomic, and a request that does not wait for it
	 * was posted after it. The completion of that later request does not show that
	 * this one has been executed.
	 */
	bool is_overtaken;
	/* The request is an atomic, and a request that waits for it was posted later. So
	 * no request after that one can overtake the atomic.
	 */
	bool is_waited_for;
	bool is_held; /* the pages of the source buffer are write-protected now */
	/* copies of bytes of the source (sanitize_early.c); NULL: there are none */
	struct rn_san_early *early;
	struct rn_host_range range[RN_SAN_RANGES];
};

struct rn_san_qp {
	struct rn_san_qp *next;
	unsigned agent;
	uint32_t qpn;
	struct {
		bool is_valid;
		/* Number of the newest message of this side that is covered by a
		 * completion which the program has taken.
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
	/* number of READs and atomics of all QPs that have not completed */
	uint32_t fetches;
	/* Number of reads that NICs have performed to serve READs, FLUSHes and atomics of
	 * this process.
	 */
	uint64_t reads;
	/* Range of the read that is in progress, if it is one that must get the bytes
	 * from before the withheld writes, such as a read for a digest. Its length is 0
	 * at other times.
	 */
	struct rn_host_range old_read;
};
extern struct rn_san rn_san;

/* Returns true if the device reads the payload of such a request from the program's
 * memory. The program must not change that memory until the request has completed.
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

/* Returns true if @tlp is a write of a NIC or a drive, or a write of a GPU to another
 * GPU.
 */
static inline bool rn_san_is_by_device(const struct rn_tlp *tlp)
{
	return tlp->kind == RN_TLP_WRITE &&
	       (tlp->requester >= RN_AGENT_NIC ||
		(rn_agent_is_gpu(tlp->requester) && rn_agent_is_gpu(tlp->target)));
}

/* Returns true if @tlp writes payload: of a message, of a drive's transfer, or of a
 * kernel's store to another GPU.
 */
static inline bool rn_san_is_payload(const struct rn_tlp *tlp)
{
	return rn_san_is_by_device(tlp) &&
	       !(tlp->flags & (RN_TLP_CQE | RN_TLP_LOCK | RN_TLP_BELL));
}

/* Returns true if @tlp, a TLP in the fabric of a class of machines, is a write for which
 * reads are judged: a read of its bytes comes too early while it is pending. Such a TLP
 * stands for a list of writes, see rn_san_withheld_list().
 */
static inline bool rn_san_is_judged(const struct rn_tlp *tlp)
{
	return tlp->kind == RN_TLP_WRITE && tlp->tag != 0;
}

/* Returns true if @tlp is the write with which a NIC ends an atomic. The NIC then
 * releases its lock of the word.
 */
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
	/* If a NIC reads the source buffer of a request: that request. Otherwise NULL. */
	const struct rn_san_wr *request;
	/* number of the call stack of the load, or of the post of @request; 0: not known
	 */
	uint32_t stack;
	/* @pending: the classes of machines in which a write to these bytes is pending,
	 * one bit each. @by: for each of these classes, the newest such write.
	 */
	unsigned pending;
	const struct rn_tlp *by[RN_SAN_CLASS_COUNT];
};

/* Returns true if everything that the ordering rules allow to be late is late until an
 * event of the program forces it. This is so with hold=event, if the sanitizer was
 * started for it and no schedule of `rocin hunt' (late=FILE) says which writes are late.
 */
bool rn_san_waits_for_events(const struct rn_host *h);

/* Called when a plain load of @agent at @addr has faulted. Reports the load if it comes
 * too early. @shown: the address by which the program names the byte. May move TLPs.
 */
void rn_san_judge_load(unsigned agent, rn_iova addr, uintptr_t shown);

/* Called when accesses to the page at @page (an address as devices use it) will not fault
 * any more. The sanitizer then cannot check them, so the pending writes to the page count
 * as seen by the program.
 */
void rn_san_give_up(rn_iova page);

/* Returns true if a write to the page is pending in any class, or if a load of it is a
 * candidate (sanitize_candidates.c).
 */
bool rn_san_is_page_pending(rn_iova page);

/* -------------------------------------------------------- sanitize_classes.c */
/* Place of a TLP in the fabric of a class of machines. @index RN_TLP_NONE: the TLP is not
 * in that fabric.
 */
struct rn_san_place {
	uint16_t index;
	uint64_t seq;
};

/* Makes a fabric for each class of machines. If nothing is to be reported, makes only
 * that of the class `given', the machine with the knobs @given of the user. Called again
 * when the knobs have changed; no TLP is pending then. Returns false if there is no
 * memory.
 */
bool rn_san_classes_make(const struct rn_pcie_knobs *given);

const struct rn_pcie_knobs *rn_san_class_knobs(unsigned class);

/* @tlp is a write of several granules in one page. Returns true if it may stay one TLP in
 * the class `given', the machine with the user's knobs. The other classes of machines cut
 * the write by their own granules.
 */
bool rn_san_class_joins(const struct rn_tlp *tlp);

/* Issues @real, a TLP of the hierarchy, in the fabrics of all classes of machines.
 * @is_judged: @real is a write for which reads are judged (rn_san_is_judged()). @cqe:
 * out, the places of the TLP in the fabrics, if it is a CQE.
 */
void rn_san_class_issue(const struct rn_tlp *real, bool is_judged,
			struct rn_san_place cqe[RN_SAN_CLASS_COUNT]);

/* Called when the program has taken a completion. @cqe: the places of its CQE in the
 * fabrics of the classes. @reads: value of rn_san.reads when the CQE was issued.
 */
void rn_san_class_cqe_taken(const struct rn_san_place cqe[RN_SAN_CLASS_COUNT],
			    uint64_t reads);

/* Called when a NIC has performed the read @real, a TLP of the hierarchy. @reads: the
 * number of this read among those that serve requests of this process (rn_san.reads).
 * RN_SAN_LATER: the program learns only from the completion of the request that the read
 * was performed.
 */
#define RN_SAN_LATER UINT64_MAX
void rn_san_class_read_served(const struct rn_tlp *real, uint64_t reads);

/* Changes the number of all reads that serve @wr to RN_SAN_LATER, see
 * rn_san_class_read_served().
 */
void rn_san_class_fetch_overtaken(const struct rn_san_wr *wr);

/* Called when a request that does not wait for the atomic @wr was posted after it. The
 * NIC of another machine may execute that request first. So takes the write of the atomic
 * out of all queues: no later TLP pushes it until rn_san_class_atomic_executed().
 */
void rn_san_class_atomic_overtaken(const struct rn_san_wr *wr);
void rn_san_class_atomic_executed(const struct rn_san_wr *wr);

/* Called when the program has taken the completion of @wr. Forces the reads that serve
 * @wr.
 */
void rn_san_class_fetch_done(const struct rn_san_wr *wr);

/* Force TLPs in the fabrics of all classes of machines. rn_san_class_read_done(): the
 * read of a NIC, given as a TLP of the hierarchy. The next functions: the CQEs of a
 * drive; writes of devices to a range, which the program has seen; writes of the CPU and
 * the GPUs to a range, which some agent has seen; all TLPs to and from a range.
 */
void rn_san_class_read_done(const struct rn_tlp *real);
void rn_san_class_stored(unsigned agent);
void rn_san_class_seen(rn_iova addr, uint64_t len);
void rn_san_class_own_seen(rn_iova addr, uint64_t len);
void rn_san_class_emptied(rn_iova addr, uint64_t len);

/* Forces the writes of data of a QP, in those classes of machines whose NICs acknowledge
 * data only when it is in memory (knob ack=placed).
 */
void rn_san_class_placed(unsigned agent, uint32_t qpn);

/* Called when the program flushes writes to a GPU. In some classes of machines, GPUs do
 * not make writes visible in order to all agents in @scope, so a flush needs a read.
 * Issues the read @flush in these classes.
 */
void rn_san_class_flush(const struct rn_tlp *flush, unsigned scope);

/* Called when a write to declared memory, given as a TLP of the hierarchy, has been
 * stored. In each class of machines, one TLP may stand for this write and others. Forces
 * that TLP unless one of the others is still in flight.
 */
void rn_san_class_landed(const struct rn_tlp *real);

/* In the fabrics of all classes of machines, forces the TLPs of QP @qpn of NIC @agent, or
 * of all QPs of the NIC if @qpn is 0.
 */
void rn_san_class_drain(unsigned agent, uint32_t qpn);

/* Called when the program has taken a completion. Marks those pending writes that
 * @is_covered accepts as covered by this completion, unless an earlier completion covers
 * them already. @cover: index of the completion plus 1.
 */
void rn_san_class_cover(bool (*is_covered)(const struct rn_tlp *tlp, const void *arg),
			const void *arg, uint32_t cover);

/* Returns false if no write to the range is pending in any class of machines. Returns
 * true if one may be pending: pages with the same hash share a counter.
 */
bool rn_san_class_may_pend(rn_iova addr, uint64_t len);

/* Returns the classes of machines in which a device's write to the range is pending, one
 * bit each. @by: out, for each class the newest such write, or NULL. Its tlp.data names
 * the completion that covers the write, as @cover of rn_san_class_cover() does.
 */
unsigned rn_san_class_pending(rn_iova addr, uint64_t len,
			      const struct rn_tlp *by[RN_SAN_CLASS_COUNT]);

/* Performs the write @real, a TLP of the hierarchy, in the fabric of the class `given'
 * (the machine with the user's knobs).
 */
void rn_san_class_land(const struct rn_tlp *real);

/* Forces the oldest TLP in the fabric of the class `given' (the machine with the user's
 * knobs).
 */
void rn_san_class_force_oldest(void);

/* ------------------------------------------------------- sanitize_withheld.c */
/* Called for a write of the hierarchy that is being issued. In the class `given' (the
 * machine with the user's knobs), one TLP may stand for several consecutive writes. These
 * form a list, whose number is the tag of that TLP. rn_san_withheld_list() begins a new
 * list with the write and returns its number. rn_san_withheld_join() adds the write to
 * list @list; the caller makes the TLP of this list longer.
 */
uint64_t rn_san_withheld_list(void);
void rn_san_withheld_join(uint64_t list);

/* Withholds the write that was just issued in the classes of machines: its bytes are
 * stored later, when the class `given' performs it. Returns false, and does not withhold
 * the write, if that class has performed it already, or if the sanitizer could miss an
 * access of the program to its bytes.
 */
bool rn_san_withhold(const struct rn_tlp *tlp);

/* Returns true if a write to the range is withheld from the program. */
bool rn_san_is_withheld(rn_iova addr, uint64_t len);

/* Returns the oldest withheld write to the range, and sets *@page to the number of its
 * page. Returns NULL if there is none.
 */
const struct rn_tlp *rn_san_withheld_at(rn_iova addr, uint64_t len, uint64_t *page);

/* Both functions end the list of withheld writes for which the TLP @by stands.
 * rn_san_withheld_store() stores the bytes of these writes first.
 */
void rn_san_withheld_store(const struct rn_tlp *by);
void rn_san_withheld_drop(const struct rn_tlp *by);

/* Called when a device is about to access the range. Stores the withheld bytes in memory,
 * but the writes stay pending for the program.
 */
void rn_san_withheld_land(rn_iova addr, uint64_t len);

/* Returns true while sanitize_withheld.c stores the bytes of a withheld write. */
bool rn_san_is_storing(void);

/* ------------------------------------------------------- sanitize_schedule.c */
/* Reads late=FILE and opens record=FILE of the options @o. Returns 0 or -errno. */
int rn_san_schedule_start(const struct rn_host *h, const struct rn_sanitize_options *o);

/* Returns true if the user has given late=FILE or record=FILE. If not, the functions
 * below do nothing, and every write that can be late is late, that is, withheld until an
 * event.
 */
bool rn_san_names_writes(void);

/* Called for a write that can be withheld. Records it. Returns true if it is to be late,
 * that is, withheld until an event. Returns false if it is to be stored at once. @page:
 * number of the page, from rn_san_page_number().
 */
bool rn_san_is_late(const struct rn_tlp *tlp, uint64_t page);

/* Called when a withheld write has been performed. Records that. The cause that is
 * recorded is the event that was set last (rn_san_event()).
 */
void rn_san_late_ended(const struct rn_tlp *tlp, uint64_t page);

/* Records that an agent has read bytes to which the withheld write @tlp is pending. */
void rn_san_note_early(unsigned agent, const struct rn_tlp *tlp, uint64_t page);

/* Set the event that is recorded as the cause of what happens from now on.
 * rn_san_event(): an event that the text names. The other functions: a read by a device;
 * an event of an agent; an event of message @msg of a QP.
 */
void rn_san_event(const char *what);
void rn_san_event_read(unsigned agent);
void rn_san_event_agent(const char *what, unsigned agent);
void rn_san_event_qp(const char *what, unsigned agent, uint32_t qpn, uint32_t msg);

/* Returns the number by which records name a QP. The QPs of a NIC are numbered from 1 in
 * the order of their first use. Returns 0 if there are too many QPs.
 */
unsigned rn_san_qp_order(unsigned agent, uint32_t qpn);

/* Called when drive @agent has ended a transfer, that is, when it sends the CQE. Counts
 * the transfers of the drive.
 */
void rn_san_transfer_ended(unsigned agent);

/* ----------------------------------------------------- sanitize_candidates.c */
/* Notes a load of bytes to which a write is pending. Such a load is a mistake, unless it
 * belongs to a loop that waits for the bytes. Returns true if the load is known to belong
 * to a loop, because the same instruction has loaded this byte before while the same
 * write was pending.
 */
bool rn_san_candidate_note(const struct rn_san_read *r, uintptr_t shown);

/* Called when the instruction of this thread's single step has been executed. Writes that
 * are performed from now on are too late for its load. Takes no lock: writes that are
 * performed while this thread waits for a lock would count as seen by the load.
 */
void rn_san_candidate_executed(void);

/* Called when the write with the number @seq leaves the fabric of a class of machines. */
void rn_san_candidate_performed(unsigned class, uint64_t seq);

/* Called after a single step for which the page at @page was open. @page is an address as
 * the program uses it.
 */
void rn_san_candidate_ran(uintptr_t page);

/* Called for a load in a page with candidates, if no write to the loaded bytes is
 * pending. @stack: number of the stack of the load. If the load repeats that of a
 * candidate, the pending write was performed between the two loads, so the candidate is
 * dropped without a report.
 */
void rn_san_candidate_met(uint32_t stack, rn_iova addr);

/* Returns true if a candidate is a load of this page. */
bool rn_san_has_candidate(rn_iova page);

/* Reports the loads of all candidates, at the end of the program. */
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

/* Returns the READ, FLUSH or atomic of this process that the NIC's read @tlp serves, if
 * it has not completed; otherwise NULL.
 */
const struct rn_san_wr *rn_san_fetch_of(const struct rn_tlp *tlp);

/* Returns the atomic of this process that the NIC's write @tlp ends, if the atomic has
 * not completed; otherwise NULL.
 */
const struct rn_san_wr *rn_san_atomic_of(const struct rn_tlp *tlp);

/* Returns true if the NIC's read @tlp may be one that serves the request @wr. */
bool rn_san_may_serve(const struct rn_tlp *tlp, const struct rn_san_wr *wr);

/* Called when all requests up to @msg are known to have completed. */
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

/* Called when a device has written [addr, addr + len). If a source buffer is later found
 * to have changed there, the device may be the reason, so this is not reported as a
 * mistake of the program.
 */
void rn_san_note_write(rn_iova addr, uint64_t len);

/* ----------------------------------------------------------- sanitize_early.c */
/* Called while @wr is being posted. Copies those bytes of its source that the result of
 * @first will overwrite, as the program sees them now. @load is the function that reads
 * them. It returns false if a part of them is not mapped.
 */
typedef bool rn_san_load_fn(rn_iova addr, void *bytes, uint32_t len);
void rn_san_early_keep(struct rn_san_wr *wr, const struct rn_san_wr *first,
		       rn_san_load_fn *load);

/* If the NIC's read @tlp has read bytes of the source of @wr that rn_san_early_keep() has
 * copied, replaces them by the copy. @bytes: the tlp->len bytes that the NIC has read.
 */
void rn_san_early_put(const struct rn_san_wr *wr, const struct rn_tlp *tlp,
		      uint8_t *bytes);

/* Frees the copies that were made for the request. */
void rn_san_early_free(struct rn_san_wr *wr);

/* ----------------------------------------------------------- sanitize_loads.c */
/* Starts the checks of plain loads and stores. Not to be called in a signal handler. */
void rn_san_loads_watch(void);

/* Called when @tlp, which writes the bytes [addr, addr + len), has become pending in a
 * class of machines (@change 1), or is no longer pending there (@change -1). Updates the
 * numbers of pending writes of the pages of these bytes.
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

/* Returns true if the program is executing an instruction in a single step now, for which
 * a page that @tlp writes was opened. The sanitizer does not see what else this
 * instruction accesses in that page.
 */
bool rn_san_is_stepping(const struct rn_tlp *tlp);

/* Counts a reason to keep the page with byte @addr (an address as devices use it) closed;
 * @change: 1 adds a reason, -1 removes one.
 */
void rn_san_page_watch(rn_iova addr, int change);

/* @hold true: write-protects the pages that lie in the request's source buffer entirely,
 * so that a store of the program faults. @hold false: ends the protection.
 */
void rn_san_source_hold(struct rn_san_wr *wr, bool hold);

/* Returns the hash bucket of a page, below RN_SAN_HASHES. Declared here for tests. */
unsigned rn_san_page_hash(uintptr_t at);

/* ---------------------------------------------------------- sanitize_report.c */
/* Prepares the reports. Not to be called in a signal handler. */
void rn_san_report_init(void);

/* Called for a read of bytes to which a write is pending. Counts the read. If it is the
 * first one of its kind with this stack, writes a report and returns true.
 */
bool rn_san_report_read(const struct rn_san_read *r);

/* A finding that may be reported later. */
struct rn_san_report {
	unsigned kind; /* enum rn_san_kind */
	/* the classes of machines in which the access is a mistake, one bit each */
	unsigned classes;
	uint32_t stack; /* number of the call stack of the read, or 0 */
	uint64_t key;
	char *text; /* allocated; NULL if the finding is known already */
};
struct rn_san_report rn_san_prepare_read(const struct rn_san_read *r);
/* Counts the finding and, if it is new, reports it. Returns true if it is new. */
bool rn_san_report(struct rn_san_report *report);
void rn_san_report_discard(struct rn_san_report *report);

/* Reports that the program has changed a source buffer too early. @store: number of the
 * call stack of the store, or 0.
 */
void rn_san_report_source(const struct rn_san_qp *q, const struct rn_san_wr *wr,
			  uint32_t store);

/* Reports that a fence is missing. @is_local: the local buffers of the two requests
 * overlap. Otherwise their remote ranges overlap.
 */
void rn_san_report_fence(const struct rn_san_qp *q, const struct rn_san_wr *first,
			 const struct rn_san_wr *second, bool is_local);

/* Kinds of findings. This enum and the functions below are in this header so that tests
 * can use them.
 */
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

/* Return the name of an opcode for a report, such as "RDMA WRITE" or "receive of a SEND";
 * never NULL.
 */
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
