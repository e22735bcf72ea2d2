/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page_calls.c - wrappers of system calls that use closed pages or replace the SIGSEGV
 * handler of the simulation.
 *
 * If the kernel itself faults on a closed page, that handler does not run: the call
 * returns EFAULT or a short count, or drops the datagram. So the pages of a buffer are
 * pinned during the call. The call may or may not see data that arrives in these pages
 * meanwhile.
 *
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "page.h"
#include "transport/io/memory/mem_guard.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	/* Maximum number of buffers that are pinned for one call; few calls with vectors
	 * of buffers have more in closed pages.
	 */
	PINS_MAX = 128,
};

struct pinned {
	unsigned count;
	int pin[PINS_MAX];
};

static void pin_buffer(struct pinned *p, uintptr_t buf, size_t len)
{
	int pin = p->count < PINS_MAX ? rn_page_pin(buf, len) : -1;

	if (pin >= 0)
		p->pin[p->count++] = pin;
}

static void pin_vector(struct pinned *p, const struct iovec *iov, size_t count)
{
	for (size_t i = 0; iov && i < count; i++)
		pin_buffer(p, (uintptr_t)iov[i].iov_base, iov[i].iov_len);
}

static void unpin_all(struct pinned *p)
{
	int saved = errno;

	while (p->count)
		rn_page_unpin(p->pin[--p->count]);
	errno = saved;
}

/* ----------------------------------------- lookup of the wrapped functions */
#define CALLS(X)                  \
	X(read)                   \
	X(write)                  \
	X(pread)                  \
	X(pwrite)                 \
	X(pread64)                \
	X(pwrite64)               \
	X(readv)                  \
	X(writev)                 \
	X(preadv)                 \
	X(pwritev)                \
	X(preadv64)               \
	X(pwritev64)              \
	X(fread)                  \
	X(fwrite)                 \
	X(madvise)                \
	X(recv)                   \
	X(send)                   \
	X(recvfrom)               \
	X(sendto)                 \
	X(recvmsg)                \
	X(sendmsg)                \
	X(sigaction)              \
	X(signal)                 \
	X(_exit)                  \
	X(sem_wait)               \
	X(sem_timedwait)          \
	X(sem_clockwait)          \
	X(pthread_cond_wait)      \
	X(pthread_cond_timedwait) \
	X(pthread_cond_clockwait) \
	X(pthread_barrier_wait)   \
	X(pthread_rwlock_rdlock)  \
	X(pthread_rwlock_wrlock)

#define NUMBER(name) CALL_##name,
enum {
	CALLS(NUMBER) CALL_COUNT
};
#define NAME(name) #name,
static const char *const names[CALL_COUNT] = { CALLS(NAME) };
static _Atomic(void *) behind[CALL_COUNT];

/* Finds the newest version of a function among the libraries that @where names. If a
 * function has several versions, dlsym() may find the oldest one; the oldest versions of
 * the functions for condition variables use a layout from before glibc 2.3.2. Under
 * ThreadSanitizer, its own wrappers must be found, so that it sees each call. These have
 * no version.
 */
static void *find_newest(void *where, const char *name)
{
#ifdef __SANITIZE_THREAD__
	void *fn = NULL;
#else
	void *fn = dlvsym(where, name, "GLIBC_2.3.2");
#endif

	return fn ? fn : dlsym(where, name);
}

/* Finds a function of the C library. It usually comes behind this library. In a program
 * that is linked with a library that is linked with this one, it comes before it: then
 * nothing is behind, and its function is the first of all.
 */
static void *find_in_libc(const char *name)
{
	void *fn = find_newest(RTLD_NEXT, name);

	return fn ? fn : find_newest(RTLD_DEFAULT, name);
}

/* Returns true if calls of the program reach the wrappers of this file first. The test
 * uses sem_clockwait(), the only wrapped function for which the compilers' sanitizers
 * have no wrapper of their own. Their wrappers of other functions come before those of
 * this file.
 */
bool rn_page_wraps_calls(void)
{
	Dl_info ours, first;

	return dladdr(&names, &ours) &&
	       dladdr(dlsym(RTLD_DEFAULT, "sem_clockwait"), &first) &&
	       ours.dli_fbase == first.dli_fbase;
}

