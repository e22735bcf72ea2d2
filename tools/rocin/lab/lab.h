/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab.h - `rocin lab`: simulates several hosts on one machine by namespaces.
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
 * All processes of a lab are in its PID namespace, so the kernel kills them when the lab
 * (process 1) ends. The lab ends when `rocin lab' ends. Each host has its files in a
 * tmpfs of its own. Files and namespaces of a lab have no names outside of it.
 */
#ifndef RN_LAB_H
#define RN_LAB_H

#include <sys/types.h>

#include "rocin/types.h"
#include "tools/rocin/run/settings.h"

enum {
	/* The number of a host is the last byte of its IP address, which limits the
	 * number of hosts.
	 */
	RN_LAB_HOSTS_MAX = 250,
	RN_LAB_FIRST_KEEPER = 2,
	RN_LAB_MTU_MIN = 1280, /* the minimum MTU that IPv6 requires */
	RN_LAB_MTU_MAX = 65535,
	/* exit status of `rocin lab' after the timeout, the same as that of timeout(1) */
	RN_LAB_EXIT_TIMEOUT = 124,
};

#define RN_LAB_NET4 "10.86.0."
#define RN_LAB_NET6 "fd86::"
#define RN_LAB_INTERFACE "eth0"

/* What the link of each host does to the packets that the host sends. */
struct rn_lab_link {
	uint32_t mtu;
	/* How many packets in a million are lost, and how many are reordered. */
	uint32_t loss, reorder;
	rn_ns delay;   /* delay in ns; 0: none */
	uint64_t rate; /* rate limit in bit/s; 0: no limit */
	uint64_t seed;
};

/* A program to be run on a host. */
struct rn_lab_command {
	unsigned host;	 /* number of the host from 0; the name of host 0 is "h1" */
	char **argv;	 /* arguments of the program; the array ends with NULL */
	bool is_awaited; /* the next command starts only when this one is ready */
	bool is_shell;	 /* the command is interactive and gets the terminal */
};

struct rn_lab_args {
	struct rn_run_settings settings;
	unsigned hosts;
	struct rn_lab_link link;
	struct rn_lab_command *commands; /* commands to run; at most one per host */
	unsigned command_count;
	const char *capture, *json; /* names of the files that are written; NULL: none */
	double timeout;		    /* time limit in seconds; 0: no time limit */
	/* when the first program fails, all programs are ended */
	bool halt;
	/* the hosts exist until a signal comes, even if no programs are left */
	bool keep;
	bool quiet;
	pid_t pid; /* process id of `rocin lab` in the user's PID namespace */
};

/* ------------------------------------------------------------ namespaces of the lab */
/* Functions that make, set up and enter the namespaces of a lab; see namespaces(7). If no
 * comment says otherwise, they return 0, or -errno with an error text in @err.
 */

/* Directories in the tmpfs of each host. The runtime directory of rocind is in that
 * tmpfs, too.
 */
#define RN_LAB_SHM "/dev/shm"
#define RN_LAB_DIR RN_LAB_SHM "/rocin-lab"
#define RN_LAB_BIN RN_LAB_DIR "/bin"

/* The user who has started the lab. */
struct rn_lab_user {
	uid_t uid;
	gid_t gid;
	/* True: the lab has a user namespace. It needs one unless the user is privileged,
	 * to make the other namespaces.
	 */
	bool has_ns;
};

/**
 * rn_lab_clone() - Fork a process with its own PID, network, mount, UTS and IPC namespace
 * @user:	Out, written in both processes
 *
 * Return: as fork(); -1 with errno EPERM, ENOSPC and others if namespaces are refused.
 */
pid_t rn_lab_clone(struct rn_lab_user *user);

/* Maps the user ids and mounts /proc. The child of rn_lab_clone() must call this before
 * any other function.
 */
int rn_lab_settle(const struct rn_lab_user *user, char *err, size_t err_len);

/* Returns the process id that the keeper of @host (its sleeping process) has in the PID
 * namespace of the lab.
 */
pid_t rn_lab_keeper_pid(unsigned host);

/* Lets the programs of an ordinary user keep capabilities in the lab: those for
 * administering the network, for entering namespaces and for debugging. Returns 0, or
 * -errno without an error text.
 */
int rn_lab_keep_capabilities(void);

/* Runs the lab until all commands have ended. The caller is the process that
 * rn_lab_clone() has made. @lifeline: read end of a pipe. Its other end is closed when
 * `rocin lab', the process outside, ends. Returns the exit status.
 */
int rn_lab_main(const struct rn_lab_args *args, const struct rn_lab_user *user,
		int lifeline);

/* --------------------------------------------------------------- output of programs */
/* Output of programs on the hosts, line by line, each with the name of the host. */

enum {
	RN_LAB_LINE_MAX = 16384, /* a longer line is split */
};

struct rn_lab_stream {
	int from; /* non-blocking descriptor to read from; -1: end of file was reached */
	int to;
	char prefix[16]; /* text that is written before each line */
	size_t used;	 /* length of the incomplete line in @line, in bytes */
	char line[RN_LAB_LINE_MAX];
};

/* Initialises a stream, which will close @from. */
void rn_lab_stream_open(struct rn_lab_stream *s, int from, int to, const char *prefix);

/* Reads what the program has written so far, and writes its complete lines to s->to.
 * Returns 0, or -errno if the lines could not be written, such as -EPIPE.
 */
