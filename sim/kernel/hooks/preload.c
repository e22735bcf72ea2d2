/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* preload.c - the replaced libc functions of the preloaded library: thin wrappers only.
 *
 * The library is preloaded into other people's programs. Each wrapper (hook) first
 * determines whether the path (redirect.h) or the descriptor (uverbs.h, rdma_cm.h,
 * netlink/socket.h) belongs to the simulated kernel. If not, it only calls the next
 * definition of the function, so it is a cancellation point if that one is. Hooks keep no
 * state, take no lock, allocate nothing but stack, and let the next function set errno.
 * So no special code is needed for fork(), vfork(), exec(), signal handlers and threads.
 *
 * There are three exceptions: hooks ask rocind and allocate memory when the program opens
 * rdma_cm (rdma_cm.c), opens counters (counters.c), or sends requests of RDMA netlink
 * (netlink/socket.c). So programs must not do these things in signal handlers.
 *
 * Hooks that protect the device's descriptors and signal handlers are in watch.c;
 * commands on a descriptor of rdma_cm are in rdma_cm.c.
 */
#undef _FORTIFY_SOURCE	 /* with this, the inline open() of libc would replace the hook */
#undef _FILE_OFFSET_BITS /* this would rename open() to open64() */

#include "next.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "loopback.h"
#include "rocin/netdev.h"
#include "sim/kernel/counters.h"
#include "sim/kernel/netlink/socket.h"
#include "sim/kernel/rdma_cm.h"
#include "sim/kernel/redirect.h"
#include "sim/kernel/uverbs.h"

/* The priority makes this constructor run before most others, so that those already find
 * the devices.
 */
__attribute__((constructor(101))) static void start(void)
{
	if (!rnk_next_resolve_all())
		rnk_tree_disable();
	else
		(void)rnk_tree();
}

/* ---- Functions that open files ---- */

/* Each hook that opens a file uses this first. If the file is /dev/infiniband/rdma_cm,
 * the hook returns a descriptor from rnk_cm_open(), because the file in the tree only
 * shows that the device exists. If the file is a counter, its present value is written
 * into it before it is opened.
 */
#define BEFORE_OPEN(path, mapped, flags)             \
	do {                                         \
		if ((mapped) == (path))              \
			break;                       \
		if (rnk_cm_is_node((mapped)))        \
			return rnk_cm_open((flags)); \
		rnk_counters_refresh((mapped));      \
	} while (0)

/* Evaluates to the path to which REDIRECT() maps @path. If that is the path of counters,
 * first writes their present values into them.
 */
#define REDIRECT_TO_READ(path)                          \
	({                                              \
		const char *mapped_ = REDIRECT((path)); \
                                                        \
		if (mapped_ != (path))                  \
			rnk_counters_refresh(mapped_);  \
		mapped_;                                \
	})

/* libc's headers declare these functions with parameter names that are reserved.
 *
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
 */

RNK_EXPORT int open(const char *path, int flags, ...)
{
	const char *mapped = REDIRECT(path);
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	BEFORE_OPEN(path, mapped, flags);
	return NEXT(open)(mapped, flags, mode);
}

RNK_EXPORT int open64(const char *path, int flags, ...)
{
	const char *mapped = REDIRECT(path);
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	BEFORE_OPEN(path, mapped, flags);
	return NEXT(open64)(mapped, flags, mode);
}

RNK_EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	const char *mapped = REDIRECT(path);
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	BEFORE_OPEN(path, mapped, flags);
	return NEXT(openat)(dirfd, mapped, flags, mode);
}

RNK_EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
	const char *mapped = REDIRECT(path);
	mode_t mode = 0;

	TAKE_MODE(mode, flags);
	BEFORE_OPEN(path, mapped, flags);
	return NEXT(openat64)(dirfd, mapped, flags, mode);
}

RNK_EXPORT int __open_2(const char *path, int flags)
{
	const char *mapped = REDIRECT(path);
	BEFORE_OPEN(path, mapped, flags);
	return NEXT(__open_2)(mapped, flags);
}

RNK_EXPORT int __open64_2(const char *path, int flags)
{
	const char *mapped = REDIRECT(path);
	BEFORE_OPEN(path, mapped, flags);
	return NEXT(__open64_2)(mapped, flags);
}

RNK_EXPORT int __openat_2(int dirfd, const char *path, int flags)
{
	const char *mapped = REDIRECT(path);
	BEFORE_OPEN(path, mapped, flags);
	return NEXT(__openat_2)(dirfd, mapped, flags);
}

