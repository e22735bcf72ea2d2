/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver.c - closing of the driver, its properties and limits. */
#include <string.h>

#include "internal.h"
#include "rocin/gpu.h"

enum {
	VERSION = 1160, /* 1000 * major + 10 * minor of the API that this library has */
	/* nvidia-fs, whose place the simulated drives take */
	NVFS_MAJOR = 2,
	NVFS_MINOR = 26,
	LIMIT_KB = 268435456, /* largest BAR of a GPU in KiB */
};

static CUfileP2PFlags_t p2p_flags[CU_FILE_MAX_TARGET_TYPES];

CUfileError_t cuFileDriverClose_v2(void)
{
	bool is_last;

	if (rn_cufile_is_child())
		return rn_cufile_not_open("cuFileDriverClose");
	rn_cufile_lock();
	if (rn_cufile.opens == 0) {
		rn_cufile_unlock();
		return rn_cufile_not_open("cuFileDriverClose");
	}
	is_last = rn_cufile.opens == 1;
	if (!is_last)
		rn_cufile.opens--;
	rn_cufile_unlock();
	if (!is_last)
		return rn_cufile_success();
	rn_cufile_release_batches();
	rn_cufile_release_streams();
	rn_cufile_release_objects();
	rn_cufile_lock();
	rn_cufile.opens = 0;
	rn_cufile_stats_close();
	if (rn_cufile.has_storage && rn_storage_driver_close() == 0)
		rn_cufile.has_storage = false;
	rn_cufile_unlock();
	return rn_cufile_success();
}

CUfileError_t cuFileDriverClose(void)
{
	return cuFileDriverClose_v2();
}

long cuFileUseCount(void)
{
	long count;

	if (rn_cufile_is_child())
		return 0;
	rn_cufile_lock();
	count = rn_cufile.opens;
	rn_cufile_unlock();
	return count;
}

CUfileError_t cuFileGetVersion(int *version)
{
	if (!version)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileGetVersion: nothing to write to");
	*version = VERSION;
	return rn_cufile_success();
}

/* --------------------------------------------------------------------- properties */
CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *props)
{
	const struct rn_cufile_settings *s = &rn_cufile.settings;

	if (!props)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileDriverGetProperties: nothing to write to");
	if (!rn_cufile_need())
		return rn_cufile_not_open(__func__);
	rn_cufile_lock();
	memset(props, 0, sizeof(*props));
	props->nvfs.major_version = NVFS_MAJOR;
	props->nvfs.minor_version = NVFS_MINOR;
	props->nvfs.poll_thresh_size = s->size[CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB];
	props->nvfs.max_direct_io_size =
		s->size[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB];
	props->nvfs.dstatusflags =
		1u << CU_FILE_NVME_SUPPORTED | 1u << CU_FILE_NFS_SUPPORTED;
	if (s->flag[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE])
		props->nvfs.dcontrolflags |= 1u << CU_FILE_USE_POLL_MODE;
	if (s->flag[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE])
		props->nvfs.dcontrolflags |= 1u << CU_FILE_ALLOW_COMPAT_MODE;
	props->fflags =
		1u << CU_FILE_DYN_ROUTING_SUPPORTED | 1u << CU_FILE_BATCH_IO_SUPPORTED |
		1u << CU_FILE_STREAMS_SUPPORTED | 1u << CU_FILE_PARALLEL_IO_SUPPORTED;
	props->max_device_cache_size =
		(unsigned)s->size[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB];
	props->per_buffer_cache_size =
		(unsigned)s->size[CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB];
	props->max_device_pinned_mem_size =
		(unsigned)s->size[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB];
	props->max_batch_io_size =
		(unsigned)s->size[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE];
	props->max_batch_io_timeout_msecs =
		(unsigned)s->size[CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS];
	rn_cufile_unlock();
	return rn_cufile_success();
}

