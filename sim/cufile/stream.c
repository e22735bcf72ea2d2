/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stream.c - reads and writes in the order of a CUDA stream.
 *
 * If the process has a CUDA library, a transfer is a host function of the stream
 * (cuLaunchHostFunc()): it begins when what is ahead of it in the stream has ended, and
 * what is behind it waits until it has ended and its data is visible. A process without
 * one has no streams but those that it makes up: any pointer is the name of a stream,
 * which begins with cuFileStreamRegister() or the first transfer, and whose end
 * cuFileStreamDeregister() awaits; transfers of the stream NULL are synchronous then.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

struct rn_cufile_stream {
	struct rn_cufile_stream *next;
	CUstream name;
	unsigned flags; /* CU_FILE_STREAM_* */
	bool is_registered;
	/* The queue of a process without CUDA; NULL otherwise. */
	struct rn_storage_stream *queue;
};

/* A transfer that waits in a stream. */
struct operation {
	struct rn_cufile_file *file;
	bool is_write;
	void *base;
	/* Where the values are when the operation begins: of the program, or copies. */
	const size_t *size;
	const off_t *file_offset, *buf_offset;
	size_t fixed_size;
	off_t fixed_file_offset, fixed_buf_offset;
	ssize_t *done;
};

typedef CUresult launch_fn(CUstream stream, void (*fn)(void *arg), void *arg);
typedef CUresult synchronize_fn(CUstream stream);

/* Returns a function of the CUDA library that this process has loaded, or NULL. */
static void *cuda_function(const char *name)
{
	void *fn = dlsym(RTLD_DEFAULT, name);
	void *library;

	if (fn)
		return fn;
	library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	fn = dlsym(library, name);
	dlclose(library); /* it stays loaded by whoever has loaded it */
	return fn;
}

static void run(void *arg)
{
	struct operation *op = arg;
	struct rn_cufile_io io = { .is_write = op->is_write,
				   .base = op->base,
				   .size = *op->size,
				   .file_offset = *op->file_offset,
				   .buf_offset = *op->buf_offset };
	ssize_t result = rn_cufile_transfer(op->file, &io);

	if (result > 0 && !op->is_write)
		(void)rn_storage_settle_memory((char *)io.base + io.buf_offset,
					       (size_t)result);
	/* -1 for an error of the file, as documented; otherwise the error of cuFile. */
	*op->done = result < 0 && -result < CUFILEOP_BASE_ERR ? -1 : result;
	rn_cufile_file_put(op->file);
	free(op);
}

/* --------------------------------------------------------------------- streams */
/* Finds a stream, or NULL. Called with the lock held. */
static struct rn_cufile_stream *find(CUstream name)
{
	struct rn_cufile_stream *s = rn_cufile.streams;

	while (s && s->name != name)
		s = s->next;
	return s;
}

/* Finds or makes a stream; NULL without memory or thread. Called with the lock held. */
static struct rn_cufile_stream *find_or_make(CUstream name)
{
	struct rn_cufile_stream *s = find(name);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->name = name;
	if (name && !cuda_function("cuLaunchHostFunc") &&
	    rn_storage_stream_create(&s->queue)) {
		free(s);
		return NULL;
	}
	s->next = rn_cufile.streams;
	rn_cufile.streams = s;
	return s;
}

CUfileError_t cuFileStreamRegister(CUstream stream, unsigned flags)
{
	struct rn_cufile_stream *s;
	CUfileError_t e = rn_cufile_success();

	if (!rn_cufile_need())
		return rn_cufile_fail(
			CU_FILE_DRIVER_NOT_INITIALIZED,
			"cuFileStreamRegister: the driver cannot be opened");
	rn_cufile_lock();
	s = find_or_make(stream);
	if (!s)
		e = rn_cufile_fail(CU_FILE_NOMEM_ERROR,
				   "cuFileStreamRegister: no memory, or no thread");
	else if (s->is_registered)
		e = rn_cufile_fail(CU_FILE_INVALID_VALUE,
				   "cuFileStreamRegister: stream %p is registered "
				   "already",
				   (void *)stream);
	if (s && !e.err) {
		s->is_registered = true;
		s->flags = flags;
	}
	rn_cufile_unlock();
	return e;
}

/* Waits for the operations of a stream that is in no list any more, and frees it. */
static void end_stream(struct rn_cufile_stream *s)
{
	synchronize_fn *synchronize =
		(synchronize_fn *)cuda_function("cuStreamSynchronize");

	if (s->queue)
		rn_storage_stream_destroy(s->queue);
	else if (synchronize)
		(void)synchronize(s->name);
	free(s);
}

