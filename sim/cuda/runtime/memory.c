/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - the runtime API: allocation, copies, what a pointer is. */
#include <string.h>

#include "runtime.h"

/* NOLINTBEGIN(readability-function-size): the parameters are those of the API */

static void *pointer(CUdeviceptr ptr)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): device pointers are numbers */
	return (void *)(uintptr_t)ptr;
}

/* -------------------------------------------------------------- allocation */
static cudaError_t refuse(void)
{
	(void)rn_cu_rt_end(CUDA_ERROR_INVALID_VALUE);
	return cudaErrorInvalidValue;
}

/* Device memory by a call of the driver, which fills in @at. An allocation of nothing is
 * no error here.
 */
#define ALLOCATE(ptr, bytes, call)                     \
	({                                             \
		cudaError_t error_ = rn_cu_rt_begin(); \
		CUdeviceptr at = 0;                    \
                                                       \
		if (!error_ && !(ptr))                 \
			error_ = refuse();             \
		if (!error_ && (bytes))                \
			error_ = rn_cu_rt_end(call);   \
		if (!error_)                           \
			*(ptr) = pointer(at);          \
		error_;                                \
	})

cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
	return ALLOCATE(ptr, bytes, cuMemAlloc_v2(&at, bytes));
}

cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned int flags)
{
	return ALLOCATE(ptr, true, cuMemAllocManaged(&at, bytes, flags));
}

cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	return ALLOCATE(ptr, true, cuMemAllocPitch_v2(&at, pitch, width, height, 4));
}

cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t s)
{
	return ALLOCATE(ptr, bytes, cuMemAllocAsync(&at, bytes, s));
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t pool,
				    cudaStream_t s)
{
	return ALLOCATE(ptr, bytes, cuMemAllocFromPoolAsync(&at, bytes, pool, s));
}

cudaError_t cudaFree(void *ptr)
{
	return RN_CU_RT(cuMemFree_v2(rn_cu_rt_ptr(ptr)));
}

cudaError_t cudaFreeAsync(void *ptr, cudaStream_t s)
{
	return RN_CU_RT(cuMemFreeAsync(rn_cu_rt_ptr(ptr), s));
}

cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	cudaError_t error = rn_cu_rt_begin();

	if (error || (ptr && !bytes)) {
		if (!error)
			*ptr = NULL;
		return error;
	}
	return rn_cu_rt_end(cuMemHostAlloc(ptr, bytes, flags));
}

cudaError_t cudaMallocHost(void **ptr, size_t bytes)
{
	return cudaHostAlloc(ptr, bytes, 0);
}

cudaError_t cudaFreeHost(void *ptr)
{
	return RN_CU_RT(ptr ? cuMemFreeHost(ptr) : CUDA_SUCCESS);
}

cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned int flags)
{
	return RN_CU_RT(cuMemHostRegister_v2(ptr, bytes, flags));
}

cudaError_t cudaHostUnregister(void *ptr)
{
	return RN_CU_RT(cuMemHostUnregister(ptr));
}

cudaError_t cudaHostGetDevicePointer(void **device_ptr, void *ptr, unsigned int flags)
{
	return ALLOCATE(device_ptr, true, cuMemHostGetDevicePointer_v2(&at, ptr, flags));
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *ptr)
{
	return RN_CU_RT(cuMemHostGetFlags(flags, ptr));
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	return RN_CU_RT(cuMemGetInfo_v2(free_bytes, total));
}

/* --------------------------------------------------------- what a pointer is */
static cudaMemoryType type_of(unsigned type, bool is_managed)
{
	if (is_managed)
		return cudaMemoryTypeManaged;
	if (type == CU_MEMORYTYPE_HOST)
		return cudaMemoryTypeHost;
	return type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
					    : cudaMemoryTypeUnregistered;
}

