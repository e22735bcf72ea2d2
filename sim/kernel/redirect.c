/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* redirect.c - finds the paths that belong to the simulated kernel, and maps them to
 * real files.
 */
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMPLETE_TREE_HAS "sys/class/infiniband_verbs/abi_version"

static const char *const prefixes[] = {
	"/sys/class/infiniband",
	"/sys/class/infiniband_verbs",
	"/sys/class/infiniband_mad",
	"/sys/class/infiniband_cm",
	"/sys/class/misc/rdma_cm",
	"/sys/devices/virtual/rocin",
	"/sys/module/nvidia_peermem",
	"/sys/kernel/mm/memory_peers",
	"/dev/infiniband",
};

enum {
	/* Size of a buffer in bytes, more than any of the prefixes needs. */
	PREFIX_MAX = 32
};

enum tree_state {
	UNKNOWN,
	STARTING,
	OFF,
	ON
};

/* The thread that has changed the state from UNKNOWN or OFF to STARTING alone may write
 * @path and @len. After that it stores ON with release order. Readers load the state with
 * acquire order.
 */
static struct {
	_Atomic int state;
	size_t len;
	char path[PATH_MAX];
} tree;

/* The functions below use bare system calls for three reasons: they may run before libc
 * is initialised, must not be cancellation points, and must not call the hooks of this
 * library.
 */
static bool is_same_dir(int fd, const char *path)
{
	struct statx a, b;

	return syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &a) == 0 &&
	       syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO, &b) ==
		       0 &&
	       a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major &&
	       a.stx_dev_minor == b.stx_dev_minor;
}

/* Writes "/proc/self/fd/N" for a descriptor, without stdio. */
static void fd_path(char buf[static 32], int fd)
{
	static const char dir[] = "/proc/self/fd/";
	char digits[12];
	unsigned n = 0;

	memcpy(buf, dir, sizeof(dir));
	do {
		digits[n++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd);
	for (unsigned i = 0; i < n; i++)
		buf[sizeof(dir) - 1 + i] = digits[n - 1 - i];
	buf[sizeof(dir) - 1 + n] = '\0';
}

/* Stores the path of the tree in the form that realpath() and getcwd() return. If /proc
 * is not mounted, stores the path @given without slashes at its end.
 */
static void canonicalise(int fd, const char *given)
{
	char proc[32];
	long n;

	fd_path(proc, fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, proc, tree.path, sizeof(tree.path) - 1);
	if (n > 1 && tree.path[0] == '/') {
		tree.path[n] = '\0';
		tree.len = (size_t)n;
		if (is_same_dir(fd, tree.path))
			return;
	}
	tree.len = strlen(given);
	memcpy(tree.path, given, tree.len + 1);
	while (tree.len > 1 && tree.path[tree.len - 1] == '/')
		tree.path[--tree.len] = '\0';
}

static bool use_tree(const char *path)
{
	bool complete;
	int fd;

	if (!path || path[0] != '/' || strlen(path) >= sizeof(tree.path))
		return false;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	complete = syscall(SYS_faccessat, fd, COMPLETE_TREE_HAS, R_OK) == 0;
	if (complete)
		canonicalise(fd, path);
	syscall(SYS_close, fd);
	return complete;
}

bool rnk_tree_set(const char *path)
{
	int saved_errno = errno;
	bool usable;

	atomic_store(&tree.state, STARTING);
	usable = use_tree(path);
	atomic_store_explicit(&tree.state, usable ? ON : OFF, memory_order_release);
	errno = saved_errno;
	return usable;
}

void rnk_tree_disable(void)
{
	atomic_store(&tree.state, OFF);
}

/* Reads ROCIN_TREE and sets the tree. If another thread is doing that at the same time,
 * returns false, as if there were no tree. Only threads that were started before the
 * constructor of this library ran can come here at the same time.
 */
static bool start(void)
{
	int expected = UNKNOWN;

	if (!atomic_compare_exchange_strong(&tree.state, &expected, STARTING))
		return expected == ON;
	return rnk_tree_set(secure_getenv("ROCIN_TREE"));
}

static bool is_on(void)
{
	int state = atomic_load_explicit(&tree.state, memory_order_acquire);

	return state == ON || (state == UNKNOWN && start());
}

const char *rnk_tree(void)
{
	return is_on() ? tree.path : NULL;
}

/* Skips slashes and components ".". Returns the first other component at or behind @p. */
static const char *skip_idle(const char *p)
{
	while (*p == '/' || (*p == '.' && (p[1] == '/' || p[1] == '\0')))
		p++;
	return p;
}

static bool is_dotdot(const char *p)
{
	return p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0');
}

static const char *find_prefix(const char *norm)
{
	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strcmp(norm, prefixes[i]))
			return prefixes[i];
	return NULL;
}

