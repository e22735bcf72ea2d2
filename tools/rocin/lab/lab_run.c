/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_run.c - the life of a lab: makes the hosts, starts the programs, hands on what they
 * say, and ends with them. It is process 1 of its PID namespace.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab_capture.h"
#include "lab_host.h"
#include "lab_net.h"
#include "lab_ns.h"
#include "lab_report.h"

enum {
	TURN_MS = 10, /* between two looks whether a program is ready */
	GRACE_S = 3,  /* for programs that were told to end */
	SIGNALS = 0,  /* descriptors of the loop */
	LIFELINE = 1,
	STREAMS = 2,
};

struct lab {
	const struct rn_lab_args *args;
	struct rn_lab_program *programs;
	unsigned count, started, ended;
	const struct rn_lab_program *failed; /* the first */
	unsigned by;
	pid_t capture; /* 0: none */
	int signals, lifeline;
	rn_ns begin, timeout, grace; /* the latter RN_NEVER or when patience ends */
	int status; /* if not that of a program: over by a signal or for lack of time */
	bool is_over, is_alone;
	struct pollfd *fds;
};

/* ------------------------------------------------------------------------ programs */
/* Tell all to end, and give them some time. */
static void end_all(struct lab *lab, int sig)
{
	lab->is_over = true;
	if (lab->grace == RN_NEVER)
		lab->grace = rn_lab_now() + GRACE_S * (rn_ns)1000000000;
	for (unsigned i = 0; i < lab->count; i++)
		if (lab->programs[i].pid > 0 && !lab->programs[i].has_ended)
			kill(-lab->programs[i].pid, sig);
}

static void note_end(struct lab *lab, struct rn_lab_program *p, int wait_status)
{
	rn_lab_program_ended(p, wait_status);
	lab->ended++;
	if (p->status == 0 || lab->failed)
		return;
	lab->failed = p;
	if (lab->args->halt && !lab->is_over)
		end_all(lab, SIGTERM);
}

/* Whatever has ended, also what programs have left behind. */
static void reap(struct lab *lab)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == lab->capture)
			lab->capture = 0;
		for (unsigned i = 0; i < lab->count; i++)
			if (lab->programs[i].pid == pid)
				note_end(lab, &lab->programs[i], status);
	}
}

/* Return: true while one waits for its turn. */
static bool start_due(struct lab *lab)
{
	while (lab->started < lab->count && !lab->is_over) {
		struct rn_lab_program *p = &lab->programs[lab->started];
		int rc;

		if (lab->started > 0 && p[-1].command->is_awaited &&
		    !rn_lab_program_is_ready(p - 1))
			return true;
		lab->started++;
		rc = rn_lab_program_start(p, lab->args);
		if (rc) {
			rn_complain("h%u: %s", p->command->host + 1, strerror(-rc));
			note_end(lab, p, RN_EXIT_FAILURE << 8);
		}
	}
	return false;
}

