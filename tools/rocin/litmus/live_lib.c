/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_lib.c - see live_lib.h */
#include "live_lib.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rocin/host_api.h"

#define MEMBER(f) { #f, offsetof(struct rn_live_lib, f) },

static const struct {
	const char *name;
	size_t offset;
} functions[] = { RN_LIVE_LIB_FUNCTIONS(MEMBER) };

static int find_functions(struct rn_live_lib *lib, char *err, size_t err_len)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(functions); i++) {
		void *at = dlsym(lib->handle, functions[i].name);

		if (!at) {
			snprintf(err, err_len, "%s lacks %s; install Rocin again",
				 RN_HOST_LIBRARY, functions[i].name);
			return -1;
		}
		memcpy((char *)lib + functions[i].offset, &at, sizeof(at));
	}
	return 0;
}

int rn_live_lib_open(struct rn_live_lib *lib, char *err, size_t err_len)
{
	char path[PATH_MAX + sizeof(RN_HOST_LIBRARY) + 1];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	*lib = (struct rn_live_lib){ 0 };
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, sizeof(RN_HOST_LIBRARY), "%s",
		 RN_HOST_LIBRARY);
	lib->handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	return lib->handle ? find_functions(lib, err, err_len) : 0;
}
