/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* next.h - calls the functions of libc that the hooks replace.
 *
 * NEXT(open) is the next definition of open() behind the hook: that of another preloaded
 * library or a sanitizer if there is one, otherwise that of libc. It is never a bare
 * system call, because open() and others are cancellation points and other interposers
 * must see the calls.
 *
 * There is one exception. Before the constructor of the preloaded library has run, a
 * malloc library may open files while it initialises itself. dlsym() must not be called
 * then. So until the constructor has run, the functions that such libraries use are bare
 * system calls.
 *
 * The prototypes at the end are of functions that libc's headers do not declare. They
 * belong to the ABI of glibc only: the functions called by _FORTIFY_SOURCE, and the stat
 * family of programs built before glibc 2.33.
 *
 * Threads: any. The table of functions changes while other threads use it, but each entry
 * only changes from one function that works to another.
 */
#ifndef RNK_NEXT_H
#define RNK_NEXT_H

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Exports a hook, or a function that the provider looks up by name with dlsym(). */
#define RNK_EXPORT __attribute__((visibility("default")))

#define RNK_HOOK(name, version, if_missing) RNK_FN_##name,
/* clang-format off */
enum rnk_fn {
#include "hooks.def"
	RNK_FN_COUNT
};
/* clang-format on */
#undef RNK_HOOK

extern _Atomic(void *) rnk_next_fn[RNK_FN_COUNT];

/* Looks up one function and remembers it. Return: never NULL. */
void *rnk_next_resolve(enum rnk_fn fn);

/**
 * rnk_next_resolve_all() - Look up every function of hooks.def
 *
 * Called from the constructor. Keeps errno.
 *
 * Return: false if a NEEDED one is missing.
 */
bool rnk_next_resolve_all(void);

static inline void *rnk_next(enum rnk_fn fn)
{
	void *p = atomic_load_explicit(&rnk_next_fn[fn], memory_order_relaxed);

	return p ? p : rnk_next_resolve(fn);
}

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name, not an expression */
#define NEXT(name) ((__typeof__(&name))rnk_next(RNK_FN_##name))

/* Stores the argument @mode of open() or openat() in a variable, if the flags say that
 * the caller has passed one. __O_TMPFILE includes the bit of O_DIRECTORY, so all of its
 * bits are compared.
 */
#define TAKE_MODE(mode, flags)                                                   \
	do {                                                                     \
		if (((flags)&O_CREAT) || ((flags)&__O_TMPFILE) == __O_TMPFILE) { \
			va_list ap_;                                             \
                                                                                 \
			va_start(ap_, flags);                                    \
			(mode) = va_arg(ap_, mode_t);                            \
			va_end(ap_);                                             \
		}                                                                \
	} while (0)

/* NOLINTBEGIN(cert-dcl51-cpp,cert-dcl37-c): the names are glibc's */
sighandler_t bsd_signal(int sig, sighandler_t handler);
_Noreturn void __longjmp_chk(struct __jmp_buf_tag env[1], int val);

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);
ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t room);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);
char *__getcwd_chk(char *buf, size_t size, size_t room);

int __xstat(int ver, const char *path, struct stat *st);
int __xstat64(int ver, const char *path, struct stat64 *st);
int __lxstat(int ver, const char *path, struct stat *st);
int __lxstat64(int ver, const char *path, struct stat64 *st);
int __fxstat(int ver, int fd, struct stat *st);
int __fxstat64(int ver, int fd, struct stat64 *st);
int __fxstatat(int ver, int dirfd, const char *path, struct stat *st, int flags);
int __fxstatat64(int ver, int dirfd, const char *path, struct stat64 *st, int flags);
/* NOLINTEND(cert-dcl51-cpp,cert-dcl37-c) */

#endif /* RNK_NEXT_H */
