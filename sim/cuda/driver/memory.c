/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - the driver API: allocation of memory of all kinds, dma-buf and IPC. */
#include <string.h>

#include "driver.h"

static void *pointer(CUdeviceptr ptr)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): device pointers are numbers */
	return (void *)(uintptr_t)ptr;
}

/* -------------------------------------------------------------- device memory */
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	struct CUctx_st *ctx;
	uint64_t value = 0;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!free_bytes && !total)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	rn_gpu_get_attr(rn_cu.device[ctx->device].gpu, RN_GPU_ATTR_MEMORY_FREE, &value);
	if (free_bytes)
		*free_bytes = value;
	rn_gpu_get_attr(rn_cu.device[ctx->device].gpu, RN_GPU_ATTR_MEMORY_SIZE, &value);
	if (total)
		*total = value;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!ptr || !bytes)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(rn_cu_alloc(ctx, ctx->device, bytes, NULL, ptr));
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
			    unsigned int element)
{
	enum {
		PITCH = 512
	};
	size_t row, bytes;

	if (!ptr || !pitch || (element != 4 && element != 8 && element != 16) ||
	    __builtin_add_overflow(width, PITCH - 1, &row))
		return CUDA_ERROR_INVALID_VALUE;
	row &= ~(size_t)(PITCH - 1);
	if (__builtin_mul_overflow(row, height, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pitch = row;
	return cuMemAlloc_v2(ptr, bytes);
}

/* Waits until nothing of the context uses the memory, as the driver does. Another thread
 * may have freed it then.
 */
static CUresult free_memory(CUdeviceptr ptr)
{
	struct rn_cu_memory *m = rn_cu_memory_of(ptr);

	if (!m || m->range.base != ptr ||
	    (m->kind != RN_CU_DEVICE_MEMORY && m->kind != RN_CU_MANAGED_MEMORY) ||
	    m->is_being_freed)
		return CUDA_ERROR_INVALID_VALUE;
	m->is_being_freed = true;
	(void)rn_cu_context_sync(m->ctx);
	m = rn_cu_memory_of(ptr);
	if (m && m->range.base == ptr)
		rn_cu_release(m);
	return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	return rn_cu_leave(ptr ? free_memory(ptr) : CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	struct CUctx_st *ctx;
	const struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	m = rn_cu_memory_of(ptr);
	if (!m)
		return rn_cu_leave(CUDA_ERROR_NOT_FOUND);
	if (base)
		*base = m->range.base;
	if (size)
		*size = m->range.len;
	return rn_cu_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------- host and managed memory */
CUresult cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!ptr || flags > 7)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(rn_cu_alloc_host(ctx, bytes, flags, RN_CU_HOST_MEMORY, ptr));
}

CUresult cuMemAllocHost_v2(void **ptr, size_t bytes)
{
	return cuMemHostAlloc(ptr, bytes, 0);
}

CUresult cuMemFreeHost(void *ptr)
{
	struct CUctx_st *ctx;
	struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	m = rn_cu_memory_of((uintptr_t)ptr);
	if (!m || m->kind != RN_CU_HOST_MEMORY || m->range.base != (uintptr_t)ptr)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	(void)rn_cu_context_sync(m->ctx);
	m = rn_cu_memory_of((uintptr_t)ptr);
	if (m && m->kind == RN_CU_HOST_MEMORY)
		rn_cu_release(m);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device_ptr, void *ptr,
				      unsigned int flags)
{
	struct CUctx_st *ctx;
	const struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	m = rn_cu_memory_of((uintptr_t)ptr);
	if (!device_ptr || flags || !m ||
	    (m->kind != RN_CU_HOST_MEMORY && m->kind != RN_CU_HOST_REGISTERED))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	*device_ptr = (uintptr_t)ptr;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *ptr)
{
	struct CUctx_st *ctx;
	const struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	m = rn_cu_memory_of((uintptr_t)ptr);
	if (!flags || !m || m->kind != RN_CU_HOST_MEMORY)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	/* With unified addressing all such memory is mapped. */
	*flags = m->flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (flags & (CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY))
		return rn_cu_leave(CUDA_ERROR_NOT_SUPPORTED);
	if (flags > 3)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(rn_cu_register_host(ctx, ptr, bytes, flags));
}

CUresult cuMemHostUnregister(void *ptr)
{
	struct CUctx_st *ctx;
	struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	m = rn_cu_memory_of((uintptr_t)ptr);
	if (!m)
		return rn_cu_leave(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	if (m->kind != RN_CU_HOST_REGISTERED || m->range.base != (uintptr_t)ptr)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	(void)rn_cu_context_sync(m->ctx);
	m = rn_cu_memory_of((uintptr_t)ptr);
	if (m && m->kind == RN_CU_HOST_REGISTERED)
		rn_cu_release(m);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	struct CUctx_st *ctx;
	void *at = NULL;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!ptr || !bytes ||
	    (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = rn_cu_alloc_host(ctx, bytes, 0, RN_CU_MANAGED_MEMORY, &at);
	if (!rc)
		*ptr = (uintptr_t)at;
	return rn_cu_leave(rc);
}

/* Managed memory does not move: both sides use the same pages. */
static CUresult check_managed(CUdeviceptr ptr, size_t bytes)
{
	const struct rn_cu_memory *m = rn_cu_memory_hold(ptr, bytes);

	return m && bytes && m->kind == RN_CU_MANAGED_MEMORY ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice to, CUstream stream)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (to != -1 && !rn_cu_device_of(to))
		return rn_cu_leave(CUDA_ERROR_INVALID_DEVICE);
	return rn_cu_leave(check_managed(ptr, bytes));
}

CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr ptr, size_t bytes, CUdevice to,
				 CUstream stream)
{
	return cuMemPrefetchAsync(ptr, bytes, to, rn_cu_ptsz(stream));
}

CUresult cuMemAdvise(CUdeviceptr ptr, size_t bytes, int advice, CUdevice device)
{
	enum {
		SET_READ_MOSTLY = 1,
		UNSET_ACCESSED_BY = 6,
	};
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	(void)device;
	if (rc)
		return rc;
	if (advice < SET_READ_MOSTLY || advice > UNSET_ACCESSED_BY)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(check_managed(ptr, bytes));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation to,
			       unsigned int flags, CUstream stream)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return cuMemPrefetchAsync(
		ptr, bytes, to.type == CU_MEM_LOCATION_TYPE_DEVICE ? to.id : -1, stream);
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr ptr, size_t bytes, CUmemLocation to,
				    unsigned int flags, CUstream stream)
{
	return cuMemPrefetchAsync_v2(ptr, bytes, to, flags, rn_cu_ptsz(stream));
}

CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, int advice, CUmemLocation to)
{
	return cuMemAdvise(ptr, bytes, advice, to.id);
}

