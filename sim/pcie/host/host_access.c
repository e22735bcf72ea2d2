/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_access.c - accesses of NICs to memory: the functions of rn_mem_ops, which turn
 * accesses into TLPs, and the results of these accesses, which devices collect.
 *
 * A write is cut into TLPs at granule boundaries, because each granule may become visible
 * at another time. A read is cut at granule boundaries, too, but into READ_PIECES pieces
 * at most: that the bytes of a read are read at different times matters less.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_internal.h"
#include "transport/io/cuda/cuda.h"

enum {
	PAGE = 4096,
	READ_PIECES = 16,
	WORD = 8,
	OPS_PER_BLOCK = 64,
	/* When the program has polled this often in a row without finding a completion,
	 * it counts as waiting for one.
	 */
	POSTPONED_POLLS = 64,
};

/* A read that a hook postpones is performed when the program waits for something. But a
 * program may wait without polling, and peers in other processes wait, too, so the time
 * is limited. The read is performed when at least @least ns have passed and the bus
 * thread has had @turns turns since. @least is no longer than the default of the knob
 * hold, because each message causes reads. The turns count on busy machines, where the
 * program's threads may not have run in that time: the bus thread has run no more often
 * than they have. After @most ns the read is performed in any case.
 */
static const struct {
	rn_ns least, most;
	unsigned turns; /* number of turns of the bus thread */
} bounds = { .least = RN_MSEC(2), .most = RN_MSEC(20), .turns = 8 };

/* Lock of a word in memory, held while the NIC performs an atomic on the word. */
struct rn_nic_lock {
	struct rn_nic_lock *next;
	struct rn_host_nic *nic;
	rn_iova addr;
	struct rn_nic_op *waiting, **waiting_tail;
};

/* ------------------------------ operations: reads and atomics of a device */
/* Takes an unused operation. The caller must increment its @left for each TLP that it
 * issues. Returns NULL if there is no memory.
 */
static struct rn_nic_op *take_op(struct rn_host_nic *nic, uint32_t qpn, uint64_t tag)
{
	struct rn_nic_block *b;
	struct rn_nic_op *op;

	if (!nic->free) {
		b = malloc(sizeof(*b) + OPS_PER_BLOCK * sizeof(*op));
		if (!b)
			return NULL;
		b->next = nic->blocks;
		nic->blocks = b;
		for (unsigned i = 0; i < OPS_PER_BLOCK; i++) {
			b->op[i].next = nic->free;
			nic->free = &b->op[i];
		}
	}
	op = nic->free;
	nic->free = op->next;
	*op = (struct rn_nic_op){ .nic = nic,
				  .qpn = qpn,
				  .tag = tag,
				  .result = RN_MEM_DONE,
				  .next_active = nic->active };
	if (nic->active)
		nic->active->prev_active = op;
	nic->active = op;
	return op;
}

static void deactivate_op(struct rn_nic_op *op)
{
	struct rn_host_nic *nic = op->nic;

	if (op->prev_active)
		op->prev_active->next_active = op->next_active;
	else
		nic->active = op->next_active;
	if (op->next_active)
		op->next_active->prev_active = op->prev_active;
}

static void give_op(struct rn_nic_op *op)
{
	op->next = op->nic->free;
	op->nic->free = op;
}

/* Returns what the device gets as the result of @op after the caller has issued all TLPs
 * of @op. RN_MEM_DONE or RN_MEM_FAULT: @op has ended, and this function has freed it.
 */
static enum rn_mem_result op_begun(struct rn_nic_op *op)
{
	enum rn_mem_result result = op->result;

	if (op->left > 0) {
		op->is_pending = true;
		op->nic->host->waiting++;
		rn_host_bus_hurry(op->nic->host);
		return RN_MEM_PENDING;
	}
	deactivate_op(op);
	give_op(op);
	return result;
}

/* Decrements @op->left, and ends the operation when that is 0. Called when a TLP of the
 * operation has completed, and when the operation stops waiting for a lock or being
 * postponed.
 */
