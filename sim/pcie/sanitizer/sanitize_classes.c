/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_classes.c - determines for several classes of machines at once which writes of
 * devices are pending: nothing that the program has done orders them before its next
 * step.
 *
 * Each class has a fabric of its own, with the knobs of such a machine. Every TLP of the
 * hierarchy is issued in these fabrics, too, without its payload. There no TLP moves
 * because time passes; it moves only when an event shows that it must have moved. The
 * events, and what each of them forces:
 *
 *	a completion is taken		the CQE, and with it what the CQE must not pass
 *	a CPU, GPU or drive reads	the read, and with it what the read pushes
 *	a doorbell (launch, flush)	the doorbell, with what it pushes; the inside of
 *					the GPU is emptied
 *	a NIC has read			the read; if it serves a READ, FLUSH or atomic of
 *					this process, only when a completion is taken, or
 *					a write seen, that was sent after it; and if a
 *					request without a fence was posted behind, only
 *					when its own completion is taken
 *	written bytes are seen		the write (reads-from)
 *
 * The write with which an atomic of this process ends is data, too. If a request that
 * does not wait for the atomic was posted after it, the NIC of another machine may
 * execute that request first, although this NIC did not. So the write of such an
 * "overtaken" atomic is in no queue until the completion of the atomic is taken, or until
 * a request that waits for it is posted.
 *
 * So if a write is still in the fabric of a class, nothing orders it before the program's
 * next step on such a machine, however long ago its bytes became visible in this run. So
 * the findings depend only on the order of events, not on time, load or seeds.
 *
 * The fabrics stay small: consecutive writes of one message become one TLP, and a write
 * replaces an older one of the same QP to the same bytes. If a fabric is full
 * nevertheless, its oldest TLP is forced, and mistakes about these bytes are missed.
 */
#include <stdlib.h>
#include <string.h>

#include "rocin/hash.h"
#include "sanitize_internal.h"
#include "sim/pcie/host/host_internal.h"
#include "sim/pcie/page/page.h"
#include "transport/io/host/log.h"

enum {
	TLPS = 2048, /* capacity of the fabric of one class */
	/* With the knob place=msg or place=any the bytes of a message become visible in
	 * no order, so each write needs a TLP of its own. But a long message would fill
	 * the fabric. So only the first APART writes of a message have a TLP each. After
	 * that, one TLP stands for all writes of the message to a block of BLOCK bytes. A
	 * message of 1 MiB then needs about 320 TLPs.
	 */
	APART = 64,
	BLOCK = 4096, /* bytes */
	STARTS = 1024,
	/* maximum number of writes of overtaken atomics, which are in no queue */
	OVERTAKEN = 64,
	FILTER = 1 << 16,
};

/* Links of the TLP with this index in the fabric. Writes whose first addresses have the
 * same hash form a chain, in which the newest write is the first. A TLP stays in its
 * chain until another write uses its index.
 */
struct start {
	uint16_t newer, older; /* next writes in the chain; RN_TLP_NONE: there is none */
	/* number of the chain; RN_TLP_NONE: the TLP is in no chain */
	uint16_t chain;
};

static struct class
{
	struct rn_fabric *fabric;
	/* The "open" write: the last TLP of a message, to which the next bytes of this
	 * message are added.
	 */
	struct rn_san_place open;
	/* @older: an older write that begins at the same address as @open. When @open is
	 * as long as @older, @open replaces it. @parts: number of TLPs of the message of
	 * @open.
	 */
	struct rn_san_place older;
	uint32_t parts;
	struct start start[TLPS];
	uint16_t chain[STARTS]; /* newest write of each chain, or RN_TLP_NONE */
	/* Writes of overtaken atomics, in the order in which they were issued. */
	struct rn_tlp overtaken[OVERTAKEN];
	unsigned overtaken_count;
	/* Element i: the place in this fabric of the TLP that has payload slot i
	 * (rn_tlp.data) in the hierarchy.
	 */
	struct rn_san_place read_of[RN_SAN_SLOTS];
} classes[RN_SAN_CLASS_COUNT];
/* Number of classes in use: all of them, or only `given', the machine with the user's
 * knobs.
 */
