/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.c - the runtime API: devices, errors and the context of a thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime.h"

enum {
	DEVICES_MAX = 16
};

static __thread int device_of_thread;
static __thread cudaError_t last_error;

/* Contexts that this library has retained. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts[DEVICES_MAX];

/* ----------------------------------------------------------------- errors */
cudaError_t rn_cu_rt_end(CUresult result)
{
	cudaError_t error = (cudaError_t)result;

	if (error && error != cudaErrorNotReady)
		last_error = error;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

static const struct {
	cudaError_t code;
	const char *name, *text;
} own_errors[] = {
	{ cudaSuccess, "cudaSuccess", "no error" },
	{ cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument" },
	{ cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory" },
	{ cudaErrorInitializationError, "cudaErrorInitializationError",
	  "initialization error" },
	{ cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
	  "invalid configuration argument" },
	{ cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue",
	  "invalid pitch argument" },
	{ cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol" },
	{ cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
	  "invalid copy direction for memcpy" },
	{ cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
	  "invalid device function" },
	{ cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected" },
	{ cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal" },
	{ cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
	  "invalid resource handle" },
	{ cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found" },
	{ cudaErrorNotReady, "cudaErrorNotReady", "device not ready" },
	{ cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported" },
	{ (cudaError_t)CUDA_ERROR_ILLEGAL_ADDRESS, "cudaErrorIllegalAddress",
	  "an illegal memory access was encountered" },
	{ (cudaError_t)CUDA_ERROR_LAUNCH_FAILED, "cudaErrorLaunchFailure",
	  "unspecified launch failure" },
	{ (cudaError_t)CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	  "cudaErrorHostMemoryAlreadyRegistered",
	  "part or all of the requested memory range is already mapped" },
	{ (cudaError_t)CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
	  "cudaErrorHostMemoryNotRegistered",
	  "pointer does not correspond to a registered memory region" },
	{ (cudaError_t)CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
	  "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled" },
	{ (cudaError_t)CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
	  "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled" },
	{ (cudaError_t)CUDA_ERROR_INVALID_CONTEXT, "cudaErrorDeviceUninitialized",
	  "invalid device context" },
	{ (cudaError_t)CUDA_ERROR_MAP_FAILED, "cudaErrorMapBufferObjectFailed",
	  "mapping of buffer object failed" },
};

const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(own_errors); i++)
		if (own_errors[i].code == error)
			return own_errors[i].name;
	return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(own_errors); i++)
		if (own_errors[i].code == error)
			return own_errors[i].text;
	return "unrecognized error code";
}

/* ------------------------------------------------------------ the context */
static CUresult retain(int device)
{
	CUresult rc = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!contexts[device])
		rc = cuDevicePrimaryCtxRetain(&contexts[device], device);
	pthread_mutex_unlock(&lock);
	return rc;
}

cudaError_t rn_cu_rt_begin(void)
{
	CUcontext current = NULL;
	CUresult rc = cuInit(0);

	if (rc)
		return rn_cu_rt_end(rc);
	rc = cuCtxGetCurrent(&current);
	/* A context that the program has made current by the driver API is used, too. */
	if (!rc && !current) {
		rc = retain(device_of_thread);
		if (!rc)
			rc = cuCtxSetCurrent(contexts[device_of_thread]);
	}
	return rn_cu_rt_end(rc);
}

cudaError_t cudaGetDeviceCount(int *count)
{
	CUresult rc = cuInit(0);

	return rn_cu_rt_end(rc ? rc : cuDeviceGetCount(count));
}

cudaError_t cudaGetDevice(int *device)
{
	CUcontext current = NULL;
	CUresult rc = cuInit(0);

	if (rc || !device)
		return rn_cu_rt_end(rc ? rc : CUDA_ERROR_INVALID_VALUE);
	*device = device_of_thread;
	if (!cuCtxGetCurrent(&current) && current)
		rc = cuCtxGetDevice(device);
	return rn_cu_rt_end(rc);
}

cudaError_t cudaSetDevice(int device)
{
	int count = 0;
	CUresult rc = cuInit(0);

	if (!rc)
		rc = cuDeviceGetCount(&count);
	if (!rc && (device < 0 || device >= count || device >= DEVICES_MAX))
		rc = CUDA_ERROR_INVALID_DEVICE;
	if (!rc)
		rc = retain(device);
	if (!rc)
		rc = cuCtxSetCurrent(contexts[device]);
	if (!rc)
		device_of_thread = device;
	return rn_cu_rt_end(rc);
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	(void)device_flags;
	(void)flags;
	return cudaSetDevice(device);
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	CUresult rc = cuInit(0);

	return rn_cu_rt_end(rc ? rc
			       : cuDevicePrimaryCtxSetFlags_v2(device_of_thread, flags));
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	return RN_CU_RT(cuCtxGetFlags(flags));
}

cudaError_t cudaDeviceReset(void)
{
	CUresult rc = cuInit(0);

	if (rc)
		return rn_cu_rt_end(rc);
	pthread_mutex_lock(&lock);
	rc = cuDevicePrimaryCtxReset_v2(device_of_thread);
	contexts[device_of_thread] = NULL;
	pthread_mutex_unlock(&lock);
	(void)cuCtxSetCurrent(NULL);
	return rn_cu_rt_end(rc);
}

cudaError_t cudaDeviceSynchronize(void)
{
	return RN_CU_RT(cuCtxSynchronize());
}

/* -------------------------------------------------------------- properties */
static CUresult set_int(int *value, int attr, int device)
{
	return attr ? cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device)
		    : CUDA_SUCCESS;
}

static CUresult set_size(size_t *value, int attr, int device)
{
	int narrow = 0;
	CUresult rc = set_int(&narrow, attr, device);

	*value = (size_t)narrow;
	return rc;
}

#define SET_INT(name, attr) rc = rc ? rc : set_int(&prop->name, attr, device);
#define SET_INTS(name, length)
#define SET_SIZE(name, attr) rc = rc ? rc : set_size(&prop->name, attr, device);

static CUresult fill_properties(struct cudaDeviceProp *prop, int device)
{
	CUresult rc = CUDA_SUCCESS;

	memset(prop, 0, sizeof(*prop));
	RN_CU_PROPS(SET_INT, SET_INTS, SET_SIZE)
	rc = rc ? rc : cuDeviceGetName(prop->name, sizeof(prop->name), device);
	rc = rc ? rc : cuDeviceGetUuid(&prop->uuid, device);
	for (int i = 0; i < 3 && !rc; i++) {
		rc = set_int(&prop->maxThreadsDim[i], 2 + i, device);
		if (!rc)
			rc = set_int(&prop->maxGridSize[i], 5 + i, device);
	}
	return rc ? rc : cuDeviceTotalMem_v2(&prop->totalGlobalMem, device);
}

#if RN_CU_RUNTIME >= 13
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
#else
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *prop, int device)
#endif
{
	CUresult rc = cuInit(0);

	if (!rc && !prop)
		rc = CUDA_ERROR_INVALID_VALUE;
	return rn_cu_rt_end(rc ? rc : fill_properties(prop, device));
}

cudaError_t cudaDeviceGetAttribute(int *value, int attr, int device)
{
	CUresult rc = cuInit(0);

	return rn_cu_rt_end(
		rc ? rc : cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device));
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int device)
{
	CUresult rc = cuInit(0);

	return rn_cu_rt_end(rc ? rc : cuDeviceGetPCIBusId(id, len, device));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
	CUresult rc = cuInit(0);

	return rn_cu_rt_end(rc ? rc : cuDeviceGetByPCIBusId(device, id));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	return RN_CU_RT(cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t cudaDeviceGetLimit(size_t *value, int limit)
{
	return RN_CU_RT(cuCtxGetLimit(value, limit));
}

cudaError_t cudaDeviceSetLimit(int limit, size_t value)
{
	return RN_CU_RT(cuCtxSetLimit(limit, value));
}

cudaError_t cudaDriverGetVersion(int *version)
{
	return rn_cu_rt_end(cuDriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return rn_cu_rt_end(CUDA_ERROR_INVALID_VALUE);
	*version = RN_CU_RUNTIME >= 13 ? 13000 : 12080;
	return cudaSuccess;
}

/* ------------------------------------------------------- peers and flushes */
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	CUresult rc = cuInit(0);

	return rn_cu_rt_end(rc ? rc : cuDeviceCanAccessPeer(can, device, peer));
}

static CUresult context_of(int device, CUcontext *ctx)
{
	int count = 0;
	CUresult rc = cuDeviceGetCount(&count);

	if (!rc && (device < 0 || device >= count || device >= DEVICES_MAX))
		rc = CUDA_ERROR_INVALID_DEVICE;
	if (!rc)
		rc = retain(device);
	if (!rc)
		*ctx = contexts[device];
	return rc;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	CUcontext ctx = NULL;
	cudaError_t error = rn_cu_rt_begin();
	CUresult rc;

	if (error)
		return error;
	rc = context_of(peer, &ctx);
	return rn_cu_rt_end(rc ? rc : cuCtxEnablePeerAccess(ctx, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext ctx = NULL;
	cudaError_t error = rn_cu_rt_begin();
	CUresult rc;

	if (error)
		return error;
	rc = context_of(peer, &ctx);
	return rn_cu_rt_end(rc ? rc : cuCtxDisablePeerAccess(ctx));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, int attr, int from, int to)
{
	CUresult rc = cuInit(0);

	return rn_cu_rt_end(rc ? rc : cuDeviceGetP2PAttribute(value, attr, from, to));
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
	return RN_CU_RT(
		cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)target,
					   (CUflushGPUDirectRDMAWritesScope)scope));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	return RN_CU_RT(cuDeviceGetDefaultMemPool(pool, device));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	return RN_CU_RT(cuDeviceGetMemPool(pool, device));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	return RN_CU_RT(cuDeviceSetMemPool(device, pool));
}
