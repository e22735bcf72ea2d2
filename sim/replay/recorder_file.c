/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder_file.c - the file that a recording goes to.
 *
 * A window of it is mapped, and room in the file is reserved first: a full disk ends the
 * recording, not the program. So does somebody who makes the file shorter meanwhile:
 * records are put together in memory of our own, and copied as what may be gone is.
 * Whoever waits for a recording is told, once, on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder_internal.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_file.h"
#include "transport/io/memory/mem_direct.h"
#include "transport/io/memory/mem_guard.h"

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
	size_t reserved; /* bytes of the window that the file has room for */
	uint64_t limit;
	bool failed;	/* it ended before its time */
	uint64_t *lost; /* counter of a device, or NULL */
	uint8_t scratch[RN_REC_MAX];
} file = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void close_window_locked(void)
{
	if (file.window)
		munmap(file.window, WINDOW);
	file.window = NULL;
}

/* It is not what the user asked for. */
static void fail_locked(const char *why)
{
	file.failed = true;
	rn_log(RN_LOG_ERROR, "the recording ends: %s", why);
	(void)dprintf(STDERR_FILENO, "rocin: the recording ends: %s\n", why);
}

static const char *const was_cut = "its file was made shorter by somebody";

/* The recording is over: cut off what was reserved. */
static void finish_locked(void)
{
	uint64_t end = file.base + file.used;
	struct stat st;

	file.ended = true;
	if (file.fd < 0)
		return;
	close_window_locked();
	if (fstat(file.fd, &st) == 0 && (uint64_t)st.st_size < end) {
		if (!file.failed)
			fail_locked(was_cut);
	} else if (ftruncate(file.fd, (off_t)end)) {
		rn_log(RN_LOG_WARN, "cannot cut the recording: %s", strerror(errno));
	}
	close(file.fd);
	file.fd = -1;
}

/* Room for @need bytes from @base on, and for more if there is. Return: 0 or errno. */
static int reserve_locked(uint64_t base, size_t need)
{
	struct rlimit most;
	int rc = ENOSPC;

	if (getrlimit(RLIMIT_FSIZE, &most))
		most.rlim_cur = RLIM_INFINITY;
	for (size_t size = WINDOW; size >= need && size >= PAGE; size /= 2) {
		if (base + size > most.rlim_cur) { /* to ask would raise SIGXFSZ */
			rc = EFBIG;
			continue;
		}
		do
			rc = posix_fallocate(file.fd, (off_t)base, (off_t)size);
		while (rc == EINTR);
		if (!rc)
			file.reserved = size;
		if (rc != ENOSPC && rc != EFBIG && rc != EDQUOT)
			break;
	}
	return rc;
}

/* Move the window so that it begins with what is still free, for @len bytes. */
static bool next_window_locked(size_t len)
{
	uint64_t at = file.base + file.used, base = at & ~(uint64_t)(PAGE - 1);
	int rc = reserve_locked(base, (size_t)(at - base) + len);
	void *window = NULL;

	if (!rc) {
		window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd,
			      (off_t)base);
		rc = window == MAP_FAILED ? errno : 0;
	}
	if (rc) {
		fail_locked(strerror(rc));
		return false;
	}
	close_window_locked();
	file.window = window;
	file.base = base;
	file.used = (size_t)(at - base);
	return true;
}

/* The first @len bytes of scratch. A trapped access of the program may be what is
 * recorded: then this thread stands in a guarded access already.
 */
static bool copy_locked(size_t len)
{
	static const struct rn_mem_attr none;
	struct rn_guard *outer = rn_guard_thread.current;
	uintptr_t to = (uintptr_t)file.window + file.used;
	enum rn_mem_result result;

	result = rn_mem_direct_ops.write(NULL, to, file.scratch, (uint32_t)len, none);
	rn_guard_thread.current = outer;
	if (result != RN_MEM_DONE) {
		fail_locked(was_cut);
		return false;
	}
	file.used += len;
	return true;
}

static bool append_locked(size_t len)
{
	if (file.used + len > file.reserved && !next_window_locked(len))
		return false;
	return copy_locked(len);
}

static void end_at_limit_locked(void)
{
	const struct rn_rec rec = { .kind = RN_REC_LIMIT, .dev = RN_REC_NO_DEV };

	(void)append_locked(rn_rec_put(&rec, file.scratch, RN_REC_MAX));
	rn_log(RN_LOG_WARN, "the recording has reached its limit of %llu bytes",
	       (unsigned long long)file.limit);
	finish_locked();
}

static void count_lost_locked(void)
{
	if (file.failed && file.lost)
		__atomic_fetch_add(file.lost, 1, __ATOMIC_RELAXED);
}

static void put_locked(const struct rn_rec *rec)
{
	size_t len;

	if (file.ended || file.fd < 0) {
		count_lost_locked();
		return;
	}
	if (file.base + file.used >= file.limit) {
		end_at_limit_locked();
		return;
	}
	len = rn_rec_put(rec, file.scratch, RN_REC_MAX);
	assert(len > 0); /* RN_REC_MAX is more than any call takes */
	if (append_locked(len))
		return;
	finish_locked();
	count_lost_locked();
}

void rn_recorder_put(const struct rn_rec *rec)
{
	pthread_mutex_lock(&file.lock);
	put_locked(rec);
	pthread_mutex_unlock(&file.lock);
}

void rn_recorder_count_in(uint64_t *counter)
{
	pthread_mutex_lock(&file.lock);
	file.lost = counter;
	count_lost_locked(); /* it may have failed to begin */
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

static bool put_header_locked(void)
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
	return append_locked(rn_rec_put_header(&h, file.scratch, RN_REC_MAX));
}

/* A fork child writes nothing to its parent's file, and may get one of its own. */
static void forget_parent_locked(void)
{
	close_window_locked();
	if (file.fd >= 0)
		close(file.fd);
	file.fd = -1;
	file.base = file.used = file.reserved = 0;
	file.ended = file.failed = false;
	file.lost = NULL;
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
		fail_locked(strerror(-file.fd));
		file.ended = true;
		return false;
	}
	(void)rn_mem_direct_init(); /* without it records are copied by other means */
	if (!put_header_locked()) {
		finish_locked();
		return false;
	}
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
