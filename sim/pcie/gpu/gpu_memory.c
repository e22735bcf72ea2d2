/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_memory.c - allocations of a GPU, freed ones that stay reserved, descriptors. */
#include "gpu_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "declared.h"
#include "transport/io/memory/mem_guard.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static uint64_t allocation_count, free_count; /* guarded by table */

void rn_gpu_table_lock(void)
{
	pthread_mutex_lock(&table);
}

void rn_gpu_table_unlock(void)
{
	pthread_mutex_unlock(&table);
}

/* ------------------------------------------------------------------ views */
/* Side by side, so that one comparison tells whether an address is ours. */
static int map_views(struct rn_gpu *gpu)
{
	char *base = mmap(NULL, 3 * gpu->size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -ENOMEM;
	for (unsigned i = 0; i < 3; i++) {
		if (mmap(base + i * gpu->size, gpu->size, PROT_NONE,
			 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, gpu->memfd,
			 0) == MAP_FAILED) {
			munmap(base, 3 * gpu->size);
			return -ENOMEM;
		}
	}
	madvise(base, 3 * gpu->size, MADV_DONTFORK);
	gpu->bar = base;
	gpu->dev = base + gpu->size;
	gpu->engine = base + 2 * gpu->size;
	return 0;
}

static void link_bell(struct rn_gpu *gpu)
{
	gpu->bell.region = (struct rn_host_region){
		.addr = (uintptr_t)gpu->bar,
		.len = RN_GPU_PAGE,
		.target = rn_gpu_agent(gpu),
		.shift = gpu->engine - gpu->bar,
	};
	rn_host_lock(gpu->host);
	rn_host_region_link(gpu->host, &gpu->bell.region);
	rn_host_unlock(gpu->host);
}

int rn_gpu_memory_init(struct rn_gpu *gpu)
{
	struct stat st;

	gpu->memfd = memfd_create("rocin-gpu", MFD_CLOEXEC);
	if (gpu->memfd < 0)
		return -errno;
	if (ftruncate(gpu->memfd, (off_t)gpu->size) < 0 || fstat(gpu->memfd, &st) < 0)
		goto err_close;
	gpu->dev_id = st.st_dev;
	gpu->inode = st.st_ino;

	if (map_views(gpu) < 0)
		goto err_close;
	if (mprotect(gpu->engine, RN_GPU_PAGE, PROT_READ | PROT_WRITE) < 0)
		goto err_unmap;
	gpu->high = RN_GPU_PAGE;
	rn_guard_install();
	link_bell(gpu);
	return 0;

err_unmap:
	munmap(gpu->bar, 3 * gpu->size);
err_close:
	close(gpu->memfd);
	return -ENOMEM;
}

struct rn_gpu *rn_gpu_of(uintptr_t addr, uint64_t *offset, char *view)
{
	for (int i = 0; i < RN_GPU_MAX; i++) {
		struct rn_gpu *gpu = rn_gpu_opened(i);
		uint64_t at = gpu ? addr - (uintptr_t)gpu->bar : 0;

		if (gpu && at < 3 * gpu->size) {
			*view = "bde"[at / gpu->size];
			*offset = at % gpu->size;
			return gpu;
		}
	}
	return NULL;
}

/* Same protection in the two views that are always as the extents say. */
static int protect(const struct rn_gpu *gpu, const struct rn_gpu_extent *e, int prot)
{
	if (mprotect(gpu->dev + e->start, e->len, prot) < 0 ||
	    mprotect(gpu->engine + e->start, e->len, prot) < 0)
		return -ENOMEM;
	return 0;
}

static bool is_in_bar(const struct rn_gpu_extent *e)
{
	return !e->is_freed && !(e->flags & RN_GPU_DEVICE_ONLY);
}

void rn_gpu_each_in_bar(struct rn_gpu *gpu,
			void (*visit)(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi))
{
	rn_gpu_table_lock();
	for (const struct rn_gpu_extent *e = gpu->extents; e; e = e->next) {
		uintptr_t lo = (uintptr_t)gpu->bar + e->start;

		if (is_in_bar(e))
			visit(gpu, lo, lo + e->len);
	}
	rn_gpu_table_unlock();
}

bool rn_gpu_is_in_bar(struct rn_gpu *gpu, uint64_t offset)
{
	const struct rn_gpu_extent *e;
	bool yes;

	rn_gpu_table_lock();
	e = rn_gpu_extent_at(gpu, offset);
	yes = e && is_in_bar(e);
	rn_gpu_table_unlock();
	return yes;
}

/* ---------------------------------------------------------------- extents */
struct rn_gpu_extent *rn_gpu_extent_at(struct rn_gpu *gpu, uint64_t offset)
{
	struct rn_gpu_extent *e = gpu->extents;

	while (e && e->start + e->len <= offset)
		e = e->next;
	return e && e->start <= offset ? e : NULL;
}

/* The end of an extent, with the page behind it that faults. */
static uint64_t end_of(const struct rn_gpu_extent *e)
{
	return e->start + e->len + RN_GPU_PAGE;
}

/* Where @len bytes fit: the link behind which the extent goes, or NULL. */
static struct rn_gpu_extent **find_room(struct rn_gpu *gpu, uint64_t len, uint64_t *start)
{
	struct rn_gpu_extent **at = &gpu->extents;

	*start = RN_GPU_PAGE;
	while (*at && (*at)->start - *start < len + RN_GPU_PAGE) {
		*start = end_of(*at);
		at = &(*at)->next;
	}
	if (!*at && (*start > gpu->size || gpu->size - *start < len))
		return NULL;
	return at;
}

/* Forget the extent that was freed longest ago. */
static bool forget_oldest(struct rn_gpu *gpu)
{
	struct rn_gpu_extent **oldest = NULL, *gone;

	for (struct rn_gpu_extent **at = &gpu->extents; *at; at = &(*at)->next)
		if ((*at)->is_freed &&
		    (!oldest || (*at)->freed_when < (*oldest)->freed_when))
			oldest = at;
	if (!oldest)
		return false;
	gone = *oldest;
	*oldest = gone->next;
	free(gone);
	return true;
}

enum {
	FREED_MAX = 256, /* freed extents that are remembered, per GPU */
};

static void bound_freed(struct rn_gpu *gpu)
{
	unsigned count = 0;

	for (const struct rn_gpu_extent *e = gpu->extents; e; e = e->next)
		count += e->is_freed;
	if (count > FREED_MAX)
		forget_oldest(gpu);
}

int rn_gpu_bar_take(struct rn_gpu *gpu, int64_t bytes)
{
	uint64_t size = rn_gpu_bar_size(gpu);
	int err = 0;

	rn_gpu_table_lock();
	if (bytes > 0 &&
	    ((uint64_t)bytes > size || gpu->bar_used > size - (uint64_t)bytes))
		err = rn_gpu_fail(-ENOMEM,
				  "GPU %d: %lld bytes do not fit into the BAR: %llu of "
				  "%llu are taken",
				  gpu->number, (long long)bytes,
				  (unsigned long long)gpu->bar_used,
				  (unsigned long long)size);
	else
		gpu->bar_used += (uint64_t)bytes;
	rn_gpu_table_unlock();
	return err;
}

/* ------------------------------------------------------------ alloc, free */
/* Host lock held. */
static int insert(struct rn_gpu *gpu, struct rn_gpu_extent *e)
{
	struct rn_gpu_extent **at;
	int err = 0;

	rn_gpu_table_lock();
	do
		at = find_room(gpu, e->len, &e->start);
	while (!at && forget_oldest(gpu));
	if (!at) {
		err = rn_gpu_fail(
			-ENOMEM, "GPU %d: %llu bytes do not fit: %llu of %llu are taken",
			gpu->number, (unsigned long long)e->len,
			(unsigned long long)gpu->used, (unsigned long long)gpu->size);
	} else {
		e->number = ++allocation_count;
		e->next = *at;
		*at = e;
		gpu->used += e->len;
		if (end_of(e) > gpu->high)
			gpu->high = end_of(e) < gpu->size ? end_of(e) : gpu->size;
	}
	rn_gpu_table_unlock();
	return err;
}

static void remove_extent(struct rn_gpu *gpu, struct rn_gpu_extent *e)
{
	struct rn_gpu_extent **at = &gpu->extents;

	rn_gpu_table_lock();
	while (*at && *at != e)
		at = &(*at)->next;
	assert(*at);
	*at = e->next;
	gpu->used -= e->len;
	rn_gpu_table_unlock();
}

/* As the other BAR pages of the GPU. Theirs are left alone: that would cost more with
 * every allocation. Host lock held.
 */
static int link_region(struct rn_gpu *gpu, struct rn_gpu_extent *e)
{
	int prot = gpu->trap.state == RN_TRAP_CLOSED ? PROT_NONE : PROT_READ | PROT_WRITE;

	if (mprotect(gpu->bar + e->start, e->len, prot) < 0)
		return -ENOMEM;
	e->region = (struct rn_host_region){
		.addr = (uintptr_t)gpu->bar + e->start,
		.len = e->len,
		.target = rn_gpu_agent(gpu),
		.shift = gpu->engine - gpu->bar,
	};
	rn_host_region_link(gpu->host, &e->region);
	return 0;
}

static void fill_buffer(struct rn_gpu *gpu, const struct rn_gpu_extent *e,
			struct rn_gpu_buffer *out)
{
	*out = (struct rn_gpu_buffer){
		.bar = e->flags & RN_GPU_DEVICE_ONLY ? NULL : gpu->bar + e->start,
		.dev = gpu->dev + e->start,
		.len = e->asked,
		.gpu = gpu,
	};
}

int rn_gpu_alloc(struct rn_gpu *gpu, size_t bytes, unsigned flags,
		 struct rn_gpu_buffer *out)
{
	struct rn_gpu_extent *e;
	int64_t in_bar;
	int err;

	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	if (!bytes || flags & ~(unsigned)RN_GPU_DEVICE_ONLY)
		return rn_gpu_fail(-EINVAL,
				   "an allocation of no bytes, or unknown flags %#x",
				   flags);
	if (bytes > gpu->size)
		return rn_gpu_fail(-ENOMEM, "GPU %d has less than %zu bytes", gpu->number,
				   bytes);
	e = calloc(1, sizeof(*e));
	if (!e)
		return rn_gpu_fail(-ENOMEM, "no memory");
	e->asked = bytes;
	e->flags = flags;
	e->len = (bytes + RN_GPU_PAGE - 1) & ~(uint64_t)(RN_GPU_PAGE - 1);
	in_bar = flags & RN_GPU_DEVICE_ONLY ? 0 : (int64_t)e->len;
	err = rn_gpu_bar_take(gpu, in_bar);
	if (err)
		goto err_free_extent;

	rn_host_lock(gpu->host);
	err = insert(gpu, e);
	if (err)
		goto err_unlock;
	err = protect(gpu, e, PROT_READ | PROT_WRITE);
	if (!err && in_bar)
		err = link_region(gpu, e);
	if (err)
		goto err_remove;
	rn_host_unlock(gpu->host);
	rn_guard_install();
	fill_buffer(gpu, e, out);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is in the list of extents */
	return 0;

err_remove:
	rn_gpu_fail(err, "GPU %d: too many mappings in this process", gpu->number);
	protect(gpu, e, PROT_NONE);
	remove_extent(gpu, e);
err_unlock:
	rn_host_unlock(gpu->host);
	rn_gpu_bar_take(gpu, -in_bar);
err_free_extent:
	free(e);
	return err;
}

static bool touches(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_host_region *r = arg;

	return tlp->target == r->target && tlp->addr < r->addr + r->len &&
	       r->addr < tlp->addr + tlp->len;
}

/* Host lock held. What is on its way lands before the memory goes. */
static void retire(struct rn_gpu *gpu, struct rn_gpu_extent *e)
{
	if (!(e->flags & RN_GPU_DEVICE_ONLY)) {
		rn_host_force_if(gpu->host, touches, &e->region);
		rn_host_region_unlink(gpu->host, &e->region);
	}
	protect(gpu, e, PROT_NONE);
	mprotect(gpu->bar + e->start, e->len, PROT_NONE);
	fallocate(gpu->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)e->start,
		  (off_t)e->len);
}

