/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* early.h - bare system calls, for what is called before our constructor has run. */
#ifndef RNK_EARLY_H
#define RNK_EARLY_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

int rnk_early_open(const char *path, int flags, ...);
int rnk_early_openat(int dirfd, const char *path, int flags, ...);
int rnk_early_access(const char *path, int mode);
ssize_t rnk_early_readlink(const char *path, char *buf, size_t len);
int rnk_early_ioctl(int fd, unsigned long request, ...);
int rnk_early_socket(int domain, int type, int protocol);
ssize_t rnk_early_write(int fd, const void *buf, size_t len);
int rnk_early_close(int fd);
int rnk_early_sigmask(int how, const sigset_t *set, sigset_t *old);

#endif /* RNK_EARLY_H */
