/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* preload.c - the symbol table of the stand-in: thin wrappers only.
 *
 * The library is preloaded into other people's programs. Each hook asks first whether
 * the path (redirect.h) or the descriptor (uverbs.h) is ours and otherwise does what the
 * next definition of the function does, including being a cancellation point. Hooks keep
 * no state, take no lock, allocate nothing but stack, and leave errno to the next
 * function. So fork(), vfork(), exec(), signal handlers and threads need no care here.
 *
 * Functions with which libc walks directories or names paths on its own are in walk.c;
 * what is done to a descriptor of rdma_cm, in rdma_cm.c.
 */
#undef _FORTIFY_SOURCE	 /* its inline open() would be in the way of ours */
#undef _FILE_OFFSET_BITS /* would rename open() to open64() */

#include "preload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "loopback.h"
#include "next.h"
#include "rdma_cm.h"
#include "redirect.h"
#include "rocin/netdev.h"
#include "uverbs.h"

/* Before most other constructors, so that they already find the devices. */
__attribute__((constructor(101))) static void start(void)
{
	if (!rnk_next_resolve_all())
		rnk_tree_disable();
	else
		(void)rnk_tree();
}

/* The mode, if the flags say that one was given. */
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

/* open */

/* /dev/infiniband/rdma_cm is no file: the tree only says that it is there. */
#define OPEN_RDMA_CM(path, mapped, flags)                           \
	do {                                                        \
		if ((mapped) != (path) && rnk_cm_is_node((mapped))) \
			return rnk_cm_open((flags));                \
	} while (0)

/* libc's parameter names are reserved.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
 */

RNK_EXPORT int open(const char *path, int flags, ...)
{
	const char *mapped = REDIRECT(path);
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	OPEN_RDMA_CM(path, mapped, flags);
	return NEXT(open)(mapped, flags, mode);
}

RNK_EXPORT int open64(const char *path, int flags, ...)
{
	const char *mapped = REDIRECT(path);
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	OPEN_RDMA_CM(path, mapped, flags);
	return NEXT(open64)(mapped, flags, mode);
}

RNK_EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	const char *mapped = REDIRECT(path);
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	OPEN_RDMA_CM(path, mapped, flags);
	return NEXT(openat)(dirfd, mapped, flags, mode);
}

RNK_EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
	const char *mapped = REDIRECT(path);
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	OPEN_RDMA_CM(path, mapped, flags);
	return NEXT(openat64)(dirfd, mapped, flags, mode);
}

RNK_EXPORT int __open_2(const char *path, int flags)
{
	const char *mapped = REDIRECT(path);
	OPEN_RDMA_CM(path, mapped, flags);
	return NEXT(__open_2)(mapped, flags);
}

RNK_EXPORT int __open64_2(const char *path, int flags)
{
	const char *mapped = REDIRECT(path);
	OPEN_RDMA_CM(path, mapped, flags);
	return NEXT(__open64_2)(mapped, flags);
}

RNK_EXPORT int __openat_2(int dirfd, const char *path, int flags)
{
	const char *mapped = REDIRECT(path);
	OPEN_RDMA_CM(path, mapped, flags);
	return NEXT(__openat_2)(dirfd, mapped, flags);
}

RNK_EXPORT int __openat64_2(int dirfd, const char *path, int flags)
{
	const char *mapped = REDIRECT(path);
	OPEN_RDMA_CM(path, mapped, flags);
	return NEXT(__openat64_2)(dirfd, mapped, flags);
}

RNK_EXPORT FILE *fopen(const char *path, const char *mode)
{
	path = REDIRECT(path);
	return NEXT(fopen)(path, mode);
}

RNK_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	path = REDIRECT(path);
	return NEXT(fopen64)(path, mode);
}

RNK_EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	path = REDIRECT(path);
	return NEXT(freopen)(path, mode, stream);
}

RNK_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	path = REDIRECT(path);
	return NEXT(freopen64)(path, mode, stream);
}

/* directories */

RNK_EXPORT DIR *opendir(const char *path)
{
	path = REDIRECT(path);
	return NEXT(opendir)(path);
}

