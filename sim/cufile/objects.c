/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* objects.c - registered files and registered buffers.
 *
 * A CUfileHandle_t is looked up in the list of files before it is used, so that one that
 * was deregistered, or never was one, is an error and no crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "internal.h"
#include "rocin/gpu.h"

/* A registered buffer. */
struct rn_cufile_buffer {
	struct rn_cufile_buffer *next;
	char *base;
	size_t len;
	int gpu; /* -1: host memory */
	/* The buffer lies within another one, which the engine knows. */
	bool is_inside;
};

/* ------------------------------------------------------------------ files: checks */
/* Flags of open(2) with which a file is refused. F_GETFL does not tell the others. */
#define REFUSED_FLAGS (O_APPEND | O_NONBLOCK | O_DIRECTORY | O_NOFOLLOW)

static CUfileError_t check_descr(const CUfileDescr_t *descr, struct stat *st, int *flags)
{
	int fd = descr->handle.fd;

	if (descr->type != CU_FILE_HANDLE_TYPE_OPAQUE_FD)
		return rn_cufile_fail(CU_FILE_IO_NOT_SUPPORTED,
				      "cuFileHandleRegister: handles of type %d are not "
				      "possible; use CU_FILE_HANDLE_TYPE_OPAQUE_FD",
				      (int)descr->type);
	*flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	if (*flags < 0 || fstat(fd, st))
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileHandleRegister: descriptor %d is not open",
				      fd);
	if (!S_ISREG(st->st_mode) && !S_ISBLK(st->st_mode) && !S_ISDIR(st->st_mode))
		return rn_cufile_fail(CU_FILE_INVALID_FILE_TYPE,
				      "cuFileHandleRegister: descriptor %d is neither a "
				      "regular file nor a block device",
				      fd);
	if (S_ISDIR(st->st_mode))
		return rn_cufile_fail(
			CU_FILE_INVALID_FILE_TYPE,
			"cuFileHandleRegister: descriptor %d is a directory", fd);
	if ((*flags & REFUSED_FLAGS) != 0)
		return rn_cufile_fail(CU_FILE_INVALID_FILE_OPEN_FLAG,
				      "cuFileHandleRegister: descriptor %d was opened "
				      "with %s; open the file again without",
				      fd,
				      (*flags & O_APPEND) != 0	   ? "O_APPEND"
				      : (*flags & O_NONBLOCK) != 0 ? "O_NONBLOCK"
								   : "O_NOFOLLOW or "
								     "O_DIRECTORY");
	return rn_cufile_success();
}

/* Finds kind and place of the file behind @fd. Called with the lock held. */
static void find_place(struct rn_cufile_file *f, char *path, size_t len)
{
	const struct rn_cufile_mount *mount;
	struct statfs fs;
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	n = readlink(link, path, len - 1);
	path[n > 0 ? n : 0] = '\0';
	f->fs = fstatfs(f->fd, &fs) ? RN_CUFILE_LOCAL : rn_cufile_fs_of(fs.f_type);
	mount = rn_cufile_mount_of(&rn_cufile.settings, path);
	if (mount)
		f->fs = mount->fs;
	f->is_denied = rn_cufile_is_denied(&rn_cufile.settings, path, f->fs);
}

static CUfileError_t register_with_engine(struct rn_cufile_file *f, const char *path)
{
	bool is_remote;
	CUfileError_t e = rn_cufile_register_remote(f, path, &is_remote);
	char policy[64];
	int err = 0;

	if (e.err)
		return e;
	rn_cufile_policy(&rn_cufile.settings, policy, sizeof(policy));
	if (!is_remote)
		err = rn_storage_handle_register(&f->normal, f->fd);
	if (!err && !is_remote)
		err = rn_storage_handle_register(&f->posix, f->fd);
	if (!err)
		err = rn_storage_handle_set_policy(f->normal, policy);
	if (!err)
		err = rn_storage_handle_set_policy(f->posix, "host");
	if (!err)
		return rn_cufile_success();
	return rn_cufile_fail(err == -EMFILE ? CU_FILE_GETNEWFD_FAILED
					     : CU_FILE_INTERNAL_ERROR,
			      "cuFileHandleRegister: %s", rn_storage_last_error());
}

