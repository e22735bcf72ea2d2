/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_ring.c - both ends of the ring by which packets go to a capture; see
 * capture_ring.h.
 */
#include "capture_ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "rocin/diagnostic.h"

#define MAGIC 0x31504352u /* "RCP1" */

enum {
	/* Distance in bytes between the variables that the two sides write. It is two
	 * cache lines, because processors also prefetch the neighbour of a line.
	 */
	APART = 128,
	/* the reader gives space back when it has read a quarter of the ring */
	GIVE_BACK = 4,
};

/* The control page at the start of the ring's memory. Each of its cache lines has one
 * writer. Tail and head are stored with release semantics and loaded with acquire
 * semantics.
 */
struct rn_capture_shared {
	_Atomic uint32_t magic;
	_Atomic uint32_t size;

	_Alignas(APART) _Atomic uint64_t tail;
	_Atomic uint64_t packets;
	_Atomic uint64_t missed;

	_Alignas(APART) _Atomic uint64_t head;
};

static_assert(sizeof(struct rn_capture_shared) <= RN_CAPTURE_CONTROL, "fits its page");

void rn_capture_format(void *mem, uint32_t size)
{
	struct rn_capture_shared *shared = mem;

	assert(rn_capture_is_size(size));
	atomic_store_explicit(&shared->size, size, memory_order_relaxed);
	atomic_store_explicit(&shared->magic, MAGIC, memory_order_release);
}

static bool is_formatted(const struct rn_capture_shared *shared, uint32_t size)
{
	return rn_capture_is_size(size) &&
	       atomic_load_explicit(&shared->magic, memory_order_acquire) == MAGIC &&
	       atomic_load_explicit(&shared->size, memory_order_relaxed) == size;
}

/* ------------------------------------------------------------ the writer's end */
int rn_capture_writer_init(struct rn_capture_writer *w, void *mem, uint32_t size)
{
	struct rn_capture_shared *shared = mem;
	uint64_t tail, head;

	if (!is_formatted(shared, size))
		return -EPROTO;
	tail = atomic_load_explicit(&shared->tail, memory_order_relaxed);
	head = atomic_load_explicit(&shared->head, memory_order_acquire);
	if (tail % RN_CAPTURE_ALIGN || head > tail || tail - head > size)
		return -EPROTO;
	*w = (struct rn_capture_writer){
		.shared = shared,
		.data = (uint8_t *)mem + RN_CAPTURE_CONTROL,
		.size = size,
		.tail = tail,
		.published = tail,
		.head = head,
		.packets = atomic_load_explicit(&shared->packets, memory_order_relaxed),
		.missed = atomic_load_explicit(&shared->missed, memory_order_relaxed),
	};
	return 0;
}

static uint32_t record_size(uint32_t cap)
{
	uint32_t bytes = (uint32_t)sizeof(struct rn_capture_record) + cap;

	return (bytes + RN_CAPTURE_ALIGN - 1) & ~(uint32_t)(RN_CAPTURE_ALIGN - 1);
}

static bool has_room(struct rn_capture_writer *w, uint64_t need)
{
	uint64_t head;

	if (w->tail + need - w->head <= w->size)
		return true;
	head = atomic_load_explicit(&w->shared->head, memory_order_acquire);
	w->is_broken |= head < w->head || head > w->tail;
	if (w->is_broken)
		/* The reader has stored an impossible head, and gets no more records. */
		return false;
	w->head = head;
	return w->tail + need - w->head <= w->size;
}

/* Reserve contiguous space for a record of @size bytes. Return: the address of the space;
 * NULL if the ring has none.
 */
static uint8_t *reserve_record(struct rn_capture_writer *w, uint32_t size)
{
	uint32_t off = (uint32_t)(w->tail & (w->size - 1));
	uint32_t pad = off + size > w->size ? w->size - off : 0;

	if (!has_room(w, (uint64_t)pad + size))
		return NULL;
	if (pad) {
		/* A pad record may be as short as RN_CAPTURE_ALIGN, so only its first 16
		 * bytes are written.
		 */
		struct rn_capture_record rec = { .size = pad, .kind = RN_CAPTURE_PAD };

		memcpy(w->data + off, &rec, RN_CAPTURE_ALIGN);
		w->tail += pad;
		off = 0;
	}
	w->tail += size;
	return w->data + off;
}

bool rn_capture_is_full(struct rn_capture_writer *w)
{
	if (w->is_full && !w->is_broken &&
	    atomic_load_explicit(&w->shared->head, memory_order_relaxed) != w->head)
		w->is_full = false;
	return w->is_full;
}

void rn_capture_miss(struct rn_capture_writer *w, uint32_t packets)
{
	w->missed += packets;
	w->missed_since += packets;
	atomic_store_explicit(&w->shared->missed, w->missed, memory_order_relaxed);
}