static unsigned class_count;

static const char *const knobs_of[RN_SAN_CLASS_COUNT] = {
#define X(symbol, name, knobs, what) [RN_SAN_CLASS_##symbol] = (knobs),
	RN_SAN_CLASSES(X)
#undef X
};

const struct rn_pcie_knobs *rn_san_class_knobs(unsigned class)
{
	return rn_fabric_knobs(classes[class].fabric);
}

/* ------------------------------------ filter: pages without pending writes */
/* Element i: number of pending writes to pages whose hash is i. A read of a page with 0
 * pending writes need not search the fabrics. Most reads are of such pages.
 */
static uint32_t pending_in[FILTER];

static uint32_t *filter_of(rn_iova page)
{
	return &pending_in[(rn_hash_word(page / RN_PAGE_SIZE) >> 40) % FILTER];
}

static void count_pending(const struct rn_tlp *tlp, rn_iova addr, uint64_t len,
			  int change)
{
	for (rn_iova at = rn_page_down(addr); at < addr + len; at += RN_PAGE_SIZE)
		*filter_of(at) += (uint32_t)change;
	rn_san_pages_pending(tlp, addr, len, change);
}

bool rn_san_class_may_pend(rn_iova addr, uint64_t len)
{
	if (len > (uint64_t)FILTER * RN_PAGE_SIZE)
		return true;
	for (rn_iova at = rn_page_down(addr); at < addr + len; at += RN_PAGE_SIZE)
		if (*filter_of(at))
			return true;
	return false;
}

/* ------------------------------------------------------- fabric of a class */
/* Removes the oldest write that @match accepts from overtaken[] and copies it to *@tlp.
 * Returns false if there is none.
 */
static bool take_overtaken(struct class *c,
			   bool (*match)(const struct rn_tlp *tlp, const void *arg),
			   const void *arg, struct rn_tlp *tlp)
{
	for (unsigned i = 0; i < c->overtaken_count; i++) {
		if (!match(&c->overtaken[i], arg))
			continue;
		*tlp = c->overtaken[i];
		c->overtaken_count--;
		memmove(&c->overtaken[i], &c->overtaken[i + 1],
			(c->overtaken_count - i) * sizeof(*tlp));
		return true;
	}
	return false;
}

/* Returns true if @tlp is the write of an atomic of the same QP as @arg and was issued
 * before @arg. Atomics of one QP are executed in order.
 */
static bool is_atomic_before(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_tlp *later = arg;

	return tlp->requester == later->requester && tlp->stream == later->stream &&
	       tlp->seq < later->seq;
}

static void write_landed(const struct class *c, const struct rn_tlp *tlp)
{
	rn_san_candidate_performed((unsigned)(c - classes), tlp->seq);
	if (c == &classes[RN_SAN_CLASS_GIVEN])
		rn_san_withheld_store(tlp);
	count_pending(tlp, tlp->addr, tlp->len, -1);
}

static void write_is_there(void *ctx, const struct rn_tlp *tlp)
{
	struct rn_tlp before;

	if (tlp->kind != RN_TLP_WRITE)
		return;
	while (tlp->flags & RN_TLP_LOCK &&
	       take_overtaken(ctx, is_atomic_before, tlp, &before))
		write_landed(ctx, &before);
	write_landed(ctx, tlp);
}

static void answer_is_there(void *ctx, const struct rn_tlp *tlp)
{
	(void)ctx;
	(void)tlp;
}

static const struct rn_fabric_ops ops = { .perform = write_is_there,
					  .complete = answer_is_there };

static const struct rn_tlp *tlp_at(const struct class *c, struct rn_san_place p)
{
	const struct rn_tlp *tlp = rn_fabric_tlp(c->fabric, p.index);

	return tlp && tlp->seq == p.seq ? tlp : NULL;
}

