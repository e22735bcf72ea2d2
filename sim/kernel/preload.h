/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* preload.h - what the files with hooks share: how to export, and the prototypes that
 * libc's headers do not have.
 *
 * The latter belong to the ABI of glibc only: the bodies behind _FORTIFY_SOURCE, and the
 * stat family of programs built before glibc 2.33.
 */
#ifndef RNK_PRELOAD_H
#define RNK_PRELOAD_H

#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#define RNK_EXPORT __attribute__((visibility("default")))

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

#endif /* RNK_PRELOAD_H */
