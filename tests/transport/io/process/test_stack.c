/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of stacks as text: the address in the file is what the program headers say, for
 * programs at any address and at a fixed one, and for shared libraries. test_stack_fixed
 * is this file in a program at a fixed address.
 */
#include "transport/io/process/stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Sets the variable to the bias of the first module, the program. */
static int get_bias(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uintptr_t *)arg = info->dlpi_addr;
	return 1;
}

static void test_program(void **state)
{
	char text[1000], wanted[100];
	uintptr_t bias = 1, at = (uintptr_t)&test_program + 8;
	size_t len =
		rn_stack_frame(3, (char *)&test_program + 8, false, text, sizeof(text));

	(void)state;
	dl_iterate_phdr(get_bias, &bias);
	assert_int_equal(len, strlen(text));
	snprintf(wanted, sizeof(wanted), "    #3 %#tx (", at);
	assert_memory_equal(text, wanted, strlen(wanted));
	snprintf(wanted, sizeof(wanted), "+%#tx) (BuildId: ", at - bias);
	assert_non_null(strstr(text, wanted));
	assert_string_equal(text + len - 2, ")\n");
}

static void test_library(void **state)
{
	char text[1000], wanted[100];
	void *free_at = dlsym(RTLD_DEFAULT, "free");
	struct link_map *map;
	Dl_info info;

	(void)state;
	assert_true(dladdr1(free_at, &info, (void **)&map, RTLD_DL_LINKMAP));
	assert_true(rn_stack_frame(0, free_at, false, text, sizeof(text)));
	snprintf(wanted, sizeof(wanted), "+0 (%s+%#tx)", map->l_name,
		 (uintptr_t)free_at - map->l_addr);
	assert_non_null(strstr(text, wanted));
}

/* A call may be the last instruction of its function: the address that it returns to is
 * that of the next one.
 */
static void test_return_address(void **state)
{
	char text[1000], wanted[100];
	char *at = (char *)&test_return_address;

	(void)state;
	assert_true(rn_stack_frame(0, at, true, text, sizeof(text)));
	snprintf(wanted, sizeof(wanted), " %p ", (void *)(at - 1));
	assert_non_null(strstr(text, wanted));
}

static void test_no_file(void **state)
{
	char text[100];
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char wanted[100];

	(void)state;
	assert_true(rn_stack_frame(0, page, false, text, sizeof(text)));
	snprintf(wanted, sizeof(wanted), "    #0 %p\n", page);
	assert_string_equal(text, wanted);
	munmap(page, 4096);
}

static void test_no_room(void **state)
{
	char text[20];

	(void)state;
	assert_int_equal(rn_stack_frame(0, (void *)&test_no_room, false, text, 20), 0);
}

/* Here the program that finds lines is not beside the library, which is this program. */
static void test_no_helper(void **state)
{
	char named[100];

	(void)state;
	errno = 7;
	assert_int_equal(rn_stack_symbolize("a\n", 2, named, sizeof(named)), -ENOENT);
	assert_int_equal(errno, 7);
}

static bool is_late;

/* Called instead of write() of the C library. If is_late, it first waits until nobody can
 * read from the pipe any more, but not for long: somebody may keep it open.
 */
ssize_t write(int fd, const void *data, size_t len)
{
	struct pollfd p = { .fd = fd };

	if (is_late)
		poll(&p, 1, 300);
	return syscall(SYS_write, fd, data, len);
}

static int ask_a_helper_that_ends(void)
{
	char named[100];

	is_late = true;
	return rn_stack_symbolize("a\n", 2, named, sizeof(named)) == -EIO ? 0 : 1;
}

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* A helper that cannot run, for want of a library, ends before it has read what it was
 * asked, and the process that asked does not die of SIGPIPE. Beside the helper is a name
 * of this program, which is run under it.
 */
static void test_helper_that_ends(void **state)
{
	char dir[] = "/tmp/rocin-stack-XXXXXX", program[64], helper[64], exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int status = -1;
	pid_t child;

	(void)state;
	assert_true(len > 0);
	exe[len] = '\0';
	assert_non_null(mkdtemp(dir));
	snprintf(program, sizeof(program), "%s/program", dir);
	snprintf(helper, sizeof(helper), "%s/rocin-symbolize", dir);
	put_file(helper, "#!/bin/sh\nexit 127\n");
	assert_int_equal(symlink(exe, program), 0);
	child = fork();
	if (child == 0) {
		execl(program, program, "ask", NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	unlink(helper);
	unlink(program);
	rmdir(dir);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),		 cmocka_unit_test(test_library),
		cmocka_unit_test(test_return_address),	 cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_no_room),		 cmocka_unit_test(test_no_helper),
		cmocka_unit_test(test_helper_that_ends),
	};

	(void)argv;
	if (argc > 1)
		return ask_a_helper_that_ends();

	return cmocka_run_group_tests(tests, NULL, NULL);
}
