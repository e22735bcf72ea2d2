/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* settings.c - tables of the settings with their defaults and limits. */
#include "settings.h"

#include <stdio.h>
#include <string.h>

#include "rocin/types.h"

/* Defaults and limits are those that cuFile 1.15 reports (cuFileGetParameterSizeT(),
 * cuFileGetParameterMinMaxValue()). Sizes are in KiB, times in ms.
 */
static const struct rn_cufile_size_row sizes[] = {
	[CUFILE_PARAM_PROFILE_STATS] = { "profile", "cufile_stats", 0, 0, 3, 1 },
	[CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH] = { "execution", "max_io_queue_depth",
							128, 1, 256, 1 },
	[CUFILE_PARAM_EXECUTION_MAX_IO_THREADS] = { "execution", "max_io_threads", 4, 0,
						    32, 1 },
	[CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB] = { "execution",
							      "min_io_threshold_size_kb",
							      8192, 4, UINT32_MAX, 4 },
	[CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM] = { "execution",
							     "max_request_parallelism", 4,
							     0, 8, 1 },
	[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB] = { "properties",
							    "max_direct_io_size_kb",
							    16384, 64, 16384, 64 },
	[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB] = { "properties",
							       "max_device_cache_size_kb",
							       131072, 0, 268435456, 4 },
	[CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB] = { "properties",
							       "per_buffer_cache_size_kb",
							       1024, 64, 16384, 64 },
	[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB] = { "properties",
								    "max_device_pinned_"
								    "mem_size_kb",
								    33554432, 64,
								    268435456, 4 },
	[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE] = { "properties", "io_batchsize", 128, 1,
						   256, 1 },
	[CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB] = { "properties", "poll_mode_max_size_kb", 4,
						 4, SIZE_MAX / 1024 - 3, 4 },
	[CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS] = { "properties",
							  "batch_io_timeout_ms", 5, 1,
							  1000, 1 },
};
static_assert(RN_ARRAY_SIZE(sizes) == RN_CUFILE_SIZES, "a row for each size");

/* section, key, default, and the variable of the environment if there is one */
static const struct flag_row {
	const char *section, *key;
	bool initial;
	const char *variable;
} flags[] = {
	[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE] = { "properties", "use_poll_mode", false,
						    NULL },
	[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE] = { "properties", "allow_compat_mode",
							true,
							"CUFILE_ALLOW_COMPAT_MODE" },
	[CUFILE_PARAM_FORCE_COMPAT_MODE] = { "properties", "force_compat_mode", false,
					     "CUFILE_FORCE_COMPAT_MODE" },
	[CUFILE_PARAM_FS_MISC_API_CHECK_AGGRESSIVE] = { "miscellaneous",
							"api_check_aggressive", false,
							NULL },
	[CUFILE_PARAM_EXECUTION_PARALLEL_IO] = { "execution", "parallel_io", true, NULL },
	[CUFILE_PARAM_PROFILE_NVTX] = { "profile", "nvtx", false, NULL },
	[CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY] = { "properties",
							  "allow_system_memory", true,
							  NULL },
	[CUFILE_PARAM_USE_PCIP2PDMA] = { "properties", "use_pci_p2pdma", false,
					 "CUFILE_USE_PCIP2PDMA" },
	[CUFILE_PARAM_PREFER_IO_URING] = { "properties", "prefer_iouring", false, NULL },
	[CUFILE_PARAM_FORCE_ODIRECT_MODE] = { "properties", "force_odirect_mode", false,
					      NULL },
	[CUFILE_PARAM_SKIP_TOPOLOGY_DETECTION] = { "miscellaneous",
						   "skip_topology_detection", false,
						   NULL },
	[CUFILE_PARAM_STREAM_MEMOPS_BYPASS] = { "properties", "stream_memops_bypass",
						false, NULL },
	[RN_CUFILE_RDMA_WRITE] = { "properties", "gds_rdma_write_support", true, NULL },
	[RN_CUFILE_DYNAMIC_ROUTING] = { "properties", "rdma_dynamic_routing", false,
					NULL },
	[RN_CUFILE_UNALIGNED_BY_POSIX] = { "fs.generic", "posix_unaligned_writes", false,
					   NULL },
	[RN_CUFILE_WEKA_WRITE] = { "fs.weka", "rdma_write_support", false, NULL },
	[RN_CUFILE_GPFS_WRITE] = { "fs.gpfs", "gds_write_support", true, NULL },
};
static_assert(RN_ARRAY_SIZE(flags) == RN_CUFILE_FLAGS, "a row for each flag");

