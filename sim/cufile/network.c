/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* network.c - files of network drives.
 *
 * ROCIN_STORAGE_SERVER="DIR=ADDRESS[:PORT],..." says which directories are those of a
 * server, as a mount does: their files have the same names here, and their bytes come
 * from the server by RDMA. The first address of the file's rdma_dev_addr_list chooses the
 * NIC.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "rocin/types.h"
#include "sim/netdrive/client.h"

/* Finds the server of @path in the text of the variable. Returns the path below the
 * directory, or NULL if the file is on this machine.
 */
static const char *find_server(const char *text, const char *path, char *server,
			       size_t len)
{
	while (text && *text != '\0') {
		const char *end = text + strcspn(text, ",");
		const char *equals = memchr(text, '=', (size_t)(end - text));
		char dir[RN_CUFILE_TEXT];

		if (equals && (size_t)(equals - text) < sizeof(dir)) {
			snprintf(dir, sizeof(dir), "%.*s", (int)(equals - text), text);
			snprintf(server, len, "%.*s", (int)(end - equals - 1),
				 equals + 1);
			if (dir[0] == '/' && dir[1] != '\0' &&
			    rn_cufile_is_below(path, dir)) {
				path += strlen(dir);
				return path + strspn(path, "/");
			}
		}
		text = *end == ',' ? end + 1 : end;
	}
	return NULL;
}

static const struct rn_netdrive_api *load(char *err, size_t len)
{
	void *library = dlopen("librocin-netdrive.so.0", RTLD_NOW | RTLD_LOCAL);
	const struct rn_netdrive_api *api =
		library ? dlsym(library, "rn_netdrive_api") : NULL;

	if (!api)
		snprintf(err, len, "the library of network drives cannot be loaded: %s",
			 dlerror());
	return api;
}

static CUfileError_t refuse(const char *path, const char *why)
{
	return rn_cufile_fail(CU_FILE_IO_NOT_SUPPORTED,
			      "cuFileHandleRegister: %s is on a network drive, but %s",
			      path, why);
}

CUfileError_t rn_cufile_register_remote(struct rn_cufile_file *f, const char *path,
					bool *is_remote)
{
	struct rn_storage_file **files[] = { &f->normal, &f->posix };
	const struct rn_netdrive_api *api;
	const struct rn_cufile_addresses *addresses;
	char server[64], err[RN_CUFILE_TEXT];
	const char *name =
		find_server(getenv("ROCIN_STORAGE_SERVER"), path, server, sizeof(server));

	*is_remote = name != NULL;
	if (!name)
		return rn_cufile_success();
	api = load(err, sizeof(err));
	if (!api)
		return refuse(path, err);
	if (!rn_cufile_mount_of(&rn_cufile.settings, path))
		f->fs = RN_CUFILE_NFS;
	addresses = rn_cufile_addresses_of(&rn_cufile.settings, path, f->fs);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(files); i++) {
		struct rn_netdrive_file *file = api->open(
			server, name, addresses->count > 0 ? addresses->address[0] : NULL,
			err, sizeof(err));

		if (!file)
			return refuse(path, err);
		if (rn_storage_handle_register_remote(files[i], &api->ops, file)) {
			api->ops.close(file);
			return refuse(path, rn_storage_last_error());
		}
	}
	return rn_cufile_success();
}
