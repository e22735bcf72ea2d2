/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - tells clients when the addresses or the link of their interface change. */
#ifndef RND_WATCH_H
#define RND_WATCH_H

#include "server.h"

/* Returns a socket that becomes readable when an interface or address changes, or -errno.
 */
int rnd_watch_open(void);

/* Called when the socket is readable: compares the present state with what each client
 * knows, and reports the differences. It does not rely on single messages, so a lost
 * message does no harm.
 */
void rnd_watch_changed(struct rnd_server *server);

/* Reports changes to one client, which may be closed by the call. Called after the client
 * has attached, because what it knows may be out of date.
 */
void rnd_watch_update(struct rnd_client *client);

#endif /* RND_WATCH_H */
