/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder.c - the file of a recording, to which the hook (hook.h) sends its records.
 *
 * A constructor installs the hook in each program that is linked with rn_recorder, so the
 * program calls no function of this file. recording.h describes the contents of the file
 * of the recording.
 *
 *   ROCIN_RECORD        the file, named as rn_free_name_open() says
 *   ROCIN_RECORD_LIMIT  size of the file at which the recording ends, in bytes; the run
 *                       goes on
 *
 * There is one file per process, for all its devices. A fork() child that opens a device
 * has a file of its own. A part of the file (the window) is mapped, and records are
 * written to the mapping. So if the program is killed, the file contains everything up to
 * that moment, although there is no system call for each record. The disk blocks of the
 * window are allocated before it is used, so a full disk ends the recording, not the
 * program. If another process truncates the file, that also ends only the recording:
 * records are built outside of the mapped file, and copied with the guard against memory
 * faults. If a recording ends early, that is reported once, on stderr.
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

#include "hook.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/memory/mem_direct.h"
#include "transport/io/memory/mem_guard.h"

/* --------------------------------------------------- file of the recording */
enum {
	WINDOW = 8 << 20,
	/* Unit in bytes of the offsets at which parts of the file are mapped. It is a
	 * multiple of every page size.
	 */
	PAGE = 65536,
	HEADER_MAX = 4096, /* maximum bytes of the command line that are recorded */
};

#define LIMIT_DEFAULT (UINT64_C(1) << 30)

static struct {
	pthread_mutex_t lock;
	pid_t pid; /* process that owns the file; 0: none was opened */
	int fd;	   /* -1: none was opened, or the recording has ended */
	/* part of the file that is mapped and whose blocks are allocated */
	uint8_t *window;
	size_t size;   /* bytes of the window; 0: there is none */
	size_t used;   /* bytes of the window that have been written */
	uint64_t base; /* offset of the window in the file */
	uint64_t limit;
	bool failed;	  /* the recording has ended early */
	uint64_t numbers; /* bit mask of the device numbers in use */
	uint8_t scratch[RN_REC_MAX];
} file = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void close_window_locked(void)
{
	if (file.size)
		munmap(file.window, file.size);
	file.size = 0;
}

/* Reports on stderr that the recording ends early. */
static void fail_locked(const char *why)
{
	file.failed = true;
	rn_log(RN_LOG_ERROR, "the recording ends: %s", why);
	(void)dprintf(STDERR_FILENO, "rocin: the recording ends: %s\n", why);
}

static const char *const was_cut = "its file was made shorter by somebody";

/* Ends the recording. Cuts the file off behind the bytes that were written, because more
 * blocks were allocated in advance.
 */
static void finish_locked(void)
{
	uint64_t end = file.base + file.used;
	struct stat st;

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

/* Allocates blocks of the file from offset @base on: WINDOW bytes or, if the disk has no
 * room for so many, fewer bytes, but at least @need. Sets *@size to the number of bytes
 * and returns 0, or returns a positive errno.
 */
static int allocate_locked(uint64_t base, size_t need, size_t *size)
{
	struct rlimit most;
	int rc = ENOSPC;

	if (getrlimit(RLIMIT_FSIZE, &most))
		most.rlim_cur = RLIM_INFINITY;
	for (*size = WINDOW; *size >= need && *size >= PAGE; *size /= 2) {
		/* the system call would raise SIGXFSZ */
		if (base + *size > most.rlim_cur) {
			rc = EFBIG;
			continue;
		}
		do
			rc = posix_fallocate(file.fd, (off_t)base, (off_t)*size);
		while (rc == EINTR);
		if (rc != ENOSPC && rc != EFBIG && rc != EDQUOT)
			break;
	}
	return rc;
}

/* Maps the next part of the file as the window, from the page of the first unused byte
 * on, with room for at least @len more bytes. Returns false if that fails.
 */
static bool next_window_locked(size_t len)
{
	uint64_t at = file.base + file.used, base = at & ~(uint64_t)(PAGE - 1);
	size_t size;
	int rc = allocate_locked(base, (size_t)(at - base) + len, &size);
	void *window = rc ? NULL
			  : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd,
				 (off_t)base);

	if (rc || window == MAP_FAILED) {
		fail_locked(strerror(rc ? rc : errno));
		return false;
	}
	close_window_locked();
	file.window = window;
	file.size = size;
	file.base = base;
	file.used = (size_t)(at - base);
	return true;
}