static void free_file(struct rn_cufile_file *f)
{
	rn_storage_handle_deregister(f->normal);
	rn_storage_handle_deregister(f->posix);
	free(f);
}

/* Registers the file of a descriptor that was checked. Called with the lock held. */
static CUfileError_t register_file(struct rn_cufile_file *f)
{
	const struct rn_cufile_settings *s = &rn_cufile.settings;
	char path[4096];

	for (const struct rn_cufile_file *other = rn_cufile.files; other;
	     other = other->next)
		if (other->fd == f->fd && !other->is_deregistered)
			return rn_cufile_fail(CU_FILE_HANDLE_ALREADY_REGISTERED,
					      "cuFileHandleRegister: descriptor %d is "
					      "registered; deregister that handle before "
					      "the number is used again",
					      f->fd);
	find_place(f, path, sizeof(path));
	if (f->is_denied && !s->flag[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE])
		return rn_cufile_fail(CU_FILE_IO_DISABLED,
				      "cuFileHandleRegister: denylist of %s excludes %s, "
				      "and properties.allow_compat_mode is false",
				      s->file, path);
	return register_with_engine(f, path);
}

CUfileError_t cuFileHandleRegister(CUfileHandle_t *fh, CUfileDescr_t *descr)
{
	struct rn_cufile_file *f;
	CUfileError_t e;
	struct stat st;
	int flags = 0;

	if (!fh || !descr)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileHandleRegister: no place for the handle, or "
				      "no descriptor");
	if (!rn_cufile_need())
		return rn_cufile_fail(
			CU_FILE_DRIVER_NOT_INITIALIZED,
			"cuFileHandleRegister: the driver cannot be opened");
	e = check_descr(descr, &st, &flags);
	f = e.err ? NULL : calloc(1, sizeof(*f));
	if (!f) {
		RN_CUFILE_COUNT(hdl_register_ops, false);
		return e.err ? e
			     : rn_cufile_fail(CU_FILE_NOMEM_ERROR,
					      "cuFileHandleRegister: no memory");
	}
	f->fd = descr->handle.fd;
	f->access = flags & O_ACCMODE;
	rn_cufile_lock();
	e = register_file(f);
	if (!e.err) {
		f->next = rn_cufile.files;
		rn_cufile.files = f;
		*fh = f;
	}
	rn_cufile_unlock();
	RN_CUFILE_COUNT(hdl_register_ops, !e.err);
	if (e.err)
		free_file(f);
	return e;
}

/* --------------------------------------------------------------- files: life */
struct rn_cufile_file *rn_cufile_file_get(CUfileHandle_t fh)
{
	struct rn_cufile_file *f;

	if (rn_cufile.pid != getpid())
		return NULL;
	rn_cufile_lock();
	for (f = rn_cufile.files; f && (f != fh || f->is_deregistered);)
		f = f->next;
	if (f)
		f->users++;
	rn_cufile_unlock();
	return f;
}

