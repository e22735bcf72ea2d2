/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* poll.c - taking completions out of a CQ, and making progress while at it.
 *
 * The ring is read without the engine lock. An entry is there when its lap is that of the
 * consumer index; it was written with its last word last. The engine is driven on every
 * empty poll, and on every 16th that found something so that a program which is always
 * behind still receives.
 */
#include <string.h>

#include "provider.h"
#include "provider/engine/trace_points.h"
#include "wc.h"

enum {
	DRAIN_EVERY = 16
};

/* Shape: message passing. The partner is rn_cq_push(), which writes the entry with ctl
 * last (release).
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

static void tell_watcher(const struct rnp_cq *cq, const struct rn_cqe *entry,
			 const struct rn_cqe *cqe)
{
	const struct rnp_pcie *pcie = rnp_engine_pcie(cq->ctx->engine);
	struct rn_host_cqe taken;

	if (!rnp_pcie_is_watched(pcie))
		return;
	taken = (struct rn_host_cqe){
		.slot = (uintptr_t)entry,
		.qpn = cqe->qpn,
		.recv = (rnp_cqe_opcode(cqe) & IBV_WC_RECV) != 0,
	};
	pcie->api->polled(pcie->nic, &taken);
}

bool rnp_cq_pop(struct rnp_cq *cq, struct rn_cqe *cqe)
{
	uint32_t index = atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);
	uint32_t first = index;
	bool found = false;

	while (!found && has_entry(cq, index)) {
		const struct rn_cqe *entry = &cq->ring[index & (cq->core.capacity - 1)];

		memcpy(cqe, entry, offsetof(struct rn_cqe, ctl));
		cqe->ctl = load_ctl(entry); /* SKIP may be set at any time */
		found = !(cqe->ctl >> 16 & RN_WC_SKIP);
		if (found)
			tell_watcher(cq, entry, cqe);
		index++;
	}
	/* Partner: rn_cq_push(), which uses the entry again only after this. */
	if (index != first)
		atomic_store_explicit(&cq->core.consumer, index, memory_order_release);
	if (found)
		rn_trace_completion(cqe->qpn, cqe->wr_id, rnp_cqe_status(cqe),
				    cqe->vendor_err, cqe->byte_len);
	return found;
}

void rnp_cq_skip_qp(struct rnp_cq *cq, uint32_t qpn)
{
	uint32_t index = atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);

	/* Nobody writes entries now; whoever takes one out meanwhile got it in time. */
	for (; index != cq->core.producer; index++) {
		struct rn_cqe *entry = &cq->ring[index & (cq->core.capacity - 1)];

		if (entry->qpn == qpn)
			__atomic_fetch_or(&entry->ctl, (uint64_t)RN_WC_SKIP << 16,
					  __ATOMIC_RELAXED);
	}
}

/* Most polls are for nothing: they need no lock. An entry that is not there yet, or that
 * another thread is about to take, counts as one.
 */
static bool is_empty(const struct rnp_cq *cq)
{
	/* Partner: rn_cq_push(), which has written the entry before. */
	return __atomic_load_n(&cq->core.producer, __ATOMIC_RELAXED) ==
	       atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);
}

static int pop(struct rnp_cq *cq, int n, struct ibv_wc *wc)
{
	struct rn_cqe cqe;
	int got = 0;

	if (is_empty(cq))
		return 0;
	pthread_mutex_lock(&cq->lock);
	for (; got < n && rnp_cq_pop(cq, &cqe); got++)
		rnp_wc_from_cqe(&wc[got], &cqe);
	pthread_mutex_unlock(&cq->lock);
	return got;
}

/* A poll found nothing: what is on its way through the PCIe layer moves on. */
static void note_empty(struct rnp_cq *cq)
{
	/* Partner: rnp_resize_cq(). */
	rnp_pcie_polled_empty(rnp_engine_pcie(cq->ctx->engine),
			      __atomic_load_n(&cq->core.ring, __ATOMIC_RELAXED));
}

/* Asked by the engine while it lingers. cq->lock is held: another thread may resize. */
static bool entry_waits_locked(void *arg)
{
	struct rnp_cq *cq = arg;
	uint32_t next = atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);

	if (has_entry(cq, next))
		return true;
	note_empty(cq);
	return false;
}

static bool entry_waits(void *arg)
{
	struct rnp_cq *cq = arg;
	bool waits;

	pthread_mutex_lock(&cq->lock);
	waits = entry_waits_locked(cq);
	pthread_mutex_unlock(&cq->lock);
	return waits;
}

/* May this poll, which found something, leave the engine alone? */
static bool may_skip_engine(struct rnp_cq *cq)
{
	unsigned n = atomic_load_explicit(&cq->since_drain, memory_order_relaxed) + 1;

	atomic_store_explicit(&cq->since_drain, n % DRAIN_EVERY, memory_order_relaxed);
	return n % DRAIN_EVERY != 0;
}

