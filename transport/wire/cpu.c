/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpu.c - see rocin/cpu.h. */
#include "rocin/cpu.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* The level in force, which each packet asks for; RN_CPU_LEVELS: not determined yet. */
static _Atomic enum rn_cpu_level in_force = RN_CPU_LEVELS;

enum rn_cpu_level rn_cpu_best(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
		return RN_CPU_AVX512;
	if (__builtin_cpu_supports("avx2"))
		return RN_CPU_AVX2;
#endif
	return RN_CPU_SCALAR;
}

enum rn_cpu_level rn_cpu_level(void)
{
	enum rn_cpu_level level = atomic_load_explicit(&in_force, memory_order_relaxed);

	return level < RN_CPU_LEVELS ? level : rn_cpu_best();
}

void rn_cpu_limit(enum rn_cpu_level most)
{
	enum rn_cpu_level best = rn_cpu_best();

	assert(most < RN_CPU_LEVELS);
	atomic_store_explicit(&in_force, most < best ? most : best, memory_order_relaxed);
}

const char *rn_cpu_name(enum rn_cpu_level level)
{
	static const char *const names[RN_CPU_LEVELS] = {
		[RN_CPU_SCALAR] = "scalar",
		[RN_CPU_AVX2] = "avx2",
		[RN_CPU_AVX512] = "avx512",
	};

	assert(level < RN_CPU_LEVELS);
	return names[level];
}

int rn_cpu_read(const char *text, enum rn_cpu_level *level)
{
	*level = rn_cpu_best();
	if (!text || !*text || strcmp(text, "auto") == 0)
		return 0;
	for (unsigned i = 0; i < RN_CPU_LEVELS; i++) {
		if (strcmp(text, rn_cpu_name((enum rn_cpu_level)i)) != 0)
			continue;
		if (i > *level)
			return -ENOTSUP;
		*level = (enum rn_cpu_level)i;
		return 0;
	}
	return -EINVAL;
}
