/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pool.c - the driver API: allocation in the order of streams, and memory pools.
 *
 * Memory is there as soon as cuMemAllocAsync() returns, and goes when the stream has come
 * to cuMemFreeAsync(). A pool keeps nothing back, so it has nothing to trim.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static bool is_pool(CUmemoryPool pool)
{
	struct rn_list *at;

	rn_list_for_each (at, &rn_cu.pools)
		if (RN_CONTAINER_OF(at, struct CUmemPoolHandle_st, link) == pool)
			return true;
	return false;
}

static CUresult create_pool(int device, CUmemoryPool *pool)
{
	CUmemoryPool p = calloc(1, sizeof(*p));

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->device = device;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(p->reuse); i++)
		p->reuse[i] = 1;
	rn_list_init(&p->link);
	rn_list_push_back(&rn_cu.pools, &p->link);
	*pool = p;
	return CUDA_SUCCESS;
}

static CUresult default_pool(struct rn_cu_device *d, int device, CUmemoryPool *pool)
{
	CUresult rc = CUDA_SUCCESS;

	if (!d->default_pool)
		rc = create_pool(device, &d->default_pool);
	*pool = d->default_pool;
	return rc;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	return rn_cu_leave(pool ? default_pool(d, device, pool)
				: CUDA_ERROR_INVALID_VALUE);
}

static CUresult current_pool(struct rn_cu_device *d, int device, CUmemoryPool *pool)
{
	if (!d->pool)
		return default_pool(d, device, pool);
	*pool = d->pool;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	return rn_cu_leave(pool ? current_pool(d, device, pool)
				: CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!is_pool(pool) || pool->device != device)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	d->pool = pool;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !rn_cu_device_of(props->location.id))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (props->handleTypes)
		return rn_cu_leave(CUDA_ERROR_NOT_SUPPORTED);
	return rn_cu_leave(create_pool(props->location.id, pool));
}

/* Memory of the pool that is still allocated belongs to no pool from now on. */
static void leave_pool(const struct CUmemPoolHandle_st *pool)
{
	for (size_t i = 0; i < rn_cu.ranges.count; i++) {
		struct rn_cu_memory *m = RN_CONTAINER_OF(rn_cu.ranges.range[i],
							 struct rn_cu_memory, range);

		if (m->pool == pool)
			m->pool = NULL;
	}
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!is_pool(pool))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	d = &rn_cu.device[pool->device];
	if (d->default_pool == pool)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (d->pool == pool)
		d->pool = NULL;
	leave_pool(pool);
	rn_list_remove(&pool->link);
	free(pool);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
	CUresult rc = rn_cu_lock();

	(void)bytes;
	if (rc)
		return rc;
	return rn_cu_leave(is_pool(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	CUresult rc = rn_cu_lock();
	uint64_t wide;

	if (rc)
		return rc;
	if (!is_pool(pool) || !value ||
	    attr < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
	    attr > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
		memcpy(value, &pool->reuse[attr - 1], sizeof(int));
		return rn_cu_leave(CUDA_SUCCESS);
	}
	wide = pool->used;
	if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		wide = pool->threshold;
	else if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
		 attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		wide = pool->used_high;
	memcpy(value, &wide, sizeof(wide));
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	CUresult rc = rn_cu_lock();
	uint64_t wide;

	if (rc)
		return rc;
	if (!is_pool(pool) || !value ||
	    attr < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
		memcpy(&pool->reuse[attr - 1], value, sizeof(int));
		return rn_cu_leave(CUDA_SUCCESS);
	}
	memcpy(&wide, value, sizeof(wide));
	if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		pool->threshold = wide;
	else if ((attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
		  attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH) &&
		 !wide)
		pool->used_high = pool->used;
	else
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(CUDA_SUCCESS);
}

/* Every GPU reaches the memory of every other one. */
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!is_pool(pool) || (count && !map))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < count; i++)
		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    !rn_cu_device_of(map[i].location.id))
			return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, CUmemLocation *location)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!flags || !is_pool(pool) || !location || !rn_cu_device_of(location->id))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = 3; /* read and write */
	return rn_cu_leave(CUDA_SUCCESS);
}

/* ---------------------------------------- allocation in the order of streams */
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				 CUstream stream)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (!ptr || !bytes || !is_pool(pool))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(rn_cu_alloc(s->ctx, pool->device, bytes, pool, ptr));
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	struct CUstream_st *s;
	CUmemoryPool pool;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (!ptr || !bytes)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = current_pool(&rn_cu.device[s->ctx->device], s->ctx->device, &pool);
	return rn_cu_leave(rc ? rc : rn_cu_alloc(s->ctx, pool->device, bytes, pool, ptr));
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	struct rn_cu_memory *m;
	struct rn_cu_work *w;
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	m = rn_cu_memory_of(ptr);
	if (!m || m->range.base != ptr || m->kind != RN_CU_DEVICE_MEMORY ||
	    m->is_being_freed)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	w = rn_cu_work_new(RN_CU_FREE);
	if (!w)
		return rn_cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	w->freed = ptr;
	m->is_being_freed = true;
	return rn_cu_leave(rn_cu_submit(s, w, false));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				      CUstream stream)
{
	return cuMemAllocFromPoolAsync(ptr, bytes, pool, rn_cu_ptsz(stream));
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	return cuMemAllocAsync(ptr, bytes, rn_cu_ptsz(stream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr ptr, CUstream stream)
{
	return cuMemFreeAsync(ptr, rn_cu_ptsz(stream));
}
