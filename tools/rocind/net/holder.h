/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* holder.h - find out who holds a UDP port, for the sentence that says so. */
#ifndef RND_HOLDER_H
#define RND_HOLDER_H

#include "rocin/netdev.h"

/* Writes "UDP port 4791 of ADDRESS is held by WHO; stop it or ...". Who it is comes from
 * /proc, as far as that is readable. Return: -EADDRINUSE, always.
 */
int rnd_holder_explain(const struct rn_gid *gid, char *err, size_t err_len);

#endif /* RND_HOLDER_H */
