/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - `rocin COMMAND`: finds the function of the command and calls it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rocin/common/cmd.h"

static int complete(int argc, char **argv);

static const struct rn_command commands[] = {
	{ "run", rn_cmd_run, "run a program so that it finds the Rocin devices" },
	{ "env", rn_cmd_env, "print the environment in which it does" },
	{ "devices", rn_cmd_devices, "list the devices that a program would find" },
	{ "doctor", rn_cmd_doctor, "say why a program finds no device, and the remedy" },
	{ "config", rn_cmd_config,
	  "show the settings in force, and where they come from" },
	{ "stat", rn_cmd_stat, "show counters and queue pairs of running programs" },
	{ "capture", rn_cmd_capture, "capture the packets of running programs" },
	{ "extcap", rn_cmd_extcap, "show the devices in Wireshark's list of interfaces" },
	{ "dump", rn_cmd_dump, "print the packets of a capture, one line each" },
	{ "formats", rn_cmd_formats,
	  "show the formats of InfiniBand and RoCE side by side" },
	{ "example", rn_cmd_example, "run small programs that show when data is there" },
	{ "explain", rn_cmd_explain, "explain a rule of the validation layer" },
	{ "hunt", rn_cmd_hunt, "look for late writes with which a program goes wrong" },
	{ "tour", rn_cmd_tour, "learn RDMA in eight stops, by what happens" },
	{ "bench", rn_cmd_bench, "measure bandwidth and latency beside TCP and UDP" },
	{ "litmus", rn_cmd_litmus, "try litmus tests of RDMA memory ordering" },
	{ "conform", rn_cmd_conform, "run conformance scenarios, packet by packet" },
	{ "sim", rn_cmd_sim, "run devices and faults made up from a seed" },
	{ "fault", rn_cmd_fault, "make packets and calls go wrong on purpose" },
	{ "gds", rn_cmd_gds, "show what GPUDirect Storage supports and has transferred" },
	{ "lab", rn_cmd_lab, "run programs on many hosts of this machine" },
	{ "lab-exec", rn_cmd_lab_exec, NULL },
	{ "completion", complete, "print what makes a shell complete command lines" },
	{ "stop", rn_cmd_stop, "end the rocind of this network namespace" },
	{ "probe", rn_cmd_probe, NULL },
	{ "keep-counters", rn_cmd_keep_counters, NULL },
};

static int complete(int argc, char **argv)
{
	return rn_cmd_completion(argc, argv, commands, RN_ARRAY_SIZE(commands));
}

static void print_help(FILE *to)
{
	fputs("Usage: rocin COMMAND [OPTION...]\n"
	      "An RDMA network card made of software.\n\n",
	      to);
	for (size_t i = 0; i < RN_ARRAY_SIZE(commands); i++)
		if (commands[i].help)
			fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\n`rocin COMMAND --help` says more; so do rocin(1) and rocin(7).\n"
	      "Try:  rocin run -- ibv_devices\n",
	      to);
}

/* Runs a command with argv[0] = "rocin NAME", the name that argp uses in messages. */
static int run_command(const struct rn_command *c, int argc, char **argv)
{
	char name[32];
	int status;

	snprintf(name, sizeof(name), "rocin %s", c->name);
	argv[0] = name;
	program_invocation_name = name;
	status = c->run(argc, argv);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		rn_complain("cannot write the output: %s", strerror(errno));
		return status ? status : EXIT_FAILURE;
	}
	return status;
}

/* Finds a command by name. If there is none, prints an error and returns NULL. */
static const struct rn_command *find_command(const char *name)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	rn_complain("there is no command \"%s\"; `rocin --help` lists them", name);
	return NULL;
}

static int help_of(const char *name)
{
	const struct rn_command *c = find_command(name);
	char help[] = "--help";
	char *argv[] = { NULL, help, NULL };

	return c ? run_command(c, 2, argv) : RN_EXIT_USAGE;
}

/* Returns true if @name, under which rocin was started, is the name of a remote shell.
 * MPI launchers start commands on other hosts by such a program, for instance ssh. On the
 * hosts of a lab (`rocin lab'), a link with that name leads to rocin, which then runs
 * `rocin lab-exec'.
 */
static bool is_lab_agent(const char *name)
{
	static const char *const names[] = { "rocin-lab-exec", "ssh", "rsh" };
	const char *slash = strrchr(name, '/');

	for (size_t i = 0; i < RN_ARRAY_SIZE(names); i++)
		if (!strcmp(slash ? slash + 1 : name, names[i]))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct rn_command lab_agent = { "lab-exec", rn_cmd_lab_exec, NULL };
	const struct rn_command *command;

	argp_err_exit_status = RN_EXIT_USAGE;
	if (argc > 0 && is_lab_agent(argv[0]))
		return run_command(&lab_agent, argc, argv);
	if (argc < 2) {
		print_help(stderr);
		return RN_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    (!strcmp(argv[1], "help") && argc == 2)) {
		print_help(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "help"))
		return help_of(argv[2]);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("rocin " ROCIN_VERSION);
		return 0;
	}
	if (rn_is_extcap(argv[1])) {
		char name[] = "rocin extcap";

		argv[0] = name;
		return rn_cmd_extcap(argc, argv);
	}
	command = find_command(argv[1]);
	return command ? run_command(command, argc - 1, argv + 1) : RN_EXIT_USAGE;
}
