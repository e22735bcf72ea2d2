/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring_receive.c - the consumer's end of a ring.
 *
 * The order of judgement: the tail when it is loaded; of each record its tag, then its
 * length, then whether it lies within what the tail and the data give.
 *
 * A packet is copied out and folded for its ICRC in one pass, which takes no longer than
 * checking it where it lies: the check then need not read the payload, and what is
 * placed later is what was checked.
 */
#include <string.h>

#include "ring_layout.h"
#include "rocin/wire.h"

enum {
	RECORDS_EACH = 3, /* a pad, a change of size, a packet */
};

enum rn_ring_fault rn_ring_recv_init(struct rn_ring_recv *r, void *mem, uint32_t capacity)
{
	assert(rn_ring_is_size(capacity, RN_RING_SIZE_MAX));
	*r = (struct rn_ring_recv){
		.shared = mem,
		.data = (const uint8_t *)mem + RN_RING_CONTROL,
		.size = RN_RING_SIZE_MIN,
		.capacity = capacity,
	};
	if (!rn_ring_is_formatted(r->shared, capacity))
		r->fault = RN_RING_BAD_MAGIC;
	return r->fault;
}

static void publish_head(struct rn_ring_recv *r)
{
	if (r->published == r->head)
		return;
	r->published = r->head;
	atomic_store_explicit(&r->shared->head, r->head, memory_order_release);
}

/* When all up to the last one is read. Against the capacity: a record on the way may say
 * that the ring is larger from there on. A tail that went back is too far away as well.
 */
static void look_at_tail(struct rn_ring_recv *r)
{
	uint64_t tail = atomic_load_explicit(&r->shared->tail, memory_order_acquire);

	assert(r->tail == r->head);
	if (tail % RN_RING_ALIGN != 0 || tail - r->head > r->capacity)
		r->fault = RN_RING_BAD_TAIL;
	else
		r->tail = tail;
}

/* The producer stores the flag after its last tail, so that is looked for once more. */
static void look_for_the_end(struct rn_ring_recv *r)
{
	if (!atomic_load_explicit(&r->shared->send_closed, memory_order_acquire))
		return;
	look_at_tail(r);
	if (!r->fault && r->tail == r->head)
		r->fault = RN_RING_CLOSED;
}

static void advance(struct rn_ring_recv *r, uint32_t bytes)
{
	r->head += bytes;
	r->off = (r->off + bytes) & (r->size - 1);
}

static void resize(struct rn_ring_recv *r, uint64_t size)
{
	if (!rn_ring_is_size(size, r->capacity)) {
		r->fault = RN_RING_BAD_SIZE;
		return;
	}
	r->size = (uint32_t)size;
	advance(r, RN_RING_ALIGN);
}

/* A pad or a packet of @bytes: is it there, and in one piece? */
static bool is_within(struct rn_ring_recv *r, uint32_t bytes)
{
	if (bytes > r->tail - r->head || bytes > r->size - r->off)
		r->fault = RN_RING_BAD_EXTENT;
	return !r->fault;
}

/* How many of the last bytes before the ICRC rn_icrc_check_with() can do without: with
 * what is before them, headers in most packets, a multiple of 16.
 */
static uint32_t part_len(uint32_t len)
{
	uint32_t most = len - RN_RING_PACKET_MIN, part = RN_CRC32_PART_MAX;

	if (most < RN_CRC32_PART_MIN)
		return 0;
	while (part > most)
		part /= 2;
	return rn_crc32_can_copy(part) && (most - part) % 16 == 0 ? part : 0;
}

/* @p->len bytes from @src to @room or a little behind it, where stores of the payload are
 * aligned.
 */
static void copy_out(struct rn_ring_packet *p, uint8_t *room, const uint8_t *src)
{
	uint32_t part = p->meta.flags & RN_RING_BARE ? 0 : part_len(p->len);
	uint32_t before = p->len - RN_ICRC_LEN - part;

	if (part == 0) {
		memcpy(room, src, p->len);
		p->data = room;
		p->part = (struct rn_crc32_part){ 0 };
		return;
	}
	room += -((uintptr_t)room + before) % RN_RING_ALIGN;
	memcpy(room, src, before);
	rn_crc32_copy(room + before, src + before, part, &p->part);
	memcpy(room + before + part, src + before + part, RN_ICRC_LEN);
	p->data = room;
}

/* The record at the head, which is before the tail. Return: it was a packet, and @p is
 * filled.
 */
static bool take_record(struct rn_ring_recv *r, struct rn_ring_packet *p, uint8_t *room)
{
	const struct rn_ring_header *h = (const void *)(r->data + r->off);
	uint64_t what = atomic_load_explicit(&h->what, memory_order_relaxed);
	uint64_t meta = atomic_load_explicit(&h->meta, memory_order_relaxed);
	uint32_t len = (uint32_t)what, pad = r->size - r->off;

	if (what >> 32 != rn_ring_tag(r->head)) {
		r->fault = RN_RING_BAD_TAG;
	} else if (len == RN_RING_RESIZE) {
		resize(r, meta);
	} else if (len == RN_RING_PAD) {
		if (is_within(r, pad))
			advance(r, pad);
	} else if (len < RN_RING_PACKET_MIN || len > RN_RING_PACKET_MAX) {
		r->fault = RN_RING_BAD_LENGTH;
	} else if (is_within(r, rn_ring_need(len))) {
		p->len = len;
		memcpy(&p->meta, &meta, sizeof(meta));
		copy_out(p, room, r->data + r->off + RN_RING_HEADER);
		advance(r, rn_ring_need(len));
		return true;
	}
	return false;
}

/* Space is given back in time for the producer to go on, and not with each record. */
static void give_back(struct rn_ring_recv *r)
{
	if (r->head - r->published >= r->size / 4)
		publish_head(r);
}

unsigned rn_ring_receive(struct rn_ring_recv *r, struct rn_ring_packet *pkts,
			 unsigned max, uint8_t *room, size_t room_len)
{
	uint8_t *end = room + room_len;
	unsigned n = 0, records = 0;

	assert(room_len >= RN_RING_ROOM_MIN);
	if (r->fault)
		return 0;
	if (r->head == r->tail)
		look_at_tail(r);
	while (n < max && r->head != r->tail && !r->fault &&
	       records++ < RECORDS_EACH * max) {
		if (end - room < RN_RING_PACKET_MAX + RN_RING_ALIGN)
			return n;
		if (take_record(r, &pkts[n], room)) {
			room = (uint8_t *)pkts[n].data + pkts[n].len;
			n++;
		}
		give_back(r);
	}
	if (!r->fault && r->head == r->tail) {
		publish_head(r);
		look_for_the_end(r);
	}
	return n;
}

bool rn_ring_has_more(const struct rn_ring_recv *r)
{
	return !r->fault && r->tail != r->head;
}

bool rn_ring_waits(const struct rn_ring_recv *r)
{
	return !r->fault &&
	       (r->tail != r->head || atomic_load(&r->shared->tail) != r->head);
}

void rn_ring_recv_close(struct rn_ring_recv *r)
{
	if (!r->fault)
		r->fault = RN_RING_CLOSED;
	atomic_store_explicit(&r->shared->recv_closed, 1, memory_order_relaxed);
}