/* --------------------------------------------------------------------------- loop */
static void take_signal(struct lab *lab)
{
	struct signalfd_siginfo s;
	int sig;

	while (read(lab->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		sig = (int)s.ssi_signo;
		if (sig == SIGCHLD) {
			reap(lab);
			continue;
		}
		if (lab->is_over) {
			rn_lab_say(lab->args, "told twice: what still runs is killed");
			lab->grace = 0;
		}
		/* To end what is kept is no failure. */
		if (lab->ended < lab->count || !lab->args->keep)
			lab->status = 128 + sig;
		end_all(lab, sig);
	}
}

static void say_late(const struct lab *lab)
{
	for (unsigned i = 0; i < lab->count; i++)
		if (!lab->programs[i].has_ended)
			rn_complain("h%u has not ended within %g s",
				    lab->programs[i].command->host + 1,
				    lab->args->timeout);
}

static void look_at_clock(struct lab *lab)
{
	if (lab->is_over || rn_lab_now() < lab->timeout)
		return;
	say_late(lab);
	lab->status = RN_LAB_EXIT_TIMEOUT;
	end_all(lab, SIGTERM);
}

static int wait_ms(const struct lab *lab, bool turn)
{
	rn_ns until = lab->is_over ? lab->grace : lab->timeout;
	rn_ns left = until - rn_lab_now();

	if (turn)
		return TURN_MS;
	if (until == RN_NEVER)
		return -1;
	return left <= 0		 ? 0
	       : left > RN_MSEC(1000000) ? 1000000
					 : (int)(left / 1000000) + 1;
}

static void read_stream(struct lab *lab, struct rn_lab_stream *s, bool at_end)
{
	int rc;

	if (s->from < 0)
		return;
	rc = at_end ? rn_lab_stream_end(s) : rn_lab_stream_read(s);
	if (!rc)
		return;
	/* Nobody reads it any more. */
	if (!lab->is_over && rc != -EPIPE)
		rn_complain("the output cannot be written: %s", strerror(-rc));
	if (!lab->status)
		lab->status = RN_EXIT_FAILURE;
	lab->is_alone = true;
}

static void look(struct lab *lab, bool turn)
{
	lab->fds[SIGNALS] = (struct pollfd){ .fd = lab->signals, .events = POLLIN };
	lab->fds[LIFELINE] = (struct pollfd){ .fd = lab->lifeline, .events = POLLIN };
	for (unsigned i = 0; i < lab->started; i++) {
		struct pollfd *p = &lab->fds[STREAMS + 2 * i];

		p[0] = (struct pollfd){ .fd = lab->programs[i].out.from,
					.events = POLLIN };
		p[1] = (struct pollfd){ .fd = lab->programs[i].err.from,
					.events = POLLIN };
	}
	poll(lab->fds, STREAMS + 2 * lab->started, wait_ms(lab, turn));
	for (unsigned i = 0; i < lab->started; i++) {
		if (lab->fds[STREAMS + 2 * i].revents)
			read_stream(lab, &lab->programs[i].out, false);
		if (lab->fds[STREAMS + 2 * i + 1].revents)
			read_stream(lab, &lab->programs[i].err, false);
	}
	if (lab->fds[SIGNALS].revents)
		take_signal(lab);
	lab->is_alone |= lab->fds[LIFELINE].revents != 0;
}

static bool is_done(const struct lab *lab)
{
	bool is_busy = lab->ended < (lab->is_over ? lab->started : lab->count);

	if (lab->is_alone || (lab->is_over && rn_lab_now() >= lab->grace))
		return true;
	return !is_busy && (lab->is_over || !lab->args->keep);
}

static void loop(struct lab *lab)
{
	bool said = false;

	while (!is_done(lab)) {
		bool turn = start_due(lab);

		if (!said && lab->args->keep && lab->ended == lab->count) {
			said = true;
			rn_lab_say(
				lab->args,
				"the hosts stay until Ctrl-C; rocin lab-exec --lab=%d h1 "
				"goes there",
				(int)lab->args->pid);
		}
		look(lab, turn);
		look_at_clock(lab);
	}
	for (unsigned i = 0; i < lab->started; i++) {
		if (!lab->programs[i].has_ended)
			lab->programs[i].end = rn_lab_now();
		read_stream(lab, &lab->programs[i].out, true);
		read_stream(lab, &lab->programs[i].err, true);
	}
}

/* ------------------------------------------------------------------ begin and end */
static int open_signals(void)
{
	static const int wanted[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < RN_ARRAY_SIZE(wanted); i++)
		sigaddset(&set, wanted[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A super-packet that is lost or captured is no packet of the wire. */
static void choose_packets(const struct lab *lab)
{
	bool spoils = lab->by & RN_LAB_BY_NETEM &&
		      (lab->args->link.loss || lab->args->link.reorder);

	if (spoils || lab->args->capture)
		setenv("ROCIN_GSO", "off", 0);
}

static int make(struct lab *lab, const struct rn_lab_user *user, char *err,
		size_t err_len)
{
	const struct rn_lab_args *args = lab->args;
	int rc = rn_lab_settle(user, err, err_len);

	if (!rc)
		rc = rn_lab_hosts_make(args, &lab->by, err, err_len);
	if (!rc && lab->by & RN_LAB_BY_RULES)
		rc = rn_lab_hosts_rules(args, err, err_len);
	if (!rc && args->capture)
		rc = rn_lab_capture_start(args->capture, args->quiet, &lab->capture, err,
					  err_len);
	choose_packets(lab);
	return rc;
}

static int allocate(struct lab *lab)
{
	lab->count = lab->args->command_count;
	lab->programs = calloc(lab->count + 1, sizeof(*lab->programs));
	lab->fds = calloc(STREAMS + 2 * (size_t)lab->count, sizeof(*lab->fds));
	for (unsigned i = 0; i < lab->count && lab->programs; i++) {
		lab->programs[i].command = &lab->args->commands[i];
		lab->programs[i].out.from = lab->programs[i].err.from = -1;
	}
	return lab->programs && lab->fds ? 0 : -ENOMEM;
}

static int finish(struct lab *lab)
{
	rn_ns time = rn_lab_now() - lab->begin;
	int status = lab->status;

	if (!status && lab->failed)
		status = lab->failed->status;
	if (lab->args->capture && (!lab->capture || rn_lab_capture_stop(lab->capture)) &&
	    !status)
		status = RN_EXIT_FAILURE;
	rn_lab_report_end(lab->args, lab->programs, lab->count, lab->failed, time);
	if (lab->args->json && rn_lab_report_json(lab->args, lab->programs, lab->count,
						  lab->by, status, time))
		status = status ? status : RN_EXIT_FAILURE;
	return status;
}

int rn_lab_main(const struct rn_lab_args *args, const struct rn_lab_user *user,
		int lifeline)
{
	struct lab lab = { .args = args,
			   .lifeline = lifeline,
			   .begin = rn_lab_now(),
			   .timeout = RN_NEVER,
			   .grace = RN_NEVER };
	char err[1024];
	int status = RN_EXIT_FAILURE;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "rocin lab");
	/* Ctrl-C comes from the one outside alone: what comes twice is not patient. */
	setpgid(0, 0);
	lab.signals = open_signals();
	if (args->timeout > 0)
		lab.timeout = lab.begin + (rn_ns)(args->timeout * 1e9);
	if (allocate(&lab))
		rn_complain("out of memory");
	else if (make(&lab, user, err, sizeof(err)))
		rn_complain("%s", err);
	else {
		rn_lab_report_begin(args, lab.by);
		loop(&lab);
		status = finish(&lab);
	}
	free(lab.programs);
	free(lab.fds);
	return status;
}
