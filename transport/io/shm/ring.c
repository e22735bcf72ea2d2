/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring.c - the two ends of a ring, producer and consumer, and its doorbell; see ring.h.
 *
 * The producer uses one value that the other side writes: the head, up to which space
 * may be overwritten. A consumer that stores a wrong head only damages what it
 * receives itself.
 *
 * The consumer checks the tail when it is loaded; then, of each record, first the tag,
 * then the length, then whether the record lies before the tail and within the data. A
 * packet is copied out and summed for its ICRC in one pass, which takes no longer than
 * checking it in place. So the check of the ICRC need not read the payload again, and the
 * bytes that are used later are those that were checked.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "far_copy.h"
#include "ring.h"
#include "ring_layout.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"

void rn_ring_format(void *mem, uint32_t capacity)
{
	struct rn_ring_shared *shared = mem;

	assert((uintptr_t)mem % RN_RING_APART == 0);
	assert(capacity <= RN_RING_SIZE_MAX);
	assert(rn_ring_is_size(capacity, capacity));
	atomic_store_explicit(&shared->capacity, capacity, memory_order_relaxed);
	atomic_store_explicit(&shared->version, RN_RING_VERSION, memory_order_relaxed);
	atomic_store_explicit(&shared->magic, RN_RING_MAGIC, memory_order_release);
}

/* Return: true if rn_ring_format() has initialised @shared with this @capacity. */
static bool is_formatted(const struct rn_ring_shared *shared, uint32_t capacity)
{
	return atomic_load_explicit(&shared->magic, memory_order_acquire) ==
		       RN_RING_MAGIC &&
	       atomic_load_explicit(&shared->version, memory_order_relaxed) ==
		       RN_RING_VERSION &&
	       atomic_load_explicit(&shared->capacity, memory_order_relaxed) == capacity;
}

const char *rn_ring_fault_text(enum rn_ring_fault fault)
{
	static const char *const text[] = {
		[RN_RING_OK] = "nothing is wrong",
		[RN_RING_CLOSED] = "the peer has closed it",
		[RN_RING_BAD_MAGIC] = "the memory is no ring of this version and size",
		[RN_RING_BAD_HEAD] = "the peer says that it has read what it cannot have",
		[RN_RING_BAD_TAIL] =
			"the peer says that it has written what it cannot have",
		[RN_RING_BAD_TAG] = "a record is not the one of its place",
		[RN_RING_BAD_LENGTH] = "a record has the length of no packet",
		[RN_RING_BAD_EXTENT] = "a record goes past what was written",
		[RN_RING_BAD_SIZE] = "the ring is to have a size that it cannot have",
	};

	static_assert(RN_ARRAY_SIZE(text) == RN_RING_FAULT_COUNT, "one for each");
	assert(fault < RN_RING_FAULT_COUNT);
	return text[fault];
}

/* ------------------------------------------------------------------ the producer */
enum {
	/* number of cache lines of a short message and an acknowledgement */
	NEXT_LINES = 3,
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
	if (!is_formatted(s->shared, capacity))
		s->fault = RN_RING_BAD_MAGIC;
	return s->fault;
}

/* Load the consumer's position (the head), and check it. */
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

/* Return: true if there is space for @need bytes. The head (how far the consumer has
 * read) is loaded again only if the value loaded last leaves too little space.
 */
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

static void advance_tail(struct rn_ring_send *s, uint32_t bytes)
{
	s->tail += bytes;
	s->off = (s->off + bytes) & (s->size - 1);
}

/* Return: the number of bytes to skip before a record of @need bytes: those up to the
 * end of the data if the record does not fit there, otherwise 0.
 */
static uint32_t pad_before(const struct rn_ring_send *s, uint32_t need)
{
	uint32_t left = s->size - s->off;

	return need > left ? left : 0;
}

/* Write the header of a packet record and, in front of it, a pad record of @pad bytes if
 * @pad is not 0.
 */
