/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A child process does not outlive its parent, whenever that ends. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tools/rocin/common/child.h"

/* The child of a child, with the writing end of a pipe. Says on it that it goes on. */
static _Noreturn void grandchild(pid_t parent, bool has_ended, int fd)
{
	while (has_ended && getppid() == parent)
		sched_yield();
	rn_end_with_parent(parent);
	(void)!write(fd, "on", 2);
	for (;;)
		pause();
}

static _Noreturn void child(bool ends_first, int fd, int go)
{
	pid_t mine = getpid(), pid = fork();
	char byte;

	if (pid == 0)
		grandchild(mine, ends_first, fd);
	close(fd);
	if (!ends_first)
		(void)!read(go, &byte, 1);
	_exit(pid < 0);
}

static void start(bool ends_first, int out[2], int go[2])
{
	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(go), 0);
	if (fork() == 0) {
		close(go[1]);
		child(ends_first, out[1], go[0]);
	}
	close(out[1]);
	close(go[0]);
}

/* The pipe ends when nobody has its writing end any more. */
static void assert_ended(int out[2], int go[2])
{
	char text[2];
	int status = -1;

	assert_int_equal(read(out[0], text, sizeof(text)), 0);
	close(out[0]);
	close(go[1]);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
}

static void a_child_ends_with_its_parent(void **state)
{
	int out[2], go[2];
	char text[2];

	(void)state;
	start(false, out, go);
	assert_int_equal(read(out[0], text, sizeof(text)), 2);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_ended(out, go);
}

static void a_parent_that_has_ended_is_noticed(void **state)
{
	int out[2], go[2];

	(void)state;
	start(true, out, go);
	assert_ended(out, go);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_ends_with_its_parent),
		cmocka_unit_test(a_parent_that_has_ended_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