static void op_ended(struct rn_nic_op *op)
{
	struct rn_host_nic *nic = op->nic;

	assert(op->left > 0);
	if (--op->left > 0 || !op->is_pending)
		return;
	deactivate_op(op);
	nic->host->waiting--;
	op->next = NULL;
	*nic->ended_tail = op;
	nic->ended_tail = &op->next;
	atomic_store_explicit(&nic->has_ended, true, memory_order_release);
	nic->host->wake_due = true;
}

/* ------------------------------------------------------------- TLP headers */
static bool is_relaxed(const struct rn_pcie_knobs *k, struct rn_mem_attr attr)
{
	switch (k->relaxed) {
	case RN_RELAXED_REGISTERED:
		return (attr.flags & RN_MEM_RELAXED) != 0;
	case RN_RELAXED_FORCE:
		return true;
	case RN_RELAXED_IGNORE:
		return false;
	}
	return false;
}

/* Returns a TLP whose header is filled in, except for the fields that depend on the
 * address.
 */
static struct rn_tlp tlp_header(const struct rn_host_nic *nic, unsigned kind,
				struct rn_mem_attr attr)
{
	const struct rn_pcie_knobs *k = rn_host_knobs(nic->host);
	struct rn_tlp tlp = {
		.kind = (uint8_t)kind,
		.requester = (uint8_t)rn_nic_agent(nic),
		.stream = attr.qpn,
		/* A NIC numbers the requests that it sends and those that it receives
		 * separately. The top bit tells equal numbers apart.
		 */
		.msg = attr.msg | (attr.flags & RN_MEM_RESPONSE ? UINT32_C(1) << 31 : 0),
	};
	unsigned flags = k->ido || (attr.flags & RN_MEM_ID_ORDER) ? RN_TLP_IDO : 0;

	if (attr.flags & RN_MEM_CQE)
		flags |= RN_TLP_CQE;
	else if (!(attr.flags & RN_MEM_PUSH) && is_relaxed(k, attr))
		flags |= RN_TLP_RO;
	if (kind == RN_TLP_WRITE && !(attr.flags & (RN_MEM_CQE | RN_MEM_PUSH)))
		flags |= RN_TLP_DATA;
	if (kind == RN_TLP_READ && (attr.flags & RN_MEM_PUSH))
		flags |= RN_TLP_FLUSH;
	tlp.flags = (uint8_t)flags;
	return tlp;
}

/* Sets the target of @tlp to the agent that owns the memory at @addr. Sets *@end to the
 * first address above @addr that may belong to another agent.
 */
static void aim_tlp(const struct rn_host *h, struct rn_tlp *tlp, rn_iova addr,
		    rn_iova *end)
{
	const struct rn_host_region *r = rn_host_region_of(h, addr);

	tlp->target = (uint8_t)(r ? r->target : RN_AGENT_CPU);
	*end = r ? r->addr + r->len : (addr | (PAGE - 1)) + 1;
}

static uint32_t to_boundary(rn_iova addr, uint32_t size)
{
	return size - (uint32_t)(addr & (size - 1));
}

/* ---------------------------------------------------------- writes of a NIC */
/* Tests whether the word around @addr can be written, by an atomic addition of 0. This
 * does not change the word, whatever other threads write to it meanwhile.
 */
static bool is_writable(struct rn_host *h, rn_iova addr)
{
	struct rn_host_atomic nothing = {
		.req = { .op = RN_MEM_FETCH_ADD, .dst = addr & ~(rn_iova)(WORD - 1) },
	};

	/* The hooks are asked first. If a hook has closed the page, the page can be
	 * written; the test below would have to open and close it, which takes longer
	 * than the rest of a write.
	 */
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->is_closed && h->hooks[i]->is_closed(h, addr))
			return true;
	/* A real GPU has no such atomics for NICs. */
	if (rn_cuda_is_alias(addr))
		return rn_cuda_is_valid(addr);
	return rn_host_modify(h, &nothing) == RN_MEM_DONE;
}

