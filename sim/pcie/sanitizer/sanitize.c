/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize.c - passes the events of the hierarchy to the model of each class of machines
 * (sanitize_classes.c), and finds the reads that come too early.
 *
 * On a machine of some class, a read comes too early if a device's write to the same
 * bytes is pending in the model of that class. A write of data belongs to a NIC, QP, side
 * (data of responses, or of requests received) and message number. It is covered once the
 * program has taken a completion of the same queue with the same or a later number,
 * because a completion covers all earlier messages of its queue (IBTA Vol 1, 9.7.6 and
 * 10.8). A write can be covered and still pending: the CQE came by a queue that this
 * write does not use.
 */
#include "sanitize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/cqe.h"
#include "sanitize_internal.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "sim/pcie/host/host_internal.h"
#include "sim/pcie/page/page.h"
#include "transport/io/host/log.h"
#include "transport/io/memory/mem_guard.h"
#include "transport/io/report/stacks.h"

/* Bit of tlp.msg that marks the data of responses to this process's requests, see
 * tlp_header() in host_access.c.
 */
#define RESPONSE (UINT32_C(1) << 31)

enum {
	/* number of bits of a request's number in tlp.msg, for the send queue */
	SEND_BITS = 31,
	/* number of bits of an MSN, by which received messages are numbered */
	RECV_BITS = 24,
};

struct rn_san rn_san;
struct rn_sanitize_counts rn_sanitize_counts;
static _Atomic bool is_on;

bool rn_sanitize_is_on(void)
{
	return atomic_load_explicit(&is_on, memory_order_relaxed);
}

/* --------------------------- completions, and the messages that they cover */
static bool is_data_of(const struct rn_tlp *tlp, enum rn_san_side side)
{
	return tlp->kind == RN_TLP_WRITE && (tlp->flags & RN_TLP_DATA) &&
	       ((tlp->msg & RESPONSE) != 0) == (side == RN_SAN_SEND);
}

/* Returns true if message @msg is @limit or an earlier one. The numbers wrap around. */
static bool is_up_to(uint32_t msg, uint32_t limit, enum rn_san_side side)
{
	unsigned unused = 32 - (side == RN_SAN_SEND ? SEND_BITS : RECV_BITS);

	return (int32_t)((limit - msg) << unused) >= 0;
}

static uint16_t remember_completion(const struct rn_san_completion *c)
{
	uint16_t n = rn_san.next_completion;

	rn_san.completions[n] = *c;
	rn_san.next_completion = (uint16_t)((n + 1) % RN_SAN_COMPLETIONS);
	return n;
}

struct covered {
	const struct rn_san_qp *q;
	enum rn_san_side side;
	uint32_t msg;
};

static bool is_covered_by(const struct rn_tlp *tlp, const void *arg)
{
	const struct covered *c = arg;

	return tlp->requester == c->q->agent && tlp->stream == c->q->qpn &&
	       is_data_of(tlp, c->side) &&
	       is_up_to(tlp->msg & ~RESPONSE, c->msg, c->side);
}

/* Called when the program has taken completion number @n. Marks the messages of @side up
 * to @msg as covered by it.
 */
static void cover_up_to(struct rn_san_qp *q, enum rn_san_side side, uint32_t msg,
			uint16_t n)
{
	const struct covered c = { .q = q, .side = side, .msg = msg };

	q->done[side].is_valid = true;
	q->done[side].msg = msg;
	rn_san_class_cover(is_covered_by, &c, n + 1U);
}

