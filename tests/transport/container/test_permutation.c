/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_permutation.c - secret orders of numbers: complete, inverted, and of the secret.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rocin/permutation.h"

static void every_number_has_one_place(void **state)
{
	const struct rn_permutation p = rn_permutation_of(7, 8);
	static bool seen[65536];

	(void)state;
	for (uint32_t n = 0; n < 65536; n++) {
		uint32_t number = rn_permute(&p, n);

		assert_true(number < 65536);
		assert_false(seen[number]);
		seen[number] = true;
		assert_int_equal(rn_permute_back(&p, number), n);
	}
}

static void numbers_of_32_bits_go_back_to_their_places(void **state)
{
	const struct rn_permutation p = rn_permutation_of(8, 16);

	(void)state;
	for (uint64_t n = 0; n <= UINT32_MAX; n += 65521)
		assert_int_equal(rn_permute_back(&p, rn_permute(&p, (uint32_t)n)), n);
}

/* A change of one bit of the place, or of the secret, changes half of the bits. */
static void half_of_the_bits_change_with_each_bit(void **state)
{
	uint64_t by_place = 0, by_secret = 0, count = 0;

	(void)state;
	for (uint32_t n = 0; n < 1000; n++)
		for (unsigned bit = 0; bit < 32; bit++, count++) {
			const struct rn_permutation p = rn_permutation_of(n, 16);
			const struct rn_permutation q =
				rn_permutation_of(n ^ 1u << bit, 16);
			uint32_t number = rn_permute(&p, n);

			by_place += (unsigned)__builtin_popcount(
				number ^ rn_permute(&p, n ^ 1u << bit));
			by_secret +=
				(unsigned)__builtin_popcount(number ^ rn_permute(&q, n));
		}
	assert_in_range(by_place, 15 * count, 17 * count);
	assert_in_range(by_secret, 15 * count, 17 * count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_has_one_place),
		cmocka_unit_test(numbers_of_32_bits_go_back_to_their_places),
		cmocka_unit_test(half_of_the_bits_change_with_each_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
