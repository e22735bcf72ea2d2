/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_speed.c - which instructions are chosen after what was measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/cpu.h"
#include "transport/io/memory/speed.h"

static void the_widest_is_chosen_unless_another_is_clearly_faster(void **state)
{
	static const struct {
		uint64_t ns[RN_CRC32_MEANS_COUNT];
		enum rn_crc32_means want;
	} cases[] = {
		{ { 900, 800, 300, 200 }, RN_CRC32_BY_64 },
		{ { 900, 800, 200, 200 }, RN_CRC32_BY_64 },
		/* within a sixteenth */
		{ { 900, 800, 190, 200 }, RN_CRC32_BY_64 },
		{ { 900, 800, 180, 200 }, RN_CRC32_BY_32 },
		{ { 100, 800, 180, 200 }, RN_CRC32_PLAIN },
		{ { 160, 150, 180, 200 }, RN_CRC32_BY_16 },
		/* what the machine does not have */
		{ { 900, 800, 300, 0 }, RN_CRC32_BY_32 },
		{ { 900, 800, 0, 0 }, RN_CRC32_BY_16 },
		{ { 900, 0, 0, 0 }, RN_CRC32_PLAIN },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct rn_speed s;

		memcpy(s.ns, cases[i].ns, sizeof(s.ns));
		assert_int_equal(rn_speed_fastest(&s), cases[i].want);
	}
}

static void each_implementation_of_a_level_is_measured(void **state)
{
	(void)state;
	for (unsigned level = 0; level <= rn_cpu_best(); level++) {
		struct rn_speed s;

		rn_cpu_limit((enum rn_cpu_level)level);
		assert_true(rn_speed_measure(&s));
		for (unsigned i = 0; i < RN_CRC32_MEANS_COUNT; i++)
			assert_int_equal(s.ns[i] != 0, i <= rn_crc32_best());
		assert_true(rn_speed_fastest(&s) <= rn_crc32_best());
	}
	rn_cpu_limit(rn_cpu_best());
}

static void what_was_chosen_is_used_at_its_level_alone(void **state)
{
	static const uint64_t head[RN_CRC32_HEAD / 8] = { 1, 2, 3 };
	static const uint8_t data[RN_SPEED_LEN] = { 4, 5, 6 };
	enum rn_cpu_level best = rn_cpu_best();
	uint32_t sum = rn_crc32(head, data, sizeof(data));

	(void)state;
	rn_crc32_use(RN_CRC32_PLAIN);
	assert_int_equal(rn_crc32_in_use(), RN_CRC32_PLAIN);
	assert_false(rn_crc32_can_copy(RN_SPEED_LEN));
	assert_int_equal(rn_crc32(head, data, sizeof(data)), sum);
	if (best > RN_CPU_SCALAR) {
		rn_cpu_limit((enum rn_cpu_level)(best - 1));
		assert_int_equal(rn_crc32_in_use(), rn_crc32_best());
		rn_cpu_limit(best);
	}
	rn_crc32_use(rn_crc32_best());
	assert_int_equal(rn_crc32_in_use(), rn_crc32_best());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_widest_is_chosen_unless_another_is_clearly_faster),
		cmocka_unit_test(each_implementation_of_a_level_is_measured),
		cmocka_unit_test(what_was_chosen_is_used_at_its_level_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