void rn_sanitize_polled(struct rn_host_nic *nic, const struct rn_host_cqe *cqe)
{
	enum rn_san_side side = cqe->recv ? RN_SAN_RECV : RN_SAN_SEND;
	struct rn_host *h = nic->host;
	const struct rn_san_cqe *sent;
	struct rn_san_qp *q;

	/* The program will now read the data that the completion covers. If writes of
	 * this data are withheld, the pages are closed, and the read must fault and reach
	 * the library's SIGSEGV handler. This puts that handler in front again, in case
	 * the program has set one by a bare system call.
	 */
	(void)rn_guard_install();
	rn_host_lock(h);
	sent = rn_san_cqe_at(cqe->slot);
	q = rn_san_qp(rn_nic_agent(nic), cqe->qpn, true);
	if (q && sent && sent->qpn == cqe->qpn && sent->agent == q->agent) {
		rn_san_event_qp(side == RN_SAN_RECV
					? "the completion that was taken of request"
					: "the completion that was taken of our request",
				q->agent, q->qpn, sent->msg);
		rn_san_class_cqe_taken(sent->place, sent->reads);
		struct rn_san_completion c = { .wr_id = sent->wr_id,
					       .when = rn_host_now(),
					       .qpn = cqe->qpn,
					       .msg = sent->msg,
					       .agent = sent->agent,
					       .opcode = sent->opcode };

		if (sent->status == RN_WC_SUCCESS)
			cover_up_to(q, side, sent->msg, remember_completion(&c));
		if (side == RN_SAN_SEND)
			rn_san_requests_done(q, sent->msg);
	}
	rn_host_unlock(h);
}

struct transfer {
	unsigned agent;
	rn_iova addr;
	uint64_t len;
};

static bool is_stored_by(const struct rn_tlp *tlp, const void *arg)
{
	const struct transfer *t = arg;

	return tlp->requester == t->agent && rn_tlp_touches(tlp, t->addr, t->len);
}

void rn_sanitize_stored(struct rn_host *h, unsigned agent, rn_iova addr, uint64_t len)
{
	const struct transfer transfer = { .agent = agent, .addr = addr, .len = len };
	struct rn_san_completion c = { .when = 0, .agent = (uint8_t)agent };

	if (!rn_sanitize_is_on())
		return;
	rn_host_lock(h);
	c.when = rn_host_now();
	c.is_storage = true;
	rn_san_event_agent("the end of a transfer of", agent);
	rn_san_class_stored(agent);
	rn_san_class_cover(is_stored_by, &transfer, remember_completion(&c) + 1U);
	rn_host_unlock(h);
}

/* -------------------------------------------------- hooks of the hierarchy */
static void note_cqe(struct rn_host *h, const struct rn_tlp *tlp,
		     const struct rn_san_place place[RN_SAN_CLASS_COUNT])
{
	struct rn_san_cqe sent;
	struct rn_cqe cqe;

	if (!rn_agent_is_nic(tlp->requester) || tlp->len != sizeof(cqe))
		return;
	memcpy(&cqe, rn_host_slot_of(h, tlp)->payload.bytes, sizeof(cqe));
	sent = (struct rn_san_cqe){ .slot = tlp->addr,
				    .wr_id = cqe.wr_id,
				    .qpn = cqe.qpn,
				    .msg = tlp->msg,
				    .agent = tlp->requester,
				    .opcode = (uint8_t)(cqe.ctl >> 8),
				    .status = (uint8_t)cqe.ctl,
				    .reads = rn_san.reads };
	memcpy(sent.place, place, sizeof(sent.place));
	rn_san_cqe_sent(&sent);
}

/* Returns true if the write repeats one whose message the program has completed: the peer
 * has sent the message again. The bytes were in memory before.
 */
static bool is_duplicate(const struct rn_tlp *tlp)
{
	enum rn_san_side side = tlp->msg & RESPONSE ? RN_SAN_SEND : RN_SAN_RECV;
	const struct rn_san_qp *q;

	if (!is_data_of(tlp, side) || !rn_agent_is_nic(tlp->requester))
		return false;
	q = rn_san_qp(tlp->requester, tlp->stream, false);
	return q && q->done[side].is_valid &&
	       is_up_to(tlp->msg & ~RESPONSE, q->done[side].msg, side);
}

/* Returns true if the sanitizer was started only because of the knob hold=event, and the
 * program has set other knobs since. Then no write is withheld.
 */
