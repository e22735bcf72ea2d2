/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_lab.c - `rocin lab`: the process that the user started. The lab itself is its
 * child, in namespaces of its own; see lab.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab_options.h"

/* Signals that the lab takes instead of this process. */
static void block(sigset_t *set)
{
	static const int handed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };

	sigemptyset(set);
	for (size_t i = 0; i < RN_ARRAY_SIZE(handed_on); i++)
		sigaddset(set, handed_on[i]);
	sigprocmask(SIG_BLOCK, set, NULL);
}

/* The lab says what signals mean, but it is not asked for ever. Return: wait status. */
static int attend(pid_t lab, const sigset_t *set)
{
	unsigned told = 0;
	int status;

	for (;;) {
		int sig = sigwaitinfo(set, NULL);
		pid_t pid = waitpid(lab, &status, WNOHANG);

		if (pid == lab)
			return status;
		if (sig > 0 && sig != SIGCHLD)
			kill(lab, ++told > 2 ? SIGKILL : sig);
	}
}

/* A shell of the lab has had the terminal, and the lab has no number for our group. */
static void take_terminal(void)
{
	if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp())
		return;
	signal(SIGTTOU, SIG_IGN);
	tcsetpgrp(STDIN_FILENO, getpgrp());
	signal(SIGTTOU, SIG_DFL);
}

int rn_cmd_lab(int argc, char **argv)
{
	static struct rn_lab_args args;
	struct rn_lab_user user;
	int lifeline[2], status;
	char text[1024];
	sigset_t set;
	pid_t lab;

	rn_lab_options_parse(argc, argv, &args);
	args.pid = getpid();
	if (pipe(lifeline)) {
		rn_complain("%s", strerror(errno));
		return RN_EXIT_FAILURE;
	}
	block(&set);
	lab = rn_lab_clone(&user);
	if (lab == 0) {
		close(lifeline[1]);
		return rn_lab_main(&args, &user, lifeline[0]);
	}
	if (lab < 0) {
		rn_lab_say_refused(errno, text, sizeof(text));
		rn_complain("%s", text);
		return RN_EXIT_FAILURE;
	}
	close(lifeline[0]);
	status = attend(lab, &set);
	if (args.command_count > 0 && args.commands[0].is_shell)
		take_terminal();
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	rn_complain("the lab was killed: %s", strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}
