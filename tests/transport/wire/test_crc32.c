/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/crc32.h"

/* One bit at a time: nothing in common with what is tested. */
static uint32_t bitwise_crc32(uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}

enum {
	LONGEST = 5000,
	ALIGNMENTS = 64,
};

static uint64_t head[RN_CRC32_HEAD / 8];
static uint8_t bytes[ALIGNMENTS + LONGEST];

static void fill(void)
{
	uint8_t *h = (uint8_t *)head;
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(head) + sizeof(bytes); i++) {
		x = x * 1664525 + 1013904223;
		if (i < sizeof(head))
			h[i] = (uint8_t)(x >> 24);
		else
			bytes[i - sizeof(head)] = (uint8_t)(x >> 24);
	}
}

static uint32_t bitwise_after_head(const uint8_t *p, size_t len)
{
	uint32_t crc = bitwise_crc32(UINT32_MAX, (const uint8_t *)head, sizeof(head));

	return bitwise_crc32(crc, p, len);
}

/* A register of ones is one that is empty and a message with its first bytes inverted. */
static void check_value_of_the_standard(void **state)
{
	static const uint8_t inverted[4] = { 0xce, 0xcd, 0xcc, 0xcb }; /* "1234" */
	uint8_t *end = (uint8_t *)head + sizeof(head);

	(void)state;
	memset(head, 0, sizeof(head));
	memcpy(end - 4, inverted, 4);
	assert_int_equal(rn_crc32(head, (const uint8_t *)"56789", 5), 0xcbf43926);
}

static void every_length_gives_the_crc_of_the_definition(void **state)
{
	uint32_t want;

	(void)state;
	fill();
	want = bitwise_after_head(bytes, 0);
	for (size_t len = 0; len <= LONGEST; len++) {
		assert_int_equal(rn_crc32(head, bytes, len), want);
		for (unsigned means = 0; means <= rn_crc32_best(); means++)
			assert_int_equal(rn_crc32_by(means, head, bytes, len), want);
		want = bitwise_crc32(want, bytes + len, 1);
	}
}

static void every_alignment_gives_the_same(void **state)
{
	static const size_t lengths[] = { 1, 16, 100, 256, 1024, 4096, LONGEST };
	static uint8_t original[LONGEST];

	(void)state;
	fill();
	memcpy(original, bytes, sizeof(original));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t want = bitwise_after_head(original, lengths[i]);

		for (size_t at = 0; at < ALIGNMENTS; at++) {
			memmove(bytes + at, original, sizeof(original));
			for (unsigned means = 0; means <= rn_crc32_best(); means++)
				assert_int_equal(
					rn_crc32_by(means, head, bytes + at, lengths[i]),
					want);
		}
	}
}

static void every_bit_of_the_head_counts(void **state)
{
	(void)state;
	fill();
	for (unsigned bit = 0; bit < RN_CRC32_HEAD * 8; bit++) {
		head[bit / 64] ^= (uint64_t)1 << bit % 64;
		assert_int_equal(rn_crc32(head, bytes, 300),
				 bitwise_after_head(bytes, 300));
	}
}

static void only_whole_payloads_can_be_copied(void **state)
{
	bool can = rn_crc32_best() >= RN_CRC32_BY_32;

	(void)state;
	for (size_t len = 0; len <= (size_t)2 * RN_CRC32_PART_MAX; len++) {
		bool whole = len == 256 || len == 512 || len == 1024 || len == 2048 ||
			     len == 4096;

		assert_int_equal(rn_crc32_can_copy(len), can && whole);
	}
}

/* @len bytes from one alignment to another, behind @before bytes. */
static void copy_once(enum rn_crc32_means means, uint32_t len, size_t from, size_t to,
		      size_t before)
{
	static uint8_t copy[ALIGNMENTS + RN_CRC32_PART_MAX + 64];
	struct rn_crc32_part part;
	uint32_t want;

	memset(copy, 0xee, sizeof(copy));
	rn_crc32_copy_by(means, copy + to, bytes + from, len, &part);
	assert_int_equal(part.len, len);
	assert_memory_equal(copy + to, bytes + from, len);
	for (size_t i = 0; i < to; i++)
		assert_int_equal(copy[i], 0xee);
	for (size_t i = to + len; i < sizeof(copy); i++)
		assert_int_equal(copy[i], 0xee);

	want = bitwise_after_head(bytes + 7, before);
	want = bitwise_crc32(want, bytes + from, len);
	assert_int_equal(rn_crc32_with(head, bytes + 7, before, &part), want);
}

static void what_was_copied_has_its_part_in_the_crc(void **state)
{
	(void)state;
	fill();
	if (!rn_crc32_can_copy(RN_CRC32_PART_MIN))
		skip();
	for (unsigned means = RN_CRC32_BY_32; means <= rn_crc32_best(); means++)
		for (uint32_t len = RN_CRC32_PART_MIN; len <= RN_CRC32_PART_MAX; len *= 2)
			for (size_t at = 0; at < ALIGNMENTS; at++)
				copy_once(means, len, at * 5 % ALIGNMENTS, at,
					  at % 4 * 16);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_value_of_the_standard),
		cmocka_unit_test(every_length_gives_the_crc_of_the_definition),
		cmocka_unit_test(every_alignment_gives_the_same),
		cmocka_unit_test(every_bit_of_the_head_counts),
		cmocka_unit_test(only_whole_payloads_can_be_copied),
		cmocka_unit_test(what_was_copied_has_its_part_in_the_crc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
