/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wires.h - local wires: shared-memory links between two processes that rocind serves.
 *
 * rocind makes the memory and passes it to both processes, but never reads it. A local
 * wire connects one address of each process. It ends when one of the processes ends or
 * loses its address, or when one of them reports it as broken. After such a report the
 * two addresses get no other local wire.
 *
 * A client that does not read its events loses its connection, but not during a call of
 * these functions: none of them frees a client.
 */
#ifndef RND_WIRES_H
#define RND_WIRES_H

#include "transport/io/rocind/ctl.h"

struct rnd_client;
struct rnd_wire;

/* The local wires of a process; zero-initialized. */
struct rnd_wires {
	struct rnd_wire
		*wire[RN_CTL_WIRES_MAX]; /* by bit in the doorbell page; NULL: free */
	/* Index at which the search for a free entry of `wire' starts. */
	unsigned next;
	bool is_open; /* page_fd and event_fd are open */
	/* Doorbell page of the process, and the eventfd that wakes it. */
	int page_fd, event_fd;
};

/* Makes a local wire that a client has asked for. Notifies both clients of it, or tells
 * this client that it gets none.
 */
void rnd_wires_ask(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* Ends a local wire that the client has reported as broken, and notifies the client at
 * the other end.
 */
void rnd_wires_drop(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* Ends all wires of the client, which gives up its slot, or only those of its address
 * @idx. Notifies the clients at the other ends.
 */
void rnd_wires_close(struct rnd_client *client);
void rnd_wires_close_gid(struct rnd_client *client, unsigned idx);

#endif /* RND_WIRES_H */
