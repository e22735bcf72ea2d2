/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* poll.c - the verbs of a CQ in the data path: polling for completions, and requesting an
 * event for the next one.
 *
 * The ring is read without the engine lock. An entry is valid when its lap (how often the
 * ring has gone round) is that of the consumer index; the lap is in the last word of the
 * entry, which is written last. Polls run the engine, too: every empty poll does, and
 * every 16th that found a CQE, so that a program whose CQ is never empty still receives
 * packets.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cq.h"
#include "provider/engine/lock/front.h"
#include "provider/engine/pcie.h"
#include "provider/engine/trace_points.h"
#include "provider/verbs/object/event.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/provider.h"

/* ------------------------------------------ conversion of a CQE to a work completion */
RNP_SAME(RN_WC_GRH, IBV_WC_GRH);
RNP_SAME(RN_WC_WITH_IMM, IBV_WC_WITH_IMM);
RNP_SAME(RN_WC_WITH_INV, IBV_WC_WITH_INV);
RNP_SAME(RN_WC_IP_CSUM_OK, IBV_WC_IP_CSUM_OK);
#define X(symbol, number, words) RNP_SAME(RN_WC_##symbol, IBV_WC_##symbol);
RN_WC_OPCODES(X)
#undef X
RNP_SAME(RN_WC_SUCCESS, IBV_WC_SUCCESS);
RNP_SAME(RN_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR);
RNP_SAME(RN_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR);
RNP_SAME(RN_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
RNP_SAME(RN_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
RNP_SAME(RN_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR);
RNP_SAME(RN_WC_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR);
RNP_SAME(RN_WC_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR);
RNP_SAME(RN_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
RNP_SAME(RN_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
RNP_SAME(RN_WC_REM_OP_ERR, IBV_WC_REM_OP_ERR);
RNP_SAME(RN_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR);
RNP_SAME(RN_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR);
RNP_SAME(RN_WC_FATAL_ERR, IBV_WC_FATAL_ERR);
RNP_SAME(RN_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR);

static enum ibv_wc_status cqe_status(const struct rn_cqe *cqe)
{
	return (enum ibv_wc_status)(cqe->ctl & 0xff);
}

static enum ibv_wc_opcode cqe_opcode(const struct rn_cqe *cqe)
{
	return (enum ibv_wc_opcode)(cqe->ctl >> 8 & 0xff);
}

/* Returns the flags of a CQE that verbs has, too. */
static unsigned cqe_flags(const struct rn_cqe *cqe)
{
	return (unsigned)(cqe->ctl >> 16) &
	       (RN_WC_GRH | RN_WC_WITH_IMM | RN_WC_IP_CSUM_OK | RN_WC_WITH_INV);
}

/* Returns the immediate of a CQE in network order, or its invalidated R_Key in host
 * order. That is what verbs define for wc.imm_data and wc.invalidated_rkey; the core has
 * both in host order.
 */
static uint32_t cqe_imm(const struct rn_cqe *cqe)
{
	return cqe_flags(cqe) & RN_WC_WITH_INV ? cqe->imm : htonl(cqe->imm);
}

void rnp_wc_from_cqe(struct ibv_wc *wc, const struct rn_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = cqe_status(cqe),
		.opcode = cqe_opcode(cqe),
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.imm_data = cqe_imm(cqe),
		.qp_num = cqe->qpn,
		.src_qp = cqe->src_qpn,
		.wc_flags = cqe_flags(cqe),
		.pkey_index = cqe->pkey_index,
		.sl = cqe->sl,
	};
}

/* --------------------------------------------------------- time of day of an instant */
enum {
	/* Reading both clocks takes some 70 ns. A thread may lose the processor
	 * meanwhile, but not eight times in a row.
	 */
	TRIES = 8,
	/* allowance in ns for two readings, each of which is rounded down to a whole ns
	 */
	ROUNDING_NS = 2,
};

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct rnp_wall_clock enclose(void)
{
	uint64_t before = read_clock(CLOCK_MONOTONIC);
	uint64_t wall = read_clock(CLOCK_REALTIME);
	uint64_t after = read_clock(CLOCK_MONOTONIC);

	return (struct rnp_wall_clock){ .low = wall - after,
					.width = after - before,
					.is_known = true };
}

static struct rnp_wall_clock enclose_narrowly(void)
{
	struct rnp_wall_clock best = enclose();

	for (unsigned i = 1; i < TRIES; i++) {
		struct rnp_wall_clock c = enclose();

		if (c.width < best.width)
			best = c;
	}
	return best;
}

/* Do the ranges in @a and @b, in which the offset between the clocks lies, overlap? They
 * are compared with wrap-around, since an offset may be negative if the wall clock is
 * behind.
 */
static bool can_be_equal(const struct rnp_wall_clock *a, const struct rnp_wall_clock *b)
{
	return (int64_t)(a->low + a->width + ROUNDING_NS - b->low) >= 0 &&
	       (int64_t)(b->low + b->width + ROUNDING_NS - a->low) >= 0;
}

uint64_t rnp_wall_clock_at(struct rnp_wall_clock *c, uint64_t mono_ns)
{
	const struct rnp_wall_clock now = enclose();

	if (!c->is_known || !can_be_equal(c, &now))
		*c = enclose_narrowly();
	return mono_ns + c->low + c->width / 2;
}

/* --------------------------------------------------------------------- ibv_poll_cq() */
enum {
	DRAIN_EVERY = 16
};

/* Reads the control word of a CQE. Message passing: acquire pairs with the release in
 * rn_cq_push(), which writes this word last.
 */
static uint64_t load_ctl(const struct rn_cqe *cqe)
{
	return __atomic_load_n(&cqe->ctl, __ATOMIC_ACQUIRE);
}

static bool has_entry(const struct rnp_cq *cq, uint32_t index)
{
	uint64_t ctl = load_ctl(&cq->ring[index & (cq->core.capacity - 1)]);
	uint32_t lap = (index >> cq->lap_shift) + 1;

	return ctl >> 32 == lap;
}

static void tell_sanitizer(const struct rnp_cq *cq, const struct rn_cqe *entry,
			   const struct rn_cqe *cqe)
{
	const struct rnp_pcie *pcie = rnp_engine_pcie(cq->ctx->engine);
	struct rn_host_cqe taken;

	if (!rnp_pcie_is_watched(pcie))
		return;
	taken = (struct rn_host_cqe){
		.slot = (uintptr_t)entry,
		.qpn = cqe->qpn,
		.recv = (cqe_opcode(cqe) & IBV_WC_RECV) != 0,
	};
	pcie->api->polled(pcie->nic, &taken);
}

static bool pop_cqe(struct rnp_cq *cq, struct rn_cqe *cqe)
{
	uint32_t index = atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);
	uint32_t first = index;
	bool found = false;

	while (!found && has_entry(cq, index)) {
		const struct rn_cqe *entry = &cq->ring[index & (cq->core.capacity - 1)];

		memcpy(cqe, entry, offsetof(struct rn_cqe, ctl));
		cqe->ctl = load_ctl(entry); /* RN_WC_SKIP may be set at any time */
		found = !(cqe->ctl >> 16 & RN_WC_SKIP);
		if (found)
			tell_sanitizer(cq, entry, cqe);
		index++;
	}
	/* This store lets rn_cq_push() reuse the entries that were read; it loads the
	 * index with acquire order.
	 */
	if (index != first)
		atomic_store_explicit(&cq->core.consumer, index, memory_order_release);
	if (found)
		rn_trace_completion(cqe->qpn, cqe->wr_id, cqe_status(cqe),
				    cqe->vendor_err, cqe->byte_len);
	return found;
}

void rnp_cq_skip_qp(struct rnp_cq *cq, uint32_t qpn)
{
	uint32_t index = atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);

	/* The engine lock is held, so no entry is written now. Another thread may be
	 * reading an entry at the same time; its poll counts as one before the QP was
	 * destroyed.
	 */
	for (; index != cq->core.producer; index++) {
		struct rn_cqe *entry = &cq->ring[index & (cq->core.capacity - 1)];

		if (entry->qpn == qpn)
			__atomic_fetch_or(&entry->ctl, (uint64_t)RN_WC_SKIP << 16,
					  __ATOMIC_RELAXED);
	}
}

/* Is the ring empty? Most polls find it so, and see that here without taking a lock.
 * While an entry is being written, or another thread reads the last entry, the ring
 * counts as not empty.
 */
static bool ring_is_empty(const struct rnp_cq *cq)
{
	/* rn_cq_push() advances the producer after it has written the entry. Relaxed is
	 * enough here, as no entry is read.
	 */
	return __atomic_load_n(&cq->core.producer, __ATOMIC_RELAXED) ==
	       atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);
}

