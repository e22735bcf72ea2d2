/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring_send.c - the producer's end of a ring.
 *
 * The producer believes one value of the other side: the head, which says what may be
 * written over. A consumer that lies about it harms what it receives itself, no more.
 */
#include <errno.h>
#include <string.h>

#include "far_copy.h"
#include "ring_layout.h"

enum {
	NEXT_LINES = 3, /* a short message and an acknowledgement */
};

enum rn_ring_fault rn_ring_send_init(struct rn_ring_send *s, void *mem, uint32_t capacity)
{
	assert(rn_ring_is_size(capacity, RN_RING_SIZE_MAX));
	*s = (struct rn_ring_send){
		.shared = mem,
		.data = (uint8_t *)mem + RN_RING_CONTROL,
		.size = RN_RING_SIZE_MIN,
		.capacity = capacity,
	};
	if (!rn_ring_is_formatted(s->shared, capacity))
		s->fault = RN_RING_BAD_MAGIC;
	return s->fault;
}

/* How far the consumer is: one load, judged against what it can have read. */
static void look_at_head(struct rn_ring_send *s)
{
	uint64_t head = atomic_load_explicit(&s->shared->head, memory_order_acquire);

	if (head % RN_RING_ALIGN != 0 || head < s->head || head > s->published)
		s->fault = RN_RING_BAD_HEAD;
	else
		s->head = head;
}

static uint32_t space(const struct rn_ring_send *s)
{
	return s->size - (uint32_t)(s->tail - s->head);
}

/* Are there @need bytes? */
static bool has_space(struct rn_ring_send *s, uint32_t need)
{
	if (need <= space(s))
		return true;
	look_at_head(s);
	if (!s->fault && need <= space(s))
		return true;
	if (!s->fault &&
	    atomic_load_explicit(&s->shared->recv_closed, memory_order_relaxed))
		s->fault = RN_RING_CLOSED;
	return false;
}

static int no_space(struct rn_ring_send *s)
{
	if (s->fault)
		return -EPIPE;
	s->fulls++;
	s->full_count++;
	return -EAGAIN;
}

static void put_header(struct rn_ring_send *s, uint32_t length, uint64_t meta)
{
	struct rn_ring_header *h = (void *)(s->data + s->off);
	uint64_t what = (uint64_t)rn_ring_tag(s->tail) << 32 | length;

	atomic_store_explicit(&h->what, what, memory_order_relaxed);
	atomic_store_explicit(&h->meta, meta, memory_order_relaxed);
}

static void advance(struct rn_ring_send *s, uint32_t bytes)
{
	s->tail += bytes;
	s->off = (s->off + bytes) & (s->size - 1);
}

/* Bytes that are left before the end of the data, if @need are not. */
static uint32_t pad_before(const struct rn_ring_send *s, uint32_t need)
{
	uint32_t left = s->size - s->off;

	return need > left ? left : 0;
}

/* @pad bytes of nothing, if not 0, and the header of a packet. */
static void begin_record(struct rn_ring_send *s, uint32_t pad, uint32_t len,
			 const struct rn_ring_meta *meta)
{
	uint64_t word;

	if (pad) {
		put_header(s, RN_RING_PAD, 0);
		advance(s, pad);
	}
	memcpy(&word, meta, sizeof(word));
	put_header(s, len, word);
}

int rn_ring_send(struct rn_ring_send *s, const struct rn_ring_meta *meta,
		 const uint8_t *pkt, uint32_t len)
{
	void (*copy)(uint8_t * dst, const uint8_t *src, size_t n) =
		s->past_caches ? rn_far_copy_past : rn_far_copy;
	uint32_t need = rn_ring_need(len), pad = pad_before(s, need);

	assert(len >= RN_RING_PACKET_MIN);
	assert(len <= RN_RING_PACKET_MAX);
	if (s->fault)
		return -EPIPE;
	if (!has_space(s, pad + need))
		return no_space(s);
	begin_record(s, pad, len, meta);
	copy(s->data + s->off + RN_RING_HEADER, pkt, len);
	advance(s, need);
	return 0;
}

