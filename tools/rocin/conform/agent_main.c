/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_main.c - rocin-conform-agent: accepts connections of testers, one at a time. */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"
#include "conform.h"
#include "tools/rocin/common/arguments.h"

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

/* Opens the listening socket. Returns its descriptor, or -errno after an error message.
 */
static int open_listener(const struct agent_args *args, const struct rn_agent *a)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(RN_CONFORM_PORT) };
	char text[INET_ADDRSTRLEN];
	int fd, on = 1;

	memcpy(&at.sin_addr, a->gid[0].raw + 12, sizeof(at.sin_addr));
	if (args->listen && rn_conform_address(args->listen, &at))
		return complain(args->listen, EINVAL);
	if (!args->listen && a->gid_index[0] < 0)
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

/* Serves a tester until it disconnects or sends an invalid line. */
static void serve_tester(struct rn_agent *a, int fd)
{
	struct rn_conform_wire w = { .fd = fd };
	struct rn_conform_line l;

	while (!rn_conform_receive(&w, &l, -1)) {
		rn_agent_answer(a, &l);
		if (rn_conform_send(&w, &l))
			break;
	}
	rn_agent_clear(a);
	close(fd);
}

int main(int argc, char **argv)
{
	static struct rn_agent agent;
	struct agent_args args = { 0 };
	int listener;

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	if (rn_agent_open(&agent, args.device, args.gid_index))
		return 2;
	listener = open_listener(&args, &agent);
	while (listener >= 0) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		serve_tester(&agent, fd);
		if (args.once)
			break;
	}
	ibv_close_device(agent.ctx);
	return listener < 0 ? 2 : 0;
}