static const char *const fs_names[] = {
	[RN_CUFILE_LOCAL] = "generic",	 [RN_CUFILE_BEEGFS] = "beegfs",
	[RN_CUFILE_GPFS] = "gpfs",	 [RN_CUFILE_LUSTRE] = "lustre",
	[RN_CUFILE_NFS] = "nfs",	 [RN_CUFILE_WEKA] = "weka",
	[RN_CUFILE_SCATEFS] = "scatefs", [RN_CUFILE_VIRTIOFS] = "virtiofs",
};
static_assert(RN_ARRAY_SIZE(fs_names) == RN_CUFILE_FS_COUNT, "a name for each");

static const char *const routing_names[] = {
	[RN_CUFILE_GPU_MEM_NVLINKS] = "GPU_MEM_NVLINKS",
	[RN_CUFILE_GPU_MEM] = "GPU_MEM",
	[RN_CUFILE_SYS_MEM] = "SYS_MEM",
	[RN_CUFILE_P2P] = "P2P",
};
static_assert(RN_ARRAY_SIZE(routing_names) == RN_CUFILE_ROUTINGS, "a name for each");

const struct rn_cufile_size_row *rn_cufile_size_row(unsigned param)
{
	return param < RN_CUFILE_SIZES ? &sizes[param] : NULL;
}

const char *rn_cufile_flag_section(unsigned flag)
{
	return flag < RN_CUFILE_FLAGS ? flags[flag].section : NULL;
}

const char *rn_cufile_flag_key(unsigned flag)
{
	return flag < RN_CUFILE_FLAGS ? flags[flag].key : NULL;
}

const char *rn_cufile_flag_variable(unsigned flag)
{
	return flag < RN_CUFILE_FLAGS ? flags[flag].variable : NULL;
}

bool rn_cufile_size_is_valid(unsigned param, size_t value)
{
	const struct rn_cufile_size_row *row = rn_cufile_size_row(param);

	return row && value >= row->min && value <= row->max &&
	       value % row->multiple == 0;
}

const char *rn_cufile_fs_name(enum rn_cufile_fs fs)
{
	return (unsigned)fs < RN_CUFILE_FS_COUNT ? fs_names[fs] : "?";
}

const char *rn_cufile_routing_name(enum rn_cufile_routing routing)
{
	return (unsigned)routing < RN_CUFILE_ROUTINGS ? routing_names[routing] : "?";
}

int rn_cufile_routing_find(const char *name)
{
	for (int r = 0; r < RN_CUFILE_ROUTINGS; r++)
		if (!strcmp(name, routing_names[r]))
			return r;
	return -1;
}

void rn_cufile_defaults(struct rn_cufile_settings *s)
{
	memset(s, 0, sizeof(*s));
	for (unsigned i = 0; i < RN_CUFILE_SIZES; i++)
		s->size[i] = sizes[i].initial;
	for (unsigned i = 0; i < RN_CUFILE_FLAGS; i++)
		s->flag[i] = flags[i].initial;
	snprintf(s->string[CUFILE_PARAM_LOGGING_LEVEL], RN_CUFILE_TEXT, "ERROR");
	s->slabs = 3;
	for (unsigned i = 0; i < s->slabs; i++) {
		static const size_t kb[] = { 4, 1024, 16384 }, count[] = { 128, 64, 64 };

		s->slab_kb[i] = kb[i];
		s->slab_count[i] = count[i];
	}
	for (unsigned i = 0; i < RN_CUFILE_ROUTINGS; i++)
		s->routing[i] = (uint8_t)i;
	s->routings = RN_CUFILE_ROUTINGS;
}