static void *find_call(unsigned call)
{
	void *fn = find_in_libc(names[call]);

	behind[call] = fn;
	return fn;
}

/* Looks up all functions when the library is loaded. A signal handler may be the first
 * caller of one of them, and must not call dlsym().
 */
static __attribute__((constructor)) void find_all(void)
{
	for (unsigned i = 0; i < CALL_COUNT; i++)
		find_call(i);
}

static void *next_of(unsigned call)
{
	void *fn = behind[call];

	/* @fn is NULL if a constructor of another library makes a call before find_all()
	 * has run.
	 */
	return fn ? fn : find_call(call);
}

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name, not an expression */
#define NEXT(name) ((__typeof__(name) *)next_of(CALL_##name))

/* Calls the C library's function @name (NEXT) with @args, and pins the buffers of the
 * call meanwhile. The last macro arguments are the statements that pin them, in the
 * struct `p'.
 */
#define HELD_OPEN(type, name, args, ...)  \
	({                                \
		struct pinned p;          \
		type result;              \
                                          \
		p.count = 0;              \
		__VA_ARGS__;              \
		result = NEXT(name) args; \
		if (p.count)              \
			unpin_all(&p);    \
		result;                   \
	})

/* ------------------------------------------ wrappers of functions on files */
EXPORT ssize_t read(int fd, void *buf, size_t len)
{
	return HELD_OPEN(ssize_t, read, (fd, buf, len),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	return HELD_OPEN(ssize_t, write, (fd, buf, len),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	return HELD_OPEN(ssize_t, pread, (fd, buf, len, at),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	return HELD_OPEN(ssize_t, pwrite, (fd, buf, len, at),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t pread64(int fd, void *buf, size_t len, off64_t at)
{
	return HELD_OPEN(ssize_t, pread64, (fd, buf, len, at),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	return HELD_OPEN(ssize_t, pwrite64, (fd, buf, len, at),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t readv(int fd, const struct iovec *iov, int count)
{
	return HELD_OPEN(ssize_t, readv, (fd, iov, count),
			 pin_vector(&p, iov, count > 0 ? (size_t)count : 0));
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int count)
{
	return HELD_OPEN(ssize_t, writev, (fd, iov, count),
			 pin_vector(&p, iov, count > 0 ? (size_t)count : 0));
}

EXPORT ssize_t preadv(int fd, const struct iovec *iov, int count, off_t at)
{
	return HELD_OPEN(ssize_t, preadv, (fd, iov, count, at),
			 pin_vector(&p, iov, count > 0 ? (size_t)count : 0));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t at)
{
	return HELD_OPEN(ssize_t, pwritev, (fd, iov, count, at),
			 pin_vector(&p, iov, count > 0 ? (size_t)count : 0));
}

EXPORT ssize_t preadv64(int fd, const struct iovec *iov, int count, off64_t at)
{
	return HELD_OPEN(ssize_t, preadv64, (fd, iov, count, at),
			 pin_vector(&p, iov, count > 0 ? (size_t)count : 0));
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t at)
{
	return HELD_OPEN(ssize_t, pwritev64, (fd, iov, count, at),
			 pin_vector(&p, iov, count > 0 ? (size_t)count : 0));
}

EXPORT size_t fread(void *buf, size_t size, size_t count, FILE *file)
{
	return HELD_OPEN(size_t, fread, (buf, size, count, file),
			 pin_buffer(&p, (uintptr_t)buf, size * count));
}

EXPORT size_t fwrite(const void *buf, size_t size, size_t count, FILE *file)
{
	return HELD_OPEN(size_t, fwrite, (buf, size, count, file),
			 pin_buffer(&p, (uintptr_t)buf, size * count));
}

/* ----------------------------------------------------- functions that wait */
/* Functions that wait for a semaphore. They use the system call futex, which returns
 * EFAULT if the semaphore lies in a closed page, for example beside a small buffer. The C
 * library would then abort the program. (For a mutex it tries again.)
 */
EXPORT int sem_wait(sem_t *sem)
{
	return HELD_OPEN(int, sem_wait, (sem),
			 pin_buffer(&p, (uintptr_t)sem, sizeof(*sem)));
}

EXPORT int sem_timedwait(sem_t *sem, const struct timespec *until)
{
	return HELD_OPEN(int, sem_timedwait, (sem, until),
			 pin_buffer(&p, (uintptr_t)sem, sizeof(*sem)));
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	return HELD_OPEN(int, sem_clockwait, (sem, clock, until),
			 pin_buffer(&p, (uintptr_t)sem, sizeof(*sem)));
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	return HELD_OPEN(int, pthread_cond_wait, (cond, mutex),
			 pin_buffer(&p, (uintptr_t)cond, sizeof(pthread_cond_t)));
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until)
{
	return HELD_OPEN(int, pthread_cond_timedwait, (cond, mutex, until),
			 pin_buffer(&p, (uintptr_t)cond, sizeof(pthread_cond_t)));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  clockid_t clock, const struct timespec *until)
{
	return HELD_OPEN(int, pthread_cond_clockwait, (cond, mutex, clock, until),
			 pin_buffer(&p, (uintptr_t)cond, sizeof(pthread_cond_t)));
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	return HELD_OPEN(int, pthread_barrier_wait, (barrier),
			 pin_buffer(&p, (uintptr_t)barrier, sizeof(*barrier)));
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	return HELD_OPEN(int, pthread_rwlock_rdlock, (lock),
			 pin_buffer(&p, (uintptr_t)lock, sizeof(*lock)));
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	return HELD_OPEN(int, pthread_rwlock_wrlock, (lock),
			 pin_buffer(&p, (uintptr_t)lock, sizeof(*lock)));
}

/* ----------------------------- wrappers of functions that end the process */
static int (*on_quick_exit)(int status);

void rn_page_at_quick_exit(int (*fn)(int status))
{
	on_quick_exit = fn;
}

/* Functions that end the process without running the handlers of exit(). */
EXPORT void _exit(int status)
{
	NEXT(_exit)(on_quick_exit ? on_quick_exit(status) : status);
	abort(); /* not reached */
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

/* --------------------------------------------------------------- madvise() */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* madvise() is wrapped because the provider calls it, when a memory region is registered,
 * to find out whether the memory is mapped.
 */
EXPORT int madvise(void *addr, size_t len, int advice)
{
	if (advice != MADV_POPULATE_READ && advice != MADV_POPULATE_WRITE)
		return NEXT(madvise)(addr, len, advice);
	return HELD_OPEN(int, madvise, (addr, len, advice),
			 pin_buffer(&p, (uintptr_t)addr, len));
}

/* ---------------------------------------- wrappers of functions on sockets */
EXPORT ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	return HELD_OPEN(ssize_t, recv, (fd, buf, len, flags),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	return HELD_OPEN(ssize_t, send, (fd, buf, len, flags),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
			socklen_t *from_len)
{
	return HELD_OPEN(ssize_t, recvfrom, (fd, buf, len, flags, from, from_len),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t len, int flags,
		      const struct sockaddr *to, socklen_t to_len)
{
	return HELD_OPEN(ssize_t, sendto, (fd, buf, len, flags, to, to_len),
			 pin_buffer(&p, (uintptr_t)buf, len));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	return HELD_OPEN(ssize_t, recvmsg, (fd, msg, flags),
			 pin_vector(&p, msg->msg_iov, msg->msg_iovlen));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return HELD_OPEN(ssize_t, sendmsg, (fd, msg, flags),
			 pin_vector(&p, msg->msg_iov, msg->msg_iovlen));
}

/* -------------------------- wrappers of functions that set signal handlers */
/* Returns true if this library has a handler for @sig that must come before the
 * program's. If a program's handler took its place, it would get the faults of closed
 * pages, and could not handle them. The library's handler passes all other faults on to
 * the program's.
 */
static bool is_guarded(int sig)
{
	return (sig == SIGSEGV || sig == SIGBUS) && rn_page_is_watched();
}

EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int rc = NEXT(sigaction)(sig, act, old);

	if (rc == 0 && act && is_guarded(sig))
		rn_guard_renew(sig, act);
	return rc;
}

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	sighandler_t old = NEXT(signal)(sig, handler);
	const struct sigaction act = { .sa_handler = handler };

	if (old != SIG_ERR && is_guarded(sig))
		rn_guard_renew(sig, &act);
	return old;
}

void rn_page_calls_link(void)
{
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