static bool is_idle(const struct rn_host *h)
{
	return rn_san.options.level == RN_SANITIZE_SILENT &&
	       rn_host_knobs(h)->hold_ns != RN_PCIE_HOLD_EVENT;
}

static void tlp_issued(struct rn_host *h, const struct rn_tlp *tlp)
{
	struct rn_san_place cqe[RN_SAN_CLASS_COUNT];
	const struct rn_san_wr *atomic;

	if (is_idle(h) || is_duplicate(tlp))
		return;
	atomic = rn_san_is_of_atomic(tlp) ? rn_san_atomic_of(tlp) : NULL;
	if (tlp->flags & RN_TLP_BELL)
		rn_san_event_agent("a launch, flush or doorbell of", tlp->target);
	if (tlp->requester >= RN_AGENT_NVME && tlp->flags & RN_TLP_CQE)
		rn_san_transfer_ended(tlp->requester);
	rn_san_class_issue(tlp, atomic || rn_san_is_payload(tlp), cqe);
	if (atomic && atomic->is_overtaken && !atomic->is_waited_for)
		rn_san_class_atomic_overtaken(atomic);
	if (tlp->kind == RN_TLP_WRITE && tlp->flags & RN_TLP_CQE)
		note_cqe(h, tlp, cqe);
}

/* Implements rn_host_hooks.withholds, which is called after tlp_issued(): returns true if
 * the write is withheld, that is, the program does not see its bytes yet.
 */
static bool tlp_withheld(struct rn_host *h, const struct rn_tlp *tlp)
{
	if (is_idle(h) || is_duplicate(tlp))
		return false;
	if (rn_san_is_of_atomic(tlp) && rn_san_atomic_of(tlp)) {
		/* The write of this atomic is withheld, but the NIC releases its lock of
		 * the word now. The next atomic on the word reads the value that this
		 * write stores.
		 */
		if (!rn_san_withhold(tlp))
			return false;
		/* With a schedule of `rocin hunt' (late=FILE) the write may be one that
		 * is not late, and be stored already. Then the word is not locked any
		 * more.
		 */
		if (rn_san_is_withheld(tlp->addr, tlp->len))
			rn_host_free_withheld(h, tlp);
		return true;
	}
	return rn_san_is_payload(tlp) && rn_san_withhold(tlp);
}

/* Returns true if the TLP is a read by a NIC that may be performed as soon as it is
 * issued. The sanitizer's findings depend on the order of events, not on the time at
 * which a NIC reads, so the bus thread need not be woken for each packet. With hold=event
 * and under `rocin hunt', such reads are not performed at once, because the user wants to
 * see what a late read gets.
 */
static bool is_read_hurried(struct rn_host *h, const struct rn_tlp *tlp)
{
	return tlp->kind == RN_TLP_READ && tlp->tag != RN_HOST_TAG_LOCKED &&
	       rn_agent_is_nic(tlp->requester) && !rn_san_names_writes() &&
	       rn_host_knobs(h)->hold_ns != RN_PCIE_HOLD_EVENT &&
	       rn_san.options.level >= RN_SANITIZE_ON;
}

/* Returns true if one TLP may write bytes of several granules. It may if the sanitizer
 * judges reads and withholds writes: then the program never sees a part of a write, and
 * the model of each class of machines cuts the write by its own granule
 * (sanitize_classes.c).
 */
static bool is_write_joined(struct rn_host *h, const struct rn_tlp *tlp)
{
	(void)h;
	return rn_san.options.level >= RN_SANITIZE_ON && !rn_san_names_writes() &&
	       rn_san_class_joins(tlp);
}

/* Records that @agent has read bytes of the range to which a withheld write is pending.
 */
static void note_early(unsigned agent, rn_iova addr, uint64_t len)
{
	const struct rn_tlp *tlp;
	uint64_t page;

	if (!rn_san_names_writes())
		return;
	tlp = rn_san_withheld_at(addr, len, &page);
	if (tlp)
		rn_san_note_early(agent, tlp, page);
}

