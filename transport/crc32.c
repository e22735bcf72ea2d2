/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crc32.c - libdeflate, and for long input on processors with VPCLMULQDQ our own folding.
 *
 * libdeflate 1.14, which distributions ship, folds 16 bytes at a time; twice that halves
 * the share of the ICRC in a 4 KiB packet. Method: Gopal et al., "Fast CRC Computation
 * for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009: a piece of the
 * message may be replaced by its product with x^D mod P, added D bits further on. What is
 * left in the end is 16 bytes with the same CRC as all that went before.
 */
#include <libdeflate.h>
#include <string.h>

#include "crc32.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Below this libdeflate is as fast. */
enum {
	FOLD_MIN = 256,
	BLOCK = 128
};

#define FOLDING __attribute__((target("vpclmulqdq,pclmul,avx2")))

/* Pairs { x^(D+32), x^(D-32) } mod P, bit-reflected and shifted left by one, for a
 * distance of D bits.
 */
#define FOLD_1024 0x00000001e88ef372, 0x000000014a7fe880
#define FOLD_256 0x00000000f1da05aa, 0x000000015a546366
#define FOLD_128 0x00000001751997d0, 0x00000000ccaa009e

static inline FOLDING __m256i factors(long long low, long long high)
{
	return _mm256_set_epi64x(high, low, high, low);
}

/* @a moved on by the distance of @k, and added to @next. */
static inline FOLDING __m256i fold(__m256i a, __m256i k, __m256i next)
{
	__m256i low = _mm256_clmulepi64_epi128(a, k, 0x00);
	__m256i high = _mm256_clmulepi64_epi128(a, k, 0x11);

	return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

static inline FOLDING __m128i fold_half(__m128i a, __m128i k, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(a, k, 0x00);
	__m128i high = _mm_clmulepi64_si128(a, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static inline FOLDING __m256i load(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline FOLDING __m128i load_half(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* @len is at least BLOCK. */
static FOLDING uint32_t fold_crc32(uint32_t crc, const uint8_t *p, size_t len)
{
	const __m256i far = factors(FOLD_1024), near = factors(FOLD_256);
	const __m128i half = _mm256_castsi256_si128(factors(FOLD_128));
	__m256i a = load(p), b = load(p + 32), c = load(p + 64), d = load(p + 96);
	uint8_t rest[16];
	__m128i x;

	/* The register goes into the first four bytes. */
	a = _mm256_xor_si256(a, _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)~crc)));
	for (p += BLOCK, len -= BLOCK; len >= BLOCK; p += BLOCK, len -= BLOCK) {
		a = fold(a, far, load(p));
		b = fold(b, far, load(p + 32));
		c = fold(c, far, load(p + 64));
		d = fold(d, far, load(p + 96));
	}
	a = fold(fold(fold(a, near, b), near, c), near, d);
	x = fold_half(_mm256_castsi256_si128(a), half, _mm256_extracti128_si256(a, 1));
	for (; len >= 16; p += 16, len -= 16)
		x = fold_half(x, half, load_half(p));

	/* 16 bytes that stand for all before them: begin anew, with an empty register. */
	_mm_storeu_si128((__m128i *)(void *)rest, x);
	crc = libdeflate_crc32(UINT32_MAX, rest, sizeof(rest));
	return libdeflate_crc32(crc, p, len);
}

uint32_t rn_crc32(uint32_t crc, const uint8_t *p, size_t len)
{
	if (len >= FOLD_MIN && __builtin_cpu_supports("vpclmulqdq") &&
	    __builtin_cpu_supports("avx2"))
		return fold_crc32(crc, p, len);
	return libdeflate_crc32(crc, p, len);
}

#else

uint32_t rn_crc32(uint32_t crc, const uint8_t *p, size_t len)
{
	return libdeflate_crc32(crc, p, len);
}

#endif
