/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_runtime_dir.c - the private directory: which one, and which are refused. */
#include "runtime_dir.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64];

static int setup(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/tmp/rocin-dir-XXXXXX");
	unsetenv("ROCIN_RUNTIME_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("TMPDIR");
	return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	return system(command);
}

static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static int find(char dir[RN_RUNTIME_PATH_MAX], char why[256])
{
	why[0] = '\0';
	return rn_runtime_dir(dir, RN_RUNTIME_PATH_MAX, why, 256);
}

static void an_explicit_directory_is_made_private(void **state)
{
	char dir[RN_RUNTIME_PATH_MAX], why[256];
	struct stat st;

	(void)state;
	setenv("ROCIN_RUNTIME_DIR", below("mine//"), 1);
	setenv("XDG_RUNTIME_DIR", base, 1);
	for (unsigned again = 0; again < 2; again++) {
		assert_int_equal(find(dir, why), 0);
		assert_string_equal(dir, below("mine"));
		assert_int_equal(stat(dir, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
	}
}

static void a_bad_explicit_directory_is_an_error_and_not_passed_over(void **state)
{
	char dir[RN_RUNTIME_PATH_MAX], why[256];

	(void)state;
	setenv("XDG_RUNTIME_DIR", base, 1);
	setenv("ROCIN_RUNTIME_DIR", "relative", 1);
	assert_int_equal(find(dir, why), -EINVAL);
	assert_non_null(strstr(why, "absolute"));

	setenv("ROCIN_RUNTIME_DIR", below("missing/dir"), 1);
	assert_int_equal(find(dir, why), -ENOENT);
	assert_non_null(strstr(why, "missing/dir"));

	assert_int_equal(mkdir(below("open"), 0700), 0);
	assert_int_equal(chmod(below("open"), 0750), 0);
	setenv("ROCIN_RUNTIME_DIR", below("open"), 1);
	assert_int_equal(find(dir, why), -EPERM);
	assert_non_null(strstr(why, "chmod 700"));

	assert_int_equal(symlink(base, below("link")), 0);
	setenv("ROCIN_RUNTIME_DIR", below("link"), 1);
	assert_int_equal(find(dir, why), -EPERM);
	assert_non_null(strstr(why, "symbolic link"));

	fclose(fopen(below("file"), "w"));
	setenv("ROCIN_RUNTIME_DIR", below("file"), 1);
	assert_int_equal(find(dir, why), -EPERM);
	assert_non_null(strstr(why, "not a directory"));
}

static void a_directory_of_another_user_is_refused(void **state)
{
	char dir[RN_RUNTIME_PATH_MAX], why[256];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(below("theirs"), 0700), 0);
	assert_int_equal(chown(below("theirs"), 12345, 12345), 0);
	setenv("ROCIN_RUNTIME_DIR", below("theirs"), 1);
	assert_int_equal(find(dir, why), -EPERM);
	assert_non_null(strstr(why, "belongs to user 12345"));
}

static void candidates_that_cannot_be_made_are_passed_over(void **state)
{
	char dir[RN_RUNTIME_PATH_MAX], why[256];

	(void)state;
	setenv("XDG_RUNTIME_DIR", base, 1);
	assert_int_equal(find(dir, why), 0);
	assert_string_equal(dir, below("rocin"));

	setenv("XDG_RUNTIME_DIR", below("missing"), 1);
	assert_int_equal(find(dir, why), 0);
	assert_null(strstr(dir, base));

	setenv("XDG_RUNTIME_DIR", "relative", 1);
	assert_int_equal(find(dir, why), 0);
	assert_int_equal(dir[0], '/');
}

static void a_candidate_open_to_others_is_an_error(void **state)
{
	char dir[RN_RUNTIME_PATH_MAX], why[256];

	(void)state;
	assert_int_equal(mkdir(below("rocin"), 0700), 0);
	assert_int_equal(chmod(below("rocin"), 0777), 0);
	setenv("XDG_RUNTIME_DIR", base, 1);
	assert_int_equal(find(dir, why), -EPERM);
}

static void names_carry_the_network_namespace(void **state)
{
	char name[64], want[64];
	struct stat st;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	rn_runtime_name(name, sizeof(name), "rocind", ".sock");
	snprintf(want, sizeof(want), "rocind-%lu.sock", (unsigned long)st.st_ino);
	assert_string_equal(name, want);
}

static void the_tree_parent_is_a_private_directory_inside(void **state)
{
	char path[RN_RUNTIME_PATH_MAX], want[RN_RUNTIME_PATH_MAX], name[64], why[256];
	struct stat st;

	(void)state;
	setenv("ROCIN_RUNTIME_DIR", below("mine"), 1);
	assert_int_equal(rn_runtime_tree_parent(path, sizeof(path), why, sizeof(why)), 0);
	rn_runtime_name(name, sizeof(name), "trees", "");
	snprintf(want, sizeof(want), "%s/%s", below("mine"), name);
	assert_string_equal(path, want);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void paths_that_do_not_fit_are_refused(void **state)
{
	char path[40], why[256], name[1100];

	(void)state;
	setenv("ROCIN_RUNTIME_DIR", below("mine"), 1);
	assert_int_equal(rn_runtime_tree_parent(path, sizeof(path), why, sizeof(why)),
			 -ENAMETOOLONG);
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	setenv("ROCIN_RUNTIME_DIR", name, 1);
	assert_int_equal(rn_runtime_dir(path, sizeof(path), why, sizeof(why)),
			 -ENAMETOOLONG);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_explicit_directory_is_made_private),
		TEST(a_bad_explicit_directory_is_an_error_and_not_passed_over),
		TEST(a_directory_of_another_user_is_refused),
		TEST(candidates_that_cannot_be_made_are_passed_over),
		TEST(a_candidate_open_to_others_is_an_error),
		TEST(names_carry_the_network_namespace),
		TEST(the_tree_parent_is_a_private_directory_inside),
		TEST(paths_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
