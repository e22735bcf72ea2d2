/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lifecycle.c - Rocin in processes that use fork, vfork, exec or cancelled threads.
 *
 * Each case opens a device and checks at the end that it can still transfer data.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

static uint8_t buf[2][4096];

static void still_works(struct loop *l)
{
	struct ibv_mr *mr = ibv_reg_mr(l->pd, buf, sizeof(buf),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct loop_request r = { .opcode = IBV_WR_RDMA_WRITE,
				  .local = buf[0],
				  .len = sizeof(buf[0]),
				  .remote = buf[1] };

	EXPECT(mr);
	r.lkey = mr->lkey;
	r.rkey = mr->rkey;
	memset(buf[0], buf[1][0] + 1, sizeof(buf[0]));
	EXPECT(loop_run(l, &r, NULL) == IBV_WC_SUCCESS);
	/* The completion does not show that the target has the data, so this loop waits.
	 */
	while (memcmp(buf[0], buf[1], sizeof(buf[0])))
		;
	EXPECT(!ibv_dereg_mr(mr));
}

static void wait_ok(pid_t pid)
{
	int status;

	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void child_gets_errors_and_parent_is_undisturbed(void)
{
	struct loop l;
	pid_t pid;

	loop_open(&l);
	still_works(&l);
	pid = fork();
	EXPECT(pid >= 0);
	if (pid == 0) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
		struct ibv_wc wc;
		struct loop own;

		EXPECT(ibv_post_send(l.qp[0], &wr, &bad) != 0);
		EXPECT(ibv_poll_cq(l.cq, 1, &wc) < 0 || errno != 0);
		EXPECT(!loop_create_qp(&l));
		/* The child process may open the device again. */
		loop_open(&own);
		still_works(&own);
		loop_close(&own);
		exit(0); /* exit handlers run, as in most programs */
	}
	wait_ok(pid);
	still_works(&l);
	loop_close(&l);
}

static void child_outlives_a_killed_parent(void)
{
	int to_child[2], to_test[2];
	char ok = 0;
	pid_t parent;

	EXPECT(!pipe(to_child) && !pipe(to_test));
	parent = fork();
	EXPECT(parent >= 0);
	if (parent == 0) {
		struct loop l, own;

		loop_open(&l);
		still_works(&l);
		if (fork() != 0) {
			EXPECT(write(to_test[1], "r", 1) == 1);
			pause();
		}
		EXPECT(read(to_child[0], &ok, 1) == 1);
		loop_open(&own);
		still_works(&own);
		loop_close(&own);
		EXPECT(write(to_test[1], "k", 1) == 1);
		_exit(0);
	}
	EXPECT(read(to_test[0], &ok, 1) == 1 && ok == 'r');
	kill(parent, SIGKILL);
	EXPECT(waitpid(parent, NULL, 0) == parent);
	EXPECT(write(to_child[1], "g", 1) == 1);
	close(to_test[1]);
	EXPECT(read(to_test[0], &ok, 1) == 1 && ok == 'k');
	for (unsigned i = 0; i < 2; i++) {
		close(to_child[i]);
		if (i == 0)
			close(to_test[0]);
	}
}

/* Subprocess modules and daemons do this: the child shares our memory and closes all
 * descriptors.
 */
static void vfork_child_that_closes_all_descriptors(void)
{
	struct loop l;
	pid_t pid;

	loop_open(&l);
	pid = vfork();
	EXPECT(pid >= 0);
	if (pid == 0) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	wait_ok(pid);
	still_works(&l);
	loop_close(&l);
}

static void fork_and_exec_finds_the_device_again(const char *self)
{
	struct loop l;
	pid_t pid;

	loop_open(&l);
	pid = fork();
	EXPECT(pid >= 0);
	if (pid == 0) {
		execl(self, self, "once", (char *)NULL);
		_exit(1);
	}
	wait_ok(pid);
	still_works(&l);
	loop_close(&l);
}

static void *poll_for_ever(void *arg)
{
	struct loop *l = arg;
	struct ibv_wc wc;

	for (;;) {
		EXPECT(ibv_poll_cq(l->cq, 1, &wc) == 0);
		pthread_testcancel();
	}
	return NULL;
}

static void cancelling_a_polling_thread_leaves_no_lock_behind(void)
{
	struct loop l;

	loop_open(&l);
	for (unsigned i = 0; i < 200; i++) {
		pthread_t thread;
		void *result;

		EXPECT(!pthread_create(&thread, NULL, poll_for_ever, &l));
		if (i % 2)
			sched_yield();
		EXPECT(!pthread_cancel(thread));
		EXPECT(!pthread_join(thread, &result));
		EXPECT(result == PTHREAD_CANCELED);
	}
	still_works(&l);
	loop_close(&l);
}

/* Neither rocind nor another process of Rocin may be a child process of the program. */
static void no_child_appears(void)
{
	struct loop l;

	loop_open(&l);
	EXPECT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	loop_close(&l);
}

static volatile sig_atomic_t sigchld_seen;
static void on_sigchld(int sig)
{
	(void)sig;
	sigchld_seen = 1;
}

int main(int argc, char **argv)
{
	struct loop l;

	(void)signal(SIGCHLD, on_sigchld);
	no_child_appears();
	EXPECT(!sigchld_seen);
	(void)signal(SIGCHLD, SIG_DFL);
	if (argc > 1) {
		loop_open(&l);
		still_works(&l);
		loop_close(&l);
		return 0;
	}
	child_gets_errors_and_parent_is_undisturbed();
	child_outlives_a_killed_parent();
	vfork_child_that_closes_all_descriptors();
	fork_and_exec_finds_the_device_again(argv[0]);
	cancelling_a_polling_thread_leaves_no_lock_behind();
	puts("lifecycle: all as it should be");
	return 0;
}
