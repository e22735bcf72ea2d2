/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wires.h - local wires: shared memory between two processes that rocind serves.
 *
 * rocind makes the memory and hands it to both processes; it never reads it. A wire
 * connects one address of each process. It ends with either process, with either address,
 * or when a process says that it is broken; after the latter these two addresses get no
 * other wire.
 *
 * A client that does not read its events loses its connection, but only later: no client
 * is freed during a call of these functions.
 */
#ifndef RND_WIRES_H
#define RND_WIRES_H

#include "transport/io/rocind/ctl.h"

struct rnd_client;
struct rnd_wire;

/* The wires of a process; zero-initialized. */
struct rnd_wires {
	struct rnd_wire
		*wire[RN_CTL_WIRES_MAX]; /* by bit in the doorbell page; NULL: free */
	/* Index at which the search for a free wire starts. */
	unsigned next;
	bool is_open; /* the two descriptors are open */
	/* Doorbell page of the process, and the eventfd that wakes it. */
	int page_fd, event_fd;
};

/* A client asks for a wire. Both ends are told, or the client is told that it gets none.
 */
void rnd_wires_ask(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* A client says that a wire is broken; the other end is told. */
void rnd_wires_drop(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* The client gives up its slot, or only its address @idx; the other ends are told. */
void rnd_wires_close(struct rnd_client *client);
void rnd_wires_close_gid(struct rnd_client *client, unsigned idx);

#endif /* RND_WIRES_H */