/* Who polled in vain lets others have the processor, before the next look and not after
 * the last: much may have come meanwhile, and a program that looks for events next takes
 * an empty poll for the state of things. libfabric closes a connection that has ended,
 * with what its last poll did not show.
 */
static void give_way(struct rnp_cq *cq)
{
	if (atomic_load_explicit(&cq->was_empty, memory_order_relaxed))
		rnp_engine_yield(cq->ctx->engine);
}

static void note_luck(struct rnp_cq *cq, bool found)
{
	if (atomic_load_explicit(&cq->was_empty, memory_order_relaxed) == found)
		atomic_store_explicit(&cq->was_empty, !found, memory_order_relaxed);
}

/* The first empty poll after req_notify: the program will sleep if this finds nothing. */
static bool linger(struct rnp_cq *cq, bool (*waits)(void *arg))
{
	if (!atomic_load_explicit(&cq->linger, memory_order_relaxed))
		return false;
	atomic_store_explicit(&cq->linger, false, memory_order_relaxed);
	return rnp_engine_linger(cq->ctx->engine, waits, cq);
}

int rnp_poll_cq(struct ibv_cq *base, int num_entries, struct ibv_wc *wc)
{
	struct rnp_cq *cq = to_rnp_cq(base);
	struct rnp_engine *e = cq->ctx->engine;
	int got, cancel;

	if (rnp_is_copy(cq->ctx)) {
		errno = EIO;
		return -EIO;
	}
	got = pop(cq, num_entries, wc);
	if (got > 0 && may_skip_engine(cq))
		return got;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (got == 0)
		give_way(cq);
	rnp_engine_poll(e);
	if (got < num_entries)
		got += pop(cq, num_entries - got, wc + got);
	if (got == 0 && linger(cq, entry_waits))
		got = pop(cq, num_entries, wc);
	if (got == 0)
		note_empty(cq);
	note_luck(cq, got > 0);
	pthread_setcancelstate(cancel, NULL);
	return got;
}

/* ---------------------------------------------------------------- ibv_start_poll() */
static int next_entry(struct rnp_cq *cq)
{
	if (!rnp_cq_pop(cq, &cq->current))
		return ENOENT;
	cq->has_wall_ns = false;
	cq->base.cq_ex.wr_id = cq->current.wr_id;
	cq->base.cq_ex.status = rnp_cqe_status(&cq->current);
	return 0;
}

/* cq->lock is held, or the program promised that there is one thread. */
static int first_entry(struct rnp_cq *cq)
{
	int rc = next_entry(cq);

	if (!rc && may_skip_engine(cq))
		return 0;
	if (rc)
		give_way(cq);
	rnp_engine_poll(cq->ctx->engine);
	if (rc)
		rc = next_entry(cq);
	if (rc && linger(cq, entry_waits_locked))
		rc = next_entry(cq);
	if (rc)
		note_empty(cq);
	note_luck(cq, !rc);
	return rc;
}

static int start_poll(struct ibv_cq_ex *base, struct ibv_poll_cq_attr *attr)
{
	struct rnp_cq *cq = to_rnp_cq(ibv_cq_ex_to_cq(base));
	int rc, cancel;

	if (rnp_is_copy(cq->ctx))
		return rnp_tell_errno(EIO);
	if (attr->comp_mask)
		return rnp_tell_errno(EINVAL);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->lock);
	rc = first_entry(cq);
	if (rc && !cq->single_threaded)
		pthread_mutex_unlock(&cq->lock);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

static int next_poll(struct ibv_cq_ex *base)
{
	return next_entry(to_rnp_cq(ibv_cq_ex_to_cq(base)));
}

static void end_poll(struct ibv_cq_ex *base)
{
	struct rnp_cq *cq = to_rnp_cq(ibv_cq_ex_to_cq(base));

	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->lock);
}

static const struct rn_cqe *current(struct ibv_cq_ex *base)
{
	return &to_rnp_cq(ibv_cq_ex_to_cq(base))->current;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return rnp_cqe_opcode(current(cq));
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
	return rnp_cqe_imm(current(cq));
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return current(cq)->qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return current(cq)->src_qpn;
}

/* Only a raw packet QP, whose frames carry no immediate, has a rule's tag there. */
static uint32_t read_flow_tag(struct ibv_cq_ex *cq)
{
	const struct rn_cqe *cqe = current(cq);

	return rnp_cqe_flags(cqe) & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) ? 0 : cqe->imm;
}

static unsigned read_wc_flags(struct ibv_cq_ex *cq)
{
	return rnp_cqe_flags(current(cq));
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