static struct rn_san_place place_of(const struct class *c, unsigned index)
{
	return (struct rn_san_place){ .index = (uint16_t)index,
				      .seq = rn_fabric_tlp(c->fabric, index)->seq };
}

static void force(struct class *c, unsigned index)
{
	rn_fabric_force(c->fabric, &ops, c, index);
}

static void force_place(struct class *c, struct rn_san_place p)
{
	if (tlp_at(c, p))
		force(c, p.index);
}

static void drop(struct class *c, unsigned index)
{
	const struct rn_tlp tlp = *rn_fabric_tlp(c->fabric, index);

	rn_fabric_drop(c->fabric, index);
	rn_san_candidate_performed((unsigned)(c - classes), tlp.seq);
	if (c == &classes[RN_SAN_CLASS_GIVEN])
		rn_san_withheld_drop(&tlp);
	count_pending(&tlp, tlp.addr, tlp.len, -1);
}

/* ------------------------------------------------------- joining of writes */
static bool is_data(const struct rn_tlp *tlp)
{
	return tlp->kind == RN_TLP_WRITE &&
	       !(tlp->flags & (RN_TLP_CQE | RN_TLP_LOCK | RN_TLP_BELL));
}

static bool is_same_stream(const struct rn_tlp *a, const struct rn_tlp *b)
{
	return a->requester == b->requester && a->stream == b->stream &&
	       a->target == b->target && a->flags == b->flags;
}

static bool is_in_order(const struct class *c, const struct rn_tlp *tlp)
{
	const struct rn_pcie_knobs *k = rn_fabric_knobs(c->fabric);

	return k->place <= RN_PLACE_PCIE && !(tlp->flags & RN_TLP_RO) &&
	       (k->gpu_ordering != RN_GPU_ORDER_NONE || !rn_agent_is_gpu(tlp->target));
}

/* Returns true if the fabric of class @c keeps the write @tlp as one TLP. Returns false
 * if the fabric keeps it in pieces of a granule, which become visible one by one. The
 * bytes of @tlp lie in one block of BLOCK bytes.
 */
static bool is_joined(const struct class *c, const struct rn_tlp *tlp)
{
	const struct rn_tlp *open = tlp_at(c, c->open);

	return !is_data(tlp) || is_in_order(c, tlp) ||
	       (open && open->msg == tlp->msg && is_same_stream(open, tlp) &&
		c->parts > APART);
}

bool rn_san_class_joins(const struct rn_tlp *tlp)
{
	return is_joined(&classes[RN_SAN_CLASS_GIVEN], tlp);
}

static bool continues(const struct class *c, const struct rn_tlp *open,
		      const struct rn_tlp *tlp)
{
	if (!open || !is_data(tlp) || !is_same_stream(open, tlp) ||
	    open->msg != tlp->msg || open->addr + open->len != tlp->addr ||
	    c->open.index != rn_fabric_youngest(c->fabric))
		return false;
	return is_in_order(c, tlp) || (c->parts > APART && tlp->addr % BLOCK != 0);
}

static uint16_t chain_of(rn_iova addr)
{
	return (rn_hash_word(addr) >> 40) % STARTS;
}

static void unlink_start(struct class *c, unsigned index)
{
	const struct start *s = &c->start[index];

	if (s->chain == RN_TLP_NONE)
		return;
	if (s->newer == RN_TLP_NONE)
		c->chain[s->chain] = s->older;
	else
		c->start[s->newer].older = s->older;
	if (s->older != RN_TLP_NONE)
		c->start[s->older].newer = s->newer;
}

static void link_start(struct class *c, unsigned index, rn_iova addr)
{
	uint16_t chain = chain_of(addr), older;

	unlink_start(c, index);
	older = c->chain[chain];
	c->start[index] =
		(struct start){ .newer = RN_TLP_NONE, .older = older, .chain = chain };
	if (older != RN_TLP_NONE)
		c->start[older].newer = (uint16_t)index;
	c->chain[chain] = (uint16_t)index;
}

