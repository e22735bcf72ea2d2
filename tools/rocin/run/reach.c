/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reach.c - shows the devices to programs that LD_PRELOAD does not reach; see reach.h.
 *
 * A program that makes its system calls itself (Go), or has no dynamic loader, reads the
 * real /sys and /dev. In a mount namespace these can have more than the machine has.
 * Nobody can make a directory in sysfs, so a directory that lacks an entry of the tree is
 * covered by a tmpfs in which each of its own entries is mounted again, and those of the
 * tree beside them. Files of the tree are mounted and not copied, so that what is written
 * there is seen.
 */
#include "reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/namespaces.h"

enum {
	/* Period in ms in which counters are written. Reading all of them and writing
	 * their files takes about 1 ms of a processor.
	 */
	COUNTERS_MS = 1000,
	DEEPEST =
		8, /* levels of directories of the tree that the machine may have, too */
};

/* Where the first error occurred. */
struct reach {
	char *err;
	size_t err_len;
};

static int fail(const struct reach *r, const char *what, const char *path)
{
	int rc = -errno;

	snprintf(r->err, r->err_len, "--reach=all: cannot %s %s: %s", what, path,
		 strerror(-rc));
	return rc;
}

/* ------------------------------------------------------------------------ namespaces */
static int enter_namespaces(const struct reach *r)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int rc;

	if (unshare(CLONE_NEWNS) == 0)
		return 0;
	rc = unshare(CLONE_NEWUSER | CLONE_NEWNS) ? -errno
						  : rn_namespaces_map_user(uid, gid);
	if (rc)
		rn_namespaces_say_refused(-rc, r->err, r->err_len);
	return rc;
}

/* --------------------------------------------------------------- directories and mounts
 */
/* An entry of a directory, with the names by which its parts are used. */
struct entry {
	const char *name;
	char from[PATH_MAX]; /* what is shown */
	char to[PATH_MAX];   /* where */
};