static CUresult fill_attributes(struct cudaPointerAttributes *attrs, const void *ptr)
{
	CUpointer_attribute names[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
					CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
	unsigned type = 0, is_managed = 0;
	CUdeviceptr device_ptr = 0;
	int device = CU_DEVICE_INVALID;
	void *values[] = { &type, &is_managed, &device, &device_ptr };
	CUresult rc = cuPointerGetAttributes(RN_ARRAY_SIZE(names), names, values,
					     rn_cu_rt_ptr(ptr));

	memset(attrs, 0, sizeof(*attrs));
	attrs->type = type_of(type, is_managed != 0);
	attrs->device = device;
	attrs->devicePointer = pointer(device_ptr);
	if (attrs->type != cudaMemoryTypeDevice)
		attrs->hostPointer = pointer(rn_cu_rt_ptr(ptr));
	return rc;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attrs, const void *ptr)
{
	return RN_CU_RT(attrs ? fill_attributes(attrs, ptr) : CUDA_ERROR_INVALID_VALUE);
}

/* ------------------------------------------------------------------ copies */
static bool is_kind(cudaMemcpyKind kind)
{
	return (int)kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t len, cudaMemcpyKind kind)
{
	if (!is_kind(kind))
		return rn_cu_rt_end((CUresult)cudaErrorInvalidMemcpyDirection);
	return RN_CU_RT(cuMemcpy(rn_cu_rt_ptr(to), rn_cu_rt_ptr(from), len));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t len, cudaMemcpyKind kind,
			    cudaStream_t s)
{
	if (!is_kind(kind))
		return rn_cu_rt_end((CUresult)cudaErrorInvalidMemcpyDirection);
	return RN_CU_RT(cuMemcpyAsync(rn_cu_rt_ptr(to), rn_cu_rt_ptr(from), len, s));
}

/* Returns the error of a rectangle whose lines overlap, or of an unknown kind. */
static cudaError_t check_rectangle(size_t to_pitch, size_t from_pitch, size_t width,
				   cudaMemcpyKind kind)
{
	if (!is_kind(kind))
		return rn_cu_rt_end((CUresult)cudaErrorInvalidMemcpyDirection);
	if (width > to_pitch || width > from_pitch)
		return rn_cu_rt_end((CUresult)cudaErrorInvalidPitchValue);
	return cudaSuccess;
}

static CUDA_MEMCPY2D rectangle(void *to, size_t to_pitch, const void *from,
			       size_t from_pitch, size_t width, size_t height)
{
	return (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
				.srcDevice = rn_cu_rt_ptr(from),
				.srcPitch = from_pitch,
				.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
				.dstDevice = rn_cu_rt_ptr(to),
				.dstPitch = to_pitch,
				.WidthInBytes = width,
				.Height = height };
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			 size_t width, size_t height, cudaMemcpyKind kind)
{
	const CUDA_MEMCPY2D c = rectangle(to, to_pitch, from, from_pitch, width, height);
	cudaError_t error = check_rectangle(to_pitch, from_pitch, width, kind);

	return error ? error : RN_CU_RT(cuMemcpy2D_v2(&c));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
			      size_t from_pitch, size_t width, size_t height,
			      cudaMemcpyKind kind, cudaStream_t s)
{
	const CUDA_MEMCPY2D c = rectangle(to, to_pitch, from, from_pitch, width, height);
	cudaError_t error = check_rectangle(to_pitch, from_pitch, width, kind);

	return error ? error : RN_CU_RT(cuMemcpy2DAsync_v2(&c, s));
}

/* The memory says of which device it is; the numbers must be those of devices. */
static CUresult check_devices(int a, int b)
{
	CUdevice device;
	CUresult rc = cuDeviceGet(&device, a);

	return rc ? rc : cuDeviceGet(&device, b);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
			   size_t len)
{
	cudaError_t error = RN_CU_RT(check_devices(to_device, from_device));

	return error ? error : cudaMemcpy(to, from, len, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
				int from_device, size_t len, cudaStream_t stream)
{
	cudaError_t error = RN_CU_RT(check_devices(to_device, from_device));

	return error ? error
		     : cudaMemcpyAsync(to, from, len, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemset(void *to, int value, size_t count)
{
	return RN_CU_RT(cuMemsetD8_v2(rn_cu_rt_ptr(to), (unsigned char)value, count));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t count, cudaStream_t s)
{
	return RN_CU_RT(
		cuMemsetD8Async(rn_cu_rt_ptr(to), (unsigned char)value, count, s));
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
	return RN_CU_RT(cuMemsetD2D8_v2(rn_cu_rt_ptr(to), pitch, (unsigned char)value,
					width, height));
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width,
			      size_t height, cudaStream_t s)
{
	return RN_CU_RT(cuMemsetD2D8Async(rn_cu_rt_ptr(to), pitch, (unsigned char)value,
					  width, height, s));
}

/* ------------------------------------------------- other processes, and pools */
cudaError_t cudaIpcGetMemHandle(CUipcMemHandle *handle, void *ptr)
{
	return RN_CU_RT(cuIpcGetMemHandle(handle, rn_cu_rt_ptr(ptr)));
}

cudaError_t cudaIpcOpenMemHandle(void **ptr, CUipcMemHandle handle, unsigned int flags)
{
	return ALLOCATE(ptr, true, cuIpcOpenMemHandle_v2(&at, handle, flags));
}

cudaError_t cudaIpcCloseMemHandle(void *ptr)
{
	return RN_CU_RT(cuIpcCloseMemHandle(rn_cu_rt_ptr(ptr)));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const CUmemPoolProps *props)
{
	return RN_CU_RT(cuMemPoolCreate(pool, props));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
	return RN_CU_RT(cuMemPoolDestroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
	return RN_CU_RT(cuMemPoolTrimTo(pool, bytes));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int attr, void *value)
{
	return RN_CU_RT(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attr, value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int attr, void *value)
{
	return RN_CU_RT(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attr, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const CUmemAccessDesc *map,
				 size_t count)
{
	return RN_CU_RT(cuMemPoolSetAccess(pool, map, count));
}

cudaError_t cudaMemPoolGetAccess(int *flags, cudaMemPool_t pool, CUmemLocation *at)
{
	return RN_CU_RT(cuMemPoolGetAccess(flags, pool, at));
}

/* ------------------------------------- calls for one default stream a thread */
cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t len, cudaMemcpyKind kind)
{
	if (!is_kind(kind))
		return rn_cu_rt_end((CUresult)cudaErrorInvalidMemcpyDirection);
	return RN_CU_RT(cuMemcpy_ptds(rn_cu_rt_ptr(to), rn_cu_rt_ptr(from), len));
}

cudaError_t cudaMemcpy2D_ptds(void *to, size_t to_pitch, const void *from,
			      size_t from_pitch, size_t width, size_t height,
			      cudaMemcpyKind kind)
{
	const CUDA_MEMCPY2D c = rectangle(to, to_pitch, from, from_pitch, width, height);
	cudaError_t error = check_rectangle(to_pitch, from_pitch, width, kind);

	return error ? error : RN_CU_RT(cuMemcpy2D_v2_ptds(&c));
}

cudaError_t cudaMemset_ptds(void *to, int value, size_t count)
{
	return RN_CU_RT(
		cuMemsetD8_v2_ptds(rn_cu_rt_ptr(to), (unsigned char)value, count));
}

cudaError_t cudaMemset2D_ptds(void *to, size_t pitch, int value, size_t width,
			      size_t height)
{
	return RN_CU_RT(cuMemsetD2D8_v2_ptds(rn_cu_rt_ptr(to), pitch,
					     (unsigned char)value, width, height));
}
/* NOLINTEND(readability-function-size) */