static int pop_wcs(struct rnp_cq *cq, int n, struct ibv_wc *wc)
{
	struct rn_cqe cqe;
	int got = 0;

	if (ring_is_empty(cq))
		return 0;
	rnp_use_lock_take(&cq->lock);
	for (; got < n && pop_cqe(cq, &cqe); got++)
		rnp_wc_from_cqe(&wc[got], &cqe);
	rnp_use_lock_give(&cq->lock);
	return got;
}

/* Lets TLPs that are under way in the simulated PCIe hierarchy proceed. Called after a
 * poll that found nothing.
 */
static void note_empty_poll(struct rnp_cq *cq)
{
	/* The load is atomic, because rnp_resize_cq() may replace the ring at the same
	 * time; the lock of the CQ is not held.
	 */
	rnp_pcie_polled_empty(rnp_engine_pcie(cq->ctx->engine),
			      __atomic_load_n(&cq->core.ring, __ATOMIC_RELAXED));
}

/* Does the CQ have an entry? The engine calls this while the program lingers. The caller
 * of the engine holds cq->lock, because another thread may resize the CQ.
 */
static bool entry_waits_locked(void *arg)
{
	struct rnp_cq *cq = arg;
	uint32_t next = atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);

	if (has_entry(cq, next))
		return true;
	note_empty_poll(cq);
	return false;
}