/* Returns true if all pages of [addr, addr + len) can be written. */
static bool is_there(struct rn_host *h, rn_iova addr, uint32_t len)
{
	for (rn_iova at = addr; at < addr + len; at = (at | (PAGE - 1)) + 1)
		if (!is_writable(h, at))
			return false;
	return true;
}

/* Returns true if a hook lets one TLP of this write cross granule boundaries. */
static bool is_joined(struct rn_host *h, const struct rn_tlp *tlp)
{
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->joins && h->hooks[i]->joins(h, tlp))
			return true;
	return false;
}

/* Returns the length in bytes of the next TLP of a write, which is cut at granule
 * boundaries. @left: number of bytes still to be written. @to_end: number of bytes from
 * @addr to the end of the memory of this agent.
 */
static uint32_t write_piece(const struct rn_pcie_knobs *k, rn_iova addr, uint32_t left,
			    uint32_t to_end)
{
	uint32_t len = to_boundary(addr, k->granule);
	bool is_part = (addr & (k->granule - 1)) != 0 || left < k->granule;

	/* In adversarial mode, a granule that is only partly written is written word by
	 * word, because hardware need not combine the parts of a granule.
	 */
	if (is_part && k->mode == RN_PCIE_ADVERSARIAL)
		len = to_boundary(addr, WORD);
	if (len > to_end)
		len = to_end;
	return len < left ? len : left;
}

static uint32_t joined_piece(const struct rn_host *h, rn_iova addr, uint32_t left,
			     uint32_t to_end)
{
	uint32_t len = to_boundary(addr, PAGE);

	if (len > h->large_bytes)
		len = h->large_bytes;
	if (len > to_end)
		len = to_end;
	return len < left ? len : left;
}

/* Issues the write of a CQE. It is one TLP, so that the CQE becomes visible as a whole.
 */
static enum rn_mem_result write_cqe(struct rn_host_nic *nic, struct rn_tlp *tlp,
				    rn_iova dst, const void *src, uint32_t len)
{
	rn_iova end;

	aim_tlp(nic->host, tlp, dst, &end);
	tlp->addr = dst;
	tlp->len = len;
	return rn_host_issue(nic->host, tlp, (void *)src, NULL, NULL) < 0 ? RN_MEM_FAULT
									  : RN_MEM_DONE;
}

static enum rn_mem_result write_data(struct rn_host_nic *nic, struct rn_tlp *tlp,
				     rn_iova dst, const uint8_t *src, uint32_t len)
{
	struct rn_host *h = nic->host;
	rn_iova at = dst, end = dst;

	while (len > 0) {
		uint32_t n, to_end;

		if (at == end)
			aim_tlp(h, tlp, at, &end);
		to_end = end - at < PAGE ? (uint32_t)(end - at) : PAGE;
		tlp->addr = at;
		n = is_joined(h, tlp) ? joined_piece(h, at, len, to_end)
				      : write_piece(rn_host_knobs(h), at, len, to_end);
		tlp->len = n;
		if (rn_host_issue(h, tlp, (void *)src, NULL, NULL) < 0)
			return RN_MEM_FAULT;
		at += n;
		src += n;
		len -= n;
	}
	return RN_MEM_DONE;
}

static uint32_t next_packet(struct rn_host_nic *nic)
{
	if (++nic->last_packet == 0)
		nic->last_packet = 1;
	return nic->last_packet;
}

static enum rn_mem_result nic_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr)
{
	struct rn_host_nic *nic = ctx;
	struct rn_tlp tlp;
	enum rn_mem_result result = RN_MEM_FAULT;