int rn_gpu_free(void *ptr)
{
	struct rn_gpu_extent *e = NULL;
	struct rn_gpu *gpu;
	uint64_t offset;
	char view;

	if (rn_gpu_is_forked())
		return rn_gpu_fail(-ENODEV, "a forked child has no GPUs");
	gpu = rn_gpu_of((uintptr_t)ptr, &offset, &view);
	if (!gpu || view == 'e')
		return rn_gpu_fail(-EINVAL, "%p is no device memory", ptr);

	rn_host_lock(gpu->host);
	rn_gpu_table_lock();
	e = rn_gpu_extent_at(gpu, offset);
	if (!e || e->is_freed || e->start != offset) {
		rn_gpu_table_unlock();
		rn_host_unlock(gpu->host);
		return rn_gpu_fail(-EINVAL, "%p is not the start of an allocation%s", ptr,
				   e && e->is_freed ? ": it was freed before" : "");
	}
	e->is_freed = true;
	e->freed_when = ++free_count;
	e->freed_by = __builtin_return_address(0);
	gpu->used -= e->len;
	if (!(e->flags & RN_GPU_DEVICE_ONLY))
		gpu->bar_used -= e->len;
	rn_gpu_table_unlock();
	retire(gpu, e);
	rn_gpu_table_lock();
	bound_freed(gpu);
	rn_gpu_table_unlock();
	rn_host_unlock(gpu->host);
	return 0;
}

/* ------------------------------------------------------------------- find */
int rn_gpu_find(const volatile void *ptr, struct rn_gpu_where *out)
{
	const struct rn_gpu_extent *e;
	struct rn_gpu_where where = { 0 };
	uint64_t offset;
	char view;
	int err = 0;

	if (rn_gpu_is_forked())
		return rn_gpu_fail(-ENODEV, "a forked child has no GPUs");
	where.gpu = rn_gpu_of((uintptr_t)ptr, &offset, &view);
	if (!where.gpu)
		return rn_declared_find((uintptr_t)ptr, out);
	where.by_bar = view == 'b';

	rn_gpu_table_lock();
	e = rn_gpu_extent_at(where.gpu, offset);
	if (!e || e->is_freed || (where.by_bar && !is_in_bar(e))) {
		err = rn_gpu_fail(-EFAULT, "%p is not allocated",
				  rn_gpu_pointer((uintptr_t)ptr));
	} else {
		fill_buffer(where.gpu, e, &where.buffer);
		where.offset = offset - e->start;
		if (out)
			*out = where;
	}
	rn_gpu_table_unlock();
	return err;
}
