/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd.h - the subcommands of `rocin`, and functions that they share. */
#ifndef RN_CMD_H
#define RN_CMD_H

#include <argp.h>

#include "rocin/types.h"

/* Exit statuses of rocin itself, the same as those of env(1) and nohup(1). When rocin
 * runs a program, rocin's exit status is that of the program.
 */
enum {
	RN_EXIT_FAILURE = 1, /* the command did not succeed */
	RN_EXIT_USAGE = 64,  /* EX_USAGE: wrong arguments */
	/* the program exists, but LD_PRELOAD does not work in it */
	RN_EXIT_CANNOT_RUN = 126,
	RN_EXIT_NOT_FOUND = 127, /* the program to run does not exist */
};

/* A command of rocin. */
struct rn_command {
	const char *name;
	int (*run)(int argc, char **argv);
	/* description in --help; NULL: --help does not list the command */
	const char *help;
};

/* `rocin completion SHELL': prints a script that makes bash, zsh or fish complete the
 * command line of rocin. @commands: the @count commands of rocin. Returns the exit
 * status.
 */
int rn_cmd_completion(int argc, char **argv, const struct rn_command *commands,
		      size_t count);

/* Each of these functions runs a command. argv[0] is "rocin NAME". They return the exit
 * status.
 */
int rn_cmd_run(int argc, char **argv);
int rn_cmd_env(int argc, char **argv);
int rn_cmd_devices(int argc, char **argv);
int rn_cmd_doctor(int argc, char **argv);
int rn_cmd_config(int argc, char **argv);
int rn_cmd_stat(int argc, char **argv);
int rn_cmd_capture(int argc, char **argv);
int rn_cmd_extcap(int argc, char **argv);
int rn_cmd_dump(int argc, char **argv);
int rn_cmd_bench(int argc, char **argv);
int rn_cmd_example(int argc, char **argv);
int rn_cmd_explain(int argc, char **argv);
int rn_cmd_formats(int argc, char **argv);
int rn_cmd_hunt(int argc, char **argv);
int rn_cmd_tour(int argc, char **argv);
int rn_cmd_litmus(int argc, char **argv);
int rn_cmd_conform(int argc, char **argv);
int rn_cmd_sim(int argc, char **argv);
int rn_cmd_fault(int argc, char **argv);
int rn_cmd_gds(int argc, char **argv);
int rn_cmd_lab(int argc, char **argv);
int rn_cmd_stop(int argc, char **argv);
int rn_cmd_keep_counters(int argc, char **argv);

/* Hidden command `rocin lab-exec': runs a command on another host of a lab, in place
 * of ssh.
 */
int rn_cmd_lab_exec(int argc, char **argv);

/* Hidden command `rocin probe'. `rocin doctor` runs it in the environment in which
 * programs find the devices.
 */
int rn_cmd_probe(int argc, char **argv);

/* Returns true if @arg is one of the options with which Wireshark calls an extcap
 * program: `rocin' was then started by Wireshark.
 */
bool rn_is_extcap(const char *arg);

/* Prints "rocin: MESSAGE" on standard error. */
void rn_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* RN_CMD_H */
