/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* settings.h - what cufile.json, the environment and cuFileSetParameter*() say.
 *
 * A value has a default, which cufile.json may replace; a variable of the environment
 * replaces that, and cuFileSetParameter*() all of them. Nothing here calls the storage
 * engine, so `rocin gds check` uses the same code.
 */
#ifndef RN_CUFILE_SETTINGS_H
#define RN_CUFILE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/cufile/cufile.h"

enum {
	RN_CUFILE_SIZES = CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS + 1,
	RN_CUFILE_PARAM_FLAGS = CUFILE_PARAM_STREAM_MEMOPS_BYPASS + 1,
	RN_CUFILE_STRINGS = CUFILE_PARAM_LOG_DIR + 1,
	RN_CUFILE_SLABS = 16,	  /* kinds of POSIX buffers */
	RN_CUFILE_ADDRESSES = 16, /* addresses of NICs in one list */
	RN_CUFILE_MOUNTS = 32,	  /* mounts in all mount tables together */
	RN_CUFILE_DENIED = 32,	  /* entries of all deny lists together */
	RN_CUFILE_TEXT = 256,	  /* bytes of a path or a name */
};

/* Flags: first those that are parameters, with the numbers of
 * CUFileBoolConfigParameter_t; then those of cufile.json only.
 */
enum rn_cufile_flag {
	RN_CUFILE_RDMA_WRITE = RN_CUFILE_PARAM_FLAGS, /* gds_rdma_write_support */
	RN_CUFILE_DYNAMIC_ROUTING,
	RN_CUFILE_UNALIGNED_BY_POSIX, /* fs.generic.posix_unaligned_writes */
	RN_CUFILE_WEKA_WRITE,
	RN_CUFILE_GPFS_WRITE,
	RN_CUFILE_FLAGS,
};

/* Kinds of file systems. Each has a section of its name below "fs" in cufile.json. */
enum rn_cufile_fs {
	RN_CUFILE_LOCAL, /* a file system on a drive; "generic" */
	RN_CUFILE_BEEGFS,
	RN_CUFILE_GPFS,
	RN_CUFILE_LUSTRE,
	RN_CUFILE_NFS,
	RN_CUFILE_WEKA,
	RN_CUFILE_SCATEFS,
	RN_CUFILE_VIRTIOFS,
	RN_CUFILE_FS_COUNT,
};

/* Policies of dynamic routing, by their words in rdma_dynamic_routing_order. */
enum rn_cufile_routing {
	RN_CUFILE_GPU_MEM_NVLINKS,
	RN_CUFILE_GPU_MEM,
	RN_CUFILE_SYS_MEM,
	RN_CUFILE_P2P,
	RN_CUFILE_ROUTINGS,
};

struct rn_cufile_addresses {
	unsigned count;
	char address[RN_CUFILE_ADDRESSES][16]; /* IPv4, as text */
};

struct rn_cufile_mount {
	enum rn_cufile_fs fs;
	char path[RN_CUFILE_TEXT];
	struct rn_cufile_addresses addresses;
};

/* An entry of a deny list; `kind' is "drivers", "devices", "mounts" or "filesystems". */
struct rn_cufile_denied {
	char kind[16];
	char name[RN_CUFILE_TEXT];
};

struct rn_cufile_settings {
	size_t size[RN_CUFILE_SIZES]; /* by CUFileSizeTConfigParameter_t */
	bool flag[RN_CUFILE_FLAGS];
	char string[RN_CUFILE_STRINGS][RN_CUFILE_TEXT];
	bool has_slabs;
	unsigned slabs;
	size_t slab_kb[RN_CUFILE_SLABS], slab_count[RN_CUFILE_SLABS];
	uint8_t routing[RN_CUFILE_ROUTINGS]; /* enum rn_cufile_routing, in order */
	unsigned routings;
	/* Transfers of at most this number of KiB take the POSIX route. */
	size_t posix_kb[RN_CUFILE_FS_COUNT];
	struct rn_cufile_addresses addresses; /* properties.rdma_dev_addr_list */
	struct rn_cufile_addresses fs_addresses[RN_CUFILE_FS_COUNT];
	unsigned mounts;
	struct rn_cufile_mount mount[RN_CUFILE_MOUNTS];
	unsigned denied;
	struct rn_cufile_denied deny[RN_CUFILE_DENIED];
	char file[RN_CUFILE_TEXT]; /* the cufile.json that was read; "" if none was */
};

