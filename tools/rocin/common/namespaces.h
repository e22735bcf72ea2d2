/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* namespaces.h - what commands that make Linux namespaces share. */
#ifndef RN_NAMESPACES_H
#define RN_NAMESPACES_H

#include <stddef.h>
#include <sys/types.h>

/* Writes to @text why the system refuses namespaces, and what the user can do. @err: the
 * errno of the call that should have made them, or of one by a process in them.
 */
void rn_namespaces_say_refused(int err, char *text, size_t len);

/* Maps user and group ids of the user namespace of this process: the ids of the user are
 * the same inside, and no other ids exist. Returns 0 or -errno.
 */
int rn_namespaces_map_user(uid_t uid, gid_t gid);

#endif /* RN_NAMESPACES_H */