/* Appends the first @len bytes of @scratch to the file. Returns false if that fails.
 * Saves and restores the guard (mem_guard.h) of this thread, because the thread may be
 * within a guarded access: the handler of a fault of the program may make the call that
 * is recorded.
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
	if (file.used + len > file.size && !next_window_locked(len))
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

static void put_locked(const struct rn_rec *rec)
{
	size_t len;

	if (file.fd < 0)
		return;
	if (file.base + file.used >= file.limit) {
		end_at_limit_locked();
		return;
	}
	len = rn_rec_put(rec, file.scratch, RN_REC_MAX);
	assert(len > 0); /* no record is longer than RN_REC_MAX */
	if (!append_locked(len))
		finish_locked();
}

/* ---------------------------------------------------- beginning of a file */
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

/* Called in a child of fork(): closes the parent's file. The child may open a file of its
 * own.
 */
static void forget_parent_locked(void)
{
	close_window_locked();
	if (file.fd >= 0)
		close(file.fd);
	file.base = file.used = 0;
	file.failed = false;
}

static bool open_locked(const char *pattern)
{
	char path[RN_FREE_NAME_MAX];

	if (file.pid == getpid())
		return file.fd >= 0;
	forget_parent_locked();
	file.pid = getpid();
	file.limit = read_limit();
	file.fd = rn_free_name_open(path, sizeof(path), pattern);
	if (file.fd < 0) {
		fail_locked(strerror(-file.fd));
		return false;
	}
	/* without direct access to memory, records are copied more slowly */
	(void)rn_mem_direct_init();
	if (!put_header_locked()) {
		finish_locked();
		return false;
	}
	rn_log(RN_LOG_INFO, "the run is recorded in %s", path);
	return true;
}

/* ------------------------------------------ the sink: receiver of the records */
static_assert(RN_REC_DEVS == 64, "file.numbers");

static int take_number_locked(struct rn_hook_dev *d)
{
	if (file.numbers == UINT64_MAX)
		return -ENOENT;
	d->number = (uint8_t)__builtin_ctzll(~file.numbers);
	file.numbers |= UINT64_C(1) << d->number;
	return 0;
}

static int open_device(struct rn_hook_sink *s, struct rn_hook_dev *d)
{
	const char *pattern = secure_getenv("ROCIN_RECORD");
	int rc;

	(void)s;
	if (!pattern || !*pattern)
		return -ENOENT;
	pthread_mutex_lock(&file.lock);
	if (open_locked(pattern))
		rc = take_number_locked(d);
	else
		rc = file.failed ? -EIO : -ENOENT;
	pthread_mutex_unlock(&file.lock);
	return rc;
}

static void close_device(struct rn_hook_sink *s, struct rn_hook_dev *d)
{
	(void)s;
	pthread_mutex_lock(&file.lock);
	file.numbers &= ~(UINT64_C(1) << d->number);
	pthread_mutex_unlock(&file.lock);
}

static bool put_record(struct rn_hook_sink *s, const struct rn_rec *rec)
{
	bool failed;

	(void)s;
	pthread_mutex_lock(&file.lock);
	put_locked(rec);
	failed = file.failed;
	pthread_mutex_unlock(&file.lock);
	return !failed;
}

static uint64_t address_of(const void *object)
{
	return (uintptr_t)object;
}

static struct rn_hook_sink file_sink = {
	.open = open_device, .close = close_device, .put = put_record, .id = address_of
};

/* ------------------------------------------------ start and end of the program */
/* Called in a child of fork(): makes the lock usable again. Another thread of the parent
 * may have held it at the time of the fork.
 */
static void after_fork(void)
{
	pthread_mutex_init(&file.lock, NULL);
}

static void __attribute__((constructor)) begin_with_program(void)
{
	(void)rn_hook_set(&file_sink);
	pthread_atfork(NULL, NULL, after_fork);
}

/* Ends the recording when the program ends. Runs after all destructors that have no
 * priority, because these may still call the core.
 */
static void __attribute__((destructor(101))) end_with_program(void)
{
	/* If a thread was killed while it held the lock, nobody will release the lock, so
	 * this thread does not wait for it.
	 */
	if (pthread_mutex_trylock(&file.lock) != 0)
		return;
	if (file.pid == getpid())
		finish_locked();
	pthread_mutex_unlock(&file.lock);
}
