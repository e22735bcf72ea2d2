/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd.h - the subcommands of `rocin` and what they share. */
#ifndef RN_CMD_H
#define RN_CMD_H

#include <argp.h>

#include "rocin/types.h"

/* Exit statuses besides that of a program that was run (as env(1) and nohup(1)). */
enum {
	RN_EXIT_FAILURE = 1,	  /* the command did not succeed */
	RN_EXIT_USAGE = 64,	  /* EX_USAGE: wrong arguments */
	RN_EXIT_CANNOT_RUN = 126, /* program found but not runnable under Rocin */
	RN_EXIT_NOT_FOUND = 127,  /* no such program */
};

/* Each runs with argv[0] = "rocin NAME" and returns the exit status. */
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
int rn_cmd_tour(int argc, char **argv);
int rn_cmd_litmus(int argc, char **argv);
int rn_cmd_conform(int argc, char **argv);
int rn_cmd_sim(int argc, char **argv);
int rn_cmd_fault(int argc, char **argv);
int rn_cmd_lab(int argc, char **argv);
int rn_cmd_stop(int argc, char **argv);

/* Not in the list of commands: what leads from one host of a lab to another. */
int rn_cmd_lab_exec(int argc, char **argv);

/* Hidden: what `rocin doctor` runs under the launch environment. */
int rn_cmd_probe(int argc, char **argv);

/* Is this the first word of a question that Wireshark asks an extcap program? */
bool rn_is_extcap(const char *arg);

/* Print "rocin: SENTENCE" on standard error. */
void rn_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* RN_CMD_H */
