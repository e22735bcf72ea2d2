/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - tell clients when their interface's addresses or link change. */
#ifndef RND_WATCH_H
#define RND_WATCH_H

#include "server.h"

/* Return: a socket that is readable when an interface or address changed, or -errno. */
int rnd_watch_open(void);

/* After the socket became readable: compare what is now with what each client knows, and
 * tell it the difference. No single notification is trusted, so none can be missed.
 */
void rnd_watch_changed(struct rnd_server *server);

/* The same for one client, which may be closed by that: after it has attached with what
 * it knew some time ago.
 */
void rnd_watch_update(struct rnd_client *client);

#endif /* RND_WATCH_H */
