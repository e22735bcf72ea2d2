/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* runtime_dir.h - the private directory where the processes of one user find each other.
 *
 * The directory is the first of these that can be used: $ROCIN_RUNTIME_DIR,
 * $XDG_RUNTIME_DIR/rocin, /dev/shm/rocin-UID, $TMPDIR/rocin-UID (/tmp if TMPDIR is not
 * set). UID is the number of the effective user outside its user namespace, because
 * "unshare -r" makes anybody root.
 *
 * A candidate that cannot be created or written to is skipped, except ROCIN_RUNTIME_DIR,
 * which was chosen on purpose. If another user owns a directory of that name, a
 * directory is used whose name ends in six letters that nobody can guess
 * ("rocin-1000.Xa3dQv"). So another user who makes that directory first can neither keep
 * this user out nor choose the directory for this user: only directories that this user
 * owns are used. If such a directory is accessible to others, that is an error.
 *
 * File names in it contain the network namespace, because devices belong to one
 * namespace: "rocind-4026531840.sock". All paths are absolute. The environment is read
 * with secure_getenv(), so it does not affect a set-user-ID program.
 *
 * Threads: any; no state.
 */
#ifndef RN_RUNTIME_DIR_H
#define RN_RUNTIME_DIR_H

#include "rocin/types.h"

enum {
	/* Bytes including the NUL; a longer path is -ENAMETOOLONG. */
	RN_RUNTIME_PATH_MAX = 1024,
};

/**
 * rn_runtime_dir() - Find or create the runtime directory
 * @dir:	Out: absolute path without a final slash
 * @dir_len:	Bytes in @dir; RN_RUNTIME_PATH_MAX is always enough
 * @err:	Out on failure: the error text, which names the path and the remedy
 * @err_len:	Bytes in @err
 *
 * Return: 0, or -EINVAL (ROCIN_RUNTIME_DIR is not absolute), -EPERM (not a directory of
 *	   this user with mode 0700), -ENAMETOOLONG, or why the last candidate
 *	   cannot be used.
 */
int rn_runtime_dir(char *dir, size_t dir_len, char *err, size_t err_len);

/**
 * rn_runtime_name() - File name for this network namespace
 * @name:	Out: "<stem>-<netns><suffix>"; <netns> is the inode number of the calling
 *		thread's network namespace, "0" if /proc does not tell
 * @name_len:	Bytes in @name; stem and suffix plus 22 are enough
 */
void rn_runtime_name(char *name, size_t name_len, const char *stem, const char *suffix);

/**
 * rn_open_plain() - Open a file that Rocin has made, without waiting for anybody
 * @dir:	Descriptor of the directory that @path begins at, or AT_FDCWD
 * @flags:	As of open(2). A symbolic link is not followed, and the descriptor is
 *		closed by exec(); with O_CREAT the file has mode 0600
 *
 * A process that may write to the directory can put a fifo there. A plain open(2) would
 * wait for the other end of the fifo; this function does not.
 *
 * Return: a descriptor, or -1 with errno; EINVAL: it is no regular file.
 */
int rn_open_plain(int dir, const char *path, int flags);

/**
 * rn_runtime_tree_parent() - Directory for generated sysfs trees: DIR/trees-<netns>
 * @path:	Out: absolute path; the directory exists, mode 0700
 *
 * The other arguments and the result are those of rn_runtime_dir().
 */
int rn_runtime_tree_parent(char *path, size_t path_len, char *err, size_t err_len);

#endif /* RN_RUNTIME_DIR_H */
