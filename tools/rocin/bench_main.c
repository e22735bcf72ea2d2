/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_main.c - rocin-bench: two processes measure, one reports.
 *
 * Started by `rocin bench`, in the environment in which programs find the devices.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "cmd.h"

static struct rn_bench_shared *shared;
static pid_t receiver;

/* Loops that poll look at failed; blocking calls end with EINTR or end of file. */
static void on_sigchld(int sig)
{
	siginfo_t info = { 0 };
	int saved = errno;

	(void)sig;
	if (waitid(P_PID, (id_t)receiver, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid == receiver)
		atomic_store(&shared->failed, true);
	errno = saved;
}

static int complain(const char *what)
{
	fprintf(stderr, "rocin bench: %s\n", what);
	return RN_EXIT_FAILURE;
}

static int start_receiver(struct rn_bench_end *end)
{
	struct sigaction on_death = { .sa_handler = on_sigchld };
	pid_t sender = getpid();
	sigset_t chld, old;
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -1;
	/* The handler wants to know the process that it waits for. */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	sigaction(SIGCHLD, &on_death, NULL);
	receiver = fork();
	if (receiver == 0) {
		(void)signal(SIGCHLD, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != sender)
			_exit(RN_EXIT_FAILURE);
		end->role = RN_BENCH_RECEIVER;
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	end->meet_fd = fd[end->role];
	close(fd[!end->role]);
	return receiver < 0 ? -1 : 0;
}

/* Nothing was measured: say why, once. */
static int explain(void)
{
	char text[64] = "the receiving process ended too early";
	int status = 0;

	kill(receiver, SIGTERM);
	waitpid(receiver, &status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM)
		snprintf(text, sizeof(text), "the receiving process died of signal %d",
			 WTERMSIG(status));
	for (unsigned i = 0; i < 2; i++)
		if (*shared->sentence[i])
			return complain(shared->sentence[i]);
	return complain(text);
}

int main(int argc, char **argv)
{
	static struct rn_bench_results results;
	struct rn_bench_end end = { .role = RN_BENCH_SENDER, .path_mtu = 4096 };
	struct rn_bench_args args;
	int rc, status;

	argp_err_exit_status = RN_EXIT_USAGE;
	rn_bench_args_parse(argc, argv, &args);
	end.slice_ns = args.slice_ms * (uint64_t)1000000;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return complain("no memory");
	end.shared = shared;
	if (start_receiver(&end))
		return complain(strerror(errno));
	rc = rn_bench_rounds(&end, &args, &results);
	if (end.role == RN_BENCH_RECEIVER)
		exit(rc ? RN_EXIT_FAILURE : 0);
	if (rc)
		return explain();
	if (waitpid(receiver, &status, 0) != receiver || status != 0)
		return complain("the receiving process did not end well");
	rc = rn_bench_report(&end, &args, &results);
	return rc ? RN_EXIT_FAILURE : 0;
}
