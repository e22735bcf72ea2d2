/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_ns.h - the namespaces of a lab: made, furnished, entered. See namespaces(7).
 *
 * All but the clones return 0 or -errno with a sentence.
 */
#ifndef RN_LAB_NS_H
#define RN_LAB_NS_H

#include <sys/types.h>

#include "rocin/types.h"

/* A tmpfs of each host's own is there, with rocind's directory and these. */
#define RN_LAB_SHM "/dev/shm"
#define RN_LAB_DIR RN_LAB_SHM "/rocin-lab"
#define RN_LAB_BIN RN_LAB_DIR "/bin"

/* Who has made a lab. */
struct rn_lab_user {
	uid_t uid;
	gid_t gid;
	bool has_ns; /* it is in a user namespace, without which the rest was refused */
};

/**
 * rn_lab_clone() - Fork into a PID, network, mount, UTS and IPC namespace of its own
 * @user:	Out, in both processes
 *
 * Return: as fork(), -1 with errno EPERM, ENOSPC ... where namespaces are refused.
 */
pid_t rn_lab_clone(struct rn_lab_user *user);

/* Fork a keeper into namespaces of a host. Return: as fork(). */
pid_t rn_lab_clone_keeper(void);

/* Why namespaces are refused, and what to do. @err: errno of rn_lab_clone(), or of what a
 * process in them was refused.
 */
void rn_lab_say_refused(int err, char *text, size_t len);

/* In the child of rn_lab_clone(), first of all: the same user, and a /proc of its own. */
int rn_lab_settle(const struct rn_lab_user *user, char *err, size_t err_len);

/* In the child of rn_lab_clone_keeper(): name, hosts file, shared memory, an identity of
 * its own.
 */
int rn_lab_furnish(unsigned host, unsigned hosts, char *err, size_t err_len);

/* The process id of the keeper of @host in the PID namespace of the lab. */
pid_t rn_lab_keeper_pid(unsigned host);

/* Go to the host of a keeper, but stay in the directory. */
int rn_lab_enter(pid_t keeper, char *err, size_t err_len);

/* Let programs that are started keep what an administrator of a network needs, although
 * they are those of an ordinary user. Return: 0 or -errno, without a sentence.
 */
int rn_lab_keep_capabilities(void);

#endif /* RN_LAB_NS_H */