RNK_EXPORT int __openat64_2(int dirfd, const char *path, int flags)
{
	const char *mapped = REDIRECT(path);
	BEFORE_OPEN(path, mapped, flags);
	return NEXT(__openat64_2)(dirfd, mapped, flags);
}

RNK_EXPORT FILE *fopen(const char *path, const char *mode)
{
	path = REDIRECT_TO_READ(path);
	return NEXT(fopen)(path, mode);
}

RNK_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	path = REDIRECT_TO_READ(path);
	return NEXT(fopen64)(path, mode);
}

RNK_EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	path = REDIRECT_TO_READ(path);
	return NEXT(freopen)(path, mode, stream);
}

RNK_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	path = REDIRECT_TO_READ(path);
	return NEXT(freopen64)(path, mode, stream);
}

/* ---- Functions that open and read directories ---- */

RNK_EXPORT DIR *opendir(const char *path)
{
	path = REDIRECT_TO_READ(path);
	return NEXT(opendir)(path);
}

RNK_EXPORT int scandir(const char *path, struct dirent ***names,
		       int (*filter)(const struct dirent *),
		       int (*compare)(const struct dirent **, const struct dirent **))
{
	path = REDIRECT_TO_READ(path);
	return NEXT(scandir)(path, names, filter, compare);
}

RNK_EXPORT int scandir64(const char *path, struct dirent64 ***names,
			 int (*filter)(const struct dirent64 *),
			 int (*compare)(const struct dirent64 **,
					const struct dirent64 **))
{
	path = REDIRECT_TO_READ(path);
	return NEXT(scandir64)(path, names, filter, compare);
}

RNK_EXPORT int scandirat(int dirfd, const char *path, struct dirent ***names,
			 int (*filter)(const struct dirent *),
			 int (*compare)(const struct dirent **, const struct dirent **))
{
	path = REDIRECT_TO_READ(path);
	return NEXT(scandirat)(dirfd, path, names, filter, compare);
}

RNK_EXPORT int scandirat64(int dirfd, const char *path, struct dirent64 ***names,
			   int (*filter)(const struct dirent64 *),
			   int (*compare)(const struct dirent64 **,
					  const struct dirent64 **))
{
	path = REDIRECT_TO_READ(path);
	return NEXT(scandirat64)(dirfd, path, names, filter, compare);
}

RNK_EXPORT int chdir(const char *path)
{
	path = REDIRECT_TO_READ(path);
	return NEXT(chdir)(path);
}

RNK_EXPORT int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	path = REDIRECT(path);
	return NEXT(inotify_add_watch)(fd, path, mask);
}

/* ---- stat(); programs built before glibc 2.33 call the __x forms ---- */

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

/* ---- Functions for access rights, links and extended attributes ---- */

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

/* ---- Functions that return paths ---- */

/* Called with a path that libc has written. If it is the path of a file in the tree,
 * replaces it by the name by which the program knows the file, such as "/sys/class/...".
 * That name is shorter, so it fits.
 */
static char *unmap(char *path)
{
	const char *name = rnk_unmapped(path);

	if (name != path)
		memmove(path, name, strlen(name) + 1);
	return path;
}

RNK_EXPORT char *realpath(const char *path, char *resolved)
{
	path = REDIRECT(path);
	return unmap(NEXT(realpath)(path, resolved));
}

RNK_EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room)
{
	path = REDIRECT(path);
	return unmap(NEXT(__realpath_chk)(path, resolved, room));
}

RNK_EXPORT char *canonicalize_file_name(const char *path)
{
	path = REDIRECT(path);
	return unmap(NEXT(canonicalize_file_name)(path));
}

RNK_EXPORT char *getcwd(char *buf, size_t size)
{
	return unmap(NEXT(getcwd)(buf, size));
}

RNK_EXPORT char *__getcwd_chk(char *buf, size_t size, size_t room)
{
	return unmap(NEXT(__getcwd_chk)(buf, size, room));
}

RNK_EXPORT char *get_current_dir_name(void)
{
	return unmap(NEXT(get_current_dir_name)());
}

/* glob() opens and reads directories by the functions below (GLOB_ALTDIRFUNC), which map
 * paths into the tree. So glob() itself only sees, and returns, the /sys names of files.
 */

static void *glob_opendir(const char *path)
{
	path = REDIRECT_TO_READ(path);
	return NEXT(opendir)(path);
}

static void glob_closedir(void *dir)
{
	closedir(dir);
}

static struct dirent *glob_readdir(void *dir)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): only one glob() reads the stream */
	return readdir(dir);
}

static struct dirent64 *glob_readdir64(void *dir)
{
	return readdir64(dir);
}

