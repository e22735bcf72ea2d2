/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* runtime_dir.c - finds or creates the private directory of a user; see runtime_dir.h. */
#include "runtime_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

/* Check that the existing @path is a directory that only the user of this process can
 * enter, and that this process can write to it. @is_foreign: out: another user owns it.
 * Return: 0; -errno if it is not such a directory.
 */
static int check_private(const char *path, bool *is_foreign, char *err, size_t err_len)
{
	struct stat st;

	*is_foreign = false;
	if (lstat(path, &st) < 0)
		return rn_fail(err, err_len, -errno, "%s cannot be examined: %m", path);
	*is_foreign = st.st_uid != geteuid();
	if (!S_ISDIR(st.st_mode))
		return rn_fail(err, err_len, -EPERM,
			       "%s is %s, not a directory; remove it or set "
			       "ROCIN_RUNTIME_DIR to a private directory",
			       path, S_ISLNK(st.st_mode) ? "a symbolic link" : "a file");
	if (*is_foreign)
		return rn_fail(err, err_len, -EPERM,
			       "%s belongs to user %u, not to user %u; set "
			       "ROCIN_RUNTIME_DIR to a directory of your own",
			       path, (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & 077)
		return rn_fail(err, err_len, -EPERM,
			       "%s is open to other users (mode %04o); run: chmod 700 %s",
			       path, (unsigned)(st.st_mode & 07777), path);
	if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) < 0)
		return rn_fail(err, err_len, -errno,
			       "%s cannot be written to: %m; set ROCIN_RUNTIME_DIR to a "
			       "private directory",
			       path);
	return 0;
}

/* Create the directory @path, or check it if it exists. Return: 0, -EPERM (it exists and
 * is not private), or why it cannot be created or written to.
 */
static int make_private(const char *path, bool *is_foreign, char *err, size_t err_len)
{
	*is_foreign = false;
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return check_private(path, is_foreign, err, err_len);
	/* -EPERM is reserved for a directory that is not private, see check_private(). */
	return rn_fail(err, err_len, errno == EPERM ? -EACCES : -errno,
		       "%s cannot be created: %m; set ROCIN_RUNTIME_DIR to a private "
		       "directory",
		       path);
}

static int format_path(char *path, size_t path_len, const char *dir, const char *name)
{
	int len = snprintf(path, path_len, "%s/%s", dir, name);

	return len < 0 || (size_t)len >= path_len ? -ENAMETOOLONG : 0;
}

static int use_explicit(const char *wish, char *dir, size_t dir_len, char *err,
			size_t err_len)
{
	size_t len = strlen(wish);
	bool is_foreign;

	if (wish[0] != '/')
		return rn_fail(err, err_len, -EINVAL,
			       "ROCIN_RUNTIME_DIR must be an absolute path, not \"%s\"",
			       wish);
	while (len > 1 && wish[len - 1] == '/')
		len--;
	if (len >= dir_len)
		return rn_fail(err, err_len, -ENAMETOOLONG,
			       "ROCIN_RUNTIME_DIR is too long");
	memcpy(dir, wish, len);
	dir[len] = '\0';
	return make_private(dir, &is_foreign, err, err_len);
}

/* ---- Directories in a place for all users ---- */

/* Return: the user ID of this process outside its user namespace. Different users may
 * have the same ID inside, such as 0: outside, the root of a namespace is the user who
 * has created the namespace.
 */
static unsigned user_outside(void)
{
	unsigned uid = geteuid(), inside, outside, count, found = uid;
	FILE *f = fopen("/proc/self/uid_map", "re");

	while (f && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3)
		if (uid >= inside && uid - inside < count)
			found = outside + (uid - inside);
	if (f)
		fclose(f);
	return found;
}

/* Find the directories NAME.* in @parent that this user owns and that are private. Of
 * these, write the path of the one whose name sorts first to @dir. Return: 0, or -ENOENT
 * if there is none.
 */