/* Returns true if the byte is in declared memory: the program has allocated it, and a
 * rule has declared it to be a GPU's. Writes to such memory are not withheld.
 */
static bool is_declared(rn_iova addr)
{
	const struct rn_host_region *r = rn_host_region_of(rn_san.host, addr);
	uint64_t offset;
	char view;

	return r && rn_agent_is_gpu(r->target) && !rn_gpu_of(addr, &offset, &view);
}

/* @tlp is a read by a NIC. Returns the request of this process whose source buffer the
 * NIC reads, or NULL if the NIC reads on behalf of its peer.
 */
static const struct rn_san_wr *gather_of(const struct rn_san_qp *q,
					 const struct rn_tlp *tlp)
{
	const struct rn_san_wr *wr = rn_san_wr_find(q, tlp->msg);

	if (!wr || !rn_san_is_gather(wr->opcode))
		return NULL;
	for (unsigned i = 0; i < wr->range_count; i++)
		if (tlp->addr - wr->range[i].addr < wr->range[i].len)
			return wr;
	return NULL;
}

/* If bytes of the source that @tlp reads were copied when the request was posted
 * (sanitize_early.c), the NIC sends the copy: replaces what the NIC has read by it.
 */
static void put_early(struct rn_host *h, const struct rn_tlp *tlp)
{
	const struct rn_san_qp *q = rn_san_qp(tlp->requester, tlp->stream, false);
	const struct rn_san_wr *wr = q ? gather_of(q, tlp) : NULL;

	if (wr && wr->early)
		rn_san_early_put(wr, tlp, rn_host_slot_of(h, tlp)->payload.bytes);
}

static void tlp_performed(struct rn_host *h, const struct rn_tlp *tlp)
{
	if (tlp->kind == RN_TLP_READ) {
		rn_san.old_read.len = 0;
		put_early(h, tlp);
	}
	/* A write that was not withheld has just become visible, at a time that the
	 * sanitizer did not choose. So the program may have seen the bytes already.
	 */
	if (rn_san_is_by_device(tlp) && !(tlp->flags & RN_TLP_CQE) &&
	    !rn_san_is_storing()) {
		if (is_declared(tlp->addr))
			rn_san_class_landed(tlp);
		else
			rn_san_class_seen(tlp->addr, tlp->len);
	}
	/* The CPU or a GPU has just written a value. The program may be in a single step
	 * at this moment, and the stepped instruction may have read the value.
	 */
	if (tlp->kind == RN_TLP_WRITE && !rn_san_is_by_device(tlp) &&
	    rn_san_is_stepping(tlp))
		rn_san_class_own_seen(tlp->addr, tlp->len);
	/* Writes of CQEs need not be looked at: no source buffer lies in a CQ ring. */
	if (tlp->kind != RN_TLP_READ && !(tlp->flags & RN_TLP_CQE) &&
	    tlp->requester >= RN_AGENT_NIC)
		rn_san_note_write(tlp->addr, tlp->len);
}

/* -------------------------------------------------------- judging of reads */
static bool is_to_range(const struct rn_tlp *tlp, rn_iova addr, uint64_t len)
{
	return tlp->kind == RN_TLP_WRITE && rn_tlp_touches(tlp, addr, len);
}

/* Returns true if a write to the range is in flight: of a device if @is_by_device,
 * otherwise of the CPU or a GPU.
 */
static bool is_on_its_way(rn_iova addr, uint64_t len, bool is_by_device)
{
	const struct rn_fabric *f = rn_host_fabric(rn_san.host);

	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i))
		if (is_to_range(rn_fabric_tlp(f, i), addr, len) &&
		    rn_san_is_by_device(rn_fabric_tlp(f, i)) == is_by_device)
			return true;
	return false;
}

/* Called when an agent reads the range. If no write of the CPU or of a GPU to the range
 * is in flight, such writes to it are visible, so the models perform them.
 */
static void see_own(rn_iova addr, uint64_t len)
{
	if (!is_on_its_way(addr, len, false))
		rn_san_class_own_seen(addr, len);
}

