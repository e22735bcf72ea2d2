/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize.c - determines which writes a completion covers and which reads come
 * too early.
 *
 * A data write belongs to a NIC, QP, side (send or receive) and message number. It is
 * covered once the program has taken a completion of the same queue with the same or a
 * later number. The number of a completion is known from the TLP that wrote the CQE. A
 * completion covers all earlier messages of its queue (IBTA Vol 1, 9.7.6 and 10.8).
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

/* Bit of tlp.msg that marks data of responses, see tlp_header() in host_nic.c. */
#define RESPONSE (UINT32_C(1) << 31)

enum {
	SEND_BITS = 31, /* number of bits of a send queue's message number in a TLP */
	RECV_BITS = 24, /* number of bits of an MSN */
};

struct rn_san rn_san;
struct rn_sanitize_counts rn_sanitize_counts;
static _Atomic bool is_on;

bool rn_sanitize_is_on(void)
{
	return atomic_load_explicit(&is_on, memory_order_relaxed);
}

/* ---------------------------------------------------------------- coverage */
static bool is_data_of(const struct rn_tlp *tlp, enum rn_san_side side)
{
	return tlp->kind == RN_TLP_WRITE && (tlp->flags & RN_TLP_DATA) &&
	       ((tlp->msg & RESPONSE) != 0) == (side == RN_SAN_SEND);
}

/* Returns true if message number @msg is equal to @limit or before it. */
static bool is_up_to(uint32_t msg, uint32_t limit, enum rn_san_side side)
{
	unsigned unused = 32 - (side == RN_SAN_SEND ? SEND_BITS : RECV_BITS);

	return (int32_t)((limit - msg) << unused) >= 0;
}

static uint16_t *cover_of(const struct rn_tlp *tlp)
{
	assert(tlp->data < RN_SAN_SLOTS);
	return &rn_san.covered[tlp->data];
}

static void cover_write(const struct rn_tlp *tlp, uint16_t completion)
{
	uint16_t *by = cover_of(tlp);

	if (*by)
		return;
	*by = (uint16_t)(completion + 1);
	rn_san.covered_count++;
	rn_san_pages_covered(tlp, 1);
}

static void uncover_write(const struct rn_tlp *tlp)
{
	uint16_t *by = cover_of(tlp);

	if (!*by)
		return;
	*by = 0;
	rn_san.covered_count--;
	rn_san_pages_covered(tlp, -1);
}

static uint16_t remember_completion(const struct rn_san_completion *c)
{
	uint16_t n = rn_san.next_completion;

	rn_san.completions[n] = *c;
	rn_san.next_completion = (uint16_t)((n + 1) % RN_SAN_COMPLETIONS);
	return n;
}

/* Marks writes in flight as covered, after the program has taken completion number @n,
 * which covers messages of @side up to @msg.
 */
static void cover_up_to(struct rn_san_qp *q, enum rn_san_side side, uint32_t msg,
			uint16_t n)
{
	const struct rn_fabric *f = rn_host_fabric(rn_san.host);

	q->done[side].is_valid = true;
	q->done[side].msg = msg;
	q->done[side].completion = n;
	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

		if (tlp->requester == q->agent && tlp->stream == q->qpn &&
		    is_data_of(tlp, side) && is_up_to(tlp->msg & ~RESPONSE, msg, side))
			cover_write(tlp, n);
	}
}

