/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* run.c - the main process of a lab, process 1 of its PID namespace: makes the hosts,
 * starts the programs, copies their output, and ends when they have ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"
#include "tools/rocin/common/files.h"

/* -------------------------------------------------------------------------- programs */
#define READY_AFTER RN_MSEC(2000)

/* Returns CLOCK_MONOTONIC in ns. */
static rn_ns monotonic_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int count_line(void *count, char *line, unsigned number)
{
	enum {
		LISTEN = 0x0a
	};
	unsigned state;

	(void)number;
	if (sscanf(line, "%*s %*s %*s %x", &state) == 1 && state == LISTEN)
		++*(unsigned *)count;
	return 0;
}

/* Counts the listening TCP sockets on @host, which /proc/PID/net lists (proc(5)). */
static unsigned count_listeners(unsigned host)
{
	static const char *const tables[] = { "tcp", "tcp6" };
	unsigned count = 0;
	char path[64];

	for (size_t i = 0; i < RN_ARRAY_SIZE(tables); i++) {
		snprintf(path, sizeof(path), "/proc/%d/net/%s",
			 (int)rn_lab_keeper_pid(host), tables[i]);
		(void)rn_file_lines(path, count_line, &count);
	}
	return count;
}

/* Returns true if the program is ready, so that the next program (such as its client) can
 * be started: it listens on a TCP port, has ended, or has run for READY_AFTER.
 */
static bool is_ready(const struct rn_lab_program *p)
{
	return p->has_ended || monotonic_now() - p->begin >= READY_AFTER ||
	       count_listeners(p->command->host) > p->listeners;
}

/* ------------------------------------------------------ functions for the new process */
/* Restores the signal handlers and the signal mask in a new process. The main process of
 * the lab has blocked signals, because it reads them from a descriptor.
 */
static void restore_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Puts this process into a new process group, to which the lab sends signals. If the
 * process is a shell, its group also becomes the foreground group of the terminal.
 */
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

/* Executes the program @c on its host. Returns only if that failed, with an exit status.
 */
static int exec_on_host(const struct rn_lab_args *args, const struct rn_lab_command *c)
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

/* ----------------------------------------------------- functions for the main process */
static int make_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static void open_streams(struct rn_lab_program *p, const struct rn_lab_args *args,
			 int out, int err)
{
	/* Host names are padded to one width, so that all lines start in the same column.
	 */
	int width = args->hosts > 99 ? 4 : args->hosts > 9 ? 3 : 2;
	char name[8], prefix[16];

	snprintf(name, sizeof(name), "h%u", p->command->host + 1);
	snprintf(prefix, sizeof(prefix), "%-*s | ", width, name);
	rn_lab_stream_open(&p->out, out, STDOUT_FILENO, prefix);
	rn_lab_stream_open(&p->err, err, STDERR_FILENO, prefix);
}

/* Starts a program on its host. Returns 0 or -errno. */
static int start_program(struct rn_lab_program *p, const struct rn_lab_args *args)
{
	bool is_shell = p->command->is_shell;
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, rc;

	rc = make_pipe(out);
	if (!rc)
		rc = make_pipe(err);
	if (rc)
		return rc;
	p->listeners = count_listeners(p->command->host);
	p->begin = monotonic_now();
	p->pid = fork();
	if (p->pid == 0) {
		lead_group(is_shell);
		if (!is_shell)
			connect_streams(out[1], err[1]);
		restore_signals();
		_exit(exec_on_host(args, p->command));
	}
	rc = p->pid < 0 ? -errno : 0;
	if (p->pid > 0)
		setpgid(p->pid, p->pid);
	close(out[1]);
	close(err[1]);
	open_streams(p, args, out[0], err[0]);
	return rc;
}

/* Stores the wait status of a program that has ended. */
static void set_status(struct rn_lab_program *p, int wait_status)
{
	p->has_ended = true;
	p->end = monotonic_now();
	p->status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
					   : 128 + WTERMSIG(wait_status);
}

