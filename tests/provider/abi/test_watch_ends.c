/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_watch_ends.c - the files by which processes with --validate know of each other:
 * which process owns a file, and the places of objects in it.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/abi/watch.h"
#include "provider/validate/model/model.h"
#include "transport/io/host/runtime_dir.h"

enum {
	OBJECTS = 3,
	DEVICE = 5,
	COUNT_AT = 12, /* offset of the number of places that were ever used */
};

static char dir[64];

static int start(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/rocin-ends-XXXXXX");
	return mkdtemp(dir) ? setenv("ROCIN_RUNTIME_DIR", dir, 1) : -1;
}

static int stop(void **state)
{
	(void)state;
	rnp_ends_stop();
	unsetenv("ROCIN_RUNTIME_DIR");
	return rmdir(dir); /* succeeds only if no file is left */
}

/* Returns the path of a process's file. */
static const char *file_of(const char *process)
{
	static char path[256];
	char name[128];

	rn_runtime_name(name, sizeof(name), "validate", process);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static const char *own_file(void)
{
	char process[32];

	(void)snprintf(process, sizeof(process), ".%d", (int)getpid());
	return file_of(process);
}

static int make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* A file of a killed process is removed. A running process holds the lock of its file, so
 * its file stays.
 */
static void files_without_an_owner_are_removed(void **state)
{
	int living, foreign;

	(void)state;
	close(make(file_of(".999999991")));
	living = make(file_of(".999999992"));
	assert_int_equal(flock(living, LOCK_EX | LOCK_NB), 0);
	foreign = make(file_of("-x"));
	rnp_ends_start();
	assert_true(is_there(own_file()));
	assert_false(is_there(file_of(".999999991")));
	assert_true(is_there(file_of(".999999992")));
	assert_true(is_there(file_of("-x"))); /* a file with another name stays, too */
	assert_int_equal(unlink(file_of(".999999992")), 0);
	assert_int_equal(unlink(file_of("-x")), 0);
	close(living);
	close(foreign);
	rnp_ends_stop();
	assert_false(is_there(own_file()));
}

/* Reports that a region was registered, or that it is gone. */
static void tell(struct rn_val_object *mr)
{
	struct rn_val_event e = { .kind = mr->is_gone ? RN_VAL_DESTROY : RN_VAL_MAKE,
				  .is_done = true,
				  .object = mr };

	rnp_ends_told(NULL, &e);
}

static bool is_known(uint32_t rkey)
{
	struct rn_val_end end = { 0 };
	bool is = rnp_ends.find_mr((uint32_t)getpid(), DEVICE, rkey, &end);

	assert_int_equal(end.process, getpid());
	assert_int_equal(end.kind, is ? RN_VAL_END_MR : RN_VAL_END_NONE);
	return is;
}

static uint32_t places(void)
{
	uint32_t count = 0;
	int fd = open(own_file(), O_RDONLY | O_CLOEXEC);

	assert_int_equal(pread(fd, &count, sizeof(count), COUNT_AT), sizeof(count));
	close(fd);
	return count;
}

static void places_of_objects_that_are_gone_are_used_again(void **state)
{
	struct rn_val_object context = { .kind = RN_VAL_CONTEXT, .number = DEVICE };
	struct rn_val_object mr[OBJECTS];

	(void)state;
	rnp_ends_start();
	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < OBJECTS; i++) {
			mr[i] = (struct rn_val_object){ .kind = RN_VAL_MR,
							.context = &context,
							.mr.rkey =
								0x100 * (1 + round) + i };
			tell(&mr[i]);
		}
		for (uint32_t i = 0; i < OBJECTS; i++) {
			assert_true(is_known(mr[i].mr.rkey));
			mr[i].is_gone = true;
			tell(&mr[i]);
			assert_false(is_known(mr[i].mr.rkey));
		}
	}
	assert_int_equal(places(), OBJECTS);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(files_without_an_owner_are_removed),
		TEST(places_of_objects_that_are_gone_are_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