RNK_EXPORT int scandir(const char *path, struct dirent ***names,
		       int (*filter)(const struct dirent *),
		       int (*compare)(const struct dirent **, const struct dirent **))
{
	path = REDIRECT(path);
	return NEXT(scandir)(path, names, filter, compare);
}

RNK_EXPORT int scandir64(const char *path, struct dirent64 ***names,
			 int (*filter)(const struct dirent64 *),
			 int (*compare)(const struct dirent64 **,
					const struct dirent64 **))
{
	path = REDIRECT(path);
	return NEXT(scandir64)(path, names, filter, compare);
}

RNK_EXPORT int scandirat(int dirfd, const char *path, struct dirent ***names,
			 int (*filter)(const struct dirent *),
			 int (*compare)(const struct dirent **, const struct dirent **))
{
	path = REDIRECT(path);
	return NEXT(scandirat)(dirfd, path, names, filter, compare);
}

RNK_EXPORT int scandirat64(int dirfd, const char *path, struct dirent64 ***names,
			   int (*filter)(const struct dirent64 *),
			   int (*compare)(const struct dirent64 **,
					  const struct dirent64 **))
{
	path = REDIRECT(path);
	return NEXT(scandirat64)(dirfd, path, names, filter, compare);
}

RNK_EXPORT int chdir(const char *path)
{
	path = REDIRECT(path);
	return NEXT(chdir)(path);
}

RNK_EXPORT int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	path = REDIRECT(path);
	return NEXT(inotify_add_watch)(fd, path, mask);
}

/* stat; the __x forms are what programs built before glibc 2.33 call */

RNK_EXPORT int stat(const char *path, struct stat *st)
{
	path = REDIRECT(path);
	return NEXT(stat)(path, st);
}

RNK_EXPORT int stat64(const char *path, struct stat64 *st)
{
	path = REDIRECT(path);
	return NEXT(stat64)(path, st);
}

RNK_EXPORT int lstat(const char *path, struct stat *st)
{
	path = REDIRECT(path);
	return NEXT(lstat)(path, st);
}

RNK_EXPORT int lstat64(const char *path, struct stat64 *st)
{
	path = REDIRECT(path);
	return NEXT(lstat64)(path, st);
}

RNK_EXPORT int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	path = REDIRECT(path);
	return NEXT(fstatat)(dirfd, path, st, flags);
}

RNK_EXPORT int fstatat64(int dirfd, const char *path, struct stat64 *st, int flags)
{
	path = REDIRECT(path);
	return NEXT(fstatat64)(dirfd, path, st, flags);
}

RNK_EXPORT int statx(int dirfd, const char *path, int flags, unsigned mask,
		     struct statx *stx)
{
	path = REDIRECT(path);
	return NEXT(statx)(dirfd, path, flags, mask, stx);
}

RNK_EXPORT int __xstat(int ver, const char *path, struct stat *st)
{
	path = REDIRECT(path);
	return NEXT(__xstat)(ver, path, st);
}

RNK_EXPORT int __xstat64(int ver, const char *path, struct stat64 *st)
{
	path = REDIRECT(path);
	return NEXT(__xstat64)(ver, path, st);
}

RNK_EXPORT int __lxstat(int ver, const char *path, struct stat *st)
{
	path = REDIRECT(path);
	return NEXT(__lxstat)(ver, path, st);
}

RNK_EXPORT int __lxstat64(int ver, const char *path, struct stat64 *st)
{
	path = REDIRECT(path);
	return NEXT(__lxstat64)(ver, path, st);
}

RNK_EXPORT int __fxstatat(int ver, int dirfd, const char *path, struct stat *st,
			  int flags)
{
	path = REDIRECT(path);
	return NEXT(__fxstatat)(ver, dirfd, path, st, flags);
}

RNK_EXPORT int __fxstatat64(int ver, int dirfd, const char *path, struct stat64 *st,
			    int flags)
{
	path = REDIRECT(path);
	return NEXT(__fxstatat64)(ver, dirfd, path, st, flags);
}

/* access, links, attributes */

RNK_EXPORT int access(const char *path, int mode)
{
	path = REDIRECT(path);
	return NEXT(access)(path, mode);
}

RNK_EXPORT int faccessat(int dirfd, const char *path, int mode, int flags)
{
	path = REDIRECT(path);
	return NEXT(faccessat)(dirfd, path, mode, flags);
}