static bool entry_waits(void *arg)
{
	struct rnp_cq *cq = arg;
	bool waits;

	rnp_use_lock_take(&cq->lock);
	waits = entry_waits_locked(cq);
	rnp_use_lock_give(&cq->lock);
	return waits;
}

/* May this poll, which found a CQE, return without running the engine? */
static bool may_skip_engine(struct rnp_cq *cq)
{
	unsigned n = atomic_load_explicit(&cq->since_drain, memory_order_relaxed) + 1;

	atomic_store_explicit(&cq->since_drain, n % DRAIN_EVERY, memory_order_relaxed);
	return n % DRAIN_EVERY != 0;
}

/* Gives the processor to other threads if the last poll was empty. A thread does so at
 * the start of its next poll and not at the end of the empty one. Otherwise completions
 * could arrive before the empty poll returns, and a program that waits for events after
 * an empty poll relies on the CQ being empty. (libfabric then closes a connection that
 * has ended, and loses completions that its last poll did not return.)
 */
static void pause_after_empty_poll(struct rnp_cq *cq, bool (*waits)(void *arg))
{
	if (atomic_load_explicit(&cq->was_empty, memory_order_relaxed))
		rnp_engine_pause(cq->ctx->engine, waits, cq);
}

static void note_poll_result(struct rnp_cq *cq, bool found)
{
	if (atomic_load_explicit(&cq->was_empty, memory_order_relaxed) == found)
		atomic_store_explicit(&cq->was_empty, !found, memory_order_relaxed);
}

/* Called with the first empty poll after ibv_req_notify_cq(): makes it wait for a moment,
 * since the program will probably sleep next. Does nothing in other polls. Returns true
 * if an entry came.
 */
static bool linger(struct rnp_cq *cq, bool (*waits)(void *arg))
{
	if (!atomic_load_explicit(&cq->linger, memory_order_relaxed))
		return false;
	atomic_store_explicit(&cq->linger, false, memory_order_relaxed);
	return rnp_engine_linger(cq->ctx->engine, waits, cq);
}

static bool is_live(const struct rnp_cq *cq)
{
	return atomic_load_explicit(&cq->handle.is_live, memory_order_relaxed);
}

/* May a poll of this CQ that finds the ring empty be a short one, of the rings of local
 * wires alone? Not if it is the first one after ibv_req_notify_cq(), see linger(), and
 * not if the CQ was destroyed.
 */