/* Takes a file that nobody uses out of the list. Called with the lock held. */
static void unlink_file(struct rn_cufile_file *f)
{
	struct rn_cufile_file **at = &rn_cufile.files;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

void rn_cufile_file_put(struct rn_cufile_file *f)
{
	bool is_last;

	rn_cufile_lock();
	is_last = --f->users == 0 && f->is_deregistered;
	if (is_last)
		unlink_file(f);
	rn_cufile_unlock();
	if (is_last)
		free_file(f);
}

void cuFileHandleDeregister(CUfileHandle_t fh)
{
	struct rn_cufile_file *f = rn_cufile_file_get(fh);

	RN_CUFILE_COUNT(hdl_deregister_ops, f != NULL);
	if (!f) {
		rn_cufile_log(RN_CUFILE_LOG_ERROR,
			      "cuFileHandleDeregister: %p is no registered file", fh);
		return;
	}
	rn_cufile_lock();
	f->is_deregistered = true;
	rn_cufile_unlock();
	rn_cufile_file_put(f);
}

/* --------------------------------------------------------------------- buffers */
int rn_cufile_gpu_of(const void *base)
{
	struct rn_gpu_where where;

	return rn_gpu_find(base, &where) ? -1 : rn_gpu_number(where.gpu);
}

static CUfileError_t check_memory(const void *base, size_t len, int *gpu)
{
	struct rn_gpu_where where;
	int err = rn_gpu_find(base, &where);

	*gpu = -1;
	if (err == -EFAULT)
		return rn_cufile_fail(CU_FILE_CUDA_POINTER_INVALID,
				      "cuFileBufRegister: %p is in device memory that is "
				      "not allocated, or was freed",
				      base);
	if (err)
		return rn_cufile.settings
				       .flag[CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY]
			       ? rn_cufile_success()
			       : rn_cufile_fail(
					 CU_FILE_CUDA_MEMORY_TYPE_INVALID,
					 "cuFileBufRegister: %p is host memory, and "
					 "properties.allow_system_memory is false",
					 base);
	*gpu = rn_gpu_number(where.gpu);
	if (where.offset > where.buffer.len || len > where.buffer.len - where.offset)
		return rn_cufile_fail(CU_FILE_CUDA_POINTER_RANGE_ERROR,
				      "cuFileBufRegister: %zu bytes at %p, where an "
				      "allocation of %zu bytes ends after %zu",
				      len, base, where.buffer.len,
				      where.buffer.len - where.offset);
	return rn_cufile_success();
}

/* Checks a buffer against those that are registered, and the memory that may be pinned.
 * Called with the lock held.
 */
static CUfileError_t check_buffers(struct rn_cufile_buffer *b)
{
	size_t limit_kb =
		rn_cufile.settings
			.size[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB];
	size_t pinned = b->len;
	uintptr_t at;

	for (const struct rn_cufile_buffer *o = rn_cufile.buffers; o; o = o->next) {
		if (o->base == b->base)
			return rn_cufile_fail(CU_FILE_MEMORY_ALREADY_REGISTERED,
					      "cuFileBufRegister: a buffer at %p is "
					      "registered already",
					      b->base);
		at = (uintptr_t)b->base - (uintptr_t)o->base;
		if (at < o->len && b->len <= o->len - at)
			b->is_inside = true;
		if (o->gpu == b->gpu && !o->is_inside)
			pinned += o->len;
	}
	if (b->gpu >= 0 && !b->is_inside && limit_kb > 0 && pinned / 1024 > limit_kb)
		return rn_cufile_fail(
			CU_FILE_INVALID_MAPPING_SIZE,
			"cuFileBufRegister: with these %zu bytes %zu KiB of "
			"gpu%d would be pinned, and "
			"properties.max_device_pinned_mem_size_kb is %zu",
			b->len, pinned / 1024, b->gpu, limit_kb);
	return rn_cufile_success();
}

static CUfileError_t register_buffer(struct rn_cufile_buffer *b)
{
	CUfileError_t e = check_buffers(b);
	int err;

	if (e.err || b->is_inside)
		return e;
	err = rn_storage_buffer_register(b->base, b->len);
	switch (err) {
	case 0:
		return e;
	case -EEXIST:
		return rn_cufile_fail(
			CU_FILE_MEMORY_ALREADY_REGISTERED,
			"cuFileBufRegister: %p overlaps a registered buffer", b->base);
	case -ENOMEM:
		return rn_cufile_fail(CU_FILE_GPU_MEMORY_PINNING_FAILED,
				      "cuFileBufRegister: %s", rn_storage_last_error());
	default:
		return rn_cufile_fail(CU_FILE_INVALID_VALUE, "cuFileBufRegister: %s",
				      rn_storage_last_error());
	}
}

CUfileError_t cuFileBufRegister(const void *base, size_t length, int flags)
{
	struct rn_cufile_buffer *b;
	CUfileError_t e;
	int gpu;

	(void)flags; /* reserved; cuFile 1.15 takes any */
	if (!base || length == 0 || (uintptr_t)base + length < (uintptr_t)base)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileBufRegister: %zu bytes at %p are no memory",
				      length, base);
	if (!rn_cufile_need())
		return rn_cufile_fail(CU_FILE_DRIVER_NOT_INITIALIZED,
				      "cuFileBufRegister: the driver cannot be opened");
	e = check_memory(base, length, &gpu);
	b = e.err ? NULL : calloc(1, sizeof(*b));
	if (b) {
		*b = (struct rn_cufile_buffer){ .base = (char *)base,
						.len = length,
						.gpu = gpu };
		rn_cufile_lock();
		e = register_buffer(b);
		if (!e.err) {
			b->next = rn_cufile.buffers;
			rn_cufile.buffers = b;
		}
		rn_cufile_unlock();
		if (e.err)
			free(b);
	} else if (!e.err) {
		e = rn_cufile_fail(CU_FILE_NOMEM_ERROR, "cuFileBufRegister: no memory");
	}
	RN_CUFILE_COUNT(buf_register_ops, !e.err);
	rn_cufile_count_buffer(gpu, length, !e.err, false);
	return e;
}