	assert(len > 0);
	if (rn_host_is_forked())
		return RN_MEM_FAULT;
	rn_host_lock(nic->host);
	tlp = tlp_header(nic, RN_TLP_WRITE, attr);
	if (attr.flags & RN_MEM_WRITE)
		tlp.packet = next_packet(nic);
	if (!is_there(nic->host, dst, len))
		nic->host->counters.faults++;
	else if ((attr.flags & RN_MEM_CQE) && len <= nic->host->large_bytes)
		result = write_cqe(nic, &tlp, dst, src, len);
	else
		result = write_data(nic, &tlp, dst, src, len);
	rn_host_unlock(nic->host);
	return result;
}

/* ----------------------------------------------------------- reads of a NIC */
static void piece_read(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result)
{
	struct rn_nic_op *op = arg;

	(void)tlp;
	if (result != RN_MEM_DONE)
		op->result = RN_MEM_FAULT;
	op_ended(op);
}

/* Issues one more TLP for @op. Returns false if it could not be issued. */
static bool send_for(struct rn_nic_op *op, struct rn_tlp *tlp, void *bytes,
		     void (*done)(void *arg, const struct rn_tlp *tlp,
				  enum rn_mem_result result))
{
	tlp->txn = op->nic->next_txn++;
	op->left++;
	if (rn_host_issue(op->nic->host, tlp, bytes, done, op) >= 0)
		return true;
	op->left--;
	op->result = RN_MEM_FAULT;
	return false;
}

/* Returns the size in bytes of the pieces into which a read is cut: a power of two, at
 * least a granule. If a hook wants the read to be performed at once, all of its bytes are
 * read at the same time; then it is cut only at page boundaries.
 */
static uint32_t read_size(struct rn_host *h, const struct rn_tlp *tlp, uint32_t len)
{
	uint32_t size = rn_host_knobs(h)->granule;

	if (rn_host_is_hurried(h, tlp))
		return PAGE;
	while (size < PAGE && len / size > READ_PIECES)
		size *= 2;
	return size;
}

/* Returns a TLP that stands for the whole read, before it is cut into pieces. */
static struct rn_tlp tlp_of_read(const struct rn_nic_op *op)
{
	struct rn_tlp tlp = tlp_header(op->nic, RN_TLP_READ, op->attr);
	rn_iova end;

	tlp.addr = op->from;
	tlp.len = op->len;
	aim_tlp(op->nic->host, &tlp, tlp.addr, &end);
	return tlp;
}

static void begin_read(struct rn_nic_op *op)
{
	struct rn_host *h = op->nic->host;
	rn_iova at = op->from, end = at, stop = at + op->len;
	struct rn_tlp tlp = tlp_header(op->nic, RN_TLP_READ, op->attr);
	uint32_t size = read_size(h, &tlp, op->len);

	for (bool ok = true; ok && at < stop; at += tlp.len) {
		if (at == end)
			aim_tlp(h, &tlp, at, &end);
		tlp.addr = at;
		tlp.len = to_boundary(at, size);
		if (tlp.len > stop - at)
			tlp.len = (uint32_t)(stop - at);
		if (tlp.len > end - at)
			tlp.len = (uint32_t)(end - at);
		ok = send_for(op, &tlp, op->to + (at - op->from), piece_read);
	}
}

/* ------------------------------------------- atomics by a lock of the NIC */
static bool send_locked_read(struct rn_nic_op *op);

static struct rn_nic_lock *find_lock(const struct rn_host_nic *nic, rn_iova addr)
{
	struct rn_nic_lock *l = nic->locks;

	while (l && l->addr != addr)
		l = l->next;
	return l;
}

/* Locks the word that the atomic @op accesses. Returns the lock. Returns NULL if @op has
 * to wait until another atomic releases the lock, or if there is no memory for a lock
 * (then op->result is RN_MEM_FAULT).
 */
static struct rn_nic_lock *lock_word(struct rn_nic_op *op)
{
	struct rn_host_nic *nic = op->nic;
	struct rn_nic_lock *l = find_lock(nic, op->atomic.req.dst);

