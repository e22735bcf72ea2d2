/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* far_copy.c - see far_copy.h. */
#include "far_copy.h"

#include <string.h>

#include "rocin/cpu.h"
#include "rocin/types.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

enum {
	LINE = 64
};

static bool has_fast_strings;

/* Find out whether the processor has Enhanced REP MOVSB (CPUID leaf 7, EBX bit 9). */
static void __attribute__((constructor)) look_at_processor(void)
{
	unsigned a, b, c, d;

	has_fast_strings = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 9 & 1;
}

static bool copy_string(uint8_t *dst, const uint8_t *src, size_t len)
{
	if (!has_fast_strings)
		return false;
	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(len) : : "memory");
	return true;
}

bool rn_far_copy_has_past(void)
{
	return rn_cpu_level() >= RN_CPU_AVX2;
}

/* Store whole cache lines that bypass the caches. @dst begins a line. */
static void __attribute__((target("avx512f")))
stream_by_64(uint8_t *dst, const uint8_t *src, size_t len)
{
	for (size_t at = 0; at < len; at += LINE)
		_mm512_stream_si512((void *)(dst + at), _mm512_loadu_si512(src + at));
}

/* Like stream_by_64(), but stores 32 bytes at a time. The two halves of a cache line are
 * stored directly after each other, so that the line leaves the processor's buffer as a
 * whole.
 */
static void __attribute__((target("avx2")))
stream_by_32(uint8_t *dst, const uint8_t *src, size_t len)
{
	for (size_t at = 0; at < len; at += LINE) {
		__m256i *to = (void *)(dst + at);
		const __m256i *from = (const void *)(src + at);
		__m256i low = _mm256_loadu_si256(from),
			high = _mm256_loadu_si256(from + 1);

		_mm256_stream_si256(to, low);
		_mm256_stream_si256(to + 1, high);
	}
}

static bool copy_past(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t before = -(uintptr_t)dst % LINE, lines;

	if (!rn_far_copy_has_past() || len < RN_FAR_COPY_MIN)
		return false;
	lines = (len - before) / LINE * LINE;
	memcpy(dst, src, before);
	memcpy(dst + before + lines, src + before + lines, len - before - lines);
	if (rn_cpu_level() >= RN_CPU_AVX512)
		stream_by_64(dst + before, src + before, lines);
	else
		stream_by_32(dst + before, src + before, lines);
	/* Stores behind this become visible only after the ones above. */
	_mm_sfence();
	return true;
}

#else

bool rn_far_copy_has_past(void)
{
	return false;
}

static bool copy_past(uint8_t *dst, const uint8_t *src, size_t len)
{
	(void)dst, (void)src, (void)len;
	return false;
}

static bool copy_string(uint8_t *dst, const uint8_t *src, size_t len)
{
	(void)dst, (void)src, (void)len;
	return false;
}

#endif

void rn_far_copy(uint8_t *dst, const uint8_t *src, size_t len)
{
	if (len >= RN_FAR_COPY_MIN && copy_string(dst, src, len))
		return;
	/* Hides from the compiler that @len has an upper limit. A compiler that knew the
	 * limit would use string instructions, which take long to start; the library's
	 * memcpy() does not.
	 */
	__asm__("" : "+r"(len));
	memcpy(dst, src, len);
}

void rn_far_copy_past(uint8_t *dst, const uint8_t *src, size_t len)
{
	if (!copy_past(dst, src, len))
		rn_far_copy(dst, src, len);
}

/* ---------------------------------------------------- choosing the faster function */
enum {
	/* A burst is the data between rn_copy_pace_begin() and rn_copy_pace_end(). One in
	 * every TRY_EVERY bursts is copied by the function that has been slower so far,
	 * to find out whether it still is.
	 */
	TRY_EVERY = 64,
	SMOOTH = 4, /* number of bursts over which the mean time is smoothed */
	/* rn_far_copy_past() is used if it saves more than 1 / MARGIN of the time */
	MARGIN = 16,
	/* A burst that took longer than this multiple of the mean time counts as this
	 * multiple, because the thread was probably interrupted.
	 */
	SPREAD_MAX = 2,
	BYTES_PER_MB = 1 << 20,
};

void rn_copy_pace_begin(struct rn_copy_pace *p, rn_ns now, uint64_t at)
{
	p->began = now;
	p->began_at = at;
}

static void note_burst(uint64_t *mean, uint64_t took)
{
	if (*mean == 0)
		*mean = took;
	if (took > *mean * SPREAD_MAX)
		took = *mean * SPREAD_MAX;
	*mean += took / SMOOTH;
	*mean -= *mean / (SMOOTH + 1);
}

static bool is_past_faster(const struct rn_copy_pace *p)
{
	uint64_t strings = p->per_mb[0], past = p->per_mb[1];

	return past != 0 && past + past / MARGIN < strings;
}

bool rn_copy_pace_end(struct rn_copy_pace *p, rn_ns now, uint64_t at, bool past)
{
	uint64_t bytes = at - p->began_at;

	if (p->began == 0 || bytes == 0)
		return past;
	note_burst(&p->per_mb[past], (uint64_t)(now - p->began) * BYTES_PER_MB / bytes);
	p->began = 0;
	past = is_past_faster(p);
	return ++p->bursts % TRY_EVERY == 0 ? !past : past;
}
