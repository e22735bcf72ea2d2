/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* internal.h - what the files of libcufile.so.0 share.
 *
 * settings/		values of cufile.json and the environment, and what follows from
 *			them for a file and a transfer
 * params.c		cuFileSetParameter*(), cuFileGetParameter*()
 * state.c		tables and their lock
 * open.c, driver.c	opening; closing, properties
 * objects.c		registered files and buffers
 * network.c		files of network drives
 * io.c, batch.c, stream.c	transfers
 * stats.c		counters
 * log.c		the log file
 *
 * Lock: rn_cufile.lock guards all tables. It is not held while the storage engine
 * transfers or waits.
 */
#ifndef RN_CUFILE_INTERNAL_H
#define RN_CUFILE_INTERNAL_H

#include <pthread.h>
#include <time.h>

#include "rocin/storage.h"
#include "sim/cufile/settings/settings.h"
#include "stats_page.h"

/* ------------------------------------------------------------------------ log.c */
enum rn_cufile_level {
	RN_CUFILE_LOG_ERROR,
	RN_CUFILE_LOG_WARN,
	RN_CUFILE_LOG_INFO,
};

/* Writes one line to the log file, if cufile.json asks for this level. */
void rn_cufile_log(enum rn_cufile_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets level and place of the log; called when the settings change. */
void rn_cufile_log_configure(const struct rn_cufile_settings *s);

/* Returns @err as the result of a call; logs the sentence. */
CUfileError_t rn_cufile_fail(CUfileOpError err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static inline CUfileError_t rn_cufile_success(void)
{
	return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

/* ----------------------------------------------------------------- driver.c, params.c */
/* Values that cuFileSetParameter*() has set, and that count when the driver opens. */
struct rn_cufile_staged {
	bool has_size[RN_CUFILE_SIZES], has_flag[RN_CUFILE_PARAM_FLAGS];
	bool has_string[RN_CUFILE_STRINGS], has_slabs;
	struct rn_cufile_settings s;
};

struct rn_cufile_file;
struct rn_cufile_buffer;
struct rn_cufile_batch;
struct rn_cufile_stream;

struct rn_cufile {
	pthread_mutex_t lock;
	pid_t pid;  /* of the process that has loaded the library */
	long opens; /* 0: the driver is closed */
	/* The storage driver is open; it stays so if a transfer does not end at close. */
	bool has_storage;
	struct rn_cufile_settings settings; /* valid while opens > 0 */
	struct rn_cufile_staged staged;
	struct rn_cufile_file *files;
	struct rn_cufile_buffer *buffers;
	struct rn_cufile_batch *batches;
	struct rn_cufile_stream *streams;
};
extern struct rn_cufile rn_cufile;

void rn_cufile_lock(void);
void rn_cufile_unlock(void);

/* Opens the driver if it is closed, as calls do that need it. Returns true if it is open
 * now.
 */
bool rn_cufile_need(void);

/* Returns true in a forked child, which has no driver. */
bool rn_cufile_is_child(void);

/* Returns CU_FILE_DRIVER_NOT_INITIALIZED, with its sentence, for the call @call. */
CUfileError_t rn_cufile_not_open(const char *call);

/* Returns true if the driver is open, and the process is not a forked child. */
bool rn_cufile_is_open(void);

/* Puts staged values into @s. Called with the lock held. */
void rn_cufile_apply_staged(struct rn_cufile_settings *s);

/* -------------------------------------------------------------------- objects.c */
struct rn_cufile_file {
	struct rn_cufile_file *next;
	int fd;		/* of the program; the engine has copies of its own */
	int access;	/* O_RDONLY, O_WRONLY or O_RDWR */
	unsigned users; /* calls that use the file at present */
	bool is_deregistered, is_denied;
	enum rn_cufile_fs fs;
	/* The same file twice: by the routes of the settings, and by host memory. */
	struct rn_storage_file *normal, *posix;
};

/* Registers the file at @path with the engine if the file is on a network drive.
 * *@is_remote: out, whether it is. Called with the lock held.
 */
CUfileError_t rn_cufile_register_remote(struct rn_cufile_file *f, const char *path,
					bool *is_remote);

/* Finds a registered file and counts the caller as its user; NULL if @fh is none. The
 * caller ends with rn_cufile_file_put().
 */
struct rn_cufile_file *rn_cufile_file_get(CUfileHandle_t fh);
void rn_cufile_file_put(struct rn_cufile_file *f);

/* Checks that [offset, offset + size) is inside of the buffer registered at @base, and of
 * its allocation if it is device memory. Returns 0, or a positive CUfileOpError.
 */
int rn_cufile_check_range(const void *base, size_t size, off_t offset);

/* Returns the number of the GPU that has the memory at @base; -1 for host memory. */
int rn_cufile_gpu_of(const void *base);

/* Deregister all files and buffers, batches, streams: when the driver is closed. */
void rn_cufile_release_objects(void);
void rn_cufile_release_batches(void);
void rn_cufile_release_streams(void);

/* ------------------------------------------------------------------------- io.c */
struct rn_cufile_io {
	bool is_write;
	void *base;
	size_t size;
	off_t file_offset, buf_offset;
};

/* Checks a transfer. Returns 0, or a positive errno or CUfileOpError. */
int rn_cufile_check_io(const struct rn_cufile_file *f, const struct rn_cufile_io *io);

/* Returns the engine's file for this transfer: f->normal or f->posix. */
struct rn_storage_file *rn_cufile_choose(const struct rn_cufile_file *f,
					 const struct rn_cufile_io *io);

/* Performs a transfer. Returns bytes, or minus a positive errno or CUfileOpError. */
ssize_t rn_cufile_transfer(struct rn_cufile_file *f, const struct rn_cufile_io *io);

/* ---------------------------------------------------------------------- stats.c */
/* The counters; with the lock held. NULL members of a page are never there: without a
 * file the page is memory of the process.
 */
struct rn_cufile_page *rn_cufile_page(void);
void rn_cufile_stats_open(const struct rn_cufile_settings *s);
void rn_cufile_stats_close(void);

/* Counts a success or failure in one of the counters of level 1, by its offset. */
void rn_cufile_count(size_t offset, bool is_ok);
#define RN_CUFILE_COUNT(counter, is_ok) \
	rn_cufile_count(offsetof(CUfileStatsLevel1_t, counter), is_ok)

/* What is counted of one transfer. */
struct rn_cufile_done {
	bool is_write, is_batch;
	int gpu;	/* -1: host memory */
	ssize_t result; /* bytes; negative: it has failed */
	size_t size;	/* bytes that were asked for */
	enum rn_storage_way way;
	bool is_aligned;
	uint64_t ns; /* how long it took */
};
void rn_cufile_count_transfer(const struct rn_cufile_done *d);
void rn_cufile_count_buffer(int gpu, size_t bytes, bool is_ok, bool is_free);

static inline uint64_t rn_cufile_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif /* RN_CUFILE_INTERNAL_H */