/* Sets a size of an open driver, if it is valid and not above the largest BAR. */
static CUfileError_t set_size(const char *call, unsigned param, size_t kb)
{
	const struct rn_cufile_size_row *row = rn_cufile_size_row(param);
	bool may_be_0 = param != CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB &&
			param != CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB;

	if (!rn_cufile_need())
		return rn_cufile_not_open(call);
	if (may_be_0 && kb > LIMIT_KB && kb % row->multiple == 0)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "%s: %zu KiB are more than the BAR of any GPU, %d "
				      "KiB",
				      call, kb, LIMIT_KB);
	if (!rn_cufile_size_is_valid(param, kb) && !(may_be_0 && kb == 0))
		return rn_cufile_fail(
			CU_FILE_DRIVER_UNSUPPORTED_LIMIT,
			"%s: %zu KiB are no multiple of %zu from %zu to %zu", call, kb,
			row->multiple, row->min, row->max);
	rn_cufile_lock();
	rn_cufile.settings.size[param] = kb;
	rn_cufile_unlock();
	return rn_cufile_success();
}

CUfileError_t cuFileDriverSetPollMode(bool poll, size_t poll_threshold_size)
{
	CUfileError_t e = set_size(__func__, CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB,
				   poll_threshold_size);

	if (e.err)
		return e;
	rn_cufile_lock();
	rn_cufile.settings.flag[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE] = poll;
	rn_cufile_unlock();
	return e;
}

CUfileError_t cuFileDriverSetMaxDirectIOSize(size_t max_direct_io_size)
{
	return set_size(__func__, CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB,
			max_direct_io_size);
}

CUfileError_t cuFileDriverSetMaxCacheSize(size_t max_cache_size)
{
	return set_size(__func__, CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB,
			max_cache_size);
}

CUfileError_t cuFileDriverSetMaxPinnedMemSize(size_t max_pinned_size)
{
	return set_size(__func__, CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB,
			max_pinned_size);
}

CUfileError_t cuFileGetBARSizeInKB(int gpu, size_t *bar_size)
{
	uint64_t bytes = 0;

	if (!rn_cufile_is_open())
		return rn_cufile_not_open(__func__);
	if (!bar_size || gpu < 0 || gpu >= rn_gpu_count() ||
	    rn_gpu_get_attr(rn_gpu_open(gpu), RN_GPU_ATTR_BAR_SIZE, &bytes))
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "%s: there is no GPU %d, or nothing to write to",
				      __func__, gpu);
	*bar_size = (size_t)(bytes / 1024);
	return rn_cufile_success();
}

/* -------------------------------------------------------------------- P2P flags */
static bool is_kind(CUfileDriverStatusFlags_t kind)
{
	return (unsigned)kind < CU_FILE_MAX_TARGET_TYPES && kind != 10;
}

CUfileError_t cuFileDriverSetP2PFlags(CUfileDriverStatusFlags_t kind,
				      CUfileP2PFlags_t flags)
{
	unsigned allowed = 1u << CUFILE_P2PDMA; /* what x86_64 may set */

	if (!rn_cufile_is_open())
		return rn_cufile_not_open(__func__);
	if (!is_kind(kind))
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "%s: there is no kind of storage %d", __func__,
				      (int)kind);
	if (((unsigned)flags & ~allowed) != 0)
		return rn_cufile_fail(CU_FILE_PLATFORM_NOT_SUPPORTED,
				      "%s: of the flags %#x only %#x can be set",
				      __func__, (unsigned)flags, allowed);
	rn_cufile_lock();
	p2p_flags[kind] = flags;
	rn_cufile_unlock();
	return rn_cufile_success();
}

CUfileError_t cuFileDriverGetP2PFlags(CUfileDriverStatusFlags_t kind,
				      CUfileP2PFlags_t *flags)
{
	if (!rn_cufile_is_open())
		return rn_cufile_not_open(__func__);
	if (!flags || !is_kind(kind))
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "%s: there is no kind of storage %d, or nothing to "
				      "write to",
				      __func__, (int)kind);
	rn_cufile_lock();
	*flags = (CUfileP2PFlags_t)((unsigned)p2p_flags[kind] | 1u << CUFILE_NVFS);
	rn_cufile_unlock();
	return rn_cufile_success();
}
