/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - the memory of a simulated host, and the checks of all accesses to it. The
 * memory consists of slots, each of which serves one purpose at a time.
 */
#include <string.h>

#include "rocin/transport.h"
#include "world_internal.h"

enum {
	KEY = 0x155a,
	COUNTER_KEY = 0x1666,
	PD = 1
};

/* Writes bytes @from to @from + @len of the sequence that @pattern generates. */
static void fill_pattern(uint8_t *to, uint64_t pattern, uint32_t from, uint32_t len)
{
	for (uint32_t i = 0; i < len;) {
		uint64_t word = rn_random_mix(pattern + (from + i) / 8);
		uint32_t skip = (from + i) % 8;

		for (uint32_t k = skip; k < 8 && i < len; k++, i++)
			to[i] = (uint8_t)(word >> 8 * k);
	}
}

void rn_w_fill(uint8_t *to, uint64_t pattern, uint32_t len)
{
	fill_pattern(to, pattern, 0, len);
}

static bool matches(const uint8_t *bytes, uint64_t pattern, uint32_t from, uint32_t len)
{
	uint8_t want[RN_W_SLOT];

	assert(len <= sizeof(want));
	fill_pattern(want, pattern, from, len);
	return memcmp(bytes, want, len) == 0;
}

bool rn_w_matches(const uint8_t *bytes, uint64_t pattern, uint32_t len)
{
	return matches(bytes, pattern, 0, len);
}

static void add_region(struct rn_w_device *d, struct rn_mr *mr, uint32_t key,
		       uint64_t base, uint64_t length)
{
	const struct rn_mr_attr attr = {
		.key = key,
		.pd = PD,
		.va = base,
		.length = length,
		.iova_base = base,
		.access = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			  RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC |
			  RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_MW_BIND,
	};
	int rc = rn_mr_init(mr, &attr);

	assert(rc == 0);
	rn_dev_add_mr(d->dev, mr);
}

/* Puts a slot at the end of the list of free slots. A slot is reused as late as
 * possible, so that an access that comes too late finds it closed.
 */
static void give_back(struct rn_w_device *d, uint32_t slot)
{
	struct rn_w_free *f = &d->free[slot >= RN_W_LOCAL];

	f->slot[f->tail++ % RN_W_SLOTS] = slot;
}

void rn_w_mem_init(struct rn_w_device *d)
{
	memset(d->slot, 0, sizeof(d->slot));
	memset(d->op, 0, sizeof(d->op));
	memset(d->counter, 0, sizeof(d->counter));
	memset(d->free, 0, sizeof(d->free));
	for (uint32_t i = 0; i < RN_W_SLOTS; i++)
		give_back(d, i);
	add_region(d, &d->mr, KEY, RN_W_BASE, sizeof(d->memory));
	add_region(d, &d->counters, COUNTER_KEY, RN_W_COUNTER, sizeof(d->counter));
}

/* ------------------------------------------------------------- slots of memory */
uint32_t rn_w_slot_take(struct rn_w_device *d, enum rn_w_use use, uint32_t qpn,
			uint32_t len, uint64_t pattern)
{
	struct rn_w_free *f = &d->free[use == RN_W_FETCHED || use == RN_W_TARGET];
	struct rn_w_slot *s;
	uint32_t i;

	assert(len <= RN_W_SLOT - 64);
	if (f->head == f->tail)
		return RN_W_NONE;
	i = f->slot[f->head++ % RN_W_SLOTS];
	s = &d->slot[i];
	*s = (struct rn_w_slot){
		.use = use,
		.qpn = qpn,
		.from = use == RN_W_SINK ? 8 : (uint32_t)(pattern >> 32) % 64,
		.len = len,
		.budget = len,
		.pattern = pattern,
	};
	if (use == RN_W_SOURCE || use == RN_W_FETCHED)
		fill_pattern(d->memory + (size_t)i * RN_W_SLOT + s->from, pattern, 0,
			     len);
	else
		memset(d->memory + (size_t)i * RN_W_SLOT + s->from, 0xee, len);
	return i;
}

void rn_w_slot_close(struct rn_w_device *d, uint32_t slot)
{
	if (slot == RN_W_NONE || d->slot[slot].use == RN_W_FREE)
		return;
	d->slot[slot].use = RN_W_FREE;
	give_back(d, slot);
}

void rn_w_slot_release(struct rn_w_device *d, uint32_t slot, uint32_t count)
{
	struct rn_w_slot *s = &d->slot[slot];

	assert(s->users >= count);
	s->users -= count;
	if (s->use == RN_W_ENDED && !s->users)
		rn_w_slot_close(d, slot);
}

void rn_w_slot_close_all(struct rn_w_device *d, uint32_t qpn)
{
	for (uint32_t i = 0; i < RN_W_SLOTS; i++)
		if (d->slot[i].qpn == qpn)
			rn_w_slot_close(d, i);
}