static bool find_pending(struct rn_san_read *r)
{
	r->pending = rn_san_class_pending(r->addr, r->len, r->by);
	/* In declared memory the bytes of one write may become visible one after the
	 * other. A write may be pending because of its other bytes. If nothing is in
	 * flight to the bytes of this read, they are visible, and the read is not too
	 * early.
	 */
	if (r->pending && is_declared(r->addr) && !is_on_its_way(r->addr, r->len, true))
		r->pending = 0;
	return r->pending != 0;
}

/* Returns true if the program does not rely on the bytes that a NIC reads, so that the
 * read is no mistake. This is so in two cases. The NIC reads for its peer, and no
 * completion covers the bytes. Or the NIC reads for a request that the program posted
 * before it took the completion that covers the bytes or, if there is none, before the
 * bytes were written.
 */
static bool is_unrelated(const struct rn_san_read *r)
{
	const struct rn_tlp *tlp = r->by[__builtin_ctz(r->pending)];
	rn_ns since =
		tlp->data ? rn_san.completions[tlp->data - 1].when : (rn_ns)tlp->stamp;

	if (rn_san.options.level == RN_SANITIZE_ALL)
		return false;
	return r->request ? r->request->when < since : !tlp->data;
}

bool rn_san_waits_for_events(const struct rn_host *h)
{
	return rn_san.options.level == RN_SANITIZE_SILENT && !rn_san_names_writes() &&
	       !is_idle(h);
}

/* With hold=event: returns true if this read of the NIC is postponed until the program
 * waits for something. The source of a request may be the result of a READ or an atomic
 * of the same QP. If one has not completed, the source is read at once, so that a missing
 * fence shows. Reads for a peer in another process are not postponed, because it is not
 * known when that process waits.
 */
static bool is_read_late(struct rn_host *h, const struct rn_tlp *tlp)
{
	const struct rn_san_qp *q = rn_san_qp(tlp->requester, tlp->stream, false);

	if (!rn_san_waits_for_events(h) || tlp->flags & RN_TLP_FLUSH)
		return false;
	if (q && gather_of(q, tlp))
		return q->reads_open == 0;
	return rn_san_fetch_of(tlp) != NULL;
}

/* Called for a read by which a NIC serves a READ, FLUSH or atomic of this process. Such a
 * read pushes earlier writes, and the program may have posted the request to achieve
 * that. Only when the program takes the completion of the request does it know that the
 * read was performed.
 */
static void note_fetch(const struct rn_tlp *tlp, const struct rn_san_wr *fetch)
{
	rn_san_class_read_served(tlp,
				 fetch->is_overtaken ? RN_SAN_LATER : ++rn_san.reads);
}

/* A NIC reads bytes to which a write is pending. Reports this if it is a mistake. Returns
 * true if the NIC reads a source buffer, so that the read was reported.
 */
static bool judge_nic_read(struct rn_san_read *r, const struct rn_tlp *tlp)
{
	r->qpn = tlp->stream;
	r->request = gather_of(rn_san_qp(tlp->requester, tlp->stream, false), tlp);
	if (is_unrelated(r))
		return false;
	r->stack = r->request ? r->request->stack : 0;
	rn_san_report_read(r);
	return r->request != NULL;
}

/* Called when a device reads the bytes of @tlp, or the program reads them by a call such
 * as rn_gpu_load(). If the read is too early, reports it. Returns true if the reader is
 * to get the old bytes, from before the withheld writes.
 */
static bool judge_read(const struct rn_tlp *tlp)
{
	struct rn_san_read r = { .reader = tlp->requester,
				 .addr = tlp->addr,
				 .len = tlp->len };

	see_own(tlp->addr, tlp->len);
	rn_san_class_read_done(tlp);
	if (tlp->flags & RN_TLP_FLUSH || !find_pending(&r))
		return false;
	if (rn_host_is_polling()) {
		rn_san_class_seen(tlp->addr, tlp->len);
		return false;
	}
	if (rn_agent_is_nic(tlp->requester))
		return judge_nic_read(&r, tlp);
	r.stack = rn_stacks_take();
	rn_san_report_read(&r);
	return false;
}

