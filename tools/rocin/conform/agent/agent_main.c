/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_main.c - rocin-conform-agent: accepts connections of testers, one at a time. Each
 * tester is served by a process of its own, which opens the device: if a call does not
 * return, or crashes, the tester connects again and gets another process.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/child.h"
#include "tools/rocin/conform/conform.h"

enum {
	EXIT_NO_DEVICE = 2,
	/* Time in ms that a process has for destroying its objects after its tester has
	 * disconnected.
	 */
	GRACE_MS = 3000,
	LOOK_MS = 20,
};

struct agent_args {
	const char *device, *listen;
	uint8_t gid_index;
	bool once;
};

static const struct argp_option options[] = {
	{ "device", 'd', "DEVICE", 0, "RDMA device (default: the first)", 0 },
	{ "gid", 'g', "INDEX", 0, "Its GID to use (default: 0)", 0 },
	{ "listen", 'l', "ADDRESS[:PORT]", 0,
	  "Where testers connect to (default: that GID, port 18516)", 0 },
	{ "once", 'o', NULL, 0, "End with the first tester", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct agent_args *args = state->input;
	uint64_t number = 0;

	switch (key) {
	case 'd':
		args->device = arg;
		return 0;
	case 'g':
		if (!rn_read_number(arg, 0, UINT8_MAX, &number))
			argp_error(state, "%s: not a number, 0 to 255", arg);
		args->gid_index = (uint8_t)number;
		return 0;
	case 'l':
		args->listen = arg;
		return 0;
	case 'o':
		args->once = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Do on an RDMA device what `rocin conform --target' asks for.",
};

static int complain(const char *what, int error)
{
	fprintf(stderr, "rocin-conform-agent: %s: %s\n", what, strerror(error));
	return -error;
}

/* Sets *@gid to the device's GID for IPv4 addresses, or to zeros if it has none. A child
 * process opens the device to find the GID. This process never opens the device, because
 * it must survive every failure of the device. Returns 0, or -errno after an error
 * message.
 */
static int ask_address(const struct agent_args *args, union ibv_gid *gid)
{
	static struct rn_agent a;
	int status = 0, answer[2];
	ssize_t got;
	pid_t pid;

	if (pipe2(answer, O_CLOEXEC))
		return complain("a pipe", errno);
	pid = fork();
	if (pid == 0) {
		if (rn_agent_open(&a, args->device, args->gid_index))
			_exit(EXIT_NO_DEVICE);
		got = write(answer[1], &a.gid[0], sizeof(a.gid[0]));
		rn_agent_close(&a);
		_exit(got == sizeof(a.gid[0]) ? 0 : EXIT_NO_DEVICE);
	}
	close(answer[1]);
	got = pid < 0 ? -1 : read(answer[0], gid, sizeof(*gid));
	close(answer[0]);
	if (pid < 0)
		return complain("a process", errno);
	waitpid(pid, &status, 0);
	return got == sizeof(*gid) && WIFEXITED(status) && WEXITSTATUS(status) == 0
		       ? 0
		       : -ENODEV;
}

/* Opens the listening socket, on the address that the user has given or, without one, on
 * the address @gid. Returns the descriptor, or -errno after an error message.
 */
static int open_listener(const struct agent_args *args, const union ibv_gid *gid)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(RN_CONFORM_PORT) };
	char text[INET_ADDRSTRLEN];
	int fd, on = 1;

	memcpy(&at.sin_addr, gid->raw + 12, sizeof(at.sin_addr));
	if (args->listen && rn_conform_address(args->listen, &at))
		return complain(args->listen, EINVAL);
	if (!args->listen && !at.sin_addr.s_addr)
		return complain("the device has no IPv4 address, say where to --listen",
				EADDRNOTAVAIL);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return complain("a socket", errno);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	inet_ntop(AF_INET, &at.sin_addr, text, sizeof(text));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 4)) {
		int error = errno;

		close(fd);
		return complain(text, error);
	}
	printf("listening on %s:%u\n", text, ntohs(at.sin_port));
	fflush(stdout);
	return fd;
}

/* Serves one tester, in a process of its own, until the tester disconnects or sends an
 * invalid line. @parent: process id of the process that accepts testers.
 */
static int serve_tester(const struct agent_args *args, int fd, pid_t parent)
{
	static struct rn_agent a;
	struct rn_conform_wire w = { .fd = fd };
	struct rn_conform_line l;

	rn_end_with_parent(parent);
	if (rn_agent_open(&a, args->device, args->gid_index))
		return EXIT_NO_DEVICE;
	while (!rn_conform_receive(&w, &l, -1)) {
		rn_agent_answer(&a, &l);
		if (rn_conform_send(&w, &l))
			break;
	}
	rn_agent_close(&a);
	close(fd);
	return 0;
}

/* Waits until the process that serves a tester has ended. If the tester disconnects
 * first, the process gets GRACE_MS to release its objects; if it still runs then, one of
 * its calls must be hanging, so it is killed. If the call hangs in the kernel, the
 * process remains, but the next tester gets another process.
 */
static void wait_for_end(pid_t pid, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	unsigned left = GRACE_MS / LOOK_MS;

	while (waitpid(pid, NULL, WNOHANG) == 0 && left > 0)
		if (poll(&p, 1, LOOK_MS) > 0) {
			left--;
			poll(NULL, 0, LOOK_MS);
		}
	if (left > 0)
		return;
	kill(pid, SIGKILL);
	for (left = GRACE_MS / LOOK_MS; left > 0; left--) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		poll(NULL, 0, LOOK_MS);
	}
	fprintf(stderr,
		"rocin-conform-agent: a call hangs in the kernel, process %d stays\n",
		(int)pid);
}

int main(int argc, char **argv)
{
	struct agent_args args = { 0 };
	union ibv_gid gid;
	pid_t parent = getpid();
	int listener;

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	if (ask_address(&args, &gid))
		return EXIT_NO_DEVICE;
	listener = open_listener(&args, &gid);
	while (listener >= 0) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pid_t pid = fd < 0 ? -1 : fork();

		if (pid == 0) {
			close(listener);
			return serve_tester(&args, fd, parent);
		}
		if (pid > 0)
			wait_for_end(pid, fd);
		if (fd >= 0)
			close(fd);
		if (pid > 0 && args.once)
			break;
	}
	return listener < 0 ? EXIT_NO_DEVICE : 0;
}
