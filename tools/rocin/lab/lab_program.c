/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_program.c - see lab_program.h */
#include "lab_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab_host.h"
#include "lab_ns.h"

#define READY_AFTER RN_MSEC(2000)

rn_ns rn_lab_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Sockets of TCP that listen on @host, from the kernel's table: man proc(5). */
static unsigned count_listeners(unsigned host)
{
	static const char *const tables[] = { "tcp", "tcp6" };
	enum {
		LISTEN = 0x0a
	};
	unsigned count = 0, state;
	char path[64], line[512];

	for (size_t i = 0; i < RN_ARRAY_SIZE(tables); i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/net/%s",
			 (int)rn_lab_keeper_pid(host), tables[i]);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "%*s %*s %*s %x", &state) == 1)
				count += state == LISTEN;
		if (f)
			fclose(f);
	}
	return count;
}

bool rn_lab_program_is_ready(const struct rn_lab_program *p)
{
	return p->has_ended || rn_lab_now() - p->begin >= READY_AFTER ||
	       count_listeners(p->command->host) > p->listeners;
}

/* --------------------------------------------------------------- in the new process */
/* What it was before the lab read signals from a descriptor. */
static void restore_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A process group of its own takes signals together; a shell takes the terminal, too. */
static void lead_group(bool is_shell)
{
	setpgid(0, 0);
	if (!is_shell)
		return;
	signal(SIGTTOU, SIG_IGN);
	tcsetpgrp(STDIN_FILENO, getpid());
	signal(SIGTTOU, SIG_DFL);
}

static void connect_streams(int out, int err)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
}

/* Return: exit status of what could not be started. */
static int become(const struct rn_lab_args *args, const struct rn_lab_command *c)
{
	static struct rn_launch launch;
	char err[512];
	int status;

	if (rn_lab_host_become(args, c->host, err, sizeof(err))) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	status = rn_run_settings_apply(&args->settings, &launch, err, sizeof(err));
	if (status) {
		rn_complain("%s", err);
		return status;
	}
	if (geteuid() != 0 && rn_lab_keep_capabilities())
		rn_complain("the program has no rights over the network of its host");
	execvp(c->argv[0], c->argv);
	status = errno == ENOENT ? RN_EXIT_NOT_FOUND : RN_EXIT_CANNOT_RUN;
	rn_complain("%s: %s", c->argv[0], strerror(errno));
	return status;
}

/* ----------------------------------------------------------------------- in the lab */
static int make_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static void open_streams(struct rn_lab_program *p, const struct rn_lab_args *args,
			 int out, int err)
{
	/* Names of one width, so that lines begin below one another. */
	int width = args->hosts > 99 ? 4 : args->hosts > 9 ? 3 : 2;
	char name[8], prefix[16];

	snprintf(name, sizeof(name), "h%u", p->command->host + 1);
	snprintf(prefix, sizeof(prefix), "%-*s | ", width, name);
	rn_lab_stream_open(&p->out, out, STDOUT_FILENO, prefix);
	rn_lab_stream_open(&p->err, err, STDERR_FILENO, prefix);
}

int rn_lab_program_start(struct rn_lab_program *p, const struct rn_lab_args *args)
{
	bool is_shell = p->command->is_shell;
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, rc;

	rc = make_pipe(out);
	if (!rc)
		rc = make_pipe(err);
	if (rc)
		return rc;
	p->listeners = count_listeners(p->command->host);
	p->begin = rn_lab_now();
	p->pid = fork();
	if (p->pid == 0) {
		lead_group(is_shell);
		if (!is_shell)
			connect_streams(out[1], err[1]);
		restore_signals();
		_exit(become(args, p->command));
	}
	rc = p->pid < 0 ? -errno : 0;
	if (p->pid > 0)
		setpgid(p->pid, p->pid);
	close(out[1]);
	close(err[1]);
	open_streams(p, args, out[0], err[0]);
	return rc;
}

void rn_lab_program_ended(struct rn_lab_program *p, int wait_status)
{
	p->has_ended = true;
	p->end = rn_lab_now();
	p->status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
					   : 128 + WTERMSIG(wait_status);
}
