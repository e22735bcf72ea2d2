/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crc32.c - computes the CRC-32 by libdeflate or, on processors with VPCLMULQDQ, by
 * folding code of its own.
 *
 * libdeflate 1.14, which distributions ship, folds 16 bytes at a time; folding 64 bytes
 * takes a third of the time for a packet of 4 KiB. On processors that fold no more than
 * 16 bytes, short packets are folded here, too: a packet of 64 bytes takes 70
 * instructions, and 150 by the two calls of libdeflate that its head and its payload
 * need. Method (Gopal et al., "Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction", Intel 2009): the CRC stays the same if a piece of the message
 * is removed and its product with x^D mod P is added to the bytes D bits further on. This
 * is repeated until 16 bytes with the CRC of the whole message remain.
 */
#include "rocin/crc32.h"

#include <libdeflate.h>
#include <stdatomic.h>

#include "rocin/cpu.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define FOLDING 1
#else
#define FOLDING 0
#endif

#if FOLDING
#include <immintrin.h>

#define FOLD_16 __attribute__((target("pclmul,avx")))
#define FOLD_32 __attribute__((target("vpclmulqdq,pclmul,avx2")))
#define FOLD_64 __attribute__((target("vpclmulqdq,pclmul,avx2,avx512f,avx512vl")))

/* BY_D: pairs { x^(D+32), x^(D-32) } mod P, bit-reflected and shifted left by one. A
 * multiplication with them moves 16 bytes forward by D bits.
 */
#define BY_32768 0x000000005ad8a92c, 0x00000001b3b1a484
#define BY_16384 0x0000000153c7bc22, 0x00000001a03baef6
#define BY_8192 0x0000000123e0f72e, 0x00000000bbf2f6d6
#define BY_4096 0x000000001072db28, 0x00000001d741f35c
#define BY_2048 0x000000011542778a, 0x00000001322d1430
#define BY_1024 0x00000001e88ef372, 0x000000014a7fe880
#define BY_512 0x0000000154442bd4, 0x00000001c6e41596
#define BY_384 0x000000003db1ecdc, 0x0000000174359406
#define BY_256 0x00000000f1da05aa, 0x000000015a546366
#define BY_128 0x00000001751997d0, 0x00000000ccaa009e

/* Constants for the reduction of the last 16 bytes, bit-reflected: x^64 mod P, shifted as
 * above; P; x^64 div P.
 */
#define X_64 0x0000000163cd6124
#define POLYNOMIAL 0x00000001db710641
#define QUOTIENT 0x00000001f7011641

enum {
	/* Bytes. A message of so many bytes or more is left to libdeflate by
	 * RN_CRC32_BY_16, because libdeflate folds four pieces of 16 bytes side by side.
	 */
	LONG = 256,
};

/* ------------------------------------------------------- folding 16 bytes at a time */
static inline FOLD_16 __m128i pair16(long long low, long long high)
{
	return _mm_set_epi64x(high, low);
}

static inline FOLD_16 __m128i load16(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Moves the 16 bytes in @a forward by the distance that the constants @k stand for, and
 * adds @next, the bytes that are there.
 */
static inline FOLD_16 __m128i fold16(__m128i a, __m128i k, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(a, k, 0x00);
	__m128i high = _mm_clmulepi64_si128(a, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* Returns the CRC of 16 bytes, if the CRC register is 0 before them. Reduces the 16 bytes
 * to 12, then to 8, and takes the remainder by Barrett reduction.
 */
static inline FOLD_16 uint32_t reduce16(__m128i x)
{
	const __m128i k = pair16(BY_128), barrett = pair16(POLYNOMIAL, QUOTIENT);
	const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
	__m128i q;

	x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, k, 0x10));
	x = _mm_xor_si128(
		_mm_srli_si128(x, 4),
		_mm_clmulepi64_si128(_mm_and_si128(x, low32), pair16(X_64, 0), 0x00));
	q = _mm_clmulepi64_si128(_mm_and_si128(x, low32), barrett, 0x10);
	q = _mm_clmulepi64_si128(_mm_and_si128(q, low32), barrett, 0x00);
	return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(x, q), 1);
}

/* Returns the CRC of the bytes that have been folded into @x, followed by the @len bytes
 * at @p.
 */
static inline FOLD_16 uint32_t finish_crc(__m128i x, const uint8_t *p, size_t len)
{
	const __m128i k = pair16(BY_128);
	uint32_t crc;

	for (; len >= 16; p += 16, len -= 16)
		x = fold16(x, k, load16(p));
	crc = reduce16(x);
	return len ? libdeflate_crc32(crc, p, len) : crc;
}

