/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_lab.c - `rocin lab': the process that the user starts. It parses the options and
 * makes the lab, a child process in namespaces of its own; see lab.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/namespaces.h"
#include "transport/io/fault/fault_rules.h"

/* ------------------------------------------------------ options of the command line */
enum {
	OPT_HOSTS = 0x200,
	OPT_ON,
	OPT_SHELL,
	OPT_MTU,
	OPT_LOSS,
	OPT_DELAY,
	OPT_REORDER,
	OPT_RATE,
	OPT_SEED,
	OPT_CAPTURE,
	OPT_TIMEOUT,
	OPT_HALT,
	OPT_KEEP,
	OPT_JSON,
	HOSTS_DEFAULT = 2,
	MTU_DEFAULT = 1500,
};

static const struct argp_option options[] = {
	{ "hosts", OPT_HOSTS, "N", 0,
	  "How many hosts: h1 to hN, at most 250 (default: 2)", 1 },
	{ "on", OPT_ON, "HOST COMMAND", 0,
	  "Run this shell command on HOST (h1, or several as h1,h3) instead of PROGRAM; "
	  "may be given several times, and then begins when the one before listens on a "
	  "TCP port, has ended, or after two seconds",
	  1 },
	{ "shell", OPT_SHELL, NULL, 0, "Run an interactive shell on h1", 1 },
	{ "mtu", OPT_MTU, "BYTES", 0,
	  "MTU of the interfaces (default: 1500, for a path MTU of 1024)", 1 },
	{ "loss", OPT_LOSS, "P%", 0, "Lose so many of the packets that each host sends",
	  1 },
	{ "delay", OPT_DELAY, "TIME", 0, "Delay each packet, as 50us or 2ms, one way",
	  1 },
	{ "reorder", OPT_REORDER, "P%", 0, "Let so many packets change places", 1 },
	{ "rate", OPT_RATE, "BITS", 0,
	  "Limit what each host sends, as 10G or 100M bits per second", 1 },
	{ "seed", OPT_SEED, "N", 0, "What the dice of the above begin with (default: 1)",
	  1 },
	{ "capture", OPT_CAPTURE, "FILE", 0,
	  "Write all packets, as they pass the switch, to a pcapng file", 1 },
	{ "timeout", OPT_TIMEOUT, "SECONDS", 0,
	  "End all after this time, with status 124", 1 },
	{ "halt", OPT_HALT, NULL, 0, "End all when one program fails", 1 },
	{ "keep", OPT_KEEP, NULL, 0, "Keep the hosts until Ctrl-C; PROGRAM may be absent",
	  1 },
	{ "json", OPT_JSON, "FILE", 0,
	  "Write how each program ended to FILE; \"-\" is standard output", 1 },
	{ "quiet", 'q', NULL, 0, "Say nothing but what programs say, and errors", 1 },
	{ 0 },
};

/* ---------------------------------------------------------------- values of options */
static bool read_chance(const char *text, uint32_t *ppm)
{
	uint64_t value;

	if (!rn_fault_percent(text, strlen(text), &value))
		return false;
	*ppm = (uint32_t)value;
	return true;
}

/* Parses a rate such as "10G" or "2.5Gbit". */
static bool read_rate(const char *text, uint64_t *rate)
{
	static const struct {
		char name;
		double one;
	} units[] = { { 'K', 1e3 }, { 'k', 1e3 }, { 'M', 1e6 }, { 'G', 1e9 } };
	char *end;
	double value = strtod(text, &end);

	if (end == text || !strchr("0123456789", text[0]))
		return false;
	for (size_t i = 0; i < RN_ARRAY_SIZE(units); i++)
		if (*end == units[i].name) {
			value *= units[i].one;
			end++;
			break;
		}
	if (!strncmp(end, "bit", 3))
		end += 3;
	*rate = (uint64_t)value;
	return *end == '\0' && value >= 8e3 && value <= 1e12;
}

static bool parse_value(int key, const char *arg, struct rn_lab_args *args)
{
	uint64_t n;

	switch (key) {
	case OPT_HOSTS:
		if (!rn_read_number(arg, 1, RN_LAB_HOSTS_MAX, &n))
			return false;
		args->hosts = (unsigned)n;
		return true;
	case OPT_MTU:
		if (!rn_read_number(arg, RN_LAB_MTU_MIN, RN_LAB_MTU_MAX, &n))
			return false;
		args->link.mtu = (uint32_t)n;
		return true;
	case OPT_LOSS:
		return read_chance(arg, &args->link.loss);
	case OPT_REORDER:
		return read_chance(arg, &args->link.reorder);
	case OPT_DELAY:
		return rn_fault_time(arg, strlen(arg), &args->link.delay);
	case OPT_RATE:
		return read_rate(arg, &args->link.rate);
	case OPT_SEED:
		return rn_read_number(arg, 0, UINT32_MAX, &args->link.seed);
	default: /* the option is OPT_TIMEOUT */
		return rn_read_seconds(arg, 1e-9, 1e8, &args->timeout);
	}
}

/* ----------------------------------------------------- commands to run on the hosts */
/* An option --on of the command line: hosts, and the command to run on them. It is stored
 * until all options are parsed, because the number of hosts is known only then.
 */
struct on {
	char *hosts, *argv[4];
};

struct parsing {
	struct rn_lab_args *args;
	struct rn_lab_command commands[RN_LAB_HOSTS_MAX];
	struct on on[RN_LAB_HOSTS_MAX];
	unsigned ons;
	char *shell[2]; /* argv of the shell; empty: no shell was requested */
	char **program; /* argv of the program behind the options; NULL: there is none */
};

static struct rn_lab_command *add_command(struct parsing *p, unsigned host, char **argv)
{
	struct rn_lab_command *c = &p->commands[p->args->command_count++];

	*c = (struct rn_lab_command){ .host = host, .argv = argv };
	return c;
}

static bool has_command(const struct rn_lab_args *args, unsigned host)
{
	for (unsigned i = 0; i < args->command_count; i++)
		if (args->commands[i].host == host)
			return true;
	return false;
}

static void add_on(struct parsing *p, struct on *on, struct argp_state *state)
{
	char *rest = NULL;

	for (char *name = strtok_r(on->hosts, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest)) {
		int host = rn_lab_host_number(name, p->args->hosts);

		if (host < 0)
			argp_error(state, "\"%s\" is none of the hosts h1 to h%u", name,
				   p->args->hosts);
		else if (has_command(p->args, (unsigned)host))
			argp_error(state, "%s has two commands; join them by ;", name);
		else
			add_command(p, (unsigned)host, on->argv)->is_awaited = true;
	}
}

static void collect_commands(struct parsing *p, struct argp_state *state)
{
	struct rn_lab_args *args = p->args;

	args->commands = p->commands;
	if (p->shell[0])
		add_command(p, 0, p->shell)->is_shell = true;
	for (unsigned i = 0; i < p->ons; i++)
		add_on(p, &p->on[i], state);
	for (unsigned i = 0; i < args->hosts && p->program; i++)
		if (!has_command(args, i))
			add_command(p, i, p->program);
	if (args->command_count == 0 && !args->keep)
		argp_error(state, "which program? For instance: rocin lab --on h1 "
				  "ib_send_bw --on h2 'ib_send_bw h1'");
}

/* Stores an option --on: its argument @hosts, and the next argument of the command line,
 * which is the command.
 */
static void note_on(struct parsing *p, char *hosts, struct argp_state *state)
{
	if (state->next >= state->argc)
		argp_error(state, "--on %s wants a command behind the host", hosts);
	else if (p->ons == RN_LAB_HOSTS_MAX)
		argp_error(state, "--on is given too often");
	else
		p->on[p->ons++] =
			(struct on){ hosts,
				     { "/bin/sh", "-c", state->argv[state->next++] } };
}

static void note_shell(struct parsing *p)
{
	char *shell = getenv("SHELL");

	p->shell[0] = shell && *shell ? shell : "/bin/sh";
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *p = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &p->args->settings;
		return 0;
	case OPT_ON:
		note_on(p, arg, state);
		return 0;
	case OPT_SHELL:
		note_shell(p);
		return 0;
	case OPT_CAPTURE:
		p->args->capture = arg;
		return 0;
	case OPT_JSON:
		p->args->json = arg;
		return 0;
	case OPT_HALT:
		p->args->halt = true;
		return 0;
	case OPT_KEEP:
		p->args->keep = true;
		return 0;
	case 'q':
		p->args->quiet = true;
		return 0;
	case OPT_HOSTS:
	case OPT_MTU:
	case OPT_LOSS:
	case OPT_DELAY:
	case OPT_REORDER:
	case OPT_RATE:
	case OPT_SEED:
	case OPT_TIMEOUT:
		if (!parse_value(key, arg, p->args))
			rn_bad_value(state, options, key, arg);
		return 0;
	case ARGP_KEY_ARGS:
		p->program = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		collect_commands(p, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ .argp = &rn_run_settings_argp, .header = "As for rocin run:", .group = 2 },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[--] [PROGRAM [ARGUMENT...]]",
	.doc = "Run PROGRAM on each of several hosts of this machine: network namespaces "
	       "with a switch between them, each with a Rocin device, and no root.\vA "
	       "program finds out where it is by ROCIN_LAB_RANK, _SIZE, _HOST, _HOSTS, "
	       "_PEER and _ADDRESS; hosts are called h1, h2 ... `ssh HOST COMMAND` and "
	       "`rocin-lab-exec HOST COMMAND` run a command on another host, so that "
	       "mpirun and other launchers work: rocin lab --hosts 4 --on h1 'mpirun -H "
	       "h1,h2,h3,h4 ./program'. See rocin-lab(1).",
	.children = children,
};

/* Parses the options into @args. If they are wrong, ends the process with a usage error.
 * @args has pointers into @argv and to memory that is never freed.
 */
static void parse_options(int argc, char **argv, struct rn_lab_args *args)
{
	static struct parsing p;

	p.args = args;
	args->hosts = HOSTS_DEFAULT;
	args->link.mtu = MTU_DEFAULT;
	args->link.seed = 1;
	args->settings.netdevs = RN_LAB_INTERFACE;
	/* ARGP_IN_ORDER: options after the name of the program are not parsed, because
	 * they belong to that program.
	 */
	if (rn_argp_parse(&argp, argc, argv, ARGP_IN_ORDER, &p))
		exit(RN_EXIT_USAGE);
}

/* ------------------------------------------- signals, and the command's entry point */
/* Blocks SIGCHLD and the signals that pass_signals() passes on to the lab. */
static void block_signals(sigset_t *set)
{
	static const int handed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };

	sigemptyset(set);
	for (size_t i = 0; i < RN_ARRAY_SIZE(handed_on); i++)
		sigaddset(set, handed_on[i]);
	sigprocmask(SIG_BLOCK, set, NULL);
}

/* Waits for the process of the lab, and passes the signals of this process on to the lab.
 * The third signal kills the lab instead. Returns the wait status of the lab.
 */
static int pass_signals(pid_t lab, const sigset_t *set)
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

/* Makes our process group the foreground group of the terminal again, after the shell of
 * the lab was in the foreground. Only this process can do so: its process group has no
 * number in the PID namespace of the lab.
 */
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

	parse_options(argc, argv, &args);
	args.pid = getpid();
	if (pipe(lifeline)) {
		rn_complain("%s", strerror(errno));
		return RN_EXIT_FAILURE;
	}
	block_signals(&set);
	lab = rn_lab_clone(&user);
	if (lab == 0) {
		close(lifeline[1]);
		return rn_lab_main(&args, &user, lifeline[0]);
	}
	if (lab < 0) {
		rn_namespaces_say_refused(errno, text, sizeof(text));
		rn_complain("%s", text);
		return RN_EXIT_FAILURE;
	}
	close(lifeline[0]);
	status = pass_signals(lab, &set);
	if (args.command_count > 0 && args.commands[0].is_shell)
		take_terminal();
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	rn_complain("the lab was killed: %s", strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}
