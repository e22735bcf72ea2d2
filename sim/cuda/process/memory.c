/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - allocations of all kinds, and what a pointer belongs to.
 *
 * A device pointer is the address of GPU memory in the BAR (rocin/gpu.h), so that
 * ibv_reg_mr() takes it. Host and managed memory is ordinary memory of the process.
 * Memory of a GPU in another process is mapped through the descriptor of that process,
 * and accessed like host memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

#define PAGE ((size_t)4096)

static struct rn_cu_memory *memory_of_range(struct rn_cu_range *r)
{
	return r ? RN_CONTAINER_OF(r, struct rn_cu_memory, range) : NULL;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(PAGE - 1);
}

/* ------------------------------------------------------------------ search */
struct rn_cu_memory *rn_cu_memory_of(uintptr_t addr)
{
	return memory_of_range(rn_cu_ranges_find(&rn_cu.ranges, addr));
}

struct rn_cu_memory *rn_cu_memory_hold(uintptr_t addr, size_t len)
{
	return memory_of_range(rn_cu_ranges_hold(&rn_cu.ranges, addr, len));
}

/* Puts memory into the table. On an error it is freed, and what it names is not. */
static CUresult add_memory(struct rn_cu_memory *m)
{
	int err;

	m->id = ++rn_cu.next_id;
	m->shared_fd = -1;
	err = rn_cu_ranges_add(&rn_cu.ranges, &m->range);
	if (!err)
		return CUDA_SUCCESS;
	free(m);
	return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
}

static struct rn_cu_memory *new_memory(struct CUctx_st *ctx, enum rn_cu_kind kind)
{
	struct rn_cu_memory *m = calloc(1, sizeof(*m));

	if (m) {
		m->ctx = ctx;
		m->kind = kind;
		m->device = ctx->device;
	}
	return m;
}

/* -------------------------------------------------------------- allocation */
CUresult rn_cu_alloc(struct CUctx_st *ctx, int device, size_t bytes, CUmemoryPool pool,
		     CUdeviceptr *ptr)
{
	struct rn_cu_memory *m = new_memory(ctx, RN_CU_DEVICE_MEMORY);
	struct rn_gpu_buffer buffer;
	CUresult rc;
	int err;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = rn_gpu_alloc(rn_cu.device[device].gpu, bytes, 0, &buffer);
	if (err) {
		free(m);
		return rn_cu_result(err);
	}
	m->device = device;
	m->pool = pool;
	m->has_sync_memops = (ctx->flags & CU_CTX_SYNC_MEMOPS) != 0;
	m->range = (struct rn_cu_range){ (uintptr_t)buffer.bar, bytes };
	rc = add_memory(m);
	if (rc) {
		rn_gpu_free(buffer.bar);
		return rc;
	}
	if (pool) {
		pool->used += bytes;
		if (pool->used > pool->used_high)
			pool->used_high = pool->used;
	}
	*ptr = (uintptr_t)buffer.bar;
	return CUDA_SUCCESS;
}

CUresult rn_cu_alloc_host(struct CUctx_st *ctx, size_t bytes, unsigned flags,
			  enum rn_cu_kind kind, void **ptr)
{
	struct rn_cu_memory *m;
	CUresult rc;
	void *at;

