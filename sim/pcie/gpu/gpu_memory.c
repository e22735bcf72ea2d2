/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_memory.c - allocations of a GPU, freed allocations whose addresses stay
 * reserved, dma-buf descriptors, registrations, and reports of accesses to memory that
 * is not allocated.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu_internal.h"
#include "transport/io/memory/mem_guard.h"
#include "transport/io/process/stack.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
/* Numbers of allocations and of frees so far; guarded by the lock of the extents. */
static uint64_t allocation_count, free_count;

static void lock_table(void)
{
	pthread_mutex_lock(&table);
}

static void unlock_table(void)
{
	pthread_mutex_unlock(&table);
}

/* -------------------------------------- views: mappings of a GPU's memory */
/* Maps the three views of a GPU (bar, dev, engine) side by side, so that one comparison
 * tells whether an address is in any of them.
 */
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

/* Sets the protection of an extent's pages in the views dev and engine. There the pages
 * are open if the extent is allocated, closed if it is not; in the BAR they may be closed
 * for other reasons, too.
 */
static int protect_views(const struct rn_gpu *gpu, const struct rn_gpu_extent *e,
			 int prot)
{
	if (mprotect(gpu->dev + e->start, e->len, prot) < 0 ||
	    mprotect(gpu->engine + e->start, e->len, prot) < 0)
		return -ENOMEM;
	return 0;
}

/* Returns the extent, allocated or freed, that contains byte @offset, or NULL. Called
 * with the lock of the extents held.
 */
static struct rn_gpu_extent *extent_at(struct rn_gpu *gpu, uint64_t offset)
{
	struct rn_gpu_extent *e = gpu->extents;

	while (e && e->start + e->len <= offset)
		e = e->next;
	return e && e->start <= offset ? e : NULL;
}

static bool is_in_bar(const struct rn_gpu_extent *e)
{
	return !e->is_freed && !(e->flags & RN_GPU_DEVICE_ONLY);
}

void rn_gpu_each_in_bar(struct rn_gpu *gpu,
			void (*visit)(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi))
{
	lock_table();
	for (const struct rn_gpu_extent *e = gpu->extents; e; e = e->next) {
		uintptr_t lo = (uintptr_t)gpu->bar + e->start;

		if (is_in_bar(e))
			visit(gpu, lo, lo + e->len);
	}
	unlock_table();
}

bool rn_gpu_is_in_bar(struct rn_gpu *gpu, uint64_t offset)
{
	const struct rn_gpu_extent *e;
	bool yes;

	lock_table();
	e = extent_at(gpu, offset);
	yes = e && is_in_bar(e);
	unlock_table();
	return yes;
}

/* ------------------------------------ extents: allocated and freed ranges */
/* Returns the end of an extent, including the guard page behind it. */
static uint64_t end_of(const struct rn_gpu_extent *e)
{
	return e->start + e->len + RN_GPU_PAGE;
}

/* Finds a gap of @len bytes between the extents, and sets *@start to its offset. Returns
 * the place in the list (a pointer to a next pointer) at which the caller must insert
 * the new extent, or NULL if there is no gap.
 */
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

/* Removes from the list the extent that was freed first, so that its addresses can be
 * used again. Returns false if there is no freed extent.
 */
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
	/* Number of freed extents that are kept per GPU, to report accesses after free.
	 */
	FREED_MAX = 256,
};

static void bound_freed(struct rn_gpu *gpu)
{
	unsigned count = 0;

	for (const struct rn_gpu_extent *e = gpu->extents; e; e = e->next)
		count += e->is_freed;
	if (count > FREED_MAX)
		forget_oldest(gpu);
}

/* Returns the size of the BAR, that is the number of bytes that other devices can access.
 */
static uint64_t bar_size(const struct rn_gpu *gpu)
{
	uint64_t knob = rn_host_knobs(gpu->host)->bar_size;

	return knob && knob < gpu->size ? knob : gpu->size - RN_GPU_PAGE;
}

int rn_gpu_bar_take(struct rn_gpu *gpu, int64_t bytes)
{
	uint64_t size = bar_size(gpu);
	int err = 0;

	lock_table();
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
	unlock_table();
	return err;
}

/* --------------------------------------- allocation and freeing of memory */
/* Reserves an address range for a new extent. Called with the host lock held. */
static int place_extent(struct rn_gpu *gpu, struct rn_gpu_extent *e)
{
	struct rn_gpu_extent **at;
	int err = 0;

	lock_table();
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
	unlock_table();
	return err;
}

static void remove_extent(struct rn_gpu *gpu, struct rn_gpu_extent *e)
{
	struct rn_gpu_extent **at = &gpu->extents;

	lock_table();
	while (*at && *at != e)
		at = &(*at)->next;
	assert(*at);
	*at = e->next;
	gpu->used -= e->len;
	unlock_table();
}