RNK_EXPORT int euidaccess(const char *path, int mode)
{
	path = REDIRECT(path);
	return NEXT(euidaccess)(path, mode);
}

RNK_EXPORT int eaccess(const char *path, int mode)
{
	path = REDIRECT(path);
	return NEXT(eaccess)(path, mode);
}

RNK_EXPORT ssize_t readlink(const char *path, char *buf, size_t len)
{
	path = REDIRECT(path);
	return NEXT(readlink)(path, buf, len);
}

RNK_EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t room)
{
	path = REDIRECT(path);
	return NEXT(__readlink_chk)(path, buf, len, room);
}

RNK_EXPORT ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	path = REDIRECT(path);
	return NEXT(readlinkat)(dirfd, path, buf, len);
}

RNK_EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len,
				    size_t room)
{
	path = REDIRECT(path);
	return NEXT(__readlinkat_chk)(dirfd, path, buf, len, room);
}

RNK_EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t len)
{
	path = REDIRECT(path);
	return NEXT(getxattr)(path, name, value, len);
}

RNK_EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t len)
{
	path = REDIRECT(path);
	return NEXT(lgetxattr)(path, name, value, len);
}

RNK_EXPORT ssize_t listxattr(const char *path, char *names, size_t len)
{
	path = REDIRECT(path);
	return NEXT(listxattr)(path, names, len);
}

RNK_EXPORT ssize_t llistxattr(const char *path, char *names, size_t len)
{
	path = REDIRECT(path);
	return NEXT(llistxattr)(path, names, len);
}

/* what is not a path */

RNK_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int err;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!rnk_is_uverbs_request(fd, request) || !rnk_tree())
		return NEXT(ioctl)(fd, request, arg);
	err = rnk_uverbs_ioctl(arg);
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

/* A kernel with RDMA support would answer over netlink with its own list of devices, or
 * an empty one, and libibverbs would never look into sysfs for ours.
 */
RNK_EXPORT int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && rnk_tree()) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return NEXT(socket)(domain, type, protocol);
}

/* rdma_cm */

RNK_EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	uint64_t number = rnk_cm_number(fd);

	return number ? rnk_cm_write(fd, number, buf, len) : NEXT(write)(fd, buf, len);
}

/* libfabric, which is told where the devices are. */
static void show_devices(struct ifaddrs *all)
{
	struct rn_netdev devs[RN_NETDEV_MAX];
	char err[256];
	int count = rn_netdev_discover(getenv("ROCIN_NETDEVS"), devs, RN_NETDEV_MAX, err,
				       sizeof(err));

	if (count > 0)
		rnk_loopback_show(all, devs, (unsigned)count);
}

RNK_EXPORT int getifaddrs(struct ifaddrs **all)
{
	int rc = NEXT(getifaddrs)(all);

	if (rc == 0 && rnk_tree() && rnk_loopback_is_for(__builtin_return_address(0)))
		show_devices(*all);
	return rc;
}

/* A socket, but the program is to see a character device. */
#define SHOW_RDMA_CM(fd, st, rc)                        \
	do {                                            \
		if ((rc) == 0 && rnk_cm_number((fd))) { \
			(st)->st_mode = RNK_CM_MODE;    \
			(st)->st_rdev = RNK_CM_DEVICE;  \
		}                                       \
	} while (0)

RNK_EXPORT int fstat(int fd, struct stat *st)
{
	int rc = NEXT(fstat)(fd, st);

	SHOW_RDMA_CM(fd, st, rc);
	return rc;
}

RNK_EXPORT int fstat64(int fd, struct stat64 *st)
{
	int rc = NEXT(fstat64)(fd, st);

	SHOW_RDMA_CM(fd, st, rc);
	return rc;
}

RNK_EXPORT int __fxstat(int ver, int fd, struct stat *st)
{
	int rc = NEXT(__fxstat)(ver, fd, st);

	SHOW_RDMA_CM(fd, st, rc);
	return rc;
}

RNK_EXPORT int __fxstat64(int ver, int fd, struct stat64 *st)
{
	int rc = NEXT(__fxstat64)(ver, fd, st);

	SHOW_RDMA_CM(fd, st, rc);
	return rc;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
