/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wires.h - local wires: shared memory between two processes that rocind serves.
 *
 * rocind makes the memory and hands it to both ends; what they do with it it never looks
 * at. A wire joins one address of each of the two. It ends with either process, with
 * either address, or when an end says that it is broken; then these two get none again.
 *
 * An end that does not take what it is told loses its connection, but not at once: nobody
 * disappears within a call of these functions.
 */
#ifndef RND_WIRES_H
#define RND_WIRES_H

#include "transport/io/rocind/ctl.h"

struct rnd_client;
struct rnd_wire;

/* What one process holds of them; all zeros to begin with. */
struct rnd_wires {
	struct rnd_wire
		*wire[RN_CTL_WIRES_MAX]; /* by their bit in the page; NULL: free */
	unsigned next;			 /* place to try first */
	bool is_open;			 /* the two descriptors are there */
	int page_fd, event_fd;		 /* its doorbell, and what wakes it */
};

/* A client asks for a wire; both ends are told, or the one who asked that there is none.
 */
void rnd_wires_ask(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* It says that one is broken: the other end is told. */
void rnd_wires_drop(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* The client gives up its slot, or only address @idx of it: the other ends are told. */
void rnd_wires_close(struct rnd_client *client);
void rnd_wires_close_gid(struct rnd_client *client, unsigned idx);

#endif /* RND_WIRES_H */
