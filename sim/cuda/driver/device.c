/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.c - the driver API: initialisation, devices and their attributes, flushes. */
#include <stdio.h>
#include <string.h>

#include "driver.h"

CUresult cuInit(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : rn_cu_init();
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = RN_CU_VERSION;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (count)
		*count = rn_cu.count;
	return rn_cu_leave(count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(ordinal, &d);

	if (rc)
		return rc;
	if (device)
		*device = ordinal;
	return rn_cu_leave(device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!name || len <= 0)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	rn_cu_name(device, name, (size_t)len);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!uuid)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	rn_cu_uuid(device, uuid);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	return cuDeviceGetUuid(uuid, device);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	struct rn_cu_device *d;
	uint64_t size = 0;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!bytes)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = rn_cu_result(rn_gpu_get_attr(d->gpu, RN_GPU_ATTR_MEMORY_SIZE, &size));
	*bytes = size;
	return rn_cu_leave(rc);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attr, CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!value)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(
		rn_cu_result(rn_cu_attribute(d->gpu, device, (int)attr, value)));
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	CUresult rc;

	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	rc = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				  device);
	return rc ? rc
		  : cuDeviceGetAttribute(
			    minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
	CUresult rc = rn_cu_lock();
	int number;

	if (rc)
		return rc;
	if (!device || !id)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	number = rn_cu_by_bus_id(id);
	if (number < 0)
		return rn_cu_leave(CUDA_ERROR_INVALID_DEVICE);
	*device = number;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!id || len <= 0)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	rn_cu_bus_id(device, id, (size_t)len);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!rn_cu_device_of(peer))
		return rn_cu_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!can)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	*can = device != peer;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetP2PAttribute(int *value, int attr, CUdevice from, CUdevice to)
{
	enum {
		PERFORMANCE_RANK = 1,
		ACCESS_SUPPORTED = 2,
		NATIVE_ATOMIC_SUPPORTED = 3,
		ARRAY_ACCESS_SUPPORTED = 4,
	};
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(from, &d);

	if (rc)
		return rc;
	if (!rn_cu_device_of(to) || from == to)
		return rn_cu_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!value || attr < PERFORMANCE_RANK || attr > ARRAY_ACCESS_SUPPORTED)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	*value = attr == ACCESS_SUPPORTED;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
				    CUflushGPUDirectRDMAWritesScope scope)
{
	struct CUctx_st *ctx;
	struct rn_gpu *gpu;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	gpu = rn_cu.device[ctx->device].gpu;
	rn_cu_unlock();
	return rn_cu_result(rn_gpu_flush(gpu, (enum rn_gpu_flush_target)target,
					 (enum rn_gpu_flush_scope)scope));
}
