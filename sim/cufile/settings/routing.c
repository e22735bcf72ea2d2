/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* routing.c - which routes the settings leave to a file and to a transfer. */
#include <stdio.h>
#include <string.h>

#include "rocin/types.h"
#include "settings.h"

enum rn_cufile_fs rn_cufile_fs_of(long type)
{
	/* f_type as the headers of Linux and of these file systems have it */
	static const struct {
		uint32_t type;
		enum rn_cufile_fs fs;
	} types[] = {
		{ 0x6969, RN_CUFILE_NFS },	    { 0x0bd00bd0, RN_CUFILE_LUSTRE },
		{ 0x47504653, RN_CUFILE_GPFS },	    { 0x19830326, RN_CUFILE_BEEGFS },
		{ 0x6a656a63, RN_CUFILE_VIRTIOFS }, /* and what else FUSE serves is local
						     */
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(types); i++)
		if ((uint32_t)type == types[i].type)
			return types[i].fs;
	return RN_CUFILE_LOCAL;
}

bool rn_cufile_is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (strncmp(path, dir, len) != 0)
		return false;
	return len == 1 || path[len] == '/' || path[len] == '\0';
}

const struct rn_cufile_mount *rn_cufile_mount_of(const struct rn_cufile_settings *s,
						 const char *path)
{
	const struct rn_cufile_mount *best = NULL;

	for (unsigned i = 0; i < s->mounts; i++) {
		const struct rn_cufile_mount *m = &s->mount[i];

		if (rn_cufile_is_below(path, m->path) &&
		    (!best || strlen(m->path) > strlen(best->path)))
			best = m;
	}
	return best;
}

const struct rn_cufile_addresses *
rn_cufile_addresses_of(const struct rn_cufile_settings *s, const char *path,
		       enum rn_cufile_fs fs)
{
	const struct rn_cufile_mount *m = rn_cufile_mount_of(s, path);

	if (m && m->addresses.count > 0)
		return &m->addresses;
	if (s->fs_addresses[fs].count > 0)
		return &s->fs_addresses[fs];
	return &s->addresses;
}

bool rn_cufile_is_denied(const struct rn_cufile_settings *s, const char *path,
			 enum rn_cufile_fs fs)
{
	for (unsigned i = 0; i < s->denied; i++) {
		const struct rn_cufile_denied *d = &s->deny[i];

		if (!strcmp(d->kind, "mounts") && rn_cufile_is_below(path, d->name))
			return true;
		if (!strcmp(d->kind, "filesystems") &&
		    !strcmp(d->name, rn_cufile_fs_name(fs)))
			return true;
		/* The simulated drives are NVMe drives; their driver is "nvme". */
		if (fs == RN_CUFILE_LOCAL && !strcmp(d->kind, "drivers") &&
		    !strcmp(d->name, "nvme"))
			return true;
	}
	return false;
}

void rn_cufile_policy(const struct rn_cufile_settings *s, char *policy, size_t len)
{
	static const char *const words[] = {
		[RN_CUFILE_GPU_MEM_NVLINKS] = "nvlink",
		[RN_CUFILE_GPU_MEM] = "gpu",
		[RN_CUFILE_SYS_MEM] = "host",
		[RN_CUFILE_P2P] = "p2p",
	};
	bool has_host = false;
	int at;

	if (s->flag[CUFILE_PARAM_FORCE_COMPAT_MODE]) {
		snprintf(policy, len, "host");
		return;
	}
	at = snprintf(policy, len, "direct");
	if (!s->flag[RN_CUFILE_DYNAMIC_ROUTING]) {
		at += snprintf(policy + at, len - (size_t)at, ",p2p");
	} else {
		for (unsigned i = 0; i < s->routings; i++) {
			at += snprintf(policy + at, len - (size_t)at, ",%s",
				       words[s->routing[i]]);
			has_host = has_host || s->routing[i] == RN_CUFILE_SYS_MEM;
		}
	}
	if (s->flag[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE] && !has_host)
		snprintf(policy + at, len - (size_t)at, ",host");
}

const char *rn_cufile_posix_key(const struct rn_cufile_settings *s,
				const struct rn_cufile_transfer *t)
{
	bool is_aligned = ((size_t)t->file_offset | t->size) % 4096 == 0;

	if (s->flag[CUFILE_PARAM_FORCE_COMPAT_MODE])
		return "properties.force_compat_mode";
	if (t->is_denied)
		return "denylist";
	if (t->size <= s->posix_kb[t->fs] * 1024 && s->posix_kb[t->fs] > 0)
		return "posix_gds_min_kb";
	if (!t->is_write)
		return NULL;
	if (!is_aligned && s->flag[RN_CUFILE_UNALIGNED_BY_POSIX])
		return "fs.generic.posix_unaligned_writes";
	if (t->fs != RN_CUFILE_LOCAL && !s->flag[RN_CUFILE_RDMA_WRITE])
		return "properties.gds_rdma_write_support";
	if (t->fs == RN_CUFILE_WEKA && !s->flag[RN_CUFILE_WEKA_WRITE])
		return "fs.weka.rdma_write_support";
	if (t->fs == RN_CUFILE_GPFS && !s->flag[RN_CUFILE_GPFS_WRITE])
		return "fs.gpfs.gds_write_support";
	return NULL;
}