CUfileError_t cuFileStreamDeregister(CUstream stream)
{
	struct rn_cufile_stream **at, *s;

	if (rn_cufile.pid != getpid())
		return (CUfileError_t){ CU_FILE_DRIVER_NOT_INITIALIZED, 0 };
	rn_cufile_lock();
	for (at = &rn_cufile.streams; *at && (*at)->name != stream;)
		at = &(*at)->next;
	s = *at;
	if (s)
		*at = s->next;
	rn_cufile_unlock();
	if (!s)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileStreamDeregister: stream %p is not "
				      "registered",
				      (void *)stream);
	end_stream(s);
	return rn_cufile_success();
}

void rn_cufile_release_streams(void)
{
	for (;;) {
		struct rn_cufile_stream *s;

		rn_cufile_lock();
		s = rn_cufile.streams;
		if (s)
			rn_cufile.streams = s->next;
		rn_cufile_unlock();
		if (!s)
			return;
		end_stream(s);
	}
}

/* ------------------------------------------------------------------ operations */
/* Replaces what is known now, by the flags of the stream, by copies. */
static void fix(struct operation *op, unsigned flags)
{
	op->fixed_size = *op->size;
	op->fixed_file_offset = *op->file_offset;
	op->fixed_buf_offset = *op->buf_offset;
	if (flags & CU_FILE_STREAM_FIXED_FILE_SIZE)
		op->size = &op->fixed_size;
	if (flags & CU_FILE_STREAM_FIXED_FILE_OFFSET)
		op->file_offset = &op->fixed_file_offset;
	if (flags & CU_FILE_STREAM_FIXED_BUF_OFFSET)
		op->buf_offset = &op->fixed_buf_offset;
}

/* Puts an operation into its stream. It frees itself, unless this fails. */
static CUfileError_t enqueue(struct operation *op, CUstream stream)
{
	launch_fn *launch = (launch_fn *)cuda_function("cuLaunchHostFunc");
	struct rn_cufile_stream *s;
	CUresult result;
	int err = 0;

	rn_cufile_lock();
	s = launch || !stream ? find(stream) : find_or_make(stream);
	fix(op, s ? s->flags : 0);
	if (!launch && stream)
		err = s ? rn_storage_stream_callback(s->queue, run, op) : -ENOMEM;
	rn_cufile_unlock();
	if (err)
		return rn_cufile_fail(CU_FILE_NOMEM_ERROR,
				      "no memory for an operation of stream %p",
				      (void *)stream);
	if (!launch) {
		if (!stream)
			run(op);
		return rn_cufile_success();
	}
	result = launch(stream, run, op);
	if (result) {
		CUfileError_t e = rn_cufile_fail(CU_FILE_CUDA_DRIVER_ERROR,
						 "cuLaunchHostFunc() for stream %p "
						 "returns %d",
						 (void *)stream, (int)result);
		e.cu_err = result;
		return e;
	}
	return rn_cufile_success();
}

/* The parameters are those of cuFileReadAsync(). */
/* NOLINTNEXTLINE(readability-function-size) */
static CUfileError_t queue(bool is_write, CUfileHandle_t fh, void *base,
			   const size_t *size, const off_t *file_offset,
			   const off_t *buf_offset, ssize_t *done, CUstream stream)
{
	struct operation *op;
	CUfileError_t e;

	if (!fh || !base || !size || !file_offset || !buf_offset || !done)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE, "%s: a pointer is NULL",
				      is_write ? "cuFileWriteAsync" : "cuFileReadAsync");
	op = calloc(1, sizeof(*op));
	if (!op)
		return rn_cufile_fail(CU_FILE_NOMEM_ERROR,
				      "no memory for an operation of a stream");
	*op = (struct operation){ .file = rn_cufile_file_get(fh),
				  .is_write = is_write,
				  .base = base,
				  .size = size,
				  .file_offset = file_offset,
				  .buf_offset = buf_offset,
				  .done = done };
	e = op->file ? enqueue(op, stream)
		     : rn_cufile_fail(
			       CU_FILE_INVALID_VALUE, "%s: %p is no registered file",
			       is_write ? "cuFileWriteAsync" : "cuFileReadAsync", fh);
	if (e.err) {
		if (op->file)
			rn_cufile_file_put(op->file);
		free(op);
	}
	/* Otherwise run() frees it. */
	return e; /* NOLINT(clang-analyzer-unix.Malloc) */
}

/* NOLINTNEXTLINE(readability-function-size) */
CUfileError_t cuFileReadAsync(CUfileHandle_t fh, void *base, size_t *size,
			      off_t *file_offset, off_t *buf_offset, ssize_t *bytes_read,
			      CUstream stream)
{
	return queue(false, fh, base, size, file_offset, buf_offset, bytes_read, stream);
}

/* NOLINTNEXTLINE(readability-function-size) */
CUfileError_t cuFileWriteAsync(CUfileHandle_t fh, void *base, size_t *size,
			       off_t *file_offset, off_t *buf_offset,
			       ssize_t *bytes_written, CUstream stream)
{
	return queue(true, fh, base, size, file_offset, buf_offset, bytes_written,
		     stream);
}
