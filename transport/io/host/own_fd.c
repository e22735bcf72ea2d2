/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_fd.c - Rocin's own descriptors in a program's process, and files that it writes
 * there; see own_fd.h.
 */
#include "own_fd.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write_all.h"

enum {
	WORDS = RN_OWN_FD_MAX / 64,
};

struct identity {
	dev_t dev;
	/* Inode number. Descriptors without a file, such as eventfds, have equal inode
	 * numbers.
	 */
	ino_t ino;
};

/* Which descriptors are kept, one bit for each, and the identity of each. Both are
 * changed with @lock held; the bits are also read without it. The lock is also held
 * while the identity of a kept descriptor is compared, so that no other thread can close
 * it and keep a new file under the same number meanwhile. In a fork child the lock is
 * free.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t kept[WORDS];
/* Number of words of @kept from the first to the last one that has ever had a bit. The
 * engine looks at all of them each millisecond.
 */
static atomic_int words_used;
static struct identity identities[RN_OWN_FD_MAX];
static _Atomic pid_t owner;
static atomic_flag watched = ATOMIC_FLAG_INIT;

static bool identify_fd(int fd, struct identity *id)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	*id = (struct identity){ .dev = st.st_dev, .ino = st.st_ino };
	return true;
}

static bool is_kept(int fd)
{
	return fd >= 0 && fd < RN_OWN_FD_MAX &&
	       atomic_load(&kept[fd / 64]) >> fd % 64 & 1;
}

int rn_own_fd_next(int from)
{
	const int end = atomic_load(&words_used) * 64;
	uint64_t rest;
	int fd = from < 0 ? 0 : from;

	while (fd < end) {
		rest = atomic_load(&kept[fd / 64]) >> fd % 64;
		if (rest && atomic_load(&owner) != getpid())
			return RN_OWN_FD_NONE;
		if (rest)
			return fd + __builtin_ctzll(rest);
		fd = (fd / 64 + 1) * 64;
	}
	return RN_OWN_FD_NONE;
}

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
	pthread_mutex_unlock(&lock);
}

static void offer_to_watcher(void)
{
	void *at = dlsym(RTLD_DEFAULT, RN_FD_WATCH_SYMBOL);
	rn_fd_watch_fn *watch;

	if (!at)
		return;
	/* ISO C has no cast from an object pointer to a function pointer. */
	memcpy(&watch, &at, sizeof(watch));
	watch(rn_own_fd_next);
}

int rn_own_fd_keep(int fd)
{
	int saved = errno;

	if (!atomic_flag_test_and_set(&watched)) {
		pthread_atfork(take_lock, give_lock, give_lock);
		offer_to_watcher();
	}
	take_lock();
	if (fd >= 0 && fd < RN_OWN_FD_MAX && identify_fd(fd, &identities[fd])) {
		atomic_store(&owner, getpid());
		if (fd / 64 >= atomic_load(&words_used))
			atomic_store(&words_used, fd / 64 + 1);
		atomic_fetch_or(&kept[fd / 64], UINT64_C(1) << fd % 64);
	}
	give_lock();
	errno = saved;
	return fd;
}

static bool is_there_locked(int fd)
{
	struct identity now;

	if (!is_kept(fd))
		return true;
	return identify_fd(fd, &now) && now.dev == identities[fd].dev &&
	       now.ino == identities[fd].ino;
}

bool rn_own_fd_is_there(int fd)
{
	bool is_there;

	take_lock();
	is_there = is_there_locked(fd);
	give_lock();
	return is_there;
}

bool rn_own_fd_forget(int fd)
{
	bool is_there;

	take_lock();
	is_there = is_there_locked(fd);
	if (is_kept(fd))
		atomic_fetch_and(&kept[fd / 64], ~(UINT64_C(1) << fd % 64));
	give_lock();
	return is_there;
}

bool rn_own_fd_all_there(void)
{
	for (int fd = rn_own_fd_next(0); fd != RN_OWN_FD_NONE;
	     fd = rn_own_fd_next(fd + 1))
		if (!rn_own_fd_is_there(fd))
			return false;
	return true;
}

int rn_fd_raise(int fd)
{
	int high, err;

	if (fd > STDERR_FILENO)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	err = errno;
	close(fd);
	return high < 0 ? -err : high;
}

int rn_fd_own(int fd)
{
	if (fd < 0)
		return fd;
	fd = rn_fd_raise(fd);
	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	return rn_own_fd_keep(fd);
}

void rn_fd_close(int fd)
{
	int cancel_state;

	if (!rn_own_fd_forget(fd)) /* the number belongs to a file of the program now */
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	close(fd);
	pthread_setcancelstate(cancel_state, NULL);
}

/* ------------------------------------------------------------ output files */

enum {
	/* maximum number of other names to try after the given one */
	NAME_TRIES = 64,
};

/* Copy @pattern to @out, with "%p" replaced by the process id. Return: true; false if the
 * result does not fit into @out_len bytes.
 */
static bool expand_pid(char *out, size_t out_len, const char *pattern)
{
	size_t n = 0;

	while (*pattern && n < out_len) {
		if (pattern[0] == '%' && pattern[1] == 'p') {
			n += (size_t)snprintf(out + n, out_len - n, "%d", (int)getpid());
			pattern += 2;
		} else {
			out[n++] = *pattern++;
		}
	}
	if (n >= out_len)
		return false;
	out[n] = '\0';
	return true;
}

/* Open, lock and empty the file @name. Return: the descriptor; -EWOULDBLOCK if another
 * process holds the lock, that is, writes to the file; or another -errno.
 */
static int open_locked(const char *name)
{
	int low = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int fd, err = 0;

	if (low < 0)
		return -errno;
	fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || ftruncate(fd, 0) < 0)
		err = -errno;
	close(low);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

int rn_free_name_open(char *path, size_t size, const char *pattern)
{
	size_t base;
	int fd;

	if (!expand_pid(path, size, pattern))
		return -ENAMETOOLONG;
	base = strlen(path);
	fd = open_locked(path);
	for (unsigned i = 0; fd == -EWOULDBLOCK && i < NAME_TRIES; i++) {
		char tail[32];
		int n = i == 0 ? snprintf(tail, sizeof(tail), ".%d", (int)getpid())
			       : snprintf(tail, sizeof(tail), ".%d.%u", (int)getpid(), i);

		if (base + (size_t)n >= size)
			return -ENAMETOOLONG;
		memcpy(path + base, tail, (size_t)n + 1);
		fd = open_locked(path);
	}
	return fd;
}

void rn_own_file_init(struct rn_own_file *f, int fd)
{
	struct rlimit limit;

	*f = (struct rn_own_file){ .fd = fd, .pid = getpid(), .left = UINT64_MAX };
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		f->left = limit.rlim_cur;
}

void rn_own_file_write(struct rn_own_file *f, const void *data, size_t len)
{
	size_t fits = len < f->left ? len : (size_t)f->left;

	if (getpid() != f->pid)
		return;
	if (rn_write_all(f->fd, data, fits) && fits == len)
		f->left -= len;
	else
		f->left = 0;
}
