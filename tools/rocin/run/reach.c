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
	/* Period in ms in which counters are written, which takes 1.3 ms of a processor.
	 */
	COUNTERS_MS = 1000,
	/* Directories that both the tree and the machine have: seven without real
	 * devices. */
	DIRECTORIES_MAX = 64,
};

struct reach {
	char *err; /* text of the first error */
	size_t err_len;
	/* Directories of the machine that have to be looked at, in this order, so that a
	 * cover is there before what is mounted below it.
	 */
	char directory[DIRECTORIES_MAX][256];
	unsigned directories;
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

/* ------------------------------------------------------------ directories and mounts */
/* An entry of the tree. */
struct entry {
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

static int push(struct reach *r, const char *path)
{
	if (r->directories == DIRECTORIES_MAX ||
	    strlen(path) >= sizeof(r->directory[0])) {
		errno = ENAMETOOLONG;
		return fail(r, "look at", path);
	}
	snprintf(r->directory[r->directories++], sizeof(r->directory[0]), "%s", path);
	return 0;
}

/* Adds entry @e of the tree to directory @path. What the machine has there stays what it
 * is; a directory is looked at later. *@is_covered: whether @path is covered.
 */
static int add(struct reach *r, const struct entry *e, const char *path, bool *is_covered)
{
	struct stat ours, theirs;
	int rc = 0;

	if (lstat(e->from, &ours))
		return 0;
	if (lstat(e->to, &theirs) == 0)
		return S_ISDIR(ours.st_mode) && S_ISDIR(theirs.st_mode) ? push(r, e->to)
									: 0;
	if (!*is_covered)
		rc = cover(r, path);
	*is_covered = true;
	return rc ? rc : show(r, e);
}

/* Adds what the tree has in the directory @path. */
static int merge(struct reach *r, const char *tree, const char *path)
{
	bool is_covered = false;
	struct dirent **entry;
	char from[PATH_MAX];
	struct entry e;
	int n, rc;

	snprintf(from, sizeof(from), "%s%s", tree, path);
	n = scandir(from, &entry, NULL, alphasort);
	rc = n < 0 ? fail(r, "read", from) : 0;
	for (int i = 0; i < n; i++) {
		const char *name = entry[i]->d_name;

		snprintf(e.from, sizeof(e.from), "%s%s/%s", tree, path, name);
		snprintf(e.to, sizeof(e.to), "%s/%s", path, name);
		if (!rc && !is_dots(name))
			rc = add(r, &e, path, &is_covered);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	return rc;
}

int rn_reach_enter(const char *tree, char *err, size_t err_len)
{
	struct reach r = { .err = err, .err_len = err_len };
	int rc = enter_namespaces(&r);

	/* Mounts of the machine still appear here, and ours do not there. */
	if (!rc && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		rc = fail(&r, "detach the mounts of", "/");
	rc = rc ? rc : push(&r, "/sys");
	rc = rc ? rc : push(&r, "/dev");
	for (unsigned i = 0; i < r.directories && !rc; i++)
		rc = merge(&r, tree, r.directory[i]);
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
