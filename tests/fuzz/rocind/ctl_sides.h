/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ctl_sides.h - both ends of the control protocol, each against a script. */
#ifndef FUZZ_CTL_SIDES_H
#define FUZZ_CTL_SIDES_H

#include "tests/fuzz/script.h"

/* Messages from up to four clients arrive at rocind's code. */
void ctl_daemon_side(struct script *s);

/* Messages from a daemon arrive at the code of a client that makes requests. */
void ctl_client_side(struct script *s);

/* Send the next message of the script: bytes of any kind, or a good header and any body;
 * with up to 20 descriptors. Return: its type if it is one that the protocol knows, with
 * the right magic, version and length and with no more descriptors than there may be.
 */
enum {
	CTL_UNSENT = -1,
	CTL_BAD = 0,
};
int ctl_speak(struct script *s, int sock);

#endif /* FUZZ_CTL_SIDES_H */