void rn_sanitize_polled(struct rn_host_nic *nic, const struct rn_host_cqe *cqe)
{
	enum rn_san_side side = cqe->recv ? RN_SAN_RECV : RN_SAN_SEND;
	struct rn_host *h = nic->host;
	const struct rn_san_cqe *sent;
	struct rn_san_qp *q;

	rn_host_lock(h);
	sent = rn_san_cqe_at(cqe->slot);
	q = rn_san_qp(rn_nic_agent(nic), cqe->qpn, true);
	if (q && sent && sent->qpn == cqe->qpn && sent->agent == q->agent) {
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

void rn_sanitize_stored(struct rn_host *h, unsigned agent, rn_iova addr, uint64_t len)
{
	struct rn_san_completion c = { .when = 0, .agent = (uint8_t)agent };
	const struct rn_fabric *f;
	uint16_t n;

	if (!rn_sanitize_is_on())
		return;
	rn_host_lock(h);
	c.when = rn_host_now();
	c.is_storage = true;
	n = remember_completion(&c);
	f = rn_host_fabric(h);
	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

		if (tlp->kind == RN_TLP_WRITE && tlp->requester == agent &&
		    !(tlp->flags & RN_TLP_CQE) && tlp->addr < addr + len &&
		    addr < tlp->addr + tlp->len)
			cover_write(tlp, n);
	}
	rn_host_unlock(h);
}

/* ------------------------------------------------------------------- hooks */
static bool is_device(unsigned agent)
{
	return agent >= RN_AGENT_NIC;
}

static void note_cqe(struct rn_host *h, const struct rn_tlp *tlp)
{
	struct rn_cqe cqe;

	if (!rn_agent_is_nic(tlp->requester) || tlp->len != sizeof(cqe))
		return;
	memcpy(&cqe, rn_host_slot_of(h, tlp)->payload.bytes, sizeof(cqe));
	rn_san_cqe_sent(&(struct rn_san_cqe){ .slot = tlp->addr,
					      .wr_id = cqe.wr_id,
					      .qpn = cqe.qpn,
					      .msg = tlp->msg,
					      .agent = tlp->requester,
					      .opcode = (uint8_t)(cqe.ctl >> 8),
					      .status = (uint8_t)cqe.ctl });
}

static void tlp_issued(struct rn_host *h, const struct rn_tlp *tlp)
{
	enum rn_san_side side = tlp->msg & RESPONSE ? RN_SAN_SEND : RN_SAN_RECV;
	const struct rn_san_qp *q;

	if (tlp->kind != RN_TLP_WRITE)
		return;
	*cover_of(tlp) = 0;
	if (tlp->flags & RN_TLP_CQE)
		note_cqe(h, tlp);
	if (!is_data_of(tlp, side))
		return;
	/* A duplicate of a message that a completion already covers is covered, too. */
	q = rn_san_qp(tlp->requester, tlp->stream, false);
	if (q && q->done[side].is_valid &&
	    is_up_to(tlp->msg & ~RESPONSE, q->done[side].msg, side))
		cover_write(tlp, q->done[side].completion);
}

static void tlp_performed(struct rn_host *h, const struct rn_tlp *tlp)
{
	(void)h;
	if (tlp->kind == RN_TLP_WRITE)
		uncover_write(tlp);
	/* Writes to a CQ ring are left out: no source buffer lies there, and a cache line
	 * of the ring could share its hash table entry with a line of a source buffer.
	 */
	if (tlp->kind != RN_TLP_READ && !(tlp->flags & RN_TLP_CQE) &&
	    is_device(tlp->requester))
		rn_san_note_write(tlp->addr, tlp->len);
}

/* ------------------------------------------------------------------- reads */
static bool is_around(const struct rn_tlp *tlp, rn_iova addr, uint64_t len)
{
	if (tlp->kind != RN_TLP_WRITE || !is_device(tlp->requester) ||
	    tlp->flags & (RN_TLP_CQE | RN_TLP_LOCK))
		return false;
	return tlp->addr < addr + len && addr < tlp->addr + tlp->len;
}

static bool is_in_the_way(const struct rn_tlp *tlp, rn_iova addr, uint64_t len)
{
	return is_around(tlp, addr, len) &&
	       (*cover_of(tlp) || rn_san.options.level == RN_SANITIZE_ALL);
}

static const struct rn_tlp *find_in_the_way(rn_iova addr, uint64_t len)
{
	const struct rn_fabric *f = rn_host_fabric(rn_san.host);

	if (!rn_san.covered_count && rn_san.options.level != RN_SANITIZE_ALL)
		return NULL;
	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i))
		if (is_in_the_way(rn_fabric_tlp(f, i), addr, len))
			return rn_fabric_tlp(f, i);
	return NULL;
}