static int find_own(char *dir, size_t dir_len, const char *parent, const char *name)
{
	char best[NAME_MAX + 1] = "", path[RN_RUNTIME_PATH_MAX];
	size_t len = strlen(name);
	DIR *list = opendir(parent);
	struct dirent *d;
	bool is_foreign;

	while (list && (d = readdir(list))) {
		if (strncmp(d->d_name, name, len) != 0 || d->d_name[len] != '.' ||
		    (best[0] && strcmp(d->d_name, best) >= 0))
			continue;
		if (format_path(path, sizeof(path), parent, d->d_name) == 0 &&
		    check_private(path, &is_foreign, NULL, 0) == 0)
			snprintf(best, sizeof(best), "%s", d->d_name);
	}
	if (list)
		closedir(list);
	return best[0] ? format_path(dir, dir_len, parent, best) : -ENOENT;
}

/* Find or make a directory of this user whose name nobody can guess. Called if another
 * user owns the directory with the plain name. If two processes make one at the same
 * time, both use the one whose name sorts first. Return: 0 or -errno.
 */
static int make_own(char *dir, size_t dir_len, const char *parent, const char *name)
{
	char made[RN_RUNTIME_PATH_MAX];
	int len, rc = find_own(dir, dir_len, parent, name);

	if (rc == 0)
		return 0;
	len = snprintf(made, sizeof(made), "%s/%s.XXXXXX", parent, name);
	if (len < 0 || (size_t)len >= sizeof(made))
		return -ENAMETOOLONG;
	if (!mkdtemp(made))
		return -errno;
	rc = find_own(dir, dir_len, parent, name);
	if (rc || strcmp(dir, made) != 0)
		rmdir(made);
	return rc;
}

/* Use the directory @name in @parent or, if another user owns it, a directory of this
 * user with a longer name. Return: 0, -EPERM (this user owns the directory, but it is not
 * private), or another reason why it cannot be used.
 */
static int use_candidate(char *dir, size_t dir_len, const char *parent, const char *name,
			 char *err, size_t err_len)
{
	bool is_foreign;
	int rc = format_path(dir, dir_len, parent, name);

	if (rc)
		return rn_fail(err, err_len, rc, "%.200s... is too long a path", parent);
	rc = make_private(dir, &is_foreign, err, err_len);
	if (!is_foreign || make_own(dir, dir_len, parent, name) == 0)
		return is_foreign ? 0 : rc;
	return -EACCES; /* @err says whose directory it is */
}

int rn_runtime_dir(char *dir, size_t dir_len, char *err, size_t err_len)
{
	const char *wish = secure_getenv("ROCIN_RUNTIME_DIR");
	const char *tmp = secure_getenv("TMPDIR");
	const char *xdg = secure_getenv("XDG_RUNTIME_DIR");
	char with_uid[32];
	int rc = -ENOENT;

	if (wish && *wish)
		return use_explicit(wish, dir, dir_len, err, err_len);

	snprintf(with_uid, sizeof(with_uid), "rocin-%u", user_outside());
	const struct {
		const char *parent, *name;
	} candidates[] = {
		{ xdg, "rocin" },
		{ "/dev/shm", with_uid },
		{ tmp && tmp[0] == '/' ? tmp : "/tmp", with_uid },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(candidates); i++) {
		/* The XDG specification says that a relative path must be ignored. */
		if (!candidates[i].parent || candidates[i].parent[0] != '/')
			continue;
		rc = use_candidate(dir, dir_len, candidates[i].parent, candidates[i].name,
				   err, err_len);
		if (rc == 0 || rc == -EPERM)
			return rc;
	}
	return rc;
}

void rn_runtime_name(char *name, size_t name_len, const char *stem, const char *suffix)
{
	struct stat st;
	unsigned long long netns = 0;

	if (stat("/proc/thread-self/ns/net", &st) == 0 ||
	    stat("/proc/self/ns/net", &st) == 0)
		netns = st.st_ino;
	snprintf(name, name_len, "%s-%llu%s", stem, netns, suffix);
}

int rn_open_plain(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, flags | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
			0600);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

int rn_runtime_tree_parent(char *path, size_t path_len, char *err, size_t err_len)
{
	char dir[RN_RUNTIME_PATH_MAX], name[32];
	bool is_foreign;
	int rc = rn_runtime_dir(dir, sizeof(dir), err, err_len);

	if (rc)
		return rc;
	rn_runtime_name(name, sizeof(name), "trees", "");
	if (format_path(path, path_len, dir, name))
		return rn_fail(err, err_len, -ENAMETOOLONG,
			       "%.200s... is too long a path", dir);
	return make_private(path, &is_foreign, err, err_len);
}
