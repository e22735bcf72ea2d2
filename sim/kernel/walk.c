/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* walk.c - hooks for functions with which libc names paths or walks directories itself.
 *
 * Their results lie in the tree and are given their /sys and /dev names again, because
 * programs take such names apart (UCX and NCCL look for the parent of a device in them).
 * The exception is fts: its entries carry the tree's own path.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include "preload.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "next.h"
#include "redirect.h"

/* libc's parameter names are reserved.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
 */

/* names */

/* Give a path that libc wrote its /sys name again, in place: it only gets shorter. */
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

/* glob: libc offers to walk with functions of ours, so paths keep their names */

static void *glob_opendir(const char *path)
{
	path = REDIRECT(path);
	return NEXT(opendir)(path);
}

static void glob_closedir(void *dir)
{
	closedir(dir);
}

static struct dirent *glob_readdir(void *dir)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one glob(), one directory */
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

/* Run glob() with the functions above and leave no trace of them in the result. */
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

/* ftw and nftw: the callback gets no context, so the program's own is kept per thread
 * while the walk lasts. Walks may nest. A name in /sys is the tail of the name in the
 * tree, so the callback gets a pointer into the latter.
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

/* Walk in the tree with on_NAME in place of @fn. */
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

/* fts */

/* A copy of the list of roots with ours redirected: one block, so that one free() does;
 * fts_open() keeps none of it. NULL if none is ours, or no memory.
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

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
