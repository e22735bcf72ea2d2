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

#include "rocin/types.h"
#include "tools/rocin/run/settings.h"

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

/* ------------------------------------------------------------------------ namespaces */
/* The namespaces of a lab: made, set up, entered. See namespaces(7).
 *
 * All but the clones return 0 or -errno with a sentence.
 */

/* A tmpfs of each host's own is there, with rocind's directory and these. */
#define RN_LAB_SHM "/dev/shm"
#define RN_LAB_DIR RN_LAB_SHM "/rocin-lab"
#define RN_LAB_BIN RN_LAB_DIR "/bin"

/* Who has made a lab. */
struct rn_lab_user {
	uid_t uid;
	gid_t gid;
	bool has_ns; /* it is in a user namespace, without which the rest was refused */
};

/**
 * rn_lab_clone() - Fork into a PID, network, mount, UTS and IPC namespace of its own
 * @user:	Out, in both processes
 *
 * Return: as fork(), -1 with errno EPERM, ENOSPC ... where namespaces are refused.
 */
pid_t rn_lab_clone(struct rn_lab_user *user);

/* Why namespaces are refused, and what to do. @err: errno of rn_lab_clone(), or of what a
 * process in them was refused.
 */
void rn_lab_say_refused(int err, char *text, size_t len);

/* In the child of rn_lab_clone(), first of all: the same user, and a /proc of its own. */
int rn_lab_settle(const struct rn_lab_user *user, char *err, size_t err_len);

/* The process id of the keeper of @host in the PID namespace of the lab. */
pid_t rn_lab_keeper_pid(unsigned host);

/* Let programs that are started keep what an administrator of a network needs, although
 * they are those of an ordinary user. Return: 0 or -errno, without a sentence.
 */
int rn_lab_keep_capabilities(void);

/* The life of the lab's own process, in the namespaces of rn_lab_clone(), until all
 * commands have ended. @lifeline is at its end when the one outside has gone.
 * Return: exit status.
 */
int rn_lab_main(const struct rn_lab_args *args, const struct rn_lab_user *user,
		int lifeline);

/* ---------------------------------------------------------------------------- output */
/* What programs on hosts say, by lines, each with the host's name. */

enum {
	RN_LAB_LINE_MAX = 16384, /* a longer line becomes several */
};

struct rn_lab_stream {
	int from; /* does not block; -1: at its end */
	int to;
	char prefix[16]; /* of each line */
	size_t used;	 /* of @line: the beginning of one that has no end yet */
	char line[RN_LAB_LINE_MAX];
};

/* @from belongs to the stream. */
void rn_lab_stream_open(struct rn_lab_stream *s, int from, int to, const char *prefix);

/* Hand on what is there, but for a line that has not ended. Return: 0; -EPIPE or another
 * -errno of writing.
 */
int rn_lab_stream_read(struct rn_lab_stream *s);

/* The same, and nothing more will come. */
int rn_lab_stream_end(struct rn_lab_stream *s);

/* -------------------------------------------------------------------------- programs */
/* A program on a host of a lab: started, heard, ended. */

struct rn_lab_program {
	const struct rn_lab_command *command;
	pid_t pid; /* also of its process group; 0: not started */
	bool has_ended;
	int status; /* as shells have it: 128 and the signal */
	rn_ns begin, end;
	unsigned listeners; /* on its host before it began */
	struct rn_lab_stream out, err;
};

/* ----------------------------------------------------------------------------- hosts */
/* The hosts of a lab, each held by a process that sleeps: its keeper. */

/**
 * rn_lab_hosts_make() - Make all hosts and the network between them
 * @by:		Out: what does to packets what the link is to do; RN_LAB_BY_...
 *
 * In the lab's own process, which must have had no child before. Return: 0 or -errno with
 * a sentence.
 */
int rn_lab_hosts_make(const struct rn_lab_args *args, unsigned *by, char *err,
		      size_t err_len);

/* Let rocind of each host do by rules what no kernel does. Return: as above. */
int rn_lab_hosts_rules(const struct rn_lab_args *args, char *err, size_t err_len);

/* In a child: become a process of @host. Return: 0 or -errno with a sentence. */
int rn_lab_host_become(const struct rn_lab_args *args, unsigned host, char *err,
		       size_t err_len);

/* --------------------------------------------------------------------------- packets */
/* All packets of a lab, as they pass the switch, in a pcapng file. */

/* A process that writes the packets to @path from now on. @pid: out. Return: 0 or -errno
 * with a sentence.
 */
int rn_lab_capture_start(const char *path, bool quiet, pid_t *pid, char *err,
			 size_t err_len);

/* It writes what has passed by now, says how much that was, and ends. Return: 0 or
 * -errno.
 */
int rn_lab_capture_stop(pid_t pid);

#endif /* RN_LAB_H */
