/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pointer.c - the driver API: what a pointer is. */
#include <string.h>

#include "driver.h"

static bool is_on_device(const struct rn_cu_memory *m)
{
	return m->kind == RN_CU_DEVICE_MEMORY || m->kind == RN_CU_IPC_MEMORY;
}

/* Returns true if the CPU reaches the memory by the pointer, as the API has it. */
static bool is_on_host(const struct rn_cu_memory *m)
{
	return !is_on_device(m);
}

static void put(void *data, const void *value, size_t len)
{
	memcpy(data, value, len);
}

static void put_word(void *data, unsigned value)
{
	put(data, &value, sizeof(value));
}

static void put_bool(void *data, bool value)
{
	uint8_t byte = value;

	put(data, &byte, sizeof(byte));
}

static void put_wide(void *data, uint64_t value)
{
	put(data, &value, sizeof(value));
}

/* The value of an attribute for memory that is known. Each attribute has the size that
 * the documentation gives it.
 */
static CUresult get_attribute(const struct rn_cu_memory *m, CUpointer_attribute attr,
			      CUdeviceptr ptr, void *data)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): device pointers are numbers */
	void *host = is_on_host(m) ? (void *)(uintptr_t)ptr : NULL;

	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		put_wide(data, (uintptr_t)m->ctx);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		put_word(data, is_on_device(m) || m->kind == RN_CU_MANAGED_MEMORY
				       ? CU_MEMORYTYPE_DEVICE
				       : CU_MEMORYTYPE_HOST);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		put_wide(data, ptr);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!host)
			return CUDA_ERROR_INVALID_VALUE;
		put_wide(data, (uintptr_t)host);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		put_bool(data, m->has_sync_memops);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		put_wide(data, m->id);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		put_bool(data, m->kind == RN_CU_MANAGED_MEMORY);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put_word(data, (unsigned)m->device);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		put_bool(data, m->kind == RN_CU_DEVICE_MEMORY && !m->pool);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		put_wide(data, m->range.base);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		put_wide(data, m->range.len);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		put_bool(data, true);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		put_wide(data, 0);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		put_bool(data, m->kind == RN_CU_DEVICE_MEMORY);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		put_word(data, 3); /* read and write */
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		put_wide(data, (uintptr_t)m->pool);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static bool is_attribute(CUpointer_attribute attr)
{
	return attr >= CU_POINTER_ATTRIBUTE_CONTEXT &&
	       attr <= CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID;
}

/* Finds the memory of a pointer. Memory that is about to be freed is still there. */
static const struct rn_cu_memory *find(CUdeviceptr ptr)
{
	return ptr <= UINTPTR_MAX ? rn_cu_memory_of((uintptr_t)ptr) : NULL;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr)
{
	const struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	m = find(ptr);
	if (!data || !m || !is_attribute(attr))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(get_attribute(m, attr, ptr, data));
}

/* What cuPointerGetAttributes() gives for a pointer that is not known. */
static void get_nothing(CUpointer_attribute attr, void *data)
{
	switch ((int)attr) {
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		put_bool(data, false);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		put_word(data, 0);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put_word(data, (unsigned)CU_DEVICE_INVALID);
		break;
	default:
		put_wide(data, 0);
	}
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attrs,
				void **data, CUdeviceptr ptr)
{
	const struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!attrs || !data)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	for (unsigned i = 0; i < count; i++)
		if (!data[i] || !is_attribute(attrs[i]) ||
		    attrs[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
			return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	m = find(ptr);
	for (unsigned i = 0; i < count; i++)
		if (!m || get_attribute(m, attrs[i], ptr, data[i]))
			get_nothing(attrs[i], data[i]);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attr,
			       CUdeviceptr ptr)
{
	struct rn_cu_memory *m;
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	m = rn_cu_memory_of((uintptr_t)ptr);
	if (!value || !m || attr != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
	    m->kind != RN_CU_DEVICE_MEMORY)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	m->has_sync_memops = *(const unsigned *)value != 0;
	return rn_cu_leave(CUDA_SUCCESS);
}
