/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_nic_ops.c - rn_mem_ops of a NIC: accesses become TLPs.
 *
 * A write is cut where a granule ends, since that is what may become visible by itself. A
 * read is cut there too, but into no more than READ_PIECES: what its bytes were at
 * different times matters less.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_nic.h"

enum {
	PAGE = 4096,
	READ_PIECES = 16,
	WORD = 8,
};

/* ------------------------------------------------------------------ headers */
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

/* Attributes that do not depend on the address. */
static struct rn_tlp header(const struct rn_host_nic *nic, unsigned kind,
			    struct rn_mem_attr attr)
{
	const struct rn_pcie_knobs *k = rn_host_knobs(nic->host);
	struct rn_tlp tlp = {
		.kind = (uint8_t)kind,
		.requester = (uint8_t)rn_nic_agent(nic),
		.stream = attr.qpn,
		/* Numbers of requests sent and received are not of one kind. */
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

/* Set where @tlp goes; *@end: from where on that may be another memory. */
static void aim(const struct rn_host *h, struct rn_tlp *tlp, rn_iova addr, rn_iova *end)
{
	const struct rn_host_region *r = rn_host_region_of(h, addr);

	tlp->target = (uint8_t)(r ? r->target : RN_AGENT_CPU);
	*end = r ? r->addr + r->len : (addr | (PAGE - 1)) + 1;
}

static uint32_t to_boundary(rn_iova addr, uint32_t size)
{
	return size - (uint32_t)(addr & (size - 1));
}

/* -------------------------------------------------------------------- write */
/* By adding 0 to the word around it, which nobody can notice. */
static bool is_writable(struct rn_host *h, rn_iova addr)
{
	struct rn_host_atomic nothing = {
		.req = { .op = RN_MEM_FETCH_ADD, .dst = addr & ~(rn_iova)(WORD - 1) },
	};

	return rn_host_modify(h, &nothing) == RN_MEM_DONE;
}

/* All pages of it. */
static bool is_there(struct rn_host *h, rn_iova addr, uint32_t len)
{
	for (rn_iova at = addr; at < addr + len; at = (at | (PAGE - 1)) + 1)
		if (!is_writable(h, at))
			return false;
	return true;
}

/* Length of the next TLP of a write. */
static uint32_t write_piece(const struct rn_pcie_knobs *k, rn_iova addr, uint32_t left,
			    uint32_t to_end)
{
	uint32_t len = to_boundary(addr, k->granule);
	bool is_part = (addr & (k->granule - 1)) != 0 || left < k->granule;

	/* A granule that is not written whole may be merged by nobody. */
	if (is_part && k->mode == RN_PCIE_ADVERSARIAL)
		len = to_boundary(addr, WORD);
	if (len > to_end)
		len = to_end;
	return len < left ? len : left;
}

/* A completion entry is one TLP: it is there or it is not. */
static enum rn_mem_result write_cqe(struct rn_host_nic *nic, struct rn_tlp *tlp,
				    rn_iova dst, const void *src, uint32_t len)
{
	rn_iova end;

	aim(nic->host, tlp, dst, &end);
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
		uint32_t n;

		if (at == end)
			aim(h, tlp, at, &end);
		n = write_piece(rn_host_knobs(h), at, len,
				end - at < PAGE ? (uint32_t)(end - at) : PAGE);
		tlp->addr = at;
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
	tlp = header(nic, RN_TLP_WRITE, attr);
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

/* --------------------------------------------------------------------- read */
static void piece_read(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result)
{
	struct rn_nic_op *op = arg;

	(void)tlp;
	if (result != RN_MEM_DONE)
		op->result = RN_MEM_FAULT;
	rn_nic_op_ended(op);
}

/* One TLP more for @op. False: it could not be sent. */
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

/* Pieces end where granules do: a power of two of bytes. */
static uint32_t read_size(const struct rn_pcie_knobs *k, uint32_t len)
{
	uint32_t size = k->granule;

	while (size < PAGE && len / size > READ_PIECES)
		size *= 2;
	return size;
}

static enum rn_mem_result nic_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag)
{
	struct rn_host_nic *nic = ctx;
	struct rn_host *h = nic->host;
	enum rn_mem_result result = RN_MEM_FAULT;
	rn_iova at = src, end = src, stop = src + len;
	uint8_t *to = dst;
	struct rn_nic_op *op;
	struct rn_tlp tlp;
	uint32_t size;