/* Returns the place of the newest write that begins at the same address as @tlp and
 * belongs to the same stream (QP).
 */
static struct rn_san_place find_older(const struct class *c, const struct rn_tlp *tlp)
{
	unsigned i = c->chain[chain_of(tlp->addr)];

	for (; i != RN_TLP_NONE; i = c->start[i].older) {
		const struct rn_tlp *older = rn_fabric_tlp(c->fabric, i);

		if (older && older != tlp && is_data(older) && older->addr == tlp->addr &&
		    is_same_stream(older, tlp))
			return place_of(c, i);
	}
	return (struct rn_san_place){ .index = RN_TLP_NONE };
}

/* If the open write has become as long as the older write that begins at the same address
 * (c->older), drops the older one: the open write overwrites all of its bytes. Both are
 * writes of one QP, so the open one takes effect later.
 */
static void replace_older(struct class *c)
{
	const struct rn_tlp *open = tlp_at(c, c->open), *older = tlp_at(c, c->older);

	if (!open || !older || older->len > open->len)
		return;
	drop(c, c->older.index);
	c->older = (struct rn_san_place){ .index = RN_TLP_NONE };
}

static void open_write(struct class *c, unsigned index)
{
	const struct rn_tlp *before = tlp_at(c, c->open);
	const struct rn_tlp *tlp = rn_fabric_tlp(c->fabric, index);

	c->parts = before && before->msg == tlp->msg && is_same_stream(before, tlp)
			   ? c->parts + 1
			   : 1;
	c->older = find_older(c, tlp);
	c->open = place_of(c, index);
	link_start(c, index, tlp->addr);
	replace_older(c);
}

/* ----------------------------------------------------- overtaken atomics */
static bool is_same_place(const struct rn_tlp *tlp, const void *arg)
{
	return rn_tlp_overlap(tlp, arg);
}

/* Performs those writes of overtaken atomics that @match accepts. */
static void perform_overtaken(struct class *c,
			      bool (*match)(const struct rn_tlp *tlp, const void *arg),
			      const void *arg)
{
	struct rn_tlp tlp;

	while (take_overtaken(c, match, arg, &tlp))
		write_is_there(c, &tlp);
}

static bool is_end_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_san_wr *wr = arg;

	return rn_san_is_of_atomic(tlp) && rn_san_is_judged(tlp) &&
	       tlp->addr == wr->remote_addr;
}

static void overtake_write(struct class *c, unsigned index)
{
	if (c->overtaken_count == OVERTAKEN) {
		force(c, index);
		return;
	}
	c->overtaken[c->overtaken_count++] = *rn_fabric_tlp(c->fabric, index);
	rn_fabric_drop(c->fabric, index);
}

static void overtake_in_class(struct class *c, const struct rn_san_wr *wr)
{
	unsigned younger;

	for (unsigned i = rn_fabric_oldest(c->fabric); i != RN_TLP_NONE; i = younger) {
		younger = rn_fabric_younger(c->fabric, i);
		if (is_end_of(rn_fabric_tlp(c->fabric, i), wr)) {
			overtake_write(c, i);
			return;
		}
	}
}

void rn_san_class_atomic_overtaken(const struct rn_san_wr *wr)
{
	for (unsigned i = 0; i < class_count; i++)
		overtake_in_class(&classes[i], wr);
}

/* -------------------------------------------- issue of TLPs in the classes */
/* Issues the TLP in the fabric of a class of machines. Returns its place there. */
static struct rn_san_place issue(struct class *c, const struct rn_tlp *tlp)
{
	struct rn_san_place none = { .index = RN_TLP_NONE };
	int index;