/* Sets all values to their defaults. */
void rn_cufile_defaults(struct rn_cufile_settings *s);

/* Called with each remark about a value that is not used: one sentence. */
typedef void rn_cufile_remark_fn(void *ctx, const char *sentence);

/**
 * rn_cufile_read_json() - Replace the defaults by the values of a file
 * @path:	The file. Comments (two slashes up to the end of a line) are allowed in it
 * @remark:	Called for each key or value that is not understood; that key keeps its
 *		default
 *
 * Return: 0; -ENOENT or another error of the file; -EINVAL: it is not JSON, and @err has
 *	   a sentence that names line and column.
 */
int rn_cufile_read_json(struct rn_cufile_settings *s, const char *path,
			rn_cufile_remark_fn *remark, void *ctx, char *err,
			size_t err_len);

/**
 * rn_cufile_load() - Defaults, the file and the environment
 *
 * The file is the one that $CUFILE_ENV_PATH_JSON names, or /etc/cufile.json. If there is
 * no such file, the defaults are used, and @remark is told if a variable has named it.
 *
 * Return: 0; -EINVAL: the file is not JSON.
 */
int rn_cufile_load(struct rn_cufile_settings *s, rn_cufile_remark_fn *remark, void *ctx,
		   char *err, size_t err_len);

/* A row of the table of sizes. */
struct rn_cufile_size_row {
	const char *section, *key; /* in cufile.json */
	size_t initial, min, max;
	size_t multiple; /* the value is a multiple of this; 1: any */
};
const struct rn_cufile_size_row *rn_cufile_size_row(unsigned param);

/* Section and key of a flag, and the variable of the environment that replaces it; NULL
 * if it has none.
 */
const char *rn_cufile_flag_section(unsigned flag);
const char *rn_cufile_flag_key(unsigned flag);
const char *rn_cufile_flag_variable(unsigned flag);

/* Returns true if a size is within the range of its row, and a multiple. */
bool rn_cufile_size_is_valid(unsigned param, size_t value);

const char *rn_cufile_fs_name(enum rn_cufile_fs fs);
const char *rn_cufile_routing_name(enum rn_cufile_routing routing);
int rn_cufile_routing_find(const char *name); /* -1: there is none */

/* ------------------------------------------------------ what follows from settings
 * The functions of routing.c are pure: they know nothing of drives.
 */
/* Returns the kind of a file system by f_type of statfs(2). */
enum rn_cufile_fs rn_cufile_fs_of(long type);

/* Returns true if @path is @dir, or below it. */
bool rn_cufile_is_below(const char *path, const char *dir);

/* Finds the mount of the mount tables that contains @path: the longest one. NULL: none.
 */
const struct rn_cufile_mount *rn_cufile_mount_of(const struct rn_cufile_settings *s,
						 const char *path);

/* Returns the addresses of the NICs by which a file is reached: those of its mount, of
 * its kind of file system, or of properties.rdma_dev_addr_list; the first list that is
 * there.
 */
const struct rn_cufile_addresses *
rn_cufile_addresses_of(const struct rn_cufile_settings *s, const char *path,
		       enum rn_cufile_fs fs);

/* Returns true if the deny list excludes the file at @path. */
bool rn_cufile_is_denied(const struct rn_cufile_settings *s, const char *path,
			 enum rn_cufile_fs fs);

/* Writes the routes of a transfer, in the words of rn_storage_set_policy(), to @policy.
 */
void rn_cufile_policy(const struct rn_cufile_settings *s, char *policy, size_t len);

/* One transfer, as far as compatibility mode depends on it. */
struct rn_cufile_transfer {
	enum rn_cufile_fs fs;
	bool is_write, is_denied;
	size_t size;
	off_t file_offset;
};

/* Returns the key that makes this transfer one of compatibility mode; NULL if none does.
 */
const char *rn_cufile_posix_key(const struct rn_cufile_settings *s,
				const struct rn_cufile_transfer *t);

#endif /* RN_CUFILE_SETTINGS_H */