static void begin_record(struct rn_ring_send *s, uint32_t pad, uint32_t len,
			 const struct rn_ring_meta *meta)
{
	uint64_t word;

	if (pad) {
		put_header(s, RN_RING_PAD, 0);
		advance_tail(s, pad);
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
	advance_tail(s, need);
	return 0;
}

const uint8_t *rn_ring_next(struct rn_ring_send *s)
{
	uint32_t pad = pad_before(s, rn_ring_need(RN_RING_PACKET_MAX));

	if (s->fault || !has_space(s, pad + rn_ring_need(RN_RING_PACKET_MAX)))
		return NULL;
	return s->data + (pad ? 0 : s->off) + RN_RING_HEADER;
}

/* Prefetch the cache lines of the next records for writing. They are in the cache of the
 * consumer's processor, and must come to this one before the next tail can be published.
 * At this moment no packet has to wait for them.
 */
static void fetch_next(const struct rn_ring_send *s)
{
#ifdef __x86_64__
	for (uint32_t i = 0; i < NEXT_LINES; i++)
		__asm__ volatile(
			"prefetchw %0"
			: /* no outputs: the instruction is only a hint */
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
	/* A ring cannot grow while its unread part wraps, because in the larger ring
	 * these bytes would be elsewhere. If the unread part does not wrap, unread <= off
	 * < size, so there is space for the record of the new size, which has
	 * RN_RING_ALIGN bytes.
	 */
	if (s->head < s->resized || (size < s->size ? unread > 0 : unread > s->off))
		return -EAGAIN;
	put_header(s, RN_RING_RESIZE, size);
	s->size = size;
	advance_tail(s, RN_RING_ALIGN);
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
	/* If the consumer has not read the ring, because it has stopped, the ring is not
	 * idle.
	 */
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

/* ------------------------------------------------------------------ the consumer */
enum {
	/* Maximum number of records that a producer writes for one packet: a pad, a
	 * change of the size, and the packet itself.
	 */
	RECORDS_EACH = 3,
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
	if (!is_formatted(r->shared, capacity))
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

/* Load the producer's position (the tail) anew and check it, when everything before the
 * old tail has been read. The tail may be ahead of the head by up to the capacity, not
 * only by the present size, because a record that was not read yet may enlarge the ring.
 * The check also notices a tail that went back.
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

/* Check whether the producer has closed the ring. The producer sets the flag after its
 * last tail, so the tail is loaded once more.
 */
static void look_for_the_end(struct rn_ring_recv *r)
{
	if (!atomic_load_explicit(&r->shared->send_closed, memory_order_acquire))
		return;
	look_at_tail(r);
	if (!r->fault && r->tail == r->head)
		r->fault = RN_RING_CLOSED;
}

static void advance_head(struct rn_ring_recv *r, uint32_t bytes)
{
	r->head += bytes;
	r->off = (r->off + bytes) & (r->size - 1);
}

static void apply_size(struct rn_ring_recv *r, uint64_t size)
{
	if (!rn_ring_is_size(size, r->capacity)) {
		r->fault = RN_RING_BAD_SIZE;
		return;
	}
	r->size = (uint32_t)size;
	advance_head(r, RN_RING_ALIGN);
}

/* Return: true if a pad or packet record of @bytes lies before the tail and within the
 * data.
 */
static bool is_within(struct rn_ring_recv *r, uint32_t bytes)
{
	if (bytes > r->tail - r->head || bytes > r->size - r->off)
		r->fault = RN_RING_BAD_EXTENT;
	return !r->fault;
}

/* Return: the number of bytes directly before the ICRC whose CRC is computed while they
 * are copied, so that rn_icrc_check_with() need not read them again. The bytes in front
 * of these, which are the headers in most packets, are a multiple of 16.
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

/* Copy the bytes of a packet from @src to @room, or to a place a few bytes behind @room,
 * so that the stores of the payload are aligned.
 */
static void copy_out(struct rn_ring_packet *p, uint8_t *room, const uint8_t *src)
{
	uint32_t part = p->meta.flags & RN_RING_NO_ICRC ? 0 : part_len(p->len);
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

/* Read the record at the head, which lies before the tail. Return: true if it is a
 * packet, which @p then describes; false if it is another record, and after a fault.
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
		apply_size(r, meta);
	} else if (len == RN_RING_PAD) {
		if (is_within(r, pad))
			advance_head(r, pad);
	} else if (len < RN_RING_PACKET_MIN || len > RN_RING_PACKET_MAX) {
		r->fault = RN_RING_BAD_LENGTH;
	} else if (is_within(r, rn_ring_need(len))) {
		p->len = len;
		memcpy(&p->meta, &meta, sizeof(meta));
		copy_out(p, room, r->data + r->off + RN_RING_HEADER);
		advance_head(r, rn_ring_need(len));
		return true;
	}
	return false;
}

/* Publish the head, which gives space back to the producer: not for each record, but
 * early enough that the producer need not wait.
 */
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

bool rn_ring_watch(const struct rn_ring_recv *r, struct rn_ring_watch *w)
{
	if (r->fault || rn_ring_has_more(r))
		return false;
	*w->end++ = (struct rn_ring_watched){ &r->shared->tail, r->head };
	return true;
}

void rn_ring_recv_close(struct rn_ring_recv *r)
{
	if (!r->fault)
		r->fault = RN_RING_CLOSED;
	atomic_store_explicit(&r->shared->recv_closed, 1, memory_order_relaxed);
}

/* ---------------------------------------------------------------- doorbells */

/* All accesses to the page are sequentially consistent, except where a comment says why
 * a weaker order is enough.
 */
struct rn_doorbell {
	_Alignas(128) _Atomic uint32_t sleeping;
	_Alignas(128) _Atomic uint64_t ready[RN_DOORBELL_WORDS];
};

static_assert(sizeof(struct rn_doorbell) <= RN_DOORBELL_BYTES, "fits its page");

bool rn_doorbell_ring(struct rn_doorbell *peer, unsigned idx)
{
	_Atomic uint64_t *word;
	uint64_t bit = UINT64_C(1) << idx % 64;

	assert(idx < RN_DOORBELL_RINGS);
	word = &peer->ready[idx / 64];
	/* If the bit is set already, the consumer has not taken it yet. When it does, it
	 * will look at the ring and see this publication. So the cache line need not be
	 * written for each burst.
	 */
	if (!(atomic_load(word) & bit))
		atomic_fetch_or(word, bit);
	return atomic_load(&peer->sleeping) && atomic_exchange(&peer->sleeping, 0);
}

void rn_doorbell_announce(struct rn_doorbell *own)
{
	atomic_store(&own->sleeping, 1);
}

void rn_doorbell_awake(struct rn_doorbell *own)
{
	/* Relaxed is enough: a producer that still sees the old value wakes a process
	 * that is awake, which does no harm.
	 */
	if (atomic_load_explicit(&own->sleeping, memory_order_relaxed))
		atomic_store_explicit(&own->sleeping, 0, memory_order_relaxed);
}

uint64_t rn_doorbell_take(struct rn_doorbell *own, unsigned word)
{
	assert(word < RN_DOORBELL_WORDS);
	return atomic_load(&own->ready[word]) ? atomic_exchange(&own->ready[word], 0) : 0;
}

void rn_doorbell_remember(struct rn_doorbell *own, unsigned idx)
{
	assert(idx < RN_DOORBELL_RINGS);
	atomic_fetch_or_explicit(&own->ready[idx / 64], UINT64_C(1) << idx % 64,
				 memory_order_relaxed);
}
