/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server_kit.c - see server_kit.h. */
#include "server_kit.h"

#include <fcntl.h>
#include <sys/epoll.h>

struct rnd_server server;

int server_setup(void **state)
{
	int rc = rnd_server_init(&server, 0);

	(void)state;
	server.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return server.epoll_fd >= 0 ? rc : -1;
}

int server_teardown(void **state)
{
	(void)state;
	rnd_server_close(&server);
	return 0;
}

unsigned serve(void)
{
	struct epoll_event event;
	unsigned n = 0;

	while (epoll_wait(server.epoll_fd, &event, 1, 0) == 1) {
		const struct rnd_source *source = event.data.ptr;

		source->on_ready(source->ctx);
		if (++n == 100)
			fail_msg("rocind is kept busy");
	}
	return n;
}

unsigned open_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}
