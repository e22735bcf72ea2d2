/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_own_file.c - files to write to that nobody else writes to, and their names. */
#include "transport/io/host/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	ROOM = 256,
	CANARY = 0x5a, /* behind the room that is given */
};

static char dir[64];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/rocin-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir); /* each test removes its files */
}

static const char *below(const char *name)
{
	static char path[ROOM];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* With @size bytes for the name, and not one more. */
static int open_in(size_t size, const char *pattern, char path[ROOM])
{
	int fd;

	memset(path, CANARY, ROOM);
	fd = rn_free_name_open(path, size, pattern);
	for (size_t i = size; i < ROOM; i++)
		assert_int_equal(path[i], CANARY);
	return fd;
}

static void an_old_file_is_emptied(void **state)
{
	char path[ROOM];
	struct stat st;
	int fd = open(below("old"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "words", 5), 5);
	close(fd);
	fd = open_in(ROOM, below("old"), path);
	assert_true(fd > STDERR_FILENO);
	assert_string_equal(path, below("old"));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(fd);
	unlink(path);
}

static void a_file_that_is_written_to_is_left_alone(void **state)
{
	char path[3][ROOM], want[ROOM];
	struct stat st;
	int fd[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		fd[i] = open_in(ROOM, below("taken"), path[i]);
		assert_true(fd[i] >= 0);
		assert_int_equal(write(fd[i], "words", 5), 5);
	}
	assert_string_equal(path[0], below("taken"));
	snprintf(want, sizeof(want), "%s.%d", below("taken"), (int)getpid());
	assert_string_equal(path[1], want);
	snprintf(want, sizeof(want), "%s.%d.1", below("taken"), (int)getpid());
	assert_string_equal(path[2], want);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(fstat(fd[i], &st), 0);
		assert_int_equal(st.st_size, 5);
		close(fd[i]);
		unlink(path[i]);
	}
}

static void the_process_stands_wherever_the_name_wants_it(void **state)
{
	char path[ROOM], want[ROOM];
	int fd = open_in(ROOM, below("%p-%p.%%x"), path);

	(void)state;
	assert_true(fd >= 0);
	snprintf(want, sizeof(want), "%s/%d-%d.%%%%x", dir, (int)getpid(), (int)getpid());
	assert_string_equal(path, want);
	close(fd);
	unlink(path);
}

/* Of @pattern, which becomes @name. */
static void expect_room_for_all_of_it(const char *pattern, const char *name)
{
	char path[ROOM];
	int fd;

	for (size_t size = strlen(dir); size <= strlen(name); size++) {
		assert_int_equal(open_in(size, pattern, path), -ENAMETOOLONG);
		assert_int_equal(access(name, F_OK), -1);
	}
	fd = open_in(strlen(name) + 1, pattern, path);
	assert_true(fd >= 0);
	assert_string_equal(path, name);
	close(fd);
	unlink(name);
}

static void a_name_that_does_not_fit_is_refused(void **state)
{
	char name[ROOM];

	(void)state;
	snprintf(name, sizeof(name), "%s", below("plain"));
	expect_room_for_all_of_it(name, name);
	snprintf(name, sizeof(name), "%s/of-%d", dir, (int)getpid());
	expect_room_for_all_of_it(below("of-%p"), name);
	snprintf(name, sizeof(name), "%s/%d.end", dir, (int)getpid());
	expect_room_for_all_of_it(below("%p.end"), name);
}

static void a_tail_that_does_not_fit_is_refused(void **state)
{
	char taken[ROOM], name[ROOM];
	int fd = open_in(ROOM, below("taken"), taken);

	(void)state;
	assert_true(fd >= 0);
	snprintf(name, sizeof(name), "%s.%d", taken, (int)getpid());
	expect_room_for_all_of_it(taken, name);
	close(fd);
	unlink(taken);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_old_file_is_emptied),
		TEST(a_file_that_is_written_to_is_left_alone),
		TEST(the_process_stands_wherever_the_name_wants_it),
		TEST(a_name_that_does_not_fit_is_refused),
		TEST(a_tail_that_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
