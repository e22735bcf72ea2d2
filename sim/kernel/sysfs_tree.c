/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sysfs_tree.c - writes and updates generated trees.
 *
 * One function, ensure_entry(), brings one entry into being or finds that it is there
 * already. Applied to an empty directory it writes a tree, to an existing one it mends.
 */
#include "sysfs_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysfs_entries.h"
#include "sysfs_real.h"

enum {
	FILE_TEXT_MAX = 256,   /* no file of a tree is longer */
	TREE_PATH_ROOM = 1024, /* kept free below the tree for the paths inside it */
	TREE_MODE = 0700,
	DIR_MODE = 0755,
	FILE_MODE = 0644,
};

/* What a tree is made of. */
struct content {
	const struct rn_netdev *devs;
	unsigned n;
};

static int visit_all(const struct content *content, rn_sysfs_visit_fn *visit, void *ctx)
{
	int rc = rn_sysfs_visit_base(visit, ctx);

	for (unsigned i = 0; i < content->n && !rc; i++)
		rc = rn_sysfs_visit_device(&content->devs[i], visit, ctx);
	return rc ? rc : rn_sysfs_visit_real("/sys", "/dev", visit, ctx);
}

/* FNV-1a, 64 bits. Names a tree; nothing relies on it against an adversary, who would
 * have to be the user.
 */
static void hash_text(uint64_t *hash, const char *text)
{
	do {
		*hash ^= (uint8_t)*text;
		*hash *= 0x100000001b3;
	} while (*text++);
}

static int hash_entry(void *ctx, const struct rn_sysfs_entry *entry)
{
	uint64_t *hash = ctx;

	hash_text(hash, entry->kind == RN_SYSFS_DIR    ? "d"
			: entry->kind == RN_SYSFS_LINK ? "l"
						       : "f");
	hash_text(hash, entry->path);
	hash_text(hash, entry->content);
	return 0;
}

/* Modes are set by hand: the umask is the program's affair. */
static int ensure_dir(int root, const struct rn_sysfs_entry *entry)
{
	if (mkdirat(root, entry->path, DIR_MODE) < 0)
		return errno == EEXIST ? 0 : -errno;
	return fchmodat(root, entry->path, DIR_MODE, 0) < 0 ? -errno : 0;
}

static int ensure_link(int root, const struct rn_sysfs_entry *entry)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(root, entry->path, target, sizeof(target) - 1);

	if (len >= 0) {
		target[len] = '\0';
		if (!strcmp(target, entry->content))
			return 0;
	}
	if (len >= 0 || errno == EINVAL)
		unlinkat(root, entry->path, 0);
	if (symlinkat(entry->content, root, entry->path) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* Make the file say @text without ever emptying it. */
static int set_text(int fd, const char *text)
{
	char old[FILE_TEXT_MAX];
	size_t len = strlen(text);
	ssize_t old_len = pread(fd, old, sizeof(old), 0);

	assert(len < sizeof(old));
	if (old_len < 0)
		return -errno;
	if ((size_t)old_len == len && !memcmp(old, text, len))
		return 0;
	if (pwrite(fd, text, len, 0) != (ssize_t)len)
		return errno ? -errno : -EIO;
	if ((size_t)old_len > len && ftruncate(fd, (off_t)len) < 0)
		return -errno;
	return 0;
}

static int write_file(int root, const struct rn_sysfs_entry *entry, int create)
{
	int fd = openat(root, entry->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | create,
			FILE_MODE);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 ||
	    ((st.st_mode & 0777) != FILE_MODE && fchmod(fd, FILE_MODE) < 0))
		rc = -errno;
	if (!rc)
		rc = set_text(fd, entry->content);
	close(fd);
	return rc;
}

static int ensure_entry(void *ctx, const struct rn_sysfs_entry *entry)
{
	int root = *(int *)ctx;

	switch (entry->kind) {
	case RN_SYSFS_DIR:
		return ensure_dir(root, entry);
	case RN_SYSFS_LINK:
		return ensure_link(root, entry);
	case RN_SYSFS_FILE:
		return write_file(root, entry, O_CREAT);
	}
	assert(false); /* no other kind */
}

static int update_entry(void *ctx, const struct rn_sysfs_entry *entry)
{
	return entry->live ? write_file(*(int *)ctx, entry, 0) : 0;
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int fill(const char *path, const struct content *content)
{
	int root = open_dir(path);
	int rc;

	if (root < 0)
		return root;
	rc = visit_all(content, ensure_entry, &root);
	close(root);
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int flag,
		      struct FTW *where)
{
	(void)st;
	(void)flag;
	(void)where;
	return remove(path);
}

static void remove_all(const char *path)
{
	int saved_errno = errno;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): only with FTW_CHDIR */
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	errno = saved_errno;
}

/* Build under another name and move into place. Whoever comes second finds a directory
 * with something in it at the target, and the one that is there is as good.
 */
static int create(const char *parent, const char *path, const struct content *content)
{
	char temp[PATH_MAX];
	int rc;

	(void)snprintf(temp, sizeof(temp), "%s/.tree-XXXXXX", parent);
	if (!mkdtemp(temp))
		return -errno;
	rc = chmod(temp, TREE_MODE) < 0 ? -errno : fill(temp, content);
	if (!rc && rename(temp, path) < 0)
		rc = -errno;
	if (rc)
		remove_all(temp);
	return rc == -EEXIST || rc == -ENOTEMPTY ? fill(path, content) : rc;
}

static int name_tree(const char *parent, const struct content *content, char *path,
		     size_t path_len)
{
	uint64_t hash = 0xcbf29ce484222325;
	int len, rc;

	rc = visit_all(content, hash_entry, &hash);
	if (rc)
		return rc;
	len = snprintf(path, path_len, "%s/tree-%016" PRIx64, parent, hash);
	if (len < 0 || (size_t)len >= path_len || len >= PATH_MAX - TREE_PATH_ROOM)
		return -ENAMETOOLONG;
	return 0;
}

static int write_below(const char *parent, const struct content *content, char *path,
		       size_t path_len)
{
	struct stat st;
	int rc = name_tree(parent, content, path, path_len);

	if (rc)
		return rc;
	return lstat(path, &st) == 0 ? fill(path, content)
				     : create(parent, path, content);
}

/* NOLINTNEXTLINE(readability-function-size): seven plain parameters */
int rn_sysfs_tree_write(const char *parent_dir, const struct rn_netdev *devs, unsigned n,
			char *path, size_t path_len, char *err, size_t err_len)
{
	struct content content = { .devs = devs, .n = n };
	char *parent = realpath(parent_dir, NULL);
	int rc;

	assert(n >= 1 && n <= RN_NETDEV_MAX);
	rc = parent ? write_below(parent, &content, path, path_len) : -errno;
	free(parent);
	if (rc) {
		errno = -rc; /* for %m, which unlike strerror() is good in any thread */
		(void)snprintf(err, err_len, "cannot write the sysfs tree in %s: %m",
			       parent_dir);
	}
	return rc;
}

int rn_sysfs_tree_update(const char *path, const struct rn_netdev *devs, unsigned n)
{
	int root = open_dir(path);
	int rc = 0;

	if (root < 0)
		return root;
	for (unsigned i = 0; i < n && !rc; i++)
		rc = rn_sysfs_visit_device(&devs[i], update_entry, &root);
	close(root);
	return rc;
}