	if (!bytes || bytes > SIZE_MAX / 2)
		return bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	m = new_memory(ctx, kind);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	at = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED) {
		free(m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->flags = flags;
	m->range = (struct rn_cu_range){ (uintptr_t)at, bytes };
	rc = add_memory(m);
	if (rc)
		munmap(at, whole_pages(bytes));
	else
		*ptr = at;
	return rc;
}

/* Returns true if all pages of the range are mapped. */
static bool is_mapped(const void *ptr, size_t bytes)
{
	uintptr_t lo = (uintptr_t)ptr & ~(uintptr_t)(PAGE - 1);
	uintptr_t hi = whole_pages((uintptr_t)ptr + bytes);

	/* msync() without a flag writes nothing, and fails with ENOMEM at a hole. */
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the start of the page */
	return hi > lo && !msync((void *)lo, hi - lo, 0);
}

CUresult rn_cu_register_host(struct CUctx_st *ctx, void *ptr, size_t bytes,
			     unsigned flags)
{
	struct rn_cu_memory *m;
	CUresult rc;

	if (!ptr || !bytes || !is_mapped(ptr, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	m = new_memory(ctx, RN_CU_HOST_REGISTERED);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->flags = flags;
	m->range = (struct rn_cu_range){ (uintptr_t)ptr, bytes };
	rc = add_memory(m);
	return rc == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
					      : rc;
}

void rn_cu_release(struct rn_cu_memory *m)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): ranges store addresses */
	void *base = (void *)m->range.base;

	rn_cu_ranges_remove(&rn_cu.ranges, &m->range);
	switch (m->kind) {
	case RN_CU_DEVICE_MEMORY:
		rn_gpu_free(base);
		if (m->pool)
			m->pool->used -= m->range.len;
		break;
	case RN_CU_HOST_MEMORY:
	case RN_CU_MANAGED_MEMORY:
		munmap(base, whole_pages(m->range.len));
		break;
	case RN_CU_IPC_MEMORY:
		munmap(m->mapping, m->mapping_len);
		break;
	case RN_CU_HOST_REGISTERED:
		break;
	}
	if (m->shared_fd >= 0)
		close(m->shared_fd);
	free(m);
}

/* --------------------------------------------- memory of another process */
/* What a CUipcMemHandle holds here. A handle is opened by way of /proc, so both processes
 * belong to one user. The inode tells the memory from that of a later process with the
 * same number.
 */
struct shared {
	char magic[8];
	int pid, fd, device;
	unsigned long long id;
	uint64_t offset, len;
	uint64_t inode;
};

_Static_assert(sizeof(struct shared) <= CU_IPC_HANDLE_SIZE, "it fits into a handle");

static const char magic[8] = "rocin-1";

CUresult rn_cu_ipc_export(struct rn_cu_memory *m, CUipcMemHandle *handle)
{
	struct shared s = { .pid = (int)getpid(), .device = m->device, .id = m->id };
	struct stat st;
	off_t offset;

	if (m->kind != RN_CU_DEVICE_MEMORY || m->pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (m->shared_fd < 0)
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): ranges store addresses */
		m->shared_fd = rn_gpu_export_dmabuf((void *)m->range.base, m->range.len);
	if (m->shared_fd < 0)
		return rn_cu_result(m->shared_fd);
	offset = lseek(m->shared_fd, 0, SEEK_CUR);
	if (offset < 0 || fstat(m->shared_fd, &st))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(s.magic, magic, sizeof(magic));
	s.fd = m->shared_fd;
	s.offset = (uint64_t)offset;
	s.len = m->range.len;
	s.inode = st.st_ino;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle->reserved, &s, sizeof(s));
	return CUDA_SUCCESS;
}

/* Maps what the handle names. Returns MAP_FAILED if it is not there any more. */
static void *map_shared(const struct shared *s)
{
	void *at = MAP_FAILED;
	struct stat st;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", s->pid, s->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return at;
	if (!fstat(fd, &st) && st.st_ino == s->inode &&
	    (uint64_t)st.st_size > s->offset &&
	    s->len <= (uint64_t)st.st_size - s->offset)
		at = mmap(NULL, whole_pages(s->len), PROT_READ | PROT_WRITE, MAP_SHARED,
			  fd, (off_t)s->offset);
	close(fd);
	return at;
}

/* Returns the memory that was mapped for the handle before, or NULL. */
static struct rn_cu_memory *opened_before(const struct shared *s)
{
	for (size_t i = 0; i < rn_cu.ranges.count; i++) {
		struct rn_cu_memory *m = memory_of_range(rn_cu.ranges.range[i]);

		if (m->kind == RN_CU_IPC_MEMORY && m->id == s->id &&
		    m->flags == (unsigned)s->pid)
			return m;
	}
	return NULL;
}

CUresult rn_cu_ipc_import(struct CUctx_st *ctx, const CUipcMemHandle *handle,
			  CUdeviceptr *ptr)
{
	struct rn_cu_memory *m;
	struct shared s;
	void *mapping;
	CUresult rc;

	memcpy(&s, handle->reserved, sizeof(s));
	if (memcmp(s.magic, magic, sizeof(magic)) != 0 || !rn_cu_device_of(s.device) ||
	    !s.len)
		return CUDA_ERROR_INVALID_VALUE;
	if (s.pid == (int)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	m = opened_before(&s);
	if (m) {
		m->opened++;
		*ptr = m->range.base;
		return CUDA_SUCCESS;
	}
	m = new_memory(ctx, RN_CU_IPC_MEMORY);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->mapping_len = whole_pages(s.len);
	m->mapping = map_shared(&s);
	if (m->mapping == MAP_FAILED) {
		free(m);
		return CUDA_ERROR_MAP_FAILED;
	}
	m->range = (struct rn_cu_range){ (uintptr_t)m->mapping, s.len };
	mapping = m->mapping;
	rc = add_memory(m);
	if (rc) {
		munmap(mapping, whole_pages(s.len));
		return rc;
	}
	m->opened = 1;
	m->device = s.device;
	/* By these two the next opening of the handle finds it. */
	m->id = s.id;
	m->flags = (unsigned)s.pid;
	*ptr = m->range.base;
	return CUDA_SUCCESS;
}