/* Puts the region of the extent into the list of regions, and gives its BAR pages the
 * protection that the GPU's other BAR pages have. The protection of other pages is not
 * set again, because the time for that would grow with each allocation. Called with the
 * host lock held.
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
	err = place_extent(gpu, e);
	if (err)
		goto err_unlock;
	err = protect_views(gpu, e, PROT_READ | PROT_WRITE);
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
	protect_views(gpu, e, PROT_NONE);
	remove_extent(gpu, e);
err_unlock:
	rn_host_unlock(gpu->host);
	rn_gpu_bar_take(gpu, -in_bar);
err_free_extent:
	free(e);
	return err;
}

/* Forces all TLPs that read or write the extent. Then removes its region and closes its
 * pages in all views. The host lock is held.
 */
static void retire_extent(struct rn_gpu *gpu, struct rn_gpu_extent *e)
{
	if (!(e->flags & RN_GPU_DEVICE_ONLY)) {
		rn_host_force_region(gpu->host, &e->region);
		rn_host_region_unlink(gpu->host, &e->region);
	}
	protect_views(gpu, e, PROT_NONE);
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
	lock_table();
	e = extent_at(gpu, offset);
	if (!e || e->is_freed || e->start != offset) {
		unlock_table();
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
	unlock_table();
	retire_extent(gpu, e);
	lock_table();
	bound_freed(gpu);
	unlock_table();
	rn_host_unlock(gpu->host);
	return 0;
}

/* ----------------------------------------------------- attributes of a GPU */
int rn_gpu_get_attr(struct rn_gpu *gpu, enum rn_gpu_attr attr, uint64_t *value)
{
	uint64_t used, bar_used;

	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	lock_table();
	used = gpu->used;
	bar_used = gpu->bar_used;
	unlock_table();

	switch (attr) {
	case RN_GPU_ATTR_WRITES_ORDERING:
		*value = 100 * (uint64_t)rn_host_knobs(gpu->host)->gpu_ordering;
		return 0;
	case RN_GPU_ATTR_FLUSH_OPTIONS:
		*value = 1 | 2;
		return 0;
	case RN_GPU_ATTR_BAR_SIZE:
		*value = bar_size(gpu);
		return 0;
	case RN_GPU_ATTR_BAR_FREE:
		*value = bar_size(gpu);
		*value -= bar_used < *value ? bar_used : *value;
		return 0;
	case RN_GPU_ATTR_MEMORY_SIZE:
		*value = gpu->size - RN_GPU_PAGE;
		return 0;
	case RN_GPU_ATTR_MEMORY_FREE:
		*value = gpu->size - RN_GPU_PAGE - used;
		return 0;
	}
	return rn_gpu_fail(-EINVAL, "there is no GPU attribute %d", (int)attr);
}

/* -------------------------------- search for the allocation at an address */
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

	lock_table();
	e = extent_at(where.gpu, offset);
	if (!e || e->is_freed || (where.by_bar && !is_in_bar(e))) {
		err = rn_gpu_fail(-EFAULT, "%p is not allocated",
				  rn_gpu_pointer((uintptr_t)ptr));
	} else {
		fill_buffer(where.gpu, e, &where.buffer);
		where.offset = offset - e->start;
		if (out)
			*out = where;
	}
	unlock_table();
	return err;
}

/* ---------------------------------------------------------------- dma-buf */
/* Returns a descriptor that stands for a dma-buf. It is a new descriptor of the GPU's
 * memfd; its file position is the offset of the first byte in the GPU's memory. Copies of
 * the descriptor (by dup(), or by a socket to the same process) have the same position.
 */
int rn_gpu_export_dmabuf(const void *ptr, size_t len)
{
	struct rn_gpu_where where = { 0 };
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
	if (!rn_gpu_of((uintptr_t)ptr, &offset, &view))
		return rn_gpu_fail(-EINVAL, "%p is no device memory", ptr);
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

	lock_table();
	e = extent_at(gpu, at);
	if (!e || e->is_freed || len > e->start + e->len - at)
		err = -EINVAL;
	else if (e->flags & RN_GPU_DEVICE_ONLY)
		err = -ENOMEM;
	unlock_table();
	if (!err)
		*addr = (uintptr_t)gpu->bar + at;
	return err;
}

/* --------------------------------------------- registrations of GPU memory */
/* Checks that [offset, offset + len) of the BAR lies in one allocation that is not freed.
 */
