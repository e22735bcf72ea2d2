/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* taps.h - captures: who captures which devices, and the rings between them.
 *
 * rocind makes a ring for each pair of a capture and a device and hands it to both; what
 * is in it it never looks at. Packets of QP1 are its own, and it is a device of its own
 * name there. A device that comes later gets its rings when it attaches.
 * What the end of a client leaves behind in a ring the other end can still read.
 *
 * An end that does not take what it is told loses its connection, but not at once: nobody
 * disappears within a call of these functions.
 */
#ifndef RND_TAPS_H
#define RND_TAPS_H

#include "transport/io/rocind/ctl.h"

struct rnd_client;

/* What one client captures; all zeros: nothing. */
struct rnd_taps {
	bool is_open;
	struct rn_ctl_capture what;
};

/* A client wants to capture. Return: 0, -EALREADY, -EBUSY, -EINVAL with a sentence. */
int rnd_taps_open(struct rnd_client *client, const struct rn_ctl_capture *what, char *err,
		  size_t err_len);

/* It has its answer: connect it with the devices that there are. */
void rnd_taps_begin(struct rnd_client *client);

/* A client has got a device: connect it with those that capture. */
void rnd_taps_attached(struct rnd_client *client);

/* It gives its device up, or ends. */
void rnd_taps_close(struct rnd_client *client);

#endif /* RND_TAPS_H */