	if (rn_fabric_room(c->fabric) == 0)
		force(c, rn_fabric_oldest(c->fabric));
	if (tlp->kind == RN_TLP_WRITE)
		perform_overtaken(c, is_same_place, tlp);
	/* The write is counted as pending before it is issued. If no queue lies between
	 * requester and target, rn_fabric_issue() performs the write at once and calls
	 * write_is_there(), which subtracts it.
	 */
	if (tlp->kind == RN_TLP_WRITE)
		count_pending(tlp, tlp->addr, tlp->len, 1);
	index = rn_fabric_issue(c->fabric, &ops, c, tlp);
	if (index < 0 && tlp->kind == RN_TLP_WRITE)
		count_pending(tlp, tlp->addr, tlp->len, -1);
	if (index < 0 || index == RN_TLP_NONE)
		return none;
	return place_of(c, (unsigned)index);
}

void rn_san_class_atomic_executed(const struct rn_san_wr *wr)
{
	struct rn_tlp tlp;

	for (unsigned i = 0; i < class_count; i++)
		while (take_overtaken(&classes[i], is_end_of, wr, &tlp)) {
			issue(&classes[i], &tlp);
			count_pending(&tlp, tlp.addr, tlp.len, -1);
		}
}

/* Adds the bytes of @tlp to the open write. The open write then counts as pending for the
 * pages of these bytes, too.
 */
static void extend_open(struct class *c, const struct rn_tlp *tlp)
{
	const struct rn_tlp *open = tlp_at(c, c->open);
	rn_iova page = rn_page_up(tlp->addr), end = tlp->addr + tlp->len;

	assert(open);
	perform_overtaken(c, is_same_place, tlp);
	if (c == &classes[RN_SAN_CLASS_GIVEN])
		rn_san_withheld_join(open->tag);
	if (page < end)
		count_pending(tlp, page, end - page, 1);
	rn_fabric_extend(c->fabric, c->open.index, tlp->len);
	replace_older(c);
}

static void issue_write(struct class *c, const struct rn_tlp *tlp,
			struct rn_san_place *cqe)
{
	struct rn_san_place p;

	if (continues(c, tlp_at(c, c->open), tlp)) {
		extend_open(c, tlp);
		return;
	}
	p = issue(c, tlp);
	if (p.index == RN_TLP_NONE)
		return;
	if (tlp->flags & RN_TLP_BELL)
		force(c, p.index);
	else if (tlp->flags & RN_TLP_CQE)
		*cqe = p;
	else if (is_data(tlp))
		open_write(c, p.index);
}

/* Issues a write that lies in one block. Unless the fabric keeps it as one TLP, issues a
 * TLP for each granule, the size in which bytes become visible on this class of machines.
 */
static void issue_granules(struct class *c, const struct rn_tlp *tlp,
			   struct rn_san_place *cqe)
{
	uint32_t granule = rn_fabric_knobs(c->fabric)->granule;
	struct rn_tlp piece = *tlp;
	rn_iova end = tlp->addr + tlp->len;

	if (is_joined(c, tlp)) {
		issue_write(c, tlp, cqe);
		return;
	}
	for (; piece.addr < end; piece.addr += piece.len) {
		piece.len = granule - (uint32_t)(piece.addr & (granule - 1));
		if (piece.len > end - piece.addr)
			piece.len = (uint32_t)(end - piece.addr);
		issue_write(c, &piece, cqe);
	}
}

void rn_san_class_issue(const struct rn_tlp *real, bool is_judged,
			struct rn_san_place cqe[RN_SAN_CLASS_COUNT])
{
	struct rn_tlp tlp = *real;

	/* no completion covers the write yet, see rn_san_class_cover() */
	tlp.data = 0;
	if (tlp.kind == RN_TLP_WRITE)
		tlp.txn = (uint32_t)rn_san.reads;
	tlp.tag = is_judged ? rn_san_withheld_list() : 0;
	for (unsigned i = 0; i < class_count; i++) {
		struct rn_san_place p = { .index = RN_TLP_NONE };

		if (i != RN_SAN_CLASS_GIVEN)
			tlp.flags &= (uint8_t)~RN_TLP_NEAR;
		if (tlp.kind == RN_TLP_WRITE)
			issue_granules(&classes[i], &tlp, &p);
		else
			classes[i].read_of[real->data] = issue(&classes[i], &tlp);
		cqe[i] = p;
	}
}

