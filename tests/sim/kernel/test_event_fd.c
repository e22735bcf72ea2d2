/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_event_fd.c - a pipe whose two ends are one descriptor. */
#include "sim/kernel/event_fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PROC "/proc/self/fd"

static char fifo_dir[PATH_MAX];

static int make_dir(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(fifo_dir, sizeof(fifo_dir), "%.2000s/rocin-test-XXXXXX",
		 tmp ? tmp : "/tmp");
	return mkdtemp(fifo_dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(fifo_dir); /* fails if a FIFO was left in it */
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir(PROC);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void assert_carries_events(int fd)
{
	uint64_t event = 0x1122334455667788, got = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(poll(&p, 1, 0), 0); /* nothing yet, and no POLLHUP */
	assert_int_equal(write(fd, &event, sizeof(event)), sizeof(event));
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(p.revents, POLLIN);
	assert_int_equal(read(fd, &got, sizeof(got)), sizeof(got));
	assert_int_equal(got, event);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(fd, &got, sizeof(got)), -1);
	assert_int_equal(errno, EAGAIN);
}

static void events_come_back_through_the_same_descriptor(void **state)
{
	unsigned before = open_descriptors();
	int fd = rnk_event_fd_open(PROC, NULL);

	(void)state;
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(open_descriptors(), before + 1);
	assert_carries_events(fd);
	close(fd);
}

/* The provider's way in: its own description, with flags of its own. */
static void a_second_description_writes_into_the_same_pipe(void **state)
{
	uint64_t event = 42, got = 0;
	char path[64];
	int fd = rnk_event_fd_open(PROC, NULL);
	int writer;

	(void)state;
	snprintf(path, sizeof(path), PROC "/%d", fd);
	writer = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(writer >= 0);
	assert_int_equal(write(writer, &event, sizeof(event)), sizeof(event));
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(read(fd, &got, sizeof(got)), sizeof(got));
	assert_int_equal(got, event);
	close(writer);
	close(fd);
}

static void without_proc_a_fifo_serves(void **state)
{
	unsigned before = open_descriptors();
	int fd = rnk_event_fd_open("/missing", fifo_dir);

	(void)state;
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(open_descriptors(), before + 1);
	assert_carries_events(fd);
	close(fd);
}

static void without_proc_and_fifo_there_is_an_error_and_no_leak(void **state)
{
	unsigned before = open_descriptors();

	(void)state;
	assert_int_equal(rnk_event_fd_open("/missing", NULL), -ENOENT);
	assert_int_equal(rnk_event_fd_open("/missing", "/also-missing"), -ENOENT);
	assert_int_equal(open_descriptors(), before);
}

static void the_standard_descriptors_are_never_used(void **state)
{
	int saved[3], fd[2];

	(void)state;
	for (int i = 0; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
		close(i);
	}
	fd[0] = rnk_event_fd_open(PROC, NULL);
	fd[1] = rnk_event_fd_open("/missing", fifo_dir);
	for (int i = 0; i < 3; i++) {
		errno = 0;
		/* Free again, and so it stays: nothing below is open. */
		if (fcntl(i, F_GETFD) != -1)
			fd[0] = -1000 - i;
		if (saved[i] >= 0) {
			dup2(saved[i], i);
			close(saved[i]);
		}
	}
	assert_true(fd[0] > STDERR_FILENO);
	assert_true(fd[1] > STDERR_FILENO);
	assert_int_equal(fcntl(fd[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd[0]);
	close(fd[1]);
}

/* One more descriptor allowed each time, until it works. */
static void the_descriptor_limit_gives_emfile_and_no_leak(void **state)
{
	struct rlimit saved, tight;
	unsigned before = open_descriptors();
	int probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fd = -1;

	(void)state;
	assert_true(probe >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	tight = saved;
	for (unsigned extra = 1; fd < 0; extra++) {
		assert_true(extra <= 64); /* some of them may be open already */
		tight.rlim_cur = (rlim_t)probe + extra;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
		fd = rnk_event_fd_open(PROC, fifo_dir);
		setrlimit(RLIMIT_NOFILE, &saved);
		if (fd < 0)
			assert_int_equal(fd, -EMFILE);
	}
	close(fd);
	close(probe);
	assert_int_equal(open_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_back_through_the_same_descriptor),
		cmocka_unit_test(a_second_description_writes_into_the_same_pipe),
		cmocka_unit_test(without_proc_a_fifo_serves),
		cmocka_unit_test(without_proc_and_fifo_there_is_an_error_and_no_leak),
		cmocka_unit_test(the_standard_descriptors_are_never_used),
		cmocka_unit_test(the_descriptor_limit_gives_emfile_and_no_leak),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
