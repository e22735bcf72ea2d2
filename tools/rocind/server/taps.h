/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* taps.h - captures: which client captures which devices, and the rings in shared memory
 * between them.
 *
 * rocind makes a ring for each pair of a capture and a device, and passes it to both
 * processes, but never reads it. rocind itself counts as a captured device, named rocind,
 * for the packets of QP1, which it sends and receives. A device that attaches later gets
 * its rings then. What a device has written to a ring before its process ended can still
 * be read by the capture.
 *
 * A client that does not read its events loses its connection, but not during a call of
 * these functions: none of them frees a client.
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

/* Opens a capture for the client, of the devices that @what selects. Returns 0; or
 * -EALREADY, -EBUSY or -EINVAL with an error text in @err.
 */
int rnd_taps_open(struct rnd_client *client, const struct rn_ctl_capture *what, char *err,
		  size_t err_len);

/* Connects the capture with all devices. To be called after its request was answered. */
void rnd_taps_begin(struct rnd_client *client);

/* Connects the device with all captures. To be called when the client has attached it. */
void rnd_taps_attached(struct rnd_client *client);

/* Ends the captures of the client's device, and the capture that the client has opened.
 */
void rnd_taps_close(struct rnd_client *client);

#endif /* RND_TAPS_H */
