/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hash.h - hashes for tables and digests. They are fast and not cryptographic: an
 * attacker who chooses the input can make hashes equal. Runs from seeds and recordings
 * depend on the values, so the functions must not change.
 */
#ifndef RN_HASH_H
#define RN_HASH_H

#include "rocin/types.h"

/* 2^64 divided by the golden ratio, an odd number. */
#define RN_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* Returns a hash of one word (Fibonacci hashing; Knuth, TAOCP 6.4). It spreads words that
 * are consecutive or have equal low bits, such as addresses of pages. The upper bits are
 * the well mixed ones: callers shift the hash to the right.
 */
static inline uint64_t rn_hash_word(uint64_t word)
{
	return word * RN_HASH_FACTOR;
}

/* Adds bytes to the hash @hash (FNV-1a, 64 bits). Before the first bytes, @hash must
 * be RN_HASH_BEGIN.
 */
#define RN_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t rn_hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif /* RN_HASH_H */
