/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* source.c - adds descriptors to the epoll set of rocind and removes them; see server.h.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tools/rocind/server/server.h"

int rnd_server_watch(struct rnd_server *server, struct rnd_source *source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };

	if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0)
		return -errno;
	source->server = server;
	return 0;
}

void rnd_source_forget(struct rnd_source *source)
{
	if (source->server)
		epoll_ctl(source->server->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->server = NULL;
}

void rnd_source_close(struct rnd_source *source)
{
	rnd_source_forget(source);
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}