/* ------------------------------------------------------------- messages and reports */
/* Prints a message that begins with "rocin lab:", unless --quiet was given. */
static void print_note(const struct rn_lab_args *args, const char *fmt, ...)
{
	va_list ap;

	if (args->quiet)
		return;
	fputs("rocin lab: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Returns a text about the means (@by, bits RN_LAB_BY_...) by which links delay or drop
 * packets. Fault rules act only on packets of RDMA devices, and the text says so.
 */
static const char *means_text(unsigned by)
{
	if (by & RN_LAB_BY_NETEM)
		return ", by netem";
	if (by & RN_LAB_BY_RULES && by & RN_LAB_BY_TBF)
		return ": the rate by tbf, the rest by rules about RDMA packets alone, "
		       "since "
		       "this kernel has no netem";
	if (by & RN_LAB_BY_RULES)
		return ", by rules about RDMA packets alone, since this kernel has no "
		       "netem";
	return ", by tbf";
}

/* Reports the hosts, the properties of their links, and the means by which links delay or
 * drop packets.
 */
static void report_begin(const struct rn_lab_args *args, unsigned by)
{
	char link[256], to[64] = "", more[64] = "";
	unsigned n = args->hosts;

	if (n > 1) {
		snprintf(to, sizeof(to), " to h%u", n);
		snprintf(more, sizeof(more), " to " RN_LAB_NET4 "%u, " RN_LAB_NET6 "%x",
			 n, n);
	}
	rn_lab_link_text(&args->link, link, sizeof(link));
	print_note(args,
		   "h1%s: " RN_LAB_NET4 "1, " RN_LAB_NET6 "1%s on " RN_LAB_INTERFACE
		   ", MTU %u%s%s%s",
		   to, more, args->link.mtu, *link ? "; " : "", link,
		   *link ? means_text(by) : "");
}

static double seconds(rn_ns time)
{
	return (double)time / 1e9;
}

/* Prints in one line how the programs have ended. @failed: the first program that has
 * failed, or NULL if none has.
 */
static void report_end(const struct rn_lab_args *args, const struct rn_lab_program *all,
		       unsigned count, const struct rn_lab_program *failed, rn_ns time)
{
	unsigned good = 0;

	for (unsigned i = 0; i < count; i++)
		good += all[i].has_ended && all[i].status == 0;
	if (!failed)
		print_note(args, "%u of %u ended well, %.2f s", good, count,
			   seconds(time));
	else
		print_note(
			args,
			"%u of %u ended well, %.2f s; first h%u failed, with status %d "
			"after %.2f s",
			good, count, seconds(time), failed->command->host + 1,
			failed->status, seconds(failed->end - failed->begin));
}

static json_t *program_json(const struct rn_lab_program *p)
{
	char host[16], address[32];
	json_t *argv = json_array();

	snprintf(host, sizeof(host), "h%u", p->command->host + 1);
	snprintf(address, sizeof(address), RN_LAB_NET4 "%u", p->command->host + 1);
	for (char **arg = p->command->argv; *arg; arg++)
		json_array_append_new(argv, json_string(*arg));
	return json_pack("{s:s, s:s, s:o, s:o, s:f}", "host", host, "address", address,
			 "command", argv, "status",
			 p->has_ended ? json_integer(p->status) : json_null(), "seconds",
			 p->pid > 0 ? seconds(p->end - p->begin) : 0.0);
}

static int print_report(FILE *to, const void *report)
{
	return !report || json_dumpf(report, to, JSON_INDENT(2)) || fputc('\n', to) == EOF
		       ? -EIO
		       : 0;
}

/* Writes the report of the run as JSON to the file that args->json names. Returns 0, or
 * -errno after an error message.
 */
static int report_json(const struct rn_lab_args *args, const struct rn_lab_program *all,
		       unsigned count, unsigned by, int status, rn_ns time)
{
	json_t *list = json_array(), *report;
	char link[256];
	int rc;

	rn_lab_link_text(&args->link, link, sizeof(link));
	for (unsigned i = 0; i < count; i++)
		json_array_append_new(list, program_json(&all[i]));
	report = json_pack("{s:i, s:i, s:s, s:s, s:i, s:f, s:o}", "hosts",
			   (int)args->hosts, "mtu", (int)args->link.mtu, "link", link,
			   "by",
			   by & RN_LAB_BY_NETEM	  ? "netem"
			   : by & RN_LAB_BY_RULES ? "rules"
			   : by & RN_LAB_BY_TBF	  ? "tbf"
						  : "nothing",
			   "status", status, "seconds", seconds(time), "programs", list);
	rc = strcmp(args->json, "-") == 0
		     ? print_report(stdout, report)
		     : rn_file_write(args->json, print_report, report);
	json_decref(report);
	if (rc)
		rn_complain("%s cannot be written: %s", args->json, strerror(-rc));
	return rc;
}

/* ------------------------------------------------------------------- the main loop */
enum {
	TURN_MS = 10, /* interval in ms at which to check whether a program is ready */
	/* seconds after which programs are killed that got a signal to end */
	GRACE_S = 3,
	SIGNALS = 0, /* indices in the array of descriptors that are polled */
	LIFELINE = 1,
	STREAMS = 2,
};

struct lab {
	const struct rn_lab_args *args;
	struct rn_lab_program *programs;
	unsigned count, started, ended;
	const struct rn_lab_program *failed; /* the first program that failed */
	unsigned by;
	pid_t capture; /* process id of the capture process; 0: none */
	int signals, lifeline;
	/* @begin: time at which the lab began. @timeout: time at which the user's time
	 * limit is reached. @grace: time at which programs are killed that got a signal
	 * to end; RN_NEVER: none got one.
	 */
	rn_ns begin, timeout, grace;
	/* Exit status of the lab after a signal or after the time limit. 0: the lab takes
	 * the exit status of a program.
	 */
	int status;
	bool is_over, is_alone;
	struct pollfd *fds;
};

/* ------------------------------------------------------------------------ programs */
/* Sends the signal @sig to all programs, and sets the time at which those that have not
 * ended are killed.
 */
static void end_all(struct lab *lab, int sig)
{
	lab->is_over = true;
	if (lab->grace == RN_NEVER)
		lab->grace = monotonic_now() + GRACE_S * (rn_ns)1000000000;
	for (unsigned i = 0; i < lab->count; i++)
		if (lab->programs[i].pid > 0 && !lab->programs[i].has_ended)
			kill(-lab->programs[i].pid, sig);
}

static void note_end(struct lab *lab, struct rn_lab_program *p, int wait_status)
{
	set_status(p, wait_status);
	lab->ended++;
	if (p->status == 0 || lab->failed)
		return;
	lab->failed = p;
	if (lab->args->halt && !lab->is_over)
		end_all(lab, SIGTERM);
}

/* Reaps all processes that have ended. Among them are processes that programs have left
 * running: this process is process 1 of the namespace, so it is their parent.
 */
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

/* Starts programs, in their order. Returns true while the next program must wait until
 * the one before it is ready.
 */
static bool start_due(struct lab *lab)
{
	while (lab->started < lab->count && !lab->is_over) {
		struct rn_lab_program *p = &lab->programs[lab->started];
		int rc;

		if (lab->started > 0 && p[-1].command->is_awaited && !is_ready(p - 1))
			return true;
		lab->started++;
		rc = start_program(p, lab->args);
		if (rc) {
			rn_complain("h%u: %s", p->command->host + 1, strerror(-rc));
			note_end(lab, p, RN_EXIT_FAILURE << 8);
		}
	}
	return false;
}

/* ------------------------------------------------------------ events of the main loop */
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
			print_note(lab->args, "told twice: what still runs is killed");
			lab->grace = 0;
		}
		/* With --keep, a signal that comes after all programs have ended is no
		 * failure.
		 */
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
	if (lab->is_over || monotonic_now() < lab->timeout)
		return;
	say_late(lab);
	lab->status = RN_LAB_EXIT_TIMEOUT;
	end_all(lab, SIGTERM);
}

