/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_stats_ended.c - counters do not fall when a program ends. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/io/host/runtime_dir.h"
#include "transport/io/rocind/stats_ended.h"

static char dir[] = "/tmp/rocin-ended-XXXXXX", path[128];

static int make_dir(void **state)
{
	char name[64];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	rn_runtime_name(name, sizeof(name), "counters", "");
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

/* A program that has sent so many packets. */
static int make_page(uint64_t sent, uint32_t counters)
{
	const struct rn_stats_page page = { .magic = RN_STATS_PAGE_MAGIC,
					    .version = RN_STATS_PAGE_VERSION,
					    .counter_count = counters,
					    .counter = { [RN_STAT_TX_PACKETS] = sent } };
	int fd = memfd_create("page", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &page, sizeof(page)), sizeof(page));
	return fd;
}

static void end_program(const char *ibdev, uint64_t sent)
{
	int fd = make_page(sent, RN_STAT_COUNT);

	assert_int_equal(rn_stats_ended_add(dir, ibdev, fd), 0);
	close(fd);
}

static uint64_t sent_by(const char *ibdev, uint64_t *number)
{
	uint64_t counter[RN_STAT_COUNT];

	*number = rn_stats_ended_read(dir, ibdev, counter);
	return counter[RN_STAT_TX_PACKETS];
}

static void programs_are_added_to_their_device(void **state)
{
	uint64_t number;

	(void)state;
	assert_int_equal(sent_by("rocin0", &number), 0);
	assert_int_equal(number, 0);
	end_program("rocin0", 5);
	end_program("rocin1", 100);
	end_program("rocin0", 7);
	assert_int_equal(sent_by("rocin0", &number), 12);
	assert_int_equal(number, 3);
	assert_int_equal(sent_by("rocin1", &number), 100);
	assert_int_equal(sent_by("rocin2", &number), 0);
}

/* A rocind that dies after it has added a page leaves the program to its successor. */
static void a_page_is_added_once(void **state)
{
	int fd = make_page(5, RN_STAT_COUNT);
	uint64_t number;

	(void)state;
	assert_int_equal(rn_stats_ended_add(dir, "rocin0", fd), 0);
	assert_int_equal(rn_stats_ended_add(dir, "rocin0", fd), 0);
	assert_int_equal(sent_by("rocin0", &number), 5);
	assert_int_equal(number, 1);
	close(fd);
}

static void a_fifo_in_place_of_the_file_has_no_counters(void **state)
{
	int fd = make_page(5, RN_STAT_COUNT);
	uint64_t number;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sent_by("rocin0", &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(rn_stats_ended_add(dir, "rocin0", fd), -EINVAL);
	close(fd);
}

static void what_a_page_says_is_not_believed(void **state)
{
	int fd = make_page(5, RN_STAT_TX_PACKETS); /* of an older program */
	uint64_t number;

	(void)state;
	assert_int_equal(rn_stats_ended_add(dir, "rocin0", fd), 0);
	assert_int_equal(sent_by("rocin0", &number), 0);
	close(fd);
	fd = make_page(5, UINT32_MAX);
	assert_int_equal(rn_stats_ended_add(dir, "rocin0", fd), 0);
	assert_int_equal(sent_by("rocin0", &number), 5);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(rn_stats_ended_add(dir, "rocin0", fd), -EPROTO);
	close(fd);
}

static void a_file_that_is_none_of_ours_begins_anew(void **state)
{
	uint64_t number;
	int fd;

	(void)state;
	end_program("rocin0", 5);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "oops", 4, 0), 4);
	close(fd);
	assert_int_equal(sent_by("rocin0", &number), 0);
	end_program("rocin0", 7);
	assert_int_equal(sent_by("rocin0", &number), 7);
}

static void devices_that_are_too_many_are_left_out(void **state)
{
	char name[32];
	uint64_t number;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "rocin%u", i);
		end_program(name, 1 + i);
	}
	assert_int_equal(sent_by("rocin31", &number), 32);
	assert_int_equal(sent_by("rocin32", &number), 0);
	assert_int_equal(sent_by("", &number), 0);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_teardown(fn, remove_file)
	const struct CMUnitTest tests[] = {
		TEST(programs_are_added_to_their_device),
		TEST(a_page_is_added_once),
		TEST(a_fifo_in_place_of_the_file_has_no_counters),
		TEST(what_a_page_says_is_not_believed),
		TEST(a_file_that_is_none_of_ours_begins_anew),
		TEST(devices_that_are_too_many_are_left_out),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