CUfileError_t cuFileBufDeregister(const void *base)
{
	struct rn_cufile_buffer **at, *b;
	int err = 0;

	if (!base)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileBufDeregister: no address");
	if (rn_cufile.pid != getpid())
		return (CUfileError_t){ CU_FILE_DRIVER_NOT_INITIALIZED, 0 };
	rn_cufile_lock();
	for (at = &rn_cufile.buffers; *at && (*at)->base != base;)
		at = &(*at)->next;
	b = *at;
	if (b && !b->is_inside)
		err = rn_storage_buffer_deregister((void *)base);
	if (b && !err)
		*at = b->next;
	rn_cufile_unlock();
	RN_CUFILE_COUNT(buf_deregister_ops, b && !err);
	if (!b)
		return rn_cufile_fail(CU_FILE_MEMORY_NOT_REGISTERED,
				      "cuFileBufDeregister: no registered buffer begins "
				      "at %p",
				      base);
	if (err)
		return rn_cufile_fail(
			CU_FILE_INTERNAL_ERROR,
			"cuFileBufDeregister: %s; wait until they have ended",
			rn_storage_last_error());
	rn_cufile_count_buffer(b->gpu, b->len, true, true);
	free(b);
	return rn_cufile_success();
}

/* Checks that memory of a GPU is allocated, and does not end before the transfer does. */
static int check_device_memory(const void *base, size_t size, off_t offset)
{
	struct rn_gpu_where where;
	int err = rn_gpu_find(base, &where);
	size_t left;

	if (err == -EFAULT)
		return CU_FILE_CUDA_POINTER_INVALID;
	if (err || where.is_declared)
		return 0;
	left = where.buffer.len - where.offset;
	return (uint64_t)offset > left || size > left - (uint64_t)offset
		       ? CU_FILE_CUDA_POINTER_RANGE_ERROR
		       : 0;
}

int rn_cufile_check_range(const void *base, size_t size, off_t offset)
{
	const struct rn_cufile_buffer *b;
	int err = 0;

	rn_cufile_lock();
	for (b = rn_cufile.buffers; b && b->base != base;)
		b = b->next;
	if (b && ((uint64_t)offset > b->len || size > b->len - (uint64_t)offset))
		err = CU_FILE_INVALID_MAPPING_RANGE;
	rn_cufile_unlock();
	return err ? err : check_device_memory(base, size, offset);
}

void rn_cufile_release_objects(void)
{
	for (;;) {
		struct rn_cufile_file *f;

		rn_cufile_lock();
		for (f = rn_cufile.files; f && f->is_deregistered;)
			f = f->next;
		rn_cufile_unlock();
		if (!f)
			break;
		cuFileHandleDeregister(f);
	}
	rn_cufile_lock();
	while (rn_cufile.buffers) {
		struct rn_cufile_buffer *b = rn_cufile.buffers;

		rn_cufile.buffers = b->next;
		if (!b->is_inside)
			(void)rn_storage_buffer_deregister(b->base);
		free(b);
	}
	rn_cufile_unlock();
}
