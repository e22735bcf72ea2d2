/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder_file.c - the file that a recording goes to.
 *
 * A window of it is mapped, and room for the window is reserved first: a full disk ends
 * the recording, not the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "free_name.h"
#include "log.h"
#include "recorder_internal.h"

enum {
	WINDOW = 8 << 20,
	PAGE = 65536,	   /* a multiple of every page size */
	HEADER_MAX = 4096, /* bytes of the command line that are kept */
};

#define LIMIT_DEFAULT (UINT64_C(1) << 30)

static struct {
	pthread_mutex_t lock;
	pid_t pid; /* whose file it is; 0: none was opened */
	int fd;
	bool ended;
	uint8_t *window; /* NULL: none */
	uint64_t base;	 /* of the window in the file */
	size_t used;	 /* bytes of the window */
	uint64_t limit;
} file = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void close_window_locked(void)
{
	if (file.window)
		munmap(file.window, WINDOW);
	file.window = NULL;
}

/* The recording is over: cut off what was reserved. */
static void finish_locked(void)
{
	file.ended = true;
	if (file.fd < 0)
		return;
	close_window_locked();
	if (ftruncate(file.fd, (off_t)(file.base + file.used)))
		rn_log(RN_LOG_WARN, "cannot cut the recording: %s", strerror(errno));
	close(file.fd);
	file.fd = -1;
}

/* Move the window so that it begins with what is still free. */
static bool next_window_locked(void)
{
	uint64_t at = file.base + file.used, base = at & ~(uint64_t)(PAGE - 1);
	void *window;
	int rc = posix_fallocate(file.fd, (off_t)base, WINDOW);

	if (!rc) {
		window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd,
			      (off_t)base);
		rc = window == MAP_FAILED ? errno : 0;
	}
	if (rc) {
		rn_log(RN_LOG_ERROR, "the recording ends: %s", strerror(rc));
		return false;
	}
	close_window_locked();
	file.window = window;
	file.base = base;
	file.used = (size_t)(at - base);
	return true;
}

static void end_at_limit_locked(void)
{
	const struct rn_rec rec = { .kind = RN_REC_LIMIT, .dev = RN_REC_NO_DEV };

	file.used += rn_rec_put(&rec, file.window + file.used, WINDOW - file.used);
	rn_log(RN_LOG_WARN, "the recording has reached its limit of %llu bytes",
	       (unsigned long long)file.limit);
	finish_locked();
}

static void put_locked(const struct rn_rec *rec)
{
	size_t len;

	if (file.ended || file.fd < 0)
		return;
	if (WINDOW - file.used < RN_REC_MAX && !next_window_locked()) {
		finish_locked();
		return;
	}
	if (file.base + file.used >= file.limit) {
		end_at_limit_locked();
		return;
	}
	len = rn_rec_put(rec, file.window + file.used, RN_REC_MAX);
	assert(len > 0); /* RN_REC_MAX is more than any call takes */
	file.used += len;
}

void rn_recorder_put(const struct rn_rec *rec)
{
	pthread_mutex_lock(&file.lock);
	put_locked(rec);
	pthread_mutex_unlock(&file.lock);
}

/* -------------------------------------------------------------------- begin */
static uint64_t read_limit(void)
{
	const char *text = secure_getenv("ROCIN_RECORD_LIMIT");
	char *end;
	uint64_t limit;

	if (!text || *text < '0' || *text > '9')
		return LIMIT_DEFAULT;
	limit = strtoull(text, &end, 10);
	return *end ? LIMIT_DEFAULT : limit;
}

static uint32_t read_command(uint8_t *buf)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, HEADER_MAX);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (uint32_t)n;
}

static void put_header_locked(void)
{
	const char *fault = secure_getenv("ROCIN_FAULT");
	uint8_t command[HEADER_MAX];
	struct rn_rec_header h = {
		.version = RN_REC_VERSION,
		.pid = (uint32_t)getpid(),
		.date = (uint64_t)time(NULL),
		.rocin = (const uint8_t *)ROCIN_VERSION,
		.rocin_len = sizeof(ROCIN_VERSION) - 1,
		.command = command,
		.command_len = read_command(command),
		.fault = (const uint8_t *)(fault ? fault : ""),
	};

	h.fault_len = (uint32_t)strnlen((const char *)h.fault, HEADER_MAX);
	file.used = rn_rec_put_header(&h, file.window, WINDOW);
}

/* A fork child writes nothing to its parent's file, and may get one of its own. */
static void forget_parent_locked(void)
{
	close_window_locked();
	if (file.fd >= 0)
		close(file.fd);
	file.fd = -1;
	file.base = file.used = 0;
	file.ended = false;
}

static bool open_locked(const char *pattern)
{
	char path[RN_FREE_NAME_MAX];

	if (file.pid == getpid())
		return !file.ended;
	if (file.pid)
		forget_parent_locked();
	file.pid = getpid();
	file.limit = read_limit();
	file.fd = rn_free_name_open(path, sizeof(path), pattern);
	if (file.fd < 0) {
		rn_log(RN_LOG_ERROR, "cannot record to %s: %s", pattern,
		       strerror(-file.fd));
		file.ended = true;
		return false;
	}
	if (!next_window_locked()) {
		finish_locked();
		return false;
	}
	put_header_locked();
	rn_log(RN_LOG_INFO, "the run is recorded in %s", path);
	return true;
}

bool rn_recorder_open(void)
{
	const char *pattern = secure_getenv("ROCIN_RECORD");
	bool rc;

	if (!pattern || !*pattern)
		return false;
	pthread_mutex_lock(&file.lock);
	rc = open_locked(pattern);
	pthread_mutex_unlock(&file.lock);
	return rc;
}

/* Another thread may have held a lock when fork() copied it. */
static void after_fork(void)
{
	pthread_mutex_init(&file.lock, NULL);
	rn_rec_dev_after_fork();
	rn_rec_objects_after_fork();
}

static void __attribute__((constructor)) begin_with_program(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

/* After the destructors without a priority, which may still call the core. */
static void __attribute__((destructor(101))) end_with_program(void)
{
	/* A thread may have been ended while it held the lock. */
	if (pthread_mutex_trylock(&file.lock) != 0)
		return;
	if (file.pid == getpid())
		finish_locked();
	pthread_mutex_unlock(&file.lock);
}