	assert(len > 0);
	if (rn_host_is_forked())
		return RN_MEM_FAULT;
	rn_host_lock(h);
	tlp = header(nic, RN_TLP_READ, attr);
	size = read_size(rn_host_knobs(h), len);
	op = rn_nic_op_take(nic, attr.qpn, tag);
	for (bool ok = op != NULL; ok && at < stop; at += tlp.len, to += tlp.len) {
		if (at == end)
			aim(h, &tlp, at, &end);
		tlp.addr = at;
		tlp.len = to_boundary(at, size);
		if (tlp.len > stop - at)
			tlp.len = (uint32_t)(stop - at);
		if (tlp.len > end - at)
			tlp.len = (uint32_t)(end - at);
		ok = send_for(op, &tlp, to, piece_read);
	}
	if (op)
		result = rn_nic_op_begun(op);
	rn_host_unlock(h);
	return result;
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

/* The lock, now of @op; NULL: it waits for it, or there is no memory (result). */
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

/* To the next that waits and can begin, or away. */
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
		rn_nic_op_ended(op); /* its waiting */
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
	(void)result; /* counted; the word was there when it was read */
	unlock_word(arg);
}

/* The word to write; false: the comparison failed and nothing is written. */
static bool compute(const struct rn_host_atomic *a, uint64_t *value)
{
	switch (a->req.op) {
	case RN_MEM_FETCH_ADD:
		*value = a->found + a->req.operand;
		return true;
	case RN_MEM_CMP_SWAP:
		*value = a->req.operand;
		return a->found == a->req.compare;
	}
	return false;
}

/* The lock goes when the write has been performed: later than it must, which is legal. */
static void locked_read(void *arg, const struct rn_tlp *request,
			enum rn_mem_result result)
{
	struct rn_nic_op *op = arg;
	struct rn_nic_lock *l = find_lock(op->nic, op->atomic.req.dst);
	struct rn_tlp tlp = header(op->nic, RN_TLP_WRITE, op->attr);
	bool is_sent = false;
	uint64_t value;

	assert(l);
	tlp.flags = (uint8_t)((tlp.flags & RN_TLP_IDO) | RN_TLP_LOCK);
	tlp.tag = RN_NIC_LOCKED;
	tlp.target = request->requester; /* of the completion: the memory */
	tlp.addr = op->atomic.req.dst;
	tlp.len = sizeof(value);
	if (result == RN_MEM_DONE)
		*op->orig = op->atomic.found;
	else
		op->result = RN_MEM_FAULT;
	if (result == RN_MEM_DONE && compute(&op->atomic, &value)) {
		is_sent = rn_host_issue(op->nic->host, &tlp, &value, locked_written, l) >=
			  0;
		if (!is_sent)
			op->result = RN_MEM_FAULT;
	}
	if (!is_sent)
		unlock_word(l);
	rn_nic_op_ended(op);
}

static bool send_locked_read(struct rn_nic_op *op)
{
	struct rn_tlp tlp = header(op->nic, RN_TLP_READ, op->attr);
	rn_iova end;

	tlp.flags &= RN_TLP_IDO;
	tlp.tag = RN_NIC_LOCKED;
	tlp.addr = op->atomic.req.dst;
	tlp.len = sizeof(op->atomic.found);
	aim(op->nic->host, &tlp, tlp.addr, &end);
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
	rn_nic_op_ended(op);
}

static void begin_pcie(struct rn_nic_op *op)
{
	struct rn_tlp tlp = header(op->nic, RN_TLP_ATOMIC, op->attr);
	rn_iova end;

	tlp.addr = op->atomic.req.dst;
	tlp.len = sizeof(op->atomic.found);
	aim(op->nic->host, &tlp, tlp.addr, &end);
	(void)send_for(op, &tlp, &op->atomic, atomic_done);
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
	rn_host_event(nic->host); /* it may send nothing, and wait for another's lock */
	op = rn_nic_op_take(nic, attr.qpn, tag);
	if (op) {
		op->attr = attr;
		op->orig = orig;
		op->atomic.req = *req;
		if (rn_host_knobs(nic->host)->atomic == RN_ATOMIC_BY_PCIE)
			begin_pcie(op);
		else
			begin_locked(op);
		result = rn_nic_op_begun(op);
	}
	rn_host_unlock(nic->host);
	return result;
}

const struct rn_mem_ops rn_host_nic_ops = {
	.always_done = false,
	.write = nic_write,
	.read = nic_read,
	.atomic = nic_atomic,
};