rn_iova rn_w_slot_address(const struct rn_w_device *d, uint32_t slot)
{
	return slot == RN_W_NONE
		       ? RN_W_BASE
		       : RN_W_BASE + (uint64_t)slot * RN_W_SLOT + d->slot[slot].from;
}

bool rn_w_slot_holds(const struct rn_w_device *d, uint32_t slot, uint32_t len,
		     uint64_t pattern)
{
	if (!len)
		return true;
	return matches(d->memory + (size_t)slot * RN_W_SLOT + d->slot[slot].from, pattern,
		       0, len);
}

uint64_t rn_w_slot_word(const struct rn_w_device *d, uint32_t slot)
{
	uint64_t word;

	memcpy(&word, d->memory + (size_t)slot * RN_W_SLOT + d->slot[slot].from,
	       sizeof(word));
	return word;
}

const uint8_t *rn_w_slot_bytes(const struct rn_w_device *d, uint32_t slot)
{
	return d->memory + (size_t)slot * RN_W_SLOT + d->slot[slot].from;
}

/* -------------------------------------------- accesses of the device to memory */
/* Returns the slot that contains [addr, addr + len), if QP @qpn may now use it for one of
 * the purposes @uses; else NULL. @doing: what the access is, for error texts.
 */
static struct rn_w_slot *open_slot(struct rn_w_device *d, rn_iova addr, uint32_t len,
				   uint32_t qpn, unsigned uses, const char *doing)
{
	uint64_t offset = addr - RN_W_BASE;
	struct rn_w_slot *s = &d->slot[offset / RN_W_SLOT % RN_W_SLOTS];
	uint32_t at = (uint32_t)(offset % RN_W_SLOT);

	if (offset >= sizeof(d->memory))
		rn_w_fail(d->w, "device %u %s %u bytes at 0x%llx, where nothing is",
			  d->number, doing, len, (unsigned long long)addr);
	else if (!(uses >> s->use & 1) || (s->qpn && s->qpn != qpn))
		rn_w_fail(d->w,
			  "device %u %s %u bytes of slot %u for QP %x, which it is not "
			  "open for",
			  d->number, doing, len, (unsigned)(s - d->slot), qpn);
	else if (at < s->from || at + len > s->from + s->len)
		rn_w_fail(d->w,
			  "device %u %s bytes %u to %u of slot %u, of which %u to %u "
			  "are open",
			  d->number, doing, at, at + len, (unsigned)(s - d->slot),
			  s->from, s->from + s->len);
	else
		return s;
	return NULL;
}

static enum rn_mem_result write_ring(struct rn_w_device *d, rn_iova dst, const void *src,
				     uint32_t len, struct rn_mem_attr attr)
{
	if (!(attr.flags & RN_MEM_CQE) || !rn_w_cq_write(d, dst, src, len)) {
		rn_w_fail(d->w, "device %u writes %u bytes into its completion queue",
			  d->number, len);
		return RN_MEM_FAULT;
	}
	return RN_MEM_DONE;
}

/* Returns true if the QP is of a reliable type. Only QPs of the other types, such as UC,
 * may receive a message twice.
 */
static bool is_reliable(struct rn_w_device *d, uint32_t qpn)
{
	const struct rn_w_end *e = rn_w_find(d->w, d->number, qpn);

	return e && rn_w_is_reliable(e);
}

static enum rn_mem_result mem_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr)
{
	struct rn_w_device *d = ctx;
	struct rn_w_slot *s;
	uint32_t at;

	if (dst >= RN_W_RING)
		return write_ring(d, dst, src, len, attr);
	s = open_slot(d, dst, len, attr.qpn,
		      1u << RN_W_TARGET | 1u << RN_W_SINK | 1u << RN_W_RECV, "writes");
	if (!s)
		return RN_MEM_FAULT;
	at = (uint32_t)((dst - RN_W_BASE) % RN_W_SLOT) - s->from;
	if (s->use == RN_W_TARGET && !matches(src, s->pattern, at, len))
		rn_w_fail(d->w,
			  "device %u writes bytes %u to %u of slot %u for QP %x, and "
			  "they are not those of the source",
			  d->number, at, at + len, (unsigned)(s - d->slot), attr.qpn);
	s->written += len;
	if (s->written > s->budget && is_reliable(d, attr.qpn))
		rn_w_fail(d->w, "device %u writes slot %u for QP %x more than once",
			  d->number, (unsigned)(s - d->slot), attr.qpn);
	memcpy(d->memory + (dst - RN_W_BASE), src, len);
	return RN_MEM_DONE;
}

static enum rn_mem_result fetch(struct rn_w_device *d, void *dst, rn_iova src,
				uint32_t len)
{
	memcpy(dst, d->memory + (src - RN_W_BASE), len);
	return RN_MEM_DONE;
}

/* Returns true if the READ is allowed. If the network duplicates a READ, the READ is
 * executed twice. By the second time its slot may belong to another request; this is no
 * error, because the R_Key is that of the whole memory and still gives access.
 */
