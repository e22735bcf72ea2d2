/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* next.c - finds the functions of libc that the hooks replace. */
#include "next.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum if_missing {
	NEEDED,
	INT,
	PTR
};

struct hook {
	const char *name;
	const char *version; /* symbol version to prefer, or NULL */
	enum if_missing if_missing;
};

#define RNK_HOOK(name, version, if_missing) { #name, version, if_missing },
static const struct hook hooks[] = {
#include "hooks.def"
};
#undef RNK_HOOK

static_assert(sizeof(hooks) / sizeof(hooks[0]) == RNK_FN_COUNT, "one row per hook");

/* --------------------------------------- functions until the constructor has run */
/* Bare system calls that are used until the real functions are known. early_open() and
 * early_openat() are used for open64() and openat64(), too: with O_LARGEFILE all of these
 * do the same.
 */
static int call_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, dirfd, path, flags | O_LARGEFILE, mode);
}

static int early_open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	return call_openat(AT_FDCWD, path, flags, mode);
}

static int early_openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	return call_openat(dirfd, path, flags, mode);
}

static int early_access(const char *path, int mode)
{
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

static ssize_t early_readlink(const char *path, char *buf, size_t len)
{
	return syscall(SYS_readlinkat, AT_FDCWD, path, buf, len);
}

static int early_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static int early_socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, domain, type, protocol);
}

static ssize_t early_write(int fd, const void *buf, size_t len)
{
	return syscall(SYS_write, fd, buf, len);
}

/* Calls rt_sigprocmask, whose sets have a bit for each of the kernel's 64 signals. */
static int early_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return (int)syscall(SYS_rt_sigprocmask, how, set, old, sizeof(uint64_t));
}

static int early_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

_Atomic(void *) rnk_next_fn[RNK_FN_COUNT] = {
	[RNK_FN_open] = (void *)early_open,
	[RNK_FN_open64] = (void *)early_open,
	[RNK_FN_openat] = (void *)early_openat,
	[RNK_FN_openat64] = (void *)early_openat,
	[RNK_FN_access] = (void *)early_access,
	[RNK_FN_readlink] = (void *)early_readlink,
	[RNK_FN_ioctl] = (void *)early_ioctl,
	[RNK_FN_socket] = (void *)early_socket,
	[RNK_FN_close] = (void *)early_close,
	[RNK_FN_write] = (void *)early_write,
	[RNK_FN_sigprocmask] = (void *)early_sigmask,
	[RNK_FN_pthread_sigmask] = (void *)early_sigmask,
};

/* ------------------------------------ lookup of the next definitions of functions */
static int missing_int(void)
{
	errno = ENOSYS;
	return -1;
}

static void *missing_ptr(void)
{
	errno = ENOSYS;
	return NULL;
}

static void *find_next(const struct hook *hook)
{
	void *p = NULL;

	if (hook->version)
		p = dlvsym(RTLD_NEXT, hook->name, hook->version);
	return p ? p : dlsym(RTLD_NEXT, hook->name);
}

static void *resolve(enum rnk_fn fn, bool *found)
{
	const struct hook *hook = &hooks[fn];
	void *p = find_next(hook);

	*found = p != NULL;
	if (!p)
		p = hook->if_missing == PTR ? (void *)missing_ptr : (void *)missing_int;
	atomic_store_explicit(&rnk_next_fn[fn], p, memory_order_relaxed);
	return p;
}

void *rnk_next_resolve(enum rnk_fn fn)
{
	int saved_errno = errno;
	bool found;
	void *p = resolve(fn, &found);

	errno = saved_errno;
	return p;
}

bool rnk_next_resolve_all(void)
{
	int saved_errno = errno;
	bool complete = true;

	for (unsigned fn = 0; fn < RNK_FN_COUNT; fn++) {
		bool found;

		resolve((enum rnk_fn)fn, &found);
		if (!found && hooks[fn].if_missing == NEEDED)
			complete = false;
	}
	errno = saved_errno;
	return complete;
}
