/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_secret.c - numbers from the kernel, and the salt of a user's GUIDs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocin/netdev.h"
#include "transport/io/host/secret.h"

static bool is_denied;

ssize_t __real_getrandom(void *buf, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags)
{
	if (!is_denied)
		return __real_getrandom(buf, len, flags);
	errno = EPERM;
	return -1;
}

int __wrap_open(const char *path, int flags, ...)
{
	if (is_denied && strcmp(path, "/dev/urandom") == 0) {
		errno = ENOENT;
		return -1;
	}
	return __real_open(path, flags, 0600);
}

/* ------------------------------------------------------------------- numbers */
static void numbers_differ(void **state)
{
	(void)state;
	assert_true(rn_secret() != rn_secret());
}

/* Not even a sandbox that denies all sources makes them equal, or zero. */
static void numbers_differ_without_the_kernel(void **state)
{
	uint64_t first, second;

	(void)state;
	is_denied = true;
	first = rn_secret();
	second = rn_secret();
	is_denied = false;
	assert_true(first != 0 && first != second);
}

/* ---------------------------------------------------------------------- salt */
static char dir[2][64];

static int setup(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(dir[i], sizeof(dir[i]), "/tmp/rocin-salt-XXXXXX");
		if (!mkdtemp(dir[i]))
			return -1;
	}
	return setenv("ROCIN_RUNTIME_DIR", dir[0], 1);
}

static int teardown(void **state)
{
	char path[96];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/guid-salt", dir[i]);
		unlink(path);
		if (rmdir(dir[i])) /* nothing else was left in it */
			return -1;
	}
	return 0;
}

static uint64_t guid_in(const char *runtime_dir)
{
	struct rn_netdev dev;

	setenv("ROCIN_RUNTIME_DIR", runtime_dir, 1);
	assert_int_equal(rn_netdev_discover("lo:127.0.0.9", &dev, 1, NULL, 0), 1);
	return dev.node_guid;
}

static void a_guid_is_that_of_the_directory(void **state)
{
	uint64_t guid = guid_in(dir[0]);

	(void)state;
	assert_true(guid_in(dir[1]) != guid);
	assert_true(guid_in(dir[0]) == guid);
}

static void the_salt_is_for_its_user_alone(void **state)
{
	char path[96];
	struct stat st;

	(void)state;
	(void)guid_in(dir[0]);
	snprintf(path, sizeof(path), "%s/guid-salt", dir[0]);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 8);
}

/* Nobody writes to a fifo that somebody has put there, and it is not waited for. */
static void a_fifo_in_place_of_the_salt_is_none(void **state)
{
	char path[96];
	uint64_t guid;

	(void)state;
	snprintf(path, sizeof(path), "%s/guid-salt", dir[0]);
	assert_int_equal(mkfifo(path, 0600), 0);
	guid = guid_in(dir[0]);
	assert_true(guid != 0);
	assert_true(guid_in(dir[0]) == guid);
}

/* Many processes that begin at once agree. */
static void processes_at_once_have_one_salt(void **state)
{
	int pipes[2];
	uint64_t guid, first = 0;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	for (unsigned i = 0; i < 16; i++)
		if (fork() == 0) {
			guid = guid_in(dir[1]);
			_exit(write(pipes[1], &guid, sizeof(guid)) != sizeof(guid));
		}
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(read(pipes[0], &guid, sizeof(guid)), sizeof(guid));
		assert_true(guid != 0 && (!first || guid == first));
		first = guid;
	}
	while (wait(NULL) > 0)
		;
	close(pipes[0]);
	close(pipes[1]);
}

static void without_a_directory_there_is_a_guid_nevertheless(void **state)
{
	(void)state;
	assert_true(guid_in("/proc/nowhere") != 0);
	assert_true(guid_in("/proc/nowhere") == guid_in("/proc/nowhere"));
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_differ),
		cmocka_unit_test(numbers_differ_without_the_kernel),
		TEST(a_guid_is_that_of_the_directory),
		TEST(the_salt_is_for_its_user_alone),
		TEST(a_fifo_in_place_of_the_salt_is_none),
		TEST(processes_at_once_have_one_salt),
		TEST(without_a_directory_there_is_a_guid_nevertheless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
