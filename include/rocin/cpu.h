/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpu.h - selects the vector instructions that Rocin's own code uses: those of the
 * processor, or fewer if the user wants to try how Rocin behaves on another processor.
 */
#ifndef RN_CPU_H
#define RN_CPU_H

#include "rocin/types.h"

/* Levels of vector instructions, from the slowest to the fastest. A level limits the
 * instructions that may be used. A function that needs an instruction which no level
 * implies (such as VPCLMULQDQ) has to check for that instruction itself.
 */
enum rn_cpu_level {
	RN_CPU_SCALAR, /* what every processor of this architecture has */
	RN_CPU_AVX2,
	RN_CPU_AVX512, /* AVX-512F and AVX-512VL */
	RN_CPU_LEVELS,
};

/* Returns the highest level that this processor has. */
enum rn_cpu_level rn_cpu_best(void);

/* Returns the level in force: rn_cpu_best(), or less after rn_cpu_limit(). Threads: any.
 */
enum rn_cpu_level rn_cpu_level(void);

/* Limits the level of the whole process from now on. A level above rn_cpu_best() has the
 * effect of rn_cpu_best(). Results of a function never depend on the level, so it may be
 * changed at any time. Libraries that Rocin calls (the C library, libdeflate) choose
 * their instructions themselves.
 */
void rn_cpu_limit(enum rn_cpu_level most);

/* Returns the name of a level, as used in ROCIN_CPU: "scalar", "avx2" or "avx512". */
const char *rn_cpu_name(enum rn_cpu_level level);

/**
 * rn_cpu_read() - Parse a value of ROCIN_CPU
 * @text:	"auto" or the name of a level; NULL or empty: as "auto"
 * @level:	Out: the level; rn_cpu_best() for "auto"
 *
 * Return: 0; -EINVAL if @text is no level; -ENOTSUP if it is one that this processor
 *	does not have.
 */
int rn_cpu_read(const char *text, enum rn_cpu_level *level);

#endif /* RN_CPU_H */