uint8_t *rn_ring_reserve(struct rn_ring_send *s)
{
	uint32_t pad = pad_before(s, rn_ring_need(RN_RING_PACKET_MAX));

	if (s->fault || !has_space(s, pad + rn_ring_need(RN_RING_PACKET_MAX)))
		return NULL;
	return s->data + (pad ? 0 : s->off) + RN_RING_HEADER;
}

void rn_ring_commit(struct rn_ring_send *s, const struct rn_ring_meta *meta, uint32_t len)
{
	assert(len >= RN_RING_PACKET_MIN);
	assert(len <= RN_RING_PACKET_MAX);
	begin_record(s, pad_before(s, rn_ring_need(RN_RING_PACKET_MAX)), len, meta);
	advance(s, rn_ring_need(len));
}

/* The consumer was the last to have the lines of what comes next: they are asked for now,
 * while nobody waits, and not when the next record is stored, before whose tail they must
 * be here.
 */
static void fetch_next(const struct rn_ring_send *s)
{
#ifdef __x86_64__
	for (uint32_t i = 0; i < NEXT_LINES; i++)
		__asm__ volatile(
			"prefetchw %0"
			: /* only a hint */
			: "m"(s->data[(s->off + i * RN_RING_ALIGN) & (s->size - 1)]));
#else
	(void)s;
#endif
}

bool rn_ring_publish(struct rn_ring_send *s)
{
	if (s->tail == s->told || s->fault)
		return false;
	s->published = s->told = s->tail;
	atomic_store(&s->shared->tail, s->tail);
	fetch_next(s);
	return true;
}

void rn_ring_show(struct rn_ring_send *s)
{
	if (s->fault)
		return;
	s->published = s->tail;
	atomic_store_explicit(&s->shared->tail, s->tail, memory_order_release);
}

bool rn_ring_is_read(struct rn_ring_send *s)
{
	if (!s->fault)
		look_at_head(s);
	return s->head == s->tail;
}

bool rn_ring_is_held(struct rn_ring_send *s, uint64_t *taken)
{
	if (!s->fault)
		look_at_head(s);
	*taken = s->head;
	return !s->fault && s->head != s->published &&
	       !atomic_load_explicit(&s->shared->recv_closed, memory_order_relaxed);
}

int rn_ring_resize(struct rn_ring_send *s, uint32_t size)
{
	uint32_t unread;

	assert(rn_ring_is_size(size, s->capacity));
	if (s->fault)
		return -EPIPE;
	if (size == s->size)
		return 0;
	look_at_head(s);
	if (s->fault)
		return -EPIPE;
	unread = (uint32_t)(s->tail - s->head);
	/* What is unread must be in one piece, or it would be where new records go. If so
	 * there is space for one of RN_RING_ALIGN bytes: unread <= off < size.
	 */
	if (s->head < s->resized || (size < s->size ? unread > 0 : unread > s->off))
		return -EAGAIN;
	put_header(s, RN_RING_RESIZE, size);
	s->size = size;
	advance(s, RN_RING_ALIGN);
	s->resized = s->tail;
	return 0;
}

uint32_t rn_ring_advice(struct rn_ring_send *s, rn_ns now)
{
	bool often = s->fulls >= RN_RING_FULLS && now - s->fulls_since <= RN_MSEC(1);

	if (often || now - s->fulls_since > RN_MSEC(1)) {
		s->fulls_since = now;
		s->fulls = 0;
	}
	/* What waits for a consumer that has stopped is not idle. */
	if (s->tail != s->idle_tail || !rn_ring_is_read(s)) {
		s->idle_tail = s->tail;
		s->idle_since = now;
	}
	if (often && s->size < s->capacity)
		return s->size * 2;
	return now - s->idle_since >= RN_MSEC(1000) ? RN_RING_SIZE_MIN : s->size;
}

void rn_ring_send_close(struct rn_ring_send *s)
{
	if (!s->fault)
		s->fault = RN_RING_CLOSED;
	atomic_store_explicit(&s->shared->send_closed, 1, memory_order_release);
}
