/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_path.c - where the daemon's program is. See rocind_start.h. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocind_start.h"
#include "transport/io/host/sentence.h"

static int format_program(char *path, size_t path_len, const char *dir, size_t dir_len,
			  const char *rest)
{
	int len = snprintf(path, path_len, "%.*s%s/rocind", (int)dir_len, dir, rest);

	if (len < 0 || (size_t)len >= path_len)
		return -ENAMETOOLONG;
	return access(path, X_OK) == 0 ? 0 : -ENOENT;
}

/* @file lies in the directory of programs or in that of plugins. */
static int look_beside(const char *file, char *path, size_t path_len)
{
	char real[PATH_MAX];
	const char *slash;
	int rc;

	if (!realpath(file, real))
		return -ENOENT;
	slash = strrchr(real, '/');
	rc = format_program(path, path_len, real, (size_t)(slash - real), "");
	if (rc)
		rc = format_program(path, path_len, real, (size_t)(slash - real),
				    "/" RN_PLUGIN_TO_BIN);
	return rc;
}

static int look_in_path(char *path, size_t path_len)
{
	const char *dir = secure_getenv("PATH");

	while (dir && *dir) {
		size_t len = strcspn(dir, ":");

		if (dir[0] == '/' && format_program(path, path_len, dir, len, "") == 0)
			return 0;
		dir += len + (dir[len] == ':');
	}
	return -ENOENT;
}

int rn_rocind_find(const char *wish, char *path, size_t path_len, char *err,
		   size_t err_len)
{
	Dl_info here;

	if (!wish)
		wish = secure_getenv("ROCIN_ROCIND");
	if (wish && *wish) {
		int len = snprintf(path, path_len, "%s", wish);

		if ((size_t)len >= path_len)
			return rn_fail(err, err_len, -ENAMETOOLONG,
				       "the path of rocind is too long");
		return 0;
	}
	/* For the program itself dladdr() may give a bare argv[0], which says nothing. */
	if (dladdr((const void *)&rn_rocind_find, &here) && here.dli_fname &&
	    strchr(here.dli_fname, '/') &&
	    look_beside(here.dli_fname, path, path_len) == 0)
		return 0;
	if (look_beside("/proc/self/exe", path, path_len) == 0 ||
	    look_in_path(path, path_len) == 0)
		return 0;
	return rn_fail(
		err, err_len, -ENOENT,
		"the program rocind was found neither beside rocin nor in PATH; set "
		"ROCIN_ROCIND to its path");
}