bool rn_san_is_covered(rn_iova addr, uint64_t len)
{
	const struct rn_fabric *f = rn_host_fabric(rn_san.host);
	bool is_found = false;

	if (!rn_san.covered_count)
		return false;
	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE && !is_found;
	     i = rn_fabric_younger(f, i))
		is_found = is_around(rn_fabric_tlp(f, i), addr, len) &&
			   *cover_of(rn_fabric_tlp(f, i));
	return is_found;
}

unsigned rn_san_covered_pages(unsigned agent, uintptr_t *pages, unsigned room)
{
	const struct rn_fabric *f = rn_host_fabric(rn_san.host);
	unsigned count = 0;

	if (!rn_san.covered_count)
		return 0;
	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);
		uintptr_t end = tlp->addr + tlp->len;
		uintptr_t at = rn_page_down(tlp->addr);

		if (tlp->target != agent || !is_around(tlp, tlp->addr, tlp->len) ||
		    !*cover_of(tlp))
			continue;
		for (; at < end && count < room; at += RN_PAGE_SIZE)
			if (count == 0 || pages[count - 1] != at)
				pages[count++] = at;
	}
	return count;
}

/* Returns the request for which a NIC reads its source buffer; NULL if the NIC reads for
 * its peer.
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

/* Returns true if the request was posted before the covering completion was taken, so
 * that the program has not relied on this completion.
 */
static bool was_posted_before(const struct rn_san_wr *request, const struct rn_tlp *tlp)
{
	uint16_t by = *cover_of(tlp);

	return request && by && request->when < rn_san.completions[by - 1].when &&
	       rn_san.options.level != RN_SANITIZE_ALL;
}

static void tlp_reading(struct rn_host *h, const struct rn_tlp *tlp)
{
	struct rn_san_read r = { .reader = tlp->requester,
				 .addr = tlp->addr,
				 .len = tlp->len };

	(void)h;
	if (tlp->flags & RN_TLP_FLUSH || rn_host_is_polling())
		return;
	r.tlp = find_in_the_way(tlp->addr, tlp->len);
	if (!r.tlp)
		return;
	if (rn_agent_is_nic(tlp->requester)) {
		r.qpn = tlp->stream;
		r.request = gather_of(rn_san_qp(tlp->requester, tlp->stream, false), tlp);
		if (was_posted_before(r.request, r.tlp))
			return;
		r.stack = r.request ? r.request->stack : 0;
	} else {
		r.stack = rn_san_stack();
	}
	rn_san_report_read(&r);
}

/* Checks a plain load of the program, as a load of the one byte at @addr. */
void rn_san_judge_load(unsigned agent, rn_iova addr)
{
	struct rn_san_read r = { .reader = agent, .addr = addr, .len = 1 };

	if (rn_host_is_polling())
		return;
	r.tlp = find_in_the_way(addr, 1);
	if (!r.tlp)
		return;
	r.stack = rn_san_stack();
	rn_san_report_read(&r);
}

/* ------------------------------------------------------------------- start */
static const struct rn_host_hooks hooks = {
	.issued = tlp_issued,
	.performed = tlp_performed,
	.reading = tlp_reading,
	.drained = rn_san_forget,
};

/* Starts the sanitizer if ROCIN_SANITIZE asks for it and TLPs can be in flight. */
static void start_sanitizer(struct rn_host *h)
{
	const char *text = getenv("ROCIN_SANITIZE");
	char err[200], knobs[400];

	if (!text || !*text)
		return;
	if (rn_sanitize_parse(&rn_san.options, text, err, sizeof(err)))
		fprintf(stderr, "rocin: ROCIN_SANITIZE: %s\n", err);
	if (rn_san.options.level == RN_SANITIZE_OFF)
		return;
	if (rn_host_is_off(h)) {
		fprintf(stderr, "rocin: ROCIN_SANITIZE needs ROCIN_PCIE with a mode that "
				"holds data back\n");
		return;
	}
	rn_pcie_format(rn_host_knobs(h), knobs, sizeof(knobs));
	rn_log(RN_LOG_TRACE, "sanitizer: on, PCIe layer: %s", knobs);
	rn_san.host = h;
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