/* ------------------------------------ events, and the TLPs that they force */
static bool is_served_before(const struct rn_tlp *tlp, const void *arg)
{
	const uint64_t *reads = arg;

	return tlp->kind != RN_TLP_WRITE && tlp->data && tlp->data <= *reads;
}

void rn_san_class_cqe_taken(const struct rn_san_place cqe[RN_SAN_CLASS_COUNT],
			    uint64_t reads)
{
	for (unsigned i = 0; i < class_count; i++) {
		struct class *c = &classes[i];

		rn_fabric_force_if(c->fabric, &ops, c, is_served_before, &reads);
		force_place(c, cqe[i]);
	}
}

void rn_san_class_read_served(const struct rn_tlp *real, uint64_t reads)
{
	for (unsigned i = 0; i < class_count; i++)
		if (tlp_at(&classes[i], classes[i].read_of[real->data]))
			rn_fabric_mark(classes[i].fabric,
				       classes[i].read_of[real->data].index, reads);
}

void rn_san_class_read_done(const struct rn_tlp *real)
{
	for (unsigned i = 0; i < class_count; i++)
		force_place(&classes[i], classes[i].read_of[real->data]);
}

/* Arguments of the functions that decide whether a TLP is to be forced. */
struct range {
	rn_iova addr;
	uint64_t len;
	unsigned agent;
};

static bool touches_range(const struct rn_tlp *tlp, const struct range *r)
{
	return rn_tlp_touches(tlp, r->addr, r->len);
}

/* Forces those TLPs that @match accepts, in the fabrics of all classes of machines. */
static void force_if(bool (*match)(const struct rn_tlp *tlp, const void *arg),
		     const void *arg)
{
	for (unsigned i = 0; i < class_count; i++) {
		rn_fabric_force_if(classes[i].fabric, &ops, &classes[i], match, arg);
		perform_overtaken(&classes[i], match, arg);
	}
}

static bool serves(const struct rn_tlp *tlp, const void *arg)
{
	return tlp->data && rn_san_may_serve(tlp, arg);
}

void rn_san_class_fetch_overtaken(const struct rn_san_wr *wr)
{
	for (unsigned c = 0; c < class_count; c++) {
		struct rn_fabric *f = classes[c].fabric;

		for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
		     i = rn_fabric_younger(f, i))
			if (serves(rn_fabric_tlp(f, i), wr))
				rn_fabric_mark(f, i, RN_SAN_LATER);
	}
}

void rn_san_class_fetch_done(const struct rn_san_wr *wr)
{
	force_if(serves, wr);
}

static bool is_cqe_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct range *r = arg;

	return tlp->requester == r->agent && tlp->kind == RN_TLP_WRITE &&
	       (tlp->flags & RN_TLP_CQE) != 0;
}

static bool is_device_write_to(const struct rn_tlp *tlp, const void *arg)
{
	return rn_san_is_by_device(tlp) && !(tlp->flags & RN_TLP_CQE) &&
	       touches_range(tlp, arg);
}

static bool is_own_write_to(const struct rn_tlp *tlp, const void *arg)
{
	return tlp->kind == RN_TLP_WRITE && !rn_san_is_by_device(tlp) &&
	       touches_range(tlp, arg);
}

static bool is_to_or_from(const struct rn_tlp *tlp, const void *arg)
{
	return touches_range(tlp, arg);
}

void rn_san_class_stored(unsigned agent)
{
	force_if(is_cqe_of, &(struct range){ .agent = agent });
}

/* Returns the number of reads that had been performed when the newest pending write of a
 * device to the range was issued. Such reads serve requests of this process.
 */