/* Makes @e->to show what @e->from is: a link is copied, anything else is mounted. */
static int show(const struct reach *r, const struct entry *e)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;
	int fd;

	if (lstat(e->from, &st))
		return 0; /* it has gone since the directory was read */
	if (S_ISLNK(st.st_mode)) {
		n = readlink(e->from, target, sizeof(target) - 1);
		if (n < 0)
			return 0;
		target[n] = '\0';
		return symlink(target, e->to) ? fail(r, "make the link", e->to) : 0;
	}
	if (S_ISDIR(st.st_mode)) {
		if (mkdir(e->to, 0755))
			return fail(r, "make", e->to);
	} else {
		fd = open(e->to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			return fail(r, "make", e->to);
		close(fd);
	}
	/* With MS_REC, because what is mounted in a directory may not be uncovered. */
	return mount(e->from, e->to, NULL, MS_BIND | MS_REC, NULL)
		       ? fail(r, "mount", e->to)
		       : 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Covers the directory @path by a tmpfs that shows the same entries. */
static int cover(const struct reach *r, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	struct entry e;
	int rc = 0;

	if (!dir)
		return fail(r, "read", path);
	if (mount("rocin", path, "tmpfs", MS_NOSUID, "mode=0755"))
		rc = fail(r, "mount a file system at", path);
	/* The descriptor still leads to the directory below the new file system. */
	while (!rc && (d = readdir(dir))) {
		if (is_dots(d->d_name))
			continue;
		snprintf(e.from, sizeof(e.from), "/proc/self/fd/%d/%s", dirfd(dir),
			 d->d_name);
		snprintf(e.to, sizeof(e.to), "%s/%s", path, d->d_name);
		rc = show(r, &e);
	}
	closedir(dir);
	return rc;
}

static int merge(const struct reach *r, const char *tree, const char *path,
		 unsigned depth);

/* Adds entry @e of the tree to a directory of the machine. *@is_covered: whether the
 * directory is covered.
 */
static int add(const struct reach *r, const struct entry *e, const char *path,
	       bool *is_covered, unsigned depth)
{
	struct stat ours, theirs;
	int rc = 0;

	if (lstat(e->from, &ours))
		return 0;
	if (lstat(e->to, &theirs) == 0) {
		/* A file of the machine stays what it is. */
		if (S_ISDIR(ours.st_mode) && S_ISDIR(theirs.st_mode))
			return merge(r, e->from, e->to, depth + 1);
		return 0;
	}
	if (!*is_covered)
		rc = cover(r, path);
	*is_covered = true;
	return rc ? rc : show(r, e);
}

/* Adds the entries of directory @tree to directory @path. Those that are there already
 * come last, because a cover has to be below what is mounted in it.
 */
static int merge(const struct reach *r, const char *tree, const char *path,
		 unsigned depth)
{
	bool is_covered = false;
	struct dirent **entry;
	struct entry e;
	struct stat st;
	int n = depth < DEEPEST ? scandir(tree, &entry, NULL, alphasort) : 0;
	int rc = n < 0 ? fail(r, "read", tree) : 0;

	for (int is_there = 0; is_there <= 1; is_there++)
		for (int i = 0; i < n && !rc; i++) {
			e.name = entry[i]->d_name;
			if (is_dots(e.name))
				continue;
			snprintf(e.from, sizeof(e.from), "%s/%s", tree, e.name);
			snprintf(e.to, sizeof(e.to), "%s/%s", path, e.name);
			if ((lstat(e.to, &st) == 0) == is_there)
				rc = add(r, &e, path, &is_covered, depth);
		}
	for (int i = 0; i < n; i++)
		free(entry[i]);
	if (n > 0)
		free(entry);
	return rc;
}

int rn_reach_enter(const char *tree, char *err, size_t err_len)
{
	static const char *const roots[] = { "/sys", "/dev" };
	const struct reach r = { err, err_len };
	char from[PATH_MAX];
	int rc = enter_namespaces(&r);

	/* Mounts of the machine still appear here, and ours do not there. */
	if (!rc && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		rc = fail(&r, "detach the mounts of", "/");
	for (unsigned i = 0; i < RN_ARRAY_SIZE(roots) && !rc; i++) {
		snprintf(from, sizeof(from), "%s%s", tree, roots[i]);
		rc = merge(&r, from, roots[i], 0);
	}
	return rc;
}

/* -------------------------------------------------------------------------- counters */
int rn_reach_keep_counters(void)
{
	char program[24];
	pid_t pid;
	int null;

	snprintf(program, sizeof(program), "%d", (int)getpid());
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid)
		return 0;
	/* The program must not meet a child that it does not know. */
	if (fork())
		_exit(0);
	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Who reads what the program writes sees its end. */
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	execl("/proc/self/exe", "rocin", "keep-counters", program, (char *)NULL);
	execlp("rocin", "rocin", "keep-counters", program, (char *)NULL);
	_exit(RN_EXIT_CANNOT_RUN);
}

/* Lets the preloaded library write the counters: it does so when one of their directories
 * is opened.
 */
static void refresh(const char *devices)
{
	static const char *const kinds[] = { "counters", "hw_counters" };
	DIR *dir = opendir(devices);
	char path[PATH_MAX];
	struct dirent *d;
	int fd;

	while (dir && (d = readdir(dir)))
		for (unsigned i = 0; i < RN_ARRAY_SIZE(kinds) && !is_dots(d->d_name);
		     i++) {
			snprintf(path, sizeof(path), "%s/%s/ports/1/%s", devices,
				 d->d_name, kinds[i]);
			fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (fd >= 0)
				close(fd);
		}
	if (dir)
		closedir(dir);
}

int rn_cmd_keep_counters(int argc, char **argv)
{
	struct pollfd program = { .events = POLLIN };

	if (argc != 2)
		return RN_EXIT_USAGE;
	program.fd = (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0);
	if (program.fd < 0)
		return RN_EXIT_FAILURE;
	do
		refresh("/sys/class/infiniband");
	while (poll(&program, 1, COUNTERS_MS) == 0);
	return 0;
}