static int check_allocated(struct rn_gpu *gpu, uint64_t offset, uint64_t len)
{
	const struct rn_gpu_extent *e;
	int err = 1;

	lock_table();
	e = extent_at(gpu, offset);
	if (!e || e->is_freed || len > e->start + e->len - offset)
		err = rn_gpu_fail(-EFAULT, "%p + %llu is not one allocation of GPU %d",
				  (void *)(gpu->bar + offset), (unsigned long long)len,
				  gpu->number);
	else if (e->flags & RN_GPU_DEVICE_ONLY)
		err = rn_gpu_fail(-ENOMEM, "allocation %llu of GPU %d is not in the BAR",
				  (unsigned long long)e->number, gpu->number);
	unlock_table();
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

/* --------------------- reports of accesses to memory that is not allocated */

enum {
	/* Maximum number of reports per process about accesses to memory that was never
	 * allocated.
	 */
	REPORTS_MAX = 16,
};

/* Returns a text for a report that says who accessed memory through @view. If this thread
 * has a guard (mem_guard.h), a simulated device was copying. With place=now this cannot
 * be told, because the plugin makes these copies under its own guard, which this library
 * does not see.
 */
static const char *name_user(const struct rn_gpu *gpu, char view)
{
	if (view == 'd' || rn_gpu_current())
		return "by a kernel";
	if (view == 'e' || rn_guard_thread.current || rn_host_is_locked_by_me(gpu->host))
		return "by a device";
	return rn_gpu_is_off(gpu) ? "by the CPU or a device" : "by the CPU";
}

/* Returns the extent with the highest start at or below @offset. */
static const struct rn_gpu_extent *extent_below(const struct rn_gpu *gpu, uint64_t offset)
{
	const struct rn_gpu_extent *found = NULL;

	for (const struct rn_gpu_extent *e = gpu->extents; e && e->start <= offset;
	     e = e->next)
		found = e;
	return found;
}

static void say_in_handler(const char *text)
{
	/* This runs in the SIGSEGV handler. So it must not call write(), which would
	 * reach the wrapper in page_calls.c.
	 */
	syscall(SYS_write, STDERR_FILENO, text, strlen(text));
}

/* Appends to the text the line of the program that freed the memory, and writes the text
 * to standard error. @freed_by: return address of the call that freed the memory.
 */
static void say_with_frame(char *text, size_t used, size_t len, void *freed_by)
{
	char named[1024];
	ssize_t named_len;

	used += rn_stack_frame(0, freed_by, true, text + used, len - used);
	named_len = rn_stack_symbolize(text, used, named, sizeof(named) - 1);
	named[named_len > 0 ? named_len : 0] = '\0';
	say_in_handler(named_len > 0 ? named : text);
}

static void report_freed(struct rn_gpu *gpu, struct rn_gpu_extent e, uint64_t offset,
			 char view)
{
	char text[800];
	int n;

	n = snprintf(text, sizeof(text),
		     "rocin: use after free: byte %llu of allocation %llu (%llu bytes, "
		     "GPU %d) was touched %s; it was freed here:\n",
		     (unsigned long long)(offset - e.start), (unsigned long long)e.number,
		     (unsigned long long)e.asked, gpu->number, name_user(gpu, view));
	say_with_frame(text, (size_t)n, sizeof(text), e.freed_by);
}

static void report_outside(struct rn_gpu *gpu, const struct rn_gpu_extent *e,
			   struct rn_gpu_extent copy, uint64_t offset, char view)
{
	static _Atomic unsigned count;
	char text[300];

	if (atomic_fetch_add(&count, 1) >= REPORTS_MAX)
		return;
	if (!e)
		snprintf(text, sizeof(text),
			 "rocin: byte %llu of GPU %d, which is not allocated, was "
			 "touched %s\n",
			 (unsigned long long)offset, gpu->number, name_user(gpu, view));
	else if (view == 'b' && offset < copy.start + copy.len)
		snprintf(text, sizeof(text),
			 "rocin: allocation %llu (%llu bytes, GPU %d) was touched %s "
			 "through the BAR, where it has no place\n",
			 (unsigned long long)copy.number, (unsigned long long)copy.asked,
			 gpu->number, name_user(gpu, view));
	else
		snprintf(text, sizeof(text),
			 "rocin: the byte %llu behind the start of allocation %llu (%llu "
			 "bytes, GPU %d) was touched %s\n",
			 (unsigned long long)(offset - copy.start),
			 (unsigned long long)copy.number, (unsigned long long)copy.asked,
			 gpu->number, name_user(gpu, view));
	say_in_handler(text);
}

void rn_gpu_report_fault(uintptr_t addr)
{
	const struct rn_gpu_extent *below = NULL;
	struct rn_gpu_extent *e, copy = { 0 };
	struct rn_gpu *gpu;
	uint64_t offset;
	bool is_new;
	char view;

	gpu = rn_gpu_of(addr, &offset, &view);
	if (!gpu)
		return;
	atomic_fetch_add(&rn_gpu_counts.freed_accesses, 1);
	lock_table();
	e = extent_at(gpu, offset);
	if (e) {
		copy = *e;
		is_new = !e->is_reported;
		e->is_reported = true;
	} else {
		below = extent_below(gpu, offset);
		is_new = true;
		if (below)
			copy = *below;
	}
	unlock_table();
	if (!is_new)
		return;
	if (copy.is_freed && e)
		report_freed(gpu, copy, offset, view);
	else
		report_outside(gpu, e ? e : below, copy, offset, view);
}