static int glob_stat(const char *path, struct stat *st)
{
	path = REDIRECT(path);
	return stat(path, st);
}

static int glob_stat64(const char *path, struct stat64 *st)
{
	path = REDIRECT(path);
	return stat64(path, st);
}

static int glob_lstat(const char *path, struct stat *st)
{
	path = REDIRECT(path);
	return lstat(path, st);
}

static int glob_lstat64(const char *path, struct stat64 *st)
{
	path = REDIRECT(path);
	return lstat64(path, st);
}

/* Runs glob() with these functions, and then restores the members of @result that were
 * set for it.
 */
#define GLOB_IN_TREE(next, pattern, flags, errfunc, result, bits)                      \
	({                                                                             \
		__typeof__(*(result)) saved_ = *(result);                              \
		int rc_;                                                               \
                                                                                       \
		(result)->gl_opendir = glob_opendir;                                   \
		(result)->gl_closedir = glob_closedir;                                 \
		(result)->gl_readdir = glob_readdir##bits;                             \
		(result)->gl_stat = glob_stat##bits;                                   \
		(result)->gl_lstat = glob_lstat##bits;                                 \
		rc_ = NEXT(next)(pattern, (flags) | GLOB_ALTDIRFUNC, errfunc, result); \
		(result)->gl_opendir = saved_.gl_opendir;                              \
		(result)->gl_closedir = saved_.gl_closedir;                            \
		(result)->gl_readdir = saved_.gl_readdir;                              \
		(result)->gl_stat = saved_.gl_stat;                                    \
		(result)->gl_lstat = saved_.gl_lstat;                                  \
		(result)->gl_flags &= ~GLOB_ALTDIRFUNC;                                \
		rc_;                                                                   \
	})

RNK_EXPORT int glob(const char *pattern, int flags, int (*errfunc)(const char *, int),
		    glob_t *result)
{
	if ((flags & GLOB_ALTDIRFUNC) || !rnk_mapped_size(pattern))
		return NEXT(glob)(pattern, flags, errfunc, result);
	return GLOB_IN_TREE(glob, pattern, flags, errfunc, result, );
}

RNK_EXPORT int glob64(const char *pattern, int flags, int (*errfunc)(const char *, int),
		      glob64_t *result)
{
	if ((flags & GLOB_ALTDIRFUNC) || !rnk_mapped_size(pattern))
		return NEXT(glob64)(pattern, flags, errfunc, result);
	return GLOB_IN_TREE(glob64, pattern, flags, errfunc, result, 64);
}

/* The program's callbacks of the running ftw() or nftw(). They are stored per thread
 * while the walk runs, because a callback has no context argument. Walks may nest. The
 * callback gets the /sys name of a file. This name is the last part of the file's path in
 * the tree, so a pointer into that path is passed.
 */

static __thread __attribute__((tls_model("initial-exec"))) struct {
	__ftw_func_t ftw;
	__ftw64_func_t ftw64;
	__nftw_func_t nftw;
	__nftw64_func_t nftw64;
} callback;

static int on_ftw(const char *path, const struct stat *st, int flag)
{
	return callback.ftw(rnk_unmapped(path), st, flag);
}

static int on_ftw64(const char *path, const struct stat64 *st, int flag)
{
	return callback.ftw64(rnk_unmapped(path), st, flag);
}

static int on_nftw(const char *path, const struct stat *st, int flag, struct FTW *where)
{
	const char *name = rnk_unmapped(path);
	struct FTW moved = *where;

	moved.base -= (int)(name - path);
	return callback.nftw(name, st, flag, &moved);
}

static int on_nftw64(const char *path, const struct stat64 *st, int flag,
		     struct FTW *where)
{
	const char *name = rnk_unmapped(path);
	struct FTW moved = *where;

	moved.base -= (int)(name - path);
	return callback.nftw64(name, st, flag, &moved);
}

/* Calls ftw() or a similar function for the path in the tree, with on_NAME() as callback,
 * which calls @fn.
 */