int rn_lab_stream_read(struct rn_lab_stream *s);

/* Writes everything that is left, including an incomplete line. */
int rn_lab_stream_end(struct rn_lab_stream *s);

/* ------------------------------------------------------------ programs on the hosts */
/* A program on a host, from its start to its end. */

struct rn_lab_program {
	const struct rn_lab_command *command;
	pid_t pid; /* process id and process group; 0: not started */
	bool has_ended;
	/* exit status; for a program that a signal has killed, 128 + signal number */
	int status;
	rn_ns begin, end;
	/* number of TCP sockets that listened on the host before the program was started
	 */
	unsigned listeners;
	struct rn_lab_stream out, err;
};

/* ----------------------------------------------------------------------------- hosts */
/* The hosts of a lab. Each host has a process that sleeps, its keeper, so that the
 * namespaces of the host continue to exist.
 */

/**
 * rn_lab_hosts_make() - Make all hosts and the network between them
 * @by:	Out: RN_LAB_BY_..., the means by which the links delay or drop packets
 *
 * Called in the lab's main process, before it has forked any other child.
 *
 * Return: 0, or -errno with an error text in @err.
 */
int rn_lab_hosts_make(const struct rn_lab_args *args, unsigned *by, char *err,
		      size_t err_len);

/* Sets fault rules (`rocin fault') in the rocind of each host, for those properties of
 * links that the kernel cannot implement. Returns 0, or -errno with an error text in
 * @err.
 */
int rn_lab_hosts_rules(const struct rn_lab_args *args, char *err, size_t err_len);

/* Enters the namespaces of @host. Called in a child process, which will execute a program
 * on that host. Returns 0, or -errno with an error text in @err.
 */
int rn_lab_host_become(const struct rn_lab_args *args, unsigned host, char *err,
		       size_t err_len);

/* --------------------------------------------- capture of the packets at the switch */
/* A pcapng file with all packets that pass through the switch of a lab. */

/* Starts a process that captures the packets between the hosts and writes them to @path.
 * Sets *@pid to its process id. Returns 0, or -errno with an error text in @err.
 */
int rn_lab_capture_start(const char *path, bool quiet, pid_t *pid, char *err,
			 size_t err_len);

/* Ends the process @pid, which rn_lab_capture_start() has started. Before that process
 * ends, it writes the packets that have passed so far, and reports their number. Returns
 * 0 or -errno.
 */
int rn_lab_capture_stop(pid_t pid);

/* ---- The network: a switch (bridge), and a link to each host ---- */

/* Means that give a link its properties (struct rn_lab_link). */
enum {
	RN_LAB_BY_NETEM = 1 << 0, /* netem emulates delay, loss, reordering and rate */
	RN_LAB_BY_TBF = 1 << 1,	  /* tbf limits the rate */
	/* fault rules in the RDMA devices of the host emulate delay, loss and reordering
	 */
	RN_LAB_BY_RULES = 1 << 2,
};

struct nl_sock;
struct nl_msg;

/* Opens a netlink socket to the network namespace of this process. The caller must free
 * *@nl by nl_socket_free(). Returns 0 or -errno.
 */
int rn_lab_net_open(struct nl_sock **nl);

/* Makes the switch of the lab. The caller must be in the switch's network namespace. This
 * function and the following ones return 0, or -errno with an error text in @err.
 */
int rn_lab_switch_make(struct nl_sock *nl, const struct rn_lab_link *link, char *err,
		       size_t err_len);

/* Makes a link from the switch to @host. @keeper: process id of the host's keeper, in
 * whose network namespace the host's end of the link is placed.
 */
int rn_lab_cable_make(struct nl_sock *nl, const struct rn_lab_link *link, unsigned host,
		      pid_t keeper, char *err, size_t err_len);

/* Turns off features of IPv6 that would change addresses by themselves. Must be called in
 * a new network namespace, before it has interfaces.
 */
void rn_lab_net_prepare(bool has_ipv6);

/* Sets addresses, routes and the queueing discipline of a host. Must be called in the
 * host's network namespace, after rn_lab_cable_make() has made its link. Sets *@by to the
 * means by which the link delays or drops packets (RN_LAB_BY_...), or to 0 if it does
 * neither.
 */
int rn_lab_host_connect(const struct rn_lab_link *link, unsigned host, unsigned *by,
			char *err, size_t err_len);

/* Writes fault rules to @text that have the same effect as @link, in the language of
 * rocin-fault(5), one per line. If @link neither delays nor drops packets, @text is
 * empty. The random seed is different for each @host. Returns the length of the text.
 */
int rn_lab_link_rules(const struct rn_lab_link *link, unsigned host, char *text,
		      size_t len);

/* Returns the number (from 0) of the host with the name or address @name, or -1 if there
 * is none.
 */
int rn_lab_host_number(const char *name, unsigned hosts);

/* Writes the properties of @link as text, such as its delay and loss. The text is empty
 * if the link has none. Returns the length of the text.
 */
int rn_lab_link_text(const struct rn_lab_link *link, char *text, size_t len);

/* Return netlink messages that install a queueing discipline on interface @index. */
struct nl_msg *rn_lab_netem_msg(int index, const struct rn_lab_link *link);
struct nl_msg *rn_lab_tbf_msg(int index, const struct rn_lab_link *link);

#endif /* RN_LAB_H */