static inline bool may_be_short(const struct rnp_cq *cq)
{
	return !atomic_load_explicit(&cq->linger, memory_order_relaxed);
}

/* May this poll, which found the ring empty, end without running the engine? */
static inline bool is_over_shortly(const struct rnp_cq *cq)
{
	return may_be_short(cq) && rnp_engine_poll_shortly(cq->ctx->engine);
}

/* The part of rnp_poll_cq() that most empty polls do not need. It is a function of its
 * own, so that empty polls save no registers.
 */
static int poll_fully(struct rnp_cq *cq, int num_entries, struct ibv_wc *wc)
	__attribute__((noinline));

static int poll_fully(struct rnp_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct rnp_engine *e = cq->ctx->engine;
	int got, cancel;

	got = pop_wcs(cq, num_entries, wc);
	if (got > 0 && may_skip_engine(cq))
		return got;
	if (got == 0 && !is_live(cq)) /* a destroyed CQ is empty */
		return -rnp_set_errno(EINVAL);

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (got == 0)
		pause_after_empty_poll(cq, entry_waits);
	rnp_engine_poll(e);
	if (got < num_entries)
		got += pop_wcs(cq, num_entries - got, wc + got);
	if (got == 0 && linger(cq, entry_waits))
		got = pop_wcs(cq, num_entries, wc);
	if (got == 0)
		note_empty_poll(cq);
	note_poll_result(cq, got > 0);
	pthread_setcancelstate(cancel, NULL);
	return got;
}

/* The rest of a poll in a fork() child. */
static __attribute__((noinline, cold)) int poll_in_child(void)
{
	errno = EIO;
	return -EIO;
}

/* The rest of a short poll that found nothing while a thread waited for the lock. */
static __attribute__((noinline, cold)) int wake_waiter(struct rnp_front *f)
{
	rnp_lock_wake(&f->lock);
	return 0;
}

/* The rest of a poll after a short one that has found a packet while a thread waited for
 * the lock.
 */
static __attribute__((noinline, cold)) int
wake_and_poll_fully(struct rnp_cq *cq, int num_entries, struct ibv_wc *wc)
{
	wake_waiter((struct rnp_front *)cq->ctx->engine);
	return poll_fully(cq, num_entries, wc);
}

/* Most polls find nothing and end here. All that is called is called last, so this
 * function needs no frame, which would be a tenth of its instructions.
 */
int rnp_poll_cq(struct ibv_cq *base, int num_entries, struct ibv_wc *wc)
{
	struct rnp_cq *cq = to_rnp_cq(base);
	struct rnp_front *f = (struct rnp_front *)cq->ctx->engine;
	enum rnp_short_poll found;

	if (rnp_is_fork_child(cq->ctx))
		return poll_in_child();
	if (!ring_is_empty(cq) || !may_be_short(cq))
		return poll_fully(cq, num_entries, wc);
	found = rnp_front_poll_shortly(f);
	if (found == RNP_SHORT_POLL_STILL)
		return rnp_front_leave_short_poll(f) ? wake_waiter(f) : 0;
	if (found == RNP_SHORT_POLL_MOVED && rnp_front_leave_short_poll(f))
		return wake_and_poll_fully(cq, num_entries, wc);
	return poll_fully(cq, num_entries, wc);
}

/* -------------------------------------------------------------- ibv_req_notify_cq() */
int rnp_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	struct rnp_cq *cq = to_rnp_cq(base);
	struct rnp_engine *e = cq->ctx->engine;
	int cancel;

	if (rnp_is_fork_child(cq->ctx))
		return EIO;
	cancel = rnp_lock_engine(e);
	/* The call checks that the CQ is alive, but does not look it up in the table of
	 * objects, because it is one of the data path.
	 */
	if (!is_live(cq) || base->handle != cq->handle.number) {
		rnp_unlock_engine(e, cancel);
		return EINVAL;
	}
	rnp_engine_drain(e);
	/* CQEs that are under way already will raise no event. So they must be in the
	 * ring before the call returns, where the program's next poll finds them.
	 */
	rnp_cq_settle_ring(cq);
	rn_cq_arm(&cq->core, solicited_only ? RN_CQ_ARM_SOLICITED : RN_CQ_ARM_NEXT);
	rnp_cq_write_pending_event(cq);
	if (!cq->counted_armed) {
		cq->counted_armed = true;
		rnp_engine_cq_armed(e);
	}
	rnp_unlock_engine(e, cancel);
	atomic_store_explicit(&cq->linger, true, memory_order_relaxed);
	return 0;
}

