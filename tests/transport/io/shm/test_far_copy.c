/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_far_copy.c - all bytes and no others, whatever the length, the places and the
 * instructions that may be used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/cpu.h"
#include "transport/io/shm/far_copy.h"

enum {
	ROOM = 3 * 4096,
	NOTHING = 0xee,
};

static uint8_t from[ROOM], to[ROOM];

typedef void copy_fn(uint8_t *dst, const uint8_t *src, size_t len);

static void assert_copied(copy_fn *copy, size_t dst, size_t src, size_t len)
{
	memset(to, NOTHING, sizeof(to));
	copy(to + dst, from + src, len);
	assert_memory_equal(to + dst, from + src, len);
	for (size_t i = 0; i < dst; i++)
		assert_int_equal(to[i], NOTHING);
	for (size_t i = dst + len; i < sizeof(to); i++)
		assert_int_equal(to[i], NOTHING);
}

static void assert_copied_everywhere(void)
{
	static const size_t lengths[] = { 0,
					  1,
					  63,
					  RN_FAR_COPY_MIN - 1,
					  RN_FAR_COPY_MIN,
					  RN_FAR_COPY_MIN + 1,
					  4096,
					  4128,
					  4224 };
	static const size_t places[] = { 0, 1, 16, 52, 64, 4095 };
	const size_t places_count = sizeof(places) / sizeof(places[0]);

	for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++)
		for (size_t d = 0; d < places_count; d++)
			for (size_t s = 0; s < places_count; s++)
				for (size_t c = 0; c < 2; c++)
					assert_copied(c ? rn_far_copy_past : rn_far_copy,
						      places[d], places[s], lengths[n]);
}

static void bytes_are_copied_and_no_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 37 + i / 256);
	for (unsigned level = 0; level < RN_CPU_LEVELS; level++) {
		rn_cpu_limit(level);
		assert_copied_everywhere();
	}
}

/* Stores past the caches need vector instructions. */
static void caches_are_bypassed_from_avx2_on(void **state)
{
	(void)state;
	for (unsigned level = 0; level < RN_CPU_LEVELS; level++) {
		rn_cpu_limit(level);
		assert_int_equal(rn_far_copy_has_past(),
				 level >= RN_CPU_AVX2 && rn_cpu_best() >= RN_CPU_AVX2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_copied_and_no_others),
		cmocka_unit_test(caches_are_bypassed_from_avx2_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