	if (l) {
		op->left++;
		op->next = NULL;
		*l->waiting_tail = op;
		l->waiting_tail = &op->next;
		return NULL;
	}
	l = malloc(sizeof(*l));
	if (!l) {
		op->result = RN_MEM_FAULT;
		return NULL;
	}
	*l = (struct rn_nic_lock){ .next = nic->locks,
				   .nic = nic,
				   .addr = op->atomic.req.dst };
	l->waiting_tail = &l->waiting;
	nic->locks = l;
	return l;
}

/* Passes the lock to the next waiting operation whose read can be issued, or frees the
 * lock if there is none.
 */
static void unlock_word(struct rn_nic_lock *l)
{
	struct rn_nic_lock **at = &l->nic->locks;
	struct rn_nic_op *op;

	while ((op = l->waiting)) {
		bool has_begun;

		l->waiting = op->next;
		if (!l->waiting)
			l->waiting_tail = &l->waiting;
		has_begun = send_locked_read(op);
		op_ended(op); /* the operation no longer waits for the lock */
		if (has_begun)
			return;
	}
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	free(l);
}

static void locked_written(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result)
{
	(void)tlp;
	/* @result need not be looked at. An error has been counted where it occurred; and
	 * since the NIC could read the word, it can also write it.
	 */
	(void)result;
	unlock_word(arg);
}

/* Called when the NIC has locked the word for an atomic and then read it. Computes the
 * new value and issues the write. The lock is released only when the write has been
 * performed. A NIC could release it earlier, but need not.
 */
static void locked_read(void *arg, const struct rn_tlp *request,
			enum rn_mem_result result)
{
	struct rn_nic_op *op = arg;
	struct rn_nic_lock *l = find_lock(op->nic, op->atomic.req.dst);
	struct rn_tlp tlp = tlp_header(op->nic, RN_TLP_WRITE, op->attr);
	bool is_sent = false;
	uint64_t value;

	assert(l);
	tlp.flags = (uint8_t)((tlp.flags & RN_TLP_IDO) | RN_TLP_LOCK);
	tlp.tag = RN_HOST_TAG_LOCKED;
	/* @request is the completion of the read. Its sender is the agent that owns the
	 * word, so the write goes to that agent.
	 */
	tlp.target = request->requester;
	tlp.addr = op->atomic.req.dst;
	tlp.len = sizeof(value);
	if (result == RN_MEM_DONE)
		*op->orig = op->atomic.found;
	else
		op->result = RN_MEM_FAULT;
	if (result == RN_MEM_DONE &&
	    rn_mem_atomic_result(&op->atomic.req, op->atomic.found, &value)) {
		is_sent = rn_host_issue(op->nic->host, &tlp, &value, locked_written, l) >=
			  0;
		if (!is_sent)
			op->result = RN_MEM_FAULT;
	}
	if (!is_sent)
		unlock_word(l);
	op_ended(op);
}

static bool send_locked_read(struct rn_nic_op *op)
{
	struct rn_tlp tlp = tlp_header(op->nic, RN_TLP_READ, op->attr);
	rn_iova end;

	tlp.flags &= RN_TLP_IDO;
	tlp.tag = RN_HOST_TAG_LOCKED;
	tlp.addr = op->atomic.req.dst;
	tlp.len = sizeof(op->atomic.found);
	aim_tlp(op->nic->host, &tlp, tlp.addr, &end);
	return send_for(op, &tlp, &op->atomic.found, locked_read);
}

static void begin_locked(struct rn_nic_op *op)
{
	struct rn_nic_lock *l = lock_word(op);

	if (l && !send_locked_read(op))
		unlock_word(l);
}

/* ---------------------------------------------------------- atomics by PCIe */
static void atomic_done(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result)
{
	struct rn_nic_op *op = arg;

	(void)tlp;
	if (result == RN_MEM_DONE)
		*op->orig = op->atomic.found;
	else
		op->result = RN_MEM_FAULT;
	op_ended(op);
}

