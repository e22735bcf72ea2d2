/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* taps.h - captures: which client captures which devices, and the rings between them.
 *
 * rocind makes a ring for each pair of a capture and a device, and hands it to both
 * processes; it never reads it. Only for packets of QP1, which are its own, rocind acts
 * as a device of its own name. A device that is added later gets its rings when it
 * attaches. What a client has written to a ring before it ended can still be read at the
 * other end.
 *
 * A client that does not read its events loses its connection, but only later: no client
 * is freed during a call of these functions.
 */
#ifndef RND_TAPS_H
#define RND_TAPS_H

#include "transport/io/rocind/ctl.h"

struct rnd_client;

/* The devices that a client captures; all zeros: none. */
struct rnd_taps {
	bool is_open;
	struct rn_ctl_capture what;
};

/* A client wants to capture. Returns 0, or -EALREADY, -EBUSY, -EINVAL with a sentence in
 * @err.
 */
int rnd_taps_open(struct rnd_client *client, const struct rn_ctl_capture *what, char *err,
		  size_t err_len);

/* The request was answered: connects the capture with all devices. */
void rnd_taps_begin(struct rnd_client *client);

/* A client has attached a device: connects it with all captures. */
void rnd_taps_attached(struct rnd_client *client);

/* A client gives up its device or its capture, or ends. */
void rnd_taps_close(struct rnd_client *client);

#endif /* RND_TAPS_H */
