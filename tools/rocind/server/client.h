/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* client.h - one connection: its requests, its slot, its end. */
#ifndef RND_CLIENT_H
#define RND_CLIENT_H

#include "server.h"
#include "taps.h"
#include "wires.h"

struct rnd_client {
	struct rnd_client *next;
	struct rnd_server *server;
	struct rnd_source sock;
	/* Readable when the process is dead; a fork child of it may keep the connection
	 * open beyond that. -1 on old kernels.
	 */
	struct rnd_source pidfd;
	uint64_t id;
	int32_t pid;
	bool is_greeted; /* speaks our version; only such clients keep the daemon alive */
	struct rnd_attachment attachment;
	struct rnd_wires wires; /* of the attachment */
	struct rnd_taps taps;
};

/* Take in a new connection; closes @fd where that fails or its user is another one. */
void rnd_client_accept(struct rnd_server *server, int fd);

/* Free the slot and the client. */
void rnd_client_close(struct rnd_client *client);

/* Send an event; a client that does not read its events is closed. Return: true if the
 * client is still there.
 */
bool rnd_client_tell(struct rnd_client *client, const void *msg, int fd);

#endif /* RND_CLIENT_H */
