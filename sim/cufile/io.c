/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* io.c - cuFileRead() and cuFileWrite().
 *
 * cuFile's documentation says that errors of cuFile are returned as negative numbers.
 * cuFile 1.15 returns -1, with the number in errno, and so do we: programs that look at
 * errno, and those that only look for a negative result, run the same.
 */
#include <errno.h>
#include <fcntl.h>

#include "internal.h"

int rn_cufile_check_io(const struct rn_cufile_file *f, const struct rn_cufile_io *io)
{
	if (!io->base)
		return EINVAL;
	if (io->file_offset < 0)
		return CU_FILE_INVALID_VALUE;
	if (io->buf_offset < 0)
		return CU_FILE_INTERNAL_ERROR;
	if (!io->is_write && f->access == O_WRONLY)
		return CU_FILE_INVALID_FILE_OPEN_FLAG;
	if (io->is_write && f->access == O_RDONLY)
		return EIO;
	return rn_cufile_check_range(io->base, io->size, io->buf_offset);
}

struct rn_storage_file *rn_cufile_choose(const struct rn_cufile_file *f,
					 const struct rn_cufile_io *io)
{
	struct rn_cufile_transfer t = { .fs = f->fs,
					.is_write = io->is_write,
					.is_denied = f->is_denied,
					.size = io->size,
					.file_offset = io->file_offset };
	const char *key;

	rn_cufile_lock();
	key = rn_cufile_posix_key(&rn_cufile.settings, &t);
	rn_cufile_unlock();
	return key ? f->posix : f->normal;
}

static ssize_t one_chunk(struct rn_storage_file *file, const struct rn_cufile_io *io,
			 size_t at, size_t len)
{
	off_t file_offset = io->file_offset + (off_t)at;
	off_t buf_offset = io->buf_offset + (off_t)at;

	return io->is_write
		       ? rn_storage_write(file, io->base, len, file_offset, buf_offset)
		       : rn_storage_read(file, io->base, len, file_offset, buf_offset);
}

/* Transfers pieces of at most max_direct_io_size_kb. Returns bytes or -errno. */
static ssize_t all_chunks(struct rn_storage_file *file, const struct rn_cufile_io *io)
{
	size_t max, at = 0;

	rn_cufile_lock();
	max = rn_cufile.settings.size[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB] *
	      1024;
	rn_cufile_unlock();
	do {
		size_t len = io->size - at < max ? io->size - at : max;
		ssize_t done = one_chunk(file, io, at, len);

		if (done < 0)
			return at > 0 && done != -EFAULT ? (ssize_t)at : done;
		at += (size_t)done;
		if ((size_t)done < len)
			break;
	} while (at < io->size);
	return (ssize_t)at;
}

ssize_t rn_cufile_transfer(struct rn_cufile_file *f, const struct rn_cufile_io *io)
{
	struct rn_storage_file *file;
	struct rn_storage_route route = { .way = RN_STORAGE_HOST };
	uint64_t begin = rn_cufile_now();
	int err = rn_cufile_check_io(f, io);
	ssize_t result = -err;

	if (!err) {
		file = rn_cufile_choose(f, io);
		/* The route is of interest to statistics alone. */
		(void)rn_storage_plan(file, io->base, io->size, io->file_offset,
				      io->buf_offset, &route);
		result = all_chunks(file, io);
		if (result == -EHOSTUNREACH)
			result = -CU_FILE_IO_NOT_SUPPORTED;
	}
	if (result < 0)
		rn_cufile_log(RN_CUFILE_LOG_ERROR,
			      "%s: %zu bytes at %lld of descriptor %d, memory %p + %lld: "
			      "%s",
			      io->is_write ? "cuFileWrite" : "cuFileRead", io->size,
			      (long long)io->file_offset, f->fd, io->base,
			      (long long)io->buf_offset,
			      err > CUFILEOP_BASE_ERR || -result > CUFILEOP_BASE_ERR
				      ? CUFILE_ERRSTR(result)
			      : err ? "not possible with this file or address"
				    : rn_storage_last_error());
	rn_cufile_count_transfer(&(struct rn_cufile_done){
		.is_write = io->is_write,
		.gpu = io->base ? rn_cufile_gpu_of(io->base) : -1,
		.result = result,
		.size = io->size,
		.way = route.way,
		.is_aligned = ((size_t)io->file_offset | io->size) % 4096 == 0,
		.ns = rn_cufile_now() - begin });
	return result;
}

static ssize_t transfer(const char *call, CUfileHandle_t fh,
			const struct rn_cufile_io *io)
{
	struct rn_cufile_file *f = rn_cufile_file_get(fh);
	ssize_t result;

	if (!f) {
		rn_cufile_log(RN_CUFILE_LOG_ERROR,
			      "%s: %p is no registered file; cuFileHandleRegister() "
			      "makes one",
			      call, fh);
		errno = fh ? CU_FILE_HANDLE_NOT_REGISTERED : EINVAL;
		return -1;
	}
	result = rn_cufile_transfer(f, io);
	rn_cufile_file_put(f);
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

ssize_t cuFileRead(CUfileHandle_t fh, void *base, size_t size, off_t file_offset,
		   off_t buf_offset)
{
	struct rn_cufile_io io = { .base = base,
				   .size = size,
				   .file_offset = file_offset,
				   .buf_offset = buf_offset };

	return transfer(__func__, fh, &io);
}

ssize_t cuFileWrite(CUfileHandle_t fh, const void *base, size_t size, off_t file_offset,
		    off_t buf_offset)
{
	struct rn_cufile_io io = { .is_write = true,
				   .base = (void *)base,
				   .size = size,
				   .file_offset = file_offset,
				   .buf_offset = buf_offset };

	return transfer(__func__, fh, &io);
}