uint64_t rn_capture_put(struct rn_capture_writer *w, struct rn_capture_record *rec,
			const void *body)
{
	bool is_packet = rec->kind == RN_CAPTURE_PACKET;
	uint8_t *at;

	assert(rec->cap <= RN_CAPTURE_BODY_MAX);
	rec->size = record_size(rec->cap);
	at = rn_capture_is_full(w) ? NULL : reserve_record(w, rec->size);
	if (!at) {
		w->is_full = true;
		rn_capture_miss(w, is_packet);
		return 0;
	}
	if (is_packet) {
		rec->number = ++w->packets;
		rec->missed = w->missed_since;
		w->missed_since = 0;
	}
	memcpy(at, rec, sizeof(*rec));
	memcpy(at + sizeof(*rec), body, rec->cap);
	return rec->number;
}

void rn_capture_publish(struct rn_capture_writer *w)
{
	struct rn_capture_shared *shared = w->shared;

	if (w->published == w->tail)
		return;
	atomic_store_explicit(&shared->packets, w->packets, memory_order_relaxed);
	atomic_store_explicit(&shared->tail, w->tail, memory_order_release);
	w->published = w->tail;
}

/* ------------------------------------------------------------ the reader's end */
int rn_capture_reader_init(struct rn_capture_reader *r, void *mem, uint32_t size)
{
	struct rn_capture_shared *shared = mem;

	if (!is_formatted(shared, size))
		return -EPROTO;
	*r = (struct rn_capture_reader){ .shared = shared,
					 .data = (uint8_t *)mem + RN_CAPTURE_CONTROL,
					 .size = size };
	return 0;
}

/* Load the writer's tail and check it. Return: false if it is impossible. */
static bool load_tail(struct rn_capture_reader *r)
{
	uint64_t tail = atomic_load_explicit(&r->shared->tail, memory_order_acquire);

	if (tail < r->tail || tail - r->head > r->size || tail % RN_CAPTURE_ALIGN != 0)
		return false;
	r->tail = tail;
	return true;
}

static void give_back(struct rn_capture_reader *r)
{
	atomic_store_explicit(&r->shared->head, r->head, memory_order_release);
	r->passed = 0;
}

static bool is_record(const struct rn_capture_reader *r, uint32_t off, uint64_t left)
{
	const struct rn_capture_record *rec = &r->rec;

	if (rec->size < RN_CAPTURE_ALIGN || rec->size % RN_CAPTURE_ALIGN != 0 ||
	    rec->size > left || rec->size > r->size - off)
		return false;
	if (rec->kind == RN_CAPTURE_PAD)
		return true;
	if (rec->size < sizeof(*rec) || rec->cap > RN_CAPTURE_BODY_MAX ||
	    rec->cap > rec->size - sizeof(*rec))
		return false;
	if (rec->kind == RN_CAPTURE_PACKET)
		return rec->len >= rec->cap && rec->len <= RN_CAPTURE_BODY_MAX;
	return rec->kind == RN_CAPTURE_DIAGNOSTIC &&
	       rec->cap == sizeof(struct rn_diagnostic);
}

/* Copy the next record to private memory, and check the copy, because the writer could
 * change the record in the ring at any time. Return: 0, or -EPROTO if the record is
 * invalid.
 */
static int load_record(struct rn_capture_reader *r)
{
	uint32_t off = (uint32_t)(r->head & (r->size - 1));
	size_t whole = sizeof(r->rec);

	memset(&r->rec, 0, sizeof(r->rec));
	memcpy(&r->rec, r->data + off, r->size - off < whole ? r->size - off : whole);
	if (!is_record(r, off, r->tail - r->head))
		return -EPROTO;
	if (r->rec.kind != RN_CAPTURE_PAD)
		memcpy(r->body, r->data + off + sizeof(r->rec), r->rec.cap);
	return 0;
}

int rn_capture_peek(struct rn_capture_reader *r)
{
	bool is_padded = false;

	while (!r->has_record) {
		int rc;

		if (r->head == r->tail && !load_tail(r))
			return -EPROTO;
		if (r->head == r->tail) {
			if (r->passed)
				give_back(r);
			return -EAGAIN;
		}
		rc = load_record(r);
		if (rc)
			return rc;
		/* A pad must be followed by a record. Otherwise a writer that publishes
		 * only pads would keep the reader in this loop.
		 */
		if (r->rec.kind == RN_CAPTURE_PAD && is_padded)
			return -EPROTO;
		r->has_record = true;
		is_padded = r->rec.kind == RN_CAPTURE_PAD;
		if (is_padded)
			rn_capture_pass(r);
	}
	return 0;
}

void rn_capture_pass(struct rn_capture_reader *r)
{
	assert(r->has_record);
	r->has_record = false;
	r->head += r->rec.size;
	r->passed += r->rec.size;
	if (r->passed >= r->size / GIVE_BACK)
		give_back(r);
}

void rn_capture_counts(const struct rn_capture_reader *r, uint64_t *packets,
		       uint64_t *missed)
{
	*packets = atomic_load_explicit(&r->shared->packets, memory_order_relaxed);
	*missed = atomic_load_explicit(&r->shared->missed, memory_order_relaxed);
}
