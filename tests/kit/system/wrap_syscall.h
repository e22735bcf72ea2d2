/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wrap_syscall.h - lets a test answer calls of syscall() in place of the kernel. The
 * program must be linked with --wrap=syscall.
 */
#ifndef RN_TEST_WRAP_SYSCALL_H
#define RN_TEST_WRAP_SYSCALL_H

#include <stdarg.h>
#include <stdbool.h>

enum {
	KIT_SYSCALL_ARGS = 6 /* maximum number of arguments of a system call */
};

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* The test must define this function. If it returns true, the system call returns @rc,
 * with the errno that the function has set. If it returns false, the call goes to the
 * kernel, with the arguments @arg, which the function may have changed.
 */
static bool answer_syscall(long number, long arg[KIT_SYSCALL_ARGS], long *rc);

/* Reads the maximum number of arguments, even if the caller has passed fewer. Has default
 * visibility, because the transport core may be a shared library, whose calls must find
 * this function in the test program.
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
