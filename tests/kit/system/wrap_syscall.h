/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wrap_syscall.h - answers calls of syscall() in place of the kernel: for one program,
 * linked with --wrap=syscall.
 */
#ifndef RN_TEST_WRAP_SYSCALL_H
#define RN_TEST_WRAP_SYSCALL_H

#include <stdarg.h>
#include <stdbool.h>

enum {
	KIT_SYSCALL_ARGS = 6 /* as many as there may be */
};

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Defined by the test. Returns true if the call has the result @rc, and errno; false: the
 * kernel gets it, with the arguments as they are then.
 */
static bool answer_syscall(long number, long arg[KIT_SYSCALL_ARGS], long *rc);

/* Reads as many arguments as there may be, which may be more than there are. Visible,
 * since a library whose calls are wrapped, as the counted core, finds it in the test.
 */
__attribute__((visibility("default"), no_sanitize("address"))) long
__wrap_syscall(long number, ...)
{
	long arg[KIT_SYSCALL_ARGS], rc;
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < KIT_SYSCALL_ARGS; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (answer_syscall(number, arg, &rc))
		return rc;
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

#endif /* RN_TEST_WRAP_SYSCALL_H */