static void tlp_reading(struct rn_host *h, const struct rn_tlp *tlp)
{
	const struct rn_san_wr *fetch =
		rn_agent_is_nic(tlp->requester) ? rn_san_fetch_of(tlp) : NULL;

	(void)h;
	rn_san_event_read(tlp->requester);
	if (fetch)
		note_fetch(tlp, fetch);
	rn_san.old_read.len = 0;
	/* The withheld bytes are stored now, because the read may belong to a loop that
	 * waits for them: of a kernel, or of a peer that repeats its READ. Only a read of
	 * a source buffer cannot belong to such a loop; it gets the old bytes.
	 */
	if (fetch || !judge_read(tlp)) {
		rn_san_withheld_land(tlp->addr, tlp->len);
		return;
	}
	note_early(tlp->requester, tlp->addr, tlp->len);
	rn_san.old_read = (struct rn_host_range){ .addr = tlp->addr, .len = tlp->len };
}

void rn_san_give_up(rn_iova page)
{
	rn_san_class_seen(page, RN_PAGE_SIZE);
}

/* Called when a load at @addr turns out to be one of a loop that waits for this byte.
 * Performs the pending writes to the byte, so that the loop ends.
 */
static void see_in_loop(unsigned agent, rn_iova addr)
{
	rn_san_event_agent("a load, seen by a loop, of", agent);
	rn_san_class_seen(addr, 1);
}

void rn_san_judge_load(unsigned agent, rn_iova addr, uintptr_t shown)
{
	struct rn_san_read r = { .reader = agent, .addr = addr, .len = 1 };

	see_own(addr, 1);
	note_early(agent, addr, 1);
	if (!find_pending(&r) && !rn_san_has_candidate(rn_page_down(addr)))
		return;
	if (rn_host_is_polling()) {
		see_in_loop(agent, addr);
		return;
	}
	r.stack = rn_stacks_take();
	if (!r.pending) {
		rn_san_candidate_met(r.stack, addr);
	} else if (!rn_san_is_withheld(addr, 1)) {
		/* A program that often reads too early would become slow. So if the read
		 * brings no new report, all pending writes to the page count as seen from
		 * now on (rn_san_give_up()).
		 */
		rn_san_event_read(agent);
		if (rn_san_report_read(&r))
			rn_san_class_seen(addr, 1);
		else
			rn_san_give_up(rn_page_down(addr));
	} else if (rn_san_candidate_note(&r, shown)) {
		see_in_loop(agent, addr);
	}
}

bool rn_san_is_page_pending(rn_iova page)
{
	const struct rn_tlp *by[RN_SAN_CLASS_COUNT];

	return rn_san_class_pending(page, RN_PAGE_SIZE, by) || rn_san_has_candidate(page);
}

static void forget_qp(struct rn_host *h, unsigned agent, uint32_t qpn)
{
	rn_san_event_agent("the end of a QP or of all of", agent);
	rn_san_class_drain(agent, qpn);
	rn_san_forget(h, agent, qpn);
}

static void range_emptied(struct rn_host *h, rn_iova addr, uint64_t len)
{
	(void)h;
	rn_san_event("the end of its memory");
	rn_san_class_emptied(addr, len);
}

static void data_placed(struct rn_host *h, unsigned agent, uint32_t qpn)
{
	(void)h;
	rn_san_event_agent("the acknowledgement of", agent);
	rn_san_class_placed(agent, qpn);
}

static void flush_skipped(struct rn_host *h, const struct rn_tlp *flush, unsigned scope)
{
	(void)h;
	rn_san_class_flush(flush, scope);
}

static void knobs_changed(struct rn_host *h)
{
	rn_san_class_emptied(0, UINT64_MAX);
	if (!rn_san_classes_make(rn_host_knobs(h)))
		rn_log(RN_LOG_ERROR, "sanitizer: no memory for the new knobs");
}

