/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* far_copy.c - see far_copy.h */
#include "far_copy.h"

#include <string.h>

#include "rocin/types.h"

#if defined(__x86_64__)
#include <cpuid.h>

static bool has_fast_strings;

/* Enhanced REP MOVSB: CPUID leaf 7, EBX bit 9. */
static void __attribute__((constructor)) look_for_fast_strings(void)
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

#else

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
	/* The compiler knows how many bytes it can be at most, and would take string
	 * instructions, which are slow to begin: the library's memcpy() is not.
	 */
	__asm__("" : "+r"(len));
	memcpy(dst, src, len);
}
