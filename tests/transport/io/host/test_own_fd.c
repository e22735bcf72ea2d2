/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_own_fd.c - which descriptors are kept, by whom, and what passes for them. */
#include "transport/io/host/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int file(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void forget_and_close(int fd)
{
	assert_true(rn_own_fd_forget(fd));
	close(fd);
}

static void those_kept_are_found_in_order(void **state)
{
	int fd[3];

	(void)state;
	assert_int_equal(rn_own_fd_next(0), RN_OWN_FD_NONE);
	for (unsigned i = 0; i < 3; i++)
		fd[i] = rn_own_fd_keep(file());
	assert_true(fd[0] < fd[1] && fd[1] < fd[2]);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rn_own_fd_next(i ? fd[i - 1] + 1 : -5), fd[i]);
		assert_int_equal(rn_own_fd_next(fd[i]), fd[i]);
	}
	assert_int_equal(rn_own_fd_next(fd[2] + 1), RN_OWN_FD_NONE);
	/* One that is forgotten is the program's like any other. */
	forget_and_close(fd[1]);
	assert_int_equal(rn_own_fd_next(fd[0] + 1), fd[2]);
	forget_and_close(fd[0]);
	forget_and_close(fd[2]);
	assert_int_equal(rn_own_fd_next(0), RN_OWN_FD_NONE);
}

/* They close their copies as they like. */
static void a_child_of_fork_keeps_none_of_its_parents(void **state)
{
	int fd = rn_own_fd_keep(file()), status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(rn_own_fd_next(0) != RN_OWN_FD_NONE ||
		      rn_own_fd_next(fd) != RN_OWN_FD_NONE);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rn_own_fd_next(0), fd);
	forget_and_close(fd);
}

static void a_number_that_the_program_has_used_again_is_not_ours(void **state)
{
	int fd = rn_own_fd_keep(file()), other = file();

	(void)state;
	assert_true(rn_own_fd_is_there(fd));
	assert_true(rn_own_fd_all_there());
	assert_int_equal(dup2(other, fd), fd);
	assert_false(rn_own_fd_is_there(fd));
	assert_false(rn_own_fd_all_there());
	close(fd);
	assert_false(rn_own_fd_is_there(fd)); /* nor one that is closed */
	assert_false(rn_own_fd_forget(fd));
	assert_true(rn_own_fd_all_there());
	close(other);
}

/* What is not kept is what its owner says that it is. */
static void numbers_beyond_the_table_are_not_kept(void **state)
{
	static const int beyond[] = { RN_OWN_FD_MAX, RN_OWN_FD_MAX + 63, RN_OWN_FD_NONE,
				      -1 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(beyond); i++) {
		assert_int_equal(rn_own_fd_keep(beyond[i]), beyond[i]);
		assert_true(rn_own_fd_is_there(beyond[i]));
		assert_true(rn_own_fd_forget(beyond[i]));
		assert_int_equal(rn_own_fd_next(beyond[i]), RN_OWN_FD_NONE);
	}
}

static void errno_is_left_alone(void **state)
{
	int fd = file();

	(void)state;
	close(fd);
	errno = ELOOP;
	assert_int_equal(rn_own_fd_keep(fd), fd); /* there is none */
	assert_int_equal(rn_own_fd_keep(-EMFILE), -EMFILE);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(rn_own_fd_next(0), RN_OWN_FD_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_kept_are_found_in_order),
		cmocka_unit_test(a_child_of_fork_keeps_none_of_its_parents),
		cmocka_unit_test(a_number_that_the_program_has_used_again_is_not_ours),
		cmocka_unit_test(numbers_beyond_the_table_are_not_kept),
		cmocka_unit_test(errno_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
