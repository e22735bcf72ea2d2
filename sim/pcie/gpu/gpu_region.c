/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_region.c - device memory as a NIC meets it: descriptors and registrations. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "declared.h"
#include "gpu_memory.h"
#include "transport/io/memory/mem_guard.h"

/* ---------------------------------------------------------------- dma-buf */
/* A descriptor has a file position of its own; it says where byte 0 is, so a copy made
 * with dup() or sent to oneself is as good as the original.
 */
int rn_gpu_export_dmabuf(const void *ptr, size_t len)
{
	struct rn_gpu_where where;
	uint64_t offset;
	char path[32], view;
	int fd, err;

	if (rn_gpu_is_forked())
		return rn_gpu_fail(-ENODEV, "a forked child has no GPUs");
	err = rn_gpu_find(ptr, &where);
	if (err || where.is_declared)
		return rn_gpu_fail(-EINVAL, "%p is no device memory", ptr);
	if (!where.buffer.bar)
		return rn_gpu_fail(-ENOMEM, "%p has no place in the BAR", ptr);
	rn_gpu_of((uintptr_t)ptr, &offset, &view);
	len = (len + RN_GPU_PAGE - 1) & ~(size_t)(RN_GPU_PAGE - 1);
	if (offset % RN_GPU_PAGE || !len ||
	    len > ((where.buffer.len + RN_GPU_PAGE - 1) & ~(size_t)(RN_GPU_PAGE - 1)) -
			    where.offset)
		return rn_gpu_fail(-EINVAL,
				   "%p + %zu: not page-aligned in one allocation", ptr,
				   len);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", where.gpu->memfd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return rn_gpu_fail(-errno, "no descriptor for %p: %s", ptr,
				   strerror(errno));
	if (lseek(fd, (off_t)offset, SEEK_SET) < 0) {
		close(fd);
		return rn_gpu_fail(-EINVAL, "no descriptor for %p", ptr);
	}
	return fd;
}

static struct rn_gpu *gpu_of_descriptor(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NULL;
	for (int i = 0; i < RN_GPU_MAX; i++) {
		struct rn_gpu *gpu = rn_gpu_opened(i);

		if (gpu && gpu->dev_id == st.st_dev && gpu->inode == st.st_ino)
			return gpu;
	}
	return NULL;
}

int rn_gpu_dmabuf_find(int fd, uint64_t offset, uint64_t len, rn_iova *addr)
{
	struct rn_gpu *gpu = gpu_of_descriptor(fd);
	const struct rn_gpu_extent *e;
	uint64_t at;
	off_t base;
	int err = 0;

	if (!gpu || rn_gpu_is_forked())
		return -ENOENT;
	base = lseek(fd, 0, SEEK_CUR);
	if (base < 0 || offset > gpu->size - (uint64_t)base)
		return -EINVAL;
	at = (uint64_t)base + offset;

	rn_gpu_table_lock();
	e = rn_gpu_extent_at(gpu, at);
	if (!e || e->is_freed || len > e->start + e->len - at)
		err = -EINVAL;
	else if (e->flags & RN_GPU_DEVICE_ONLY)
		err = -ENOMEM;
	rn_gpu_table_unlock();
	if (!err)
		*addr = (uintptr_t)gpu->bar + at;
	return err;
}

/* ----------------------------------------------------------- registrations */
/* [offset, offset + len) of the BAR: one or several live allocations, no gap. */
static int check_allocated(struct rn_gpu *gpu, uint64_t offset, uint64_t len)
{
	const struct rn_gpu_extent *e;
	int err = 1;

	rn_gpu_table_lock();
	e = rn_gpu_extent_at(gpu, offset);
	if (!e || e->is_freed || len > e->start + e->len - offset)
		err = rn_gpu_fail(-EFAULT, "%p + %llu is not one allocation of GPU %d",
				  (void *)(gpu->bar + offset), (unsigned long long)len,
				  gpu->number);
	else if (e->flags & RN_GPU_DEVICE_ONLY)
		err = rn_gpu_fail(-ENOMEM, "allocation %llu of GPU %d is not in the BAR",
				  (unsigned long long)e->number, gpu->number);
	rn_gpu_table_unlock();
	return err;
}

int rn_gpu_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		      uint64_t len, uint32_t access)
{
	uint64_t offset;
	char view;
	struct rn_gpu *gpu = rn_gpu_of(addr, &offset, &view);
	int err;

	if (rn_gpu_is_forked())
		return 0;
	rn_guard_install();
	if (!gpu)
		return rn_declared_add(nic, key, addr, len, access);
	err = check_allocated(gpu, offset, len);
	if (err > 0 && view != 'b')
		return rn_gpu_fail(-EINVAL,
				   "%p is a device address; peers name this memory %p",
				   rn_gpu_pointer(addr), (void *)(gpu->bar + offset));
	return err;
}

void rn_gpu_region_remove(const struct rn_host_nic *nic, uint32_t key)
{
	rn_declared_remove(nic, key);
}
