/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* client.h - a connection to rocind: its requests, the slot that its process holds, and
 * its end.
 */
#ifndef RND_CLIENT_H
#define RND_CLIENT_H

#include "server.h"
#include "taps.h"
#include "wires.h"

struct rnd_client {
	struct rnd_client *next;
	struct rnd_server *server;
	struct rnd_source sock;
	/* pidfd, which becomes readable when the process dies. Closing the connection
	 * would not show that if a fork child keeps a copy of the socket. -1: the kernel
	 * is too old for it.
	 */
	struct rnd_source pidfd;
	uint64_t id;
	int32_t pid;
	/* the client has sent a hello with our protocol version; only such clients keep
	 * rocind running
	 */
	bool is_greeted;
	struct rnd_attachment attachment;
	struct rnd_wires wires; /* local wires of the attachment */
	struct rnd_taps taps;
};

/* Accepts a new connection. Closes @fd on failure, or if the process belongs to
 * another user.
 */
void rnd_client_accept(struct rnd_server *server, int fd);

/* Releases the slot and frees the client. */
void rnd_client_close(struct rnd_client *client);

/* Sends an event. A client whose socket buffer is full, because it does not read, is
 * closed. Returns true if the client still exists.
 */
bool rnd_client_tell(struct rnd_client *client, const void *msg, int fd);

#endif /* RND_CLIENT_H */
