/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_runtime_dir.c - the private directory: which one, and which are refused. */
#include "transport/io/host/runtime_dir.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* ---- Users and namespaces: in a child, which has a /dev/shm of its own ---- */

enum {
	USER = 12345,
	OTHER = 777,
};

static void make_dir(const char *path, uid_t owner)
{
	if (mkdir(path, 0700) || chown(path, owner, owner))
		_exit(101);
}

/* Exits with 0 if the directory is @parent/@name, or begins so and goes on with a dot. */
static const char *expect_dir(const char *parent, const char *name, bool is_another)
{
	static char dir[RN_RUNTIME_PATH_MAX];
	char why[256], want[RN_RUNTIME_PATH_MAX];
	int len = snprintf(want, sizeof(want), "%s/%s%s", parent, name,
			   is_another ? "." : "");
	int rc = find(dir, why);

	if (rc == 0 && strncmp(dir, want, (size_t)len) == 0 &&
	    strlen(dir) == (size_t)len + (is_another ? 6 : 0))
		return dir;
	print_error("%s instead of %s (%s)\n", rc ? "nothing" : dir, want, why);
	_exit(1);
}

static void become(uid_t user)
{
	if (setgroups(0, NULL) || setresgid(user, user, user) ||
	    setresuid(user, user, user))
		_exit(102);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(103);
	close(fd);
}

/* As "unshare -r". */
static void become_root_of_a_namespace(uid_t outside)
{
	char map[32];

	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER))
		_exit(77);
	snprintf(map, sizeof(map), "0 %u 1\n", outside);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", map);
	write_file("/proc/self/gid_map", map);
	if (geteuid() != 0)
		_exit(106);
}

static void in_child(void (*act)(void))
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(base, 01777), 0);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", "/dev/shm", "tmpfs", 0, "mode=1777"))
			_exit(77);
		setenv("TMPDIR", base, 1);
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void root_was_here(void)
{
	make_dir("/dev/shm/rocin-0", 0);
	become(USER);
	become_root_of_a_namespace(USER);
	expect_dir("/dev/shm", "rocin-12345", false);
}

static void root_of_a_users_namespace_has_the_users_directory(void **state)
{
	(void)state;
	in_child(root_was_here);
}

/* By name it is root's, but root's cannot be used. */
static void root_was_here_and_nobody_knows_us(void)
{
	make_dir("/dev/shm/rocin-0", 0);
	become(USER);
	become_root_of_a_namespace(USER);
	become_root_of_a_namespace(0);
	expect_dir("/dev/shm", "rocin-0", true);
}

static void root_of_an_inner_namespace_has_one_of_its_own(void **state)
{
	(void)state;
	in_child(root_was_here_and_nobody_knows_us);
}

/* ---- What the kernel and other processes may do ---- */

static const char *uid_map; /* what the kernel says of it; NULL: the truth */
static const char *rival;   /* another process makes it, a moment before us */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
char *__real_mkdtemp(char *template);
char *__wrap_mkdtemp(char *template);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (uid_map && strcmp(path, "/proc/self/uid_map") == 0)
		return fmemopen((void *)uid_map, strlen(uid_map), "r");
	return __real_fopen(path, mode);
}

char *__wrap_mkdtemp(char *template)
{
	if (rival)
		make_dir(rival, USER);
	rival = NULL;
	return __real_mkdtemp(template);
}

static void has_another_number_outside(void)
{
	become(USER);
	uid_map = "0 1000 1\n12345 70000 1\n";
	expect_dir("/dev/shm", "rocin-70000", false);
	uid_map = "12340 70000 6\n";
	expect_dir("/dev/shm", "rocin-70005", false);
	/* Neither of these is about the user. */
	uid_map = "12340 70000 5\n12346 80000 9\n";
	expect_dir("/dev/shm", "rocin-12345", false);
}

static void a_user_has_the_directory_of_its_number_outside(void **state)
{
	(void)state;
	in_child(has_another_number_outside);
}

/* In whatever order they are listed. */
static void two_are_ours(void)
{
	static const char *const made[][2] = {
		{ "/dev/shm/rocin-12345.aaaaaa", "/dev/shm/rocin-12345.bbbbbb" },
		{ "/dev/shm/rocin-12345.bbbbbb", "/dev/shm/rocin-12345.aaaaaa" },
	};

	make_dir("/dev/shm/rocin-12345", OTHER);
	become(USER);
	for (unsigned i = 0; i < 2; i++) {
		make_dir(made[i][0], USER);
		make_dir(made[i][1], USER);
		if (strcmp(expect_dir("/dev/shm", "rocin-12345", true),
			   "/dev/shm/rocin-12345.aaaaaa") != 0)
			_exit(2);
		if (rmdir(made[i][0]) || rmdir(made[i][1]))
			_exit(3);
	}
}