static void begin_pcie(struct rn_nic_op *op)
{
	struct rn_tlp tlp = tlp_header(op->nic, RN_TLP_ATOMIC, op->attr);
	rn_iova end;

	tlp.addr = op->atomic.req.dst;
	tlp.len = sizeof(op->atomic.found);
	aim_tlp(op->nic->host, &tlp, tlp.addr, &end);
	(void)send_for(op, &tlp, &op->atomic, atomic_done);
}

static void begin_atomic(struct rn_nic_op *op)
{
	if (rn_host_knobs(op->nic->host)->atomic == RN_ATOMIC_BY_PCIE)
		begin_pcie(op);
	else
		begin_locked(op);
}

/* -------------------------------------------------------- postponed reads */
/* Returns true if a hook postpones the read until the program waits for something. That
 * is allowed, because a program cannot tell when a NIC reads the source of a request or
 * the memory for the response to a READ.
 */
static bool is_postponed(struct rn_host *h, const struct rn_tlp *tlp)
{
	if (h->tape.is_on || h->bus_is_missing || rn_host_is_off(h))
		return false;
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->postpones && h->hooks[i]->postpones(h, tlp))
			return true;
	return false;
}

static void postpone_read(struct rn_host_postponed *list, struct rn_nic_op *op)
{
	if (!list->first)
		*list = (struct rn_host_postponed){ .tail = &list->first,
						    .since = rn_host_now() };
	op->left++;
	op->next = NULL;
	*list->tail = op;
	list->tail = &op->next;
}

/* Performs the postponed reads of the QP to which the read @newest belongs. @newest
 * NULL: performs all postponed reads.
 */
static void resume_reads_of(struct rn_host *h, const struct rn_nic_op *newest)
{
	struct rn_host_postponed all = h->late_reads;
	const struct rn_host_nic *nic = newest ? newest->nic : NULL;
	uint32_t qpn = newest ? newest->qpn : 0;
	struct rn_nic_op *op = all.first, *next;

	assert(!newest || nic);
	h->late_reads.first = NULL;
	h->late_reads.tail = &h->late_reads.first;
	h->late_reads.polls = h->late_reads.turns = 0;
	h->late_reads.since = rn_host_now();
	for (; op; op = next) {
		next = op->next;
		if (nic && (op->nic != nic || op->qpn != qpn)) {
			op->next = NULL;
			*h->late_reads.tail = op;
			h->late_reads.tail = &op->next;
			continue;
		}
		begin_read(op);
		op_ended(op); /* the operation is no longer postponed */
	}
}

/* Called when the program waits for completions. Performs the postponed reads of only one
 * QP, that of the newest postponed read: the program may be waiting for this QP alone,
 * and then the reads of other QPs can stay postponed.
 */
static void resume_newest_reads(struct rn_host *h)
{
	const struct rn_nic_op *newest = h->late_reads.first;

	while (newest->next)
		newest = newest->next;
	resume_reads_of(h, newest);
}

void rn_host_resume_reads(struct rn_host *h)
{
	if (h->late_reads.first)
		resume_reads_of(h, NULL);
}

void rn_host_resume(struct rn_host *h)
{
	resume_reads_of(h, NULL);
}

void rn_host_resume_by_time(struct rn_host *h, rn_ns now)
{
	struct rn_host_postponed *list = &h->late_reads;
	rn_ns since = now - list->since;

	if (!list->first)
		return;
	list->turns++;
	if (since >= bounds.most ||
	    (since >= bounds.least && list->turns >= bounds.turns))
		resume_reads_of(h, NULL);
}

void rn_host_resume_by_polls(struct rn_host *h)
{
	if (h->late_reads.first && ++h->late_reads.polls >= POSTPONED_POLLS)
		resume_newest_reads(h);
}

