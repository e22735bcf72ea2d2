/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* runtime_dir.c - see runtime_dir.h. */
#include "runtime_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sentence.h"

/* Is @path, which exists, a directory that only we can enter? */
static int check_private(const char *path, char *err, size_t err_len)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return rn_fail(err, err_len, -errno, "%s cannot be examined: %m", path);
	if (!S_ISDIR(st.st_mode))
		return rn_fail(err, err_len, -EPERM,
			       "%s is %s, not a directory; remove it or set "
			       "ROCIN_RUNTIME_DIR to a private directory",
			       path, S_ISLNK(st.st_mode) ? "a symbolic link" : "a file");
	if (st.st_uid != geteuid())
		return rn_fail(err, err_len, -EPERM,
			       "%s belongs to user %u, not to user %u; set "
			       "ROCIN_RUNTIME_DIR to a directory of your own",
			       path, (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & 077)
		return rn_fail(err, err_len, -EPERM,
			       "%s is open to other users (mode %04o); run: chmod 700 %s",
			       path, (unsigned)(st.st_mode & 07777), path);
	return 0;
}

/* Return: 0, -EPERM (exists, not private), or why it could not be created. */
static int make_private(const char *path, char *err, size_t err_len)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return check_private(path, err, err_len);
	/* -EPERM is check_private()'s word. */
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
	return make_private(dir, err, err_len);
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

	snprintf(with_uid, sizeof(with_uid), "rocin-%u", (unsigned)geteuid());
	const struct {
		const char *parent, *name;
	} candidates[] = {
		{ xdg, "rocin" },
		{ "/dev/shm", with_uid },
		{ tmp && tmp[0] == '/' ? tmp : "/tmp", with_uid },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(candidates); i++) {
		/* The XDG specification: a relative path is to be ignored. */
		if (!candidates[i].parent || candidates[i].parent[0] != '/')
			continue;
		rc = format_path(dir, dir_len, candidates[i].parent, candidates[i].name);
		rc = rc ? rn_fail(err, err_len, rc, "%.200s... is too long a path",
				  candidates[i].parent)
			: make_private(dir, err, err_len);
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

int rn_runtime_tree_parent(char *path, size_t path_len, char *err, size_t err_len)
{
	char dir[RN_RUNTIME_PATH_MAX], name[32];
	int rc = rn_runtime_dir(dir, sizeof(dir), err, err_len);

	if (rc)
		return rc;
	rn_runtime_name(name, sizeof(name), "trees", "");
	if (format_path(path, path_len, dir, name))
		return rn_fail(err, err_len, -ENAMETOOLONG,
			       "%.200s... is too long a path", dir);
	return make_private(path, err, err_len);
}
