/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring_kit.h - a ring with both of its ends, in memory between pages that nobody
 * may touch.
 */
#ifndef RING_KIT_H
#define RING_KIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "transport/io/shm/ring_layout.h"

enum {
	KIT_CAPACITY = 64 << 10,
	KIT_PAGE = 65536, /* a multiple of every page size */
	KIT_MANY = 64,	  /* packets of one call */
};

struct both {
	uint8_t *mem;
	struct rn_ring_shared *shared;
	uint8_t *data;
	struct rn_ring_send send;
	struct rn_ring_recv recv;
	struct rn_ring_packet got[KIT_MANY];
	uint8_t room[KIT_MANY * RN_RING_PACKET_MAX];
};

/* The least size, doubled so many times. */
static inline uint32_t kit_size(uint32_t doubled)
{
	return (uint32_t)RN_RING_SIZE_MIN << doubled;
}

static inline size_t both_map_len(void)
{
	return KIT_PAGE + rn_ring_bytes(KIT_CAPACITY) + KIT_PAGE;
}

/* The end of the data is the end of what may be touched. Shared with children. */
static inline uint8_t *both_map(void)
{
	size_t bytes = rn_ring_bytes(KIT_CAPACITY);
	uint8_t *base =
		mmap(NULL, both_map_len(), PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(base, MAP_FAILED);
	assert_int_equal(mprotect(base + KIT_PAGE, bytes, PROT_READ | PROT_WRITE), 0);
	return base + KIT_PAGE;
}

static inline int both_set_up(void **state)
{
	struct both *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->mem = both_map();
	b->shared = (void *)b->mem;
	b->data = b->mem + RN_RING_CONTROL;
	rn_ring_format(b->mem, KIT_CAPACITY);
	assert_int_equal(rn_ring_send_init(&b->send, b->mem, KIT_CAPACITY), RN_RING_OK);
	assert_int_equal(rn_ring_recv_init(&b->recv, b->mem, KIT_CAPACITY), RN_RING_OK);
	*state = b;
	return 0;
}

static inline int both_tear_down(void **state)
{
	struct both *b = *state;

	munmap(b->mem - KIT_PAGE, both_map_len());
	free(b);
	return 0;
}

#define BOTH_TEST(f) cmocka_unit_test_setup_teardown(f, both_set_up, both_tear_down)

/* Packet number @i of @len bytes, filled so that each can be told from all others. */
static inline const uint8_t *both_packet(uint64_t i, uint32_t len)
{
	static uint8_t bytes[RN_RING_PACKET_MAX + sizeof(uint64_t)];
	uint64_t word = (i + 1) * 0x9e3779b97f4a7c15u;

	for (uint32_t at = 0; at < len; at += sizeof(word), word += at)
		memcpy(bytes + at, &word, sizeof(word));
	return bytes;
}

static inline int both_send(struct both *b, uint64_t i, uint32_t len)
{
	struct rn_ring_meta meta = { .path = (uint16_t)i, .tclass = 3, .gro_idx = 9 };

	return rn_ring_send(&b->send, &meta, both_packet(i, len), len);
}

/* Send until it is full. Return: how many of @len bytes. */
static inline unsigned both_fill(struct both *b, uint64_t first, uint32_t len)
{
	unsigned n = 0;

	while (both_send(b, first + n, len) == 0)
		n++;
	rn_ring_publish(&b->send);
	return n;
}

static inline unsigned both_receive(struct both *b)
{
	return rn_ring_receive(&b->recv, b->got, KIT_MANY, b->room, sizeof(b->room));
}

static inline void assert_packet(const struct rn_ring_packet *p, uint64_t i, uint32_t len)
{
	assert_int_equal(p->len, len);
	assert_memory_equal(p->data, both_packet(i, len), len);
	assert_int_equal(p->meta.path, (uint16_t)i);
	assert_int_equal(p->meta.tclass, 3);
	assert_int_equal(p->meta.gro_idx, 9);
}

#endif /* RING_KIT_H */