/* -------------------------------- functions that begin a read or an atomic */
static enum rn_mem_result nic_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag)
{
	struct rn_host_nic *nic = ctx;
	struct rn_host *h = nic->host;
	enum rn_mem_result result = RN_MEM_FAULT;
	struct rn_nic_op *op;
	struct rn_tlp tlp;

	assert(len > 0);
	if (rn_host_is_forked())
		return RN_MEM_FAULT;
	rn_host_lock(h);
	op = take_op(nic, attr.qpn, tag);
	if (op) {
		op->attr = attr;
		op->to = dst;
		op->from = src;
		op->len = len;
		tlp = tlp_of_read(op);
		if (is_postponed(h, &tlp))
			postpone_read(&h->late_reads, op);
		else
			begin_read(op);
		result = op_begun(op);
	}
	rn_host_unlock(h);
	return result;
}

static enum rn_mem_result nic_atomic(void *ctx, const struct rn_mem_atomic_req *req,
				     uint64_t *orig, struct rn_mem_attr attr,
				     uint64_t tag)
{
	struct rn_host_nic *nic = ctx;
	enum rn_mem_result result = RN_MEM_FAULT;
	struct rn_nic_op *op;

	assert((req->dst & (WORD - 1)) == 0);
	if (rn_host_is_forked())
		return RN_MEM_FAULT;
	rn_host_lock(nic->host);
	/* Beginning an atomic counts as an event of a recording even if no TLP is issued,
	 * because the atomic may have to wait for a lock.
	 */
	rn_host_event(nic->host);
	op = take_op(nic, attr.qpn, tag);
	if (op) {
		op->attr = attr;
		op->orig = orig;
		op->atomic.req = *req;
		begin_atomic(op);
		result = op_begun(op);
	}
	rn_host_unlock(nic->host);
	return result;
}

const struct rn_mem_ops rn_host_nic_plain_ops = {
	.always_done = false,
	.write = nic_write,
	.read = nic_read,
	.atomic = nic_atomic,
};

/* ----------------------------------- results of operations that have ended */
bool rn_host_nic_wants_wake(struct rn_host_nic *nic)
{
	if (!nic->ended || nic->is_told)
		return false;
	nic->is_told = true;
	atomic_fetch_add(&nic->waking, 1);
	return true;
}

void rn_host_nic_wake(struct rn_host_nic *nic)
{
	if (nic->wake)
		nic->wake(nic->arg);
	atomic_fetch_sub_explicit(&nic->waking, 1, memory_order_release);
}

/* Takes the first ended operation off the list. Called with the host lock held. */
static struct rn_nic_op *take_ended(struct rn_host_nic *nic)
{
	struct rn_nic_op *list = nic->ended;

	nic->ended = NULL;
	nic->ended_tail = &nic->ended;
	nic->is_told = false;
	atomic_store_explicit(&nic->has_ended, false, memory_order_relaxed);
	return list;
}

static void give_list(struct rn_nic_op *list)
{
	struct rn_nic_op *next;

	for (; list; list = next) {
		next = list->next;
		give_op(list);
	}
}

unsigned rn_host_collect(struct rn_host_nic *nic,
			 void (*done)(void *arg, uint64_t tag, enum rn_mem_result result),
			 void *arg)
{
	struct rn_nic_op *list;
	unsigned count = 0;

	if (rn_host_is_forked() ||
	    (!atomic_load_explicit(&nic->has_ended, memory_order_acquire) &&
	     !atomic_load_explicit(&nic->host->is_taped, memory_order_relaxed)))
		return 0;
	rn_host_lock(nic->host);
	if (nic->host->tape.is_on)
		/* Collecting results counts as an event of a recording, because the
		 * device now learns which operations have ended, and may act on that.
		 */
		rn_host_event(nic->host);
	list = take_ended(nic);
	rn_host_unlock(nic->host);
	for (const struct rn_nic_op *op = list; op; op = op->next, count++)
		done(arg, op->tag, op->result);
	rn_host_lock(nic->host);
	give_list(list);
	rn_host_unlock(nic->host);
	return count;
}
