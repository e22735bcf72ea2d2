/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* permutation.h - a secret order of the numbers below 2^16 or 2^32: numbers taken in this
 * order do not repeat before each has occurred once, and without the secret the next
 * number cannot be computed from earlier ones.
 *
 * It is a balanced Feistel network of eight rounds (Luby, Rackoff: How to construct
 * pseudorandom permutations, 1988), whose round function is that of random.h under two
 * 64-bit keys. It keeps numbers from being guessed; it is no cipher for data.
 *
 * The secret comes from the caller: a live device draws it from the kernel, and equal
 * secrets give equal orders.
 */
#ifndef RN_PERMUTATION_H
#define RN_PERMUTATION_H

#include "rocin/random.h"

struct rn_permutation {
	uint64_t key[2];
	unsigned half; /* bits of half a number: 8 or 16 */
};

enum {
	RN_PERMUTATION_ROUNDS = 8
};

/* Returns the order of the numbers of 2 * @half bits that @secret determines. */
static inline struct rn_permutation rn_permutation_of(uint64_t secret, unsigned half)
{
	assert(half >= 1 && half <= 16);
	return (struct rn_permutation){
		{ rn_random_at(secret, 0), rn_random_at(secret, 1) }, half
	};
}

static inline uint32_t rn_permutation_round(const struct rn_permutation *p,
					    unsigned round, uint32_t in)
{
	uint64_t z = rn_random_mix(p->key[0] ^ ((uint64_t)round << 32 | in));

	return (uint32_t)(rn_random_mix(z ^ p->key[1]) >> (64 - p->half));
}

/* Returns the number at position @n (from 0) of the order @p. */
static inline uint32_t rn_permute(const struct rn_permutation *p, uint32_t n)
{
	const uint32_t mask = (1u << p->half) - 1;
	uint32_t left = n >> p->half, right = n & mask;

	for (unsigned i = 0; i < RN_PERMUTATION_ROUNDS; i++) {
		uint32_t next = left ^ rn_permutation_round(p, i, right);

		left = right;
		right = next;
	}
	return left << p->half | right;
}

/* Returns the place of a number in the order: the inverse of rn_permute(). */
static inline uint32_t rn_permute_back(const struct rn_permutation *p, uint32_t n)
{
	const uint32_t mask = (1u << p->half) - 1;
	uint32_t left = n >> p->half, right = n & mask;

	for (unsigned i = RN_PERMUTATION_ROUNDS; i-- > 0;) {
		uint32_t before = right ^ rn_permutation_round(p, i, left);

		right = left;
		left = before;
	}
	return left << p->half | right;
}

#endif /* RN_PERMUTATION_H */
