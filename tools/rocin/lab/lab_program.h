/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_program.h - a program on a host of a lab: started, heard, ended. */
#ifndef RN_LAB_PROGRAM_H
#define RN_LAB_PROGRAM_H

#include "lab.h"
#include "lab_output.h"

struct rn_lab_program {
	const struct rn_lab_command *command;
	pid_t pid; /* also of its process group; 0: not started */
	bool has_ended;
	int status; /* as shells have it: 128 and the signal */
	rn_ns begin, end;
	unsigned listeners; /* on its host before it began */
	struct rn_lab_stream out, err;
};

/* CLOCK_MONOTONIC */
rn_ns rn_lab_now(void);

/* Return: 0 or -errno. */
int rn_lab_program_start(struct rn_lab_program *p, const struct rn_lab_args *args);

/* A child that was waited for. */
void rn_lab_program_ended(struct rn_lab_program *p, int wait_status);

/* A peer that begins now finds it: it listens on a TCP port, has ended, or had time. */
bool rn_lab_program_is_ready(const struct rn_lab_program *p);

#endif /* RN_LAB_PROGRAM_H */