/* -------------------------------------------------- start of the sanitizer */
static const struct rn_host_hooks hooks = {
	.issued = tlp_issued,
	.performed = tlp_performed,
	.reading = tlp_reading,
	.withholds = tlp_withheld,
	.hurries = is_read_hurried,
	.joins = is_write_joined,
	.postpones = is_read_late,
	.drained = forget_qp,
	.placed = data_placed,
	.flush_skipped = flush_skipped,
	.emptied = range_emptied,
	.restarted = knobs_changed,
};

/* Returns true if the knob hold=event takes effect: writes are withheld until an event.
 * They are not withheld while choices are recorded or replayed, because then the sequence
 * of TLPs decides when a write arrives. Nor are they without the preloaded library
 * (page_calls.c), because system calls would fail on closed pages.
 */
static bool is_late_until_event(const struct rn_pcie_knobs *k)
{
	if (k->place == RN_PLACE_NOW || k->hold_ns != RN_PCIE_HOLD_EVENT ||
	    k->record[0] || k->driver == RN_DRIVER_REPLAY)
		return false;
	/* With these knobs the NIC reads WQEs and translations from memory, and each such
	 * read pushes the writes in front of it (PCIe rule B2a). So the next read of this
	 * kind, not an event, would let data arrive.
	 */
	if (k->nic_wqe != RN_WQE_GIVEN || k->mtt_cache != 0)
		return false;
	if (rn_page_wraps_calls())
		return true;
	rn_log(RN_LOG_WARN, "hold=event needs `rocin run'; data is late for 2 ms");
	return false;
}

/* Reads ROCIN_SANITIZE and the knob hold. Returns false if neither of them requires the
 * sanitizer.
 */
static bool read_options(struct rn_host *h)
{
	const char *text = getenv("ROCIN_SANITIZE");
	char err[200];

	if (text && rn_sanitize_parse(&rn_san.options, text, err, sizeof(err)))
		fprintf(stderr, "rocin: ROCIN_SANITIZE: %s\n", err);
	if (rn_san.options.level != RN_SANITIZE_OFF && rn_host_is_off(h)) {
		fprintf(stderr, "rocin: ROCIN_SANITIZE needs ROCIN_PCIE with a mode that "
				"holds data back\n");
		return false;
	}
	if (rn_san.options.level == RN_SANITIZE_OFF &&
	    is_late_until_event(rn_host_knobs(h)))
		rn_san.options =
			(struct rn_sanitize_options){ .level = RN_SANITIZE_SILENT };
	return rn_san.options.level != RN_SANITIZE_OFF;
}

/* Starts the sanitizer if the settings require it and TLPs can be in flight. */
static void start_sanitizer(struct rn_host *h)
{
	char knobs[400];
	int rc;

	if (!read_options(h))
		return;
	rn_pcie_format(rn_host_knobs(h), knobs, sizeof(knobs));
	rn_log(RN_LOG_TRACE, "sanitizer: %s, PCIe layer: %s",
	       rn_san.options.level == RN_SANITIZE_SILENT ? "silent" : "on", knobs);
	rn_san.host = h;
	if (!rn_san_classes_make(rn_host_knobs(h))) {
		fprintf(stderr, "rocin: ROCIN_SANITIZE: no memory\n");
		return;
	}
	rc = rn_san_schedule_start(h, &rn_san.options);
	if (rc)
		fprintf(stderr, "rocin: ROCIN_SANITIZE: %s, %s: %s\n",
			rn_san.options.late, rn_san.options.record, strerror(-rc));
	rn_san_report_init();
	rn_host_lock(h);
	rn_san_loads_watch();
	rn_host_add_hooks(h, &hooks);
	atomic_store(&is_on, true);
	rn_host_unlock(h);
}

static __attribute__((constructor)) void announce(void)
{
	rn_host_at_start(start_sanitizer);
}