static int wait_ms(const struct lab *lab, bool turn)
{
	rn_ns until = lab->is_over ? lab->grace : lab->timeout;
	rn_ns left = until - monotonic_now();

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
	/* -EPIPE: the reader of the output has closed it. */
	if (!lab->is_over && rc != -EPIPE)
		rn_complain("the output cannot be written: %s", strerror(-rc));
	if (!lab->status)
		lab->status = RN_EXIT_FAILURE;
	lab->is_alone = true;
}

static void poll_lab(struct lab *lab, bool turn)
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

	if (lab->is_alone || (lab->is_over && monotonic_now() >= lab->grace))
		return true;
	return !is_busy && (lab->is_over || !lab->args->keep);
}

static void run_loop(struct lab *lab)
{
	bool said = false;

	while (!is_done(lab)) {
		bool turn = start_due(lab);

		if (!said && lab->args->keep && lab->ended == lab->count) {
			said = true;
			print_note(
				lab->args,
				"the hosts stay until Ctrl-C; rocin lab-exec --lab=%d h1 "
				"goes there",
				(int)lab->args->pid);
		}
		poll_lab(lab, turn);
		look_at_clock(lab);
	}
	for (unsigned i = 0; i < lab->started; i++) {
		if (!lab->programs[i].has_ended)
			lab->programs[i].end = monotonic_now();
		read_stream(lab, &lab->programs[i].out, true);
		read_stream(lab, &lab->programs[i].err, true);
	}
}

/* --------------------------------------------------------- start and end of the lab */
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

/* Turns off GSO if packets are dropped, reordered or captured at the switch: the switch
 * would treat a super-packet as one packet.
 */
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
	rn_ns time = monotonic_now() - lab->begin;
	int status = lab->status;

	if (!status && lab->failed)
		status = lab->failed->status;
	if (lab->args->capture && (!lab->capture || rn_lab_capture_stop(lab->capture)) &&
	    !status)
		status = RN_EXIT_FAILURE;
	report_end(lab->args, lab->programs, lab->count, lab->failed, time);
	if (lab->args->json &&
	    report_json(lab->args, lab->programs, lab->count, lab->by, status, time))
		status = status ? status : RN_EXIT_FAILURE;
	return status;
}

int rn_lab_main(const struct rn_lab_args *args, const struct rn_lab_user *user,
		int lifeline)
{
	struct lab lab = { .args = args,
			   .lifeline = lifeline,
			   .begin = monotonic_now(),
			   .timeout = RN_NEVER,
			   .grace = RN_NEVER };
	char err[1024];
	int status = RN_EXIT_FAILURE;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "rocin lab");
	/* The lab gets a process group of its own, so that the terminal does not send the
	 * signal of Ctrl-C to it: the process outside passes that signal on. Otherwise
	 * each Ctrl-C would come twice, and the second signal kills programs.
	 */
	setpgid(0, 0);
	lab.signals = open_signals();
	if (args->timeout > 0)
		lab.timeout = lab.begin + (rn_ns)(args->timeout * 1e9);
	if (allocate(&lab))
		rn_complain("out of memory");
	else if (make(&lab, user, err, sizeof(err)))
		rn_complain("%s", err);
	else {
		report_begin(args, lab.by);
		run_loop(&lab);
		status = finish(&lab);
	}
	free(lab.programs);
	free(lab.fds);
	return status;
}