#define WALK_IN_TREE(name, path, fn, ...)                         \
	({                                                        \
		__typeof__(callback.name) saved_ = callback.name; \
		int rc_;                                          \
                                                                  \
		callback.name = (fn);                             \
		path = REDIRECT(path);                            \
		rc_ = NEXT(name)(path, on_##name, __VA_ARGS__);   \
		callback.name = saved_;                           \
		rc_;                                              \
	})

RNK_EXPORT int ftw(const char *path, __ftw_func_t fn, int descriptors)
{
	if (!rnk_mapped_size(path))
		return NEXT(ftw)(path, fn, descriptors);
	return WALK_IN_TREE(ftw, path, fn, descriptors);
}

RNK_EXPORT int ftw64(const char *path, __ftw64_func_t fn, int descriptors)
{
	if (!rnk_mapped_size(path))
		return NEXT(ftw64)(path, fn, descriptors);
	return WALK_IN_TREE(ftw64, path, fn, descriptors);
}

RNK_EXPORT int nftw(const char *path, __nftw_func_t fn, int descriptors, int flags)
{
	if (!rnk_mapped_size(path))
		return NEXT(nftw)(path, fn, descriptors, flags);
	return WALK_IN_TREE(nftw, path, fn, descriptors, flags);
}

RNK_EXPORT int nftw64(const char *path, __nftw64_func_t fn, int descriptors, int flags)
{
	if (!rnk_mapped_size(path))
		return NEXT(nftw64)(path, fn, descriptors, flags);
	return WALK_IN_TREE(nftw64, path, fn, descriptors, flags);
}

/* ---- fts_open() ---- */

/* Copies the list of roots for fts_open(), with the paths of simulated files replaced by
 * those in the tree. The copy is one block, which the caller must free; fts_open() keeps
 * no pointer to it. Returns NULL if no path belongs to the simulated kernel, or if there
 * is no memory.
 */
static char **redirect_roots(char *const *roots)
{
	size_t count = 0, bytes = 0;
	char **copy;
	char *text;

	for (; roots[count]; count++)
		bytes += rnk_mapped_size(roots[count]);
	if (!bytes)
		return NULL;
	copy = malloc((count + 1) * sizeof(*copy) + bytes);
	if (!copy)
		return NULL;
	text = (char *)(copy + count + 1);
	for (size_t i = 0; i <= count; i++) {
		size_t size = rnk_mapped_size(roots[i]);

		copy[i] = roots[i];
		if (size) {
			rnk_map(roots[i], text, size);
			rnk_counters_refresh(text);
			copy[i] = text;
			text += size;
		}
	}
	return copy;
}

#define FTS_OPEN_IN_TREE(name, roots, options, compare)                        \
	({                                                                     \
		char **mine_ = redirect_roots(roots);                          \
		__typeof__(name(NULL, 0, NULL)) fts_ =                         \
			NEXT(name)(mine_ ? mine_ : (roots), options, compare); \
		int errno_ = errno;                                            \
                                                                               \
		free(mine_);                                                   \
		errno = errno_;                                                \
		fts_;                                                          \
	})

RNK_EXPORT FTS *fts_open(char *const *roots, int options,
			 int (*compare)(const FTSENT **, const FTSENT **))
{
	return FTS_OPEN_IN_TREE(fts_open, roots, options, compare);
}

RNK_EXPORT FTS64 *fts64_open(char *const *roots, int options,
			     int (*compare)(const FTSENT64 **, const FTSENT64 **))
{
	return FTS_OPEN_IN_TREE(fts64_open, roots, options, compare);
}

/* ---- Functions that take no path ---- */

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

/* Opens a socket of RDMA netlink whose requests this library answers, not the kernel. A
 * kernel with RDMA support would answer with its own list of devices, perhaps an empty
 * one, and libibverbs would then not look into sysfs for the devices of Rocin.
 */
RNK_EXPORT int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && rnk_tree())
		return rnk_nl_open(type, rnk_tree());
	return NEXT(socket)(domain, type, protocol);
}

RNK_EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (msg && rnk_nl_is_to_kernel(msg->msg_name, msg->msg_namelen) &&
	    rnk_nl_is_ours(fd) && rnk_tree())
		return rnk_nl_request(fd, msg, rnk_tree());
	return NEXT(sendmsg)(fd, msg, flags);
}

RNK_EXPORT ssize_t sendto(int fd, const void *buf, size_t len, int flags,
			  __CONST_SOCKADDR_ARG addr, socklen_t addr_len)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	const struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (rnk_nl_is_to_kernel(addr.__sockaddr__, addr_len) && rnk_nl_is_ours(fd) &&
	    rnk_tree())
		return rnk_nl_request(fd, &msg, rnk_tree());
	return NEXT(sendto)(fd, buf, len, flags, addr, addr_len);
}

/* ---- Functions on the descriptor of rdma_cm, and getifaddrs() ---- */

RNK_EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	uint64_t number = rnk_cm_number(fd);

	return number ? rnk_cm_write(fd, number, buf, len) : NEXT(write)(fd, buf, len);
}

/* Changes the list of interfaces for libfabric, see loopback.h. */
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

/* Makes a descriptor of rdma_cm, which is a socket, look like a character device. */
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
