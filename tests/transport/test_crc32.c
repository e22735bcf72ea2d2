/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "crc32.h"

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

static uint8_t bytes[8192];

static void fill(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(x >> 24);
	}
}

static void check_value_of_the_standard(void **state)
{
	(void)state;
	assert_int_equal(rn_crc32(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
}

static void every_length_gives_the_crc_of_the_definition(void **state)
{
	(void)state;
	fill();
	for (size_t len = 0; len <= 1100; len++)
		assert_int_equal(rn_crc32(0, bytes, len), bitwise_crc32(0, bytes, len));
	assert_int_equal(rn_crc32(0, bytes, sizeof(bytes)),
			 bitwise_crc32(0, bytes, sizeof(bytes)));
}

static void every_alignment_gives_the_same(void **state)
{
	static uint8_t moved[4096 + 64];

	(void)state;
	fill();
	for (size_t at = 0; at < 64; at++) {
		memcpy(moved + at, bytes, 4096);
		assert_int_equal(rn_crc32(7, moved + at, 4096),
				 bitwise_crc32(7, bytes, 4096));
	}
}

static void a_crc_is_continued_at_every_point(void **state)
{
	uint32_t whole;

	(void)state;
	fill();
	whole = bitwise_crc32(0, bytes, 2000);
	for (size_t cut = 0; cut <= 2000; cut += 7) {
		uint32_t crc = rn_crc32(0, bytes, cut);

		assert_int_equal(rn_crc32(crc, bytes + cut, 2000 - cut), whole);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_value_of_the_standard),
		cmocka_unit_test(every_length_gives_the_crc_of_the_definition),
		cmocka_unit_test(every_alignment_gives_the_same),
		cmocka_unit_test(a_crc_is_continued_at_every_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
