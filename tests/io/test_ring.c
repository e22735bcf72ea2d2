/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_ring.c - the two ends of a ring that both keep the rules. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ring_layout.h"

enum {
	CAPACITY = 64 << 10,
	MANY = 64, /* packets of one call */
};

/* A ring and both of its ends, in one process. */
struct both {
	uint8_t *mem;
	struct rn_ring_send send;
	struct rn_ring_recv recv;
	struct rn_ring_packet got[MANY];
	uint8_t room[MANY * (RN_RING_PACKET_MAX + RN_RING_ALIGN)];
};

static int set_up(void **state)
{
	struct both *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->mem = aligned_alloc(4096, rn_ring_bytes(CAPACITY));
	assert_non_null(b->mem);
	memset(b->mem, 0, rn_ring_bytes(CAPACITY));
	rn_ring_format(b->mem, CAPACITY);
	assert_int_equal(rn_ring_send_init(&b->send, b->mem, CAPACITY), RN_RING_OK);
	assert_int_equal(rn_ring_recv_init(&b->recv, b->mem, CAPACITY), RN_RING_OK);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct both *b = *state;

	free(b->mem);
	free(b);
	return 0;
}

/* Packet number @i of @len bytes. */
static const uint8_t *packet(unsigned i, uint32_t len)
{
	static uint8_t bytes[RN_RING_PACKET_MAX];

	for (uint32_t at = 0; at < len; at++)
		bytes[at] = (uint8_t)(at * 7 + i);
	return bytes;
}

static int send(struct both *b, unsigned i, uint32_t len)
{
	struct rn_ring_meta meta = { .path = (uint16_t)i, .tclass = 3, .gro_idx = 9 };

	return rn_ring_send(&b->send, &meta, packet(i, len), len);
}

static unsigned receive(struct both *b)
{
	return rn_ring_receive(&b->recv, b->got, MANY, b->room, sizeof(b->room));
}

static void assert_packet(const struct rn_ring_packet *p, unsigned i, uint32_t len)
{
	assert_int_equal(p->len, len);
	assert_memory_equal(p->data, packet(i, len), len);
	assert_int_equal(p->meta.path, (uint16_t)i);
	assert_int_equal(p->meta.tclass, 3);
	assert_int_equal(p->meta.gro_idx, 9);
}

static void packets_come_out_as_they_went_in(void **state)
{
	static const uint32_t len[] = { RN_RING_PACKET_MIN, 47, 48, 49, 1024,
					RN_RING_PACKET_MAX };
	struct both *b = *state;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(len); i++)
		assert_int_equal(send(b, i, len[i]), 0);
	assert_true(rn_ring_publish(&b->send));
	assert_int_equal(receive(b), RN_ARRAY_SIZE(len));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(len); i++)
		assert_packet(&b->got[i], i, len[i]);
	assert_true(rn_ring_is_read(&b->send));
}

static void nothing_is_seen_before_it_is_published(void **state)
{
	struct both *b = *state;

	assert_int_equal(send(b, 1, 80), 0);
	assert_int_equal(receive(b), 0);
	assert_false(rn_ring_waits(&b->recv));
	assert_true(rn_ring_publish(&b->send));
	assert_false(rn_ring_publish(&b->send));
	assert_true(rn_ring_waits(&b->recv));
	assert_int_equal(receive(b), 1);
	assert_false(rn_ring_waits(&b->recv));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(packets_come_out_as_they_went_in, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_seen_before_it_is_published,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
