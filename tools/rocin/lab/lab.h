/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab.h - `rocin lab`: many hosts on one machine, and what its parts share.
 *
 *   rocin lab (pid as the user sees it)
 *     `- the lab: pid 1 of its PID namespace, in the network namespace of the switch
 *          |- keeper of h1: pid 2, holds the namespaces of the host, and sleeps
 *          |- keeper of h2: pid 3
 *          |- ...
 *          |- command on h1, command on h2, ...
 *          `- whatever these leave behind
 *
 *   [h1: eth0 10.86.0.1, fd86::1, fe80::1] --- br0 of the switch --- [h2: eth0 ...] ...
 *
 * Everything lives in the PID namespace, so that the kernel ends all of it with the lab,
 * and the lab ends with the process that the user started. Files that belong to a host
 * are in a tmpfs of its own. Nothing of this has a name outside.
 */
#ifndef RN_LAB_H
#define RN_LAB_H

#include <sys/types.h>

#include "lab_ns.h"
#include "tools/rocin/run/run_settings.h"

enum {
	RN_LAB_HOSTS_MAX = 250, /* the last byte of an address names the host */
	RN_LAB_FIRST_KEEPER = 2,
	RN_LAB_MTU_MIN = 1280, /* IPv6 wants it */
	RN_LAB_MTU_MAX = 65535,
	RN_LAB_EXIT_TIMEOUT = 124, /* as timeout(1) */
};

#define RN_LAB_NET4 "10.86.0."
#define RN_LAB_NET6 "fd86::"
#define RN_LAB_INTERFACE "eth0"

/* What each host's link does to the packets that the host sends. */
struct rn_lab_link {
	uint32_t mtu;
	uint32_t loss, reorder; /* parts per million */
	rn_ns delay;		/* 0: none */
	uint64_t rate;		/* bit/s, 0: as fast as it can */
	uint64_t seed;
};

/* A program on one host. */
struct rn_lab_command {
	unsigned host;	 /* from 0; its name has this number plus 1 */
	char **argv;	 /* ends with NULL */
	bool is_awaited; /* those behind it begin when it is ready */
	bool is_shell;	 /* has the terminal */
};

struct rn_lab_args {
	struct rn_run_settings settings;
	unsigned hosts;
	struct rn_lab_link link;
	struct rn_lab_command *commands; /* at most one for each host */
	unsigned command_count;
	const char *capture, *json; /* files, or NULL */
	double timeout;		    /* seconds, 0: none */
	bool halt;		    /* one failure ends all */
	bool keep;		    /* hosts stay until a signal comes */
	bool quiet;
	pid_t pid; /* of `rocin lab`, where the user is */
};

/* Write one sentence that begins with the name of the lab, unless it is to be quiet. */
void rn_lab_say(const struct rn_lab_args *args, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The life of the lab's own process, in the namespaces of rn_lab_clone(), until all
 * commands have ended. @lifeline is at its end when the one outside has gone.
 * Return: exit status.
 */
int rn_lab_main(const struct rn_lab_args *args, const struct rn_lab_user *user,
		int lifeline);

#endif /* RN_LAB_H */
