/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_wires_limits.c - local wires where something is short: places,
 * descriptors, memory.
 */
#include "wires_kit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void one_process_has_no_more_than_so_many(void **state)
{
	static struct side peer[RN_ROCIND_WIRES_MAX + 1];
	struct side a = open_side(0, true);
	bool seen[RN_ROCIND_WIRES_MAX] = { false };
	struct rn_rocind_wire w;

	(void)state;
	for (unsigned i = 0; i <= RN_ROCIND_WIRES_MAX; i++) {
		peer[i] = open_side(1, true);
		ask(&a, &peer[i]);
		if (i == RN_ROCIND_WIRES_MAX)
			break;
		w = await_wire(&a, &peer[i]);
		assert_false(seen[w.bit]);
		seen[w.bit] = true;
		close_wire(&w);
	}
	await_down(&a, &peer[RN_ROCIND_WIRES_MAX], EMLINK);
	for (unsigned i = 0; i <= RN_ROCIND_WIRES_MAX; i++)
		close_side(&peer[i]);
	close_side(&a);
}

/* What the last peer sent may still wait to be read. */
static void place_of_a_wire_is_not_given_again_at_once(void **state)
{
	struct side a = open_side(0, true);
	unsigned last = RN_ROCIND_WIRES_MAX;

	(void)state;
	for (unsigned i = 0; i < RN_ROCIND_WIRES_MAX + 2; i++) {
		struct side b = open_side(1, true);
		struct rn_rocind_wire w;

		ask(&a, &b);
		w = await_wire(&a, &b);
		assert_int_not_equal(w.bit, last);
		last = w.bit;
		close_wire(&w);
		close_side(&b);
		await_down(&a, &b, 0);
	}
	close_side(&a);
}

/* From now on @spare descriptors more. Return: what was allowed before. */
static struct rlimit leave_descriptors(unsigned spare)
{
	struct rlimit before, now;
	int next = dup(STDERR_FILENO);

	assert_true(next >= 0);
	assert_int_equal(close(next), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = (rlim_t)next + spare;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	return before;
}

static void process_without_descriptors_goes_without_a_wire(void **state)
{
	struct side a = open_side(0, true), b[3];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(b); i++)
		b[i] = open_side(i + 1, true);
	for (unsigned spare = 0; spare < RN_ARRAY_SIZE(b); spare++) {
		struct rlimit before = leave_descriptors(spare);
		int fd[RN_ARRAY_SIZE(b)];

		ask(&a, &b[spare]);
		await_down(&a, &b[spare], EMFILE);
		await_down(&b[spare], &a, EMFILE);
		await_down(&b[spare], &a, EPIPE); /* the other one was faster */
		assert_true(nothing_waits(&a));	  /* and rocind is still there */
		assert_true(nothing_waits(&b[spare]));
		for (unsigned i = 0; i < RN_ARRAY_SIZE(b); i++) {
			fd[i] = dup(STDERR_FILENO);
			assert_int_equal(fd[i] >= 0, i < spare);
		}
		for (unsigned i = 0; i < spare; i++)
			close(fd[i]);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	}
	for (unsigned i = 0; i < RN_ARRAY_SIZE(b); i++)
		close_side(&b[i]);
	close_side(&a);
}

/* As a sandbox does, for this process and what it starts. */
static void forbid_memfd(void)
{
	struct sock_filter text[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(text) / sizeof(text[0]),
				   .filter = text };

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

static void where_memory_is_forbidden_there_is_none(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		struct side a, b;

		setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failure ends this process */
		forbid_memfd();
		a = open_side(0, true);
		b = open_side(1, true);
		ask(&a, &b);
		await_down(&a, &b, EPERM);
		assert_true(nothing_waits(&b));
		close_side(&a);
		close_side(&b);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(one_process_has_no_more_than_so_many),
		test(place_of_a_wire_is_not_given_again_at_once),
		test(process_without_descriptors_goes_without_a_wire),
		test(where_memory_is_forbidden_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