static void of_several_the_first_by_name_is_meant(void **state)
{
	(void)state;
	in_child(two_are_ours);
}

static void another_process_is_quicker(void)
{
	DIR *list;
	const struct dirent *d;
	unsigned count = 0;

	make_dir("/dev/shm/rocin-12345", OTHER);
	become(USER);
	rival = "/dev/shm/rocin-12345.000000";
	if (strcmp(expect_dir("/dev/shm", "rocin-12345", true),
		   "/dev/shm/rocin-12345.000000") != 0)
		_exit(2);
	list = opendir("/dev/shm");
	while ((d = readdir(list)))
		count += strncmp(d->d_name, "rocin-12345.", 12) == 0;
	closedir(list);
	if (count != 1)
		_exit(3);
}

static void who_comes_second_leaves_nothing_behind(void **state)
{
	(void)state;
	in_child(another_process_is_quicker);
}

static void another_has_the_name(void)
{
	char first[RN_RUNTIME_PATH_MAX];

	make_dir("/dev/shm/rocin-12345", OTHER);
	make_dir("/dev/shm/rocin-12345.aaaaaa", OTHER);
	become(USER);
	snprintf(first, sizeof(first), "%s", expect_dir("/dev/shm", "rocin-12345", true));
	if (strcmp(first, expect_dir("/dev/shm", "rocin-12345", true)) != 0)
		_exit(2);
}

static void a_name_that_another_user_has_is_one_of_many(void **state)
{
	(void)state;
	in_child(another_has_the_name);
}

/* A link that another user has laid leads nowhere for us. */
static void another_has_laid_a_link(void)
{
	if (symlink(base, "/dev/shm/rocin-12345") ||
	    lchown("/dev/shm/rocin-12345", OTHER, OTHER))
		_exit(104);
	become(USER);
	expect_dir("/dev/shm", "rocin-12345", true);
}

static void a_link_of_another_user_is_passed_over(void **state)
{
	(void)state;
	in_child(another_has_laid_a_link);
}

static void shm_is_read_only(void)
{
	make_dir("/dev/shm/rocin-12345", USER);
	if (mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_RDONLY, NULL))
		_exit(77);
	become(USER);
	expect_dir(base, "rocin-12345", false);
}

static void one_on_a_read_only_file_system_is_passed_over(void **state)
{
	(void)state;
	in_child(shm_is_read_only);
}

static void another_has_the_name_on_a_read_only_one(void)
{
	make_dir("/dev/shm/rocin-12345", OTHER);
	if (mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_RDONLY, NULL))
		_exit(77);
	become(USER);
	expect_dir(base, "rocin-12345", false);
}

static void one_of_another_user_on_a_read_only_file_system_too(void **state)
{
	(void)state;
	in_child(another_has_the_name_on_a_read_only_one);
}

static void ours_is_closed_to_ourselves(void)
{
	char dir[RN_RUNTIME_PATH_MAX], why[256];

	make_dir("/dev/shm/rocin-12345", USER);
	if (chmod("/dev/shm/rocin-12345", 0500) || chmod(base, 0755))
		_exit(105);
	become(USER);
	if (find(dir, why) != -EACCES || !strstr(why, "rocin-12345 cannot be created: "))
		_exit(3);
	setenv("ROCIN_RUNTIME_DIR", "/dev/shm/rocin-12345", 1);
	if (find(dir, why) != -EACCES ||
	    !strstr(why, "/dev/shm/rocin-12345 cannot be written to: "))
		_exit(4);
}

static void without_any_the_last_is_named(void **state)
{
	(void)state;
	in_child(ours_is_closed_to_ourselves);
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
		TEST(root_of_a_users_namespace_has_the_users_directory),
		TEST(root_of_an_inner_namespace_has_one_of_its_own),
		TEST(a_user_has_the_directory_of_its_number_outside),
		TEST(of_several_the_first_by_name_is_meant),
		TEST(who_comes_second_leaves_nothing_behind),
		TEST(a_name_that_another_user_has_is_one_of_many),
		TEST(a_link_of_another_user_is_passed_over),
		TEST(one_on_a_read_only_file_system_is_passed_over),
		TEST(one_of_another_user_on_a_read_only_file_system_too),
		TEST(without_any_the_last_is_named),
		TEST(names_carry_the_network_namespace),
		TEST(the_tree_parent_is_a_private_directory_inside),
		TEST(paths_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
