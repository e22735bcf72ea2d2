/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* work.c - counts the units of work of work.h. */
#include "work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t units;

void work_begin(void)
{
	units = 0;
}

uint64_t work_done(void)
{
	return units;
}

void work_add(uint64_t more)
{
	units += more;
}

void assert_work(uint64_t most)
{
	uint64_t done = units;

	if (done > most)
		fail_msg("%llu units of work, of at most %llu", (unsigned long long)done,
			 (unsigned long long)most);
#ifdef RN_COUNTS_WORK
	assert_true(done > 0);
#endif
}

/* The code whose work is counted may be a shared library, which must find these functions
 * in the test program.
 */
#pragma GCC visibility push(default)

/* The compiler adds a call of this function to each basic block. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	units++;
}

/* ------------------------------------------------ functions that are not counted */
/* A test that replaces one of these functions defines it itself, and adds the work by
 * work_add(). The definitions here are weak, so that the test's definition counts.
 */
#define WEAK __attribute__((weak))

void *__real_memcpy(void *to, const void *from, size_t len);
void *__wrap_memcpy(void *to, const void *from, size_t len);
void *__real_memmove(void *to, const void *from, size_t len);
void *__wrap_memmove(void *to, const void *from, size_t len);
void *__real_memset(void *to, int byte, size_t len);
void *__wrap_memset(void *to, int byte, size_t len);
uint32_t __real_libdeflate_crc32(uint32_t crc, const void *from, size_t len);
uint32_t __wrap_libdeflate_crc32(uint32_t crc, const void *from, size_t len);

void *__wrap_memcpy(void *to, const void *from, size_t len)
{
	units += len / WORK_BYTES;
	return __real_memcpy(to, from, len);
}

void *__wrap_memmove(void *to, const void *from, size_t len)
{
	units += len / WORK_BYTES;
	return __real_memmove(to, from, len);
}

void *__wrap_memset(void *to, int byte, size_t len)
{
	units += len / WORK_BYTES;
	return __real_memset(to, byte, len);
}

uint32_t __wrap_libdeflate_crc32(uint32_t crc, const void *from, size_t len)
{
	units += len / WORK_BYTES;
	return __real_libdeflate_crc32(crc, from, len);
}

/* ------------------------------------------------------------------ system calls */
#define CALL(type, name, params, args)     \
	type __real_##name params;         \
	type __wrap_##name params;         \
	WEAK type __wrap_##name params     \
	{                                  \
		units += WORK_SYSCALL;     \
		return __real_##name args; \
	}

CALL(ssize_t, recv, (int fd, void *buf, size_t len, int flags), (fd, buf, len, flags))
CALL(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags), (fd, msg, flags))
CALL(ssize_t, send, (int fd, const void *buf, size_t len, int flags),
     (fd, buf, len, flags))
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags))
CALL(ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len))
CALL(ssize_t, write, (int fd, const void *buf, size_t len), (fd, buf, len))
CALL(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t len),
     (fd, level, name, value, len))
CALL(int, socket, (int family, int type, int protocol), (family, type, protocol))
CALL(int, bind, (int fd, const struct sockaddr *sa, socklen_t len), (fd, sa, len))
CALL(int, close, (int fd), (fd))
CALL(int, accept4, (int fd, struct sockaddr *sa, socklen_t *len, int flags),
     (fd, sa, len, flags))

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Reads the maximum number of arguments, even if the caller has passed fewer. */
WEAK __attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	units += WORK_SYSCALL;
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

#pragma GCC visibility pop
