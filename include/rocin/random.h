/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* random.h - seeded sequences of pseudorandom numbers: SplitMix64 (Steele, Lea, Flood:
 * Fast splittable pseudorandom number generators, 2014). Any seed is valid, 0 too.
 *
 * Equal seeds give equal sequences, on any machine. Code that uses a sequence of its own
 * does not change the numbers that other code gets.
 */
#ifndef RN_RANDOM_H
#define RN_RANDOM_H

#include "rocin/types.h"

struct rn_random {
	uint64_t state;
};

#define RN_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t rn_random_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t rn_random_next(struct rn_random *r)
{
	r->state += RN_RANDOM_STEP;
	return rn_random_mix(r->state);
}

/* Returns number @n, counted from 0, of the sequence that begins with @state. */
static inline uint64_t rn_random_at(uint64_t state, uint64_t n)
{
	return rn_random_mix(state + (n + 1) * RN_RANDOM_STEP);
}

/* Returns a sequence for the purpose with number @concern, derived from @seed. */
static inline struct rn_random rn_random_of(uint64_t seed, uint64_t concern)
{
	return (struct rn_random){ rn_random_mix(seed * 0x9e37 + 1) ^
				   rn_random_mix(concern + 0x5eed) };
}

/* Returns a number from 0 to @below - 1; @below >= 1. */
static inline uint32_t rn_random_below(struct rn_random *r, uint32_t below)
{
	assert(below > 0);
	return (uint32_t)(rn_random_next(r) % below);
}

/* Returns a number from 0 to @below - 1, computed without a division; the bias is 2^-32
 * at most.
 */
static inline uint32_t rn_random_scaled(struct rn_random *r, uint32_t below)
{
	return (uint32_t)((rn_random_next(r) >> 32) * below >> 32);
}

static inline bool rn_random_ppm(struct rn_random *r, uint32_t ppm)
{
	return ppm && rn_random_below(r, 1000000) < ppm;
}

#endif /* RN_RANDOM_H */
