/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* activation.h - a listening socket that a service manager passed, by the convention of
 * sd_listen_fds(3): LISTEN_PID says for whom, LISTEN_FDS how many, and they begin at
 * descriptor 3.
 *
 * Clients look for the socket under a name with their network namespace in it, which a
 * unit cannot spell; so the unit makes a link of that name, and what counts is that it
 * leads here.
 */
#ifndef RND_ACTIVATION_H
#define RND_ACTIVATION_H

#include <stdbool.h>
#include <stddef.h>

/* Was a socket passed to this process? Changes nothing. */
bool rnd_is_activated(void);

/**
 * rnd_activation_take() - The socket that was passed
 * @dir:	Runtime directory
 * @name:	Name in it under which clients look for the socket
 *
 * The variables are taken out of the environment.
 *
 * Return: the socket, non-blocking and close-on-exec, -ENOENT (none was passed), or
 *	   -EINVAL with a sentence (what was passed is not what clients would find).
 */
int rnd_activation_take(const char *dir, const char *name, char *err, size_t err_len);

#endif /* RND_ACTIVATION_H */