/* ----------------------------------------------------------- dma-buf and IPC */
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr, size_t size,
				       CUmemRangeHandleType type,
				       unsigned long long flags)
{
	struct CUctx_st *ctx;
	const struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock_context(&ctx);
	int fd;

	if (rc)
		return rc;
	if (!handle || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || !size ||
	    flags & ~(unsigned long long)CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	m = rn_cu_memory_of(ptr);
	if (!m || (ptr | size) % 4096)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (m->kind != RN_CU_DEVICE_MEMORY)
		return rn_cu_leave(CUDA_ERROR_NOT_SUPPORTED);
	fd = rn_gpu_export_dmabuf(pointer(ptr), size);
	if (fd < 0)
		return rn_cu_leave(rn_cu_result(fd));
	memcpy(handle, &fd, sizeof(fd));
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	struct CUctx_st *ctx;
	struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	m = rn_cu_memory_of(ptr);
	return rn_cu_leave(handle && m ? rn_cu_ipc_export(m, handle)
				       : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle,
			       unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!ptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(rn_cu_ipc_import(ctx, &handle, ptr));
}

CUresult cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	struct CUctx_st *ctx;
	struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	m = rn_cu_memory_of(ptr);
	if (!m || m->kind != RN_CU_IPC_MEMORY || m->range.base != ptr)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (--m->opened == 0) {
		(void)rn_cu_context_sync(ctx);
		rn_cu_release(m);
	}
	return rn_cu_leave(CUDA_SUCCESS);
}

/* Events of other processes are not there: CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED says
 * so.
 */
CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	return rn_cu_leave(handle && rn_cu_is_event(event) ? CUDA_ERROR_NOT_SUPPORTED
							   : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	(void)handle;
	return event ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}