static uint64_t reads_before(const struct class *c, const struct range *r)
{
	uint64_t reads = 0;

	for (unsigned i = rn_fabric_youngest(c->fabric); i != RN_TLP_NONE && !reads;
	     i = rn_fabric_older(c->fabric, i))
		if (is_device_write_to(rn_fabric_tlp(c->fabric, i), r))
			reads = rn_fabric_tlp(c->fabric, i)->txn;
	return reads;
}

static void force_served_before(struct class *c, uint64_t reads)
{
	if (reads)
		rn_fabric_force_if(c->fabric, &ops, c, is_served_before, &reads);
}

void rn_san_class_seen(rn_iova addr, uint64_t len)
{
	const struct range r = { .addr = addr, .len = len };
	uint64_t reads, most = 0;

	if (!rn_san_class_may_pend(addr, len))
		return;
	for (unsigned i = 0; i < class_count; i++) {
		reads = reads_before(&classes[i], &r);
		most = reads > most ? reads : most;
		force_served_before(&classes[i], reads);
	}
	/* In the class `given', a write that is not withheld has been performed already.
	 * So the number of reads for this class is taken from the other classes.
	 */
	force_served_before(&classes[RN_SAN_CLASS_GIVEN], most);
	force_if(is_device_write_to, &r);
}

static bool is_on_its_way(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_tlp *landed = arg;
	const struct rn_fabric *f = rn_host_fabric(rn_san.host);
	const struct range r = { .addr = tlp->addr, .len = tlp->len };

	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i))
		if (rn_fabric_tlp(f, i)->seq != landed->seq &&
		    is_device_write_to(rn_fabric_tlp(f, i), &r))
			return true;
	return false;
}

static bool has_landed(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_tlp *landed = arg;
	const struct range r = { .addr = landed->addr, .len = landed->len };

	return is_device_write_to(tlp, &r) && !is_on_its_way(tlp, landed);
}

void rn_san_class_landed(const struct rn_tlp *real)
{
	if (rn_san_class_may_pend(real->addr, real->len))
		force_if(has_landed, real);
}

void rn_san_class_own_seen(rn_iova addr, uint64_t len)
{
	if (!rn_san_class_may_pend(addr, len))
		return;
	force_if(is_own_write_to, &(struct range){ .addr = addr, .len = len });
}

void rn_san_class_flush(const struct rn_tlp *flush, unsigned scope)
{
	for (unsigned i = 0; i < class_count; i++)
		if (rn_san_class_knobs(i)->gpu_ordering < scope)
			force_place(&classes[i], issue(&classes[i], flush));
}

static bool is_of_qp(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_tlp *qp = arg;

	return tlp->requester == qp->requester &&
	       (!qp->stream || tlp->stream == qp->stream);
}

void rn_san_class_drain(unsigned agent, uint32_t qpn)
{
	const struct rn_tlp qp = { .requester = (uint8_t)agent, .stream = qpn };

	force_if(is_of_qp, &qp);
}

static bool is_judged_of_qp(const struct rn_tlp *tlp, const void *arg)
{
	return rn_san_is_judged(tlp) && is_of_qp(tlp, arg);
}

void rn_san_class_placed(unsigned agent, uint32_t qpn)
{
	const struct rn_tlp qp = { .requester = (uint8_t)agent, .stream = qpn };

	for (unsigned i = 0; i < class_count; i++) {
		if (rn_san_class_knobs(i)->ack != RN_ACK_PLACED)
			continue;
		rn_fabric_force_if(classes[i].fabric, &ops, &classes[i], is_judged_of_qp,
				   &qp);
		perform_overtaken(&classes[i], is_judged_of_qp, &qp);
	}
}

void rn_san_class_emptied(rn_iova addr, uint64_t len)
{
	force_if(is_to_or_from, &(struct range){ .addr = addr, .len = len });
}

