/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selects the mutant (a deliberate bug that some test must notice) that a process runs.
 * tools/mutate compiles all mutants into one program, and includes this file in the first
 * line of every source file that it rewrites.
 *
 * The number of the mutant is the value of the environment variable ROCIN_MUTANT, or the
 * content of the file RN_MUTANT_CHOSEN, which also reaches processes that are started
 * with an empty environment, such as rocind. 0 selects the unchanged code. If the file
 * RN_MUTANT_REACHED is not empty, its byte N is set when the code of mutant N runs.
 *
 * Each linked object has its own variables. This header includes no other and declares no
 * name of libc, because it precedes everything that the source file itself includes and
 * defines.
 */
#ifndef RN_MUTANT_H
#define RN_MUTANT_H

#pragma GCC system_header /* no warnings here, nor where RN_MUTANT() is expanded */

/* Size of the array rn_mutant_reached in bytes; tools/mutation/build.py uses the same
 * value.
 */
#define RN_MUTANT_REACHED_SIZE 16384

__attribute__((weak, visibility("hidden"))) unsigned rn_mutant_chosen;
__attribute__((weak, visibility("hidden"))) unsigned char *rn_mutant_reached;

long rn_mutant_syscall(long number, ...) __asm__("syscall");
char *rn_mutant_getenv(const char *name) __asm__("getenv");

#if defined(__x86_64__)
enum {
	RN_MUTANT_READ = 0,
	RN_MUTANT_CLOSE = 3,
	RN_MUTANT_MMAP = 9,
	RN_MUTANT_OPENAT = 257
};
#elif defined(__aarch64__)
enum {
	RN_MUTANT_READ = 63,
	RN_MUTANT_CLOSE = 57,
	RN_MUTANT_MMAP = 222,
	RN_MUTANT_OPENAT = 56
};
#else
#error "tools/mutation/mutant.h needs the numbers of four system calls of this processor"
#endif

#define RN_MUTANT_AT_FDCWD (-100)
#define RN_MUTANT_O_CLOEXEC 02000000
#define RN_MUTANT_O_RDWR 2

static inline unsigned rn_mutant_number(const char *text)
{
	unsigned n = 0;

	while (*text >= '0' && *text <= '9')
		n = n * 10 + (unsigned)(*text++ - '0');
	return n;
}

/* The definition is weak, so a linked object has it once. But each source file adds an
 * entry for it to the list of constructors, so it may run several times, each time with
 * the same result.
 */
__attribute__((weak, visibility("hidden"), constructor(101))) void rn_mutant_start(void)
{
	char text[16] = "";
	const char *chosen = rn_mutant_getenv("ROCIN_MUTANT");
	long file, map;

	if (rn_mutant_chosen || rn_mutant_reached)
		return;
	file = rn_mutant_syscall(RN_MUTANT_OPENAT, RN_MUTANT_AT_FDCWD, RN_MUTANT_CHOSEN,
				 RN_MUTANT_O_CLOEXEC);
	if (file >= 0) {
		rn_mutant_syscall(RN_MUTANT_READ, file, text, sizeof(text) - 1);
		rn_mutant_syscall(RN_MUTANT_CLOSE, file);
	}
	rn_mutant_chosen = rn_mutant_number(chosen ? chosen : text);
	file = rn_mutant_syscall(RN_MUTANT_OPENAT, RN_MUTANT_AT_FDCWD, RN_MUTANT_REACHED,
				 RN_MUTANT_O_RDWR | RN_MUTANT_O_CLOEXEC);
	if (file < 0)
		return;
	/* Mapping an empty file would raise SIGBUS. The file gets its size before any
	 * test runs, so it can be mapped if its first byte can be read.
	 */
	if (rn_mutant_syscall(RN_MUTANT_READ, file, text, 1L) == 1) {
		map = rn_mutant_syscall(RN_MUTANT_MMAP, 0L, (long)RN_MUTANT_REACHED_SIZE,
					3L, 1L, file, 0L);
		if (map > 0)
			rn_mutant_reached = (unsigned char *)map;
	}
	rn_mutant_syscall(RN_MUTANT_CLOSE, file);
}

static inline int rn_mutant(unsigned number)
{
	if (__builtin_expect(rn_mutant_reached != (unsigned char *)0, 0))
		__atomic_store_n(&rn_mutant_reached[number], 1, __ATOMIC_RELAXED);
	return __builtin_expect(rn_mutant_chosen == number, 0);
}

#define RN_MUTANT(number) rn_mutant(number)

#endif