/* Reads one word. Volatile, so that the compiler does not combine several reads into a
 * wide one, which would have to wait until the stores before it have reached the cache.
 */
static inline long long word(const uint64_t *w)
{
	return (long long)*(const volatile uint64_t *)w;
}

static inline FOLD_16 __m128i words16(const uint64_t *w)
{
	return _mm_set_epi64x(word(w + 1), word(w));
}

static FOLD_16 uint32_t crc_by_16(const uint64_t *head, const uint8_t *p, size_t len)
{
	const __m128i k = pair16(BY_128);
	__m128i x = words16(head);

	for (unsigned i = 2; i < RN_CRC32_HEAD / 8; i += 2)
		x = fold16(x, k, words16(head + i));
	if (len >= LONG)
		return libdeflate_crc32(reduce16(x), p, len);
	return finish_crc(x, p, len);
}

/* ------------------------------------------------------- folding 32 bytes at a time */
static inline FOLD_32 __m256i pair32(long long low, long long high)
{
	return _mm256_set_epi64x(high, low, high, low);
}

static inline FOLD_32 __m256i words32(const uint64_t *w)
{
	return _mm256_set_epi64x(word(w + 3), word(w + 2), word(w + 1), word(w));
}

static inline FOLD_32 __m256i load32(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline FOLD_32 __m256i fold32(__m256i a, __m256i k, __m256i next)
{
	__m256i low = _mm256_clmulepi64_epi128(a, k, 0x00);
	__m256i high = _mm256_clmulepi64_epi128(a, k, 0x11);

	return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

/* Folds 32 bytes to 16: moves the first half forward and adds it to the second. */
static inline FOLD_32 __m128i join32(__m256i a)
{
	return fold16(_mm256_castsi256_si128(a), pair16(BY_128),
		      _mm256_extracti128_si256(a, 1));
}

/* Folds 128 bytes to 32. */
static inline FOLD_32 __m256i join128(__m256i a, __m256i b, __m256i c, __m256i d)
{
	const __m256i near = pair32(BY_256);

	return fold32(fold32(fold32(a, near, b), near, c), near, d);
}

static FOLD_32 uint32_t crc_by_32(const uint64_t *head, const uint8_t *p, size_t len)
{
	const __m256i far = pair32(BY_1024), near = pair32(BY_256);
	__m256i x = fold32(words32(head), near, words32(head + 4));

	if (len >= 128) {
		__m256i a = fold32(x, near, load32(p)), b = load32(p + 32),
			c = load32(p + 64), d = load32(p + 96);

		for (p += 128, len -= 128; len >= 128; p += 128, len -= 128) {
			a = fold32(a, far, load32(p));
			b = fold32(b, far, load32(p + 32));
			c = fold32(c, far, load32(p + 64));
			d = fold32(d, far, load32(p + 96));
		}
		x = join128(a, b, c, d);
	}
	for (; len >= 32; p += 32, len -= 32)
		x = fold32(x, near, load32(p));
	return finish_crc(join32(x), p, len);
}

/* ------------------------------------------------------- folding 64 bytes at a time */
static inline FOLD_64 __m512i pair64(long long low, long long high)
{
	return _mm512_set_epi64(high, low, high, low, high, low, high, low);
}

static inline FOLD_64 __m512i load64(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

static inline FOLD_64 __m512i xor64(__m512i a, __m512i b, __m512i c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

static inline FOLD_64 __m512i fold64(__m512i a, __m512i k, __m512i next)
{
	return xor64(_mm512_clmulepi64_epi128(a, k, 0x00),
		     _mm512_clmulepi64_epi128(a, k, 0x11), next);
}

/* Folds 64 bytes to 16: moves the first three quarters forward and adds them to the last.
 */
static inline FOLD_64 __m128i join64(__m512i a)
{
	const __m128i last = _mm512_extracti32x4_epi32(a, 3);
	__m512i k = _mm512_setzero_si512(), moved;
	__m256i half;

	k = _mm512_inserti32x4(k, pair16(BY_384), 0);
	k = _mm512_inserti32x4(k, pair16(BY_256), 1);
	k = _mm512_inserti32x4(k, pair16(BY_128), 2);
	moved = fold64(a, k, _mm512_zextsi128_si512(last));
	half = _mm256_xor_si256(_mm512_castsi512_si256(moved),
				_mm512_extracti64x4_epi64(moved, 1));
	return _mm_xor_si128(_mm256_castsi256_si128(half),
			     _mm256_extracti128_si256(half, 1));
}

static inline FOLD_64 __m512i words64(const uint64_t *w)
{
	return _mm512_inserti64x4(_mm512_castsi256_si512(words32(w)), words32(w + 4), 1);
}

/* Folds 256 bytes to 64. */
static inline FOLD_64 __m512i join256(__m512i a, __m512i b, __m512i c, __m512i d)
{
	const __m512i k = pair64(BY_1024);

	return fold64(fold64(a, k, c), pair64(BY_512), fold64(b, k, d));
}

static FOLD_64 uint32_t crc_by_64(const uint64_t *head, const uint8_t *p, size_t len)
{
	const __m512i far = pair64(BY_2048), near = pair64(BY_512);
	__m512i x = words64(head);

	if (len >= 256) {
		__m512i a = fold64(x, near, load64(p)), b = load64(p + 64),
			c = load64(p + 128), d = load64(p + 192);

		for (p += 256, len -= 256; len >= 256; p += 256, len -= 256) {
			a = fold64(a, far, load64(p));
			b = fold64(b, far, load64(p + 64));
			c = fold64(c, far, load64(p + 128));
			d = fold64(d, far, load64(p + 192));
		}
		x = join256(a, b, c, d);
	}
	for (; len >= 64; p += 64, len -= 64)
		x = fold64(x, near, load64(p));
	return finish_crc(join64(x), p, len);
}

/* -------------------------------------------------- copying and folding in one pass */
typedef long long unaligned256 __attribute__((vector_size(32), aligned(1), may_alias));
typedef long long unaligned512 __attribute__((vector_size(64), aligned(1), may_alias));

/* Attribute of functions that read memory while the program may write to it. That is
 * intended, and callers expect it; without the attribute a sanitizer would report it.
 */
#define RACY __attribute__((no_sanitize("thread", "address", "undefined")))

/* Copies 32 (or 64) bytes and returns them. The bytes returned, which go into the CRC,
 * must be those that were stored. So the compiler is kept from loading them from @src a
 * second time: the program may have changed them in between.
 */
static inline RACY FOLD_32 __m256i move32(uint8_t *dst, const uint8_t *src)
{
	__m256i v = (__m256i) * (const unaligned256 *)src;

	__asm__("" : "+x"(v));
	*(unaligned256 *)dst = (unaligned256)v;
	return v;
}

static inline RACY FOLD_64 __m512i move64(uint8_t *dst, const uint8_t *src)
{
	__m512i v = (__m512i) * (const unaligned512 *)src;

	__asm__("" : "+v"(v));
	*(unaligned512 *)dst = (unaligned512)v;
	return v;
}

static inline FOLD_32 void keep16(uint64_t *left, __m128i x)
{
	left[0] = (uint64_t)_mm_extract_epi64(x, 0);
	left[1] = (uint64_t)_mm_extract_epi64(x, 1);
}

static RACY FOLD_32 void copy_by_32(uint8_t *dst, const uint8_t *src, size_t len,
				    uint64_t *left)
{
	const __m256i far = pair32(BY_1024);
	__m256i a = move32(dst, src), b = move32(dst + 32, src + 32),
		c = move32(dst + 64, src + 64), d = move32(dst + 96, src + 96);

	for (size_t at = 128; at < len; at += 128) {
		a = fold32(a, far, move32(dst + at, src + at));
		b = fold32(b, far, move32(dst + at + 32, src + at + 32));
		c = fold32(c, far, move32(dst + at + 64, src + at + 64));
		d = fold32(d, far, move32(dst + at + 96, src + at + 96));
	}
	keep16(left, join32(join128(a, b, c, d)));
}

static RACY FOLD_64 void copy_by_64(uint8_t *dst, const uint8_t *src, size_t len,
				    uint64_t *left)
{
	const __m512i far = pair64(BY_2048);
	__m512i a = move64(dst, src), b = move64(dst + 64, src + 64),
		c = move64(dst + 128, src + 128), d = move64(dst + 192, src + 192);

	for (size_t at = 256; at < len; at += 256) {
		a = fold64(a, far, move64(dst + at, src + at));
		b = fold64(b, far, move64(dst + at + 64, src + at + 64));
		c = fold64(c, far, move64(dst + at + 128, src + at + 128));
		d = fold64(d, far, move64(dst + at + 192, src + at + 192));
	}
	keep16(left, join64(join256(a, b, c, d)));
}

static FOLD_32 __m128i pair_of_length(size_t len)
{
	switch (len) {
	case 256:
		return pair16(BY_2048);
	case 512:
		return pair16(BY_4096);
	case 1024:
		return pair16(BY_8192);
	case 2048:
		return pair16(BY_16384);
	default:
		return pair16(BY_32768);
	}
}

/* Returns the CRC of three pieces together: the head, the @len bytes at @p, and the bytes
 * whose CRC @part has. The second piece is short, so wider registers would not be faster.
 */
static FOLD_32 uint32_t crc_with_part(const uint64_t *head, const uint8_t *p, size_t len,
				      const struct rn_crc32_part *part)
{
	__m128i x = join32(fold32(words32(head), pair32(BY_256), words32(head + 4)));
	__m128i rest = pair16(word(part->w), word(part->w + 1));

	for (; len > 0; p += 16, len -= 16)
		x = fold16(x, pair16(BY_128), load16(p));
	return reduce16(fold16(x, pair_of_length(part->len), rest));
}

/* ------------------------------------------------------------ public functions */
enum rn_crc32_means rn_crc32_best(void)
{
	enum rn_cpu_level level = rn_cpu_level();

	if (level == RN_CPU_SCALAR || !__builtin_cpu_supports("pclmul"))
		return RN_CRC32_PLAIN;
	if (!__builtin_cpu_supports("vpclmulqdq"))
		return RN_CRC32_BY_16;
	return level == RN_CPU_AVX2 ? RN_CRC32_BY_32 : RN_CRC32_BY_64;
}

#else

enum rn_crc32_means rn_crc32_best(void)
{
	return RN_CRC32_PLAIN;
}

#endif /* FOLDING */

/* For each level of vector instructions: the implementation in use, plus 1; 0: that of
 * rn_crc32_best().
 */
static _Atomic uint8_t in_use[RN_CPU_LEVELS];

enum rn_crc32_means rn_crc32_in_use(void)
{
	uint8_t means =
		atomic_load_explicit(&in_use[rn_cpu_level()], memory_order_relaxed);

	return means ? (enum rn_crc32_means)(means - 1) : rn_crc32_best();
}

void rn_crc32_use(enum rn_crc32_means means)
{
	assert(means <= rn_crc32_best());
	atomic_store_explicit(&in_use[rn_cpu_level()], (uint8_t)(means + 1),
			      memory_order_relaxed);
}

static inline uint32_t crc_by(enum rn_crc32_means means, const uint64_t *head,
			      const uint8_t *p, size_t len)
{
	uint32_t crc;

#if FOLDING
	if (means == RN_CRC32_BY_64)
		return crc_by_64(head, p, len);
	if (means == RN_CRC32_BY_32)
		return crc_by_32(head, p, len);
	if (means == RN_CRC32_BY_16)
		return crc_by_16(head, p, len);
#endif
	(void)means;
	crc = libdeflate_crc32(UINT32_MAX, head, RN_CRC32_HEAD);
	return libdeflate_crc32(crc, p, len);
}

uint32_t rn_crc32_by(enum rn_crc32_means means, const uint64_t head[RN_CRC32_HEAD / 8],
		     const uint8_t *p, size_t len)
{
	assert(means <= rn_crc32_best());
	return crc_by(means, head, p, len);
}

uint32_t rn_crc32(const uint64_t head[RN_CRC32_HEAD / 8], const uint8_t *p, size_t len)
{
	return crc_by(rn_crc32_in_use(), head, p, len);
}

static bool is_whole(size_t len)
{
	return len >= RN_CRC32_PART_MIN && len <= RN_CRC32_PART_MAX &&
	       (len & (len - 1)) == 0;
}

bool rn_crc32_can_copy(size_t len)
{
	return is_whole(len) && rn_crc32_in_use() >= RN_CRC32_BY_32;
}

void rn_crc32_copy_by(enum rn_crc32_means means, uint8_t *dst, const uint8_t *src,
		      uint32_t len, struct rn_crc32_part *part)
{
	assert(means <= rn_crc32_best());
	assert(means >= RN_CRC32_BY_32);
	assert(is_whole(len));
#if FOLDING
	if (means == RN_CRC32_BY_64)
		copy_by_64(dst, src, len, part->w);
	else
		copy_by_32(dst, src, len, part->w);
#else
	(void)dst, (void)src;
#endif
	part->len = len;
}

void rn_crc32_copy(uint8_t *dst, const uint8_t *src, uint32_t len,
		   struct rn_crc32_part *part)
{
	rn_crc32_copy_by(rn_crc32_in_use(), dst, src, len, part);
}

uint32_t rn_crc32_with(const uint64_t head[RN_CRC32_HEAD / 8], const uint8_t *p,
		       size_t len, const struct rn_crc32_part *part)
{
	assert(len % 16 == 0 && is_whole(part->len));
#if FOLDING
	return crc_with_part(head, p, len, part);
#else
	(void)head, (void)p;
	return 0;
#endif
}