static bool may_read(struct rn_w_device *d, rn_iova src, uint32_t len, uint32_t qpn)
{
	uint64_t offset = src - RN_W_BASE;

	if (offset >= (uint64_t)RN_W_LOCAL * RN_W_SLOT &&
	    offset + len <= sizeof(d->memory) &&
	    d->slot[offset / RN_W_SLOT].use != RN_W_ENDED)
		return true;
	return open_slot(d, src, len, qpn, 1u << RN_W_SOURCE | 1u << RN_W_FETCHED,
			 "reads");
}

static enum rn_mem_result read_now(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag)
{
	(void)tag;
	return (attr.flags & RN_MEM_PUSH) || may_read(ctx, src, len, attr.qpn)
		       ? fetch(ctx, dst, src, len)
		       : RN_MEM_FAULT;
}

static enum rn_mem_result carry_out(struct rn_w_device *d,
				    const struct rn_mem_atomic_req *req, uint64_t *orig,
				    uint32_t qpn)
{
	uint64_t offset = req->dst - RN_W_COUNTER;
	uint64_t *word, value;

	if (offset >= sizeof(d->counter) || offset % 8) {
		rn_w_fail(d->w, "device %u carries out an atomic outside its counters",
			  d->number);
		return RN_MEM_FAULT;
	}
	word = &d->counter[offset / 8];
	*orig = *word;
	if (rn_mem_atomic_result(req, *orig, &value))
		*word = value;
	rn_w_check_atomic(d, qpn, req, *orig);
	return RN_MEM_DONE;
}

static enum rn_mem_result atomic_now(void *ctx, const struct rn_mem_atomic_req *req,
				     uint64_t *orig, struct rn_mem_attr attr,
				     uint64_t tag)
{
	(void)tag;
	return carry_out(ctx, req, orig, attr.qpn);
}

/* ---- Memory operations that end later ---- */
static enum rn_mem_result put_off(struct rn_w_device *d, const struct rn_w_mem_op *op)
{
	struct rn_world *w = d->w;
	rn_ns at = w->net->now + 1 +
		   rn_random_below(&w->memory_random, (uint32_t)w->plan.mem_delay);

	for (uint32_t i = 0; i < RN_W_MEMORY_OPS; i++)
		if (!d->op[i].used) {
			d->op[i] = *op;
			d->op[i].used = true;
			w->mem_waiting++;
			rn_w_put(w, at, RN_W_MEM_DONE, d->number << 16 | i);
			return RN_MEM_PENDING;
		}
	rn_w_fail(w, "device %u has %u reads of memory under way", d->number,
		  (unsigned)RN_W_MEMORY_OPS);
	return RN_MEM_FAULT;
}

static enum rn_mem_result read_later(void *ctx, void *dst, rn_iova src, uint32_t len,
				     struct rn_mem_attr attr, uint64_t tag)
{
	if (!(attr.flags & RN_MEM_PUSH) && !may_read(ctx, src, len, attr.qpn))
		return RN_MEM_FAULT;
	return put_off(ctx, &(struct rn_w_mem_op){ .dst = dst,
						   .src = src,
						   .len = len,
						   .qpn = attr.qpn,
						   .tag = tag });
}

static enum rn_mem_result atomic_later(void *ctx, const struct rn_mem_atomic_req *req,
				       uint64_t *orig, struct rn_mem_attr attr,
				       uint64_t tag)
{
	return put_off(ctx, &(struct rn_w_mem_op){ .is_atomic = true,
						   .dst = orig,
						   .atomic = *req,
						   .qpn = attr.qpn,
						   .tag = tag });
}

/* Ends the memory operation @op, for which the device was told PENDING before. The
 * operation has no effect if its QP was destroyed or reset meanwhile.
 */
void rn_w_mem_done(struct rn_w_device *d, uint32_t op)
{
	struct rn_w_mem_op *o = &d->op[op];
	enum rn_mem_result result;

	o->used = false;
	d->w->mem_waiting--;
	if (!o->dst)
		return;
	if (o->stale) {
		rn_dev_mem_done(d->dev, rn_w_local(d), o->tag, RN_MEM_DONE);
		return;
	}
	result = o->is_atomic ? carry_out(d, &o->atomic, o->dst, o->qpn)
			      : fetch(d, o->dst, o->src, o->len);
	rn_dev_mem_done(d->dev, rn_w_local(d), o->tag, result);
}

void rn_w_mem_forget(struct rn_w_device *d, uint32_t qpn, bool destroyed)
{
	for (uint32_t i = 0; i < RN_W_MEMORY_OPS; i++)
		if (d->op[i].used && d->op[i].qpn == qpn) {
			d->op[i].stale = true;
			if (destroyed)
				d->op[i].dst = NULL;
		}
}

const struct rn_mem_ops rn_w_mem_now = {
	.always_done = true,
	.write = mem_write,
	.read = read_now,
	.atomic = atomic_now,
};

const struct rn_mem_ops rn_w_mem_later = {
	.write = mem_write,
	.read = read_later,
	.atomic = atomic_later,
};