/* Adds a component to the normalised path @norm. Returns the new length of the path, or
 * 0 if it is too long to be one of the prefixes of simulated paths, such as
 * /sys/class/infiniband.
 */
static size_t push(char norm[static PREFIX_MAX], size_t len, const char *name, size_t n)
{
	if (len + 1 + n >= PREFIX_MAX)
		return 0;
	norm[len] = '/';
	memcpy(norm + len + 1, name, n);
	norm[len + 1 + n] = '\0';
	return len + 1 + n;
}

static size_t pop(char norm[static PREFIX_MAX], size_t len)
{
	while (len > 0 && norm[--len] != '/')
		;
	norm[len] = '\0';
	return len;
}

/* Splits @path into one of the prefixes of the tree and the unchanged @rest. ".." removes
 * a path component by name until a prefix is complete. The kernel comes to the same
 * result, because no component of a prefix is a symbolic link. A ".." behind the prefix
 * is left to the kernel.
 */
static const char *split(const char *path, const char **rest)
{
	char norm[PREFIX_MAX] = "";
	size_t len = 0;
	const char *p = path;

	for (p = skip_idle(p); *p; p = skip_idle(p)) {
		size_t n = strcspn(p, "/");
		const char *prefix;

		if (is_dotdot(p)) {
			len = pop(norm, len);
			p += n;
			continue;
		}
		len = push(norm, len, p, n);
		if (!len)
			return NULL;
		p += n;
		prefix = find_prefix(norm);
		if (prefix && !is_dotdot(skip_idle(p))) {
			*rest = p;
			return prefix;
		}
	}
	return NULL;
}

static bool may_be_ours(const char *path)
{
	if (!path || path[0] != '/')
		return false;
	return path[1] == 's' || path[1] == 'd' || path[1] == '/' || path[1] == '.';
}

size_t rnk_mapped_size(const char *path)
{
	const char *prefix, *rest;
	size_t size;

	if (!may_be_ours(path))
		return 0;
	prefix = split(path, &rest);
	if (!prefix || !is_on())
		return 0;
	size = tree.len + strlen(prefix) + strlen(rest) + 1;
	/* Such a path is too long for the kernel, which will refuse the original path,
	 * too.
	 */
	return size <= 2ul * PATH_MAX ? size : 0;
}

const char *rnk_map(const char *path, char *buf, size_t size)
{
	const char *rest = NULL;
	const char *prefix = split(path, &rest);
	size_t prefix_len, rest_len;

	if (!prefix)
		return path;
	prefix_len = strlen(prefix);
	rest_len = strlen(rest);
	/* The string may be longer now than when its length was measured, because another
	 * thread of the program has changed it. Such a path is not mapped. This is the
	 * program's mistake, so it is not asserted.
	 */
	if (tree.len + prefix_len + rest_len + 1 > size)
		return path;
	memcpy(buf, tree.path, tree.len);
	memcpy(buf + tree.len, prefix, prefix_len);
	memcpy(buf + tree.len + prefix_len, rest, rest_len + 1);
	return buf;
}

const char *rnk_unmapped(const char *path)
{
	const char *inside;

	if (!path || path[0] != '/' || !is_on() ||
	    strncmp(path, tree.path, tree.len) != 0)
		return path;
	inside = path + tree.len;
	if (!strncmp(inside, "/sys", 4) && (inside[4] == '/' || inside[4] == '\0'))
		return inside;
	if (!strncmp(inside, "/dev", 4) && (inside[4] == '/' || inside[4] == '\0'))
		return inside;
	return path;
}