/* ----------------------------------- completions that cover pending writes */
void rn_san_class_cover(bool (*is_covered)(const struct rn_tlp *tlp, const void *arg),
			const void *arg, uint32_t cover)
{
	for (unsigned c = 0; c < class_count; c++) {
		struct rn_fabric *f = classes[c].fabric;

		for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
		     i = rn_fabric_younger(f, i)) {
			const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

			if (!tlp->data && is_data(tlp) && is_covered(tlp, arg))
				rn_fabric_mark(f, i, cover);
		}
	}
}

/* -------------------------------------------- queries about pending writes */
/* Returns the newest pending write of a device to the range, or NULL. */
static const struct rn_tlp *newest_pending(const struct class *c, const struct range *r)
{
	const struct rn_fabric *f = c->fabric;

	for (unsigned i = rn_fabric_youngest(f); i != RN_TLP_NONE;
	     i = rn_fabric_older(f, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(f, i);

		if (rn_san_is_judged(tlp) && touches_range(tlp, r))
			return tlp;
	}
	for (unsigned i = c->overtaken_count; i > 0; i--)
		if (touches_range(&c->overtaken[i - 1], r))
			return &c->overtaken[i - 1];
	return NULL;
}

unsigned rn_san_class_pending(rn_iova addr, uint64_t len,
			      const struct rn_tlp *by[RN_SAN_CLASS_COUNT])
{
	const struct range r = { .addr = addr, .len = len };
	unsigned found = 0;

	if (!rn_san_class_may_pend(addr, len))
		return 0;
	for (unsigned i = 0; i < class_count; i++) {
		by[i] = newest_pending(&classes[i], &r);
		if (by[i])
			found |= 1U << i;
	}
	return found;
}

void rn_san_class_land(const struct rn_tlp *real)
{
	struct class *c = &classes[RN_SAN_CLASS_GIVEN];
	const struct range r = { .addr = real->addr, .len = real->len };

	for (unsigned i = rn_fabric_youngest(c->fabric); i != RN_TLP_NONE;
	     i = rn_fabric_older(c->fabric, i)) {
		const struct rn_tlp *tlp = rn_fabric_tlp(c->fabric, i);

		if (!rn_san_is_judged(tlp) || !is_same_stream(tlp, real) ||
		    !touches_range(tlp, &r))
			continue;
		force(c, i);
		return;
	}
	perform_overtaken(c, is_same_place, real);
}

void rn_san_class_force_oldest(void)
{
	struct class *c = &classes[RN_SAN_CLASS_GIVEN];

	force(c, rn_fabric_oldest(c->fabric));
}

/* ------------------------------------------------- creation of the classes */
static void forget_places(struct class *c)
{
	const struct rn_san_place none = { .index = RN_TLP_NONE };

	c->open = c->older = none;
	c->overtaken_count = 0;
	for (unsigned i = 0; i < STARTS; i++)
		c->chain[i] = RN_TLP_NONE;
	for (unsigned i = 0; i < TLPS; i++)
		c->start[i].chain = RN_TLP_NONE;
	for (unsigned i = 0; i < RN_SAN_SLOTS; i++)
		c->read_of[i] = none;
}

static bool make_class(unsigned i, const struct rn_pcie_knobs *given)
{
	struct rn_pcie_knobs k = *given;
	void *mem = classes[i].fabric;
	char err[200];

	if (!mem)
		mem = malloc(rn_fabric_size(TLPS));
	if (!mem)
		return false;
	if (*knobs_of[i] && rn_pcie_parse(&k, knobs_of[i], err, sizeof(err)) != 0)
		assert(!"the knobs of a class");
	classes[i].fabric = rn_fabric_init(mem, TLPS, &k);
	forget_places(&classes[i]);
	return true;
}

bool rn_san_classes_make(const struct rn_pcie_knobs *given)
{
	class_count = rn_san.options.level == RN_SANITIZE_SILENT ? RN_SAN_CLASS_GIVEN + 1
								 : RN_SAN_CLASS_COUNT;
	for (unsigned i = 0; i < class_count; i++)
		if (!make_class(i, given))
			return false;
	return true;
}
