/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* port_owner.h - finds out which process has bound UDP port 4791, for an error message.
 */
#ifndef RND_PORT_OWNER_H
#define RND_PORT_OWNER_H

#include "rocin/types.h"

struct rn_gid;

/* Writes "UDP port 4791 of ADDRESS is held by WHO; stop it or ...". WHO comes from /proc,
 * as far as that is readable. Always returns -EADDRINUSE.
 */
int rnd_port_owner_explain(const struct rn_gid *gid, char *err, size_t err_len);

#endif /* RND_PORT_OWNER_H */