/* ------------------------------------------------------------------ ibv_start_poll() */
static int next_entry(struct rnp_cq *cq)
{
	if (!pop_cqe(cq, &cq->current))
		return ENOENT;
	cq->has_wall_ns = false;
	cq->base.cq_ex.wr_id = cq->current.wr_id;
	cq->base.cq_ex.status = cqe_status(&cq->current);
	return 0;
}

/* Reads the first entry of a poll if the engine has to run for it. @rc is what
 * next_entry() has returned: 0 if it found an entry. The caller holds cq->lock.
 * Returns as next_entry() does.
 */
static int first_entry(struct rnp_cq *cq, int rc)
{
	if (rc && !is_live(cq))
		return rnp_set_errno(EINVAL);
	if (rc)
		pause_after_empty_poll(cq, entry_waits_locked);
	rnp_engine_poll(cq->ctx->engine);
	if (rc)
		rc = next_entry(cq);
	if (rc && linger(cq, entry_waits_locked))
		rc = next_entry(cq);
	if (rc)
		note_empty_poll(cq);
	note_poll_result(cq, !rc);
	return rc;
}

static int start_poll(struct ibv_cq_ex *base, struct ibv_poll_cq_attr *attr)
{
	struct rnp_cq *cq = to_rnp_cq(ibv_cq_ex_to_cq(base));
	int rc, cancel;

	if (rnp_is_fork_child(cq->ctx))
		return rnp_set_errno(EIO);
	if (attr->comp_mask)
		return rnp_set_errno(EINVAL);
	rnp_use_lock_take(&cq->lock);
	rc = next_entry(cq);
	if (rc ? !is_over_shortly(cq) : !may_skip_engine(cq)) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		rc = first_entry(cq, rc);
		pthread_setcancelstate(cancel, NULL);
	}
	if (rc)
		rnp_use_lock_give(&cq->lock);
	return rc;
}

static int next_poll(struct ibv_cq_ex *base)
{
	return next_entry(to_rnp_cq(ibv_cq_ex_to_cq(base)));
}

static void end_poll(struct ibv_cq_ex *base)
{
	struct rnp_cq *cq = to_rnp_cq(ibv_cq_ex_to_cq(base));

	rnp_use_lock_give(&cq->lock);
}

static const struct rn_cqe *current(struct ibv_cq_ex *base)
{
	return &to_rnp_cq(ibv_cq_ex_to_cq(base))->current;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return cqe_opcode(current(cq));
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return current(cq)->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return current(cq)->byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	return cqe_imm(current(cq));
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return current(cq)->qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return current(cq)->src_qpn;
}

/* Returns the flow tag of a frame. The core puts it into the immediate field of the CQE,
 * which is free for completions of raw packet QPs, as frames carry no immediate.
 */
static uint32_t read_flow_tag(struct ibv_cq_ex *cq)
{
	const struct rn_cqe *cqe = current(cq);

	return cqe_flags(cqe) & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) ? 0 : cqe->imm;
}

static unsigned read_wc_flags(struct ibv_cq_ex *cq)
{
	return cqe_flags(current(cq));
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0; /* RoCE has no LIDs */
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
	return current(cq)->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
	return current(cq)->timestamp_ns;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *cq)
{
	struct rnp_cq *c = to_rnp_cq(ibv_cq_ex_to_cq(cq));

	if (!c->has_wall_ns) {
		c->wall_ns = rnp_wall_clock_at(&c->wall, c->current.timestamp_ns);
		c->has_wall_ns = true;
	}
	return c->wall_ns;
}

void rnp_cq_init_ex(struct rnp_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->base.cq_ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		ex->read_flow_tag = read_flow_tag;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}
